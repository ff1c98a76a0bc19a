"""Words to pieces: which of a tokeniser's pieces make which word, by character offsets.

A word's pieces are those whose offsets overlap the word's characters; a piece that overlaps two
words belongs to both, a piece that is only blank or a special token to none. Everything after the tokeniser runs on
whole arrays: the offsets of all texts are laid on one line, where two binary searches find all words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Text
from limbeck.encoders.protocol import Ints
from limbeck.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: tokens that may stand for nothing but blanks: SentencePiece's and byte-level BPE's marks, byte fallback
_MAYBE_BLANK = re.compile(r"(?:[\s▁ĠĊĉčÂł]+|<0x(?:09|0A|0B|0C|0D|20)>)\Z")
#: long and short, since a small vocabulary may know none of them whole
PROBES = ("the", "a", "in", "word", "1")


@dataclass(frozen=True)
class Alignment:
    """The pieces of some texts without special tokens, and the words' places among them.

    All indices count from the start of `pieces`. Word `w` is `pieces[first[w]:end[w]]`, empty where
    the tokeniser left nothing of it; a window that begins with it begins at `lead[w]`, which takes
    in the blank before it where that is a piece of its own.
    """

    pieces: NDArray[np.int32]
    piece_starts: Ints  # (texts + 1,)
    word_starts: Ints  # (texts + 1,) counted in words
    first: Ints  # (words,)
    end: Ints  # (words,)
    lead: Ints  # (words,)

    @property
    def counts(self) -> Ints:
        """Number of pieces of each word."""
        return self.end - self.first


class PieceReader(Protocol):
    """What cuts texts into pieces and knows which of them make which word: an `Aligner`, or one that spells."""

    @property
    def prefix(self) -> tuple[int, ...]: ...

    @property
    def suffix(self) -> tuple[int, ...]: ...

    @property
    def identity(self) -> str: ...

    @property
    def tells_case(self) -> bool: ...

    def __call__(self, texts: Sequence[Text], /) -> Alignment: ...

    def token(self, piece: int, /) -> str: ...


class Aligner:
    """A tokeniser made ready for whole chunks of texts. It pickles and holds no weights.

    prefix, suffix   special tokens that the model expects around a text
    leading_blank    a blank is set before each text, so that its first word is given as the others are
    unknown          the piece for what the vocabulary cannot spell; None where there is nothing that it cannot
    """

    def __init__(self, tokenizer: Any) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self.backend: Tokenizer | None = None
        self.slow: Any = None
        if backend is not None and hasattr(backend, "encode_batch"):
            self.backend = _private_copy(backend)
        elif hasattr(tokenizer, "encode_batch"):
            self.backend = _private_copy(tokenizer)
        elif hasattr(tokenizer, "encode"):
            self.slow = tokenizer
        else:
            raise InputError(
                f"A tokenizer must be one of transformers or tokenizers; got {type(tokenizer).__name__}: "
                "load it with AutoTokenizer.from_pretrained.",
                code="wrong_type",
                parameter="tokenizer",
            )
        self.prefix, self.suffix = self._find_specials()
        self.leading_blank = self._needs_leading_blank()
        self.unknown = self._unknown_piece(tokenizer)
        self.silent = self._silent_table()
        self._pieces_of: dict[str, list[int]] = {}  # word by word, for tokenisers without offsets

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pieces_of": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.backend is not None:
            self.backend.encode_special_tokens = True  # it is not part of a pickled tokeniser

    def __call__(self, texts: Sequence[Text]) -> Alignment:
        """Tokenise the texts and find the pieces of each of their words."""
        return self._by_offsets(texts) if self.backend is not None else self._word_by_word(texts)

    def token(self, piece: int) -> str:
        """The piece as the vocabulary spells it, e.g. "##ing"."""
        if self.backend is not None:
            return str(self.backend.id_to_token(piece))
        return str(self.slow.convert_ids_to_tokens(piece))

    @property
    def identity(self) -> str:
        """Everything about the tokeniser that can change a piece, for a fingerprint."""
        if self.backend is not None:
            return str(self.backend.to_str())
        return f"{type(self.slow).__name__} {sorted(self.slow.get_vocab().items())}"

    @property
    def tells_case(self) -> bool:
        """Whether Tea and tea are different words."""
        return self.encode("Tea") != self.encode("tea")

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Pieces of one string."""
        if self.backend is not None:
            return list(self.backend.encode(text, add_special_tokens=special).ids)
        return [int(piece) for piece in self.slow.encode(text, add_special_tokens=special)]

    def knows(self, pieces: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Of each piece whether it says something of a word: neither a blank nor the piece for what is unknown."""
        known: NDArray[np.bool_] = ~self.silent[pieces]
        if self.unknown is not None:
            known &= pieces != self.unknown
        return known

    # -- the two ways ---------------------------------------------------------------------------

    def _by_offsets(self, texts: Sequence[Text]) -> Alignment:
        assert self.backend is not None
        layouts = [text.layout() for text in texts]
        shift = int(self.leading_blank)
        strings = [" " + string for string, _, _ in layouts] if shift else [string for string, _, _ in layouts]
        encodings = self.backend.encode_batch(strings, add_special_tokens=False)

        ids = [encoding.ids for encoding in encodings]
        pieces = np.fromiter(chain.from_iterable(ids), dtype=np.int32)
        piece_starts = _starts(map(len, ids))
        offsets = np.fromiter(
            chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings)),
            dtype=np.int64,
            count=2 * len(pieces),
        ).reshape(-1, 2)
        word_starts = _starts(len(starts) for _, starts, _ in layouts)
        begins = np.fromiter(chain.from_iterable(starts for _, starts, _ in layouts), dtype=np.int64)
        ends = np.fromiter(chain.from_iterable(ends for _, _, ends in layouts), dtype=np.int64)

        # All texts on one line, each with room of its own. A word may end behind its string's end
        # (trailing blanks are cut off there), so the room is taken from the words as well.
        room = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings)) + 1
        has_words = np.diff(word_starts) > 0
        if len(ends):
            room[has_words] = np.maximum(room[has_words], ends[word_starts[1:][has_words] - 1] + shift + 1)
        base = np.concatenate([[0], np.cumsum(room)[:-1]]) if len(room) else np.zeros(0, dtype=np.int64)
        line = np.repeat(base, np.diff(piece_starts))
        piece_from, piece_to = offsets[:, 0] + line, offsets[:, 1] + line
        line = np.repeat(base + shift, np.diff(word_starts))
        low, high = overlaps(piece_from, piece_to, begins + line, ends + line, piece_starts, word_starts)
        return self._without_blanks(pieces, piece_starts, word_starts, low, high)

    def _word_by_word(self, texts: Sequence[Text]) -> Alignment:
        """For a tokeniser that gives no offsets: each word is tokenised by itself, with its blank."""
        ids: list[list[int]] = []
        per_text: list[int] = []
        words_in: list[int] = []
        for text in texts:
            words = text.words
            own = [self._pieces_of_word(word) for word in words]
            ids.extend(own)
            words_in.append(len(words))
            per_text.append(sum(map(len, own)))
        ends = np.cumsum(np.fromiter(map(len, ids), dtype=np.int64, count=len(ids)), dtype=np.int64)
        low = np.concatenate([[0], ends[:-1]]).astype(np.int64)[: len(ends)]
        pieces = np.fromiter(chain.from_iterable(ids), dtype=np.int32)
        return self._without_blanks(pieces, _starts(per_text), _starts(words_in), low, ends)

    def _pieces_of_word(self, word: str) -> list[int]:
        found = self._pieces_of.get(word)
        if found is None:
            found = self._pieces_of[word] = self.encode(" " + word if self.leading_blank else word)
        return found

    def _without_blanks(
        self, pieces: NDArray[np.int32], piece_starts: Ints, word_starts: Ints, low: Ints, high: Ints
    ) -> Alignment:
        """Cut blank pieces off both ends of each word, and find where a window with that word begins."""
        solid = ~self.silent[pieces] if len(pieces) else np.zeros(0, dtype=bool)
        if solid.all():
            return Alignment(pieces, piece_starts, word_starts, low, np.maximum(low, high), low)
        index = np.arange(len(pieces), dtype=np.int64)
        # next_solid[i]: first solid piece at i or after; behind_solid[i]: one past the last solid piece before i
        next_solid = np.append(np.where(solid, index, len(pieces)), len(pieces))
        next_solid = np.minimum.accumulate(next_solid[::-1])[::-1]
        behind_solid = np.append(0, np.maximum.accumulate(np.where(solid, index + 1, 0)))
        first, end = next_solid[low], behind_solid[high]
        empty = first >= end
        first, end = np.where(empty, low, first), np.where(empty, low, end)
        text_start = np.repeat(piece_starts[:-1], np.diff(word_starts))
        lead = np.maximum(np.minimum(behind_solid[first], first), text_start)
        return Alignment(pieces, piece_starts, word_starts, first, end, lead)

    # -- what kind of tokeniser it is, found by trying ----------------------------------------------

    def _find_specials(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        bare, full = self.encode(PROBES[0]), self.encode(PROBES[0], special=True)
        for start in range(len(full) - len(bare) + 1):
            if full[start : start + len(bare)] == bare:
                return tuple(full[:start]), tuple(full[start + len(bare) :])
        raise InputError(
            f"Special tokens must stand around a text; the tokenizer turns {PROBES[0]!r} into {bare} and, with "
            f"them, into {full}: give a tokenizer whose special tokens come before and after.",
            code="unsupported",
            parameter="tokenizer",
        )

    def _needs_leading_blank(self) -> bool:
        """Whether a word at the start of a text is tokenised as elsewhere only behind a blank."""
        for probe in PROBES:
            if self.encode(f"{probe} {probe}") == 2 * self.encode(probe):
                continue
            if self.encode(f" {probe} {probe}") == 2 * self.encode(f" {probe}"):
                return True
        return False

    def _unknown_piece(self, tokenizer: Any) -> int | None:
        piece: int | None = getattr(tokenizer, "unk_token_id", None)
        if piece is None and self.backend is not None:
            own = getattr(self.backend.model, "unk_token", None)
            piece = self.backend.token_to_id(own) if own else None
        return piece

    def _silent_table(self) -> NDArray[np.bool_]:
        """For each piece id whether it can be no part of a word: blanks only, or a special token.

        A Unigram model spells "</s>" in a text with the special token's own id. The piece for what
        is unknown counts as special too, but stands for a word.
        """
        if self.backend is not None:
            vocabulary = self.backend.get_vocab(with_added_tokens=True)
            decode = self.backend.decode
            added = self.backend.get_added_tokens_decoder()
            special = [piece for piece, token in added.items() if token.special]
        else:
            vocabulary, decode = self.slow.get_vocab(), self.slow.decode
            special = list(getattr(self.slow, "all_special_ids", ()))
        table = np.zeros(max(vocabulary.values(), default=0) + 1, dtype=bool)
        table[[piece for piece in special if piece != self.unknown]] = True
        for token, piece in vocabulary.items():
            # The mark of one tokeniser is a letter to another, so the tokeniser has the last word.
            if _MAYBE_BLANK.match(token) and not decode([piece]).strip():
                table[piece] = True
        return table


def overlaps(
    piece_from: Ints, piece_to: Ints, word_from: Ints, word_to: Ints, piece_starts: Ints, word_starts: Ints
) -> tuple[Ints, Ints]:
    """For each word the range of pieces that overlap it; all places on one line, texts apart.

    A piece of no length belongs to a word only from the inside. Where a text's offsets do not
    rise, its words are compared with all its pieces one by one.
    """
    low = np.searchsorted(piece_to, word_from, side="right").astype(np.int64)
    high = np.searchsorted(piece_from, word_to, side="left").astype(np.int64)
    falls = np.flatnonzero((np.diff(piece_from) < 0) | (np.diff(piece_to) < 0))
    if len(falls):
        # Searches through the whole line cannot be trusted now: do sound texts again, each on its own.
        unsound = set((np.searchsorted(piece_starts, falls, side="right") - 1).tolist())
        for text in range(len(piece_starts) - 1):
            p, q = int(piece_starts[text]), int(piece_starts[text + 1])
            words = slice(int(word_starts[text]), int(word_starts[text + 1]))
            if text not in unsound:
                low[words] = p + np.searchsorted(piece_to[p:q], word_from[words], side="right")
                high[words] = p + np.searchsorted(piece_from[p:q], word_to[words], side="left")
                continue
            meets = (piece_from[p:q] < word_to[words, None]) & (piece_to[p:q] > word_from[words, None])
            some = meets.any(axis=1)
            low[words] = np.where(some, p + meets.argmax(axis=1), p)
            high[words] = np.where(some, q - meets[:, ::-1].argmax(axis=1), p)
    return low, np.maximum(low, high)


def _private_copy(backend: Tokenizer) -> Tokenizer:
    """A copy whose padding and truncation nobody else can switch on, and which reads "[SEP]" as plain text."""
    copy = type(backend).from_str(backend.to_str())
    copy.no_padding()
    copy.no_truncation()
    copy.encode_special_tokens = True
    if getattr(copy.model, "dropout", None):
        copy.model.dropout = None  # merges left out at random are for training
    return copy


def _starts(lengths: Iterable[int]) -> Ints:
    """Offsets (n + 1,) of runs of these lengths."""
    sizes = np.fromiter(lengths, dtype=np.int64)
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])
