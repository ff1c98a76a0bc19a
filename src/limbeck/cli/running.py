"""What every command that runs a pass does around it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.cli.options import workers_for
from limbeck.errors import Interrupted

if TYPE_CHECKING:
    from limbeck.run.folder import RunFolder
    from limbeck.stream import Plan
    from limbeck.stream.workers import Workers


@contextmanager
def opened(target: Path, options: argparse.Namespace) -> Iterator[tuple[RunFolder, Workers]]:
    """The folder of a run and the processes that feed it. Ctrl-C leaves what can be resumed, and says so."""
    from limbeck.run.folder import RunFolder

    folder = RunFolder(target, existing=options.existing)
    try:
        with folder, started(options) as workers:
            yield folder, workers
    except KeyboardInterrupt:
        if folder.resumable:
            raise Interrupted("stopped; to go on: the same command with --existing resume.") from None
        raise


def started(options: argparse.Namespace) -> Workers:
    """Processes that split and tokenise, on their way up while the model is loaded."""
    from limbeck.stream.workers import Workers

    return Workers(workers_for(options)).start()


def describe(plan: Plan) -> str:
    """A plan in a line or two."""
    text = (
        f"{plan.units:,} words in {plan.texts:,} texts of {plan.documents:,} documents; {plan.types:,} distinct, "
        f"{len(plan.vocabulary):,} followed"
    )
    if plan.dropped:
        text += "; left out: " + ", ".join(f"{reason} {number:,}" for reason, number in plan.dropped.items())
    return text
