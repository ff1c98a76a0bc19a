"""What the claims of Biš et al. (2021) are judged on: an embedding table, measured raw and repaired."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.corpus import Corpus
from limbeck.errors import choose
from limbeck.evaluation.task import Task
from limbeck.measures.tables import (
    Geometry,
    bins,
    cosine_regularizer,
    geometry,
    kinds_to_cover,
    mean_cosine_between,
    row_norms,
    softmax_gradient,
)
from limbeck.papers.estimates import CannotShow, Floats
from limbeck.papers.table_similarity import KeptPairs, Scores, keep_pairs, score_set
from limbeck.papers.table_sources import EmbeddingTable, open_table
from limbeck.papers.table_training import Training, find_early, read_training
from limbeck.repairs import AllButTheTop, Center, ScaledCenter
from limbeck.runs.measuring.presets import PRESETS
from limbeck.seeds import generator_for

#: forms of a table -> what texts call them; the first four are measured, all are scored on word pairs
FORMS = {
    "raw": "raw",
    "centered": "centred",
    "components": "⌈d/100⌉ components removed",
    "components_uncentered": "the same by the original projection",
    "scaled": "scaled-centred",
    "components_2": "2 components removed",
}
MEASURED = ("raw", "centered", "components", "components_uncentered")
UNUSED = re.compile(r"\[unused\d+\]")
FEWEST_UNUSED = 10
BIN = 1000
SHARES = (0.30, 0.50, 0.98)  #: of the text, as in §2.2 of the paper
PAIRS_BY_HAND = 300  #: rows of which Appendix A's double sum is written out


@dataclass(frozen=True)
class Bins:
    """Mean cosine of reference rows with bins of 1,000 rows.

    order      what the rows are ordered by: "id" or "measured", frequency in the text
    own        which bins are made of reference rows for the most part: they say nothing of the others
    unseen     which bins hold no row that occurs in the text
    """

    order: str
    cosines: Floats
    own: NDArray[np.bool_]
    unseen: NDArray[np.bool_]


@dataclass(frozen=True)
class Frequencies:
    """How often tokens and words occur, largest first, and how many kinds make up each of `SHARES` of the text."""

    tokens: NDArray[np.int64]
    words: NDArray[np.int64]
    tokens_to_cover: tuple[int, ...]
    words_to_cover: tuple[int, ...]


@dataclass(frozen=True)
class Identities:
    """The paper's equations in numbers, on this table: differences that should be rounding and no more.

    regularizer     CosReg written out pair by pair less its closed form, over a few rows; and less that with −N
    projections     Eq. 11 and the original projection differ by the same vector in every row: largest deviation
    gradient        autograd's gradient less Eq. 5's, over the largest number in it
    along, against  rows of one step that go along −h, and along h
    common          length of the mean of its rows over their mean length
    """

    regularizer: float
    regularizer_as_printed: float
    projections: float
    gradient: float
    along: int
    against: int
    common: float


@dataclass(frozen=True)
class Table:
    """A table as the rules see it, measured here or by the paper.

    geometry    form -> shape and place
    norms       of every row, "raw" and "centered"
    projection  of every row on the two first singular vectors, (rows, 2), "raw" and "centered"
    frequent    every row's place by frequency in the text, from 0 (most frequent) to 0.8; 0.95 where it never occurs
    reference   the rows that bins are compared with: "unused tokens" or "last 1,000 rows"
    missing     why there are no scores
    account     what was read and how; empty for a paper's own numbers
    """

    name: str
    family: str
    geometry: Mapping[str, Geometry]
    norms: Mapping[str, Floats] = field(default_factory=dict)
    projection: Mapping[str, Floats] = field(default_factory=dict)
    frequent: Floats = field(default_factory=lambda: np.empty(0))
    reference: str = ""
    bins: Mapping[str, Bins] = field(default_factory=dict)
    frequencies: Frequencies | None = None
    scores: Scores | None = None
    missing: str = ""
    identities: Identities | None = None
    training: Training | None = None
    account: Mapping[str, Any] = field(default_factory=dict)

    @property
    def layers(self) -> tuple[str, ...]:
        """The bare table is the only one."""
        return ("table",)

    def shape(self, form: str) -> Geometry:
        try:
            return self.geometry[form]
        except KeyError:
            raise CannotShow(f"there are no numbers of the table {FORMS[form]}") from None

    def scored(self) -> Scores:
        if self.scores is None:
            raise CannotShow(self.missing or "there are no scores")
        return self.scores

    @property
    def components(self) -> str:
        """The form that is "components removed" in claims about scores, by preset (docs/fidelity.md §5.6)."""
        return "components_2" if (self.account.get("settings") or {}).get("preset") == "released" else "components"


@dataclass(frozen=True)
class Gathering:
    """How tables are gathered: the sets found and what is missing, where early tables lie, the preset, the seed."""

    sets: Mapping[str, Task] = field(default_factory=dict)
    missing: str = ""
    early: Path | None = None
    preset: str = "corrected"
    seed: int = 0


def gather(model: str, corpus: Corpus, gathering: Gathering, *, name: str | None = None) -> Table:
    """Everything that is said of one model's table."""
    choose(gathering.preset, PRESETS, what="preset")
    return measure(open_table(model, corpus, name=name), gathering)


