"""What the tests here share: modules (`made_runs`, made text, the tiny models of the encoders' tests), and fixtures."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
for folder in ("papers", "stream", "encoders"):
    path = str(Path(__file__).parent.parent / folder)
    if path not in sys.path:
        sys.path.insert(0, path)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT."""
    import tiny_models

    return tiny_models.save_bert(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of word vectors for the words of made text."""
    from made import WORDS

    from limbeck import StaticVectors

    path = tmp_path_factory.mktemp("vectors") / "made.txt"
    StaticVectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 6)) + 1.0).save(path)
    return path
