"""The folders that are shipped, and what is looked at: made of models trained for the test."""

from __future__ import annotations

import lzma
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from recipes import package, tokens
from recipes.kneser_ney import KneserNey
from recipes.miniatures import OUTPUT_WORDS, POSITIONS, Bidirectional, Causal, Masked
from recipes.neighbours import WORDS, markdown, neighbours, table_of
from recipes.scorers import UNKNOWN_WORD, BidirectionalScorer, WordGrams

SENTENCES = ["The river flows into the sea.", "A king and a queen live in london.", "Water and fire."] * 30


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "text.xz").write_bytes(lzma.compress(("\n\n".join(SENTENCES) + "\n").encode()))
    tokens.train_tokenizer([folder / "text.xz"]).save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.mark.parametrize(("task", "before", "after"), [(Masked, ["[CLS]"], ["[SEP]"]), (Causal, [], [])])
def test_a_packaged_transformer_is_an_ordinary_folder(tmp_path: Path, tokenizer: Path, task, before, after) -> None:
    made = task()
    made.save(tmp_path / "trained" / "model")
    package.package(tmp_path / "trained", tokenizer, tmp_path / "shipped")
    read = AutoTokenizer.from_pretrained(tmp_path / "shipped")
    assert read.model_max_length == POSITIONS
    assert read.tokenize("The river", add_special_tokens=True) == [*before, "the", "river", *after]
    model = AutoModel.from_pretrained(tmp_path / "shipped")
    assert model.dtype == torch.float32
    table = model.get_input_embeddings().weight
    assert torch.equal(table, made.table().half().float())
    assert stat.S_IMODE((tmp_path / "shipped" / "model.safetensors").stat().st_mode) & stat.S_IRGRP


@pytest.mark.parametrize("module", [package, tokens])
def test_wrong_input_is_told_in_one_line(module, tmp_path: Path, monkeypatch, capsys) -> None:
    typed = {package: [str(tmp_path)], tokens: ["words", str(tmp_path / "nothing.xz")]}[module]
    monkeypatch.setattr(sys, "argv", ["recipe", *typed, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stopped:
        module.main()
    assert stopped.value.code == 2
    assert "must be a f" in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_neighbours_are_those_of_the_centered_rows() -> None:
    words = list(WORDS[:12])
    vectors = torch.randn(12, 5, generator=torch.Generator().manual_seed(0)) + 10
    found = neighbours(words, vectors)
    x = vectors.double().numpy() - vectors.double().numpy().mean(0)
    cosines = (x @ x.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(x, axis=1))
    for row, word in enumerate(words):
        order = [words[i] for i in np.argsort(-cosines[row]) if i != row]
        assert found[word] == order[:6]


def test_beginnings_of_words_are_no_words(tmp_path: Path, tokenizer: Path) -> None:
    Masked().save(tmp_path / "trained" / "model")
    package.package(tmp_path / "trained", tokenizer, tmp_path / "shipped")
    words, rows = table_of(tmp_path / "shipped", {"river", "sea", "absent"})
    assert sorted(words) == ["river", "sea"]
    assert rows.shape == (2, 128)


def test_a_table_has_a_row_a_word_and_a_dash_where_a_word_is_missing() -> None:
    lines = markdown({"a": {"france": ["spain", "italy"]}, "b": {}}).splitlines()
    assert lines[:3] == ["| word | a | b |", "| --- | --- | --- |", "| france | spain, italy | - |"]
    assert len(lines) == 2 + len(WORDS)


@pytest.fixture(scope="module")
def bilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A biLM with a small vocabulary, its softmax beside it."""
    words = ["<S>", "</S>", "<UNK>", "the", "river", "flows", ".", "sea", *(f"w{i}" for i in range(OUTPUT_WORDS))]
    vocabulary = np.frombuffer("\n".join(words).encode(), dtype=np.uint8)
    task = Bidirectional({"vocabulary": vocabulary, "counts": np.ones(len(words), dtype=np.int64)})
    folder = tmp_path_factory.mktemp("bilm")
    task.save(folder / "model")
    return folder


def test_both_directions_are_the_softmax_of_what_stands_beside_a_word(bilm) -> None:
    folder = bilm
    scorer = BidirectionalScorer(folder / "model", softmax=folder)
    text = ["the", "river", "flows", ".", "unheard", "sea"]
    ahead, back = scorer.directions(text)
    whole = scorer(text)
    assert np.isnan(whole).tolist() == [False] * 4 + [True, False]
    np.testing.assert_allclose(whole[:4], (ahead[:4] + back[:4]) / 2)
    # what comes later changes nothing before it, nor what came before after it; sentences are read apart
    other = ["the", "river", "sea", "."]
    ahead_too, back_too = scorer.directions(other)
    np.testing.assert_allclose(ahead_too[:2], ahead[:2], atol=1e-5)
    assert abs(ahead_too[3] - ahead[3]) > 1e-6
    np.testing.assert_allclose(back_too[3], back[3], atol=1e-5)
    np.testing.assert_allclose(scorer(text[4:])[1], whole[5], atol=1e-5)
    # all words' probabilities at one place add up to one
    hidden = torch.randn(1, scorer._weight.shape[1])
    every = np.concatenate([scorer._chosen(hidden, np.array([number])) for number in range(50)])
    logits = torch.nn.functional.linear(hidden, scorer._weight, scorer._bias)[0].double()
    np.testing.assert_allclose(every, (logits - logits.logsumexp(0))[:50].numpy(), atol=1e-5)


def test_word_grams_read_marks_but_do_not_score_them() -> None:
    numbers_of = {"<S>": 0, "</S>": 1, "a": 3, "b": 4, ".": 5}

    def numbers(row):
        return np.array([numbers_of.get(word, UNKNOWN_WORD) for word in row])

    trained = numbers("<S> a b . </S> <S> b a . </S> <S> a a . </S>".split())
    model = KneserNey.fit(trained, vocabulary_size=6)
    found = WordGrams(model, numbers)(["a", "b", ".", "b", "x"])
    row = numbers("<S> a b . </S> <S> b x </S>".split())
    want = model.log_probabilities(row)[[1, 2, 3, 6, 7]]
    want[4] = np.nan
    np.testing.assert_allclose(found, want)
    single = WordGrams(model, numbers, unigrams=True)(["a", "b", ".", "b", "x"])
    assert single[1] == single[3]  # context means nothing to it
