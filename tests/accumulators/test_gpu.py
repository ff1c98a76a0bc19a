"""The accelerator's sums against the CPU's: fused kernels, split products, float32 folded into float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from limbeck.accumulators import Moments, Norms, Points, Sentences, UnitSums, WordSums
from limbeck.encoded import Encoded
from limbeck.measures.contextuality import anisotropy_of, intra_sentence_similarity_of, self_similarity_of
from limbeck.measures.isotropy import isoscore_of
from limbeck.measures.norms import mean_norm_of
from limbeck.measures.spectrum import effective_rank_of, participation_ratio_of, spectrum_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
LAYERS, DIM, WORDS = 3, 96, 40


def batches(device: str, dtype: torch.dtype, sentences_a_text: int) -> list[Encoded]:
    """Equal batches for every device; one dimension is rogue: mean 300, spread 1."""
    generator = np.random.default_rng(5)
    made = []
    for number in range(6):
        sizes = generator.integers(1, 30, size=60)
        n = int(sizes.sum())
        x = generator.normal(size=(LAYERS, n, DIM)) * generator.uniform(0.1, 3, size=DIM) + 0.3
        x[:, :, 7] += 300
        sentences = np.repeat(np.arange(60) + 60 * number, sizes)
        made.append(
            Encoded(
                vectors=torch.from_numpy(x).to(dtype).to(device),  # rounded alike on both devices
                words=generator.integers(-1, WORDS, size=n),
                sentences=sentences,
                texts=sentences // sentences_a_text,
                occurrences=generator.integers(0, 2**63, size=n).astype(np.uint64),
                strings=["w"] * n,
            )
        )
    return made


def measured(some: list[Encoded]) -> dict[str, np.ndarray]:
    shape = {"layers": LAYERS, "dim": DIM}
    moments, sums, norms = Moments(**shape), UnitSums(**shape), Norms(**shape)
    words, sentences = WordSums(**shape, words=WORDS), Sentences(**shape)
    points = Points(**shape, capacity=100)
    for batch in some:
        for accumulator in (moments, sums, norms, words, sentences, points):
            accumulator.update(batch)
    nothing = np.zeros(LAYERS)
    similarity = self_similarity_of(words, [str(i) for i in range(WORDS)], baseline=nothing, enough=words.n > 0)
    return {
        "anisotropy": anisotropy_of(sums).value,
        "self_similarity": similarity.values,
        "intra": intra_sentence_similarity_of(sentences, baseline=nothing).value,
        "norm": mean_norm_of(norms).value,
        "isoscore": isoscore_of(moments).value,
        "participation": participation_ratio_of(moments).value,
        "effective_rank": effective_rank_of(spectrum_of(moments), n=moments.n).value,
        "points": points.vectors[np.argsort(points.hashes)],
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("sentences_a_text", [1, 4])
def test_gpu_equals_cpu(dtype: torch.dtype, sentences_a_text: int) -> None:
    exact = measured(batches("cpu", dtype, sentences_a_text))
    fast = measured(batches("cuda", dtype, sentences_a_text))
    bound = 1e-10 if dtype == torch.float64 else 1e-4
    for name, value in exact.items():
        error = np.max(np.abs(fast[name] - value) / np.abs(value))
        assert error < bound, f"{name}: {error}"


def test_the_kernels_are_what_ran() -> None:
    from limbeck import kernels

    batch = batches("cuda", torch.bfloat16, 1)[0]
    assert kernels.usable(batch.vectors)
    assert batch._reduced is not None
