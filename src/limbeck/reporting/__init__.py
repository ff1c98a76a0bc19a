"""Figures and pages from run folders: what was measured, drawn for people. No model is loaded here."""

from limbeck.reporting.figures import FIGURES, draw
from limbeck.reporting.page import report, write_page

__all__ = ["FIGURES", "draw", "report", "write_page"]
