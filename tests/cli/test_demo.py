"""limbeck demo, with a still smaller model."""

from __future__ import annotations

from pathlib import Path

import pytest

from limbeck import demo
from limbeck.cli import main


def test_the_text_is_long_enough() -> None:
    with demo.demo_corpus() as corpus:
        assert sum(1 for _ in corpus) >= 300


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "LAYERS", 1)
    monkeypatch.setattr(demo, "DIM", 8)
    monkeypatch.setattr("limbeck.report.draw", lambda folders, out: out.mkdir(parents=True))
    out = tmp_path / "demo"
    for _ in range(2):  # it may be run again
        assert main(["demo", "--out", str(out), "--quiet"]) == 0
        said = capsys.readouterr().out
        assert "It has learnt nothing" in said
        assert str(out / "figures" / "self_similarity.png") in said
    assert (out / "layers.csv").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    assert main(["demo", "--out", str(tmp_path / "mine"), "--quiet"]) == 1
    assert (tmp_path / "mine" / "thesis.txt").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo", "mine"]
