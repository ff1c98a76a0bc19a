"""Figures of a probing run, as PNG and SVG: F1 by layer, by amount of context, and learning curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from limbeck.extras import need
from limbeck.probing.names import WHOLE
from limbeck.reporting.figures import Makers
from limbeck.reporting.layout import Grid, Key, label_bottom, lay_out, limits, name_panel
from limbeck.reporting.style import COLOURS, MARKERS, PURPOSE, QUIET, layer_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Table = Mapping[str, Sequence[Any]]
Row = dict[str, Any]
#: what is drawn as a curve over the layers of a model; everything else has one vector or none, and is a level line
BY_LAYER = ("context", "average", "random weights", "random labels")
NAMES = {
    "context": "in context",
    "average": "average over contexts",
    "random": "random vectors",
    "static": "static vectors",
    "random weights": "in context, random weights",
    "random labels": "in context, random labels",
    "majority": "majority class",
}


def probe_figures(tables: Mapping[str, Table], *, model: str) -> Makers:
    """Scores by layer, and by context and epoch where there are tables for them."""
    scores = rows_of(tables["scores"])
    figures: dict[str, Callable[[], Figure]] = {"layers": partial(layers_figure, scores, model=model)}
    if any(row["context"] != WHOLE for row in scores):
        figures["contexts"] = partial(contexts_figure, scores, model=model)
    if "curves" in tables:
        figures["curves"] = partial(curves_figure, rows_of(tables["curves"]), model=model)
    return figures


def rows_of(columns: Table) -> list[Row]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def layers_figure(scores: Sequence[Row], *, model: str) -> Figure:
    """F1 on the test side by layer: words in context, and one vector a word where that was compared (Figures 3, 4)."""
    whole = [row for row in scores if row["context"] == WHOLE and row["side"] == "test"]
    levels = [level for level in ("context", "type") if any(row["level"] == level and curved(row) for row in whole)]
    shown = [row for row in whole if row["level"] in levels]
    kinds = list(dict.fromkeys((row["space"], row["probe"]) for row in shown))
    kinds.sort(key=lambda kind: kind[0] not in BY_LAYER)  # curves first, so that no two of them share a colour
    looks = {kind: look_of(place) for place, kind in enumerate(kinds)}
    several = len({probe for _, probe in kinds} - {"none"}) > 1
    grid = Grid(len(levels), 5.2 if len(levels) == 1 else 4.2, [3.2], titled=len(levels) > 1)
    figure, panels = lay_out(
        [],
        "How well classes of words are read off each layer",
        f"{model}. Micro-F1 on words that the probes were not trained on; vertical bars: 95 % interval over words.",
        grid=grid,
        panels=len(levels),
        keys=[[key_of(kind, looks[kind], several=several, curve=kind[0] in BY_LAYER) for kind in kinds]],
    )
    axis = positions(shown)
    for axes, level in zip(panels, levels, strict=True):
        for kind, look in looks.items():
            own = [row for row in shown if (row["space"], row["probe"]) == kind and row["level"] == level]
            if own and kind[0] in BY_LAYER:
                draw_curve(axes, [axis[row["layer"]] for row in own], own, look)
            elif own:
                axes.axhline(own[0]["f1"], **level_look(look))
        finish_layers(axes, axis, shown)
        if len(levels) > 1:
            name_panel(axes, {"context": "One vector an occurrence", "type": "One vector a word"}[level])
    panels[0].set_ylabel("micro-F1")
    label_bottom(panels, grid, "layer")
    return figure


def curved(row: Row) -> bool:
    return row["space"] in BY_LAYER


def contexts_figure(scores: Sequence[Row], *, model: str) -> Figure:
    """F1 on the development side by words of context to each side, a line a layer (Figure 5)."""
    probe = next(row["probe"] for row in scores if row["context"] != WHOLE)
    rows = [row for row in scores if row["side"] == "dev" and row["level"] == "context" and row["probe"] == probe]
    sizes = sorted({int(row["context"]) for row in rows if row["context"] != WHOLE})
    ticks = [*map(str, sizes), WHOLE]
    layers = [row["layer"] for row in rows if row["space"] == "context" and row["context"] == WHOLE]
    axis = positions([row for row in rows if row["space"] == "context"])
    colours = colours_of(axis)
    line_of = need("matplotlib.lines", purpose=PURPOSE).Line2D
    bags = [name for name in ("P-model", "P-static", "P-random") if any(row["space"] == name for row in rows)]
    dashes: dict[str, dict[str, Any]] = {
        name: {"color": COLOURS[place + 1], "linestyle": (0, (5, 2))} for place, name in enumerate(bags)
    }
    keys: list[Key] = [(called(layer), line_of([], [], color=colours[axis[layer]])) for layer in layers]
    keys += [(name, line_of([], [], **look)) for name, look in dashes.items()]
    figure, [axes] = lay_out(
        [],
        "How much context a word needs",
        f"{model}, {probe}. Micro-F1 on the development words; the model sees so many words to each side and no more.",
        grid=Grid(1, 6.0, [3.4], titled=False),
        panels=1,
        keys=[keys],
    )
    values = []
    lines: list[tuple[str, str | None, dict[str, Any]]] = [
        *(("context", layer, {"color": colours[axis[layer]]}) for layer in layers),
        *((name, None, look) for name, look in dashes.items()),
    ]
    for space, layer, look in lines:
        own = {row["context"]: row["f1"] for row in rows if row["space"] == space and layer in (None, row["layer"])}
        at = [place for place, tick in enumerate(ticks) if tick in own]
        values.append([own[ticks[place]] for place in at])
        axes.plot(at, values[-1], marker="o", markersize=3.5, linewidth=1.6, **look)
    limits(axes, values, zero=False)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_xlabel("words to each side")
    axes.set_ylabel("micro-F1")
    return figure


def curves_figure(curves: Sequence[Row], *, model: str) -> Figure:
    """Loss on the development side by epoch, a line a layer, of the first start."""
    first = curves[0]
    same = ("space", "probe", "context", "seed")
    rows = [row for row in curves if all(row[name] == first[name] for name in same)]
    axis = positions(rows)
    colours = colours_of(axis)
    line_of = need("matplotlib.lines", purpose=PURPOSE).Line2D
    figure, panels = lay_out(
        [],
        "Learning curves",
        f"{model}, {first['probe']} on layers in context. Mean cross-entropy of a probe's decision by epoch.",
        grid=(grid := Grid(2, 3.4, [2.8])),
        panels=2,
        keys=[[(called(layer), line_of([], [], color=colours[at])) for layer, at in axis.items()]],
    )
    for axes, column, title in zip(panels, ("loss", "dev_loss"), ("Training words", "Development words"), strict=True):
        for layer, at in axis.items():
            own = [row for row in rows if row["layer"] == layer]
            axes.plot([row["epoch"] for row in own], [row[column] for row in own], color=colours[at], linewidth=1.4)
        limits(axes, [[row["loss"] for row in rows], [row["dev_loss"] for row in rows]], zero=False)
        axes.xaxis.set_major_locator(need("matplotlib.ticker", purpose=PURPOSE).MaxNLocator(integer=True))
        name_panel(axes, title)
    panels[0].set_ylabel("cross-entropy (nats)")
    label_bottom(panels, grid, "epoch")
    return figure


def positions(rows: Sequence[Row]) -> dict[str, int]:
    """Where each layer stands on the axis: the table before layer 0."""
    names = dict.fromkeys(row["layer"] for row in rows if row["space"] in BY_LAYER)
    numbered = [name for name in names if name.isdecimal()]
    lowest = min((int(name) for name in numbered), default=1)
    others = [name for name in names if not name.isdecimal()]
    found = {name: lowest - len(others) + place for place, name in enumerate(others)}
    found |= {name: int(name) for name in numbered}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def colours_of(axis: Mapping[str, int]) -> dict[int, str]:
    """A colour a layer, from dark to light; grey for the table, which is no layer of the model."""
    numbered = [at for name, at in axis.items() if name.isdecimal()]
    return dict.fromkeys(axis.values(), QUIET) | (layer_colours(numbered) if numbered else {})


def called(layer: str) -> str:
    return layer if layer == "table" else f"layer {layer}"


def look_of(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def level_look(look: Mapping[str, Any]) -> dict[str, Any]:
    return {"color": look["color"], "linestyle": (0, (5, 2)), "linewidth": 1.3, "zorder": 2}


def key_of(kind: tuple[str, str], look: Mapping[str, Any], *, several: bool, curve: bool) -> Key:
    line_of = need("matplotlib.lines", purpose=PURPOSE).Line2D
    name = NAMES.get(kind[0], kind[0]) + (f", {kind[1]}" if several and kind[1] != "none" else "")
    return name, line_of([], [], linewidth=1.8, **look) if curve else line_of([], [], **level_look(look))


def draw_curve(axes: Axes, at: Sequence[int], rows: Sequence[Row], look: Mapping[str, Any]) -> None:
    f1 = [row["f1"] for row in rows]
    below = [max(0.0, row["f1"] - row["low"]) for row in rows]
    above = [max(0.0, row["high"] - row["f1"]) for row in rows]
    axes.errorbar(at, f1, yerr=[below, above], linewidth=1.8, markersize=4.5, elinewidth=0.9, zorder=3, **look)


def finish_layers(axes: Axes, axis: Mapping[str, int], rows: Sequence[Row]) -> None:
    limits(axes, [[row["f1"] for row in rows], [row["low"] for row in rows], [row["high"] for row in rows]], zero=True)
    low, high = min(axis.values()), max(axis.values())
    axes.set_xlim(low - 0.6, high + 0.6)
    every = -(-(high - low + 1) // 14)
    ticks = [(at, name) for name, at in axis.items() if not name.isdecimal() or at % every == 0]
    axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks])
