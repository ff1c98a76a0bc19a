"""The loss curve of a distillation that trains, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.errors import LimbeckError
from limbeck.reporting.layout import Grid, lay_out, limits
from limbeck.reporting.style import COLOURS, QUIET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTTED = 40  #: points up to which each is marked


def training_figure(columns: Mapping[str, Sequence[Any]], *, name: str) -> Figure:
    """The table losses.csv, read or as it was made: loss by progress in epochs; a thin line where an epoch ends.

    name  whose it is
    """
    if not len(columns.get("loss", ())):
        raise LimbeckError("A loss curve needs a table of losses; this one is empty: train something.", code="empty")
    progress, loss, epoch = (np.array([float(v) for v in columns[key]]) for key in ("progress", "loss", "epoch"))
    order = np.argsort(progress, kind="stable")
    figure, [axes] = lay_out(
        [],
        "Loss in training",
        f"{name}. Mean over the targets of up to 100 steps, before each step.",
        grid=Grid(1, 6.4, [2.6], titled=False),
        panels=1,
    )
    for end in range(1, int(epoch.max())):
        axes.axvline(end, color=QUIET, linewidth=0.8, alpha=0.4, zorder=1)
    look: dict[str, Any] = {"marker": "o", "markersize": 3} if len(loss) <= DOTTED else {}
    axes.plot(progress[order], loss[order], color=COLOURS[0], linewidth=1.6, **look)
    limits(axes, [loss], zero=False)
    axes.set_xlim(0, float(epoch.max()))
    if epoch.max() > 1:
        every = -(-int(epoch.max()) // 10)
        axes.set_xticks(range(0, int(epoch.max()) + 1, every))
    axes.set_xlabel("epochs")
    axes.set_ylabel("loss")
    return figure
