"""One pass over everything equals every pair by hand; shards, workers and batches change nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import tiny_models
import torch
from made import DIM, LAYERS, OwnEncoder, Watcher, as_jsonl, by_pairs, contextual, see, sentences, unique_texts
from refusals import raises

import limbeck as lb
from limbeck.accumulators import Moments, Points, UnitSums
from limbeck.corpus import Corpus
from limbeck.corpus.units import Sentence
from limbeck.encoded import Encoded
from limbeck.encoders import FunctionEncoder, HuggingFaceEncoder
from limbeck.errors import LimbeckError, UsageError
from limbeck.runs.execution.sources import open_source
from limbeck.runs.measure import MeasureSettings
from limbeck.runs.measuring.compute import measure_source
from limbeck.runs.measuring.results import Measured
from limbeck.state import State
from limbeck.stream import Choice, TextSource, run_pass, survey
from limbeck.stream.context import RunContext
from limbeck.stream.plan import DUPLICATE
from limbeck.stream.workers import Workers
from limbeck.vectors import StaticVectors

SETTINGS = MeasureSettings(min_contexts=3, max_contexts=1000)  # all occurrences of a word are kept
MADE = sentences(240, documents=14)


def values(measured: Measured) -> dict[str, np.ndarray[Any, Any]]:
    """Every number of a run, by name."""
    found = {}
    for name, result in measured.results.items():
        for part in ("value", "baseline", "low", "high"):
            if getattr(result, part) is not None:
                found[f"{name} {part}"] = np.asarray(getattr(result, part), dtype=float)
    return found


def alike(a: Measured, b: Measured, tolerance: float) -> None:
    left, right = values(a), values(b)
    assert left.keys() == right.keys()
    for name, value in left.items():
        loose = 10 * tolerance if name.startswith("effective_rank") else tolerance
        np.testing.assert_allclose(value, right[name], rtol=loose, atol=loose, err_msg=name)
    assert a.plan.vocabulary.words == b.plan.vocabulary.words
    np.testing.assert_allclose(a.words().values, b.words().values, rtol=tolerance, atol=tolerance)


def run(source: Any, *, shard_units: int | None = None, workers: int = 0, **settings: Any) -> Any:
    """A measuring run with shards of a given size."""
    asked = MeasureSettings(**settings) if settings else SETTINGS
    with Workers(workers) as processes:
        return measure_source(source, asked, RunContext(processes, shard_units=shard_units))


def test_one_pass_equals_all_pairs_in_float64() -> None:
    measured, passed = run(open_source(contextual, MADE), shard_units=100)
    assert len(passed.plan.shards) > 5
    oracle = by_pairs(see(unique_texts(MADE)), min_contexts=3)
    assert len(oracle) >= 10
    for name, value in oracle.items():
        np.testing.assert_allclose(measured[name].value, value, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize(("family", "layers"), [("bert", None), ("gpt2", "0-2")])
def test_one_pass_equals_all_pairs_in_float32(family: str, layers: str | None) -> None:
    tokenizer = tiny_models.tokenizer(tiny_models.FAMILIES[family])
    encoder = HuggingFaceEncoder(
        tiny_models.model(family), tokenizer, name="tiny", layers=layers, keep_first=True, device="cpu"
    )
    measured, _ = run(TextSource(Corpus.from_sentences(MADE), encoder, "sentence", 300), shard_units=200)

    def alone(texts: Any) -> list[Any]:
        return [encoder.forward(encoder.prepare([text])).numpy() for text in texts]

    oracle = by_pairs(see(unique_texts(MADE), alone), min_contexts=3)
    for name, value in oracle.items():
        tolerance = 1e-5 if name == "effective_rank" else 1e-6
        if name == "effective_rank" and family == "bert":
            continue  # behind a layer norm one direction has no variance but that of float32 products
        np.testing.assert_allclose(measured[name].value, value, rtol=tolerance, err_msg=name)


def test_shards_change_nothing() -> None:
    made = sentences(210, documents=7)
    source = open_source(contextual, made)
    words = sum(len(s.words) for s in made)
    runs = [run(source, shard_units=size) for size in (10**6, (words + 1) // 2, 1)]
    assert [len(passed.plan.shards) for _, passed in runs] == [1, 2, 7]
    for measured, passed in runs[1:]:
        alike(runs[0][0], measured, 1e-10)
        assert passed.dropped == runs[0][1].dropped
        # the same occurrences were sampled
        assert sorted(measured.points.hashes) == sorted(runs[0][0].points.hashes)


def test_worker_processes_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "text.jsonl"
    path.write_text(as_jsonl(MADE), encoding="utf-8")
    source = open_source(contextual, path)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PREPARE_CHARACTERS", "SURVEY_CHARACTERS"):
            patch.setattr(f"limbeck.stream.tasks.{name}", 500)  # here, not in the processes
        alone, _ = run(source, shard_units=300)
        helped, _ = run(source, shard_units=300, workers=2)
    assert values(alone).keys() == values(helped).keys()
    for name, value in values(alone).items():
        np.testing.assert_array_equal(value, values(helped)[name], err_msg=name)


@pytest.mark.parametrize("unit", ["sentence", "paragraph", "document"])
def test_every_consumer_sees_each_word_once_in_its_context(unit: str) -> None:
    watchers = [Watcher(), Watcher()]
    source = TextSource(Corpus.from_sentences(MADE), OwnEncoder(), unit, 40)  # type: ignore[arg-type]
    passed = run_pass(source, [], consumers=watchers, deduplicate=False, context=RunContext(shard_units=50))
    first: dict[tuple[int, int], int] = {}
    expected: Counter[tuple[int, int, str]] = Counter()
    for s in MADE:
        where = {"sentence": s.index, "paragraph": s.paragraph, "document": 0}[unit]
        context = first.setdefault((s.document, where), s.identity)
        expected.update((s.identity, context, word) for word in s.words)
    for watcher in watchers:
        assert Counter(watcher.occurrences()) == expected
        assert watcher.ended == list(range(len(passed.plan.shards)))
        hashes = np.concatenate([batch.occurrences for batch in watcher.batches])
        assert len(np.unique(hashes)) == expected.total()
        # a text is never divided between batches
        texts = [np.unique(batch.texts) for batch in watcher.batches]
        assert sum(map(len, texts)) == len(np.unique(np.concatenate(texts)))


def test_duplicates_are_dropped_and_counted() -> None:
    watcher = Watcher()
    source = TextSource(Corpus.from_sentences(MADE), OwnEncoder())
    passed = run_pass(source, [], consumers=[watcher], context=RunContext(shard_units=60))
    kept = unique_texts(MADE)
    assert Counter(watcher.occurrences()) == Counter((s.identity, s.identity, w) for s in kept for w in s.words)
    total = sum(len(s.words) for s in MADE)
    assert passed.plan.dropped == {DUPLICATE: total - sum(len(s.words) for s in kept)}


def test_word_ids_are_those_of_the_vocabulary() -> None:
    watcher = Watcher()
    source = TextSource(Corpus.from_sentences(MADE), OwnEncoder())
    passed = run_pass(source, [], consumers=[watcher], choice=Choice(min_contexts=20, max_words=4))
    words = passed.plan.vocabulary.words
    assert len(words) == 4
    for batch in watcher.batches:
        named = [words[i] if i >= 0 else None for i in batch.words.tolist()]
        assert named == [string if string in words else None for string in batch.strings]


def tiny(**settings: Any) -> HuggingFaceEncoder:
    kind = "wordpiece uncased"
    return HuggingFaceEncoder(
        tiny_models.model("bert"), tiny_models.tokenizer(kind), name="tiny", device="cpu", **settings
    )


def test_a_text_longer_than_the_window_loses_no_word() -> None:
    long = [Sentence(tuple(["river", "cellar", "house"] * 70), index=0), Sentence(("the", "lamp"), index=1)]
    watcher = Watcher()
    passed = run_pass(TextSource(Corpus.from_sentences(long), tiny()), [], consumers=[watcher], deduplicate=False)
    assert Counter(word for _, _, word in watcher.occurrences()) == Counter(w for s in long for w in s.words)
    assert not any(passed.dropped.values())


def test_pieces_are_units_with_the_words_they_are_cut_from() -> None:
    made = [Sentence(("unbelievable", "river"), index=0), Sentence(("river", "telling"), index=1)]
    encoder = tiny(units="pieces")
    watcher = Watcher()
    passed = run_pass(
        TextSource(Corpus.from_sentences(made), encoder), [], consumers=[watcher], choice=Choice(min_contexts=1)
    )
    tokenizer = tiny_models.tokenizer("wordpiece uncased")
    expected = Counter(piece for s in made for word in s.words for piece in tokenizer.tokenize(word))
    assert Counter(string for _, _, string in watcher.occurrences()) == expected
    vocabulary = passed.plan.vocabulary
    assert dict(zip(vocabulary, vocabulary.counts.tolist(), strict=True)) == dict(expected)
    assert passed.plan.units == expected.total()


def test_characters_are_units_by_the_corpus() -> None:
    corpus = Corpus.from_sentences([["ab", "c"], ["ba"]], characters=True)
    watcher = Watcher()
    run_pass(TextSource(corpus, OwnEncoder()), [], consumers=[watcher])
    assert [string for _, _, string in watcher.occurrences()] == list("abcba")


def test_context_and_targets_restrict_what_is_seen_and_kept() -> None:
    made = [Sentence(("the", "old", "river", "rose"), index=0), Sentence(("a", "old", "river", "fell"), index=1)]
    watcher = Watcher()
    source = TextSource(Corpus.from_sentences(made), tiny(context=1, targets=["river"]))
    run_pass(source, [], consumers=[watcher], choice=Choice(min_contexts=1))
    assert [string for _, _, string in watcher.occurrences()] == ["river", "river"]
    # one word on each side: "old river rose" and "old river fell" differ, the words further off cannot matter
    apart = torch.cat([batch.vectors for batch in watcher.batches], dim=1)
    alone = Watcher()
    short = [Sentence(("old", "river", "rose"), index=0)]
    run_pass(
        TextSource(Corpus.from_sentences(short), tiny(context=1, targets=["river"])),
        [],
        consumers=[alone],
        choice=Choice(min_contexts=1),
    )
    torch.testing.assert_close(apart[:, 0], alone.batches[0].vectors[:, 0], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(apart[-1, 0], apart[-1, 1], atol=1e-3)


def test_the_embedding_table_is_a_layer() -> None:
    measured, _ = run(TextSource(Corpus.from_sentences(MADE), tiny(layers="table,0")))
    assert measured.layers == ("table", "0")
    assert measured["self_similarity"].value[0] == pytest.approx(1, abs=1e-6)  # nothing of the context is in it
    assert measured["self_similarity"].value[1] < 0.999


def test_static_vectors_are_a_model() -> None:
    words = ["the", "river", "rose", "a", "lamp"]
    matrix = np.random.default_rng(0).normal(size=(len(words), 4)).astype(np.float32)
    measured, passed = run(open_source(StaticVectors(words, matrix), MADE))
    kept = unique_texts(MADE)
    missing = sum(word not in words for s in kept for word in s.words)
    assert passed.dropped == {"not in the table of vectors": missing}
    assert measured.moments.n == sum(len(s.words) for s in kept) - missing
    assert measured["self_similarity"].value[0] == pytest.approx(1)
    seen = [matrix[words.index(w)] for s in kept for w in s.words if w in words]
    np.testing.assert_allclose(measured["mean_norm"].value, np.linalg.norm(seen, axis=1).mean(), rtol=1e-6)


def test_a_function_is_an_encoder_and_an_encoder_needs_no_base_class() -> None:
    by_function, _ = run(open_source(contextual, MADE))
    by_class, _ = run(open_source(OwnEncoder(), MADE))
    assert by_class.layers == ("low", "middle", "high")
    for name, value in values(by_function).items():
        np.testing.assert_allclose(value, values(by_class)[name], rtol=1e-12, err_msg=name)


class LongestWord:
    """A user's own accumulator: how long the longest word is, and the sum of first coordinates."""

    name: ClassVar[str] = "longest"

    def __init__(self) -> None:
        self.longest = 0
        self.total = 0.0

    def settings(self) -> dict[str, Any]:
        return {}

    def update(self, batch: Encoded) -> None:
        self.longest = max([self.longest, *map(len, batch.strings)])
        self.total += float(batch.vectors[0, :, 0].sum())

    def merge(self, other: Self) -> None:
        self.longest = max(self.longest, other.longest)
        self.total += other.total

    def state(self) -> State:
        return {"longest": np.array(self.longest), "total": np.array(self.total)}

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        made.longest, made.total = int(state["longest"]), float(state["total"])
        return made


