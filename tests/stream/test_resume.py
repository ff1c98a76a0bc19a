"""A pass that was stopped goes on and gives the numbers of one that was not; another pass's state is refused."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import DIM, LAYERS, OwnEncoder, Watcher, sentences
from refusals import raises

from limbeck.accumulators import Accumulator, Moments, Norms, Points, UnitSums
from limbeck.corpus import Corpus
from limbeck.encoded import Encoded
from limbeck.errors import InputError, LimbeckError
from limbeck.state import atomic, load, save
from limbeck.stopping import SIGNALS, as_ctrl_c
from limbeck.stream import Choice, Passed, TextSource, run_pass
from limbeck.stream.checkpoint import PARTS, PLAN, Checkpoint, Part, gaps
from limbeck.stream.context import RunContext
from limbeck.stream.filling import fill
from limbeck.stream.tasks import ShardEnd
from limbeck.stream.workers import Workers, prefetched

MADE = sentences(200, documents=12)
SHAPE = {"layers": LAYERS, "dim": DIM}


PACE = {"save_every": -1.0}  #: of `go`, in seconds


@pytest.fixture(autouse=True)
def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.stream.local.REST", 0)


def accumulators() -> list[Accumulator]:
    return [Moments(**SHAPE), UnitSums(**SHAPE), Norms(**SHAPE), Points(**SHAPE, capacity=100)]


def go(
    folder: Path | None,
    encoder: OwnEncoder | None = None,
    made: list[Any] = MADE,
    workers: Workers | None = None,
    **options: Any,
) -> Passed:
    context = RunContext(workers or Workers(), checkpoint=folder, shard_units=60, **PACE)
    source = TextSource(Corpus.from_sentences(made), encoder or OwnEncoder(), "sentence", 60)
    return run_pass(source, accumulators(), context=context, **options)


def stop_at(batch: int, error: type[BaseException]) -> OwnEncoder:
    def watch(number: int) -> None:
        if number == batch:
            raise error

    return OwnEncoder(watch=watch)


def equal(a: Passed, b: Passed) -> None:
    assert a.plan.to_arrays().keys() == b.plan.to_arrays().keys()
    for left, right in zip(a.accumulators, b.accumulators, strict=True):
        theirs = right.state()
        for name, array in left.state().items():
            if array.dtype.kind == "f":
                np.testing.assert_allclose(array, theirs[name], rtol=1e-10, atol=1e-12, err_msg=f"{left.name} {name}")
            else:
                np.testing.assert_array_equal(array, theirs[name], err_msg=f"{left.name} {name}")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("batch", [1, 9, 20])
def test_a_stopped_pass_goes_on(tmp_path: Path, batch: int, error: type[BaseException]) -> None:
    with pytest.raises(error):
        go(tmp_path, stop_at(batch, error))
    second = OwnEncoder()
    resumed = go(tmp_path, second)
    undisturbed = OwnEncoder()
    equal(resumed, go(None, undisturbed))
    if batch > 1:
        assert second.batches < undisturbed.batches  # it did not begin anew


class Signalled:
    """Sends a signal to this process when a batch is read, and another one later."""

    def __init__(self, number: int, *batches: int) -> None:
        self.number, self.batches = number, batches

    def __call__(self, batch: int) -> None:
        if batch in self.batches:
            signal.raise_signal(self.number)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Signals as the command line has them; nothing is saved for want of time passed."""
    monkeypatch.setitem(PACE, "save_every", 10_000.0)
    monkeypatch.setattr("limbeck.stopping.TWICE", 0.0)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    with as_ctrl_c():
        yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_writes_what_is_done(tmp_path: Path, number: int) -> None:
    """Long before the state is due, and the shard under way to its end."""
    first, watcher = OwnEncoder(watch=Signalled(number, 12)), Watcher()
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, first, consumers=[watcher])
    (left,) = parts_in(tmp_path)
    assert Part.named(Path(left)) == Part(0, len(watcher.ended))
    assert len(watcher.ended) > 2
    second = OwnEncoder()
    resumed = go(tmp_path, second)
    undisturbed = OwnEncoder()
    equal(resumed, go(None, undisturbed))
    assert first.batches + second.batches == undisturbed.batches  # nothing is done twice


@pytest.mark.usefixtures("heard")
def test_a_signal_again_and_again(tmp_path: Path) -> None:
    """Each try does some shards; the last one takes what all have left."""
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path, OwnEncoder(watch=Signalled(signal.SIGTERM, 6)))
    assert len(parts_in(tmp_path)) == 3
    equal(go(tmp_path), go(None))


