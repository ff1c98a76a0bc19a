"""Each method gives what a few lines of numpy, or of transformers by itself, give."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from made import sentences
from refusals import raises

import limbeck as lb
from limbeck.corpus import Corpus
from limbeck.distillation.best import FEW
from limbeck.distillation.card import ORIGINS
from limbeck.distillation.methods import in_order, start_of
from limbeck.distillation.settings import TEMPLATES, DistillSettings
from limbeck.encoders import HuggingFaceEncoder
from limbeck.encoders.miniatures import miniature_folder
from limbeck.errors import LimbeckError, UsageError
from limbeck.runs.distilling.checks import settled
from limbeck.seeds import hash_occurrences
from limbeck.stream import TextSource, collect

WORDS = ["river", "unbelievable", "alembic", "kettle lamp", "polished"]


def tiny(family: str = "bert", **settings: Any) -> HuggingFaceEncoder:
    kind = tiny_models.FAMILIES[family]
    return HuggingFaceEncoder(tiny_models.model(family), tiny_models.tokenizer(kind), name=family, **settings)


def text() -> list[list[str]]:
    return [list(sentence.words) for sentence in sentences(150, documents=6)]


def collected(encoder: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every occurrence's vectors (layers, n, d), its word, its hash: by another way than the accumulators'."""
    found = collect(TextSource(Corpus.from_sentences(text()), encoder), deduplicate=True)
    return found.vectors.double().numpy(), np.array(found.strings), found.occurrences


@pytest.mark.parametrize("pool", ["mean", "min", "max"])
@pytest.mark.parametrize("pieces", ["mean", "min", "last"])
def test_average_is_that_of_all_collected_vectors(pool: str, pieces: str):
    encoder = tiny(pooling=pieces)
    made = lb.distill(encoder, text(), method=["average"], min_count=3, over_contexts=pool)
    vectors, strings, _ = collected(encoder)
    assert list(made) == [f"average-{layer}" for layer in encoder.layers]
    for number, one in enumerate(made.values()):
        assert len(one) > 15
        for row, word in enumerate(one.words):
            own = vectors[number][strings == word]
            np.testing.assert_allclose(one[word], getattr(own, pool)(axis=0), rtol=2e-6, atol=2e-6)
            assert one.counts[row] == len(own)
            assert one.origins[row] == "corpus"


@pytest.mark.parametrize("most", [5, 1000])
def test_principal_is_the_first_singular_vector_of_chosen_occurrences(most: int):
    encoder = tiny(layers="-1")
    made = lb.distill(encoder, text(), method="principal", min_count=3, max_contexts=most)
    vectors, strings, hashes = collected(encoder)
    signs = []
    for word in made.words:
        rows = np.flatnonzero(strings == word)
        rows = rows[np.argsort(hashes[rows])][:most]
        own = vectors[0][rows]
        first = np.linalg.svd(own, full_matrices=False)[2][0]
        signs.append(float(np.sign(first @ own.mean(axis=0))))
        np.testing.assert_allclose(made[word], first * signs[-1], atol=1e-5)
        assert made[word] @ own.mean(axis=0) > 0
        assert np.linalg.norm(made[word]) == pytest.approx(1, abs=1e-6)
    assert -1.0 in signs  # a library's own sign would have been wrong for some of them


def test_the_hash_of_an_occurrence_is_that_of_its_place():
    """What the test above takes for granted."""
    found = collect(TextSource(Corpus.from_sentences([["a", "b"], ["c", "a"]]), tiny(layers="-1")))
    assert found.occurrences.tolist() == hash_occurrences(found.sentences, np.array([0, 1, 0, 1])).tolist()


def test_methods_asked_for_together_cost_one_pass_and_are_the_same():
    encoder = tiny(layers="1,2")
    reads = []
    forward = encoder.forward
    encoder.forward = lambda batch: (reads.append(len(batch)), forward(batch))[1]  # type: ignore[method-assign]
    both = lb.distill(encoder, text(), method=["average", "principal"], min_count=3)
    together = sum(reads)
    reads.clear()
    apart = {
        name: one
        for method in ("average", "principal")
        for name, one in lb.distill(encoder, text(), method=[method], min_count=3).items()
    }
    assert sum(reads) == 2 * together
    assert list(both) == ["average-1", "average-2", "principal-1", "principal-2"]
    for name, one in both.items():
        np.testing.assert_array_equal(one.matrix, apart[name].matrix)


def hidden_states(model: Any, ids: list[int]) -> torch.Tensor:
    """(layers, pieces, d) by transformers itself."""
    with torch.no_grad():
        given = model(input_ids=torch.tensor([ids]), output_hidden_states=True)
    return torch.stack([state[0] for state in given.hidden_states])


