"""What is gathered of embedding tables: rows, counts, bins, word pairs and early tables, against oracles."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import sentences
from made_tables import made_matrix, made_table, write_sets
from refusals import raises
from safetensors.numpy import save_file
from scipy.stats import pearsonr

from limbeck import StaticVectors
from limbeck.corpus import Corpus
from limbeck.errors import InputError
from limbeck.papers.estimates import CannotShow
from limbeck.papers.table_files import columns_of
from limbeck.papers.table_similarity import (
    COSINE,
    FEWEST_PAIRS,
    INNER,
    KeptPairs,
    Scores,
    SetScores,
    find_sets,
    keep_pairs,
    resampled,
    score_set,
)
from limbeck.papers.table_sources import WORD_VECTORS, open_table
from limbeck.papers.table_subjects import (
    FORMS,
    Gathering,
    in_bins,
    measure,
    reference_rows,
)
from limbeck.papers.table_training import find_early, read_training

MADE = sentences(60)
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def text() -> Corpus:
    return Corpus.from_sentences(MADE)


@pytest.fixture(scope="module", params=[("bert", "wordpiece uncased"), ("gpt2", "byte-level")], ids=lambda p: p[0])
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    from transformers.utils import logging

    family, kind = request.param
    folder = tmp_path_factory.mktemp("models") / family
    logging.disable_progress_bar()
    tiny_models.model(family).save_pretrained(folder)
    tiny_models.tokenizer(kind).save_pretrained(folder)
    logging.enable_progress_bar()
    return folder, family


# sources


def test_a_models_table_is_whole_and_its_tokens_are_counted(tiny: tuple[Path, str]) -> None:
    folder, family = tiny
    found = open_table(str(folder), text())
    model = tiny_models.model(family)
    assert found.matrix.shape == tuple(model.get_input_embeddings().weight.shape)  # all rows, with a token or without
    assert (found.name, found.kind, found.family) == (family, "pieces", {"bert": "BERT", "gpt2": "GPT-2"}[family])
    tokenizer = tiny_models.tokenizer({"bert": "wordpiece uncased", "gpt2": "byte-level"}[family])
    blank = " " if family == "gpt2" else ""
    counts: Counter[int] = Counter()
    for sentence in MADE:
        counts.update(tokenizer(blank + " ".join(sentence.words), add_special_tokens=False).input_ids)
    assert {row: int(found.counts[row]) for row in np.flatnonzero(found.counts)} == dict(counts)
    words = Counter(word for sentence in MADE for word in sentence.words)
    assert found.words.tolist() == sorted(words.values(), reverse=True)


def test_a_word_of_one_token_has_its_row(tiny: tuple[Path, str]) -> None:
    """As the tokeniser cuts it behind a blank; what it cuts up or does not know has none."""
    folder, family = tiny
    found = open_table(str(folder), text())
    tokenizer = tiny_models.tokenizer({"bert": "wordpiece uncased", "gpt2": "byte-level"}[family])
    some = 0
    for word in ["the", "river", "old", "zzxqj", "lamp", "a", "Snowman", "…", "中文"]:
        pieces = tokenizer((" " if family == "gpt2" else "") + word, add_special_tokens=False).input_ids
        single = len(pieces) == 1 and pieces[0] != tokenizer.unk_token_id
        assert found.row_of(word) == (pieces[0] if single else None), word
        some += single
    assert some


def test_word_vectors_are_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    StaticVectors(["the", "River", "owl"], np.eye(3)).save(path)
    found = open_table(str(path), text())
    assert (found.name, found.kind, found.family) == ("vectors.txt", "words", WORD_VECTORS)
    assert [found.row_of(word) for word in ("the", "The", "River", "river", "zzz")] == [0, 0, 1, None, None]
    words = Counter(word for sentence in MADE for word in sentence.words)
    assert found.counts.tolist() == [words["the"], 0, words["owl"]]


def test_a_bilms_words_stand_in_the_place_of_a_table() -> None:
    from limbeck.encoders import load_encoder
    from limbeck.stream.collected import collect_texts

    found = open_table("mini-elmo", text())
    words = Counter(word for sentence in MADE for word in sentence.words)
    assert (found.kind, found.family, found.matrix.shape) == ("words", "ELMo", (len(words), 128))
    assert sorted(found.counts.tolist(), reverse=True) == found.counts.tolist()
    # the vector is the word's own, whatever stands beside it
    beside = collect_texts(load_encoder("mini-elmo", layers="0", device="cpu"), [["an", "owl", "fell"]])
    np.testing.assert_allclose(found.matrix[found.row_of("owl")], beside.vectors[0, 1, :128].numpy(), atol=1e-5)


def test_a_folder_without_a_tokenizer_is_one_line(tiny: tuple[Path, str], tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "broken"
    shutil.copytree(tiny[0], folder)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    with raises(InputError, code="incomplete"):
        open_table(str(folder), text())


# bins


def test_reference_rows_are_the_unused_or_the_last() -> None:
    tokens = [f"[unused{i}]" if i < 20 else f"w{i}" for i in range(100)]
    rows, named = reference_rows(made_table(made_matrix(100), tokens=tokens))
    assert (rows.tolist(), named) == (list(range(20)), "20 unused tokens")
    rows, named = reference_rows(made_table(made_matrix(100)))
    assert (rows.tolist(), named) == (list(range(75, 100)), "last 25 rows")
    rows, named = reference_rows(made_table(made_matrix(5000)))
    assert (len(rows), rows[0], named) == (1000, 4000, "last 1,000 rows")


def test_bins_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.papers.table_subjects.BIN", 10)
    matrix = made_matrix(35)
    units = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    counts = np.zeros(35, dtype=np.int64)
    counts[[30, 3, 7, 12, 4, 9, 11, 2, 1, 0, 20, 21]] = np.arange(12, 0, -1)
    reference = np.arange(25, 35)
    by_id = in_bins(matrix, reference, counts, order="id")
    assert by_id.cosines[0] == pytest.approx(np.mean([units[i] @ units[j] for i in reference for j in range(10)]))
    apart = [units[i] @ units[j] for i in reference for j in range(20, 30) if i != j]
    assert by_id.cosines[2] == pytest.approx(np.mean(apart))
    assert by_id.own.tolist() == [False, False, False, True]
    measured = in_bins(matrix, reference, counts, order="measured")
    first = [30, 3, 7, 12, 4, 9, 11, 2, 1, 0]
    told = [units[i] @ units[j] for i in reference for j in first if i != j]
    assert measured.cosines[0] == pytest.approx(np.mean(told))
    assert measured.unseen.tolist() == [False, False, True, True, True]  # rows that occur and others do not mix
    with_selves = in_bins(matrix, reference, counts, order="id", self_pairs=True)
    assert with_selves.cosines[3] == pytest.approx(
        np.mean([units[i] @ units[j] for i in reference for j in range(30, 35)])
    )


# word pairs


@pytest.fixture
def pairs() -> tuple[KeptPairs, dict[str, np.ndarray], np.ndarray]:
    generator = np.random.default_rng(1)
    rows = generator.integers(0, 30, size=(50, 2))
    gold = generator.uniform(0, 10, size=50)
    forms = {"raw": made_matrix(30), "centered": made_matrix(30) - made_matrix(30).mean(axis=0)}
    return KeptPairs(rows, gold, 77), forms, np.arange(30)


def test_scores_are_scipys(pairs: tuple[KeptPairs, dict[str, np.ndarray], np.ndarray]) -> None:
    kept, forms, place = pairs
    found = score_set(kept, forms, place, seed=0)
    assert (found.kept, found.total, found.enough) == (50, 77, True)
    for form, rows in forms.items():
        a, b = rows[kept.rows[:, 0]], rows[kept.rows[:, 1]]
        inner = [x @ y for x, y in zip(a, b, strict=True)]
        angle = [x @ y / np.linalg.norm(x) / np.linalg.norm(y) for x, y in zip(a, b, strict=True)]
        assert found.values[form, INNER] == pytest.approx(pearsonr(inner, kept.gold).statistic)
        assert found.values[form, COSINE] == pytest.approx(pearsonr(angle, kept.gold).statistic)


def test_resampling_is_pearson_on_repeated_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    from limbeck.seeds import generator_for

    monkeypatch.setattr("limbeck.papers.table_similarity.REPLICATES", 20)
    generator = np.random.default_rng(2)
    x, gold = generator.normal(size=40), generator.normal(size=40)
    drawn = resampled({("raw", INNER): x}, gold, seed=3)["raw", INNER]
    weights = generator_for(3, "reproduce", "pairs").multinomial(40, np.full(40, 1 / 40), size=20)
    for value, times in zip(drawn, weights, strict=True):
        assert value == pytest.approx(pearsonr(np.repeat(x, times), np.repeat(gold, times)).statistic)


def test_differences_are_paired(pairs: tuple[KeptPairs, dict[str, np.ndarray], np.ndarray]) -> None:
    """The interval of a difference knows that both sides have the same pairs."""
    kept, forms, place = pairs
    scores = Scores({"men": score_set(kept, forms | {"same": forms["raw"]}, place, seed=0)})
    none = scores.contrast({("raw", INNER): 1.0, ("same", INNER): -1.0})
    assert (none.value, none.error) == (0.0, 0.0)
    apart = scores.contrast({("raw", INNER): 1.0, ("centered", INNER): -1.0})
    alone = scores.mean("raw", INNER)
    assert apart.value == pytest.approx(alone.value - scores.mean("centered", INNER).value)
    assert 0 < alone.error < 0.5


def test_sets_with_few_pairs_do_not_count(pairs: tuple[KeptPairs, dict[str, np.ndarray], np.ndarray]) -> None:
    kept, forms, place = pairs
    few = KeptPairs(kept.rows[: FEWEST_PAIRS - 1], kept.gold[: FEWEST_PAIRS - 1], 99)
    whole, none = score_set(kept, forms, place, seed=0), score_set(few, forms, place, seed=0)
    assert not none.enough
    assert math.isnan(none.values["raw", INNER])
    scores = Scores({"men": whole, "rw": none})
    assert scores.mean("raw", INNER).value == pytest.approx(whole.values["raw", INNER])
    with pytest.raises(CannotShow, match="no set has 20 pairs"):
        Scores({"rw": none}).mean("raw", INNER)
    with pytest.raises(CannotShow, match="no such average"):
        Scores({}, {("raw", INNER): 0.5}).mean("centered", INNER)


def test_kept_pairs_are_those_of_two_tokens(tmp_path: Path) -> None:
    table = made_table(made_matrix(40))
    sets, missing = find_sets(write_sets(tmp_path, table.tokens, pairs=30, names=["EN-MEN-TR-3k.txt"]))
    assert list(sets) == ["men"]
    assert missing == f"no files of RW, SimLex-999, WS-353 sim., WS-353 rel. under {tmp_path}"
    kept = keep_pairs(sets["men"], table, {})
    assert (len(kept.gold), kept.total) == (30, 31)
    lines = (tmp_path / "EN-MEN-TR-3k.txt").read_text().splitlines()
    for (a, b), gold, line in zip(kept.rows, kept.gold, lines, strict=False):
        assert line == f"w{a}\tw{b}\t{gold:.2f}"


def test_without_data_it_says_what_is_missing(tmp_path: Path) -> None:
    sets, missing = find_sets(None)
    assert sets == {}
    assert "MEN, RW, SimLex-999, WS-353 sim., WS-353 rel." in missing
    assert "--data" in missing
    assert find_sets(tmp_path)[0] == {}
    with raises(InputError, code="not_found", parameter="data"):
        find_sets(tmp_path / "none")


@pytest.mark.data
@pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there")
def test_the_five_sets_are_found_and_miniatures_keep_hundreds_of_pairs() -> None:
    sets, missing = find_sets(SHARED)
    assert (len(sets), missing) == (5, "")
    table = open_table("mini-gpt2", text())
    kept = {name: len(keep_pairs(task, table, {}).gold) for name, task in sets.items()}
    assert kept["men"] > 500
    assert all(count > FEWEST_PAIRS for count in kept.values())


# a table with everything


def test_repairs_are_those_of_the_paper() -> None:
    """Eq. 9 to 11 and scaled centring written out, over all rows alike."""
    matrix = made_matrix(150, 120)
    found = measure(made_table(matrix), Gathering())
    mean = matrix.mean(axis=0)
    _, vectors = np.linalg.eigh((matrix - mean).T @ (matrix - mean))
    top = vectors[:, -2:]  # ⌈120 / 100⌉
    removed = (matrix - mean) - (matrix - mean) @ top @ top.T
    original = (matrix - mean) - matrix @ top @ top.T
    assert found.geometry["centered"].mean_norm == pytest.approx(np.linalg.norm(matrix - mean, axis=1).mean())
    assert found.geometry["components"].mean_norm == pytest.approx(np.linalg.norm(removed, axis=1).mean())
    assert found.geometry["components_uncentered"].mean_norm == pytest.approx(np.linalg.norm(original, axis=1).mean())
    np.testing.assert_allclose(original - removed, np.tile(-(mean @ top @ top.T), (150, 1)), atol=1e-12)


def test_projections_are_on_the_singular_vectors() -> None:
    matrix = made_matrix(60)
    found = measure(made_table(matrix), Gathering()).projection["raw"]
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(np.abs(found), np.abs(left[:, :2] * values[:2]), atol=1e-9)
    assert (found.mean(axis=0) >= 0).all()


def test_presets_differ_in_what_they_count(tmp_path: Path) -> None:
    table = made_table(made_matrix(40))
    sets, _ = find_sets(write_sets(tmp_path, table.tokens))
    corrected, released = (measure(table, Gathering(sets, preset=preset)) for preset in ("corrected", "released"))
    assert (corrected.components, released.components) == ("components", "components_2")
    assert released.bins["id"].cosines[0] > corrected.bins["id"].cosines[0]  # rows meet themselves
    assert set(corrected.scores.sets["men"].values) == {(form, way) for form in FORMS for way in (INNER, COSINE)}


def test_tables_of_numbers_have_what_was_measured(tmp_path: Path) -> None:
    table = made_table(made_matrix(40))
    sets, _ = find_sets(write_sets(tmp_path, table.tokens))
    found = measure(table, Gathering(sets))
    files = columns_of([found])
    assert files["geometry.csv"]["form"] == ["raw", "centered", "components", "components_uncentered"]
    assert files["geometry.csv"]["mean_norm"][0] == found.geometry["raw"].mean_norm
    assert len(files["singular_values.csv"]["value"]) == 4 * 12
    assert len(files["similarity.csv"]["pearson"]) == 5 * 6 * 2
    assert set(files["similarity.csv"]["pairs"]) == {60}
    assert files["training.csv"]["tokens"] == []
    for columns in files.values():
        assert len({len(column) for column in columns.values()}) == 1


# in the course of training


def early(folder: Path, name: str, tables: dict[str, Any], *, tokens: int | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"early-{name}.safetensors"
    save_file({moment: np.ascontiguousarray(table, dtype=np.float16) for moment, table in tables.items()}, path)
    if tokens is not None:
        (folder / f"{name}.csv").write_text(f"step,tokens,loss\n1,5,3.0\n9,{tokens},2.0\n")
    return path


def test_training_is_read_in_order_with_its_end(tmp_path: Path) -> None:
    last = made_matrix(80, shift=2.0)
    tables = {"16M": 0.9 * last[::4], "4M": made_matrix(80, shift=1.0)[::4], "0M": made_matrix(80, shift=0.0)[::4]}
    path = early(tmp_path / "early", "made", tables, tokens=40_000_000)
    assert find_early("made", None, tmp_path / "early") == path
    found = read_training(path, last, name="made")
    assert found.moments == ["0M", "4M", "16M", "40M (end)"]
    assert found.tokens == (0, 4_000_000, 16_000_000, 40_000_000)
    assert (found.rows, found.finished) == (20, True)
    mean = last[::4].mean(axis=0)
    shift = np.linalg.norm(mean) / np.linalg.norm(last[::4], axis=1).mean()
    assert found.shift[-1] == pytest.approx(shift)
    assert (np.diff(found.shift[:2]) > 0).all()


def test_a_table_of_other_rows_is_not_the_end(tmp_path: Path) -> None:
    path = early(tmp_path, "made", {"0M": made_matrix(20), "4M": made_matrix(20, seed=1)}, tokens=9_000_000)
    assert not read_training(path, made_matrix(80, seed=7), name="made").finished
    assert not read_training(path, made_matrix(81), name="made").finished  # no whole number of rows for each
    (tmp_path / "made.csv").unlink()
    assert read_training(path, np.repeat(made_matrix(20, seed=1), 4, axis=0), name="made").moments == ["0M", "4M"]


def test_early_tables_beside_the_model_are_found(tmp_path: Path) -> None:
    assert find_early("x", tmp_path, None) is None
    save_file({"0M": np.ones((2, 2), dtype=np.float32)}, tmp_path / "early.safetensors")
    assert find_early("x", tmp_path, None) == tmp_path / "early.safetensors"


def test_files_that_are_no_training_are_refused(tmp_path: Path) -> None:
    path = early(tmp_path, "made", {"weights": np.ones((2, 2))})
    with raises(InputError, code="incomplete"):
        read_training(path, np.ones((2, 2)), name="made")
    path = early(tmp_path, "made", {"1M": np.ones((2, 2))})
    (tmp_path / "made.csv").write_text("a,b\n1,2\n")
    with raises(InputError, code="incomplete"):
        read_training(path, np.ones((2, 2)), name="made")


def test_set_scores_know_when_they_are_too_few() -> None:
    assert not SetScores(FEWEST_PAIRS - 1, 100, {}).enough
