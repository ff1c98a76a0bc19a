"""What `limbeck evaluate` is given: targets, repairs and ranges of numbers, as typed, made into what they mean."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.evaluate_words import WORDS, check_word_uses
from limbeck.cli.options import count, positive
from limbeck.errors import InputError, LimbeckError, UsageError

if TYPE_CHECKING:
    from limbeck.evaluation.targets import Target

NOTHING_THERE = "{}: no file or folder of that name is here, and a model's id would need a network: check the name."


def names_of(targets: Sequence[str]) -> list[str]:
    """A name for each target: the last part of its path, more of it where two are alike."""
    from limbeck.runs.execution.folders import named_folders

    base = Path("targets")
    return [str(folder.relative_to(base)) for folder in named_folders(base, targets)]


def check_uses(options: argparse.Namespace, groups: Set[str]) -> None:
    """Refuse what none of the targets and kinds of tasks would heed; what was not given gets its default."""
    from limbeck.runs.execution.sources import is_static

    static = [is_static(thing) for thing in options.target]
    for thing in options.target:
        check_there(thing)
    check_word_uses(options, groups, static)
    of_models = {"layers": "table", "units": "words", "special": False, "keep_first": False}  # as files have it anyway
    for name, same in of_models.items():
        if all(static) and getattr(options, name) not in (None, False, same):
            raise UsageError(f"--{name.replace('_', '-')} is about models, got vector files only: leave it out.")
    if not any(static):
        if options.case is not None or options.fallback is not None:
            name = "case" if options.case is not None else "fallback"
            raise UsageError(f"--{name} is about words looked up in vector files, got models only: leave it out.")
        if options.oov is not None and not groups & WORDS:
            raise UsageError("--oov is of use to a model for tasks of words only, got none: leave it out.")
    elif options.oov is not None and groups <= {"classify", "classify-sentences"} and options.classifier == "mlp":
        raise UsageError("--oov is not heeded by --classifier mlp, words without a vector are left out: leave it.")
    learning = [group for group in groups if group.startswith("classify")]
    if options.method and not options.transductive and len(learning) < len(groups):
        raise UsageError(
            "--method must be fitted on the very vectors that are scored where a task has no training part: add "
            "--transductive, or fit it on a text with `limbeck repair` and give --repair."
        )
    if options.transductive and not options.method and not learning:
        raise UsageError("--transductive is about --method, got none: add it, or leave this out.")
    if options.weighting is not None or options.counts is not None:
        name = "weighting" if options.weighting is not None else "counts"
        if not any(static) or "sts" not in groups:
            raise UsageError(f"--{name} is about texts (sts) and vector files, got none of one: leave it out.")
        if options.counts is not None and options.weighting != "sif":
            raise UsageError("--counts is for --weighting sif, got another weighting: add it, or leave --counts out.")
        if options.tune:
            raise UsageError(f"--{name} does not go with --tune, which tunes plain means: leave one out.")
    for name, default in (("layers", "-1"), ("units", "pieces"), ("oov", "drop"), ("case", "either")):
        if getattr(options, name) is None:
            setattr(options, name, default)


def check_there(thing: str) -> None:
    """Refuse a name that can only be that of a file, and is not there, before anybody asks the network for a model."""
    from limbeck.encoders.miniatures import is_miniature
    from limbeck.vectors.formats import BY_SUFFIX, COMPRESSED

    path = Path(thing).expanduser()
    if is_miniature(thing) or path.exists():
        return
    endings = [*filter(None, BY_SUFFIX), *COMPRESSED, ".gguf"]
    if path.suffix in endings or thing.startswith(("/", ".", "~")) or thing.endswith("/") or thing.count("/") > 1:
        raise InputError(NOTHING_THERE.format(thing))


def load_model(thing: str, settings: Mapping[str, Any]) -> Any:
    """A model; where nothing of that name is here, an error about the network says that first."""
    from difflib import get_close_matches

    from limbeck.encoders import load_encoder
    from limbeck.encoders.miniatures import MINIATURES, is_miniature

    try:
        return load_encoder(thing, **settings)
    except InputError as error:
        unknown = "couldn't connect" in str(error) or "is not a local folder" in str(error)
        if not unknown or is_miniature(thing) or Path(thing).expanduser().exists():
            raise
        near = "".join(f" (did you mean {name}?)" for name in get_close_matches(thing.lower(), MINIATURES, 1, 0.8))
        raise InputError(NOTHING_THERE.format(thing).rstrip(".") + f"{near}.") from error


def check_against(name: str, targets: Sequence[Target], repairs: Sequence[Mapping[str, Any]], groups: Set[str]) -> None:
    """Refuse what no column will be called before any is scored; classification may have repairs of its own."""
    from limbeck.errors import choose
    from limbeck.evaluation.targets import name_of

    if any(group.startswith("classify") for group in groups):
        return
    both = zip(targets, repairs, strict=True)
    names = [name_of(target, layer, repair) for target, own in both for layer in target.layers for repair in own]
    choose(name, names, what="--against")


def open_targets(names: Sequence[str], options: argparse.Namespace) -> list[Target]:
    """What was named; a fallback and counts, which all vector files share, are read once."""
    from limbeck.vectors import StaticVectors
    from limbeck.vectors.word_counts import read_counts

    fallback = None if options.fallback is None else StaticVectors.load(options.fallback)
    counts, total = (None, None) if options.counts is None else read_counts(Path(options.counts))
    shared = {"fallback": fallback, "weighting": options.weighting or "mean", "counts": counts, "total": total}
    return [open_target(thing, name, options, shared) for thing, name in zip(options.target, names, strict=True)]


def open_target(thing: str, name: str, options: argparse.Namespace, shared: Mapping[str, Any]) -> Target:
    """One of them; `shared` is what all vector files have in common."""
    from limbeck.evaluation.targets import ModelTarget, TableTarget
    from limbeck.evaluation.web import as_loaded
    from limbeck.runs.execution.sources import is_static
    from limbeck.vectors import StaticVectors

    common: dict[str, Any] = {"name": name, "language": options.language, "lowercase": options.lowercase}
    if is_static(thing) and options.preset == "web":
        return TableTarget(as_loaded(StaticVectors.load(thing)), oov="mean", case="keep", **common)
    if is_static(thing):
        vectors = StaticVectors.load(thing)
        if (fallback := shared["fallback"]) is not None and fallback.dim != vectors.dim:
            raise InputError(
                f"{options.fallback}: a fallback must have the dimensions of the vectors that it stands in for, got "
                f"{fallback.dim}, and {thing} has {vectors.dim}: give vectors of the same space, or another --oov."
            )
        return TableTarget(vectors, oov=options.oov, case=options.case, **shared, **common)
    common["oov"] = "drop" if options.oov == "fallback" else options.oov  # whose vectors are of another space
    settings = ("layers", "units", "special", "keep_first", "device", "dtype", "batch_tokens", "revision")
    given = {name: getattr(options, name) for name in (*settings, "trust_remote_code")}
    encoder = load_model(thing, {name: value for name, value in given.items() if value not in (None, False)})
    return ModelTarget(encoder, progress=not options.quiet, **common)


def fitted_repairs(paths: Sequence[str], targets: Sequence[Target]) -> list[dict[str, Any]]:
    """Of each target the repairs that were fitted on it, or that do not say on what; each must fit at least one."""
    found: list[dict[str, Any]] = [{} for _ in targets]
    if not paths:
        return found  # scikit-learn is needed for repairs only
    from limbeck.evaluation.targets import check_repair
    from limbeck.repairs import load_repairs

    labels = labels_of(paths)
    for path, label in zip(paths, labels, strict=True):
        refused: LimbeckError | None = None
        taken = False
        for target, own in zip(targets, found, strict=True):
            try:
                known = getattr(target, "model_fingerprint", None)
                repair = load_repairs(path, model=target.model, model_fingerprint=known)
                check_repair(target, repair, label)
            except LimbeckError as error:
                refused = error
                continue
            own[label] = repair
            taken = True
        if not taken and refused is not None:
            raise refused
    return found


def other_units(paths: Sequence[str], targets: Sequence[Target], fitted: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each repair that was fitted on other units than a target's; none where either does not say."""
    found = []
    for path, label in zip(paths, labels_of(paths), strict=True):
        for target, own in zip(targets, fitted, strict=True):
            was, now = units_told(path), target.describe().get("settings", {})
            if label in own and (told := [name for name in was if name in now and was[name] != now[name]]):
                then, here = (", ".join(f"{name} {side[name]}" for name in told) for side in (was, now))
                found.append(
                    f"{label} was fitted on vectors of other units ({then}) than {target.name} has here ({here}): fit "
                    "one with the same --units and --special, or evaluate with its"
                )
    return found


