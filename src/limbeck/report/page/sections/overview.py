"""Cards that say what each run is: of which model, on which text, by which command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from limbeck.report.page.folders import Folder, plain_name
from limbeck.report.page.packing import Pack

COUNTS = {
    "texts": "texts",
    "words": "words read",
    "distinct_words": "distinct words",
    "followed_words": "words followed",
    "measured_occurrences": "occurrences measured",
}


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any]:
    """A card a run."""
    return {
        "title": "Overview",
        "cards": [
            {"name": folder.name, "kind": folder.kind, "facts": [list(fact) for fact in facts_of(folder)]}
            for folder in folders
        ],
    }


def facts_of(folder: Folder) -> Iterator[tuple[str, str]]:
    """What a reader must know of a run to trust it, as labels and values. Of paths only the last part is told."""
    told = folder.account
    yield "folder", plain_name(folder.path)
    if paper := told.get("paper"):
        yield "paper", str(paper.get("title", ""))
        yield "by", str(paper.get("citation", ""))
    if layers := told.get("layers"):
        yield "layers", str(len(layers))
    if dim := told.get("dim"):
        yield "dimensions", f"{dim:,}"
    source = told.get("source")
    if isinstance(source, Mapping):
        yield from _text_of(source)
    for key, label in COUNTS.items():
        if isinstance(number := (told.get("counts") or {}).get(key), int):
            yield label, f"{number:,}"
    for reason, number in (told.get("dropped") or {}).items():
        if number:
            yield f"left out: {reason}", f"{number:,}" if isinstance(number, int) else str(number)
    yield from _method_of(told)
    if targets := told.get("targets"):
        yield "targets", ", ".join(str(target.get("name", "")) for target in targets)
    if tasks := told.get("tasks"):
        yield (
            "tasks",
            ", ".join(str(task.get("name", task)) if isinstance(task, Mapping) else str(task) for task in tasks),
        )
    if words := told.get("lowest_self_similarity"):
        yield "most contextual", ", ".join(map(str, words[:5]))
    if words := told.get("highest_self_similarity"):
        yield "least contextual", ", ".join(map(str, words[:5]))
    if isinstance(seconds := told.get("seconds"), int | float):
        yield "time", f"{seconds:,.1f} s"
    version = (told.get("versions") or {}).get("limbeck") or told.get("limbeck")
    if version:
        yield "limbeck", str(version)
    if written := told.get("written"):
        yield "written", str(written).replace("T", " ").replace("Z", " UTC")


def _text_of(source: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    corpus = source.get("corpus")
    if isinstance(corpus, Mapping) and corpus.get("paths"):
        names = [PurePath(str(path)).name for path in corpus["paths"]]
        yield "text", ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    if unit := source.get("text_unit"):
        yield "read by", str(unit)


def _method_of(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    settings = told.get("settings")
    if isinstance(settings, Mapping):
        for key in ("preset", "method", "seed"):
            if settings.get(key) not in (None, "", []):
                yield key, str(settings[key])
    for key in ("method", "task", "parent"):
        value = told.get(key)
        if isinstance(value, str):
            yield key, PurePath(value).name
        elif isinstance(value, Mapping) and value.get("name"):
            yield key, PurePath(str(value["name"])).name
