"""The repairs of an evaluation: fitted on other text, to be fitted on each task, or tuned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.errors import LimbeckError, UsageError

if TYPE_CHECKING:
    from limbeck.evaluation.targets import Target
    from limbeck.evaluation.tuning import Tuning


def fitted_repairs(paths: Sequence[Path], targets: Sequence[Target]) -> list[dict[str, Any]]:
    """Of each target the repairs that were fitted on it, or that do not say on what; each must fit at least one."""
    found: list[dict[str, Any]] = [{} for _ in targets]
    if not paths:
        return found  # scikit-learn is needed for repairs only
    from limbeck.evaluation.targets import check_repair
    from limbeck.repairs import load_repairs

    for path, label in zip(paths, labels_of(paths), strict=True):
        refused: LimbeckError | None = None
        taken = False
        for target, own in zip(targets, found, strict=True):
            try:
                known = getattr(target, "model_fingerprint", None)
                repair = load_repairs(path, model=target.model, model_fingerprint=known)
                check_repair(target, repair, label)
            except LimbeckError as error:
                refused = error
                continue
            own[label] = repair
            taken = True
        if not taken and refused is not None:
            raise refused
    return found


def other_units(paths: Sequence[Path], targets: Sequence[Target], fitted: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each repair that was fitted on other units than a target's; none where either does not say."""
    if not paths:
        return
    from limbeck.repairs.folders import units_of

    for path, label in zip(paths, labels_of(paths), strict=True):
        for target, own in zip(targets, fitted, strict=True):
            was, now = units_of(path), target.describe().get("settings", {})
            if label in own and (unlike := [name for name in was if name in now and was[name] != now[name]]):
                then, here = (", ".join(f"{name} {side[name]}" for name in unlike) for side in (was, now))
                yield (
                    f"{label} was fitted on vectors of other units ({then}) than {target.name} has here ({here}): fit "
                    "one with the same --units and --special, or evaluate with its"
                )


def labels_of(paths: Sequence[Path]) -> list[str]:
    """How tables call repairs: by the names of their files or folders, by the paths where these are alike."""
    names = [path.stem if path.is_file() else path.resolve().name for path in paths]
    return [str(path) if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def unfitted_repairs(texts: Sequence[str], seed: int) -> dict[str, Any]:
    """What --method names, to be fitted on each task."""
    if not texts:
        return {}  # scikit-learn is needed for repairs only
    from limbeck.repairs.methods import parse_repair

    return {text: parse_repair(text, seed=seed, option="--method") for text in texts}


def tuned_repairs(tuned: Sequence[Tuning], seed: int) -> dict[str, Any]:
    """The best settings of each layer as repairs to fit on each task, under one name for all layers."""
    found: dict[str, Any] = {}
    for one in tuned:
        for name, repair in one.best_repairs(seed=seed).items():
            method = name.split()[0]
            found.setdefault(name if len(tuned) == 1 else f"tuned {method}", {})[one.layer] = repair
    return found


def repairs_by_name(**kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Vectors as they are ("") and all repairs of a target; where two kinds share a name, it says which kind it is.

    >>> list(repairs_by_name(fitted={"center": 1, "whiten": 2}, on_the_task={"center": 3}))
    ['', 'center, fitted', 'whiten', 'center, on the task']
    """
    names = [name for repairs in kinds.values() for name in repairs]
    found: dict[str, Any] = {"": None}
    for kind, repairs in kinds.items():
        for name, repair in repairs.items():
            label = name if names.count(name) == 1 else f"{name}, {kind.replace('_', ' ')}"
            if label in found:
                raise UsageError(
                    f"Each repair must have a separate name, got two {label!r}: rename a file or folder.",
                    code="twice",
                    parameter="repair",
                )
            found[label] = repair
    return found
