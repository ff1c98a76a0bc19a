"""What directions of a space hold: structure, tense, word frequency; and what its clusters contain.

The analyses of Rajaee & Pilehvar (2021), each before and after repair. Each has a function of arrays (`structure`,
`tense`, `frequency`, `clusters`) and one that reads a text through a model (`structure_of`, `pairs_of`, `tense_of`,
`frequency_of`, `clusters_of`) and gives an `Analysis`: tables, and claims that are held or not.

Names load on first use: the settings need none of those that import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.analysis.clustering import clusters, clusters_of
    from limbeck.analysis.frequencies import frequency, frequency_of
    from limbeck.analysis.result import Analysis, Claim
    from limbeck.analysis.settings import AnalysisSettings, StructureSettings, TenseSettings
    from limbeck.analysis.spaces import Method, Space, fit_spaces
    from limbeck.analysis.structures import pairs, pairs_of, structure, structure_of
    from limbeck.analysis.tenses import tense, tense_of
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "clustering": "clusters clusters_of",
            "frequencies": "frequency frequency_of",
            "result": "Analysis Claim",
            "settings": "AnalysisSettings StructureSettings TenseSettings",
            "spaces": "Method Space fit_spaces",
            "structures": "pairs pairs_of structure structure_of",
            "tenses": "tense tense_of",
        },
    )

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
