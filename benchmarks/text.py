"""Made text, so that every benchmark runs anywhere: words by Zipf's law, in sentences, paragraphs and documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
SENTENCE_WORDS = (8, 33)  #: lengths are uniform, 20 on average
PARAGRAPH_SENTENCES = 5
DOCUMENT_PARAGRAPHS = 8


def spell(number: int) -> str:
    """The made word of a rank: frequent words are short, and no two are alike."""
    word = SYLLABLES[number % len(SYLLABLES)]
    while number := number // len(SYLLABLES):
        word += SYLLABLES[number % len(SYLLABLES)]
    return word


def sentences(words: int, *, types: int = 20_000, seed: int = 0) -> Iterator[list[str]]:
    """Sentences of about so many words in all, of which rank r has a share of about 1/r."""
    generator = np.random.default_rng(seed)
    spelled = np.array([spell(number) for number in range(types)], dtype=object)
    shares = np.cumsum(1 / (np.arange(types) + 2.7))
    made = 0
    while made < words:
        lengths = generator.integers(*SENTENCE_WORDS, size=1000)
        ranks = np.searchsorted(shares, generator.random(int(lengths.sum())) * shares[-1])
        for some in np.split(spelled[ranks], np.cumsum(lengths)[:-1]):
            yield some.tolist()
            made += len(some)
            if made >= words:
                return


def write_words(path: Path, words: int, *, types: int = 20_000, seed: int = 0) -> Path:
    """A file for --format words: one sentence a line."""
    with open(path, "w", encoding="utf-8") as file:
        for sentence in sentences(words, types=types, seed=seed):
            file.write(" ".join(sentence) + "\n")
    return path


def write_prose(path: Path, words: int, *, types: int = 20_000, seed: int = 0) -> Path:
    """A file for --format prose: one paragraph a line, empty lines between documents."""
    with open(path, "w", encoding="utf-8") as file:
        for number, sentence in enumerate(sentences(words, types=types, seed=seed), start=1):
            middle = len(sentence) // 2
            said = f"{' '.join(sentence[:middle])}, {' '.join(sentence[middle:])}."
            file.write(said[0].upper() + said[1:])
            ends = number % PARAGRAPH_SENTENCES == 0
            file.write(
                " " if not ends else "\n\n" if number % (PARAGRAPH_SENTENCES * DOCUMENT_PARAGRAPHS) == 0 else "\n"
            )
    return path
