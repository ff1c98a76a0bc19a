"""What Ray costs and brings: one worker against the local engine, two against one, and the merging of 1,000 states.

    python -m benchmarks.scale [--words 1000000] [--rounds 2] [--states 1000] [--only overhead speedup reduction]

A small random BERT reads made text with every accumulator of `limbeck measure`. The sides take turns, since machines
are shared and noisy, on the same text, another one each round; starting Ray and its workers is told apart. Against the
local engine one worker has all cores and as many threads. Where two workers are set against one, each is held to a core
of its own: a single one would use the second core for its text. States for the reduction are as large as a miniature's
(13 layers, 128 dimensions, 2,000 words); what 13 layers of 768 with 50,000 words would take follows by their bytes, of
which the merging is linear.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import report
from benchmarks.models import bert, train_tokenizer
from benchmarks.text import write_prose
from limbeck.cli.process import prepare_process
from limbeck.corpus import Corpus

PARTS = ("overhead", "speedup", "reduction")
BUDGET = 4096  #: padded pieces a batch
FILES = 8  #: of states, read again and again: a thousand would fill the disk and say no more
LARGE = {"layers": 13, "dim": 768, "words": 50_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=1_000_000, help="of a pass")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--states", type=int, default=1_000)
    parser.add_argument("--state-words", type=int, default=2_000)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=PARTS)
    options = parser.parse_args()
    prepare_process()

    with tempfile.TemporaryDirectory(prefix="limbeck-scale-") as folder:
        if {"overhead", "speedup"} & set(options.only):
            passes = Passes(Path(folder), options)
            if "overhead" in options.only:
                report("scale-overhead", overhead(passes))
            if "speedup" in options.only:
                report("scale-speedup", speedup(passes))
        if "reduction" in options.only:
            report("scale-reduction", reduction(Path(folder), options))


class Passes:
    """Pieces of made text, a small model, and passes over them."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.size = folder, options.words
        self.files = [write_prose(folder / f"{turn}.txt", self.size, seed=turn) for turn in range(options.rounds)]
        self.warm = write_prose(folder / "warm.txt", 6_000, seed=99)
        self.tokenizer = train_tokenizer(Corpus(self.files[0], format="prose"))
        self.shape = {"layers": options.layers, "dim": options.dim}

    def warm_up(self, workers: Any) -> float:
        """Seconds of a small pass, in which every worker has something to do, twice."""
        return self.run(self.warm, workers, shard_units=100)

    def run(self, file: Path, workers: Any, shard_units: int | None = None) -> float:
        """Seconds of plan and pass, by a model and a tokeniser that have seen no text yet, as in a command."""
        from limbeck.runs.measure import MeasureSettings
        from limbeck.runs.measuring.sums import accumulators_for
        from limbeck.stream import RunContext, TextSource, run_pass

        encoder = bert(self.tokenizer, device="cpu", dtype="float32", batch_tokens=2 * BUDGET, **self.shape)
        source = TextSource(Corpus(file, format="prose"), encoder, "sentence", BUDGET)
        settings = MeasureSettings(mev_words=100, points=5_000)
        shape = {"layers": len(encoder.layers), "dim": encoder.dim}
        context = RunContext(workers, shard_units=shard_units)
        began = time.perf_counter()
        run_pass(source, lambda plan: accumulators_for(plan, **shape, settings=settings), context=context)
        return time.perf_counter() - began


def overhead(passes: Passes) -> dict[str, Any]:
    """Ray with one worker over the local engine."""
    from limbeck.stream import Workers
    from limbeck.stream.ray import RayWorkers

    began = time.perf_counter()
    with RayWorkers(1, prepare=prepare_process) as ray, Workers() as local:
        ray.start()
        started = time.perf_counter() - began
        warm = passes.warm_up(ray)
        passes.warm_up(local)
        rounds = []
        for turn, file in enumerate(passes.files):
            sides = [("local", local), ("ray", ray)]
            rounds.append({name: passes.run(file, side) for name, side in sides[:: 1 if turn % 2 else -1]})
    ratios = [turn["ray"] / turn["local"] for turn in rounds]
    whole = sum(turn["ray"] for turn in rounds) / sum(turn["local"] for turn in rounds)
    return {
        "words of a pass": passes.size,
        "Ray with one worker over local, all rounds": whole,
        "Ray over local, rounds": [round(ratio, 3) for ratio in ratios],
        "words a second, local": passes.size * len(rounds) / sum(turn["local"] for turn in rounds),
        "seconds of a pass, local": [round(turn["local"], 1) for turn in rounds],
        "load of the machine": round(os.getloadavg()[0], 1),
        "seconds to start Ray": started,
        "seconds of a first small pass, which starts the worker": warm,
    }


@dataclass(frozen=True)
class OwnCore:
    """Holds a worker's process to a core that no other one of its kind has."""

    folder: Path

    def __call__(self) -> None:
        prepare_process()
        self.folder.mkdir(exist_ok=True)
        for core in sorted(os.sched_getaffinity(0)):
            with suppress(FileExistsError):
                (self.folder / str(core)).touch(exist_ok=False)
                os.sched_setaffinity(0, {core})
                return


def speedup(passes: Passes) -> dict[str, Any]:
    """Two workers of one core over one."""
    from limbeck.stream.ray import RayWorkers

    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        return {"two workers over one": f"not measured: {cores} core"}
    ratios = []
    with RayWorkers(1, cores_per_worker=1) as base:
        base.start()
        for turn, file in enumerate(passes.files):
            seconds = {}
            for many in (1, 2) if turn % 2 else (2, 1):
                own = OwnCore(passes.folder / f"{turn}-{many}")
                with RayWorkers(many, cores_per_worker=1, prepare=own) as workers:
                    passes.warm_up(workers)
                    seconds[many] = passes.run(file, workers)
            ratios.append(seconds[1] / seconds[2])
    load = os.getloadavg()[0]
    return {
        "words of a pass": passes.size,
        "two workers over one, median": statistics.median(ratios),
        "two workers over one, rounds": [round(ratio, 3) for ratio in ratios],
        "cores": cores,
        "load of the machine": round(load, 1),
    }


