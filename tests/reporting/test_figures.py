"""Figures: every number of the tables is on them, where it can be seen, and equal runs give equal files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from refusals import raises

from limbeck.errors import LimbeckError
from limbeck.reporting.figures import FIGURES, draw, run_figures
from limbeck.reporting.layers import FEW, largest
from limbeck.reporting.read import Run, read_runs
from limbeck.reporting.style import styled

Writer = Callable[..., Path]
Drawn = Callable[[str, Sequence[Path]], tuple[Any, list[Run]]]
ADJUSTED = {
    "self_similarity": ["self_similarity"],
    "intra_sentence_similarity": ["intra_sentence_similarity", "intra_sentence_similarity_matched"],
    "mev": ["mev", "mev_centered", "mev_truncated_svd"],
}


@pytest.fixture
def drawn() -> Iterator[Drawn]:
    """A figure before it is saved, and the runs it shows."""

    def figure_of(name: str, folders: Sequence[Path]) -> tuple[Any, list[Run]]:
        runs = read_runs(folders)
        return FIGURES[name](runs), runs

    with styled():
        yield figure_of


@pytest.fixture(scope="module")
def three(write_run: Writer) -> list[Path]:
    """Models of different depth, with holes, and one of a single layer."""
    return [
        write_run("a", name="a", layers=[str(layer) for layer in range(7)], undefined={("4", "mev"), ("5", "mev")}),
        write_run("b", name="_b $x$", layers=("table", "0", "1", "2"), seed=3, undefined={("1", "self_similarity")}),
        write_run("c", name="模型", layers=("table",), seed=4),
    ]


@pytest.fixture(scope="module")
def written(three: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return draw(run_figures(three), tmp_path_factory.mktemp("out") / "deep" / "figures")


def lines(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_child")}


def texts(path: Path) -> set[str]:
    """What a reader can search for in an SVG."""
    return {
        "".join(node.itertext()).strip() for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    }


def test_each_figure_is_written_twice_and_nothing_else(written: list[Path]) -> None:
    assert [path.name for path in written] == [f"{name}.{form}" for name in FIGURES for form in ("png", "svg")]
    assert sorted(written[0].parent.iterdir()) == sorted(written)
    for path in written:
        assert path.stat().st_size > 5000
        if path.suffix == ".svg":
            assert {"layer", "_b $x$"} <= texts(path)
        else:
            assert path.read_bytes().startswith(b"\x89PNG")


ELSEWHERE = """
import sys
from pathlib import Path
import matplotlib
matplotlib.rcParams.update({"lines.linewidth": 7, "font.size": 20, "svg.hashsalt": "other", "savefig.dpi": 30})
def settings():  # asking for the backend would choose one
    return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}
