"""Word vectors from one format into another, with what could not come along counted by reason."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from limbeck.errors import InputError, UsageError
from limbeck.places import MARK, check_file, check_name, own_in
from limbeck.remote import UrlPath, as_path, as_url, brought, names_in, put
from limbeck.settings import build
from limbeck.state import write_text
from limbeck.vectors import facts, folders, formats, spacy_folders
from limbeck.vectors.gather import BLOCK, UNKNOWN, Floats, Table
from limbeck.vectors.nearest import unit_rows
from limbeck.vectors.settings import ConvertSettings
from limbeck.vectors.text import looks_like_number
from limbeck.vectors.whole import whole_folder

SAME_IN_LOWER_CASE = "words that are another in lower case, the first was kept"
UNDERSCORED = "words with a blank, written with underscores"
ALREADY_THERE = "words with a blank whose spelling with underscores is there already"
WITH_BLANK = "words with a blank"
NOT_WRITABLE = "words that the format cannot hold: empty, with a line break, ending like a number, or no Unicode"
ZERO = "zero vectors, which have no length to change"
WITHOUT_FACTS = "counts and origins of words, which only vectors folders keep"


@dataclass(frozen=True)
class Converted:
    """What was written, and what was left out or changed: {reason: how often}."""

    path: Path
    words: int
    dim: int
    format: str
    dtype: str
    size: int  # bytes
    notes: dict[str, int]


def convert(
    source: str | Path, target: str | Path, *, tell: Callable[[str], None] = lambda _: None, **keywords: Any
) -> Converted:
    """Read word vectors of any format and write them in another, detected by the target's name unless it is given.

    format, source_format   of the target and of the source: "auto", "word2vec", "npz", ...
    limit                   the first so many different words of the source
    lowercase               words in lower case; of those that become the same the first vector is kept, their counts
                            are summed (one that they share is kept)
    normalize               every vector scaled to length 1
    dtype                   "float32", "float16" or "int8"
    blanks                  in text and word2vec's binary, where other readers take a blank for the end of a word:
                            write "underscore"s, "drop" such words, or "keep" the blanks (in text, which limbeck reads)
    language                of a spaCy pipeline
    existing                "fail" where the target is there, or "replace" it
    tell                    called with what is being done

    The keywords are the options of `limbeck convert`. The matrix is held once; it is changed in place and written
    block by block.
    """
    given = {"source": source, "target": target, **keywords}
    settings = build({"conversion": ConvertSettings}, given, verb="convert")["conversion"]
    return convert_files(cast(ConvertSettings, settings), tell=tell)


def convert_files(settings: ConvertSettings, *, tell: Callable[[str], None] = lambda _: None) -> Converted:
    """See `convert`."""
    with brought(settings.source) as place:
        here = replace(settings, source=place)
        if (url := as_url(as_path(settings.target))) is not None:
            return _convert_there(here, url, tell)
        return _convert(replace(here, target=Path(as_path(settings.target)).expanduser()), tell)


def _convert_there(settings: ConvertSettings, url: str, tell: Callable[[str], None]) -> Converted:
    """Write here and upload, since a file that is half there could be read."""
    if settings.existing == "fail" and names_in(url):
        told = f"{url}: it is there already: give --existing=replace, or another name."
        raise InputError(told, code="exists", parameter="existing")
    with tempfile.TemporaryDirectory(prefix="limbeck-") as folder:
        here = Path(folder) / url.rstrip("/").split("/")[-1]
        made = _convert(replace(settings, target=here, existing="fail"), tell)
        inside = sorted(path for path in here.rglob("*") if path.is_file() and path.name != MARK)
        for path in inside if here.is_dir() else [here]:
            put(path, f"{url}/{path.relative_to(here).as_posix()}" if here.is_dir() else url)
    return replace(made, path=UrlPath(url))


def _convert(settings: ConvertSettings, tell: Callable[[str], None]) -> Converted:
    source, target, limit, dtype = settings.source, settings.target, settings.limit, settings.dtype
    format = formats.format_of(target, settings.format)
    formats.check_dtype(dtype, format)
    check_target(source, target, format, settings.existing)
    if settings.blanks == "keep" and format == "word2vec-binary":
        raise UsageError(
            "word2vec's binary format cannot keep blanks in words: choose underscore or drop.",
            code="unsupported",
            parameter="blanks",
        )
    tell(f"reading {source}")
    table = formats.read(source, format=settings.source_format, limit=limit)
    notes = {reason: count for reason, count in table.notes.items() if reason != UNKNOWN}
    known = facts.Facts()
    if folder := facts.folder_of(source):
        known = facts.read(folder, table.words)
    if settings.lowercase:
        before = len(table.words)
        known = respell(table, [word.lower() for word in table.words], known)
        if before > len(table.words):
            notes[SAME_IN_LOWER_CASE] = before - len(table.words)
    known = make_writable(table, known, notes, format, settings.blanks)
    if settings.normalize:
        scale_rows(table.matrix, notes)
    if known and format != "model2vec":
        notes[WITHOUT_FACTS] = len(table.words)
        known = facts.Facts()
    tell(f"writing {len(table.words):,} words to {target}")
    done = {f"the first {limit} words": limit, "lower-cased": settings.lowercase}
    done |= {"scaled to length 1": settings.normalize, dtype: True}
    changes = [what for what, so in done.items() if so]
    place(target, table, known, format, dtype, settings.language, card=card_of(source, changes))
    files = [target / name for name in own_in(target) or ()] if target.is_dir() else [target]
    size = sum(path.stat().st_size for path in files if path.is_file())
    return Converted(target, len(table.words), int(table.matrix.shape[1]), format, dtype, size, notes)


def check_target(source: Path, target: Path, format: str, existing: str) -> None:
    """Refuse a target that is there, unless it is to be replaced and is of the kind that is written."""
    check_name(target, option="name")
    if format not in formats.FOLDERS and not target.is_dir():
        check_file(target, option="name")
    if not target.exists():
        return
    if source.exists() and os.path.samefile(source, target):
        told = f"{target}: what is written must be another file than what is read: name another."
        raise UsageError(told, code="in_the_way", parameter="target")
    if target.is_dir() and not any(target.iterdir()) and format in formats.FOLDERS:
        return
    if existing == "fail":
        told = f"{target}: it is there already: give --existing=replace, or another name."
        raise InputError(told, code="exists", parameter="existing")
    vectors = bool(folders.model2vec_files(target) or spacy_folders.is_spacy(target)) if target.is_dir() else False
    if target.is_dir() != (format in formats.FOLDERS) or (target.is_dir() and not vectors):
        told = f"{target}: only a {what_is(format)} of vectors can be replaced by one: give another name."
        raise InputError(told, code="in_the_way", parameter="target")


def what_is(format: str) -> str:
    return "folder" if format in formats.FOLDERS else "file"


def make_writable(table: Table, known: facts.Facts, notes: dict[str, int], format: str, blanks: str) -> facts.Facts:
    """See to it that the format can hold every word, in place."""
    if format in formats.ARRAYS:
        return known
    lines = format not in formats.FOLDERS
    words = table.words
    blank = sum(" " in word for word in words)
    if lines and blank and blanks == "drop":
        known = respell(table, [None if " " in word else word for word in words], known)
        notes[WITH_BLANK] = blank
    elif lines and blank and blanks == "underscore":
        # a word that has underscores in the source goes before one that is given them
        there = {word for word in words if " " not in word}
        new = [word.replace(" ", "_") for word in words]
        known = respell(table, [None if n != w and n in there else n for w, n in zip(words, new, strict=True)], known)
        lost = len(words) - len(table.words)
        notes |= {why: count for why, count in ((ALREADY_THERE, lost), (UNDERSCORED, blank - lost)) if count}
    wrong = [not can_hold(word, lines) for word in table.words]
    if any(wrong):
        known = respell(table, [None if bad else word for word, bad in zip(table.words, wrong, strict=True)], known)
        notes[NOT_WRITABLE] = sum(wrong)
    return known


def can_hold(word: str, lines: bool) -> bool:
    """Whether a word can be written as UTF-8, and where `lines` is set, as the beginning of a line."""
    try:
        raw = word.encode()
    except UnicodeEncodeError:
        return False
    if not lines:
        return True
    return bool(word) and "\n" not in word and not any(looks_like_number(piece) for piece in raw.split(b" ")[1:])


def respell(table: Table, spelled: Sequence[str | None], known: facts.Facts) -> facts.Facts:
    """Give words other spellings, in place; None drops a word, and of those spelled alike the first is kept."""
    index: dict[str, int] = {}
    rows: list[int] = []
    into = np.full(len(spelled), -1, dtype=np.int64)  # of each word the row that it becomes
    for row, word in enumerate(spelled):
        if word is None:
            continue
        if word not in index:
            index[word] = len(rows)
            rows.append(row)
        into[row] = index[word]
    kept = known.take(rows)
    if known.counts is not None:
        together = np.zeros(len(rows), dtype=np.int64)
        # one count that several spellings have is not theirs to sum
        join = np.maximum if facts.counts_are_shared(table.words, known.counts) else np.add
        join.at(together, into[into >= 0], known.counts[into >= 0])
        kept = facts.Facts(together, kept.origins, kept.total)
    table.words = list(index)
    if len(rows) < len(spelled):
        # rows only move up, so that the matrix can be packed where it is
        order = np.array(rows, dtype=np.int64)
        for start in range(0, len(order), BLOCK):
            part = order[start : start + BLOCK]
            table.matrix[start : start + len(part)] = table.matrix[part]
        table.matrix = table.matrix[: len(order)]
    return kept


def scale_rows(matrix: Floats, notes: dict[str, int]) -> None:
    """Scale rows to length 1, in place."""
    zero = 0
    for start in range(0, len(matrix), BLOCK):
        rows = matrix[start : start + BLOCK]
        zero += int((~rows.any(axis=1)).sum())
        rows[:] = unit_rows(rows)
    if zero:
        notes[ZERO] = zero


def card_of(source: Path, changes: Sequence[str]) -> str:
    """The card of a vectors folder, which tells teacher, text and licence, with what was done since."""
    card = source / "README.md"
    if not card.is_file():
        return ""
    return card.read_text(encoding="utf-8").rstrip() + f"\n\nConverted by `limbeck convert`: {', '.join(changes)}.\n"


def place(
    target: Path, table: Table, known: facts.Facts, format: str, dtype: str, language: str, *, card: str = ""
) -> None:
    """Write the target; a folder of model2vec beside it first, so that it is there whole or not at all."""
    if format != "model2vec":
        formats.write(target, table.words, table.matrix, format=format, dtype=dtype, language=language)
        return
    with whole_folder(target) as temporary:
        formats.write(temporary, table.words, table.matrix, format=format, dtype=dtype)
        if known:
            facts.write(temporary, table.words, known)
        if card:
            write_text(temporary / "README.md", card)
