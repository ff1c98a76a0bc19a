"""Prepared texts: which units there are, where they are read, and what was dropped and why."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from refusals import raises
from tiny_models import TOKENIZERS, VANISHING, backend, odd_texts, story, text, tokenizer

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.preparer import FIRST_POSITION, NO_PIECES, TOO_LONG, PiecePreparer
from limbeck.encoders.protocol import Prepared
from limbeck.errors import UsageError


def prepare(kind: str, texts: list[Text] | tuple[Text, ...], *, capacity: int = 60, **settings: Any) -> Prepared:
    return PiecePreparer(Aligner(tokenizer(kind)), capacity=capacity, **settings)(texts)


def pieces_of(batch: Prepared, unit: int) -> list[int]:
    at = int(batch.window_starts[batch.unit_window[unit]] + batch.unit_first[unit])
    return batch.pieces[at : at + int(batch.unit_count[unit])].tolist()


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("units", ["words", "pieces"])
@pytest.mark.parametrize("causal", [False, True])
def test_every_unit_once_or_counted(kind: str, units: str, causal: bool) -> None:
    texts = [*story(), *odd_texts()]
    aligner = Aligner(tokenizer(kind))
    for capacity in (200, 9):
        batch = PiecePreparer(aligner, capacity=capacity, units=units, causal=causal)(texts)
        specials = len(aligner.prefix) + len(aligner.suffix)
        assert np.diff(batch.window_starts).max() <= capacity + specials
        if units == "words":
            words = [word for one in texts for word in one.words]
            assert len(batch) + sum(batch.dropped.values()) == len(words)
            for unit in range(len(batch)):
                sentence = next(s for one in texts for s in one.sentences if s.identity == batch.sentences[unit]
                                and one.identity == batch.texts[unit] and batch.positions[unit] < len(s.words)
                                and s.words[batch.positions[unit]] == batch.strings[unit])  # fmt: skip
                assert sentence
        else:
            assert (batch.unit_count == 1).all()
            assert [backend(kind).id_to_token(pieces_of(batch, unit)[0]) for unit in range(len(batch))] == batch.strings
        for low, high in zip(batch.window_starts[:-1], batch.window_starts[1:], strict=True):
            window = batch.pieces[low:high].tolist()
            assert tuple(window[: len(aligner.prefix)]) == aligner.prefix
            assert tuple(window[len(window) - len(aligner.suffix) :]) == aligner.suffix
        length = np.diff(batch.window_starts)[batch.unit_window]
        assert (batch.unit_first >= len(aligner.prefix)).all()  # a special token is never a unit
        assert (batch.unit_first + batch.unit_count <= length - len(aligner.suffix)).all()
        assert set(batch.unit_window.tolist()) == set(range(len(batch.window_starts) - 1))
        if causal and not aligner.prefix:
            assert batch.unit_first.min() > 0
            assert batch.dropped[FIRST_POSITION] > 0
        else:
            assert FIRST_POSITION not in batch.dropped


def test_dropped_words_have_reasons() -> None:
    batch = prepare("wordpiece uncased", [text(["the", *VANISHING, "river", "r" * 20, "in"])], capacity=8)
    assert batch.strings == ["the", "river", "in"]
    assert batch.positions.tolist() == [0, 3, 5]
    assert batch.dropped == {NO_PIECES: 2, TOO_LONG: 1}


def test_units_of_pieces() -> None:
    batch = prepare(
        "wordpiece uncased", [text(["unbelievable", *VANISHING, "river"]), text("in", index=1)], units="pieces"
    )
    whole = backend("wordpiece uncased").encode("unbelievable river", add_special_tokens=False).tokens
    assert batch.strings[:-1] == whole
    assert any(piece.startswith("##") for piece in whole)
    assert batch.positions.tolist()[: len(whole)] == list(range(len(whole)))
    assert batch.positions.tolist()[-1] == 0
    assert batch.dropped == {NO_PIECES: 2}


def test_a_piece_shared_by_two_words_is_one_unit() -> None:
    aligner = Aligner(tokenizer("wordpiece cased"))
    whole = text(["didn't"])
    parted = text(["d", "i", "dn't"], glued={0, 1})
    batches = [PiecePreparer(aligner, capacity=20, units="pieces")([one]) for one in (whole, parted)]
    assert batches[0].strings == batches[1].strings


@pytest.mark.parametrize(("kind", "dropped"), [("byte-level", 1), ("byte-level roberta", 0), ("llama", 0)])
def test_the_first_position_of_a_decoder(kind: str, dropped: int) -> None:
    one = text("the river in the cellar")
    assert len(prepare(kind, [one], causal=True)) == 5 - dropped
    assert len(prepare(kind, [one], causal=True, keep_first=True)) == 5
    assert len(prepare(kind, [one], causal=False)) == 5
    alone = prepare(kind, [text("the"), one], causal=True)
    assert len(alone.window_starts) - 1 == 2 - dropped  # nothing is read off the first text's window


def test_a_long_text_and_its_neighbours() -> None:
    words = [word for one in story() for word in one.words] * 30
    texts = [text("the river"), text(words[:3000], index=1), text("in the cellar", index=2)]
    for causal in (False, True):
        batch = prepare("byte-level", texts, capacity=64, causal=causal, keep_first=True)
        assert batch.strings == ["the", "river", *words[:3000], "in", "the", "cellar"]
        assert not batch.dropped
        assert np.diff(batch.window_starts).max() <= 64
        inside = (batch.texts == texts[1].identity).nonzero()[0][200:2800]
        left = batch.unit_first[inside]
        right = np.diff(batch.window_starts)[batch.unit_window[inside]] - left - batch.unit_count[inside]
        # at least a quarter window to each side, or half a window to the left, but for a word's length
        assert (left if causal else np.minimum(left, right)).min() > (32 if causal else 16) - 8
        assert np.array_equal(batch.positions[2:3002], np.arange(3000))


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("k", [0, 1, 2])
def test_context_is_the_cut_text(kind: str, k: int) -> None:
    """A window of k words to each side holds the pieces that the cut text has."""
    one = text("Something in the unbelievable river naïve 中文 the cellar")
    whole = prepare(kind, [one], context=k)
    assert len(whole) == 9
    for unit in range(9):
        low, high = max(unit - k, 0), min(unit + k, 8)
        cut = prepare(kind, [text(list(one.words[low : high + 1]))])
        window = int(whole.unit_window[unit])
        mine = whole.pieces[whole.window_starts[window] : whole.window_starts[window + 1]]
        assert mine.tolist() == cut.pieces.tolist()
        assert whole.unit_first[unit] == cut.unit_first[unit - low]


def test_targets_by_name_and_by_label() -> None:
    labels = {2: {"sense": "river%1"}, 4: {"pos": "NN"}}
    one = Text((Sentence(tuple("in the river the cellar".split()), labels=labels), Sentence(("river",), index=1)))
    assert prepare("t5", [one], targets=["river", "cellar"], context=1).strings == ["river", "cellar", "river"]
    batch = prepare("t5", [one], targets="label:sense", context=1)
    assert (batch.strings, batch.positions.tolist()) == (["river"], [2])
    assert prepare("t5", [one], targets="label:pos").strings == ["cellar"]
    assert prepare("t5", [one], targets={"the"}).positions.tolist() == [1, 3]
    assert prepare("t5", [one], targets="label:none").strings == []
    assert not prepare("t5", [one], targets={"the"}).dropped


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"targets": "river"}, "wrong_type"),
        ({"targets": []}, "required"),
        ({"units": "word"}, "unknown_choice"),
        ({"context": -1}, "out_of_range"),
        ({"capacity": 0}, "out_of_range"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], code: str) -> None:
    with raises(UsageError, code=code, parameter=None):
        prepare("t5", [text("a")], **settings)


def test_it_travels() -> None:
    preparer = PiecePreparer(Aligner(tokenizer("byte-level roberta")), capacity=10, targets=["the", "river"])
    here, there = preparer(story()), pickle.loads(pickle.dumps(preparer))(story())
    assert here.strings == there.strings
    for field in ("pieces", "window_starts", "unit_window", "unit_first", "unit_count", "sentences", "positions"):
        assert np.array_equal(getattr(here, field), getattr(there, field))


def test_nothing_gives_nothing() -> None:
    for texts in ([], [Text(())], [text(VANISHING)]):
        batch = prepare("wordpiece uncased", texts)
        assert len(batch) == 0
        assert batch.window_starts.tolist() == [0]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_special_tokens_as_pieces_are_what_the_tokeniser_puts_around_a_text(kind: str) -> None:
    texts = [one for one in story() if one.words][:5]
    batch = prepare(kind, texts, capacity=500, units="pieces", special=True)
    bare = prepare(kind, texts, capacity=500, units="pieces")
    with_all, without = (tokenizer(kind)("a", add_special_tokens=told)["input_ids"] for told in (True, False))
    place = with_all.index(without[0])
    before, after = with_all[:place], with_all[place + len(without) :]
    for one in texts:
        rows, own = (np.flatnonzero(made.texts == one.identity) for made in (batch, bare))
        found = [pieces_of(batch, row)[0] for row in rows]
        assert found == before + [pieces_of(bare, row)[0] for row in own] + after
    identities = set(zip(batch.sentences.tolist(), batch.positions.tolist(), strict=True))
    assert len(identities) == len(batch)


def test_special_tokens_of_a_long_text_come_once() -> None:
    long = text("the quick brown fox jumps over the lazy dog".split() * 4)
    aligner = Aligner(tokenizer("wordpiece cased"))
    batch = PiecePreparer(aligner, capacity=6, units="pieces", special=True)([long])
    bare = PiecePreparer(aligner, capacity=6, units="pieces")([long])
    assert len(np.unique(batch.unit_window)) > 2
    assert batch.strings[1:-1] == list(bare.strings)
    assert (batch.strings[0], batch.strings[-1]) == ("[CLS]", "[SEP]")
    assert (batch.unit_window[0], batch.unit_window[-1]) == (bare.unit_window[0], bare.unit_window[-1])


@pytest.mark.parametrize("settings", [{"units": "words"}, {"units": "pieces", "context": 2}])
def test_special_tokens_need_all_pieces(settings: dict[str, Any]) -> None:
    with raises(UsageError, code="exclusive", parameter="special"):
        prepare("wordpiece cased", [text("a b")], special=True, **settings)
