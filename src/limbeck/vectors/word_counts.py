"""Counts of words, from a file of lines or from vectors that know theirs."""

from __future__ import annotations

from pathlib import Path

from limbeck.corpus.compression import open_text
from limbeck.errors import InputError
from limbeck.numerals import count_of
from limbeck.remote import brought
from limbeck.vectors.static import StaticVectors


def read_counts(path: Path) -> tuple[dict[str, int], int | None]:
    """How often each word occurs, and how many words the text had, None for as many as are counted.

    Of a text file, plain or compressed, with a word and its count a line, blanks or a tab between; or a folder of
    vectors with their counts.
    """
    with brought(path) as place:
        return _read(place)


def _read(path: Path) -> tuple[dict[str, int], int | None]:
    if path.is_dir():
        vectors = StaticVectors.load(path)
        if vectors.counts is None:
            raise InputError(
                f"{path}: counts of words are needed, these vectors have none: give a file of counts.", code="no_counts"
            )
        return dict(zip(vectors.words, vectors.counts.tolist(), strict=True)), vectors.total
    found: dict[str, int] = {}
    with open_text(path) as stream:
        for line, text in enumerate(stream, 1):
            if not text.strip():
                continue
            word, _, last = text.strip().replace("\t", " ").rpartition(" ")
            count = count_of(last)
            if not word.strip() or count is None:
                raise InputError.at(
                    path, line, f"a word and its count must stand there, got {text.strip()[:40]!r}.", code="malformed"
                )
            found[word.strip()] = found.get(word.strip(), 0) + count
    return found, None