POOLS = {
    "mean": lambda x: x.mean(1),
    "min": lambda x: x.min(1).values,
    "max": lambda x: x.max(1).values,
    "last": lambda x: x[:, -1],
}


@pytest.mark.parametrize("pooling", list(POOLS))
@pytest.mark.parametrize(("special_input", "special_mean"), [(True, False), (True, True), (False, False)])
def test_word_alone_is_what_transformers_gives(pooling: str, special_input: bool, special_mean: bool):
    encoder = tiny(pooling=pooling)
    made = lb.distill(encoder, words=WORDS, method=["word"], special_input=special_input, special_mean=special_mean)
    tokenizer = tiny_models.tokenizer("wordpiece uncased")
    several = 0
    for word in WORDS:
        ids = tokenizer(word, add_special_tokens=special_input)["input_ids"]
        states = hidden_states(tiny_models.model("bert"), ids)
        if special_input and not special_mean:
            states = states[:, 1:-1]
        several += states.shape[1] > 1
        want = POOLS[pooling](states)
        for number, one in enumerate(made.values()):
            np.testing.assert_allclose(one[word], want[number].numpy(), rtol=1e-5, atol=1e-5)
            assert one.origins[one.index(word)] == "alone"
    assert several > 2


def test_word_alone_of_a_decoder_keeps_its_only_position():
    made = lb.distill(tiny("gpt2", layers="-1"), words=["river", "unbelievable"], method="word")
    tokenizer = tiny_models.tokenizer("byte-level")
    for word in ("river", "unbelievable"):
        ids = tokenizer(" " + word)["input_ids"]
        states = hidden_states(tiny_models.model("gpt2"), ids)[-1]
        own = states[[tokenizer.decode(piece).strip() != "" for piece in ids]]  # a blank is no part of a word
        np.testing.assert_allclose(made[word], own.mean(0).numpy(), rtol=1e-5, atol=1e-5)


def test_word_alone_of_a_miniature():
    from transformers import AutoModel, AutoTokenizer

    folder = str(miniature_folder("mini-bert"))
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    vectors = lb.distill("mini-bert", words=["tea", "limbeck"], method="word")
    for word in ("tea", "limbeck"):
        want = hidden_states(model, tokenizer(word)["input_ids"])[-1][1:-1].mean(0)
        np.testing.assert_allclose(vectors[word], want.numpy(), rtol=1e-4, atol=1e-4)


def framed(template: str, word: str) -> torch.Tensor:
    """Last layer's mean over the pieces that lie in the word's characters."""
    tokenizer = tiny_models.tokenizer("wordpiece uncased")
    sentence = template.replace("{}", word)
    given = tokenizer(sentence, return_offsets_mapping=True)
    start = template.index("{}")
    inside = [a >= start and b <= start + len(word) and b > a for a, b in given["offset_mapping"]]
    return hidden_states(tiny_models.model("bert"), given["input_ids"])[-1][torch.tensor(inside)].mean(0)


@pytest.mark.parametrize("templates", [["the meaning of {}."], ["the meaning of {}.", "({})", "{} is old"]])
def test_frame_is_the_mean_over_templates(templates: list[str]):
    made = lb.distill(tiny(layers="-1"), words=WORDS, method="frame", template=templates)
    for word in WORDS:
        want = torch.stack([framed(template, word) for template in templates]).mean(0)
        np.testing.assert_allclose(made[word], want.numpy(), rtol=1e-5, atol=1e-5)


def test_each_way_has_an_origin_of_its_own():
    """`frame` is one sentence, the word's own pieces; `frames` are many, whole."""
    made = lb.distill(tiny(layers="-1"), text(), method=["word", "frame", "frames", "best"], words=["river", "barrel"])
    assert {name: list(one.origins) for name, one in made.items()} == {
        "word": ["alone", "alone"],
        "frame": ["frame", "frame"],
        "frames": ["frames", "frames"],
        "best": ["corpus", "frames"],
    }
    assert all(origin in ORIGINS for one in made.values() for origin in one.origins)


def test_teachers_that_know_whole_words_alone():
    """A function and a biLM: the mean over the words of an expression; special tokens are not theirs to choose."""

    def lengths(texts: Any) -> list[Any]:
        return [[[float(len(word)), 1.0] for word in text.words] for text in texts]

    vectors = lb.distill(lengths, words=["tea", "night train"], method="word")
    assert vectors["night train"].tolist() == [5.0, 1.0]
    with raises(UsageError, code="no_effect", parameter="special_mean"):
        lb.distill(lengths, words=["tea"], method="word", special_mean=True)
    elmo = lb.distill("mini-elmo", words=["tea", "green tea"], method="frame")
    assert elmo.matrix.any(axis=1).all()


