"""Words to character ids: the published scheme, and texts as runs of characters."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders.spelling import NOTHING, Speller, lay_out, spell, spell_out


def test_the_published_ids() -> None:
    """As ELMo's own batcher spells them, plus one."""
    ids = spell(["One", "é", "", "<S>", "</S>"], longest=8).tolist()
    assert ids == [
        [259, 80, 111, 102, 260, 261, 261, 261],
        [259, 196, 170, 260, 261, 261, 261, 261],
        [259, 260, 261, 261, 261, 261, 261, 261],
        [259, 257, 260, 261, 261, 261, 261, 261],
        [259, 258, 260, 261, 261, 261, 261, 261],
    ]


def test_long_words_are_cut_and_lone_surrogates_spelt() -> None:
    assert spell(["abcdefgh"], longest=6).tolist() == [[259, 98, 99, 100, 101, 260]]
    assert spell(["\ud800"], longest=6).tolist() == [[259, ord("?") + 1, 260, 261, 261, 261]]


def test_room_keeps_what_is_needed() -> None:
    words = ["a", "word", "</S>"]
    whole, narrow = spell(words), spell(words, room=3)
    assert narrow.shape == (3, 4 + 2 + 3)
    np.testing.assert_array_equal(whole[:, :9], narrow)
    assert (whole[:, 9:] == NOTHING).all()
    assert spell(["w" * 60], room=3).shape == (1, 50)
    assert spell([], room=3).shape == (0, 3)


def written(pieces: list[int]) -> str:
    """Pieces for the eye."""
    marks = {257: "<S>", 258: "</S>", 259: "[", 260: "]"}
    return "".join(marks.get(piece) or chr(piece - 1) for piece in pieces)


def texts() -> list[Text]:
    lines = [["A b", "c"], ["dd"], ["e", "", "f g"]]
    return [
        Text(tuple(Sentence(tuple(line.split()), document=d, index=i) for i, line in enumerate(text)))
        for d, text in enumerate(lines)
    ]


def test_texts_as_runs_of_characters() -> None:
    speller = pickle.loads(pickle.dumps(Speller()))
    found = speller(texts())
    runs = [found.pieces[a:b].tolist() for a, b in zip(found.piece_starts[:-1], found.piece_starts[1:], strict=True)]
    turn = "[</S>][<S>]"
    assert [*map(written, runs)] == [f"[A][b]{turn}[c]", "[dd]", f"[e]{turn}{turn}[f][g]"]
    words = [written(found.pieces[a:b].tolist()) for a, b in zip(found.first, found.end, strict=True)]
    assert words == ["[A]", "[b]", "[c]", "[dd]", "[e]", "[f]", "[g]"]
    assert found.word_starts.tolist() == [0, 3, 4, 7]
    np.testing.assert_array_equal(found.lead, found.first)
    assert written([*speller.prefix, *speller.suffix]) == "[<S>][</S>]"


def test_no_texts() -> None:
    found = Speller()([])
    assert len(found.pieces) == 0
    assert found.piece_starts.tolist() == found.word_starts.tolist() == [0]


def test_lower_case_is_for_the_letters_alone() -> None:
    assert written(Speller(lowercase=True)(texts()).pieces.tolist()).startswith("[a][b][</S>]")


def test_a_boundary_written_in_the_text_is_a_word() -> None:
    found = Speller()([Text((Sentence(("<S>",)),))])
    assert written(found.pieces.tolist()) == "[<S>]"
    assert len(found.pieces) == 5  # letters, not the mark


@pytest.mark.parametrize("room", [None, 2])
def test_laid_out_as_spelt(room: int | None) -> None:
    words = ["one", "", "three", "vier\u00fc"]
    ids, starts = spell_out(words, longest=9)
    np.testing.assert_array_equal(
        lay_out(ids, starts[:-1], starts[1:], longest=9, room=room), spell(words, longest=9, room=room)
    )
