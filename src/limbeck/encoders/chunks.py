"""Words between blanks, tokenised once each: the same pieces as from whole texts, several times faster.

Most tokenisers split at blanks before anything else, so what stands between two blanks (a chunk: a
word, or words glued together) has the same pieces wherever it stands. Whether a tokeniser is of
that kind is read from its parts, and only parts known to look no further than a blank count. Texts
with anything out of the ordinary in them are tokenised whole.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders.alignment import PROBES, Aligner, Alignment
from limbeck.encoders.batching import ranges
from limbeck.encoders.protocol import Ints

Chunk = str | tuple[str, ...]

MOST_CHUNKS = 400_000  #: then it begins anew; a text rarely has more different ones
_LOCAL_NORMALIZERS = {
    "BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "StripAccents", "Strip",
}  # fmt: skip
_DROP_BLANKS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
_SKIN_TONES = range(0x1F3FB, 0x1F400)


def splits_at_blanks(backend: Any) -> bool | None:
    """Whether chunks can be tokenised apart: None if not; True if blanks vanish, False if they stay as marks."""
    for token in backend.get_added_tokens_decoder().values():
        if not token.special and (token.lstrip or token.rstrip or token.content.split() != [token.content]):
            return None
    for part in _parts(backend.normalizer, "normalizers"):
        # Spaces are squeezed by SentencePiece's own; a chunk has none.
        squeezes = part["type"] == "Replace" and part.get("pattern") == {"Regex": " {2,}"}
        if part["type"] not in _LOCAL_NORMALIZERS and not squeezes:
            return None
    for part in _parts(backend.pre_tokenizer, "pretokenizers"):
        if part["type"] in _DROP_BLANKS:
            return True
        if (part["type"] == "ByteLevel" and part.get("use_regex", True)) or (
            part["type"] == "Metaspace" and part.get("split", True)
        ):
            return False
        if part["type"] not in ("Punctuation", "Digits"):
            return None
    return None


def by_chunks(aligner: Aligner) -> Callable[[Sequence[Text]], Alignment]:
    """The aligner with a memory for chunks where its tokeniser allows that, else the aligner itself."""
    if aligner.backend is None or splits_at_blanks(aligner.backend) is None:
        return aligner
    blank = " " * aligner.leading_blank
    for probe in PROBES:  # the first word of a text must be as any other
        if aligner.encode(f"{blank}{probe} {probe}") != 2 * aligner.encode(blank + probe):
            return aligner
    return ChunkMemory(aligner)


class ChunkMemory:
    """Aligns texts chunk by chunk; the aligner is asked once for each chunk. Pickled, it forgets."""

    def __init__(self, aligner: Aligner) -> None:
        assert aligner.backend is not None
        self._aligner = aligner
        self._blanks_vanish = splits_at_blanks(aligner.backend)
        self._forget()

    def __reduce__(self) -> tuple[type[ChunkMemory], tuple[Aligner]]:
        return type(self), (self._aligner,)

    def _forget(self) -> None:
        self._known: dict[Chunk, int] = {}
        none = np.zeros(0, dtype=np.int64)
        zero = np.zeros(1, dtype=np.int64)
        self._store = Alignment(np.zeros(0, dtype=np.int32), zero, zero, none, none, none)
        self._plain = np.zeros(0, dtype=bool)

    def __call__(self, texts: Sequence[Text]) -> Alignment:
        chunks = [list(chunks_of(text)) for text in texts]
        per_text = np.fromiter(map(len, chunks), dtype=np.int64, count=len(chunks))
        flat = list(chain.from_iterable(chunks))
        codes = self._codes(flat)
        store = self._store
        bounds = np.concatenate([[0], np.cumsum(per_text)]).astype(np.int64)
        unusual = np.flatnonzero(np.diff(np.concatenate([[0], np.cumsum(~self._plain[codes])])[bounds]) > 0)
        if len(unusual):
            # A text that must be taken whole is one more entry, for this once.
            store = join(store, self._aligner([texts[index] for index in unusual.tolist()]))
            kept = np.ones(len(codes), dtype=bool)
            kept[ranges(bounds[unusual], bounds[unusual + 1])] = False
            kept[bounds[unusual]] = True
            codes[bounds[unusual]] = len(self._plain) + np.arange(len(unusual))
            codes = codes[kept]
            per_text[unusual] = 1
            bounds = np.concatenate([[0], np.cumsum(per_text)]).astype(np.int64)
        return gather(store, codes, bounds)

    def _codes(self, chunks: Sequence[Chunk]) -> Ints:
        """The entries of these chunks, after making those that are missing."""
        known = self._known
        codes = np.fromiter(map(known.get, chunks, repeat(-1)), dtype=np.int64, count=len(chunks))
        missing = np.flatnonzero(codes < 0)
        if len(missing):
            if len(known) + len(missing) > MOST_CHUNKS and known:
                self._forget()
                return self._codes(chunks)
            new = list(dict.fromkeys(chunks[at] for at in missing.tolist()))
            words = [(chunk,) if isinstance(chunk, str) else chunk for chunk in new]
            made = self._aligner([Text((Sentence(w, glued=frozenset(range(len(w) - 1))),)) for w in words])
            plain = self._found_plain(["".join(w) for w in words], made)
            known.update(zip(new, range(len(self._plain), len(self._plain) + len(new)), strict=True))
            self._store = join(self._store, made)
            self._plain = np.concatenate([self._plain, plain])
            codes[missing] = np.fromiter((known[chunks[at]] for at in missing.tolist()), np.int64, len(missing))
        return codes

    def _found_plain(self, strings: Sequence[str], made: Alignment) -> NDArray[np.bool_]:
        """Which chunks look no further than themselves, for certain."""
        plain = np.fromiter(map(self._looks_plain, strings), dtype=bool, count=len(strings))
        empty = np.concatenate([[0], np.cumsum(made.end <= made.first)])[made.word_starts]
        plain &= (np.diff(empty) == 0) & (np.diff(made.piece_starts) > 0) & (np.diff(made.word_starts) > 0)
        last = made.pieces[np.maximum(made.piece_starts[1:] - 1, 0)] if len(made.pieces) else np.zeros(0, np.int32)
        if len(last):
            plain &= ~self._aligner.silent[last]
        return plain

    def _looks_plain(self, string: str) -> bool:
        if string.split() != [string] or not (_stands_alone(string[0]) and _stands_alone(string[-1])):
            return False
        assert self._aligner.backend is not None
        normalizer = self._aligner.backend.normalizer
        if self._blanks_vanish or normalizer is None:
            return True
        normal = str(normalizer.normalize_str(string))
        return normal.split() == [normal]  # "¨" becomes a blank and an accent


def chunks_of(text: Text) -> Iterator[Chunk]:
    """What stands between blanks, in order: a word, or the words that are glued together."""
    for sentence in text.sentences:
        if not sentence.glued:
            yield from sentence.words
            continue
        run: list[str] = []
        for index, word in enumerate(sentence.words):
            if index in sentence.glued:
                run.append(word)
            elif run:
                yield (*run, word)
                run = []
            else:
                yield word
        if run:  # a sentence ends with a blank in any case
            yield tuple(run) if len(run) > 1 else run[0]


def join(a: Alignment, b: Alignment) -> Alignment:
    """Texts of one alignment after those of another."""
    shift = len(a.pieces)
    return Alignment(
        np.concatenate([a.pieces, b.pieces]),
        np.concatenate([a.piece_starts, b.piece_starts[1:] + shift]),
        np.concatenate([a.word_starts, b.word_starts[1:] + len(a.first)]),
        np.concatenate([a.first, b.first + shift]),
        np.concatenate([a.end, b.end + shift]),
        np.concatenate([a.lead, b.lead + shift]),
    )


def gather(store: Alignment, entries: Ints, bounds: Ints) -> Alignment:
    """New texts made of entries of a store; text t is `entries[bounds[t]:bounds[t + 1]]`."""
    piece_from, piece_to = store.piece_starts[entries], store.piece_starts[entries + 1]
    word_from, word_to = store.word_starts[entries], store.word_starts[entries + 1]
    pieces_before = np.concatenate([[0], np.cumsum(piece_to - piece_from)]).astype(np.int64)
    words_before = np.concatenate([[0], np.cumsum(word_to - word_from)]).astype(np.int64)
    words = ranges(word_from, word_to)
    move = np.repeat(pieces_before[:-1] - piece_from, word_to - word_from)
    return Alignment(
        store.pieces[ranges(piece_from, piece_to)],
        pieces_before[bounds],
        words_before[bounds],
        store.first[words] + move,
        store.end[words] + move,
        store.lead[words] + move,
    )


def _parts(component: Any, plural: str) -> list[dict[str, Any]]:
    """The parts of a normaliser or pre-tokeniser, in order."""
    if component is None:
        return []
    state = json.loads(component.__getstate__())
    found = state[plural] if state["type"] == "Sequence" else [state]
    return [inner for part in found for inner in (part[plural] if part["type"] == "Sequence" else [part])]


def _stands_alone(character: str) -> bool:
    """Not an accent, joiner or modifier that could reach over the blank to its neighbour."""
    return character.isascii() or (unicodedata.category(character)[0] in "LNPS" and ord(character) not in _SKIN_TONES)
