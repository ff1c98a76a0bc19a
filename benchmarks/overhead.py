"""Tokens a second of the whole pipeline over those of the bare forward pass on the same padded batches.

    python -m benchmarks.overhead --corpus TEXT [--format words] [--device cuda --dtype bfloat16]

The pipeline is everything between text on disk and filled accumulators: planning pass, splitting, tokenising,
batching, forward with all hidden layers, pooling, and all one-pass measures. The bare pass is the model alone on
tensors that already lie on the device. The two take turns, since machines are shared and noisy. Starting worker
processes, loading the model and compiling kernels are not counted: a first small pass does them.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.machine import report
from benchmarks.models import bert, corpus_of, train_tokenizer
from limbeck.cli.process import prepare_process
from limbeck.corpus import Corpus

if TYPE_CHECKING:  # worker processes import this module again: nothing heavy at the top
    from limbeck.runs.measure import MeasureSettings
    from limbeck.stream import Plan, TextSource, Workers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--format", default="auto")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--batch-tokens", type=int, default=0)
    parser.add_argument("--words", type=int, default=6_000, help="words a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--name", default="")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--dim", type=int, default=768)
    options = parser.parse_args()
    prepare_process()  # as the command line does, for the bare pass too

    from limbeck.runs.measure import MeasureSettings
    from limbeck.runs.measuring.sums import accumulators_for
    from limbeck.stream import RunContext, TextSource, Workers, run_pass, survey

    corpus = corpus_of(options.corpus, format=options.format)
    budget = options.batch_tokens or (32768 if options.device == "cuda" else 4096)
    encoder = bert(train_tokenizer(corpus), device=options.device, dtype=options.dtype, batch_tokens=2 * budget,
        layers=options.layers, dim=options.dim)  # fmt: skip
    shape = {"layers": len(encoder.layers), "dim": encoder.dim}
    settings = MeasureSettings()
    # processes start while the model loads, as under the command line; a first small pass compiles the kernels
    workers = Workers(options.workers).start()
    context = RunContext(workers)
    warm = TextSource(take(corpus, 2_000, skip=0), encoder, "sentence", budget)
    run_pass(warm, lambda plan: accumulators_for(plan, **shape, settings=settings), context=context)
    rounds = []
    for turn in range(options.rounds):
        part = take(corpus, options.words, skip=turn * options.words)
        source = TextSource(part, encoder, "sentence", budget)
        began = time.perf_counter()
        plan = survey(source, choice=settings.choice, context=context)
        planned = time.perf_counter() - began
        run_pass(source, lambda plan: accumulators_for(plan, **shape, settings=settings), plan=plan, context=context)
        synchronize(options.device)
        whole = time.perf_counter() - began
        bare, same_kernels, pieces = bare_pass(source, plan, options.device, workers)
        rounds.append(
            {
                "ratio": bare / whole,
                "ratio without the planning pass": bare / (whole - planned),
                "ratio to a bare pass with the same attention kernels": same_kernels / whole,
                "bare tokens a second": pieces / bare,
                "pipeline tokens a second": pieces / whole,
                "planning pass, share of the pipeline": planned / whole,
            }
        )
        print(
            f"round {turn}: {pieces:,} tokens; " + ", ".join(f"{k} {v:,.4g}" for k, v in rounds[-1].items()), flush=True
        )
        if options.profile and turn == options.rounds - 1:
            profile(source, shape, settings, workers)
    workers.close()
    figures: dict[str, object] = {key: statistics.median(turn[key] for turn in rounds) for key in rounds[0]}
    figures |= {"ratios of the rounds": [round(turn["ratio"], 4) for turn in rounds], "words a round": options.words}
    figures |= {"batch tokens": budget, "workers": options.workers, "format": corpus.describe()["format"]}
    report(options.name or f"overhead-{options.device}-{options.dtype}", figures)


def take(corpus: Corpus, words: int, *, skip: int) -> Corpus:
    """So many words of a corpus as a file of their own, in its own format."""
    import tempfile
    from pathlib import Path

    path = Path(tempfile.mkdtemp(prefix="limbeck-bench-")) / "part.txt"
    seen = taken = 0
    with open(path, "w", encoding="utf-8") as file:
        for raw in corpus.documents():
            count = sum(line.count(" ") + 1 for line in raw.lines)
            if seen >= skip:
                file.write("\n".join(raw.lines) + "\n\n")
                taken += count
            seen += count
            if taken >= words:
                break
    return Corpus(str(path), format=str(corpus.describe()["format"]))


def bare_pass(
    source: TextSource, plan: Plan, device: str, workers: Workers, *, both: bool = True
) -> tuple[float, float, int]:
    """Seconds of the model alone on the pipeline's own batches, with torch's choice of attention kernels and (if
    `both`) with ours, and their tokens.

    Each is run twice and the second counts: cuDNN's attention plans anew for every shape it has not seen.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from limbeck.encoders import HuggingFaceEncoder
    from limbeck.encoders.huggingface import ATTENTION
    from limbeck.stream.tasks import Ready

    encoder = source.encoder
    assert isinstance(encoder, HuggingFaceEncoder)
    batches = []
    pieces = 0
    for item in workers.run(source.feed(plan)):
        if isinstance(item, Ready):
            batch = item.batch
            lengths = np.diff(batch.window_starts)
            batches.append(encoder._padded(batch, np.arange(len(lengths)), lengths, int(lengths.max())))
            pieces += len(batch.pieces)
    seconds = {}
    every = [*ATTENTION, SDPBackend.CUDNN_ATTENTION] if device == "cuda" else ATTENTION
    for name, backends in (("torch's", every), ("ours", ATTENTION)):
        for _ in range(2 if device == "cuda" else 1):
            synchronize(device)
            began = time.perf_counter()
            with torch.inference_mode(), sdpa_kernel(backends):
                for ids, mask in batches:
                    encoder.model(input_ids=ids, attention_mask=mask)
            synchronize(device)
            seconds[name] = time.perf_counter() - began
        if device != "cuda" or not both:
            seconds["ours"] = seconds[name]
            break
    return seconds["torch's"], seconds["ours"], pieces


def profile(source: TextSource, shape: dict[str, int], settings: MeasureSettings, workers: Workers) -> None:
    """Where the device's time goes."""
    import torch
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as watch

    from limbeck.runs.measuring.sums import accumulators_for
    from limbeck.stream import RunContext, run_pass

    context = RunContext(workers)
    host = cProfile.Profile()
    host.enable()
    run_pass(source, lambda plan: accumulators_for(plan, **shape, settings=settings), context=context)
    host.disable()
    pstats.Stats(host).sort_stats("tottime").print_stats(40)
    with watch(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        run_pass(source, lambda plan: accumulators_for(plan, **shape, settings=settings), context=context)
        synchronize("cuda" if torch.cuda.is_available() else "cpu")
    order = "cuda_time_total" if torch.cuda.is_available() else "cpu_time_total"
    print(seen.key_averages().table(sort_by=order, row_limit=30, max_name_column_width=60))


def synchronize(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
