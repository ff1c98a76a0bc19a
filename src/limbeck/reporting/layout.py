"""A sheet of panels: title, explanation and keys above, panels below, everything placed in inches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.extras import need
from limbeck.reporting.read import TABLE, Run
from limbeck.reporting.style import FAINT, INK, PURPOSE, QUIET, layer_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGE, LEFT, RIGHT, BOTTOM = 0.18, 0.8, 0.25, 0.55  # inches
TITLE, LINE, KEY_ROW, PANEL_TITLE = 0.3, 0.19, 0.21, 0.3
GAP_ACROSS, GAP_DOWN = 0.8, 0.42
HANDLE = 0.65  # a key's line and the space around it
TITLE_SIZE, ABOUT_SIZE, KEY_SIZE = 12.5, 9.5, 9.5  # points
SCALE_WIDTH = 0.85  # what the scale of layers needs at the right

Key = tuple[str, Any]  # a label and the artist that shows it


@dataclass(frozen=True)
class Grid:
    """Panels in rows: so many columns, each so wide, and the height of each row (inches)."""

    columns: int
    width: float
    heights: Sequence[float]
    right: float = RIGHT
    titled: bool = True

    @property
    def inner(self) -> float:
        return self.columns * self.width + (self.columns - 1) * GAP_ACROSS

    @property
    def above(self) -> float:
        """Room over each row."""
        return PANEL_TITLE if self.titled else 0.1


def lay_out(
    runs: Sequence[Run], title: str, about: str, *, grid: Grid, panels: int, keys: Sequence[Sequence[Key]] = ()
) -> tuple[Figure, list[Axes]]:
    """A figure with its words on it and that many empty panels, row by row. Each group of keys begins a line.

    One run is named under the title; several are left to the keys or the panels' titles.
    """
    figure_of = need("matplotlib.figure", purpose=PURPOSE).Figure
    canvas_of = need("matplotlib.backends.backend_agg", purpose=PURPOSE).FigureCanvasAgg
    width = LEFT + grid.inner + grid.right
    reach = width - 2 * EDGE
    lines = wrap(about, reach, ABOUT_SIZE)
    subject = [fit(runs[0].name, reach, ABOUT_SIZE)] if len(runs) == 1 else []
    groups = [(group, _key_columns(group, reach)) for group in keys if group]
    key_rows = sum(math.ceil(len(group) / columns) for group, columns in groups)
    head = 0.15 + TITLE + LINE * len(subject + lines) + 0.1 + KEY_ROW * key_rows
    under = 0.35 if _long_names(runs) else 0.0  # names of layers that are written aslant
    rows = grid.heights[: math.ceil(panels / grid.columns)]
    height = head + sum(rows) + grid.above * len(rows) + (GAP_DOWN + under) * (len(rows) - 1) + BOTTOM + under

    figure: Figure = figure_of(figsize=(width, height))
    canvas_of(figure)
    left = EDGE / width
    top = height - 0.15
    figure.text(left, top / height, fit(title, reach / 1.12, TITLE_SIZE), size=TITLE_SIZE, weight="bold", va="top")
    top -= TITLE
    for line in subject + lines:
        colour = INK if line in subject else QUIET
        figure.text(left, top / height, line, size=ABOUT_SIZE, color=colour, va="top")
        top -= LINE
    top -= 0.1
    for group, columns in groups:
        _write_keys(figure, group, columns, at=(left, top / height), reach=reach)
        top -= KEY_ROW * math.ceil(len(group) / columns)

    axes = []
    for panel in range(panels):
        row, column = divmod(panel, grid.columns)
        if column == 0:
            top -= grid.above + rows[row] + (GAP_DOWN + under if row else 0)
        x = LEFT + column * (grid.width + GAP_ACROSS)
        axes.append(figure.add_axes((x / width, top / height, grid.width / width, rows[row] / height)))
    return figure, axes


def _key_columns(group: Sequence[Key], reach: float) -> int:
    """As many columns as have room; keys fill them one column after the other, the first ones fuller."""
    widths = [_inches(label, KEY_SIZE) + HANDLE for label, _ in group]
    for columns in range(len(group), 1, -1):
        parts = np.array_split(np.array(widths), columns)
        if sum(part.max() for part in parts) <= reach:
            return columns
    return 1


def _write_keys(figure: Figure, group: Sequence[Key], columns: int, *, at: tuple[float, float], reach: float) -> None:
    legend = figure.legend(
        [artist for _, artist in group],
        [str(place) for place in range(len(group))],
        loc="upper left",
        bbox_to_anchor=at,
        ncols=columns,
        frameon=False,
        borderaxespad=0,
        borderpad=0,
        columnspacing=1.6,
        handlelength=2.6,
        labelspacing=0.45,
    )
    for (label, _), text in zip(group, legend.get_texts(), strict=True):
        text.set_text(fit(label, reach - HANDLE, KEY_SIZE))  # a label given above is lost when it begins with "_"


def panel_width(axes: Axes) -> float:
    """In inches."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return float(axes.get_position().width * figure.get_size_inches()[0])


