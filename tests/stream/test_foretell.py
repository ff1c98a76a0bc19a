"""What a dry run foretells: by an encoder whose price is known, and a clock that moves only when it works."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import DIM, LAYERS, OwnEncoder, sentences

from limbeck.corpus import Corpus
from limbeck.corpus.units import Sentence
from limbeck.encoders.protocol import Prepared
from limbeck.stream import Choice, TextSource, foretell
from limbeck.stream.foretell import Class, look_ahead, padded, part_of, ready, seconds_a_pass, seconds_of, uncertainty


class Priced(OwnEncoder):
    """Costs 2 ms a piece with its padding, and 0.1 ms for each pair of pieces of a window; windows of 100 words."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.pieces = 0
        own = self.prepare

        def windowed(texts: Any) -> Prepared:
            batch = own(texts)
            return in_windows(batch, 100)

        self.prepare = windowed  # type: ignore[assignment]

    def clock(self) -> float:
        return self.now

    def price(self, batch: Prepared) -> float:
        lengths = np.diff(batch.window_starts)
        longest = int(lengths.max(initial=0))
        return 2e-3 * longest * len(lengths) + 1e-4 * longest**2 * len(lengths)

    def forward(self, batch: Prepared) -> Any:
        import torch

        self.now += self.price(batch)
        self.pieces += len(batch.pieces)
        return torch.ones(LAYERS, len(batch.unit_count), DIM)


def in_windows(batch: Prepared, most: int) -> Prepared:
    """Each text cut into windows of at most so many pieces, of which each is a word."""
    from dataclasses import replace

    starts: list[int] = [0]
    windows = np.zeros(len(batch.unit_count), dtype=np.int64)
    firsts = np.zeros_like(windows)
    at = 0
    for size in np.diff(batch.window_starts).tolist():
        for begin in range(0, size, most):
            end = min(begin + most, size)
            windows[at + begin : at + end] = len(starts) - 1
            firsts[at + begin : at + end] = np.arange(end - begin)
            starts.append(starts[-1] + end - begin)
        at += size
    return replace(batch, window_starts=np.array(starts), unit_window=windows, unit_first=firsts)


def source_of(made: list[Any], encoder: OwnEncoder) -> TextSource:
    return TextSource(Corpus.from_sentences(made), encoder, batch_tokens=400)


def whole_price(source: TextSource, encoder: Priced) -> float:
    plan = look_ahead(source, choice=Choice(min_contexts=1), most=10**9).plan
    return sum(encoder.price(item.batch) for _, item in ready(source, plan))


@pytest.mark.parametrize("most", [4, 30, 250])
def test_a_pass_takes_what_its_batches_cost(most: int) -> None:
    """Tried are only some batches, and of these parts; long texts are dearer for each piece than short ones."""
    encoder = Priced()
    source = source_of(sentences(1_000, documents=40, most=most), encoder)
    wanted = whole_price(source, encoder)
    ahead = look_ahead(source, choice=Choice(min_contexts=1), clock=encoder.clock)
    found = seconds_a_pass(ahead, seconds=1.5, clock=encoder.clock)
    assert found == pytest.approx(wanted, rel=0.15)
    assert encoder.now < min(15.0, wanted)


def test_calls_that_cost_by_themselves_are_shared_by_whole_batches() -> None:
    """Tried are parts of batches, in which a piece has more of a call's own price."""

    class Called(Priced):
        def price(self, batch: Any) -> float:
            return 0.05 * super().price(batch) + 0.15

    encoder = Called()
    source = TextSource(Corpus.from_sentences(sentences(3_000, documents=40, most=4)), encoder, batch_tokens=4_000)
    wanted = whole_price(source, encoder)
    ahead = look_ahead(source, choice=Choice(min_contexts=1), clock=encoder.clock)
    assert seconds_a_pass(ahead, seconds=1.5, clock=encoder.clock) == pytest.approx(wanted, rel=0.25)


def test_what_is_done_with_batches_counts() -> None:
    encoder = Priced()
    source = source_of(sentences(500, documents=40), encoder)
    ahead = look_ahead(source, choice=Choice(min_contexts=1))

    def consume(batch: Any) -> None:
        encoder.now += 0.01 * len(batch)

    alone = seconds_a_pass(ahead, clock=encoder.clock)
    more = seconds_a_pass(ahead, consume=consume, clock=encoder.clock)
    assert more - alone == pytest.approx(0.01 * ahead.plan.units, rel=0.25)


def test_one_text_of_any_length_is_tried_in_part() -> None:
    """Before, it was one batch that was tried whole: the dry run was the run."""
    encoder = Priced()
    words = tuple(f"w{number % 97}" for number in range(30_000))
    source = source_of([Sentence(words)], encoder)
    wanted = whole_price(source, encoder)
    ahead = look_ahead(source, choice=Choice(min_contexts=1))
    assert seconds_a_pass(ahead, clock=encoder.clock) == pytest.approx(wanted, rel=0.05)
    assert encoder.pieces < 3_000


