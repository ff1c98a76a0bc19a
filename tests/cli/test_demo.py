"""limbeck demo, on the first sentences of its text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refusals import refused

from limbeck.cli import main
from limbeck.corpus.sample import sample_path
from limbeck.encoders.miniatures import MINIATURES
from limbeck.reporting.strongest import strongest


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo that takes seconds: little text, no figures."""
    path = tmp_path_factory.mktemp("text") / "sample.jsonl"
    lines = sample_path().read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:40]), encoding="utf-8")
    monkeypatch.setattr("limbeck.corpus.sample.sample_path", lambda: path)
    monkeypatch.setattr("limbeck.reporting.draw", lambda folders, out: out.mkdir(parents=True, exist_ok=True))


@pytest.mark.usefixtures("short")
def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sample").write_text("Something else.\n", encoding="utf-8")
    for _ in range(2):  # it may be run again
        assert main(["demo", "--out", "demo"]) == 0
        said = capsys.readouterr().out
        assert "limbeck measure --model mini-bert mini-gpt2 mini-elmo --corpus sample --out demo\n" in said
        for name in MINIATURES:
            assert f"{name}: " in said
        assert "demo/figures/self_similarity.png" in said
        assert "The report, to be opened in a browser: demo/report.html" in said
        told = strongest([Path("demo", name) for name in MINIATURES])
        assert len(told) == 3
        for number, one in enumerate(told, 1):
            assert f"{number}. {one.sentence}" in " ".join(said.split())
    left = sorted(path.name for path in Path("demo").iterdir())
    assert left == [".limbeck", "figures", *sorted(MINIATURES), "report.html"]
    for name in MINIATURES:
        assert Path("demo", name, "layers.csv").exists()
        assert not Path("demo", name, "state").exists()
        account = json.loads(Path("demo", name, "run.json").read_text(encoding="utf-8"))
        assert account["source"]["corpus"]["paths"] == ["sample"]
        assert account["counts"]["sentences"] == 40


def test_what_is_no_demo_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").touch()
    assert refused("demo", "--out", tmp_path, "--quiet", capsys=capsys) == (1, "in_the_way", "out")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.usefixtures("short")
def test_a_demo_that_was_stopped_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "demo" / ".mini-bert.unfinished" / "state").mkdir(parents=True)
    assert main(["demo", "--out", str(tmp_path / "demo"), "--quiet"]) == 0
    assert not (tmp_path / "demo" / ".mini-bert.unfinished").exists()
