"""Lets the tests here import what they share: `made`, the tiny models of the encoders' tests, and `together`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
for folder in ("stream", "encoders", "distillation/x2static"):
    path = str(Path(__file__).parents[2] / folder)
    if path not in sys.path:
        sys.path.insert(0, path)
