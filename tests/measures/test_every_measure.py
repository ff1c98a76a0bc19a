"""What holds of every measure of arrays, against oracles that share no code with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import raises
from scipy.special import logsumexp
from sklearn.decomposition import PCA, TruncatedSVD

from limbeck import measures
from limbeck.errors import LimbeckError


@dataclass(frozen=True)
class Rows:
    """Made vectors and their labels. Labels are interleaved: rows of one text need not stand together."""

    x: np.ndarray  # (n, d)
    words: np.ndarray
    contexts: np.ndarray
    sentences: np.ndarray

    def at(self, order: np.ndarray) -> Rows:
        return Rows(self.x[order], self.words[order], self.contexts[order], self.sentences[order])

    def with_x(self, x: np.ndarray) -> Rows:
        return Rows(x, self.words, self.contexts, self.sentences)


def make_rows(seed: int = 0, *, n: int = 60, d: int = 6, shift: float = 1.0, dtype: Any = np.float64) -> Rows:
    generator = np.random.default_rng(seed)
    mean = shift * generator.normal(size=d)
    x = (mean + generator.normal(size=(n, d)) * np.linspace(0.3, 2.0, d)) * generator.uniform(0.5, 2.0, size=(n, 1))
    words = np.array(["bank", "Bank", "the", "río", "x"])[generator.permutation(np.arange(n) % 5)]
    sentences = generator.permutation(np.arange(n) % (n // 4))  # of 4 words or more
    return Rows(x.astype(dtype), words, sentences // 2, sentences)


# --- oracles ----------------------------------------------------------------------------------


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def pair_cosine(x: np.ndarray, contexts: np.ndarray) -> float:
    pairs = [cosine(x[i], x[j]) for i in range(len(x)) for j in range(len(x)) if contexts[i] != contexts[j]]
    return float(np.mean(pairs))


def over_words(rows: Rows, one: Callable[[np.ndarray, np.ndarray], float]) -> float:
    return float(np.mean([one(rows.x[rows.words == w], rows.contexts[rows.words == w]) for w in set(rows.words)]))


def cosine_with_mean(rows: Rows) -> float:
    values = []
    for sentence in set(rows.sentences):
        x = rows.x[rows.sentences == sentence]
        values.append(np.mean([cosine(row, x.mean(0)) for row in x]))
    return float(np.mean(values))


def partition_logs(x: np.ndarray) -> np.ndarray:
    """log Z at +u and −u of each eigenvector, (2, d), the sign of the mean projection first."""
    _, vectors = np.linalg.eigh(x.T @ x)
    along = x @ vectors
    along = along * np.where(along.mean(0) >= 0, 1, -1)
    return np.stack([logsumexp(along, axis=0), logsumexp(-along, axis=0)])


def published_isoscore(x: np.ndarray) -> float:
    """Rudman et al. 2022, step by step."""
    n = x.shape[1]
    transformed = x @ np.linalg.eigh(np.cov(x, rowvar=False))[1]  # 2. reorientation by PCA
    diagonal = np.diag(np.cov(transformed, rowvar=False))  # 3. variances
    normalised = np.sqrt(n) * diagonal / np.linalg.norm(diagonal)  # 4. norm √n
    defect = np.linalg.norm(normalised - np.ones(n)) / np.sqrt(2 * (n - np.sqrt(n)))  # 5. isotropy defect
    share = (n - defect**2 * (n - np.sqrt(n))) ** 2 / n**2  # 6. fraction of dimensions used
    return float((n * share - 1) / (n - 1))  # 7. rescale to [0, 1]


def entropy_rank(x: np.ndarray) -> float:
    sigma = np.linalg.svd(x - x.mean(0), compute_uv=False)
    sigma = sigma[sigma > sigma.max() * 1e-12]
    p = sigma / sigma.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def participation(x: np.ndarray) -> float:
    values = np.linalg.eigvalsh(np.cov(x, rowvar=False))
    return float(values.sum() ** 2 / (values**2).sum())


def first_share(x: np.ndarray, _: Any = None) -> float:
    sigma = np.linalg.svd(x, compute_uv=False)
    return float(sigma[0] ** 2 / (sigma**2).sum())


def pca_share(x: np.ndarray, _: Any = None) -> float:
    return float(PCA(n_components=1, svd_solver="full").fit(x).explained_variance_ratio_[0])


def truncated_share(x: np.ndarray, _: Any = None) -> float:
    start = TruncatedSVD(n_components=1, algorithm="arpack", random_state=0).fit(x)
    return float(start.explained_variance_ratio_[0])


# --- the table --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    call: Callable[..., Any]  # (x, rows) -> result
    oracle: Callable[[Rows], float]
    low: Callable[[Rows], float]
    high: Callable[[Rows], float]
    invariant: frozenset[str]
    float32: float = 1e-6

    def labels(self) -> set[str]:
        """The labels that the measure takes."""
        return {"words", "contexts", "sentences"} & set(self.call.__code__.co_names)


def least(rows: Rows) -> int:
    return min(np.unique(rows.words, return_counts=True)[1])


def most(rows: Rows) -> int:
    return max(np.unique(rows.words, return_counts=True)[1])


DIRECTIONS = frozenset({"rotation", "scale"})
SHAPE_ONLY = DIRECTIONS | {"shift"}
CASES: dict[str, Case] = {
    "anisotropy": Case(
        lambda x, r: measures.anisotropy(x, contexts=r.contexts),
        lambda r: pair_cosine(r.x, r.contexts),
        lambda r: -1.0,
        lambda r: 1.0,
        DIRECTIONS | {"length"},
    ),
    "self_similarity": Case(
        lambda x, r: measures.self_similarity(x, words=r.words, contexts=r.contexts),
        lambda r: over_words(r, pair_cosine),
        lambda r: -1.0,
        lambda r: 1.0,
        DIRECTIONS | {"length"},
    ),
    "intra_sentence_similarity": Case(
        lambda x, r: measures.intra_sentence_similarity(x, sentences=r.sentences, contexts=r.contexts),
        cosine_with_mean,
        lambda r: -1.0,
        lambda r: 1.0,
        DIRECTIONS,
    ),
    "intra_sentence_similarity_matched": Case(
        lambda x, r: measures.intra_sentence_similarity_matched(x, sentences=r.sentences, contexts=r.contexts),
        cosine_with_mean,
        lambda r: -1.0,
        lambda r: 1.0,
        DIRECTIONS,
    ),
    "mev": Case(
        lambda x, r: measures.mev(x, words=r.words, contexts=r.contexts),
        lambda r: over_words(r, first_share),
        lambda r: 1 / most(r),
        lambda r: 1.0,
        DIRECTIONS,
    ),
    "mev_centered": Case(
        lambda x, r: measures.mev_centered(x, words=r.words, contexts=r.contexts),
        lambda r: over_words(r, pca_share),
        lambda r: 1 / (most(r) - 1),
        lambda r: 1.0,
        SHAPE_ONLY,
    ),
    "mev_truncated_svd": Case(
        lambda x, r: measures.mev_truncated_svd(x, words=r.words, contexts=r.contexts),
        lambda r: over_words(r, truncated_share),
        lambda r: 0.0,
        lambda r: 1.0,
        DIRECTIONS,
    ),
    "log10_isotropy": Case(
        lambda x, r: measures.log10_isotropy(x),
        lambda r: float(np.ptp(partition_logs(r.x)) / -np.log(10)),
        lambda r: -np.inf,
        lambda r: 0.0,
        frozenset({"rotation"}),
    ),
    "log10_isotropy_one_sign": Case(
        lambda x, r: measures.log10_isotropy_one_sign(x),
        lambda r: float(np.ptp(partition_logs(r.x)[0]) / -np.log(10)),
        lambda r: -np.inf,
        lambda r: 0.0,
        frozenset({"rotation"}),
    ),
    "local_isotropy": Case(
        lambda x, r: measures.local_isotropy(x, clusters=1),
        lambda r: float(np.ptp(partition_logs(r.x - r.x.mean(0))) / -np.log(10)),
        lambda r: -np.inf,
        lambda r: 0.0,
        frozenset({"rotation", "shift"}),
    ),
    "isoscore": Case(
        lambda x, r: measures.isoscore(x),
        lambda r: published_isoscore(r.x),
        lambda r: 0.0,
        lambda r: 1.0,
        SHAPE_ONLY,
    ),
    "effective_rank": Case(
        lambda x, r: measures.effective_rank(x),
        lambda r: entropy_rank(r.x),
        lambda r: 1.0,
        lambda r: min(r.x.shape[1], len(r.x) - 1),
        SHAPE_ONLY,
        1e-5,
    ),
    "participation_ratio": Case(
        lambda x, r: measures.participation_ratio(x),
        lambda r: participation(r.x),
        lambda r: 1.0,
        lambda r: min(r.x.shape[1], len(r.x) - 1),
        SHAPE_ONLY,
    ),
    "mean_norm": Case(
        lambda x, r: measures.mean_norm(x, contexts=r.contexts),
        lambda r: float(np.mean([np.sqrt(row @ row) for row in r.x])),
        lambda r: 0.0,
        lambda r: np.inf,
        frozenset({"rotation"}),
    ),
}
every_measure = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def test_the_table_holds_every_measure():
    functions = {name for name in measures.__all__ if not isinstance(getattr(measures, name), type)}
    assert functions == set(CASES)


@every_measure
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_value_is_the_oracle_s(case: Case, seed: int):
    rows = make_rows(seed, shift=seed)
    assert case.call(rows.x, rows).value == pytest.approx(case.oracle(rows), rel=1e-10)


@every_measure
def test_few_points_in_many_dimensions(case: Case):
    rows = make_rows(3, n=40, d=60)
    assert case.call(rows.x, rows).value == pytest.approx(case.oracle(rows), rel=1e-9)


@every_measure
def test_float32_is_summed_in_float64(case: Case):
    rows = make_rows(4, n=80, dtype=np.float32)
    wanted = case.oracle(rows.with_x(rows.x.astype(np.float64)))
    assert case.call(rows.x, rows).value == pytest.approx(wanted, rel=case.float32)


@every_measure
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numpy_and_torch_alike(case: Case, dtype: Any):
    rows = make_rows(5, dtype=dtype)
    tensor = torch.from_numpy(rows.x.copy()).requires_grad_()
    a, b = case.call(rows.x, rows), case.call(tensor, rows)
    assert (a.value, a.low, a.high, a.baseline) == pytest.approx((b.value, b.low, b.high, b.baseline), nan_ok=True)


@every_measure
def test_labels_may_be_lists_tensors_or_strings(case: Case):
    rows = make_rows(6)
    as_lists = Rows(rows.x, list(rows.words), [f"t{c:03}" for c in rows.contexts], torch.from_numpy(rows.sentences))
    assert case.call(rows.x, as_lists).value == case.call(rows.x, rows).value


@every_measure
def test_each_layer_alone(case: Case):
    rows = make_rows(7)
    layers = np.stack([make_rows(seed, shift=seed).x for seed in (7, 8, 9)])
    together = case.call(layers, rows)
    assert together.value.shape == (3,)
    for i, x in enumerate(layers):
        alone = case.call(x, rows)
        assert isinstance(alone.value, float)
        for name in ("value", "low", "high", "baseline"):
            one, all_ = getattr(alone, name), getattr(together, name)
            if one is None:
                assert all_ is None
            else:
                assert one == pytest.approx(all_[i], rel=1e-12, nan_ok=True)
        assert alone.n == together.n


@every_measure
def test_order_of_rows_means_nothing(case: Case):
    rows = make_rows(8)
    order = np.random.default_rng(0).permutation(len(rows.x))
    shuffled = rows.at(order)
    assert case.call(shuffled.x, shuffled).value == pytest.approx(case.call(rows.x, rows).value, rel=1e-11)


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rotation": lambda x: x @ np.linalg.qr(np.random.default_rng(1).normal(size=(x.shape[1],) * 2))[0],
    "scale": lambda x: x * 3.7,
    "shift": lambda x: x + np.linspace(-2, 5, x.shape[1]),
    "length": lambda x: x * np.random.default_rng(2).uniform(0.1, 9.0, size=(len(x), 1)),
}


@every_measure
@pytest.mark.parametrize("change", CHANGES)
def test_declared_invariances_hold_and_no_others(case: Case, change: str):
    rows = make_rows(9)
    before, after = case.call(rows.x, rows).value, case.call(CHANGES[change](rows.x), rows).value
    if change in case.invariant:
        assert after == pytest.approx(before, rel=1e-9)
    else:
        assert abs(after - before) > 1e-3 * abs(before)


@every_measure
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), n=st.integers(12, 40), d=st.integers(2, 9), shift=st.sampled_from([0.0, 1.0, 1e3]))
def test_inside_the_declared_range(case: Case, seed: int, n: int, d: int, shift: float):
    rows = make_rows(seed, n=n, d=d, shift=shift)
    result = case.call(rows.x, rows)
    assert case.low(rows) - 1e-9 <= result.value <= case.high(rows) + 1e-9
    if result.low is not None and np.isfinite(result.low):
        assert result.low <= result.high


@every_measure
@pytest.mark.parametrize(("bad", "kind"), [(np.nan, "NaN or infinite"), (np.inf, "NaN or infinite"), (0.0, "zero")])
def test_vectors_without_direction_are_refused_by_name(case: Case, bad: float, kind: str):
    rows = make_rows(10)
    layers = np.stack([rows.x, rows.x])
    layers[1, 7] = bad
    with raises(LimbeckError, code="not_finite") as caught:
        case.call(layers, rows)
    who = f"the word {str(rows.words[7])!r}" if "words" in case.labels() else "row 7"
    assert f"{who} has a {kind} vector in layer 1 (1 such in all)" in str(caught.value)


@every_measure
def test_input_is_not_changed(case: Case):
    rows = make_rows(11)
    before = rows.x.copy()
    case.call(rows.x, rows)
    np.testing.assert_array_equal(rows.x, before)


@every_measure
def test_arrays_that_torch_cannot_share(case: Case):
    rows = make_rows(12)
    wanted = case.call(rows.x, rows).value
    frozen = rows.x.copy()
    frozen.flags.writeable = False  # as np.load(mmap_mode="r") gives
    assert case.call(frozen, rows).value == wanted
    backwards = rows.x[::-1].copy()[::-1]
    assert case.call(backwards, rows).value == wanted
    assert case.call(rows.x.tolist(), rows).value == wanted
    assert case.call(rows.x.astype(">f8"), rows).value == wanted


@every_measure
def test_no_rows_have_no_value(case: Case):
    rows = make_rows(13).at(np.empty(0, dtype=np.int64))
    result = case.call(rows.x, rows)
    assert np.isnan(result.value)
    assert result.note
    assert result.n == 0


@every_measure
def test_wrong_shapes_are_refused(case: Case):
    rows = make_rows(14)
    with raises(LimbeckError, code="wrong_shape", parameter="x", says="60"):
        case.call(rows.x[:, 0], rows)
    if case.labels():
        with raises(LimbeckError, code="wrong_shape", parameter=None, says="59"):
            case.call(rows.x[:-1], rows)
