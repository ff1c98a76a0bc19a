"""Lets the tests here import what they share: the tiny models of the encoders' tests, and made tasks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
for path in (str(Path(__file__).parent), str(Path(__file__).parents[2] / "encoders")):
    if path not in sys.path:
        sys.path.insert(0, path)
