"""Runs: what the commands do, callable from Python."""

from limbeck.runs.encode import encode
from limbeck.runs.measure import measure
from limbeck.runs.measuring.results import Measured
from limbeck.runs.measuring.settings import MeasureSettings

__all__ = ["MeasureSettings", "Measured", "encode", "measure"]