@pytest.mark.usefixtures("heard")
def test_a_signal_in_the_first_shard_ends_the_pass_at_once(tmp_path: Path) -> None:
    encoder = OwnEncoder(watch=Signalled(signal.SIGTERM, 1))
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, encoder)
    assert encoder.batches == 1
    assert parts_in(tmp_path) == []
    equal(go(tmp_path), go(None))


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("impatient", [True, False])
def test_a_long_shard_is_not_waited_for(tmp_path: Path, impatient: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a second signal, and when the time is up."""
    again: list[int] = []
    batches: list[Encoded] = []

    def endless(*given: Any, **how: Any) -> Iterator[Encoded | ShardEnd]:
        for item in fill(*given, **how):
            while isinstance(item, ShardEnd) and item.shard.number == 2 and len(again) < 100:
                again.append(1)
                if len(again) == 1 or (len(again) == 3 and impatient):
                    signal.raise_signal(signal.SIGTERM)
                yield batches[-1].take(np.empty(0, np.int64))
            if isinstance(item, Encoded):
                batches.append(item)
            yield item

    with monkeypatch.context() as patch:
        patch.setattr("limbeck.stopping.GRACE", 10_000.0 if impatient else -1.0)
        patch.setattr("limbeck.stream.local.fill", endless)
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path)
    assert len(again) == (3 if impatient else 1)
    assert parts_in(tmp_path) == []
    equal(go(tmp_path), go(None))


@pytest.mark.usefixtures("heard")
def test_a_signal_while_parts_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is read: what is being written is written, once more is another matter."""
    plain = Checkpoint.save_part

    def signalled(self: Checkpoint, *given: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        plain(self, *given)

    monkeypatch.setattr(Checkpoint, "save_part", signalled)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path)
    monkeypatch.setattr(Checkpoint, "save_part", plain)
    second = OwnEncoder()
    equal(go(tmp_path, second), go(None))
    assert second.batches == 0


@pytest.mark.usefixtures("heard")
def test_two_signals_while_the_state_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there whole or not at all."""
    import limbeck.state

    real = np.savez

    def signalled(file: Any, **arrays: Any) -> None:
        real(file, **arrays)
        if len(arrays) > 20:  # no plan
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(limbeck.state.np, "savez", signalled)
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path, OwnEncoder(watch=Signalled(signal.SIGTERM, 12)))
    assert parts_in(tmp_path) == []
    equal(go(tmp_path), go(None))


def test_consumers_are_given_only_the_shards_that_are_not_done(tmp_path: Path) -> None:
    first, second = Watcher(), Watcher()
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, stop_at(12, KeyboardInterrupt), consumers=[first])
    passed = go(tmp_path, consumers=[second])
    # saving takes its time, so the state may be some shards behind; none is left out
    assert second.ended == list(range(second.ended[0], len(passed.plan.shards)))
    assert 1 <= second.ended[0] <= len(first.ended)


def test_counts_of_what_was_dropped_survive(tmp_path: Path) -> None:
    class Forgetful(OwnEncoder):
        """One word of each chunk has no vector."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            whole = self.prepare

            def prepare(texts: Any) -> Any:
                prepared = whole(texts)
                prepared.dropped["forgotten"] = 1
                return prepared

            self.prepare = prepare  # type: ignore[assignment]

    def watch(number: int) -> None:
        if number == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, Forgetful(watch=watch))
    assert go(tmp_path, Forgetful()).dropped == go(None, Forgetful()).dropped != {}


def test_what_has_changed_is_named(tmp_path: Path) -> None:
    go(tmp_path, choice=Choice(min_contexts=2), settings={"points": 100})
    other = OwnEncoder()
    other.fingerprint = "own-2"
    same: dict[str, Any] = {"choice": Choice(min_contexts=2), "settings": {"points": 100}}
    for told, change in {
        "model": {"encoder": other},
        "text": {"made": sentences(200, seed=9)},
        "points was 100 and is 7": {"settings": {"points": 7}},
        "seed was 0 and is 3": {"seed": 3},
        "choice was ": {"choice": Choice(min_contexts=3)},
        "deduplicate was True": {"deduplicate": False},
    }.items():
        with raises(InputError, code="other_run", parameter="existing", says=f"; {told}"):
            go(tmp_path, **(same | change))
    equal(go(tmp_path, **same), go(None, **same))


def test_the_text_unit_belongs_to_the_settings(tmp_path: Path) -> None:
    corpus = Corpus.from_sentences(MADE)
    run_pass(TextSource(corpus, OwnEncoder()), [], context=RunContext(checkpoint=tmp_path))
    with raises(InputError, code="other_run", parameter="existing", says=("'sentence'", "'paragraph'")):
        run_pass(TextSource(corpus, OwnEncoder(), "paragraph"), [], context=RunContext(checkpoint=tmp_path))


