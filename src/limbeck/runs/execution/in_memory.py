"""What Python users hand over in the place of a path: texts, sentences and rows in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.corpus import Corpus, Sentence
from limbeck.corpus.sample import SAMPLE
from limbeck.errors import UsageError
from limbeck.remote import Place, as_url

CORPORA = (
    "a corpus is a path or several, a Corpus, or a list: of texts (strings), of sentences (lists of words) or of rows "
    '({"text": ...} or {"tokens": [...]})'
)


def corpus_in_memory(corpus: Any, **options: Any) -> Corpus:
    """A Corpus of what is no single path: several paths, texts, sentences or rows."""
    if isinstance(corpus, bytes | Mapping) or not isinstance(corpus, Iterable):
        raise UsageError(f"{CORPORA}; got {type(corpus).__name__}.", code="wrong_type", parameter="corpus")
    if hasattr(corpus, "iterrows"):
        raise UsageError(
            f'{CORPORA}; got a table: give the column of texts, such as table["text"].',
            code="wrong_type",
            parameter="corpus",
        )
    items = list(corpus)
    if items and all(isinstance(one, str | Path) for one in items):
        if not any(_is_text(one) for one in items):
            return Corpus(items, **options)
        if there := [one for one in items if isinstance(one, Path) or names_something(one)]:
            raise UsageError(
                f"a list of strings must be all texts or all paths; {str(there[0])!r} is a path, and "
                f"{next(one for one in items if _is_text(one))[:40]!r} is none: give one kind.",
                code="wrong_type",
                parameter="corpus",
            )
        return Corpus.from_texts(items, **_refusing(options, ("format", "cells", "encoding"), "texts in memory"))
    if items and all(isinstance(one, str | Mapping) for one in items):
        return Corpus.from_texts(items, **_refusing(options, ("format", "cells", "encoding"), "rows in memory"))
    if wrong := [one for one in items if not isinstance(one, Sentence) and not _is_words(one)]:
        raise UsageError(
            f"{CORPORA}; got {' '.join(repr(wrong[0]).split())[:60]} in it.", code="wrong_type", parameter="corpus"
        )
    idle = ("format", "language", "paragraphs", "columns", "cells", "encoding")
    return Corpus.from_sentences(items, **_refusing(options, idle, "sentences in memory"))


def _is_text(one: str | Path) -> bool:
    """Whether a string is running text: it has a blank, or nothing in it, and names no file."""
    plain = isinstance(one, str) and not isinstance(one, Place)
    return plain and (not str(one) or any(map(str.isspace, str(one)))) and not names_something(one)


def names_something(path: str | Path) -> bool:
    """Whether something is read by this name."""
    if path in ("-", SAMPLE) or (not any(map(str.isspace, str(path))) and as_url(path) is not None):
        return True
    try:
        return os.path.exists(path) and bool(str(path))
    except ValueError:  # a NUL
        return False


def _is_words(one: Any) -> bool:
    if isinstance(one, str | bytes | Path | Mapping) or not isinstance(one, Iterable):
        return False
    return isinstance(one, Sequence) and all(isinstance(word, str) for word in one)


def _refusing(options: dict[str, Any], idle: Sequence[str], what: str) -> dict[str, Any]:
    from limbeck.runs.execution.sources import refuse_options

    refuse_options({name: options[name] for name in idle if name in options}, what)
    return options
