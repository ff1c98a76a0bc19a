"""Figures of measured runs, as PNG and SVG: the four of Ethayarajh 2019, and what explains them.

Every figure holds all the runs. A line is a model; with one model its raw value, its baseline and their difference
share a panel, with several the differences have a panel of their own above the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.errors import LimbeckError
from limbeck.extras import need
from limbeck.reporting.layers import draw_dimensions, draw_frequency, draw_spectra
from limbeck.reporting.layout import Grid, Key, band, label_bottom, lay_out, layer_axis, layer_step, limits, name_panel
from limbeck.reporting.read import Run, read_runs
from limbeck.reporting.style import COLOURS, PURPOSE, QUIET, line_of, styled
from limbeck.state import atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: name of a figure -> what makes it; None where there is nothing to see
Makers = Mapping[str, Callable[[], "Figure | None"]]

#: column of layers.csv -> what the keys call it
NAMES = {"adjusted": "adjusted: raw minus baseline", "value": "raw", "baseline": "baseline"}

#: form of a file -> what is written into it beside the title; no date and no version, which would differ
METADATA: dict[str, dict[str, str | None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": "limbeck"}}


def draw(figures: Makers, out: Path) -> list[Path]:
    """Draw figures into a folder, NAME.png and NAME.svg of each. Equal runs give equal files."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LimbeckError(
            f"{out}: figures need a folder to lie in; {error.strerror}: choose another one.", code="not_writable"
        ) from error
    written = []
    with styled():
        for name, make in figures.items():
            if (figure := make()) is not None:
                written += save_figure(figure, out, name)
                figure.clear()
    return written


def run_figures(folders: Sequence[Path]) -> Makers:
    """Every figure with all the runs of `limbeck measure` in it; the folders are read and checked now."""
    runs = read_runs(folders)
    return {name: partial(make, runs) for name, make in FIGURES.items()}


def save_figure(figure: Figure, out: Path, name: str, *, forms: Sequence[str] = tuple(METADATA)) -> list[Path]:
    """Write a figure into a folder, in each form; equal figures give equal files."""
    written = []
    for form in forms:
        path = out / f"{name}.{form}"
        with atomic(path) as temporary:
            figure.savefig(temporary, format=form, metadata={"Title": name, **METADATA[form]})
        written.append(path)
    return written


def draw_anisotropy(runs: Sequence[Run]) -> Figure:
    """Mean cosine of random occurrences by layer (Figure 1)."""
    grid = Grid(1, 6.4, [3.4], titled=False)
    figure, [axes] = lay_out(
        runs,
        "Anisotropy: how alike two random words are",
        "Mean cosine of two occurrences taken at random; 0 if directions are used evenly. Shaded: 95\u00a0% interval.",
        grid=grid,
        panels=1,
        keys=[_model_keys(runs)],
    )
    for place, run in enumerate(runs):
        _line(axes, runs, place, run.column("anisotropy"), label=run.name)
        _band(axes, runs, place, "anisotropy")
    _finish(axes, runs, [run.column("anisotropy", name) for run in runs for name in ("value", "low", "high")])
    axes.set_ylabel("mean cosine")
    label_bottom([axes], grid, "layer")
    return figure


def draw_self_similarity(runs: Sequence[Run]) -> Figure:
    """Self-similarity by layer (Figure 2)."""
    return _draw_adjusted(
        runs,
        "Self-similarity: how alike a word is to itself in other contexts",
        "Mean cosine between occurrences of the same word, averaged over words; the baseline is the mean cosine of "
        "random words. Low when adjusted: the vectors depend on context. Shaded: 95\u00a0% interval of the raw value.",
        {"self_similarity": ""},
        width=6.4,
        unit="mean cosine",
    )


