"""Figures of fine-tuning: written, the same for the same tables, and the numbers in their places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from refusals import raises

from limbeck.errors import LimbeckError
from limbeck.reporting import draw
from limbeck.reporting.finetuning import attention_figure, finetuning_figure
from limbeck.reporting.style import styled

STEPS = {"step": [str(step) for step in range(1, 31)], "epoch": ["1"] * 30, "loss": [str(1 / s) for s in range(1, 31)]}
DEV = {"step": ["10", "20", "30"], "loss": ["0.5", "0.4", "0.6"], "accuracy": ["0.5", "0.8", "0.7"]}
TABLE = {
    "layer": ["1", "1", "2", "2", "3", "3"], "head": [1, 2, 1, 2, 1, 2], "similarity": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
}  # fmt: skip


def test_curves_are_drawn(tmp_path: Path):
    figures = {"training": lambda: finetuning_figure(STEPS, DEV, name="x", metric="accuracy", best=20)}
    drawn = [draw(figures, tmp_path / name) for name in ("a", "b")]
    assert [path.name for path in drawn[0]] == ["training.png", "training.svg"]
    assert [path.read_bytes() for path in drawn[0]] == [path.read_bytes() for path in drawn[1]]
    with styled():
        figure = finetuning_figure(STEPS, DEV, name="x", metric="accuracy", best=20)
    score = figure.axes[1].lines[0]
    assert score.get_xydata().tolist() == [[10.0, 0.5], [20.0, 0.8], [30.0, 0.7]]
    kept = [line for line in figure.axes[1].lines if line.get_xdata()[0] == line.get_xdata()[-1] == 20]
    assert kept


def test_heat_map_has_low_layers_below_and_one_scale_for_all(tmp_path: Path):
    assert len(draw({"attention": lambda: attention_figure({"one": TABLE, "two": TABLE})}, tmp_path)) == 2
    other = {**TABLE, "similarity": [1.0] * 6}
    with styled():
        figure = attention_figure({"one": TABLE, "two": other})
    images = [axes.images[0] for axes in figure.axes[:2]]
    np.testing.assert_allclose(images[0].get_array(), [[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]])
    assert images[0].origin == "lower"
    assert images[0].get_clim() == images[1].get_clim() == (0.4, 1.0)


def test_empty_tables_are_told():
    with raises(LimbeckError, code="empty"):
        finetuning_figure({"step": []}, DEV, name="x", metric="accuracy", best=1)
    with raises(LimbeckError, code="empty"):
        attention_figure({})
