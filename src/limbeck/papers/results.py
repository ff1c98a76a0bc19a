"""A paper tried on some models: every finding, as numbers, figures and blocks of a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck import __version__
from limbeck.papers.estimates import Estimate
from limbeck.papers.findings import Finding, Judgement, Paper, Tried, judge_all, spoken, why_undrawn
from limbeck.papers.parts import Part
from limbeck.papers.subjects import read_subjects
from limbeck.reporting.figures import save_figure
from limbeck.reporting.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = ("png", "svg")  #: of the figures in a folder of findings


@dataclass(frozen=True)
class Reproduction:
    """What became of a paper's claims on some models.

    subjects  what the claims were tried on, of the kind that the paper's rules know
    command   that made it, for the reader who wants it again
    """

    paper: Paper
    subjects: tuple[Any, ...]
    findings: tuple[Finding, ...]
    command: str = ""

    @property
    def presets(self) -> list[str]:
        """Of the runs; one, unless they were made apart."""
        return list(dict.fromkeys(str(one.account["settings"]["preset"]) for one in self.subjects))

    @property
    def note(self) -> str:
        """What a reader must know of models that are not the paper's; "" where all are."""
        others = [one.name for one in self.subjects if not self.paper.is_own(one)]
        if not others:
            return ""
        verb = "is" if len(others) == 1 else "are"
        return (
            f"{spoken(others)} {verb} not among the paper's models: what is tested is the claim, "
            "not the published number."
        )

    def as_dict(self) -> dict[str, Any]:
        """findings.json but for its format; docs/files.md tells what each key means."""
        return {
            "paper": {"id": self.paper.id, "title": self.paper.title, "citation": self.paper.citation},
            "command": self.command,
            "preset": ", ".join(self.presets),
            "limbeck": __version__,
            "note": self.note,
            "models": [_model(one, self.paper) for one in self.subjects],
            "findings": [
                _finding(one) | {"preset": ", ".join(self.presets), "command": self.command} for one in self.findings
            ],
        }


def evaluate(
    paper: Paper,
    folders: Sequence[Path],
    *,
    senses: Mapping[str, int] | None = None,
    static: Sequence[Part | str] | None = None,
    command: str = "",
) -> Reproduction:
    """Judge every claim of a paper by the run folders of `limbeck measure`.

    senses  in how many senses words stand in the text (`count_senses`)
    static  of each folder's model the scores of static vectors made of it (`component_vectors`), or why there are none
    """
    subjects = read_subjects([Path(folder) for folder in folders], senses=senses)
    if static is not None:
        subjects = [
            replace(one, no_static=part) if isinstance(part, str) else replace(one, static=part)
            for one, part in zip(subjects, static, strict=True)
        ]
    return try_on(paper, subjects, command=command)


def try_on(paper: Paper, subjects: Sequence[Tried], *, command: str = "") -> Reproduction:
    """Judge every claim of a paper on what was gathered."""
    return Reproduction(paper, tuple(subjects), tuple(judge_all(paper, subjects)), command)


def write_blocks(found: Reproduction, page: Path) -> None:
    """A page's generated blocks anew, and the figures that it shows beside it."""
    from limbeck.papers.markdown import blocks
    from limbeck.papers.pages import blocks_of, read_page, write_page

    prefix = f"{found.paper.id}-"
    made = blocks(found, figures="figures", prefix=prefix)
    wanted = {name for name in found.paper.figures if f"figure-{name}" in blocks_of(read_page(page, made))}
    draw_figures(found, page.parent / "figures", only=wanted, prefix=prefix, forms=["svg"])
    write_page(page, made)


def draw_figures(
    found: Reproduction,
    out: Path,
    *,
    only: Collection[str] | None = None,
    prefix: str = "",
    forms: Sequence[str] = FORMS,
) -> None:
    """The figures of the paper with these models, into a folder: all, or `only` some."""
    out.mkdir(parents=True, exist_ok=True)
    with styled():
        for name, make in makers_of(found).items():
            if only is None or name in only:
                figure = make()
                save_figure(figure, out, f"{prefix}{name}", forms=forms)
                figure.clear()


def makers_of(found: Reproduction) -> dict[str, Callable[[], Figure]]:
    """What draws each figure of the paper that is drawn of these models."""
    return {
        name: partial(make, found.subjects, found.paper.numbers)
        for name, make in found.paper.figures.items()
        if not why_undrawn(found.paper, name, found.subjects)
    }


def _model(one: Tried, paper: Paper) -> dict[str, Any]:
    source = one.account.get("source") or {}
    return {
        "name": one.name,
        "kind": one.family,
        "papers_own": paper.is_own(one),
        "layers": list(one.layers),
        "dim": one.account.get("dim"),
        "counts": one.account.get("counts", {}),
        "encoder_fingerprint": source.get("encoder_fingerprint"),
        "corpus_fingerprint": source.get("corpus_fingerprint"),
    }


def _finding(one: Finding) -> dict[str, Any]:
    claim = one.claim
    return {
        "id": claim.id,
        "kind": claim.kind,
        "claim": claim.text,
        "where": claim.where,
        "about": list(claim.families),
        "rule": claim.rule.text if claim.rule else None,
        "verdict": str(one.verdict),
        "why": one.why,
        "figure": claim.figure or None,
        "models": {name: _judgement(found) for name, found in one.models.items()},
        "published_by_the_same_rule": {name: _judgement(found) for name, found in one.published.items()},
        "published": [
            {"quantity": some.quantity, "values": dict(some.values), "source": some.source} for some in claim.published
        ],
    }


def _judgement(found: Judgement) -> dict[str, Any]:
    told: dict[str, Any] = {"verdict": str(found.verdict), "why": found.why}
    if found.numbers:
        told["numbers"] = {name: _estimate(number) for name, number in found.numbers.items()}
    if found.words:
        told["words"] = list(found.words)
    if found.curve:
        told["curve"] = {name: [_number(value) for value in values] for name, values in found.curve.items()}
    return told


def _estimate(number: Estimate) -> dict[str, float | None]:
    ends = (number.low, number.high) if number.error else (None, None)
    return {"value": _number(number.value), "low": ends[0], "high": ends[1]}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
