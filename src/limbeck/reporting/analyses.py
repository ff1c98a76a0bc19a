"""Figures of `limbeck analyze`: every space beside the baseline, a panel a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.analysis.result import Analysis, Row
from limbeck.analysis.tenses import COMPARED, TENSE_KINDS
from limbeck.extras import need
from limbeck.reporting.figures import Makers
from limbeck.reporting.layout import Grid, Key, band, fit, label_bottom, lay_out, limits, name_panel
from limbeck.reporting.style import COLOURS, FAINT, INK, MARKERS, PURPOSE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#B4B4B4"  #: the space before repair
HATCH = "////"
WIDTH = 3.5  #: inches of a panel
LEAST_LAYERS = 3  #: from which a figure by layer says something
Draw = Callable[[Sequence[Analysis]], "Figure | None"]


def analysis_figures(analyses: Sequence[Analysis]) -> Makers:
    """What there is to see of one analysis on some models."""
    return {name: partial(make, analyses) for name, make in FIGURES[analyses[0].what].items()}


def draw_structure(analyses: Sequence[Analysis]) -> Figure:
    """Share of neighbours from sentences of the same structure, by token (Figure 3)."""
    return _bars(
        analyses,
        "Same-structure neighbours of function words",
        "Of the nearest neighbours of a token, among the same token in other sentences: how many stand in sentences "
        "made from the same one by swapping content words. Thin lines: 95\u00a0% interval over groups of sentences; "
        "dashed: chance.",
        table="structure",
        by="token",
        unit="share of neighbours",
        mark="chance",
    )


def draw_pairs(analyses: Sequence[Analysis]) -> Figure:
    """How well the distance of two words tells whether their sentences have one structure."""
    return _bars(
        analyses,
        "Does distance tell structure?",
        "Chance that two words of sentences of the same structure are nearer than two of different structures; dashed: "
        "structure is not told at all. Other words: pairs of two different words. Thin lines: 95\u00a0% interval over "
        "pairs.",
        table="pairs",
        by="subset",
        unit="same structure is nearer",
        value="auc",
        mark=0.5,
    )


def draw_tense(analyses: Sequence[Analysis]) -> Figure:
    """Distances of a verb's occurrences by tense and meaning (Table 4)."""
    metric = str(analyses[0].settings["metric"])
    sensed = all(np.isfinite(row["value"]) for one in analyses for row in one.rows("tense") if row["kind"] in COMPARED)
    kinds = COMPARED if sensed else TENSE_KINDS
    meaning = " and the same (SM) or a different (DM) meaning" if sensed else ""
    return _bars(
        analyses,
        "Does tense or sense decide where a verb lies?" if sensed else "How far apart are a verb's tenses?",
        f"Mean {metric} distance between occurrences of one verb in the same (ST) or a different (DT) tense{meaning}, "
        "averaged over verbs. Only bars of one colour can be compared: a repair shortens all distances. Thin lines: "
        "95\u00a0% interval over verbs.",
        table="tense",
        by="kind",
        unit="mean distance",
        only={"metric": (metric,), "kind": kinds},
    )


def draw_frequency(analyses: Sequence[Analysis]) -> Figure:
    """The space in its first two components, coloured by frequency (Figure 5)."""
    shown = [(one, _last(one, "points")) for one in analyses]
    spaces = _spaces(analyses)
    to_log = np.log10
    every = np.concatenate([[row["per_million"] for row in rows] for _, rows in shown])
    low, high = np.quantile(to_log(every), (0.02, 0.98))
    grid = Grid(len(spaces), 2.35, [2.2] * len(shown), right=1.0)
    figure, panels = lay_out(
        [],
        "Word frequency in the space",
        "Occurrences in the first two principal components of each space, coloured by how often their word or piece "
        "occurs. R²: how much of the logarithm of frequency the two components tell. Scales differ.",
        grid=grid,
        panels=len(shown) * len(spaces),
    )
    scattered = None
    for at, (one, rows) in enumerate(shown):
        told = {
            row["space"]: row["value"]
            for row in _last(one, "frequency")
            if row["measure"] == "r2_of_first_components" and row["components"] <= 2
        }
        for column, space in enumerate(spaces):
            axes = panels[at * len(spaces) + column]
            here = [row for row in rows if row["space"] == space]
            here.sort(key=lambda row: str(row["unit"]))  # neither the frequent nor the rare always on top
            scattered = axes.scatter(
                [row["first"] for row in here],
                [row["second"] for row in here],
                c=[to_log(row["per_million"]) for row in here],
                cmap="viridis",
                vmin=low,
                vmax=high,
                s=3,
                linewidths=0,
                alpha=0.7,
                rasterized=True,
            )
            axes.grid(visible=False)
            axes.tick_params(labelsize=7)
            _zoom(axes, here)
            name_panel(axes, f"{space}: R² = {told[space]:.2f}" if space in told else space)
            if column == 0:
                axes.set_ylabel(fit(one.model, 2.2, 10))
    if scattered is not None:
        _scale(figure, panels, scattered)
    return figure


