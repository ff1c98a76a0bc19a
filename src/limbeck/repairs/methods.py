"""Repairs by the names that the command line knows them by."""

from __future__ import annotations

import ast
import re
from typing import Any

from sklearn.pipeline import Pipeline

from limbeck.errors import LimbeckError, UsageError, choose, parameter_of
from limbeck.repairs.center import Center, ScaledCenter, Standardize
from limbeck.repairs.clusters import ClusterRemoval
from limbeck.repairs.components import AllButTheTop
from limbeck.repairs.repair import Repair, chain_of
from limbeck.repairs.whiten import Whitening

METHODS: dict[str, type[Repair]] = {
    "center": Center,
    "scaled-center": ScaledCenter,
    "standardize": Standardize,
    "all-but-the-top": AllButTheTop,
    "cluster": ClusterRemoval,
    "whiten": Whitening,
}
JOINT = re.compile(r"\+(?=[a-z])")  #: between two methods; k-means++ has none


def parse_repair(text: str, *, seed: int = 0, option: str = "a repair") -> Any:
    """A repair that is not fitted, from METHOD[:NAME=VALUE,...]; several with + between are a Pipeline in that order.

    `option` is what errors call it. A `random_state` in the text goes before `seed`.

    >>> parse_repair("cluster:n_clusters=3,n_components=2")
    ClusterRemoval(n_clusters=3, n_components=2)
    >>> [step for _, step in parse_repair("center+all-but-the-top:n_components=1").steps]
    [Center(), AllButTheTop(n_components=1)]
    """
    parts = JOINT.split(text)
    made = [_parse_step(part, seed, option) for part in parts]
    if len(made) == 1:
        return made[0]
    return Pipeline(
        [
            (f"{number}-{part.partition(':')[0]}", step)
            for number, (part, step) in enumerate(zip(parts, made, strict=True))
        ]
    )


def _parse_step(text: str, seed: int, option: str) -> Repair:
    method, _, given = text.partition(":")
    kind = METHODS[choose(method, METHODS, what=option)]
    known = sorted(kind().get_params())
    params: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
    for part in filter(None, given.split(",")):
        name, equals, value = part.partition("=")
        if not known:
            raise UsageError(
                f"{option} {method} takes no parameters; got {part!r}: leave it out.",
                code="unknown_parameter",
                parameter=parameter_of(option),
            )
        if not equals:
            raise UsageError(
                f"{option} must be like cluster:n_clusters=27,n_components=12; got {text!r}.",
                code="malformed",
                parameter=parameter_of(option),
            )
        choose(name, known, what=f"a parameter of {method}")
        try:
            params[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            params[name] = value
    try:
        kind(**params).begin(1)  # where it looks at its parameters: better now than after a model was loaded
    except LimbeckError as error:
        raise UsageError(f"{option} {text}: {error}", code=error.code, parameter=parameter_of(option)) from error
    return kind(**params)


def name_of(repair: Any) -> str:
    """A repair's method, or those of a Pipeline in order; the class's name where it is one of your own.

    >>> name_of(parse_repair("center+whiten"))
    'center + whiten'
    """
    names = {kind: method for method, kind in METHODS.items()}
    return " + ".join(names.get(type(step), type(step).__name__) for _, step in chain_of(repair))
