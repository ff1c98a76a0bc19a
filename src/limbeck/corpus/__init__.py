"""Corpora: from files of any of eight formats, plain or compressed, to sentences of words.

Names load on first use: settings are read without what reads text.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limbeck.corpus.corpus import Corpus
    from limbeck.corpus.units import Sentence, Text
    from limbeck.corpus.vocabulary import Vocabulary

__all__ = ["Corpus", "Sentence", "Text", "Vocabulary"]

_MODULES = {"Corpus": "corpus", "Sentence": "units", "Text": "units", "Vocabulary": "vocabulary"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
