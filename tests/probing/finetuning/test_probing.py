"""Probing what fine-tuning made: with the probes of the model before, and with new ones."""

from __future__ import annotations

import json
from pathlib import Path

import made_tasks
import pytest
import torch

import limbeck as lb
from limbeck.cli import main

VERBS = {"rose": "animal", "ran": "food"}  #: what tells the class of the noun before


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """80 words that look alike: of which class each is, the verb behind it says and nothing else."""
    lines = []
    for number in range(80):
        verb = list(VERBS)[number % 2]
        words = ["the", "river", verb, "."]
        lines.append({"words": words, "index": 1, "label": VERBS[verb], "lemma": f"w{number}"})
    path = tmp_path_factory.mktemp("labelled") / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model that knows the classes in its last layer, and the same with all vectors of that layer turned round.

    That is what drift is, at its worst: all that was known is still there, in another place. The knowledge is built
    into the weights, so that nothing depends on how a training went: the first coordinate of a piece says of which
    verb it is, layers below the last add nothing from other words, and the last adds the mean of that coordinate.
    """
    folder = tmp_path_factory.mktemp("models")
    parts = made_tasks.parts()
    model = parts.model
    *below, last = model.encoder.layer
    with torch.no_grad():
        table = model.embeddings.word_embeddings.weight
        table[:, 0] = 0.0
        for sign, verb in zip((1.0, -1.0), VERBS, strict=True):
            table[parts.tokenizer(verb, add_special_tokens=False)["input_ids"], 0] = sign
        for layer in below:
            layer.attention.output.dense.weight.zero_()
        attention = last.attention
        for part in (attention.self.query, attention.self.value, attention.output.dense, last.output.dense):
            part.weight.zero_()
            part.bias.zero_()
        attention.self.value.weight[0, 0] = 1.0  # without a query all pieces count alike
        attention.output.dense.weight[0, 0] = 20.0
        for name, sign in (("before", 1.0), ("after", -1.0)):
            last.output.LayerNorm.weight.mul_(sign)
            last.output.LayerNorm.bias.mul_(sign)
            model.save_pretrained(folder / name)
            parts.tokenizer.save_pretrained(folder / name)
    return {name: folder / name for name in ("before", "after")}


def probe(model: Path, data: Path, out: Path, *more: str) -> dict[str, float]:
    """Micro-F1 on the test words by layer, from the tables of a run of the command."""
    given = [
        "--probe",
        "linear",
        "--control",
        "none",
        "--min-words",
        "5",
        "--quiet",
        "--compare",
        "none",
        "--no-figures",
    ]
    training = ["--epochs", "40", "--batch", "32", "--learning-rate", "0.03"] if "--probes" not in more else []
    arguments = ["probe", "--model", model, "--data", data, "--out", out, *given, *training, *more]
    assert main([str(part) for part in arguments]) == 0
    rows = lb.ProbeResult.load(out).rows("scores", side="test", space="context")
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
