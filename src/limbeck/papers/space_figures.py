"""Figures of spaces before and after repair: isotropy by layer and by cluster, scores, and what directions hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.extras import need
from limbeck.papers.figures import keys_of
from limbeck.papers.published_spaces import SETS
from limbeck.papers.space_rules import ONE_SIGN
from limbeck.papers.space_subjects import SpaceModel, analysis_of
from limbeck.reporting import analyses
from limbeck.reporting.epochs import epochs_figure
from limbeck.reporting.layout import Grid, label_bottom, lay_out, limits, name_panel
from limbeck.reporting.read import place
from limbeck.reporting.style import COLOURS, INK, PURPOSE, QUIET, line_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Models = Sequence[SpaceModel]
Draw = Callable[[Models, Models], "Figure"]
PRINTED: dict[str, Any] = {"linestyle": "-", "linewidth": 1.3, "alpha": 0.45, "zorder": 1.8}
DASHES = {"BERT": "-", "RoBERTa": (0, (5, 2)), "GPT-2": (0, (1, 1.3))}
LINEAR = 1.0  #: powers of ten up to which the scale of I(W) is linear; GPT-2's is −174
TICKS = (0, -1, -3, -10, -30, -100, -300)
SETTINGS = (("baseline", ""), ("global", "task"), ("cluster", "task"), ("global", "text"), ("cluster", "text"))
FITTED = {"": "", "task": ", on the set", "text": ", on another text"}
EPOCH_TASKS = ("rte", "boolq")  #: of Figure 4


def draw_layers(models: Models, numbers: Models) -> Figure:
    """Figure 1: log₁₀ I(W) by layer."""
    shown = [one for one in models if "layers" in one.parts]
    looks = {one.name: line_of(at) for at, one in enumerate(shown)}
    figure, (left, right) = lay_out(
        [],
        "Isotropy by layer",
        "log₁₀ I(W) of all pieces of the text; 0 is isotropic. At the left with one sign of each eigenvector, as "
        "published, and the printed numbers as faint lines; at the right at one root mean square length for all layers "
        "and models, since I(W) depends on length.",
        grid=Grid(2, 3.4, [2.8]),
        panels=2,
        keys=[keys_of(looks), keys_of(_printed_looks(numbers))],
    )
    for axes, column in ((left, ONE_SIGN), (right, "equal_length_one_sign")):
        for one in [*shown, *numbers]:
            rows = one.rows("layers")
            if column in rows[0]:
                look = looks[one.name] if one in shown else _printed_look(one)
                axes.plot(place([row["layer"] for row in rows]), [row[column] for row in rows], label=one.name, **look)
        _power_axis(axes)
        axes.set_xticks(range(0, max(len(one.layers) for one in [*shown, *numbers]), 2))
    name_panel(left, "As they are")
    name_panel(right, "At equal length, √768")
    left.set_ylabel("log₁₀ I(W)")
    label_bottom([left, right], Grid(2, 3.4, [2.8]), "layer")
    return figure


def draw_local(models: Models, numbers: Models) -> Figure:
    """Table 1: I(W) and mean cosine by number of clusters."""
    shown = [one for one in models if "local" in one.parts]
    looks = {one.name: line_of(at) for at, one in enumerate(shown)}
    grid = Grid(2, 3.4, [2.6])
    figure, (left, right) = lay_out(
        [],
        "Isotropy from near: each cluster put on the origin",
        "Last layer; k-means with k clusters, mean over clusterings; 0: the space as it is, 1: centred. Faint: the "
        "printed numbers. Cosines can be near 0 on average where I(W) is far from isotropic.",
        grid=grid,
        panels=2,
        keys=[keys_of(looks), keys_of(_printed_looks(numbers))],
    )
    counts: list[int] = []
    cosines = []
    for one in [*shown, *numbers]:
        rows = one.rows("local")
        counts = [row["clusters"] for row in rows]
        look = looks[one.name] if one in shown else _printed_look(one)
        left.plot(range(len(rows)), [row[ONE_SIGN] for row in rows], label=one.name, **look)
        if "mean_cosine" in rows[0]:
            cosines.append([row["mean_cosine"] for row in rows])
            right.plot(range(len(rows)), cosines[-1], label=one.name, **look)
    for axes in (left, right):
        axes.set_xticks(range(len(counts)), [str(k) for k in counts])
    _power_axis(left)
    limits(right, cosines)
    name_panel(left, "log₁₀ I(W), one sign (0: isotropic)")
    name_panel(right, "Mean cosine")
    left.set_ylabel("log₁₀ I(W)")
    label_bottom([left, right], grid, "clusters")
    return figure


def draw_space(models: Models, numbers: Models) -> Figure:
    """Figure 2: the space before and after its clusters were put on the origin."""
    shown = [one for one in models if "local" in one.parts]
    spaces = ("as it is", "clusters on the origin")
    grid = Grid(2, 2.8, [2.6] * len(shown))
    clusters = shown[0].part("local").about.get("picture_clusters", "") if shown else ""
    figure, panels = lay_out(
        [],
        "The space before and after its clusters were put on the origin",
        f"Pieces of the text, last layer, on the first two singular vectors about the origin (cross); {clusters} "
        "clusters. Scales differ.",
        grid=grid,
        panels=2 * len(shown),
    )
    for at, one in enumerate(shown):
        for column, space in enumerate(spaces):
            axes = panels[2 * at + column]
            rows = one.rows("local", "picture", space=space)
            x, y = (np.array([row[name] for row in rows]) for name in ("first", "second"))
            axes.plot(x, y, ".", color=COLOURS[at % len(COLOURS)], markersize=2.2, alpha=0.5, rasterized=True)
            axes.plot([0], [0], "+", color=INK, markersize=12, markeredgewidth=1.4)
            axes.set_aspect("equal", adjustable="datalim")
            axes.grid(visible=False)
            axes.locator_params(nbins=5)
            name_panel(axes, f"{one.name}, {space}")
    return figure


def draw_sts(models: Models, numbers: Models) -> Figure:
    """Tables 2 and 6: scores and isotropy on every set."""
    shown = [one for one in models if "sts" in one.parts]
    if not shown:
        return _nothing("Sentence similarity before and after repair", models, "sts")
    looks: dict[str, dict[str, Any]] = {}
    for setting, fit in SETTINGS:
        at = ("baseline", "global", "cluster").index(setting)
        colour = (QUIET, COLOURS[0], COLOURS[1])[at]
        filling = "white" if fit == "text" else colour
        looks[f"{_named(setting)}{FITTED[fit]}"] = {
            "color": colour, "marker": ("D", "o", "s")[at], "linestyle": "", "markersize": 5.5,
            "markerfacecolor": filling, "markeredgecolor": colour,
        }  # fmt: skip
    grid = Grid(len(shown), 4.6 if len(shown) == 1 else 3.9, [2.5, 2.0])
    figure, panels = lay_out(
        [],
        "Sentence similarity before and after repair",
        "Above Spearman × 100 with 95\u00a0% intervals, below log₁₀ I(W) with one sign (0: isotropic); last layer. The "
        "last column is the mean over the sets.",
        grid=grid,
        panels=2 * len(shown),
        keys=[keys_of(looks)],
    )
    for at, one in enumerate(shown):
        tasks = [name for name in SETS if any(row["task"] == name for row in one.rows("sts"))]
        for row_of, column in ((0, "value"), (1, ONE_SIGN)):
            axes = panels[row_of * len(shown) + at]
            heights: list[float] = []
            for number, ((setting, fit), look) in enumerate(zip(SETTINGS, looks.values(), strict=True)):
                by_task = {row["task"]: row for row in one.rows("sts", setting=setting, fit=fit)}
                offset = (number - 2) * 0.15
                scale = 100.0 if column == "value" else 1.0
                values = [scale * by_task[name][column] for name in tasks]
                values.append(float(np.mean(values)))
                x = np.arange(len(values)) + offset
                axes.plot(x, values, label=f"{setting} {fit}", **look)
                heights += values
                if column == "value":
                    ends = [(100 * by_task[name]["low"], 100 * by_task[name]["high"]) for name in tasks]
                    axes.vlines(x[:-1], *zip(*ends, strict=True), color=look["color"], linewidth=1.0, alpha=0.6)
                    heights += [end for pair in ends for end in pair]
            limits(axes, [heights], zero=column != "value")
            axes.axvline(len(tasks) - 0.5, color=QUIET, linewidth=0.8, linestyle=(0, (1, 2)))
            axes.set_xticks(range(len(tasks) + 1), [*tasks, "mean"])
            axes.set_xlim(-0.55, len(tasks) + 0.55)
            for text in axes.get_xticklabels():
                text.set(rotation=30, ha="right", rotation_mode="anchor", size=8)
            if row_of == 0:
                name_panel(axes, one.name)
            if at == 0:
                axes.set_ylabel("Spearman × 100" if column == "value" else "log₁₀ I(W)")
    return figure


def draw_tuning(models: Models, numbers: Models) -> Figure:
    """What the number of removed components does to the score and to isotropy."""
    shown = [one for one in models if "removal" in one.parts]
    looks = {
        "removed from the whole space": line_of(0) | {"markersize": 4.0},
        "removed from each cluster": line_of(1) | {"markersize": 4.0},
    }
    tuned = any("tuning" in one.parts for one in shown)
    grid = Grid(2 if tuned else 1, 3.4 if tuned else 5.0, [2.2] * len(shown))
    figure, panels = lay_out(
        [],
        "Components removed, isotropy and score",
        "log₁₀ I(W), one sign, of the text's last layer"
        + (
            "; Spearman × 100 on STS-B's development set with the best number of clusters (dashed: nothing removed)."
            if tuned
            else "."
        ),
        grid=grid,
        panels=len(shown) * (2 if tuned else 1),
        keys=[keys_of(looks)],
    )
    for at, one in enumerate(shown):
        axes = panels[(2 if tuned else 1) * at]
        drawn = []
        for method, look in zip(("global", "cluster"), looks.values(), strict=True):
            rows = one.rows("removal", method=method)
            drawn.append([row[ONE_SIGN] for row in rows])
            axes.plot([row["components"] for row in rows], drawn[-1], label=f"{one.name} {method}", **look)
        limits(axes, drawn)
        axes.set_ylabel("log₁₀ I(W)")
        name_panel(axes, f"{one.name}: isotropy")
        if tuned:
            _score_by_components(panels[2 * at + 1], one, list(looks.values()))
    label_bottom(panels, grid, "components removed")
    return figure


def _score_by_components(axes: Axes, one: SpaceModel, looks: Sequence[dict[str, Any]]) -> None:
    name_panel(axes, f"{one.name}: score")
    if "tuning" not in one.parts:
        axes.text(0.5, 0.5, "not tuned", transform=axes.transAxes, ha="center", color=QUIET)
        return
    about, rows = one.part("tuning").about, one.rows("tuning")
    drawn = [100 * float(about["baseline"])]
    for method, look in zip(("global", "cluster"), looks, strict=True):
        clusters = about["best"][method][0]
        here = [row for row in rows if row["clusters"] == clusters]
        values = [100 * row["value"] for row in here]
        axes.plot([row["components"] for row in here], values, label=method, **look)
        drawn += values
    axes.axhline(drawn[0], color=QUIET, linewidth=1.2, linestyle=(0, (5, 2)))
    limits(axes, [drawn], zero=False)
    axes.set_ylabel("Spearman × 100")


def draw_epochs(models: Models, numbers: Models) -> Figure:
    """Figure 4: score by epoch on two tasks; all of them are in epochs.csv."""
    columns: dict[str, list[Any]] = {}
    for one in models:
        if "classify" in one.parts:
            rows = one.rows("classify", "epochs")
            some = [row for row in rows if row["task"] in EPOCH_TASKS] or rows
            for row in some:
                for name, cell in {**row, "target": one.name}.items():
                    columns.setdefault(name, []).append(cell)
    return epochs_figure(columns) if columns else _nothing("Score by epoch", models, "classify")


def of_analysis(part: str, title: str, draw: Callable[[Sequence[Any]], Figure]) -> Draw:
    """A figure of `limbeck analyze`."""

    def drawn(models: Models, numbers: Models) -> Figure:
        shown = [analysis_of(one, part) for one in models if part in one.parts]
        return draw(shown) if shown else _nothing(title, models, part)

    return drawn


def _nothing(title: str, models: Models, part: str) -> Figure:
    """A figure that says why it is empty."""
    reason = next((one.missing[part] for one in models if part in one.missing), "nothing was measured")
    figure, [axes] = lay_out([], title, f"Not measured: {reason}.", grid=Grid(1, 6.4, [0.4]), panels=1)
    axes.set_axis_off()
    return figure


def _named(setting: str) -> str:
    return {"baseline": "as they are", "global": "global", "cluster": "cluster-based"}[setting]


def _printed_look(one: SpaceModel) -> dict[str, Any]:
    return PRINTED | {"color": QUIET, "linestyle": DASHES.get(one.family, "-")}


def _printed_looks(numbers: Models) -> dict[str, dict[str, Any]]:
    return {f"{one.family}, printed": _printed_look(one) for one in numbers}


def _power_axis(axes: Axes) -> None:
    """Powers of ten from 0 to far below it: linear near 0, logarithmic beyond."""
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    drawn = [np.asarray(line.get_ydata(), dtype=np.float64) for line in axes.get_lines()]
    lowest = min((float(np.nanmin(values)) for values in drawn if values.size), default=-1.0)
    axes.set_yscale("symlog", linthresh=LINEAR)
    axes.set_ylim(min(1.5 * lowest, -1.0), 0.15)
    axes.yaxis.set_major_locator(ticker.FixedLocator([tick for tick in TICKS if tick >= 1.5 * lowest]))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))
    axes.axhline(0, color=INK, linewidth=0.9, zorder=1.5)


FIGURES: dict[str, Draw] = {
    "layers": draw_layers,
    "local": draw_local,
    "space": draw_space,
    "sts": draw_sts,
    "tuning": draw_tuning,
    "epochs": draw_epochs,
    "structure": of_analysis("structure", "Same-structure neighbours of function words", analyses.draw_structure),
    "directions": of_analysis("clusters", "Do clusters share their dominant directions?", analyses.draw_directions),
    "tense": of_analysis("tense", "Does tense or sense decide where a verb lies?", analyses.draw_tense),
    "frequency": of_analysis("frequency", "Word frequency in the space", analyses.draw_frequency),
}
CAPTIONS = {
    "layers": "Isotropy by layer",
    "local": "Isotropy and mean cosine by number of clusters",
    "space": "The space before and after its clusters were put on the origin",
    "sts": "Sentence similarity and isotropy before and after repair",
    "tuning": "Isotropy and score by number of components removed",
    "epochs": "Score by epoch of a classifier",
    "structure": "Neighbours of function words from sentences of the same structure",
    "directions": "How alike the dominant directions of clusters are",
    "tense": "Distances between occurrences of verbs by tense and meaning",
    "frequency": "Word frequency in the space before and after repair",
}
