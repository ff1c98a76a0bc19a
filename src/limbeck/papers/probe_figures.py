"""Figures of probed models: layers, failures, size of the context, fine-tuning, and attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.papers import published_probes as published
from limbeck.papers.figures import as_run, keys_of
from limbeck.papers.parts import Row
from limbeck.papers.probe_context_rules import windows_of
from limbeck.papers.probe_subjects import (
    AVERAGE,
    BAG,
    NEW,
    RANDOM_BAG,
    SAME,
    STATIC_BAG,
    ProbedModel,
)
from limbeck.papers.probe_wanted import TASKS
from limbeck.probing.names import CONTEXT, WHOLE
from limbeck.reporting.finetuning import attention_figure
from limbeck.reporting.layout import Grid, band, lay_out, layer_axis, limits, name_panel
from limbeck.reporting.read import place
from limbeck.reporting.style import COLOURS, QUIET, layer_colours, line_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Models = Sequence[ProbedModel]
CURVES = {CONTEXT: "in context", AVERAGE: "average over contexts"}
LEVELS = {
    BAG: "P-model",
    STATIC_BAG: "P-static",
    RANDOM_BAG: "P-random",
    "random": "random vectors, one a word",
    "majority": "majority class",
}
SETUPS = {SAME: "(a) the same probes", NEW: "(b) new probes"}
ATTENTION = ("pos", "mrpc")
MOST_COLUMNS = 2


def draw_layers(models: Models, numbers: Models) -> Figure:
    """Figures 3 and 4: a panel a model."""
    shown = [one for one in (*models, *numbers) if "layers" in one.parts]
    looks = {name: line_of(at) for at, name in enumerate(CURVES)}
    there = [name for name in LEVELS if any(one.has("layers", space=name) for one in shown)]
    levels: dict[str, dict[str, Any]] = {
        name: {"color": COLOURS[at + 2], "linestyle": (0, (5, 2)), "linewidth": 1.4} for at, name in enumerate(there)
    }
    keys = [{CURVES[name]: look for name, look in looks.items()}, {LEVELS[name]: look for name, look in levels.items()}]
    figure, panels = lay_out(
        [],
        "How well classes of words are read off each layer",
        "Micro-F1 on words that the probes were not trained on, with its interval over words. Layer 1 is the first "
        "block, which the paper calls 0.",
        grid=_grid(len(shown), 2.6),
        panels=max(len(shown), 1),
        keys=[keys_of(some) for some in keys],
    )
    for axes, one in zip(panels, shown, strict=False):
        values: list[Any] = []
        layer_axis(axes, [as_run(one)])
        for name, look in looks.items():
            rows = [row for row in one.part("layers").rows("scores") if (row["space"], row["side"]) == (name, "test")]
            values += _curve(axes, rows, look)
        for name, look in levels.items():
            level = "type" if name in ("random", "static") else "context"
            rows = [row for row in one.part("layers").rows("scores")
                    if (row["space"], row["side"]) == (name, "test") and row.get("level", level) == level]  # fmt: skip
            if rows:
                axes.axhline(rows[0]["f1"], **look)
                values.append([rows[0]["f1"]])
        limits(axes, values or [[np.nan]])
        name_panel(axes, one.name if one.account else f"{one.name}, {published.OWN_DATA}")
        axes.set_xlabel("layer")
    _label_rows(panels, shown)
    return figure


def draw_failures(models: Models, numbers: Models) -> Figure:
    """§4.2.3: by number of pieces, and by how sure the bag of words is."""
    shown = [one for one in models if "layers" in one.parts]
    looks = {one.name: line_of(at) for at, one in enumerate(shown)}
    figure, panels = lay_out(
        [],
        "Which words in context are interpreted worse",
        "Micro-F1 at the last layer on test words, with its interval: by number of pieces of the word, and by quarter "
        "of the contexts of each class, from those of which P-around, the words around it, is least sure.",
        grid=Grid(2, 3.6, [2.6]),
        panels=2,
        keys=[keys_of(looks)],
    )
    for axes, (table, column, title) in zip(
        panels,
        (("pieces", "pieces", "Pieces of the word"), ("confidence", "quarter", "Certainty of P-around")),
        strict=True,
    ):
        values: list[Any] = []
        names: list[str] = []
        for one in shown:
            rows = [row for row in one.part("layers").rows(table) if row["layer"] == one.blocks[-1] and row["units"]]
            names = [*names, *(row[column] for row in rows if row[column] not in names)]
        names = sorted(names)
        for at, one in enumerate(shown):
            rows = [row for row in one.part("layers").rows(table) if row["layer"] == one.blocks[-1] and row["units"]]
            x = np.array([names.index(row[column]) for row in rows]) + 0.1 * (at - (len(shown) - 1) / 2)
            axes.plot(x, [row["f1"] for row in rows], **looks[one.name])
            low, high = ([row[end] for row in rows] for end in ("low", "high"))
            axes.vlines(x, low, high, color=looks[one.name]["color"], linewidth=1.1, alpha=0.7)
            values += [low, high]
        limits(axes, values or [[np.nan]])
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.6, max(len(names), 1) - 0.4)
        name_panel(axes, title)
    panels[0].set_ylabel("micro-F1")
    return figure


def draw_contexts(models: Models, numbers: Models) -> Figure:
    """Figure 5: a panel a model, a line a layer."""
    shown = [one for one in models if "contexts" in one.parts]
    bag: dict[str, Any] = {"color": COLOURS[1], "linestyle": (0, (5, 2)), "linewidth": 1.6, "marker": "s",
                           "markersize": 4.0}  # fmt: skip
    depth = {"lowest layer": layer_colours([0, 1])[0], "highest layer": layer_colours([0, 1])[1]}
    keys = {
        name: {"color": colour, "linewidth": 1.8, "marker": "o", "markersize": 4.0} for name, colour in depth.items()
    }
    figure, panels = lay_out(
        [],
        "How much context a word needs",
        "Micro-F1 on test words when the model sees so many words to each side and no others; the number at the end of "
        "a line is its layer.",
        grid=_grid(len(shown), 2.8),
        panels=max(len(shown), 1),
        keys=[keys_of({**keys, "P-model": bag})],
    )
    for axes, one in zip(panels, shown, strict=False):
        rows = [row for row in one.part("contexts").rows("scores") if row["side"] == "test"]
        ticks = [*sorted({row["context"] for row in rows} - {WHOLE}, key=int), WHOLE]
        layers = [layer for layer in dict.fromkeys(row["layer"] for row in rows if row["space"] == CONTEXT)
                  if layer not in ("table", "0")]  # fmt: skip
        colours = layer_colours(range(len(layers)))
        values: list[Any] = []
        ends = []
        for at, layer in enumerate(layers):
            own = {row["context"]: row for row in rows if (row["space"], row["layer"]) == (CONTEXT, layer)}
            y = [own[tick]["f1"] for tick in ticks]
            axes.plot(range(len(ticks)), y, color=colours[at], linewidth=1.8, marker="o", markersize=4.0)
            values.append(y)
            ends.append((y[-1], layer, colours[at]))
        own = {row["context"]: row for row in rows if row["space"] == BAG}
        if own:
            values.append([own[tick]["f1"] for tick in ticks])
            axes.plot(range(len(ticks)), values[-1], **bag)
        limits(axes, values or [[np.nan]])
        _label_ends(axes, ends, len(ticks) - 1)
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlim(-0.4, len(ticks) - 0.4)
        axes.set_xlabel("words to each side")
        name_panel(axes, one.name)
    _label_rows(panels, shown)
    return figure


def draw_tuned(models: Models, numbers: Models) -> Figure:
    """Figure 6: a row a model, a panel a task."""
    shown = [one for one in models if any(f"probed-{task}" in one.parts for task in TASKS)]
    looks = {"before": line_of(6), SAME: line_of(1), NEW: line_of(0)}
    names = {"before": "before fine-tuning", **SETUPS}
    figure, panels = lay_out(
        [],
        "What probes find after fine-tuning",
        "Micro-F1 on test words by layer: of the model before, of the fine-tuned one with (a) the same probes and (b) "
        "new ones, with intervals over words.",
        grid=Grid(len(TASKS), 2.2, [2.3] * max(len(shown), 1)),
        panels=len(TASKS) * max(len(shown), 1),
        keys=[keys_of({names[name]: look for name, look in looks.items()})],
    )
    for row_of, one in enumerate(shown):
        values: list[Any] = []
        for column, task in enumerate(TASKS):
            axes = panels[len(TASKS) * row_of + column]
            layer_axis(axes, [as_run(one)])
            before = [
                row for row in one.part("layers").rows("scores") if (row["space"], row["side"]) == (CONTEXT, "test")
            ]
            values += _curve(axes, before, looks["before"] | {"markersize": 3.0})
            for setup in SETUPS:
                rows = one.parts[f"probed-{task}"].rows("scores") if f"probed-{task}" in one.parts else []
                own = [row for row in rows if (row["space"], row["side"]) == (setup, "test")]
                values += _curve(axes, own, looks[setup] | {"markersize": 3.0})
            name_panel(axes, f"{one.name}, {TASKS[task]}")
            if row_of == len(shown) - 1:
                axes.set_xlabel("layer")
        for axes in panels[len(TASKS) * row_of : len(TASKS) * (row_of + 1)]:
            limits(axes, values)
        panels[len(TASKS) * row_of].set_ylabel("micro-F1")
    return figure


def draw_attention(models: Models, numbers: Models) -> Figure:
    """Figure 7: a panel a model and task."""
    tables = {
        f"{one.name}, {TASKS[task]}": one.part(f"tuned-{task}").tables["attention"]
        for one in models
        for task in ATTENTION
        if f"tuned-{task}" in one.parts
    }
    return attention_figure(tables)


def draw_windows(models: Models, numbers: Models) -> Figure:
    """Table 7: accuracy by words attended to."""
    shown = [one for one in models if "windows" in one.parts and "tuned-pos" in one.parts]
    looks = {one.name: line_of(at) for at, one in enumerate(shown)}
    faint: dict[str, Any] = {"color": QUIET, "linewidth": 1.3, "alpha": 0.6}
    figure, [axes] = lay_out(
        [],
        "Parts of speech with attention to few words",
        "Accuracy on development sentences when a word attends to so many words on either side, with its interval.",
        grid=Grid(1, 5.6, [2.7], titled=False),
        panels=1,
        keys=[keys_of({**looks, **{f"{one.name}, {published.TASK_DATA['pos']}": faint for one in numbers}})],
    )
    found = {one.name: windows_of(one) for one in (*shown, *numbers)}
    ticks = [*sorted({size for own in found.values() for size in own} - {WHOLE}, key=int), WHOLE]
    values: list[Any] = []
    for name, own in found.items():
        x = [at for at, tick in enumerate(ticks) if tick in own]
        y = np.array([own[ticks[at]].value for at in x])
        error = np.array([own[ticks[at]].error for at in x])
        axes.plot(x, y, **looks.get(name, faint))
        if name in looks:
            axes.vlines(x, y - error, y + error, color=looks[name]["color"], linewidth=1.1, alpha=0.7)
        values += [y - error, y + error]
    limits(axes, values or [[np.nan]], zero=False)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set(xlabel="words on either side", ylabel="accuracy")
    return figure


def _curve(axes: Axes, rows: Sequence[Row], look: Mapping[str, Any]) -> list[Any]:
    """A line over layers with its band; what was drawn."""
    if not rows:
        return []
    x = place([row["layer"] for row in rows])
    axes.plot(x, [row["f1"] for row in rows], **look)
    low, high = (np.array([row.get(end, np.nan) for row in rows], dtype=np.float64) for end in ("low", "high"))
    band(axes, x, low, high, look["color"])
    return [[row["f1"] for row in rows], low, high]


def _label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]], x: int) -> None:
    """The layer at the end of each line, apart where lines end close to one another."""
    low, high = axes.get_ylim()
    room = 0.07 * (high - low)
    values = sorted(ends)
    at = np.array([value for value, _, _ in values])
    for place_of in range(1, len(at)):
        at[place_of] = max(at[place_of], at[place_of - 1] + room)
    at -= at.mean() - np.mean([value for value, _, _ in values])  # moved as much down as up
    for height, (_, layer, colour) in zip(at.tolist(), values, strict=True):
        axes.annotate(layer, (x, height), xytext=(7, 0), textcoords="offset points", va="center", size=8.5,
                      color=colour, annotation_clip=False)  # fmt: skip


def _grid(count: int, height: float) -> Grid:
    columns = max(1, min(count, MOST_COLUMNS))
    rows = -(-max(count, 1) // columns)
    return Grid(columns, 5.6 if columns == 1 else 3.7, [height] * rows)


def _label_rows(panels: Sequence[Axes], shown: Models) -> None:
    for axes in panels[:: min(max(len(shown), 1), MOST_COLUMNS)]:
        axes.set_ylabel("micro-F1")


def _needs(why: str, *parts: str) -> Callable[[Models], str]:
    """Of a figure that some model must have one of these parts for."""
    return lambda models: "" if any(part in one.parts for one in models for part in parts) else why


FIGURES = {
    "layers": draw_layers,
    "failures": draw_failures,
    "contexts": draw_contexts,
    "tuned": draw_tuned,
    "attention": draw_attention,
    "windows": draw_windows,
}
UNDRAWN = {
    "failures": _needs("nothing was probed", "layers"),
    "contexts": _needs("no context was cut", "contexts"),
    "tuned": _needs("nothing was fine-tuned", *(f"probed-{task}" for task in TASKS)),
    "attention": _needs("nothing was fine-tuned", *(f"tuned-{task}" for task in ATTENTION)),
    "windows": _needs("nothing was fine-tuned with attention to few words", "windows"),
}
CAPTIONS = {
    "layers": "Micro-F1 by layer, in context and as averages, with bags of words",
    "failures": "Micro-F1 by number of pieces and by certainty of the words around",
    "contexts": "Micro-F1 by words to each side",
    "tuned": "Micro-F1 by layer after fine-tuning, with the same and with new probes",
    "attention": "Attention before and after fine-tuning by layer and head",
    "windows": "Accuracy of parts of speech by words attended to",
}
