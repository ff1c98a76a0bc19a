"""limbeck models, and the names that stand for what is in the package."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from limbeck.cli import main
from limbeck.encoders import miniatures
from limbeck.encoders.miniatures import MINIATURES, miniature_folder
from limbeck.runs.execution.folders import folders_for


def test_a_line_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    title, *rows, _, these, other = capsys.readouterr().out.splitlines()
    assert title.split()[:2] == ["name", "kind"]
    assert [row.split()[0] for row in rows] == list(MINIATURES)
    for row, shape in zip(rows, ("12 x 128", "12 x 128", "2 x 256"), strict=True):
        assert shape in row
        assert " MB " in row
        assert row.endswith("CC BY-SA 3.0")
    assert main([*these.split()[2:], "--dry-run", "--quiet"]) == 0  # the command that is told works
    assert "Hugging Face hub" in other


def test_figures_are_told_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in MINIATURES:
        shutil.copytree(miniature_folder(name), tmp_path / name)
    monkeypatch.setattr(miniatures, "miniature_folder", lambda name: tmp_path / name)
    assert main(["models"]) == 0
    assert " - " in capsys.readouterr().out
    figures = {"mini-bert": {"masked_accuracy": 0.4321}, "mini-gpt2": {"perplexity_per_word": 98.7}, "others": {}}
    (tmp_path / "figures.json").write_text(json.dumps(figures), encoding="utf-8")
    assert main(["models"]) == 0
    bert, gpt2, elmo = capsys.readouterr().out.splitlines()[1:4]
    assert "43% of hidden pieces found" in bert
    assert "perplexity 99 a word" in gpt2
    assert " - " in elmo
    assert main(["models", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["models"]
    assert [one["figures"] for one in told] == [*list(figures.values())[:2], {}]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["models"]
    assert [one["name"] for one in found] == list(MINIATURES)
    keys = {"name", "kind", "layers", "width", "parameters", "size", "figures", "licence"}
    assert all(set(one) == keys for one in found)


def test_no_torch_is_needed() -> None:
    code = (
        "import sys\nfrom limbeck.cli import main\nmain(['models'])\nassert not {'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["models", "--help"])
    said = capsys.readouterr().out
    assert "examples:" in said
    assert "--json" in said


def test_a_run_names_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """run.json says what was measured by the names that mean the same everywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("limbeck.reporting.draw", lambda folders, out: out.mkdir(parents=True))
    given = ["--model", "mini-elmo", "--corpus", "sample", "--targets", "label:class", "--layers", "2"]
    command = ["measure", *given, "--out", "run", "--quiet"]
    assert main(command) == 0
    text = Path("run", "run.json").read_text(encoding="utf-8")
    account = json.loads(text)
    assert account["name"] == account["source"]["encoder"] == "mini-elmo"
    assert account["source"]["corpus"]["paths"] == ["sample"]
    assert account["source"]["encoder_settings"]["targets"] == "label:class"
    assert account["counts"]["measured_occurrences"] > 800
    assert str(miniature_folder("")) not in text
    assert main([*command, "--existing", "resume"]) == 0  # the same model and text, by their fingerprints


def test_a_folder_of_the_same_name_is_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mini-bert").mkdir()
    assert folders_for(Path("out"), ["mini-bert", "./mini-bert"]) == [
        Path("out/mini-bert"),
        Path(f"out/{tmp_path.name}-mini-bert"),
    ]


def test_a_name_that_is_nearly_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert main(["measure", "--model", "mini-brt", "--corpus", "sample", "--out", "none", "--quiet"]) == 1
    assert "did you mean mini-bert?" in capsys.readouterr().err
    assert not Path("none").exists()