def draw_intra_sentence_similarity(runs: Sequence[Run]) -> Figure:
    """Intra-sentence similarity by layer, beside both baselines (Figure 3)."""
    return _draw_adjusted(
        runs,
        "Intra-sentence similarity: how alike the words of a sentence are",
        "Mean cosine between the words of a sentence and their mean vector. Left, the baseline is the paper's, the "
        "mean cosine of two random words; right, made sentences: random words, as many as in the real ones. "
        "Shaded: 95\u00a0% interval of the raw value.",
        {
            "intra_sentence_similarity": "Baseline: two random words (paper)",
            "intra_sentence_similarity_matched": "Baseline: made sentences (matched)",
        },
        width=3.4,
        unit="mean cosine",
        share=True,
    )


def draw_mev(runs: Sequence[Run]) -> Figure:
    """Maximum explainable variance by layer, by its three definitions (Figure 4)."""
    return _draw_adjusted(
        runs,
        "Maximum explainable variance: how much of a word one vector could hold",
        "Share of the first direction in the occurrences of a word, averaged over words; the baseline is the same of "
        "random words. Below zero when adjusted: one vector explains a word less well than it explains random words. "
        "The published figures show the third definition. Scales differ. Shaded: 95\u00a0% interval of the raw value.",
        {
            "mev": "Uncentred: σ₁² / Σσ²",
            "mev_centered": "Centred: λ₁ / Σλ",
            "mev_truncated_svd": "Released code: v₁ᵀCv₁ / tr C",
        },
        width=2.75,
        unit="share of variance",
    )


def draw_isotropy(runs: Sequence[Run]) -> Figure:
    """Four measures of how evenly a space is used, by layer."""
    panels: list[tuple[str, str, list[tuple[str, str, Callable[[Run], float]]]]] = [
        (
            "Partition function (0: isotropic)",
            "log₁₀ I(W)",
            [("log10_isotropy", "adjusted", _one), ("log10_isotropy_one_sign", "raw", _one)],
        ),
        ("IsoScore (1: isotropic)", "IsoScore", [("isoscore", "adjusted", _one)]),
        ("Effective rank (1: all directions)", "effective rank / dimensions", [("effective_rank", "adjusted", _dim)]),
        (
            "Length of the mean vector (0: centred)",
            "‖mean‖ / mean norm",
            [("norm_of_mean_over_mean_norm", "adjusted", _one)],
        ),
    ]
    grid = Grid(2, 3.4, [2.2, 2.2])
    signs = [("I(W) over both signs of each direction", "adjusted"), ("over one sign, as published", "raw")]
    figure, axes = lay_out(
        runs,
        "Isotropy: how evenly the directions of the space are used",
        "Four measures that need not agree: the first and the last see the mean vector, the others the spread "
        "around it.",
        grid=grid,
        panels=len(panels),
        keys=[_model_keys(runs), [(label, _sample(runs, kind)) for label, kind in signs]],
    )
    for panel, (title, unit, curves) in zip(axes, panels, strict=True):
        drawn = []
        for place, run in enumerate(runs):
            for measure, kind, over in curves:
                drawn.append(run.column(measure) / over(run))
                _line(panel, runs, place, drawn[-1], kind=kind, label=f"{run.name} {measure}")
        _finish(panel, runs, drawn)
        name_panel(panel, title)
        panel.set_ylabel(unit)
    label_bottom(axes, grid, "layer")
    return figure


#: name of the files -> what draws them
FIGURES: dict[str, Callable[[Sequence[Run]], Figure]] = {
    "anisotropy": draw_anisotropy,
    "self_similarity": draw_self_similarity,
    "intra_sentence_similarity": draw_intra_sentence_similarity,
    "mev": draw_mev,
    "isotropy": draw_isotropy,
    "frequency": draw_frequency,
    "spectra": draw_spectra,
    "dimensions": draw_dimensions,
}


