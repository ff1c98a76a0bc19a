"""limbeck reproduce: papers that are tried on run folders of all layers, or on embedding tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import source_options
from limbeck.cli.reproduce_inputs import check_out, check_page, command_of
from limbeck.errors import InputError, UsageError, choose

if TYPE_CHECKING:
    from limbeck.cli.reproduce_inputs import Gathered
    from limbeck.corpus import Corpus
    from limbeck.papers.findings import Paper
    from limbeck.papers.parts import Part
    from limbeck.papers.results import Reproduction
    from limbeck.runs.measure import MeasureRun
    from limbeck.tables import Columns


def from_runs(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Measure each model as `limbeck measure` does, and judge by the run folders."""
    from limbeck.cli.process import prepare_process
    from limbeck.papers.component_vectors import find_nine_sets
    from limbeck.papers.results import evaluate
    from limbeck.papers.text import default_corpus
    from limbeck.runs.execution.context import silent
    from limbeck.runs.execution.execute import estimate, execute
    from limbeck.runs.execution.folders import named_folders

    if options.layers is not None:
        raise UsageError("Claims are about all layers of a model; got --layers: leave it out.")
    targets = named_folders(options.out / "runs", options.model)
    check_page(paper, options)
    check_out(options)
    sets = find_nine_sets(options.data)  # a wrong folder is told before anything is measured
    options.corpus = options.corpus or [str(default_corpus())]
    run = measuring(options, targets)
    if options.dry_run:
        for line in estimate(run, prepare=prepare_process):
            print(line)
        return None
    senses = senses_of(options)

    def notify(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    show = not options.quiet
    for one in run.split():
        execute(one, progress=show, notify=notify if show else silent, prepare=prepare_process)
    static = components_of(options, targets, *sets)
    found = evaluate(paper, targets, senses=senses, static=static, command=command_of(options.typed))
    words = sorted(senses)
    scores = table_of_components(found)
    return found, {
        "senses.csv": {"word": words, "senses": [senses[word] for word in words]} if senses else {},
        "static.csv": scores,
    }


def measuring(options: argparse.Namespace, targets: Sequence[Path]) -> MeasureRun:
    """The measuring run that the options ask for, with a folder per model."""
    from limbeck.cli.program import made
    from limbeck.runs.measure import MeasureRun
    from limbeck.settings import options_of

    known = {one.name: one for kind in MeasureRun.settings().values() for one in options_of(kind)}
    asked = {name: getattr(options, name, None) for name in known}
    given = {name: value for name, value in asked.items() if value is not None and value != known[name].default}
    given["out"] = targets[0] if len(targets) == 1 else options.out / "runs"
    return made(MeasureRun, given)


def components_of(
    options: argparse.Namespace, targets: Sequence[Path], sets: Mapping[str, Any], missing: str
) -> list[Part | str]:
    """Table 1 of ethayarajh2019: of each model the scores of its static vectors, or why there are none."""
    import json

    from limbeck.papers.component_gather import gather_components

    if not sets:
        return [missing] * len(targets)
    given = source_options(options) | {"max_contexts": options.max_contexts, "seed": options.seed}
    given.pop("text_unit", None)
    models = {
        model: json.loads((target / "run.json").read_text(encoding="utf-8"))
        for model, target in zip(options.model, targets, strict=True)
    }
    if not options.quiet:
        print("static vectors of principal components", file=sys.stderr)
    return gather_components(
        models, options.corpus, sets, given, folder=options.out / "static", resume=options.existing == "resume"
    )


def table_of_components(found: Reproduction) -> Columns:
    from limbeck.analysis.result import columns_of

    parts = {one.name: one.static for one in found.subjects if one.static is not None}
    return columns_of([{"model": name, **row} for name, part in parts.items() for row in part.rows("scores")])


def senses_of(options: argparse.Namespace) -> dict[str, int]:
    """In how many senses words stand, by the labels of --senses or of the corpus."""
    from limbeck.papers.text import count_senses
    from limbeck.runs.execution.sources import CORPUS_OPTIONS, open_corpus

    if options.senses:
        with open_corpus(options.senses) as corpus:
            return count_senses(corpus, label=options.sense_label)
    given = {name: value for name, value in source_options(options).items() if name in CORPUS_OPTIONS}
    with open_corpus(options.corpus, **given) as corpus:
        return count_senses(corpus, label=options.sense_label)


def from_tables(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Read each model's embedding table, and judge by that; a matter of seconds, so nothing is resumed."""
    from limbeck.papers.results import try_on
    from limbeck.papers.table_files import columns_of
    from limbeck.papers.table_similarity import find_sets
    from limbeck.papers.table_subjects import Gathering, gather
    from limbeck.papers.text import default_corpus
    from limbeck.runs.execution.folders import EXISTING, named_folders
    from limbeck.runs.execution.sources import CORPUS_OPTIONS, open_corpus
    from limbeck.runs.measuring.presets import preset_named

    preset_named(options.preset)
    choose(options.existing, EXISTING, what="--existing")
    names = [folder.name for folder in named_folders(Path(), options.model)]
    check_page(paper, options)
    check_out(options)
    sets, missing = find_sets(options.data)
    if options.early is not None and not options.early.is_dir():
        raise InputError(f"{options.early}: --early must be a folder of early tables, there is none: check the path.")
    how = Gathering(sets, missing, options.early, options.preset, options.seed)
    given = {name: value for name, value in source_options(options).items() if name in CORPUS_OPTIONS}
    tables = []
    for model, name in zip(options.model, names, strict=True):
        with open_corpus(options.corpus or [str(default_corpus())], **given) as corpus:
            if options.dry_run:
                describe_table(model, corpus, name=name)
                continue
            if not options.quiet:
                print(f"{name}: reading its table, counting its tokens in the text", file=sys.stderr)
            tables.append(gather(model, corpus, how, name=name))
    if options.dry_run:
        return None
    found = try_on(paper, tables, command=command_of(options.typed))
    return found, {f"tables/{name}": columns for name, columns in columns_of(tables).items()}


def describe_table(model: str, corpus: Corpus, *, name: str) -> None:
    """--dry-run: what would be read, and the memory that it takes."""
    from limbeck.papers.table_sources import open_table

    table = open_table(model, corpus, name=name)
    rows, dim = table.matrix.shape
    memory = 6 * 8 * rows * dim / 2**20  # a few copies in float64: repaired, centred, its gradient
    print(
        f"{name}: {rows:,} {table.kind} × {dim}, {int(table.counts.sum()):,} tokens, about {memory:,.0f} MB of memory"
    )
