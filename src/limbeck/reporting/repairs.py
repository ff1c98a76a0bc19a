"""All figures of a run of `limbeck repair`: those of a measured run with both spaces in them, and pictures of both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.reporting.figures import FIGURES, Makers
from limbeck.reporting.read import read_runs
from limbeck.reporting.space import AFTER, BEFORE, draw_directions, draw_local, draw_space, read_spaces
from limbeck.tables import read_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: figures that a table of vectors has, in which every word stands once
OF_TABLES = ("anisotropy", "isotropy", "spectra", "dimensions")


def repair_figures(folder: Path, *, table: bool = False) -> Makers:
    """Every figure of a folder of `limbeck repair`; `table`: of vectors in which every word stands once."""
    runs = read_runs([folder / BEFORE, folder / AFTER])
    spaces = read_spaces(folder)
    local = read_csv(folder / "local.csv")
    makers: dict[str, Callable[[], Figure]] = {
        name: partial(make, runs) for name, make in FIGURES.items() if not table or name in OF_TABLES
    }
    makers |= {"space": partial(draw_space, runs, spaces), "directions": partial(draw_directions, runs, spaces)}
    if local["layer"]:
        makers["local"] = partial(draw_local, runs, local)
    return makers
