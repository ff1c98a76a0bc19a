"""Exact self-similarity of all words and layers from stored vectors, against the published way of sampling it.

    python -m benchmarks.published_way [--sentences 1000 --layers 13 --dim 768]

The published way (Ethayarajh 2019 and its code) is written here anew: vectors lie in HDF5, one dataset a sentence
(layers, tokens, dim) in float32, with word2sent.json beside it. For each word with five occurrences or more and each
layer up to 1,000 ordered pairs (i, j), i ≠ j, are drawn without replacement from the list of all of them, and each
cosine reads its two vectors from the file. Ours reads the same file once, from opening it to every word's value, and
sums unit vectors; a second figure does so from the folder that `limbeck encode` keeps. All files are in the system's
cache for both sides.

The published way is too slow to be run whole, so it is timed on random cells (a word and a layer) and scaled up by the
number of pairs that all cells need. The same is done on a small file, where the whole is timed too, to see how far off
that is. The sides take turns; the ratio is the median over rounds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import text
from benchmarks.machine import report

PAIRS = 1_000  #: sampled for a word and layer at most
MIN_COUNT = 5
Places = dict[str, list[tuple[int, int]]]  # word -> [(sentence, token), ...]
Cell = tuple[str, int]  # word, layer


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="text whose words are used; made text without it")
    parser.add_argument("--format", default="auto")
    parser.add_argument("--sentences", type=int, default=1_000)
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--cells", type=int, default=60, help="words and layers timed the published way, a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check-sentences", type=int, default=150, help="of the small file")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    with tempfile.TemporaryDirectory(prefix="limbeck-bench-") as folder:
        chosen = take_sentences(options.corpus, options.format, options.sentences)
        figures = compare(Path(folder), chosen, options)
        figures |= check_extrapolation(Path(folder), chosen[: options.check_sentences], options.seed)
    report("published_way", figures)


def compare(folder: Path, sentences: list[list[str]], options: argparse.Namespace) -> dict[str, Any]:
    stored = store(folder / "vectors.hdf5", sentences, layers=options.layers, dim=options.dim, seed=options.seed)
    kept = keep(stored.path, folder / "kept")
    cells = stored.cells(options.layers)
    needed = sum(pairs_needed(len(stored.places[word])) for word, _ in cells)
    generator = random.Random(options.seed)
    generator.shuffle(cells)
    from_hdf5, from_kept, a_pair = [], [], []
    sampled: dict[Cell, float] = {}
    exact = ours(stored.path)  # imports and thread pools are warm from here on
    for turn in range(options.rounds):
        some = cells[turn * options.cells : (turn + 1) * options.cells]
        from_hdf5.append(seconds(lambda: ours(stored.path)))
        began = time.perf_counter()
        sampled |= published(stored, some, generator)
        spent = time.perf_counter() - began
        a_pair.append(spent / sum(pairs_needed(len(stored.places[word])) for word, _ in some))
        from_kept.append(seconds(lambda: ours(kept)))
        print(
            f"round {turn}: ours {from_hdf5[-1]:.2f} s from HDF5, {from_kept[-1]:.2f} s from a kept folder; published "
            f"way {spent:.1f} s for {len(some)} of {len(cells):,} cells, {a_pair[-1] * needed:,.0f} s for all",
            flush=True,
        )
    differences = {cell: abs(exact[cell] - value) for cell, value in sampled.items()}
    whole = [cell for cell in sampled if pairs_needed(len(stored.places[cell[0]])) < PAIRS]
    drawn = [cell for cell in sampled if cell not in set(whole)]
    return {
        "times faster, from the same HDF5 file": statistics.median(
            pair * needed / mine for pair, mine in zip(a_pair, from_hdf5, strict=True)
        ),
        "times faster, from our kept folder": statistics.median(
            pair * needed / mine for pair, mine in zip(a_pair, from_kept, strict=True)
        ),
        "ours from HDF5, seconds": statistics.median(from_hdf5),
        "ours from the kept folder, seconds": statistics.median(from_kept),
        "published way, seconds (scaled up)": statistics.median(a_pair) * needed,
        "published way, seconds a pair": statistics.median(a_pair),
        "pairs it needs": needed,
        "pairs it was timed on": sum(pairs_needed(len(stored.places[word])) for word, _ in sampled),
        "largest difference where it reads all pairs": max((differences[cell] for cell in whole), default=0.0),
        "largest difference where it samples 1,000": max((differences[cell] for cell in drawn), default=0.0),
        "text": "made" if options.corpus is None else "given",
        "sentences": len(sentences),
        "occurrences": sum(map(len, sentences)),
        "words": len(stored.places),
        "layers": options.layers,
        "dim": options.dim,
        "megabytes of vectors": stored.path.stat().st_size / 1e6,
        "rounds": [round(pair * needed / mine, 1) for pair, mine in zip(a_pair, from_hdf5, strict=True)],
    }


def check_extrapolation(folder: Path, sentences: list[list[str]], seed: int) -> dict[str, Any]:
    """On a small file the published way is run whole: what scaling up from a part of it would have said."""
    stored = store(folder / "small.hdf5", sentences, layers=3, dim=64, seed=seed)
    cells = stored.cells(3)
    generator = random.Random(seed)
    generator.shuffle(cells)
    part = cells[: max(1, len(cells) // 4)]
    mine = statistics.median(seconds(lambda: ours(stored.path)) for _ in range(3))
    some = seconds(lambda: published(stored, part, generator))
    rest = seconds(lambda: published(stored, cells[len(part) :], generator))
    pairs = {cell: pairs_needed(len(stored.places[cell[0]])) for cell in cells}
    scaled = some * sum(pairs.values()) / sum(pairs[cell] for cell in part)
    return {
        "small file: whole published way, seconds": some + rest,
        "small file: scaled up from a quarter of the cells, over the whole": scaled / (some + rest),
        "small file: times faster": (some + rest) / mine,
    }


# the two ways


def ours(path: Path) -> dict[Cell, float]:
    """Self-similarity of every word and layer over all pairs i ≠ j, from stored vectors."""
    from limbeck.accumulators import WordSums
    from limbeck.measures.contextuality import self_similarity_of
    from limbeck.stream import Choice, Plan, VectorSource, run_pass
    from limbeck.vectors import OccurrenceVectors

    source = VectorSource(OccurrenceVectors.load(path), str(path))

    def words_of(plan: Plan) -> list[WordSums]:
        return [WordSums(layers=len(source.layers), dim=source.dim, words=len(plan.vocabulary))]

    # every word with five occurrences, duplicates too, as the published way counts
    choice = Choice(min_contexts=MIN_COUNT, by_occurrences=True, max_words=1 << 60)
    passed = run_pass(source, words_of, choice=choice, deduplicate=False)
    (sums,) = passed.accumulators
    assert isinstance(sums, WordSums)
    result = self_similarity_of(
        sums,
        passed.plan.vocabulary.words,
        baseline=np.zeros(sums.layers),
        enough=np.ones(sums.words, dtype=bool),
        across_contexts=False,
    )
    return {
        (word, layer): float(result.values[layer, place])
        for place, word in enumerate(result.words)
        for layer in range(sums.layers)
    }


def published(stored: Stored, cells: Iterable[Cell], generator: random.Random) -> dict[Cell, float]:
    """The mean cosine of up to 1,000 pairs of each cell, two reads a pair."""
    import h5py

    values: dict[Cell, float] = {}
    with h5py.File(stored.path, "r") as file:
        for word, layer in cells:
            places = stored.places[word]
            pairs = [(i, j) for i, j in itertools.product(range(len(places)), repeat=2) if i != j]
            if len(pairs) > PAIRS:
                pairs = generator.sample(pairs, PAIRS)
            cosines = []
            for i, j in pairs:
                (one, first), (other, second) = places[i], places[j]
                a = file[str(one)][layer, first]
                b = file[str(other)][layer, second]
                cosines.append(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))
            values[word, layer] = float(np.mean(cosines))
    return values


def pairs_needed(occurrences: int) -> int:
    return min(PAIRS, occurrences * (occurrences - 1))


# what is stored


@dataclass(frozen=True)
class Stored:
    path: Path
    places: Places  # of the words with enough occurrences

    def cells(self, layers: int) -> list[Cell]:
        return list(itertools.product(self.places, range(layers)))


def store(path: Path, sentences: list[list[str]], *, layers: int, dim: int, seed: int) -> Stored:
    """Made vectors in the published layout: what all words share, what a word has, what a place adds."""
    import h5py

    generator = np.random.default_rng(seed)
    types = {word: number for number, word in enumerate(sorted({word for words in sentences for word in words}))}
    own = generator.normal(size=(len(types), dim)).astype(np.float32)
    shared = generator.normal(size=(layers, 1, dim)).astype(np.float32)
    spread = np.linspace(0.2, 2, layers, dtype=np.float32)[:, None, None]
    places: Places = {}
    path.parent.mkdir(exist_ok=True, parents=True)
    with h5py.File(path, "w") as file:
        for number, words in enumerate(sentences):
            noise = generator.standard_normal(size=(layers, len(words), dim), dtype=np.float32)
            file[str(number)] = shared + own[[types[word] for word in words]] + spread * noise
            for token, word in enumerate(words):
                places.setdefault(word, []).append((number, token))
    places = {word: some for word, some in places.items() if len(some) >= MIN_COUNT}
    path.with_name("word2sent.json").write_text(json.dumps(places), encoding="utf-8")
    return Stored(path, places)


def keep(hdf5: Path, folder: Path) -> Path:
    """The same vectors as `limbeck encode --keep float32` keeps them."""
    from limbeck.vectors import OccurrenceVectors, OccurrenceWriter

    vectors = OccurrenceVectors.load(hdf5)
    writer = OccurrenceWriter(
        folder, encoder_name="made", encoder_fingerprint="made", layers=vectors.layers, dim=vectors.dim, dtype="float32"
    )
    with writer:
        for shard in range(vectors.shards):
            for block in vectors.shard(shard):
                rows: NDArray[Any] = block.vectors
                writer.write(rows, block.strings, block.sentences, block.texts, occurrences=block.occurrences)
    return folder


def take_sentences(corpus: str | None, format: str, count: int) -> list[list[str]]:
    if corpus is None:
        return list(itertools.islice(text.sentences(count * 40), count))
    from limbeck.corpus import Corpus

    return [list(sentence.words) for sentence in itertools.islice(Corpus(corpus, format=format), count)]


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
