"""Figures from run folders: what was measured, drawn for people. No model is loaded here."""

from limbeck.report.figures import FIGURES, draw

__all__ = ["FIGURES", "draw"]
