"""The fine-tuning run: train, score, and save a folder that is a model of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from limbeck.encoders.loading import Parts, load_parts, quiet
from limbeck.errors import LimbeckError
from limbeck.parameters import takes
from limbeck.probing.finetuning import Finetuned, FinetuneSettings, Head, TaskData, finetune_model, read_task
from limbeck.probing.finetuning.data import name_of
from limbeck.runs.execution.folders import RunFolder
from limbeck.runs.execution.record import versions
from limbeck.state import write_text
from limbeck.tables import write_csv


@takes("limbeck.encoders.loading:load_parts")
def finetune(
    model: str | Path | Parts,
    task: str | TaskData,
    data: str | Path | None = None,
    *,
    out: str | Path | None = None,
    column: str = "upos",
    settings: FinetuneSettings | None = None,
    existing: str = "fail",
    device: str = "auto",
    progress: bool = False,
    **loading: Any,
) -> Finetuned:
    """Fine-tune a model on a task; with `out`, write a folder (but for figures) that every `--model` loads.

    task     name of a task whose files lie under `data`, or one that has been read: see `lb.probing.read_task`
    column   of CoNLL-U files, for "pos"
    loading  revision, trust_remote_code
    """
    settings = settings or FinetuneSettings()
    settings.check()
    if isinstance(task, str):
        name_of(task)
        if data is None:
            raise LimbeckError(f"data must be the folder with the files of {task}, got none: give it.")
        task = read_task(task, data, column=column, seed=settings.seed)
    how: dict[str, Any] = {"settings": settings, "device": device, "progress": progress}
    parts = model if isinstance(model, Parts) else load_parts(model, **loading)
    if out is None:
        return finetune_model(parts, task, **how)
    with RunFolder(out, existing=existing) as folder:
        if folder.complete:
            raise LimbeckError(f"{out}: it is complete already: use what it holds, or existing='replace'.")
        return finetune_into(parts, task, folder, source=str(model) if isinstance(model, str | Path) else "", **how)


def finetune_into(
    parts: Parts,
    data: TaskData,
    folder: RunFolder,
    *,
    settings: FinetuneSettings,
    device: str = "auto",
    progress: bool = False,
    source: str = "",
    draw: Callable[[Path], object] | None = None,
) -> Finetuned:
    """The whole run into its folder; `draw` is called with it before it is put in its place."""
    found = finetune_model(
        parts, data, settings=settings, device=device, state=folder.state, progress=progress
    )  # fmt: skip
    save(found, folder.unfinished, source=source)
    if draw is not None:
        draw(folder.unfinished)
    folder.passing.append("state")
    folder.finish()
    return found


def save(found: Finetuned, folder: Path, *, source: str = "") -> None:
    """Write all files but figures: the model, its tokenizer, the head, tables, run.json."""
    with quiet(bars=False):
        found.parts.model.save_pretrained(folder)
        found.parts.tokenizer.save_pretrained(folder)
    head = found.network.head
    Head(
        head.weight.detach().cpu().numpy(), head.bias.detach().cpu().numpy(), found.data.classes, found.how["vector"]
    ).save(folder)
    write_csv(folder / "steps.csv", found.curves.steps)
    write_csv(folder / "dev.csv", found.curves.dev)
    write_csv(folder / "classes.csv", class_table(found))
    if found.attention is not None:
        write_csv(folder / "attention.csv", found.attention.table())
    write_text(folder / "run.json", json.dumps(account(found, source=source), indent=2, default=str) + "\n")


def class_table(found: Finetuned) -> dict[str, list[Any]]:
    """Columns of classes.csv: a row a part and class, or type of entity."""
    table: dict[str, list[Any]] = {"part": []}
    for part, scores in found.scores.items():
        table["part"] += [part] * len(scores.classes["class"])
        for name, values in scores.classes.items():
            table.setdefault(name, []).extend(values)
    return table


def account(found: Finetuned, *, source: str = "") -> dict[str, Any]:
    """Where the model comes from and how good it is."""
    data = found.data
    return {
        "command": "finetune",
        "name": f"{found.parts.name} fine-tuned on {data.name}",
        "task": data.name,
        "parent": {"name": found.parts.name, "model": source, "model_fingerprint": found.parent},
        "model_fingerprint": found.fingerprint,
        "settings": dict(found.how),
        "classes": list(data.classes),
        "examples": {name: len(part) for name, part in data.parts.items()},
        "files": dict(data.files),
        "notes": list(data.notes),
        "left_out": dict(found.left_out),
        "best_step": found.best_step,
        "scores": {part: scores.values for part, scores in found.scores.items()},
        "majority": dict(found.majority),
        "seconds": round(found.seconds, 3),
        "versions": versions(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
