"""limbeck encode: keep vectors, to use them in the place of model and text."""

from __future__ import annotations

import argparse
from typing import Any

from limbeck.cli.options import (
    add_corpus_options,
    add_model_options,
    add_pass_options,
    need_source,
    source_options,
    workers_for,
)

EPILOG = """\
examples:
  limbeck encode --model bert-base-cased --corpus text.txt --out vectors
  limbeck encode --model bert-base-cased --corpus text.txt --layers 0,6,12 --keep float32 --out vectors
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
    add_pass_options(parser)
    parser.add_argument("--keep", default="float16", help="precision of the kept vectors: float16 (default) or float32")
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.cli.measure import describe, leave
    from limbeck.run.encode import DTYPES, encode_source
    from limbeck.run.folder import RunFolder
    from limbeck.run.settings import size
    from limbeck.run.sources import open_source
    from limbeck.stream import Choice, survey
    from limbeck.stream.progress import clock
    from limbeck.stream.run import words_a_second
    from limbeck.stream.workers import Workers

    from limbeck.errors import choose  # isort: skip

    need_source(options)
    choose(options.keep, DTYPES, what="--keep")
    folder = None if options.dry_run else RunFolder(options.out, existing=options.existing)
    if folder is not None and folder.complete:
        print(f"{options.out}: complete already.")
        return 0
    with Workers(workers_for(options)).start() as workers:
        try:
            source = open_source(options.model, options.corpus, **source_options(options))
            if folder is None:
                plan = survey(source, choice=Choice(), deduplicate=False, workers=workers, progress=not options.quiet)
                speed = words_a_second(source, plan, workers=workers)
                width = 2 if options.keep == "float16" else 4
                print(describe(plan))
                print(f"about {clock(plan.units / speed)} at {speed:,.0f} words a second")
                print(f"{size(plan.units * len(source.layers) * source.dim * width)} of disk")
                return 0
            encode_source(source, folder, keep=options.keep, workers=workers, progress=not options.quiet)
        except BaseException as error:
            if folder is not None:
                leave(folder, error)
            raise
    print(f"{options.out}: {len(source.layers)} layers of {source.dim} dimensions; use with --vectors {options.out}")
    return 0
