"""The lines that a notebook shows, as a figure: of results that have no figures of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from limbeck.extras import need
from limbeck.reporting.layout import Grid, lay_out, limits
from limbeck.reporting.style import PURPOSE, line_of
from limbeck.sketch import Curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves_figure(curves: Curves, title: str) -> Figure:
    """Every line over the same places."""
    line = need("matplotlib.lines", purpose=PURPOSE).Line2D
    looks = {name: line_of(place) for place, name in enumerate(curves.lines)}
    keys = [(name, line([], [], **look)) for name, look in looks.items()]
    figure, [axes] = lay_out([], title, curves.up, grid=Grid(1, 6.4, [3.4], titled=False), panels=1, keys=[keys])
    values = {name: np.array(line, dtype=np.float64) for name, line in curves.lines.items()}
    for name, look in looks.items():
        axes.plot(range(len(curves.places)), values[name], **look)
    axes.set_xticks(range(len(curves.places)), curves.places)
    limits(axes, list(values.values()), zero=False)
    axes.set_xlabel(curves.across)
    return figure
