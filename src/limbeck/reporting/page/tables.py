"""Tables of a run folder as they are: to be read on the page, and kept from it as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from limbeck.errors import InputError
from limbeck.reporting.page.folders import Folder
from limbeck.reporting.page.packing import Pack

MOST_ROWS = 2_000  #: of one table; the folder has all
#: how names of tables end that are left to the folder: single points, and sentences of a text
LEFT_OUT = ("points", "picture", "examples")


def tables_of(folder: Folder, names: Iterable[str], pack: Pack, share: float) -> list[dict[str, Any]]:
    """Of the named CSV files those that are there and have rows: columns, number of rows, cells row by row as text.

    One that cannot be read is an empty table with a note: it costs the reader no more than itself.
    """
    found: list[dict[str, Any]] = []
    for name in names:
        try:
            table = folder.table(f"{name}.csv")
        except InputError:
            note = "cannot be read as a table, and is left out"
            found.append({"name": name, "columns": [], "rows": 0, "all": 0, "cells": pack.strings([]), "note": note})
            continue
        count = len(next(iter(table.values()), [])) if table else 0
        shown = min(count, int(share * MOST_ROWS))
        if table and shown:
            rows = zip(*(column[:shown] for column in table.values()), strict=True)
            cells = pack.strings(list(chain.from_iterable(rows)))
            found.append({"name": name, "columns": list(table), "rows": shown, "all": count, "cells": cells})
    return found


def names_inside(folder: Folder) -> list[str]:
    """CSV files of a folder and of the folders in it that are no runs of their own, but for those that are left out."""
    inside = [one for one in sorted(folder.path.iterdir()) if one.is_dir() and not (one / "run.json").exists()]
    files = [path for place in (folder.path, *inside) for path in sorted(place.glob("*.csv"))]
    names = [path.relative_to(folder.path).with_suffix("").as_posix() for path in files]
    return [name for name in names if not name.endswith(LEFT_OUT)]
