"""Documents of texts that have no ends of their own."""

from __future__ import annotations

import io
import random

import pytest

from limbeck.corpus import documents
from limbeck.corpus.documents import bounded_lines, bounded_runs, grouped


def lines_plainly(text: str, first: int, limit: int) -> list[tuple[int, str]]:
    """Line by line; a long one in parts that end at the last blank, where there is one."""
    found = []
    lines = text.split("\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], first):
        while len(line) > limit:
            blank = line.rfind(" ", 0, limit) + 1
            found.append((number, line[: blank or limit]))
            line = line[blank or limit :]
        found.append((number, line))
    return found


def documents_plainly(lines: list[tuple[int, str]], most: int, characters: int) -> list[tuple[int, tuple[str, ...]]]:
    found: list[tuple[int, tuple[str, ...]]] = []
    group: list[tuple[int, str]] = []
    for line in lines:
        group.append(line)
        if len(group) >= most or sum(len(text) for _, text in group) >= characters:
            found.append((group[0][0], tuple(text for _, text in group)))
            group = []
    return found + ([(group[0][0], tuple(text for _, text in group))] if group else [])


@pytest.mark.parametrize("limit", [5, 17, 1000])
def test_runs_of_lines_make_the_documents_of_single_lines(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(documents, "BLOCK_CHARACTERS", 97)
    monkeypatch.setattr(documents, "DOCUMENT_LINES", 7)
    monkeypatch.setattr(documents, "DOCUMENT_CHARACTERS", 60)
    draw = random.Random(limit)
    for _ in range(200):
        pieces = ["a ", "bb", "\n", "\n", "ccc dd ", "x" * draw.randrange(40)]
        text = "".join(draw.choice(pieces) for _ in range(draw.randrange(120)))
        lines = lines_plainly(text, 3, limit)
        got = list(bounded_lines(io.StringIO(text), 3, limit=limit))
        assert "".join(line for _, line in got) == "".join(line for _, line in lines)
        if limit == 1000:  # shorter parts depend on how much was read when the line was cut
            assert got == lines
        made = list(grouped(bounded_runs(io.StringIO(text), 3, limit=limit)))
        assert made == documents_plainly(got, 7, 60)
