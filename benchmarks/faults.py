"""Runs that are killed at random moments, files that are damaged: what comes out after they are resumed.

    python -m benchmarks.faults [--trials 36] [--ray-trials 18] [--damage 20] [--seed 0] [--from 0] [--to 74]

A pass over made text, with a model that is made slow on purpose and a state that is saved again and again, is killed
(kill -9) one to three times at moments drawn from the seed, then resumed until it is through. Its state must be that
of an undisturbed pass, floating-point numbers to 1e-10 and counts exactly: no shard counted twice, none lost. On the
local engine the whole run or a process that prepares the text is killed, on Ray a worker, the driver, or all of it.
What is left of a run must end by itself: one that waits for ever has failed, whatever it had saved.

All trials take most of an hour; `--from` and `--to` do some of them, and what they find is added to the trials that
results/faults.json has already, so that several short runs make one table.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import report, results
from benchmarks.text import sentences

LAYERS, DIM, WORDS = 3, 16, 6000
AGREE = 1e-10


class SlowEncoder:
    """float32 vectors of words and their neighbours, no faster than so many seconds a batch."""

    name, fingerprint, units, dim = "slow", "slow-1", "words", DIM
    layers = tuple(map(str, range(LAYERS)))

    def __init__(self, pause: float) -> None:
        from limbeck.encoders.function import TextPreparer

        self.prepare = TextPreparer()
        self.pause = pause

    def forward(self, batch: Any) -> Any:
        import torch

        from limbeck.seeds import hash_text

        time.sleep(self.pause)
        numbers = np.array([hash_text(word) % 997 for word in batch.strings], dtype=np.float32)
        table = np.sin(numbers[:, None] * np.arange(1, LAYERS * DIM + 1, dtype=np.float32) / 31) + 0.2
        table[1:] += 0.5 * table[:-1]
        return torch.from_numpy(np.ascontiguousarray(table.reshape(-1, LAYERS, DIM).transpose(1, 0, 2)))


@dataclass
class Pass:
    """One pass over the made text, by either engine."""

    folder: Path | None
    engine: str = "local"
    workers: int = 0
    pause: float = 0.02

    def __call__(self) -> Any:
        import limbeck.stream.local as local
        from limbeck.accumulators import Moments, Norms, Points, UnitSums, WordSums
        from limbeck.corpus import Corpus, Sentence
        from limbeck.stream import Choice, TextSource, run_pass
        from limbeck.stream.run import running

        local.REST = 0
        said = [Sentence(tuple(words), number // 8, index=number % 8) for number, words in
                enumerate(sentences(WORDS, types=300))]  # fmt: skip
        shape = {"layers": LAYERS, "dim": DIM}

        def accumulators(plan: Any) -> list[Any]:
            words = WordSums(**shape, words=len(plan.vocabulary), vocabulary=plan.fingerprint)
            return [Moments(**shape), UnitSums(**shape), Norms(**shape), Points(**shape, capacity=200), words]

        source = TextSource(Corpus.from_sentences(said), SlowEncoder(self.pause), "sentence", 100)
        with running(self.workers, engine=self.engine) as context:
            # saved so often that kills fall into it
            context = replace(context, checkpoint=self.folder, shard_units=200, save_every=0.05)
            return run_pass(source, accumulators, context=context, choice=Choice(min_contexts=2))


def difference(passed: Any, wanted: Any) -> float:
    """The largest relative difference of two states; infinite where counts are unlike."""
    worst = 0.0
    for mine, theirs in zip(passed.accumulators, wanted.accumulators, strict=True):
        other = theirs.state()
        for name, array in mine.state().items():
            if array.dtype.kind != "f":
                if not np.array_equal(array, other[name]):
                    return float("inf")
            elif array.size:
                scale = np.abs(other[name]).max() or 1.0
                worst = max(worst, float(np.abs(array - other[name]).max() / scale))
    return worst


# processes


def begun(work: Callable[[], Any]) -> int:
    """A process of its own that does this; forked, since starting one anew would take longer than the pass."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    os.setsid()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        work()
        os._exit(0)
    except BaseException:
        os._exit(1)


