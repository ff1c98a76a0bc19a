"""Sentence similarity with SIF: the vectors' own sentence vectors are what the task must see."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from refusals import raises, refused
from scipy.stats import spearmanr

from limbeck import evaluation
from limbeck.cli import main
from limbeck.errors import InputError
from limbeck.evaluation.targets import TableTarget
from limbeck.repairs import Center
from limbeck.reporting.page.folders import Folder
from limbeck.reporting.page.packing import Pack
from limbeck.reporting.page.sections.scores import section
from limbeck.vectors import StaticVectors
from limbeck.vectors.word_counts import read_counts

QUICK = evaluation.EvaluationSettings(draws=20)

WORDS = [f"w{n}" for n in range(30)]
RNG = np.random.default_rng(0)
COUNTS = (1000 / np.arange(1, 31)).astype(int)
VECTORS = StaticVectors(WORDS, RNG.normal(size=(30, 8)) + 0.7, counts=COUNTS)
TEXTS = [" ".join(RNG.choice([*WORDS, "unknown"], size=RNG.integers(1, 7))) for _ in range(60)]
PAIRS = evaluation.Pairs("made", "sts", TEXTS[:30], TEXTS[30:], RNG.uniform(size=30))


def cosines(matrix):
    a, b = matrix[:30].astype(float), matrix[30:].astype(float)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.divide((a * b).sum(1), norms, out=np.zeros(30), where=norms > 0)


def test_sif_by_hand():
    """Weights, mean and removed direction written out; the direction by numpy's own decomposition."""
    share = COUNTS / COUNTS.sum()
    weights = dict(zip(WORDS, 1e-3 / (1e-3 + share), strict=True))
    rows = []
    for text in TEXTS:
        known = [word for word in text.split() if word in VECTORS]
        rows.append(sum((weights[w] * VECTORS[w].astype(float) for w in known), np.zeros(8)) / max(len(known), 1))
    matrix = np.array(rows)
    distinct = np.array([matrix[TEXTS.index(text)] for text in dict.fromkeys(TEXTS)])
    first = np.linalg.svd(distinct, full_matrices=False)[2][0]
    expected = cosines(matrix - np.outer(matrix @ first, first))
    score = evaluation.evaluate(PAIRS, TableTarget(VECTORS, weighting="sif"), settings=QUICK)
    np.testing.assert_allclose(score.similarity, expected, atol=1e-6)
    assert score.value == pytest.approx(spearmanr(expected, PAIRS.gold).statistic)
    assert score.settings["weighting"] == "sif"


def test_sif_is_that_of_the_vectors_themselves():
    texts = list(dict.fromkeys(TEXTS))
    own = VECTORS.sentences(texts, weighting="sif")
    matrix = own[[texts.index(text) for text in TEXTS]]
    score = evaluation.evaluate(PAIRS, TableTarget(VECTORS, weighting="sif"), settings=QUICK)
    np.testing.assert_allclose(score.similarity, cosines(matrix), atol=1e-5)
    plain = evaluation.evaluate(PAIRS, VECTORS, settings=QUICK)
    assert not np.allclose(plain.similarity, score.similarity, atol=0.05)


@pytest.mark.parametrize("weighting", ["mean", "sif"])
def test_one_way_to_sentences(weighting):
    """Texts in blocks, weights of a text's own size, words in another case: the target says what the vectors say."""
    texts = [*dict.fromkeys(TEXTS), "W1 w2 unknown", "", "unknown"]
    vectors = StaticVectors(WORDS, VECTORS.matrix, counts=COUNTS, total=20_000)
    target = TableTarget(vectors, weighting=weighting)
    rows = target.rows(texts)
    found = target.finish(rows.means(rows.of_layer("table")).numpy())
    np.testing.assert_allclose(found, vectors.sentences(texts, weighting=weighting), atol=1e-6)


def test_shares_are_of_the_text_not_of_the_table():
    """p(w0) is 1000 / 20,000: by hand a weight of 0.001 / (0.001 + 0.05) for a text of this one word."""
    knowing = StaticVectors(WORDS, VECTORS.matrix, counts=COUNTS, total=20_000)
    rows = TableTarget(knowing, weighting="sif").rows(["w0"])
    assert rows.weights == pytest.approx([0.001 / 0.051])
    assert rows.settings["of_words"] == "20000"
    assert TableTarget(knowing, weighting="sif").notes == ()
    unknowing = TableTarget(VECTORS, weighting="sif")
    assert unknowing.rows(["w0"]).weights == pytest.approx([0.001 / (0.001 + 1000 / COUNTS.sum())])
    assert "share of the table's words alone" in unknowing.notes[0]
    counted = TableTarget(VECTORS, weighting="sif", counts={"w0": 3}, total=60)
    assert counted.rows(["w0"]).weights == pytest.approx([0.001 / 0.051])


def test_repairs_come_before_the_weights():
    shifted = StaticVectors(WORDS, VECTORS.matrix - VECTORS.matrix.mean(0, dtype=np.float64), counts=COUNTS)
    one = evaluation.evaluate(PAIRS, TableTarget(shifted, weighting="sif"), settings=QUICK)
    fitted = Center().fit(VECTORS.matrix)
    two = evaluation.evaluate(PAIRS, TableTarget(VECTORS, weighting="sif"), repair=fitted, settings=QUICK)
    np.testing.assert_allclose(one.similarity, two.similarity, atol=1e-5)


