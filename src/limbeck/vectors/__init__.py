"""Word vectors and kept occurrence vectors, in every file format that people keep them in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.vectors.occurrences import OccurrenceVectors
    from limbeck.vectors.static import StaticVectors
    from limbeck.vectors.writer import OccurrenceWriter
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "occurrences": "OccurrenceVectors",
            "static": "StaticVectors",
            "writer": "OccurrenceWriter",
        },
    )

__all__ = ["OccurrenceVectors", "OccurrenceWriter", "StaticVectors"]