def measure(table: EmbeddingTable, gathering: Gathering) -> Table:
    """Everything that is said of a table."""
    matrix = np.asarray(table.matrix, dtype=np.float64)
    repairs = fit_repairs(matrix)
    shapes, norms, projection = {}, {}, {}
    for form in MEASURED:
        rows = matrix if form == "raw" else repairs[form].transform(matrix)
        shapes[form] = geometry(rows)
        if form in ("raw", "centered"):
            norms[form], projection[form] = row_norms(rows), _project(rows)
    early = find_early(table.name, table.folder, gathering.early)
    reference, named = reference_rows(table)
    scores = score(table, matrix, repairs, gathering.sets, seed=gathering.seed) if gathering.sets else None
    return Table(
        name=table.name,
        family=table.family,
        geometry=shapes,
        norms=norms,
        projection=projection,
        frequent=_places(table.counts),
        reference=named,
        bins={
            order: in_bins(matrix, reference, table.counts, order=order, self_pairs=gathering.preset == "released")
            for order in ("id", "measured")
        },
        frequencies=_frequencies(table),
        scores=scores,
        missing=gathering.missing,
        identities=_identities(matrix, repairs, seed=gathering.seed),
        training=read_training(early, table.matrix, name=table.name) if early else None,
        account={
            "dim": matrix.shape[1],
            "settings": {"preset": gathering.preset, "seed": gathering.seed},
            "counts": {
                "rows": len(matrix),
                "zero_rows": shapes["raw"].zero_rows,
                "rows_in_the_text": int((table.counts > 0).sum()),
                "tokens": int(table.counts.sum()),
                "words": int(table.words.sum()),
            },
            "kind": table.kind,
            "source": {
                "encoder_fingerprint": table.fingerprint,
                "corpus_fingerprint": table.corpus.get("fingerprint"),
                "corpus": table.corpus,
            },
        },
    )


def fit_repairs(matrix: Floats) -> dict[str, Any]:
    """Every form but the raw one, fitted on all rows alike (docs/fidelity.md §5.4)."""
    return {
        "centered": Center().fit(matrix),
        "components": AllButTheTop().fit(matrix),
        "components_uncentered": AllButTheTop(projection="uncentered").fit(matrix),
        "scaled": ScaledCenter().fit(matrix),
        "components_2": AllButTheTop(2).fit(matrix),
    }


def _places(counts: NDArray[np.int64]) -> Floats:
    """Places by frequency; see `Table.frequent`."""
    order = np.argsort(-counts, kind="stable")
    places = np.full(len(counts), 0.95)
    seen = int((counts > 0).sum())
    places[order[:seen]] = np.linspace(0, 0.8, seen)
    return places


def _project(rows: Floats) -> Floats:
    """On the first two eigenvectors of WᵀW, turned so that the mean projection (else the third moment) is positive."""
    _, vectors = np.linalg.eigh(rows.T @ rows)
    along: Floats = rows @ vectors[:, :-3:-1]
    if along.shape[1] < 2:
        along = np.hstack([along, np.zeros((len(along), 1))])
    mean, cube = along.mean(axis=0), (along**3).mean(axis=0)
    decided = np.abs(mean) > 1e-6 * np.sqrt((along**2).mean(axis=0))
    return along * np.where(np.where(decided, mean, cube) < 0, -1.0, 1.0)