def ended(process: int, seconds: float) -> bool:
    """Wait for a child to end, at most so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if os.waitpid(process, os.WNOHANG)[0]:
                return True
        except ChildProcessError:  # it was waited for already
            return True
        time.sleep(0.005)
    return False


def finished(process: int, seconds: float) -> bool:
    """Whether a child ended by itself within this time; one that did not is killed."""
    if ended(process, seconds):
        return True
    kill(process)
    ended(process, 30)
    return False


def descendants(process: int) -> Iterator[int]:
    """Processes that a process has started, and those that they have."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return
    for child in children:
        yield child
        yield from descendants(child)


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


# trials


@dataclass
class Outcome:
    kind: str
    kills: int
    hits: int  # kills that met a run which was not through
    parts: int  # whole parts that the last try found
    difference: float
    left: int = 0  # processes that outlived their driver
    hung: int = 0  # runs that did not end by themselves

    @property
    def good(self) -> bool:
        return self.difference <= AGREE and not self.hung


def local_trial(kind: str, folder: Path, generator: np.random.Generator, wanted: Any, length: float) -> Outcome:
    """Kill the whole run, or a process that prepares the text, and let another go on."""
    workers = 1 if kind == "local, a process that prepares" else 0
    kills, hits, hung = int(generator.integers(1, 4)), 0, 0
    for _ in range(kills):
        child = begun(Pass(folder, workers=workers))
        delay = float(generator.uniform(0, 1.1 * length + 2.5 * workers))
        if not ended(child, delay):
            hits += 1
            inner = [one for one in descendants(child) if "spawn_main" in command_of(one)]
            kill(inner[int(generator.integers(len(inner)))] if inner else child)
            hung += not finished(child, 60)
    found = len(list((folder / "parts").glob("*.npz")))
    return Outcome(kind, kills, hits, found, difference(Pass(folder, pause=0.0)(), wanted), hung=hung)


def ray_trial(kind: str, folder: Path, generator: np.random.Generator, wanted: Any, length: float) -> Outcome:
    """Kill a worker of Ray, its driver or everything; a lost worker is replaced, all else is resumed."""
    child = begun(Pass(folder, engine="ray", workers=2))
    fillers: list[int] = []
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and not fillers and not ended(child, 0.05):
        # a pass is under way when parts appear; to kill before that is a trial, too, now and then
        ready = any((folder / "parts").glob("*.npz")) or generator.random() < 0.002
        fillers = [one for one in descendants(child) if "Filler" in command_of(one)] if ready else []
    time.sleep(float(generator.uniform(0, 0.4 * length)))  # two workers are soon through
    family = list(descendants(child))
    fillers = [] if ended(child, 0.005) else [one for one in fillers if alive(one)]  # of a pass that is under way
    hung = 0
    if kind == "ray, a worker":
        if fillers:
            kill(fillers[int(generator.integers(len(fillers)))])
        hung += not finished(child, 240)
    elif kind == "ray, the driver":
        kill(child)
        ended(child, 30)
    else:
        for one in [child, *family]:
            kill(one)
        ended(child, 30)
    deadline = time.monotonic() + 150  # two of Ray's own agents take a minute to see that it is gone
    while time.monotonic() < deadline and any(map(alive, family)):
        time.sleep(0.1)
    left = sum(map(alive, family))
    for one in family:
        kill(one)
    found = len(list((folder / "parts").glob("*.npz")))
    return Outcome(kind, 1, int(bool(fillers)), found, difference(Pass(folder, pause=0.0)(), wanted), left, hung)


