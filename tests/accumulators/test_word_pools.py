"""Pools over a word's occurrences are what a loop over them gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from refusals import raises

from limbeck.accumulators import WordPools
from limbeck.encoded import Encoded
from limbeck.errors import UsageError
from limbeck.testing import BrokenLaw, check_accumulator
from limbeck.testing.accumulators import made_texts

SHAPE = {"layers": 2, "dim": 5}


def batch_of(vectors: torch.Tensor, words: list[int]) -> Encoded:
    n = len(words)
    return Encoded(vectors, np.array(words), np.zeros(n, int), np.zeros(n, int), np.arange(n, dtype=np.uint64))


def test_pools_are_those_of_a_loop():
    batches = made_texts(**SHAPE, words=9, seed=3)
    pools = WordPools(**SHAPE, words=12, pools=["mean", "min", "max"])
    for batch in batches:
        pools.update(batch)
    vectors = torch.cat([batch.vectors for batch in batches], dim=1).numpy()
    words = np.concatenate([batch.words for batch in batches])
    oracle = {"mean": np.mean, "min": np.min, "max": np.max}
    for layer in range(2):
        for pool, function in oracle.items():
            got = pools.pooled(pool, layer)
            for word in range(12):
                own = vectors[layer][words == word]
                if len(own):
                    np.testing.assert_allclose(got[word], function(own, axis=0), rtol=1e-13, atol=1e-13)
                else:
                    assert np.isnan(got[word]).all()  # words 9 to 11 never occur
    assert pools.n.tolist() == [int((words == word).sum()) for word in range(12)]


def test_low_precision_is_summed_in_float64():
    """65,536 + 1 + 1 … in float32 partial sums would be right, in bfloat16 it would stay 65,536."""
    pools = WordPools(layers=1, dim=1, words=1)
    pools.update(batch_of(torch.tensor([[[65536.0]]], dtype=torch.bfloat16), [0]))
    for _ in range(4):
        pools.update(batch_of(torch.ones(1, 100, 1, dtype=torch.bfloat16), [0] * 100))
    assert pools.mean(0).item() == (65536 + 400) / 401
    small = WordPools(layers=1, dim=1, words=1)
    small.update(batch_of(torch.tensor([[[2.0**25]]]), [0]))
    for _ in range(3):  # one at a time: float32 would lose each
        small.update(batch_of(torch.ones(1, 1, 1), [0]))
    assert small.mean(0).item() == (2.0**25 + 3) / 4


def test_extremes_keep_the_vectors_precision():
    value = 1 + 2.0**-40
    pools = WordPools(layers=1, dim=1, words=1, pools=["max"])
    pools.update(batch_of(torch.ones(1, 1, 1), [0]))
    pools.update(batch_of(torch.full((1, 1, 1), value, dtype=torch.float64), [0]))  # a finer one comes later
    assert pools.pooled("max", 0).item() == value


def test_only_what_was_asked_for_is_kept():
    pools = WordPools(**SHAPE, words=3, pools=["min"])
    assert set(pools.state()) == {"seen", "n", "min"}
    with raises(UsageError, code="unknown_choice", parameter="pool"):
        pools.pooled("mean", 0)
    with raises(UsageError, code="unknown_choice", parameter="pools", says="'mean'"):
        WordPools(**SHAPE, words=3, pools=["meen"])


class Narrow(WordPools):
    """A twin that sums in float32, and so depends on how the work was split."""

    def _take_in(self, pool, words, rows):  # type: ignore[no-untyped-def]
        super()._take_in(pool, words, rows)
        self._tables[pool] = self._tables[pool].float().double()


class Forgetful(WordPools):
    """A twin that merges counts and forgets vectors."""

    def merge(self, other):  # type: ignore[no-untyped-def]
        self.n += other.n


@pytest.mark.parametrize("broken", [Narrow, Forgetful])
def test_the_laws_reject_a_broken_twin(broken: type[WordPools]):
    with pytest.raises(BrokenLaw):
        check_accumulator(lambda: broken(**SHAPE, words=7), **SHAPE, words=7)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gpu_equals_cpu(dtype: torch.dtype):
    made = [WordPools(**SHAPE, words=7, pools=["mean", "min", "max"]) for _ in range(2)]
    for batch in made_texts(**SHAPE, words=7, seed=1):
        some = replace(batch, vectors=batch.vectors.to(dtype))  # rounded alike on both devices
        made[0].update(some)
        made[1].update(replace(some, vectors=some.vectors.cuda()))
    for layer in range(2):
        np.testing.assert_allclose(made[1].mean(layer), made[0].mean(layer), rtol=1e-5, atol=1e-6)
        for pool in ("min", "max"):
            np.testing.assert_array_equal(made[1].pooled(pool, layer), made[0].pooled(pool, layer))
