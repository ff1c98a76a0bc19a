"""Papers tried again: each claim held, not held, too close to call, or not to be shown here, by a rule that is told.

A paper is a module of this package with a `PAPER`, named in `PAPERS` and nowhere else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from limbeck.errors import choose

if TYPE_CHECKING:
    from limbeck.papers.findings import Paper

#: name of a paper -> what it is about; the module of the same name has the rest
PAPERS = {
    "ethayarajh2019": "How Contextual are Contextualized Word Representations?",
    "zhao2020": "Quantifying the Contextualization of Word Representations with Semantic Class Probing",
    "rajaee2021": "A Cluster-based Approach for Improving Isotropy in Contextual Embedding Space",
    "bis2021": "Too Much in Common: Shifting of Embeddings in Transformer Language Models",
    "gupta2021": "Obtaining Better Static Word Embeddings Using Contextual Embedding Models",
}


def paper_named(name: str) -> Paper:
    """A paper's claims, figures and published numbers."""
    choose(name, PAPERS, what="the paper")
    paper: Paper = importlib.import_module(f"{__name__}.{name}").PAPER
    return paper
