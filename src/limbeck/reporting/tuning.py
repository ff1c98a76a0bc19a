"""A heat map of tuning: the score of every number of clusters and of components, as PNG and SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.reporting.figures import Makers
from limbeck.reporting.layout import Grid, lay_out
from limbeck.reporting.style import INK
from limbeck.tables import rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE, TALL = 0.31, 0.27  # of a cell, inches
SCALE = 0.75  # what the scale of colours needs at the right
NUMBER_SIZE = 6.5  # points
GAP = 0.6  # between the global method and the clusters, in cells


def tuning_figures(columns: Mapping[str, Sequence[Any]]) -> Makers:
    """A figure for each target and layer of a tuning table: tuning, or tuning-1 and so on."""
    by_subject: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for row in rows_of(columns):
        by_subject.setdefault((row["target"], row["layer"]), []).append(row)
    names = ["tuning"] if len(by_subject) == 1 else [f"tuning-{number}" for number in range(1, len(by_subject) + 1)]
    return {name: partial(tuning_figure, rows) for name, rows in zip(names, by_subject.values(), strict=True)}


def tuning_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Clusters down, components across; the global method apart from the rest, the best of each in a frame."""
    clusters = sorted({int(row["clusters"]) for row in rows})
    components = sorted({int(row["components"]) for row in rows})
    overall = 1 in clusters and any(row["method"] == "global" for row in rows)
    values = np.full((len(clusters), len(components)), np.nan)
    for row in rows:
        values[clusters.index(int(row["clusters"])), components.index(int(row["components"]))] = float(row["value"])
    first = rows[0]
    width = max(WIDE * len(components), 4.2)
    height = TALL * (len(clusters) + (GAP if overall else 0))
    seeds = max(int(row["seeds"]) for row in rows)
    runs = f"mean of {seeds} seeds" if seeds > 1 else "one seed"
    figure, [axes] = lay_out(
        [],
        f"Clusters and components, tuned on {first['task']}",
        f"{first['target']}, layer {first['layer']}. {str(first['metric']).capitalize()}'s correlation × 100, {runs}; "
        f"{100 * float(first['baseline']):.1f} without a repair. In a frame: the best"
        + (" of clusters, and of the global method." if overall and len(clusters) > 1 else "."),
        grid=Grid(1, width, [height], right=SCALE, titled=False),
        panels=1,
    )
    tops = [place + (GAP if overall and place else 0) for place in range(len(clusters))]  # where each row begins
    low, high = np.nanmin(values), np.nanmax(values)
    mesh = None
    for top, scores in zip(tops, values, strict=True):
        mesh = axes.pcolormesh(
            np.arange(len(components) + 1), [top, top + 1], scores[None], vmin=low, vmax=high, cmap="viridis"
        )
        for column, score in enumerate(scores):
            if math.isfinite(score):
                dark = high == low or (score - low) / (high - low) < 0.6
                colour = "white" if dark else INK
                text = f"{100 * score:.1f}"
                axes.text(column + 0.5, top + 0.52, text, ha="center", va="center", size=NUMBER_SIZE, color=colour)
    split = 1 if overall else 0
    for part, start in ((values[:split], 0), (values[split:], split)):
        if part.size and np.isfinite(part).any():
            best, column = divmod(int(np.nanargmax(part)), part.shape[1])
            frame = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]], dtype=float)
            axes.plot(frame[0] + column, frame[1] + tops[start + best], color="#D55E00", linewidth=2, clip_on=False)
    axes.set_xlim(0, len(components))
    axes.set_ylim(tops[-1] + 1, 0)
    axes.set_xticks(np.arange(len(components)) + 0.5, [str(count) for count in components])
    names = ["global" if overall and not place else str(count) for place, count in enumerate(clusters)]
    axes.set_yticks([top + 0.5 for top in tops], names)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("components removed")
    axes.set_ylabel("clusters")
    _scale(figure, axes, mesh)
    return figure


def _scale(figure: Figure, axes: Any, mesh: Any) -> None:
    """The scale of colours, to the right of the panel."""
    width = figure.get_size_inches()[0]
    box = axes.get_position()
    place = figure.add_axes((box.x1 + 0.15 / width, box.y0, 0.13 / width, box.height))
    bar = figure.colorbar(mesh, cax=place)
    bar.outline.set_visible(False)
    place.grid(visible=False)
    place.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.1f}")
