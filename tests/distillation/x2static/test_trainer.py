"""Training as a whole: against loops over words in the paper's order, and the same whatever was stopped or batched."""

from __future__ import annotations

import math
import signal
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made import OwnEncoder, contextual, sentences
from refusals import raises

from limbeck.corpus import Corpus
from limbeck.corpus.units import Sentence, texts_of
from limbeck.distillation.methods import Trained
from limbeck.distillation.x2static import Regression, Sent2Vec, Trainer, Training, X2Static, train, word_source
from limbeck.distillation.x2static.adam import Rows, StepRuns
from limbeck.distillation.x2static.objectives import Contrast
from limbeck.distillation.x2static.training import STATE
from limbeck.encoders import FunctionEncoder
from limbeck.encoders.function import TextPreparer
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.seeds import hash_ids, hash_occurrences, seed_of
from limbeck.stream import Choice, Plan, TextSource, run_pass, survey
from limbeck.stream.context import RunContext

MADE = sentences(110, documents=8)
SMALL: dict[str, Any] = {"batch_texts": 10, "learning_rate": 0.01}
COUNTS = np.array([9, 7, 5, 3, 1])
X2 = X2Static(subsample=0.05, negatives=4, **SMALL)


def source_of(
    made: Sequence[Sentence] = MADE, *, unit: Any = "sentence", batch: int = 60, encoder: Any = None
) -> TextSource:
    return TextSource(Corpus.from_sentences(made), encoder or OwnEncoder(), unit, batch)


def index_of(source: TextSource, **options: Any) -> Plan:
    return survey(source, choice=Choice(min_contexts=3), **{"context": RunContext(shard_units=100)} | options)


def texts_by_shard(source: TextSource, plan: Plan, unit: Any) -> list[list[Any]]:
    gone = set(plan.duplicates.tolist())
    every = [
        [text for text in texts_of([s for s in MADE if s.document == d], unit) if text.identity not in gone]
        for d in range(8)
    ]
    return [[t for d in range(shard.start, shard.stop) for t in every[d]] for shard in plan.shards]


def in_loops(plan: Plan, settings: X2Static, unit: str, shards: list[list[Any]]) -> np.ndarray:
    """The algorithm of the paper, one word after the other, in Python floats and dicts."""
    counts = plan.vocabulary.counts
    known = {word: number for number, word in enumerate(plan.vocabulary.words)}
    weights = np.sqrt(counts)
    edges = np.cumsum(weights) / weights.sum()
    dim = len(contextual(shards[0][:1])[0][0, 0])
    start = Trainer(counts, dim, settings, shard_units=np.array([1]), dtype=torch.float64)
    u = start.tables["vectors"].values[:-1].numpy().copy()
    first, second = np.zeros_like(u), np.zeros_like(u)
    step = 0

    def fraction(value: Any) -> float:
        return (int(value) >> 11) / 2**53

    for texts in shards:
        texts = sorted(texts, key=lambda t: int(hash_ids(np.array([t.identity]), salt=seed_of(0, "order", 0))[0]))
        steps = max(1, round(len(texts) / settings.batch_texts))
        for number in range(steps):
            batch = texts[number * len(texts) // steps : (number + 1) * len(texts) // steps]
            pairs = []
            for text in batch:
                vectors = contextual([text])[0][-1]
                row = 0
                for sentence in text.sentences:
                    own = vectors[row : row + len(sentence.words)]
                    row += len(sentence.words)
                    context = sum(own) / len(own)
                    for place, word in enumerate(sentence.words):
                        if word not in known:
                            continue
                        w = known[word]
                        key = hash_occurrences(np.array([sentence.identity]), np.array([place]))
                        share = settings.subsample / (counts[w] / counts.sum())
                        keep = min(1.0, math.sqrt(share) + share)
                        if fraction(hash_ids(key, salt=seed_of(0, "targets", 0))[0]) >= keep:
                            continue
                        salted = hash_ids(key, salt=seed_of(0, "negatives", 0))
                        drawn = []
                        for j in range(settings.negatives):
                            at = fraction(hash_ids(salted + np.uint64(j))[0])
                            drawn.append(next(i for i, edge in enumerate(edges) if at < edge))
                        pairs.append((w, drawn, context))
            if not pairs:
                continue
            gradient: dict[int, np.ndarray] = {}
            for w, drawn, context in pairs:
                signed = [(w, 1.0)] + [(n, -1.0) for n in drawn if not (settings.distinct and n == w)]
                for row_id, sign in signed:
                    slope = -sign / (1 + math.exp(sign * float(u[row_id] @ context)))
                    gradient[row_id] = gradient.get(row_id, 0) + slope * context / len(pairs)
            step += 1
            for row_id, g in gradient.items():
                first[row_id] = 0.9 * first[row_id] + 0.1 * g
                second[row_id] = 0.999 * second[row_id] + 0.001 * g * g
                scale = settings.learning_rate * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                u[row_id] -= scale * first[row_id] / (np.sqrt(second[row_id]) + 1e-8)
    return u


@pytest.mark.parametrize("unit", ["sentence", "paragraph"])
@pytest.mark.parametrize("distinct", [True, False])
def test_the_matrix_is_that_of_the_papers_loops(unit: str, distinct: bool) -> None:
    settings = X2.with_changes(distinct=distinct)
    source = source_of(unit=unit)
    plan = index_of(source)
    trainer = Trainer(
        plan.vocabulary.counts,
        source.dim,
        settings,
        shard_units=np.array([shard.units for shard in plan.shards]),
        layer=len(source.layers) - 1,
        paragraphs=unit == "paragraph",
        dtype=torch.float64,
    )
    run_pass(source, [], plan=plan, consumers=[trainer])
    shards = texts_by_shard(source, plan, unit)
    assert len(shards) > 3
    expected = in_loops(plan, settings, unit, shards)
    found = trainer.tables["vectors"].values[:-1].numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)  # contexts are kept in float32
    start = Trainer(plan.vocabulary.counts, source.dim, settings, shard_units=np.array([1]), dtype=torch.float64)
    assert np.abs(expected - start.tables["vectors"].values[:-1].numpy()).max() > 0.03
    if distinct:  # the difference would be seen
        other = in_loops(plan, settings.with_changes(distinct=False), unit, shards)
        assert np.abs(other - expected).max() > 1e-4


