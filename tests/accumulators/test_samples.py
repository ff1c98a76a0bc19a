"""Kept samples are the smallest hashes, by brute force, however the work was split."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from limbeck.accumulators import Occurrences, Points, SentencePoints, reservoir
from limbeck.encoded import Encoded
from limbeck.seeds import hash_ids
from limbeck.strings import pack, unpack
from limbeck.testing import join, made_texts

SHAPE = {"layers": 2, "dim": 5}
TEXTS = made_texts(**SHAPE, words=7, seed=5, texts=40)
WHOLE = join(TEXTS)


def splits(seed: int, shards: int) -> list[list[Encoded]]:
    """The texts in random order, dealt to shards, in batches of one to five texts."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(TEXTS))
    made = []
    for shard in range(shards):
        mine, batches = list(order[shard::shards]), []
        while mine:
            take = int(generator.integers(1, 6))
            batches.append(join([TEXTS[i] for i in mine[:take]]))
            mine = mine[take:]
        made.append(batches)
    return made


def fill(make, seed: int, shards: int):
    parts = []
    for batches in splits(seed, shards):
        part = make()
        for batch in batches:
            part.update(batch)
        parts.append(part)
    for part in parts[1:]:
        parts[0].merge(part)
    return parts[0]


@pytest.mark.parametrize("capacity", [1, 17, 10_000])
@pytest.mark.parametrize(("seed", "shards"), [(0, 1), (1, 2), (2, 7)])
def test_points_are_the_smallest_hashes(capacity: int, seed: int, shards: int):
    points = fill(lambda: Points(**SHAPE, capacity=capacity), seed, shards)
    wanted = sorted(range(len(WHOLE)), key=lambda i: int(WHOLE.occurrences[i]))[:capacity]
    state = points.state()
    assert state["hashes"].tolist() == WHOLE.occurrences[wanted].tolist()
    assert state["words"].tolist() == WHOLE.words[wanted].tolist()
    assert state["sentences"].tolist() == WHOLE.sentences[wanted].tolist()
    assert state["texts"].tolist() == WHOLE.texts[wanted].tolist()
    assert unpack(state["strings"], state["string_offsets"]) == [WHOLE.strings[i] for i in wanted]
    np.testing.assert_array_equal(state["vectors"], WHOLE.vectors[:, wanted].transpose(0, 1))
    assert points.seen == len(WHOLE)
    assert points.complete == (capacity >= len(WHOLE))
    # slots, whatever their order, hold vectors and identities of the same points
    rows = {int(h): i for i, h in enumerate(WHOLE.occurrences)}
    of_slot = [rows[int(h)] for h in points.hashes]
    assert [points.strings[s] for s in range(len(points))] == [WHOLE.strings[i] for i in of_slot]
    for layer in range(2):
        np.testing.assert_array_equal(points.layer(layer), WHOLE.vectors[layer, of_slot])
    np.testing.assert_array_equal(points.vectors, WHOLE.vectors[:, of_slot].transpose(0, 1))
    assert (np.diff(points.hashes[points.order].astype(float)) > 0).all()


@pytest.mark.parametrize("capacity", [9, 10_000])
@pytest.mark.parametrize(("seed", "shards"), [(0, 1), (1, 2), (2, 7)])
def test_sentence_points_are_one_of_each_sentence(capacity: int, seed: int, shards: int):
    points = fill(lambda: SentencePoints(**SHAPE, capacity=capacity), seed, shards)
    sentences = sorted(np.unique(WHOLE.sentences), key=lambda s: int(hash_ids(np.array([s]))[0]))[:capacity]
    state = points.state()
    assert state["sentences"].tolist() == [int(s) for s in sentences]
    for place, sentence in enumerate(sentences):
        rows = np.flatnonzero(WHOLE.sentences == sentence)
        row = rows[np.argmin(WHOLE.occurrences[rows])]
        np.testing.assert_array_equal(state["vectors"][place], WHOLE.vectors[:, row])
        assert state["words"][place] == WHOLE.words[row]
    assert points.seen == len(np.unique(WHOLE.sentences))


