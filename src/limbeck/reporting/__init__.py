"""Figures and pages from run folders: what was measured, drawn for people. No model is loaded here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limbeck.reporting.figures import FIGURES, draw, run_figures
    from limbeck.reporting.page import report, write_page

_PLACES = {"FIGURES": "figures", "draw": "figures", "run_figures": "figures", "report": "page", "write_page": "page"}

__all__ = ["FIGURES", "draw", "report", "run_figures", "write_page"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