def units_told(path: str) -> dict[str, Any]:
    """What the files of a repair say that its vectors were of: words or pieces, special tokens among them or not."""
    from limbeck.repairs.files import read_about
    from limbeck.repairs.folders import FOLDER, SUFFIX

    place = Path(path).expanduser()
    folder = place / FOLDER if (place / FOLDER).is_dir() else place
    about = read_about(place if place.is_file() else next(folder.glob(f"*{SUFFIX}"))).get("units")
    told = dict(about) if isinstance(about, Mapping) else {}
    if told.get("units") != "words":
        told.pop("pooling", None)  # pieces are not pooled
    return told


def labels_of(paths: Sequence[str]) -> list[str]:
    """How tables call repairs: by the names of their files or folders, by the paths where these are alike."""
    names = [Path(path).stem if Path(path).is_file() else Path(path).resolve().name for path in paths]
    return [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def repairs_by_name(**kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Vectors as they are ("") and all repairs of a target; where two kinds share a name, it says which kind it is.

    >>> list(repairs_by_name(fitted={"center": 1, "whiten": 2}, on_the_task={"center": 3}))
    ['', 'center, fitted', 'whiten', 'center, on the task']
    """
    names = [name for repairs in kinds.values() for name in repairs]
    found: dict[str, Any] = {"": None}
    for kind, repairs in kinds.items():
        for name, repair in repairs.items():
            label = name if names.count(name) == 1 else f"{name}, {kind.replace('_', ' ')}"
            if label in found:
                raise UsageError(
                    f"Each repair must have a name of its own, got two {label!r}: rename a file or folder."
                )
            found[label] = repair
    return found


def unfitted_repairs(texts: Sequence[str], seed: int) -> dict[str, Any]:
    """What --method names, to be fitted on each task."""
    if not texts:
        return {}  # scikit-learn is needed for repairs only
    from limbeck.repairs.methods import parse_repair

    return {text: parse_repair(text, seed=seed, option="--method") for text in texts}


def numbers(text: str, *, what: str) -> list[int]:
    """Whole numbers from "10,27", "5-30" or "5-30/5".

    >>> numbers("1,5-20/5", what="--clusters")
    [1, 5, 10, 15, 20]
    """
    found: list[int] = []
    try:
        for part in text.split(","):
            ends, _, step = part.partition("/")
            low, _, high = ends.partition("-")
            found += range(count(low), count(high or low) + 1, positive(step or "1"))
    except argparse.ArgumentTypeError:
        found = []
    if not found:
        raise UsageError(f'{what} must be like "10,27", "5-30" or "5-30/5"; got {text!r}.')
    return found
