"""A pass that was stopped goes on and gives the numbers of one that was not; another pass's state is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import DIM, LAYERS, OwnEncoder, Watcher, sentences

from limbeck.accumulators import Accumulator, Moments, Norms, Points, UnitSums
from limbeck.corpus import Corpus
from limbeck.errors import InputError, LimbeckError
from limbeck.state import atomic, load, save
from limbeck.stream import Choice, Passed, TextSource, run_pass
from limbeck.stream.checkpoint import PLAN, STATE
from limbeck.stream.workers import prefetched

MADE = sentences(200, documents=12)
SHAPE = {"layers": LAYERS, "dim": DIM}


@pytest.fixture(autouse=True)
def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.stream.run.CHECKPOINT_SECONDS", -1.0)


def accumulators() -> list[Accumulator]:
    return [Moments(**SHAPE), UnitSums(**SHAPE), Norms(**SHAPE), Points(**SHAPE, capacity=100)]


def go(folder: Path | None, encoder: OwnEncoder | None = None, made: list[Any] = MADE, **options: Any) -> Passed:
    source = TextSource(Corpus.from_sentences(made), encoder or OwnEncoder(), "sentence", 60)
    return run_pass(source, accumulators(), checkpoint=folder, shard_units=60, **options)


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
        "model is another": {"encoder": other},
        "text is another": {"made": sentences(200, seed=9)},
        "points was 100 and is 7 now": {"settings": {"points": 7}},
        "seed was 0 and is 3 now": {"seed": 3},
        "min_contexts=3": {"choice": Choice(min_contexts=3)},
        "deduplicate was True": {"deduplicate": False},
    }.items():
        with pytest.raises(InputError, match=told):
            go(tmp_path, **(same | change))
    equal(go(tmp_path, **same), go(None, **same))


def test_the_text_unit_belongs_to_the_settings(tmp_path: Path) -> None:
    corpus = Corpus.from_sentences(MADE)
    run_pass(TextSource(corpus, OwnEncoder()), [], checkpoint=tmp_path)
    with pytest.raises(InputError, match="text unit was 'sentence' and is 'paragraph' now"):
        run_pass(TextSource(corpus, OwnEncoder(), "paragraph"), [], checkpoint=tmp_path)


def test_other_accumulators_are_refused(tmp_path: Path) -> None:
    source = TextSource(Corpus.from_sentences(MADE), OwnEncoder())
    run_pass(source, [Moments(**SHAPE)], checkpoint=tmp_path)
    with pytest.raises(InputError, match="holds moments where norms is asked for"):
        run_pass(source, [Norms(**SHAPE)], checkpoint=tmp_path)


@pytest.mark.parametrize("name", [PLAN, STATE])
def test_a_damaged_state_is_told_by_name(tmp_path: Path, name: str) -> None:
    go(tmp_path)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=f"{name}: not a state file"):
        go(tmp_path)


def test_another_format_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.state.FORMAT", 99)
    save(tmp_path / "x.npz", {"a": np.arange(3)})
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"x\.npz: state format 99, this limbeck reads 1"):
        load(tmp_path / "x.npz")


def test_a_full_disk_keeps_the_state_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    import limbeck.state

    real, calls = np.savez, []

    def full(file: Any, **arrays: Any) -> None:
        calls.append(1)
        real(file, **arrays)
        if len(calls) == 3:  # the plan, the first shard, and another one
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(limbeck.state.np, "savez", full)
    with pytest.raises(LimbeckError, match=r"accumulators\.npz: could not be written \(No space left on device\)"):
        go(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [STATE, PLAN]  # no temporary file
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
        raise InputError("here")

    with pytest.raises(InputError, match="here"):
        list(prefetched(broken(), depth=2))


def test_an_error_in_a_worker_is_the_users_error(tmp_path: Path) -> None:
    path = tmp_path / "text.jsonl"
    path.write_text('{"words": ["a", "b"]}\n{"words": [1]}\n')
    source = TextSource(Corpus(path), OwnEncoder())
    with pytest.raises(InputError, match=r"text\.jsonl:2: "):
        run_pass(source, [], workers=1)


KILLED = """
import sys, time
from made import OwnEncoder, sentences
from limbeck.corpus import Corpus
from limbeck.stream import TextSource, run_pass

def sleep(batch):
    print("begun", flush=True)
    time.sleep(60)

if __name__ == "__main__":
    run_pass(TextSource(Corpus.from_sentences(sentences(50)), OwnEncoder(watch=sleep)), [], workers=2)
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
        deadline = time.monotonic() + 20
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
