"""Options of the analyses: which one, what all share, and what some have of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from limbeck.encoders.settings import Units
from limbeck.settings import Settings, option

if TYPE_CHECKING:
    from limbeck.analysis.spaces import Method

#: analysis -> what gets a vector unless --units says otherwise: subwords where the paper's code had them
UNITS: dict[str, Units] = {"structure": "pieces", "tense": "words", "frequency": "pieces", "clusters": "pieces"}
TOKENS = (".", ",", "the", "of")  #: those of Rajaee & Pilehvar (2021, Figure 3)
Metric = Literal["euclidean", "cosine"]
METRICS: tuple[str, ...] = get_args(Metric)


def method_names() -> Sequence[str]:
    """Methods of repair."""
    from limbeck.repairs.methods import METHODS  # scikit-learn loads with it

    return tuple(METHODS)


@dataclass(frozen=True)
class KindSettings(Settings, group="analysis"):
    """Which analysis."""

    what: Literal["structure", "tense", "frequency", "clusters"] | None = option(
        None, common=True, positional=True, required=True, metavar="WHAT", help=f"one of {', '.join(UNITS)}"
    )


@dataclass(frozen=True)
class AnalysisSettings(Settings, group="analysis"):
    """What all analyses share.

    In Python `repair` may also be a mapping, name -> fitted repair or name -> {layer: fitted repair}.
    """

    neighbors: int = option(5, minimum=1, metavar="N", help="structure, frequency: nearest neighbors (5)")
    metric: Metric = option("euclidean", metavar="NAME", help="distances: euclidean (default, the paper's) or cosine")
    method: tuple[Any, ...] | None = option(
        None,
        common=True,
        metavar="M",
        suggestions=method_names,
        between="+",
        help="repairs to fit, METHOD[:NAME=VALUE,...][+METHOD...] (default: the paper's all-but-the-top and cluster)",
    )
    repair: tuple[Any, ...] | None = option(
        None, metavar="R", files=True, help="fitted repairs: files, or folders of runs of `limbeck repair`"
    )
    transductive: bool = option(
        False,
        help="fit repairs on the very vectors that are analyzed (default: on all units of the text, or a sample of "
        "them)",
    )
    points: int = option(20_000, minimum=1, metavar="N", help="units of the text that are sampled (20000)")
    seed: int = option(0, metavar="N", help="seed of every sample, group and interval (0)")

    def check(self) -> None:
        if self.method is not None:  # a wrong name should not cost a model's loading
            object.__setattr__(self, "method", tuple(map(str, self.methods)))

    @property
    def methods(self) -> tuple[Method, ...]:
        """Repairs to fit; empty for the paper's two."""
        from limbeck.analysis.spaces import Method

        return tuple(Method(str(one)) for one in self.method or ())

    @property
    def repairs(self) -> dict[str, Any]:
        """Fitted repairs by name, or {layer: repair} by name; of files none, until they are loaded for a model."""
        return {name: one for some in self.repair or () if isinstance(some, Mapping) for name, one in some.items()}

    def describe(self) -> dict[str, Any]:
        """For a record."""
        return {
            "methods": [str(method) for method in self.methods] or "the paper's",
            "repairs": list(self.repairs),
            "points": self.points,
            "transductive": self.transductive,
            "metric": self.metric,
            "neighbors": self.neighbors,
            "seed": self.seed,
        }


DEFAULTS = AnalysisSettings()


@dataclass(frozen=True)
class DataSettings(Settings, group="structure, tense"):
    """Sentences that are labelled."""

    data: tuple[Any, ...] | None = option(
        None, metavar="D", files=True, help="treebank (CoNLL-U), or pairs of sentences (.tsv)"
    )


@dataclass(frozen=True)
class StructureSettings(Settings, group="structure"):
    """Groups of sentences of one structure."""

    tokens: tuple[str, ...] = option(TOKENS, metavar="T", help="tokens to analyze (. , the of)")
    groups: int = option(200, minimum=1, metavar="N", help="groups for each token (200)")
    group_size: int = option(6, minimum=2, metavar="N", help="sentences of a group (6)")


GROUPS = StructureSettings()


@dataclass(frozen=True)
class TenseSettings(Settings, group="tense"):
    """Occurrences of verbs."""

    min_occurrences: int = option(10, minimum=1, metavar="N", help="occurrences that a sense needs (10)")
    max_occurrences: int = option(
        20, minimum=1, metavar="N", help="occurrences kept of each verb, sense and tense (20)"
    )


VERBS = TenseSettings()


@dataclass(frozen=True)
class FrequencySettings(Settings, group="frequency"):
    """Counts of units."""

    count_in: Any = option(
        None,
        metavar="C",
        suggestions=("sample",),
        files=True,
        paths=True,
        help="a text in which units are counted (default: the corpus)",
    )


@dataclass(frozen=True)
class ClustersSettings(Settings, group="clusters"):
    """Clusters of the space."""

    clusters: int | None = option(
        None, minimum=1, metavar="K", help="how many clusters (default: 27, of causal models 10)"
    )
