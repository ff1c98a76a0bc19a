"""Lets the tests here import what they share."""

from __future__ import annotations

import sys
from pathlib import Path

path = str(Path(__file__).parent)
if path not in sys.path:
    sys.path.insert(0, path)
