"""Findings of papers: each claim, whether it is held, and by which number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from limbeck.reporting.page.folders import FINDINGS, Folder
from limbeck.reporting.page.packing import Pack
from limbeck.reporting.page.tables import names_inside, tables_of


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each paper its claims in their order, and the tables that they were judged by."""
    papers = []
    for folder in folders:
        if folder.kind == FINDINGS:
            told = folder.account
            papers.append(
                {
                    "run": folder.name,
                    "title": (told.get("paper") or {}).get("title", folder.name),
                    "citation": (told.get("paper") or {}).get("citation", ""),
                    "note": told.get("note", ""),
                    "claims": [_claim(one) for one in told.get("findings", [])],
                    "tables": tables_of(folder, names_inside(folder), pack, share),
                }
            )
    return {"title": "Findings", "papers": papers} if papers else None


def _claim(one: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: one.get(name) for name in ("id", "kind", "claim", "where", "rule", "verdict", "why")}
    return kept | {
        "models": _judged(one.get("models")),
        "published": _judged(one.get("published_by_the_same_rule")),
    }


def _judged(models: Mapping[str, Any] | None) -> list[list[Any]]:
    """Rows of model, verdict, reason."""
    return [[name, judged.get("verdict"), judged.get("why")] for name, judged in (models or {}).items()]
