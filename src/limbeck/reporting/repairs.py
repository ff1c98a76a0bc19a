"""All figures of a run of `limbeck repair`: those of a measured run with both spaces in them, and pictures of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.reporting.figures import FIGURES, save_figure
from limbeck.reporting.read import read_runs
from limbeck.reporting.space import AFTER, BEFORE, draw_directions, draw_local, draw_space, read_spaces
from limbeck.reporting.style import styled
from limbeck.tables import read_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: figures that a table of vectors has, in which every word stands once
OF_TABLES = ("anisotropy", "isotropy", "spectra", "dimensions")


def draw_repair(folder: Path, *, table: bool = False, only: Sequence[str] = ()) -> list[Path]:
    """Draw every figure of a folder of `limbeck repair` into its `figures`; `only` some of them, by name."""
    runs = read_runs([folder / BEFORE, folder / AFTER])
    spaces = read_spaces(folder)
    local = read_csv(folder / "local.csv")
    out = folder / "figures"
    out.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], Figure]] = {
        name: partial(make, runs) for name, make in FIGURES.items() if not table or name in OF_TABLES
    }
    makers |= {"space": partial(draw_space, runs, spaces), "directions": partial(draw_directions, runs, spaces)}
    if local["layer"]:
        makers["local"] = partial(draw_local, runs, local)
    written = []
    with styled():
        for name, make in makers.items():
            if not only or name in only:
                figure = make()
                written += save_figure(figure, out, name)
                figure.clear()
    return written
