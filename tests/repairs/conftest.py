"""Lets the tests here import what they share: `made`, and the tiny models of the encoders' tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
for folder in ("stream", "encoders"):
    path = str(Path(__file__).parent.parent / folder)
    if path not in sys.path:
        sys.path.insert(0, path)
