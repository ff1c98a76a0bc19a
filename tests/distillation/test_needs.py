"""What a dry run tells of time, memory and disk."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import as_jsonl, sentences

from limbeck.cli import main
from limbeck.distillation import METHODS, best
from limbeck.distillation.alone import read_words
from limbeck.distillation.settings import TEMPLATES, DistillSettings
from limbeck.distillation.x2static.cache import ContextCache
from limbeck.runs.distilling import needs as distill_needs
from limbeck.runs.distilling.compute import open_subject
from limbeck.runs.distilling.needs import needs, seconds_alone, sentences_of
from limbeck.runs.distilling.work import Distillation
from limbeck.stream.context import RunContext
from limbeck.stream.workers import Workers

Said = Callable[..., list[str]]
DIM = 64


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    model = tiny_models.save_bert(tmp_path / "tiny")
    text, words = tmp_path / "text.jsonl", tmp_path / "words.txt"
    text.write_text(as_jsonl(sentences(60, documents=4)), encoding="utf-8")
    words.write_text("river\nbarrel\nowl\n", encoding="utf-8")

    def call(*arguments: object, of: str = "--corpus", method: str = "best") -> list[str]:
        given = ("--model", model, of, text if of == "--corpus" else words, "--method", method, "--out", "none")
        assert main(["distill", *map(str, (*given, *arguments)), "--dry-run", "--quiet"]) == 0
        return capsys.readouterr().out.splitlines()

    return call


def test_frames_are_counted_beside_the_pass(said: Said):
    *_, time, not_in_it = said("--min-count", 1)
    assert time.startswith("about ")
    assert "for one pass over the text at " in time
    assert time.endswith("for 20 words in 4 sentences each")
    assert not_in_it == "not counted: putting best together"


def test_a_text_that_no_teacher_reads_is_not_counted(said: Said):
    assert said("--min-count", 1, method="frame")[-1].endswith(", for 20 words in a sentence")
    found = said("--min-count", 1, method="sent2vec")
    assert found[-1] == "not counted: training sent2vec"
    assert "pass" not in "".join(found)
    assert "for 2 passes over the text" in said("--min-count", 1, method="regression")[-2]  # begins from the average


def test_words_without_a_text_take_time_and_memory_too(said: Said):
    first, room, time = said(of="--words", method="frames")
    assert first == "3 words, read without a text"
    assert "of memory" in room
    assert time.endswith(", for 3 words in 4 sentences each")


def test_a_word_alone_is_read_once_whatever_the_templates():
    settings = DistillSettings(method="word,frame,frames", template=["a {}.", "the {}.", "no {}."])
    assert [sentences_of(name, settings) for name in settings.methods] == [1, 3, 3]


@pytest.mark.parametrize(("words", "most"), [(5, 5), (100_000, 1000)])
def test_the_time_of_all_words_follows_from_some(monkeypatch: pytest.MonkeyPatch, words: int, most: int):
    """A teacher that takes half a second to warm up and a hundredth for a word, by a clock of its own."""
    now, trials = [0.0], list[list[str]]()

    def read(teacher: Any, some: Sequence[str], settings: Any, context: Any) -> list[Any]:
        now[0] += 0.01 * len(some) + (0.0 if trials else 0.5)
        trials.append(list(some))
        return []

    monkeypatch.setattr(distill_needs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setitem(METHODS, "word", replace(METHODS["word"], alone=read))
    work: Any = SimpleNamespace(settings=None, teacher=lambda what: None)
    found = seconds_alone(work, "word", [f"w{number}" for number in range(words)], workers=Workers())
    assert found == pytest.approx(0.55 if words == 5 else 1000.0)
    assert len(trials[-1]) <= most
    assert (trials[-1][0], trials[-1][-1]) == ("w0", f"w{words - 1}")  # frequent words and rare ones


def letters(texts: Any) -> list[Any]:
    table = np.random.default_rng(0).normal(size=(512, DIM)).astype(np.float32)
    return [table[[sum(map(ord, word)) % 512 for word in text.words]] for text in texts]


def planned(words: int, state: Path | None = None, methods: str = "best", **options: Any) -> Distillation:
    """A run on so many words, ready to begin."""
    settings = DistillSettings(method=methods, **{"min_count": 1, **options})
    text = [[f"w{(first + step) % words}" for step in range(3)] for first in range(words)]
    work = Distillation(open_subject(letters, text, settings), settings, RunContext(checkpoint=state))
    work.plan_words()
    return work


def test_memory_told_is_not_less_than_is_used():
    """What is held before the last step, by its size, and what numpy takes in it, by Python's own account."""
    work = planned(10_000, template=["the {}."])
    for name in ("frames", "average", "contexts"):
        work.make(name)
    assert work._filled is not None
    held = sum(rows.matrix.nbytes for (rows,) in work.rows.values())
    held += sum(array.nbytes for (filled,) in work._filled.values() for array in filled.state().values())
    tracemalloc.start()
    try:
        work.make("best")
        used = held + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    told = needs(work).memory
    assert used <= told <= 3 * used


def test_disk_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The sum of the sentences before, the sentence that was read, and the new sum, as it is being written."""
    work = planned(1000, tmp_path)
    there: list[int] = []

    def watched(*args: Any, **how: Any) -> Any:
        made = read_words(*args, **how)
        there.append(sum(path.stat().st_size for path in tmp_path.rglob("alone/**/*") if path.is_file()))
        return made

    monkeypatch.setattr(best, "read_words", watched)
    work.make("frames")
    sums = 2 * 8 * 1000 * DIM  # of average and contexts
    told = needs(work)
    assert len(there) == len(TEMPLATES)
    assert told.state - sums == pytest.approx(max(there) + 4 * 1000 * DIM, rel=0.1)
    assert told.disk == 4 * 1000 * DIM


def test_vectors_of_other_dimensions_are_told_as_such():
    """sent2vec has its own; best may have fewer than its teacher."""
    assert needs(planned(1000, methods="sent2vec")).disk == 4 * 1000 * 300
    assert needs(planned(1000, set={"best": {"dim": 5}})).disk == 4 * 1000 * 5


def test_vectors_of_ngrams_take_memory():
    """40 a word."""
    without, with_ngrams = (needs(planned(1000, methods=name)).memory for name in ("skipgram", "skipgram-ngrams"))
    assert with_ngrams - without == 4 * 40 * 1000 * DIM


@pytest.mark.parametrize("method", ["x2static", "regression", "sent2vec"])
def test_contexts_of_later_epochs_are_in_the_disk_while_it_runs(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def told(**own: Any) -> int:
        return needs(planned(1000, methods=method, set={method: own})).state

    work = planned(1000, tmp_path, method, set={method: {"epochs": 2}})
    there: list[int] = []

    def watched(cache: ContextCache) -> None:
        there.append(sum(path.stat().st_size for path in cache.folder.iterdir()))

    monkeypatch.setattr(ContextCache, "remove", watched)
    work.make(method)
    assert needs(work).state - told(epochs=1) == pytest.approx(there[0], rel=0.2)
    if method == "x2static":  # made anew in every epoch
        assert told(epochs=2, context="others") == told(epochs=1)