def test_a_users_own_accumulator_is_filled_beside_the_others(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"batch_tokens": 30, "out": tmp_path / "state"}
    own, moments = lb.stream.stream(MADE, contextual, [LongestWord(), Moments(layers=LAYERS, dim=DIM)], **arguments)
    kept = unique_texts(MADE)
    x = see(kept).vectors
    assert own.longest == max(len(w) for s in kept for w in s.words)
    assert own.total == pytest.approx(x[0, :, 0].sum())
    np.testing.assert_allclose(moments.mean.numpy(), x.mean(axis=1), rtol=1e-12)
    # called again with the same arguments it finds all done
    again, _ = lb.stream.stream(MADE, OwnButNamed(), [LongestWord(), Moments(layers=LAYERS, dim=DIM)], **arguments)
    assert again.total == own.total


class OwnButNamed(OwnEncoder):
    """Has the fingerprint of the function, and must never be asked for a vector."""

    def __init__(self) -> None:
        super().__init__()
        twin = FunctionEncoder(contextual, name="contextual")
        self.fingerprint = twin.fingerprint

    def forward(self, batch: Any) -> Any:
        raise AssertionError("the pass was finished")


def test_accumulators_can_be_made_from_the_plan() -> None:
    made = lb.stream.stream(MADE, contextual, lambda plan: [Points(layers=LAYERS, dim=DIM, capacity=plan.units)])
    assert made[0].complete
    assert len(made[0]) == sum(len(s.words) for s in unique_texts(MADE))


