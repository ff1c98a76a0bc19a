"""Repairs as modules of sentence-transformers, against the same done in numpy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import raises
from sklearn.pipeline import make_pipeline

import limbeck as lb
from limbeck.encoders.miniatures import miniature_folder
from limbeck.errors import InputError, UsageError
from limbeck.evaluation import ModelTarget

sentence_transformers = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
modules = pytest.importorskip("sentence_transformers.base.modules", reason="sentence-transformers 6 is not installed")

TEXTS = ["A dog barks.", "Two cats sleep on the old sofa, side by side.", "It rains.", "He left."]


@pytest.fixture(scope="module", autouse=True)
def silence():
    from transformers.utils import logging

    logging.disable_progress_bar()
    yield
    logging.enable_progress_bar()


@pytest.fixture(scope="module")
def rows():
    """Vectors of every piece, [CLS] and [SEP] among them, as the library pools them."""
    encoder = lb.load_encoder("mini-bert", units="pieces", special=True, layers="-1", device="cpu")
    return ModelTarget(encoder).rows(TEXTS)


@pytest.fixture
def model():
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    transformer = Transformer(str(miniature_folder("mini-bert")))
    return sentence_transformers.SentenceTransformer(modules=[transformer, Pooling(128)], device="cpu")


def plain(rows, repair) -> np.ndarray:
    """In numpy: repair every piece, then average the pieces of each text."""
    pieces = repair.transform(rows.vectors[0].numpy())
    return np.stack([pieces[rows.texts == text].mean(axis=0) for text in range(len(TEXTS))])


def repairs(x):
    yield lb.repairs.ClusterRemoval(3, 2).fit(x)
    yield make_pipeline(lb.repairs.Center(), lb.repairs.AllButTheTop(2)).fit(x)


def test_on_tokens(model, rows, tmp_path):
    from limbeck.repairs.sentence_transformers import RepairModule

    before = model.encode(TEXTS)
    np.testing.assert_allclose(before, rows.means(rows.vectors[0]), atol=1e-5)
    for repair in repairs(rows.vectors[0].numpy()):
        whole = sentence_transformers.SentenceTransformer(
            modules=[model[0], RepairModule(repair), model[1]], device="cpu"
        )
        found = whole.encode(TEXTS)  # texts of different lengths, so that padding is there
        np.testing.assert_allclose(found, plain(rows, repair), atol=1e-5)
        assert not np.allclose(found, before, atol=1e-2)
        folder = tmp_path / type(repair).__name__
        whole.save_pretrained(str(folder), create_model_card=False)
        again = sentence_transformers.SentenceTransformer(
            str(folder), device="cpu", trust_remote_code=True, local_files_only=True
        )
        np.testing.assert_array_equal(again.encode(TEXTS), found)
        assert type(again[1]) is RepairModule
        assert again[1].on == "token_embeddings"


def test_on_sentences(model, rows, tmp_path):
    from limbeck.repairs.sentence_transformers import RepairModule

    before = model.encode(TEXTS)
    repair = lb.repairs.Standardize().fit(before)
    model.append(RepairModule(repair, on="sentence_embedding"))
    np.testing.assert_allclose(model.encode(TEXTS), repair.transform(before), atol=1e-5)
    assert model.get_embedding_dimension() == 128
    model.save_pretrained(str(tmp_path / "saved"), create_model_card=False)
    again = sentence_transformers.SentenceTransformer(
        str(tmp_path / "saved"), device="cpu", trust_remote_code=True, local_files_only=True
    )
    np.testing.assert_allclose(again.encode(TEXTS), repair.transform(before), atol=1e-5)


def test_half_precision_leaves_the_repair_alone():
    from limbeck.repairs.sentence_transformers import RepairModule

    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 8)) + 100.0  # a mean that 16 bits cannot hold
    repair = lb.repairs.Center().fit(x)
    module = RepairModule(repair).half()
    given = torch.from_numpy(x[:4]).float().reshape(1, 4, 8)
    found = module({"token_embeddings": given})["token_embeddings"]
    np.testing.assert_allclose(found[0], repair.transform(x[:4]), atol=1e-4)
    assert not list(module.parameters())


def test_gradients_go_through():
    from limbeck.repairs.sentence_transformers import RepairModule

    x = torch.randn(2, 3, 4, requires_grad=True)
    module = RepairModule(lb.repairs.AllButTheTop(1).fit(np.random.default_rng(0).normal(size=(30, 4))))
    module({"token_embeddings": x})["token_embeddings"].square().sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum() > 0


def test_refused(tmp_path):
    from limbeck.repairs.sentence_transformers import RepairModule

    repair = lb.repairs.Center().fit(np.eye(4))
    with raises(UsageError, code="unknown_choice", parameter="on", says="'token_embeddings'"):
        RepairModule(repair, on="token_embedding")
    with raises(UsageError, code="out_of_order"):
        RepairModule(repair)({"sentence_embedding": torch.zeros(1, 4)})
    with raises(UsageError, code="other_dimensions"):
        RepairModule(repair)({"token_embeddings": torch.zeros(1, 2, 5)})
    RepairModule(repair).save(str(tmp_path))
    (tmp_path / "repair.safetensors").unlink()
    with raises(InputError, code="not_found", says="repair.safetensors"):
        RepairModule.load(str(tmp_path))


def test_without_the_library():
    """One line that names the extra; and limbeck.repairs itself does not ask for it."""
    code = (
        "import sys; sys.modules['sentence_transformers'] = None\n"
        "import limbeck.repairs\n"
        "import limbeck.errors\n"
        "try:\n    import limbeck.repairs.sentence_transformers\n"
        "except limbeck.errors.MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path.cwd(), check=True)
    assert done.stdout.strip().endswith('pip install "limbeck[st]".')
