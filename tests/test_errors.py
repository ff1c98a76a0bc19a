"""What errors carry, and that no password of a URL is shown or kept, wherever it stands and whatever reads it."""

from __future__ import annotations

import ast
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from refusals import raises

import limbeck as lb
from limbeck.cli import main
from limbeck.corpus import Corpus
from limbeck.errors import Code, InputError, UnknownName, UsageError, choose, holds_password, without_passwords
from limbeck.vectors import OccurrenceVectors, StaticVectors

SECRET = [
    "http://name:PW@host/a.txt",
    "zip://a.txt::http://name:PW@host/b.zip",
    "zip://a.txt::simplecache::ftp://name:PW@host/b.zip",
    "simplecache::http://name:PW@host/a.txt",
    "http://name/:PW@host/a.txt",
    "http://name:P/W@host/a.txt",
    "http://:PW@host",
    "http://name%3APW%40host/a.txt",
    "http://name%253APW%2540host/a.txt",
    "http%3A%2F%2Fname%3APW%40host/a.txt",
    "HTTP://name:PW@host",
]
PLAIN = [
    "http://host:80/a@b",
    "http://[::1]:80/a@b",
    "s3://bucket/2024:05/x@y",
    "abfs://container@account.dfs.core.windows.net/a",
    "zip://a.txt::http://host:8080/b@c.zip",
    "file:///tmp/10:30@home.txt",
    "texts/10:30@home.txt",
    "C:/texts/10:30@home.txt",
]


def test_codes_are_those_that_errors_have() -> None:
    """mypy sees that every error has one of them; none is left over."""
    used: set[object] = set()
    for path in Path(lb.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "code":
                used |= {part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)}
    codes = get_args(Code)
    assert len(set(codes)) == len(codes)
    assert set(codes) - used == set()


def test_what_an_error_carries_comes_from_another_process_too() -> None:
    error = UsageError("no --dmi: try --dim", code="out_of_range", parameter="dim", hint="try --dim", flag="DIM")
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is UsageError
    assert vars(there) == vars(error)
    assert (str(there), there.for_terminal()) == ("no dmi: try dim", "no --dmi: try DIM")


def test_of_many_names_the_nearest_comes_first() -> None:
    names = [f"task-{number}" for number in range(30)]
    with pytest.raises(UsageError) as caught:
        choose("taks-7", names, what="--tasks")
    assert (caught.value.code, caught.value.parameter) == ("unknown_choice", "tasks")
    assert caught.value.hint == "did you mean 'task-7'?"
    told = caught.value.message
    assert told.index("did you mean 'task-7'?") < told.index("task-0, task-1")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("measur", "did you mean measure?"),
        ("measure --lay 3", "did you mean --layers?"),
        ("measure --preset papre", "did you mean 'paper'?"),
        ("measure --model mini-bret", "did you mean mini-bert?"),
        ("measure --preset zzz", None),
        ("measure --zzz", None),
    ],
)
def test_the_nearest_name_is_a_hint_and_part_of_the_line(
    typed: str, hint: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*typed.split(), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told.get("hint") == hint
    assert (hint or "") in told["error"]


def test_a_mistyped_keyword_has_one_too() -> None:
    for given, hint in (({"layer": 3}, "did you mean 'layers'?"), ({"zzz": 3}, "")):
        with raises(UsageError, code="unknown_parameter", parameter=None) as caught:
            lb.measure("mini-bert", "sample", **given)
        assert caught.value.hint == hint
        assert hint in str(caught.value)


def test_which_have_one() -> None:
    assert [url for url in SECRET if not holds_password(url)] == []
    assert [url for url in PLAIN if holds_password(url)] == []
    for url in PLAIN:
        assert without_passwords(f"no answer from {url}, again") == f"no answer from {url}, again"


@pytest.mark.parametrize("url", SECRET)
def test_every_reader_refuses_it(url: str, tmp_path: Path) -> None:
    readers: list[Callable[[str], object]] = [
        Corpus,
        StaticVectors.load,
        StaticVectors.from_model,
        OccurrenceVectors.load,
        lambda given: lb.load_encoder(given, device="cpu"),
        lambda given: Corpus(Path(given)),
    ]
    for read in readers:
        with raises(UsageError, code="password") as error:
            read(url)
        assert "PW" not in str(error.value)
        assert "P/W" not in str(error.value)


@pytest.mark.parametrize("url", SECRET)
def test_the_command_line_shows_and_keeps_none(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'model = "mini-bert"\ncorpus = ["sample"]\n[[measure]]\nname = "{url}"\n')
    for typed in (
        ["measure", "--model", "mini-bert", "--corpus", url, "--out", str(tmp_path / "out")],
        ["measure", "--no-such-option", f"--corpus={url}", "--json"],
        ["evaluate", url, "--tasks", "sts", "--json"],
        ["run", str(plan)],
    ):
        assert main(typed) == 2
        shown = capsys.readouterr()
        assert "PW" not in shown.out + shown.err
        assert "P/W" not in shown.out + shown.err
        assert "--json" not in typed or json.loads(shown.out)["status"] == 2
    assert not (tmp_path / "out").exists()


def test_what_a_library_tells_is_shown_without_it() -> None:
    """As of an endpoint in the environment, which limbeck never reads itself."""
    for told in ("cannot be reached (http://name:PW@host/a)", "http://name%3APW%40host"):
        error = InputError(told, code="not_reachable")
        assert "PW" not in str(error)
        assert "host" in str(error) or "***" in str(error)


def test_a_key_that_is_not_there_comes_with_the_nearest() -> None:
    names = iter(["tea", *(f"word{number}" for number in range(100_000)), "teapots"])
    error = UnknownName("measure", "anisotrpy", {"mev": 0, "anisotropy": 1})
    assert isinstance(error, KeyError)
    for same in (error, pickle.loads(pickle.dumps(error))):
        assert (type(same), same.code) == (UnknownName, "unknown_choice")
        assert str(same) == "There is no measure 'anisotrpy', did you mean 'anisotropy'?"
    UnknownName("word", "teapot", names)
    assert next(names) == "tea"  # none is read before somebody asks
    assert "did you mean" not in str(UnknownName("word", "teapot", names)), "the last stands behind too many others"
    assert str(UnknownName("word", 3, [])) == "There is no word 3."
