"""Scores by hand on small pairs: policies for missing words, three aggregations, comparisons, tables."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import raises
from scipy import stats

from limbeck import StaticVectors, tables
from limbeck.errors import InputError, UsageError
from limbeck.evaluation import (
    EvaluationSettings,
    File,
    Pairs,
    Questions,
    TableTarget,
    Task,
    compare,
    compare_all,
    evaluate,
    evaluate_words,
    paired_bootstrap,
    paired_permutation,
    sentence_similarities,
    table,
    word_similarities,
)
from limbeck.evaluation.sts import combine
from limbeck.repairs import Center

WORDS = ["a", "b", "c", "zero"]
MATRIX = [[1.0, 0.0], [0.6, 0.8], [0.0, 2.0], [0.0, 0.0]]
VECTORS = StaticVectors(WORDS, MATRIX)
AS_DICT = {word: np.array(row) for word, row in zip(WORDS, MATRIX, strict=True)}


def both(first, second, **options):
    """StaticVectors and a dict must say the same."""
    found = [word_similarities(first, second, vectors, **options) for vectors in (VECTORS, AS_DICT)]
    np.testing.assert_allclose(found[0].values, found[1].values, atol=1e-7)
    assert found[0].dropped == found[1].dropped
    return found[0]


# --- word similarity ----------------------------------------------------------------------------

FIRST = ["a", "a", "x", "x", "a"]
SECOND = ["b", "c", "b", "y", "zero"]
MEAN = np.mean(MATRIX, axis=0)


def test_drop():
    found = both(FIRST, SECOND)
    np.testing.assert_allclose(found.values, [0.6, 0, np.nan, np.nan, np.nan], atol=1e-7)
    assert found.kept.tolist() == [0, 1]
    assert found.dropped == {"a word has no vector": 2, "a word's vector is zero": 1}
    assert found.coverage == pytest.approx(2 / 5), "a pair with a zero vector has no cosine, and is not covered"
    assert found.settings == {"oov": "drop", "case": "either", "words": 6, "words_found": 3}


def test_mean():
    found = both(FIRST, SECOND, oov="mean")
    cosine = MEAN @ MATRIX[1] / np.linalg.norm(MEAN)
    np.testing.assert_allclose(found.values, [0.6, 0, cosine, 1.0, np.nan], atol=1e-7)
    assert found.dropped == {"a word's vector is zero": 1}
    assert found.coverage == pytest.approx(2 / 5), "what was put in is not what was found"


def test_zero():
    found = both(FIRST, SECOND, oov="zero")
    np.testing.assert_allclose(found.values, [0.6, 0, 0, 0, 0], atol=1e-7)
    assert not found.dropped
    assert found.coverage == pytest.approx(2 / 5)


def test_a_fallback_of_other_dimensions_is_told_wherever_it_is_asked():
    """Of texts, of words after a repair, and of analogies: never numpy's own words."""
    table, other = StaticVectors(["a", "b", "c"], np.eye(3)), {"x": [1.0, 2.0]}
    texts = Pairs(name="t", kind="sts", first=["a x"], second=["b"], gold=[1.0])
    words = Pairs(name="w", kind="wordsim", first=["a"], second=["x"], gold=[1.0])
    questions = Questions([("a", "b", "c", "x")], ["s"])
    for ask in (
        lambda target: evaluate(texts, target),
        lambda target: evaluate(words, target, repair=Center()),
        lambda target: evaluate_words(questions, target, settings=EvaluationSettings(oov="fallback")),
    ):
        with raises(InputError, code="other_dimensions", parameter="fallback", says="got 2 for 'x'"):
            ask(TableTarget(table, oov="fallback", fallback=other))
    with raises(InputError, code="other_dimensions", says=("got 3", "'a'", "'x'")):
        evaluate(words, TableTarget(table, oov="fallback", fallback=other))


def test_fallback():
    expected = [0.6, 0, 0.8, np.nan, np.nan]
    for fallback in ({"x": [0.0, 3.0]}, lambda word: [0.0, 3.0] if word == "x" else None):
        found = both(FIRST, SECOND, oov="fallback", fallback=fallback)
        np.testing.assert_allclose(found.values, expected, atol=1e-7)
        assert found.dropped == {"a word has no vector": 1, "a word's vector is zero": 1}
        assert found.coverage == pytest.approx(2 / 5)
    found = both(["a"], ["b"], oov="fallback", fallback={"a": [0.0, 1.0]})
    assert found.values == pytest.approx([0.6]), "a word that has a vector keeps it"


