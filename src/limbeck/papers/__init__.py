"""Papers tried again: each claim held, not held, too close to call, or not to be shown here, by a rule that is told.

A paper is a module of this package with a `PAPER`, named in `PAPERS` and nowhere else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Literal

from limbeck.errors import choose

if TYPE_CHECKING:
    from limbeck.papers.findings import Paper

#: what a paper's claims are tried on: run folders of `limbeck measure`, embedding tables, spaces before and after
#: repair, parents and the static vectors made from them, or layers as probes see them
Source = Literal["runs", "tables", "spaces", "parents", "probes"]
#: name of a paper -> what its claims are tried on; the module of the same name has the rest
PAPERS: dict[str, Source] = {
    "ethayarajh2019": "runs",
    "zhao2020": "probes",
    "rajaee2021": "spaces",
    "bis2021": "tables",
    "gupta2021": "parents",
}


def paper_named(name: str) -> Paper:
    """A paper's claims, figures and published numbers."""
    choose(name, PAPERS, what="the paper")
    paper: Paper = importlib.import_module(f"{__name__}.{name}").PAPER
    return paper
