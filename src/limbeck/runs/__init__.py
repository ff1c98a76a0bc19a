"""Runs: what the commands do, callable from Python."""

from limbeck.runs.encode import encode
from limbeck.runs.measure import measure
from limbeck.runs.results import Measured
from limbeck.runs.settings import MeasureSettings

__all__ = ["MeasureSettings", "Measured", "encode", "measure"]