def draw_clusters(analyses: Sequence[Analysis]) -> Figure:
    """What the clusters of the space before repair hold."""
    shown = [(one, [row for row in _last(one, "clusters") if row["space"] == "baseline"]) for one in analyses]
    tallest = max(len(rows) for _, rows in shown)
    patch = need("matplotlib.patches", purpose=PURPOSE).Patch
    kinds = {"punctuation": COLOURS[1], "stop_words": COLOURS[5], "other": GREY}
    keys: list[Key] = [(name.replace("_", " "), patch(color=colour)) for name, colour in kinds.items()]
    columns = min(len(shown), 2)
    rows_of = -(-len(shown) // columns)
    grid = Grid(columns, 4.6, [0.5 + 0.19 * tallest] * rows_of)
    figure, panels = lay_out(
        [],
        "What the clusters of the space hold",
        "Clusters before repair, the largest at the top, with their most typical tokens; a bar's length is the number "
        "of tokens in it.",
        grid=grid,
        panels=len(shown),
        keys=[keys],
    )
    for axes, (one, rows) in zip(panels, shown, strict=True):
        left = np.zeros(len(rows))
        for kind, colour in kinds.items():
            shares = [1 - row["punctuation"] - row["stop_words"] if kind == "other" else row[kind] for row in rows]
            wide = np.array([row["size"] for row in rows]) * np.maximum(shares, 0)
            axes.barh(range(len(rows)), wide, left=left, color=colour, height=0.75)
            left += wide
        most = max(row["size"] for row in rows)
        for place, row in enumerate(rows):
            room = 4.6 * (1 - row["size"] / (1.9 * most)) - 0.15
            names = str(row["tokens"]).split(" ")
            while len(names) > 1 and fit(" ".join(names), room, 8) != " ".join(names):
                names.pop()
            text = fit(" ".join(names), room, 8)
            axes.text(row["size"] + 0.02 * most, place, text, va="center", size=8, color=INK)
        axes.set_xlim(0, 1.9 * most)
        axes.set_ylim(tallest - 0.4, -0.6)
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= most])
        name_panel(axes, one.model)
    label_bottom(panels, grid, "tokens")
    return figure


def draw_directions(analyses: Sequence[Analysis]) -> Figure:
    """Do clusters share their dominant directions?"""
    labels = {"clusters": "two clusters", "halves": "two halves of a cluster", "to_global": "cluster and whole space"}
    lines = need("matplotlib.lines", purpose=PURPOSE).Line2D
    looks: dict[str, dict[str, Any]] = {
        "clusters": {"color": COLOURS[0], "linewidth": 2.0},
        "halves": {"color": COLOURS[1], "linewidth": 2.0, "linestyle": (0, (5, 2))},
        "to_global": {"color": COLOURS[2], "linewidth": 2.0, "linestyle": (0, (1, 1.2))},
    }
    grid = _grid(len(analyses))
    figure, panels = lay_out(
        [],
        "Do clusters share their dominant directions?",
        "Share of pairs whose first principal components have at most that |cosine|, in the space before repair. Far "
        "to the left: nothing in common; dotted upright: mean of random directions.",
        grid=grid,
        panels=len(analyses),
        keys=[[(labels[kind], lines([], [], **look)) for kind, look in looks.items()]],
    )
    for axes, one in zip(panels, analyses, strict=True):
        before = [row for row in _last(one, "clusters") if row["space"] == "baseline"]
        found = {
            "clusters": [row["cosine"] for row in _last(one, "angles") if row["space"] == "baseline"],
            "halves": [row["halves"] for row in before],
            "to_global": [row["to_global"] for row in before],
        }
        for kind, values in found.items():
            known = np.sort([value for value in values if np.isfinite(value)])
            if len(known):
                axes.step(
                    [0, *known, 1], [0, *np.arange(1, len(known) + 1) / len(known), 1], where="post", **looks[kind]
                )
        random = next(row["random_cosine"] for row in _last(one, "directions") if row["space"] == "baseline")
        axes.axvline(random, color=INK, linewidth=0.9, linestyle=(0, (1, 2)))
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.03)
        axes.set_ylabel("share of pairs")
        name_panel(axes, one.model)
    label_bottom(panels, grid, "|cosine|")
    return figure