def test_case():
    vectors = {"Rome": [1.0, 0.0], "rome": [0.0, 1.0], "city": [1.0, 0.0]}
    for case, wanted in (
        ("either", [1, 0, 1]),
        ("keep", [1, 0, np.nan]),
        ("lower", [0, 0, 1]),
    ):
        found = word_similarities(["Rome", "rome", "City"], ["city"] * 3, vectors, case=case)
        np.testing.assert_array_equal(found.values, wanted)
        assert found.settings["case"] == case


def test_words_refuse():
    with raises(UsageError, code="unknown_choice", parameter="oov", says="'drop'"):
        word_similarities(FIRST, SECOND, VECTORS, oov="dropp")
    with raises(UsageError, code="unknown_choice", parameter="case"):
        word_similarities(FIRST, SECOND, VECTORS, case="upper")
    with raises(UsageError, code="required", parameter="fallback"):
        word_similarities(FIRST, SECOND, VECTORS, oov="fallback")
    with raises(UsageError, code="required", parameter="fallback"):
        word_similarities(FIRST, SECOND, VECTORS, fallback={})
    with raises(UsageError, code="wrong_type", parameter="target"):
        word_similarities(FIRST, SECOND, lambda word: None)
    with raises(InputError, code="other_dimensions", says="' and 3 for '"):
        word_similarities(["a"], ["b"], {"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]})
    with raises(InputError, code="wrong_shape", says="'b'"):
        word_similarities(["a"], ["b"], {"a": [1.0], "b": [float("nan")]})
    with raises(InputError, code="empty", parameter="oov"):
        word_similarities(["a"], ["b"], {}, oov="mean")
    with raises(InputError, code="empty", parameter="oov"):
        word_similarities(["a"], ["b"], StaticVectors([], np.empty((0, 2))), oov="mean")


def test_nothing_is_found():
    score = evaluate(Pairs("own", "wordsim", ["x", "y"], ["y", "z"], [1, 2]), VECTORS)
    assert (score.n, score.total, score.coverage) == (0, 2, 0.0)
    assert np.isnan([score.value, score.low, score.high]).all()
    assert score.notes == ("undefined for vectors: fewer than two pairs",)
    assert score.dropped == {"a word has no vector": 2}


def test_a_note_names_the_target_that_a_score_is_undefined_for():
    """Beside others that have one, on the command line, nobody could tell which it is."""
    pairs = Pairs("own", "wordsim", ["x", "y"], ["y", "z"], [1, 2])
    assert evaluate(pairs, VECTORS, name="v").notes == ("undefined for v: fewer than two pairs",)
    halves = Pairs("own", "wordsim", ["x", "y", "a"], ["y", "z", "b"], [1, 2, 3], subsets=["one", "one", "two"])
    assert evaluate(halves, VECTORS, name="v").notes[1] == "undefined for v in one: fewer than two pairs"


def made_words(n: int = 120, seed: int = 0):
    generator = np.random.default_rng(seed)
    names = [f"w{i}" for i in range(n)]
    matrix = generator.normal(size=(n, 5))
    rows = generator.integers(n, size=(2, 200))
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    cosine = (unit[rows[0]] * unit[rows[1]]).sum(1)
    gold = np.round(cosine + 0.5 * generator.normal(size=200), 1)
    first, second = ([names[i] for i in side] for side in rows)
    return Pairs("made", "wordsim", first, second, gold), StaticVectors(names, matrix), cosine


def test_score_is_that_of_scipy():
    pairs, vectors, cosine = made_words()
    score = evaluate(pairs, vectors, name="ours")
    assert score.value == pytest.approx(stats.spearmanr(cosine, pairs.gold).statistic, abs=1e-5)
    assert evaluate(pairs, vectors, settings=EvaluationSettings(metric="pearson")).value == pytest.approx(
        stats.pearsonr(cosine, pairs.gold).statistic, abs=1e-5
    )
    assert score.low < score.value < score.high
    assert 0.1 < score.high - score.low < 0.4
    assert (score.n, score.total, score.coverage) == (200, 200, 1.0)
    assert (score.task, score.target, score.metric, score.aggregation) == ("made", "ours", "spearman", "pooled")
    np.testing.assert_allclose(score.similarity, cosine, atol=1e-6)
    assert score.low == evaluate(pairs, vectors).low, "the same seed, the same interval"
    assert score.low != evaluate(pairs, vectors, settings=EvaluationSettings(seed=1)).low


def test_a_score_tells_what_the_file_lacked(tmp_path):
    (tmp_path / "set.txt").write_text("a\tb\t1\na\tc\t\nb\tc\t2\na\tx\t3\n")
    task = Task("own", "wordsim", (File(tmp_path / "set.txt", pairs=9),))
    score = evaluate(task, VECTORS)
    assert (score.n, score.total) == (2, 3)
    assert score.dropped == {"no gold score": 1, "a word has no vector": 1}
    assert score.notes == ("set.txt has 3 pairs and 1 without score, the release 9 and 0",)
    assert table([score])["dropped"][0] == "no gold score: 1; a word has no vector: 1"


def test_a_policy_changes_n_but_not_coverage():
    pairs, vectors, _ = made_words()
    some = StaticVectors(vectors.words[:90], vectors.matrix[:90])
    known = np.array([a in some and b in some for a, b in zip(pairs.first, pairs.second, strict=True)])
    dropped, zero = (evaluate(pairs, some, settings=EvaluationSettings(oov=oov)) for oov in ("drop", "zero"))
    assert (dropped.n, zero.n) == (known.sum(), 200)
    assert dropped.coverage == zero.coverage == pytest.approx(known.mean())
    assert dropped.rows.tolist() == np.flatnonzero(known).tolist()
    assert dropped.dropped == {"a word has no vector": int((~known).sum())}


# --- sentence similarity ------------------------------------------------------------------------


def test_texts_are_encoded_once():
    seen = []

    def encode(texts):
        seen.append(texts)
        return np.array([[len(text), 1.0] for text in texts])

    found = sentence_similarities(["a", "bb", "a"], ["bb", "bb", "ccc"], encode)
    assert seen == [["a", "bb", "ccc"]]
    wanted = [3 / np.sqrt(2 * 5), 1.0, 4 / np.sqrt(2 * 10)]
    np.testing.assert_allclose(found.values, wanted)
    arrays = [np.array([[len(t), 1] for t in side]) for side in (["a", "bb", "a"], ["bb", "bb", "ccc"])]
    np.testing.assert_allclose(sentence_similarities(["a", "bb", "a"], ["bb", "bb", "ccc"], arrays).values, wanted)


def test_tensors_are_taken():
    torch = pytest.importorskip("torch")
    x = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.bfloat16, requires_grad=True)
    np.testing.assert_allclose(sentence_similarities(["a"], ["b"], lambda _: x).values, [np.sqrt(0.5)])


def test_texts_without_vector():
    x = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    zero, drop = (sentence_similarities("ab", "cd", x, missing=missing) for missing in ("zero", "drop"))
    assert (zero.values.tolist(), zero.coverage, dict(zero.dropped)) == ([1.0, 0.0], 0.5, {})
    assert drop.kept.tolist() == [0]
    assert drop.dropped == {"a text's vector is zero": 1}
    assert drop.coverage == 0.5


def test_texts_refuse():
    x = np.ones((2, 3))
    for target, code in (
        (lambda texts: x, "wrong_shape"),
        ((x, x[:1]), "wrong_shape"),
        ((x, x[:, :2]), "wrong_shape"),
        (VECTORS, "wrong_type"),
        ((x, x * np.nan), "not_finite"),
        (lambda texts: np.array([["x"]] * 4), "wrong_type"),
    ):
        with raises((InputError, UsageError), code=code, parameter=None):
            sentence_similarities("ab", "cd", target)


def made_texts(seed: int = 0, *, noise: float = 1.0):
    """Three subsets whose gold has different offsets, so that pooling matters."""
    generator = np.random.default_rng(seed)
    sizes = {"one": 30, "two": 50, "three": 120}
    subsets = [name for name, size in sizes.items() for _ in range(size)]
    n = len(subsets)
    vectors = generator.normal(size=(2, n, 4))
    cosine = (vectors[0] * vectors[1]).sum(1) / np.linalg.norm(vectors, axis=2).prod(0)
    offset = np.array([{"one": 0.0, "two": 3.0, "three": -2.0}[name] for name in subsets])
    gold = np.round(cosine + offset + 0.3 * generator.normal(size=n), 2)
    texts = [f"text {i}" for i in range(2 * n)]
    pairs = Pairs("made", "sts", texts[:n], texts[n:], gold, subsets=subsets)
    other = vectors + noise * generator.normal(size=vectors.shape)
    return pairs, tuple(vectors), tuple(other), cosine


@pytest.mark.parametrize("metric", ["spearman", "pearson"])
def test_three_aggregations(metric):
    pairs, vectors, _, cosine = made_texts()
    oracle = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}[metric]
    rows = pairs.rows_of_subsets()
    parts = {name: oracle(cosine[r], pairs.gold[r]).statistic for name, r in rows.items()}
    wanted = {
        "pooled": oracle(cosine, pairs.gold).statistic,
        "mean": np.mean(list(parts.values())),
        "weighted": (30 * parts["one"] + 50 * parts["two"] + 120 * parts["three"]) / 200,
    }
    assert wanted["pooled"] < wanted["mean"] - 0.2
    assert abs(wanted["mean"] - wanted["weighted"]) > 1e-3
    for aggregation, value in wanted.items():
        score = evaluate(pairs, vectors, settings=EvaluationSettings(metric=metric, aggregation=aggregation))
        assert score.value == pytest.approx(value, abs=1e-9)
        assert score.low < score.value < score.high
        assert score.aggregation == aggregation
        assert {name: estimate.value for name, estimate in score.subsets.items()} == pytest.approx(parts)
        assert {name: estimate.n for name, estimate in score.subsets.items()} == {"one": 30, "two": 50, "three": 120}
    assert evaluate(pairs, vectors).aggregation == "pooled"


