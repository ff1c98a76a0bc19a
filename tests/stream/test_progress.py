"""Progress: a bar on a terminal, lines elsewhere, nothing when asked."""

from __future__ import annotations

import contextlib
import os
import pty
import sys

import pytest

from limbeck.stream import progress
from limbeck.stream.progress import Progress, clock


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0s"), (42.4, "42s"), (59.6, "1m00s"), (200, "3m20s"), (3600, "1h00m"), (18430, "5h07m")]
)
def test_clock(seconds: float, said: str) -> None:
    assert clock(seconds) == said


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", -1.0)
    with Progress("model", total=1000, done=200) as bar:
        bar.advance(300)
    with Progress("planning") as bar:
        bar.advance(1234)
    with Progress("silent", show=False) as bar:
        bar.advance(1)
    with Progress("waiting", total=7) as bar:
        bar.advance(0)
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith("model: 500 of 1,000 words, ")
    assert first.endswith(" left")
    assert second.startswith("planning: 1,234 words, ")
    assert third == "waiting: 0 of 7 words"  # no guess before anything is done


def read_all(master: int) -> str:
    """What was written to a terminal that is closed by now: it may come in pieces, and ends with an error on Linux."""
    said = b""
    with contextlib.suppress(OSError):
        while piece := os.read(master, 100_000):
            said += piece
    os.close(master)
    return said.decode()


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")
        with Progress("model", total=10) as bar:
            bar.advance(10)
    said = read_all(master)
    assert "model" in said
    assert "10/10" in said
    assert "words/s" in said


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_that_was_closed_ends_no_pass(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", -1.0)
    master, slave = pty.openpty()
    stream = open(slave, "w")  # noqa: SIM115 (what is left in it cannot be written)
    monkeypatch.setattr(sys, "stderr", stream)

    class Bar:
        """As rich's, without its thread."""

        console = property(lambda self: self)

        def print(self, line: str, **how: object) -> None:
            print(line, file=sys.stderr, flush=True)

        def update(self, *given: object, **how: object) -> None:
            pass

        def stop(self) -> None:
            self.print("")

    with Progress("model", total=1000, show=terminal) as bar:
        if bar._bar is not None:
            bar._bar.stop()
            bar._bar = Bar()
        os.close(master)
        bar.advance(300)
        bar.show = True
        bar.advance(300)
        bar.tell("a line")
    monkeypatch.undo()
    with contextlib.suppress(OSError):
        stream.close()
    assert bar.done == 600
