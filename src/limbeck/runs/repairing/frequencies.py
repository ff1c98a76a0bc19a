"""How often words occur: counted in a source's text, or read from a file."""

from __future__ import annotations

from pathlib import Path

from limbeck.corpus.compression import open_bytes
from limbeck.errors import InputError
from limbeck.numerals import count_of
from limbeck.stream import Choice, Source, survey
from limbeck.stream.context import RunContext

EVERY_WORD = 1 << 62


def count_words(source: Source, *, deduplicate: bool = True, context: RunContext | None = None) -> dict[str, int]:
    """Occurrences of every word of a source's text, rare ones too. The text is read once more, the model is not."""
    every = Choice(min_contexts=1, max_words=EVERY_WORD)
    plan = survey(source, choice=every, deduplicate=deduplicate, context=context)
    return dict(zip(plan.vocabulary.words, plan.vocabulary.counts.tolist(), strict=True))


def read_counts(path: str | Path) -> dict[str, int]:
    """Words and counts from a text file, plain or compressed: a word, a tab or blanks, a whole number, on each line.

    Counts of a word that stands there twice are added.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise InputError(
            f"{path}: a file of words and their counts is needed, nothing is there: check the path.",
            code="not_found",
            parameter="counts",
        )
    found: dict[str, int] = {}
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                word, last = line.decode("utf-8").rstrip("\r\n").rsplit("\t" if b"\t" in line else None, 1)
            except ValueError:
                word, last = "", ""
            if (count := count_of(last)) is None:
                told = repr(line[:60].decode("utf-8", "replace").rstrip())
                raise InputError.at(
                    path,
                    number,
                    f"a line must be a word and its count, got {told}.",
                    code="malformed",
                    parameter="counts",
                )
            found[word] = found.get(word, 0) + count
    if not found:
        raise InputError(
            f"{path}: a file of words and their counts is needed, the file is empty.", code="empty", parameter="counts"
        )
    return found
