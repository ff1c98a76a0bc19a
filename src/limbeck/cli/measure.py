"""limbeck measure: every measure at every layer."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import (
    add_corpus_options,
    add_model_options,
    add_part_options,
    add_pass_options,
    add_repair_option,
    count,
    need_source,
    positive,
    source_options,
)
from limbeck.cli.running import describe, opened, started
from limbeck.encoders.miniatures import is_miniature
from limbeck.errors import UsageError

if TYPE_CHECKING:
    from limbeck.runs.execution.parts import Division
    from limbeck.runs.measuring.settings import MeasureSettings
    from limbeck.stream import Plan, Source

EPILOG = """\
DIR then holds layers.csv (a row a layer and measure), words.parquet (a row a word and layer), frequency.csv,
spectra.parquet, dimensions.parquet, sample.parquet, run.json, report.html (all of it, to look at), figures/ and state/.

examples:
  limbeck measure --model bert-base-cased --corpus text.txt --out runs/bert
  limbeck measure --model bert-base-cased gpt2 --corpus text.txt --out runs/both
  zcat text.gz | limbeck measure --model ./folder --corpus - --text-unit paragraph --out runs/paragraphs
  limbeck measure --model glove.6B.300d.txt --corpus text.txt --lowercase --out runs/glove
  limbeck measure --model gpt2 --corpus sts.tsv --columns 1,2 --preset released --out runs/released
  limbeck measure --vectors vectors --out runs/kept
  limbeck measure --model bert-base-cased --corpus text.txt --part 2/3 --out parts/2
  limbeck measure --model bert-base-cased --corpus other.txt --repair runs/repaired --out runs/isotropic
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "measure",
        help="measure every layer of a model on a text",
        description="Measure every layer of a model on a text, exactly and in one pass.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser, several=True)
    add_corpus_options(parser)
    parser.add_argument(
        "--vectors",
        metavar="V",
        help="kept vectors in the place of --model and --corpus, or an array of embeddings (.npy)",
    )
    add_repair_option(parser)
    add_part_options(parser)
    group = parser.add_argument_group("a text of its own, for `limbeck merge`")
    group.add_argument("--vocabulary", metavar="FILE", help="words to follow, one a line, or a run that followed them")
    group.add_argument("--first-document", type=count, metavar="N", help="number of the text's first document (0)")
    add_pass_options(parser)
    add_measure_options(parser)
    return parser


def add_measure_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("measures")
    group.add_argument(
        "--preset", default="corrected", help="corrected (default), paper, or released (as the published code did)"
    )
    group.add_argument("--min-contexts", type=positive, default=5, metavar="N", help="texts a word must occur in (5)")
    group.add_argument("--max-words", type=positive, default=20_000, metavar="N", help="words followed at most (20000)")
    group.add_argument("--mev-words", type=count, default=1_000, metavar="N", help="words kept for MEV (1000)")
    group.add_argument("--max-contexts", type=positive, default=100, metavar="N", help="occurrences kept of each (100)")
    group.add_argument(
        "--points", type=positive, default=50_000, metavar="N", help="occurrences kept for baselines and I(W) (50000)"
    )
    group.add_argument("--seed", type=int, default=0, help="of every sample and interval (default: 0)")
    group.add_argument("--two-pass", action="store_true", help="read twice, for I(W) over every occurrence")
    group.add_argument("--no-text", action="store_true", help="keep the corpus's sentences out of the folder")


def run(options: argparse.Namespace) -> int:
    from limbeck.remote import brought, put_at
    from limbeck.reporting import draw, report

    need_source(options)
    settings = settings_of(options)
    models: list[str | None] = list(options.model or [None])
    targets = targets_of(options.out, options.model or [])
    check_before(targets, options)
    for model, target in zip(models, targets, strict=True):
        if options.dry_run:
            foresee(model, settings, options)
        else:
            measure_into(target, model, settings, options)
    if len(models) > 1 and not options.dry_run:
        with ExitStack() as stack:
            out = stack.enter_context(put_at(options.out))
            runs = [stack.enter_context(brought(target)) for target in targets]
            draw(runs, out / "figures")
            report(*runs, out=out / "report.html")
        print(f"figures with all models: {options.out / 'figures'}")
        print(f"report with all models: {options.out / 'report.html'}")
    return 0


def settings_of(options: argparse.Namespace) -> MeasureSettings:
    from limbeck.runs.measuring.presets import preset_named
    from limbeck.runs.measuring.settings import MeasureSettings

    preset_named(options.preset)  # a wrong name should not cost a model's loading
    return MeasureSettings(
        preset=options.preset,
        min_contexts=options.min_contexts,
        max_words=options.max_words,
        mev_words=options.mev_words,
        max_contexts=options.max_contexts,
        points=options.points,
        two_pass=options.two_pass,
        seed=options.seed,
    )


