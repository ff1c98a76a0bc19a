"""Corpora: from files of any of eight formats, plain or compressed, to sentences of words."""

from limbeck.corpus.corpus import Corpus
from limbeck.corpus.units import Sentence, Text
from limbeck.corpus.vocabulary import Vocabulary

__all__ = ["Corpus", "Sentence", "Text", "Vocabulary"]
