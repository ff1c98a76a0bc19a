"""What the processes of test_group.py do, each in a Python of its own; run as a script with a task in JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).parents[2] / "stream"))

import numpy as np
import torch
from made import DIM, OwnEncoder, sentences

from limbeck.corpus import Corpus
from limbeck.distillation.methods import Trained
from limbeck.distillation.x2static import Regression, Sent2Vec, Training, X2Static, train
from limbeck.distillation.x2static.group import Group
from limbeck.distillation.x2static.trainer import Trainer
from limbeck.stream import Choice, TextSource, survey
from limbeck.stream.context import RunContext

KINDS = {"x2static": X2Static, "sent2vec": Sent2Vec, "regression": Regression}
START = np.random.default_rng(5).normal(0, 1, (60, DIM))


def settings_of(task: dict[str, Any]) -> Training:
    kind: type[Training] = KINDS[task["method"]]
    return kind(batch_texts=5, learning_rate=0.01, **task.get("settings", {}))


def go(task: dict[str, Any]) -> Trained:
    """The training that a task names."""
    made = sentences(110, documents=9)
    source = TextSource(Corpus.from_sentences(made), OwnEncoder(), "sentence", 60)
    plan = survey(source, choice=Choice(min_contexts=3), context=RunContext(shard_units=60))
    assert len(plan.shards) % 2, "the last exchange should be one shard short"
    checkpoint = Path(task["checkpoint"]) if task.get("checkpoint") else None
    start = START[: len(plan.vocabulary.counts)] if task.get("start") else None
    context = RunContext(checkpoint=checkpoint, save_every=-1.0 if "stop" in task else 60.0)
    return train(source, plan, settings_of(task), context, start=start)


def main() -> None:
    rank, size, store, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    found: dict[str, Any] = {}
    for name, task in json.loads(sys.argv[5]).items():
        plain, calls = Trainer.train, iter(range(10**6))
        if "stop" in task:

            def stopped(
                self: Trainer, *some: Any, plain: Any = plain, calls: Any = calls, at: int = task["stop"]
            ) -> None:
                if next(calls) == at:
                    raise KeyboardInterrupt
                plain(self, *some)

            Trainer.train = stopped  # type: ignore[method-assign]
        added = Group.sum
        if task.get("lone"):  # nobody adds up what the others have found
            Group.sum = lambda self, partial: partial  # type: ignore[method-assign]
        try:
            made = go(task)
            found |= {name: made.matrix, f"{name}/losses": np.array([row["loss"] for row in made.losses])}
            found |= {f"{name}/steps": made.about["steps"], f"{name}/seen": made.about["occurrences_seen"]}
        except KeyboardInterrupt:
            found[f"{name}/stopped"] = True
        Trainer.train, Group.sum = plain, added  # type: ignore[method-assign]
    np.savez(out / f"{rank}.npz", **found)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
