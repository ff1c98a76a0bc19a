"""The loss curve is drawn as its table says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refusals import raises

pytest.importorskip("matplotlib")

from limbeck.errors import LimbeckError
from limbeck.reporting import draw
from limbeck.reporting.training import training_figure

COLUMNS = {"epoch": [1, 1, 2, 2], "progress": [0.25, 0.75, 1.75, 1.25], "loss": ["7.1", "5", "3", "4"]}


def test_the_curve_runs_in_order_of_progress_with_a_line_between_epochs() -> None:
    [axes] = training_figure(COLUMNS, name="x2static").axes
    curve = next(line for line in axes.get_lines() if len(line.get_xdata()) == 4)
    np.testing.assert_array_equal(curve.get_xdata(), [0.25, 0.75, 1.25, 1.75])
    np.testing.assert_array_equal(curve.get_ydata(), [7.1, 5, 4, 3])
    assert [list(line.get_xdata()) for line in axes.get_lines() if line is not curve] == [[1, 1]]


def test_files_are_written_and_equal_for_equal_tables(tmp_path: Path) -> None:
    figures = {"losses": lambda: training_figure(COLUMNS, name="x2static")}
    one, other = (draw(figures, tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in one] == ["losses.png", "losses.svg"]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    with raises(LimbeckError, code="empty"):
        training_figure({}, name="x2static")
