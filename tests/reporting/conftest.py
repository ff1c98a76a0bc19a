"""Run folders made of numbers, as `measure` writes them, and a browser to look at their pages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.reporting.read import MEASURES
from limbeck.tables import write_csv, write_parquet

DIM = 12
WITH_BASELINE = MEASURES[1:7]
Writer = Callable[..., Path]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser, without a window."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no Chromium is installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def write_run(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    """write_run(folder, layers=…, name=…, undefined={(layer, measure)}, without={measure})"""

    def write(
        folder: str,
        *,
        layers: Sequence[str] = ("0", "1", "2"),
        name: str = "model",
        undefined: Collection[tuple[str, str]] = (),
        without: Collection[str] = (),
        seed: int = 0,
    ) -> Path:
        path = tmp_path_factory.mktemp("runs") / folder
        path.mkdir()
        (path / "run.json").write_text(json.dumps({"name": name, "dim": DIM, "layers": list(layers)}))
        write_csv(path / "layers.csv", _layers(layers, undefined, without, seed))
        write_csv(path / "frequency.csv", _frequency(layers, undefined))
        generator = np.random.default_rng(seed)
        spectra = np.sort(generator.exponential(size=(len(layers), DIM)))[:, ::-1]
        shares = generator.normal(size=(len(layers), DIM))
        shares /= shares.sum(1, keepdims=True)
        by = {"layer": [layer for layer in layers for _ in range(DIM)]}
        places = np.tile(np.arange(DIM), len(layers))
        write_parquet(path / "spectra.parquet", by | {"index": places, "centered": spectra.ravel()})
        write_parquet(path / "dimensions.parquet", by | {"dimension": places, "share": shares.ravel()})
        return path

    return write


def _layers(
    layers: Sequence[str], undefined: Collection[tuple[str, str]], without: Collection[str], seed: int
) -> dict[str, list[Any]]:
    generator = np.random.default_rng(seed + 1)
    names = ("layer", "measure", "value", "baseline", "adjusted", "n", "low", "high", "note")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for layer in layers:
        for measure in (*MEASURES, "mean_norm"):  # a measure that no figure shows
            if measure in without:
                continue
            value, baseline = (float(number) for number in generator.uniform(0, 1, size=2))
            if (layer, measure) in undefined:
                value = float("nan")
            chance = measure in WITH_BASELINE
            row = {"layer": layer, "measure": measure, "value": value, "n": 5, "note": ""}
            row |= {"baseline": baseline if chance else None, "adjusted": value - baseline if chance else None}
            row |= {"low": value - 0.01, "high": value + 0.02}
            for column in names:
                columns[column].append(row[column])
    return columns


def _frequency(layers: Sequence[str], undefined: Collection[tuple[str, str]]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in ("layer", "from", "below", "words", "self_similarity", "mev")}
    for place, layer in enumerate(layers):
        for band in range(4):
            value = (
                float("nan")
                if (layer, "self_similarity") in undefined and band == 1
                else 0.9 - 0.1 * band - 0.01 * place
            )
            row = [layer, 5 * 2**band, 10 * 2**band, 40 >> band, value, 0.5]
            for column, cell in zip(columns.values(), row, strict=True):
                column.append(cell)
    return columns
