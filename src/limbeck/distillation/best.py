"""The default way to distil: what a word is said to be, how it is used, what about, how spelled, among which words.

Three views of a word, each weak where another is strong:

- frames    the teacher's vector of whole sentences that say nothing but the word ("the concept of {}."), the mean of
            many such sentences. Needs no text, so rare words are as good as frequent ones.
- average   the mean of the word's own vector over its contexts: the senses that the text gives it. Poor for a word that
            was seen a few times.
- contexts  the mean vector of the texts that it occurs in: topic, more than meaning.

Each view is centered and made of unit length; the others are rotated onto the first (orthogonal Procrustes, which
changes no cosine within a view), and the weighted sum of the three is the word's vector. In one space a word that the
text lacks stands beside one that it has, and what one view says of a word is compared with what another says of the
next; side by side, in a space each, a view that a word lacks would make all its cosines smaller. The two views of the
text weigh n / (n + `evidence`) of their weight for a word seen n times.

A word that the teacher's tokenizer cuts up is one the teacher hardly knows: what it says of the word, in frames or in
place, is poor, what it says of the texts around it is not. There contexts weigh `split` times as much, and what the
word's letters say is added (`limbeck.distillation.spelling`).

Last, every vector is drawn towards those of its nearest words (`limbeck.distillation.neighbours`).

The weights were chosen on MTurk-287, MTurk-771 and MEN with two teachers (docs/best.md): `evidence` with averages over
at most three contexts a word, `split` and `spelling` with half of the words taken out of the tokenizer's vocabulary.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from limbeck.distillation.alone import SumSoFar, read_words, reads_pieces
from limbeck.distillation.axes import principal_axes
from limbeck.distillation.method_settings import BestSettings
from limbeck.distillation.neighbours import draw_to_neighbours
from limbeck.distillation.rows import Known, Rows
from limbeck.distillation.settings import TEMPLATES, DistillSettings
from limbeck.distillation.spelling import spelled
from limbeck.encoders.protocol import Encoder
from limbeck.stream.context import RunContext
from limbeck.stream.progress import Progress
from limbeck.vectors.nearest import unit_rows

Floats = NDArray[np.float32]

FEW = 100  #: words whose mean would be the words themselves, not what they share with others
BLOCK = 8192  #: rows that are taken at once


def frames_vectors(
    encoder: Encoder,
    words: Sequence[str],
    settings: DistillSettings,
    context: RunContext | None = None,
    /,
) -> list[Rows]:
    """The teacher's vector of whole sentences about the word, each sentence's centered and of unit length; their mean.

    Whole sentences, because that is what a teacher of sentence vectors was trained to give; of the two miniatures,
    which were not, they were better than the word's own pieces too. Centered sentence by sentence, since what a
    sentence says without the word is most of its vector; of fewer than FEW words nobody knows that, see `view_of`.
    """
    templates = settings.template or TEMPLATES
    context = context or RunContext()
    so_far = SumSoFar(context.checkpoint, [encoder.fingerprint, *templates], words)
    done, total, found = so_far.load()
    whole = reads_pieces(encoder)
    with Progress("frames", total=len(words) * len(templates), show=context.progress) as bar:
        bar.advance(len(words) * done)
        for number, template in enumerate(templates[done:], start=done):
            sentence = context.inside(f"sentence-{number}")
            made = read_words(encoder, words, sentence, templates=(template,), special_mean=whole, bar=bar)
            found = found & made[0].found
            views = np.stack([view_of(rows) for rows in made])
            total = views if total is None else total + views
            so_far.save(number + 1, total, found)
            if sentence.checkpoint is not None:
                shutil.rmtree(sentence.checkpoint, ignore_errors=True)  # it is in the sum
    assert total is not None
    return [Rows(layer / np.float32(len(templates)), found) for layer in total]


def best_rows(
    parts: Mapping[str, Rows], known: Known, settings: BestSettings, /, *, device: str = "cpu", progress: bool = False
) -> Rows:
    """The views and the spelling of words in one vector, drawn to their nearest; of unit length unless `dim` is set."""
    trust = trust_of(known.counts, settings.evidence)
    made = summed(parts, known, settings, trust)
    found = np.any([parts[name].found for name in settings.parts()], axis=0)
    if settings.spelling:  # of words that are there: letters alone say too little, and a row of zeros is no neighbour
        letters = spelled(known.words, unit_rows(made), trust, known.split & found, device=device, progress=progress)
        made += np.float32(settings.spelling) * letters
    made = unit_rows(made)
    if settings.dim:
        made = principal(made, settings.dim)
    drawn = draw_to_neighbours(made, known.counts, settings.neighbours, device=device, progress=progress)
    return Rows(drawn, found)


def trust_of(counts: NDArray[np.int64], evidence: float) -> NDArray[np.float64]:
    """(words,) how much of a view's weight the text's views have for words seen so often, from 0 to 1."""
    return counts / (counts + evidence) if evidence else (counts > 0).astype(np.float64)


def summed(parts: Mapping[str, Rows], known: Known, settings: BestSettings, trust: NDArray[np.float64]) -> Floats:
    """The weighted sum of the views, each rotated onto the first."""
    first, *others = settings.parts()
    onto = view_of(parts[first])
    total = np.zeros_like(onto)
    for name in (first, *others):
        view = onto if name == first else rotated(view_of(parts[name]), onto, trust)
        weights = getattr(settings, name) * (np.ones(len(trust)) if name == "frames" else trust)
        if name == "contexts":
            weights = np.where(known.split, settings.split * weights, weights)
        total += view * weights[:, None].astype(np.float32)
    return total


def rotated(view: Floats, onto: Floats, weights: NDArray[np.float64]) -> Floats:
    """The view turned as a whole so that its rows come as near to those of another as they can (Schönemann 1966)."""
    products = np.zeros((view.shape[1], onto.shape[1]))
    for block in _blocks(view):
        products += (view[block] * weights[block, None]).T @ onto[block].astype(np.float64)
    left, _, right = np.linalg.svd(products)
    turned: Floats = view @ (left @ right).astype(np.float32)
    return turned


def view_of(rows: Rows) -> Floats:
    """Rows less their mean, in which every word counts once, and of unit length; 0 for a word without a vector.

    Fewer than FEW are not centered.
    """
    x = np.where(rows.found[:, None], rows.matrix, 0).astype(np.float32)
    if rows.found.sum() >= FEW:
        x[rows.found] -= x[rows.found].mean(axis=0, dtype=np.float64)
    return unit_rows(x)


def principal(rows: Floats, dim: int) -> Floats:
    """The coordinates of rows along their `dim` first principal directions through 0, which keep products best."""
    products = np.zeros((rows.shape[1], rows.shape[1]))
    for block in _blocks(rows):
        some = rows[block].astype(np.float64)
        products += some.T @ some
    axes, _ = principal_axes(products, dim)
    made: Floats = rows @ axes.astype(np.float32)
    return made


def _blocks(rows: Floats) -> list[slice]:
    return [slice(start, start + BLOCK) for start in range(0, len(rows), BLOCK)]
