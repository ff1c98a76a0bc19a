"""The six sets of single sentences: files of one class, encodings, divisions, and the command with vector files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from refusals import raises, refused
from sklearn.metrics import f1_score

from limbeck.cli import main
from limbeck.encoders import TableEncoder
from limbeck.errors import InputError, UsageError
from limbeck.evaluation import EvaluationSettings
from limbeck.evaluation.classifying import ClassifySet, Examples, classify, classify_tasks
from limbeck.evaluation.classifying.catalogue import SENTENCES, find_some, load_table
from limbeck.evaluation.classifying.result import mean_over_tasks
from limbeck.evaluation.classifying.scores import resampled, score
from limbeck.evaluation.suites import find_tasks
from limbeck.vectors import StaticVectors

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SIX = ["cr", "mr", "mpqa", "subj", "trec", "sst-5"]


def put(folder, path, text, encoding="utf-8"):
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding=encoding)


def put_cr(folder, count=40):
    put(folder, "CR/custrev.neg", "".join(f"a bad {n} phone\n" for n in range(count)) + "\n \n")
    put(folder, "CR/custrev.pos", "".join(f"a fine {n} phone\n" for n in range(count)))
    return folder


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- reading -------------------------------------------------------------------------------------


def test_a_set_without_a_split_is_divided_by_chance(tmp_path):
    task = classify_tasks(put_cr(tmp_path), "cr")["cr"]
    data = task.read()
    parts = [data.train, data.dev, data.test]
    assert [len(part) for part in parts] == [48, 16, 16]  # 60, 20 and 20 per cent of 80; blank lines are none
    texts = [text for part in parts for text in part.texts[0]]
    assert len(set(texts)) == len(texts) == 80
    for part in parts:
        assert [("fine" in text) for text in part.texts[0]] == (part.labels == 1).tolist()
        assert 0.2 < part.labels.mean() < 0.8  # not file after file
    assert task.read().test.texts == data.test.texts
    assert task.read(seed=1).test.texts != data.test.texts
    assert data.reported == "test"
    assert "no split: divided by chance into 48 + 16 + 16" in data.notes[-1]


def test_examples_that_are_on_both_sides_are_told(tmp_path):
    put(tmp_path, "CR/custrev.neg", "so bad\n" * 50)
    put(tmp_path, "CR/custrev.pos", "".join(f"fine {n}\n" for n in range(50)))
    data = classify_tasks(tmp_path, "cr")["cr"].read()
    again = sum(text == "so bad" for text in data.test.texts[0])
    assert f"of the last {again} are word for word among the others" in data.notes[-1]


def test_bytes_that_are_not_utf8(tmp_path):
    put(tmp_path, "SUBJ/subj.objective", "the caf\u00e9 \u2019tis\n" * 5, "cp1252")
    put(tmp_path, "SUBJ/subj.subjective", "plain\n" * 5)
    data = classify_tasks(tmp_path, "subj")["subj"].read()
    assert {text for part in (data.train, data.dev, data.test) for text in part.texts[0]} == {
        "the café \u2019tis",
        "plain",
    }


def test_a_label_that_ends_before_a_mark(tmp_path):
    put(tmp_path, "TREC/train_5500.label", "DESC:manner How so : why ?\nNUM:date When ?\n", "iso-8859-1")
    put(tmp_path, "TREC/TREC_10.label", "HUM:ind Who ?\n")
    data = classify_tasks(tmp_path, "trec")["trec"].read()
    assert data.train.texts == (["How so : why ?", "When ?"],)
    assert [data.classes[label] for label in data.train.labels] == ["DESC", "NUM"]
    assert (data.dev, data.reported, len(data.test)) == (None, "test", 1)


def test_a_dev_of_its_own(tmp_path):
    for split, text in (("train", "4 great\n0 awful\n"), ("dev", "2 so so\n"), ("test", "3 fine\n1 poor\n")):
        put(tmp_path, f"SST/stsa.fine.{split}", text)
    task = classify_tasks(tmp_path, "sst-5")["sst-5"]
    data = task.read()
    assert (data.reported, data.dev.texts, data.test.labels.tolist()) == ("test", (["so so"],), [3, 1])
    assert task.read("dev").dev is None
    assert task.read("dev").test.texts == (["so so"],)


def test_what_is_missing_says_where_it_is_to_be_had(tmp_path):
    put(tmp_path, "CR/custrev.neg", "bad\n")
    with raises(InputError, code="incomplete", parameter="data"):
        classify_tasks(tmp_path, "cr")
    (tmp_path / "nothing").mkdir()
    with raises(InputError, code="incomplete", parameter="data"):
        find_some(tmp_path / "nothing", [], SIX)


@pytest.mark.parametrize(
    "files",
    [
        '{ split = "all", path = "a", label = "x" }, { split = "test", path = "b", label = "y" }',
        '{ split = "all", path = "a", label = "x" }, { split = "all", path = "b", label = "x" }',
        '{ split = "all", path = "a" }',
    ],
)
def test_tables_that_cannot_be(tmp_path, files):
    table = tmp_path / "own.toml"
    table.write_text(f'[[task]]\nname = "own"\nkind = "single"\nclasses = ["x", "y"]\ntexts = [1]\nfiles = [{files}]\n')
    with raises(InputError, code="malformed", says="task 'own'"):
        load_table(table)


@pytest.mark.data
@pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there")
@pytest.mark.parametrize(
    ("name", "sizes", "counts"),
    [  # examples, and those of each class, as the page beside the data has them, blank lines left out
        ("cr", [2263, 754, 754], [1366, 2405]),
        ("mr", [6397, 2133, 2132], [5331, 5331]),
        ("mpqa", [6362, 2120, 2121], [7292, 3311]),
        ("subj", [6000, 2000, 2000], [5000, 5000]),
        ("trec", [5452, 0, 500], [95, 1300, 1344, 1288, 916, 1009]),
        ("sst-5", [8544, 1101, 2210], [1510, 3140, 2242, 3111, 1852]),
    ],
)
def test_the_released_sets(name, sizes, counts):
    data = classify_tasks(SHARED, name)[name].read()
    parts = [data.train, data.dev, data.test]
    assert [0 if part is None else len(part) for part in parts] == sizes
    labels = np.concatenate([part.labels for part in parts if part is not None])
    assert np.bincount(labels).tolist() == counts
    assert not any("known file" in note or "the release" in note for note in data.notes)
    assert all("\ufffd" not in text for text in data.train.texts[0])


def test_a_task_of_two_groups_is_scored_once(tmp_path):
    put_cr(tmp_path)
    for asked in (["classify", "classify-sentences"], ["cr", "classify-sentences"], ["classify-sentences"]):
        assert [task.name for _, task in find_tasks(tmp_path, asked)] == ["cr"]


def test_the_table_names_all_six():
    assert list(load_table(SENTENCES)) == SIX
    assert all(task.licence and task.citation and task.source for task in load_table(SENTENCES).values())


# --- scores --------------------------------------------------------------------------------------


def test_macro_f1_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for classes, n in ((2, 40), (6, 30), (5, 7)):  # of seven examples, some classes are never met
        gold, predicted = rng.integers(classes, size=n), rng.integers(classes, size=(3, n))
        expected = [f1_score(gold, row, average="macro", zero_division=0) for row in predicted]
        np.testing.assert_allclose(score(predicted, gold, metric="macro-f1"), expected)


def test_macro_f1_of_one_class_predicted():
    gold = np.array([0] * 8 + [1] * 2)
    assert score(np.zeros(10, dtype=int), gold, metric="macro-f1") == pytest.approx((16 / 18 + 0) / 2)


def test_resampled_macro_f1_by_hand():
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(3, size=25), rng.integers(3, size=(2, 25))
    found = resampled(predicted, gold, metric="macro-f1", draws=400, seed=0)
    by_hand = []
    for _ in range(150):
        rows, runs = rng.integers(25, size=25), rng.integers(2, size=2)
        by_hand.append(np.mean([f1_score(gold[rows], predicted[run][rows], average="macro") for run in runs]))
    assert abs(found.mean() - np.mean(by_hand)) < 0.03
    assert abs(found.std() - np.std(by_hand)) < 0.025


# --- a linear classifier -------------------------------------------------------------------------


def test_a_linear_classifier_cannot_do_what_hidden_units_can():
    """Same sign or not, in two dimensions: no line parts them."""
    rng = np.random.default_rng(0)
    points = rng.choice([-1.0, 1.0], size=(400, 2)) + rng.normal(size=(400, 2)) * 0.1
    encoder = TableEncoder(StaticVectors([f"w{n}" for n in range(400)], points))
    exclusive, plain = (points[:, 0] * points[:, 1] > 0).astype(int), (points[:, 0] > 0).astype(int)

    def value(labels, hidden):
        whole = Examples(([f"w{n}" for n in range(400)],), labels)
        data = ClassifySet("made", "single", ("a", "b"), whole[np.arange(300)], whole[np.arange(300, 400)])
        settings = EvaluationSettings(hidden=hidden, starts=1, epochs=10, learning_rate=0.05, draws=10)
        return classify(data, encoder, {"baseline": None}, settings).summary("baseline").value

    assert value(plain, 0) > 0.9
    assert value(exclusive, 20) > 0.95
    assert value(exclusive, 0) < 0.85  # three of the four corners at best


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """A file of vectors that knows fine from bad, and one that does not."""
    rng = np.random.default_rng(0)
    words = ["a", "bad", "fine", "phone"]
    good = rng.normal(size=(4, 5)) * 2
    poor = good.copy()
    poor[1] = poor[2]
    paths = []
    for name, matrix in (("good", good), ("poor", poor)):
        lines = [f"{word} {' '.join(f'{x:.4f}' for x in row)}" for word, row in zip(words, matrix, strict=True)]
        paths.append(str(tmp_path / f"{name}.vec"))
        Path(paths[-1]).write_text(f"4 {matrix.shape[1]}\n" + "\n".join(lines) + "\n")
    return paths


QUICK = ["--runs", "2", "--epochs", "4", "--draws", "100"]


def test_two_files_side_by_side(tmp_path, files, capsys):
    data, out = put_cr(tmp_path / "data"), tmp_path / "out"
    given = ["evaluate", *files, "--tasks", "classify-sentences", "--data", str(data), "--learning-rate", "1e-3,3e-2"]
    assert main([*given, *QUICK, "--out", str(out)]) == 0
    good, poor = rows_of(out / "classify.csv")
    assert (good["target"], poor["target"]) == ("good.vec", "poor.vec")
    assert float(good["accuracy"]) == float(good["macro_f1"]) == 1.0
    assert float(poor["accuracy"]) < 0.7
    for words in ("classifier=cnn", "embeddings=frozen", "learning_rates=0.001|0.03", "epochs=2-4", "words_found=240"):
        assert words in good["settings"]
    assert (good["trained"], good["held_out"], good["n"], good["starts"], good["split"]) == (
        "64",
        "16",
        "16",
        "2",
        "test",
    )
    (compared,) = rows_of(out / "comparisons.csv")
    assert float(compared["difference"]) == pytest.approx(float(poor["value"]) - float(good["value"]))
    assert float(compared["high"]) < 0
    epochs = rows_of(out / "epochs.csv")
    assert {row["learning_rate"] for row in epochs if row["target"] == "good.vec"} <= {"0.001", "0.03"}
    printed = capsys.readouterr().out
    assert "100.0 ± 0.0" in printed
    assert "75.0 %" in printed  # words that have a vector: all but the numbers
    assert (out / "figures" / "epochs.png").exists()


def test_a_model_beside_a_file(tmp_path, files, capsys):
    data, out = put_cr(tmp_path / "data"), tmp_path / "out"
    given = ["evaluate", files[0], "mini-bert", "--tasks", "cr", "--data", str(data), *QUICK, "--out", str(out)]
    assert main([*given, "--hidden", "0"]) == 0
    rows = rows_of(out / "classify.csv")
    assert [(row["target"], row["setting"]) for row in rows] == [("good.vec", "baseline"), ("mini-bert", "baseline")]
    assert "classifier=cnn" in rows[0]["settings"]
    assert "hidden=0" in rows[1]["settings"]
    assert {row["n"] for row in rows} == {"16"}
    assert len(rows_of(out / "comparisons.csv")) == 1
    capsys.readouterr()


def test_a_transductive_repair_of_a_file_keeps_the_convolution(tmp_path, files):
    data, out = put_cr(tmp_path / "data"), tmp_path / "out"
    given = ["evaluate", files[0], "--tasks", "cr", "--data", str(data), *QUICK, "--out", str(out)]
    assert main([*given, "--transductive", "--method", "center"]) == 0
    rows = rows_of(out / "classify.csv")
    assert [row["setting"] for row in rows] == ["baseline", "center"]
    assert all("classifier=cnn" in row["settings"] for row in rows)


@pytest.mark.parametrize(
    ("options", "code", "parameter"),
    [
        (["--classifier", "tree"], "unknown_choice", "classifier"),
        (["--embeddings", "warm"], "unknown_choice", "embeddings"),
        (["--classifier", "mlp", "--embeddings", "tuned"], "no_effect", "embeddings"),
        (["--classifier", "cnn", "--hidden", "5"], "no_effect", "hidden"),
        (["--classifier", "mlp", "--oov", "mean"], "no_effect", "oov"),
        (["--learning-rate", "1e-3,x"], "wrong_type", "learning_rate"),
        (["--weighting", "sif"], "no_effect", "weighting"),
    ],
)
def test_refusals(tmp_path, files, capsys, options, code, parameter):
    data = put_cr(tmp_path / "data")
    given = ["evaluate", files[0], "--tasks", "cr", "--data", str(data), *QUICK, *options]
    assert main(given) == 2
    with pytest.raises(UsageError) as caught:
        main([*given, "--debug"])
    assert (caught.value.code, caught.value.parameter) == (code, parameter)


def test_a_convolution_of_a_model_is_refused(tmp_path, capsys):
    data = put_cr(tmp_path / "data")
    given = ["evaluate", "mini-bert", "--tasks", "cr", "--data", str(data), *QUICK, "--classifier", "cnn"]
    assert refused(*given, capsys=capsys) == (2, "unsupported", "classifier")


def test_words_without_a_vector_keep_their_place_or_not(tmp_path, files):
    data, found = put_cr(tmp_path / "data"), []
    for how in ("drop", "zero"):
        out = tmp_path / how
        given = ["evaluate", files[0], "--tasks", "cr", "--data", str(data), *QUICK, "--oov", how, "--out", str(out)]
        assert main(given) == 0
        found.append(rows_of(out / "epochs.csv")[0]["loss"])
        assert f"oov={how}" in rows_of(out / "classify.csv")[0]["settings"]
    assert found[0] != found[1]


def test_means_over_tasks_are_made_run_by_run(tmp_path):
    """Each run's mean over tasks, then mean and deviation over runs, as in Table 5 of the paper."""
    from limbeck.evaluation.classifying.result import Classified
    from limbeck.evaluation.classifying.suite import ClassifyScore

    def one(task, right):
        gold = np.zeros(4, dtype=np.int64)
        predicted = np.array([[[0] * n + [1] * (4 - n)] for n in right], dtype=np.int16)[None]
        flat = np.zeros((1, len(right), 1))
        told = {
            "reported": "test",
            "settings": ("baseline",),
            "seeds": tuple(range(len(right))),
            "trained": 1,
            "held": 1,
        }
        result = Classified(
            task=task, encoder="e", metric="accuracy", available=1, majority=0.5, dropped={}, notes=(), used={},
            gold=gold, predictions=predicted, held_out=flat, losses=flat, **told,
        )  # fmt: skip
        return ClassifyScore(result, "baseline", "e")

    (found,) = mean_over_tasks([one("x", [4, 2]), one("y", [2, 2])]).values()
    assert found[0] == 2
    np.testing.assert_allclose(found[2], [0.75, 0.5])
    assert mean_over_tasks([one("x", [4, 2])]) == {}
