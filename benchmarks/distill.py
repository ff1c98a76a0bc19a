"""Words a second from text on disk to vectors on disk, over those of the teacher alone on the same batches.

    python -m benchmarks.distill --corpus TEXT [--format words] [--methods average,x2static]
                                 [--device cuda --dtype bfloat16 --workers 14]

The whole is what `limbeck distill` does: planning pass, splitting, tokenising, batching, teacher, method, and the
folder of vectors. The bare pass is the model alone on tensors that already lie on the device. Starting worker processes
and loading the model are not counted. Minutes for the paper's 1.28 billion words are told beside: in proportion, and by
what the second half of the text took, so that what is done once (the kernels' first use, the processes' vocabulary, the
file of vectors) counts once.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import report
from benchmarks.models import bert, corpus_of, train_tokenizer
from benchmarks.overhead import bare_pass, synchronize, take
from limbeck.cli.process import prepare_process

PAPER_WORDS = 1.28e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--format", default="auto")
    parser.add_argument("--methods", default="average,x2static")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--batch-tokens", type=int, default=0)
    parser.add_argument("--words", type=int, default=6_000, help="words a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--dim", type=int, default=768)
    options = parser.parse_args()
    prepare_process()  # as the command line does, for the bare pass too

    from limbeck import DistillResult
    from limbeck.distillation import DistillSettings
    from limbeck.runs.distilling.compute import distill_subject
    from limbeck.runs.distilling.subject import Subject
    from limbeck.runs.distilling.work import EVERYTHING
    from limbeck.stream import RunContext, TextSource, Workers, survey

    corpus = corpus_of(options.corpus, format=options.format)
    budget = options.batch_tokens or (65536 if options.device == "cuda" else 4096)
    teacher = bert(
        train_tokenizer(corpus), device=options.device, dtype=options.dtype, batch_tokens=2 * budget,
        layers=options.layers, dim=options.dim, chosen="-1",
    )  # fmt: skip
    workers = Workers(options.workers).start()

    def source_of(part: Any) -> TextSource:
        return TextSource(part, teacher, "sentence", budget)

    def whole(method: str, part: Any) -> float:
        settings = DistillSettings(method=(method,))
        with tempfile.TemporaryDirectory() as scratch:
            began = time.perf_counter()
            context = RunContext(workers=workers, checkpoint=Path(scratch) / "state")
            made = distill_subject(Subject(source_of(part), teacher), settings, context)
            DistillResult.of(made).save(Path(scratch) / "vectors")
            synchronize(options.device)
            return time.perf_counter() - began

    rounds: dict[str, list[dict[str, float]]] = {method: [] for method in options.methods.split(",")}
    for method in rounds:
        whole(method, take(corpus, 2_000, skip=0))  # kernels are compiled
    for turn in range(options.rounds):
        part = take(corpus, options.words, skip=turn * options.words)
        seconds = {method: whole(method, part) for method in rounds}
        half = take(corpus, options.words // 2, skip=turn * options.words)
        once = {method: 2 * whole(method, half) - seconds[method] for method in rounds}
        source = source_of(part)
        plan = survey(source, choice=EVERYTHING, context=RunContext(workers))
        bare, _, pieces = bare_pass(source, plan, options.device, workers, both=False)
        for method, turns in rounds.items():
            turns.append(
                {
                    "ratio": bare / seconds[method],
                    "words a second": plan.units / seconds[method],
                    "bare words a second": plan.units / bare,
                    "bare tokens a second": pieces / bare,
                    "minutes for 1.28 billion words": minutes(plan.units, seconds[method]),
                    "by the second half": minutes(plan.units, seconds[method] - once[method]) + once[method] / 60,
                }
            )
            told = ", ".join(f"{name} {value:,.4g}" for name, value in turns[-1].items())
            print(f"round {turn}, {method}: {told}", flush=True)
    workers.close()
    figures: dict[str, object] = {
        method: {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}
        | {"ratios of the rounds": [round(turn["ratio"], 4) for turn in turns]}
        for method, turns in rounds.items()
    }
    figures |= {"words a round": options.words, "batch tokens": budget, "workers": options.workers}
    report(f"distill-{options.device}-{options.dtype}", figures)


def minutes(words: int, seconds: float) -> float:
    """For the paper's text, in proportion."""
    return seconds * PAPER_WORDS / words / 60


if __name__ == "__main__":
    main()
