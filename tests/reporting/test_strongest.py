"""The strongest findings of runs: effect over the width of its interval, computed by hand here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from limbeck.reporting.strongest import Strong, strongest
from limbeck.tables import write_csv, write_parquet

LAYERS = ["0", "1"]


def made_run(
    folder: Path, name: str, *, fall: float, anisotropy: tuple[float, float], noise: float = 0.02
) -> np.ndarray:
    """Words whose self-similarity falls by about so much, at layers of this anisotropy, known to ± 0.05."""
    rng = np.random.default_rng(len(name))
    first = 0.8 + 0.02 * rng.normal(size=40)
    values = np.stack([first, first - fall + 0.02 * rng.normal(size=40)])
    folder.mkdir()
    account = {"command": "measure", "name": name, "layers": LAYERS, "dim": 2, "source": {}}
    (folder / "run.json").write_text(json.dumps(account), encoding="utf-8")
    columns = {
        "word": [f"w{i}" for i in range(40) for _ in LAYERS],
        "layer": LAYERS * 40,
        "n": np.repeat(rng.integers(5, 500, size=40), 2),
        "self_similarity": values.T.ravel(),
    }
    for measure in ("mev", "mev_centered"):
        columns[measure] = columns[f"{measure}_baseline"] = np.full(80, np.nan)
    write_parquet(folder / "words.parquet", columns)
    rows = []
    for place, layer in enumerate(LAYERS):
        mean = anisotropy[place]
        rows.append((layer, "anisotropy", mean, None, None, mean - 0.05, mean + 0.05))
        rows.append((layer, "self_similarity", values[place].mean(), 0.0, values[place].mean(), None, None))
        rows.append((layer, "intra_sentence_similarity_matched", 0.5, 0.5, 0.0, 0.45, 0.55))
    names = ("layer", "measure", "value", "baseline", "adjusted", "low", "high")
    write_csv(folder / "layers.csv", dict(zip(names, zip(*rows, strict=True), strict=True)))
    return values


def test_effects_and_their_order(tmp_path: Path) -> None:
    values = made_run(tmp_path / "a", "one", fall=0.3, anisotropy=(0.1, 0.6))
    found = strongest([tmp_path / "a"])
    assert [one.kind for one in found[:2]] == ["course", "anisotropy"]
    course, anisotropy = found[:2]
    assert course.effect == pytest.approx((values[1] - values[0]).mean())
    assert course.low < course.effect < course.high < 0
    assert "less like itself in other sentences at layer 1 than at layer 0" in course.sentence
    assert f"falls by {-course.effect:.3f}" in course.sentence
    assert "over 40 words" in course.sentence
    # two intervals of width 0.1 together are √2 · 0.1 wide
    assert anisotropy.strength == pytest.approx(0.5 / (0.1 * np.sqrt(2)))
    assert "most alike at layer 1 (mean cosine 0.60) and least at layer 0 (0.10)" in anisotropy.sentence
    assert [one.strength for one in found] == sorted((one.strength for one in found), reverse=True)
    assert "sentence" not in {one.kind for one in found}  # 0 ± 0.05 says nothing


def test_each_kind_once_and_two_models(tmp_path: Path) -> None:
    one = made_run(tmp_path / "a", "one", fall=0.3, anisotropy=(0.1, 0.6))
    other = made_run(tmp_path / "b", "other", fall=0.1, anisotropy=(0.1, 0.2))
    found = strongest([tmp_path / "a", tmp_path / "b"], count=9)
    kinds = [finding.kind for finding in found]
    assert len(kinds) == len(set(kinds))
    models = found[kinds.index("models")]
    assert models.effect == pytest.approx((other[1] - one[1]).mean())
    assert "more contextual in one than in other at 1 of 2 layers, most so at layer 1" in models.sentence  # not at 0
    assert "one: two random words" in found[kinds.index("anisotropy")].sentence  # the stronger of both


def test_strength() -> None:
    assert Strong("x", "", -2.0, -2.5, -1.5).strength == 2.0
    assert np.isfinite(Strong("x", "", 1.0, 1.0, 1.0).strength)
