"""Repair, fewer dimensions, frequency weights, precision: done to the vectors once they are distilled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import sentences
from refusals import raises

import limbeck as lb
from limbeck.distillation import DistilledVectors
from limbeck.distillation.finishing import finish, reduced, sif_weights
from limbeck.distillation.settings import DistillSettings
from limbeck.encoders import HuggingFaceEncoder
from limbeck.errors import InputError, LimbeckError, UsageError


@pytest.fixture(scope="module")
def teacher() -> HuggingFaceEncoder:
    kind = tiny_models.tokenizer("wordpiece uncased")
    return HuggingFaceEncoder(tiny_models.model("bert"), kind, name="bert", layers="-1")


def text() -> list[list[str]]:
    return [list(sentence.words) for sentence in sentences(100, documents=4)]


def distilled(teacher: Any, **options: Any) -> DistilledVectors:
    return lb.distill(teacher, text(), min_count=1, **options, method="average")


def test_principal_components_are_scikit_learns_up_to_the_rule_of_signs():
    from sklearn.decomposition import PCA

    x = np.random.default_rng(0).normal(size=(50, 8)) * np.arange(8, 0, -1) + 3
    seen = np.arange(50) < 40
    got, told = reduced(x, seen, 3)
    oracle = PCA(3, svd_solver="full").fit(x[seen])
    want = oracle.transform(x)
    signs = np.sign((got * want).sum(axis=0))
    np.testing.assert_allclose(got, want * signs, atol=1e-9)
    assert told["variance"] == pytest.approx(oracle.explained_variance_ratio_.sum(), abs=1e-6)
    for axis, sign in zip(oracle.components_, signs, strict=True):
        assert (axis * sign)[np.abs(axis).argmax()] > 0


def test_fewer_dimensions(teacher: HuggingFaceEncoder):
    made = distilled(teacher, dim=5)
    whole = distilled(teacher)
    x = whole.matrix.astype(float) - whole.matrix.mean(axis=0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(made.matrix @ made.matrix.T, (u * s)[:, :5] @ (u * s)[:, :5].T, atol=1e-3)
    assert made.dim == 5
    with raises(UsageError, code="out_of_range", parameter="dim", says="16"):
        distilled(teacher, dim=17)
    with raises(LimbeckError, code="too_few", parameter="dim", says="16"):
        lb.distill(teacher, text(), words=["the", "river", "rose", "and"], dim=16)


def test_frequency_weights_are_of_real_counts(teacher: HuggingFaceEncoder):
    plain, made = (
        distilled(teacher, add_words=["barrel"]),
        distilled(teacher, weighting="sif", sif=0.01, add_words=["barrel"]),
    )
    words = [word for sentence in {tuple(s): None for s in text()} for word in sentence]
    assert plain.record["counts"]["words"] == len(words)
    for word in made.words:
        weight = 0.01 / (0.01 + words.count(word) / len(words))
        np.testing.assert_allclose(made[word], plain[word] * weight, rtol=1e-5)
    assert sif_weights(np.array([0]), 10, 1e-3).tolist() == [1.0]
    assert "weighting" in [step["step"] for step in made.record["finishing"]]
    assert "weighting" not in [step["step"] for step in plain.record["finishing"]]
    with raises(UsageError, code="no_counts", parameter="weighting"):
        lb.distill(teacher, words=["a"], method=["word"], weighting="sif")


def test_a_repair_is_fitted_on_the_words_of_the_text(teacher: HuggingFaceEncoder):
    plain = distilled(teacher, add_words=["barrel"])
    made = distilled(teacher, add_words=["barrel"], repair="center")
    seen = np.array(plain.origins) == "corpus"
    mean = plain.matrix[seen].astype(float).mean(axis=0)
    np.testing.assert_allclose(made.matrix, plain.matrix - mean, atol=1e-5)
    assert [step["step"] for step in made.record["finishing"]] == ["repair"]


def test_a_repair_from_a_file(teacher: HuggingFaceEncoder, tmp_path: Path):
    from limbeck.repairs import Center, save

    plain = distilled(teacher)
    shift = np.arange(16.0)
    file = tmp_path / "center.safetensors"
    save(Center().fit(np.stack([shift - 1, shift + 1])), file)
    made = distilled(teacher, repair=str(file))
    np.testing.assert_allclose(made.matrix, plain.matrix - shift, atol=1e-5)
    save(Center().fit(np.stack([shift - 1, shift + 1])), file, about={"model": "another"})
    with raises(InputError, code="other_model"):
        distilled(teacher, repair=str(file))


def test_repair_comes_before_dimensions_and_they_before_weights():
    x = np.random.default_rng(1).normal(size=(30, 4)) + 5
    settings = DistillSettings(repair="standardize", dim=2, weighting="sif")
    counts = np.arange(30)
    got, steps = finish(x, seen=np.ones(30, bool), counts=counts, total=int(counts.sum()), settings=settings, layer="0")
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    u, s, _ = np.linalg.svd(standard, full_matrices=False)
    weights = 1e-3 / (1e-3 + counts / counts.sum())
    np.testing.assert_allclose(np.abs(got), np.abs((u * s)[:, :2] * weights[:, None]), atol=1e-5)
    assert [step["step"] for step in steps] == ["repair", "pca", "weighting"]


@pytest.mark.parametrize(("keep", "most"), [("float16", 1e-3), ("int8", 1e-2)])
def test_smaller_files(teacher: HuggingFaceEncoder, tmp_path: Path, keep: str, most: float):
    made = lb.distill(teacher, text(), min_count=1, keep=keep, out=tmp_path / "v", method="average")
    again = lb.StaticVectors.load(tmp_path / "v")
    x, y = made.matrix, again.matrix
    cosines = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    assert (1 - cosines < most).all()
    assert (x != y).any()
