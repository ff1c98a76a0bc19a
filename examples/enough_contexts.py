"""A text that is small and still enough: of a large one, the sentences that give each word so many contexts.

A vector of forty contexts is nearly as good as one of forty thousand, and most of a text is about words that were seen
often enough long before. Run it with `python examples/enough_contexts.py`, or

    python examples/enough_contexts.py CONTEXTS WORDS TEXT [TEXT ...]
    limbeck distill --model M --corpus runs/enough.txt --format words --add-words WORDS --out vectors

WORDS is a file, one a line: each gets CONTEXTS sentences where the text has them, the 20,000 most frequent words of the
text, which the others are compared with, a fifth. It writes runs/enough.txt, a sentence a line. Sentences are read in
the order of the text, twice: first to find its frequent words.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import limbeck as lb
from limbeck.corpus.units import Sentence

OUT = Path("runs/enough.txt")
COMMON = 20_000  #: frequent words of the text
SHORTEST, LONGEST = 5, 80  #: words of a sentence: longer ones cost more than they tell of each


def enough(sentences: Iterable[Sentence], missing: dict[str, int]) -> Iterator[Sentence]:
    """The sentences with a word that still misses some; `missing` counts down."""
    for sentence in sentences:
        words = {word.lower() for word in sentence.words}
        if SHORTEST <= len(sentence.words) <= LONGEST and any(missing.get(word, 0) > 0 for word in words):
            for word in words & missing.keys():
                missing[word] -= 1
            yield sentence


def main() -> None:
    if len(sys.argv) > 3:
        contexts, listed, text = int(sys.argv[1]), Path(sys.argv[2]).read_text("utf-8").split("\n"), sys.argv[3:]
        corpus: Iterable[Sentence] = lb.Corpus(text, format="prose")
    else:
        contexts, listed = 4, ["water", "house", "church", "turbine"]
        corpus = list(islice(lb.Corpus("sample"), 1000))
    counts = Counter(word.lower() for sentence in corpus for word in sentence.words)
    common = [word for word, _ in counts.most_common() if word.isalpha()][:COMMON]
    wanted = {word.strip().lower() for word in listed} - {""}
    missing = dict.fromkeys(common, max(1, contexts // 5)) | dict.fromkeys(wanted, contexts)

    OUT.parent.mkdir(parents=True, exist_ok=True)
    kept = 0
    with OUT.open("w", encoding="utf-8") as file:
        for sentence in enough(corpus, missing):
            file.write(" ".join(sentence.words) + "\n")
            kept += len(sentence.words)
    unseen = sum(missing[word] == contexts for word in wanted)
    print(f"{OUT}: {kept:,} of {counts.total():,} words; {unseen:,} of {len(wanted):,} listed words have no context")


if __name__ == "__main__":
    main()
