"""Arrays of which something would be lost are refused wherever arrays come in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import raises

import limbeck as lb
from limbeck.errors import InputError, LimbeckError
from limbeck.evaluation import EvaluationSettings, Pairs, evaluate
from limbeck.measures.tables import geometry
from limbeck.repairs import Center, ClusterRemoval
from limbeck.vectors import OccurrenceVectors, OccurrenceWriter, StaticVectors

X = np.random.default_rng(0).normal(size=(12, 4))
NAMES = [f"w{row}" for row in range(12)]
NUMBERS = np.arange(12)
PAIRS = Pairs("p", "sts", NAMES[:6], NAMES[6:], np.arange(6.0))
QUICK = EvaluationSettings(draws=5)
TABLE = StaticVectors(NAMES, X)
MASK = np.eye(12, 4, dtype=bool)


def nullable() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X).astype("Float64").where(~MASK)


LOSSY: dict[str, Callable[[], Any]] = {
    "masked": lambda: np.ma.masked_array(X, mask=MASK),
    "masked rows": lambda: [np.ma.masked_array(row, mask=some) for row, some in zip(X, MASK, strict=True)],
    "complex": lambda: X + 1j,
    "complex lists": lambda: (X + 1j).tolist(),
    "complex tensor": lambda: torch.tensor(X + 1j),
    "complex objects": lambda: (X + 1j).astype(object),
    "no value": lambda: np.where(MASK, None, X),
    "nullable": nullable,
    "strings": lambda: X.astype(str),
}


def write(x: Any, folder: Path) -> Any:
    writer = OccurrenceWriter(folder, encoder_name="e", encoder_fingerprint="f", layers=("0",), dim=4, dtype="float32")
    return writer.write(x, NAMES, NUMBERS, NUMBERS, positions=NUMBERS)


TAKERS: dict[str, Callable[[Any], Any]] = {
    "measures": lambda x: lb.measures.anisotropy(x),
    "tables": geometry,
    "StaticVectors": lambda x: StaticVectors(NAMES, x),
    "nearest": lambda x: TABLE.nearest(x),
    "fit": lambda x: Center().fit(x),
    "transform": Center().fit(X).transform,
    "centers": lambda x: ClusterRemoval(12, 1, init=x).fit(X),
    "similarity": lambda x: evaluate(
        Pairs("p", "sts", NAMES[:6], NAMES[6:], np.arange(6.0)), lambda _: x, settings=QUICK
    ),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("kind", LOSSY)
def test_nothing_is_dropped_in_silence(kind: str, taker: str) -> None:
    error = ValueError if taker in ("fit", "transform") else InputError  # as scikit-learn has it
    with pytest.raises(error) as raised:
        TAKERS[taker](LOSSY[kind]())
    if kind not in ("no value", "nullable"):  # where scikit-learn tells of NaN, it takes lines
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("taker", TAKERS)
def test_a_masked_array_without_a_masked_value_is_an_array(taker: str) -> None:
    TAKERS[taker](np.ma.masked_array(X))
    TAKERS[taker](X.astype(object))


def test_single_rows_weights_labels_and_scores() -> None:
    hidden = np.ma.masked_array(np.abs(X[:, 0]), mask=MASK[:, 0])
    for refused in (
        lambda: lb.measures.self_similarity(X, words=np.ma.masked_array(NUMBERS, mask=MASK[:, 0])),
        lambda: TABLE.similarity("w0", X[0] + 1j),
        lambda: TABLE.sentences(["w0"], common=X[0] + 1j),
        lambda: StaticVectors(NAMES, X, counts=np.ma.masked_array(NUMBERS, mask=MASK[:, 0])),
        lambda: Center().fit(X, sample_weight=hidden),
        lambda: Pairs("p", "wordsim", NAMES, NAMES, hidden),
        lambda: evaluate(Pairs("p", "wordsim", ["a"], ["b"], [1.0]), {"a": X[0] + 1j, "b": X[1]}, settings=QUICK),
    ):
        with pytest.raises(LimbeckError):
            refused()


@pytest.mark.parametrize("kind", ["masked", "complex", "complex tensor"])
def test_kept_vectors(tmp_path: Path, kind: str) -> None:
    x = LOSSY[kind]()[None]
    with raises(InputError, code="wrong_type"):
        write(x, tmp_path / "kept")


def test_files_of_complex_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", vectors=X + 1j, words=np.array(NAMES))
    with raises(InputError, code="wrong_type"):
        StaticVectors.load(tmp_path / "v.npz")
    with raises(InputError, code="wrong_type"):
        OccurrenceVectors.load(tmp_path / "v.npz")
