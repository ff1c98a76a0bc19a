"""A classification task: where its files are, how they are laid out, and the examples that are read from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.jsonl import parse_object
from limbeck.errors import InputError, choose
from limbeck.evaluation.classifying.scores import METRICS, Metric
from limbeck.evaluation.task import lines_of, not_as_known
from limbeck.seeds import generator_for

Kind = Literal["single", "pair", "word"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Split = Literal["train", "dev", "test", "all"]
SPLITS: tuple[Split, ...] = get_args(Split)
WHOLE: Split = "all"  #: what has no split of its own
SHARES = (0.6, 0.2, 0.2)  #: of train, dev and test, where a set has no split (Gupta & Jaggi 2021)
PLACES = re.compile(r"(\d+)-(\d+)", re.ASCII)


@dataclass(frozen=True)
class Examples:
    """Texts with the number of their class.

    texts   (n,) for each side: one side, or two for pairs
    labels  (n,) class numbers
    places  (n, 2) of a word in both texts, counted in words from 0; None where a task is not about a word
    """

    texts: tuple[Sequence[str], ...]
    labels: NDArray[np.int64]
    places: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", np.asarray(self.labels, dtype=np.int64))
        n = len(self.labels)
        if self.places is not None:
            object.__setattr__(self, "places", np.asarray(self.places, dtype=np.int64).reshape(-1, len(self.texts)))
        if any(len(side) != n for side in self.texts) or (self.places is not None and len(self.places) != n):
            raise InputError(
                f"Examples need as many texts on each side as labels, got {[len(side) for side in self.texts]} for "
                f"{n}.",
                code="unequal_lengths",
            )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: NDArray[np.int64]) -> Examples:
        """Some of them, in this order."""
        texts = tuple([side[row] for row in rows.tolist()] for side in self.texts)
        return Examples(texts, self.labels[rows], None if self.places is None else self.places[rows])

    def __add__(self, other: Examples) -> Examples:
        texts = tuple([*mine, *theirs] for mine, theirs in zip(self.texts, other.texts, strict=True))
        places = None
        if self.places is not None and other.places is not None:
            places = np.concatenate([self.places, other.places])
        return Examples(texts, np.concatenate([self.labels, other.labels]), places)


@dataclass(frozen=True)
class ClassifySet:
    """A task in memory: examples to learn from, and others that scores are reported on.

    reported  name of the split that `test` is
    dev       more examples, to choose settings on before all are learnt from; None where no such part is known
    notes     what differs from the release, if anything
    """

    name: str
    kind: Kind
    classes: tuple[str, ...]
    train: Examples
    test: Examples
    metric: Metric = "accuracy"
    reported: str = "test"
    notes: tuple[str, ...] = ()
    dev: Examples | None = None

    def __post_init__(self) -> None:
        choose(self.kind, KINDS, what="kind")
        choose(self.metric, METRICS, what="metric")
        sides = 1 if self.kind == "single" else 2
        for name, part in (("training", self.train), ("dev", self.dev), (self.reported, self.test)):
            if part is None:
                continue
            if not len(part):
                raise InputError(f"{self.name}: {name} examples are needed, got none: give some.", code="empty")
            if len(part.texts) != sides or (self.kind == "word") != (part.places is not None):
                raise InputError(
                    f"{self.name}: a task of kind {self.kind!r} has {sides} text{'s' * (sides > 1)} an example"
                    f"{' and the places of a word in both' if self.kind == 'word' else ''}, got {len(part.texts)}"
                    f"{' and no places' if part.places is None else ' and places'}: give those, or another kind.",
                    code="malformed",
                    parameter="kind",
                )
            if part.labels.min() < 0 or part.labels.max() >= len(self.classes):
                raise InputError(
                    f"{self.name}: labels must be numbers of the {len(self.classes)} classes, got "
                    f"{part.labels.min()} to {part.labels.max()}: number them from 0.",
                    code="out_of_range",
                    parameter="labels",
                )


@dataclass(frozen=True)
class ClassifyFile:
    """One split of a task, or one class of it; where labels stand apart, their file; what the release is known to hold.

    label  the class of all its examples, where a file has one class
    """

    split: Split
    path: Path
    gold: Path | None = None
    label: str = ""
    counts: tuple[int, ...] = ()
    sha256: str = ""
    gold_sha256: str = ""


@dataclass(frozen=True)
class ClassifyTask:
    """Labelled examples on disk: see `tasks.toml` for what the fields mean."""

    name: str
    kind: Kind
    classes: tuple[str, ...]
    files: tuple[ClassifyFile, ...]
    texts: tuple[int | str, ...]
    label: int | str | None = None
    places: int | None = None
    until: str = ""
    encoding: str = "utf-8"
    reported: str = ""
    title: str = ""
    metric: Metric = "accuracy"
    separator: str = "\t"
    rest: bool = False
    header: bool = False
    licence: str = ""
    citation: str = ""
    source: str = ""

    @property
    def splits(self) -> tuple[Split, ...]:
        """Those that can be reported on."""
        own = tuple(file.split for file in self.files if file.split not in ("train", WHOLE))
        return own or ("test",)

    def read(self, split: str | None = None, *, seed: int = 0) -> ClassifySet:
        """All examples: the training set, and the split that is reported on, the task's own, dev or test unless said.

        A task without a split is divided by chance, which `seed` gives. A line that cannot be read is an InputError
        that names file and line.
        """
        own = self.reported or ("dev" if "dev" in self.splits else "test")
        wanted = choose(split or own, self.splits, what=f"split of {self.name}")
        parts: dict[str, Examples] = {}
        notes: list[str] = []
        for file in self.files:
            if file.split in ("train", "dev", wanted, WHOLE):
                found, differences = self._read(file)
                parts[file.split] = parts[file.split] + found if file.split in parts else found
                notes += differences
        if WHOLE in parts:
            parts, told = _divided(parts[WHOLE], generator_for(seed, "classify", "division"))
            notes.append(told)
        return ClassifySet(
            name=self.name,
            kind=self.kind,
            classes=self.classes,
            train=parts["train"],
            test=parts[wanted],
            metric=self.metric,
            reported=wanted,
            dev=parts.get("dev") if wanted != "dev" else None,
            notes=tuple(notes),
        )

    def _read(self, file: ClassifyFile) -> tuple[Examples, list[str]]:
        texts: tuple[list[str], ...] = tuple([] for _ in self.texts)
        labels: list[int] = []
        places: list[tuple[int, ...]] = []
        for line, cells, label in self._labelled(file):
            for side, column in zip(texts, self.texts, strict=True):
                side.append(cells[column])
                if not cells[column]:
                    raise InputError.at(
                        file.path, line, "every text must be there, got an empty one: mend the line.", code="malformed"
                    )
            labels.append(self._class(label, file.gold or file.path, line))
            if self.places is not None:
                places.append(_places(cells[self.places], [cells[column] for column in self.texts], file.path, line))
        examples = Examples(texts, np.array(labels, dtype=np.int64), np.array(places) if places else None)
        return examples, self._differences(file, examples)

    def _labelled(self, file: ClassifyFile) -> Iterator[tuple[int, dict[int | str, str], str]]:
        """Line number, cells by column, and label of each example."""
        rows = self._objects(file.path) if isinstance(self.texts[0], str) else self._cells(file.path)
        if file.gold is None:
            for line, cells in rows:
                label = file.label if self.label is None else cells[self.label]
                yield line, cells, label.partition(self.until)[0] if self.until else label
            return
        found, labels = list(rows), [text.strip() for text in lines_of(file.gold, encoding=self.encoding)]
        if len(found) != len(labels):
            raise InputError.at(
                file.gold,
                min(len(found), len(labels)) + 1,
                f"there must be a line for each of {file.path}, got {len(labels)} lines for {len(found)}: "
                "get both files from one release.",
                code="unequal_lengths",
            )
        for (line, cells), label in zip(found, labels, strict=True):
            yield line, cells, label

    def _cells(self, path: Path) -> Iterator[tuple[int, dict[int | str, str]]]:
        """Columns by number, split plainly: quotes mean nothing. Empty lines are passed over."""
        asked = [*self.texts, self.label, self.places]
        width = max(int(column) for column in asked if column is not None)
        for line, text in enumerate(lines_of(path, encoding=self.encoding), 1):
            if (line == 1 and self.header) or not text.strip():
                continue
            cells = text.split(self.separator, width - 1 if self.rest else -1)
            if len(cells) < width:
                raise InputError.at(
                    path,
                    line,
                    f"the line must have at least {width} columns parted by {self.separator!r}, got {len(cells)}: "
                    "mend it or take the released file.",
                    code="malformed",
                )
            yield line, {number: cell.strip() for number, cell in enumerate(cells, 1)}

    def _objects(self, path: Path) -> Iterator[tuple[int, dict[int | str, str]]]:
        """Values by name, one JSON object a line; what is no string is told as JSON tells it."""
        names = [str(name) for name in (*self.texts, self.label) if name is not None]
        for line, text in enumerate(lines_of(path, encoding=self.encoding), 1):
            if not text.strip():
                continue
            item = parse_object(text, str(path), line)
            missing = [name for name in names if name not in item]
            if missing:
                raise InputError.at(
                    path,
                    line,
                    f"the object must have {', '.join(names)}, got no {missing[0]}: add it.",
                    code="malformed",
                )
            values = {name: item[name] for name in names}
            yield line, {key: value.strip() if isinstance(value, str) else json.dumps(value)
                         for key, value in values.items()}  # fmt: skip

    def _class(self, label: str, path: Path, line: int) -> int:
        if label not in self.classes:
            raise InputError.at(
                path,
                line,
                f"a label must be one of {', '.join(self.classes)}, got {label[:40]!r}: mend the line.",
                code="malformed",
            )
        return self.classes.index(label)

    def _differences(self, file: ClassifyFile, examples: Examples) -> list[str]:
        """What a file has otherwise than the release, one line each."""
        notes = []
        counts = tuple(np.bincount(examples.labels, minlength=len(self.classes)).tolist())
        if file.counts and counts != file.counts:
            notes.append(
                f"{file.path.name} has {'+'.join(map(str, counts))} examples of the classes "
                f"{', '.join(self.classes)}, the release {'+'.join(map(str, file.counts))}"
            )
        return [*notes, *not_as_known(file.path, file.sha256), *not_as_known(file.gold, file.gold_sha256)]


def _places(cell: str, texts: Sequence[str], path: Path, line: int) -> tuple[int, ...]:
    match = PLACES.fullmatch(cell)
    places = tuple(int(group) for group in match.groups()) if match else ()
    sizes = [len(text.split()) for text in texts]
    if not match or any(place >= size for place, size in zip(places, sizes, strict=True)):
        raise InputError.at(
            path,
            line,
            f"the word's places must be two numbers below {sizes[0]} and {sizes[1]} (the texts' words) with a hyphen "
            f"between, got {cell[:40]!r}: mend the line.",
            code="malformed",
        )
    return places


def _divided(whole: Examples, generator: np.random.Generator) -> tuple[dict[str, Examples], str]:
    """Train, dev and test by chance, and what is to be told of it."""
    order = generator.permutation(len(whole))
    ends = np.round(np.cumsum(SHARES) * len(whole)).astype(np.int64)
    names = ("train", "dev", "test")
    parts = {name: whole[np.sort(rows)] for name, rows in zip(names, np.split(order, ends[:-1]), strict=True)}
    known = {*zip(*parts["train"].texts, strict=True), *zip(*parts["dev"].texts, strict=True)}
    again = sum(text in known for text in zip(*parts["test"].texts, strict=True))
    told = f"it has no split: divided by chance into {' + '.join(str(len(part)) for part in parts.values())}"
    return parts, told + (f", of the last {again} are word for word among the others" if again else "")
