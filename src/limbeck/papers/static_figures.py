"""Figures of static vectors: scores by set, by layer, by size of the text, by context, and of classification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.extras import need
from limbeck.papers.figures import as_run, keys_of
from limbeck.papers.parts import Row
from limbeck.papers.published_static import SETS
from limbeck.papers.static_subjects import (
    AVERAGE,
    CBOW,
    MEAN,
    METHODS,
    PARAGRAPH,
    READ_IN_PARAGRAPH,
    SENTENCE,
    SKIPGRAM,
    TRAINED,
    Parent,
)
from limbeck.reporting.layout import Grid, band, label_bottom, lay_out, layer_axis, light_grid, limits, name_panel
from limbeck.reporting.read import place
from limbeck.reporting.style import COLOURS, MARKERS, PURPOSE, QUIET, line_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Parents = Sequence[Parent]
SHOWN = (AVERAGE, SENTENCE, PARAGRAPH, *TRAINED)
FORM_OF = {SKIPGRAM: "skipgram", CBOW: "cbow"}  #: with n-grams: in the colour of the plain one, hollow
COLOURED = tuple(name for name in SHOWN if name not in FORM_OF)
CONTEXTS = {
    "sent2vec": "static\n(eq. 2)",
    "words": "all words\n(eq. 3)",
    READ_IN_PARAGRAPH: "paragraph\nread (eq. 4)",
    "others": "the others",
    "masked": "target\nmasked",
}
CURVES = {"simlex-999": "SimLex-999", "rw": "RW"}
MOST_COLUMNS = 3


def draw_similarity(parents: Parents, numbers: Parents) -> Figure:
    """Tables 3 and 6: every method on every set."""
    shown = _with(parents, "similarity")
    looks = _looks(name for name in SHOWN if any(one.has(name) for one in shown))
    grid = Grid(1, 7.6, [2.4] * max(len(shown), 1))
    figure, panels = lay_out(
        [],
        "Word similarity of static vectors",
        "Spearman's correlation on the pairs that all of them know, and the mean over the sets, with intervals; the "
        "average over contexts at its best layer. Existing vectors are not drawn, since they know other pairs.",
        grid=grid,
        panels=max(len(shown), 1),
        keys=[keys_of({METHODS[name]: look for name, look in looks.items()})],
    )
    names = [*SETS, MEAN]
    values: list[Any] = []
    for axes, one in zip(panels, shown, strict=False):
        best = one.part("similarity").about.get("best_layer") or one.layers[-1]
        columns = {name: _scores(one, name, best) for name in looks}
        values += _by_column(axes, columns, names, looks)
        axes.set_xticks(range(len(names)), [*SETS.values(), "mean"])
        name_panel(axes, one.name)
    _finish(panels, grid, shown, values, "Spearman", "no word-similarity set was scored")
    return figure


def draw_layers(parents: Parents, numbers: Parents) -> Figure:
    """The average's score by layer, and X2Static's beside."""
    shown = _with(parents, "similarity")
    looks = {one.name: line_of(at) for at, one in enumerate(shown)}
    dotted: dict[str, Any] = {"linestyle": (0, (1, 1.6)), "linewidth": 1.6, "markerfacecolor": "white"}
    figure, (axes,) = lay_out(
        [],
        "Averages over contexts, layer by layer",
        "Mean Spearman's correlation over the sets with its interval, by layer of the average; dotted, with a hollow "
        "marker behind the last layer: X2Static with paragraphs, which is made from that layer.",
        grid=Grid(1, 5.6, [2.9], titled=False),
        panels=1,
        keys=[keys_of(looks), keys_of({METHODS[PARAGRAPH]: {"color": QUIET, "marker": "o", **dotted}})],
    )
    values: list[Any] = []
    if shown:
        layer_axis(axes, [as_run(one) for one in shown])
    for at, one in enumerate(shown):
        rows = one.rows("similarity", "scores", method=AVERAGE, set=MEAN)
        x = place([row["layer"] for row in rows])
        look = looks[one.name]
        axes.plot(x, [row["value"] for row in rows], label=one.name, **look)
        band(axes, x, _column(rows, "low"), _column(rows, "high"), look["color"])
        trained = one.rows("similarity", "scores", method=PARAGRAPH, set=MEAN) if one.has(PARAGRAPH) else []
        for row in trained:
            behind = x[-1] + 0.25 + 0.25 * at  # parents of as many layers side by side
            axes.plot([x[0], behind], [row["value"]] * 2, label=f"{one.name} X2Static", **{**look, **dotted},
                      markevery=[1])  # fmt: skip
            axes.vlines(behind, row["low"], row["high"], color=look["color"], linewidth=1.1, alpha=0.7, zorder=3)
        values += [[row[key] for row in (*rows, *trained)] for key in ("value", "low", "high")]
    if shown:
        axes.set_xlim(right=axes.get_xlim()[1] + 0.25 * (len(shown) - 1))
    limits(axes, values or [[np.nan]], zero=False)
    axes.set(xlabel="layer", ylabel="mean Spearman")
    return figure


def draw_size(parents: Parents, numbers: Parents) -> Figure:
    """Figure 1: scores by size of the text, a row of panels for each parent."""
    shown = _with(parents, "size")
    # in the colours and markers of the other figures; a curve of one size has a marker alone
    looks = {method: line_of(COLOURED.index(method)) for method in (AVERAGE, PARAGRAPH)}
    looks[PARAGRAPH] |= {"linestyle": (0, (4, 2))}
    grid = Grid(len(CURVES), 3.6, [2.2] * max(len(shown), 1))
    figure, panels = lay_out(
        [],
        "More text",
        "Spearman's correlation by words of the text, with its interval, on the same pairs at every size; the average "
        "over contexts at its best layer.",
        grid=grid,
        panels=len(CURVES) * max(len(shown), 1),
        keys=[keys_of({METHODS[method]: look for method, look in looks.items()})],
    )
    for at, (name, title) in enumerate(CURVES.items()):
        column = panels[at :: len(CURVES)]
        rows = [row for one in shown for row in one.part("size").rows("scores") if row["set"] == name]
        sizes = sorted({row["words"] for row in rows})
        for axes, one in zip(column, shown, strict=False):
            for method, look in looks.items():
                own = [row for row in one.part("size").rows("scores") if (row["method"], row["set"]) == (method, name)]
                x = [row["words"] for row in own]
                axes.plot(x, [row["value"] for row in own], label=f"{one.name} {method}", **look)
                band(axes, x, _column(own, "low"), _column(own, "high"), look["color"])
            name_panel(axes, f"{title}, {one.name}")
        for axes in column:
            limits(axes, [[row[key] for row in rows] for key in ("value", "low", "high")], zero=False)
            _size_axis(axes, sizes)
    for axes in panels[:: len(CURVES)]:
        axes.set_ylabel("Spearman")
    label_bottom(panels, grid, "words of the text (log)")
    return figure


def _size_axis(axes: Axes, sizes: Sequence[int]) -> None:
    if sizes:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(need("matplotlib.ticker", purpose=PURPOSE).NullLocator())
    axes.set_xticks(sizes, [_short(size) for size in sizes])
    light_grid(axes)


def draw_contexts(parents: Parents, numbers: Parents) -> Figure:
    """X2Static with other contexts."""
    shown = _with(parents, "contexts")
    looks = {one.name: line_of(at) for at, one in enumerate(shown)}
    figure, (axes,) = lay_out(
        [],
        "What X2Static predicts a word from",
        "Mean Spearman's correlation over the sets with its interval, by the context: static vectors of the sentence's "
        "other words, the teacher's vectors of all its words, the same where the whole paragraph was read, of the "
        "others, or with the target masked; on a part of the text.",
        grid=Grid(1, 5.6, [2.7], titled=False),
        panels=1,
        keys=[keys_of(looks)],
    )
    places = {name: at for at, name in enumerate(CONTEXTS)}
    values: list[Any] = []
    for at, one in enumerate(shown):
        rows = sorted((row for row in one.part("contexts").rows("scores") if row["set"] == MEAN),
                      key=lambda row: places[row["method"]])  # fmt: skip
        x = np.array([places[row["method"]] for row in rows]) + 0.09 * (at - (len(shown) - 1) / 2)
        _points(axes, x, rows, looks[one.name] | {"linestyle": ""}, one.name)
        values += [[row["low"] for row in rows], [row["high"] for row in rows]]
    limits(axes, values or [[np.nan]], zero=False)
    axes.set_xlim(-0.5, len(CONTEXTS) - 0.5)
    axes.set_xticks(range(len(CONTEXTS)), list(CONTEXTS.values()))
    axes.set_ylabel("mean Spearman")
    return figure


def draw_classify(parents: Parents, numbers: Parents) -> Figure:
    """Table 4: macro-F1 a task."""
    shown = _with(parents, "classify")
    there = {row["method"] for one in shown for row in one.part("classify").rows("scores")}
    looks = _looks(name for name in SHOWN if name in there)
    grid = _grid(len(shown), 2.6)
    figure, panels = lay_out(
        [],
        "Classification with static vectors",
        "Macro-F1 of a convolution on frozen word vectors, by task, with its interval over examples and runs.",
        grid=grid,
        panels=max(len(shown), 1),
        keys=[keys_of({METHODS[name]: look for name, look in looks.items()})],
    )
    values: list[Any] = []
    for axes, one in zip(panels, shown, strict=False):
        scores = one.part("classify").rows("scores")
        names = list(dict.fromkeys(row["task"] for row in scores))
        told = [{**row, "set": row["task"], "value": row["f1"], "low": row["f1_low"], "high": row["f1_high"]}
                for row in scores]  # fmt: skip
        columns = {name: [row for row in told if row["method"] == name] for name in looks}
        values += _by_column(axes, columns, names, looks)
        axes.set_xticks(range(len(names)), ["mean" if name == MEAN else name.upper() for name in names],
                        rotation=30, ha="right")  # fmt: skip
        name_panel(axes, one.name)
    _finish(panels, grid, shown, values, "macro-F1", "nothing was classified")
    return figure


def _by_column(
    axes: Axes, columns: Mapping[str, Sequence[Row]], names: Sequence[str], looks: Mapping[str, dict[str, Any]]
) -> list[Any]:
    """A point a method in each column, side by side; what was drawn."""
    there = [name for name, rows in columns.items() if rows]
    step = 0.8 / max(len(there), 6)  # of a column, whose width is 1
    values: list[Any] = []
    for at, name in enumerate(there):
        rows = [row for row in columns[name] if row["set"] in names]
        x = np.array([names.index(row["set"]) for row in rows]) + step * (at - (len(there) - 1) / 2)
        _points(axes, x, rows, looks[name], name)
        values += [[row[key] for row in rows] for key in ("value", "low", "high")]
    axes.axvline(len(names) - 1.5, color=QUIET, linewidth=0.7)
    axes.set_xlim(-0.6, len(names) - 0.4)
    return values


def _points(axes: Axes, x: Any, rows: Sequence[Row], look: Mapping[str, Any], label: str) -> None:
    axes.plot(x, [row["value"] for row in rows], label=label, **{**look, "linestyle": ""})
    low, high = [row["low"] for row in rows], [row["high"] for row in rows]
    axes.vlines(x, low, high, color=look["color"], linewidth=1.1, alpha=0.7, zorder=3)


def _column(rows: Sequence[Row], name: str) -> Any:
    return np.array([row[name] for row in rows], dtype=np.float64)


def _looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    looks: dict[str, dict[str, Any]] = {}
    for name in names:
        at = COLOURED.index(FORM_OF.get(name, name))
        looks[name] = {"color": COLOURS[at], "marker": MARKERS[at], "linestyle": "", "markersize": 5.0, "zorder": 4}
        if name in FORM_OF:
            looks[name]["markerfacecolor"] = "white"
    return looks


def _scores(one: Parent, method: str, best: str) -> list[Row]:
    layer = best if method == AVERAGE else ""
    rows = one.part("similarity").rows("scores")
    return [row for row in rows if (row["method"], row["layer"]) == (method, layer)]


def _with(parents: Parents, part: str) -> list[Parent]:
    return [one for one in parents if not one.is_file and part in one.parts]


def _grid(count: int, height: float) -> Grid:
    columns = max(1, min(count, MOST_COLUMNS))
    rows = -(-max(count, 1) // columns)
    return Grid(columns, 5.6 if columns == 1 else 3.7 if columns == 2 else 3.2, [height] * rows)


def _finish(
    panels: Sequence[Axes], grid: Grid, shown: Sequence[Parent], values: Sequence[Any], label: str, nothing: str
) -> None:
    """The same scale for all parents, so that they can be compared."""
    for axes, _ in zip(panels, shown, strict=False):
        limits(axes, values or [[np.nan]], zero=False)
    if not shown:
        panels[0].text(0.5, 0.5, nothing, transform=panels[0].transAxes, ha="center", va="center", color=QUIET)
        panels[0].set_xticks([])
    for axes in panels[:: grid.columns]:
        axes.set_ylabel(label)


def _short(words: int) -> str:
    """16k, 249k, 1.2M."""
    if words >= 1_000_000:
        return f"{words / 1_000_000:.2g}M"
    return f"{words / 1000:.0f}k" if words >= 1000 else str(words)


FIGURES = {
    "similarity": draw_similarity,
    "layers": draw_layers,
    "size": draw_size,
    "contexts": draw_contexts,
    "classify": draw_classify,
}
CAPTIONS = {
    "similarity": "Word similarity of static vectors by set",
    "layers": "Averages over contexts by layer, X2Static beside",
    "size": "Word similarity by size of the text",
    "contexts": "X2Static with other contexts",
    "classify": "Classification with static vectors by task",
}
