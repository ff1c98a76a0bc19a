"""Pictures of a space before and after its repair: where words of which frequency lie, and what clusters change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.errors import InputError
from limbeck.extras import need
from limbeck.reporting.layout import (
    RIGHT,
    SCALE_WIDTH,
    Grid,
    Key,
    label_bottom,
    lay_out,
    layer_scale,
    light_grid,
    limits,
    name_panel,
)
from limbeck.reporting.read import Floats, Run, read_by_layer
from limbeck.reporting.style import COLOURS, INK, PURPOSE, QUIET, line_of
from limbeck.tables import read_csv, read_parquet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEFORE, AFTER = "before", "after"
COLUMNS, ROWS = 4, 3  #: layers in a picture at most, side by side or one below the other
PLACES = ("frequency", "x", "y", "u", "v")
FACT_KEYS = ("repair", "layer")
AGAIN = "repair it again"


@dataclass(frozen=True)
class Space:
    """Occurrences of one layer, before or after: columns of space.parquet, and the layer's row of space.csv."""

    places: Mapping[str, Floats]
    facts: Mapping[str, float]


Spaces = Mapping[tuple[str, str], Space]  # (before or after, layer) -> what is drawn


def read_spaces(folder: Path) -> Spaces:
    """What a run of `limbeck repair` has written of its spaces."""
    try:
        table = read_parquet(folder / "space.parquet", ["repair", "layer", *PLACES]).to_pydict()
        facts = read_csv(folder / "space.csv")
        places = {name: np.array(table[name], dtype=np.float64) for name in PLACES}
        which = np.array(table["repair"], dtype=str), np.array(table["layer"], dtype=str)
        found = {}
        for row, key in enumerate(zip(facts["repair"], facts["layer"], strict=True)):
            here = (which[0] == key[0]) & (which[1] == key[1])
            numbers = {name: float(cells[row] or "nan") for name, cells in facts.items() if name not in FACT_KEYS}
            found[key] = Space({name: column[here] for name, column in places.items()}, numbers)
    except (OSError, KeyError, ValueError, IndexError) as error:
        raise InputError(
            f"{folder}: space.parquet and space.csv must fit together; {error}: {AGAIN}.", code="unequal_lengths"
        ) from error
    return found


def some_layers(layers: Sequence[str], most: int) -> list[str]:
    """The first, the last, and evenly spaced ones between.

    >>> some_layers([str(layer) for layer in range(13)], 4)
    ['0', '4', '8', '12']
    """
    places = np.linspace(0, len(layers) - 1, min(most, len(layers))).round().astype(int)
    return [layers[place] for place in places]


