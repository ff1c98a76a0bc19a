"""Tasks of single words, found by their files in a folder (`word_tasks.toml`), and what is read from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.compression import telling
from limbeck.errors import InputError, choose
from limbeck.evaluation.catalogue import entries_of, index_of

WordKind = Literal["analogy", "relations", "categorization"]
WORD_KINDS: tuple[WordKind, ...] = get_args(WordKind)
TABLE = Path(__file__).parent / "word_tasks.toml"


@dataclass(frozen=True)
class Questions:
    """Analogies a : b = c : d, of which d is to be found.

    words     (questions, 4) a, b, c, d
    sections  of each question the name of its section
    groups    sections that belong together, by name ("semantic", "syntactic")
    """

    words: Sequence[tuple[str, str, str, str]]
    sections: Sequence[str]
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.words)

    def parts(self) -> dict[str, NDArray[np.int64]]:
        """Numbers of the questions of each group and section."""
        sections = np.array(self.sections, dtype=np.str_)
        found = {name: np.flatnonzero(np.isin(sections, list(members))) for name, members in self.groups.items()}
        return found | {name: np.flatnonzero(sections == name) for name in dict.fromkeys(self.sections)}


@dataclass(frozen=True)
class Relation:
    """A relation by example: typical pairs, and pairs that people rated by how well they show it."""

    name: str
    group: str
    prototypes: Sequence[tuple[str, str]]
    pairs: Sequence[tuple[str, str]]
    gold: NDArray[np.float64]


@dataclass(frozen=True)
class Relations:
    """Relations, one item each."""

    relations: Sequence[Relation]

    def __len__(self) -> int:
        return len(self.relations)


@dataclass(frozen=True)
class Categories:
    """Words and the class of each; a word may be there several times, with several classes."""

    words: Sequence[str]
    classes: Sequence[str]

    def __len__(self) -> int:
        return len(self.words)


Items = Questions | Relations | Categories


@dataclass(frozen=True)
class WordFile:
    """A file of a task, or several whose names differ in what a * stands for."""

    path: Path
    count: int = 1
    sha256: str = ""
    found: tuple[Path, ...] = ()


@dataclass(frozen=True)
class WordTask:
    """A task of words on disk: see `word_tasks.toml` for what the fields mean."""

    name: str
    kind: WordKind
    reader: str
    files: tuple[WordFile, ...]
    title: str = ""
    items: int | None = None
    separator: str = ","
    header: bool = False
    word: str | int = 1
    category: str | int = 2
    suffix: str = ""
    distinct: bool = False
    licence: str = ""
    citation: str = ""
    source: str = ""
    part_of: str = ""

    def read(self) -> tuple[Items, tuple[str, ...]]:
        """All items, and what differs from the release; a line that cannot be read is an InputError that names it."""
        from limbeck.evaluation.word_readers import READERS

        items: Items = READERS[self.reader](self)
        notes = [note for file in self.files for note in _differences(file)]
        if self.items is not None and len(items) != self.items:
            notes.insert(0, f"the files have {len(items)} items, the release {self.items}")
        return items, tuple(notes)


def word_tasks(
    data_dir: str | Path, names: str | Iterable[str] | None = None, *, table: str | Path = TABLE
) -> dict[str, WordTask]:
    """The tasks of words whose files lie anywhere under `data_dir`, by name, in the order of the table.

    names  tasks, which must be there, or kinds ("analogy", "relations", "categorization") of which one must be there;
           all that are found if None
    table  a TOML file with tasks of one's own, in the form of `word_tasks.toml`
    """
    known = load_word_table(table)
    asked = list(known) if names is None else [names] if isinstance(names, str) else list(names)
    for name in asked:
        choose(name, [*WORD_KINDS, *known], what="task")
    kinds = [name for name in asked if name in WORD_KINDS]
    others = [name for name, layouts in known.items() if names is None or layouts[0].kind in kinds]
    needed = [] if names is None else [name for name in asked if name in known]
    return _placed(known, data_dir, needed, others)


def find_word_tasks(data_dir: str | Path, needed: Sequence[str], others: Sequence[str]) -> dict[str, WordTask]:
    """Tasks of limbeck's own table: all of `needed`, and those of `others` that are there; at least one in all."""
    return _placed(load_word_table(), data_dir, needed, others)


