"""The tasks that limbeck knows (`tasks.toml`), found by their files in a folder."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from limbeck.errors import InputError, choose
from limbeck.evaluation.task import KINDS, File, Kind, Task

TABLE = Path(__file__).parent / "tasks.toml"


def tasks(
    data_dir: str | Path, names: str | Iterable[str] | None = None, *, table: str | Path = TABLE
) -> dict[str, Task]:
    """The tasks whose files lie anywhere under `data_dir`, by name, in the order of the table.

    names  tasks, or kinds ("wordsim", "sts") of which at least one must be there; all that are found if None
    table  a TOML file with tasks of one's own, in the form of `tasks.toml`

    A task of which some files are there and others are not is an InputError: its score would be another's.
    """
    known = load_table(table)
    wanted = list(known)
    asked = [] if names is None else [names] if isinstance(names, str) else list(names)
    if names is not None:
        for name in asked:
            choose(name, [*KINDS, *known], what="task")
        wanted = [name for name, layouts in known.items() if name in asked or layouts[0].kind in asked]
    found = _placed(known, data_dir, asked, wanted)
    groups: list[tuple[Kind, ...]] = [(kind,) for kind in KINDS if kind in asked]
    for kinds in groups or [KINDS]:
        if not any(task.kind in kinds for task in found.values()):
            raise _nothing(data_dir, [known[name][0] for name in wanted if known[name][0].kind in kinds])
    return found


def find_some(data_dir: str | Path, needed: Sequence[str], others: Sequence[str]) -> dict[str, Task]:
    """Tasks of limbeck's own table: all of `needed`, and those of `others` that are there; at least one in all."""
    known = load_table()
    wanted = [name for name in known if name in needed or name in others]
    found = _placed(known, data_dir, needed, wanted)
    if not found:
        raise _nothing(data_dir, [known[name][0] for name in wanted])
    return found


def _placed(
    known: Mapping[str, Sequence[Task]], data_dir: str | Path, needed: Sequence[str], wanted: Sequence[str]
) -> dict[str, Task]:
    """The tasks that are there, with the paths of their files; each of `needed` must be."""
    here = index_of(Path(data_dir).expanduser())
    placed = {name: _find(known[name], here, needed=name in needed, root=data_dir) for name in wanted}
    return {name: task for name, task in placed.items() if task is not None}


def _nothing(data_dir: str | Path, wanted: Sequence[Task]) -> InputError:
    files = ", ".join(str(task.files[0].path) for task in wanted)
    return InputError(
        f"{data_dir}: files of known tasks are needed, got none of {files}: give their folder.",
        code="incomplete",
        parameter="data",
    )


def entries_of(table: str | Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tasks of a TOML file as they are written, each name once; first of each how an error calls it."""
    try:
        content = tomllib.loads(Path(table).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{table}: must be a readable TOML file of tasks ({error}): mend it.", code="damaged"
        ) from error
    entries = content.get("task", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(
            f"{table}: tasks must be tables under [[task]], got something else: mend it.", code="malformed"
        )
    seen = set()
    for number, entry in enumerate(entries, 1):
        name = str(entry.get("name", number))
        who = f"{table}: task {name!r}"
        if name in seen:
            raise InputError(f"{who} must be there once, got it twice: rename one.", code="twice")
        seen.add(name)
        yield who, entry


def load_table(table: str | Path = TABLE) -> dict[str, list[Task]]:
    """Of each task in a table its layouts, whose paths are ends of paths."""
    known: dict[str, list[Task]] = {}
    for who, entry in entries_of(table):
        try:
            layouts = [_task(entry, layout) for layout in entry["layout"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{who} must have name, kind and layouts with files, and nothing unknown, got a fault at {error}.",
                code="malformed",
            ) from error
        if not layouts or not all(layout.files for layout in layouts):
            raise InputError(
                f"{who} must have at least one layout with at least one file, got none: add it.", code="malformed"
            )
        choose(layouts[0].kind, KINDS, what=f"{who}: kind")
        for layout in layouts:
            scores = 3 if layout.files[0].gold is None else 2
            if len(layout.columns) < scores or min(layout.columns) < 1:
                raise InputError(
                    f"{who}: columns must be {scores} numbers from 1, got {list(layout.columns)}.", code="malformed"
                )
        known[layouts[0].name] = layouts
    return known


def _task(entry: Mapping[str, Any], layout: Mapping[str, Any]) -> Task:
    fields = {name: value for name, value in {**entry, **layout}.items() if name not in ("layout", "files")}
    fields |= {name: tuple(fields[name]) for name in ("columns", "scale") if name in fields}
    files = []
    for file in layout["files"]:
        paths = {name: Path(file[name]) for name in ("path", "gold") if name in file}
        files.append(File(**{**file, **paths}))
    return Task(files=tuple(files), **fields)


def index_of(folder: Path) -> dict[str, list[Path]]:
    """Paths of all files under a folder, by name; those nearest to it first."""
    if not folder.is_dir():
        raise InputError(
            f"{folder}: a folder with the files of tasks is needed, got none there: check the path.",
            code="not_found",
            parameter="data",
        )
    here: dict[str, list[Path]] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            here.setdefault(name, []).append(Path(place, name))
    for paths in here.values():
        paths.sort(key=lambda path: (len(path.parts), path))
    return here


def _find(layouts: Sequence[Task], here: Mapping[str, list[Path]], *, needed: bool, root: str | Path) -> Task | None:
    """The first layout of which a file is there, with the paths of its files."""
    for layout in layouts:
        ends = [end for file in layout.files for end in (file.path, file.gold) if end is not None]
        paths = {end: path for end in ends if (path := path_ending_in(end, here)) is not None}
        if not paths:
            continue
        missing = [str(end) for end in ends if end not in paths]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InputError(
                f"{root}: the task {layout.name} needs all of its {len(ends)} files, {missing[0]}{more} is missing: "
                f"{_get(layout)}, or name the tasks that are wanted.",
                code="incomplete",
                parameter="data",
            )
        files = [
            replace(file, path=paths[file.path], gold=None if file.gold is None else paths[file.gold])
            for file in layout.files
        ]
        return replace(layout, files=tuple(files))
    if needed:
        wanted = layouts[0].files[0].path
        raise InputError(
            f"{root}: the task {layouts[0].name} needs the file {wanted}, got none: {_get(layouts[0])}.",
            code="incomplete",
            parameter="data",
        )
    return None


def _get(task: Task) -> str:
    """What to do about a file that is missing."""
    return f"get it ({task.source}; licence: {task.licence or 'not stated'})" if task.source else "add it"


def path_ending_in(end: Path, here: Mapping[str, list[Path]]) -> Path | None:
    parts = PurePosixPath(end).parts
    return next((path for path in here.get(parts[-1], []) if path.parts[-len(parts) :] == parts), None)
