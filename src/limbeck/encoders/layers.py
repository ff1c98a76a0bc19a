"""Layers by name: "0" is what the first block reads, "12" what the twelfth gives, "table" the bare embeddings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from limbeck.errors import UsageError

TABLE = "table"
_RANGE = re.compile(r"(-?\d+)(?:-(-?\d+))?\Z")


def choose_layers(wanted: str | int | Sequence[str | int] | None, blocks: int) -> tuple[str, ...]:
    """Names of the layers asked for, lowest first, of a model with that many blocks.

    >>> choose_layers("table, 0, 3-5, -1", 12)
    ('table', '0', '3', '4', '5', '12')
    >>> choose_layers(None, 2)
    ('0', '1', '2')
    """
    if wanted is None or wanted == "all":
        return tuple(map(str, range(blocks + 1)))
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        wanted = str(wanted).split(",")
    found: set[int] = set()
    for part in wanted:
        name = str(part).strip()
        if name == TABLE:
            found.add(-1)
            continue
        match = _RANGE.match(name)
        if match is None:
            raise UsageError(
                f'--layers must be like "0", "3-5", "-1", "table", or several with commas between; got {name!r}.',
                code="malformed",
                parameter="layers",
            )
        low, high = (None if end is None else _layer(int(end), blocks) for end in match.groups())
        assert low is not None
        if high is not None and high < low:
            raise UsageError(f"A range of layers must rise; got {name!r}.", code="out_of_range", parameter="layers")
        found.update(range(low, (low if high is None else high) + 1))
    if not found:
        raise UsageError(
            "At least one layer must be chosen; got none: leave --layers out for all.",
            code="required",
            parameter="layers",
        )
    return tuple(TABLE if layer < 0 else str(layer) for layer in sorted(found))


def _layer(number: int, blocks: int) -> int:
    """Negative numbers count from the top."""
    layer = number + blocks + 1 if number < 0 else number
    if not 0 <= layer <= blocks:
        raise UsageError(
            f"The model has layers 0 to {blocks}; got {number}: ask for one of these.",
            code="out_of_range",
            parameter="layers",
        )
    return layer
