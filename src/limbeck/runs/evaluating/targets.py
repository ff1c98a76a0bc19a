"""The targets of an evaluation: what was named or given, with a name for each, and the vectors of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from limbeck.encoders.miniatures import is_miniature, refuse_misspelt
from limbeck.errors import InputError, UsageError
from limbeck.evaluation.evaluation import is_loaded
from limbeck.evaluation.targets import ModelTarget, TableTarget, Target, as_target
from limbeck.evaluation.web import as_loaded
from limbeck.runs.execution.folders import named_folders
from limbeck.runs.execution.sources import is_static
from limbeck.vectors import StaticVectors
from limbeck.vectors.formats import BY_SUFFIX, COMPRESSED
from limbeck.vectors.word_counts import read_counts

if TYPE_CHECKING:
    from limbeck.runs.evaluate import EvaluateRun

NOTHING_THERE = "{}: no file or folder of that name is here, and a model's id would need a network: check the name."


def is_table(thing: Any) -> bool:
    """Whether a target is a table of word vectors, rather than a model; nothing is loaded."""
    return is_static(thing) if isinstance(thing, str | Path) else isinstance(thing, StaticVectors | TableTarget)


def check_target(thing: Any) -> None:
    """Refuse what cannot be a target, and a name that can only be that of a file and is not there.

    Nobody has asked the network for a model yet.
    """
    if not isinstance(thing, str | Path):
        if not is_loaded(thing) and as_target(thing) is None:
            raise UsageError(
                f"A target is a model, a file of word vectors, StaticVectors or an Encoder; got "
                f"{type(thing).__name__}: give one of these.",
                code="required",
                parameter="targets",
            )
        return
    text, path = str(thing), Path(thing).expanduser()
    if is_miniature(text) or path.exists():
        return
    refuse_misspelt(text, parameter="targets")
    endings = [*filter(None, BY_SUFFIX), *COMPRESSED, ".gguf"]
    if path.suffix in endings or text.startswith(("/", ".", "~")) or text.endswith("/") or text.count("/") > 1:
        raise InputError(NOTHING_THERE.format(text), code="not_found", parameter="targets")


def names_of(targets: Sequence[Any]) -> list[str]:
    """A name for each target: its own, numbered where two are alike; of a path the last part, or more of it."""
    base = Path("targets")
    paths = [thing for thing in targets if isinstance(thing, str | Path)]
    of_paths = iter([str(folder.relative_to(base)) for folder in named_folders(base, paths)])
    found: list[str] = []
    for thing in targets:
        name = next(of_paths) if isinstance(thing, str | Path) else str(getattr(thing, "name", "")) or "vectors"
        same = sum(other == name or other.startswith(f"{name} ") for other in found)
        found.append(f"{name} {same + 1}" if name in found else name)
    return found


def open_targets(run: EvaluateRun) -> list[Target]:
    """What was named or given; a fallback and counts, which all tables share, are read once."""
    fallback, counts, total = run.lookup.fallback, run.weighting.counts, None
    if isinstance(fallback, str | Path):
        fallback = StaticVectors.load(fallback)
    if isinstance(counts, str | Path):
        counts, total = read_counts(Path(counts))
    shared = {"fallback": fallback, "counts": counts, "total": total, "weighting": run.weighting.weighting or "mean"}
    return [_open(thing, name, run, shared) for thing, name in zip(run.things, names_of(run.things), strict=True)]


def _open(thing: Any, name: str, run: EvaluateRun, shared: Mapping[str, Any]) -> Target:
    """One of them; `shared` is what all tables have in common."""
    if isinstance(thing, ModelTarget | TableTarget):
        return replace(thing, name=name)
    common: dict[str, Any] = {"name": name, "language": run.texts.language, "lowercase": run.texts.lowercase}
    oov = run.words.oov or "drop"
    if is_table(thing):
        vectors = thing if isinstance(thing, StaticVectors) else StaticVectors.load(thing)
        if run.presets.preset == "web":
            return TableTarget(as_loaded(vectors), oov="mean", case="keep", **common)
        fallback = shared["fallback"]
        if isinstance(fallback, StaticVectors) and fallback.dim != vectors.dim:
            given = run.lookup.fallback
            raise InputError(
                f"{given if isinstance(given, str | Path) else '--fallback'}: a fallback must have the dimensions of "
                f"the vectors that it replaces, got {fallback.dim}, and {thing if thing is not vectors else name} has "
                f"{vectors.dim}: give vectors of the same space, or another --oov.",
                code="other_dimensions",
                parameter="fallback",
            )
        return TableTarget(vectors, oov=oov, case=run.lookup.case or "either", **shared, **common)
    common["oov"] = "drop" if oov == "fallback" else oov  # whose vectors are of another space
    if not isinstance(thing, str | Path) and not is_loaded(thing):
        if hasattr(thing, "prepare"):
            return ModelTarget(thing, **common)
        return cast(Target, thing)
    return ModelTarget(load_model(thing, run), **common)


def load_model(thing: Any, run: EvaluateRun) -> Any:
    """A model; where nothing of that name is here, an error about the network says that first."""
    from limbeck.encoders import load_encoder

    vectors = run.vectors
    settings: dict[str, Any] = {"layers": vectors.layers or "-1", "units": vectors.units or "pieces"}
    settings |= {name: True for name in ("special", "keep_first") if getattr(vectors, name)}
    try:
        return load_encoder(thing, **settings, **run.loading.given(), **run.batches.given())
    except InputError as error:
        unknown = "couldn't connect" in str(error) or "is not a local folder" in str(error)
        if not unknown or not isinstance(thing, str | Path) or is_miniature(thing) or Path(thing).expanduser().exists():
            raise
        raise InputError(NOTHING_THERE.format(thing), code="not_found", parameter="targets") from error
