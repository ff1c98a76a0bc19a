"""The figures of Biš et al. (2021) for any embedding tables, and the tables in the course of training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.extras import need
from limbeck.measures.tables import geometry
from limbeck.papers.estimates import CannotShow, Floats
from limbeck.papers.figures import MARKED, as_run, keys_of
from limbeck.papers.table_rules import SHIFTS, sphere
from limbeck.papers.table_similarity import COSINE, INNER, Scores
from limbeck.papers.table_subjects import Table
from limbeck.reporting.layout import Grid, label_bottom, lay_out, light_grid, limits, name_panel
from limbeck.reporting.style import COLOURS, INK, PURPOSE, QUIET, line_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Tables = Sequence[Table]
DENSITY_POINTS = 256
SHADES = 8  #: of frequency
LONGEST_MEAN = 5.0  #: beyond it exp(−‖μ‖) is a line on the axis
MOST_POINTS = 4_000  #: of a cloud; every so-manyth row is drawn beyond that
LOOKS: dict[str, dict[str, Any]] = {
    "raw": {"color": COLOURS[0], "linewidth": 2.0},
    "centered": {"color": COLOURS[1], "linewidth": 2.0},
}
SHOWN = ("raw", "centered", "scaled", "components_2", "components")


def draw_projections(tables: Tables, numbers: Tables) -> Figure:
    """Figure 1: rows on the first two singular vectors before and after centring, and the singular values."""
    grid = Grid(3, 2.45, [2.3] * len(tables))
    looks = {"singular values before centring": LOOKS["raw"], "after centring": LOOKS["centered"]}
    figure, panels = lay_out(
        [as_run(one) for one in tables],
        "A cone, or a sphere out of place?",
        f"Rows of the table ({MOST_POINTS:,} at most) on its first two singular vectors, before and after the mean is "
        "subtracted; dark: frequent in the text, light: rare, yellow: absent. The cross is the origin. Right: singular "
        "values over the largest.",
        grid=grid,
        panels=3 * len(tables),
        keys=[keys_of(looks)],
    )
    for at, one in enumerate(tables):
        left, middle, right = panels[3 * at : 3 * at + 3]
        for axes, form in ((left, "raw"), (middle, "centered")):
            _cloud(axes, one.projection[form], one.frequent)
            name_panel(axes, one.name if form == "raw" and len(tables) > 1 else ("Raw" if form == "raw" else "Centred"))
        for form in ("raw", "centered"):
            values = one.shape(form).normalized_singular_values
            right.plot(np.arange(1, len(values) + 1), values, label=f"{one.name} {form}", **LOOKS[form])
        right.set(xscale="log", xlim=(0.9, 1.15 * max(one.shape("raw").dim, 2)), ylim=(0, 1.05))
        _plain_ticks(right.xaxis)
        light_grid(right)
        name_panel(right, "Singular values")
        left.set_ylabel("second")
    for axes, label in zip(panels[-3:], ("first singular vector", "first singular vector", "rank (log scale)"),
                           strict=True):  # fmt: skip
        axes.set_xlabel(label)
    return figure


def _cloud(axes: Axes, points: Floats, shade: Floats) -> None:
    step = -(-len(points) // MOST_POINTS)
    order = np.argsort(-shade, kind="stable")[::step]  # frequent ones on top
    shades = (shade[order] * SHADES).round() / SHADES  # few colours make a small file
    axes.scatter(
        points[order, 0],
        points[order, 1],
        c=shades,
        s=2.5,
        cmap="viridis",
        vmin=0,
        vmax=1,
        linewidths=0,
        antialiased=False,
        rasterized=True,
    )
    axes.plot(0, 0, "+", color="white", markersize=13, markeredgewidth=3.4)
    axes.plot(0, 0, "+", color=COLOURS[1], markersize=12, markeredgewidth=2.0)
    axes.set_aspect("equal", adjustable="datalim")
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(ticker.MaxNLocator(4))
    axes.grid(visible=False)


def draw_sphere(tables: Tables, numbers: Tables) -> Figure:
    """Figure 2: a sphere that is moved, and its singular values."""
    figure, [left, right] = lay_out(
        [],
        "A sphere that moves away from the origin",
        "Made points: a sphere in three dimensions, moved along its diagonal. Its shape stays, and its singular values "
        "part: a fast decay of singular values does not show a cone.",
        grid=Grid(2, 3.4, [2.9]),
        panels=2,
        keys=[keys_of({f"moved by {shift:g} {'radius' if shift == 1 else 'radii'}" if shift else "at the origin":
                       {"color": COLOURS[at], "marker": "o", "linewidth": 1.6, "markersize": 4.5}
                       for at, shift in enumerate(SHIFTS)})],
    )  # fmt: skip
    for at, shift in enumerate(SHIFTS):
        points = sphere(shift)
        left.plot(points[::2, 0], points[::2, 1], ".", color=COLOURS[at], markersize=1.6, alpha=0.5, rasterized=True)
        values = geometry(points).normalized_singular_values
        right.plot([1, 2, 3], values, marker="o", color=COLOURS[at], linewidth=1.6, label=f"shift {shift:g}")
    left.plot(0, 0, "+", color=INK, markersize=10, markeredgewidth=1.5)
    left.set_aspect("equal", adjustable="datalim")
    left.set(xlabel="first coordinate", ylabel="second coordinate")
    right.set(ylim=(0, 1.05), xticks=[1, 2, 3], xlabel="rank", ylabel="σ / σ₁")
    name_panel(left, "Points, seen from the side")
    name_panel(right, "Singular values over the largest")
    return figure


def draw_rare(tables: Tables, numbers: Tables) -> Figure:
    """Figure 3: rows that training never aims at, beside bins of 1,000 rows."""
    grid = _grid(len(tables), 2.3)
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    looks: dict[str, dict[str, Any]] = {
        "rows by id": {"color": COLOURS[0], "marker": "o", "linewidth": 1.6, "markersize": 4},
        "rows by frequency in the text": {"color": COLOURS[1], "marker": "s", "linewidth": 1.6, "markersize": 4},
    }  # fmt: skip
    figure, panels = lay_out(
        [as_run(one) for one in tables],
        "The rarer the token, the nearer to those that are never used",
        "Mean cosine of unused rows (where there are none, the last 1,000) with the rows of each bin of 1,000; hollow: "
        "bins of those rows themselves, and of rows that do not occur in the text.",
        grid=grid,
        panels=len(tables),
        keys=[keys_of(looks)],
    )
    for axes, one in zip(panels, tables, strict=True):
        values = []
        for (order, found), look in zip(one.bins.items(), looks.values(), strict=False):
            hollow = found.own | (found.unseen if order == "measured" else False)
            x = np.arange(len(found.cosines))
            axes.plot(x, found.cosines, label=f"{one.name} {order}", **look)
            axes.plot(x[hollow], found.cosines[hollow], marker=look["marker"], linestyle="", markersize=4,
                      markerfacecolor="white", markeredgecolor=look["color"], zorder=5)  # fmt: skip
            values.append(found.cosines)
        limits(axes, [*values, [0.1]])  # so that noise does not look like a rise
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.2f}".replace("-", "−")))
        name_panel(axes, f"{one.name}: {one.reference}" if len(tables) > 1 else one.reference.capitalize())
    _left_labels(panels, grid, "mean cosine")
    label_bottom(panels, grid, "bin of 1,000 rows, frequent to rare")
    return figure


def draw_frequencies(tables: Tables, numbers: Tables) -> Figure:
    """Figure 4: how often tokens and words occur, by rank."""
    grid = _grid(len(tables), 2.4)
    looks: dict[str, dict[str, Any]] = {
        "tokens": {"color": COLOURS[0], "linewidth": 2.0},
        "words": {"color": COLOURS[1], "linewidth": 1.6, "linestyle": (0, (5, 2))},
    }
    figure, panels = lay_out(
        [as_run(one) for one in tables],
        "Few tokens make up much of a text",
        "Percent of the text that each kind of token and of word makes up, by rank. Dotted: as many kinds of token as "
        "make up 30, 50 and 98\u00a0%.",
        grid=grid,
        panels=len(tables),
        keys=[keys_of(looks)],
    )
    for axes, one in zip(panels, tables, strict=True):
        if one.frequencies is None:
            axes.text(0.5, 0.5, "no token occurs in the text", transform=axes.transAxes, ha="center", color=QUIET)
            continue
        for unit, counts in (("tokens", one.frequencies.tokens), ("words", one.frequencies.words)):
            ranks = np.unique(np.geomspace(1, len(counts), 300).round().astype(int))
            axes.plot(ranks, counts[ranks - 1] / counts.sum(), label=f"{one.name} {unit}", **looks[unit])
        for kinds in one.frequencies.tokens_to_cover:
            axes.axvline(kinds, color=QUIET, linewidth=1.0, linestyle=(0, (1, 2)))
        axes.set(xscale="log", yscale="log")
        _plain_ticks(axes.xaxis)
        _plain_ticks(axes.yaxis, lambda value: f"{100 * value:g}")
        light_grid(axes)
        if len(tables) > 1:
            name_panel(axes, one.name)
    _left_labels(panels, grid, "% of the text (log)")
    label_bottom(panels, grid, "rank (log scale)")
    return figure


def draw_shift(tables: Tables, numbers: Tables) -> Figure:
    """I(W) against ‖μ‖: the one is nearly the exponential of the other."""
    near = [one for one in tables if one.shape("raw").norm_of_mean < LONGEST_MEAN]
    looks = {one.name: line_of(tables.index(one)) | {"linestyle": "", "markersize": 7} for one in near}
    left_out = ", ".join(one.name for one in tables if one not in near)
    published: dict[str, Any] = {
        "color": QUIET,
        "marker": "o",
        "linestyle": "",
        "markersize": 5,
        "markerfacecolor": "white",
    }
    figure, [axes] = lay_out(
        [],
        "I(W) is nearly exp(−‖μ‖)",
        "Isotropy of embedding tables (one sign of each eigenvector, as published) against the length of their mean."
        + (f" Not drawn, since their means are longer than {LONGEST_MEAN:g}: {left_out}." if left_out else ""),
        grid=Grid(1, 6.4, [3.2], titled=False),
        panels=1,
        keys=[keys_of(looks), keys_of({"printed in Table 1": published, "exp(−‖μ‖)": MARKED})],
    )
    x = np.linspace(0, 3.2, 100)
    axes.plot(x, np.exp(-x), **MARKED)
    for one in numbers:
        shape = one.shape("raw")
        axes.plot(shape.norm_of_mean, shape.isotropy_one_sign, label=one.name, **published)
        if abs(shape.isotropy_one_sign - math.exp(-shape.norm_of_mean)) > 0.05:
            _name_point(axes, one.name.removeprefix("published "), shape.norm_of_mean, shape.isotropy_one_sign)
    for one in near:
        shape = one.shape("raw")
        axes.plot(shape.norm_of_mean, shape.isotropy_one_sign, label=f"{one.name} here", **looks[one.name])
    axes.set(xlabel="‖μ‖", ylabel="I(W)", ylim=(0, 1.03))
    axes.set_xlim(left=0)
    return figure


def _name_point(axes: Axes, name: str, x: float, y: float) -> None:
    """A name on the side of the point that is away from the curve."""
    below = y < math.exp(-x)
    where: dict[str, Any] = {"xytext": (-7, -4) if below else (7, -4), "ha": "right" if below else "left"}
    axes.annotate(name, (x, y), textcoords="offset points", size=8, color=QUIET, **where)


def draw_similarity(tables: Tables, numbers: Tables) -> Figure:
    """Table 2: mean correlation by form of the table, inner product beside cosine."""
    grid = _grid(len(tables), 2.3)
    looks: dict[str, dict[str, Any]] = {
        "cosine": {"color": COLOURS[0], "marker": "o", "linestyle": "", "markersize": 6},
        "inner product": {"color": COLOURS[1], "marker": "s", "linestyle": "", "markersize": 6},
    }
    figure, panels = lay_out(
        [as_run(one) for one in tables],
        "Word similarity: what repairing a table brings",
        "Mean Pearson correlation over five sets of word pairs, single tokens only. Bars: 95\u00a0% intervals, pairs "
        "resampled; differences between the points of a panel are surer than the bars say, since they share their "
        "pairs.",
        grid=grid,
        panels=len(tables),
        keys=[keys_of(looks)],
    )
    labels = ["raw", "centred", "scaled", "2 comp.", "⌈d/100⌉"]
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    for axes, one in zip(panels, tables, strict=True):
        try:
            scores: Scores = one.scored()
            drawn: list[Any] = []
            for (name, look), scoring, aside in zip(looks.items(), (COSINE, INNER), (-0.12, 0.12), strict=True):
                found = [scores.mean(form, scoring) for form in SHOWN]
                x = np.arange(len(SHOWN)) + aside
                axes.errorbar(x, [e.value for e in found], [e.error for e in found], label=f"{one.name} {name}",
                              elinewidth=1.1, **look)  # fmt: skip
                drawn += [[e.low for e in found], [e.high for e in found]]
            limits(axes, drawn, zero=False)
            axes.yaxis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))
            axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:.2f}"))
        except CannotShow as reason:
            axes.text(0.5, 0.5, _narrow(str(reason)), transform=axes.transAxes, ha="center", va="center", color=QUIET,
                      size=8)  # fmt: skip
            axes.set_yticks([])
        axes.set_xticks(range(len(SHOWN)), labels, size=8)
        axes.set_xlim(-0.5, len(SHOWN) - 0.5)
        if len(tables) > 1:
            name_panel(axes, one.name)
    _left_labels(panels, grid, "mean correlation")
    return figure


def draw_norms(tables: Tables, numbers: Tables) -> Figure:
    """Figures 5 and 6: densities of the rows' norms, raw and after centring."""
    grid = _grid(len(tables), 2.2)
    figure, panels = lay_out(
        [as_run(one) for one in tables],
        "Norms of the rows, before and after centring",
        "Kernel density of the norms of all rows. Dotted: their means.",
        grid=grid,
        panels=len(tables),
        keys=[keys_of({"raw": LOOKS["raw"], "centred": LOOKS["centered"]})],
    )
    for axes, one in zip(panels, tables, strict=True):
        for form in ("raw", "centered"):
            x, density = density_of(one.norms[form])
            axes.plot(x, density, label=f"{one.name} {form}", **LOOKS[form])
            axes.fill_between(x, density, color=LOOKS[form]["color"], alpha=0.15, linewidth=0)
            axes.axvline(float(one.norms[form].mean()), color=LOOKS[form]["color"], linewidth=1.1,
                         linestyle=(0, (1, 2)))  # fmt: skip
        axes.set_ylim(bottom=0)
        if len(tables) > 1:
            name_panel(axes, one.name)
    _left_labels(panels, grid, "density")
    label_bottom(panels, grid, "norm")
    return figure


