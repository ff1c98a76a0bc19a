"""Figures of several models: the tables' numbers by layer and by depth, published curves faint beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import MadeRun, split_words

from limbeck.papers import paper_named
from limbeck.papers.subjects import Subject, read_subjects
from limbeck.reporting.style import styled

PAPER = paper_named("ethayarajh2019")
RISING = {"anisotropy": [0.1, 0.2, 0.3, 0.4, 0.5], "self_similarity": [0.9, 0.8, 0.7, 0.6, 0.5]}


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> list[Subject]:
    root = tmp_path_factory.mktemp("runs")
    made = [
        MadeRun("BERT", RISING, name="a", words=split_words(0.3, 0.6)),
        MadeRun("ELMo", {"anisotropy": [0.0, 0.1, float("nan")], "mev": [1.0, 0.9, 0.8]}, layers=3, name="b"),
        MadeRun("", {"log10_isotropy": [-20000.0]}, layers=1, name="a-name-that-does-not-end-" * 8),
        MadeRun("GPT-2", {"mev_truncated_svd": [0.0] * 30}, layers=30, name="d"),
    ]
    return read_subjects([run.write(root) for run in made])


@pytest.fixture
def look() -> Iterator[None]:
    with styled():
        yield


def lines(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_child")}


@pytest.mark.usefixtures("look")
def test_left_by_layer_and_right_by_depth(subjects: list[Subject]) -> None:
    figure = PAPER.figures["anisotropy"](subjects, PAPER.numbers)
    left, right = (lines(axes) for axes in figure.axes)
    np.testing.assert_array_equal(left["a anisotropy value"].get_ydata(), RISING["anisotropy"])
    np.testing.assert_array_equal(left["a anisotropy value"].get_xdata(), range(5))
    np.testing.assert_array_equal(right["a anisotropy value"].get_xdata(), [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_array_equal(right["b anisotropy value"].get_xdata(), [0, 0.5, 1])
    assert np.isnan(left["b anisotropy value"].get_ydata()[2])


@pytest.mark.usefixtures("look")
def test_published_curves_are_faint_and_of_the_model_of_their_kind(subjects: list[Subject]) -> None:
    figure = PAPER.figures["self_similarity"](subjects, PAPER.numbers)
    by_label = {label: line for axes in figure.axes for label, line in lines(axes).items()}
    [bert] = [line for label, line in by_label.items() if "published BERT" in label and "adjusted" in label]
    assert bert.get_ydata()[0] == pytest.approx(0.954 - 0.105)
    assert bert.get_alpha() < 0.5
    assert bert.get_color() == by_label["a self_similarity adjusted"].get_color()
    assert "published" not in " ".join(
        label for axes in PAPER.figures["isotropy"](subjects, PAPER.numbers).axes for label in lines(axes)
    )


@pytest.mark.usefixtures("look")
def test_headline_has_both_definitions_and_the_line(subjects: list[Subject]) -> None:
    figure = PAPER.figures["mev_headline"](subjects[:3], PAPER.numbers)
    raw, adjusted = figure.axes[0], figure.axes[3]
    assert raw.get_yscale() == "log"
    for axes, column in ((raw, "value"), (adjusted, "adjusted")):
        assert {f"a mev {column}", f"a mev_centered {column}", f"a mev_truncated_svd {column}"} <= set(lines(axes))
        assert any(np.all(np.asarray(line.get_ydata()) == 0.05) for line in axes.get_lines())
    np.testing.assert_array_equal(lines(figure.axes[1])["b mev value"].get_ydata(), [0.9, 0.8])  # without the input


@pytest.mark.usefixtures("look")
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("name", PAPER.figures)
def test_words_stay_on_the_sheet_and_apart(subjects: list[Subject], name: str, count: int) -> None:
    figure = PAPER.figures[name](subjects[:count], PAPER.numbers)
    figure.draw_without_rendering()
    words = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    words += [text for axes in figure.axes if axes.get_visible()
              for text in (axes.xaxis.label, axes.yaxis.label, axes._left_title)]  # fmt: skip
    boxes = [text.get_window_extent() for text in words if text.get_text()]
    for place, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
        assert not any(box.padded(-1).overlaps(other.padded(-1)) for other in boxes[:place])


def test_figures_have_captions() -> None:
    assert set(PAPER.captions) == set(PAPER.figures) >= set(PAPER.tables)


@pytest.mark.usefixtures("look")
def test_the_words_figure_marks_the_lowest(subjects: list[Subject], tmp_path: Path) -> None:
    figure = PAPER.figures["words"](subjects[:1], ())
    [axes] = figure.axes
    assert "ringed:\nthe\nof\nand\nto\na" in [text.get_text() for text in axes.texts]
    assert len(lines(axes)["a stop words"].get_xdata()) == 20
