"""A user's plain function of texts as an encoder."""

from __future__ import annotations

import hashlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from limbeck.corpus.units import SENTENCE_BITS, Sentence, Text
from limbeck.encoders.preparer import identities
from limbeck.encoders.protocol import Encoder, Prepared
from limbeck.encoders.table import text_windows
from limbeck.errors import InputError

if TYPE_CHECKING:
    import torch

#: texts -> for each an array (words, d) or (layers, words, d)
TextFunction = Callable[[Sequence[Text]], Sequence[Any]]

_PROBE = Text((Sentence(("a", "word")),))


class TextPreparer:
    """Every word a unit, every text a window; a word's piece says whether a blank follows the word.

    So a prepared batch holds all that is needed to make the texts again, wherever it was made.
    """

    def __call__(self, texts: Sequence[Text], /) -> Prepared:
        texts = [text for text in texts if any(sentence.words for sentence in text.sentences)]
        strings, sentences, positions, text_ids = identities(texts)
        counts = np.fromiter((len(text.words) for text in texts), dtype=np.int64, count=len(texts))
        starts, window = text_windows(np.repeat(np.arange(len(texts), dtype=np.int64), counts))
        glued = [int(i in s.glued) for text in texts for s in text.sentences for i in range(len(s.words))]
        return Prepared(
            pieces=np.array(glued, dtype=np.int32),
            window_starts=starts,
            unit_window=window,
            unit_first=np.arange(len(strings), dtype=np.int64) - starts[window],
            unit_count=np.ones(len(strings), dtype=np.int64),
            strings=strings,
            sentences=sentences,
            positions=positions,
            texts=text_ids,
        )


class FunctionEncoder(Encoder):
    """An encoder made of `f(texts) -> list of arrays`, (words, d) or (layers, words, d) for each text.

    The texts that reach `f` carry words, identities and where blanks are, not labels or
    paragraphs. What is not said of `layers` is found by trying `f` on two words. `version` belongs
    into the fingerprint: change it when `f` changes in a way its source does not show.

    >>> encoder = FunctionEncoder(lambda texts: [np.ones((len(text.words), 3)) for text in texts], name="ones")
    >>> encoder.layers, encoder.dim
    (('0',), 3)
    """

    def __init__(self, f: TextFunction, *, name: str, layers: Sequence[str] | None = None, version: str = "") -> None:
        self._f = f
        self._name = name
        self._named_layers = tuple(layers) if layers is not None else None
        self._version = version
        self._prepare = TextPreparer()

    @property
    def name(self) -> str:
        return self._name

    @cached_property
    def fingerprint(self) -> str:
        try:
            source = inspect.getsource(self._f)
        except (OSError, TypeError, IndexError):  # no file has it; in a doctest it may be looked for in another example
            source = getattr(self._f, "__qualname__", type(self._f).__qualname__)
        told = f"{self._name}\x1f{self._version}\x1f{self.layers}\x1f{self.dim}\x1f{source}"
        return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()

    @cached_property
    def _shape(self) -> tuple[int, int]:
        """Layers and dimensions, from the function itself."""
        states = self._call([_PROBE])[0]
        return int(states.shape[0]), int(states.shape[2])

    def __repr__(self) -> str:  # its layers are known once the function has been tried
        return f"FunctionEncoder({self._name})"

    @cached_property
    def layers(self) -> tuple[str, ...]:
        found = self._shape[0]
        if self._named_layers is None:
            return tuple(map(str, range(found)))
        if len(self._named_layers) != found:
            raise InputError(
                f"{self._name} gives {found} layers, but {len(self._named_layers)} are named.",
                code="unequal_lengths",
                parameter="layers",
            )
        return self._named_layers

    @property
    def dim(self) -> int:
        return self._shape[1]

    @property
    def units(self) -> str:
        return "words"

    @property
    def prepare(self) -> TextPreparer:
        return self._prepare

    def forward(self, batch: Prepared) -> torch.Tensor:
        """Vectors (layers, units, dim) as the function gives them."""
        import torch

        layers, dim = self._shape
        if not len(batch):
            return torch.empty((layers, 0, dim))
        states = self._call(list(texts_again(batch)))
        for state in states:
            if (state.shape[0], state.shape[2]) != (layers, dim):
                raise InputError(
                    f"{self._name} must give {layers} layers of {dim} dimensions for every text; "
                    f"got an array of shape {tuple(state.shape)}.",
                    code="wrong_shape",
                )
        return torch.cat(states, dim=1)

    def _call(self, texts: list[Text]) -> list[torch.Tensor]:
        """The function's answer as (layers, words, d) each, or an error that shows what came instead."""
        import torch

        answer = list(self._f(texts))
        if len(answer) != len(texts):
            raise InputError(
                f"{self._name} must give one array a text; got {len(answer)} for {len(texts)} texts.",
                code="unequal_lengths",
            )
        states = []
        for text, array in zip(texts, answer, strict=True):
            state = array if isinstance(array, torch.Tensor) else torch.as_tensor(np.asarray(array))
            if state.ndim == 2:
                state = state.unsqueeze(0)
            if state.ndim != 3 or state.shape[1] != len(text.words):
                raise InputError(
                    f"{self._name} must give an array (words, d) or (layers, words, d) for each text; got "
                    f"{tuple(state.shape)} for a text of {len(text.words)} words: give one row a word.",
                    code="wrong_shape",
                )
            states.append(state if state.is_floating_point() else state.float())
        return states


def texts_again(batch: Prepared) -> Iterator[Text]:
    """The texts that a batch was made of."""
    starts = batch.window_starts.tolist()
    names = batch.sentences
    for low, high in itertools.pairwise(starts):
        # positions begin anew with each sentence
        turns = [low, *(low + 1 + np.flatnonzero(batch.positions[low + 1 : high] == 0)).tolist(), high]
        sentences = []
        for a, b in itertools.pairwise(turns):
            document, index = divmod(int(names[a]), 1 << SENTENCE_BITS)
            glued = frozenset(np.flatnonzero(batch.pieces[a:b]).tolist())
            sentences.append(Sentence(tuple(batch.strings[a:b]), document=document, index=index, glued=glued))
        yield Text(tuple(sentences))
