"""Texts to integers for any model that reads pieces: the half of an encoder that needs no device."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Text
from limbeck.encoders import windows
from limbeck.encoders.alignment import Aligner, Alignment, PieceReader
from limbeck.encoders.chunks import by_chunks
from limbeck.encoders.protocol import Ints, Prepared
from limbeck.errors import UsageError, choose

UNITS = ("words", "pieces")
NO_PIECES = "no pieces after the tokeniser's normalisation"
TOO_LONG = "longer than the model's window"
FIRST_POSITION = "first position of a window"
SPECIAL_POSITION = 1 << 20  #: of a special token "in its sentence", where no word is
LABEL = "label:"  #: targets="label:sense" means the words that carry a sense


class PiecePreparer:
    """Texts to pieces, windows and units. It pickles, so that worker processes can do it.

    units       "words", or "pieces": every piece of every word
    capacity    pieces of text in a window, special tokens not counted
    context     None: whole windows; k: each target sees k words to each side and no more
    targets     None: all words; else the words that get a vector: words by name, or "label:sense" for
                those that carry that label
    causal      the model sees to the left only
    keep_first  keep the unit at the first position of a causal model's window, whose vector says
                more of the position than of the word, also where no special token stands there
    special     with pieces: those that the model expects around a text ([CLS], [SEP]) have vectors too,
                where a text is read by several windows the first of the first and the last of the last
    """

    def __init__(
        self,
        aligner: PieceReader,
        *,
        capacity: int,
        units: str = "words",
        context: int | None = None,
        targets: str | Collection[str] | None = None,
        causal: bool = False,
        keep_first: bool = False,
        special: bool = False,
    ) -> None:
        self.aligner = aligner
        self._align = by_chunks(aligner) if isinstance(aligner, Aligner) else aligner
        self.capacity = capacity
        self.units = choose(units, UNITS, what="units")
        self.context = context
        self.label, self.targets = _read_targets(targets)
        self.causal = causal
        self.keep_first = keep_first
        self.special = special
        if special and (units != "pieces" or context is not None or targets is not None):
            raise UsageError(
                "special tokens are pieces around a whole text: ask for --units=pieces, all of them.",
                code="exclusive",
                parameter="special",
            )
        if capacity < 1:
            raise UsageError(
                f"A window must hold a piece of text beside the special tokens; "
                f"got room for {capacity}: ask for a larger window.",
                code="out_of_range",
                parameter="window",
            )
        if context is not None and context < 0:
            raise UsageError(
                f"--context is a number of words to each side, 0 or more; got {context}.",
                code="out_of_range",
                parameter="context",
            )

    def __call__(self, texts: Sequence[Text], /) -> Prepared:
        texts = [text for text in texts if text.sentences]
        alignment = self._align(texts)
        strings, sentences, positions, text_ids = identities(texts, alignment.word_starts)
        wanted = self._wanted(texts, strings)
        if self.context is None:
            plan = windows.overlapping(alignment, capacity=self.capacity, causal=self.causal)
        else:
            plan = windows.around(alignment, capacity=self.capacity, words=self.context, wanted=wanted)

        present = alignment.end > alignment.first
        held = wanted & present & (plan.of_word >= 0)
        dropped = {NO_PIECES: int((wanted & ~present).sum()), TOO_LONG: int((wanted & present & ~held).sum())}
        if self.units == "words":
            chosen = np.flatnonzero(held)
            first, count, window = alignment.first[chosen], alignment.counts[chosen], plan.of_word[chosen]
            positions, sentences, text_ids = positions[chosen], sentences[chosen], text_ids[chosen]
            if len(chosen) < len(strings):
                strings = list(compress(strings, held.tolist()))
        else:
            owner, first, positions = pieces_of_words(alignment, np.cumsum(positions == 0))
            kept = held[owner]
            owner, first, positions = owner[kept], first[kept], positions[kept]
            count, window = np.ones(len(owner), dtype=np.int64), plan.of_word[owner]
            sentences, text_ids = sentences[owner], text_ids[owner]
            strings = self._tokens(alignment.pieces[first])

        place = first - plan.start[window]
        if self.causal and not self.aligner.prefix and not self.keep_first and (at_first := place == 0).any():
            dropped[FIRST_POSITION] = int(at_first.sum())
            stays = ~at_first
            place, count, window, positions = place[stays], count[stays], window[stays], positions[stays]
            sentences, text_ids = sentences[stays], text_ids[stays]
            strings = list(compress(strings, stays.tolist()))

        used = np.zeros(len(plan.start), dtype=bool)
        used[window] = True  # a window that no unit is read from need not be read
        renumbered = np.cumsum(used) - 1
        pieces, window_starts = self._with_specials(alignment.pieces, plan.start[used], plan.end[used])
        prepared = Prepared(
            pieces=pieces,
            window_starts=window_starts,
            unit_window=renumbered[window],
            unit_first=place + len(self.aligner.prefix),
            unit_count=count,
            strings=strings,
            sentences=sentences,
            positions=positions,
            texts=text_ids,
            dropped={reason: number for reason, number in dropped.items() if number},
        )
        return self._specials_too(prepared) if self.special and len(prepared) else prepared

    def with_special(self) -> PiecePreparer:
        """The same with special tokens among its units, where these are words too, called "" then."""
        if self.context is not None or self.targets is not None or self.label is not None:
            raise UsageError(
                "special tokens stand around a whole text: leave --context and --targets out.",
                code="exclusive",
                parameter="special",
            )
        made = copy(self)
        made.special = True
        return made

    def _specials_too(self, prepared: Prepared) -> Prepared:
        """The same with the special tokens around each text among its units."""
        turn = np.flatnonzero(np.append(True, np.diff(prepared.texts) != 0))  # each text's first unit
        last = np.append(turn[1:], len(prepared)) - 1
        heads = np.repeat(np.arange(len(self.aligner.prefix)), len(turn))
        tails = np.repeat(np.arange(len(self.aligner.suffix)), len(turn))
        tail_starts = np.diff(prepared.window_starts)[prepared.unit_window[last]] - len(self.aligner.suffix)
        before = np.tile(turn, len(self.aligner.prefix))  # the unit that each stands beside
        after = np.tile(last, len(self.aligner.suffix))
        beside = np.concatenate([before, np.arange(len(prepared)), after])
        place = np.concatenate([heads, prepared.unit_first, np.tile(tail_starts, len(self.aligner.suffix)) + tails])
        position = np.concatenate(
            [SPECIAL_POSITION + heads, prepared.positions, SPECIAL_POSITION + len(self.aligner.prefix) + tails]
        )
        count = np.ones(len(beside), dtype=np.int64)
        count[len(before) : len(before) + len(prepared)] = prepared.unit_count
        order = np.argsort(beside, kind="stable")
        beside, place = beside[order], place[order]
        window = prepared.unit_window[beside]
        if self.units == "words":
            names = [""] * len(before) + list(prepared.strings) + [""] * len(after)
            strings = [names[row] for row in order.tolist()]
        else:
            strings = self._tokens(prepared.pieces[prepared.window_starts[window] + place])
        return replace(
            prepared,
            unit_window=window,
            unit_first=place,
            unit_count=count[order],
            strings=strings,
            sentences=prepared.sentences[beside],
            positions=position[order],
            texts=prepared.texts[beside],
        )

    def _wanted(self, texts: Sequence[Text], strings: Sequence[str]) -> NDArray[np.bool_]:
        if self.targets is not None:
            return np.fromiter((word in self.targets for word in strings), dtype=bool, count=len(strings))
        if self.label is None:
            return np.ones(len(strings), dtype=bool)
        wanted = np.zeros(len(strings), dtype=bool)
        at = 0
        for sentence in chain.from_iterable(text.sentences for text in texts):
            wanted[[at + index for index, labels in sentence.labels.items() if self.label in labels]] = True
            at += len(sentence.words)
        return wanted

    def _tokens(self, pieces: NDArray[np.int32]) -> list[str]:
        kinds, inverse = np.unique(pieces, return_inverse=True)
        names = [self.aligner.token(piece) for piece in kinds.tolist()]
        return [names[kind] for kind in inverse.tolist()]

    def _with_specials(self, pieces: NDArray[np.int32], start: Ints, end: Ints) -> tuple[NDArray[np.int32], Ints]:
        """The windows' pieces one after the other, each between the special tokens."""
        prefix, suffix = self.aligner.prefix, self.aligner.suffix
        starts = np.concatenate([[0], np.cumsum(end - start + len(prefix) + len(suffix))]).astype(np.int64)
        filled = np.empty(starts[-1], dtype=np.int32)
        body = np.arange(int((end - start).sum()), dtype=np.int64)
        gone = np.concatenate([[0], np.cumsum(end - start)])[:-1].astype(np.int64)  # body pieces before each window
        within = body - np.repeat(gone, end - start)
        filled[within + np.repeat(starts[:-1] + len(prefix), end - start)] = pieces[
            within + np.repeat(start, end - start)
        ]
        for index, piece in enumerate(prefix):
            filled[starts[:-1] + index] = piece
        for index, piece in enumerate(suffix):
            filled[starts[1:] - len(suffix) + index] = piece
        return filled, starts