def reduction(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Merge states of shards: one after the other from disk, and tree-wise on Ray."""
    from limbeck.accumulators import Moments, WordSums
    from limbeck.stream import Plan
    from limbeck.stream.checkpoint import Checkpoint, Part, arrays_of
    from limbeck.stream.ray import RayWorkers, put, ray
    from limbeck.stream.tree import Node, Tree

    layers, dim, words = 13, 128, options.state_words

    def state(seed: int) -> list[Any]:
        generator = np.random.default_rng(seed)
        sums = WordSums(layers=layers, dim=dim, words=words)
        sums.n[:] = 1
        sums.sums[:] = _tensor(generator, layers, words, dim)
        moments = Moments(layers=layers, dim=dim)
        moments.n, moments.mean = 1000, _tensor(generator, layers, dim)
        return [sums, moments]

    saved = Checkpoint(folder / "state", {})
    saved.open(_plan(Plan), [])
    for number in range(FILES):
        saved.save_part(Part(number, number + 1), state(number), {})
    size = (folder / "state" / "parts" / Part(0, 1).file).stat().st_size
    total = state(999)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own:  # with a memory that nothing else has used
        local, cpu, peak = own.submit(merge_from_disk, folder / "state", total, options.states).result()

    with RayWorkers(2) as workers:
        workers.start()
        hands = [workers.hand() for _ in range(2)]
        arrays = arrays_of(state(1))
        tree = Tree(state(0))
        tree.settings = [accumulator.settings() for accumulator in total]
        for number, hand in enumerate(hands):  # their processes start
            tree.add(Part(number, number + 1), Node(ray.put(arrays), {}))
            tree.add(Part(number + 1, number + 2), Node(ray.put(arrays), {}))
            tree.pair(hand)
            _wait(tree, ray)
            tree.remove(Part(number, number + 2))
        for hand in hands:
            hand.learn.remote(put(lambda anew: peak_memory(anew=anew)))
        resting = ray.get([hand.call.remote(True) for hand in hands])
        most, began = 0, time.perf_counter()
        for number in range(options.states):  # as they come from workers, each of which merges between two of its own
            tree.add(Part(number, number + 1), Node(ray.put(arrays), {}))
            hand = hands[number % 2]
            while tree.busy(hand):
                _wait(tree, ray)
            while tree.pair(hand):
                pass
            most = max(most, tree.held)
        while not tree.whole:
            for hand in hands:
                if not tree.busy(hand):
                    tree.pair(hand, all_done=True)
            _wait(tree, ray)
        on_ray = time.perf_counter() - began
        peaks = ray.get([hand.call.remote(False) for hand in hands])
    scale = LARGE["layers"] * LARGE["dim"] * LARGE["words"] / (layers * dim * words)
    return {
        "states": options.states,
        "megabytes of a state": size / 1e6,
        "seconds, one after the other from disk": local,
        "milliseconds a merge, from disk": 1000 * local / (options.states - 1),
        "milliseconds of processor a merge, from disk": 1000 * cpu / (options.states - 1),
        "peak memory, from disk, in states": peak / size,
        "seconds, tree on Ray": on_ray,
        "milliseconds a merge, on Ray": 1000 * on_ray / (options.states - 1),
        "most states held at once on Ray": most,
        "peak memory of a worker of Ray, in states": max(np.subtract(peaks, resting)) / size,
        "13 layers x 768 x 50,000 words: gigabytes of a state": size * scale / 1e9,
        "13 layers x 768 x 50,000 words: seconds a merge, from disk": scale * local / (options.states - 1),
        "13 layers x 768 x 50,000 words: hours for all, from disk": scale * local / 3600,
        "13 layers x 768 x 50,000 words: hours for all, on Ray": scale * on_ray / 3600,
    }


def merge_from_disk(folder: Path, total: list[Any], states: int) -> tuple[float, float, int]:
    """One state after the other merged into one: seconds, those of the processor, most bytes at once."""
    from limbeck.stream.checkpoint import Checkpoint, Part

    held = sum(array.nbytes for one in total for array in one.state().values())
    before = peak_memory(anew=True) - held
    saved = Checkpoint(folder, {})
    began, used = time.perf_counter(), time.process_time()
    for number in range(states - 1):
        saved.merge_all([Part(number % FILES, number % FILES + 1)], total)
    return time.perf_counter() - began, time.process_time() - used, peak_memory() - before


def _wait(tree: Any, ray: Any) -> None:
    """For a merge to come to its end."""
    (done, *_), _ = ray.wait(tree.under_way, num_returns=1)
    ray.get(done)
    tree.merged(done)


def _tensor(generator: np.random.Generator, *shape: int) -> Any:
    import torch

    return torch.from_numpy(generator.standard_normal(shape))


def _plan(kind: Any) -> Any:
    from limbeck.corpus import Vocabulary

    none = np.zeros(0, dtype=np.int64)
    return kind(Vocabulary([], none, none), (), none, 0, 0, 0, 0, 0, {})


def peak_memory(*, anew: bool = False) -> int:
    """Most bytes that this process has had in memory, shared ones left out; `anew`: what it has now."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    told = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak, *shared = (int(told[name].split()[0]) for name in ("VmHWM", "RssShmem"))
    return 1024 * (peak - sum(shared))


if __name__ == "__main__":
    main()
