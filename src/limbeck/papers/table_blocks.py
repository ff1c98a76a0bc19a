"""What pages say of embedding tables: the models, the paper's tables with ours beside, and what was done otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from limbeck.measures.tables import Geometry
from limbeck.papers.estimates import CannotShow, minus
from limbeck.papers.markdown import how, table
from limbeck.papers.published_tables import TABLE_1, TABLE_2, TABLE_3, paper_name
from limbeck.papers.results import Reproduction
from limbeck.papers.table_similarity import COSINE, INNER, SETS, Scores
from limbeck.papers.table_subjects import FORMS, MEASURED, SHARES, Table

#: what differs from the paper or from its code, and why
DEVIATIONS = (
    "I(W) is computed in log space and given twice: with one sign of each eigenvector, as published (the sign that "
    "makes the mean projection positive, after centring the third moment), and with both, which is well defined. The "
    "paper's code took whatever sign its solver gave.",
    "Word similarity is scored with 2 components removed, as the released code did, and with ⌈d/100⌉, as the paper "
    "says. Claims use the second; with `--preset released` the first.",
    "In the bins of Figure 3 a row is not compared with itself; the released code did so in the first bin, as does "
    "`--preset released`. Bins are also made by frequency measured on the text, not only by id.",
    "A word is a single token if it is one behind another word, so that byte-level tokenisers see its blank. Unknown "
    "words are left out. Sets with fewer than 20 pairs left are not scored.",
    "MEN's words come without their tags, and the sets from other copies than the paper's; the pairs are the same.",
    "The text is not CNN-DailyMail but the one named above.",
    "A biLM has no table of pieces: its rows are the vectors that its characters give to the words of the text. No "
    "softmax is tied to them, so the paper's mechanism does not act on them.",
)


def models(found: Reproduction) -> str:
    """What was measured, on what, and how to do it again."""
    rows = []
    for one in found.subjects:
        counts = one.account["counts"]
        kind = {"pieces": "pieces", "words": "words"}[one.account["kind"]]
        rows.append([one.name, one.family or "unknown", f"{counts['rows']:,} {kind} × {one.account['dim']}",
                     f"{counts['rows_in_the_text']:,}", one.reference])  # fmt: skip
    lines = [table(["model", "kind", "table", "rows that occur in the text", "rare rows compared with"], rows)]
    first = found.subjects[0].account
    corpus = first["source"]["corpus"]
    named = ", ".join(f"`{Path(path).name}`" for path in corpus.get("paths", [])) or "sentences in memory"
    lines.append(f"Text: {named}, {first['counts']['words']:,} words. Preset: `{', '.join(found.presets)}`.")
    return "\n\n".join([*lines, *how(found)])


def deviations(found: Reproduction) -> str:
    return "\n".join(f"- {text}" for text in DEVIATIONS)


def table_1(found: Reproduction) -> str:
    """Table 1 and what stands beside it, ours above and the paper's below."""
    head = ["model", "I(W)", "centred", "components removed", "mean norm", "‖μ‖", "‖μ‖ / mean norm", "exp(−‖μ‖)"]
    rows = []
    for one in found.subjects:
        raw = one.shape("raw")
        cells = [_isotropy(one.shape(form).log10_isotropy_one_sign) for form in ("raw", "centered", "components")]
        cells += [_two(raw.mean_norm), _two(raw.norm_of_mean), _two(raw.shift), _isotropy_exp(raw)]
        rows.append([one.name, *cells])
    for name, printed in TABLE_1.items():
        cells = [
            f"{printed[0]:.2f}",
            f"{printed[1]:.2f}",
            f"{printed[2]:.3f}",
            *(f"{cell:.2f}" for cell in printed[3:]),
        ]
        rows.append([f"*{name}, printed*", *cells, f"{math.exp(-printed[4]):.2f}"])
    return f"I(W) with one sign of each eigenvector, as published:\n\n{table(head, rows)}\n\n{_more(found)}"


def _more(found: Reproduction) -> str:
    head = ["model", "table", "I(W), one sign", "I(W), both signs", "mean norm", "mean pair cosine",
            "first eigenvector with the mean", "IsoScore"]  # fmt: skip
    rows = []
    for one in found.subjects:
        for form in MEASURED:
            shape = one.shape(form)
            rows.append([one.name if form == "raw" else "", FORMS[form], _isotropy(shape.log10_isotropy_one_sign),
                         _isotropy(shape.log10_isotropy), _two(shape.mean_norm), _two(shape.mean_cosine),
                         _two(shape.top_with_mean), _two(shape.isoscore)])  # fmt: skip
    return "More of each table, exact over all rows:\n\n" + table(head, rows)


def table_2(found: Reproduction) -> str:
    """Means over the sets, by cosine and by inner product."""
    forms = ("raw", "centered", "scaled", "components_2", "components", "components_uncentered")
    rows, reasons = [], []
    for one in found.subjects:
        try:
            scores: Scores = one.scored()
            for form in forms:
                cells = [str(scores.mean(form, scoring)) for scoring in (COSINE, INNER)]
                rows.append([one.name if form == "raw" else "", FORMS[form], *cells])
        except CannotShow as reason:
            reasons.append(f"{one.name}: {reason}.")
    for name, printed in TABLE_2.items():
        if any(paper_name(one) == name for one in found.subjects):
            for form, pair in printed.items():
                told = "components removed" if form == "components" else FORMS[form]
                rows.append([f"*{name}, printed*" if form == "raw" else "", told, *(f"{v / 100:.3f}" for v in pair)])
    text = table(["model", "table", "cosine", "inner product"], rows) if rows else ""
    return "\n\n".join([part for part in (text, *_once(reasons)) if part])


