"""What is given to public functions: unknown names and values of another kind are told in one line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import raises

import limbeck as lb
from limbeck.errors import UsageError
from limbeck.parameters import check_fields, takes
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
        (lambda: lb.load_encoder("mini-bert", layer=1), "layer", "layers"),
        (lambda: lb.repair("mini-bert", SENTENCES, method="center", weight=1, out="x"), "weight", "weights"),
        (lambda: lb.compare("a", "b", draw=1), "draw", "draws"),
        (lambda: lb.tasks.evaluate(None, None, metrics="pearson"), "metrics", "metric"),
    ],
)
def test_an_unknown_parameter_is_named_with_the_nearest(call, unknown, near):
    with pytest.raises(UsageError) as told:
        call()
    assert repr(unknown) in str(told.value)
    assert near in str(told.value)
    assert "__init__" not in str(told.value)
    assert "\n" not in str(told.value)


def test_settings_of_the_other_kind_of_encoder_are_refused():
    with raises(UsageError, code="no_effect", parameter="carry_state", says="carry_state"):
        lb.load_encoder("mini-bert", carry_state=True)


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


@takes()
def plain(a=0, *, count: int = 3, size: float | None = None, path: str | Path = "x", device: str = "auto"):
    return a, count, size, path, device


def test_values_of_numpy_and_torch_become_plain_ones_and_none_is_the_default():
    found = plain(count=np.int64(7), size=np.float32(0.5), device=torch.device("cpu"))
    assert found == (0, 7, 0.5, "x", "cpu")
    assert type(found[1]) is int
    assert plain(count=None) == plain()
    assert plain(path=Path("y"))[3] == Path("y")
    with pytest.raises(UsageError):
        plain(count=True)


def test_fields_of_a_dataclass_are_checked():
    @dataclass(frozen=True)
    class Own:
        many: tuple[int, ...] = ()
        rate: float = 0.1

        def __post_init__(self):
            check_fields(self)

    assert Own(rate=np.float64(2)).rate == 2
    with raises(UsageError, code="wrong_type", parameter="rate"):
        Own(rate="0.1")
