"""limbeck encode: keep vectors, to use them in the place of model and text."""

from __future__ import annotations

import argparse
import time
from typing import Any

from limbeck.cli.options import (
    add_corpus_options,
    add_model_options,
    add_part_options,
    add_pass_options,
    add_repair_option,
    need_source,
    source_options,
)
from limbeck.cli.running import opened, started
from limbeck.errors import choose

EPILOG = """\
examples:
  limbeck encode --model bert-base-cased --corpus text.txt --out vectors
  limbeck encode --model bert-base-cased --corpus text.txt --layers 0,6,12 --keep float32 --out vectors
  limbeck encode --model bert-base-cased --corpus text.txt --repair runs/repaired --out isotropic
  limbeck encode --model bert-base-cased --corpus text.txt --part 2/3 --out vectors-2
  limbeck measure --vectors vectors --out runs/kept
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "encode",
        help="keep the vectors of every word of a text",
        description="Encode a text once and keep every vector; --vectors then stands for model and text.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser, several=False)
    add_corpus_options(parser)
    add_repair_option(parser)
    add_part_options(parser)
    add_pass_options(parser)
    parser.add_argument("--keep", default="float16", help="precision of the kept vectors: float16 (default) or float32")
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.runs.encode import DTYPES, encode_source
    from limbeck.runs.execution.parts import division_of
    from limbeck.runs.execution.sources import open_source

    need_source(options)
    choose(options.keep, DTYPES, what="--keep")
    how: dict[str, Any] = {"keep": options.keep, "division": division_of(options.part, index_of=options.index_of)}
    if options.dry_run:
        foresee(options)
        return 0
    with opened(options.out, options) as (folder, workers):
        source = open_source(options.model, options.corpus, **source_options(options))
        complete = folder.complete
        encode_source(source, folder, **how, workers=workers, progress=not options.quiet)
    if complete:
        print(f"{options.out}: complete already.")
    else:
        print(
            f"{options.out}: {len(source.layers)} layers of {source.dim} dimensions; use with --vectors {options.out}"
        )
    return 0


def foresee(options: argparse.Namespace) -> None:
    """--dry-run: look at some of the text, try some batches, and say what the whole would take."""
    from limbeck.runs.execution.sources import open_source
    from limbeck.runs.measuring.sums import size
    from limbeck.stream import Choice
    from limbeck.stream.foretell import look_ahead, seconds_a_pass, time_told

    with started(options) as workers:
        began = time.monotonic()
        source = open_source(options.model, options.corpus, **source_options(options))
        opened = time.monotonic() - began
        ahead = look_ahead(source, choice=Choice(), deduplicate=False)
        one = seconds_a_pass(ahead, workers=workers.count)
    plan = ahead.plan
    width = 2 if options.keep == "float16" else 4
    print(plan.describe() + ahead.note)
    print(time_told(one + ahead.whole_look + opened, plan.units / max(one, 1e-9)))
    print(f"{size(plan.units * len(source.layers) * source.dim * width)} of disk")