def _draw_adjusted(
    runs: Sequence[Run],
    title: str,
    about: str,
    measures: dict[str, str],
    *,
    width: float,
    unit: str,
    share: bool = False,
) -> Figure:
    """A column a measure. `share`: the panels of a row have the same limits."""
    rows: list[tuple[str, ...]] = [("value", "baseline", "adjusted")]
    heights = [3.3]
    if len(runs) > 1:  # three lines a model would be a thicket: the differences first, what they are made of below
        rows, heights = [("adjusted",), ("value", "baseline")], [2.5, 1.9]
    grid = Grid(len(measures), width, heights, titled=len(rows) > 1 or all(measures.values()))
    figure, panels = lay_out(
        runs,
        title,
        about,
        grid=grid,
        panels=len(rows) * len(measures),
        keys=[_model_keys(runs), [(label, _sample(runs, _kind(column))) for column, label in NAMES.items()]],
    )
    for at, columns in enumerate(rows):
        row = panels[at * len(measures) : (at + 1) * len(measures)]
        drawn = []
        for axes, measure in zip(row, measures, strict=True):
            shown = [*columns, *(("low", "high") if "value" in columns else ())]
            drawn.append([run.column(measure, column) for run in runs for column in shown])
            for place, run in enumerate(runs):
                for column in columns:
                    values = run.column(measure, column)
                    _line(axes, runs, place, values, kind=_kind(column), label=f"{run.name} {column}")
                if "value" in columns:
                    _band(axes, runs, place, measure)
        everything = [values for some in drawn for values in some]
        for axes, some, name in zip(row, drawn, measures.values(), strict=True):
            _finish(axes, runs, everything if share else some)
            if len(rows) > 1:
                kind = "Adjusted" if columns == ("adjusted",) else "Raw and baseline"
                name_panel(axes, f"{name}, {kind.lower()}" if name and at == 0 else kind)
            elif name:
                name_panel(axes, name)
        row[0].set_ylabel(unit)
    label_bottom(panels, grid, "layer")
    return figure


def _kind(column: str) -> str:
    return "raw" if column == "value" else column


def _model_keys(runs: Sequence[Run]) -> list[Key]:
    """A key a model; one model is named in the text instead."""
    if len(runs) == 1:
        return []
    return [(run.name, _artist(**line_of(place))) for place, run in enumerate(runs)]


def _sample(runs: Sequence[Run], kind: str) -> Any:
    """The key of a kind of line: in the model's colour, or in grey for all models."""
    look = line_of(0, kind)
    if len(runs) > 1:
        filling = "white" if kind == "raw" else QUIET
        look |= {"color": QUIET, "markeredgecolor": QUIET, "markerfacecolor": filling}
    return _artist(**look)


def _artist(**look: Any) -> Any:
    return need("matplotlib.lines", purpose=PURPOSE).Line2D([], [], **look)


def _x(runs: Sequence[Run], place: int) -> list[float]:
    """Positions of a run's layers; where all runs have the same single one, side by side around it."""
    aside = 0.0
    if len({at for run in runs for at in run.positions}) == 1:
        aside = 0.5 * (place - (len(runs) - 1) / 2) / len(runs)
    return [at + aside for at in runs[place].positions]


def _line(axes: Axes, runs: Sequence[Run], place: int, values: Any, *, kind: str = "adjusted", label: str) -> None:
    look = line_of(place, kind)
    room = 0.45 * 72 * layer_step(axes, runs)  # markers of neighbours must not touch
    look["markersize"] = min(look["markersize"], max(room, 1.5))
    axes.plot(_x(runs, place), values, label=label, **look)


def _band(axes: Axes, runs: Sequence[Run], place: int, measure: str) -> None:
    low, high = (runs[place].column(measure, end) for end in ("low", "high"))
    band(axes, _x(runs, place), low, high, COLOURS[place % len(COLOURS)])


def _finish(axes: Axes, runs: Sequence[Run], values: Sequence[Any]) -> None:
    layer_axis(axes, runs)
    limits(axes, values)


def _one(run: Run) -> float:
    return 1.0


def _dim(run: Run) -> float:
    return float(run.dim)
