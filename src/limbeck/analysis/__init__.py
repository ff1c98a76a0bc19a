"""What directions of a space hold: structure, tense, word frequency; and what its clusters contain.

The analyses of Rajaee & Pilehvar (2021), each before and after repair. Each has a function of arrays (`structure`,
`tense`, `frequency`, `clusters`) and one that reads a text through a model (`structure_of`, `pairs_of`, `tense_of`,
`frequency_of`, `clusters_of`) and gives an `Analysis`: tables, and claims that are held or not.

Names load on first use: the settings need none of those that import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limbeck.analysis.clustering import clusters, clusters_of
    from limbeck.analysis.frequencies import frequency, frequency_of
    from limbeck.analysis.result import Analysis, Claim
    from limbeck.analysis.settings import AnalysisSettings, StructureSettings, TenseSettings
    from limbeck.analysis.spaces import Method, Space, fit_spaces
    from limbeck.analysis.structures import pairs, pairs_of, structure, structure_of
    from limbeck.analysis.tenses import tense, tense_of

__all__ = [
    "Analysis",
    "AnalysisSettings",
    "Claim",
    "Method",
    "Space",
    "StructureSettings",
    "TenseSettings",
    "clusters",
    "clusters_of",
    "fit_spaces",
    "frequency",
    "frequency_of",
    "pairs",
    "pairs_of",
    "structure",
    "structure_of",
    "tense",
    "tense_of",
]

_MODULES = {
    **dict.fromkeys(("clusters", "clusters_of"), "clustering"),
    **dict.fromkeys(("frequency", "frequency_of"), "frequencies"),
    **dict.fromkeys(("Analysis", "Claim"), "result"),
    **dict.fromkeys(("AnalysisSettings", "StructureSettings", "TenseSettings"), "settings"),
    **dict.fromkeys(("Method", "Space", "fit_spaces"), "spaces"),
    **dict.fromkeys(("pairs", "pairs_of", "structure", "structure_of"), "structures"),
    **dict.fromkeys(("tense", "tense_of"), "tenses"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
