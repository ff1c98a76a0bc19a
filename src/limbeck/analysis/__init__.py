"""What directions of a space hold: structure, tense, word frequency; and what its clusters contain.

The analyses of Rajaee & Pilehvar (2021), each before and after repair. Each has a function of arrays (`structure`,
`tense`, `frequency`, `clusters`) and one that reads a text through a model (`structure_of`, `pairs_of`, `tense_of`,
`frequency_of`, `clusters_of`) and gives an `Analysis`: tables, and claims that are held or not.
"""

from limbeck.analysis.clusters import clusters, clusters_of
from limbeck.analysis.frequency import frequency, frequency_of
from limbeck.analysis.result import Analysis, Claim
from limbeck.analysis.spaces import Method, Settings, Space, fit_spaces
from limbeck.analysis.structure import pairs, pairs_of, structure, structure_of
from limbeck.analysis.tense import tense, tense_of

__all__ = [
    "Analysis",
    "Claim",
    "Method",
    "Settings",
    "Space",
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