def load_word_table(table: str | Path = TABLE) -> dict[str, list[WordTask]]:
    """Of each task in a table its layouts, whose paths are ends of paths."""
    from limbeck.evaluation.word_readers import READERS

    known: dict[str, list[WordTask]] = {}
    for who, entry in entries_of(table):
        try:
            layouts = [_task(entry, layout) for layout in entry["layout"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{who} must have name, kind and layouts with a reader and files, and nothing unknown, got a fault at "
                f"{error}.",
                code="malformed",
            ) from error
        for layout in layouts:
            choose(layout.kind, WORD_KINDS, what=f"{who}: kind")
            choose(layout.reader, READERS, what=f"{who}: reader")
        if not layouts or not all(layout.files for layout in layouts):
            raise InputError(
                f"{who} must have at least one layout with at least one file, got none: add it.", code="malformed"
            )
        known[layouts[0].name] = layouts
    return known


def _task(entry: Mapping[str, Any], layout: Mapping[str, Any]) -> WordTask:
    fields = {name: value for name, value in {**entry, **layout}.items() if name not in ("layout", "files")}
    files = tuple(WordFile(**{**file, "path": Path(file["path"])}) for file in layout["files"])
    return WordTask(files=files, **fields)


def _placed(
    known: Mapping[str, Sequence[WordTask]], data_dir: str | Path, needed: Sequence[str], others: Sequence[str]
) -> dict[str, WordTask]:
    here = [path for paths in index_of(Path(data_dir).expanduser()).values() for path in paths]
    here.sort(key=lambda path: (len(path.parts), path))
    wanted = {name: layouts for name, layouts in known.items() if name in needed or name in others}
    placed = {name: [_place(layout, here) for layout in layouts] for name, layouts in wanted.items()}
    found = {name: next(filter(_is_whole, layouts), None) for name, layouts in placed.items()}
    there = {name: task for name, task in found.items() if task is not None}
    used = {path for task in there.values() for file in task.files for path in file.found}
    for name, layouts in placed.items():
        # a file that another task is made of does not say that this one is wanted too
        begun = [layout for layout in layouts if any(not used.issuperset(file.found) for file in layout.files)]
        if name not in there and (begun or name in needed):
            raise _missing((begun or layouts)[0], data_dir)
    if not there:
        told = "; ".join(f"{layouts[0].files[-1].path} ({layouts[0].source})" for layouts in wanted.values())
        raise InputError(
            f"{data_dir}: files of known tasks are needed, got none of {told}: get them, or give --data.",
            code="incomplete",
            parameter="data",
        )
    return there


def _place(layout: WordTask, here: Sequence[Path]) -> WordTask:
    return replace(layout, files=tuple(replace(file, found=_matching(file, here)) for file in layout.files))


def _is_whole(task: WordTask) -> bool:
    return all(len(file.found) >= file.count for file in task.files)


def _missing(task: WordTask, root: str | Path) -> InputError:
    file = next(file for file in task.files if len(file.found) < file.count)
    what = f"the file {file.path}, got none" if file.count == 1 else f"{file.count} files {file.path}"
    what += f", got {len(file.found)}" if file.count > 1 else ""
    return InputError(
        f"{root}: the task {task.name} needs {what}: get what is missing ({task.source or task.citation}; licence: "
        f"{task.licence or 'not stated'}), or leave the task out.",
        code="incomplete",
        parameter="data",
    )


def _matching(file: WordFile, here: Sequence[Path]) -> tuple[Path, ...]:
    """The paths that end as a file's does; of one file the first."""
    parts = PurePosixPath(file.path).parts
    found = [
        path
        for path in here
        if len(path.parts) >= len(parts) and all(map(fnmatchcase, path.parts[-len(parts) :], parts))
    ]
    if file.count == 1:
        return tuple(found[:1])
    beside = {path: path.parent for path in found}  # all of one folder, the first
    return tuple(sorted(path for path in found if beside[path] == beside[found[0]]))


def _differences(file: WordFile) -> list[str]:
    """What a file has otherwise than the release."""
    notes = []
    if len(file.found) != file.count:
        notes.append(f"{file.path.name} are {len(file.found)} files, in the release {file.count}")
    if file.sha256:
        digest = hashlib.sha256()
        for path in file.found:
            with telling(str(path)):
                digest.update(path.read_bytes())
        if (found := digest.hexdigest()) != file.sha256:
            what = "is not the known file" if file.count == 1 else "are not the known files"
            notes.append(f"{file.path.name} {what} (sha256 {found[:12]}, known {file.sha256[:12]})")
    return notes
