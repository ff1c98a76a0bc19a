"""What Ray costs and brings: one worker against the local engine, two against one, and the merging of 1,000 states.

    python -m benchmarks.scale [--words 1000000] [--rounds 4] [--states 1000] [--only overhead speedup reduction]

A small random BERT reads made text with every accumulator of `limbeck measure`. The sides take turns, since machines
are shared and noisy, on the same pieces of text; starting Ray and its workers is told apart. One worker has all cores
against the local engine, and one core each where two are set against one. States for the reduction are as large as a
miniature's (13 layers, 128 dimensions, 2,000 words); what 13 layers of 768 with 50,000 words would take follows by
their bytes, of which the merging is linear.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import report
from benchmarks.models import bert, train_tokenizer
from benchmarks.text import write_prose
from limbeck.cli.process import prepare_process
from limbeck.corpus import Corpus

PARTS = ("overhead", "speedup", "reduction")
LARGE = {"layers": 13, "dim": 768, "words": 50_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=1_000_000, help="in all, parted among the rounds")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--states", type=int, default=1_000)
    parser.add_argument("--state-words", type=int, default=2_000)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--name", default="scale")
    options = parser.parse_args()
    prepare_process()

    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="limbeck-scale-") as folder:
        if {"overhead", "speedup"} & set(options.only):
            passes = Passes(Path(folder), options)
            if "overhead" in options.only:
                figures |= overhead(passes, options)
            if "speedup" in options.only:
                figures |= speedup(passes, options)
        if "reduction" in options.only:
            figures |= reduction(Path(folder), options)
    report(options.name, figures)


class Passes:
    """Pieces of made text, a small model, and passes over them."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.size = options.words // options.rounds
        files = [write_prose(folder / f"{turn}.txt", self.size, seed=turn) for turn in range(options.rounds)]
        warm = write_prose(folder / "warm.txt", 2_000, seed=99)
        tokenizer = train_tokenizer(Corpus(files[0], format="prose"))
        budget = 4096
        self.encoder = bert(tokenizer, device="cpu", dtype="float32", batch_tokens=2 * budget,
            layers=options.layers, dim=options.dim)  # fmt: skip
        from limbeck.stream import TextSource

        self.sources = [TextSource(Corpus(file, format="prose"), self.encoder, "sentence", budget) for file in files]
        self.warm = TextSource(Corpus(warm, format="prose"), self.encoder, "sentence", budget)

    def run(self, source: Any, workers: Any) -> float:
        """Seconds of plan and pass."""
        from limbeck.run.settings import MeasureSettings, accumulators_for
        from limbeck.stream import run_pass

        settings = MeasureSettings(mev_words=100, points=5_000)
        shape = {"layers": len(self.encoder.layers), "dim": self.encoder.dim}
        began = time.perf_counter()
        run_pass(source, lambda plan: accumulators_for(plan, **shape, settings=settings), workers=workers)
        return time.perf_counter() - began


def overhead(passes: Passes, options: argparse.Namespace) -> dict[str, Any]:
    """Ray with one worker over the local engine."""
    from limbeck.stream.ray import RayWorkers
    from limbeck.stream.workers import Workers

    began = time.perf_counter()
    with RayWorkers(1, prepare=prepare_process) as ray, Workers() as local:
        ray.start()
        started = time.perf_counter() - began
        warm = passes.run(passes.warm, ray)
        passes.run(passes.warm, local)
        rounds = []
        for turn, source in enumerate(passes.sources):
            sides = [("local", local), ("ray", ray)]
            rounds.append({name: passes.run(source, side) for name, side in sides[:: 1 if turn % 2 else -1]})
    ratios = [turn["ray"] / turn["local"] for turn in rounds]
    whole = sum(turn["ray"] for turn in rounds) / sum(turn["local"] for turn in rounds)
    return {
        "words": passes.size * len(rounds),
        "Ray with one worker over local, all rounds": whole,
        "Ray over local, rounds": [round(ratio, 3) for ratio in ratios],
        "words a second, local": passes.size * len(rounds) / sum(turn["local"] for turn in rounds),
        "seconds to start Ray": started,
        "seconds of a first small pass, which starts the worker": warm,
    }


