"""limbeck measure: every measure at every layer."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import (
    add_corpus_options,
    add_model_options,
    add_pass_options,
    count,
    need_source,
    positive,
    source_options,
    workers_for,
)

if TYPE_CHECKING:
    from limbeck.run.settings import MeasureSettings
    from limbeck.stream import Source

EPILOG = """\
DIR then holds layers.csv (a row a layer and measure), words.parquet (a row a word and layer), frequency.csv,
spectra.parquet, dimensions.parquet, sample.parquet, run.json, figures/ and state/.

examples:
  limbeck measure --model bert-base-cased --corpus text.txt --out runs/bert
  limbeck measure --model bert-base-cased gpt2 --corpus text.txt --out runs/both
  zcat text.gz | limbeck measure --model ./folder --corpus - --text-unit paragraph --out runs/paragraphs
  limbeck measure --model glove.6B.300d.txt --corpus text.txt --lowercase --out runs/glove
  limbeck measure --model gpt2 --corpus sts.tsv --columns 1,2 --preset released --out runs/released
  limbeck measure --vectors vectors --out runs/kept
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
    parser.add_argument("--vectors", metavar="V", help="kept vectors in the place of --model and --corpus")
    add_pass_options(parser)
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
    group.add_argument("--two-pass", action="store_true", help="read twice, for I(W) over every occurrence")
    group.add_argument("--no-text", action="store_true", help="keep the corpus's sentences out of the folder")
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.report import draw
    from limbeck.run.presets import preset_named
    from limbeck.run.settings import MeasureSettings

    need_source(options)
    preset_named(options.preset)  # a wrong name should not cost a model's loading
    settings = MeasureSettings(
        preset=options.preset,
        min_contexts=options.min_contexts,
        max_words=options.max_words,
        mev_words=options.mev_words,
        max_contexts=options.max_contexts,
        points=options.points,
        two_pass=options.two_pass,
        seed=options.seed,
    )
    models: list[str | None] = list(options.model or [None])
    folders = [target_of(options.out, model, several=len(models) > 1) for model in models]
    for model, folder in zip(models, folders, strict=True):
        run_one(model, folder, options, settings)
    if len(models) > 1 and not options.dry_run:
        draw(folders, options.out / "figures")
        print(f"figures with all models: {options.out / 'figures'}")
    return 0


def target_of(out: Path, model: str | None, *, several: bool) -> Path:
    """One folder a model: OUT itself, or OUT/NAME where there are several."""
    return out / Path(str(model)).name if several else out


def run_one(model: str | None, target: Path, options: argparse.Namespace, settings: MeasureSettings) -> None:
    from limbeck.run.folder import RunFolder
    from limbeck.run.sources import open_source
    from limbeck.stream.workers import Workers

    folder = None if options.dry_run else RunFolder(target, existing=options.existing)
    if folder is not None and folder.complete:
        print(f"{target}: complete already.")
        return
    with Workers(workers_for(options)).start() as workers:
        try:
            given = {"units": settings.rules.units} | source_options(options)
            if options.vectors is not None:
                given.pop("units")
            source = open_source(model, options.corpus, vectors=options.vectors, **given)
            if folder is None:
                foresee(source, settings, workers, options)
            else:
                measure_into(folder, source, settings, workers, options)
        except BaseException as error:
            if folder is not None:
                leave(folder, error)
            raise


def measure_into(
    folder: Any, source: Source, settings: MeasureSettings, workers: Any, options: argparse.Namespace
) -> None:
    """The whole run, into its folder."""
    from limbeck.cli.summary import print_summary
    from limbeck.report import draw
    from limbeck.run.measure import measure_source, save
    from limbeck.run.settings import needs

    def announce(plan: Any) -> None:
        if not options.quiet:
            print(describe(plan), file=sys.stderr)
            print(str(needs(plan, layers=len(source.layers), dim=source.dim, settings=settings)), file=sys.stderr)

    measured, passed = measure_source(
        source,
        settings=settings,
        checkpoint=folder.unfinished / "state",
        workers=workers,
        progress=not options.quiet,
        on_plan=announce,
    )
    save(measured, folder.unfinished, source=source, settings=settings, passed=passed, keep_text=not options.no_text)
    draw([folder.unfinished], folder.unfinished / "figures")
    folder.finish()
    print_summary(measured, passed, folder.target)


def foresee(source: Source, settings: MeasureSettings, workers: Any, options: argparse.Namespace) -> None:
    """--dry-run: plan, try the first batches, and say what the whole would take."""
    from limbeck.run.measure import check_enough
    from limbeck.run.settings import needs
    from limbeck.stream import survey
    from limbeck.stream.progress import clock
    from limbeck.stream.run import words_a_second

    plan = survey(
        source,
        choice=settings.choice,
        deduplicate=settings.rules.deduplicate,
        workers=workers,
        progress=not options.quiet,
    )
    check_enough(plan, settings)
    print(describe(plan))
    speed = words_a_second(source, plan, workers=workers)
    passes = 2 if settings.two_pass else 1
    print(f"about {clock(passes * plan.units / speed)} at {speed:,.0f} words a second")
    print(str(needs(plan, layers=len(source.layers), dim=source.dim, settings=settings)))


def describe(plan: Any) -> str:
    """A plan in a line or two."""
    text = (
        f"{plan.units:,} words in {plan.sentences:,} sentences, {plan.documents:,} documents; {plan.types:,} distinct, "
        f"{len(plan.vocabulary):,} followed"
    )
    if plan.dropped:
        text += "; left out: " + ", ".join(f"{reason} {number:,}" for reason, number in plan.dropped.items())
    return text


def leave(folder: Any, error: BaseException) -> None:
    """Keep what can be resumed, take away what cannot, and say which."""
    from limbeck.stream.checkpoint import PLAN, STATE

    state = folder.unfinished / "state"
    resumable = (state / STATE).exists() or (isinstance(error, KeyboardInterrupt) and (state / PLAN).exists())
    if not resumable:
        folder.discard()
    elif isinstance(error, KeyboardInterrupt):
        print("\nto go on: the same command with --existing resume", file=sys.stderr)
