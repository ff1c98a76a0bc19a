"""A run.json that somebody has changed or broken: one line from every command that reads it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from refusals import raises

import limbeck as lb
from limbeck.errors import LimbeckError
from limbeck.record import read_record
from limbeck.reporting.page import report
from limbeck.reporting.page.folders import find_folders
from limbeck.reporting.read import read_run
from limbeck.reporting.serving import WordTable
from limbeck.reporting.serving.server import ANSWERS

SENTENCES = [["a", "b", "c"], ["b", "a"], ["c", "a"], ["a", "c", "b"]]
REMOVED = object()
VALUES = (None, [], "x", -1, {}, [None], float("nan"), True, REMOVED)
BROKEN = {
    "deep list": "[" * 100_000,
    "deep object": '{"a":' * 50_000,
    "deep field": '{"name": "a", "dim": 1, "layers": ["0"], "counts": {"x": ' + "[" * 500 + "]" * 500 + "}}",
    "long number": '{"dim": ' + "9" * 5_000 + "}",
    "huge number": '{"name": "a", "dim": ' + "9" * 400 + ', "layers": ["0"]}',
    "null": "null",
    "list": "[1]",
    "empty": "",
    "cut": '{"command": "measure", "layers": [',
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("runs")
    for name in ("one", "two"):
        lb.measure(one_hot, SENTENCES, min_contexts=2, out=root / name)
    return root / "one", root / "two"


def one_hot(texts: Any) -> list[Any]:
    import numpy as np

    return [np.eye(26)[[ord(word[0]) % 26 for word in text.words]] for text in texts]


def explored(folder: Path) -> None:
    table = WordTable(folder)
    json.dumps(ANSWERS["/api/run"](table, {}))
    table.page(layer=table.layers[0])


def readers(one: Path, two: Path, out: Path) -> dict[str, Callable[[], object]]:
    return {
        "serve": lambda: explored(one),
        "compare": lambda: lb.compare(one, two, draws=9).sentences(),
        "compare the other way": lambda: lb.compare(two, one, draws=9).sentences(),
        "figures": lambda: read_run(one),
        "folders": lambda: find_folders([one]),
        "merge": lambda: lb.merge(one, two, out=out, existing="replace", figures=False),
    }


def fields(told: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name in told if isinstance(told, dict) else ():
        yield (*above, name)
        yield from fields(told[name], (*above, name))


def changed(told: dict[str, Any], field: tuple[str, ...], value: object) -> dict[str, Any]:
    made = copy.deepcopy(told)
    place = made
    for name in field[:-1]:
        place = place[name]
    if value is REMOVED:
        del place[field[-1]]
    else:
        place[field[-1]] = value
    return made


@pytest.fixture
def record(runs: tuple[Path, Path]) -> Iterator[Path]:
    path = runs[0] / "run.json"
    kept = path.read_text(encoding="utf-8")
    yield path
    path.write_text(kept, encoding="utf-8")


def told_in_one_line(read: Callable[[], object], what: object) -> None:
    told = ""
    try:
        read()
    except LimbeckError as error:
        told = str(error)
    assert "\n" not in told, what


def test_every_field_changed(runs: tuple[Path, Path], record: Path, tmp_path: Path) -> None:
    told = json.loads(record.read_text(encoding="utf-8"))
    for field in fields(told):
        if field[0] == "versions":
            continue
        for value in VALUES:
            record.write_text(json.dumps(changed(told, field, value)), encoding="utf-8")
            for name, read in readers(*runs, tmp_path / "out").items():
                told_in_one_line(read, (name, field, value))


def test_the_page_of_changed_fields(runs: tuple[Path, Path], record: Path, tmp_path: Path) -> None:
    told = json.loads(record.read_text(encoding="utf-8"))
    for field in told:
        for value in (None, [], "x", REMOVED):
            record.write_text(json.dumps(changed(told, (field,), value)), encoding="utf-8")
            told_in_one_line(lambda: report(runs[0], out=tmp_path / "page.html"), (field, value))


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_no_record(how: str, runs: tuple[Path, Path], record: Path, tmp_path: Path) -> None:
    record.write_text(BROKEN[how], encoding="utf-8")
    with raises(LimbeckError, code="damaged", says="run.json"):
        read_record(record)
    for name, read in readers(*runs, tmp_path / "out").items():
        if (name, how) == ("folders", "huge number"):
            continue  # the page leaves out what it cannot show
        with pytest.raises(LimbeckError) as error:
            read()
        assert "\n" not in str(error.value), name


@pytest.mark.parametrize(("field", "value"), [("layers", []), ("layers", "x"), ("counts", None), ("dim", 0)])
def test_what_serve_needs(field: str, value: object, runs: tuple[Path, Path], record: Path) -> None:
    told = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(json.dumps({**told, field: value}), encoding="utf-8")
    with raises(LimbeckError, code="damaged", says=f"run.json: {field} "):
        WordTable(runs[0])


def test_an_old_record_is_read_without_its_password(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"source": {"paths": ["zip://a.txt::http://name:PW@host/a.zip"]}}), encoding="utf-8")
    assert read_record(path)["source"] == {"paths": ["zip://a.txt::http://name:***@host/a.zip"]}