SETTINGS: list[Training] = [
    X2.with_changes(schedule="linear", moments="bfloat16"),
    X2.with_changes(context="others"),
    Regression(fit="cosine", pull=2.0, **SMALL),
    Sent2Vec(epochs=1, subsample=0.05, negatives=3, dim=6, **SMALL),
]


def go(
    settings: Training, checkpoint: Path | None = None, encoder: Any = None, every: float = 60.0, **options: Any
) -> Trained:
    source = source_of(encoder=encoder, **options)
    if isinstance(settings, Sent2Vec) and encoder is None:
        source = word_source(source.corpus)
    return train(source, index_of(source), settings, RunContext(checkpoint=checkpoint, save_every=every))


often = partial(go, every=-1.0)  #: saves after every shard


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{type(s).__name__}-{s.moments}")
def test_batches_of_the_encoder_change_nothing(settings: Training) -> None:
    one, other = go(settings, batch=60), go(settings, batch=400)
    if isinstance(settings, Sent2Vec):
        other = train(source_of(batch=400), index_of(source_of()), settings)
    np.testing.assert_allclose(one.matrix, other.matrix, rtol=0, atol=1e-5)
    assert one.about["targets"] == other.about["targets"]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{type(s).__name__}-{s.moments}")
def test_a_stopped_training_goes_on_to_the_same_vectors(
    settings: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings.with_changes(epochs=2)
    whole = often(settings, encoder=OwnEncoder())
    plain = Trainer.train
    for stop in (0, 3, 7):
        calls = iter(range(10**6))

        def stopped(self: Trainer, number: int, shard: Any, stop: int = stop, calls: Any = calls) -> None:
            if next(calls) == stop:
                raise KeyboardInterrupt
            plain(self, number, shard)

        monkeypatch.setattr(Trainer, "train", stopped)
        folder = tmp_path / str(stop)
        try:
            often(settings, folder, OwnEncoder())
        except KeyboardInterrupt:
            assert (folder / STATE).exists() == (stop > 0)
        monkeypatch.setattr(Trainer, "train", plain)
        resumed = often(settings, folder, OwnEncoder())
        np.testing.assert_array_equal(resumed.matrix, whole.matrix)
        assert resumed.losses == whole.losses
        assert resumed.about["occurrences_seen"] == whole.about["occurrences_seen"]
        assert [path.name for path in folder.iterdir()] == [STATE]  # no contexts are left behind
        # finished is finished
        np.testing.assert_array_equal(often(settings, folder, OwnEncoder()).matrix, whole.matrix)


def test_ctrl_c_keeps_the_shards_that_are_done(tmp_path: Path) -> None:
    """Long before the first checkpoint is due; while the teacher reads, and while a shard is trained on."""
    settings = X2.with_changes(epochs=2)
    read: list[int] = []
    whole = go(settings, encoder=OwnEncoder(watch=read.append))

    def stop_at_8(number: int) -> None:
        if number == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(settings, tmp_path / "reading", OwnEncoder(watch=stop_at_8))
    again: list[int] = []
    resumed = go(settings, tmp_path / "reading", OwnEncoder(watch=again.append))
    assert 0 < len(again) < len(read) - 3
    np.testing.assert_array_equal(resumed.matrix, whole.matrix)
    assert resumed.losses == whole.losses

    plain, calls = Contrast.step, iter(range(10**6))

    def pressed(self: Contrast, place: int, rate: float) -> torch.Tensor:
        if next(calls) in (4, whole.about["steps"] - 3):  # one in each epoch
            signal.raise_signal(signal.SIGINT)
        return plain(self, place, rate)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Contrast, "step", pressed)
            for _ in range(2):
                with pytest.raises(KeyboardInterrupt):
                    go(settings, tmp_path / "training", OwnEncoder())
    finally:
        signal.signal(signal.SIGINT, before)
    resumed = go(settings, tmp_path / "training", OwnEncoder())
    np.testing.assert_array_equal(resumed.matrix, whole.matrix)
    assert resumed.losses == whole.losses


