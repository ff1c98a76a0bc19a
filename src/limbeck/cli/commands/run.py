"""limbeck run: a pipeline, one pass for all its runs."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Literal

from limbeck.cli.program import TerminalCommand, TerminalSettings
from limbeck.settings import Settings, option
from limbeck.stream.settings import EngineSettings


@dataclass(frozen=True)
class PipelineSettings(Settings, group="pipeline"):
    """Which pipeline, and where its folders are."""

    pipeline: Path | None = option(
        None, positional=True, required=True, metavar="PIPELINE", files=True, help="a pipeline file"
    )
    out: Path | None = option(
        None, common=True, metavar="DIR", files=True, help="folder of runs that name none, in the pipeline's place"
    )
    existing: Literal["fail", "resume", "replace"] = option(
        "fail", metavar="HOW", help="if a folder exists: fail (default), resume an unfinished run, or replace it"
    )


@dataclass(kw_only=True)
class RunCommand(TerminalCommand):
    """Read a text by a model once, for all the runs of a pipeline: measures, repairs, vectors, probes."""

    command: ClassVar[str] = "run"
    summary: ClassVar[str] = "run a pipeline: one pass over a text for several commands"
    details: ClassVar[str] = """\
A pipeline names a model and a text, and has a table for each run; keys are the options of its command:

  model = "bert-base-cased"
  corpus = ["text.txt"]
  out = "runs/all"               # runs without an out of their own: runs/all/measure, runs/all/distill, ...

  [[measure]]
  min-contexts = 10

  [[encode]]
  layers = "0,6,12"
  keep = "float32"

  [[distill]]
  method = "average,principal"

  [[repair]]
  method = "whiten"

  [[probe]]
  label = "class"

Each folder is what its own command would have written. `limbeck plan COMMAND ...` writes such a file.
"""
    examples: ClassVar[str] = """\
limbeck run pipeline.toml
limbeck run pipeline.toml --out runs/again
limbeck run pipeline.toml --existing resume
limbeck run pipeline.toml --engine ray --workers 4
"""

    pipeline: PipelineSettings
    engine: EngineSettings

    @property
    def writes(self) -> bool:
        return True

    def perform(self, terminal: TerminalSettings) -> int:
        from limbeck.runs.execution.pipeline import run
        from limbeck.stream.context import silent

        def say(line: str) -> None:
            print(line, file=sys.stderr, flush=True)

        assert self.pipeline.pipeline is not None
        made = run(
            self.pipeline.pipeline,
            out=self.pipeline.out,
            existing=self.pipeline.existing,
            **asdict(self.engine),
            progress=not terminal.quiet,
            notify=silent if terminal.quiet else say,
        )
        for folder in made:
            print(folder)
        return 0