def check_before(targets: Sequence[Path], options: argparse.Namespace) -> None:
    """Of several models the last one should not be refused when the first is done."""
    from limbeck.corpus.sources import is_read_once
    from limbeck.encoders.loading import check_model
    from limbeck.runs.execution.folders import check_target
    from limbeck.runs.execution.sources import is_static

    if len(targets) > 1:
        if any(map(is_read_once, options.corpus or ())):
            raise UsageError("--corpus must be files, each model reads it anew; got a pipe: put it into a file.")
        for model in options.model:
            if not is_static(model):
                check_model(model)
    if not options.dry_run:
        for target in targets:
            check_target(target, existing=options.existing)


def targets_of(out: Path, models: Sequence[str]) -> list[Path]:
    """One folder a model: OUT itself, or OUT/NAME where there are several; of equal names more of the path is told."""
    return [out] if len(models) < 2 else folders_of(out, models)


def folders_of(out: Path, models: Sequence[str]) -> list[Path]:
    """OUT/NAME for each model."""
    here = [Path(model).exists() and not is_miniature(model) for model in models]
    paths = [Path(os.path.abspath(model) if found else model) for model, found in zip(models, here, strict=True)]
    if len(set(paths)) < len(paths):
        raise UsageError("each model must be given once; got one of them twice.")
    depths = [1] * len(paths)
    while True:
        names = ["-".join(path.parts[-depth:]).strip("/") for path, depth in zip(paths, depths, strict=True)]
        if len(set(names)) == len(names):
            return [out / name for name in names]
        depths = [depth + (names.count(name) > 1) for depth, name in zip(depths, names, strict=True)]


def open_for(model: str | None, settings: MeasureSettings, options: argparse.Namespace) -> Source:
    """The source that the options name; the preset chooses the units where they do not."""
    from limbeck.runs.execution.sources import open_source

    given = source_options(options)
    given.setdefault("preset_units", settings.rules.units)
    return open_source(model, options.corpus, vectors=options.vectors, **given)


def division_for(options: argparse.Namespace) -> Division:
    """Whether a part of a text is measured; other commands that measure have no such options."""
    from limbeck.runs.execution.parts import division_of

    part, plan_of, vocabulary = (getattr(options, name, None) for name in ("part", "plan_of", "vocabulary"))
    return division_of(part, plan_of=plan_of, vocabulary=vocabulary)


def measure_into(
    target: Path, model: str | None, settings: MeasureSettings, options: argparse.Namespace, *, summary: bool = True
) -> None:
    """The whole run, into its folder; `summary`: print what was found."""
    from limbeck.cli.summary import print_summary
    from limbeck.reporting import draw
    from limbeck.runs.measure import check_same, measure_source, save
    from limbeck.runs.measuring.settings import needs

    division = division_for(options)
    with opened(target, options) as (folder, workers):
        source = open_for(model, settings, options)
        if folder.complete:
            check_same(folder.state, source, settings, division)
            print(f"{target}: complete already.")
            return

        def announce(plan: Plan) -> None:
            if not options.quiet:
                print(describe(plan), file=sys.stderr)
                print(str(needs(plan, layers=len(source.layers), dim=source.dim, settings=settings)), file=sys.stderr)

        measured, passed = measure_source(
            source,
            settings=settings,
            division=division,
            checkpoint=folder.state,
            workers=workers,
            progress=not options.quiet,
            on_plan=announce,
        )
        how: dict[str, Any] = {"division": division, "keep_text": not options.no_text}
        save(measured, folder.unfinished, source=source, settings=settings, passed=passed, **how)
        draw([folder.unfinished], folder.unfinished / "figures")
        folder.finish()
    if summary:
        print_summary(measured, passed, target)


def foresee(model: str | None, settings: MeasureSettings, options: argparse.Namespace) -> None:
    """--dry-run: look at some of the text, try some batches, and say what the whole would take."""
    from limbeck.runs.measure import check_enough
    from limbeck.runs.measuring.estimate import measuring_seconds
    from limbeck.runs.measuring.settings import needs
    from limbeck.stream.foretell import look_ahead, time_told

    with started(options) as workers:
        began = time.monotonic()
        source = open_for(model, settings, options)
        opened = time.monotonic() - began
        ahead = look_ahead(source, choice=settings.choice, deduplicate=settings.rules.deduplicate)
        check_enough(ahead.plan, settings, source)
        print(describe(ahead.plan) + ahead.note)
        one, others = measuring_seconds(ahead, source, settings, workers=workers.count)
    passes = 2 if settings.two_pass else 1
    print(time_told(passes * one + others + opened, ahead.plan.units / max(one, 1e-9)))
    print(str(needs(ahead.plan, layers=len(source.layers), dim=source.dim, settings=settings)))
