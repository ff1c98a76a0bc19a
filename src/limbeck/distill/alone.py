"""Words read without the text they come from: alone, or in a sentence that is the same for all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck import state as files
from limbeck.corpus.units import SENTENCE_BITS, Sentence, Text
from limbeck.distill.rows import Rows
from limbeck.distill.settings import DistillSettings
from limbeck.encoded import add_rows
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Encoder, Prepared
from limbeck.errors import UsageError
from limbeck.stream.progress import Progress

ALONE = "{}"
CHUNK = 4096  #: words read at once, and saved at once

Vectors = tuple[torch.Tensor, NDArray[np.bool_]]  # (layers, words, d) on the host, and which words have them


def word_vectors(
    encoder: Encoder, words: Sequence[str], settings: DistillSettings, /, *, state: Path | None, progress: bool
) -> list[Rows]:
    """Each word read alone; see `DistillSettings` for the special tokens."""
    how = {"special_input": settings.special_input, "special_mean": settings.special_mean}
    return read_words(encoder, words, templates=(ALONE,), state=state, progress=progress, **how)


def frame_vectors(
    encoder: Encoder, words: Sequence[str], settings: DistillSettings, /, *, state: Path | None, progress: bool
) -> list[Rows]:
    """Each word read in every template; the mean of these."""
    return read_words(encoder, words, templates=settings.templates, state=state, progress=progress)


def read_words(
    encoder: Encoder,
    words: Sequence[str],
    *,
    templates: Sequence[str],
    special_input: bool = True,
    special_mean: bool = False,
    state: Path | None = None,
    progress: bool = False,
) -> list[Rows]:
    """The vectors of words in templates, of every layer; the mean over templates.

    A word of several words ("New York") is one unit: all its pieces are pooled together. The encoder pools as it was
    told to. With `state`, a folder, what was read before is not read again.
    """
    found = np.ones(len(words), dtype=bool)
    total = np.zeros((len(encoder.layers), len(words), encoder.dim), dtype=np.float32)
    with Progress(
        templates[0] if len(templates) == 1 else "frames", total=len(words) * len(templates), show=progress
    ) as bar:
        for template in templates:
            identity = [encoder.fingerprint, template, special_input, special_mean]
            for start, chunk in chunks(words):
                kept = None if state is None else _Kept(state, [*identity, start, chunk])
                made = kept.load() if kept else None
                if made is None:
                    made = read_chunk(
                        encoder, chunk, template=template, special_input=special_input, special_mean=special_mean
                    )
                    if kept:
                        kept.save(made)
                total[:, start : start + len(chunk)] += made[0].numpy() / len(templates)
                found[start : start + len(chunk)] &= made[1]
                bar.advance(len(chunk))
    return [Rows(layer, found) for layer in total]


def chunks(words: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    for start in range(0, len(words), CHUNK):
        yield start, list(words[start : start + CHUNK])


def read_chunk(
    encoder: Encoder, words: Sequence[str], *, template: str, special_input: bool, special_mean: bool
) -> Vectors:
    """Vectors of a few words in one template."""
    texts, first, size = texts_of_words(words, template)
    prepared = whole_words(encoder)(texts)
    number = prepared.texts & ((1 << SENTENCE_BITS) - 1)  # of the word whose text it is
    inside = (prepared.positions >= first) & (prepared.positions < first + size[number])
    if not reads_pieces(encoder):
        if special_mean or not special_input:
            raise UsageError(f"{encoder.name} has no special tokens to choose about: leave the choice out.")
        return _mean_of_units(encoder, prepared, number, inside, size)
    prepared, found = joined(prepared, number, inside, size)
    aligner = encoder.prepare.aligner  # type: ignore[attr-defined]
    around = len(aligner.prefix), len(aligner.suffix)
    if special_mean:
        lengths = np.diff(prepared.window_starts)[prepared.unit_window]
        prepared = replace(prepared, unit_first=np.zeros_like(lengths), unit_count=lengths)
    elif not special_input:
        prepared = without_specials(prepared, *around)
    rows = torch.zeros(len(encoder.layers), len(words), encoder.dim)
    if len(prepared):
        rows[:, torch.from_numpy(found)] = encoder.forward(prepared).to("cpu", torch.float32)
    return rows, found


def texts_of_words(words: Sequence[str], template: str) -> tuple[list[Text], int, NDArray[np.int64]]:
    """A text for each word in the template; the place of the word's first word in it, and how many words it is."""
    before, after = template.split("{}")
    left, right = before.split(), after.split()
    texts, sizes = [], []
    for number, word in enumerate(words):
        own = word.split()
        glued = set()
        if left and own and not before[-1:].isspace():
            glued.add(len(left) - 1)
        if right and own and not after[:1].isspace():
            glued.add(len(left) + len(own) - 1)
        sentence = Sentence((*left, *own, *right), index=number, glued=frozenset(glued))
        texts.append(Text((sentence,)))
        sizes.append(len(own))
    return texts, len(left), np.array(sizes, dtype=np.int64)