def test_the_interval_of_a_mean_comes_from_its_parts():
    """Standard errors of independent subsets add up in squares."""
    pairs, vectors, _, _ = made_texts()
    score = evaluate(pairs, vectors, settings=EvaluationSettings(aggregation="mean", draws=4000))
    widths = [estimate.high - estimate.low for estimate in score.subsets.values()]
    assert score.high - score.low == pytest.approx(np.sqrt(np.square(widths).sum()) / 3, rel=0.1)


def test_combine():
    parts, sizes = {"p": 0.2, "q": 0.8}, {"p": 3, "q": 1}
    assert [combine(0.9, parts, sizes, aggregation=way) for way in ("pooled", "mean", "weighted")] == pytest.approx(
        [0.9, 0.5, 0.35]
    )
    assert combine(0.9, {}, {}, aggregation="mean") == 0.9
    assert np.isnan(combine(0.9, {"p": 0.2, "q": np.nan}, sizes, aggregation="mean"))
    with raises(UsageError, code="unknown_choice", parameter="aggregation"):
        combine(0.9, parts, sizes, aggregation="median")


def test_a_subset_that_is_undefined():
    pairs, (first, second), _, _ = made_texts()
    first = first.copy()
    first[:30] = 0
    score = evaluate(pairs, (first, second), settings=EvaluationSettings(aggregation="mean", missing="zero"))
    assert np.isnan(score.value)
    assert score.notes == ("undefined in one: all cosines or all gold scores are equal",)
    assert score.subsets["one"].coverage == 0
    assert score.subsets["two"].coverage == 1
    dropped = evaluate(pairs, (first, second), settings=EvaluationSettings(aggregation="mean", missing="drop"))
    assert dropped.notes == ("undefined in one: fewer than two pairs",)
    assert (dropped.n, dropped.subsets["one"].n, dropped.subsets["one"].total) == (170, 0, 30)
    assert np.isnan(dropped.value)
    assert np.isnan(compare(dropped, dropped).p)
    assert np.isfinite(evaluate(pairs, (first, second), settings=EvaluationSettings(missing="drop")).value)


