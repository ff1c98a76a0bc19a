"""Made text, made vectors, and every measure written out over all pairs of occurrences."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus
from limbeck.corpus.units import Sentence, Text
from limbeck.encoded import Encoded
from limbeck.encoders.function import TextPreparer
from limbeck.encoders.protocol import Prepared

WORDS = "the river rose and a lamp of copper fell in , . sand house old cellar kettle story owl winter".split()
Floats = NDArray[np.float64]


def sentences(count: int, *, seed: int = 0, documents: int = 10, most: int = 9) -> list[Sentence]:
    """Random sentences of a few words, frequent ones first in `WORDS`; about one in eight repeats an earlier one."""
    generator = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(WORDS) + 1)
    said: list[tuple[str, ...]] = []
    for _ in range(count):
        if said and generator.random() < 0.125:
            said.append(said[generator.integers(len(said))])
        else:
            size = generator.integers(1, most + 1)
            said.append(tuple(generator.choice(WORDS, size=size, p=odds / odds.sum()).tolist()))
    document = np.sort(np.arange(count) % documents)
    first = np.searchsorted(document, document)
    return [
        Sentence(words, document=int(document[i]), paragraph=int((i - first[i]) // 3), index=int(i - first[i]))
        for i, words in enumerate(said)
    ]


def as_prose(made: Iterable[Sentence]) -> str:
    """One paragraph a sentence, empty lines between documents: read with format="prose" it has documents."""
    parts = ["\n".join(" ".join(s.words) for s in group) for _, group in itertools.groupby(made, lambda s: s.document)]
    return "\n\n".join(parts) + "\n"


def as_jsonl(made: Iterable[Sentence]) -> str:
    import json

    return "".join(
        json.dumps({"words": list(s.words), "document": s.document, "paragraph": s.paragraph}) + "\n" for s in made
    )


def _numbers(text: str, size: int) -> Floats:
    """Numbers in (-1, 1) that depend on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).uniform(-1, 1, size)


LAYERS, DIM = 3, 6


def contextual(texts: Sequence[Text]) -> list[Floats]:
    """float64 vectors (layers, words, d) that depend on the word, its neighbours and its place."""
    answer = []
    for text in texts:
        words = text.words
        rows = []
        for place, word in enumerate(words):
            near = "|".join(words[max(place - 1, 0) : place + 2])
            own, around = _numbers(word, LAYERS * DIM), _numbers(f"{near}:{place}", LAYERS * DIM)
            rows.append((0.4 + own + 0.5 * around).reshape(LAYERS, DIM) * np.array([[1.0], [3.0], [20.0]]))
        answer.append(np.stack(rows, axis=1))
    return answer


class OwnEncoder:
    """A user's encoder against the protocol: no base class, and a forward pass that can be made to fail."""

    name = "own"
    fingerprint = "own-1"
    layers = ("low", "middle", "high")
    dim = DIM
    units = "words"

    def __init__(self, *, watch: Callable[[int], None] | None = None) -> None:
        self.prepare = TextPreparer()
        self.batches = 0
        self._watch = watch

    def forward(self, batch: Prepared) -> Any:
        import torch

        from limbeck.encoders.function import texts_again

        self.batches += 1
        if self._watch is not None:
            self._watch(self.batches)
        states = [torch.from_numpy(state) for state in contextual(list(texts_again(batch)))]
        return torch.cat(states, dim=1) if states else torch.empty(LAYERS, 0, DIM, dtype=torch.float64)


class Watcher:
    """A consumer that writes down what it is given."""

    def __init__(self) -> None:
        self.batches: list[Encoded] = []
        self.ended: list[int] = []

    def update(self, batch: Encoded) -> None:
        self.batches.append(batch)

    def end_shard(self, number: int) -> None:
        self.ended.append(number)

    def occurrences(self) -> list[tuple[int, int, str]]:
        """(sentence, text, string) of every row."""
        return [
            row
            for batch in self.batches
            for row in zip(batch.sentences.tolist(), batch.texts.tolist(), batch.strings, strict=True)
        ]