@pytest.mark.parametrize("dear", [1.0, 30.0])
def test_trying_ends_with_its_time_whatever_a_piece_costs(dear: float) -> None:
    """Before, each class was tried once however long that took."""

    class Dear(Priced):
        dearest = 0.0

        def price(self, batch: Any) -> float:
            price = dear * super().price(batch)
            self.dearest = max(self.dearest, price)
            return price

    encoder = Dear()
    ahead = look_ahead(source_of(sentences(1_000, documents=40, most=250), encoder), choice=Choice(min_contexts=1))
    encoder.dearest = 0.0
    seconds_a_pass(ahead, seconds=1.0, clock=encoder.clock)
    # the first that warms up and the one that tells the price, or the last one, end after the time
    assert encoder.now <= 1.0 + 2 * encoder.dearest


def test_trying_ends_when_the_price_is_certain() -> None:
    class Cheap(Priced):
        def price(self, batch: Any) -> float:
            return 1e-6 * padded(batch)

    encoder = Cheap()
    ahead = look_ahead(source_of(sentences(1_000, documents=40, most=30), encoder), choice=Choice(min_contexts=1))
    seconds_a_pass(ahead, seconds=1.0, clock=encoder.clock)
    assert encoder.pieces < 20_000  # a whole second would read a million


def test_a_price_is_certain_when_tries_of_every_class_agree() -> None:
    same = Class(100, [], [(10, 1.0), (20, 2.0), (10, 1.0)])
    spread = Class(300, [], [(10, 0.9), (10, 1.0), (10, 1.1)])
    assert uncertainty([same]) == pytest.approx(0, abs=1e-12)
    # the spread class makes up three quarters, and its price has a standard error of 0.1 / sqrt(3)
    assert uncertainty([same, spread]) == pytest.approx(0.75 * 0.1 / 3**0.5)
    assert uncertainty([same, Class(1, [], [(10, 1.0), (10, 1.0)])]) == float("inf")


def test_making_text_ready_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tokenizer that takes ten seconds for a shard is asked for one of three; what it takes is told nonetheless."""

    class Slow(Priced):
        asked = 0

        def price(self, batch: Any) -> float:
            return 0.0

    encoder = Slow()
    own = encoder.prepare

    def prepare(texts: Any) -> Prepared:
        encoder.now += 1e-4 * sum(len(text.words) for text in texts)
        encoder.asked += sum(len(text.words) for text in texts)
        return own(texts)

    encoder.prepare = prepare  # type: ignore[assignment]
    monkeypatch.setattr(foretell, "SHARD_UNITS", 5_000)
    ahead = look_ahead(source_of(sentences(8_000, documents=40), encoder), choice=Choice(min_contexts=1))
    assert len(ahead.some.shards) > 3
    encoder.now, encoder.asked = 0.0, 0
    found = seconds_a_pass(ahead, clock=encoder.clock)
    units = [shard.units for shard in ahead.some.shards]
    assert encoder.asked < units[0] + units[-1], (units, encoder.asked)
    assert found == pytest.approx(1e-4 * ahead.plan.units, rel=0.1)


def test_part_of_a_batch_is_its_first_windows() -> None:
    encoder = Priced()
    source = source_of([Sentence(tuple(f"w{number}" for number in range(1_050)))], encoder)
    ((distinct, item),) = ready(source, look_ahead(source, choice=Choice(min_contexts=1)).plan)
    some = part_of(item, 256)
    assert padded(item.batch) == 1_100
    assert padded(some.batch) == 200
    assert some.named(distinct).strings[:] == [f"w{number}" for number in range(200)]
    assert len(some.words) == len(some.occurrences) == 200
    assert part_of(item, 5_000) is item


def test_each_class_has_its_own_price_and_an_untried_one_the_mean() -> None:
    classes = [Class(1_000, [], [(100, 1.0)]), Class(500, [], [(30, 1.5), (20, 0.5)]), Class(300, [])]
    assert seconds_of(classes) == pytest.approx(10 + 20 + 300 * 3 / 150)
    assert seconds_of([]) == 0


@pytest.mark.parametrize("packed", [False, True])
def test_of_a_large_text_some_is_read_and_the_rest_estimated(tmp_path: Path, packed: bool) -> None:
    rng = np.random.default_rng(0)
    for name in range(3):
        lines = [" ".join(f"word{rng.integers(400)}" for _ in range(rng.integers(3, 20))) for _ in range(4_000)]
        text = ("\n".join(line if number % 50 else f"\n{line}" for number, line in enumerate(lines)) + "\n").encode()
        path = tmp_path / f"{name}.txt"
        if packed:
            path = path.with_suffix(".txt.gz")
            path.write_bytes(gzip.compress(text))
        else:
            path.write_bytes(text)
    source = TextSource(Corpus(tmp_path, format="words"), OwnEncoder())
    whole = look_ahead(TextSource(Corpus(tmp_path, format="words"), OwnEncoder()), choice=Choice(), most=10**9)
    some = look_ahead(source, choice=Choice(), most=20_000)
    assert (whole.share, whole.note) == (1, "")
    assert some.share < 0.3
    assert f"{some.share:.1%}" in some.note
    for name in ("units", "texts", "sentences"):
        assert getattr(some.plan, name) == pytest.approx(getattr(whole.plan, name), rel=0.1)
    assert len(some.plan.vocabulary) == len(whole.plan.vocabulary) == 400
    assert some.plan.vocabulary.counts.sum() == pytest.approx(whole.plan.vocabulary.counts.sum(), rel=0.1)
    assert some.some.units < 0.3 * whole.plan.units
