"""Word vectors from one format into another, with what could not come along counted by reason."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from limbeck.errors import InputError, UsageError, choose
from limbeck.places import MARK, check_file, check_name, own_in
from limbeck.remote import UrlPath, as_path, as_url, brought, names_in, put
from limbeck.state import write_text
from limbeck.vectors import facts, folders, formats, spacy_folders
from limbeck.vectors.gather import BLOCK, UNKNOWN, Floats, Table
from limbeck.vectors.nearest import unit_rows
from limbeck.vectors.text import looks_like_number
from limbeck.vectors.whole import whole_folder

EXISTING = ("fail", "replace")
BLANKS = ("underscore", "drop", "keep")
Blanks = Literal["underscore", "drop", "keep"]

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
    source: str | Path,
    target: str | Path,
    *,
    format: str = "auto",
    source_format: str = "auto",
    limit: int | None = None,
    lowercase: bool = False,
    normalize: bool = False,
    dtype: str = "float32",
    blanks: Blanks = "underscore",
    language: str = "en",
    existing: str = "fail",
    tell: Callable[[str], None] = lambda _: None,
) -> Converted:
    """Read word vectors of any format and write them in another, told by the target's name unless it is given.

    limit      the first so many different words of the source
    lowercase  words in lower case; of those that become the same the first vector is kept, their counts are summed
               (one that they share is kept)
    normalize  every vector scaled to length 1
    dtype      "float32", "float16" or "int8"
    blanks     in text and word2vec's binary, where other readers take a blank for the end of a word: write
               "underscore"s, "drop" such words, or "keep" the blanks (in text, which limbeck reads)
    existing   "fail" where the target is there, or "replace" it
    tell       is told what is being done

    The matrix is held once; it is changed in place and written block by block.
    """
    options: dict[str, Any] = {
        "format": format,
        "source_format": source_format,
        "limit": limit,
        "lowercase": lowercase,
        "normalize": normalize,
        "dtype": dtype,
        "blanks": blanks,
        "language": language,
        "existing": existing,
        "tell": tell,
    }
    with brought(source) as place:
        if (url := as_url(as_path(target))) is not None:
            return _convert_there(place, url, **options)
        return _convert(place, Path(as_path(target)).expanduser(), **options)


def _convert_there(source: Path, url: str, *, existing: str, **options: Any) -> Converted:
    """Write here and upload, since a file that is half there could be read."""
    choose(existing, EXISTING, what="existing")
    if existing == "fail" and names_in(url):
        raise InputError(f"{url}: it is there already: give --existing=replace, or another name.")
    with tempfile.TemporaryDirectory(prefix="limbeck-") as folder:
        here = Path(folder) / url.rstrip("/").split("/")[-1]
        made = _convert(source, here, existing="fail", **options)
        inside = sorted(path for path in here.rglob("*") if path.is_file() and path.name != MARK)
        for path in inside if here.is_dir() else [here]:
            put(path, f"{url}/{path.relative_to(here).as_posix()}" if here.is_dir() else url)
    return replace(made, path=UrlPath(url))


def _convert(
    source: Path,
    target: Path,
    *,
    format: str,
    source_format: str,
    limit: int | None,
    lowercase: bool,
    normalize: bool,
    dtype: str,
    blanks: Blanks,
    language: str,
    existing: str,
    tell: Callable[[str], None],
) -> Converted:
    format = formats.format_of(target, format)
    formats.check_dtype(dtype, format)
    choose(blanks, BLANKS, what="blanks")
    check_target(source, target, format, existing)
    if blanks == "keep" and format == "word2vec-binary":
        raise UsageError("word2vec's binary format cannot keep blanks in words: choose underscore or drop.")
    tell(f"reading {source}")
    table = formats.read(source, format=source_format, limit=limit)
    notes = {reason: count for reason, count in table.notes.items() if reason != UNKNOWN}
    known = facts.Facts()
    if folder := facts.folder_of(source):
        known = facts.read(folder, table.words)
    if lowercase:
        before = len(table.words)
        known = respell(table, [word.lower() for word in table.words], known)
        if before > len(table.words):
            notes[SAME_IN_LOWER_CASE] = before - len(table.words)
    known = make_writable(table, known, notes, format, blanks)
    if normalize:
        scale_rows(table.matrix, notes)
    if known and format != "model2vec":
        notes[WITHOUT_FACTS] = len(table.words)
        known = facts.Facts()
    tell(f"writing {len(table.words):,} words to {target}")
    done = {f"the first {limit} words": limit, "lower-cased": lowercase, "scaled to length 1": normalize, dtype: True}
    changes = [what for what, so in done.items() if so]
    place(target, table, known, format, dtype, language, card=card_of(source, changes))
    files = [target / name for name in own_in(target) or ()] if target.is_dir() else [target]
    size = sum(path.stat().st_size for path in files if path.is_file())
    return Converted(target, len(table.words), int(table.matrix.shape[1]), format, dtype, size, notes)


def check_target(source: Path, target: Path, format: str, existing: str) -> None:
    """Refuse a target that is there, unless it is to be replaced and is of the kind that is written."""
    choose(existing, EXISTING, what="existing")
    check_name(target, option="name")
    if format not in formats.FOLDERS and not target.is_dir():
        check_file(target, option="name")
    if not target.exists():
        return
    if source.exists() and os.path.samefile(source, target):
        raise UsageError(f"{target}: what is written must be another file than what is read: name another.")
    if target.is_dir() and not any(target.iterdir()) and format in formats.FOLDERS:
        return
    if existing == "fail":
        raise InputError(f"{target}: it is there already: give --existing=replace, or another name.")
    vectors = bool(folders.model2vec_files(target) or spacy_folders.is_spacy(target)) if target.is_dir() else False
    if target.is_dir() != (format in formats.FOLDERS) or (target.is_dir() and not vectors):
        raise InputError(f"{target}: only a {what_is(format)} of vectors can be replaced by one: give another name.")


def what_is(format: str) -> str:
    return "folder" if format in formats.FOLDERS else "file"


def make_writable(table: Table, known: facts.Facts, notes: dict[str, int], format: str, blanks: Blanks) -> facts.Facts:
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
