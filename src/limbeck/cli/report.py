"""limbeck report: one page of any number of runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from limbeck.cli.output import tell

EPILOG = """\
RUN is a folder that any command has written, or a folder that holds several (such as the demo's). Every command that
writes a run folder writes a report.html of that run into it; this command lays several side by side.

The page opens by double click, in any current browser. It needs no network and no server, and asks for nothing. Where
runs were measured with --no-text, no sentence is in it.

examples:
  limbeck report runs/demo --out report.html
  limbeck report runs/bert runs/gpt2 --out report.html
  limbeck report runs/repaired runs/sts runs/probe --title "Repairing BERT" --out report.html
  limbeck report runs/ethayarajh2019 --existing replace
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "report",
        help="lay runs side by side on one interactive page",
        description="Write one self-contained interactive page of any number of runs, side by side.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a finished run, or of several")
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), metavar="FILE", help="page to write (default: report.html)"
    )
    parser.add_argument("--title", metavar="TEXT", help="what stands above the page (default: the runs' names)")
    parser.add_argument(
        "--existing", default="fail", metavar="HOW", help="where FILE is there already: fail (default), replace"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.reporting.page import report

    page = report(*options.runs, out=options.out, title=options.title, existing=options.existing)
    size = page.stat().st_size
    tell(out=page, bytes=size)
    print(f"{page}: {size / 1e6:.1f} MB, opens in a browser")
    return 0
