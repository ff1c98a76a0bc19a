"""One look for all figures: colours, line kinds, and matplotlib settings that leave the user's own alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from limbeck.extras import need

PURPOSE = "Drawing figures"

#: Okabe & Ito (2008), told apart by colour-blind readers; a shape beside each colour for prints in grey
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
INK, QUIET, FAINT = "#222222", "#595959", "#E4E4E4"

#: how the three numbers of an adjusted measure are drawn; without a line (one layer) the marker tells
KINDS: dict[str, dict[str, Any]] = {
    "adjusted": {"linestyle": "-", "linewidth": 2.0, "markersize": 5.0, "zorder": 4},
    "raw": {"linestyle": (0, (5, 2)), "linewidth": 1.2, "markersize": 5.0, "alpha": 0.8, "zorder": 3},
    "baseline": {"linestyle": (0, (1, 1.6)), "linewidth": 1.6, "markersize": 3.0, "alpha": 0.8, "zorder": 2},
}

SETTINGS: dict[str, Any] = {
    "axes.edgecolor": QUIET,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 7,
    "axes.titlesize": 10,
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "legend.fontsize": 9.5,
    "savefig.dpi": 150,
    "svg.fonttype": "none",  # text stays text: searchable, and read aloud
    "svg.hashsalt": "limbeck",  # equal runs give equal files
    "text.color": INK,
    "text.parse_math": False,  # a model's name may have dollar signs
    "xtick.color": QUIET,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.color": QUIET,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 9,
}


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's defaults and ours, whatever the user has set; the user's settings come back afterwards."""
    style = need("matplotlib.style", purpose=PURPOSE)
    with style.context(["default", SETTINGS]), warnings.catch_warnings():
        # a name in a script that the font lacks: boxes in the PNG, the right text in the SVG
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        yield


def line_of(place: int, kind: str = "adjusted") -> dict[str, Any]:
    """How a model's line is drawn: the model gives colour and marker, the kind dashes, weight and filling."""
    colour = COLOURS[place % len(COLOURS)]
    marker = "o" if kind == "baseline" else MARKERS[place % len(MARKERS)]
    filling = "white" if kind == "raw" else colour
    return {"color": colour, "marker": marker, "markerfacecolor": filling, "markeredgecolor": colour, **KINDS[kind]}


def layer_colours(positions: Sequence[int]) -> dict[int, str]:
    """A colour a layer, from dark to light; the colour map's last, yellow end is left out, for white paper."""
    matplotlib = need("matplotlib", purpose=PURPOSE)
    to_hex = need("matplotlib.colors", purpose=PURPOSE).to_hex
    colours = matplotlib.colormaps["viridis"]
    low, high = min(positions), max(positions)
    return {at: to_hex(colours(0.9 * (at - low) / max(high - low, 1))) for at in sorted(set(positions))}
