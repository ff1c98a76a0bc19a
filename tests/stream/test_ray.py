"""The Ray engine gives the numbers of the local one, loses no shard and counts none twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import DIM, LAYERS, OwnEncoder, Watcher, as_prose, sentences
from refusals import raises, refused

from limbeck.accumulators import Accumulator, Moments, Norms, Points, UnitSums, WordSums
from limbeck.corpus import Corpus
from limbeck.encoders.function import TextPreparer
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.runs.encode import EncodeRun
from limbeck.runs.execution.sharing import Reading, run_jobs
from limbeck.runs.measure import MeasureRun
from limbeck.stream import Choice, Passed, Plan, TextSource, run_pass
from limbeck.stream.checkpoint import PARTS
from limbeck.stream.context import RunContext
from limbeck.stream.workers import Workers
from limbeck.tables import read_csv
from limbeck.vectors import OccurrenceVectors

pytest.importorskip("ray", reason="needs ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

MADE = sentences(200, documents=12)
SHAPE = {"layers": LAYERS, "dim": DIM}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    own = Path(__file__).parent
    here = os.pathsep.join([str(own), str(own.parent), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", here)  # workers import the encoder from there
        from limbeck.stream.ray import RayWorkers

        with RayWorkers(2, patience=60) as workers:
            yield workers.start()
            folder = workers._folder
            assert folder is not None
            assert list(Path(folder).glob("session_*"))
        assert not Path(folder).exists()  # nothing of Ray's own is left


def accumulators(plan: Plan) -> list[Accumulator]:
    words = WordSums(**SHAPE, words=len(plan.vocabulary), vocabulary=plan.fingerprint)
    return [Moments(**SHAPE), UnitSums(**SHAPE), Norms(**SHAPE), Points(**SHAPE, capacity=100), words]


def go(
    workers: Workers | None = None,
    encoder: Any = None,
    made: Any = accumulators,
    every: float = 30.0,
    checkpoint: Path | None = None,
    **options: Any,
) -> Passed:
    source = TextSource(Corpus.from_sentences(MADE), encoder or OwnEncoder(), "sentence", 60)
    context = RunContext(workers or Workers(), checkpoint=checkpoint, shard_units=60, save_every=every)
    return run_pass(source, made, choice=Choice(min_contexts=2), context=context, **options)


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
            raise InputError("text.txt:7: this line is no text.", code="malformed")
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


def test_a_lost_machine_leaves_fewer_workers(
    cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """Its cores are gone with it: for the new worker there is no room, and the other one does all the work."""
    from limbeck.stream import ray as module

    lost, resources, hand = tmp_path / "lost", module._resources, module.RayWorkers.hand
    monkeypatch.setattr(module, "_resources", lambda: resources() | ({"CPU": 1.0} if lost.exists() else {}))
    monkeypatch.setattr(module.RayWorkers, "hand", lambda self: nowhere() if lost.exists() else hand(self))
    passed = go(cluster, Fragile(lost, "kill", 3))
    assert lost.exists()
    equal(passed, go())
    assert capsys.readouterr().err.count("another does shard") == 1


def nowhere() -> Any:
    """A worker for which no cluster has room."""
    from limbeck.stream.filler import Filler
    from limbeck.stream.ray import ray

    return ray.remote(num_cpus=1000)(Filler).remote(1, 0)


@pytest.mark.parametrize("planned", [True, False])
def test_a_cluster_without_room_is_told(
    cluster: Any, planned: bool, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    plan = go().plan if planned else None
    monkeypatch.setattr("limbeck.stream.crew.ROOM", 0.5)
    monkeypatch.setattr("limbeck.stream.crew.STARTING", 3.0)
    monkeypatch.setattr("limbeck.stream.ray.RayWorkers.hand", lambda self: nowhere())
    with raises(LimbeckError, code="worker_lost", parameter="engine", says="3 s"):
        go(cluster, plan=plan)
    assert capsys.readouterr().err.count("waiting for a worker of Ray to start") == 1


class Clumsy(Moments):
    """Cannot be merged, or ends who tries; or once, a file says so, stands still where it gives its state or merges."""

    name = "clumsy"

    def __init__(self, *, mark: str, how: str, driver: int, **shape: Any) -> None:
        super().__init__(**shape)
        self.mark, self.how, self.driver = mark, how, driver

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"mark": self.mark, "how": self.how, "driver": self.driver}

    def stand(self, where: str) -> None:
        if self.how == where and os.getpid() != self.driver:
            with suppress(FileExistsError):
                Path(self.mark).touch(exist_ok=False)
                time.sleep(1000)

    def state(self) -> Any:
        self.stand("state")
        return super().state()

    def merge(self, other: Any) -> None:
        if self.how == "kill" and os.getpid() != self.driver:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "raise":
            raise ValueError("these two do not belong together")
        self.stand("merge")
        super().merge(other)


def clumsy(mark: Path, how: str) -> Any:
    return lambda plan: [Clumsy(mark=str(mark), how=how, driver=os.getpid(), **SHAPE)]


def test_a_merge_that_fails_is_the_users_error(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="these two do not belong together"):
        go(cluster, made=clumsy(tmp_path / "mark", "raise"))


@pytest.mark.slow  # three workers come and go
def test_a_merge_that_ends_every_worker_ends_the_pass(cluster: Any, tmp_path: Path) -> None:
    with raises(LimbeckError, code="worker_lost", parameter="engine", says="3 were lost with shards "):
        go(cluster, made=clumsy(tmp_path / "mark", "kill"))


@pytest.mark.slow  # see above
@pytest.mark.parametrize(("how", "told"), [("state", "said nothing for 5 s"), ("merge", "")])
def test_a_worker_that_stands_still_where_it_gives_or_merges_is_replaced(
    cluster: Any, tmp_path: Path, how: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(cluster, "patience", 5)
    monkeypatch.setattr("limbeck.stream.driver.STARTING", 8.0)
    passed = go(cluster, made=clumsy(tmp_path / "mark", how))
    assert (tmp_path / "mark").exists()
    (got,), (want,) = passed.accumulators, go(made=lambda plan: [Moments(**SHAPE)]).accumulators
    for name, array in want.state().items():
        np.testing.assert_allclose(got.state()[name], array, rtol=1e-10, atol=1e-10)
    assert told in capsys.readouterr().err


class Owner:
    def own(self) -> list[Any]:
        from limbeck.stream.ray import ray

        return [ray.put(np.zeros(1_000_000))]


def gone_with_its_owner() -> Any:
    """A reference to what Ray has lost."""
    from limbeck.stream.ray import ray

    owner = ray.remote(num_cpus=0)(Owner).remote()
    (reference,) = ray.get(owner.own.remote())
    ray.kill(owner)
    with suppress(ray.exceptions.RayError):
        while True:
            ray.get(reference)
            time.sleep(0.05)
    return reference


@pytest.mark.parametrize("often", [1, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kept", [True, False])
def test_states_that_are_lost_are_done_again_but_not_for_ever(
    cluster: Any, tmp_path: Path, kept: bool, often: int, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """What lay on a lost machine is missed when it is written, or when it is merged."""
    from limbeck.stream.driver import Driver, Ended

    keep, lost, gone = Driver.keep, [], gone_with_its_owner()

    def lose(self: Driver, ended: Ended) -> None:
        if ended.part.first in (1, 2) and len(lost) < often:
            lost.append(ended.part)
            ended = replace(ended, state=gone)
        keep(self, ended)

    monkeypatch.setattr(Driver, "keep", lose)
    checkpoint = tmp_path if kept else None
    if often > 1:
        with raises(LimbeckError, code="worker_lost", parameter="engine", says="lost 3 times"):
            go(cluster, checkpoint=checkpoint, every=0.01)
        return
    equal(go(cluster, checkpoint=checkpoint, every=0.01), go())
    assert lost
    assert "had done is gone with it: shard" in capsys.readouterr().err


def test_what_is_done_is_kept_when_ray_fails(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    from limbeck.stream.driver import Driver
    from limbeck.stream.ray import ray

    def fail(self: Driver) -> None:
        raise ray.exceptions.RaySystemError("the head is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Driver, "finish", fail)
        with raises(LimbeckError, code="worker_lost", parameter="engine", says="the head is gone"):
            go(cluster, checkpoint=tmp_path)
    again = OwnEncoder()
    equal(go(0, again, checkpoint=tmp_path), go())
    assert again.batches == 0


class Narrow(OwnEncoder):
    """Has room for so many words at once."""

    def forward(self, batch: Any) -> Any:
        if len(batch) > 20:
            raise MemoryError
        return super().forward(batch)


def test_that_batches_are_halved_is_said_once(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    equal(go(cluster, Narrow()), go())
    assert capsys.readouterr().err.count("out of memory on cpu") == 1


def test_a_worker_that_is_late_for_planning_is_there_for_the_pass(cluster: Any) -> None:
    from limbeck.stream.crew import RayPool
    from limbeck.stream.ray import RayWorkers, ray

    with RayWorkers(2, cores_per_worker=1) as own:
        for worker in cluster._idle:  # so that there is room
            ray.kill(worker)
        cluster._idle = []
        assert list(RayPool(own).map(len, ["one piece"])) == [9]
        assert len(own._idle) == 2


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
    def jobs(place: Path) -> list[Any]:
        settings = {"min_contexts": 2, "points": 100, "mev_words": 5, "figures": False}
        measure = MeasureRun.of({"out": place / "measure", **settings})
        return [measure, EncodeRun.of({"out": place / "encode", "keep": "float32"})]

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


def test_an_error_in_a_worker_is_the_users_error(cluster: Any, tmp_path: Path) -> None:
    with raises(InputError, code="malformed", says="text.txt:7: "):
        go(cluster, Fragile(tmp_path / "lost", "raise", 3))


class Deadly(OwnEncoder):
    def forward(self, batch: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow  # three workers come and go
def test_a_shard_that_ends_every_worker_ends_the_pass(cluster: Any) -> None:
    with raises(LimbeckError, code="worker_lost", parameter="engine", says="3 were lost with shard "):
        go(cluster, Deadly())


def test_an_encoder_that_cannot_be_sent_is_refused(cluster: Any) -> None:
    encoder = OwnEncoder()
    encoder.lock = threading.Lock()  # type: ignore[attr-defined]
    with raises(UsageError, code="unsupported", parameter="engine"):
        go(cluster, encoder)


def test_more_workers_than_cores_are_refused(cluster: Any) -> None:
    from limbeck.stream.ray import RayWorkers

    with raises(UsageError, code="out_of_range", parameter="workers"):
        _ = RayWorkers(10_000).many
    with raises(UsageError, code="out_of_range", parameter="gpus_per_worker", says="1000"):
        _ = RayWorkers(1, gpus_per_worker=1000).many


def test_local_workers_stay_local(cluster: Any) -> None:
    assert type(cluster.local) is Workers


def test_an_address_is_of_the_ray_that_is_there(cluster: Any) -> None:
    from limbeck.stream.ray import RayWorkers, ray

    there = ray.get_runtime_context().gcs_address
    for address in (None, "auto", there):
        with RayWorkers(1, address=address) as workers:
            workers.start()
    with raises(UsageError, code="exclusive", parameter="address", says=(there, "got 127.0.0.1:1")):
        RayWorkers(1, address="127.0.0.1:1").start()
    assert ray.is_initialized()


def test_an_address_must_be_one_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from limbeck.stream.ray import _check, _not_there

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    _check("auto")
    with raises(LimbeckError, code="not_reachable", parameter="address", says="127.0.0.1:1"):
        _check("127.0.0.1:1")
    with raises(UsageError, code="malformed", parameter="address"):
        _check("ray://127.0.0.1:10001")
    monkeypatch.setenv("RAY_ADDRESS", "ray://127.0.0.1:10001")
    with raises(UsageError, code="malformed", parameter="address"):
        _check("auto")
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    assert "set RAY_AUTH_MODE=token" in _not_there("host:6379", Exception("Failed to connect"))


def test_no_workers_are_refused_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "measure --model mini-bert --corpus sample --engine ray --workers 0 --out".split()
    assert refused(*arguments, tmp_path / "run", capsys=capsys) == (2, "out_of_range", "workers")


def command(out: Path, corpus: Path, *more: str) -> list[str]:
    own = ["measure", "--model", "mini-bert", "--corpus", str(corpus), "--out", str(out), "--engine", "ray"]
    return [sys.executable, "-m", "limbeck", *own, "--workers", "1", "--min-contexts", "2", *more]


@pytest.fixture
def prose(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(as_prose(sentences(300, most=12)))
    return path


@pytest.mark.slow  # a cluster starts
def test_a_running_cluster_is_joined(tmp_path: Path, prose: Path) -> None:
    own = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64, "RAY_USAGE_STATS_ENABLED": "0"}
    own |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    with tempfile.TemporaryDirectory(prefix="lr-", dir="/tmp") as folder:  # sockets want short paths
        start = (
            "start --head --block --port=0 --node-ip-address=127.0.0.1 --num-cpus=2 --include-dashboard=false".split()
        )
        head = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", *start, f"--temp-dir={folder}"]
        with open(tmp_path / "head.log", "wb") as log:
            cluster = subprocess.Popen(head, env=own, stdout=log, stderr=log, start_new_session=True)
        try:
            where = Path(folder) / "ray_current_cluster"
            for _ in range(600):
                if where.exists() or cluster.poll() is not None:
                    break
                time.sleep(0.1)
            assert where.exists(), (tmp_path / "head.log").read_text()
            ran = subprocess.run(
                command(tmp_path / "run", prose, "--address", where.read_text().strip()),
                env=own, capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            assert ran.returncode == 0, ran.stderr
            assert (tmp_path / "run" / "layers.csv").exists()
            assert cluster.poll() is None  # it is not the command's to end
        finally:
            os.killpg(cluster.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                cluster.wait(10)
            with suppress(ProcessLookupError):
                os.killpg(cluster.pid, signal.SIGKILL)


@pytest.mark.slow  # Ray starts
def test_a_batch_system_that_ends_a_run_is_as_ctrl_c(tmp_path: Path, prose: Path) -> None:
    prose.write_text(as_prose(sentences(40_000, most=40)))
    run = command(tmp_path / "run", prose)
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        plan = tmp_path / ".run.unfinished" / "state" / "plan.npz"
        for _ in range(1200):
            if plan.exists() or ran.poll() is not None:
                break
            time.sleep(0.1)
        time.sleep(2)
        ran.send_signal(signal.SIGTERM)
        _, told = ran.communicate(timeout=120)
    assert ran.returncode == 130, told
    assert "to go on: the same command with --existing resume." in told
    assert "SIGTERM" not in told
    assert plan.exists()
