"""How far a pass has come: a bar on a terminal, a line now and then elsewhere, nothing when asked.

A terminal that was closed cannot be told anything, but the pass goes on until what is done is written.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

LINE_EVERY = 30.0  #: seconds between lines where there is no terminal


class Progress:
    """Shows units done, units a second and time left. Use as a context; `total` 0 means unknown."""

    def __init__(self, task: str, *, total: int = 0, done: int = 0, unit: str = "words", show: bool = True) -> None:
        self.task = task
        self.total = total
        self.done = done
        self.unit = unit
        self.show = show
        self._first = done
        self._began = time.monotonic()
        self._last_line = self._began
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self.show and sys.stderr.isatty():
            self._bar = _bar(self.unit)
            self._bar.start()
            rate_task = self._bar.add_task(self.task, total=self.total or None, completed=self.done, rate="")
            self._rate_task = rate_task
        return self

    def advance(self, count: int) -> None:
        self.done += count
        if self._bar is not None:
            self._bar.update(self._rate_task, completed=self.done, rate=f"{self.rate:,.0f} {self.unit}/s")
        elif self.show and time.monotonic() - self._last_line > LINE_EVERY:
            self._last_line = time.monotonic()
            self._line()

    def tell(self, line: str) -> None:
        """Say something in one line, above the bar where there is one."""
        with suppress(OSError):
            if self._bar is not None:
                self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
            else:
                print(line, file=sys.stderr, flush=True)

    @property
    def rate(self) -> float:
        """Units a second since this pass began."""
        return (self.done - self._first) / max(time.monotonic() - self._began, 1e-9)

    def _line(self) -> None:
        text = f"{self.task}: {self.done:,}"
        text += f" of {self.total:,} {self.unit}" if self.total else f" {self.unit}"
        if self.done > self._first:  # before, nobody knows
            text += f", {self.rate:,.0f} {self.unit}/s"
            text += f", {clock((self.total - self.done) / self.rate)} left" if self.total else ""
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()


def _bar(unit: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def clock(seconds: float) -> str:
    """Seconds as a person would say them: 42s, 3m20s, 5h07m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
