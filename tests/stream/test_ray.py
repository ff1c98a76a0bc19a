"""The Ray engine gives the numbers of the local one, loses no shard and counts none twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import DIM, LAYERS, OwnEncoder, Watcher, sentences

from limbeck.accumulators import Accumulator, Moments, Norms, Points, UnitSums, WordSums
from limbeck.corpus import Corpus
from limbeck.encoders.function import TextPreparer
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.run import MeasureSettings
from limbeck.run.plan_jobs import EncodeJob, Job, MeasureJob
from limbeck.run.plans import Reading, run_jobs
from limbeck.stream import Choice, Passed, Plan, TextSource, run_pass
from limbeck.stream.checkpoint import PARTS
from limbeck.stream.workers import Workers
from limbeck.tables import read_csv
from limbeck.vectors import OccurrenceVectors

pytest.importorskip("ray", reason="needs ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

MADE = sentences(200, documents=12)
SHAPE = {"layers": LAYERS, "dim": DIM}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    here = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", here)  # workers import the encoder from there
        from limbeck.stream.ray import RayWorkers

        with RayWorkers(2, patience=60) as workers:
            yield workers.start()


def accumulators(plan: Plan) -> list[Accumulator]:
    words = WordSums(**SHAPE, words=len(plan.vocabulary), vocabulary=plan.fingerprint)
    return [Moments(**SHAPE), UnitSums(**SHAPE), Norms(**SHAPE), Points(**SHAPE, capacity=100), words]


def go(workers: Any = 0, encoder: Any = None, **options: Any) -> Passed:
    source = TextSource(Corpus.from_sentences(MADE), encoder or OwnEncoder(), "sentence", 60)
    chosen = Choice(min_contexts=2)
    return run_pass(source, accumulators, shard_units=60, choice=chosen, workers=workers, **options)


def equal(a: Passed, b: Passed) -> None:
    assert a.dropped == b.dropped
    for left, right in zip(a.accumulators, b.accumulators, strict=True):
        theirs = right.state()
        for name, array in left.state().items():
            if array.dtype.kind == "f":
                np.testing.assert_allclose(array, theirs[name], rtol=1e-10, atol=1e-10, err_msg=f"{left.name} {name}")
            else:
                np.testing.assert_array_equal(array, theirs[name], err_msg=f"{left.name} {name}")


def test_the_numbers_are_those_of_the_local_engine(cluster: Any, tmp_path: Path) -> None:
    equal(go(cluster, checkpoint=tmp_path), go())
    (part,) = (tmp_path / PARTS).iterdir()
    # what one engine has left, the other goes on from
    second = OwnEncoder()
    equal(go(0, second, checkpoint=tmp_path), go())
    assert second.batches == 0
    part.unlink()
    equal(go(cluster, checkpoint=tmp_path), go())


def test_consumers_see_every_shard_once_and_in_order(cluster: Any) -> None:
    there, here = Watcher(), Watcher()
    passed = go(cluster, consumers=[there])
    go(consumers=[here])
    assert there.ended == list(range(len(passed.plan.shards)))
    assert there.occurrences() == here.occurrences()


class Fragile(OwnEncoder):
    """Ends its process, stands still or raises at a batch, once: a file says that it has."""

    def __init__(self, mark: Path, how: str, at: int) -> None:
        super().__init__()
        self.mark, self.how, self.at = mark, how, at

    def forward(self, batch: Any) -> Any:
        if self.batches == self.at and not self.mark.exists():
            self.mark.touch()
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "hang":
                time.sleep(1000)
            raise InputError("text.txt:7: this line is no text.")
        return super().forward(batch)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("kill", "ended"),
        # a machine that is busy could keep a healthy worker silent for as long
        pytest.param("hang", "said nothing for 5 s", marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_is_lost_is_replaced(
    cluster: Any, tmp_path: Path, how: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(cluster, "patience", 60 if how == "kill" else 5)
    passed = go(cluster, Fragile(tmp_path / "lost", how, 3), checkpoint=tmp_path / "state")
    assert (tmp_path / "lost").exists()
    equal(passed, go())
    lines = capsys.readouterr().err.splitlines()
    assert any(told in line and "another does shard" in line for line in lines)


class FragilePreparer(TextPreparer):
    """Ends its process when it is asked for the second time, once."""

    def __init__(self, mark: Path, driver: int) -> None:
        super().__init__()
        self.mark, self.driver, self.asked = mark, driver, 0

    def __call__(self, texts: Any) -> Any:
        self.asked += 1
        if self.asked == 2 and os.getpid() != self.driver:
            with suppress(FileExistsError):  # of two workers, that come here together, one is lost
                self.mark.touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(texts)


def test_a_worker_that_is_lost_while_it_plans_is_replaced(
    cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr("limbeck.stream.tasks.SURVEY_CHARACTERS", 200)
    encoder = OwnEncoder()
    encoder.prepare = FragilePreparer(tmp_path / "lost", os.getpid())
    encoder.selective = True  # type: ignore[attr-defined]  # what has a vector is asked in planning, too
    passed = go(cluster, encoder)
    assert (tmp_path / "lost").exists()
    equal(passed, go())
    assert "ended while it planned" in capsys.readouterr().err


def test_a_plan_runs_there_too(cluster: Any, tmp_path: Path) -> None:
    def jobs(place: Path) -> list[Job]:
        settings = MeasureSettings(min_contexts=2, points=100, mev_words=5)
        measure = MeasureJob(place / "measure", title="measure", figures=False, settings=settings)
        return [measure, EncodeJob(place / "encode", title="encode", keep="float32")]

    for place, workers in (("here", 0), ("there", cluster)):
        reading = Reading(Corpus.from_sentences(MADE), OwnEncoder(), batch_tokens=60)
        run_jobs(jobs(tmp_path / place), lambda reading=reading: reading, workers=workers)  # type: ignore[misc]
    here, there = (read_csv(tmp_path / place / "measure" / "layers.csv") for place in ("here", "there"))
    assert there["measure"] == here["measure"]
    values = [[float(value or "nan") for value in one["value"]] for one in (there, here)]
    np.testing.assert_allclose(*values, rtol=1e-10)
    kept = [OccurrenceVectors.load(tmp_path / place / "encode") for place in ("here", "there")]
    one, two = ([block for n in range(k.shards) for block in k.shard(n)] for k in kept)
    np.testing.assert_array_equal(
        np.concatenate([b.vectors for b in one], 1), np.concatenate([b.vectors for b in two], 1)
    )


class Stubborn:
    """An actor as `Tree` sees one; its merges are said to have failed."""

    def __init__(self, name: str = "") -> None:
        self.merge, self.name, self.asked = self, name, 0

    def options(self, **_: Any) -> Any:
        return self

    def remote(self, *_: Any) -> tuple[str, str]:
        self.asked += 1
        return f"done {self.name}{self.asked}", f"state {self.asked}"


def test_states_whose_merge_fails_wait_again_and_are_given_up_in_the_end(cluster: Any) -> None:
    from limbeck.stream.assignment import TRIES
    from limbeck.stream.checkpoint import Part
    from limbeck.stream.tree import Node, Tree

    tree, worker = Tree([]), Stubborn()
    tree.add(Part(0, 2), Node("a", {"x": 1}))
    tree.add(Part(2, 3), Node("b", {"x": 2, "y": 1}))
    tree.add(Part(5, 6), Node("c", {}))
    for left in reversed(range(TRIES)):
        assert tree.pair(worker)
        assert not tree.pair(worker)  # nothing else has a neighbour
        assert tree.busy(worker)
        (reference,) = tree.under_way
        assert tree.held == 3
        gone = tree.failed(reference)[1]
        assert [part for part, _ in gone] == ([] if left else [Part(0, 2), Part(2, 3)])
    assert tree.whole
    assert [part for part, _ in tree.nodes()] == [Part(5, 6)]
    tree.add(Part(6, 7), Node("d", {"x": 3}))
    tree.pair(worker)
    assert tree.merged(tree.under_way[0]) == Part(5, 7)
    assert list(tree.nodes()) == [(Part(5, 7), Node(f"state {TRIES + 1}", {"x": 3}, 1))]


def test_states_do_not_pile_up(cluster: Any) -> None:
    from limbeck.stream.checkpoint import Part
    from limbeck.stream.tree import Node, Tree

    tree, workers, most = Tree([]), [Stubborn("a"), Stubborn("b"), Stubborn("c")], 0
    generator = np.random.default_rng(0)
    for number in generator.permutation(12).tolist() + list(range(12, 400)):
        if number % 3 == 0:  # a worker comes to its merges before its next block, others work on meanwhile
            for reference in tree.under_way:
                tree.merged(reference)
        while tree.pair(workers[number % 3]):
            pass
        tree.add(Part(number, number + 1), Node("state", {}))
        most = max(most, tree.held)
    assert most < 30
    while not tree.whole:
        tree.pair(workers[0], all_done=True)
        for reference in tree.under_way:
            tree.merged(reference)
    ((part, _),) = tree.nodes()
    assert part == Part(0, 400)


def test_an_error_in_a_worker_is_the_users_error(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"text\.txt:7: this line is no text\."):
        go(cluster, Fragile(tmp_path / "lost", "raise", 3))


class Deadly(OwnEncoder):
    def forward(self, batch: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow  # three workers come and go
def test_a_shard_that_ends_every_worker_ends_the_pass(cluster: Any) -> None:
    with pytest.raises(LimbeckError, match=r"3 were lost with shard [01]"):
        go(cluster, Deadly())


def test_an_encoder_that_cannot_be_sent_is_refused(cluster: Any) -> None:
    encoder = OwnEncoder()
    encoder.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="cannot be sent"):
        go(cluster, encoder)


def test_more_workers_than_cores_are_refused(cluster: Any) -> None:
    from limbeck.stream.ray import RayWorkers

    with pytest.raises(UsageError, match="--workers must be at most"):
        _ = RayWorkers(10_000).many
    with pytest.raises(UsageError, match="--gpus-per-worker 1000 must be there"):
        _ = RayWorkers(1, gpus_per_worker=1000).many


def test_local_workers_stay_local(cluster: Any) -> None:
    assert type(cluster.local) is Workers
