"""Analogies beside a plain loop and beside gensim; every policy for missing words on a handful of vectors."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import raises

from limbeck import StaticVectors
from limbeck.errors import UsageError
from limbeck.evaluation import EvaluationSettings, Questions, TableTarget, compare_items, evaluate_words
from limbeck.evaluation import analogy_search as search
from limbeck.evaluation.analogy import MISSING
from limbeck.repairs import Center


def made(words: int = 700, dim: int = 40, questions: int = 300, seed: int = 0) -> tuple[StaticVectors, Questions]:
    """Vectors in which about half of the questions come out: pairs share an offset, with noise."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(words, dim))
    offsets = rng.normal(size=(3, dim))
    kinds = np.arange(words // 2) % 3
    matrix[1::2] = matrix[::2] + offsets[kinds] + rng.normal(size=(words // 2, dim)) * 1.5
    matrix *= rng.uniform(0.1, 10, size=(words, 1))
    names = [f"w{n}" for n in range(words)]
    asked, sections = [], []
    for _ in range(questions):
        kind = int(rng.integers(3))
        one, other = rng.choice(np.flatnonzero(kinds == kind), 2, replace=False)
        asked.append((names[2 * one], names[2 * one + 1], names[2 * other], names[2 * other + 1]))
        sections.append(["capital", "gram-plural", "gram-tense"][kind])
    groups = {"semantic": ["capital"], "syntactic": ["gram-plural", "gram-tense"]}
    order = rng.permutation(words)
    vectors = StaticVectors([names[at] for at in order], matrix[order])
    return vectors, Questions(asked, sections, groups)


def by_loop(vectors: StaticVectors, questions: Questions, method: str) -> np.ndarray:
    unit = vectors.matrix.astype(np.float64)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    right = []
    for a, b, c, d in questions.words:
        cos_a, cos_b, cos_c = (unit @ unit[vectors.index(word)] for word in (a, b, c))
        if method == "add":
            scores = cos_b - cos_a + cos_c
        else:
            cos_a, cos_b, cos_c = ((1 + x) / 2 for x in (cos_a, cos_b, cos_c))
            scores = cos_b * cos_c / (cos_a + 0.001)
        for word in (a, b, c):
            scores[vectors.index(word)] = -np.inf
        right.append(vectors.words[int(scores.argmax())] == d)
    return np.array(right, dtype=float)


@pytest.mark.parametrize("method", ["add", "mul"])
def test_as_a_plain_loop(method, monkeypatch):
    vectors, questions = made()
    wanted = by_loop(vectors, questions, method)
    assert 0.2 < wanted.mean() < 0.8, "both right and wrong ones are needed for a test"
    for block, looks in ((8192, 1 << 17), (128, 5), (64, 1 << 17)):  # one block, many, few looks at a time
        monkeypatch.setattr(search, "BLOCK", block)
        monkeypatch.setattr(search, "LOOKS", looks)
        score = evaluate_words(questions, vectors, settings=EvaluationSettings(analogy=method))
        np.testing.assert_array_equal(score.outcomes, wanted)
    assert score.metric == {"add": "3CosAdd", "mul": "3CosMul"}[method]
    assert score.value == wanted.mean()
    assert score.low < score.value < score.high
    assert len(score.estimates) == 2 * (1 + 2 + 3)
    other = "3CosMul" if method == "add" else "3CosAdd"
    beside = by_loop(vectors, questions, "mul" if method == "add" else "add")
    assert score.estimates[other, "mean", ""].value == beside.mean()
    for part, members in (("capital", {"capital"}), ("syntactic", {"gram-plural", "gram-tense"})):
        rows = [n for n, section in enumerate(questions.sections) if section in members]
        assert score.parts[part].value == pytest.approx(wanted[rows].mean())
        assert score.parts[part].n == len(rows)


@pytest.mark.parametrize("cut", [None, 400])
def test_as_gensim(tmp_path, cut):
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    vectors, questions = made(seed=3)
    theirs = keyed(vectors.dim)
    theirs.add_vectors(vectors.words, vectors.matrix)
    file = tmp_path / "questions.txt"
    both = zip(questions.sections, questions.words, strict=True)
    lines = [f": {section}\n{' '.join(words)}\n" for section, words in both]
    file.write_text("".join(lines))
    for dummy, oov in ((True, None), (False, "drop")):
        value, _ = theirs.evaluate_word_analogies(
            file, restrict_vocab=cut or len(vectors), case_insensitive=False, dummy4unknown=dummy
        )
        settings = EvaluationSettings(oov=oov, vocabulary=cut)
        score = evaluate_words(questions, TableTarget(vectors, case="keep"), settings=settings)
        assert score.value == pytest.approx(value, abs=1e-12)
    assert (score.n < len(questions)) == (cut is not None)
    assert score.dropped == ({MISSING: len(questions) - score.n} if cut else {})
    assert score.coverage == pytest.approx(score.n / len(questions))


KINGS = StaticVectors(
    ["king", "man", "woman", "queen", "Paris", "paris", "zero", "apple"],
    [[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, -1, 0], [-1, -1, 0], [0, 0, 0], [-1, 0, -1]],
)
ROYAL = ("man", "king", "woman", "queen")


def outcome(question, vectors=KINGS, case="either", fallback=None, **options):
    settings = EvaluationSettings(draws=1, **options)
    if isinstance(vectors, StaticVectors):
        oov = "fallback" if fallback else "drop"
        vectors = TableTarget(vectors, oov=oov, case=case, fallback=fallback)
    return evaluate_words(Questions([question], ["royal"]), vectors, settings=settings)


def test_as_one_question_after_the_other():
    """The search of a whole task and that of `StaticVectors.analogy` find the same answers."""
    vectors, questions = made(words=200, questions=60)
    score = evaluate_words(questions, vectors)
    right = [vectors.analogy(a, b, c)[0][0] == d for a, b, c, d in questions.words]
    assert score.outcomes.astype(bool).tolist() == right
    assert 0 < sum(right) < 60


def test_vectors_without_any_word():
    nothing = StaticVectors([], np.zeros((0, 3)))
    for oov in (None, "mean", "zero"):
        found = outcome(ROYAL, nothing, oov=oov)
        assert (found.value, found.coverage) == (0.0, 0.0)
    assert outcome(ROYAL, nothing, oov="drop").dropped == {MISSING: 1}
    near = {"man": [0, 1, 0], "king": [1, 1, 0], "woman": [0, 0, 1], "queen": [1, 0, 1]}
    assert outcome(ROYAL, nothing, oov="fallback", fallback=near).value == 1.0, "the fallback is all there is"


def test_own_words_do_not_answer():
    assert outcome(ROYAL).value == 1.0
    assert outcome(("man", "king", "woman", "woman")).value == 0.0, "an answer that is asked with can never be given"


def test_missing_words():
    absent = ("man", "king", "woman", "empress")
    assert outcome(absent).value == 0.0
    assert (outcome(absent).n, outcome(absent).coverage) == (1, 0.0)
    dropped = outcome(absent, oov="drop")
    assert dropped.n == 0
    assert np.isnan(dropped.value)
    assert dropped.dropped == {MISSING: 1}
    assert "undefined" in dropped.notes[0]
    assert outcome(("zero", "king", "woman", "queen")).coverage == 0.0, "a zero vector has no cosine"
    # mean: of the unit vectors, not of the vectors
    unit = KINGS.matrix / np.maximum(np.linalg.norm(KINGS.matrix, axis=1, keepdims=True), 1e-9)
    query = unit[0] - unit.mean(axis=0) + unit[2]
    scores = unit @ query
    scores[[0, 2, 6]] = -np.inf
    best = KINGS.words[int(scores.argmax())]
    assert outcome(("nobody", "king", "woman", best), oov="mean").value == 1.0
    assert outcome(("nobody", "king", "woman", "nothing"), oov="mean").value == 0.0
    scores = unit @ (unit[0] + unit[2])
    scores[[0, 2, 6]] = -np.inf
    assert outcome(("nobody", "king", "woman", KINGS.words[int(scores.argmax())]), oov="zero").value == 1.0
    found = outcome(absent, oov="fallback", fallback={"empress": np.array([2.0, 9.0, 2.0])})
    assert found.coverage == 0.0, "the table itself has it not"
    assert found.value == 0.0, "queen is nearer"
    near = np.array([1 / 2**0.5, 1 / 2**0.5 - 1, 1.0])  # king − man + woman themselves
    assert outcome(absent, oov="fallback", fallback={"empress": near}).value == 1.0
    assert outcome(absent, oov="fallback", fallback={"other": near}).value == 0.0


def test_case_and_vocabulary():
    shouted = ("MAN", "KING", "WOMAN", "QUEEN")
    assert outcome(shouted).value == 1.0
    assert outcome(shouted, case="keep").coverage == 0.0
    assert outcome(ROYAL, vocabulary=4).value == 1.0
    assert outcome(ROYAL, vocabulary=3).coverage == 0.0
    with raises(UsageError, code="out_of_range", parameter="vocabulary"):
        outcome(ROYAL, vocabulary=0)
    with raises(UsageError, code="unknown_choice", parameter="oov"):
        outcome(ROYAL, oov="droop")


def test_the_first_of_equal_words_answers():
    twins = StaticVectors(["man", "king", "woman", "queen", "twin"], KINGS.matrix[[1, 0, 2, 3, 3]])
    assert outcome(ROYAL, twins).value == 1.0
    assert outcome(("man", "king", "woman", "twin"), twins).value == 0.0


def test_as_the_peer_does():
    """Lower case wins where a table has both; questions lose their apostrophes; missing words are the mean."""
    vectors = StaticVectors(["Boys", "boys", "boy", "girl", "girls"], [[9, 9], [0, 2], [3, 0], [3, 0.5], [0.2, 2]])
    question = ("Boy", "boy's", "Girl", "girl's")
    assert outcome(question, vectors).coverage == 0.0
    web = outcome(question, vectors, preset="web")
    assert (web.value, web.coverage) == (1.0, 1.0)
    assert web.settings["vocabulary"] == 4
    assert web.settings["preset"] == "web"


def test_repairs_are_of_the_whole_table():
    vectors, questions = made(seed=5)
    moved = StaticVectors(vectors.words, vectors.matrix + 30.0)
    centered = StaticVectors(vectors.words, vectors.matrix - vectors.matrix.mean(axis=0))
    wanted = by_loop(centered, questions, "add")
    score = evaluate_words(questions, moved, repair=Center())
    assert (score.outcomes == wanted).mean() > 0.99
    assert evaluate_words(questions, moved).value < score.value - 0.1


def test_two_targets_are_compared_on_the_same_questions():
    vectors, questions = made(seed=1)
    worse = StaticVectors(vectors.words, vectors.matrix + np.random.default_rng(0).normal(size=vectors.matrix.shape))
    a, b = (evaluate_words(questions, one) for one in (vectors, worse))
    found = compare_items(a, b, draws=4000)
    assert found.difference == pytest.approx(a.value - b.value)
    assert found.n == len(questions)
    # the standard error of a mean of differences
    spread = (a.outcomes - b.outcomes).std() / np.sqrt(found.n)
    assert found.high - found.low == pytest.approx(2 * 1.96 * spread, rel=0.1)
    assert found.p < 0.05
    assert compare_items(a, a).p == 1.0
    with raises(UsageError, code="not_comparable"):
        compare_items(a, evaluate_words(questions, vectors, settings=EvaluationSettings(analogy="mul")))


def test_a_model_has_no_vocabulary():
    class Model:
        name, model, layers, dim = "model", "model", ("1",), 3

        def rows(self, texts): ...
        def describe(self): ...

    with raises(UsageError, code="unsupported"):
        outcome(ROYAL, Model())
    with raises(UsageError, code="wrong_type", parameter="target"):
        outcome(ROYAL, 3)


def test_of_words_with_one_vector_the_first_answers():
    """Scores of the others come out of another product than the answer's own, which may round otherwise."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        words = int(rng.integers(20, 400))
        matrix = rng.normal(size=(words, int(rng.integers(5, 60))))
        matrix = np.concatenate([matrix, matrix[rng.integers(words, size=words // 2)]])
        matrix = matrix[rng.permutation(len(matrix))]
        vectors = StaticVectors([f"w{n}" for n in range(len(matrix))], matrix)
        unit = vectors.matrix.astype(np.float64)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        asked, wanted = [], []
        for _ in range(30):
            a, b, c = rng.choice(len(matrix), 3, replace=False).tolist()
            scores = unit @ (unit[b] - unit[a] + unit[c])
            scores[[a, b, c]] = -np.inf
            alike = np.flatnonzero((vectors.matrix == vectors.matrix[scores.argmax()]).all(axis=1))
            twins = [twin for twin in alike.tolist() if twin not in (a, b, c)]
            if len(twins) == 1:
                continue  # few questions, so that the two products are of unlike shapes
            asked += [tuple(vectors.words[at] for at in (a, b, c, twin)) for twin in twins]
            wanted += [float(twin == twins[0]) for twin in twins]
        found = evaluate_words(Questions(asked, ["all"] * len(asked)), vectors, settings=EvaluationSettings(draws=1))
        assert found.outcomes.tolist() == wanted, seed


@pytest.mark.parametrize("method", ["add", "mul"])
@pytest.mark.parametrize("size", [6e-6, 2e-7])
def test_nearly_equal_words_are_told_apart(size, method):
    """Beside each answer stands a word that is hardly another, before or behind it, better or worse.

    With 2e-7 most of the two scores are equal in float32, and none in float64.
    """
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 200, 40))
    d = b - a + c + rng.normal(size=(200, 40))
    twin = d * (1 + rng.choice([-size, size], size=d.shape))
    names, order = [f"{name}{n}" for name in "abcde" for n in range(200)], rng.permutation(1000)
    vectors = StaticVectors([names[at] for at in order], np.concatenate([a, b, c, d, twin])[order])
    unit = vectors.matrix.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    asked = []
    for n in range(200):
        rows = {name: unit[vectors.index(f"{name}{n}")] for name in "abcde"}
        apart = (rows["d"] - rows["e"]) @ (rows["b"] - rows["a"] + rows["c"])
        if size / 20 < abs(apart) < size / 3:  # float32 may order it either way, its rounding of a, b and c does not
            asked += [(f"a{n}", f"b{n}", f"c{n}", f"{name}{n}") for name in "de"]
    wanted = by_loop(vectors, Questions(asked, ["all"] * len(asked)), method)
    assert 30 < wanted.sum() == len(asked) / 2
    found = evaluate_words(
        Questions(asked, ["all"] * len(asked)), vectors, settings=EvaluationSettings(analogy=method, draws=1)
    )
    assert found.outcomes.tolist() == wanted.tolist()