def test_vectors_without_counts_are_refused():
    with raises(InputError, code="no_counts", parameter="counts"):
        TableTarget(StaticVectors(WORDS, VECTORS.matrix), weighting="sif")


def test_counts_of_a_file(tmp_path):
    path = tmp_path / "counts.txt"
    path.write_text("w0 12\nw1\t3\n\nnew york\t4\nw0 1\n")
    assert read_counts(path) == ({"w0": 13, "w1": 3, "new york": 4}, None)
    for wrong in ("many", "1_0", "１０", "-1", "1.5", "0x10"):
        path.write_text(f"w0 12\nw1 {wrong}\n", encoding="utf-8")
        with raises(InputError, code="malformed", says="txt:2:"):
            read_counts(path)


def test_counts_of_a_folder(tmp_path):
    StaticVectors(WORDS, VECTORS.matrix, counts=COUNTS, total=20_000).save(tmp_path / "v")
    counts, total = read_counts(tmp_path / "v")
    assert (counts["w0"], total) == (1000, 20_000)


def test_the_command(tmp_path, capsys):
    data = tmp_path / "data" / "STSBenchmark"
    data.mkdir(parents=True)
    scored = zip(TEXTS[:30], TEXTS[30:], PAIRS.gold * 5, strict=True)
    lines = [f"c\tf\t2012\t{n}\t{gold:.3f}\t{a}\t{b}\n" for n, (a, b, gold) in enumerate(scored)]
    (data / "sts-test.csv").write_text("".join(lines))
    file, counts = tmp_path / "v.vec", tmp_path / "counts.txt"
    StaticVectors(WORDS, VECTORS.matrix).save(file)
    counts.write_text("".join(f"{word} {count}\n" for word, count in zip(WORDS, COUNTS, strict=True)))
    given = ["evaluate", str(file), "--tasks", "sts-b", "--data", str(data), "--quiet", "--draws", "20"]
    values = []
    for more in ([], ["--weighting", "sif", "--counts", str(counts)]):
        out = tmp_path / f"out{len(more)}"
        assert main([*given, *more, "--out", str(out)]) == 0
        with (out / "scores.csv").open(newline="") as stream:
            values.append(next(csv.DictReader(stream)))
    expected = evaluation.evaluate(PAIRS, TableTarget(VECTORS, weighting="sif"), settings=QUICK).value
    assert float(values[1]["value"]) == pytest.approx(expected, abs=0.01)
    assert values[0]["value"] != values[1]["value"]
    assert "weighting=sif" in values[1]["settings"]
    assert refused(*given, "--weighting", "sif", capsys=capsys) == (1, "no_counts", "counts")
    for total, told in ((None, True), (20_000, False)):
        StaticVectors(WORDS, VECTORS.matrix, counts=COUNTS, total=total).save(tmp_path / "folder")
        assert main(["evaluate", str(tmp_path / "folder"), *given[2:], "--weighting", "sif"]) == 0
        assert ("folder: SIF: how many words the counted text had is not known" in capsys.readouterr().err) == told
    assert main([*given, "--counts", str(counts)]) == 2
    assert main(["evaluate", "mini-bert", "--tasks", "sts-b", "--data", str(data), "--weighting", "sif"]) == 2


def test_the_share_of_words_stands_beside_that_of_texts(tmp_path, capsys):
    """A text with one known word counts as covered; the words that are missing must be seen all the same."""
    table = StaticVectors(["a", "b"], [[1.0, 0.0], [0.6, 0.8]])
    first, second = ["a x x", "b", "a b", "x y"], ["b y y", "a", "a", "z"]
    pairs = evaluation.Pairs("made", "sts", first, second, [1.0, 3.0, 2.0, 0.0], subsets=["s", "s", "t", "t"])
    score = evaluation.evaluate(pairs, table, settings=QUICK)
    assert (score.coverage, score.word_coverage) == (0.75, pytest.approx(6 / 13))  # of different texts
    rows = score.table_rows()
    assert {row["word_coverage"] for row in rows if not row["subset"]} == {score.word_coverage}
    assert all(np.isnan(row["word_coverage"]) for row in rows if row["subset"])
    as_function = evaluation.evaluate(pairs, lambda texts: table.sentences(texts), settings=QUICK)
    assert np.isnan(as_function.word_coverage)

    table.save(tmp_path / "v.txt")
    (tmp_path / "data" / "STSBenchmark").mkdir(parents=True)
    lines = [
        f"main-captions\tM\t2012\t{n}\t{n % 5}.0\t{a}\t{b}\n"
        for n, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    (tmp_path / "data" / "STSBenchmark" / "sts-test.csv").write_text("".join(lines * 6), encoding="utf-8")
    asked = ["evaluate", str(tmp_path / "v.txt"), "--tasks", "sts-b", "--data", str(tmp_path / "data"), "--draws", "20"]
    assert main([*asked, "--out", str(tmp_path / "run")]) == 0
    assert "46.2 %" in capsys.readouterr().out
    with open(tmp_path / "run" / "scores.csv", encoding="utf-8") as file:
        assert {row["word_coverage"] for row in csv.DictReader(file) if not row["subset"]} == {str(6 / 13)}
    page = section([Folder(tmp_path / "run", "evaluate", "run", {})], Pack(), 1.0)
    assert page["rows"][0]["word_coverage"] == pytest.approx(6 / 13, abs=1e-3)
    assert main([*asked, "--quiet", "--json"]) == 0
    assert f'"word_coverage": {6 / 13}' in capsys.readouterr().out