@pytest.mark.parametrize("stop", [None, 1, 8])
def test_what_had_no_vector_is_counted_once_whatever_was_stopped(stop: int | None, tmp_path: Path) -> None:
    def watch(number: int) -> None:
        if number == stop:
            raise KeyboardInterrupt

    def losing_one(texts: Any) -> Any:
        return replace(TextPreparer()(texts), dropped={"a word lost in every text": len(texts)})

    def losing(watch: Any = None) -> OwnEncoder:
        encoder = OwnEncoder(watch=watch)
        encoder.prepare = losing_one  # type: ignore[assignment]
        return encoder

    settings = X2.with_changes(epochs=2, context="others")  # reads the text in every epoch
    if stop is not None:
        with pytest.raises(KeyboardInterrupt):
            go(settings, tmp_path, losing(watch))
    source = source_of()
    texts = sum(map(len, texts_by_shard(source, index_of(source), "sentence")))
    assert go(settings, tmp_path, losing()).about["dropped"] == {"a word lost in every text": texts}


def test_a_resumed_training_that_forgot_the_moments_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = often(X2)
    encoder = OwnEncoder(watch=lambda number: (_ for _ in ()).throw(KeyboardInterrupt) if number == 8 else None)
    with pytest.raises(KeyboardInterrupt):
        often(X2, tmp_path, encoder)
    plain = Rows.restore

    def forgetful(self: Rows, state: Any, prefix: str = "") -> None:
        plain(self, state, prefix)
        self.first.zero_()

    monkeypatch.setattr(Rows, "restore", forgetful)
    assert np.abs(often(X2, tmp_path).matrix - whole.matrix).max() > 1e-4


def test_later_epochs_need_no_teacher(tmp_path: Path) -> None:
    read: list[int] = []
    settings = X2.with_changes(epochs=2)
    cached = go(settings, tmp_path, OwnEncoder(watch=read.append))
    once: list[int] = []
    go(X2, None, OwnEncoder(watch=once.append))
    assert len(read) == len(once)
    assert [row["epoch"] for row in cached.losses] == sorted(row["epoch"] for row in cached.losses)
    assert {row["epoch"] for row in cached.losses} == {1, 2}
    # contexts of one's own are made anew in every epoch
    read.clear()
    go(settings.with_changes(context="others"), None, OwnEncoder(watch=read.append))
    assert len(read) == 2 * len(once)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{type(s).__name__}-{s.moments}")
