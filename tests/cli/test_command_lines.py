"""The test that decides whether a way of reading command lines will do: a table of command lines, and what they mean.

The way itself, settings -> argparse, is in `limbeck.cli.program`. Another one has to pass this table first.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from limbeck.cli import main, program
from limbeck.cli.output import tell
from limbeck.cli.program import (
    ORDER,
    TerminalCommand,
    TerminalSettings,
    command_names,
    parser_for,
    read_command,
    register_command,
)
from limbeck.errors import InputError, Interrupted, UsageError
from limbeck.runs.measure import MeasureRun
from limbeck.settings import Settings, option


@dataclass(frozen=True)
class TeaSettings(Settings, group="tea"):
    """One option of every kind."""

    pot: Path | None = option(None, positional=True, required=True, metavar="POT", help="what it is made in")
    leaves: tuple[str, ...] = option((), positional=True, metavar="LEAF", help="what is in it")
    shifts: tuple[int, ...] = option((), metavar="N", help="whole numbers, one or more")
    rates: tuple[float, ...] = option((), repeat=True, metavar="R", help="numbers, each with its option")
    kinds: tuple[str, ...] = option((), separator=",", metavar="A,B", help="names in one word")
    at: Any = option(None, metavar="AT", help='places, for example "0,3-5,-1"')
    degrees: float = option(95.0, above=-274, maximum=100, metavar="C", help="100 % is boiling")
    minutes: int = option(3, minimum=-5, metavar="N", help="how long (3)")
    cup: Literal["glass", "china"] = option("glass", metavar="CUP", help="glass (default), or china")
    milk: bool = option(False, help="with milk; * <unk> and [CLS] are [/] no markup, %(prog)s and 100% neither")
    stirred: bool = option(True, help="do not stir it")
    kind_of_water: str = option("tap", flag="--water", metavar="KIND", help="which water (tap)")
    then: str = option("", terminal=True, help="how it ends")
    rest: tuple[str, ...] = option((), flag="--", help="what follows")


@dataclass(kw_only=True)
class TeaCommand(TerminalCommand):
    """Make tea, of *every* kind, in <unk> water of [CLS]."""

    command: ClassVar[str] = "tea"
    summary: ClassVar[str] = "make tea"
    details: ClassVar[str] = "A *star* is a star, <unk> is unknown, and [CLS] and [bold] begin a text."
    examples: ClassVar[str] = "limbeck tea pot --kinds 'a*,<unk>,[CLS]' --degrees 80"

    tea: TeaSettings

    @property
    def writes(self) -> bool:
        return self.tea.then == "in files"

    def perform(self, terminal: TerminalSettings) -> int:
        ends: dict[str, Callable[[], BaseException]] = {
            "no input": lambda: InputError("pot: must hold tea, got none: give another.", code="empty"),
            "no file": lambda: FileNotFoundError(2, "No such file", "pot"),
            "a library": lambda: RuntimeError("first line\nsecond line"),
            "no memory": lambda: MemoryError(),
            "wrong usage": lambda: UsageError("--milk goes with --cup=china.", code="exclusive", parameter="milk"),
            "stopped": lambda: KeyboardInterrupt(),
            "to go on": lambda: Interrupted(
                "stopped; to go on: the same command with --existing=resume.", code="stopped"
            ),
        }
        if self.tea.then in ends:
            raise ends[self.tea.then]()
        tell(degrees=self.tea.degrees)
        print(f"tea of {self.tea.degrees} degrees")
        return 1 if self.tea.then == "missing" else 0


@pytest.fixture(autouse=True)
def tea(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_registered", {})
    register_command(TeaCommand)


def read(*words: str) -> dict[str, Any]:
    """The values of `limbeck tea` that differ from their defaults."""
    made, _ = read_command(TeaCommand, words)
    return made.tea.given()


POT = {"pot": Path("pot")}


@pytest.mark.parametrize(
    ("line", "given"),
    [
        # arguments before, behind and between options
        ("pot", {}),
        ("pot green black", {"leaves": ("green", "black")}),
        ("--milk pot green", {"milk": True, "leaves": ("green",)}),
        ("pot --milk green", {"milk": True, "leaves": ("green",)}),
        ("pot green --milk black", {"milk": True, "leaves": ("green", "black")}),
        ("--cup china pot --degrees 80 green", {"cup": "china", "degrees": 80.0, "leaves": ("green",)}),
        ("pot --shifts 1 2", {"shifts": (1, 2)}),
        ("pot --shifts 1 2 --milk green", {"shifts": (1, 2), "milk": True, "leaves": ("green",)}),
        # several values, options that are given again, with = and without
        ("pot --rates 1 --rates 2.5", {"rates": (1.0, 2.5)}),
        ("pot --rates=1 --rates=2.5", {"rates": (1.0, 2.5)}),
        ("pot --kinds a,b", {"kinds": ("a", "b")}),
        ("pot --kinds=a", {"kinds": ("a",)}),
        ("pot --minutes 4 --minutes 5", {"minutes": 5}),
        ("pot --shifts 1 2 --shifts 3", {"shifts": (1, 2, 3)}),
        ("pot --minutes 1_000", {"minutes": 1000}),
        ("pot --water rain", {"kind_of_water": "rain"}),
        ("pot --water=a=b", {"kind_of_water": "a=b"}),
        ("pot --water=", {"kind_of_water": ""}),
        ("pot --no-stirred", {"stirred": False}),
        # negative values
        ("pot --minutes -5", {"minutes": -5}),
        ("pot --minutes=-5", {"minutes": -5}),
        ("pot --degrees -1.5e2", {"degrees": -150.0}),
        ("pot --degrees -.5", {"degrees": -0.5}),
        ("pot --shifts -1 -2 -3", {"shifts": (-1, -2, -3)}),
        ("pot --shifts 1 -2 --milk", {"shifts": (1, -2), "milk": True}),
        ("pot --rates -1e-3 --rates -2", {"rates": (-0.001, -2.0)}),
        ("pot --at -1", {"at": "-1"}),
        ("pot --at -2,-1", {"at": "-2,-1"}),
        ("pot --at -3--1 green", {"at": "-3--1", "leaves": ("green",)}),
        ("pot --kinds -1,-2", {"kinds": ("-1", "-2")}),
        ("pot -1 green", {"leaves": ("-1", "green")}),
        # standard input
        ("-", {"pot": Path("-")}),
        ("pot - green", {"leaves": ("-", "green")}),
        ("--milk pot -", {"milk": True, "leaves": ("-",)}),
        ("pot --at -", {"at": "-"}),
        ("pot --at=-", {"at": "-"}),
        ("pot --kinds a,-", {"kinds": ("a", "-")}),
        # what follows a --
        ("pot -- --milk --json pot -1", {"rest": ("--milk", "--json", "pot", "-1")}),
        ("pot --", {}),
        ("pot -- a -- b", {"rest": ("a", "--", "b")}),
    ],
)
def test_a_line_means(line: str, given: dict[str, Any]) -> None:
    assert read(*line.split()) == POT | given


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["pot", "two words", ""], {"leaves": ("two words", "")}),
        (["pot", "--water", "*"], {"kind_of_water": "*"}),
        (["pot", "--water", "<unk>"], {"kind_of_water": "<unk>"}),
        (["[CLS]", "--kinds", "[CLS], <unk> ,*"], {"pot": Path("[CLS]"), "kinds": ("[CLS]", "<unk>", "*")}),
        (["pot", "--water", "ünd %s 😀"], {"kind_of_water": "ünd %s 😀"}),
        (["pot", "--water", "--milk=x y"], None),
    ],
)
def test_words_that_a_shell_keeps_together(words: list[str], given: dict[str, Any] | None) -> None:
    if given is None:
        with pytest.raises(UsageError):
            read(*words)
    else:
        assert read(*words) == POT | given


@pytest.mark.parametrize(
    ("line", "field", "given"),
    [
        ("--corpus -", "text", {"corpus": ["-"]}),
        ("--corpus=-", "text", {"corpus": ["-"]}),
        ("--corpus a.txt - b.txt", "text", {"corpus": ["a.txt", "-", "b.txt"]}),
        ("--model a b --corpus c", "models", {"model": ("a", "b")}),
        ("--layers -1", "encoder", {"layers": "-1"}),
        ("--layers 0,3-5,-1 --context 0", "encoder", {"layers": "0,3-5,-1", "context": 0}),
        ("--no-text", "sentences", {"text": False}),
        ("--out x --min-contexts 7", "measures", {"min_contexts": 7}),
    ],
)
def test_a_line_of_measure_means(line: str, field: str, given: dict[str, Any]) -> None:
    made, _ = read_command(MeasureRun, ["--out", "out", *line.split()])
    assert getattr(made, field).given() == given


@pytest.mark.parametrize(
    ("line", "code", "parameter", "told"),
    [
        ("tea", "required", "pot", "POT is required."),
        ("tea --milk", "required", "pot", "POT is required."),
        ("tea pot --milc", "unknown_option", "--milc", "limbeck tea has no option --milc; did you mean --milk?"),
        ("tea --milc", "unknown_option", "--milc", "did you mean --milk?"),
        ("tea pot --mil", "unknown_option", "--mil", "did you mean --milk?"),  # no abbreviations, which would change
        ("tea pot --milc=3", "unknown_option", "--milc", "did you mean --milk?"),
        ("tea pot --xyz 3", "unknown_option", "--xyz", "see `limbeck tea --help`."),
        ("tea pot --corpus c", "unknown_option", "--corpus", "limbeck tea has no option --corpus"),
        ("tea pot -x", "unknown_option", "-x", "limbeck tea has no option -x"),
        ("tea pot --degrees", "usage", "", "argument --degrees: expected one argument; see `limbeck tea --help`."),
        ("tea pot --shifts", "usage", "", "argument --shifts: expected at least one argument"),
        ("tea pot --shifts --milk", "usage", "", "argument --shifts: expected at least one argument"),
        ("tea pot --minutes many", "wrong_type", "minutes", "--minutes must be a whole number, got 'many'."),
        ("tea pot --minutes 1.5", "wrong_type", "minutes", "--minutes must be a whole number, got '1.5'."),
        ("tea pot --shifts 1 b", "wrong_type", "shifts", "--shifts must be a whole number, got 'b'."),
        ("tea pot --minutes -6", "out_of_range", "minutes", "--minutes must be at least -5, got -6."),
        ("tea pot --degrees 101", "out_of_range", "degrees", "--degrees must be at most 100, got 101.0."),
        ("tea pot --degrees -inf", "usage", "", "argument --degrees: expected one argument"),
        ("tea pot --degrees=nan", "out_of_range", "degrees", "--degrees must be above -274, got nan."),
        ("tea pot --cup glas", "unknown_choice", "cup", "--cup must be one of glass, china; got 'glas', did you mean"),
        ("tea pot --milk=yes", "usage", "", "argument --milk: ignored explicit argument 'yes'"),
        ("measure", "required", "out", "--out is required."),
        ("measure x --out y", "unknown_argument", "", "limbeck measure takes no other argument, got 'x'"),
        ("measure --out y -1", "unknown_argument", "", "limbeck measure takes no other argument, got '-1'"),
        ("measure --out y --tasks sts", "unknown_option", "--tasks", "limbeck measure has no option --tasks"),
        ("measure --out y --points 0", "out_of_range", "points", "--points must be at least 1, got 0."),
    ],
)
def test_wrong_usage_is_one_line(
    line: str, code: str, parameter: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *words = line.split()
    found = program.command_named(command)
    assert found is not None
    with pytest.raises(UsageError) as caught:
        read_command(found, words)
    assert (caught.value.code, caught.value.parameter) == (code, parameter)
    assert main([command, *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"limbeck: .*\n", said.err)
    assert told in said.err


def test_python_reads_the_parameter_and_the_terminal_the_flag() -> None:
    with pytest.raises(UsageError) as caught:
        TeaSettings(kind_of_water=3)  # type: ignore[arg-type]
    assert str(caught.value) == "kind_of_water must be text, got 3."
    assert caught.value.for_terminal() == "--water must be text, got 3."


# how it ends


@pytest.mark.parametrize(
    ("ends", "status", "told"),
    [
        ("", 0, ""),
        ("missing", 1, ""),
        ("no input", 1, "pot: must hold tea, got none: give another."),
        ("no file", 1, "[Errno 2] No such file: 'pot' (--debug shows where)"),
        ("a library", 1, "first line second line (--debug shows where)"),
        ("no memory", 1, "out of memory: lower --batch-tokens, --points or --max-words (--debug shows where)"),
        ("wrong usage", 2, "--milk goes with --cup china."),
        ("stopped", 130, "stopped."),
        ("to go on", 130, "stopped; to go on: the same command with --existing resume."),
    ],
)
def test_four_statuses_and_one_line(ends: str, status: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tea", "pot", "--then", ends]) == status
    said = capsys.readouterr()
    assert said.err.strip("\n") == (f"limbeck: {told}" if told else "")
    assert said.out == ("" if told else "tea of 95.0 degrees\n")
    assert main(["tea", "pot", "--then", ends, "--json"]) == status
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["command"], found["status"]) == ("tea", status)
    assert said.err.strip("\n") == (f"limbeck: {told}" if told else "")
    if told:
        assert found["error"] in (told.removesuffix(" (--debug shows where)"), told.removesuffix("."))
    else:
        assert (found["degrees"], found["lines"]) == (95.0, ["tea of 95.0 degrees"])


def test_wrong_usage_is_an_object_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("tea pot --json --milc", "tea --json", "measure --json --points x", "measur --json"):
        assert main(line.split()) == 2
        said = capsys.readouterr()
        found = json.loads(said.out)
        assert (found["command"], found["status"]) == (line.split()[0], 2)
        assert said.err == f"limbeck: {found['error']}\n"


def test_words_behind_two_dashes_are_no_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tea", "pot", "--", "--json", "--quiet", "--help"]) == 0
    assert capsys.readouterr().out == "tea of 95.0 degrees\n"


def test_quiet_keeps_what_is_not_in_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tea", "pot", "--quiet"]) == 0
    assert capsys.readouterr().out == "tea of 95.0 degrees\n"
    assert main(["tea", "pot", "--quiet", "--then", "in files"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["tea", "pot", "--quiet", "--json", "--then", "in files"]) == 0
    assert json.loads(capsys.readouterr().out)["degrees"] == 95.0
    assert main(["tea", "pot", "--quiet", "--then", "no input"]) == 1
    assert capsys.readouterr().err.startswith("limbeck: pot: must hold tea")


def test_debug_raises(capsys: pytest.CaptureFixture[str]) -> None:
    for ends, kind in (("no input", InputError), ("no file", OSError), ("wrong usage", UsageError)):
        with pytest.raises(kind):
            main(["tea", "--debug", "pot", "--then", ends])
    with pytest.raises(UsageError):
        main(["tea", "pot", "--milc", "--debug"])


# the program itself


def test_no_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for words, told in (([], "COMMAND"), (["--quiet"], "COMMAND"), (["--nosuch"], "COMMAND")):
        assert main(words) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert re.fullmatch(r"limbeck: .*\n", said.err if words else said.err.splitlines(keepends=True)[-1])
        assert told in said.err
        assert words or re.search("^    measure +measure every layer", said.err, re.MULTILINE)  # what there is


def test_help_of_a_command_by_another_way(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["help", "tea"], ["tea", "--help"]):
        with pytest.raises(SystemExit):
            main(words)
    said = capsys.readouterr().out
    assert said[: len(said) // 2] == said[len(said) // 2 :]


def test_a_mistyped_command_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    for typed, near in {"measur": "measure", "docter": "doctor", "evalute": "evaluate", "teas": "tea"}.items():
        assert main([typed, "--model", "x"]) == 2
        assert capsys.readouterr().err == f"limbeck: limbeck has no command {typed}; did you mean {near}?\n"
    assert main(["quux"]) == 2
    assert capsys.readouterr().err == "limbeck: limbeck has no command quux; see `limbeck --help`.\n"


def test_help_lists_every_command_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert not ended.value.code
    listed = re.findall(r"^    ([a-z]+)(?: |$)", capsys.readouterr().out, re.MULTILINE)
    assert listed == [*ORDER, "tea"]
    assert set(command_names()) <= set(listed)


LIGHT = """
import sys
from limbeck.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code
heavy = {"torch", "numpy", "sklearn", "scipy", "transformers", "pyarrow", "matplotlib", "spacy"} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize(
    "words", [[], *([name] for name in command_names())], ids=lambda words: "-".join(["limbeck", *words])
)
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    subprocess.run([sys.executable, "-c", LIGHT, *words, "--help"], check=True, capture_output=True)


