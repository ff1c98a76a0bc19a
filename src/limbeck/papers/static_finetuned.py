"""Rows of Table 4 of Gupta & Jaggi (2021) that are of the parents themselves, fine-tuned by `limbeck finetune`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from limbeck.errors import InputError
from limbeck.evaluation.classifying.catalogue import SENTENCES, load_table
from limbeck.evaluation.classifying.result import deviation
from limbeck.papers.parts import Part, Row
from limbeck.papers.static_subjects import FINE_TUNED, MEAN, Parent
from limbeck.papers.static_wanted import Wanted
from limbeck.runs.execution.sources import open_encoder
from limbeck.tables import columns_of


@dataclass(frozen=True)
class Tuned:
    """A parent fine-tuned on one task: which fingerprint the parent had, and the scores on n test examples."""

    path: str
    task: str
    parent: str
    f1: float
    accuracy: float
    n: int


def read_tuned(path: str | Path) -> Tuned:
    """A folder of `limbeck finetune`, of one of Table 4's tasks."""
    file = Path(path).expanduser() / "run.json"
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
        if about["command"] != "finetune":
            raise ValueError(f"a run of limbeck {about['command']}")
        tasks = list(load_table(SENTENCES))
        if about["task"] not in tasks:
            raise InputError(
                f"{path}: Table 4 has the tasks {', '.join(tasks)}, got {about['task']}: leave it out.",
                code="other_kind",
                parameter="fine_tuned",
            )
        scores = about["scores"]["test"]
        return Tuned(
            path=str(path),
            task=about["task"],
            parent=about["parent"]["model_fingerprint"],
            f1=scores["macro_f1"],
            accuracy=scores["accuracy"],
            n=about["examples"]["test"],
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: --fine-tuned takes folders of limbeck finetune ({_told(error)}): give those of Table 4's tasks.",
            code="other_kind",
            parameter="fine_tuned",
        ) from error


def _told(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"its run.json: {error.strerror}"
    return f"its run.json has no {error}" if isinstance(error, KeyError) else str(error)


def fingerprint_of(model: str, wanted: Wanted) -> str:
    """Of a model's weights, as `limbeck finetune` writes it."""
    return str(open_encoder(model, **wanted.encoder).model_fingerprint or "")


def check_parents(tuned: Sequence[Tuned], parents: Sequence[str]) -> None:
    """Refuse folders whose parent has none of these fingerprints."""
    for one in tuned:
        if one.parent not in parents:
            raise InputError(
                f"{one.path}: its parent must be among the models that are tried: name it by --model.",
                code="incomplete",
                parameter="model",
            )


def with_tuned(parent: Parent, fingerprint: str, tuned: Sequence[Tuned]) -> Parent:
    """The parent with the rows of what was fine-tuned from it; several runs on a task are averaged."""
    own = [one for one in tuned if one.parent == fingerprint]
    if not own:
        return parent
    tasks = [task for task in load_table(SENTENCES) if any(one.task == task for one in own)]
    rows = [_row(task, [one for one in own if one.task == task]) for task in tasks]
    mean: Row = {"method": FINE_TUNED, "task": MEAN}
    mean |= {name: float(np.mean([row[name] for row in rows])) for name in ("f1", "accuracy")}
    mean |= {"f1_deviation": math.nan, "accuracy_deviation": math.nan, "runs": min(row["runs"] for row in rows)}
    rows.append({**mean, "n": sum(row["n"] for row in rows)})
    return replace(parent, parts={**parent.parts, "finetuned": Part({"scores": columns_of(rows)})})


def _row(task: str, runs: Sequence[Tuned]) -> Row:
    f1, accuracy = (np.array([getattr(one, name) for one in runs]) for name in ("f1", "accuracy"))
    return {
        "method": FINE_TUNED, "task": task, "f1": float(f1.mean()), "accuracy": float(accuracy.mean()),
        "f1_deviation": deviation(f1), "accuracy_deviation": deviation(accuracy), "runs": len(runs), "n": runs[0].n,
    }  # fmt: skip
