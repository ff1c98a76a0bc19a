"""run.json: what a finished run says of itself, read and checked as far as other commands rely on it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limbeck.errors import InputError, without_passwords
from limbeck.places import is_run, missing_run

FORMAT = 2  #: of run.json and of the tables beside it
AGAIN = "make the run again"
LONGEST = 1 << 28  #: characters of a record
DEEPEST = 100  #: levels of one; what writes it has a dozen
#: fields that are objects, texts and numbers wherever they are there
OBJECTS = ("counts", "settings", "source", "versions", "dropped")
TEXTS = ("command", "name", "model", "written", "part")
NUMBERS = ("seconds",)


def read_record(path: Path, *, odd: bool = False) -> dict[str, Any]:
    """The object in a record's file; `InputError` where it is none, or a field is not what it must be.

    odd  fields may be anything, where the reader passes over those that it cannot show

    Passwords in addresses, which runs kept before they were refused, are stars.
    """
    try:
        if path.stat().st_size > LONGEST:
            raise ValueError(f"it is longer than {LONGEST:,} bytes")
        told = json.loads(without_passwords(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        needed = "the folder of a finished run is needed"
        raise missing_run(path.parent, needed, f"no {path.name} is there: check the path") from None
    except OSError as error:
        raise InputError(
            f"{path}: must be readable; {error.strerror or error}: {AGAIN}.", code="not_readable"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: the account of a run must be JSON; {' '.join(str(error).split())[:100]}: {AGAIN}.", code="damaged"
        ) from error
    if not isinstance(told, dict):
        raise InputError(
            f"{path}: the account of a run must be JSON, an object; got {type(told).__name__}: {AGAIN}.", code="damaged"
        )
    if _depth(told) > DEEPEST:
        raise InputError(f"{path}: must be nested at most {DEEPEST} levels deep: {AGAIN}.", code="damaged")
    if not odd:
        check_record(path, told)
    return told


def check_format(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The record, if its folder has the format of this version."""
    found = record.get("format")
    if found is None and not is_run(record):
        raise InputError(
            f"{folder}: the folder of a finished run is needed, its run.json is none of limbeck's: check the path.",
            code="no_run",
        )
    if found != FORMAT:
        what = "an earlier version" if found is None or (isinstance(found, int) and found < FORMAT) else "a later one"
        raise InputError(
            f"{folder}: format {found or 1} of {what} of limbeck, this one reads format {FORMAT}: make the run again.",
            code="other_format",
        )
    return record


def check_record(path: Path, told: Mapping[str, Any]) -> None:
    """Refuse fields that are not what every command writes."""

    def fail(name: str, what: str) -> None:
        got = json.dumps(told[name], default=str)[:60]
        raise InputError(f"{path}: {name} must be {what}, got {got}: {AGAIN}.", code="damaged")

    for name in told.keys() & set(OBJECTS):
        if not isinstance(told[name], dict):
            fail(name, "an object")
    for name in told.keys() & set(TEXTS):
        if not isinstance(told[name], str):
            fail(name, "a text")
    for name in told.keys() & set(NUMBERS):
        if not _is_number(told[name]):
            fail(name, "a number")
    if not _is_number(told.get("dim", 1)) or not 1 <= told.get("dim", 1) <= 1 << 40 or told.get("dim", 1) % 1:
        fail("dim", "a whole number of at least 1")
    layers = told.get("layers", ["0"])
    if isinstance(layers, list) and layers and all(isinstance(layer, str | int) for layer in layers):
        return
    if told.get("command") == "measure" or not isinstance(layers, list | str | None):
        fail("layers", "a list of at least one layer")


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and math.isfinite(value)
    )


def _depth(value: Any) -> int:
    """How deeply an object is nested, counted without recursion."""
    deepest, left = 0, [(value, 1)]
    while left:
        one, depth = left.pop()
        deepest = max(deepest, depth)
        inside = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        left += [(part, depth + 1) for part in inside if isinstance(part, dict | list)]
    return deepest
