"""Repairs by the names that the command line knows them by."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from limbeck.errors import LimbeckError, UsageError, choose
from limbeck.repair.center import Center, ScaledCenter, Standardize
from limbeck.repair.clusters import ClusterRemoval
from limbeck.repair.components import AllButTheTop
from limbeck.repair.repair import Repair, chain_of
from limbeck.repair.whiten import Whitening

METHODS: dict[str, type[Repair]] = {
    "center": Center,
    "scaled-center": ScaledCenter,
    "standardize": Standardize,
    "all-but-the-top": AllButTheTop,
    "cluster": ClusterRemoval,
    "whiten": Whitening,
}


def make_repair(methods: Sequence[str], **params: Any) -> Any:
    """A repair that is not fitted, or a Pipeline of several; each takes those of the parameters that it has.

    None leaves a parameter as it is; one that no method has is refused.

    >>> make_repair(["all-but-the-top"], components=3)
    AllButTheTop(components=3)
    """
    if not methods:
        raise UsageError(f"at least one method is needed: {', '.join(METHODS)}.")
    kinds = [METHODS[choose(method, METHODS, what="--method")] for method in methods]
    given = {name: value for name, value in params.items() if value is not None}
    known = {name for kind in kinds for name in kind().get_params()}
    for name in given.keys() - known - {"seed"}:  # a seed is always there
        having = [method for method, kind in METHODS.items() if name in kind().get_params()]
        raise UsageError(f"--{name} belongs to {', '.join(having)}; got {', '.join(methods)}: leave it out.")
    made = [kind(**{name: given[name] for name in kind().get_params() if name in given}) for kind in kinds]
    if len(made) == 1:
        return made[0]
    return Pipeline(
        [(f"{number}-{method}", step) for number, (method, step) in enumerate(zip(methods, made, strict=True))]
    )


def parse_repair(text: str, *, seed: int = 0, option: str = "a repair") -> Any:
    """A repair that is not fitted, from METHOD[+METHOD][:NAME=VALUE,...]; `option` is what errors call it.

    >>> parse_repair("cluster:clusters=3,components=2")
    ClusterRemoval(clusters=3, components=2)
    """
    methods, _, given = text.partition(":")
    names = methods.split("+")
    for method in names:
        choose(method, METHODS, what=option)
    known = sorted({name for method in names for name in METHODS[method]().get_params()})
    params: dict[str, Any] = {"seed": seed}
    for part in filter(None, given.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{option} must be like cluster:clusters=27,components=12; got {text!r}.")
        if not known:
            raise UsageError(f"{option} {methods} takes no parameters; got {part!r}: leave it out.")
        choose(name, known, what=f"a parameter of {methods}")
        try:
            params[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            params[name] = value
    try:
        for _, step in chain_of(make_repair(names, **params)):
            step.begin(1)  # where it looks at its parameters: better now than after a model was loaded
    except LimbeckError as error:
        raise UsageError(f"{option} {text}: {error}") from error
    return make_repair(names, **params)


def name_of(repair: Any) -> str:
    """A repair's method, or those of a Pipeline in order; the class's name where it is one of your own.

    >>> name_of(make_repair(["center", "whiten"]))
    'center + whiten'
    """
    names = {kind: method for method, kind in METHODS.items()}
    return " + ".join(names.get(type(step), type(step).__name__) for _, step in chain_of(repair))
