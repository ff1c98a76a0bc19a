"""What `limbeck evaluate` is given: targets, repairs and ranges of numbers, as typed, made into what they mean."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import count, positive
from limbeck.errors import LimbeckError, UsageError, choose

if TYPE_CHECKING:
    from limbeck.evaluate.targets import Target


def names_of(targets: Sequence[str]) -> list[str]:
    """A name for each target: the last part of its path, more of it where two are alike."""
    from limbeck.cli.measure import folders_of

    base = Path("targets")
    return [str(folder.relative_to(base)) for folder in folders_of(base, targets)]


def open_target(thing: str, name: str, options: argparse.Namespace) -> Target:
    from limbeck.encoders import load_encoder
    from limbeck.evaluate.targets import ModelTarget, TableTarget
    from limbeck.run.sources import is_static
    from limbeck.vectors import StaticVectors

    common: dict[str, Any] = {"name": name, "language": options.language, "lowercase": options.lowercase}
    if is_static(thing):
        fallback = None if options.fallback is None else StaticVectors.load(options.fallback)
        vectors = StaticVectors.load(thing)
        return TableTarget(vectors, oov=options.oov, case=options.case, fallback=fallback, **common)
    settings = ("layers", "units", "special", "keep_first", "device", "dtype", "batch_tokens", "revision")
    given = {name: getattr(options, name) for name in (*settings, "trust_remote_code")}
    encoder = load_encoder(thing, **{name: value for name, value in given.items() if value not in (None, False)})
    return ModelTarget(encoder, progress=not options.quiet, **common)


def fitted_repairs(paths: Sequence[str], targets: Sequence[Target]) -> list[dict[str, Any]]:
    """Of each target the repairs that were fitted on it, or that do not say on what; each must fit at least one."""
    from limbeck.evaluate.targets import check_repair
    from limbeck.repair import load_repairs

    found: list[dict[str, Any]] = [{} for _ in targets]
    labels = labels_of(paths)
    for path, label in zip(paths, labels, strict=True):
        refused: LimbeckError | None = None
        taken = False
        for target, own in zip(targets, found, strict=True):
            try:
                repair = load_repairs(path, model=target.model)
                check_repair(target, repair, label)
            except LimbeckError as error:
                refused = error
                continue
            own[label] = repair
            taken = True
        if not taken and refused is not None:
            raise refused
    return found


def labels_of(paths: Sequence[str]) -> list[str]:
    """How tables call repairs: by the names of their files or folders, by the paths where these are alike."""
    names = [Path(path).stem if Path(path).is_file() else Path(path).name for path in paths]
    return [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def transductive_repair(text: str, seed: int) -> Any:
    """A repair that is not fitted, from METHOD[+METHOD][:NAME=VALUE,...]."""
    from limbeck.repair.methods import METHODS, make_repair

    methods, _, given = text.partition(":")
    names = methods.split("+")
    for method in names:
        choose(method, METHODS, what="--transductive")
    known = {name for method in names for name in METHODS[method]().get_params()}
    params: dict[str, Any] = {"seed": seed}
    for part in filter(None, given.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"--transductive must be like cluster:clusters=27,components=12; got {text!r}.")
        choose(name, known, what=f"a parameter of {methods}")
        try:
            params[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            params[name] = value
    return make_repair(names, **params)


def numbers(text: str, *, what: str) -> list[int]:
    """Whole numbers from "10,27", "5-30" or "5-30/5".

    >>> numbers("1,5-20/5", what="--clusters")
    [1, 5, 10, 15, 20]
    """
    found: list[int] = []
    try:
        for part in text.split(","):
            ends, _, step = part.partition("/")
            low, _, high = ends.partition("-")
            found += range(count(low), count(high or low) + 1, positive(step or "1"))
    except argparse.ArgumentTypeError:
        found = []
    if not found:
        raise UsageError(f'{what} must be like "10,27", "5-30" or "5-30/5"; got {text!r}.')
    return found