def table_3(found: Reproduction) -> str:
    """Each set on its own: inner product / cosine, and how many pairs were kept."""
    head = ["model", "table", *SETS.values()]
    rows, reasons = [], []
    for one in found.subjects:
        if one.scores is None:
            reasons.append(f"{one.name}: {one.missing}.")
            continue
        kept = [f"{one.scores.sets[key].kept:,} of {one.scores.sets[key].total:,}" if key in one.scores.sets else "–"
                for key in SETS]  # fmt: skip
        rows.append([one.name, "pairs kept", *kept])
        for form in FORMS:
            rows.append(["", FORMS[form], *(_pair(one, key, form) for key in SETS)])
    for name, printed in TABLE_3.items():
        if any(paper_name(one) == name for one in found.subjects):
            for form, cells in printed.items():
                told = "components removed" if form == "components" else FORMS[form]
                rows.append([f"*{name}, printed*" if form == "raw" else "", told,
                             *(f"{inner:.1f} / {cosine:.1f}" for inner, cosine in cells)])  # fmt: skip
    text = "Pearson × 100, inner product / cosine:\n\n" + table(head, rows) if rows else ""
    return "\n\n".join([part for part in (text, *_once(reasons)) if part])


def _pair(one: Table, key: str, form: str) -> str:
    found = one.scores.sets.get(key) if one.scores else None
    if found is None or not found.enough:
        return "–"
    return minus(f"{100 * found.values[form, INNER]:.1f} / {100 * found.values[form, COSINE]:.1f}")


def frequencies(found: Reproduction) -> str:
    head = ["model", "unit", "occurrences", "kinds", *(f"for {share:.0%}".replace("%", "\u00a0%") for share in SHARES)]
    rows = []
    for one in found.subjects:
        if one.frequencies is not None:
            found_ = one.frequencies
            for unit, counts, cover in (("tokens", found_.tokens, found_.tokens_to_cover),
                                        ("words", found_.words, found_.words_to_cover)):  # fmt: skip
                rows.append([one.name if unit == "tokens" else "", unit, f"{int(counts.sum()):,}", f"{len(counts):,}",
                             *(f"{kinds:,}" for kinds in cover)])  # fmt: skip
    rows.append(["*BERT on CNN-DailyMail, printed*", "tokens", "", "", "13", "85", "nearly 15,000"])
    return table(head, rows)


def bins(found: Reproduction) -> str:
    """The ends of the curves; all of them are in bins.csv."""
    rows = []
    for one in found.subjects:
        for order, curve in one.bins.items():
            kept = [place for place in range(len(curve.cosines))
                    if not curve.own[place] and not (order == "measured" and curve.unseen[place])]  # fmt: skip
            if kept:
                some = sorted({kept[round(share * (len(kept) - 1))] for share in (0, 0.25, 0.5, 0.75, 1)})
                told = ", ".join(f"{place * 1000:,}: {curve.cosines[place]:.2f}" for place in some)
                by = "id" if order == "id" else "frequency in the text"
                rows.append([one.name if order == "id" else "", by, minus(told)])
    return "Mean cosine with the rare rows, by the first row of a bin:\n\n" + table(
        ["model", "rows by", "cosine"], rows
    )


def training(found: Reproduction) -> str:
    """Geometry by tokens seen."""
    rows = []
    for one in found.subjects:
        if one.training is not None:
            for place, (moment, shape) in enumerate(zip(one.training.moments, one.training.shapes, strict=True)):
                rows.append([one.name if not place else "", moment, _two(shape.shift), _two(shape.mean_cosine),
                             _isotropy(shape.log10_isotropy_one_sign), _two(shape.mean_norm),
                             _two(shape.norm_of_mean), _two(shape.top_with_mean)])  # fmt: skip
    if not rows:
        return "No table was kept in the course of a training: give a folder of them by `--early`."
    head = ["model", "tokens seen", "‖μ‖ / mean norm", "mean pair cosine", "I(W), one sign", "mean norm", "‖μ‖",
            "first eigenvector with the mean"]  # fmt: skip
    kept = ", ".join(f"{one.name} {one.training.rows:,} rows" for one in found.subjects if one.training is not None)
    return f"Of the rows that were kept ({kept}):\n\n{table(head, rows)}"


def _once(reasons: Sequence[str]) -> list[str]:
    """Reasons, those that all models share told once."""
    told = {reason.partition(": ")[2] for reason in reasons}
    if len(reasons) > 1 and len(told) == 1:
        text = told.pop()
        return [f"{text[0].upper()}{text[1:]}"]
    return list(reasons)


def _isotropy(log10: float) -> str:
    """I(W) with as many digits as tell it; a power of ten where it is tiny."""
    if not math.isfinite(log10):
        return "–"
    if log10 < -2:
        return f"10^{minus(f'{log10:.1f}')}"
    return f"{10**log10:.3f}"


def _isotropy_exp(shape: Geometry) -> str:
    return _isotropy(-shape.norm_of_mean / math.log(10))


def _two(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return minus(f"{value:.2f}") if abs(value) >= 0.005 else "0.00"
