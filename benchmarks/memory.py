"""Peak resident memory of a measuring run on a text and on one ten times as long, with the same vocabulary cap.

    python -m benchmarks.memory [--words 300000] [--corpus TEXT --format prose]

Each run is a fresh process that loads a tiny random model from a folder, measures everything, and writes its run
folder, as `limbeck measure` does. The planning pass keeps 8 bytes a text to know duplicates: they are reported and
taken off. Python, torch and the model alone take several hundred megabytes, so peaks are told step by step.

What is kept of a text is bounded but fills up as text comes: occurrences for MEV, points, the words that splitter and
tokeniser remember; and the planning pass keeps distinct words, which real text never runs out of. `--types 300` makes
text of so few words that both lengths fill everything: then only what truly grows is left.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import text
from benchmarks.machine import report

STEPS = ("loaded", "planned", "measured", "written")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="real text, cut to both lengths; made text without it")
    parser.add_argument("--format", default="auto")
    parser.add_argument("--words", type=int, default=300_000)
    parser.add_argument("--times", type=int, default=10, help="how much longer the long text is")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each length, in turns; the median counts")
    parser.add_argument("--types", type=int, default=20_000, help="distinct words of made text")
    parser.add_argument("--max-words", type=int, default=2_000, help="the vocabulary cap")
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--name", default="memory", help="of the result")
    parser.add_argument("--trace", action="store_true", help="print resident memory once a second")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "TEXT"), help=argparse.SUPPRESS)  # what a process is told
    options = parser.parse_args(arguments)
    if options.one:
        model, path = options.one
        print(json.dumps(one_run(model, path, options)), flush=True)
        return

    with tempfile.TemporaryDirectory(prefix="limbeck-bench-") as name:
        folder = Path(name)
        lengths = (options.words, options.words * options.times)
        paths = make_texts(folder, lengths, options)
        made = make_model(folder / "model", paths[0], options)
        turns = [[in_a_process(made, path, options) for path in paths] for _ in range(options.repeats)]
    short, long = (middle(runs) for runs in zip(*turns, strict=True))
    report(options.name, figures(short, long, options))


def middle(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The run with the median peak (the lower one of two): where threads meet decides some ten per cent of it."""
    ordered = sorted(runs, key=highest)
    return ordered[(len(ordered) - 1) // 2] | {"repeats": [round(highest(run), 1) for run in runs]}


def highest(run: dict[str, Any]) -> float:
    return float(max(run["peaks"].values()))


def figures(short: dict[str, Any], long: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    hashes = [8e-6 * run["texts"] for run in (short, long)]
    peaks = [highest(run) - size for run, size in zip((short, long), hashes, strict=True)]
    return {
        "peak of the long run over the short one's": peaks[1] / peaks[0],
        "peak, megabytes": [round(peak, 1) for peak in peaks],
        "8 bytes a text, megabytes (taken off)": [round(size, 2) for size in hashes],
        **{
            f"peak while {step}, megabytes": [round(run["peaks"][step], 1) for run in (short, long)]
            for step in STEPS
            if step in short["peaks"]
        },
        "peaks of all repeats, megabytes": [run.get("repeats", []) for run in (short, long)],
        "words": [short["words"], long["words"]],
        "texts": [short["texts"], long["texts"]],
        "distinct words": [short["types"], long["types"]],
        "followed words": [short["followed"], long["followed"]],
        "seconds": [round(run["seconds"], 1) for run in (short, long)],
        "text": "made" if options.corpus is None else f"given, {long['format']}",
        "layers": options.layers + 1,
        "dim": options.dim,
    }


def in_a_process(model: Path, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.memory", "--one", str(model), str(path)]
    command += ["--format", _format(options), "--max-words", str(options.max_words), *["--trace"] * options.trace]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def one_run(model: str, path: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure, in this process, and say what it took."""
    from limbeck import MeasureResult
    from limbeck.runs.execution.execute import write
    from limbeck.runs.execution.sources import open_source
    from limbeck.runs.measure import MeasureSettings
    from limbeck.runs.measuring.compute import measure_source
    from limbeck.stream import RunContext

    if options.trace:
        threading.Thread(target=trace, daemon=True).start()
    began = time.perf_counter()
    settings = MeasureSettings(max_words=options.max_words)
    source = open_source(model, path, format=options.format, device="cpu")
    peaks: dict[str, float] = {}

    def done(step: str) -> None:
        peaks[step] = peak()
        forget_peak()

    done("loaded")
    with tempfile.TemporaryDirectory(prefix="limbeck-bench-run-") as folder:
        context = RunContext(checkpoint=Path(folder) / "state")
        measured, passed = measure_source(source, settings, context, on_index=lambda index: done("planned"))
        done("measured")
        texts = source.corpus  # type: ignore[attr-defined]
        result = MeasureResult.of(measured, passed, source, settings, texts=texts, options={}, facts={})
        write(result, Path(folder), figures=False)
        done("written")
    plan = passed.plan
    return {
        "peaks": peaks,
        "words": plan.units,
        "texts": plan.texts,
        "types": plan.types,
        "followed": len(plan.vocabulary),
        "format": options.format,
        "seconds": time.perf_counter() - began,
    }


# texts and a model


def make_texts(folder: Path, lengths: tuple[int, int], options: argparse.Namespace) -> list[Path]:
    paths = [folder / "short.txt", folder / "long.txt"]
    for path, words in zip(paths, lengths, strict=True):
        if options.corpus is None:
            text.write_words(path, words, types=options.types)
        else:
            cut(options.corpus, options.format, path, words)
    return paths


def cut(corpus: str, format: str, path: Path, words: int) -> None:
    """The first so many words of a corpus as lines, documents parted by empty lines."""
    from limbeck.corpus import Corpus

    seen = 0
    with open(path, "w", encoding="utf-8") as file:
        for raw in Corpus(corpus, format=format).documents():
            file.write("\n".join(raw.lines) + "\n\n")
            seen += sum(len(line.split()) for line in raw.lines)
            if seen >= words:
                return


def make_model(folder: Path, path: Path, options: argparse.Namespace) -> Path:
    from benchmarks.models import bert, corpus_of, train_tokenizer

    tokenizer = train_tokenizer(corpus_of(path, format=_format(options)), size=8_000, sentences=5_000)
    encoder = bert(tokenizer, device="cpu", dtype="float32", layers=options.layers, dim=options.dim)
    encoder.model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _format(options: argparse.Namespace) -> str:
    if options.corpus is None:
        return "words"
    from limbeck.corpus import Corpus

    return str(Corpus(options.corpus, format=options.format).format)


# resident memory, in megabytes


def peak() -> float:
    """The highest resident memory of this process (since `forget_peak`, on Linux)."""
    found = _status("VmHWM")
    if found is not None:
        return found
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def forget_peak() -> None:
    """Begin the peak anew from what is resident now, so that each step has its own; Linux only."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _status(field: str) -> float | None:
    path = Path("/proc/self/status")
    if not path.exists():
        return None
    line = next(line for line in path.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024 / 1e6


def trace() -> None:
    began = time.perf_counter()
    while True:
        print(f"{time.perf_counter() - began:6.1f} s  {_status('VmRSS') or 0:8.1f} MB", file=sys.stderr, flush=True)
        time.sleep(1)


os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

if __name__ == "__main__":
    main()