def test_without_subsets_all_aggregations_are_one():
    pairs, vectors, _ = made_words()
    score = evaluate(pairs, vectors, settings=EvaluationSettings(aggregation="mean"))
    assert score.aggregation == "pooled"
    assert {aggregation for _, aggregation, _ in score.estimates} == {"pooled"}


# --- two targets --------------------------------------------------------------------------------


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_compare_pooled(test):
    pairs, vectors, other, _ = made_texts()
    a, b = evaluate(pairs, vectors), evaluate(pairs, other)
    oracle = {"bootstrap": paired_bootstrap, "permutation": paired_permutation}[test]
    found = compare(a, b, test=test, draws=300, seed=4)
    wanted = oracle(a.similarity, b.similarity, pairs.gold, draws=300, seed=4)
    assert found.difference == pytest.approx(a.value - b.value)
    assert (found.p, found.n, found.test) == (wanted.p, 200, test)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), nan_ok=True)


@pytest.mark.parametrize("aggregation", ["mean", "weighted"])
@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_compare_within_subsets(test, aggregation):
    pairs, vectors, other, _ = made_texts(noise=3.0)
    a, b = (
        evaluate(pairs, target, settings=EvaluationSettings(aggregation=aggregation)) for target in (vectors, other)
    )
    found = compare(a, b, test=test)
    assert found.difference == pytest.approx(a.value - b.value)
    assert found.p < 0.01
    if test == "bootstrap":
        assert 0 < found.low < found.difference < found.high
    assert compare(a, a, test=test).p == 1