def density_of(values: Floats) -> tuple[Floats, Floats]:
    """Gaussian kernel density at some points, with Silverman's bandwidth 0.9 min(σ, IQR / 1.34) n^(−1/5)."""
    low, high = float(values.min()), float(values.max())
    quarter, three = np.quantile(values, [0.25, 0.75])
    spread = min(float(values.std()), float(three - quarter) / 1.34) or float(values.std())
    width = max(0.9 * spread * len(values) ** -0.2, 1e-3 * max(high, 1e-9))
    x = np.linspace(low - 3 * width, high + 3 * width, DENSITY_POINTS)
    density = np.zeros(DENSITY_POINTS)
    for start in range(0, len(values), 4096):
        apart = (x[:, None] - values[None, start : start + 4096]) / width
        density += np.exp(-0.5 * apart**2).sum(axis=1)
    return x, density / (len(values) * width * math.sqrt(2 * math.pi))


def draw_training(tables: Tables, numbers: Tables) -> Figure:
    """When does a table become anisotropic? Its geometry by tokens seen."""
    shown = [one for one in tables if one.training is not None]
    grid = Grid(2, 3.6, [2.1, 2.1])
    looks = {one.name: line_of(tables.index(one)) for one in shown}
    figure, panels = lay_out(
        [as_run(one) for one in shown] if len(shown) == 1 else [],
        "When does a table become anisotropic?",
        "Geometry of the embedding table by tokens seen in training; at the left before the first step, at the right "
        "the finished model where its rows are known. I(W) depends on scale, the two above it do not.",
        grid=grid,
        panels=4,
        keys=[keys_of(looks) if len(shown) > 1 else []],
    )
    quantities: tuple[tuple[str, str, Callable[[Any], float]], ...] = (
        ("Shift: ‖μ‖ over the mean norm", "ratio", lambda shape: shape.shift),
        ("Mean cosine of two rows", "mean cosine", lambda shape: shape.mean_cosine),
        ("I(W), one sign", "I(W)", lambda shape: shape.isotropy_one_sign),
        ("Mean norm (log scale)", "norm", lambda shape: shape.mean_norm),
    )
    moments = sorted({tokens for one in shown if one.training for tokens in one.training.tokens})
    for at, (axes, (title, unit, quantity)) in enumerate(zip(panels, quantities, strict=True)):
        drawn: list[Any] = []
        for one in shown:
            assert one.training is not None
            values = [quantity(shape) for shape in one.training.shapes]
            axes.plot([_place(t) for t in one.training.tokens], values, label=f"{one.name} {unit}", **looks[one.name])
            drawn.append(values)
        if not shown:
            axes.text(0.5, 0.5, "no table was kept", transform=axes.transAxes, ha="center", color=QUIET)
        elif at < 3:
            limits(axes, drawn)
        else:
            axes.set_yscale("log")
            _plain_ticks(axes.yaxis)
            light_grid(axes)
        _training_axis(axes, moments)
        name_panel(axes, title)
        axes.set_ylabel(unit)
    label_bottom(panels, grid, "tokens seen")
    return figure


