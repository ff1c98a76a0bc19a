"""Measures of word vectors, on anybody's arrays or on the accumulators of a streamed run.

Every function takes x of shape (n, d), or (layers, n, d), numpy or torch, and returns a `Result` with `.value`,
`.n`, `.baseline`, `.adjusted`, `.low`, `.high`, `.note`; measures of words also give `result[word]`.
"""

from limbeck.measures.contextuality import (
    anisotropy,
    intra_sentence_similarity,
    intra_sentence_similarity_matched,
    self_similarity,
)
from limbeck.measures.isotropy import isoscore, log10_isotropy, log10_isotropy_one_sign
from limbeck.measures.local import LocalIsotropy, local_isotropy
from limbeck.measures.mev import mev, mev_centered, mev_truncated_svd
from limbeck.measures.norms import mean_norm
from limbeck.measures.result import Result, WordResult
from limbeck.measures.spectrum import effective_rank, participation_ratio

__all__ = [
    "LocalIsotropy",
    "Result",
    "WordResult",
    "anisotropy",
    "effective_rank",
    "intra_sentence_similarity",
    "intra_sentence_similarity_matched",
    "isoscore",
    "local_isotropy",
    "log10_isotropy",
    "log10_isotropy_one_sign",
    "mean_norm",
    "mev",
    "mev_centered",
    "mev_truncated_svd",
    "participation_ratio",
    "self_similarity",
]