def test_a_bad_vector_is_named_by_layer_and_word() -> None:
    def broken(texts: Any) -> list[Any]:
        answer = contextual(texts)
        for text, states in zip(texts, answer, strict=True):
            for place, word in enumerate(text.words):
                if word == "owl":
                    states[1, place, 0] = np.nan
        return answer

    encoder = FunctionEncoder(broken, name="broken", layers=["low", "middle", "high"])
    with raises(LimbeckError, code="not_finite", says="'owl'"):
        run(TextSource(Corpus.from_sentences(MADE), encoder))
    zero = FunctionEncoder(lambda texts: [np.zeros((len(t.words), 2)) for t in texts], name="zero")
    with raises(LimbeckError, code="not_finite", says="layer 0"):
        run(TextSource(Corpus.from_sentences(MADE), zero))


def test_a_failing_encoder_fails_the_pass_and_leaves_no_thread() -> None:
    import threading

    def stop(batch: int) -> None:
        if batch == 2:
            raise RuntimeError("the device is gone")

    with pytest.raises(RuntimeError, match="the device is gone"):
        run(TextSource(Corpus.from_sentences(MADE), OwnEncoder(watch=stop), "sentence", 30))
    assert not [thread for thread in threading.enumerate() if thread.name == "limbeck-prefetch"]