def test_compare_on_pairs_that_both_have():
    pairs, vectors, _ = made_words()
    left = StaticVectors(vectors.words[:100], vectors.matrix[:100])
    right = StaticVectors(vectors.words[20:], vectors.matrix[20:] ** 3)
    a, b = evaluate(pairs, left), evaluate(pairs, right)
    middle = set(vectors.words[20:100])
    rows = [i for i, pair in enumerate(zip(pairs.first, pairs.second, strict=True)) if set(pair) <= middle]
    found = compare(a, b)
    assert found.n == len(rows) < min(a.n, b.n)
    full = evaluate(pairs, vectors).similarity[rows], evaluate(pairs, StaticVectors(vectors.words, vectors.matrix**3))
    wanted = paired_bootstrap(full[0], full[1].similarity[rows], pairs.gold[rows])
    assert (found.difference, found.p) == pytest.approx((wanted.difference, wanted.p))


def test_compare_refuses():
    texts, vectors, _, _ = made_texts()
    words, static, _ = made_words()
    a = evaluate(texts, vectors)
    with raises(UsageError, code="not_comparable"):
        compare(a, evaluate(Pairs("other", "sts", texts.first, texts.second, texts.gold), vectors))
    with raises(UsageError, code="not_comparable"):
        compare(a, evaluate(Pairs("made", "sts", texts.first, texts.second, texts.gold[::-1]), vectors))
    with raises(UsageError, code="unknown_choice", parameter="test"):
        compare(evaluate(words, static), evaluate(words, static), test="t")


def test_compare_all():
    texts, vectors, other, _ = made_texts()
    words, static, _ = made_words()
    scores = {
        "x": {"texts": evaluate(texts, vectors), "words": evaluate(words, static)},
        "y": {"texts": evaluate(texts, other)},
        "z": {"texts": evaluate(texts, other[::-1]), "words": evaluate(words, static)},
    }
    rows = compare_all(scores, draws=200)
    assert [(row["target"], row["other"], row["task"]) for row in rows] == [
        ("x", "y", "texts"),
        ("x", "z", "texts"),
        ("x", "z", "words"),
        ("y", "z", "texts"),
    ]
    assert min(row["p_holm"] for row in rows) == pytest.approx(4 * min(row["p"] for row in rows))
    assert rows[2]["p"] == 1


# --- tables -------------------------------------------------------------------------------------


def test_table(tmp_path):
    texts, vectors, _, _ = made_texts()
    words, static, _ = made_words()
    scores = [
        evaluate(texts, vectors, name="m", settings=EvaluationSettings(aggregation="mean")),
        evaluate(words, static, name="v"),
    ]
    columns = table(scores)
    assert len(columns["task"]) == 2 * (3 + 3) + 2
    first = {name: values[0] for name, values in columns.items()}
    assert (first["target"], first["aggregation"], first["value"]) == ("m", "mean", scores[0].value)
    assert columns["subset"].count("two") == 2
    row = columns["subset"].index("two")
    assert (columns["n"][row], columns["total"][row], columns["coverage"][row]) == (50, 50, 1.0)
    assert "oov=drop case=either" in columns["settings"][-1]
    tables.write_csv(tmp_path / "scores.csv", columns)
    assert tables.read_csv(tmp_path / "scores.csv")["value"][0] == repr(scores[0].value)
    assert table([]) == {}
