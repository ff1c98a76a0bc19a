"""The sections of the page, in their order: each makes plain tables of the runs that have what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from limbeck.reporting.page.folders import MEASURED, Folder
from limbeck.reporting.page.packing import Pack
from limbeck.reporting.page.sections import (
    analyses,
    findings,
    frequency,
    layers,
    overview,
    probes,
    scores,
    space,
    spectrum,
    training,
    words,
)

#: (runs, long columns, share of the words to show) -> what the page draws; None: no run has anything of the kind
Section = Callable[[Sequence[Folder], Pack, float], "dict[str, Any] | None"]

SECTIONS: dict[str, Section] = {
    "overview": overview.section,
    "findings": findings.section,
    "layers": layers.section,
    "frequency": frequency.section,
    "spectrum": spectrum.section,
    "space": space.section,
    "words": words.section,
    "scores": scores.section,
    "probes": probes.section,
    "analyses": analyses.section,
    "training": training.section,
}


def names_in(folders: Sequence[Folder]) -> list[str]:
    """What has a colour of its own throughout the page: measured runs first, then the others."""
    measured = [folder.name for folder in folders if folder.kind == MEASURED]
    return list(dict.fromkeys([*measured, *(folder.name for folder in folders)]))
