"""limbeck merge: runs of parts of a text into one run of the whole."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

EPILOG = """\
Runs belong together when they are parts of one text (--part K/N of `limbeck measure` and `limbeck encode`), or texts
of their own that were measured with one --vocabulary, each with a --first-document behind the documents of those before
it. DIR then holds what one run over all of it would have written. Anything else is refused, both sides named.

examples:
  limbeck measure --model bert-base-cased --corpus text.txt --part 1/2 --out parts/1
  limbeck measure --model bert-base-cased --corpus text.txt --part 2/2 --index-of parts/1 --out parts/2
  limbeck merge parts/1 parts/2 --out runs/whole

  limbeck measure --model bert-base-cased --corpus a.txt --out runs/a
  limbeck measure --model bert-base-cased --corpus b.txt --vocabulary runs/a --first-document 120 --out runs/b
  limbeck merge runs/a runs/b --out runs/both

  limbeck encode --model bert-base-cased --corpus text.txt --part 1/2 --out kept/1
  limbeck encode --model bert-base-cased --corpus text.txt --part 2/2 --out kept/2
  limbeck merge kept/1 kept/2 --out kept/whole
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "merge",
        help="join runs of parts of a text into one",
        description="Join runs of parts of a text, made anywhere, into the run that all of it would have given.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of `limbeck measure`, or of `limbeck encode`")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write; it must be new")
    parser.add_argument("--existing", default="fail", metavar="HOW", help="where DIR is there already: fail or replace")
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.reporting import draw
    from limbeck.runs.merge import merge, missing_of

    made = merge(
        *options.runs,
        out=options.out,
        existing=options.existing,
        progress=not options.quiet,
        draw=lambda folder: draw([folder], folder / "figures"),
    )
    missing = missing_of(options.out)
    if missing:
        print(f"not the whole text: part {', '.join(map(str, missing))} is missing")
    if isinstance(made, Path):
        print(f"{options.out}: vectors of {len(options.runs)} parts; use with --vectors {options.out}")
    else:
        told = f"{made.n:,} occurrences of {len(options.runs)} runs"
        print(f"{options.out}: {told}; report.html, tables, figures/, run.json")
    return 0
