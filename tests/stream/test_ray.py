"""The Ray engine gives the numbers of the local one, loses no shard and counts none twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import DIM, LAYERS, OwnEncoder, Watcher, sentences

from limbeck.accumulators import Accumulator, Moments, Norms, Points, UnitSums, WordSums
from limbeck.corpus import Corpus
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.stream import Choice, Passed, Plan, TextSource, run_pass
from limbeck.stream.checkpoint import PARTS
from limbeck.stream.workers import Workers

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
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert "another does shard" in line


def test_an_error_in_a_worker_is_the_users_error(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"text\.txt:7: this line is no text\."):
        go(cluster, Fragile(tmp_path / "lost", "raise", 3))


class Deadly(OwnEncoder):
    def forward(self, batch: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow  # three workers come and go
def test_a_shard_that_ends_every_worker_ends_the_pass(cluster: Any) -> None:
    with pytest.raises(LimbeckError, match="3 were lost with shard 0"):
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
