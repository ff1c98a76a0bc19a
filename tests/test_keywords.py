"""What is given to public functions: unknown names and values of another kind are told in one line."""

from __future__ import annotations

from dataclasses import fields
from inspect import signature

import numpy as np
import pytest
import torch
from refusals import raises

import limbeck as lb
from limbeck.corpus.formats import ReadingRules
from limbeck.corpus.settings import CorpusSettings
from limbeck.encoders import ElmoEncoder, HuggingFaceEncoder
from limbeck.encoders.settings import EncoderSettings, LoadingSettings
from limbeck.errors import UsageError
from limbeck.runs.measure import MeasureSettings

SENTENCES = [["green", "tea"], ["black", "tea"], ["black", "night"]]


@pytest.mark.parametrize(
    ("call", "unknown", "near"),
    [
        (lambda: lb.measure("mini-bert", SENTENCES, layer="12"), "layer", "layers"),
        (lambda: lb.measure("mini-bert", SENTENCES, corpora=1), "corpora", "corpus"),
        (lambda: lb.encode("mini-bert", SENTENCES, out="x", batch_token=8), "batch_token", "batch_tokens"),
        (lambda: lb.distill("mini-bert", SENTENCES, methods="average"), "methods", "method"),
        (lambda: lb.distill("mini-bert", SENTENCES, min_counts=1), "min_counts", "min_count"),
        (lambda: lb.distill("mini-bert", words=["tea"], dims=8), "dims", "dim"),
        (lambda: lb.probe("mini-bert", SENTENCES, epoch=1), "epoch", "epochs"),
        (lambda: lb.finetune("mini-bert", "pos", epoch=1), "epoch", "epochs"),
        (lambda: lb.repair("mini-bert", SENTENCES, method="center", weight=1, out="x"), "weight", "weights"),
        (lambda: lb.repair("mini-bert", SENTENCES, metod="center"), "metod", "method"),
        (lambda: lb.compare("a", "b", draw=1), "draw", "draws"),
    ],
)
def test_an_unknown_parameter_is_named_with_the_nearest(call, unknown, near):
    with pytest.raises(UsageError) as told:
        call()
    assert repr(unknown) in str(told.value)
    assert near in str(told.value)
    assert "__init__" not in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: lb.measure("mini-bert", SENTENCES, existing="resume"),
        lambda: lb.repair("mini-bert", SENTENCES, method="center", existing="replace"),
        lambda: lb.reproduce("ethayarajh2019", existing="resume"),
    ],
)
def test_existing_needs_a_folder(call):
    with raises(UsageError, code="no_effect", parameter="existing"):
        call()


def test_a_repair_needs_a_method():
    with raises(UsageError, code="required", parameter="method"):
        lb.repair("mini-bert", SENTENCES)


@pytest.mark.parametrize("value", [None, 3, {}, b"folder"])
def test_what_is_no_path_is_refused_in_one_line(value):
    result = lb.MeasureResult({}, {})
    for call, parameter in (
        (lb.load, "path"),
        (lb.run, "pipeline"),
        (lb.MeasureResult.load, "folder"),
        (lb.ReproduceResult.load, "folder"),
        (result.save, "folder"),
        (lb.ReproduceResult({}, {}).save, "folder"),
    ):
        with raises(UsageError, code="wrong_type", parameter=parameter):
            call(value)


def keywords(function) -> set[str]:
    return {one.name for one in signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY}


def names(*kinds) -> set[str]:
    return {one.name for kind in kinds for one in fields(kind)}


def test_every_option_of_a_corpus_is_a_keyword_of_corpus_and_in_its_record():
    assert keywords(lb.Corpus) == names(CorpusSettings) | {"characters"}
    assert names(CorpusSettings) <= lb.Corpus.from_text("A word.").describe().keys()
    for make in (lb.Corpus.from_text, lb.Corpus.from_texts, lb.Corpus.from_sentences):
        assert keywords(make) < keywords(lb.Corpus)
    assert keywords(ReadingRules.of) == names(ReadingRules) == keywords(lb.Corpus) - {"format", "encoding", "lowercase"}


def test_every_option_of_a_model_is_a_keyword_of_load_encoder_and_of_an_encoder():
    of_bilms = {"lowercase", "carry_state"}  # lowercase is an option of the text elsewhere
    assert keywords(lb.load_encoder) == names(EncoderSettings, LoadingSettings) | of_bilms | {"name", "batch_tokens"}
    of_loading = {"revision", "trust_remote_code"}
    assert keywords(HuggingFaceEncoder) == keywords(lb.load_encoder) - of_loading - of_bilms
    assert keywords(lb.load_encoder) > keywords(ElmoEncoder) > of_bilms


def test_settings_of_the_other_kind_of_encoder_are_refused():
    with raises(UsageError, code="no_effect", parameter="carry_state", says="carry_state"):
        lb.load_encoder("mini-bert", carry_state=True)
    with raises(UsageError, code="no_effect", parameter="pooling"):
        lb.load_encoder("mini-elmo", pooling="first", units="pieces", stack="encoder")
    with raises(UsageError, code="no_effect", parameter="stack"):
        lb.load_encoder("mini-elmo", stack="decoder")
    assert lb.load_encoder("mini-elmo", units="pieces", stack="encoder").units == "words"  # units may be a preset's


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch_tokens", "2"), ("window", 1.5), ("workers", "2"), ("keep_first", "yes"), ("out", 0), ("part", 1),
     ("layers", 1.5), ("pooling", 1), ("settings", 2), ("window", 0), ("context", [])],
)  # fmt: skip
def test_values_of_another_kind_are_refused_in_one_line(name, value):
    with pytest.raises(UsageError) as told:
        lb.measure("mini-bert", SENTENCES, **{name: value})
    assert name in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("settings", ["MeasureSettings", "DistillSettings", "ProbeSettings", "FinetuneSettings"])
def test_settings_refuse_text_in_the_place_of_numbers(settings):
    kinds = {
        "MeasureSettings": (MeasureSettings, "min_contexts"),
        "DistillSettings": (lb.distillation.DistillSettings, "min_count"),
        "ProbeSettings": (lb.probing.ProbeSettings, "hidden"),
        "FinetuneSettings": (lb.probing.FinetuneSettings, "epochs"),
    }
    kind, name = kinds[settings]
    with raises(UsageError, code="wrong_type", parameter=name):
        kind(**{name: "2"})
    assert getattr(kind(**{name: np.int64(2)}), name) == 2


@pytest.mark.parametrize("name", ["min_contexts", "max_words", "mev_words", "max_contexts", "points"])
def test_measure_settings_are_in_range(name):
    with raises(UsageError, code="out_of_range", parameter=name):
        MeasureSettings(**{name: -1})


def test_values_of_numpy_and_torch_become_plain_ones():
    given = {"draws": np.int64(7), "device": torch.device("cpu"), "learning_rate": np.float32(0.5)}
    found = lb.tasks.EvaluationSettings(**given)
    assert (found.draws, found.device, found.learning_rate) == (7, "cpu", (0.5,))
    assert type(found.draws) is int
    with raises(UsageError, code="wrong_type", parameter="draws"):
        lb.tasks.EvaluationSettings(draws=True)
