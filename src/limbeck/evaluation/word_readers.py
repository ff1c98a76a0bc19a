"""How the files of tasks of words are laid out, one reader a layout."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from limbeck.corpus.compression import open_text
from limbeck.errors import InputError
from limbeck.evaluation.word_task import Categories, Items, Questions, Relation, Relations

if TYPE_CHECKING:
    from limbeck.evaluation.word_task import WordTask

#: x:y; in places the release has a full stop or a blank for the comma between pairs, or a blank after the colon
PAIR = re.compile(r"([^\s,.:]+):\s*([^\s,.:]+)")
RATED = re.compile(r'\s*(-?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\s+"([^":]+):([^":]+)"\s*')


def read_sections(task: WordTask) -> Questions:
    """Lines of four words under lines ": section"; sections whose names begin with gram are syntactic."""
    path = _path(task, 0)
    words: list[tuple[str, str, str, str]] = []
    sections: list[str] = []
    section = ""
    for line, text in _lines(path):
        if text.startswith(":"):
            section = text[1:].strip()
            continue
        cells = text.split()
        if len(cells) != 4:
            raise InputError.at(
                path, line, f"a question must have four words, got {len(cells)}: mend the line.", code="malformed"
            )
        words.append((cells[0], cells[1], cells[2], cells[3]))
        sections.append(section)
    names = list(dict.fromkeys(sections))
    syntactic = [name for name in names if name.startswith("gram")]
    groups = {"semantic": [name for name in names if name not in syntactic], "syntactic": syntactic}
    return Questions(words, sections, groups)


def read_typed_csv(task: WordTask) -> Questions:
    """A CSV with the columns type, word1, word2, word3, target."""
    path = _path(task, 0)
    named = ("word1", "word2", "word3", "target", "type")
    rows = list(_table(path, ",", named))
    return Questions([(a, b, c, d) for _, (a, b, c, d, _) in rows], [cells[4] for _, cells in rows])


def read_questions_and_answers(task: WordTask) -> Questions:
    """Three words a line in one file, type and answer in the line of the same number of another."""
    asked, answered = (_path(task, at) for at in (0, 1))
    questions, answers = ([(line, text.split()) for line, text in _lines(path)] for path in (asked, answered))
    for path, rows, width in ((asked, questions, 3), (answered, answers, 2)):
        for line, cells in rows:
            if len(cells) != width:
                raise InputError.at(
                    path, line, f"a line must have {width} words, got {len(cells)}: mend it.", code="malformed"
                )
    if len(questions) != len(answers):
        raise InputError(
            f"{answered}: there must be an answer for each line of {asked}, got {len(answers)} for {len(questions)}: "
            "get both files from one release.",
            code="unequal_lengths",
        )
    both = [(*question, answer[1]) for (_, question), (_, answer) in zip(questions, answers, strict=True)]
    return Questions([(a, b, c, d) for a, b, c, d in both], [cells[0] for _, cells in answers])


def read_ratings(task: WordTask) -> Relations:
    """Prototypes of all sub-relations in one file, ratings of their pairs in a file each."""
    path = _path(task, 0)
    prototypes: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    for line, text in _lines(path):
        cells = text.split(",", 4)
        pairs = PAIR.findall(cells[4]) if len(cells) == 5 else []
        if not pairs:
            raise InputError.at(
                path,
                line,
                "number, letter, class, sub-class and pairs x:y are needed: mend the line.",
                code="malformed",
            )
        prototypes[cells[0].strip() + cells[1].strip()] = (cells[2].strip(), pairs)
    relations = []
    for place in [place for file in task.files[1:] for place in file.found]:
        name = place.stem.rpartition("-")[2]
        if name not in prototypes:
            raise InputError(
                f"{place}: the relation {name!r} must be listed in {path}, got none: get both together.",
                code="incomplete",
            )
        rated = [(line, RATED.fullmatch(text)) for line, text in _lines(place) if not text.startswith("#")]
        for line, match in rated:
            if match is None:
                raise InputError.at(
                    place, line, 'a rating and a pair "x:y" are needed: mend the line.', code="malformed"
                )
        matches = [match for _, match in rated if match is not None]
        gold = np.array([float(match[1]) for match in matches])
        pairs = [(match[2].strip(), match[3].strip()) for match in matches]
        relations.append(Relation(name, *prototypes[name], pairs, gold))
    return Relations(sorted(relations, key=lambda one: (int(one.name[:-1]), one.name[-1])))


def read_categories(task: WordTask) -> Categories:
    """A word and its class a line; lines without a word, which some releases end each class with, are passed over."""
    path = _path(task, 0)
    table = _table(path, task.separator, (task.word, task.category), header=task.header)
    entries = [(word.removesuffix(task.suffix), category) for _, (word, category) in table if word]
    if task.distinct:
        entries = list(dict.fromkeys(entries))
    return Categories([word for word, _ in entries], [category for _, category in entries])


READERS: dict[str, Callable[[WordTask], Items]] = {
    "sections": read_sections,
    "typed-csv": read_typed_csv,
    "questions-and-answers": read_questions_and_answers,
    "ratings": read_ratings,
    "categories": read_categories,
}


def _path(task: WordTask, file: int) -> Path:
    return task.files[file].found[0]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and lines that are not empty."""
    with open_text(path) as stream:
        yield from ((line, text.rstrip("\r\n")) for line, text in enumerate(stream, 1) if text.strip())


def _table(
    path: Path, separator: str, columns: tuple[str | int, ...], *, header: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and the cells of some columns, named by the first line or counted from 1."""
    places: list[int] = [column - 1 for column in columns if isinstance(column, int)]
    with open_text(path) as stream:
        for number, cells in enumerate(csv.reader(stream, delimiter=separator), 1):
            if header and number == 1:
                named = [column for column in columns if isinstance(column, str)]
                if missing := [name for name in named if name not in cells]:
                    raise InputError.at(
                        path,
                        1,
                        f"the columns {', '.join(missing)} are needed, got {cells}: mend it.",
                        code="incomplete",
                    )
                places = [cells.index(column) if isinstance(column, str) else column - 1 for column in columns]
                continue
            if not cells:
                continue
            if len(cells) <= max(places):
                raise InputError.at(
                    path,
                    number,
                    f"the line must have {max(places) + 1} columns, got {len(cells)}: mend it.",
                    code="malformed",
                )
            yield number, [cells[place].strip() for place in places]
