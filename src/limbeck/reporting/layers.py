"""Figures with a panel a model, in which layers are told apart: frequency, spectra, single dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.extras import need
from limbeck.reporting.layout import (
    RIGHT,
    SCALE_WIDTH,
    Grid,
    Key,
    label_bottom,
    lay_out,
    layer_axis,
    layer_scale,
    layer_step,
    light_grid,
    limits,
    name_panel,
)
from limbeck.reporting.read import Floats, Run
from limbeck.reporting.style import INK, PURPOSE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 10  #: a mean over fewer words is drawn hollow
NOISE = 1e-9  #: eigenvalues below this share of the variance are rounding, and left out
POINTS = 200  #: at most so many of a spectrum's eigenvalues are drawn, evenly on the logarithmic axis
LARGEST = 10
SHADES = ("#08306B", "#2171B5", "#6BAED6", "#C6DBEF")  # largest, second, third, fourth to tenth dimension
EXPONENTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw_frequency(runs: Sequence[Run]) -> Figure:
    """Mean self-similarity of words by how often they occur, one line a layer."""
    figure, panels, grid = _panels(
        runs,
        "Self-similarity by frequency: are frequent words more contextual?",
        "Mean over the words of a band (each twice as wide as the last); not adjusted. Hollow: fewer than "
        f"{FEW} words.",
    )
    colours = layer_scale(figure, panels, runs)
    bands = [layer for run in runs for layer in run.frequency]
    for axes, run, colour_of in zip(panels, runs, colours, strict=True):
        axes.set_xscale("log")
        for at, layer in zip(run.positions, run.frequency, strict=True):
            x, y = np.sqrt(layer["from"] * layer["below"]), layer["self_similarity"]
            colour = colour_of[at]
            axes.plot(x, y, color=colour, linewidth=1.5, label=f"{run.name} {at}")
            for few, filling in ((False, colour), (True, "white")):
                here = (layer["words"] < FEW) == few
                axes.plot(
                    x[here], y[here], "o", markersize=4, markerfacecolor=filling, markeredgecolor=colour, zorder=3
                )
        limits(axes, [layer["self_similarity"] for layer in bands], zero=False)
        edges = sorted({float(edge) for layer in run.frequency for name in ("from", "below") for edge in layer[name]})
        _frequency_axis(axes, grid, edges, bands)
    for axes in panels[:: grid.columns]:
        axes.set_ylabel("mean cosine")
    label_bottom(panels, grid, "occurrences of the word (log scale)")
    return figure


def draw_spectra(runs: Sequence[Run]) -> Figure:
    """Eigenvalues of the covariance, one line a layer, as shares of the variance so that spaces compare."""
    shares = [_spectrum_shares(run) for run in runs]
    left_out = sum(int((~np.isfinite(share)).sum()) for share in shares)
    figure, panels, grid = _panels(
        runs,
        "Spectra: how the variance is spread over directions",
        "Eigenvalues of the centred vectors' covariance, largest first, over their sum. A flat line would be an "
        "isotropic space." + (f" Left out: {left_out} below 10⁻⁹ or undefined." if left_out else ""),
    )
    colours = layer_scale(figure, panels, runs)
    found = np.concatenate([share[np.isfinite(share)] for share in shares])
    low, high = _decades(found)
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    widest = max(run.spectra.shape[1] for run in runs)
    for axes, run, share, colour_of in zip(panels, runs, shares, colours, strict=True):
        some = np.unique(np.geomspace(1, max(share.shape[1], 1), POINTS).round().astype(int))
        for at, values in zip(run.positions, share, strict=True):
            axes.plot(some, values[some - 1], color=colour_of[at], linewidth=1.5, label=f"{run.name} {at}")
            if len(some) < FEW:
                axes.plot(some, values[some - 1], "o", markersize=3, color=colour_of[at])
        axes.set(xscale="log", yscale="log", xlim=(0.9, max(widest, 2) * 1.15))
        axes.set_ylim(low, high)
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(_power))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(ticker.NullFormatter())
        light_grid(axes)
    for axes in panels[:: grid.columns]:
        axes.set_ylabel("share of the variance (log scale)")
    label_bottom(panels, grid, "rank of the eigenvalue (log scale)")
    return figure


def draw_dimensions(runs: Sequence[Run]) -> Figure:
    """The largest dimensions' shares of the mean cosine, stacked by layer, with the largest one's number."""
    patch = need("matplotlib.patches", purpose=PURPOSE).Patch
    names = ("largest dimension, with its number", "second", "third", "fourth to tenth")
    keys: list[Key] = [(name, patch(facecolor=shade)) for name, shade in zip(names, SHADES, strict=True)]
    grid = Grid(1, 6.4, [3.2 if len(runs) == 1 else 1.9] * len(runs), titled=len(runs) > 1)
    about = "What the ten largest dimensions of each layer add to the mean cosine of random words; all together make 1."
    figure, panels = lay_out(
        runs,
        "Dimensions: how few of them make words alike",
        about,
        grid=grid,
        panels=len(runs),
        keys=[keys],
    )
    for axes, run in zip(panels, runs, strict=True):
        _stack(axes, run, step=layer_step(axes, runs))
        layer_axis(axes, runs)
        if len(runs) > 1:
            name_panel(axes, run.name)
        axes.set_ylabel("share of mean cosine" if len(runs) == 1 else "share")
    label_bottom(panels, grid, "layer")
    return figure


def _panels(runs: Sequence[Run], title: str, about: str) -> tuple[Figure, list[Axes], Grid]:
    """A panel a model and room for the scale of layers at the right."""
    columns = min(len(runs), 3) if len(runs) != 4 else 2
    width, height = {1: (6.0, 3.4), 2: (3.4, 2.7), 3: (2.75, 2.5)}[columns]
    rows = math.ceil(len(runs) / columns)
    grid = Grid(columns, width, [height] * rows, right=RIGHT + SCALE_WIDTH)
    figure, panels = lay_out(runs, title, about, grid=grid, panels=len(runs))
    if len(runs) > 1:
        for axes, run in zip(panels, runs, strict=True):
            name_panel(axes, run.name)
    return figure, panels, grid


def _frequency_axis(axes: Axes, grid: Grid, edges: Sequence[float], bands: Sequence[Any]) -> None:
    """Ticks at the edges of the bands, as many as have room."""
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    ends = [float(edge) for layer in bands for name in ("from", "below") for edge in layer[name]] or [1.0, 10.0]
    axes.set_xlim(min(ends), max(ends))
    step = max(1, math.ceil(len(edges) * 0.42 / grid.width))
    ticks = edges[::step] or [1.0, 10.0]
    axes.set_xticks(ticks, [_count(tick) for tick in ticks])
    light_grid(axes)


def _count(value: float) -> str:
    """A count in few characters.

    >>> _count(640), _count(20480), _count(2621440)
    ('640', '20k', '2.6M')
    """
    if value < 10_000:
        return f"{value:.0f}"
    return f"{value / 1e3:.0f}k" if value < 1e6 else f"{value / 1e6:.1f}M"


def _power(value: float, _: int = 0) -> str:
    """A power of ten as text, without TeX: 10⁻³."""
    return f"10{str(round(math.log10(value))).translate(EXPONENTS)}"


def _decades(values: Floats) -> tuple[float, float]:
    """Powers of ten around the values, at least one apart."""
    if not len(values):
        return 0.1, 1.0
    low, high = math.floor(math.log10(values.min())), math.ceil(math.log10(values.max()))
    return 10.0 ** min(low, high - 1), 10.0**high


def _spectrum_shares(run: Run) -> Floats:
    """(layers, d); NaN where an eigenvalue is no more than rounding."""
    total = np.where(run.spectra > 0, run.spectra, 0).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = run.spectra / total
    return np.where(shares >= NOISE, shares, np.nan)


def largest(run: Run) -> tuple[Any, Floats]:
    """Numbers and shares of each layer's largest dimensions, (layers, 10) or all where d is smaller."""
    order = np.argsort(-run.shares, axis=1, kind="stable")[:, :LARGEST]
    return order, np.take_along_axis(run.shares, order, axis=1)


