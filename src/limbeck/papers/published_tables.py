"""Numbers that Biš et al. (2021) printed, and where each stands."""

from __future__ import annotations

import math

import numpy as np

from limbeck.measures.tables import Geometry
from limbeck.papers.findings import Published, Tried
from limbeck.papers.table_similarity import COSINE, INNER, SETS, Scores, SetScores, Way
from limbeck.papers.table_subjects import Table

#: model -> I(W), I(centred), I(components removed), mean norm, ‖μ‖, ‖μ‖ / mean norm (Table 1)
TABLE_1 = {
    "BERT-base-uncased": (0.39, 0.98, 0.998, 1.40, 0.94, 0.67),
    "BERT-base-cased": (0.59, 0.98, 0.996, 1.29, 0.50, 0.39),
    "BERT-large-uncased": (0.44, 0.97, 0.997, 1.45, 0.80, 0.55),
    "BERT-large-cased": (0.52, 0.96, 0.995, 1.53, 0.65, 0.42),
    "RoBERTa-base": (0.50, 0.87, 0.959, 3.65, 0.57, 0.16),
    "RoBERTa-large": (0.07, 0.64, 0.956, 4.36, 2.53, 0.58),
    "GPT-2 (12 layers)": (0.12, 0.91, 0.969, 3.96, 2.05, 0.52),
    "GPT-2 (24 layers)": (0.52, 0.95, 0.981, 3.68, 2.04, 0.55),
}
#: what the text says beside: cosine of the top eigenvector with the mean, mean pair cosine (§5.3)
TOP_WITH_MEAN = {"RoBERTa-large": 0.99}
MEAN_COSINE = {"RoBERTa-large": 0.33}
#: model -> form -> cosine and inner product, averaged over the five sets (Table 2)
TABLE_2: dict[str, dict[str, tuple[float, float]]] = {
    "BERT-base-cased": {
        "raw": (62.29, 60.91), "centered": (60.44, 60.08), "scaled": (62.32, 62.41), "components": (65.57, 66.10)},
    "BERT-large-cased": {
        "raw": (61.90, 59.42), "centered": (58.66, 57.99), "scaled": (61.18, 61.05), "components": (65.72, 65.89)},
    "RoBERTa-base": {
        "raw": (66.81, 66.01), "centered": (66.85, 67.03), "scaled": (67.02, 66.95), "components": (66.87, 67.15)},
    "RoBERTa-large": {
        "raw": (61.29, 44.79), "centered": (64.09, 63.78), "scaled": (65.49, 64.16), "components": (64.38, 65.17)},
    "GPT-2 (12 layers)": {
        "raw": (64.71, 59.45), "centered": (64.95, 66.04), "scaled": (66.57, 67.32), "components": (67.85, 67.67)},
    "GPT-2 (24 layers)": {
        "raw": (65.53, 59.20), "centered": (66.83, 67.90), "scaled": (67.95, 68.22), "components": (68.05, 67.81)},
}  # fmt: skip
#: model -> form -> inner product and cosine on MEN, RW, SimLex-999, WordSim similarity and relatedness (Table 3)
TABLE_3: dict[str, dict[str, tuple[tuple[float, float], ...]]] = {
    "BERT-base-cased": {
        "raw": ((65.53, 67.07), (61.22, 63.72), (52.52, 52.37), (75.03, 75.57), (50.27, 52.70)),
        "scaled": ((69.32, 68.36), (63.57, 63.94), (47.34, 47.96), (78.58, 77.36), (53.23, 53.96)),
        "components": ((72.20, 70.91), (67.71, 68.20), (53.60, 52.53), (79.38, 78.15), (57.63, 58.04))},
    "BERT-large-cased": {
        "raw": ((64.64, 67.20), (58.94, 61.89), (52.68, 52.91), (73.44, 76.32), (47.40, 51.16)),
        "scaled": ((68.63, 67.69), (61.67, 62.19), (48.66, 48.53), (77.47, 77.45), (48.81, 50.02)),
        "components": ((72.12, 71.07), (67.22, 68.07), (55.41, 53.77), (78.80, 78.88), (55.90, 56.79))},
    "GPT-2 (12 layers)": {
        "raw": ((65.55, 71.16), (58.08, 63.99), (50.43, 51.45), (72.98, 78.32), (50.19, 58.63)),
        "scaled": ((75.55, 74.10), (64.05, 64.94), (51.60, 50.36), (81.41, 80.61), (63.98, 62.86)),
        "components": ((76.00, 75.34), (65.30, 66.56), (53.74, 53.15), (80.70, 80.79), (62.62, 63.40))},
    "GPT-2 (24 layers)": {
        "raw": ((65.01, 71.55), (58.55, 65.22), (51.13, 52.51), (72.67, 78.48), (48.65, 59.90)),
        "scaled": ((76.10, 75.02), (64.14, 65.34), (54.22, 53.30), (80.85, 80.56), (65.79, 65.51)),
        "components": ((75.92, 75.25), (64.80, 66.11), (54.65, 54.19), (79.99, 80.25), (63.71, 64.43))},
    "RoBERTa-base": {
        "raw": ((72.83, 72.70), (64.72, 66.61), (55.17, 54.84), (78.00, 78.62), (59.31, 61.27)),
        "scaled": ((74.18, 73.33), (65.38, 66.35), (54.16, 53.77), (79.35, 79.10), (61.66, 62.53)),
        "components": ((74.22, 73.13), (65.45, 66.11), (53.87, 53.35), (79.64, 79.08), (62.58, 62.70))},
    "RoBERTa-large": {
        "raw": ((42.92, 63.44), (49.72, 64.31), (45.75, 54.54), (58.09, 73.46), (27.47, 50.69)),
        "scaled": ((70.55, 70.95), (63.09, 65.63), (55.24, 54.18), (75.72, 77.34), (56.19, 59.35)),
        "components": ((72.01, 70.55), (63.11, 63.64), (52.48, 50.93), (77.87, 77.09), (60.36, 59.71))},
}  # fmt: skip
#: name on the hub -> the paper's name, and the table's dimensions
OWN_MODELS = {
    "bert-base-uncased": ("BERT-base-uncased", 768),
    "bert-base-cased": ("BERT-base-cased", 768),
    "bert-large-uncased": ("BERT-large-uncased", 1024),
    "bert-large-cased": ("BERT-large-cased", 1024),
    "roberta-base": ("RoBERTa-base", 768),
    "roberta-large": ("RoBERTa-large", 1024),
    "gpt2": ("GPT-2 (12 layers)", 768),
    "gpt2-medium": ("GPT-2 (24 layers)", 1024),
}
#: mean cosine of the unused tokens with the rows 2,000–3,000 and 28,500–29,500 (§4.2; which BERT, is not sure)
UNUSED_COSINES = (0.27, 0.63)
#: tokens that make up 30, 50 and 98 % of CNN-DailyMail in WordPieces (§2.2)
COVER = (13, 85, 15_000)

