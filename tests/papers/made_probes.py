"""Probed models made of numbers: F1 by layer with draws, and labelled words and tasks to probe and learn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.analysis.result import columns_of
from limbeck.papers.parts import Part
from limbeck.papers.probe_subjects import AVERAGE, NEW, SAME, ProbedModel
from limbeck.papers.probe_wanted import TASKS
from limbeck.probing.names import CONTEXT, WHOLE

LAYERS = ("table", "0", "1", "2", "3", "4", "5", "6")
DRAWS = 100


def scores(
    space: str,
    values: Mapping[str, float],
    *,
    context: str = WHOLE,
    level: str = "context",
    noise: float = 0.001,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Rows of both sides; the draws of all spaces and layers err together, but for a little of their own."""
    shared = np.random.default_rng(0).normal(size=DRAWS) * 0.05
    generator = np.random.default_rng([seed, len(space)])
    rows = []
    for side in ("dev", "test"):
        for layer, value in values.items():
            draws = value + shared + generator.normal(size=DRAWS) * noise
            rows.append({"space": space, "level": level, "context": context, "layer": layer, "side": side,
                         "f1": value, "low": value - 0.1, "high": value + 0.1, "deviation": 0.002, "recall": value,
                         "units": 80, "words": 60, "starts": 3, "draws": draws.tolist()})  # fmt: skip
    return rows


def by_layer(*values: float) -> dict[str, float]:
    return dict(zip(LAYERS, values, strict=True))


def made_model(
    *,
    context: Mapping[str, float] | None = None,
    average: Mapping[str, float] | None = None,
    others: Mapping[str, float] | None = None,
    sizes: Mapping[str, Mapping[str, float]] | None = None,
    bags: Mapping[str, float] | None = None,
    tuned: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]] | None = None,
    attention: Mapping[str, Sequence[Sequence[float]]] | None = None,
    windows: Mapping[str, float] | None = None,
    more: Mapping[str, Part] | None = None,
    majority: float = 0.02,
    accuracy: float = 0.9,
    noise: float = 0.001,
) -> ProbedModel:
    """sizes: words to each side -> F1 by layer; tuned: task -> (a) and (b) by layer; attention: (layers, heads)."""
    context = context or by_layer(0.3, 0.35, 0.40, 0.50, 0.55, 0.600, 0.602, 0.605)
    average = average or context
    others = {"P-model": 0.45, "P-random": 0.30, "random": 0.1} | dict(others or {})
    rows = scores(CONTEXT, context, noise=noise) + scores(AVERAGE, average, noise=noise, seed=1)
    for name, value in others.items():
        rows += scores(name, {"none": value}, noise=noise, seed=2)
    for level in ("context", "type"):
        rows += scores("majority", {"none": majority}, level=level, noise=noise, seed=4)
    parts = {"layers": Part({"scores": columns_of(rows)})}
    if sizes:
        own = [row for size, values in sizes.items() for row in scores(CONTEXT, values, context=size, noise=noise)]
        own += [row for size, value in (bags or {}).items()
                for row in scores("P-model", {"table": value}, context=size, noise=noise)]  # fmt: skip
        parts["contexts"] = Part({"scores": columns_of(own)})
    for task, (same, new) in (tuned or {}).items():
        both = scores(SAME, same, noise=noise) + scores(NEW, new, noise=noise, seed=3)
        parts[f"probed-{task}"] = Part({"scores": columns_of(both)})
    for task, heads in (attention or {}).items():
        table = [
            {"layer": str(layer), "head": head, "similarity": value, "mean": value, "spread": 0.0, "texts": 4}
            for layer, row in enumerate(heads, 1)
            for head, value in enumerate(row, 1)
        ]
        score = {"metric": "accuracy", "value": accuracy, "low": accuracy - 0.02, "high": accuracy + 0.02,
                 "places": 100, "accuracy": accuracy, "majority": 0.2}  # fmt: skip
        about = {"settings": {"batch": 16, "learning_rate": 3e-4, "epochs": 0.1, "max_length": 128, "steps": 60},
                 "best_step": 45, "examples": {"train": 960, "dev": 100}}  # fmt: skip
        parts[f"tuned-{task}"] = Part({"scores": columns_of([score]), "attention": columns_of(table)}, about)
    if windows:
        own = [{"window": size, "metric": "accuracy", "value": value, "low": value - 0.005, "high": value + 0.005}
               for size, value in windows.items()]  # fmt: skip
        parts["windows"] = Part({"scores": columns_of(own)})
    parts |= more or {}
    missing = {f"tuned-{task}": "needs its files" for task in TASKS if f"tuned-{task}" not in parts}
    caps = {"hidden": 8, "epochs": 2, "rows": 4, "starts": 5, "steps": 3, "batch": 4}
    account = {"settings": {"preset": "corrected", "caps": caps},
               "dim": 12, "source": {}, "counts": {"train": {"words": 5, "combinations": 6, "contexts": 7}},
               "classes": ["a", "b"], "text": "made words", "one_sided": ["classes with no test word: b"]}  # fmt: skip
    return ProbedModel("made", "BERT", LAYERS, parts, missing, account)


def write_labelled(path: Path, *, words: int = 40, seed: int = 0) -> Path:
    """Made words of two classes, each twice, with a word beside it that tells the class."""
    generator = np.random.default_rng(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    lines = []
    for number in range(words):
        word = "".join(generator.choice(list(letters), size=4))
        kind = "animal" if number % 2 else "thing"
        for _ in range(2):
            near = "old" if kind == "animal" else "the"
            made = ["a", near, word, "fell", "in", "the", "river", "."]
            lines.append(json.dumps({"words": made, "index": 2, "label": kind, "lemma": word}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_tasks(folder: Path) -> Path:
    """A tiny treebank and a tiny SST-2."""
    folder.mkdir(parents=True, exist_ok=True)
    sentence = "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\triver\triver\tNOUN\t_\t_\t3\tnsubj\t_\t_\n" \
               "3\trose\trise\tVERB\t_\t_\t0\troot\t_\t_\n\n"  # fmt: skip
    for part, count in (("train", 8), ("dev", 4)):
        (folder / f"en_made-ud-{part}.conllu").write_text(sentence * count, encoding="utf-8")
    sst = folder / "SST"
    sst.mkdir(exist_ok=True)
    for part, count in (("train", 8), ("dev", 4), ("test", 4)):
        lines = "".join("0 the old river fell .\n1 a lamp of copper .\n" for _ in range(count))
        (sst / f"stsa.binary.{part}").write_text(lines, encoding="utf-8")
    return folder
