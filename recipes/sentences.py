"""Running text to sentences and words, once: what every miniature is trained on.

    python -m recipes.sentences wiki-1.txt.xz --out wiki-1.sentences.xz

A sentence a line, an empty line after each paragraph. Words are parted by blanks, or by the mark GLUE where the text
had no blank between them, so that both the words (for the biLM) and the text (for the transformers) can be had back.
"""

from __future__ import annotations

import argparse
import lzma
from collections.abc import Iterator
from pathlib import Path

from limbeck.corpus import Corpus, Sentence

GLUE = "\N{WORD JOINER}"


def line_of(sentence: Sentence) -> str:
    """A sentence as one line of the file."""
    last = len(sentence.words) - 1
    parts = []
    for i, word in enumerate(sentence.words):
        parts.append(word.replace(GLUE, ""))
        if i < last:
            parts.append(GLUE if i in sentence.glued else " ")
    return "".join(parts)


def text_of(line: str) -> str:
    """The running text of a line."""
    return line.replace(GLUE, "")


def words_of(line: str) -> list[str]:
    """The words of a line."""
    return line.replace(GLUE, " ").split(" ")


def write_sentences(text: Path, out: Path) -> tuple[int, int]:
    """Split the prose of one file; sentences and words written."""
    sentences = words = 0
    place = None
    with lzma.open(out, "wt", encoding="utf-8", preset=4) as file:
        for sentence in Corpus(text, format="prose"):
            if place is not None and place != (sentence.document, sentence.paragraph):
                file.write("\n")
            place = (sentence.document, sentence.paragraph)
            file.write(line_of(sentence) + "\n")
            sentences += 1
            words += len(sentence.words)
    return sentences, words


def read_paragraphs(path: Path) -> Iterator[list[str]]:
    """The lines of each paragraph of a file of sentences."""
    paragraph: list[str] = []
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            if line := line.rstrip("\n"):
                paragraph.append(line)
            elif paragraph:
                yield paragraph
                paragraph = []
    if paragraph:
        yield paragraph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="prose, a paragraph a line, in any compression")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    sentences, words = write_sentences(options.text, options.out)
    print(f"{options.out}: {sentences:,} sentences, {words:,} words")


if __name__ == "__main__":
    main()