def by_layer(
    table: str, title: str, about: str, unit: str, *, only: dict[str, Any], ends: tuple[str, str, str]
) -> Draw:
    """A figure of one number by layer, a line a space; nothing where there are too few layers."""

    def draw(analyses: Sequence[Analysis]) -> Figure | None:
        wanted = {name: told(analyses[0]) if callable(told) else told for name, told in only.items()}
        if max(len({row["layer"] for row in one.rows(table)}) for one in analyses) < LEAST_LAYERS:
            return None
        spaces = _spaces(analyses)
        lines = need("matplotlib.lines", purpose=PURPOSE).Line2D
        grid = _grid(len(analyses))
        keys: list[Key] = [(space, lines([], [], **_line(at))) for at, space in enumerate(spaces)]
        figure, panels = lay_out([], title, about, grid=grid, panels=len(analyses), keys=[keys])
        for axes, one in zip(panels, analyses, strict=True):
            rows = [row for row in one.rows(table) if all(row[name] == told for name, told in wanted.items())]
            drawn = []
            for at, space in enumerate(spaces):
                here = [row for row in rows if row["space"] == space]
                x = np.arange(len(here))
                value, low, high = (np.array([row[name] for row in here], dtype=np.float64) for name in ends)
                axes.plot(x, value, **_line(at))
                band(axes, x, low, high, _line(at)["color"])
                drawn += [value, low, high]
            layers = [row["layer"] for row in rows if row["space"] == spaces[0]]
            step = -(-len(layers) // 13)
            axes.set_xticks(range(0, len(layers), step), layers[::step])
            limits(axes, drawn)
            axes.set_ylabel(unit)
            name_panel(axes, one.model)
        label_bottom(panels, grid, "layer")
        return figure

    return draw


VALUE = ("value", "low", "high")
FIGURES: dict[str, dict[str, Draw]] = {
    "structure": {
        "structure": draw_structure,
        "structure_by_layer": by_layer(
            "structure",
            "Same-structure neighbours of the period by layer",
            "Share of the nearest neighbours of “.” from sentences of the same structure. Shaded: 95\u00a0% interval.",
            "share of neighbours",
            only={"token": lambda one: one.rows("structure")[0]["token"]},
            ends=VALUE,
        ),
    },
    "pairs": {"pairs": draw_pairs},
    "tense": {
        "tense": draw_tense,
        "tense_by_layer": by_layer(
            "tense",
            "Does tense dominate sense?",
            "DT-SM − ST-DM (DT − ST where senses are not labelled), averaged over verbs: above 0, a verb lies nearer "
            "to other meanings in its own tense than to its own meaning in another. Shaded: 95\u00a0% interval.",
            "difference of distances",
            only={"kind": "dominance", "metric": lambda one: one.settings["metric"]},
            ends=VALUE,
        ),
    },
    "frequency": {
        "frequency": draw_frequency,
        "frequency_by_layer": by_layer(
            "frequency",
            "How much the first two components tell of word frequency",
            "R² of the logarithm of frequency on the first two components. Shaded: 95\u00a0% interval over words.",
            "R²",
            only={"measure": "r2_of_first_components", "components": 2},
            ends=VALUE,
        ),
    },
    "clusters": {
        "clusters": draw_clusters,
        "directions": draw_directions,
        "directions_by_layer": by_layer(
            "directions",
            "How alike the dominant directions of two clusters are",
            "Mean |cosine| between the first components of two clusters. Shaded: 95\u00a0% interval over clusters.",
            "mean |cosine|",
            only={},
            ends=("mean_cosine", "mean_cosine_low", "mean_cosine_high"),
        ),
    },
}


# --- parts -------------------------------------------------------------------------------------


def _bars(
    analyses: Sequence[Analysis],
    title: str,
    about: str,
    *,
    table: str,
    by: str,
    unit: str,
    value: str = "value",
    mark: str | float = "",
    only: dict[str, Sequence[str]] | None = None,
) -> Figure:
    """Groups of bars, one a space, with their intervals; the last layer of each model."""
    spaces = _spaces(analyses)
    patch = need("matplotlib.patches", purpose=PURPOSE).Patch
    keys: list[Key] = [(space, patch(**_bar(at))) for at, space in enumerate(spaces)]
    grid = _grid(len(analyses))
    figure, panels = lay_out([], title, about, grid=grid, panels=len(analyses), keys=[keys])
    for axes, one in zip(panels, analyses, strict=True):
        rows = [
            row
            for row in _last(one, table)
            if all(row[name] in wanted for name, wanted in (only or {}).items()) and np.isfinite(row[value])
        ]
        names = list(dict.fromkeys(row[by] for row in rows))
        wide = 0.8 / len(spaces)
        heights = []
        for row in rows:
            at = spaces.index(row["space"])
            x = names.index(row[by]) + (at - (len(spaces) - 1) / 2) * wide
            axes.bar(x, row[value], width=0.92 * wide, **_bar(at))
            axes.vlines(x, row["low"], row["high"], color=INK, linewidth=1.0, zorder=5)
            heights += [row[value], row["high"]]
            if isinstance(mark, str) and mark:
                _dash(axes, x, wide, row[mark])
        if not isinstance(mark, str):
            axes.axhline(mark, color=INK, linewidth=0.9, linestyle=(0, (4, 2)), zorder=4)
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.55, len(names) - 0.45)
        axes.tick_params(axis="x", length=0)
        limits(axes, [heights])
        axes.set_ylabel(unit)
        name_panel(axes, one.model)
    return figure