before = settings()
from limbeck.reporting import draw, run_figures
draw(run_figures([Path(folder) for folder in sys.argv[2:]]), Path(sys.argv[1]))
assert settings() == before
assert not {"torch", "matplotlib.pyplot"} & set(sys.modules)
"""


def test_equal_runs_give_equal_files_in_any_process(three: list[Path], written: list[Path], tmp_path: Path) -> None:
    """Whatever the user has set, which stays set; no warning, no model, no window."""
    call = [sys.executable, "-W", "error", "-c", ELSEWHERE, str(tmp_path), *map(str, three)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for path in written:
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_anisotropy_is_the_table(three: list[Path], drawn: Drawn) -> None:
    figure, runs = drawn("anisotropy", three)
    [axes] = figure.axes
    for run in runs:
        line = lines(axes)[run.name]
        np.testing.assert_array_equal(line.get_xdata(), run.positions)
        np.testing.assert_array_equal(line.get_ydata(), run.column("anisotropy"))


@pytest.mark.parametrize("name", ADJUSTED)
@pytest.mark.parametrize("count", [1, 3])
def test_adjusted_measures_are_the_table_and_in_sight(three: list[Path], drawn: Drawn, name: str, count: int) -> None:
    figure, runs = drawn(name, three[:count])
    columns, measures = ("value", "baseline", "adjusted"), ADJUSTED[name]
    assert len(figure.axes) == len(measures) * (1 if count == 1 else 2)
    negative = 0
    for run in runs:
        for place, measure in enumerate(measures):
            for column in columns:
                [(axes, line)] = [
                    (axes, lines(axes)[f"{run.name} {column}"])
                    for axes in figure.axes[place :: len(measures)]
                    if f"{run.name} {column}" in lines(axes)
                ]
                wanted = run.column(measure, column)
                np.testing.assert_array_equal(line.get_ydata(), wanted)
                np.testing.assert_array_equal(line.get_xdata(), run.positions)
                low, high = axes.get_ylim()
                seen = wanted[np.isfinite(wanted)]
                assert low <= 0 <= high
                assert ((low < seen) & (seen < high)).all()
                negative += int((seen < 0).sum())
    assert negative  # or the check above would be empty


def test_isotropy_divides_the_effective_rank_by_the_dimensions(three: list[Path], drawn: Drawn) -> None:
    figure, runs = drawn("isotropy", three)
    for run in runs:
        shown = {label: line.get_ydata() for axes in figure.axes for label, line in lines(axes).items()}
        np.testing.assert_array_equal(shown[f"{run.name} effective_rank"], run.column("effective_rank") / run.dim)
        for measure in ("log10_isotropy", "log10_isotropy_one_sign", "isoscore", "norm_of_mean_over_mean_norm"):
            np.testing.assert_array_equal(shown[f"{run.name} {measure}"], run.column(measure))


def test_frequency_has_a_line_a_layer_and_hollow_points_for_few_words(three: list[Path], drawn: Drawn) -> None:
    figure, runs = drawn("frequency", three)
    for axes, run in zip(figure.axes, runs, strict=False):
        assert axes.get_xscale() == "log"
        for at, table in zip(run.positions, run.frequency, strict=True):
            line = lines(axes)[f"{run.name} {at}"]
            np.testing.assert_array_equal(line.get_ydata(), table["self_similarity"])
            assert ((table["from"] < line.get_xdata()) & (line.get_xdata() < table["below"])).all()
        hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "white"]
        few = sum(int((table["words"] < FEW).sum()) for table in run.frequency)
        assert sum(len(line.get_xdata()) for line in hollow) == few > 0


def test_spectra_are_shares_of_the_variance(three: list[Path], drawn: Drawn) -> None:
    figure, runs = drawn("spectra", three)
    for axes, run in zip(figure.axes, runs, strict=False):
        for at, values in zip(run.positions, run.spectra, strict=True):
            line = lines(axes)[f"{run.name} {at}"]
            np.testing.assert_array_equal(line.get_xdata(), np.arange(1, run.dim + 1))
            np.testing.assert_allclose(line.get_ydata(), values / values.sum(), rtol=1e-14)


def test_dimensions_stack_the_ten_largest(three: list[Path], drawn: Drawn) -> None:
    figure, runs = drawn("dimensions", three)
    for axes, run in zip(figure.axes, runs, strict=True):
        numbers, shares = largest(run)
        np.testing.assert_allclose(shares.sum(1), np.sort(run.shares)[:, -10:].sum(1))
        np.testing.assert_array_equal(np.take_along_axis(run.shares, numbers, 1), shares)
        bars = np.array([[bar.get_height() for bar in group] for group in axes.containers])
        np.testing.assert_allclose(bars.T, shares)
        low, high = axes.get_ylim()
        assert low <= np.minimum(shares, 0).sum(1).min()
        assert np.maximum(shares, 0).sum(1).max() <= high


def test_holes_stay_holes_and_lonely_layers_have_markers(three: list[Path], drawn: Drawn) -> None:
    figure, runs = drawn("mev", three)
    line = lines(figure.axes[0])[f"{runs[0].name} adjusted"]
    assert np.isnan(line.get_ydata()[4:6]).all()
    assert line.get_marker() not in (None, "None", "")


def test_nothing_defined_is_said(write_run: Writer, drawn: Drawn) -> None:
    folder = write_run("a", layers=("0", "1"), undefined={("0", "anisotropy"), ("1", "anisotropy")})
    figure, _ = drawn("anisotropy", [folder])
    assert "no value is defined" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize(
    ("layers", "shown"),
    [
        (["0", "1", "2"], ["0", "1", "2"]),
        (["table", "0", "1"], ["table", "0", "1"]),
        (["input", "output"], ["input", "output"]),
        ([str(layer) for layer in range(49)], ["0", "5", "10", "15", "20", "25", "30", "35", "40", "45"]),
    ],
)
def test_ticks_are_layers(write_run: Writer, drawn: Drawn, layers: list[str], shown: list[str]) -> None:
    figure, _ = drawn("mev", [write_run("a", layers=layers)])
    got = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert got == shown


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("count", [1, 4])
def test_words_stay_on_the_sheet_and_apart(write_run: Writer, drawn: Drawn, name: str, count: int) -> None:
    long = "organisation/" + "a-name-that-does-not-end-" * 8
    folders = [
        write_run(f"r{i}", name=f"{long}{i}", layers=["table", *map(str, range(8 * i + 1))], seed=i)
        for i in range(count)
    ]
    figure, _ = drawn(name, folders)
    figure.draw_without_rendering()
    page = figure.bbox
    words = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    words += [
        text for axes in figure.axes for text in (axes.xaxis.label, axes.yaxis.label, axes._left_title, axes.title)
    ]
    boxes = [text.get_window_extent() for text in words if text.get_text()]
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= page.x1
        assert box.y1 <= page.y1
    panels = [axes.get_window_extent() for axes in figure.axes]
    for place, box in enumerate(boxes):
        inner = box.padded(-1)
        assert not any(inner.overlaps(other.padded(-1)) for other in boxes[:place])
        assert not any(inner.overlaps(panel) for panel in panels)


def test_a_missing_measure_leaves_no_figure_behind(write_run: Writer, tmp_path: Path) -> None:
    folders = [write_run("a"), write_run("b", without={"isoscore"})]
    with raises(LimbeckError, code="incomplete", says="layers.csv"):
        draw(run_figures(folders), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_target_that_is_a_file_is_refused(write_run: Writer, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with raises(LimbeckError, code="not_writable"):
        draw(run_figures([write_run("a")]), tmp_path / "out")
