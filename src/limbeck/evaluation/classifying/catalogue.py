"""The classification tasks that limbeck knows (`tasks.toml`, `sentences.toml`), found by their files in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from limbeck.errors import InputError, choose
from limbeck.evaluation.catalogue import entries_of, index_of, path_ending_in
from limbeck.evaluation.classifying.scores import METRICS
from limbeck.evaluation.classifying.task import KINDS, SPLITS, WHOLE, ClassifyFile, ClassifyTask

TABLE = Path(__file__).parent / "tasks.toml"  #: those of Rajaee & Pilehvar (2021)
SENTENCES = TABLE.with_name("sentences.toml")  #: those of Gupta & Jaggi (2021)
ALL = "classify"  #: the name that means every task of which the files are there


def classify_tasks(
    data_dir: str | Path, names: str | Iterable[str] | None = None, *, table: str | Path | None = None
) -> dict[str, ClassifyTask]:
    """The classification tasks whose files lie anywhere under `data_dir`, by name, in the order of the tables.

    names  tasks, which must be there; all that are found if None or "classify", of which one must be there
    table  a TOML file with tasks of one's own, in the form of `tasks.toml`; limbeck's own two unless said
    """
    known = all_tasks() if table is None else load_table(table)
    asked = [] if names is None else [names] if isinstance(names, str) else list(names)
    for name in asked:
        choose(name, [ALL, *known], what="task")
    return _placed(known, data_dir, asked, list(known) if not asked or ALL in asked else asked)


def find_some(data_dir: str | Path, needed: Sequence[str], others: Sequence[str]) -> dict[str, ClassifyTask]:
    """Tasks of limbeck's own tables: all of `needed`, and those of `others` that are there; at least one in all."""
    return _placed(all_tasks(), data_dir, needed, [*needed, *others])


def all_tasks() -> dict[str, ClassifyTask]:
    """The tasks of limbeck's own tables."""
    return {**load_table(TABLE), **load_table(SENTENCES)}


def load_table(table: str | Path = TABLE) -> dict[str, ClassifyTask]:
    """The tasks of a table; their paths are ends of paths."""
    known: dict[str, ClassifyTask] = {}
    for who, entry in entries_of(table):
        try:
            task = _task(entry)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{who} must have name, kind, classes, texts and files, and nothing unknown, got a fault at {error}.",
                code="malformed",
            ) from error
        _check(task, who)
        known[task.name] = task
    return known


def _task(entry: Mapping[str, Any]) -> ClassifyTask:
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    files = []
    for file in entry["files"]:
        paths = {name: Path(file[name]) for name in ("path", "gold") if name in file}
        files.append(ClassifyFile(**{**file, **paths, "counts": tuple(file.get("counts", ()))}))
    fields["files"] = tuple(files)
    return ClassifyTask(**fields)


def _check(task: ClassifyTask, who: str) -> None:
    choose(task.kind, KINDS, what=f"{who}: kind")
    choose(task.metric, METRICS, what=f"{who}: metric")
    splits = [choose(file.split, SPLITS, what=f"{who}: split") for file in task.files]
    if WHOLE not in splits and ("train" not in splits or len(set(splits)) < 2):
        raise InputError(
            f"{who} must have a file to train on and others to report on, got {splits}: add what lacks.",
            code="malformed",
        )
    parts = {(file.split, file.label) for file in task.files}
    if (WHOLE in splits and len(set(splits)) > 1) or len(parts) < len(splits):
        raise InputError(
            f"{who} must have one file of each split, or 'all' alone, got {splits}: mend it.", code="malformed"
        )
    if len(task.classes) < 2:
        raise InputError(
            f"{who} must have at least two classes, got {list(task.classes)}: name them.", code="malformed"
        )
    sides = 1 if task.kind == "single" else 2
    columns = [*task.texts, *(place for place in (task.label, task.places) if place is not None)]
    named = {isinstance(column, str) for column in columns}
    if len(task.texts) != sides or len(named) > 1 or not all(isinstance(c, str) or c >= 1 for c in columns):
        raise InputError(
            f"{who}: texts must be {sides} column{'s' * (sides > 1)}, all numbers from 1 or all names, got {columns}.",
            code="malformed",
        )
    if (task.kind == "word") != (task.places is not None):
        raise InputError(
            f"{who}: places belong to tasks of kind 'word', and these need them: give them or leave them.",
            code="malformed",
        )
    for file in task.files:
        if (file.gold is not None) + (task.label is not None) + bool(file.label) != 1:
            raise InputError(
                f"{who}: labels must stand in a column, in files of their own, or be one a file, got several or none: "
                "say where.",
                code="malformed",
            )
    if task.reported:
        choose(task.reported, task.splits, what=f"{who}: reported")


def _placed(
    known: Mapping[str, ClassifyTask], data_dir: str | Path, needed: Sequence[str], wanted: Sequence[str]
) -> dict[str, ClassifyTask]:
    here = index_of(Path(data_dir).expanduser())
    placed = {
        name: _find(task, here, data_dir, needed=name in needed) for name, task in known.items() if name in wanted
    }
    found = {name: task for name, task in placed.items() if task is not None}
    if not found:
        files = ", ".join(str(known[name].files[0].path) for name in placed)
        sources = dict.fromkeys(known[name].source for name in placed if known[name].source)
        where = f", or get them from {' or '.join(sources)}" if sources else ""
        raise InputError(
            f"{data_dir}: files of known tasks are needed, got none of {files}: give their folder{where}.",
            code="incomplete",
            parameter="data",
        )
    return found


def _find(task: ClassifyTask, here: Mapping[str, list[Path]], root: str | Path, *, needed: bool) -> ClassifyTask | None:
    """The task with the paths of its files; None where there is none of them and it is not needed."""
    ends = [end for file in task.files for end in (file.path, file.gold) if end is not None]
    paths = {end: path for end in ends if (path := path_ending_in(end, here)) is not None}
    missing = [str(end) for end in ends if end not in paths]
    if missing and (paths or needed):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{root}: the task {task.name} needs all of its {len(ends)} files, {missing[0]}{more} is missing: add what "
            f"is missing{f' ({task.source} has it)' if task.source else ''}, or name the tasks that are wanted.",
            code="incomplete",
            parameter="data",
        )
    if missing:
        return None
    files = [
        replace(file, path=paths[file.path], gold=None if file.gold is None else paths[file.gold])
        for file in task.files
    ]
    return replace(task, files=tuple(files))
