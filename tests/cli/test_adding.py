"""Adding a command and its options is one module: it is then in --help, completion, --json and run.json."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from refusals import refused

from limbeck.cli import main, program
from limbeck.cli.commands.completion import offered
from limbeck.errors import UsageError

MODULE = '''
"""Count the letters of a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from limbeck.cli.program import register_command
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import Run
from limbeck.runs.execution.settings import OutputSettings
from limbeck.settings import Settings, option
from limbeck.stream.settings import EngineSettings


@dataclass(frozen=True)
class LetterSettings(Settings, group="letters"):
    word: str = option("limbeck", common=True, help="word whose letters are counted")
    least: int = option(1, minimum=1, metavar="N", help="letters that are counted so often (1)")
    order: Literal["alphabet", "count"] = option("alphabet", help="alphabet (default), or count")


class LettersResult(RunResult):
    files = {"letters": "letters.csv"}
    text = ("letter",)


@register_command
@dataclass(kw_only=True)
class LettersRun(Run[LettersResult]):
    """Count how often each letter occurs in a word."""

    result = LettersResult
    command: ClassVar[str] = "letters"
    summary: ClassVar[str] = "count the letters of a word"
    examples: ClassVar[str] = "limbeck letters --word tea --out runs/tea"

    letters: LetterSettings
    output: OutputSettings
    engine: EngineSettings

    def compute(self, context: Any) -> LettersResult:
        word = self.letters.word
        found = {one: word.count(one) for one in sorted(set(word)) if word.count(one) >= self.letters.least}
        if self.letters.order == "count":
            found = dict(sorted(found.items(), key=lambda item: -item[1]))
        tables = {"letters": {"letter": list(found), "count": list(found.values())}}
        return LettersResult(self.record({"name": word}, context), tables)
