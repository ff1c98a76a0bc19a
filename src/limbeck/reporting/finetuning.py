"""Figures of fine-tuning: loss and development score by step, and attention before and after by layer and head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.errors import LimbeckError
from limbeck.extras import need
from limbeck.reporting.layout import Grid, Key, lay_out, limits, name_panel
from limbeck.reporting.style import COLOURS, INK, PURPOSE, QUIET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Columns = Mapping[str, Sequence[Any]]
UNITS = {"accuracy": "accuracy", "f1": "F1 of entities"}
DOTTED = 40  #: points up to which each is marked
SMOOTH = 20  #: steps that the heavy line of losses is a mean of


def finetuning_figure(steps: Columns, dev: Columns, *, name: str, metric: str, best: int) -> Figure:
    """Of the tables steps.csv and dev.csv: loss by step at the left, the score that chose the best step at the right.

    name  whose they are
    """
    if not len(steps.get("step", ())) or not len(dev.get("step", ())):
        raise LimbeckError("Curves of training need tables of steps; these are empty: train something.", code="empty")
    at, loss = (np.array([float(value) for value in steps[key]]) for key in ("step", "loss"))
    seen, dev_loss, score = (np.array([float(value) for value in dev[key]]) for key in ("step", "loss", metric))
    line = need("matplotlib.lines", purpose=PURPOSE).Line2D
    window = max(1, min(SMOOTH, len(loss) // 5))
    smooth = np.convolve(loss, np.ones(window) / window, mode="valid")
    keys: list[Key] = [
        ("training" if window == 1 else f"training, mean of {window} steps", line([], [], color=COLOURS[0], lw=1.8)),
        ("development set", line([], [], color=COLOURS[1], lw=1.8, marker="o", markersize=3.5)),
        (f"kept: step {best}", line([], [], color=QUIET, lw=1.2, linestyle=(0, (1, 1.6)))),
    ]
    figure, [left, right] = lay_out(
        [],
        "Loss and score in fine-tuning",
        f"{name}. The step that is best on the development set is kept.",
        grid=Grid(2, 3.1, [2.5]),
        panels=2,
        keys=[keys],
    )
    dots: dict[str, Any] = {"marker": "o", "markersize": 3.5} if len(seen) <= DOTTED else {}
    left.plot(at, loss, color=COLOURS[0], linewidth=0.7, alpha=0.35)
    left.plot(at[window - 1 :], smooth, color=COLOURS[0], linewidth=1.8)
    left.plot(seen, dev_loss, color=COLOURS[1], linewidth=1.8, **dots)
    right.plot(seen, score, color=COLOURS[1], linewidth=1.8, **dots)
    limits(left, [loss, dev_loss], zero=False)
    limits(right, [score], zero=False)
    for panel, title, unit in ((left, "loss", "cross-entropy"), (right, "development set", UNITS.get(metric, metric))):
        panel.axvline(best, color=QUIET, linewidth=1.2, linestyle=(0, (1, 1.6)), zorder=1.5)
        panel.set_xlim(0, float(at.max()) * 1.02)
        panel.set_xlabel("step")
        panel.set_ylabel(unit)
        name_panel(panel, title)
    return figure


def attention_figure(tables: Mapping[str, Columns], *, about: str = "") -> Figure:
    """Similarity of attention weights by layer (upwards) and head; darker is less alike. One scale for all panels.

    tables  {title of the panel: columns of attention.csv}
    """
    if not tables or not all(len(table.get("layer", ())) for table in tables.values()):
        raise LimbeckError(
            "A heat map of attention needs a table of layers and heads; it is empty: compare two models.", code="empty"
        )
    maps = {title: _grid(table) for title, table in tables.items()}
    layers = max(len(values) for values in maps.values())
    heads = max(values.shape[1] for values in maps.values())
    low = min(float(np.nanmin(values)) for values in maps.values())
    low = min(low, 0.995) if low < 1 else 0.0  # a scale of no width would colour rounding
    width, height = max(2.4, 0.34 * heads), max(1.6, 0.24 * layers)
    grid = Grid(len(maps), width, [height], right=1.1)
    told = "Cosine of attention weights before and after, by layer and head. Darker: attention has changed more."
    figure, axes = lay_out([], "What fine-tuning does to attention", f"{about} {told}".strip(), grid=grid,
                           panels=len(maps))  # fmt: skip
    shown: Any = None
    for panel, (title, values) in zip(axes, maps.items(), strict=True):
        rows, columns = values.shape
        shown = panel.imshow(values, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=1.0,
                             extent=(0.5, columns + 0.5, 0.5, rows + 0.5), interpolation="nearest")  # fmt: skip
        panel.grid(visible=False)
        panel.set_xticks(_ticks(columns))
        panel.set_yticks(_ticks(rows))
        panel.set_xlabel("head")
        panel.set_ylabel("layer")
        name_panel(panel, title)
    box = axes[-1].get_position()
    inches = figure.get_size_inches()[0]
    scale = figure.add_axes((box.x1 + 0.18 / inches, box.y0, 0.14 / inches, box.height))
    bar = figure.colorbar(shown, cax=scale)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8.5, color=QUIET, labelcolor=INK)
    return figure


def _grid(table: Columns) -> Any:
    """Similarities (layers, heads)."""
    layers, heads = ([int(value) for value in table[key]] for key in ("layer", "head"))
    values = np.full((max(layers), max(heads)), np.nan)
    for layer, head, value in zip(layers, heads, table["similarity"], strict=True):
        values[layer - 1, head - 1] = float(value)
    return values


def _ticks(count: int) -> list[int]:
    every = 1 if count <= 12 else 2 if count <= 24 else 4
    return [place for place in range(1, count + 1) if place == 1 or place % every == 0]
