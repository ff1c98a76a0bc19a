"""X2Static against the way its published code trained, and the memory that a large vocabulary takes.

    python -m benchmarks.x2static [--corpus TEXT --format words] [--device cuda --dtype bfloat16]

The published way (docs/fidelity.md §4) is written here anew: 128 sentences a step, each tokenised by itself in the main
process and padded to the longest; a Python loop over words that chooses targets and appends to lists, a vector stacked
for every target; automatic differentiation through a sparse embedding, torch's SparseAdam. Both sides have the same
teacher (a random BERT of the given size), text, vocabulary, subsampling and number of negatives. Two ratios: the
training alone, on contexts that are already there; and everything from text on disk to vectors. The sides take turns,
the ratio is the median over rounds; the published way is timed on `--steps` steps of the same text and scaled up.

The last figure, on a GPU, is the most memory that torch held while the teacher and a matrix of `--rows` words of the
teacher's dimension were trained on.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import text
from benchmarks.machine import report
from benchmarks.models import bert, corpus_of, train_tokenizer
from benchmarks.overhead import bare_pass, synchronize

if TYPE_CHECKING:  # worker processes import this module again: nothing heavy at the top
    from limbeck.distillation.x2static import X2Static
    from limbeck.stream import Plan, TextSource

LINES = 128  #: a step of the published code
NEGATIVES = 10
LONGEST = 200  #: pieces that it read of a sentence


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="text to train on; made text without it")
    parser.add_argument("--format", default="words")
    parser.add_argument("--words", type=int, default=100_000, help="of made text")
    parser.add_argument("--types", type=int, default=20_000, help="different words of made text")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", help="of the teacher")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--steps", type=int, default=20, help="of the published way, a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch-tokens", type=int, default=0)
    parser.add_argument("--rows", type=int, default=750_000, help="words of the matrix whose memory is told")
    parser.add_argument("--name", default="")
    options = parser.parse_args(arguments)

    from limbeck.cli.process import prepare_process
    from limbeck.distillation.x2static import X2Static
    from limbeck.encoders import HuggingFaceEncoder
    from limbeck.stream import Choice, RunContext, TextSource, Workers, survey

    prepare_process()
    with tempfile.TemporaryDirectory(prefix="limbeck-bench-") as folder, Workers(options.workers) as workers:
        workers.start()
        path = options.corpus or text.write_words(Path(folder) / "text.txt", options.words, types=options.types)
        corpus = corpus_of(path, format=options.format)
        tokenizer = train_tokenizer(corpus)
        budget = options.batch_tokens or (32768 if options.device == "cuda" else 4096)
        made = bert(tokenizer, device=options.device, dtype=options.dtype, layers=options.layers, dim=options.dim)
        teacher = HuggingFaceEncoder(
            made.model, tokenizer, name="bert", layers="-1", device=options.device, dtype=options.dtype,
            batch_tokens=2 * budget,
        )  # fmt: skip
        source = TextSource(corpus, teacher, "sentence", budget)
        plan = survey(source, choice=Choice(min_contexts=1, max_words=10**9), context=RunContext(workers))
        settings = X2Static(negatives=NEGATIVES, distinct=False, clamp=20.0)
        # memory first: the published way's tables would count too
        held = memory(source, plan, settings, options, workers) if options.device.startswith("cuda") else {}
        figures = compare(source, plan, settings, tokenizer, options, workers) | held
        figures["words of text"] = plan.units
        figures["words of the vocabulary"] = len(plan.vocabulary)
    report(options.name or f"x2static-{options.device}-{options.dtype}", figures)


def compare(
    source: TextSource, plan: Plan, settings: X2Static, tokenizer: Any, options: argparse.Namespace, workers: Any
) -> dict[str, Any]:
    from limbeck.distillation.x2static import train
    from limbeck.stream import RunContext

    lines = [list(sentence.words) for sentence in source.corpus]
    published = Published(source, plan, tokenizer, settings.subsample)
    batches = [lines[at : at + LINES] for at in range(0, len(lines) - LINES + 1, LINES)]
    if not batches:
        raise SystemExit(f"at least {LINES} sentences are needed; got {len(lines)}: raise --words.")
    train(source, plan, settings, RunContext(workers))  # warm
    published.step(batches[0])
    rounds = []
    for turn in range(options.rounds):
        some = [batches[(turn * options.steps + step) % len(batches)] for step in range(options.steps)]
        share = len(lines) / sum(map(len, some))  # of the whole text in these steps
        bare, _, pieces = bare_pass(source, plan, options.device, workers)
        ours = seconds(lambda: train(source, plan, settings, RunContext(workers)), options.device)
        theirs = share * seconds(lambda some=some: [published.step(batch) for batch in some], options.device)
        ours_alone, targets = training_alone(source, plan, settings, options.device)
        ready = [(batch, published.contexts(batch)) for batch in some]
        theirs_alone = share * seconds(
            lambda ready=ready: [published.train(*batch_and_means) for batch_and_means in ready], options.device
        )
        rounds.append(
            {
                "whole: times as fast as the published way": theirs / ours,
                "training alone: times as fast": theirs_alone / ours_alone,
                "bare forward pass over the whole": bare / ours,
                "words a second": plan.units / ours,
                "published words a second": plan.units / theirs,
                "targets a second, training alone": targets / ours_alone,
                "pieces a second, bare forward pass": pieces / bare,
            }
        )
        print(f"round {turn}: " + ", ".join(f"{key} {value:,.4g}" for key, value in rounds[-1].items()), flush=True)
    return {key: statistics.median(turn[key] for turn in rounds) for key in rounds[0]}


def training_alone(source: TextSource, plan: Plan, settings: X2Static, device: str) -> tuple[float, int]:
    """Seconds of our training on contexts that are on the device already, and its targets."""
    from limbeck.distillation.x2static import Trainer
    from limbeck.stream import run_pass

    trainer = trainer_of(source, plan, settings, len(plan.vocabulary))
    gathered: dict[int, Any] = {}

    class Gather:
        update = trainer.update

        def end_shard(self, number: int) -> None:
            gathered[number] = trainer.take()

    run_pass(source, [], plan=plan, consumers=[Gather()])
    spent = seconds(lambda: [trainer.train(number, shard) for number, shard in gathered.items()], device)
    assert isinstance(trainer, Trainer)
    return spent, int(sum(row["targets"] for row in trainer.losses.rows))


def memory(
    source: TextSource, plan: Plan, settings: X2Static, options: argparse.Namespace, workers: Any
) -> dict[str, Any]:
    """The most that torch held on the device, teacher included, with bfloat16 moments and with float32 ones."""
    import torch

    from limbeck.stream import RunContext, run_pass

    found = {}
    for moments in ("bfloat16", "float32"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        trainer = trainer_of(source, plan, settings.with_changes(moments=moments), options.rows)
        run_pass(source, [], plan=plan, consumers=[trainer], context=RunContext(workers))
        key = f"GB at most, {options.rows:,} × {source.dim}, moments {moments}"
        found[key] = torch.cuda.max_memory_allocated() / 1e9
        del trainer
    return found


def trainer_of(source: TextSource, plan: Plan, settings: X2Static, words: int) -> Any:
    """A trainer of so many words, of which the text has the first."""
    from limbeck.distillation.x2static import Trainer

    counts = np.ones(max(words, len(plan.vocabulary)), dtype=np.int64)
    counts[: len(plan.vocabulary)] = plan.vocabulary.counts
    units = np.array([shard.units for shard in plan.shards])
    return Trainer(counts, source.dim, settings, shard_units=units, device=source.encoder.device)  # type: ignore[attr-defined]


class Published:
    """One step of the published trainer after the other."""

    def __init__(self, source: TextSource, plan: Plan, tokenizer: Any, t: float) -> None:
        import torch

        from limbeck.distillation.x2static.sampling import keep_probabilities

        self.model = source.encoder.model  # type: ignore[attr-defined]
        self.device = source.encoder.device  # type: ignore[attr-defined]
        self.tokenizer = tokenizer
        counts = plan.vocabulary.counts
        self.ids = {word: number for number, word in enumerate(plan.vocabulary.words)}
        self.keep = keep_probabilities(counts, t).tolist()
        self.embedding = torch.nn.Embedding(len(counts), source.dim, sparse=True).to(self.device)
        torch.nn.init.uniform_(self.embedding.weight, -1 / source.dim, 1 / source.dim)
        self.optimizer = torch.optim.SparseAdam(self.embedding.parameters(), lr=1e-3)
        weights = np.sqrt(counts)
        drawn = np.random.default_rng(0).choice(len(counts), size=NEGATIVES * 100_000, p=weights / weights.sum())
        self.pool: list[int] = drawn.tolist()
        self.next = 0
        self.random = random.Random(0)

    def step(self, lines: list[list[str]]) -> float:
        return self.train(lines, self.contexts(lines))

    def contexts(self, lines: list[list[str]]) -> Any:
        """Means over all pieces, special tokens too, of each line."""
        import torch

        encoded = [self.tokenizer.encode(" ".join(line))[:LONGEST] for line in lines]
        longest = max(map(len, encoded))
        ids = torch.tensor([each + [0] * (longest - len(each)) for each in encoded]).to(self.device)
        mask = torch.tensor([[1] * len(each) + [0] * (longest - len(each)) for each in encoded]).to(self.device)
        with torch.no_grad():
            states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
            wide = mask.float().unsqueeze(-1)
            return (states * wide).sum(1) / wide.sum(1)

    def train(self, lines: list[list[str]], contexts: Any) -> float:
        import torch
        from torch.nn import functional

        targets, negatives, rows = [], [], []
        for number, line in enumerate(lines):
            for word in line:
                if word not in self.ids:
                    continue
                own = self.ids[word]
                if self.random.random() > self.keep[own]:
                    continue
                targets.append(own)
                negatives.append(self.pool[self.next : self.next + NEGATIVES])
                self.next = (self.next + NEGATIVES) % len(self.pool)
                rows.append(contexts[number])
        if not targets:
            return 0.0
        own_ids = torch.tensor(targets).to(self.device)
        others = torch.tensor(negatives).to(self.device)
        context = torch.stack(rows)
        score = (self.embedding(own_ids) * context).sum(1).clamp(-20, 20)
        loss = functional.softplus(-score).mean()
        for column in range(NEGATIVES):
            score = (self.embedding(others[:, column]) * context).sum(1).clamp(-20, 20)
            loss = loss + functional.softplus(score).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def seconds(work: Any, device: str) -> float:
    synchronize(device)
    began = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
