"""limbeck repair: make a space more isotropic, and show what that did."""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import (
    add_corpus_options,
    add_model_options,
    add_pass_options,
    add_settings,
    count,
    need_source,
    settings_from,
    source_options,
)
from limbeck.cli.output import console as make_console
from limbeck.cli.running import opened, started
from limbeck.runs.measure import MeasureSettings, SentenceSettings
from limbeck.runs.repairing.naming import REPAIR_NAMES

if TYPE_CHECKING:
    from limbeck.runs.repair import Repaired, RepairSettings, Subject
    from limbeck.stream import Plan

EPILOG = f"""\
{REPAIR_NAMES}
DIR then holds repairs/LAYER.safetensors, before/ and after/ (each a run folder of `limbeck measure`), local.csv
(isotropy by number of clusters), space.csv and space.parquet (first components and word frequency), run.json, figures/
and state/; of static vectors also vectors/, the file repaired.

Without --corpus a table is repaired by itself, every row alike: a file of static vectors, or with --layers table the
input embeddings of a model. On a text every occurrence counts, so that frequent words weigh more.

examples:
  limbeck repair --model bert-base-cased --corpus text.txt --method all-but-the-top:components=15 --out runs/global
  limbeck repair --model gpt2 --corpus text.txt --method cluster:clusters=10,components=30 --out runs/cluster
  limbeck repair --model mini-bert --corpus sample --layers -1 --method standardize+all-but-the-top --out runs/chain
  limbeck repair --model glove.6B.300d.txt --method whiten --counts counts.txt --weights frequency --out runs/glove
  limbeck repair --model gpt2 --layers table --method center --out runs/table
  limbeck measure --model gpt2 --corpus other.txt --repair runs/cluster --out runs/other
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "repair",
        help="fit repairs that make a space more isotropic, measured before and after",
        description="Fit a repair for each layer of a model on a text, and measure every layer before and after.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    group = parser.add_argument_group("repair")
    group.add_argument("--method", required=True, metavar="M", help="METHOD[:NAME=VALUE,...][+METHOD...], see below")
    group.add_argument(
        "--counts",
        metavar="FILE",
        help="frequencies of words, a word and a count a line (default: counted in the text)",
    )
    group.add_argument(
        "--weights", default="uniform", metavar="KIND", help="of a table's rows: uniform (default), or frequency"
    )
    group.add_argument(
        "--local-points",
        type=count,
        default=10_000,
        metavar="N",
        help="occurrences that isotropy by cluster is measured on (10000); 0 leaves it out",
    )
    add_model_options(parser, several=False)
    add_corpus_options(parser)
    parser.add_argument(
        "--vectors",
        metavar="V",
        help="kept vectors in the place of --model and --corpus, or an array of embeddings (.npy)",
    )
    add_pass_options(parser)
    add_settings(parser, MeasureSettings, SentenceSettings)
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.reporting.repairs import draw_repair
    from limbeck.runs.repair import check_complete, repair_subject

    settings = repair_settings_of(options)
    if options.dry_run:
        foresee(settings, options)
        return 0
    with opened(options.out, options) as (folder, workers):
        subject = open_for(options, settings)
        if folder.complete:
            check_complete(folder, subject, settings)
            print(f"{options.out}: complete already.")
            return 0

        def announce(plan: Plan) -> None:
            if not options.quiet:
                for line in foreseen(subject, plan, settings):
                    print(line, file=sys.stderr)

        found = repair_subject(
            subject,
            folder,
            settings,
            counts=options.counts,
            keep_text=options.text,
            workers=workers,
            progress=not options.quiet,
            on_plan=announce,
            draw=lambda unfinished: draw_repair(unfinished, table=subject.alone),
        )
    print_repaired(found, options.out)
    return 0


def repair_settings_of(options: argparse.Namespace) -> RepairSettings:
    from limbeck.runs.repair import RepairSettings

    settings = RepairSettings(
        method=options.method,
        weights=options.weights,
        local_points=options.local_points,
        measure=settings_from(options, MeasureSettings),
    )
    settings.make()  # a wrong name should not cost a model's loading
    return settings


def open_for(options: argparse.Namespace, settings: RepairSettings) -> Subject:
    """What the options name: a model and a text, kept vectors, or a table of vectors by itself."""
    from limbeck.runs.repair import open_subject

    if not options.model or options.vectors is not None:
        need_source(options)
    given = source_options(options)
    if options.corpus or options.vectors is not None:
        given.setdefault("preset_units", settings.measure.rules.units)
    return open_subject(options.model, options.corpus, vectors=options.vectors, **given)


def foresee(settings: RepairSettings, options: argparse.Namespace) -> None:
    """--dry-run: look at some of the text, try some batches, and say what the whole would take."""
    from limbeck.runs.measuring.compute import check_enough
    from limbeck.runs.measuring.estimate import measuring_seconds
    from limbeck.stream.foretell import look_ahead, time_told

    with started(options) as workers:
        began = time.monotonic()
        subject = open_for(options, settings)
        opened = time.monotonic() - began
        measure = (settings.for_table if subject.alone else settings).measure
        ahead = look_ahead(subject.source, choice=measure.choice, deduplicate=measure.rules.deduplicate)
        check_enough(ahead.plan, measure, subject.source)
        one, others = measuring_seconds(ahead, subject.source, measure, workers=workers.count)
    for line in foreseen(subject, ahead.plan, settings):
        print(line + (ahead.note if line == ahead.plan.describe() else ""))
    seconds = passes_of(subject, ahead.plan, settings) * one + 2 * others + opened  # measured before and after
    print(time_told(seconds, ahead.plan.units / max(one, 1e-9)))


def foreseen(subject: Subject, plan: Plan, settings: RepairSettings) -> list[str]:
    """What a run will read and take, in a few lines."""
    from limbeck.repairs.fitting import memory_needed
    from limbeck.runs.measuring.sums import needs, size

    shape: dict[str, Any] = {"layers": len(subject.source.layers), "dim": subject.source.dim}
    measure = (settings.for_table if subject.alone else settings).measure
    fitting = size(memory_needed(settings.make(), **shape))
    passes = passes_of(subject, plan, settings)
    return [
        plan.describe(),
        f"{passes} passes: before, after" + (f", {passes - 2} more" if passes > 2 else ""),
        f"{needs(plan, **shape, settings=measure)}; {fitting} for the fit",
    ]


def passes_of(subject: Subject, plan: Plan, settings: RepairSettings) -> int:
    """How often the vectors are read."""
    from limbeck.repairs.fitting import count_passes

    shape: dict[str, Any] = {"layers": len(subject.source.layers), "dim": subject.source.dim}
    fit = 0
    if not subject.alone:
        fit = count_passes(settings.make(), **shape, units=plan.units, sample=settings.measure.points)
    return fit + 2 * (2 if settings.measure.two_pass else 1)


#: column title -> measure
COLUMNS = {
    "anisotropy": "anisotropy",
    "log10 I(W)": "log10_isotropy",
    "IsoScore": "isoscore",
    "effective rank": "effective_rank",
    "‖mean‖/norm": "norm_of_mean_over_mean_norm",
}
FREQUENCY = "R(log frequency)"


def print_repaired(found: Repaired, target: Path) -> None:
    """The main measures by layer, before and after, and where it all is."""
    from rich.table import Table

    from limbeck.repairs.methods import name_of

    console = make_console()
    method = name_of(found.repairs[found.layers[0]])
    table = Table(title=f"{found.name}: {method}, fitted on {found.n:,} vectors", title_justify="left")
    table.add_column("layer", justify="right")
    keys = zip(found.space["repair"], found.space["layer"], strict=True)
    r = dict(zip(keys, found.space["correlation"], strict=True))
    known = not all(map(math.isnan, r.values()))
    for title in [*COLUMNS, *([FREQUENCY] if known else [])]:
        table.add_column(title, justify="right")
    for place, layer in enumerate(found.layers):
        pairs = [(found.before[name].value[place], found.after[name].value[place]) for name in COLUMNS.values()]
        cells = [_change(*pair) for pair in pairs]
        table.add_row(layer, *cells, *([_change(r["before", layer], r["after", layer])] if known else []))
    console.print(table)
    lines = [f"{FREQUENCY}: multiple correlation of the first two principal components with it"] if known else []
    if found.dropped:
        lines.append("left out: " + ", ".join(f"{reason} {number:,}" for reason, number in found.dropped.items()))
    lines.append(f"{target}: report.html, repairs/, before/, after/, local.csv, space.csv, figures/, run.json")
    if (target / "vectors").is_dir():
        lines.append(f"repaired vectors: {next((target / 'vectors').iterdir())}")
    lines.append(f"use with --repair {target}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _change(before: float, after: float) -> str:
    rounded = (round(float(value), 3) + 0.0 for value in (before, after))  # -0.0 becomes 0.0
    return " → ".join("-" if math.isnan(value) else f"{value:.3f}" for value in rounded)
