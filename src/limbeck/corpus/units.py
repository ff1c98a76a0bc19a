"""What text is made of: sentences that know their paragraph, and texts, what a model sees at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

TextUnit = Literal["sentence", "paragraph", "document"]
Labels = Mapping[int, Mapping[str, str]]


class NoLabels(Mapping[int, Mapping[str, str]]):
    """The empty mapping that all sentences without labels share; a MappingProxyType could not be sent to workers."""

    def __getitem__(self, key: int) -> NoReturn:
        raise KeyError(key)

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"

    def __reduce__(self) -> str:
        return "NO_LABELS"  # unpickled as the one there is


NO_LABELS: Labels = NoLabels()
SENTENCE_BITS = 24  #: a document holds fewer than 2**24 sentences, so one integer names a sentence


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words in order, where they stand, and what is known of them.

    document   number of the document in the corpus
    paragraph  number of the paragraph in the document
    index      number of the sentence in the document
    labels     word index -> {layer of annotation: value}, e.g. {3: {"pos": "NN", "sense": "..."}}
    glued      indices of words that are followed by no blank in the original ("do" in "don't")
    """

    words: tuple[str, ...]
    document: int = 0
    paragraph: int = 0
    index: int = 0
    labels: Labels = field(default_factory=lambda: NO_LABELS)
    glued: frozenset[int] = frozenset()

    @property
    def identity(self) -> int:
        """One integer that names this sentence in its corpus."""
        return (self.document << SENTENCE_BITS) | self.index


@dataclass(frozen=True, slots=True)
class Text:
    """What the model sees at once: consecutive sentences of one document."""

    sentences: tuple[Sentence, ...]

    @property
    def words(self) -> list[str]:
        return [word for sentence in self.sentences for word in sentence.words]

    @property
    def identity(self) -> int:
        """The identity of its first sentence: the *context* of every word in it."""
        return self.sentences[0].identity

    def layout(self) -> tuple[str, list[int], list[int]]:
        """The running text, and where each word starts and ends in it (characters)."""
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for sentence in self.sentences:
            for index, word in enumerate(sentence.words):
                starts.append(at)
                at += len(word)
                ends.append(at)
                parts.append(word)
                if index not in sentence.glued:
                    parts.append(" ")
                    at += 1
            if parts and parts[-1] != " ":  # sentences are always parted by a blank
                parts.append(" ")
                at += 1
        return "".join(parts).rstrip(" "), starts, ends


def texts_of(sentences: Sequence[Sentence], unit: TextUnit) -> list[Text]:
    """Group the sentences of one document into texts. Sentences without words are left out."""
    texts: list[Text] = []
    group: list[Sentence] = []
    for sentence in sentences:
        if not sentence.words:
            continue
        begins = not group or unit == "sentence" or (unit == "paragraph" and sentence.paragraph != group[-1].paragraph)
        if begins and group:
            texts.append(Text(tuple(group)))
            group = []
        group.append(sentence)
    if group:
        texts.append(Text(tuple(group)))
    return texts