def _stack(axes: Axes, run: Run, *, step: float) -> None:
    """Bars by layer, `step` inches apart; positive shares upwards and negative ones downwards."""
    width = min(0.78, 0.7 / step)
    numbers, shares = largest(run)
    x = np.array(run.positions)
    up, down = np.zeros(len(x)), np.zeros(len(x))
    for rank in range(shares.shape[1]):
        heights = np.nan_to_num(shares[:, rank])  # an undefined layer has no bar, and says so below
        colour = SHADES[min(rank, len(SHADES) - 1)]
        base = np.where(heights >= 0, up, down)
        axes.bar(
            x,
            heights,
            width,
            base,
            color=colour,
            edgecolor="white",
            linewidth=min(0.6, 2 * step),
            label=f"{run.name} {rank}",
        )
        up, down = up + np.maximum(heights, 0), down + np.minimum(heights, 0)
    low, high = min(float(down.min()), 0.0), max(float(up.max()), 1.0)
    axes.set_ylim(low * 1.06, high * 1.06)
    axes.axhline(0, color=INK, linewidth=0.9, zorder=1.5)
    axes.axhline(1, color=INK, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1.5)
    for at, number, share in zip(x, numbers[:, 0], shares[:, 0], strict=True):
        if not np.isfinite(share):
            axes.text(at, 0.02 * high, "n/a", size=8, ha="center", va="bottom", color=INK)
        elif step > 0.16 and share > 0.12 * (high - low):
            turn = 0 if step > 0.4 else 90
            axes.text(at, share / 2, str(number), size=8, ha="center", va="center", color="white", rotation=turn)
