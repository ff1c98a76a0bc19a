"""Word vectors and kept occurrence vectors, in every file format that people keep them in."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limbeck.vectors.occurrences import OccurrenceVectors
    from limbeck.vectors.static import StaticVectors
    from limbeck.vectors.writer import OccurrenceWriter

_PLACES = {"StaticVectors": "static", "OccurrenceVectors": "occurrences", "OccurrenceWriter": "writer"}

__all__ = ["OccurrenceVectors", "OccurrenceWriter", "StaticVectors"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
