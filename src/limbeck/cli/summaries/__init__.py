"""What a run prints at its end: a module a command, with a `show`; where there is none, the result's table."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from limbeck.cli.output import say

if TYPE_CHECKING:
    from limbeck.runs.execution.result import RunResult
    from limbeck.runs.execution.run import Run


def show_of(command: str) -> Callable[..., None]:
    """What prints a command's result."""
    try:
        show: Callable[..., None] = importlib.import_module(f"{__name__}.{command}").show
    except ModuleNotFoundError:
        return show_table
    return show


def show_table(result: RunResult, run: Run[Any]) -> None:
    """The result's table."""
    from rich.table import Table

    from limbeck.shown import cell

    columns, count = result.head(40)
    table = Table(title=result.title(), title_justify="left")
    for name in columns:
        table.add_column(name)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(cell, row))
    say(table)
    if run.output.out is not None:
        say(f"{run.output.out}: {count:,} rows")
