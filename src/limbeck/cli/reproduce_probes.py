"""limbeck reproduce: papers that are tried on layers as probes see them, before and after fine-tuning."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.cli.options import count, positive, rate, source_options
from limbeck.cli.reproduce_inputs import begin, command_of
from limbeck.errors import InputError, UsageError, choose

if TYPE_CHECKING:
    from limbeck.cli.reproduce_inputs import Gathered
    from limbeck.papers.findings import Paper
    from limbeck.papers.probe_wanted import Caps, Wanted

#: options of this group, which other papers have no use for
OPTIONS = (
    "classes", "max_combinations", "min_words", "hidden", "probe_batch", "static", "context_size", "tasks", "steps",
    "batch", "learning_rate", "max_dev", "attention_window", "attention_texts", "not_tuned", "train_words",
    "test_words",
)  # fmt: skip
#: options of `limbeck reproduce` that this way has no use for
IDLE = (
    "early", "max_pairs", "seeds", "count_in", "min_count", "sentences", "fine_tuned", "layers", "units", "context",
    "targets", "special", "text_unit", "senses", "sense_label", "workers", "min_contexts", "max_words", "mev_words",
    "points", "two_pass", "text",
)  # fmt: skip


def add_probe_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "probing (zhao2020), which too has --epochs, --starts, --max-contexts, --max-train and --quick"
    )
    group.add_argument(
        "--classes", metavar="NAMES", help="names or patterns of classes, commas between (SemCor: noun.*)"
    )
    group.add_argument(
        "--max-combinations", type=positive, metavar="N", help="of word and class, by whole words (4000)"
    )
    group.add_argument("--min-words", type=positive, metavar="N", help="that a class must have (SemCor: 150, else 5)")
    group.add_argument("--train-words", metavar="FILE", help="words to train on, one a line or as in WIKI-PSE")
    group.add_argument("--test-words", metavar="FILE", help="words to test on (default: split by hash)")
    group.add_argument("--hidden", type=positive, metavar="N", help="units of a probe's hidden layer (32)")
    group.add_argument("--probe-batch", type=positive, metavar="N", help="rows a step of the probes (64)")
    group.add_argument("--static", metavar="FILE", help="word vectors to compare with")
    group.add_argument("--context-size", metavar="N,...", help="words to each side (0,2,4,8,16,32)")
    group.add_argument("--tasks", metavar="NAMES", help="to fine-tune on (pos,sst-2,mrpc,ner)")
    group.add_argument("--not-tuned", nargs="+", metavar="M", help="models that are probed and not fine-tuned")
    group.add_argument("--steps", type=positive, metavar="N", help="of fine-tuning (60; --preset paper: 5 epochs)")
    group.add_argument("--batch", type=positive, metavar="N", help="examples a step (16; --preset paper: by task)")
    group.add_argument(
        "--learning-rate", type=rate, metavar="R", help="of fine-tuning (5e-5 × 768 / the model's dimensions)"
    )
    group.add_argument("--max-dev", type=positive, metavar="N", help="development examples of each task (300)")
    group.add_argument(
        "--attention-window", metavar="K,...", help="words on either side that POS may attend to (0,2,4,8,16,32)"
    )
    group.add_argument(
        "--attention-texts", type=count, metavar="N", help="that attention before and after is compared on (50)"
    )


def from_probes(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Probe each model part by part, before and after fine-tuning; what is kept from before is taken."""
    from limbeck.papers.parts import columns_of_models
    from limbeck.papers.probe_gather import gather
    from limbeck.papers.results import try_on
    from limbeck.papers.zhao2020 import BERT

    names = begin(paper, options, no_static="layers are probed, and these are static vectors: give them to --static.")
    wanted = wanted_of(options)
    if options.dry_run:
        for name in names:
            describe_probed(name, wanted)
        return None
    models = [
        gather(
            model,
            wanted,
            name=name,
            folder=options.out / "probes" / name,
            resume=options.existing == "resume",
            asked_of=BERT,
        )
        for model, name in zip(options.model, names, strict=True)
    ]
    found = try_on(paper, models, command=command_of(options.typed))
    return found, {f"probes/{name}": columns for name, columns in columns_of_models(models).items()}


