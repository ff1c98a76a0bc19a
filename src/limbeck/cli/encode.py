"""limbeck encode: keep vectors, to use them in the place of model and text."""

from __future__ import annotations

import argparse
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
from limbeck.cli.running import describe, opened, started
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
    from limbeck.run.encode import DTYPES, encode_source
    from limbeck.run.parts import division_of
    from limbeck.run.sources import open_source

    need_source(options)
    choose(options.keep, DTYPES, what="--keep")
    how: dict[str, Any] = {"keep": options.keep, "division": division_of(options.part, plan_of=options.plan_of)}
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
    """--dry-run: plan, try the first batches, and say what the whole would take."""
    from limbeck.run.settings import size
    from limbeck.run.sources import open_source
    from limbeck.stream import Choice, survey
    from limbeck.stream.progress import clock
    from limbeck.stream.run import words_a_second

    with started(options) as workers:
        source = open_source(options.model, options.corpus, **source_options(options))
        plan = survey(source, choice=Choice(), deduplicate=False, workers=workers, progress=not options.quiet)
        speed = words_a_second(source, plan, workers=workers)
    width = 2 if options.keep == "float16" else 4
    print(describe(plan))
    print(f"about {clock(plan.units / speed)} at {speed:,.0f} words a second")
    print(f"{size(plan.units * len(source.layers) * source.dim * width)} of disk")