def _dash(axes: Axes, x: float, wide: float, at: float) -> None:
    axes.hlines(at, x - wide / 2, x + wide / 2, color=INK, linewidth=0.9, linestyle=(0, (2, 1)), zorder=5)


def _bar(at: int) -> dict[str, Any]:
    """The space before repair grey and hatched, as in the paper; each other in a colour of its own."""
    if at == 0:
        return {"facecolor": FAINT, "edgecolor": QUIET, "hatch": HATCH, "linewidth": 0.6}
    return {"facecolor": COLOURS[(at - 1) % len(COLOURS)], "edgecolor": "none"}


def _line(at: int) -> dict[str, Any]:
    if at == 0:
        return {"color": QUIET, "linestyle": (0, (4, 2)), "marker": "o", "markersize": 4.0}
    return {"color": COLOURS[(at - 1) % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)], "markersize": 4.5}


def _grid(panels: int) -> Grid:
    columns = min(panels, 3)
    return Grid(columns, WIDTH if panels > 1 else 5.0, [2.5] * -(-panels // columns))


def _spaces(analyses: Sequence[Analysis]) -> list[str]:
    return list(dict.fromkeys(row["space"] for one in analyses for row in one.rows("spaces")))


def _last(one: Analysis, table: str) -> list[Row]:
    """The rows of the last layer."""
    rows = one.rows(table)
    return [row for row in rows if row["layer"] == rows[-1]["layer"]]


def _zoom(axes: Axes, rows: Sequence[Row]) -> None:
    """Limits that a few far points do not decide."""
    for name, set_limits in (("first", axes.set_xlim), ("second", axes.set_ylim)):
        values = np.array([row[name] for row in rows])
        low, high = np.quantile(values, (0.002, 0.998))
        margin = 0.06 * (high - low) or 1.0
        set_limits(low - margin, high + margin)


def _scale(figure: Figure, panels: Sequence[Axes], scattered: Any) -> None:
    """A scale of frequencies to the right of the panels."""
    width, height = figure.get_size_inches()
    top = max(axes.get_position().y1 for axes in panels)
    right = max(axes.get_position().x1 for axes in panels)
    tall = 1.6
    place = figure.add_axes((right + 0.15 / width, top - tall / height, 0.14 / width, tall / height))
    scale: Any = figure.colorbar(scattered, cax=place)
    scale.solids.set_alpha(1.0)
    low, high = scattered.get_clim()
    ticks = np.arange(np.ceil(low), np.floor(high) + 1)
    scale.set_ticks(ticks, labels=[f"{10**tick:,.0f}" for tick in ticks])
    scale.outline.set_visible(False)
    place.tick_params(labelsize=8, length=2)
    place.grid(visible=False)
    figure.text(
        (right + 0.15 / width), top - (tall + 0.1) / height, "per million", size=8, color=QUIET, va="top", ha="left"
    )
