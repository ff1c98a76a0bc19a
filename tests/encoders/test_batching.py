"""Putting prepared chunks together, taking texts out of them, cutting them into batches."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import raises
from tiny_models import odd_texts, story, text, tokenizer

from limbeck.encoders.alignment import Aligner
from limbeck.encoders.batching import batches, concatenate, select, text_starts
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Prepared
from limbeck.errors import UsageError


def rows(batch: Prepared) -> list[tuple[object, ...]]:
    """All that is known of each unit, its whole window included."""
    found = []
    for unit, window in enumerate(batch.unit_window.tolist()):
        seen = tuple(batch.pieces[batch.window_starts[window] : batch.window_starts[window + 1]].tolist())
        found.append(
            (batch.strings[unit], int(batch.sentences[unit]), int(batch.positions[unit]), int(batch.texts[unit]),
             int(batch.unit_first[unit]), int(batch.unit_count[unit]), seen)
        )  # fmt: skip
    return found


@pytest.fixture(scope="module", params=[None, 2])
def preparer(request: pytest.FixtureRequest) -> PiecePreparer:
    return PiecePreparer(Aligner(tokenizer("wordpiece uncased")), capacity=12, context=request.param)


def test_chunks_put_together_are_the_whole(preparer: PiecePreparer) -> None:
    texts = [*story(), *odd_texts()]
    whole = preparer(texts)
    parts = [preparer(texts[i : i + 3]) for i in range(0, len(texts), 3)]
    together = concatenate([*parts, preparer([])])
    assert rows(together) == rows(whole)
    assert together.dropped == whole.dropped
    assert np.array_equal(together.window_starts, whole.window_starts)


def test_selected_texts(preparer: PiecePreparer) -> None:
    texts = story()
    whole = preparer(texts)
    starts = text_starts(whole)
    assert len(starts) - 1 == len(texts)
    chosen = [4, 0, 2]
    want = [row for index in chosen for row in rows(whole)[starts[index] : starts[index + 1]]]
    assert rows(select(whole, chosen)) == want
    assert rows(select(whole, np.arange(len(texts)))) == rows(whole)
    assert rows(select(whole, [])) == []


@pytest.mark.parametrize("budget", [1, 40, 100, 10**6])
def test_batches_hold_every_text_once_and_whole(preparer: PiecePreparer, budget: int) -> None:
    whole = preparer([*story(), *odd_texts()])
    made = list(batches(whole, batch_tokens=budget))
    assert sorted(row for batch in made for row in rows(batch)) == sorted(rows(whole))
    texts = [set(batch.texts.tolist()) for batch in made]
    assert sum(map(len, texts)) == len(set(whole.texts.tolist()))
    widths = []
    for batch in made:
        lengths = np.diff(batch.window_starts)
        widths.append(lengths.max())
        assert lengths.max() * len(lengths) <= budget or len(set(batch.texts.tolist())) == 1
        assert set(batch.unit_window.tolist()) == set(range(len(lengths)))
        come = {text: place for place, text in enumerate(dict.fromkeys(whole.texts.tolist()))}
        assert (np.diff([come[text] for text in batch.texts.tolist()]) >= 0).all()  # in the order they came
    assert widths == sorted(widths, reverse=True)
    if budget == 10**6:
        assert len(made) == 1
    again = list(batches(whole, batch_tokens=budget, rng=np.random.default_rng(1)))
    assert sorted(map(rows, again)) == sorted(map(rows, made))


def test_batches_of_nothing(preparer: PiecePreparer) -> None:
    assert list(batches(preparer([]), batch_tokens=10)) == []
    assert len(concatenate([preparer([]), preparer([text("the")])])) == 1
    with raises(UsageError, code="empty"):
        concatenate([])
