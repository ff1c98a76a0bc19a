"""Texts, rows and loaded models in the place of paths and names: the same numbers as of files and folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import raises, refused

import limbeck as lb
from limbeck.encoders.loading import load_parts
from limbeck.encoders.miniatures import miniature_folder
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.evaluation import EvaluationSettings, Pairs, evaluate
from limbeck.runs.execution.sources import open_corpus, open_encoder

QUICK = EvaluationSettings(draws=5)

TEXTS = ["Green tea is good. Black tea is better.", "A black night.\nA good tea."]
WORDS = [
    ("Green", "tea", "is", "good", "."),
    ("Black", "tea", "is", "better", "."),
    ("A", "black", "night", "."),
    ("A", "good", "tea", "."),
]


@pytest.fixture(scope="module")
def parts():
    return load_parts("mini-bert")


def sentences(corpus):
    return [(sentence.words, sentence.document) for sentence in open_corpus(corpus)]


@pytest.mark.parametrize("kind", [list, tuple, np.array, iter, lambda texts: [{"text": text} for text in texts]])
def test_texts_are_documents_split_by_rules(kind):
    assert sentences(kind(TEXTS)) == list(zip(WORDS, [0, 0, 1, 1], strict=True))


def test_a_column_of_a_table_is_a_list_of_texts():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert sentences(pandas.Series(TEXTS)) == sentences(TEXTS)
    with raises(UsageError, code="wrong_type", parameter="corpus"):
        open_corpus(pandas.DataFrame({"text": TEXTS}))


def test_lists_of_paths_stay_paths(tmp_path):
    one, other = tmp_path / "a file.txt", tmp_path / "b.txt"
    one.write_text(TEXTS[0])
    other.write_text(TEXTS[1])
    expected = list(zip(WORDS, [0, 0, 1, 1], strict=True))
    assert sentences([str(one), str(other)]) == expected
    assert sentences(iter([one, other])) == expected
    with raises(UsageError, code="wrong_type", parameter="corpus"):
        open_corpus([str(one), TEXTS[0]])
    with raises(InputError, code="not_found", says="b2.txt"):
        open_corpus([str(one), str(tmp_path / "b2.txt")])
    with raises(InputError, code="not_found", parameter="corpus"):
        open_corpus(TEXTS[0])


def test_a_command_line_names_files_alone(tmp_path, capsys):
    assert refused(
        "measure", "--model", "mini-bert", "--corpus", "no such file.txt", "--out", tmp_path / "o", capsys=capsys
    ) == (1, "not_found", "")


def test_options_that_do_nothing_are_refused():
    with raises(UsageError, code="no_effect", parameter="language"):
        open_corpus([["a", "b"]], language="de")
    with raises(UsageError, code="no_effect", parameter="format"):
        open_corpus(TEXTS, format="prose")


@pytest.mark.parametrize(
    "corpus", [0, 1.5, b"abc", {}, object(), [None], [1, 2], [["a", 1]], np.eye(3), "", [], [""], [[]], [[""]]]
)
def test_what_is_no_corpus_is_refused_in_one_line(corpus):
    with pytest.raises(LimbeckError) as told:
        lb.measure("mini-bert", corpus, layers="0")
    assert "\n" not in str(told.value)


def test_a_loaded_model_is_the_model_of_its_name(parts):
    named = open_encoder("mini-bert", layers="0,12")
    for model in ((parts.model, parts.tokenizer), parts.model, lb.load_encoder(parts.model)):
        options = {} if hasattr(model, "prepare") else {"layers": "0,12"}
        found = open_encoder(model, **options)
        assert found.model_fingerprint == named.model_fingerprint
    settings = {"min_contexts": 2}
    own = lb.measure((parts.model, parts.tokenizer), TEXTS, layers="12", **settings)
    assert own.name == "mini-bert"
    assert own["anisotropy"].value == lb.measure("mini-bert", TEXTS, layers="12", **settings)["anisotropy"].value


def test_a_model_without_its_tokenizer_says_so(parts):
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    with raises(UsageError, code="incomplete", parameter="model"):
        lb.measure(BertModel(config), TEXTS)


def test_a_sentence_transformer_is_the_model_inside(parts):
    library = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    modules = pytest.importorskip("sentence_transformers.base.modules", reason="sentence-transformers 6 is needed")
    pooling = pytest.importorskip("sentence_transformers.sentence_transformer.modules").Pooling(128)
    inside = modules.Transformer(str(miniature_folder("mini-bert")))
    whole = library.SentenceTransformer(modules=[inside, pooling], device="cpu")
    settings = {"min_contexts": 2}  # the pooler, which is in the fingerprint, is drawn anew
    own, named = (lb.measure(model, TEXTS, layers="12", **settings) for model in (whole, "mini-bert"))
    assert own["anisotropy"].value == named["anisotropy"].value


@pytest.mark.parametrize("model", [None, "", [], 0, 1.5, b"abc", {}, object(), [None, None], torch.nn.Linear(2, 2)])
def test_what_is_no_model_is_refused_in_one_line(model):
    with pytest.raises(LimbeckError) as told:
        lb.measure(model, TEXTS)
    assert "\n" not in str(told.value)


def test_a_loaded_model_is_evaluated_as_its_folder_is(parts):
    pairs = Pairs("own", "sts", ["A dog.", "Rain falls.", "He ran."], ["A cat.", "It rains.", "Tea."], [3.0, 5.0, 1.0])
    expected = evaluate(pairs, lb.load_encoder("mini-bert", layers="-1", units="pieces"), settings=QUICK)
    for model in (parts.model, (parts.model, parts.tokenizer)):
        np.testing.assert_array_equal(evaluate(pairs, model, settings=QUICK).similarity, expected.similarity)


def test_results_are_compared_as_their_folders_are(tmp_path):
    runs = [lb.measure(name, "sample", layers="0,12", out=tmp_path / name) for name in ("mini-bert", "mini-gpt2")]
    of_folders = lb.compare(*(Path(tmp_path / run.name) for run in runs))
    of_results = lb.compare(*runs)
    assert of_results.notes == of_folders.notes
    assert [row["measure"] for row in of_results.rows] == [row["measure"] for row in of_folders.rows]
    for name in ("a", "b", "difference", "low", "high", "p", "n"):
        one, other = ([row[name] for row in found.rows] for found in (of_results, of_folders))
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    with raises(UsageError, code="wrong_type", parameter="b") as caught:
        lb.compare(runs[0], 3)
    assert (caught.value.code, caught.value.parameter) == ("wrong_type", "b")
