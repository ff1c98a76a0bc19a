"""What a command prints that has no summary of its own: its table, and where it is."""

from __future__ import annotations

from typing import Any

from limbeck.cli.output import console as make_console
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import Run
from limbeck.shown import cell


def show(result: RunResult, run: Run[Any]) -> None:
    """The result's table."""
    from rich.table import Table

    console = make_console()
    columns, count = result.head(40)
    table = Table(title=result.title(), title_justify="left")
    for name in columns:
        table.add_column(name)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(cell, row))
    console.print(table, markup=False)
    if run.output.out is not None:
        console.print(f"{run.output.out}: {count:,} rows", markup=False, highlight=False, soft_wrap=True)
