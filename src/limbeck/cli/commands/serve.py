"""limbeck serve: explore a run that is too big for one page, from this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from limbeck.cli.program import TerminalCommand, TerminalSettings
from limbeck.settings import Settings, option


@dataclass(frozen=True)
class ServeSettings(Settings, group="server"):
    """Which run is served, and where."""

    folder: Path = option(
        positional=True,
        required=True,
        common=True,
        metavar="RUN",
        files=True,
        help="folder of a run of `limbeck measure`",
    )
    port: int = option(
        8642, minimum=0, maximum=65_535, common=True, metavar="N", help="0 for any that is free (default: 8642)"
    )


@dataclass(kw_only=True)
class ServeCommand(TerminalCommand):
    """Explore the words of a run in a browser, on this machine, reading its tables on demand."""

    command: ClassVar[str] = "serve"
    summary: ClassVar[str] = "explore the words of a large run in a browser, on this machine"
    details: ClassVar[str] = """\
RUN is a folder of `limbeck measure`. Its words stand in a table that is searched, sorted and turned page by page; a
word opens with its curves by layer and sentences from the run's sample. words.parquet is read as it is asked for.
The server answers to this machine alone, and only reads. Ctrl-C ends it.
"""
    examples: ClassVar[str] = """\
limbeck serve runs/mini-bert
limbeck serve runs/bert --port 9000
"""

    server: ServeSettings

    def perform(self, terminal: TerminalSettings) -> int:
        from limbeck.reporting.serving import serve

        def ready(address: str) -> None:
            print(f"{self.server.folder} is at {address} until Ctrl-C.", flush=True)

        serve(self.server.folder, port=self.server.port, ready=ready)
        return 0