@dataclass(frozen=True)
class Seen:
    """All occurrences, in any order."""

    vectors: NDArray[Any]  # (layers, n, d)
    words: list[str]
    sentences: list[Any]
    contexts: list[Any]


def unique_texts(corpus: Corpus | Iterable[Sentence]) -> list[Sentence]:
    """Sentences whose words were not said before."""
    said: set[tuple[str, ...]] = set()
    kept = []
    for sentence in corpus:
        if sentence.words and sentence.words not in said:
            said.add(sentence.words)
            kept.append(sentence)
    return kept


def see(made: Sequence[Sentence], encode: Callable[[Sequence[Text]], Sequence[Any]] = contextual) -> Seen:
    """Each sentence alone through the encoder."""
    answer = [np.asarray(encode([Text((sentence,))])[0]) for sentence in made]
    names = [number for number, s in enumerate(made) for _ in s.words]
    return Seen(np.concatenate(answer, axis=1), [w for s in made for w in s.words], names, names)


def by_pairs(seen: Seen, *, min_contexts: int) -> dict[str, Floats]:
    """The measures that have a plain definition, by layer, one pair at a time where there are pairs."""
    found: dict[str, list[float]] = {}
    contexts = np.array(seen.contexts)
    words, sents = np.array(seen.words), np.array(seen.sentences)
    apart = contexts[:, None] != contexts[None, :]
    followed = [w for w in np.unique(words) if len(np.unique(contexts[words == w])) >= min_contexts]
    for x in seen.vectors.astype(np.float64):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        cosine = unit @ unit.T
        values = {"anisotropy": cosine[apart].mean()}
        per_word, mevs = [], []
        for word in followed:
            rows = np.flatnonzero(words == word)
            pairs = [(i, j) for i in rows for j in rows if apart[i, j]]
            per_word.append(np.mean([cosine[i, j] for i, j in pairs]))
            mevs.append(_mev(x[rows]))
        values["self_similarity"] = np.mean(per_word)
        for place, name in enumerate(("mev", "mev_centered", "mev_truncated_svd")):
            column = np.array([m[place] for m in mevs])
            values[name] = column[np.isfinite(column)].mean()
        similar = []
        for sentence in np.unique(sents):
            own = x[sents == sentence]
            if len(own) > 1:
                mean = own.mean(0)
                similar.append(np.mean(own @ mean / (np.linalg.norm(own, axis=1) * np.linalg.norm(mean))))
        values["intra_sentence_similarity"] = np.mean(similar)
        centred = x - x.mean(0)
        singular = np.linalg.svd(centred, compute_uv=False)
        share = singular / singular.sum()
        values["effective_rank"] = np.exp(-np.sum(share * np.log(share)))
        eigen = singular**2
        values["participation_ratio"] = eigen.sum() ** 2 / (eigen**2).sum()
        norms = np.linalg.norm(x, axis=1)
        values["mean_norm"] = norms.mean()
        values["norm_of_mean_over_mean_norm"] = np.linalg.norm(x.mean(0)) / norms.mean()
        directions = np.linalg.eigh(x.T @ x)[1]
        sums = np.concatenate([np.exp(x @ directions).sum(0), np.exp(-x @ directions).sum(0)])
        values["log10_isotropy"] = np.log10(sums.min() / sums.max())
        for name, value in values.items():
            found.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in found.items()}


def _mev(x: Floats) -> tuple[float, float, float]:
    """Shares of the first direction: uncentred, centred, scikit-learn's TruncatedSVD (docs/fidelity.md §1.1)."""
    singular = np.linalg.svd(x)[1] ** 2
    first = np.linalg.svd(x)[2][0]
    centred = x - x.mean(0)
    spread = np.linalg.svd(centred)[1] ** 2
    if (centred**2).sum() <= 1e-12 * (x**2).sum():
        return singular[0] / singular.sum(), np.nan, np.nan
    return singular[0] / singular.sum(), spread[0] / spread.sum(), ((centred @ first) ** 2).sum() / spread.sum()
