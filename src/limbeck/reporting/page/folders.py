"""Folders as the page shows them: what kind of run each is, its name, and the runs that it holds."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.errors import InputError, UsageError
from limbeck.record import read_record
from limbeck.reporting.read import Floats
from limbeck.reporting.space import AFTER, BEFORE
from limbeck.tables import open_parquet, read_csv, read_parquet

MEASURED = "measure"  #: kind of a folder with the tables of a measuring run, whoever wrote it
FINDINGS = "reproduce"
VECTORS = "encode"
_read = partial(read_record, odd=True)  #: what a section cannot show of a record, it passes over


@dataclass(frozen=True)
class Folder:
    """One run on the page.

    kind     the command that wrote it; "measure" also for the spaces before and after a repair
    name     differs from those of all other runs on the page
    account  its run.json, or findings.json, or vectors.json
    """

    path: Path
    kind: str
    name: str
    account: Mapping[str, Any]

    def file(self, name: str) -> Path | None:
        """The path of a file that may be there."""
        path = self.path / name
        return path if path.is_file() else None

    def table(self, name: str, *columns: str) -> dict[str, list[str]] | None:
        """The columns of a CSV file as text; None where there is none."""
        path = self.file(name)
        if path is None:
            return None
        try:
            table = read_csv(path)
        except (OSError, IndexError, ValueError, csv.Error) as error:
            raise InputError(
                f"{path}: must be a whole CSV table ({error}): make the run again.", code="damaged"
            ) from error
        missing = [column for column in columns if column not in table]
        if missing:
            raise InputError(
                f"{path}: must have the columns {', '.join(missing)}: make the run again.", code="incomplete"
            )
        return table

    def parquet(self, name: str, *columns: str, perhaps: Sequence[str] = ()) -> dict[str, Any] | None:
        """Columns of a Parquet file as Arrow arrays, and those that may be there; None where there is no file."""
        path = self.file(name)
        if path is None:
            return None
        try:
            with open_parquet(path) as file:
                known = set(file.schema_arrow.names)
            wanted = [*columns, *(column for column in perhaps if column in known)]
            table = read_parquet(path, wanted)
            return {column: table.column(column) for column in wanted}
        except (OSError, ValueError, KeyError) as error:
            reason = " ".join(str(error).split())[:100]
            raise InputError(
                f"{path}: must be a Parquet table with {', '.join(columns)}; {reason}.", code="damaged"
            ) from error


def numbers(cells: Sequence[str]) -> Floats:
    """Cells of a CSV as numbers; what is empty or not a number is NaN."""
    found = np.full(len(cells), np.nan)
    for place, cell in enumerate(cells):
        try:
            found[place] = float(cell or "nan")
        except ValueError:
            continue
    return found


def find_folders(paths: Sequence[str | Path]) -> list[Folder]:
    """Every run in the given folders, under names that differ."""
    if not paths:
        raise UsageError("At least one run folder must be given; got none.", code="required", parameter="runs")
    found = [folder for path in paths for folder in _runs_in(Path(path))]
    once = {(folder.path.resolve(), folder.kind): folder for folder in found}
    return _named_apart(list(once.values()))


def tells_command(path: Path) -> bool:
    """Whether a folder is a run that says by which command it was made, as all do but kept vectors."""
    for name in ("findings.json", "run.json"):
        try:
            return "command" in json.loads((path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError, RecursionError):
            continue
    return False


def _runs_in(path: Path) -> Iterator[Folder]:
    """A run itself, with those that it is made of; or the runs that a folder of several holds."""
    if not path.is_dir():
        raise InputError(
            f"{path}: a report is made of run folders, there is none: give the folder of a finished run.", code="no_run"
        )
    if (path / "findings.json").is_file():
        account = _read(path / "findings.json")
        yield Folder(path, FINDINGS, str(account.get("paper", {}).get("id") or plain_name(path)), account)
        yield from _several(path / "runs")
    elif (path / "run.json").is_file():
        yield from _run(path, _read(path / "run.json"))
    elif (path / "vectors.json").is_file():
        yield Folder(path, VECTORS, plain_name(path), _read(path / "vectors.json"))
    else:
        found = list(_several(path))
        if not found:
            raise InputError(
                f"{path}: it holds no finished run, no run.json, findings.json or vectors.json: give a run folder.",
                code="no_run",
            )
        yield from found


def _run(path: Path, account: Mapping[str, Any]) -> Iterator[Folder]:
    kind = str(account.get("command") or MEASURED)
    name = str(account.get("name") or account.get("model") or plain_name(path))
    if (path / "layers.csv").is_file():
        yield Folder(path, MEASURED, name, account)
        return
    yield Folder(path, kind, name, account)
    if kind == "distill" and account.get("results"):
        yield from _several(path)
    if kind == "repair":
        for part in (BEFORE, AFTER):
            if (path / part / "run.json").is_file():
                yield Folder(path / part, MEASURED, f"{name}, {part} repair", _read(path / part / "run.json"))


def _several(path: Path) -> Iterator[Folder]:
    """The runs in the folders of a folder, in the order in which they were made."""
    if not path.is_dir():
        return
    inside = [folder for folder in sorted(path.iterdir()) if not folder.name.startswith(".")]
    accounts = {folder: _read(folder / "run.json") for folder in inside if (folder / "run.json").is_file()}
    for folder in sorted(accounts, key=lambda folder: str(accounts[folder].get("written", ""))):
        yield from _run(folder, accounts[folder])


def plain_name(path: Path) -> str:
    """The name of a folder; of one that is being written, the name that it will have.

    >>> plain_name(Path("runs/.bert.unfinished")), plain_name(Path("runs/bert"))
    ('bert', 'bert')
    """
    return path.resolve().name.removeprefix(".").removesuffix(".unfinished") or "run"


def _telling(folder: Folder) -> str:
    """The nearest folder whose name tells more than the run's own does."""
    for path in (folder.path, *folder.path.resolve().parents):
        name = plain_name(path)
        if name not in (folder.name, BEFORE, AFTER, "runs"):
            return name
    return plain_name(folder.path)


def _named_apart(folders: Sequence[Folder]) -> list[Folder]:
    """No two runs have one name: it is the key of a run's colour, and of the box that hides it.

    Equal names are followed by their commands where these differ, else by their folders, at last by a number.
    """
    names = [" ".join(folder.name.split()) or plain_name(folder.path) for folder in folders]
    added: list[list[str]] = [[] for _ in folders]

    def called(place: int) -> str:
        return names[place] + (f" ({', '.join(added[place])})" if added[place] else "")

    kinds, tellings = ([tell(folder) for folder in folders] for tell in (lambda folder: folder.kind, _telling))
    for words in (kinds, tellings, [f"#{number}" for number, _ in enumerate(folders, 1)]):
        same: dict[str, list[int]] = {}
        for place in range(len(folders)):
            same.setdefault(called(place), []).append(place)
        for places in same.values():
            told = [words[place] for place in places]
            if len(set(told)) > 1:
                for place, word in zip(places, told, strict=True):
                    added[place].append(word)
    return [replace(folder, name=called(place)) for place, folder in enumerate(folders)]
