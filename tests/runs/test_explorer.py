"""Neighbours and occurrences of words, beside the same written out over all occurrences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from made import OwnEncoder, see, sentences, unique_texts

import limbeck as lb
from limbeck.runs.measuring.explorer import MOST, own_plane

MADE = sentences(160, documents=9)
LAYERS = ("low", "middle", "high")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    lb.measure(OwnEncoder(), MADE, out=out, min_contexts=3)
    return out


def rows_of(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def test_neighbours_are_the_nearest_mean_directions(folder: Path) -> None:
    seen = see(unique_texts(MADE))
    rows = rows_of(folder / "neighbors.parquet")
    followed = sorted(set(parquet.read_table(folder / "words.parquet").to_pydict()["word"]))
    assert {row["word"] for row in rows} == set(followed)
    for layer, name in enumerate(LAYERS):
        units = seen.vectors[layer] / np.linalg.norm(seen.vectors[layer], axis=1, keepdims=True)
        means = np.stack([units[[word == own for own in seen.words]].mean(0) for word in followed])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        means -= means.mean(0)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        for place, word in enumerate(followed):
            cosines = means @ means[place]
            cosines[place] = -2
            own = [row for row in rows if row["word"] == word and row["layer"] == name]
            assert [row["rank"] for row in own] == list(range(1, 9))
            nearest = np.argsort(-cosines)[:8]
            assert [row["neighbor"] for row in own] == [followed[other] for other in nearest]
            np.testing.assert_allclose([row["cosine"] for row in own], cosines[nearest], atol=1e-5)


def test_clouds_keep_the_distances_that_a_plane_can_keep(folder: Path) -> None:
    rows = rows_of(folder / "clouds.parquet")
    said = {" ".join(sentence.words) for sentence in MADE}
    for word in {row["word"] for row in rows}:
        own = [row for row in rows if row["word"] == word and row["layer"] == "high"]
        assert [row["occurrence"] for row in own] == list(range(len(own)))
        assert 5 <= len(own) <= MOST
        assert all(row["sentence"] in said and word in row["sentence"].split() for row in own)
        assert np.mean([row["x"] for row in own]) == pytest.approx(0, abs=1e-4)


def test_the_plane_of_some_points_is_that_of_their_singular_vectors() -> None:
    x = np.random.default_rng(0).normal(size=(12, 30)) * np.linspace(3, 0.1, 30)
    places = own_plane(x)
    centred = x - x.mean(0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
    expected = centred @ directions.T
    np.testing.assert_allclose(np.abs(places), np.abs(expected), atol=1e-9)
    assert (np.take_along_axis(places, np.abs(places).argmax(0)[None], 0) > 0).all()
    assert not own_plane(np.ones((5, 3))).any()  # equal points are one point


def test_without_text_clouds_have_no_sentences(tmp_path: Path) -> None:
    out = tmp_path / "run"
    lb.measure(OwnEncoder(), MADE, out=out, min_contexts=3, text=False)
    assert {row["sentence"] for row in rows_of(out / "clouds.parquet")} == {""}