def damage_trial(kind: str, folder: Path, generator: np.random.Generator, wanted: Any, length: float) -> Outcome:
    """Stop a run, then cut a file of its state off or turn some of its bits; resume."""
    child = begun(Pass(folder))
    if not ended(child, float(generator.uniform(0.4, 0.9)) * length):
        kill(child)
        ended(child, 30)
    files = [*sorted((folder / "parts").glob("*.npz")), folder / "plan.npz"]
    files = [file for file in files if file.exists()]
    if files:
        file = files[int(generator.integers(len(files)))]
        content = bytearray(file.read_bytes())
        if kind == "a file cut off":
            del content[int(generator.integers(len(content))) :]
        else:
            for place in generator.integers(len(content), size=int(generator.integers(1, 9))):
                content[int(place)] ^= 1 << int(generator.integers(8))
        file.write_bytes(content)
    return Outcome(kind, 1, int(bool(files)), max(len(files) - 1, 0), difference(Pass(folder, pause=0.0)(), wanted))


LOCAL = ("local, the whole run", "local, the whole run", "local, a process that prepares")
RAY = ("ray, a worker", "ray, the driver", "ray, everything")
DAMAGE = ("a file cut off", "bits of a file turned")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=36, help="of the local engine")
    parser.add_argument("--ray-trials", type=int, default=18)
    parser.add_argument("--damage", type=int, default=20, help="trials with a damaged file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--from", dest="first", type=int, help="number of the first trial; those before it are kept")
    parser.add_argument("--to", dest="stop", type=int, help="one past the last trial")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)  # processes are forked: no other thread may run
    began = time.monotonic()
    wanted = Pass(None)()
    length = time.monotonic() - began  # with its planning
    plans: list[tuple[tuple[str, ...], int, Any]] = [
        (LOCAL, options.trials, local_trial),
        (RAY, options.ray_trials, ray_trial),
        (DAMAGE, options.damage, damage_trial),
    ]
    every = [(kinds[number % len(kinds)], trial) for kinds, count, trial in plans for number in range(count)]
    outcomes = {} if options.first is None else known(options.seed)
    for number in range(options.first or 0, min(options.stop or len(every), len(every))):
        kind, trial = every[number]
        generator = np.random.default_rng([options.seed, number])
        with tempfile.TemporaryDirectory(prefix="limbeck-faults-") as folder:
            last = outcomes[number] = trial(kind, Path(folder), generator, wanted, length)
        told = f"{last.hits} hits, {last.parts} parts, {last.difference:.1e}" + ", did not end" * bool(last.hung)
        print(f"{number:4} {kind:32} {told}", flush=True)
    figures = table(list(outcomes.values()))
    each = {str(number): asdict(outcomes[number]) for number in sorted(outcomes)}
    report("faults", figures, seed=options.seed, each=each)
    sys.exit(bool(figures["failed"]))


def known(seed: int) -> dict[int, Outcome]:
    """Trials of an earlier run with this seed, by their numbers."""
    try:
        found = json.loads((results() / "faults.json").read_text())
    except FileNotFoundError:
        return {}
    return {int(n): Outcome(**one) for n, one in found["each"].items()} if found["seed"] == seed else {}


def table(outcomes: list[Outcome]) -> dict[str, Any]:
    """Trials by kind."""
    figures: dict[str, Any] = {}
    for kind in dict.fromkeys(one.kind for one in outcomes):
        own = [one for one in outcomes if one.kind == kind]
        figures[kind] = {
            "trials": len(own),
            "kills": sum(one.kills for one in own),
            "met a run under way": sum(one.hits for one in own),
            "parts found": sum(one.parts for one in own),
            "agree": sum(one.difference <= AGREE for one in own),
            "largest difference": max(one.difference for one in own),
            "processes left": sum(one.left for one in own),
            "did not end": sum(one.hung for one in own),
        }
    figures["trials"] = len(outcomes)
    figures["agree to 1e-10"] = sum(one.difference <= AGREE for one in outcomes)
    figures["failed"] = [one.kind for one in outcomes if not one.good]
    return figures


if __name__ == "__main__":
    main()