def speedup(passes: Passes, options: argparse.Namespace) -> dict[str, Any]:
    """Two workers of one core over one."""
    from limbeck.stream.ray import RayWorkers

    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        return {"two workers over one": f"not measured: {cores} core"}
    ratios = []
    with RayWorkers(1, cores_per_worker=1) as base:
        base.start()
        for turn, source in enumerate(passes.sources):
            seconds = {}
            for many in (1, 2) if turn % 2 else (2, 1):
                with RayWorkers(many, cores_per_worker=1, prepare=prepare_process) as workers:
                    passes.run(passes.warm, workers)
                    seconds[many] = passes.run(source, workers)
            ratios.append(seconds[1] / seconds[2])
    load = os.getloadavg()[0]
    return {
        "two workers over one, median": statistics.median(ratios),
        "two workers over one, rounds": [round(ratio, 3) for ratio in ratios],
        "cores": cores,
        "load of the machine": round(load, 1),
    }


def reduction(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Merge states of shards: one after the other from disk, and tree-wise on Ray."""
    from limbeck.accumulators import Moments, WordSums
    from limbeck.stream.checkpoint import Checkpoint, Part, arrays_of
    from limbeck.stream.driver import Tree
    from limbeck.stream.plan import Plan
    from limbeck.stream.ray import RayWorkers, ray

    layers, dim, words = 13, 128, options.state_words

    def state(seed: int) -> list[Any]:
        generator = np.random.default_rng(seed)
        sums = WordSums(layers=layers, dim=dim, words=words)
        sums.n[:] = 1
        sums.sums[:] = _tensor(generator, layers, words, dim)
        moments = Moments(layers=layers, dim=dim)
        moments.n, moments.mean = 1000, _tensor(generator, layers, dim)
        return [sums, moments]

    few = 8  # files, read again and again: a thousand would fill the disk and say no more
    saved = Checkpoint(folder / "state", {})
    saved.open(_plan(Plan), [])
    for number in range(few):
        saved.save_part(Part(number, number + 1), state(number), {})
    size = (folder / "state" / "parts" / Part(0, 1).file).stat().st_size
    total = state(999)
    began, before = time.perf_counter(), _memory()
    for number in range(options.states - 1):
        saved.merge_all([Part(number % few, number % few + 1)], total)
    local, grown = time.perf_counter() - began, max(_memory() - before, 0)

    with RayWorkers(2) as workers:
        workers.start()
        tree = Tree(state(0))
        tree.settings = [accumulator.settings() for accumulator in total]
        arrays = arrays_of(state(1))
        ray.get(tree.merge_now(arrays, arrays))  # the task's process starts
        most = 0
        began = time.perf_counter()
        for number in range(options.states):
            tree.add(Part(number, number + 1), ray.put(arrays))  # as they come from workers
            tree.pair()
            most = max(most, tree.held)
            while len(tree.under_way) > 1 or (tree.held > 24 and tree.under_way):
                _settle(tree, ray)
                tree.pair()
        while not tree.whole:
            tree.pair(all_done=True)
            _settle(tree, ray)
        on_ray = time.perf_counter() - began
    scale = LARGE["layers"] * LARGE["dim"] * LARGE["words"] / (layers * dim * words)
    return {
        "states": options.states,
        "megabytes of a state": size / 1e6,
        "seconds, one after the other from disk": local,
        "milliseconds a merge, from disk": 1000 * local / (options.states - 1),
        "peak memory above the start, in states": grown / size,
        "seconds, tree on Ray": on_ray,
        "milliseconds a merge, on Ray": 1000 * on_ray / (options.states - 1),
        "most states held at once on Ray": most,
        "13 layers x 768 x 50,000 words: gigabytes of a state": size * scale / 1e9,
        "13 layers x 768 x 50,000 words: seconds a merge, from disk": scale * local / (options.states - 1),
        "13 layers x 768 x 50,000 words: hours for all, from disk": scale * local / 3600,
        "13 layers x 768 x 50,000 words: hours for all, on Ray": scale * on_ray / 3600,
    }


def _settle(tree: Any, ray: Any) -> None:
    ready, _ = ray.wait(tree.under_way, num_returns=1)
    _, _, both, rank = tree.ended(ready[0])
    tree.add(both, ready[0], rank)


def _tensor(generator: np.random.Generator, *shape: int) -> Any:
    import torch

    return torch.from_numpy(generator.standard_normal(shape))


def _plan(kind: Any) -> Any:
    from limbeck.corpus.vocabulary import Vocabulary

    none = np.zeros(0, dtype=np.int64)
    return kind(Vocabulary([], none, none), (), none, 0, 0, 0, 0, 0, {})


def _memory() -> int:
    """Most bytes that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
