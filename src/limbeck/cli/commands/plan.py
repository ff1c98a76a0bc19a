"""limbeck plan: a command line put into a pipeline file instead of being run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from limbeck.cli.program import BEHIND, TerminalCommand, TerminalSettings, options_for, parser_for
from limbeck.errors import UsageError, choose
from limbeck.settings import Settings, option

HOW = ("workers", "batch-tokens")  #: keys of the top that a command line would set for one run alone


def commands() -> list[str]:
    """The commands that can share a pass."""
    from limbeck.runs.execution.pipeline import sharing

    return list(sharing())


@dataclass(frozen=True)
class PlanSettings(Settings, group="pipeline"):
    """Which command goes into which file."""

    to: Path = option(Path("pipeline.toml"), metavar="FILE", files=True, help="the pipeline (pipeline.toml)")
    words: tuple[str, ...] = option(
        (), flag=BEHIND, metavar="COMMAND ...", suggestions=commands, help="the command as it would be typed"
    )


@dataclass(kw_only=True)
class PlanCommand(TerminalCommand):
    """Put a command (measure, encode, repair, distill, probe) into a pipeline file instead of running it."""

    command: ClassVar[str] = "plan"
    summary: ClassVar[str] = "put a command into a pipeline file, for one pass with others"
    details: ClassVar[str] = """\
The first command writes the file, the others add to it; model and text must be the same for all. `limbeck run FILE`
then reads the text once for all of them.
"""
    examples: ClassVar[str] = """\
limbeck plan measure --model bert-base-cased --corpus text.txt --out runs/measured
limbeck plan distill --model bert-base-cased --corpus text.txt --method average --out runs/vectors
limbeck run pipeline.toml

limbeck plan --to week.toml repair --model gpt2 --corpus text.txt --method whiten --out runs/repaired
"""

    plan: PlanSettings

    @property
    def writes(self) -> bool:
        return True

    def perform(self, terminal: TerminalSettings) -> int:
        from limbeck.places import check_file
        from limbeck.runs.execution.pipeline import Pipeline, lines_for, sharing
        from limbeck.state import write_text

        if not self.plan.words:
            raise UsageError(f"a command is needed, one of {', '.join(sharing())}, with its options.", code="required")
        command, *arguments = self.plan.words
        choose(command, sharing(), what="the command")
        to = self.plan.to
        check_file(to, option="--to")
        shared, own = divided(command, arguments)
        if to.exists():
            known = Pipeline.read(to)
            for key in dict.fromkeys([*known.shared, *shared]):
                if key not in ("out", "layers") and known.shared.get(key) != shared.get(key):
                    there, here = shown(known.shared.get(key)), shown(shared.get(key))
                    raise UsageError(
                        f"{to}: one pass has one model and one text; {key} is {there} there and {here} here: use "
                        "another file (--to).",
                        code="not_shared",
                        parameter=key,
                    )
            text = known.text.rstrip("\n") + "\n"
        else:
            text = lines_for(shared)
        write_text(to, f"{text}\n[[{command}]]\n{lines_for(own)}")
        print(f"{to}: {command} into {own['out']}; limbeck run {to}")
        return 0


def shown(value: Any) -> str:
    return "not given" if value is None else repr(value)


def divided(command: str, arguments: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that were given, by key: those of model and text, and those of the command itself."""
    from limbeck.runs.execution.pipeline import key_of, own_options, sharing, top_options

    run = sharing()[command]
    options = {one.name: one for one in options_for(run)}
    shared: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for name, value in parser_for(run).read(arguments).items():
        key = key_of(options[name])
        value = plain(value)
        if key == "data" and command == "probe":
            shared["corpus"] = value
        elif key == "model" and isinstance(value, list):
            if len(value) > 1:
                raise UsageError(
                    f"a pipeline has one model; got {', '.join(value)}: make a file for each.",
                    code="not_shared",
                    parameter="model",
                )
            shared[key] = value[0]
        elif key in own_options(command):
            own[key] = value
        elif key in top_options() and key not in HOW:
            shared[key] = value
        else:
            raise UsageError(
                f"{options[name].flag} has no place in a pipeline: give it to `limbeck run`, or run the command "
                "separately.",
                code="not_shared",
                parameter=name,
            )
    for key, group in (("model", shared), ("corpus", shared), ("out", own)):
        if key not in group:
            raise UsageError(f"--{key} is required.", code="required", parameter=key)
    return shared, own


def plain(value: Any) -> Any:
    """A value as TOML has it."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if isinstance(value, bool | int | float) else str(value)