def name_panel(axes: Axes, title: str) -> None:
    """A title that stays within its panel."""
    axes.set_title(fit(title, panel_width(axes), 10))


def label_bottom(panels: Sequence[Axes], grid: Grid, label: str) -> None:
    """The label of the horizontal axis, under the lowest panel of each column."""
    for axes in panels[-grid.columns :]:
        axes.set_xlabel(label)


# layers


def layer_names(runs: Sequence[Run]) -> dict[int, str]:
    """What stands at each layer's position; the position itself where the runs disagree."""
    names: dict[int, str] = {}
    for run in runs:
        for at, layer in zip(run.positions, run.layers, strict=True):
            names[at] = layer if names.get(at, layer) == layer else str(at)
    return names


def _long_names(runs: Sequence[Run]) -> bool:
    return any(len(name) > len(TABLE) for name in layer_names(runs).values())


def layer_axis(axes: Axes, runs: Sequence[Run]) -> None:
    """Whole layers as ticks, as many as have room; the same limits for every panel of these runs."""
    names = layer_names(runs)
    low, high = min(names), max(names)
    axes.set_xlim(low - 0.55, high + 0.55)
    step = layer_step(axes, runs)
    plain = all(label == str(at) or at < 0 for at, label in names.items())
    ticks, labels = thin_layers(names, step, numbers=plain)
    axes.set_xticks(ticks, [label if len(label) <= 12 else f"{label[:11]}…" for label in labels])
    if not plain and max(map(len, labels)) * 0.08 > step:
        for text in axes.get_xticklabels():
            text.set(rotation=30, ha="right", rotation_mode="anchor")
    elif low < 0 and step < 0.35:
        axes.get_xticklabels()[0].set(ha="right")  # "table" is wider than the space between two layers


def layer_step(axes: Axes, runs: Sequence[Run]) -> float:
    """Inches between two layers."""
    positions = [at for run in runs for at in run.positions]
    return panel_width(axes) / (max(positions) - min(positions) + 1.1)


def thin_layers(names: dict[int, str], step: float, *, numbers: bool = True) -> tuple[list[int], list[str]]:
    """The layers that get a tick: each, each second, fifth, tenth … number, and always the bare table."""
    room = 0.08 * max(len(str(max(names))), 1) + 0.1 if numbers else 0.2
    every = next(n for power in range(9) for n in (10**power, 2 * 10**power, 5 * 10**power) if n * step >= room)
    ticks = [at for at in range(min(names), max(names) + 1) if at < 0 or at % every == 0]
    if not any(at in names for at in ticks):  # layers 7 and 9 alone, say
        ticks = sorted(names)
    return ticks, [names.get(at, str(at)) for at in ticks]


def layer_scale(figure: Figure, panels: Sequence[Axes], runs: Sequence[Run]) -> list[dict[int, str]]:
    """The colours of each run's layers, by position, and a scale of them to the right of the panels.

    Runs with the same layers are told by number; others from the lowest layer to the highest, each on its own.
    """
    alike = len({run.positions for run in runs}) == 1
    shades = range(min(runs[0].positions), max(runs[0].positions) + 1) if alike else range(50)
    count = len(shades)
    width, height = figure.get_size_inches()
    top = max(axes.get_position().y1 for axes in panels)
    right = max(axes.get_position().x1 for axes in panels)
    tall = min(0.28 * count, 2.2)
    scale = figure.add_axes((right + 0.22 / width, top - tall / height, 0.15 / width, tall / height))
    to_rgb = need("matplotlib.colors", purpose=PURPOSE).to_rgb
    scale.imshow(
        [[to_rgb(colour)] for colour in layer_colours(shades).values()], aspect="auto", interpolation="nearest"
    )
    if alike:
        ticks, labels = thin_layers(layer_names(runs), tall / count)
        scale.set_yticks([tick - shades[0] for tick in ticks], [fit(label, 0.5, 9) for label in labels])
    else:
        scale.set_yticks([0, count - 1], ["lowest", "highest"])
    scale.set_xticks([])
    scale.yaxis.tick_right()
    scale.tick_params(axis="y", length=0)
    scale.grid(visible=False)
    scale.spines[:].set_visible(False)
    scale.set_title("layer", size=9)
    return [layer_colours(run.positions) for run in runs]


