"""Words to character ids, as published ELMo models read them: the UTF-8 bytes of a word between two marks.

All ids are one higher than in the published list of 261, so that 0 stands for "no word here":

    1-256    a byte, plus one
    257 258  the boundaries of a sentence, <S> and </S>, in the place of a word's bytes
    259 260  the beginning and the end of a word
    261      nothing, to the right of a word's end
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Text
from limbeck.encoders.alignment import Alignment
from limbeck.encoders.batching import ranges
from limbeck.encoders.protocol import Ints
from limbeck.errors import InputError
from limbeck.strings import Strings

Characters = NDArray[np.int16]

NO_WORD = 0
FIRST_BYTE = 1
SENTENCE_START, SENTENCE_END, WORD_START, WORD_END, NOTHING = range(257, 262)
CHARACTERS = 262  #: ids, NO_WORD included
BOUNDARIES = {"<S>": SENTENCE_START, "</S>": SENTENCE_END}
LONGEST = 50  #: characters of a word, its two marks included, unless the options say otherwise


def spell(words: Sequence[str], *, longest: int = LONGEST, room: int | None = None) -> Characters:
    """Character ids (words, columns); "<S>" and "</S>" are the boundaries of a sentence, see `lay_out` for `room`.

    >>> spell(["on", "<S>"], room=1).tolist()
    [[259, 112, 111, 260, 261], [259, 257, 260, 261, 261]]
    """
    marks = {row: BOUNDARIES[word] for row, word in enumerate(words) if word in BOUNDARIES}
    ids, starts = spell_out(["." if row in marks else word for row, word in enumerate(words)], longest=longest)
    ids[starts[list(marks)] + 1] = list(marks.values())
    return lay_out(ids, starts[:-1], starts[1:], longest=longest, room=room)


def spell_out(words: Sequence[str], *, longest: int = LONGEST) -> tuple[NDArray[np.int32], Ints]:
    """Words one after the other, each between its marks, and where each begins, (words + 1,).

    Of a word that is too long the first `longest - 2` bytes are read.
    """
    # A lone surrogate, as broken JSON brings them, has no UTF-8: it is spelt as "?".
    spelt = [word.encode("utf-8", "replace")[: longest - 2] for word in words]
    sizes = np.fromiter(map(len, spelt), dtype=np.int64, count=len(spelt))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes + 2)])
    ids = np.empty(starts[-1], dtype=np.int32)
    ids[starts[:-1]] = WORD_START
    ids[starts[1:] - 1] = WORD_END
    inside = np.frombuffer(b"".join(spelt), dtype=np.uint8).astype(np.int32)
    ids[ranges(starts[:-1] + 1, starts[1:] - 1)] = inside + FIRST_BYTE
    return ids, starts


def lay_out(
    ids: NDArray[np.int32], starts: Ints, ends: Ints, *, longest: int = LONGEST, room: int | None = None
) -> Characters:
    """Spelt words, `ids[starts[w]:ends[w]]` each, as rows (words, columns) with NOTHING to their right.

    room    None: `longest` columns. Else as many as the longest of these words needs, and `room` more. That changes
            no vector where `room` is at least the width of the widest filter: farther to the right a filter sees
            NOTHING again and again, and of equal answers the strongest is any one.
    """
    sizes = ends - starts
    columns = longest if room is None else min(longest, int(sizes.max(initial=0)) + room)
    rows: Characters = np.full((len(sizes), columns), NOTHING, dtype=np.int16)
    rows[np.arange(columns) < sizes[:, None]] = ids[ranges(starts, ends)]
    return rows


class Speller:
    """The aligner of models that read characters: a word's pieces are its characters. It pickles.

    Each sentence of a text stands between <S> and </S>, the outermost of which are the prefix and the suffix of
    whatever window is read. Words are read as they are written, also one that is written "<S>".
    """

    prefix = (WORD_START, SENTENCE_START, WORD_END)
    suffix = (WORD_START, SENTENCE_END, WORD_END)

    def __init__(self, *, longest: int = LONGEST, lowercase: bool = False) -> None:
        self.longest = longest
        self.lowercase = lowercase

    def __call__(self, texts: Sequence[Text]) -> Alignment:
        sentences = [sentence for text in texts for sentence in text.sentences]
        words = Strings.of([word for sentence in sentences for word in sentence.words])
        distinct = [word.lower() for word in words.distinct] if self.lowercase else words.distinct
        spelt, begins = spell_out(distinct, longest=self.longest)
        turn = np.array([*self.suffix, *self.prefix], dtype=np.int32)  # from one sentence to the next
        spelt, begins = np.concatenate([spelt, turn]), np.append(begins, begins[-1] + len(turn))

        in_sentence = np.fromiter((len(s.words) for s in sentences), dtype=np.int64, count=len(sentences))
        in_text = np.fromiter((len(text.sentences) for text in texts), dtype=np.int64, count=len(texts))
        sentence_starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(in_text)])
        word_starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(in_sentence)])
        opens_text = np.zeros(len(sentences), dtype=bool)
        opens_text[sentence_starts[:-1][in_text > 0]] = True
        turns = word_starts[:-1][~opens_text]  # a turn is spelt before the first word of these sentences
        codes = np.insert(words.codes.astype(np.int64), turns, len(distinct))
        is_word = codes < len(distinct)
        ends = np.cumsum(begins[codes + 1] - begins[codes])
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends])[:-1]
        text_ends = word_starts[sentence_starts] + np.concatenate([[0], np.cumsum(~opens_text)])[sentence_starts]
        return Alignment(
            pieces=spelt[ranges(begins[codes], begins[codes + 1])],
            piece_starts=np.concatenate([np.zeros(1, dtype=np.int64), ends])[text_ends],
            word_starts=word_starts[sentence_starts],
            first=starts[is_word],
            end=ends[is_word],
            lead=starts[is_word],
        )

    @property
    def tells_case(self) -> bool:
        return not self.lowercase

    def token(self, piece: int) -> str:
        raise InputError(
            "A model that reads characters gives vectors to words only: leave --units out.",
            code="unsupported",
            parameter="units",
        )

    @property
    def identity(self) -> str:
        """Everything that can change a piece, for a fingerprint."""
        return f"characters {self.longest} {self.lowercase}"