@pytest.mark.parametrize("capacity", [1, 4, 1000])
@pytest.mark.parametrize(("seed", "shards"), [(0, 1), (1, 2), (2, 7)])
def test_occurrences_are_the_smallest_hashes_of_each_word(capacity: int, seed: int, shards: int):
    chosen = [5, 0, 3]
    kept = fill(lambda: Occurrences(**SHAPE, capacity=capacity, chosen=chosen), seed, shards)
    for place, word in enumerate(chosen):
        rows = sorted(np.flatnonzero(WHOLE.words == word), key=lambda i: int(WHOLE.occurrences[i]))
        assert len(rows) > 4
        assert kept.counts[place] == min(capacity, len(rows))
        np.testing.assert_array_equal(kept.of(place), WHOLE.vectors[:, rows[:capacity]].transpose(0, 1))


def test_words_that_were_not_chosen_are_not_kept():
    kept = Occurrences(**SHAPE, capacity=3, chosen=[2])
    kept.update(WHOLE.take(np.flatnonzero(WHOLE.words != 2)))
    assert kept.counts.tolist() == [0]
    assert kept.of(0).shape == (0, 2, 5)
    none = Occurrences(**SHAPE, capacity=3, chosen=[])
    none.update(WHOLE)
    assert none.state()["vectors"].shape == (0, 2, 5)


def test_a_sample_is_a_fair_one():
    """The choice is by hash, so it has nothing to do with the order or the content."""
    n = 20_000
    batch = Encoded(
        torch.zeros(1, n, 1, dtype=torch.float64) + 1,
        np.arange(n) % 2,
        np.arange(n),
        np.arange(n),
        hash_ids(np.arange(n)),
    )
    points = Points(layers=1, dim=1, capacity=2000)
    points.update(batch)
    assert points.sentences.mean() == pytest.approx(n / 2, rel=0.05)
    assert points.words.mean() == pytest.approx(0.5, abs=0.05)


def test_wider_vectors_widen_what_is_kept():
    points = Points(**SHAPE, capacity=10_000)
    points.update(Encoded(TEXTS[0].vectors.float(), *columns(TEXTS[0])))
    points.update(TEXTS[1])
    assert points.vectors.dtype == np.float64
    n = len(TEXTS[0])
    np.testing.assert_array_equal(points.vectors[n:], TEXTS[1].vectors.transpose(0, 1))
    np.testing.assert_array_equal(points.vectors[:n], TEXTS[0].vectors.float().transpose(0, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_narrow_vectors_are_kept_exactly(dtype: torch.dtype):
    points = Points(**SHAPE, capacity=100)
    points.update(Encoded(TEXTS[0].vectors.to(dtype), *columns(TEXTS[0])))
    assert points.vectors.dtype == np.float32
    np.testing.assert_array_equal(points.vectors, TEXTS[0].vectors.to(dtype).float().transpose(0, 1))


def test_samples_too_large_for_memory_live_in_a_file(monkeypatch: pytest.MonkeyPatch):
    plain = fill(lambda: Points(**SHAPE, capacity=50), 0, 2)
    mapped = []
    from_file = torch.from_file
    monkeypatch.setattr(torch, "from_file", lambda *args, **named: mapped.append(args) or from_file(*args, **named))
    monkeypatch.setattr(reservoir, "SPILL_BYTES", 100)
    spilled = fill(lambda: Points(**SHAPE, capacity=50), 0, 2)
    assert len(mapped) == 2
    np.testing.assert_array_equal(spilled.vectors, plain.vectors)


@pytest.mark.parametrize(
    "strings", [[], [""], ["", ""], ["a", "", "é", "漢字", "\U0001f600", "\n\t ", "\x00", "\udcff"], ["ÿ", "\xff"]]
)
def test_strings_survive(strings: list[str]):
    assert unpack(*pack(strings)) == strings


def columns(batch: Encoded) -> tuple:
    return batch.words, batch.sentences, batch.texts, batch.occurrences, batch.strings