# what is drawn into a panel


def limits(axes: Axes, values: Iterable[Any], *, zero: bool = True) -> None:
    """Limits with room around every value, and a line at zero; `zero` brings it in where it is far off."""
    found = np.concatenate([np.ravel(np.asarray(some, dtype=np.float64)) for some in values])
    found = found[np.isfinite(found)]
    if not len(found):
        axes.set_ylim(0, 1)
        axes.text(0.5, 0.5, "no value is defined", transform=axes.transAxes, ha="center", va="center", color=QUIET)
        return
    low, high = float(found.min()), float(found.max())
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.06 * (high - low) or max(abs(high) * 0.1, 0.05)
    axes.set_ylim(low - (margin if low != 0 else margin / 3), high + (margin if high != 0 else margin / 3))
    if axes.get_ylim()[0] <= 0 <= axes.get_ylim()[1]:
        axes.axhline(0, color=INK, linewidth=0.9, zorder=1.5)


def band(axes: Axes, x: Any, low: Any, high: Any, colour: str) -> None:
    """An interval by layer: shaded where layers follow one another, a bar at a layer that stands alone."""
    defined = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(x, low, high, where=defined, color=colour, alpha=0.18, linewidth=0, zorder=2)
    beside = np.concatenate([[False], defined, [False]])
    alone = defined & ~beside[:-2] & ~beside[2:]
    axes.vlines(np.asarray(x)[alone], low[alone], high[alone], color=colour, linewidth=1.4, alpha=0.6, zorder=2)


def light_grid(axes: Axes) -> None:
    """Grid lines both ways, for logarithmic axes."""
    axes.grid(visible=True, axis="both", which="major", color=FAINT)


# text


def _inches(text: str, size: float) -> float:
    font = need("matplotlib.font_manager", purpose=PURPOSE).FontProperties(size=size)
    measure = need("matplotlib.textpath", purpose=PURPOSE).text_to_path
    return float(measure.get_text_width_height_descent(text, font, False)[0]) / 72


def fit(text: str, reach: float, size: float) -> str:
    """The text, its middle left out where it is wider than that many inches: both ends of a model's name tell."""
    if _inches(text, size) <= reach:
        return text
    least, most = 0, len(text) - 1  # halving: so many characters surely fit, so many may
    while least < most:
        kept = (least + most + 1) // 2
        least, most = (kept, most) if _inches(_without_middle(text, kept), size) <= reach else (least, kept - 1)
    return _without_middle(text, least)


def _without_middle(text: str, kept: int) -> str:
    return f"{text[: kept // 2]}…{text[len(text) - (kept + 1) // 2 :]}"


def wrap(text: str, reach: float, size: float) -> list[str]:
    """The text in as few lines of at most that many inches as it needs, all about equally long."""
    words = [fit(word, reach, size) for word in text.split(" ")]  # a no-break space stays
    space = _inches("a a", size) - _inches("aa", size)
    widths = [_inches(word, size) + space for word in words]
    lines = _lines(widths, reach)
    while len(shorter := _lines(widths, reach * 0.98)) == len(lines):
        if reach * 0.98 < max(widths):
            break
        reach, lines = reach * 0.98, shorter
    return [" ".join(words[start:stop]) for start, stop in lines]


def _lines(widths: Sequence[float], reach: float) -> list[tuple[int, int]]:
    """From which word to which each line goes."""
    starts, used = [0], 0.0
    for place, width in enumerate(widths):
        if used and used + width > reach:
            starts.append(place)
            used = 0.0
        used += width
    return list(zip(starts, [*starts[1:], len(widths)], strict=True))