def wanted_of(options: argparse.Namespace) -> Wanted:
    """What is asked of every model."""
    from limbeck.papers.probe_data import Words, find_tasks, find_words
    from limbeck.papers.probe_wanted import Wanted
    from limbeck.probing.splits import read_lists
    from limbeck.runs.execution.sources import CORPUS_OPTIONS

    caps = caps_of(options)
    given = source_options(options)
    text = {name: given.pop(name) for name in list(given) if name in CORPUS_OPTIONS}
    corpus, name, classes, least = find_words(options.corpus, options.data)
    if options.static is not None and not Path(options.static).expanduser().is_file():
        raise InputError(f"{options.static}: --static must be a file of word vectors, there is none: check the path.")
    tasks, missing = find_tasks(options.data, caps.tasks, seed=options.seed)
    return Wanted(
        words=Words(
            corpus=corpus,
            text=text,
            name=name,
            classes=tuple_of(options.classes) if options.classes else classes,
            lists=read_lists(options.train_words, options.test_words),
            combinations=caps.combinations,
            contexts=caps.contexts,
            min_words=caps.min_words or least,
            seed=options.seed,
        ),
        tasks=tasks,
        missing=missing,
        encoder=given,
        static=options.static,
        frozen=tuple(frozen_of(options)),
        caps=caps,
        preset=options.preset,
        seed=options.seed,
        progress=not options.quiet,
    )


def frozen_of(options: argparse.Namespace) -> list[str]:
    """Names of the folders of models that are not to be fine-tuned."""
    from limbeck.runs.execution.folders import named_folders

    names = [folder.name for folder in named_folders(Path(), options.model)]
    return [names[options.model.index(choose(model, options.model, what="--not-tuned"))]
            for model in options.not_tuned or ()]  # fmt: skip


def caps_of(options: argparse.Namespace) -> Caps:
    """How much of everything: by the preset, and as the options say."""
    from dataclasses import replace

    from limbeck.papers.probe_wanted import PAPER, QUICK, TASKS, Caps
    from limbeck.probing.finetuning.data import name_of

    choose(options.preset, ("corrected", "paper"), what="--preset of zhao2020, of which no code was released,")
    caps = QUICK if options.quick else PAPER if options.preset == "paper" else Caps()
    asked = {
        "combinations": options.max_combinations,
        "contexts": options.max_contexts if was_typed(options, "--max-contexts") else None,
        "min_words": options.min_words,
        "hidden": options.hidden,
        "epochs": options.epochs,
        "rows": options.probe_batch,
        "starts": options.starts,
        "sizes": None if options.context_size is None else whole_numbers(options.context_size, "context_size"),
        "steps": options.steps,
        "batch": options.batch,
        "train": options.max_train,
        "dev": options.max_dev,
        "rate": options.learning_rate,
        "windows": None
        if options.attention_window is None
        else whole_numbers(options.attention_window, "attention_window"),
        "attention": options.attention_texts,
    }
    if options.tasks is not None:
        asked["tasks"] = tuple(choose(name_of(name), TASKS, what="--tasks") for name in tuple_of(options.tasks))
    return replace(caps, **{name: value for name, value in asked.items() if value is not None})


def was_typed(options: argparse.Namespace, name: str) -> bool:
    """Whether an option with a default that serves other papers was given, in full or shortened."""
    words = (word.partition("=")[0] for word in options.typed)
    return any(word.startswith("--max-c") and name.startswith(word) for word in words)


def describe_probed(name: str, wanted: Wanted) -> None:
    """--dry-run: what would be made, and what cannot be."""
    from limbeck.papers.probe_gather import lacking_for
    from limbeck.papers.probe_subjects import PARTS
    from limbeck.probing.splits import one_sided

    labelled = wanted.words.labelled
    for line in one_sided(labelled, wanted.words.sides):
        print(f"{name}: {line}")
    print(
        f"{name}: {wanted.words.name}, {len(labelled.classes)} classes, {len(labelled.words):,} words, "
        f"{len(labelled):,} contexts"
    )
    for part, what in PARTS.items():
        lacking = lacking_for(part, name, wanted)
        print(f"{name}: {what}" + (f": not run: {lacking}" if lacking else ""))


def tuple_of(value: str) -> tuple[str, ...]:
    """Values with commas between."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def whole_numbers(value: str, name: str) -> tuple[int, ...]:
    """Different numbers, rising."""
    try:
        return tuple(sorted({int(part) for part in tuple_of(value)}))
    except ValueError:
        option = "--" + name.replace("_", "-")
        raise UsageError(f"{option} must be whole numbers with commas between; got {value!r}.") from None
