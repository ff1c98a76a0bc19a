"""The heat map of tuning: every number is on it, in its place; the best are framed; equal tables give equal files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from limbeck.evaluation import Tuning
from limbeck.reporting import draw
from limbeck.reporting.style import styled
from limbeck.reporting.tuning import tuning_figure, tuning_figures
from limbeck.tables import read_csv, write_csv


def made(*, clusters: tuple[int, ...] = (1, 5, 10), seeds: int = 3) -> Tuning:
    rng = np.random.default_rng(len(clusters))
    scores = rng.uniform(0.4, 0.7, size=(len(clusters), 4, seeds))
    return Tuning(
        "sts-b-dev", "mini", "12", "spearman", "pooled", clusters, (5, 6, 7, 8), tuple(range(seeds)), scores, 0.35
    )


def rows_of(tuned: Tuning) -> list[dict]:
    table = tuned.table()
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


def test_every_number_is_in_its_cell() -> None:
    tuned = made()
    with styled():
        figure = tuning_figure(rows_of(tuned))
    axes = figure.axes[0]
    tops = {label.get_text(): tick for label, tick in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)}
    columns = {label.get_text(): tick for label, tick in zip(axes.get_xticklabels(), axes.get_xticks(), strict=True)}
    assert list(tops) == ["global", "5", "10"]
    written = {(round(t.get_position()[0], 2), round(t.get_position()[1] - 0.02, 2)): t.get_text() for t in axes.texts}
    assert len(written) == 12
    for row, name in enumerate(tops):
        for column, count in enumerate(tuned.components):
            mean = tuned.scores[row, column, :1] if name == "global" else tuned.scores[row, column]
            assert written[columns[str(count)], round(tops[name], 2)] == f"{100 * mean.mean():.1f}"
    frames = [line.get_xydata() for line in axes.get_lines()]
    assert len(frames) == 2
    k, c = tuned.best(clustered=True)
    np.testing.assert_allclose(frames[1].mean(axis=0), [columns[str(c)], tops[str(k)]], atol=0.11)
    assert "35.0 without a repair" in " ".join(text.get_text() for text in figure.texts)


@pytest.mark.parametrize("clusters", [(1,), (5,), (1, 27)])
def test_few_settings(clusters: tuple[int, ...], tmp_path: Path) -> None:
    written = draw(tuning_figures(made(clusters=clusters, seeds=1).table()), tmp_path)
    assert [path.name for path in written] == ["tuning.png", "tuning.svg"]


def test_from_a_file_and_twice(tmp_path: Path) -> None:
    tuned = made()
    write_csv(tmp_path / "tuning.csv", tuned.table())
    draw(tuning_figures(tuned.table()), tmp_path / "a")
    draw(tuning_figures(read_csv(tmp_path / "tuning.csv")), tmp_path / "b")
    for form in ("png", "svg"):
        assert (tmp_path / "a" / f"tuning.{form}").read_bytes() == (tmp_path / "b" / f"tuning.{form}").read_bytes()


def test_a_figure_for_each_target_and_layer(tmp_path: Path) -> None:
    one, other = made().table(), made(clusters=(5, 10)).table()
    other["layer"] = ["3"] * len(other["layer"])
    both = {name: [*one[name], *other[name]] for name in one}
    assert [path.stem for path in draw(tuning_figures(both), tmp_path)] == ["tuning-1"] * 2 + ["tuning-2"] * 2
