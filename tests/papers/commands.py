"""What the tests of `limbeck reproduce` share, whatever the paper: a call of the command, its page, its findings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from limbeck.cli import main

ROOT = Path(__file__).resolve().parents[2]
MARKS = "mine\n<!-- begin generated: {0} -->\n<!-- end generated: {0} -->\nmine too\n"
Run = Callable[..., tuple[int, str, str]]


def runner(capsys: pytest.CaptureFixture[str], *paper: str) -> Run:
    """A function that gives status, standard output and standard error of the command."""

    def call(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in ("reproduce", *paper, *arguments)])
        except SystemExit as ended:
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def draw_only(monkeypatch: pytest.MonkeyPatch, paper: ModuleType, *names: str) -> None:
    """Leave a paper these figures: drawing takes longer than all the rest, and has tests of its own."""
    some = {name: paper.PAPER.figures[name] for name in names}
    monkeypatch.setattr(paper, "PAPER", replace(paper.PAPER, figures=some, captions=dict.fromkeys(some, "A figure")))


def check_schema(found: dict[str, Any]) -> None:
    """docs/files.md tells of every key, and of no other."""
    told = (ROOT / "docs" / "files.md").read_text(encoding="utf-8").split("## Reproductions")[1].split("\n## ")[0]
    for title, item in (("findings.json", found), ("a finding", found["findings"][1])):
        table = re.split(rf"\| key of `?{title}`? ", told)[1].split("\n\n")[0]
        keys = {key for row in table.splitlines()[2:] for key in re.findall(r"`(\w+)`", row.split("|")[1])}
        assert keys == set(item)
    assert set(found["models"][0]) <= set(re.findall(r"`(\w+)`", told))
    for finding in found["findings"]:
        assert finding["verdict"] in ("held", "not held", "too close to call", "cannot be shown")
        assert finding["why"]
        assert finding["preset"] == "corrected"
        for judged in finding["models"].values():
            assert {"verdict", "why"} <= set(judged) <= {"verdict", "why", "numbers", "words", "curve"}
            for number in judged.get("numbers", {}).values():
                assert set(number) == {"value", "low", "high"}
