"""Words read without the text they come from: alone, or in a sentence that is the same for all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck import state as files
from limbeck.distillation.ahead import Ahead, PrepareWords, ReadyWords
from limbeck.distillation.rows import Rows
from limbeck.distillation.settings import TEMPLATE, DistillSettings
from limbeck.encoded import add_rows
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.memory import read_to_host
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Encoder
from limbeck.errors import UsageError
from limbeck.stream.context import RunContext
from limbeck.stream.progress import Progress

ALONE = "{}"
CHUNK = 4096  #: words read at once, and saved at once

Vectors = tuple[torch.Tensor, NDArray[np.bool_]]  # (layers, words, d) on the host, and which words have them


def word_vectors(
    encoder: Encoder,
    words: Sequence[str],
    settings: DistillSettings,
    context: RunContext | None = None,
    /,
) -> list[Rows]:
    """Each word read alone; see `DistillSettings` for the special tokens."""
    special_input, special_mean = settings.special_input, settings.special_mean
    return read_words(
        encoder, words, context, templates=(ALONE,), special_input=special_input, special_mean=special_mean
    )


def frame_vectors(
    encoder: Encoder,
    words: Sequence[str],
    settings: DistillSettings,
    context: RunContext | None = None,
    /,
) -> list[Rows]:
    """Each word read in every template; the mean of these."""
    return read_words(encoder, words, context, templates=settings.template or (TEMPLATE,))


def read_words(
    encoder: Encoder,
    words: Sequence[str],
    context: RunContext | None = None,
    *,
    templates: Sequence[str],
    special_input: bool = True,
    special_mean: bool = False,
    bar: Progress | None = None,
) -> list[Rows]:
    """The vectors of words in templates, of every layer; the mean over templates.

    A word of several words ("New York") is one unit: all its pieces are pooled together. The encoder pools as it was
    told to. With a checkpoint, a folder, what was read before is not read again. Workers split words ahead.
    `bar` is one that others advance too.
    """
    context = context or RunContext()
    pieces = reads_pieces(encoder)
    if not pieces and (special_mean or not special_input):
        raise UsageError(
            f"{encoder.name} has no special tokens to choose about: leave the choice out.",
            code="no_effect",
            parameter="special_mean" if special_mean else "special_input",
        )
    found = np.ones(len(words), dtype=bool)
    total = np.zeros((len(encoder.layers), len(words), encoder.dim), dtype=np.float32)
    name = templates[0] if len(templates) == 1 else "frames"
    own = Progress(name, total=len(words) * len(templates), show=context.progress)
    with own if bar is None else nullcontext(bar) as bar:
        for template in templates:
            identity = [encoder.fingerprint, template, special_input, special_mean]
            parts = [_Part(context.checkpoint, identity, start, chunk) for start, chunk in chunks(words)]
            new = [part for part in parts if not part.known]
            make = PrepareWords(whole_words(encoder), template, pieces, special_input, special_mean)
            ready = iter(context.workers.run(Ahead(make, [part.words for part in new])) if new else ())
            for part in parts:
                made = part.load() if part.known else read(encoder, next(ready))
                if not part.known:
                    part.save(made)
                at = slice(part.start, part.start + len(part.words))
                total[:, at] += made[0].numpy() / len(templates)
                found[at] &= made[1]
                bar.advance(len(part.words))
            for _ in ready:  # lets a job come to its end
                pass
    return [Rows(layer, found) for layer in total]


def chunks(words: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    for start in range(0, len(words), CHUNK):
        yield start, list(words[start : start + CHUNK])


def read(encoder: Encoder, ready: ReadyWords) -> Vectors:
    """The vectors of a chunk: the mean over the units of each word, which must all be there."""
    size = ready.size
    rows = torch.zeros(len(encoder.layers), len(size), encoder.dim)
    if not len(ready.prepared):
        return rows, np.zeros(len(size), dtype=bool)
    own = ready.number[ready.inside]
    vectors = read_to_host(encoder, ready.prepared)[:, torch.from_numpy(ready.inside)]
    add_rows(rows, own, vectors)
    found = (np.bincount(own, minlength=len(size)) == size) & (size > 0)
    return rows / torch.from_numpy(np.maximum(size, 1))[None, :, None], found


def reads_pieces(encoder: Encoder) -> bool:
    """Whether words are made of pieces that the encoder pools, so that several words can be pooled as one."""
    return isinstance(encoder.prepare, PiecePreparer) and isinstance(encoder.prepare.aligner, Aligner)


def whole_words(encoder: Encoder) -> Any:
    """What prepares texts so that every word is a unit, whatever the encoder's units and targets in a text are.

    A decoder's first position is kept: alone, a word has no other.
    """
    own = encoder.prepare
    if not isinstance(own, PiecePreparer):
        return own
    return PiecePreparer(own.aligner, capacity=own.capacity, causal=own.causal, keep_first=True)


class _Part:
    """A chunk of words, and the file of its vectors, which knows what it was made of."""

    def __init__(self, folder: Path | None, identity: list[Any], start: int, words: list[str]) -> None:
        self.start, self.words = start, words
        self._path = None if folder is None else _file_of(folder, [*identity, start, words])
        self.known = self._path is not None and self._path.exists()

    def load(self) -> Vectors:
        assert self._path is not None
        arrays, _ = files.load(self._path)
        return torch.from_numpy(arrays["vectors"]), arrays["found"]

    def save(self, made: Vectors) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            files.save(self._path, {"vectors": made[0].numpy(), "found": made[1]})


class SumSoFar:
    """The sum over sentences that all words were read in, in a file: each sentence's own would take many times more.

    See `limbeck.distillation.best.frames_vectors`, where a sentence's vectors are centered before they are added.
    """

    def __init__(self, folder: Path | None, identity: Sequence[Any], words: Sequence[str]) -> None:
        self._words = len(words)
        self._path = None if folder is None else _file_of(folder, [*identity, *words])

    def load(self) -> tuple[int, NDArray[np.float32] | None, NDArray[np.bool_]]:
        """How many sentences are in it, their sum (layers, words, d), and which words were found in all."""
        if self._path is None or not self._path.exists():
            return 0, None, np.ones(self._words, dtype=bool)
        arrays, _ = files.load(self._path)
        return int(arrays["done"]), arrays["total"], arrays["found"]

    def save(self, done: int, total: NDArray[np.float32], found: NDArray[np.bool_]) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            files.save(self._path, {"done": np.array(done), "total": total, "found": found})


def _file_of(folder: Path, identity: Sequence[Any]) -> Path:
    """A file that is named after all that decides what is in it."""
    told = json.dumps(identity).encode("utf-8", "surrogatepass")
    return folder / f"{hashlib.blake2b(told, digest_size=12).hexdigest()}.npz"