'''
LINE = ["letters", "--word", "barrel", "--order", "count"]


#: a new option of it: one line in one file
OPTION = '    shout: bool = option(False, help="count capitals of the word in capitals")\n'


@pytest.fixture
def letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    yield from added(MODULE, tmp_path, monkeypatch)


@pytest.fixture
def longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module with one more option."""
    begin, line, end = MODULE.partition("    least: int")
    yield from added(begin + OPTION + line + end, tmp_path, monkeypatch)


def added(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(program, "_registered", {})
    monkeypatch.syspath_prepend(tmp_path / "own")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "limbeck_letters.py").write_text(text, encoding="utf-8")
    yield importlib.import_module("limbeck_letters")
    del sys.modules["limbeck_letters"]


def page_module(name: str) -> Any:
    """A module of docs/, which is no part of the package."""
    path = Path(__file__).parents[2] / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"docs_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("letters")
def test_help_and_completion_know_it(capsys: pytest.CaptureFixture[str]) -> None:
    for words, told in (
        (["--help"], "letters count the letters of a word"),
        (["letters", "--help"], "--word WORD word whose letters are counted"),
        (["letters", "--help"], "letters: --least N letters that are counted so often (1) --order ORDER alphabet"),
        (["letters", "--help"], "examples: limbeck letters --word tea --out runs/tea"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert told in " ".join(capsys.readouterr().out.split())
    assert offered(["lett"]).names == {"letters": "count the letters of a word"}
    assert list(offered(["letters", "--le"]).names) == ["--least"]
    assert list(offered(["letters", "--order", ""]).names) == ["alphabet", "count"]
    assert list(offered(["letters", "--order=c"]).names) == ["--order=count"]
    assert offered(["letters", "--out", ""]).files
    assert main(["completion", "zsh", "--", "letters", "--lea"]) == 0
    assert capsys.readouterr().out == "names\n--least\tletters that are counted so often (1)\n"
    assert main(["leters"]) == 2
    assert "did you mean letters?" in capsys.readouterr().err


def test_its_folder_has_options_and_numbers(letters: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LINE, "--least", "2", "--out", "run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["command"], found["status"]) == ("letters", 0)
    assert found["tables"][0]["rows"] == [{"letter": "r", "count": "2"}]
    record = json.loads(Path("run", "run.json").read_text(encoding="utf-8"))
    assert (record["format"], record["command"]) == (2, "letters")
    assert record["options"] == {"word": "barrel", "least": 2, "order": "count"}
    assert Path("run", "letters.csv").read_text() == "letter,count\nr,2\n"
    result = letters.LettersResult.load("run")
    assert result.to_pandas().to_dict("list") == {"letter": ["r"], "count": [2]}
    assert refused(*LINE, "--least", "2", "--out", "run", capsys=capsys) == (1, "exists", "existing")
    assert main([*LINE, "--least", "2", "--out", "run", "--existing", "resume"]) == 0
    assert capsys.readouterr().out == "run: complete already.\n"


def test_from_python_it_gives_the_same(letters: ModuleType) -> None:
    from limbeck.runs.execution.execute import execute

    (result,) = execute(letters.LettersRun.of({"word": "barrel", "order": "count", "out": "here"}))
    assert result == letters.LettersResult.load("here")
    assert main([*LINE, "--out", "there", "--quiet"]) == 0
    assert Path("here", "letters.csv").read_bytes() == Path("there", "letters.csv").read_bytes()


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--least", "0"], "--least must be at least 1, got 0."),
        (["--order", "cuont"], "--order must be one of alphabet, count; got 'cuont', did you mean 'count'?"),
        (["--words", "x"], "limbeck letters has no option --words; did you mean --word?"),
    ],
)
def test_its_options_are_checked(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["letters", "--out", "run", *words]) == 2
    assert capsys.readouterr().err == f"limbeck: {told}\n"
    assert not Path("run").exists()


def test_its_reference_and_types_are_made_from_it(letters: ModuleType) -> None:
    section = "\n".join(page_module("commands").section(letters.LettersRun))
    assert "## letters\n\nCount how often each letter occurs in a word." in section
    assert "```sh\nlimbeck letters --word tea --out runs/tea\n```" in section
    assert "| `--least` | whole number, at least 1 | `1` | letters that are counted so often |" in section

    def verb(word: str = "limbeck", **keywords: Any) -> Any:
        """What a module of the public names would have."""

    (typed,) = page_module("stub").signatures("letters", verb, letters.LettersRun)
    assert '    least: int = ...,\n    order: Literal["alphabet", "count"] = ...,\n' in typed


def test_a_new_option_is_one_line(longer: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """It is in --help, completion, Python, run.json, the reference and the types at once."""
    from limbeck.runs.execution.execute import execute

    told = "count capitals of the word in capitals"
    with pytest.raises(SystemExit):
        main(["letters", "--help"])
    assert f"--shout {told}" in " ".join(capsys.readouterr().out.split())
    assert offered(["letters", "--sh"]).names == {"--shout": told}
    assert main([*LINE, "--shout", "--out", "run", "--quiet"]) == 0
    assert json.loads(Path("run", "run.json").read_text(encoding="utf-8"))["options"]["shout"] is True
    execute(longer.LettersRun.of({"word": "barrel", "shout": True, "out": "here"}))
    assert json.loads(Path("here", "run.json").read_text(encoding="utf-8"))["options"]["shout"] is True
    with pytest.raises(UsageError) as caught:
        longer.LettersRun.of({"word": "barrel", "shout": "loud", "out": "there"})
    assert (caught.value.code, caught.value.parameter) == ("wrong_type", "shout")
    assert f"| `--shout` |  |  | {told} |" in "\n".join(page_module("commands").section(longer.LettersRun))


def test_a_command_that_fills_no_folder_is_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module among limbeck's own commands is found by its name, with nothing else to be changed."""
    from limbeck.cli import commands

    (tmp_path / "shout.py").write_text(
        "from dataclasses import dataclass\n"
        "from limbeck.cli.program import TerminalCommand\n"
        "@dataclass(kw_only=True)\n"
        "class ShoutCommand(TerminalCommand):\n"
        "    'Shout.'\n"
        "    command, summary = 'shout', 'say it loud'\n"
        "    def perform(self, terminal):\n"
        "        print('LIMBECK')\n"
        "        return 0\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "limbeck.cli.commands.shout", raising=False)
    assert main(["shout"]) == 0
    assert capsys.readouterr().out == "LIMBECK\n"
    assert offered(["sho"]).names == {"shout": "say it loud"}
    del sys.modules["limbeck.cli.commands.shout"]
