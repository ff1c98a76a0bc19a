"""Distilling in several processes, as torchrun starts them: the first makes the run, the others help it to train."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.distillation.methods import METHODS, own_settings
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.x2static.group import Group
from limbeck.errors import UsageError
from limbeck.runs.distilling.subject import Subject
from limbeck.stream import Plan
from limbeck.stream.context import RunContext
from limbeck.stream.workers import Workers


def check_together(settings: DistillSettings) -> None:
    """Refuse methods that several processes cannot make together."""
    alone = [name for name in settings.methods if not METHODS[name].together]
    if alone:
        able = [name for name, method in METHODS.items() if method.together]
        raise UsageError(
            f"torchrun starts several processes for methods that train, {', '.join(able[:-1])} and {able[-1]}; "
            f"{', '.join(alone)} {'is' if len(alone) == 1 else 'are'} for one: leave torchrun out.",
            code="unsupported",
            parameter="method",
        )


def call_others(name: str, plan: Plan, checkpoint: Path | None, start: NDArray[np.floating] | None) -> None:
    """Tell the others what is trained next. Without others nothing is done."""
    Group().share((name, plan, checkpoint, start))


def send_others_home() -> None:
    """Tell the others that nothing more is trained."""
    Group().share(None)


def help_training(subject_of: Callable[[], tuple[Subject, DistillSettings]], workers: Workers) -> None:
    """What the others do: take part in every training that the first process calls them to.

    The first has opened the same before, so that what is wrong with it is said once.
    """
    opened: tuple[Subject, DistillSettings] | None = None
    while (task := Group().share(None)) is not None:
        name, plan, checkpoint, start = task
        opened = opened or subject_of()
        subject, settings = opened
        train: Any = METHODS[name].train
        context = RunContext(workers, checkpoint=checkpoint)
        train(subject.source, plan, own_settings(name, settings), context, start=start)