def _place(tokens: int) -> float:
    """Powers of four at equal distances; nothing seen stands one place to the left of a million."""
    return math.log(tokens / 1e6, 4) if tokens > 0 else -1.2


def _training_axis(axes: Axes, moments: Sequence[int]) -> None:
    if not moments:
        axes.set_xticks([])
        return
    kept: list[int] = []
    for tokens in moments:  # labels must not touch
        if not kept or _place(tokens) - _place(kept[-1]) > 0.6:
            kept.append(tokens)
    axes.set_xticks([_place(tokens) for tokens in kept], [f"{tokens / 1e6:.3g}M" if tokens else "0" for tokens in kept])


def _grid(count: int, height: float) -> Grid:
    columns = min(count, 3)
    return Grid(columns, {1: 6.0, 2: 3.6, 3: 2.5}[columns], [height] * -(-count // columns))


def _left_labels(panels: Sequence[Axes], grid: Grid, label: str) -> None:
    for axes in panels[:: grid.columns]:
        axes.set_ylabel(label)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _plain_ticks(axis: Any, told: Callable[[float], str] = _number) -> None:
    """Ticks of a logarithmic axis in figures that people read."""
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: told(value)))
    axis.set_minor_formatter(ticker.NullFormatter())


def _narrow(text: str) -> str:
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 30:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


#: name of the files -> what draws them
FIGURES: dict[str, Callable[[Tables, Tables], Figure]] = {
    "projections": draw_projections,
    "sphere": draw_sphere,
    "rare": draw_rare,
    "frequencies": draw_frequencies,
    "shift": draw_shift,
    "similarity": draw_similarity,
    "norms": draw_norms,
    "training": draw_training,
}
CAPTIONS = {
    "projections": "Rows of the table before and after centring, and their singular values",
    "sphere": "A sphere that moves away from the origin, and its singular values",
    "rare": "Cosine of unused or last rows with bins of 1,000 rows",
    "frequencies": "Frequencies of tokens and words by rank",
    "shift": "I(W) against the length of the mean",
    "similarity": "Word similarity by inner product and cosine, raw and repaired",
    "norms": "Densities of the rows' norms, raw and centred",
    "training": "Geometry of the table by tokens seen in training",
}
