"""Scores on the card are those of `limbeck.evaluation`, on a real set of pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

import limbeck as lb

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there"),
]


def test_scores_are_on_the_card(tmp_path: Path):
    task = lb.tasks.tasks(SHARED)["mturk-287"]
    pairs = task.read()
    how = {"words": [*pairs.first, *pairs.second], "method": "word", "tasks": "mturk-287", "data": SHARED}
    made = lb.distill("mini-bert", out=tmp_path / "v", **how)
    (score,) = made.record["scores"]
    assert score["value"] == lb.tasks.evaluate(task, made).value
    assert score["coverage"] == 1.0
    assert f"| mturk-287 | spearman | {score['value']:.3f} |" in (tmp_path / "v" / "README.md").read_text()