TABLE_1_COLUMNS = "I(W), I centred, I with ⌈d/100⌉ components removed, mean norm, ‖μ‖, ratio"
ISOTROPY = Published(TABLE_1_COLUMNS, {name: list(row) for name, row in TABLE_1.items()}, "Table 1")
NORM_CORRELATION = Published(
    "correlation of mean norm and I(W) over the eight models; recomputed from Table 1, and without GPT-2 (24 layers)",
    {"printed": -0.61, "recomputed": -0.618, "without": -0.76},
    "Appendix C; docs/fidelity.md §5.18",
)
DIRECTION = Published("cosine of the top eigenvector of WᵀW with the mean", TOP_WITH_MEAN, "§5.3")
PAIR_COSINE = Published("mean pair cosine", MEAN_COSINE, "§5.3")
UNUSED = Published(
    "mean cosine of the unused tokens with rows 2,000–3,000 and 28,500–29,500",
    {"BERT-base": list(UNUSED_COSINES)},
    "§4.2",
)
COVERAGE = Published("tokens that make up 30, 50 and 98 % of CNN-DailyMail", {"WordPiece": list(COVER)}, "§2.2")
MEAN_SCORES = Published(
    "mean Pearson × 100 over five sets, cosine and inner product: raw, centred, scaled-centred, components removed",
    {name: [list(pair) for pair in forms.values()] for name, forms in TABLE_2.items()},
    "Table 2",
)
SET_SCORES = Published(
    f"Pearson × 100 by inner product and cosine on {', '.join(SETS.values())}: raw, scaled-centred, components removed",
    {name: [[list(pair) for pair in row] for row in forms.values()] for name, forms in TABLE_3.items()},
    "Table 3",
)


def printed_tables() -> tuple[Tried, ...]:
    """The paper's eight models as far as its tables go: the same rules can be asked of them."""
    return tuple(_printed(name) for name in TABLE_1)


def _printed(name: str) -> Table:
    raw, centered, removed, norm, mean, _ = TABLE_1[name]
    shapes = {
        "raw": _shape(raw, norm, mean, top=TOP_WITH_MEAN.get(name, math.nan), cosine=MEAN_COSINE.get(name, math.nan)),
        "centered": _shape(centered),
        "components": _shape(removed),
    }
    family = "GPT-2" if name.startswith("GPT") else "BERT"
    scores = _scores(name) if name in TABLE_2 else None
    return Table(f"published {name}", family, shapes, scores=scores, missing="the paper gives no scores of it")


def _shape(
    isotropy: float, norm: float = math.nan, mean: float = math.nan, *, top: float = math.nan, cosine: float = math.nan
) -> Geometry:
    """What a printed row tells; the rest is not a number."""
    return Geometry(0, 0, 0, norm, mean, cosine, top, math.nan, math.log10(isotropy), math.nan, np.empty(0))


def _scores(name: str) -> Scores:
    means: dict[Way, float] = {}
    for form, (cosine, inner) in TABLE_2[name].items():
        means |= {(form, COSINE): cosine / 100, (form, INNER): inner / 100}
    sets = {
        key: SetScores(
            0,
            0,
            {
                way: rows[place][column] / 100
                for form, rows in TABLE_3[name].items()
                for column, way in enumerate([(form, INNER), (form, COSINE)])
            },
        )
        for place, key in enumerate(SETS)
    }
    return Scores(sets, means)


def paper_name(table: Table) -> str:
    """What the paper calls a model that was measured here: by name and dimensions; "" where it is none of its."""
    last = table.name.lower().replace("\\", "/").rsplit("/", 1)[-1].removeprefix("openai-")
    known = OWN_MODELS.get(last)
    return known[0] if known and table.account and table.account.get("dim") == known[1] else ""


def is_own_model(table: Table) -> bool:
    """Whether a table is that of one of the paper's models."""
    return bool(paper_name(table))