def test_a_frame_that_is_the_default_of_another_method_is_heeded(tmp_path: Path):
    """`frames` has sentences of its own; "the meaning of {}." is what `frame` reads where nothing is said."""
    usual, given, other = (
        lb.distill(tiny(layers="-1"), words=WORDS, method="frames", **how)
        for how in ({}, {"template": ["the meaning of {}."]}, {"template": ["the {} of it."]})
    )
    assert np.abs(usual.matrix - given.matrix).max() > 1e-3
    assert np.abs(other.matrix - given.matrix).max() > 1e-3
    assert [len(made.record["settings"]["template"]) for made in (usual, given)] == [len(TEMPLATES), 1]
    best = lb.distill(tiny(layers="-1"), text(), method=["best", "average"], out=tmp_path / "v")
    assert best["best"].record["settings"]["template"] == list(TEMPLATES)
    assert best["average"].record["settings"]["template"] == ["the meaning of {}."]
    card = (tmp_path / "v" / "best" / "README.md").read_text()
    assert all(frame.replace("{}", "…") in card for frame in TEMPLATES)


def test_settings_that_nothing_heeds_are_refused_before_a_model_is_loaded():
    for options, code, parameter in (
        ({"sif": 1e-2}, "no_effect", "sif"),
        ({"special_mean": True}, "no_effect", "special_mean"),
        ({"special_input": False}, "no_effect", "special_input"),
        ({"max_contexts": 50}, "no_effect", "max_contexts"),
        ({"over_contexts": "max", "method": "contexts"}, "no_effect", "over_contexts"),
        ({"template": ["it is {}."], "method": "word"}, "no_effect", "template"),
        ({"template": ["it is {}."], "method": "average", "unseen": "drop"}, "no_effect", "template"),
        ({"preset": "paper"}, "no_effect", "preset"),
        ({"method": ""}, "required", "method"),
        ({"method": []}, "required", "method"),
    ):
        with pytest.raises(UsageError) as caught:
            lb.distill("no-such-model", "no-such-text", **options)
        assert (caught.value.code, caught.value.parameter) == (code, parameter)
    for options in (
        {"sif": 1e-2, "weighting": "sif"},
        {"special_mean": True, "unseen": "alone"},
        {"special_mean": False, "special_input": True},
        {"over_contexts": "max"},
        {"template": ["it is {}."]},
        {"template": ["it is {}."], "method": "x2static"},
    ):
        settled(DistillSettings(**options), "best")


def test_a_view_of_weight_0_is_not_made():
    calls: list[str] = []

    class Watched(HuggingFaceEncoder):
        def forward(self, batch: Any) -> Any:
            calls.append("read")
            return super().forward(batch)

    kind = tiny_models.tokenizer(tiny_models.FAMILIES["bert"])
    teacher = Watched(tiny_models.model("bert"), kind, name="bert", layers="-1")
    for weights, reads, origins in (
        ({}, {"frames", "average", "contexts"}, {"corpus"}),
        ({"frames": 0}, {"average", "contexts"}, {"corpus"}),
        ({"average": 0, "contexts": 0}, {"frames"}, {"frames"}),
    ):
        settings = DistillSettings(set={"best": weights})
        assert set(in_order(settings)) == {"best", *reads}
        calls.clear()
        made = lb.distill(teacher, text(), min_count=1, set={"best": weights})
        assert set(made.origins) == origins
        assert (len(calls) >= len(TEMPLATES)) == ("frames" in reads)  # as many sentences a word


def training(method: str, **settings: Any) -> dict[str, Any]:
    return {"method": method, "set": {method: settings}}


