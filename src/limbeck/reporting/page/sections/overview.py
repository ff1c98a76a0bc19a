"""Cards that say what each run is: of which model, on which text, by which command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from limbeck.reporting.page.folders import Folder, plain_name
from limbeck.reporting.page.packing import Pack

COUNTS = {
    "texts": "texts",
    "words": "words read",
    "distinct_words": "distinct words",
    "tracked_words": "words tracked",
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
    """What a reader must know of a run to trust it, each label once. Of paths only the last part is told."""
    told = folder.account
    facts: dict[str, str] = {}
    for label, value in (
        ("folder", plain_name(folder.path)),
        *_subject_of(told),
        *_counts_of(told),
        *_method_of(told),
        *_outcome_of(told),
    ):
        if value:
            facts.setdefault(label, value)
    yield from facts.items()


def _subject_of(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Paper, model and data, under whichever name a command has kept them."""
    paper, source, options = (_mapping(told.get(name)) for name in ("paper", "source", "options"))
    facts, about = (_mapping(told.get(name)) for name in ("facts", "about"))
    yield "paper", str(paper.get("title", ""))
    yield "by", str(paper.get("citation", ""))
    yield "about", listed(options.get("what"))
    for models in (
        told.get("model"), told.get("teacher"), told.get("parent"), told.get("targets"), told.get("models"),
        source.get("encoder"), about.get("encoder"),
    ):  # fmt: skip
        yield "model", listed(models)
    yield "compared", listed(told.get("runs"))
    yield "layers", str(len(layers)) if isinstance(layers := told.get("layers"), list) else ""
    yield "dimensions", f"{dim:,}" if isinstance(dim := told.get("dim"), int) else ""
    for text in (source.get("corpus"), about.get("corpus"), told.get("text")):
        yield "text", listed(text)
        yield "warning", " ".join(_warnings_of(text))
    for data in (facts.get("data"), told.get("files")):
        yield "data", listed(data)
    yield "read by", str(source.get("text_unit") or told.get("text_unit") or "")
    yield "task", listed(told.get("task"))
    yield "tasks", listed(told.get("tasks"), most=20)


def _warnings_of(texts: Any) -> list[str]:
    """What the records of texts warn of, each once."""
    found = [
        str(_mapping(text).get("language_warning", "")) for text in (texts if isinstance(texts, list) else [texts])
    ]
    return [told[:1].upper() + told[1:] for told in dict.fromkeys(filter(None, found))]


def _counts_of(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    counts = _mapping(told.get("counts"))
    for key, label in COUNTS.items():
        if isinstance(number := counts.get(key), int):
            yield label, f"{number:,}"
    yield "words by origin", ", ".join(f"{name} {number:,}" for name, number in _mapping(told.get("origins")).items())
    for reason, number in _mapping(told.get("dropped") or counts.get("dropped")).items():
        if number:
            yield f"left out: {reason}", f"{number:,}" if isinstance(number, int) else str(number)


def _method_of(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    settings = {**_mapping(told.get("options")), **_mapping(told.get("settings"))}
    yield "preset", str(settings.get("preset") or told.get("preset") or "")
    yield "method", listed(told.get("method"))
    yield "method", listed(settings.get("method"))
    yield "which is", str(told.get("method_summary") or "")
    yield "layer", str(told.get("layer") or "")
    yield "methods", listed(told.get("results"), most=20)
    if (seed := settings.get("seed")) is not None:
        yield "seed", str(seed)


def _outcome_of(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for label, key in (("most contextual", "lowest_self_similarity"), ("least contextual", "highest_self_similarity")):
        if isinstance(words := told.get(key), list):
            yield label, ", ".join(f"“{word}”" for word in words[:5])
    if isinstance(seconds := told.get("seconds"), int | float):
        yield "time", f"{seconds:,.1f} s"
    yield "limbeck", str(_mapping(told.get("versions")).get("limbeck") or told.get("limbeck") or "")
    yield "written", str(told.get("written") or "").replace("T", " ").replace("Z", " UTC")


def listed(value: Any, *, most: int = 5) -> str:
    """Names of whatever a run.json holds: text, paths, things with a name, or several of these, each once.

    >>> listed(["runs/a", {"name": "b"}, "a"]), listed({"paths": ["x/one.txt"]}), listed(None)
    ('a, b', 'one.txt', '')
    """
    if isinstance(value, Mapping):
        inside = value.get("paths") or value.get("name")
        return listed(inside if inside is not None else list(value.values()), most=most)
    if isinstance(value, list | tuple):
        names = list(dict.fromkeys(filter(None, (listed(one) for one in value))))
        return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    text = "" if value is None else str(value)
    return PurePath(text).name or text


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