def reference_rows(table: EmbeddingTable) -> tuple[NDArray[np.int64], str]:
    """Rows that training never had as targets: [unused…] where there are such, else the last 1,000 as in footnote 7."""
    unused = [row for row, token in enumerate(table.tokens) if UNUSED.fullmatch(token)]
    if len(unused) >= FEWEST_UNUSED:
        return np.array(unused), f"{len(unused):,} unused tokens"
    last = min(BIN, max(len(table.tokens) // 4, 1))
    return np.arange(len(table.tokens) - last, len(table.tokens)), f"last {last:,} rows"


def in_bins(
    matrix: Floats,
    reference: NDArray[np.int64],
    counts: NDArray[np.int64],
    *,
    order: str,
    self_pairs: bool = False,
) -> Bins:
    """Cosine of the reference rows with all rows in this order, bin by bin; rows that never occur have their own."""
    if order == "id":
        parts = bins(np.arange(len(matrix)), BIN)
    else:
        falling = np.argsort(-counts, kind="stable")  # equal ones by id
        seen = int((counts > 0).sum())
        parts = [*bins(falling[:seen], BIN), *bins(falling[seen:], BIN)]
    own = np.array([2 * np.isin(part, reference).sum() > len(part) for part in parts])
    found = [mean_cosine_between(matrix, reference, part, self_pairs=self_pairs) for part in parts]
    return Bins(order, np.array(found), own, np.array([not counts[part].any() for part in parts]))


def _frequencies(table: EmbeddingTable) -> Frequencies | None:
    tokens = np.sort(table.counts[table.counts > 0])[::-1]
    if not len(tokens) or not len(table.words):
        return None
    return Frequencies(
        tokens, table.words, tuple(kinds_to_cover(tokens, SHARES)), tuple(kinds_to_cover(table.words, SHARES))
    )


def score(
    table: EmbeddingTable, matrix: Floats, repairs: Mapping[str, Any], sets: Mapping[str, Task], *, seed: int
) -> Scores:
    """Every form of the table on every set; only the rows that occur there are repaired."""
    memory: dict[str, int | None] = {}
    kept: dict[str, KeptPairs] = {name: keep_pairs(task, table, memory) for name, task in sets.items()}
    rows = np.unique(np.concatenate([pairs.rows.ravel() for pairs in kept.values()]))
    place = np.full(len(matrix), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    some = matrix[rows]
    forms = {"raw": some}
    if len(rows):
        forms |= {name: repair.transform(some) for name, repair in repairs.items()}
    return Scores({name: score_set(pairs, forms, place, seed=seed) for name, pairs in kept.items()})


def _identities(matrix: Floats, repairs: Mapping[str, Any], *, seed: int) -> Identities:
    generator = generator_for(seed, "reproduce", "identities")
    few = matrix[np.sort(generator.permutation(len(matrix))[:PAIRS_BY_HAND])]
    few = few[np.linalg.norm(few, axis=1) > 0]
    by_pairs = _regularizer_by_pairs(few)
    closed = cosine_regularizer(few) if len(few) else by_pairs
    n = max(len(few), 1)
    apart = repairs["components_uncentered"].transform(few) - repairs["components"].transform(few)
    hidden = np.asarray(generator.normal(size=matrix.shape[1]))
    target = int(generator.integers(len(matrix)))
    formula = softmax_gradient(matrix, hidden, target)
    weights = torch.from_numpy(matrix).clone().requires_grad_()
    logits = weights @ torch.from_numpy(hidden)
    torch.nn.functional.cross_entropy(logits[None], torch.tensor([target])).backward()
    assert weights.grad is not None
    gradient = weights.grad.numpy()
    step = -gradient @ hidden
    return Identities(
        regularizer=abs(by_pairs - closed),
        regularizer_as_printed=abs(by_pairs - (closed + 1 / n - n)),
        projections=float(np.abs(apart - apart.mean(axis=0)).max(initial=0.0)),
        gradient=float(np.abs(gradient - formula).max() / np.abs(formula).max()),
        along=int((step < 0).sum()),
        against=int((step > 0).sum()),
        common=float(np.linalg.norm(gradient.mean(axis=0)) / np.linalg.norm(gradient, axis=1).mean()),
    )


def _regularizer_by_pairs(rows: Floats) -> float:
    """(1/N²) Σ_i Σ_{j≠i} cos(w_i, w_j), pair by pair."""
    if not len(rows):
        return 0.0
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    total = sum(float(units[i] @ units[j]) for i in range(len(units)) for j in range(len(units)) if i != j)
    return total / len(units) ** 2
