"""Numbers and strings for the page: short ones as JSON, long ones as bytes that a browser unpacks by itself.

Bytes of a section are one after the other, deflated, in base64. JSON refers to them by place, length and type.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

ALIGNED = 8  # a browser's typed arrays begin at a multiple of their size
STEPS = 32_767  # of a number in [-1, 1]
UNDEFINED = -32_768


class Pack:
    """The long columns of one section."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def numbers(self, values: ArrayLike) -> dict[str, Any]:
        """Floats, in single precision."""
        return self._add(np.asarray(values, dtype="<f4").ravel(), "Float32Array")

    def whole(self, values: ArrayLike) -> dict[str, Any]:
        """Whole numbers below 2³¹."""
        return self._add(np.asarray(values, dtype="<i4").ravel(), "Int32Array")

    def fixed(self, values: ArrayLike) -> dict[str, Any]:
        """Floats in two bytes: to 1/65,534 of the largest absolute value, or of 1 if all are smaller. NaN stays NaN."""
        x = np.asarray(values, dtype=np.float64).ravel()
        known = np.isfinite(x)
        scale = max(1.0, float(np.abs(x[known]).max(initial=0.0)))
        steps = np.full(len(x), UNDEFINED, dtype="<i2")
        steps[known] = np.rint(x[known] / scale * STEPS)
        return self._add(steps, "Int16Array") | {"scale": scale / STEPS, "undefined": UNDEFINED}

    def strings(self, values: Sequence[str]) -> dict[str, Any]:
        """Any strings."""
        data = json.dumps(list(values), separators=(",", ":")).encode("ascii")
        return self._add(np.frombuffer(data, dtype=np.uint8), "strings")

    def _add(self, column: np.ndarray[Any, np.dtype[Any]], kind: str) -> dict[str, Any]:
        self._bytes.extend(b"\0" * (-len(self._bytes) % ALIGNED))
        place = {"at": len(self._bytes), "length": len(column), "type": kind}
        self._bytes.extend(column.tobytes())
        return place

    def __len__(self) -> int:
        return len(self._bytes)

    def base64(self) -> str:
        """All columns as the page holds them."""
        return base64.b64encode(zlib.compress(bytes(self._bytes), 9)).decode("ascii")


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, what is not a finite number as null, unknown things as their text."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def rounded(values: ArrayLike, digits: int = 6) -> list[float | None]:
    """Numbers with so many significant digits: the rest would only make the page longer."""
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in flat]