def test_seeds_change_samples_and_nothing_exact() -> None:
    source = open_source(contextual, MADE)
    small = {"min_contexts": 3, "points": 50, "max_contexts": 4, "mev_words": 5}
    one, _ = run(source, **small, seed=0)
    two, _ = run(source, **small, seed=1)
    same, _ = run(source, **small, seed=0)
    alike(one, same, 0)
    for name in ("anisotropy", "self_similarity", "intra_sentence_similarity", "isoscore", "mean_norm"):
        np.testing.assert_array_equal(one[name].value, two[name].value, err_msg=name)
    assert set(one.points.hashes.tolist()) != set(two.points.hashes.tolist())
    assert one.kept_words != two.kept_words
    assert not np.array_equal(one["log10_isotropy"].value, two["log10_isotropy"].value)
    assert "sample of 50" in one["log10_isotropy"].note


def test_two_passes_make_the_partition_function_exact() -> None:
    source = open_source(contextual, MADE)
    oracle = by_pairs(see(unique_texts(MADE)), min_contexts=3)["log10_isotropy"]
    once, _ = run(source, min_contexts=3, points=40)
    twice, _ = run(source, min_contexts=3, points=40, two_pass=True, shard_units=80)
    assert not np.allclose(once["log10_isotropy"].value, oracle, rtol=1e-3)
    np.testing.assert_allclose(twice["log10_isotropy"].value, oracle, rtol=1e-10)
    assert twice["log10_isotropy"].note == ""


def test_unknown_engines_and_units_are_refused() -> None:
    with raises(UsageError, code="unknown_choice", parameter="engine"):
        lb.stream.stream(MADE, contextual, [], engine="locale")
    with raises(UsageError, code="unknown_choice", says="'paragraph'"):
        lb.stream.stream(MADE, contextual, [UnitSums(layers=LAYERS, dim=DIM)], text_unit="paragraf")


def test_a_survey_alone_reads_no_vector() -> None:
    def stop(batch: int) -> None:
        raise AssertionError("no vector was asked for")

    plan = survey(TextSource(Corpus.from_sentences(MADE), OwnEncoder(watch=stop)), choice=Choice(min_contexts=2))
    assert plan.sentences == len(MADE)
