"""The space as it is and as repairs make it, side by side: what every analysis looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.analyze.result import Row
from limbeck.encoders.protocol import Encoder
from limbeck.errors import LimbeckError, UsageError, choose
from limbeck.repair import AllButTheTop, Center, ClusterRemoval, ScaledCenter, Standardize, Whitening

Floats = NDArray[np.float64]

BASELINE = "baseline"
#: name of a method -> the repair, and the names of the numbers that may follow it
KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "all-but-the-top": (AllButTheTop, ("components",)),
    "cluster": (ClusterRemoval, ("clusters", "components")),
    "center": (Center, ()),
    "scaled-center": (ScaledCenter, ()),
    "standardize": (Standardize, ()),
    "whiten": (Whitening, ()),
}
#: what tables call a method; the paper's two have its names
CALLED = {"all-but-the-top": "global", "cluster": "cluster"}
#: of Rajaee & Pilehvar (2021, B.2), by kind of model: components of the global method; clusters, components of each
PUBLISHED = {"bert": (15, 27, 12), "roberta": (25, 27, 12), "gpt2": (30, 10, 30)}
METRICS = ("euclidean", "cosine")
FIT_ON = ("text", "eval")


@dataclass(frozen=True)
class Method:
    """A repair to be fitted: its name and, where it takes any, its numbers.

    >>> str(Method("cluster", (27, 12)))
    'cluster:27,12'
    """

    kind: str
    numbers: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}:{','.join(map(str, self.numbers))}" if self.numbers else self.kind

    def make(self, *, seed: int = 0) -> Any:
        """The repair, not fitted yet."""
        made, names = KINDS[self.kind]
        given = dict(zip(names, self.numbers, strict=False))
        return made(**given, **({"seed": seed} if made is ClusterRemoval else {}))


def parse_method(text: str) -> Method:
    """A method as it is written on the command line.

    >>> parse_method("all-but-the-top:15")
    Method(kind='all-but-the-top', numbers=(15,))
    """
    kind, _, rest = text.partition(":")
    names = KINDS[choose(kind.strip(), KINDS, what="--method")][1]
    cells = [cell.strip() for cell in rest.split(",")] if rest else []
    if len(cells) > len(names) or not all(cell.isdecimal() for cell in cells):
        wanted = f"whole numbers ({', '.join(names)})" if names else "no numbers"
        raise UsageError(f"--method {kind} takes {wanted}; got {text!r}.")
    return Method(kind.strip(), tuple(map(int, cells)))


@dataclass(frozen=True)
class Settings:
    """What all analyses share; the command line's options of the same names.

    methods     repairs that are fitted; empty for the paper's two
    repairs     name -> fitted repair, or name -> {layer: fitted repair}, beside them
    points      occurrences of any words, chosen by hash, that repairs are fitted on (and frequency, clusters look at)
    fit_on      "text": repairs are fitted on all units of the text (that sample of them); "eval": on the very vectors
                that are looked at, as the published code did (docs/fidelity.md §3.5)
    metric      of distances: "euclidean" (the paper) or "cosine"
    neighbors   nearest neighbours looked at
    """

    methods: tuple[Method, ...] = ()
    repairs: Mapping[str, Any] | None = None
    points: int = 20_000
    fit_on: str = "text"
    metric: str = "euclidean"
    neighbors: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        choose(self.metric, METRICS, what="--metric")
        choose(self.fit_on, FIT_ON, what="--fit-on")

    def told(self) -> dict[str, Any]:
        """For a record."""
        return {
            "methods": [str(method) for method in self.methods] or "the paper's",
            "repairs": list(self.repairs or {}),
            "points": self.points,
            "fit_on": self.fit_on,
            "metric": self.metric,
            "neighbors": self.neighbors,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Space:
    """A space by name: the vectors as they are (`repair` None), or as a fitted repair makes them."""

    name: str
    repair: Any = None
    fitted_on: int = 0  # rows

    def __call__(self, x: NDArray[Any]) -> NDArray[Any]:
        return x if self.repair is None else np.asarray(self.repair.transform(x))

    def row(self) -> Row:
        """What was done, for a table."""
        if self.repair is None:
            return {"space": self.name, "repair": "none", "fitted_on": 0}
        return {"space": self.name, "repair": describe(self.repair), "fitted_on": self.fitted_on}


def describe(repair: Any) -> str:
    """A fitted repair in words, with what it took.

    >>> describe(AllButTheTop(2).fit(np.eye(5)))
    'AllButTheTop(components=2)'
    """
    if isinstance(repair, ClusterRemoval):
        found = repair.removed_
        few = f", {int(found.min())} in the smallest" if len(found) and found.min() < repair.components else ""
        return f"ClusterRemoval(clusters={len(repair.centers_)}, components={repair.components}{few})"
    if isinstance(repair, AllButTheTop):
        return f"AllButTheTop(components={len(repair.components_)})"
    return (
        f"{type(repair).__name__}()" if not hasattr(repair, "steps") else " → ".join(name for name, _ in repair.steps)
    )


def family_of(encoder: Encoder | Any) -> str:
    """The paper's model that a model is most like: causal ones GPT-2, RoBERTa's kind RoBERTa, all others BERT."""
    about = encoder.describe() if hasattr(encoder, "describe") else {}
    kept = about.get("kept_from")
    settings = (kept if isinstance(kept, dict) else about).get("encoder_settings", about)
    if settings.get("causal"):
        return "gpt2"
    return "roberta" if "roberta" in str(settings.get("model_type", "")) else "bert"


def published_methods(family: str, *, dim: int, rows: int) -> tuple[Method, ...]:
    """The paper's two repairs for a kind of model, made smaller for a small space.

    At most an eighth of the dimensions is removed, and a cluster must have four rows a component on average: where
    nearly all directions are removed, nothing is left to look at.

    >>> [str(method) for method in published_methods("gpt2", dim=768, rows=20_000)]
    ['all-but-the-top:30', 'cluster:10,30']
    >>> [str(method) for method in published_methods("gpt2", dim=128, rows=400)]
    ['all-but-the-top:16', 'cluster:6,16']
    """
    whole, k, each = PUBLISHED[family]
    most = max(1, dim // 8)
    whole, each = min(whole, most), min(each, most)
    return Method("all-but-the-top", (whole,)), Method("cluster", (max(1, min(k, rows // (4 * each))), each))


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
    if not methods and not repairs:
        methods = published_methods(choose(family, PUBLISHED, what="family"), dim=dim, rows=rows)
    spaces = [Space(BASELINE)]
    kinds = [method.kind for method in methods]
    for method in methods:
        name = CALLED.get(method.kind, method.kind) if kinds.count(method.kind) == 1 else str(method)
        spaces.append(Space(name, method.make(seed=seed).fit(x), rows))
    for name, repair in (repairs or {}).items():
        expected = getattr(repair, "n_features_in_", None)
        if expected != dim:
            raise UsageError(f"The repair {name} is for vectors of {expected} dimensions; these have {dim}.")
        spaces.append(Space(name, repair))
    names = [space.name for space in spaces]
    if len(set(names)) < len(names):
        raise UsageError(f"Each method and repair must be given once; got {', '.join(names[1:])}.")
    return spaces


def repairs_at(layer: str, settings: Settings) -> dict[str, Any]:
    """The fitted repairs of a layer, by name."""
    found = {}
    for name, repair in (settings.repairs or {}).items():
        if isinstance(repair, Mapping) and layer not in repair:
            known = ", ".join(map(str, repair))
            raise UsageError(f"The repair {name} is of layers {known}; got layer {layer}: ask for one of these.")
        found[name] = repair[layer] if isinstance(repair, Mapping) else repair
    return found


def check_rows(x: NDArray[Any], **labels: Any) -> None:
    """Refuse vectors that are not (n, d), and labels that are not n."""
    if x.ndim != 2 or not x.size:
        raise LimbeckError(f"x must be (n, d) with rows; got shape {x.shape}.")
    for name, label in labels.items():
        if len(label) != len(x):
            raise LimbeckError(f"{name} must hold one for each of the {len(x)} rows of x; got {len(label)}.")
