"""The space as it is and as repairs make it, side by side: what every analysis looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.analysis.result import Row
from limbeck.analysis.settings import AnalysisSettings
from limbeck.errors import LimbeckError, UsageError, choose
from limbeck.repairs import AllButTheTop, ClusterRemoval
from limbeck.repairs.methods import JOINT, parse_repair
from limbeck.repairs.published import PUBLISHED as PUBLISHED
from limbeck.repairs.published import family_of as family_of
from limbeck.repairs.published import published_numbers

Floats = NDArray[np.float64]

BASELINE = "baseline"
#: what tables call a method; the paper's two have its names
CALLED = {"all-but-the-top": "global", "cluster": "cluster"}


@dataclass(frozen=True)
class Method:
    """A repair to be fitted, as `limbeck.repairs.methods.parse_repair` reads it.

    >>> Method("standardize+cluster:n_clusters=3").kind
    'standardize+cluster'
    """

    written: str

    def __post_init__(self) -> None:
        self.make()  # a wrong name should not cost a model's loading

    def __str__(self) -> str:
        return self.written

    @property
    def kind(self) -> str:
        """Its methods without their parameters."""
        return "+".join(part.partition(":")[0] for part in JOINT.split(self.written))

    def make(self, *, seed: int = 0) -> Any:
        """The repair, not fitted yet."""
        return parse_repair(self.written, seed=seed, option="--method")


@dataclass(frozen=True)
class Space:
    """A space by name: the vectors as they are (`repair` None), or as a fitted repair makes them."""

    name: str
    repair: Any = None
    fitted_on: int = 0  # rows
    instead_of: str = ""  # the paper's method, where a small space has made it smaller

    def __call__(self, x: NDArray[Any]) -> NDArray[Any]:
        return x if self.repair is None else np.asarray(self.repair.transform(x))

    def row(self) -> Row:
        """What was done, for a table."""
        if self.repair is None:
            return {"space": self.name, "repair": "none", "fitted_on": 0, "instead_of": ""}
        return {
            "space": self.name,
            "repair": describe(self.repair),
            "fitted_on": self.fitted_on,
            "instead_of": self.instead_of,
        }


def describe(repair: Any) -> str:
    """A fitted repair in words, with what it took.

    >>> describe(AllButTheTop(2).fit(np.eye(5)))
    'AllButTheTop(n_components=2)'
    """
    if hasattr(repair, "steps"):
        return " → ".join(describe(step) for _, step in repair.steps)
    if isinstance(repair, ClusterRemoval):
        found = repair.removed_
        few = f", {int(found.min())} in the smallest" if len(found) and found.min() < repair.n_components else ""
        chosen = _chosen(repair, "init", "iterations")
        return f"ClusterRemoval(n_clusters={len(repair.centers_)}, n_components={repair.n_components}{few}{chosen})"
    if isinstance(repair, AllButTheTop):
        return f"AllButTheTop(n_components={len(repair.components_)}{_chosen(repair, 'projection')})"
    return repr(repair)


def _chosen(repair: Any, *names: str) -> str:
    """Those of the parameters that were chosen otherwise than by default."""
    own, default = repair.get_params(), type(repair)().get_params()
    told = {name: own[name] if np.ndim(own[name]) == 0 else "given" for name in names}
    return "".join(f", {name}={value}" for name, value in told.items() if value != default[name])


def published_methods(family: str, *, dim: int, rows: int) -> tuple[Method, ...]:
    """The paper's two repairs for a kind of model, made smaller for a small space: see `limbeck.repairs.published`.

    >>> [str(method) for method in published_methods("gpt2", dim=768, rows=20_000)]
    ['all-but-the-top:n_components=30', 'cluster:n_clusters=10,n_components=30']
    >>> [str(method) for method in published_methods("gpt2", dim=128, rows=400)]
    ['all-but-the-top:n_components=16', 'cluster:n_clusters=6,n_components=16']
    """
    return methods_of(*published_numbers(family, dim=dim, rows=rows))


def methods_of(whole: int, clusters: int, each: int) -> tuple[Method, Method]:
    """The paper's two repairs: components of the whole space; clusters, and components of each."""
    return Method(f"all-but-the-top:n_components={whole}"), Method(f"cluster:n_clusters={clusters},n_components={each}")


def fit_spaces(
    x: NDArray[Any],
    *,
    methods: Sequence[Method] = (),
    repairs: Mapping[str, Any] | None = None,
    family: str = "bert",
    seed: int = 0,
) -> list[Space]:
    """The baseline and a space for each method, fitted on x (n, d), and for each repair that is fitted already.

    Without either, the paper's two for a kind of model.
    """
    rows, dim = x.shape
    papers: dict[str, str] = {}  # kind -> the paper's
    if not methods and not repairs:
        methods = published_methods(choose(family, PUBLISHED, what="family"), dim=dim, rows=rows)
        papers = {method.kind: str(method) for method in methods_of(*PUBLISHED[family])}
    spaces = [Space(BASELINE)]
    kinds = [method.kind for method in methods]
    for method in methods:
        name = CALLED.get(method.kind, method.kind) if kinds.count(method.kind) == 1 else str(method)
        paper = papers.get(method.kind, str(method))
        spaces.append(Space(name, method.make(seed=seed).fit(x), rows, paper if paper != str(method) else ""))
    for name, repair in (repairs or {}).items():
        expected = getattr(repair, "n_features_in_", None)
        if expected != dim:
            raise UsageError(
                f"The repair {name} is for vectors of {expected} dimensions; these have {dim}.",
                code="other_dimensions",
                parameter="repair",
            )
        spaces.append(Space(name, repair))
    names = [space.name for space in spaces]
    if len(set(names)) < len(names):
        raise UsageError(f"Each method and repair must be given once; got {', '.join(names[1:])}.", code="twice")
    return spaces


def repairs_at(layer: str, settings: AnalysisSettings) -> dict[str, Any]:
    """The fitted repairs of a layer, by name."""
    found = {}
    for name, repair in settings.repairs.items():
        if isinstance(repair, Mapping) and layer not in repair:
            known = ", ".join(map(str, repair))
            raise UsageError(
                f"The repair {name} is of layers {known}; got layer {layer}: ask for one of these.",
                code="other_layers",
                parameter="repair",
            )
        found[name] = repair[layer] if isinstance(repair, Mapping) else repair
    return found


def check_rows(x: NDArray[Any], **labels: Any) -> None:
    """Refuse vectors that are not (n, d), and labels that are not n."""
    if x.ndim != 2 or not x.size:
        raise LimbeckError(f"x must be (n, d) with rows; got shape {x.shape}.", code="wrong_shape", parameter="x")
    for name, label in labels.items():
        if len(label) != len(x):
            raise LimbeckError(
                f"{name} must hold one for each of the {len(x)} rows of x; got {len(label)}.",
                code="unequal_lengths",
                parameter=name,
            )
