"""Figures and pages from run folders: what was measured, drawn for people. No model is loaded here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.reporting.figures import FIGURES, draw, run_figures
    from limbeck.reporting.page import report, write_page
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "figures": "FIGURES draw run_figures",
            "page": "report write_page",
        },
    )

__all__ = ["FIGURES", "draw", "report", "run_figures", "write_page"]
