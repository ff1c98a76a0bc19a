"""limbeck finetune: a folder that is a model, what is in it, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from refusals import raises, refused

import limbeck as lb
from limbeck.cli import main
from limbeck.corpus.units import Sentence
from limbeck.encoders import load_encoder
from limbeck.encoders.loading import load_parts
from limbeck.errors import InputError, UsageError
from limbeck.probing.finetuning import training
from limbeck.probing.finetuning.data import tagged
from limbeck.stream import collect_texts
from limbeck.tables import read_csv

WORDS = {"0": ("river", "water", "boat"), "1": ("rose", "fell", "ran")}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_bert(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SST-2's layout, made sentences."""
    folder = tmp_path_factory.mktemp("data") / "SST"
    folder.mkdir()
    draws = np.random.default_rng(0)
    for split, count in (("train", 40), ("dev", 12), ("test", 12)):
        labels = [str(number % 2) for number in range(count)]
        lines = [f"{label} the {draws.choice(WORDS[label])} in the" for label in labels]
        (folder / f"stsa.binary.{split}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder.parent


@pytest.fixture(scope="module")
def made(model: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "sst2"
    arguments = ["finetune", "--model", model, "--task", "sst2", "--data", data, "--out", out, "--quiet",
                 "--evaluate-every", "40"]  # fmt: skip
    assert main([str(part) for part in [*arguments, "--learning-rate", "0.01", "--batch", "8", "--steps", "160"]]) == 0
    return out


def test_the_folder_is_whole(made: Path):
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert names >= {
        "config.json", "model.safetensors", "tokenizer.json", "head.safetensors", "run.json", "steps.csv", "dev.csv",
        "classes.csv", "attention.csv", "figures/training.png", "figures/attention.svg",
    }  # fmt: skip
    assert not (made / "state").exists()
    assert [path.name for path in made.parent.iterdir()] == ["sst2"]
    about = json.loads((made / "run.json").read_text(encoding="utf-8"))
    assert about["command"] == "finetune"
    assert about["settings"]["vector"] == "a text's first piece"
    assert about["examples"] == {"train": 40, "dev": 12, "test": 12}
    dev = read_csv(made / "dev.csv")
    assert float(dev["accuracy"][dev["step"].index(str(about["best_step"]))]) == about["scores"]["dev"]["accuracy"]
    assert len(read_csv(made / "steps.csv")["loss"]) == 160


def test_the_model_and_its_head_give_the_scores_again(made: Path, model: Path, data: Path):
    """What every command loads with --model, and the head beside it, read by nothing of the training code."""
    about = json.loads((made / "run.json").read_text(encoding="utf-8"))
    encoder = load_encoder(made, units="pieces", special=True, layers="-1")
    assert encoder.model_fingerprint == about["model_fingerprint"]
    assert load_encoder(model).model_fingerprint == about["parent"]["model_fingerprint"]
    head = lb.probing.load_head(made)
    assert head.classes == ("0", "1")
    lines = (data / "SST" / "stsa.binary.test").read_text(encoding="utf-8").splitlines()
    right = 0
    for line in lines:
        label, _, text = line.partition(" ")
        vectors = np.asarray(collect_texts(encoder, [text]).vectors)[0]
        right += head.classes[int((head.weight @ vectors[0] + head.bias).argmax())] == label
    assert right / len(lines) == pytest.approx(about["scores"]["test"]["accuracy"])
    assert right / len(lines) > 0.8


def test_it_can_be_fine_tuned_again_and_a_finished_run_stays(
    made: Path, model: Path, data: Path, tmp_path: Path, capsys
):
    again = tmp_path / "again"
    arguments = ["finetune", "--task", "sst-2", "--data", str(data), "--steps", "1"]
    assert main([*arguments, "--model", str(made), "--out", str(again), "--attention-texts", "0", "--no-figures"]) == 0
    about = json.loads((again / "run.json").read_text(encoding="utf-8"))
    first = json.loads((made / "run.json").read_text(encoding="utf-8"))
    assert about["parent"]["model_fingerprint"] == first["model_fingerprint"]
    assert not (again / "attention.csv").exists()
    capsys.readouterr()
    assert refused(*arguments, "--model", model, "--out", made, capsys=capsys) == (1, "exists", "existing")
    resumed = ["finetune", "--task", "sst2", "--data", str(data), "--model", str(model), "--out", str(made)]
    resumed += ["--steps", "160", "--evaluate-every", "40", "--learning-rate", "0.01", "--existing", "resume"]
    assert main([*resumed, "--batch", "8"]) == 0
    assert "complete already" in capsys.readouterr().out
    assert refused(*resumed, "--batch", "9", capsys=capsys) == (1, "other_run", "out")
    assert json.loads((made / "run.json").read_text(encoding="utf-8")) == first


def test_a_model_that_finds_no_entity_is_told_what_to_try(model: Path, tmp_path: Path, capsys):
    """Ten words of eleven are none, and one step at 5e-5 teaches nothing but that."""
    lines = "\n".join(["the\tO"] * 10 + ["river\tB-water", ""])
    for name in ("a.train.conll", "a.dev.conll"):
        (tmp_path / name).write_text(lines * 4, encoding="utf-8")
    arguments = [
        "finetune",
        "--model",
        model,
        "--task",
        "ner",
        "--data",
        tmp_path,
        "--out",
        tmp_path / "ner",
    ]
    assert main([str(part) for part in [*arguments, "--steps", "1", "--attention-texts", "0"]]) == 0
    told = capsys.readouterr().out
    assert "no better than the most frequent class" in told
    assert "5e-4 and --batch 32 for a miniature" in told
    about = json.loads((tmp_path / "ner" / "run.json").read_text(encoding="utf-8"))
    assert about["scores"]["dev"]["f1"] == 0.0
    assert about["scores"]["dev"]["accuracy"] == pytest.approx(about["majority"]["dev"]) == pytest.approx(10 / 11)


def test_stopped_by_hand(model: Path, data: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    """Nothing half-written at the target; with a checkpoint it can be gone on with, without one all is gone."""
    out = tmp_path / "out"
    arguments = ["finetune", "--model", str(model), "--task", "sst2", "--data", str(data), "--out", str(out), "--quiet",
                 "--steps", "6", "--evaluate-every", "2", "--batch", "8", "--attention-texts", "0"]  # fmt: skip
    arguments.append("--no-figures")
    steps = training._step

    def stop(*given):
        if given[-1] == 5:
            raise KeyboardInterrupt
        return steps(*given)

    monkeypatch.setattr(training, "_step", stop)
    assert main(arguments) == 130
    assert list(tmp_path.iterdir()) == []
    saves = training._save
    monkeypatch.setattr("limbeck.probing.finetuning.fitting.CHECKPOINT_SECONDS", 0.0)
    assert main(arguments) == 130
    assert "--existing resume" in capsys.readouterr().err
    assert not out.exists()
    monkeypatch.setattr(training, "_step", steps)
    monkeypatch.setattr(training, "_save", saves)
    assert main([*arguments, "--existing", "resume"]) == 0
    assert read_csv(out / "steps.csv")["step"] == [str(step) for step in range(1, 7)]
    whole = tmp_path / "whole"
    assert main([part if part != str(out) else str(whole) for part in arguments]) == 0
    assert (whole / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()
    assert (whole / "dev.csv").read_text() == (out / "dev.csv").read_text()


@pytest.mark.parametrize(
    ("changed", "status", "told"),
    [
        ({"--task": "sst3"}, 2, "a task must be one of pos, ner"),
        ({"--data": "nowhere"}, 1, "nowhere"),
        ({"--task": "pos"}, 1, "got no train file"),
        ({"--attention-window": "2"}, 2, "tasks of words"),
        ({"--model": "mini-elmo"}, 2, "biLM"),
        ({"--column": "lemma"}, 2, "--column must be one of"),
        ({"--column": "xpos"}, 2, "--column applies only to --task pos"),
        ({"--sentence-piece": "frist"}, 2, "did you mean 'first'"),
    ],
)
def test_what_is_refused(model: Path, data: Path, tmp_path: Path, capsys, changed, status, told):
    options = {"--model": str(model), "--task": "sst2", "--data": str(data), "--out": str(tmp_path / "out")} | changed
    assert main(["finetune", *(part for pair in options.items() for part in pair), "--quiet"]) == status
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_needed(model: Path, data: Path, tmp_path: Path, capsys):
    options = {"--model": str(model), "--task": "sst2", "--data": str(data), "--out": str(tmp_path / "out")}
    for name in options:
        others = [part for pair in options.items() if pair[0] != name for part in pair]
        assert refused("finetune", *others, capsys=capsys) == (2, "required", name.removeprefix("--"))
    with pytest.raises(UsageError) as caught:
        lb.finetune(model, "sst2")
    assert (caught.value.code, caught.value.parameter) == ("required", "data")


def test_a_dry_run_says_what_there_is_to_learn_from(model: Path, data: Path, tmp_path: Path, capsys):
    out = tmp_path / "out"
    arguments = ["finetune", "--model", str(model), "--task", "sst2", "--data", str(data), "--out", str(out)]
    assert main([*arguments, "--max-train", "9", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "sst-2: 9 train, 12 dev, 12 test examples of 2 classes"
    assert not out.exists()


def test_from_python(model: Path, data: Path, tmp_path: Path):
    """The result in memory is what its folder gives back, and the command line writes the same."""
    asked = {"steps": 2, "batch": 4, "attention_texts": 3, "seed": 3}
    found = lb.finetune(model, "sst2", data, **asked)
    assert len(found.tables["steps"]["loss"]) == 2
    written = lb.finetune(model, "sst2", data, **asked, out=tmp_path / "python")
    assert written.fingerprint == found.fingerprint
    loaded = lb.FinetuneResult.load(tmp_path / "python")
    assert loaded == written
    assert (loaded.scores, loaded.best_step, loaded.fingerprint) == (found.scores, found.best_step, found.fingerprint)
    np.testing.assert_array_equal(loaded.classifier.weight, found.classifier.weight)
    assert load_encoder((loaded.parts.model, loaded.parts.tokenizer)).model_fingerprint == found.fingerprint
    assert list(loaded.to_pandas()["step"]) == found.tables["dev"]["step"]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in asked.items()]
    named = ["--model", str(model), "--task", "sst2", "--data", str(data), "--out", str(tmp_path / "typed")]
    assert main(["finetune", *named, *options, "--quiet"]) == 0
    files = [files_in(tmp_path / name) for name in ("python", "typed")]
    assert files[0].keys() == files[1].keys()
    for name, content in files[0].items():
        if name.endswith(".csv") or name == "model.safetensors":
            assert content == files[1][name], name
    assert lb.FinetuneResult.load(tmp_path / "typed").record["options"] == written.record["options"] == asked


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_task_that_was_read_and_a_model_that_was_loaded(model: Path, data: Path, tmp_path: Path):
    found = lb.finetune(load_parts(model), lb.probing.read_task("sst2", data), steps=1, batch=4, attention_texts=0)
    same = lb.finetune(model, "sst2", data, steps=1, batch=4, attention_texts=0)
    assert found.fingerprint == same.fingerprint
    assert found.record["parent"] | {"model": ""} == same.record["parent"] | {"model": ""}


@pytest.mark.parametrize("change", ["labels", "texts", "fewer"])
def test_a_finished_run_is_not_that_of_changed_data(change: str, model: Path, data: Path, tmp_path: Path):
    """Files of the same names, with other labels, other words, or a line less."""
    shutil.copytree(data, tmp_path / "data")
    asked = {"steps": 1, "attention_texts": 0, "figures": False, "out": tmp_path / "out"}
    made = lb.finetune(model, "sst2", tmp_path / "data", **asked)
    again = lb.finetune(model, "sst2", tmp_path / "data", **asked, existing="resume")
    assert again.record["seconds"] == made.record["seconds"]
    file = tmp_path / "data" / "SST" / "stsa.binary.train"
    lines = file.read_text(encoding="utf-8").splitlines()
    if change == "labels":
        lines = [f"{1 - int(line[0])}{line[1:]}" for line in lines]
    elif change == "texts":
        lines[0] = lines[0].replace(" in ", " on ")
    else:
        lines = lines[:-2]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with raises(InputError, code="other_run", parameter="out"):
        lb.finetune(model, "sst2", tmp_path / "data", **asked, existing="resume")


def test_other_tags_are_other_data():
    """Of tagged words: words, tags, blanks and their division into parts."""

    def of(words: str = "the boat rose", tag: str = "NOUN", **more: Any) -> str:
        train = Sentence(tuple(words.split()), labels={0: {"tag": "DET"}, 1: {"tag": tag}}, **more)
        parts = {split: [train] for split in ("train", "dev", "test")}
        return tagged("pos", parts).fingerprint

    assert of() == of()
    others = [of(), of("the boat fell"), of(tag="VERB"), of(glued=frozenset({1}))]
    assert len(set(others)) == len(others)
