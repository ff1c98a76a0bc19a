"""Runs: what the commands do, callable from Python."""

from limbeck.run.encode import encode
from limbeck.run.measure import measure
from limbeck.run.results import Measured
from limbeck.run.settings import MeasureSettings

__all__ = ["MeasureSettings", "Measured", "encode", "measure"]
