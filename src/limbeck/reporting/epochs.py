"""Figures of classification: score and loss by epoch, a panel a task (Figure 4 of Rajaee & Pilehvar 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import LimbeckError
from limbeck.extras import need
from limbeck.reporting.figures import Makers
from limbeck.reporting.layout import Grid, Key, band, label_bottom, lay_out, limits, name_panel
from limbeck.reporting.style import COLOURS, PURPOSE, QUIET, line_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Columns = Mapping[str, Sequence[Any]]
UNITS = {"accuracy": "accuracy", "matthews": "Matthews' correlation"}
MOST_TICKS = 10
MAJORITY: dict[str, Any] = {"color": QUIET, "linestyle": (0, (1, 1.6)), "linewidth": 1.4}

#: name of the files -> column of epochs.csv, title, explanation
FIGURES = {
    "epochs": (
        "score",
        "Score by epoch, of a classifier on frozen vectors",
        "On examples that were not trained on; mean over starts, which are alike for all settings. Shaded: one "
        "standard deviation over starts to each side. Scales differ.",
    ),
    "losses": (
        "loss",
        "Training loss by epoch, of a classifier on frozen vectors",
        "Mean cross-entropy of the examples trained on; mean over starts, which are alike for all settings. Shaded: "
        "one standard deviation over starts to each side. Scales differ.",
    ),
}


def epoch_figures(columns: Columns) -> Makers:
    """Scores and losses of the table epochs.csv, read or as it was made."""
    if not len(columns.get("task", ())):
        raise LimbeckError(
            "Figures by epoch need a table of scores by epoch; this one is empty: classify something.", code="empty"
        )
    return {name: partial(epochs_figure, columns, name) for name in FIGURES}


def epochs_figure(columns: Columns, name: str = "epochs") -> Figure:
    """One of `FIGURES`, to be saved by the caller."""
    return _draw(columns, *FIGURES[name])


def _draw(columns: Columns, column: str, title: str, about: str) -> Figure:
    names = [np.array([str(value) for value in columns[name]]) for name in ("target", "task", "setting", "metric")]
    targets, tasks, settings, metrics = names
    seeds = np.array([str(value) for value in columns["seed"]])
    epochs, values, majority = (
        np.array([float(value) for value in columns[name]]) for name in ("epoch", column, "majority")
    )
    panels = list(dict.fromkeys(zip(targets.tolist(), tasks.tolist(), strict=True)))
    shown = list(dict.fromkeys(settings.tolist()))
    one_target = len(set(targets.tolist())) == 1
    across = 2 if len(panels) == 4 else min(3, len(panels))
    grid = Grid(across, 6.4 if across == 1 else 2.6, [2.1] * -(-len(panels) // across))
    keys: list[Key] = [(setting, _artist(**line_of(place))) for place, setting in enumerate(shown)]
    if column == "score":
        keys.append(("most frequent class", _artist(**MAJORITY)))
    if one_target:
        about = f"{targets[0]}. {about}"
    figure, axes = lay_out([], title, about, grid=grid, panels=len(panels), keys=[keys])
    for panel, (target, task) in zip(axes, panels, strict=True):
        here = (targets == target) & (tasks == task)
        drawn: list[NDArray[np.float64]] = []
        for place, setting in enumerate(shown):
            mine = here & (settings == setting)
            if not mine.any():
                continue
            curves = np.stack([_sorted(epochs, values, mine & (seeds == seed)) for seed in np.unique(seeds[mine])])
            mean, spread = curves.mean(0), curves.std(0, ddof=1) if len(curves) > 1 else np.zeros(curves.shape[1])
            x = np.sort(epochs[mine & (seeds == seeds[mine][0])])
            panel.plot(x, mean, label=setting, **line_of(place) | {"markersize": 3.5, "linewidth": 1.6})
            band(panel, x, mean - spread, mean + spread, COLOURS[place % len(COLOURS)])
            drawn += [mean - spread, mean + spread]
        if column == "score":
            level = majority[here][:1]
            panel.axhline(float(level[0]), zorder=1.8, **MAJORITY)
            drawn.append(level)
        limits(panel, drawn, zero=False)
        last = int(epochs[here].max())
        every = -(-last // MOST_TICKS)
        panel.set_xticks([epoch for epoch in range(1, last + 1) if epoch % every == 0 or every == 1])
        panel.set_xlim(0.5, last + 0.5)
        name_panel(panel, task if one_target else f"{target}, {task}")
        panel.set_ylabel(UNITS.get(str(metrics[here][0]), "score") if column == "score" else "cross-entropy")
    label_bottom(axes, grid, "epoch")
    return figure


def _sorted(epochs: NDArray[np.float64], values: NDArray[np.float64], rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.asarray(values[rows][np.argsort(epochs[rows])])


def _artist(**look: Any) -> Any:
    return need("matplotlib.lines", purpose=PURPOSE).Line2D([], [], **look)
