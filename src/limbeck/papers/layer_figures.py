"""The figures of Ethayarajh 2019 for any models, isotropy and words beside them, and what "less than 5 %" rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.extras import need
from limbeck.papers.estimates import CannotShow
from limbeck.papers.figures import MARKED, Row, as_run, by_layer_and_depth, keys_of, mark_at
from limbeck.papers.published import HEADLINE_MEV, RAW_MEV
from limbeck.papers.subjects import Subject
from limbeck.papers.word_rules import LOWEST, over_layers, stop_words_of
from limbeck.reporting.layout import Grid, label_bottom, lay_out, layer_axis, light_grid, limits, name_panel
from limbeck.reporting.style import COLOURS, INK, PURPOSE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Subjects = Sequence[Subject]
DEFINITIONS = {
    "mev": "Eq. 3: σ₁² / Σσ²",
    "mev_centered": "centred: λ₁ / Σλ",
    "mev_truncated_svd": "released code: v₁ᵀCv₁ / tr C",
}
LOOKS: dict[str, dict[str, Any]] = {
    "mev": {"color": COLOURS[0], "marker": "o", "linewidth": 2.0, "markersize": 4.5},
    "mev_centered": {"color": QUIET, "marker": "", "linewidth": 1.2, "linestyle": (0, (1, 1.6))},
    "mev_truncated_svd": {"color": COLOURS[1], "marker": "s", "linewidth": 2.0, "markersize": 4.5},
}


def draw_anisotropy(subjects: Subjects, numbers: Subjects) -> Figure:
    return by_layer_and_depth(
        subjects,
        numbers,
        "Anisotropy: how alike two random words are",
        "Mean cosine of two occurrences taken at random; 0 if directions are used evenly. Shaded: 95\u00a0% interval.",
        [Row("By layer", [("anisotropy", "value")], height=2.9)],
    )


def draw_self_similarity(subjects: Subjects, numbers: Subjects) -> Figure:
    return by_layer_and_depth(
        subjects,
        numbers,
        "Self-similarity: how alike a word is to itself in other contexts",
        "Mean cosine between occurrences of the same word, averaged over words; the baseline is the mean cosine of "
        "random words. Low when adjusted: the vectors depend on context. Shaded: 95\u00a0% interval.",
        [
            Row("Adjusted, by layer", [("self_similarity", "adjusted")], height=2.5),
            Row("Raw and baseline, by layer", [("self_similarity", "value"), ("self_similarity", "baseline")]),
        ],
    )


def draw_intra_sentence_similarity(subjects: Subjects, numbers: Subjects) -> Figure:
    paper, matched = "intra_sentence_similarity", "intra_sentence_similarity_matched"
    return by_layer_and_depth(
        subjects,
        numbers,
        "Intra-sentence similarity: how alike the words of a sentence are",
        "Mean cosine between the words of a sentence and their mean vector. The paper's baseline is the mean cosine of "
        "two random words; the matched one is made sentences: random words, as many as in the real ones. "
        "Shaded: 95\u00a0% interval.",
        [
            Row("Adjusted by two random words (paper)", [(paper, "adjusted")]),
            Row("Adjusted by made sentences (matched)", [(matched, "adjusted")]),
            Row("Raw, and the baseline of two random words", [(paper, "value"), (paper, "baseline")], height=1.9),
            Row("Raw, and the baseline of made sentences", [(matched, "value"), (matched, "baseline")], height=1.9),
        ],
    )


def draw_mev(subjects: Subjects, numbers: Subjects) -> Figure:
    return by_layer_and_depth(
        subjects,
        numbers,
        "Maximum explainable variance, adjusted, by its three meanings",
        "Share of the first direction in the occurrences of a word less the same of random words, averaged over words. "
        "Below zero: one vector explains a word less well than it explains random words. The published figure shows "
        "the third meaning, cut at zero. Scales differ. Dashed: 5\u00a0%. Shaded: 95\u00a0% interval of the raw value.",
        [
            Row(f"{name[0].upper()}{name[1:]}", [(measure, "adjusted")], unit="share of variance", mark=HEADLINE_MEV)
            for measure, name in DEFINITIONS.items()
        ],
    )


def draw_mev_raw(subjects: Subjects, numbers: Subjects) -> Figure:
    return by_layer_and_depth(
        subjects,
        numbers,
        "Maximum explainable variance, raw, by its three meanings",
        "Share of the first direction in the occurrences of a word, averaged over words, and of as many occurrences of "
        "random words. Shaded: 95\u00a0% interval.",
        [
            Row(f"{name[0].upper()}{name[1:]}", [(measure, "value"), (measure, "baseline")], unit="share of variance")
            for measure, name in DEFINITIONS.items()
        ],
    )


def draw_isotropy(subjects: Subjects, numbers: Subjects) -> Figure:
    return by_layer_and_depth(
        subjects,
        numbers,
        "Isotropy: I(W) and IsoScore",
        "I(W) is the least partition function over the greatest (0: isotropic; it depends on scale). IsoScore is how "
        "evenly variance spreads over dimensions (1: isotropic; it does not see the mean).",
        [
            Row("I(W) over both signs of each direction", [("log10_isotropy", "value")], unit="log₁₀ I(W)"),
            Row("I(W) over one sign, as published", [("log10_isotropy_one_sign", "value")], unit="log₁₀ I(W)"),
            Row("IsoScore", [("isoscore", "value")], unit="IsoScore"),
        ],
    )


def draw_mev_headline(subjects: Subjects, numbers: Subjects) -> Figure:
    """The three meanings of MEV in one panel a model: raw on a logarithmic axis, adjusted below."""
    columns = min(len(subjects), 3)
    width = {1: 6.0, 2: 3.6, 3: 2.7}[columns]
    blocks = -(-len(subjects) // columns)
    grid = Grid(columns, width, [2.4, 2.1] * blocks)
    looks = {DEFINITIONS[measure]: look for measure, look in LOOKS.items()}
    looks["5\u00a0%"] = MARKED
    if any(one.family in RAW_MEV for one in subjects):
        looks["published (raw), model of the same kind"] = {"color": COLOURS[1], "linewidth": 6, "alpha": 0.25}
    figure, axes = lay_out(
        [as_run(one) for one in subjects],
        "“Less than 5\u00a0%”: whose definition?",
        "How much of a word's occurrences one vector explains, averaged over words, by the paper's equation and by "
        "what the released code computed. Same vectors, same words. Above: raw, logarithmic. Below: less the same of "
        "random words.",
        grid=grid,
        panels=2 * blocks * columns,
        keys=[keys_of(looks)],
    )
    for at, one in enumerate(subjects):
        block, column = divmod(at, columns)
        raw = axes[2 * block * columns + column]
        adjusted = axes[(2 * block + 1) * columns + column]
        _headline_raw(raw, one)
        _headline_adjusted(adjusted, one)
        name_panel(raw, one.name if len(subjects) > 1 else "Raw")
        name_panel(adjusted, "Adjusted")
        if column == 0:
            raw.set_ylabel("share (log scale)")
            adjusted.set_ylabel("share")
        if at + columns >= len(subjects):  # nothing stands below
            adjusted.set_xlabel("layer")
    for panel in _unused(axes, len(subjects), columns):
        panel.set_visible(False)
    return figure


def _unused(axes: Sequence[Axes], count: int, columns: int) -> list[Axes]:
    """Panels of the last block that no model has."""
    left = -count % columns
    return [*axes[len(axes) - columns - left : len(axes) - columns], *axes[len(axes) - left :]] if left else []


def _above_input(one: Subject, measure: str, column: str) -> tuple[list[int], Any]:
    """The contextual layers: in a static input layer all occurrences are equal, and two of the three undefined.

    None of them where static vectors are the model.
    """
    first = 1 if one.has_input else 0
    return list(as_run(one).positions[first:]), one.curve(measure, column).values[first:]


def _headline_raw(axes: Axes, one: Subject) -> None:
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    drawn = []
    for measure, look in LOOKS.items():
        x, values = _above_input(one, measure, "value")
        axes.plot(x, values, label=f"{one.name} {measure} value", **look)
        drawn.append(values[np.isfinite(values) & (values > 0)])
    found = np.concatenate(drawn)
    axes.set_yscale("log")
    axes.set_ylim(min(float(found.min(initial=1.0)) / 1.6, 0.008), 1.4)
    layer_axis(axes, [as_run(one)])
    if one.family in RAW_MEV:
        last = max(as_run(one).positions)
        start, stop = (2, last - 1) if one.family == "GPT-2" and last > 3 else (1, last)
        axes.fill_between([start - 0.3, stop + 0.3], *RAW_MEV[one.family], color=COLOURS[1], alpha=0.25, linewidth=0)
    mark_at(axes, HEADLINE_MEV)
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def _headline_adjusted(axes: Axes, one: Subject) -> None:
    drawn: list[Any] = [[HEADLINE_MEV]]
    for measure, look in LOOKS.items():
        x, values = _above_input(one, measure, "adjusted")
        axes.plot(x, values, label=f"{one.name} {measure} adjusted", **look)
        drawn.append(values)
    layer_axis(axes, [as_run(one)])
    limits(axes, drawn)
    mark_at(axes, HEADLINE_MEV)
    if len(one.layers) == 1 and one.has_input:
        axes.text(0.5, 0.5, "no layer above the input", transform=axes.transAxes, ha="center", color=QUIET)


def draw_words(subjects: Subjects, numbers: Subjects) -> Figure:
    """Self-similarity of every word against how often it occurs, stop words apart from the others."""
    columns = min(len(subjects), 3)
    width = {1: 6.0, 2: 3.6, 3: 2.7}[columns]
    grid = Grid(columns, width, [2.7] * -(-len(subjects) // columns))
    looks = {
        label: {"color": colour, "marker": "o", "linestyle": "", "markersize": size, "markeredgewidth": 0}
        for label, colour, size in (("stop words", COLOURS[1], 5.0), ("other words", "#9DB7CC", 4.0))
    }
    figure, panels = lay_out(
        [as_run(one) for one in subjects],
        "Words: are stop words the most contextual?",
        "Each point is a word: self-similarity averaged over all layers, not adjusted, against how often it occurs. "
        f"Ringed: the {LOWEST} lowest.",
        grid=grid,
        panels=len(subjects),
        keys=[keys_of(looks)],
    )
    for axes, one in zip(panels, subjects, strict=True):
        _scatter(axes, one, looks)
        if len(subjects) > 1:
            name_panel(axes, one.name)
    for axes in panels[:: grid.columns]:
        axes.set_ylabel("mean cosine")
    label_bottom(panels, grid, "occurrences of the word (log scale)")
    return figure


def _scatter(axes: Axes, one: Subject, looks: dict[str, dict[str, Any]]) -> None:
    try:
        table = one.table()
        words, means, rows = over_layers(table)
        stop_words = stop_words_of(one.language)
    except CannotShow as reason:
        axes.text(0.5, 0.5, str(reason), transform=axes.transAxes, ha="center", va="center", color=QUIET, wrap=True)
        return
    counts = table.n[rows]
    stop = np.array([word.lower() in stop_words for word in words])
    axes.set_xscale("log")
    for label, here in (("other words", ~stop), ("stop words", stop)):
        look = looks[label] | {"markersize": 3.2, "alpha": 0.75}
        # points as a picture: as shapes, a thousand words would make a large file
        axes.plot(counts[here], means[here], label=f"{one.name} {label}", rasterized=True, **look)
    limits(axes, [means], zero=False)
    ticker = need("matplotlib.ticker", purpose=PURPOSE)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    light_grid(axes)
    lowest = np.argsort(means, kind="stable")[:LOWEST]
    axes.plot(counts[lowest], means[lowest], "o", markersize=6, markerfacecolor="none", markeredgecolor=INK)
    named = "\n".join(["ringed:", *(words[row] for row in lowest)])
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 3}
    axes.text(0.98, 0.97, named, transform=axes.transAxes, ha="right", va="top", size=8, color=INK, bbox=paper)


#: name of the files -> what draws them
FIGURES: dict[str, Callable[[Subjects, Subjects], Figure]] = {
    "anisotropy": draw_anisotropy,
    "self_similarity": draw_self_similarity,
    "words": draw_words,
    "intra_sentence_similarity": draw_intra_sentence_similarity,
    "mev_headline": draw_mev_headline,
    "mev": draw_mev,
    "mev_raw": draw_mev_raw,
    "isotropy": draw_isotropy,
}
#: columns of layers.csv that a page lists beside a figure
TABLES = {
    "anisotropy": [("anisotropy", "value")],
    "self_similarity": [("self_similarity", "adjusted"), ("self_similarity", "value")],
    "intra_sentence_similarity": [
        ("intra_sentence_similarity", "adjusted"),
        ("intra_sentence_similarity_matched", "adjusted"),
        ("intra_sentence_similarity", "value"),
    ],
    "mev_headline": [(measure, column) for column in ("value", "adjusted") for measure in DEFINITIONS],
    "isotropy": [("log10_isotropy", "value"), ("log10_isotropy_one_sign", "value"), ("isoscore", "value")],
}
CAPTIONS = {
    "anisotropy": "Anisotropy by layer and by relative depth",
    "self_similarity": "Self-similarity by layer and by relative depth, adjusted and raw",
    "words": "Self-similarity of words against their frequency",
    "intra_sentence_similarity": "Intra-sentence similarity by layer and by relative depth, with both baselines",
    "mev_headline": "The released code's MEV beside Eq. 3",
    "mev": "MEV in its three meanings, adjusted",
    "mev_raw": "MEV in its three meanings, raw and baseline",
    "isotropy": "I(W) and IsoScore by layer and by relative depth",
}