def reads_pieces(encoder: Encoder) -> bool:
    """Whether words are made of pieces that the encoder pools, so that several words can be pooled as one."""
    return isinstance(getattr(encoder.prepare, "aligner", None), Aligner)


def whole_words(encoder: Encoder) -> Any:
    """What prepares texts so that every word is a unit, whatever the encoder's units and targets in a text are.

    A decoder's first position is kept: alone, a word has no other.
    """
    own = encoder.prepare
    if not isinstance(own, PiecePreparer):
        return own
    return PiecePreparer(own.aligner, capacity=own.capacity, causal=own.causal, keep_first=True)


def joined(
    prepared: Prepared, number: NDArray[np.int64], inside: NDArray[np.bool_], size: NDArray[np.int64]
) -> tuple[Prepared, NDArray[np.bool_]]:
    """One unit for each text, all pieces of the words inside; and which of the texts have it whole, in one window."""
    rows = np.flatnonzero(inside)
    whole = np.bincount(number[rows], minlength=len(size)) == size
    rows = rows[whole[number[rows]]]
    # units of a text stand together, in the order of its words
    own = number[rows]
    first = rows[np.flatnonzero(np.diff(own, prepend=-1))]
    last = rows[np.flatnonzero(np.diff(own, append=-1))]
    together = prepared.unit_window[first] == prepared.unit_window[last]
    first, last = first[together], last[together]
    found = np.zeros(len(size), dtype=bool)
    found[number[first]] = True
    return replace(
        prepared,
        unit_window=prepared.unit_window[first],
        unit_first=prepared.unit_first[first],
        unit_count=prepared.unit_first[last] + prepared.unit_count[last] - prepared.unit_first[first],
        strings=[prepared.strings[row] for row in first.tolist()],
        sentences=prepared.sentences[first],
        positions=prepared.positions[first],
        texts=prepared.texts[first],
    ), found


def without_specials(prepared: Prepared, prefix: int, suffix: int) -> Prepared:
    """The same windows without the special tokens around them."""
    starts = prepared.window_starts
    keep = np.ones(len(prepared.pieces), dtype=bool)
    for place in range(prefix):
        keep[starts[:-1] + place] = False
    for place in range(suffix):
        keep[starts[1:] - 1 - place] = False
    lengths = np.diff(starts) - prefix - suffix
    return replace(
        prepared,
        pieces=prepared.pieces[keep],
        window_starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        unit_first=prepared.unit_first - prefix,
    )


def _mean_of_units(
    encoder: Encoder,
    prepared: Prepared,
    number: NDArray[np.int64],
    inside: NDArray[np.bool_],
    size: NDArray[np.int64],
) -> Vectors:
    """Of an encoder that gives words as wholes: the mean over the words of each."""
    rows = torch.zeros(len(encoder.layers), len(size), encoder.dim)
    if not len(prepared):
        return rows, np.zeros(len(size), dtype=bool)
    vectors = encoder.forward(prepared).to("cpu", torch.float32)[:, torch.from_numpy(inside)]
    found = (np.bincount(number[inside], minlength=len(size)) == size) & (size > 0)
    add_rows(rows, number[inside], vectors)
    return rows / torch.from_numpy(np.maximum(size, 1))[None, :, None], found


class _Kept:
    """A chunk of vectors in a file that knows what it was made of."""

    def __init__(self, folder: Path, identity: list[Any]) -> None:
        name = hashlib.blake2b(json.dumps(identity).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        self.path = folder / f"{name}.npz"

    def load(self) -> Vectors | None:
        if not self.path.exists():
            return None
        arrays, _ = files.load(self.path)
        return torch.from_numpy(arrays["vectors"]), arrays["found"]

    def save(self, made: Vectors) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        files.save(self.path, {"vectors": made[0].numpy(), "found": made[1]})
