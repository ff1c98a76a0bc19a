"""limbeck reproduce: papers that are tried on spaces before and after repair, or on static vectors made of parents."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import source_options
from limbeck.cli.reproduce_inputs import begin, command_of

if TYPE_CHECKING:
    from limbeck.cli.reproduce_inputs import Gathered
    from limbeck.papers.findings import Paper
    from limbeck.papers.space_wanted import Wanted


def from_spaces(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Measure each model's space part by part, before and after repair; what is kept from before is taken."""
    from limbeck.papers.parts import columns_of_models
    from limbeck.papers.results import try_on
    from limbeck.papers.space_gather import gather
    from limbeck.runs.measuring.presets import preset_named

    preset_named(options.preset)
    names = begin(paper, options, no_static="claims about layers need a model, these are static vectors: see bis2021.")
    wanted = wanted_of(options)
    if options.dry_run:
        for name in names:
            describe_space(name, wanted)
        return None
    models = [
        gather(model, wanted, name=name, folder=options.out / "spaces" / name, resume=options.existing == "resume")
        for model, name in zip(options.model, names, strict=True)
    ]
    found = try_on(paper, models, command=command_of(options.typed))
    return found, {f"spaces/{name}": columns for name, columns in columns_of_models(models).items()}


def wanted_of(options: argparse.Namespace) -> Wanted:
    """What is asked of every model."""
    from dataclasses import replace

    from limbeck.papers.space_data import find_data
    from limbeck.papers.space_wanted import QUICK, Caps, Wanted
    from limbeck.papers.text import default_corpus
    from limbeck.runs.execution.sources import CORPUS_OPTIONS

    given = source_options(options)
    text = {name: given.pop(name) for name in list(given) if name in CORPUS_OPTIONS}
    caps = QUICK if options.quick else Caps(points=options.points)
    asked = {"pairs": options.max_pairs, "seeds": options.seeds, "train": options.max_train, "starts": options.starts}
    return Wanted(
        data=find_data(options.data),
        corpus=options.corpus or [str(default_corpus())],
        own_text=bool(options.corpus),
        text=text,
        encoder=given,
        count_in=options.count_in or (),
        caps=replace(caps, **{name: number for name, number in asked.items() if number is not None}),
        preset=options.preset,
        seed=options.seed,
        progress=not options.quiet,
    )


def describe_space(name: str, wanted: Wanted) -> None:
    """--dry-run: what would be measured, and what cannot be."""
    from limbeck.papers.space_subjects import PARTS

    needs = {"tuning": "development", "sts": "sts", "classify": "classify", "structure": "treebank"}
    lacking = {part: wanted.data.missing[kind] for part, kind in needs.items() if kind in wanted.data.missing}
    for part, what in PARTS.items():
        print(f"{name}: {what}" + (f": not measured, it {lacking[part]}" if part in lacking else ""))


def from_parents(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Make each parent's static vectors part by part, and score them; what is kept from before is taken."""
    from dataclasses import replace

    from limbeck.papers.parts import columns_of_models
    from limbeck.papers.results import try_on
    from limbeck.papers.static_finetuned import check_parents, fingerprint_of, read_tuned, with_tuned
    from limbeck.papers.static_gather import gather, gather_file, words_of_sets
    from limbeck.papers.static_vectors import Shared
    from limbeck.runs.execution.sources import is_static
    from limbeck.runs.measuring.presets import preset_named
    from limbeck.vectors import StaticVectors

    preset_named(options.preset)
    names = begin(paper, options)
    tuned = [read_tuned(folder) for folder in options.fine_tuned or ()]
    wanted = parents_wanted_of(options)
    if options.dry_run:
        for name in names:
            describe_parent(name, wanted, [one.task for one in tuned])
        return None
    static = {name: model for model, name in zip(options.model, names, strict=True) if is_static(model)}
    files = {name: StaticVectors.load(Path(path).expanduser()) for name, path in static.items()}
    wanted = replace(wanted, files={name: words_of_sets(one, wanted.sets) for name, one in files.items()})
    prints = {model: fingerprint_of(model, wanted) for model in options.model if tuned and model not in static.values()}
    check_parents(tuned, list(prints.values()))
    parents: list[Any] = []
    shared = Shared()
    for model, name in zip(options.model, names, strict=True):
        if name in files:
            parents.append(gather_file(files[name], wanted, name=name))
            continue
        folder = options.out / "parents" / name
        made = gather(model, wanted, shared, name=name, folder=folder, resume=options.existing == "resume")
        parents.append(with_tuned(made, prints.get(model, ""), tuned))
    found = try_on(paper, parents, command=command_of(options.typed))
    return found, {f"parents/{name}": columns for name, columns in columns_of_models(parents).items()}


def parents_wanted_of(options: argparse.Namespace) -> Any:
    """What is asked of every parent."""
    from dataclasses import replace

    from limbeck.papers.static_gather import find_sentence_tasks, missing_data
    from limbeck.papers.static_scores import find_word_sets
    from limbeck.papers.static_wanted import QUICK, Caps, Wanted
    from limbeck.papers.text import default_corpus
    from limbeck.runs.execution.sources import CORPUS_OPTIONS

    given = source_options(options)
    text = {name: given.pop(name) for name in list(given) if name in CORPUS_OPTIONS}
    asked = {"epochs": options.epochs, "min_count": options.min_count, "sentences": options.sentences,
             "train": options.max_train, "starts": options.starts}  # fmt: skip
    sets = find_word_sets(options.data)
    tasks, lacking = find_sentence_tasks(options.data)
    return Wanted(
        sets=sets,
        classify=tasks,
        missing=missing_data(sets, lacking),
        corpus=options.corpus or [str(default_corpus())],
        text=text,
        encoder=given,
        caps=replace(
            QUICK if options.quick else Caps(), **{k: value for k, value in asked.items() if value is not None}
        ),
        preset=options.preset,
        seed=options.seed,
        progress=not options.quiet,
        workers=options.workers or 0,
    )


def describe_parent(name: str, wanted: Any, tuned: list[str]) -> None:
    """--dry-run: what would be made, and what cannot be."""
    from limbeck.papers.static_subjects import PARTS

    for part, what in PARTS.items():
        if part == "finetuned":
            print(f"{name}: {what}: {', '.join(tuned) or 'not made, it needs folders by --fine-tuned'}")
            continue
        lacking = wanted.missing.get("classify" if part == "classify" else "similarity")
        print(f"{name}: {what}" + (f": not made, it {lacking}" if lacking else ""))
