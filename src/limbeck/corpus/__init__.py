"""Corpora: from files of any of eight formats, plain or compressed, to sentences of words.

Names load on first use: settings are read without what reads text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.corpus.corpus import Corpus
    from limbeck.corpus.sample import sample_path
    from limbeck.corpus.segment import splitter_for
    from limbeck.corpus.units import Sentence, Text
    from limbeck.corpus.vocabulary import Vocabulary
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "corpus": "Corpus",
            "sample": "sample_path",
            "segment": "splitter_for",
            "units": "Sentence Text",
            "vocabulary": "Vocabulary",
        },
    )

__all__ = ["Corpus", "Sentence", "Text", "Vocabulary", "sample_path", "splitter_for"]