def draw_space(runs: Sequence[Run], spaces: Spaces) -> Figure:
    """First two principal components, coloured by frequency, before above after (Rajaee & Pilehvar 2021, Figure 5)."""
    layers = some_layers(runs[0].layers, COLUMNS)
    coloured = _knows_frequency(spaces)
    width = {1: 3.4, 2: 3.0}.get(len(layers), 2.3)
    grid = Grid(len(layers), width, [width, width], right=RIGHT + (SCALE_WIDTH if coloured else 0.0))
    about = (
        "Occurrences on the first two principal components, of which the corner tells the share of the variance"
        + (" and the correlation r with log frequency, first and second component" if coloured else "")
        + ". Above as they are, below repaired; scales differ."
    )
    figure, panels = lay_out(
        [runs[1]], "The space, and where frequent words lie in it", about, grid=grid, panels=2 * len(layers)
    )
    shade = _shades(spaces) if coloured else None
    for place, axes in enumerate(panels):
        repair, layer = (BEFORE, AFTER)[place // len(layers)], layers[place % len(layers)]
        space = spaces[repair, layer]
        _scatter(axes, space, "x", "y", shade)
        name_panel(axes, f"Layer {layer}, {repair}" if layer.isdigit() else f"{layer}, {repair}")
        facts = space.facts
        told = f"{facts['variance_1']:.0%} + {facts['variance_2']:.0%}"
        if coloured:
            told += f"\nr = {_number(facts['correlation_1'])}, {_number(facts['correlation_2'])}"
        _corner(axes, told)
    if shade is not None:
        _frequency_scale(figure, panels, shade)
    return figure


def draw_directions(runs: Sequence[Run], spaces: Spaces) -> Figure:
    """First two singular vectors about the origin, and singular values (Biš et al. 2021, Figure 1)."""
    layers = some_layers(runs[0].layers, ROWS)
    left_out = len(runs[0].layers) - len(layers)
    coloured = _knows_frequency(spaces)
    grid = Grid(3, 2.3, [2.3] * len(layers), right=RIGHT + (SCALE_WIDTH if coloured else 0.0))
    keys: list[Key] = [(name, _line(**_curve(place))) for place, name in enumerate((BEFORE, AFTER))]
    figure, panels = lay_out(
        [runs[1]],
        "The space seen from the origin, and its singular values",
        "Occurrences on the first two singular vectors, without centering; the cross is the origin, the corner the "
        "share of the second moment. At the right the singular values, over the largest."
        + (f" {left_out} of {len(runs[0].layers)} layers are left out." if left_out else ""),
        grid=grid,
        panels=3 * len(layers),
        keys=[keys],
    )
    shade = _shades(spaces) if coloured else None
    singular = [_singular_values(run) for run in runs]
    for row, layer in enumerate(layers):
        named = f"Layer {layer}" if layer.isdigit() else layer
        for column, repair in enumerate((BEFORE, AFTER)):
            axes, space = panels[3 * row + column], spaces[repair, layer]
            _scatter(axes, space, "u", "v", shade, origin=True)
            name_panel(axes, f"{named}, {repair}")
            _corner(axes, f"{space.facts['moment_1']:.0%} + {space.facts['moment_2']:.0%}")
        axes = panels[3 * row + 2]
        name_panel(axes, f"{named}, singular values")
        for place, run in enumerate(runs):
            values = singular[place][run.layers.index(layer)]
            axes.plot(np.arange(1, len(values) + 1), values / (values.max() or 1.0), **_curve(place))
        axes.set_ylim(0, 1.05)
        light_grid(axes)
    label_bottom(panels[2::3][-1:], Grid(1, 1, [1]), "rank")
    if shade is not None:
        _frequency_scale(figure, panels, shade)
    return figure


def draw_local(runs: Sequence[Run], local: Mapping[str, Sequence[str]]) -> Figure:
    """Isotropy and mean cosine by number of clusters, a line a layer (Rajaee & Pilehvar 2021, Table 1)."""
    before = runs[:1]
    grid = Grid(2, 3.4, [2.7], right=RIGHT + SCALE_WIDTH)
    figure, panels = lay_out(
        before,
        "Isotropy from near: each cluster put on the origin",
        "Before the repair; k-means with k clusters, mean of five seeds; 0: the space as it is, 1: centred. Cosines "
        "can be near 0 on average where I(W) is far from isotropic.",
        grid=grid,
        panels=2,
    )
    colours = layer_scale(figure, panels, before)[0]
    counts = list(dict.fromkeys(local["clusters"]))
    columns = {
        "log10_isotropy": ("Partition function (0: isotropic)", "log₁₀ I(W)"),
        "mean_cosine": ("Mean cosine", ""),
    }
    for axes, (column, (title, unit)) in zip(panels, columns.items(), strict=True):
        drawn = []
        for layer, at in zip(before[0].layers, before[0].positions, strict=True):
            rows = [row for row, other in enumerate(local["layer"]) if other == layer]
            drawn.append([float(local[column][row] or "nan") for row in rows])
            axes.plot(range(len(rows)), drawn[-1], "o-", color=colours[at], markersize=4, linewidth=1.5)
        axes.set_xticks(range(len(counts)), counts)
        limits(axes, drawn)
        name_panel(axes, title)
        axes.set_ylabel(unit)
    label_bottom(panels, grid, "clusters")
    return figure


def _singular_values(run: Run) -> Floats:
    """Of the vectors as they are, largest first, up to a factor: (layers, d)."""
    raw = read_by_layer(run.folder / "spectra.parquet", "index", "raw", run.layers)
    singular: Floats = np.sqrt(np.maximum(np.nan_to_num(raw), 0.0))
    return singular


def _scatter(axes: Axes, space: Space, x: str, y: str, shade: Any, *, origin: bool = False) -> None:
    """Points in a square panel; `shade` gives colours by frequency, rare words below frequent ones."""
    places, frequency = space.places, space.places["frequency"]
    order = np.argsort(np.nan_to_num(frequency), kind="stable")
    colours: Any = COLOURS[0] if shade is None else shade.to_rgba(np.log10(frequency[order]))
    axes.scatter(places[x][order], places[y][order], s=4, c=colours, alpha=0.75, linewidths=0, rasterized=True)
    if origin:
        axes.plot([0], [0], "+", color=INK, markersize=12, markeredgewidth=1.4)
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(visible=False)
    axes.locator_params(nbins=4)


def _corner(axes: Axes, text: str) -> None:
    axes.text(
        0.03, 0.97, text, transform=axes.transAxes, size=8, ha="left", va="top", color=INK,
        bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.5},
    )  # fmt: skip


def _knows_frequency(spaces: Spaces) -> bool:
    return any(np.isfinite(space.places["frequency"]).any() for space in spaces.values())


def _shades(spaces: Spaces) -> Any:
    """Colours by log frequency, the same in every panel: the lighter, the more frequent; grey where it is unknown."""
    matplotlib = need("matplotlib", purpose=PURPOSE)
    colors = need("matplotlib.colors", purpose=PURPOSE)
    mappable = need("matplotlib.cm", purpose=PURPOSE).ScalarMappable
    logs = np.log10(np.concatenate([space.places["frequency"] for space in spaces.values()]))
    logs = logs[np.isfinite(logs)]
    shades = colors.ListedColormap(matplotlib.colormaps["viridis"](np.linspace(0, 0.95, 256)))
    low, high = float(logs.min()), float(logs.max())
    return mappable(colors.Normalize(low, max(high, low + 1e-6)), shades.with_extremes(bad=QUIET))


def _frequency_scale(figure: Figure, panels: Sequence[Axes], shade: Any) -> None:
    """The colours' meaning, at the right of the panels."""
    width, height = figure.get_size_inches()
    top = max(axes.get_position().y1 for axes in panels)
    right = max(axes.get_position().x1 for axes in panels)
    tall = min(2.2, 0.9 * (top - min(axes.get_position().y0 for axes in panels)) * height)
    scale = figure.add_axes((right + 0.22 / width, top - tall / height, 0.15 / width, tall / height))
    bar = figure.colorbar(shade, cax=scale)
    low, high = shade.get_clim()
    ticks = [power for power in range(13) if low - 1e-9 <= power <= high + 1e-9]
    bar.set_ticks(ticks, labels=[f"{10**power:,}" for power in ticks])
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    scale.tick_params(length=0, labelsize=8)
    scale.grid(visible=False)
    scale.set_title("frequency", size=9, loc="left", x=-0.5)


def _curve(place: int) -> dict[str, Any]:
    return {"color": line_of(place)["color"], "linewidth": 1.6, "linestyle": ("--", "-")[place]}


def _line(**look: Any) -> Any:
    return need("matplotlib.lines", purpose=PURPOSE).Line2D([], [], **look)


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"
