"""limbeck serve: explore a run that is too big for one page, from this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from limbeck.cli.options import count

EPILOG = """\
RUN is a folder of `limbeck measure`. Its words stand in a table that is searched, sorted and turned page by page; a
word opens with its curves by layer and sentences from the run's sample. words.parquet is read as it is asked for.
The server answers to this machine alone, and only reads. Ctrl-C ends it.

examples:
  limbeck serve runs/mini-bert
  limbeck serve runs/bert --port 9000
"""
PORT = 8642


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "serve",
        help="explore the words of a large run in a browser, on this machine",
        description="Explore the words of a run in a browser, on this machine, reading its tables on demand.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="folder of a run of `limbeck measure`")
    parser.add_argument(
        "--port", type=count, default=PORT, metavar="N", help=f"0 for any that is free (default: {PORT})"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.errors import UsageError
    from limbeck.reporting.serving import serve

    if options.port > 65_535:
        raise UsageError(f"--port must be at most 65535, got {options.port}.")

    def ready(address: str) -> None:
        print(f"{options.run_folder} is at {address} until Ctrl-C.", flush=True)

    serve(options.run_folder, port=options.port, ready=ready)
    return 0