def test_settings_that_cannot_be_are_refused_before_a_model_is_loaded():
    for options, code, parameter in (
        ({"method": "averge"}, "unknown_choice", "method"),
        ({"over_contexts": "median"}, "unknown_choice", "over_contexts"),
        ({"template": ["no place"]}, "malformed", "template"),
        ({"template": []}, "required", "template"),
        ({"special_input": False, "special_mean": True}, "exclusive", "special_mean"),
        ({"repair": "all-but-the-tip"}, "unknown_choice", "repair"),
        ({"unseen": "guess"}, "unknown_choice", "unseen"),
        ({"set": {"average": {"epochs": 1}}, "method": "average"}, "no_effect", "set"),
        ({"set": {"word": {}}}, "no_effect", "set"),
        ({"set": 3}, "wrong_type", "set"),
        ({"start": "averge"}, "unknown_choice", "start"),
        ({"dim": 0}, "out_of_range", "dim"),
        ({"sif": 0.0}, "out_of_range", "sif"),
        ({"set": {"best": {"dim": "abc"}}}, "wrong_type", "set"),
        (training("best", frames=-1.0), "out_of_range", "set"),
        (training("best", frames=0, average=0, contexts=0), "out_of_range", "set"),
        (training("skipgram", kwargs=1), "unknown_choice", "set"),
        (training("x2static", preset=3), "unknown_choice", "set"),
        (training("skipgram", ngrams=(2, 3)), "unknown_choice", "set"),
        (training("cbow", buckets=100), "unknown_choice", "set"),
        (training("cbow-ngrams", ngrams=(3, 2)), "out_of_range", "set"),
        (training("cbow", learning_rate=math.inf), "out_of_range", "set"),
        (training("x2static", clamp=-1.0), "out_of_range", "set"),
        (training("x2static", clamp=math.inf), "out_of_range", "set"),
        (training("x2static", clamp=math.nan), "out_of_range", "set"),
        (training("x2static", exponent=math.nan), "out_of_range", "set"),
        (training("x2static", length=math.inf), "out_of_range", "set"),
        (training("x2static", context="masked", epochs=2), "exclusive", "set"),
        (training("regression", pull=math.inf), "out_of_range", "set"),
        ({"method": "x2static", "start": "x2static"}, "no_effect", "start"),
        ({"method": "regression", "start": "regression"}, "no_effect", "start"),
        ({"method": "skipgram", "start": "average"}, "no_effect", "start"),
    ):
        with pytest.raises(UsageError) as caught:
            lb.distill("no-such-model", "no-such-text", **options)
        assert (caught.value.code, caught.value.parameter) == (code, parameter), options
    with raises(UsageError, code="wrong_type", parameter="set", says="'abc'"):
        lb.distill("no-such-model", "no-such-text", **training("best", dim="abc"))


def test_settings_that_a_teacher_cannot_have_are_refused():
    words: dict[str, Any] = {"words": ["tea"]}
    text: dict[str, Any] = {"corpus": [["tea"]]}
    for options, code, parameter in (
        ({"method": "best", **words}, "required", "corpus"),
        ({"method": ["average", "frame", "principal"], **words}, "required", "corpus"),
        ({"method": "word"}, "required", "words"),
        ({"method": "frame", "weighting": "sif", **words}, "no_counts", "weighting"),
        ({"method": "word", "text_unit": "paragraph", **words}, "no_effect", "text_unit"),
        ({"set": {"best": {"dim": 300}}, **text}, "out_of_range", "set"),
        ({"method": "frame", "dim": 300, **words}, "out_of_range", "dim"),
        ({**training("x2static", layer=3), **text}, "unknown_choice", "set"),
        ({"method": "x2static,x2static", "start": "sent2vec", **text}, "other_dimensions", "start"),
        ({"method": "regression", "start": "sent2vec", **text}, "other_dimensions", "start"),
        ({"method": ["x2static", "sent2vec"], "start": "average", **text}, "other_dimensions", "start"),
    ):
        with pytest.raises(UsageError) as caught:
            lb.distill("mini-bert", **options)
        assert (caught.value.code, caught.value.parameter) == (code, parameter), options
        if code == "other_dimensions":
            assert "set sent2vec.dim=128" in str(caught.value)


def test_the_method_that_others_begin_from_has_its_own_start():
    settings = DistillSettings(method="x2static,regression,skipgram", start="x2static")
    starts = [start_of(name, settings) for name in ("x2static", "regression", "skipgram")]
    assert starts == ["", "x2static", ""]
    settings = DistillSettings(method="x2static,regression", start="regression")
    assert [start_of(name, settings) for name in ("x2static", "regression")] == ["regression", "average"]
    settings = DistillSettings(method="regression", start="none")
    assert start_of("regression", settings) == ""


def test_words_that_the_text_lacks_are_blamed_where_there_is_nothing_to_train():
    for methods, how in (("sent2vec", {}), ("x2static", {"unseen": "drop"})):
        with raises(LimbeckError, code="no_words", parameter="words"):
            lb.distill(tiny(), text(), words=["barrel"], method=methods, **how)


def test_a_note_says_where_frames_are_not_centered():
    few = lb.distill(tiny(layers="-1"), words=WORDS, method="frames", template=["it is {}."])
    many = [f"river {number}" for number in range(FEW)]
    enough = lb.distill(tiny(layers="-1"), words=many, method="frames", template=["it is {}."])
    assert [note for note in few.record["notes"] if "not centered" in note]
    assert enough.record["notes"] == []
