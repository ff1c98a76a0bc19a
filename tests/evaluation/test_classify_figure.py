"""The figures by epoch: the curves are the means of the table, and equal tables give equal files."""

from __future__ import annotations

import numpy as np
from refusals import raises

from limbeck import tables
from limbeck.errors import LimbeckError
from limbeck.reporting import draw
from limbeck.reporting import epochs as drawing
from limbeck.reporting.epochs import epoch_figures
from limbeck.reporting.style import styled


def made_table(targets=("mini",), tasks=("rte", "cola"), settings=("baseline", "cluster"), last=4):
    rng = np.random.default_rng(0)
    rows = [
        (target, task, "accuracy" if task == "rte" else "matthews", setting, seed, epoch, 1 / epoch, 0.5,
         float(rng.random()), 0, 0.5)
        for target in targets for task in tasks for setting in settings for seed in (0, 1, 2)
        for epoch in range(1, last + 1)
    ]  # fmt: skip
    names = "target task metric setting seed epoch loss held_out score chosen majority".split()
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def test_curves_are_means_over_starts():
    table = made_table()
    with styled():
        figure = drawing._draw(table, "score", "title", "about")
    panels = figure.axes
    assert [panel.get_title(loc="left") for panel in panels] == ["rte", "cola"]
    assert [panel.get_ylabel() for panel in panels] == ["accuracy", "Matthews' correlation"]
    for panel, task in zip(panels, ("rte", "cola"), strict=True):
        lines = {line.get_label(): line for line in panel.get_lines()}
        for setting in ("baseline", "cluster"):
            rows = zip(table["task"], table["setting"], table["epoch"], table["score"], strict=True)
            scores = [(epoch, value) for t, s, epoch, value in rows if (t, s) == (task, setting)]
            expected = [np.mean([value for e, value in scores if e == epoch]) for epoch in (1, 2, 3, 4)]
            np.testing.assert_allclose(lines[setting].get_ydata(), expected)
            assert lines[setting].get_xdata().tolist() == [1, 2, 3, 4]


def test_files_of_a_table_that_was_written_and_read(tmp_path):
    table = made_table(targets=("a", "b"), tasks=("cola",), last=30)
    made = draw(epoch_figures(table), tmp_path / "one")
    tables.write_csv(tmp_path / "epochs.csv", table)
    again = draw(epoch_figures(tables.read_csv(tmp_path / "epochs.csv")), tmp_path / "two")
    assert [path.name for path in made] == ["epochs.png", "epochs.svg", "losses.png", "losses.svg"]
    for one, other in zip(made, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
    text = (tmp_path / "one" / "epochs.svg").read_text(encoding="utf-8")
    for words in ("a, cola", "b, cola", "most frequent class"):
        assert words in text


def test_nothing_to_draw():
    with raises(LimbeckError, code="empty"):
        epoch_figures({})
