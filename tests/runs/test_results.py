"""Every result is a value: typed tables, a figure, and a folder that gives the same back. None is listed by hand."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from refusals import raises

import limbeck as lb
from limbeck import runs
from limbeck.errors import InputError, LimbeckError, UnknownName, UsageError
from limbeck.runs.execution.result import RunResult, same

TEXT = [list(sentence.words) for sentence in islice(lb.Corpus("sample"), 120)]
QUICK = {"layers": "0,4", "mev_words": 5, "points": 300, "min_contexts": 3}
PROBING = {"min_words": 9, "epochs": 2, "compare": (), "control": (), "layers": "0,12"}


@cache
def result_classes() -> dict[str, type[RunResult]]:
    """Verb -> the class of its result, as the modules of `limbeck.runs` define them."""
    found = {}
    for one in pkgutil.iter_modules(runs.__path__):
        module = importlib.import_module(f"{runs.__name__}.{one.name}")
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, RunResult) and thing.__module__ == module.__name__:
                found[one.name] = thing
    return found


MAKERS: dict[str, Callable[[Path], Any]] = {
    "analyze": lambda folder: lb.analyze("frequency", "mini-bert", TEXT, method=["center"], layers="0,4", points=60),
    "compare": lambda folder: lb.compare(
        lb.measure("mini-bert", TEXT, **QUICK), lb.measure("mini-gpt2", TEXT, **QUICK), draws=50
    ),
    "distill": lambda folder: lb.distill("mini-bert", TEXT, method=["average", "word"], min_count=2),
    "encode": lambda folder: lb.encode("mini-bert", TEXT, layers="0,4", out=folder / "encoded"),
    "evaluate": lambda folder: lb.evaluate(
        [lb.StaticVectors(list("abcd"), np.eye(4)), "mini-bert"], tasks="rg-65", data=pairs(folder), draws=20
    ),
    "finetune": lambda folder: lb.finetune(
        tiny_models.save_bert(folder / "tiny"), "sst2", labelled(folder), steps=2, batch=4, attention_texts=3
    ),
    "measure": lambda folder: lb.measure("mini-bert", TEXT, **QUICK),
    "probe": lambda folder: lb.probe("mini-bert", "sample", **PROBING),
    "repair": lambda folder: lb.repair("mini-bert", TEXT, method="center", local_points=50, **QUICK),
}
#: results of which there is nothing to draw
WITHOUT_FIGURES = ("distill", "encode", "evaluate")


def pairs(folder: Path) -> Path:
    (folder / "EN-RG-65.txt").write_text("a\tb\t1\nb\tc\t2\na\td\t3\nc\td\t0.5\n", encoding="utf-8")
    return folder


def labelled(folder: Path) -> Path:
    (folder / "SST").mkdir()
    for split in ("train", "dev", "test"):
        lines = [f"{n % 2} the {'river' if n % 2 else 'boat'} rose" for n in range(8)]
        (folder / "SST" / f"stsa.binary.{split}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RunResult]:
    """The result of a verb, made once."""
    return cache(lambda verb: MAKERS[verb](tmp_path_factory.mktemp(verb)))


def check_folder(result: RunResult, folder: Path) -> None:
    """What is saved, loaded, is equal, and is whole."""
    result.save(folder, figures=False)
    loaded = type(result).load(folder)
    assert loaded == result
    assert result == loaded
    assert list(loaded.columns()) == list(result.columns())
    assert loaded.title() == result.title()
    assert (folder / "report.html").is_file() == result.has_record


def test_every_result_is_tried() -> None:
    assert MAKERS.keys() == result_classes().keys()


@pytest.mark.parametrize("verb", MAKERS)
def test_a_folder_gives_the_result_back(verb: str, made: Callable[[str], RunResult], tmp_path: Path) -> None:
    result = made(verb)
    assert type(result) is result_classes()[verb]
    check_folder(result, tmp_path / "saved")
    check_folder(type(result).load(tmp_path / "saved"), tmp_path / "again")  # what was loaded is saved as well
    with pytest.raises(LimbeckError):
        result.save(tmp_path / "saved")
    with raises(UsageError, code="unknown_choice", parameter="existing"):  # there is nothing to go on from
        result.save(tmp_path / "saved", existing="resume")  # type: ignore[arg-type]
    result.save(tmp_path / "saved", existing="replace", figures=False)


@pytest.mark.parametrize("verb", [verb for verb, kind in result_classes().items() if kind.has_record])
def test_the_folder_of_another_command_is_refused(verb: str, made: Callable[[str], RunResult], tmp_path: Path) -> None:
    made(verb).save(tmp_path / "run", figures=False)
    others = [kind for other, kind in result_classes().items() if kind.has_record and other != verb]
    for kind in others:
        with raises(InputError, code="other_kind", parameter="folder", says=(verb, str(tmp_path / "run"))):
            kind.load(tmp_path / "run")


@pytest.mark.parametrize("verb", MAKERS)
def test_in_a_line_it_has_its_title_alone(verb: str, made: Callable[[str], RunResult]) -> None:
    shown = repr(made(verb))
    assert shown.startswith(f"{result_classes()[verb].__name__}(")
    assert "\n" not in shown
    assert len(shown) < 160
    assert "'versions'" not in shown


def broken(result: RunResult) -> Iterator[RunResult]:
    """The same result with a fault, each time another."""
    yield replace(result, record={**result.record, "seconds": -1.0})
    if result.tables:
        name = next(iter(result.tables))
        shorter = {column: list(cells)[:-1] for column, cells in result.tables[name].items()}
        yield replace(result, tables={**result.tables, name: shorter})
        yield replace(result, tables={other: result.tables[other] for other in result.tables if other != name})


@pytest.mark.parametrize("verb", MAKERS)
def test_a_result_that_reads_something_else_is_found_out(
    verb: str, made: Callable[[str], RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = made(verb)
    for number, other in enumerate(broken(result)):
        monkeypatch.setattr(type(result), "load", lambda folder, other=other: other)
        with pytest.raises(AssertionError):
            check_folder(result, tmp_path / str(number))


@pytest.mark.parametrize("verb", MAKERS)
def test_its_table_is_one_of_every_library(verb: str, made: Callable[[str], RunResult]) -> None:
    result = made(verb)
    columns = result.columns()
    rows = len(next(iter(columns.values())))
    assert rows
    assert result.to_pandas().shape == (rows, len(columns))
    assert result.to_arrow().column_names == list(columns)
    assert "<table>" in result._repr_html_()
    pytest.importorskip("polars")
    assert result.to_polars().shape == (rows, len(columns))


@pytest.mark.parametrize("verb", MAKERS)
def test_it_draws_what_its_folder_has(verb: str, made: Callable[[str], RunResult], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = made(verb)
    if verb in WITHOUT_FIGURES:
        with pytest.raises(LimbeckError) as caught:
            result.plot()
        assert caught.value.code == "no_figure"
        return
    assert result.plot().axes
    result.save(tmp_path / "saved")
    drawn = sorted({path.stem for path in (tmp_path / "saved").glob("figures/*.svg")})
    assert bool(drawn) == (verb != "compare")
    for name in drawn[:2]:
        assert result.plot(name).texts
    with pytest.raises(LimbeckError) as caught:
        result.plot("a figure of that name")
    assert caught.value.code == "unknown_choice"


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ([1.0, None], np.array([1.0, np.nan]), True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),  # columns have an order
        ([1, 2], [1], False),
        ("ab", ["a", "b"], False),
        (0.1 + 0.2, 0.3, False),
        (None, 0, False),
    ],
)
def test_what_is_the_same(a: Any, b: Any, equal: bool) -> None:
    assert same(a, b) is same(b, a) is equal


def test_load_gives_what_a_folder_holds(made: Callable[[str], RunResult], tmp_path: Path) -> None:
    vectors = lb.distill("mini-bert", TEXT, method="average", min_count=2, out=tmp_path / "one", figures=False)
    assert isinstance(lb.load(tmp_path / "one"), lb.DistilledVectors)
    assert same(lb.load(tmp_path / "one"), vectors)
    for verb in ("measure", "evaluate", "distill", "repair"):
        made(verb).save(tmp_path / verb, figures=False)
        assert lb.load(tmp_path / verb) == made(verb)
    kept = lb.load(made("encode"))  # type: ignore[arg-type]
    assert isinstance(kept, lb.OccurrenceVectors)
    assert kept.words_total == made("encode").n  # type: ignore[attr-defined]
    vectors.save(tmp_path / "v.txt")
    assert type(lb.load(tmp_path / "v.txt")) is lb.StaticVectors
    (tmp_path / "other").mkdir()
    for told, code in (('{"my": "own file"}', "no_run"), ('{"command": "measure", "limbeck": "0.0"}', "other_format")):
        (tmp_path / "other" / "run.json").write_text(told, encoding="utf-8")
        with raises(InputError, code=code):
            lb.load(tmp_path / "other")
    (tmp_path / "other" / "run.json").write_text('{"format": 2, "command": "reproduce"}', encoding="utf-8")
    with pytest.raises(LimbeckError) as caught:
        lb.load(tmp_path / "other")
    assert (caught.value.code, caught.value.parameter) == ("other_kind", "path")


def test_a_measure_that_is_not_there_is_named(made: Callable[[str], RunResult]) -> None:
    result = made("measure")
    assert isinstance(result, lb.MeasureResult)
    for ask in (result.__getitem__, result.words):
        with raises(UnknownName, code="unknown_choice", says=("'anisotrpy'", "'anisotropy'")):
            ask("anisotrpy")
    with raises(UnknownName, code="unknown_choice", says="'zzz'"):
        result.words()["zzz"]