def test_runs_that_nobody_counts_train_the_same(settings: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an accelerator does, here."""
    settings = settings.with_changes(moments="float32")
    one = go(settings)
    for module in ("objectives", "static_context"):
        monkeypatch.setattr(f"limbeck.distillation.x2static.{module}.StepRuns", partial(StepRuns, counted=False))
    np.testing.assert_allclose(go(settings).matrix, one.matrix, rtol=0, atol=1e-6)


def test_contexts_that_are_gone_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = X2.with_changes(epochs=2)
    plain = Trainer.train
    monkeypatch.setattr(Trainer, "train", lambda self, *some: (_ for _ in ()).throw(KeyboardInterrupt)
                        if self.epoch else plain(self, *some))  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        often(settings, tmp_path)
    monkeypatch.setattr(Trainer, "train", plain)
    for path in (tmp_path / "contexts").iterdir():
        path.unlink()
    with raises(InputError, code="not_readable"):
        often(settings, tmp_path)


def test_another_teacher_or_setting_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    often(X2, tmp_path)
    with raises(InputError, code="other_run", parameter="existing"):
        often(X2.with_changes(negatives=5), tmp_path)
    with raises(InputError, code="other_run", parameter="existing"):
        often(Regression(**SMALL), tmp_path)


def test_no_room_is_told_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10, 10, 100))
    read: list[int] = []
    source = source_of(encoder=OwnEncoder(watch=read.append))
    with raises(LimbeckError, code="no_space", parameter="epochs", says="100"):
        train(source, index_of(source), X2.with_changes(epochs=2), RunContext(checkpoint=tmp_path))
    assert not read


def test_the_loss_falls() -> None:
    trained = go(X2.with_changes(epochs=6))
    by_epoch = [np.mean([r["loss"] for r in trained.losses if r["epoch"] == e]) for e in (1, 3, 6)]
    assert by_epoch[0] > by_epoch[1] > by_epoch[2]
    assert [row["step"] for row in trained.losses] == sorted({row["step"] for row in trained.losses})
    assert trained.losses[-1]["step"] == trained.about["steps"]
    assert sum(row["targets"] for row in trained.losses) == trained.about["targets"]


def test_the_linear_schedule_falls_to_nothing() -> None:
    rates = [row["learning_rate"] for row in go(X2.with_changes(epochs=3, schedule="linear")).losses]
    assert rates == sorted(rates, reverse=True)
    assert 0.0095 < rates[0] <= 0.01
    assert rates[-1] < 0.001


def test_given_vectors_begin_centered_and_short() -> None:
    given = np.random.default_rng(0).normal(3, 10, (len(COUNTS), 4))
    found = Trainer(COUNTS, 4, X2.with_changes(length=0.25), shard_units=np.array([1]), start=given).matrix()
    wanted = given - given.mean(axis=0)
    assert np.linalg.norm(found, axis=1).mean() == pytest.approx(0.25, rel=1e-5)
    np.testing.assert_allclose(found / found[0, 0], wanted / wanted[0, 0], rtol=1e-4)
    for settings in (X2.with_changes(length=0), Regression()):
        found = Trainer(COUNTS, 4, settings, shard_units=np.array([1]), start=given).matrix()
        np.testing.assert_allclose(found, given, rtol=1e-6)


def test_a_pull_keeps_rare_words_near_their_start() -> None:
    source = source_of()
    plan = index_of(source)
    start = np.random.default_rng(0).normal(size=(len(plan.vocabulary), source.dim))
    moved = {}
    for pull in (0.0, 50.0):
        settings = Regression(epochs=12, pull=pull, weight=0.0, **SMALL)
        moved[pull] = np.linalg.norm(train(source, plan, settings, start=start).matrix - start, axis=1)
    ratio = moved[50.0] / moved[0.0]
    counts = plan.vocabulary.counts
    order = np.argsort(counts)
    assert ratio[order[:5]].mean() < 0.6 * ratio[order[-3:]].mean()


def test_a_regression_finds_the_vectors_that_made_its_contexts() -> None:
    """Contexts that are means of some table: the table is the only one that fits."""
    generator = np.random.default_rng(1)
    table = {word: generator.normal(size=4) for word in {w for s in MADE for w in s.words}}
    encoder = FunctionEncoder(
        lambda texts: [np.stack([table.get(w, np.ones(4)) for w in t.words]) for t in texts], name="table"
    )
    source = source_of(encoder=encoder)
    plan = survey(source, choice=Choice(min_contexts=1), context=RunContext(shard_units=10_000))
    settings = Regression(epochs=250, weight=0.0, batch_texts=20, learning_rate=0.03, schedule="linear")
    found = train(source, plan, settings).matrix
    wanted = np.stack([table[word] for word in plan.vocabulary.words])
    assert np.abs(found - wanted).max() < 0.02


def test_what_cannot_be_is_told() -> None:
    with raises(UsageError, code="unknown_choice", parameter="setting", says="'negatives'"):
        X2.with_changes(negative=3)
    with raises(UsageError, code="unknown_choice", parameter="schedule", says="'linear'"):
        X2Static(schedule="liner")
    with raises(UsageError, code="exclusive", parameter="epochs"):
        X2Static(context="masked", epochs=2)
    source = source_of()
    with raises(UsageError, code="unknown_choice", parameter="layer"):
        train(source, index_of(source), X2.with_changes(layer="99"))
    with raises(UsageError, code="unsupported", parameter="context"):
        train(source, index_of(source), X2.with_changes(context="pieces"))
    with raises(LimbeckError, code="wrong_shape", parameter="start"):
        train(source, index_of(source), X2, start=np.zeros((2, 2)))
    with raises(LimbeckError, code="not_finite", parameter="learning_rate"):
        train(source, index_of(source), Regression(learning_rate=1e30, epochs=5))


def test_a_full_memory_is_told_with_the_settings_that_help(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*some: Any, **others: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rows, "fill", full)
        with raises(LimbeckError, code="no_memory"):
            go(X2)
    monkeypatch.setattr(Contrast, "step", full)
    with raises(LimbeckError, code="no_memory", says="10") as raised:
        go(X2)
    assert isinstance(raised.value.__cause__, OSError)  # what is done stays