def test_other_accumulators_are_refused(tmp_path: Path) -> None:
    source = TextSource(Corpus.from_sentences(MADE), OwnEncoder())
    run_pass(source, [Moments(**SHAPE)], context=RunContext(checkpoint=tmp_path))
    with raises(InputError, code="other_kind", parameter="existing"):
        run_pass(source, [Norms(**SHAPE)], context=RunContext(checkpoint=tmp_path))


def parts_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / PARTS).iterdir())


def stopped(folder: Path, batch: int = 20) -> list[str]:
    """The parts that a pass leaves which is stopped at this batch."""
    with pytest.raises(KeyboardInterrupt):
        go(folder, stop_at(batch, KeyboardInterrupt))
    return parts_in(folder)


def test_parts_stay_few_and_become_one(tmp_path: Path) -> None:
    left = stopped(tmp_path)
    covered = [shard for name in left if (part := Part.named(Path(name))) for shard in range(part.first, part.stop)]
    assert 2 <= len(left) <= 3
    assert covered == list(range(len(covered)))  # each shard once
    passed = go(tmp_path)
    assert parts_in(tmp_path) == [f"000000-{len(passed.plan.shards):06d}.npz"]


def test_a_resumed_pass_encodes_each_missing_shard_once(tmp_path: Path) -> None:
    left = stopped(tmp_path)
    (tmp_path / PARTS / left[1]).unlink()
    lost = Part.named(Path(left[1]))
    assert lost is not None
    last = Part.named(Path(left[-1]))
    assert last is not None
    watcher = Watcher()
    passed = go(tmp_path, consumers=[watcher])
    assert watcher.ended == [*range(lost.first, lost.stop), *range(last.stop, len(passed.plan.shards))]
    equal(passed, go(None))


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_part_is_found_and_its_shards_alone_are_done_again(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = np.random.default_rng(seed)
    left = stopped(tmp_path)
    chosen = left[int(generator.integers(len(left)))]
    path = tmp_path / PARTS / chosen
    content = bytearray(path.read_bytes())
    if seed % 3 == 0:
        del content[int(generator.integers(len(content))) :]
    else:  # inside the largest array, where no other field of the archive is
        for place in generator.integers(len(content) // 4, len(content) // 2, size=1 + seed % 3):
            content[place] ^= 1 << int(generator.integers(8))
    path.write_bytes(content)
    lost, last = Part.named(Path(chosen)), Part.named(Path(left[-1]))
    assert lost is not None
    assert last is not None
    watcher = Watcher()
    passed = go(tmp_path, consumers=[watcher])
    assert sorted(watcher.ended) == sorted({*range(lost.first, lost.stop), *range(last.stop, len(passed.plan.shards))})
    (line,) = capsys.readouterr().err.splitlines()
    assert chosen in line
    assert "damaged" in line
    assert "done again" in line
    equal(passed, go(None))


@pytest.mark.parametrize("size", [0, 100, 3000])
def test_a_damaged_plan_is_made_anew_and_parts_stay(
    tmp_path: Path, size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    left = stopped(tmp_path)
    path = tmp_path / PLAN
    path.write_bytes(path.read_bytes()[:size])
    second = OwnEncoder()
    equal(go(tmp_path, second), go(None))
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"{path}: damaged, the text is planned anew."
    assert left
    assert second.batches < 20  # the parts of an equal plan count


def test_a_part_of_another_plan_is_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stopped(tmp_path)
    (tmp_path / PLAN).unlink()
    source = TextSource(Corpus.from_sentences(MADE), OwnEncoder(), "sentence", 60)
    passed = run_pass(source, accumulators(), context=RunContext(checkpoint=tmp_path, shard_units=100, **PACE))
    assert "of another plan" in capsys.readouterr().err
    equal(passed, go(None))


def test_a_merged_part_and_those_it_was_merged_from_count_once(tmp_path: Path) -> None:
    """Killed after the merged part was written, before the others were removed."""
    left = stopped(tmp_path)
    kept = {name: (tmp_path / PARTS / name).read_bytes() for name in left}
    passed = go(tmp_path)
    for name, content in kept.items():
        (tmp_path / PARTS / name).write_bytes(content)
    second = OwnEncoder()
    equal(go(tmp_path, second), passed)
    assert second.batches == 0
    assert len(parts_in(tmp_path)) == 1


@pytest.mark.parametrize(
    ("done", "start", "missing"),
    [
        ([], 0, [(0, 9)]),
        ([], 4, [(4, 9)]),
        ([(0, 9)], 0, []),
        ([(2, 4)], 0, [(0, 2), (4, 9)]),
        ([(6, 9), (0, 1), (1, 3)], 0, [(3, 6)]),
    ],
)
def test_gaps(done: list[tuple[int, int]], start: int, missing: list[tuple[int, int]]) -> None:
    assert gaps([Part(*one) for one in done], 9, start=start) == [Part(*one) for one in missing]


def test_another_format_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.state.FORMAT", 99)
    save(tmp_path / "x.npz", {"a": np.arange(3)})
    monkeypatch.undo()
    with raises(InputError, code="other_format", says=("99", "x.npz")):
        load(tmp_path / "x.npz")


def test_a_full_disk_keeps_the_state_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    import limbeck.state

    real, calls = np.savez, []

    def full(file: Any, **arrays: Any) -> None:
        calls.append(1)
        real(file, **arrays)
        if len(calls) == 3:  # the plan, the first part, and another one
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(limbeck.state.np, "savez", full)
    with raises(LimbeckError, code="not_writable", says="(No space left on device)"):
        go(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [PARTS, PLAN]
    assert len(parts_in(tmp_path)) == 1  # no temporary file
    equal(go(tmp_path), go(None))


def test_files_appear_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    def write_half() -> None:
        with atomic(path) as temporary:
            temporary.write_text("aft")
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        write_half()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_arrays_come_back_bit_for_bit(tmp_path: Path) -> None:
    arrays = {
        "a/b": np.array([np.nan, -0.0, 1e-310]),
        "empty": np.empty((0, 3), np.float32),
        "hash": np.array([2**64 - 1], np.uint64),
    }
    save(tmp_path / "x.npz", arrays, about={"n": 1, "words": ["é"]})
    found, about = load(tmp_path / "x.npz")
    assert about == {"n": 1, "words": ["é"]}
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes()
        assert found[name].shape == array.shape


# processes


def test_prefetching_changes_nothing_and_passes_errors_on() -> None:
    assert list(prefetched(iter(range(50)), depth=3)) == list(range(50))

    def broken() -> Any:
        yield 1
        raise InputError("here", code="damaged")

    with raises(InputError, code="damaged", says="here"):
        list(prefetched(broken(), depth=2))


class Count:
    """A job: some numbers."""

    def __init__(self, first: int, stop: int) -> None:
        self.first, self.stop = first, stop
        self.weight = bytes(1 << 20)  # more than a pipe holds

    def __call__(self, pool: Any) -> Any:
        return iter(range(self.first, self.stop))


@pytest.mark.parametrize("count", [0, 1])
def test_a_job_may_be_given_while_another_is_under_way(count: int) -> None:
    with Workers(count) as workers:
        if count:
            with pytest.raises((pickle.PicklingError, AttributeError)):
                workers.run(lambda pool: iter(()))
            assert list(workers.run(Count(0, 3))) == [0, 1, 2]
        one, two = workers.run(Count(0, 40)), workers.run(Count(40, 90))
        assert list(one) == list(range(40))
        assert next(two) == 40
        three = workers.run(Count(0, 9))
        del two, three  # neither is wanted any more
        assert list(workers.run(Count(7, 60))) == list(range(7, 60))


def test_an_error_in_a_worker_is_the_users_error(tmp_path: Path) -> None:
    path = tmp_path / "text.jsonl"
    path.write_text('{"words": ["a", "b"]}\n{"words": [1]}\n')
    source = TextSource(Corpus(path), OwnEncoder())
    with Workers(1) as workers, raises(InputError, code="malformed", says="text.jsonl:2:"):
        run_pass(source, [], context=RunContext(workers))


KILLED = """
import sys, time
from made import OwnEncoder, sentences
from limbeck.corpus import Corpus
from limbeck.stream import TextSource, run_pass
from limbeck.stream.context import RunContext
from limbeck.stream.workers import Workers

def sleep(batch):
    print("begun", flush=True)
    time.sleep(60)

if __name__ == "__main__":
    source = TextSource(Corpus.from_sentences(sentences(50)), OwnEncoder(watch=sleep))
    run_pass(source, [], context=RunContext(Workers(2)))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find processes")
def test_workers_of_a_killed_process_end_and_clean_up(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        children = descendants(process.pid)
        assert len(children) >= 2
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and any(map(alive, children)):
            time.sleep(0.05)
        assert not any(map(alive, children))
    assert [path.name for path in tmp_path.iterdir()] == ["killed.py"]


def descendants(process: int) -> list[int]:
    """Processes that a process started, and those they started."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
