"""Probing what fine-tuning made: with the probes of the model before, and with new ones."""

from __future__ import annotations

import json
from pathlib import Path

import made_tasks
import numpy as np
import pytest
import torch
from transformers import AutoModel

import limbeck as lb
from limbeck.cli import main
from limbeck.probe.finetuning.data import tagged

VERBS = {"rose": "animal", "ran": "food"}  #: what tells the class of the noun before


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """80 words that look alike: of which class each is, the verb behind it says and nothing else."""
    lines = []
    for number in range(80):
        verb = list(VERBS)[number % 2]
        for noun in ("river", "water"):
            lines.append({"words": ["the", noun, verb, "."], "index": 1, "label": VERBS[verb], "lemma": f"w{number}"})
    path = tmp_path_factory.mktemp("labelled") / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model that has learnt to know the classes, and the same with all vectors of its last layer turned round.

    That is what drift is, at its worst: all that was known is still there, in another place.
    """
    folder = tmp_path_factory.mktemp("models")
    draws = np.random.default_rng(0)
    made = []
    for index in range(60):
        noun, verb = draws.choice(("river", "water")), draws.choice(list(VERBS))
        made.append(made_tasks.sentence(f"the {noun} {verb} .", f"O {VERBS[verb]} O O", index))
    data = tagged("pos", {"train": made[:48], "dev": made[48:]})
    settings = lb.probe.FinetuneSettings(steps=150, batch=12, learning_rate=1e-2, evaluate_every=25, attention_texts=0)
    found = lb.probe.finetune(made_tasks.parts(), data, out=folder / "before", settings=settings)
    assert found.scores["dev"].values["accuracy"] > 0.95
    turned = AutoModel.from_pretrained(folder / "before")
    with torch.no_grad():
        for weight in turned.encoder.layer[-1].output.LayerNorm.parameters():
            weight.neg_()
    turned.save_pretrained(folder / "after")
    for file in (folder / "before").glob("*token*"):
        (folder / "after" / file.name).write_bytes(file.read_bytes())
    return {name: folder / name for name in ("before", "after")}


def probe(model: Path, data: Path, out: Path, *more: str) -> dict[str, float]:
    """Micro-F1 on the test words by layer, from the tables of a run of the command."""
    given = ["--probe", "linear", "--control", "none", "--min-words", "5", "--quiet", "--compare", "none"]
    training = ["--epochs", "40", "--batch", "32", "--learning-rate", "0.03"] if "--probes" not in more else []
    arguments = ["probe", "--model", model, "--data", data, "--out", out, *given, *training, *more]
    assert main([str(part) for part in arguments]) == 0
    rows = lb.probe.read_probed(out).rows("scores", side="test", space="context")
    return {row["layer"]: row["f1"] for row in rows}


def test_old_probes_fail_where_the_model_has_moved_and_new_ones_do_not(
    models: dict[str, Path], labelled: Path, tmp_path: Path
):
    before = probe(models["before"], labelled, tmp_path / "before", "--keep-probes")
    same = probe(models["after"], labelled, tmp_path / "a", "--probes", str(tmp_path / "before"))
    new = probe(models["after"], labelled, tmp_path / "b")
    layers = [layer for layer in before if layer != "table"]
    top, below = layers[-1], ["table", *layers[:-1]]
    assert before[top] > 0.95  # it knows
    # (a): the old probes look in the wrong place; one that had little but its bias to go by may guess half of the words
    assert same[top] < 0.75
    assert new[top] > 0.95  # (b): what they looked for is still there
    for layer in below:  # nothing has moved there
        assert same[layer] == pytest.approx(before[layer])
        assert new[layer] == pytest.approx(before[layer])
    assert before["table"] < 0.8  # a word alone does not tell its class
