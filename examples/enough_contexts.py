"""A text that is small and still enough: of a large one, the sentences that give each word so many contexts.

A vector of forty contexts is nearly as good as one of forty thousand, and most of a text is about words that were seen
often enough long before. Run it with `python examples/enough_contexts.py`, or

    python examples/enough_contexts.py --words WORDS --contexts 40 TEXT [TEXT ...]
    limbeck distill --model M --corpus runs/enough.txt --format words --add-words WORDS --min-count 1 --out vectors

WORDS is a file, one a line: each gets so many sentences where the text has them; the most frequent words of the text,
which the others are compared with, a fifth. It writes runs/enough.txt, a sentence a line. The text is read twice: first
to find its frequent words. Counts in the small text are not those of the large one: do not weight by them (`sif`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import limbeck as lb
from limbeck.corpus import Sentence

OUT = Path("runs/enough.txt")
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="*", help="files of prose; without any, the sample corpus and four words")
    parser.add_argument("--words", type=Path, metavar="FILE", help="one a line")
    parser.add_argument("--contexts", type=int, default=40, metavar="N", help="sentences a word (40)")
    parser.add_argument("--common", type=int, default=20_000, metavar="N", help="frequent words of the text (20000)")
    options = parser.parse_args()
    if options.text:
        corpus: Iterable[Sentence] = lb.Corpus(options.text, format="prose")
    else:
        corpus = list(islice(lb.Corpus("sample"), 1000))
        options.contexts, options.common = 10, 100
    listed = options.words.read_text("utf-8").splitlines() if options.words else ["water", "house", "church", "turbine"]

    counts = Counter(word.lower() for sentence in corpus for word in sentence.words)
    common = [word for word, _ in counts.most_common() if word.isalpha()][: options.common]
    wanted = {word.strip().lower() for word in listed} - {""}
    missing = dict.fromkeys(common, max(1, options.contexts // 5)) | dict.fromkeys(wanted, options.contexts)

    OUT.parent.mkdir(parents=True, exist_ok=True)
    kept = 0
    with OUT.open("w", encoding="utf-8") as file:
        for sentence in enough(corpus, missing):
            file.write(" ".join(sentence.words) + "\n")
            kept += len(sentence.words)
    unseen = sum(missing[word] == options.contexts for word in wanted)
    print(f"{OUT}: {kept:,} of {counts.total():,} words; {unseen:,} of {len(wanted):,} listed words are in none")


if __name__ == "__main__":
    main()