def identities(texts: Sequence[Text], word_starts: Ints | None = None) -> tuple[list[str], Ints, Ints, Ints]:
    """Of each word of the texts: the word, its sentence, its place in the sentence, its text."""
    flat = [sentence for text in texts for sentence in text.sentences]
    strings = list(chain.from_iterable(sentence.words for sentence in flat))
    sizes = np.fromiter((len(sentence.words) for sentence in flat), dtype=np.int64, count=len(flat))
    names = np.fromiter((sentence.identity for sentence in flat), dtype=np.int64, count=len(flat))
    before = np.cumsum(sizes) - sizes
    positions = np.arange(len(strings), dtype=np.int64) - np.repeat(before, sizes)
    text_ids = np.fromiter((text.identity for text in texts), dtype=np.int64, count=len(texts))
    if word_starts is None:
        counts = np.fromiter((sum(len(s.words) for s in text.sentences) for text in texts), np.int64, len(texts))
    else:
        counts = np.diff(word_starts)
    return strings, np.repeat(names, sizes), positions, np.repeat(text_ids, counts)


def pieces_of_words(alignment: Alignment, sentence: Ints) -> tuple[Ints, Ints, Ints]:
    """Every piece that belongs to a word, once: its first word, its index, its place in the sentence.

    `sentence` numbers the words' sentences, (words,).
    """
    counts = alignment.counts
    owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    before = np.cumsum(counts) - counts
    piece = np.arange(len(owner), dtype=np.int64) - np.repeat(before - alignment.first, counts)
    piece, once = np.unique(piece, return_index=True)  # the first of two owners
    owner = owner[once]
    own = sentence[owner]
    turn = np.flatnonzero(np.append(True, own[1:] != own[:-1])) if len(own) else np.zeros(0, dtype=np.int64)
    length = np.diff(np.append(turn, len(own)))
    return owner, piece, np.arange(len(own), dtype=np.int64) - np.repeat(turn, length)


def _read_targets(targets: str | Collection[str] | None) -> tuple[str | None, frozenset[str] | None]:
    if isinstance(targets, str):
        if not targets.startswith(LABEL) or targets == LABEL:
            raise UsageError(
                f'--targets must be a list of words or "label:" and a layer of annotation; '
                f"got {targets!r}: give [{targets!r}] for the word.",
                code="wrong_type",
                parameter="targets",
            )
        return targets[len(LABEL) :], None
    if targets is not None and not targets:
        raise UsageError(
            "--targets must name at least one word; got none: leave it out for all words.",
            code="required",
            parameter="targets",
        )
    return None, None if targets is None else frozenset(targets)