# help


def helped(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    for flag in ("-h", "--help"):
        with pytest.raises(SystemExit) as ended:
            main([command, flag])
        assert not ended.value.code
        said = capsys.readouterr()
        assert said.err == ""
    return said.out


@pytest.mark.parametrize("columns", ["60", "200", ""])
def test_marks_in_help_stay_as_they_are(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = " ".join(helped("tea", capsys).split())
    for text in (
        "usage: limbeck tea POT LEAF ... [options]",
        "Make tea, of *every* kind, in <unk> water of [CLS].",
        "with milk; * <unk> and [CLS] are [/] no markup, %(prog)s and 100% neither",
        "A *star* is a star, <unk> is unknown, and [CLS] and [bold] begin a text.",
        "limbeck tea pot --kinds 'a*,<unk>,[CLS]' --degrees 80",
        "100 % is boiling",
        "--water KIND which water (tap)",
        "--no-stirred do not stir it",
        "--rates R numbers",
        "--shifts N [N ...] whole numbers",
    ):
        assert text in said
    assert "what follows" not in said  # a -- is for programs


@pytest.mark.parametrize("command", ["measure", "tea"])
def test_help_fits_60_columns(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for line in helped(command, capsys).splitlines():
        assert len(line) <= 60 or "limbeck" in line or len(line.split()) == 1, line


def test_help_in_a_pipe_is_plain_text() -> None:
    """From outside: no color, no box, nothing that a terminal alone understands, in 60 columns and in none."""
    for columns in ("60", ""):
        environment = {**os.environ, "COLUMNS": columns, "TERM": "xterm-256color", "FORCE_COLOR": "1"}
        command = [sys.executable, "-m", "limbeck", "measure", "--help"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        assert done.stderr == ""
        assert done.stdout.isascii()
        assert "\x1b" not in done.stdout
        assert "special tokens ([CLS], [SEP])" in " ".join(done.stdout.split())


def test_every_option_is_in_help_once(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("measure", "tea"):
        found = program.command_named(command)
        assert found is not None
        said = helped(command, capsys)
        for action in parser_for(found)._actions:
            spelled = action.option_strings[-1] if action.option_strings else str(action.metavar)
            assert len(re.findall(rf"^  (?:-h, )?{re.escape(spelled)}\b", said, re.MULTILINE)) == 1, spelled
