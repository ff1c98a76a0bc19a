"""Models side by side, by layer and by relative depth, with a paper's own curves as faint lines where it gives numbers.

The look is that of `limbeck.reporting`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.extras import need
from limbeck.papers.estimates import minus
from limbeck.papers.findings import Tried
from limbeck.papers.subjects import Subject
from limbeck.reporting.layout import Grid, Key, band, label_bottom, lay_out, layer_axis, layer_step, limits, name_panel
from limbeck.reporting.read import Run, place
from limbeck.reporting.style import COLOURS, INK, PURPOSE, QUIET, line_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = {"adjusted": "adjusted: raw minus baseline", "value": "raw", "baseline": "baseline"}
#: dashes that tell published curves apart where no model here has their colour
DASHES = {"BERT": "-", "GPT-2": (0, (6, 2)), "ELMo": (0, (2, 1.5))}
WIDTH = 3.6  # inches of a panel
MARKED: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 2))}


@dataclass(frozen=True)
class Row:
    """Two panels with the same lines: by layer, and by relative depth."""

    title: str
    lines: Sequence[tuple[str, str]]  # measure and column
    unit: str = "mean cosine"
    height: float = 2.1
    mark: float | None = None  # where a dashed line goes across


def by_layer_and_depth(
    subjects: Sequence[Subject], numbers: Sequence[Subject], title: str, about: str, rows: Sequence[Row]
) -> Figure:
    """A row of panels for each of `rows`, with a line a model and kind of number."""
    shown = [one for one in numbers if any(_has(one, line) for row in rows for line in row.lines)]
    grid = Grid(2, WIDTH, [row.height for row in rows])
    kinds = [kind for kind in KINDS if any(column == kind for row in rows for _, column in row.lines)]
    keys = [
        [(one.name, _artist(**line_of(at))) for at, one in enumerate(subjects)] if len(subjects) > 1 else [],
        [(KINDS[kind], _sample(kind)) for kind in kinds] if len(kinds) > 1 else [],
        [(one.name, _artist(**_faint(one, subjects))) for one in shown],
    ]
    runs = [as_run(one) for one in subjects]
    figure, panels = lay_out(runs, title, about, grid=grid, panels=2 * len(rows), keys=keys)
    axis = [*runs, *(as_run(one) for one in shown)]
    for at, row in enumerate(rows):
        values: list[Any] = []
        left, right = panels[2 * at : 2 * at + 2]
        layer_axis(left, axis)
        _depth_axis(right)
        for axes, by_depth in ((left, False), (right, True)):
            for one in shown:
                for line in row.lines:
                    if _has(one, line) and line[1] != "baseline":  # the baseline is the anisotropy, a figure of its own
                        values.append(one.curve(*line).values)
                        axes.plot(_x(one, by_depth), values[-1], label=f"{one.name} {line}", **_faint(one, subjects))
            for place_of, one in enumerate(subjects):
                for line in row.lines:
                    look = line_of(place_of, _kind(line[1]) if len(kinds) > 1 else "adjusted")
                    values += _draw(axes, one, line, look, by_depth=by_depth, axis=axis)
        for axes, name in ((left, row.title), (right, "By relative depth")):
            limits(axes, values if row.mark is None else [*values, [row.mark]])
            if row.mark is not None:
                mark_at(axes, row.mark)
            name_panel(axes, name)
            _shorten_thousands(axes)
        left.set_ylabel(row.unit)
    label_bottom(panels, grid, "layer")
    panels[-1].set_xlabel("relative depth (0: input, 1: last layer)")
    return figure


def _draw(
    axes: Axes, one: Subject, line: tuple[str, str], look: dict[str, Any], *, by_depth: bool, axis: Sequence[Run]
) -> list[Any]:
    """A model's line with its interval; what was drawn."""
    measure, column = line
    curve, x = one.curve(measure, column), _x(one, by_depth)
    room = 0.45 * 72 * (WIDTH / max(len(one.layers), 1) if by_depth else layer_step(axes, axis))
    look["markersize"] = min(look["markersize"], max(room, 1.5))  # markers of neighbours must not touch
    axes.plot(x, curve.values, label=f"{one.name} {measure} {column}", **look)
    low, high = curve.values - curve.errors, curve.values + curve.errors
    if not curve.errors.any():
        return [curve.values]
    band(axes, x, low, high, look["color"])
    return [curve.values, low, high]


def _x(one: Subject, by_depth: bool) -> list[float]:
    if by_depth:
        return [at / max(len(one.layers) - 1, 1) for at in range(len(one.layers))]
    return [float(at) for at in place(one.layers)]


def _depth_axis(axes: Axes) -> None:
    axes.set_xlim(-0.045, 1.045)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])


def mark_at(axes: Axes, value: float) -> None:
    """A dashed line across a panel, at a number that a claim names."""
    axes.axhline(value, zorder=1.5, **MARKED)


def _shorten_thousands(axes: Axes) -> None:
    """−10k for −10,000: log₁₀ I(W) can be that, and its numbers must leave room for the axis's name."""
    if max(map(abs, axes.get_ylim())) >= 1000:
        ticker = need("matplotlib.ticker", purpose=PURPOSE)
        axes.yaxis.set_major_formatter(
            ticker.FuncFormatter(lambda value, _: minus(f"{value / 1000:g}k") if value else "0")
        )


def _has(one: Subject, line: tuple[str, str]) -> bool:
    return line in one.curves


def as_run(one: Tried) -> Run:
    """What the layout needs of a model: its name and layers."""
    nothing = np.empty((0, 0))
    return Run(Path(), one.name, 0, one.layers, place(one.layers), {}, (), nothing, nothing)


def _faint(one: Subject, subjects: Sequence[Subject]) -> dict[str, Any]:
    """A published curve: in the colour of the first model of its kind here, thin and pale, without markers."""
    like = [at for at, other in enumerate(subjects) if other.family == one.family]
    colour = COLOURS[like[0] % len(COLOURS)] if like else QUIET
    style = "-" if like else DASHES.get(one.family, "-")
    return {"color": colour, "linestyle": style, "linewidth": 1.3, "alpha": 0.4, "zorder": 1.8}


def _sample(kind: str) -> Any:
    """The key of a kind of line, in grey for all models."""
    look = line_of(0, _kind(kind))
    filling = "white" if kind == "value" else QUIET
    return _artist(**(look | {"color": QUIET, "markeredgecolor": QUIET, "markerfacecolor": filling, "marker": "o"}))


def _kind(column: str) -> str:
    return "raw" if column == "value" else column


def _artist(**look: Any) -> Any:
    return need("matplotlib.lines", purpose=PURPOSE).Line2D([], [], **look)


def keys_of(looks: dict[str, dict[str, Any]]) -> list[Key]:
    """Keys of lines that are drawn by hand."""
    return [(label, _artist(**look)) for label, look in looks.items()]
