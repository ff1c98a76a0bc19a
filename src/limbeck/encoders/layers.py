"""Layers by name: "0" is what the first block reads, "12" what the twelfth gives, "table" the bare embeddings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from limbeck.errors import UsageError

TABLE = "table"
Wanted = str | int | Sequence[str | int] | None
_RANGE = re.compile(r"(-?\d+)(?:-(-?\d+))?\Z")


def choose_layers(wanted: Wanted, blocks: int) -> tuple[str, ...]:
    """Names of the layers asked for, lowest first, of a model with that many blocks.

    >>> choose_layers("table, 0, 3-5, -1", 12)
    ('table', '0', '3', '4', '5', '12')
    >>> choose_layers(None, 2)
    ('0', '1', '2')
    """
    ranges = read_layers(wanted)
    if ranges is None:
        return tuple(map(str, range(blocks + 1)))
    found: set[int] = set()
    for name, ends in ranges:
        if ends is None:
            found.add(-1)
            continue
        low, high = (_layer(end, blocks) for end in ends)
        if high < low:
            raise UsageError(f"A range of --layers must rise; got {name!r}.", code="out_of_range", parameter="layers")
        found.update(range(low, high + 1))
    return tuple(TABLE if layer < 0 else str(layer) for layer in sorted(found))


def read_layers(wanted: Wanted) -> list[tuple[str, tuple[int, int] | None]] | None:
    """The names and ranges that are asked for, with their ends, before a model is known; None for all layers.

    >>> read_layers("table, 3-5, -1")
    [('table', None), ('3-5', (3, 5)), ('-1', (-1, -1))]
    """
    if wanted is None or wanted == "all":
        return None
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        wanted = str(wanted).split(",")
    found: list[tuple[str, tuple[int, int] | None]] = []
    for part in wanted:
        name = str(part).strip()
        match = _RANGE.match(name)
        if match is None and name != TABLE:
            raise UsageError(
                f'--layers must be like "0", "3-5", "-1", "table", or several with commas between; got {name!r}.',
                code="malformed",
                parameter="layers",
            )
        found.append((name, None if match is None else (int(match[1]), int(match[2] or match[1]))))
    if not found:
        raise UsageError(
            "--layers must name at least one; got none: omit it for all.", code="required", parameter="layers"
        )
    return found


def _layer(number: int, blocks: int) -> int:
    """Negative numbers count from the top."""
    layer = number + blocks + 1 if number < 0 else number
    if not 0 <= layer <= blocks:
        raise UsageError(
            f"--layers must be among the model's, 0 to {blocks}; got {number}: ask for one of these.",
            code="out_of_range",
            parameter="layers",
        )
    return layer
