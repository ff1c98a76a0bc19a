"""The files that the claims of Rajaee & Pilehvar (2021) need, found in a folder; of what is not there, which files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.errors import InputError
from limbeck.evaluation.catalogue import find_some, load_table
from limbeck.evaluation.classifying import catalogue as classifying
from limbeck.evaluation.task import Pairs
from limbeck.seeds import generator_for

DEVELOPMENT = "sts-b-dev"
SETS = ("sts12", "sts13", "sts14", "sts15", "sts16", "sick-r", "sts-b")  #: in the order of the paper's tables
TREEBANK = "a treebank in CoNLL-U (*.conllu, plain or compressed)"
SEMCOR = "SemCor (semcor3.0.tar.xz)"


@dataclass(frozen=True)
class Data:
    """What was found.

    development  the set that is tuned on, and whose sentences layers are measured on
    missing      kind of data ("development", "sts", "classify", "treebank", "semcor") -> which files are needed
    """

    development: Any = None
    sts: Mapping[str, Any] = field(default_factory=dict)
    classify: Mapping[str, Any] = field(default_factory=dict)
    treebank: Sequence[str] = ()
    semcor: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)


def find_data(folder: Path | None) -> Data:
    """Everything that lies anywhere in a folder; nothing but what is missing where there is no folder."""
    missing: dict[str, str] = {}
    if folder is None:
        for kind, files in _needed().items():
            missing[kind] = f"needs {files}: give the folder to --data"
        return Data(missing=missing)
    if not folder.is_dir():
        raise InputError(
            f"{folder}: --data must be a folder with the tasks' files, there is none: check the path.",
            code="not_found",
            parameter="data",
        )
    development = _try(missing, "development", lambda: find_some(folder, [DEVELOPMENT], []))
    sts = _try(missing, "sts", lambda: find_some(folder, [], SETS))
    classify = _try(missing, "classify", lambda: classifying.find_some(folder, [], list(classifying.load_table())))
    treebank, semcor = _corpora(folder)
    for kind in [kind for kind, there in (("treebank", treebank), ("semcor", semcor)) if not there]:
        missing[kind] = f"needs {_needed()[kind]}, {folder} has none"
    return Data(
        development=development.get(DEVELOPMENT),
        sts={name: sts[name] for name in SETS if name in sts},
        classify=classify,
        treebank=treebank,
        semcor=semcor,
        missing=missing,
    )


def _try(missing: dict[str, str], kind: str, find: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = find()
    except InputError as error:
        missing[kind] = str(error).rstrip(".")
        return {}
    return found


def _needed() -> dict[str, str]:
    """Kind of data -> files, in words."""
    table, tasks = load_table(), classifying.load_table()
    sts = ", ".join(str(table[name][0].files[0].path) for name in SETS)
    return {
        "development": str(table[DEVELOPMENT][0].files[0].path),
        "sts": f"files of STS and SICK ({sts})",
        "classify": f"files of {', '.join(str(task.files[0].path) for task in tasks.values())}",
        "treebank": TREEBANK,
        "semcor": SEMCOR,
    }


def _corpora(folder: Path) -> tuple[list[str], str]:
    treebank, semcor = [], ""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if ".conllu" in name:
                treebank.append(str(Path(place, name)))
            elif name.lower().startswith("semcor") and ".tar" in name and not semcor:
                semcor = str(Path(place, name))
    return treebank, semcor


def some_pairs(pairs: Pairs, most: int | None, seed: int) -> Pairs:
    """At most so many pairs of a task, drawn by seed, in their order."""
    if most is None or most >= len(pairs):
        return pairs
    chosen = np.sort(generator_for(seed, "pairs", pairs.name).choice(len(pairs), most, replace=False)).tolist()
    return replace(
        pairs,
        first=[pairs.first[row] for row in chosen],
        second=[pairs.second[row] for row in chosen],
        gold=pairs.gold[chosen],
        subsets=[pairs.subsets[row] for row in chosen] if len(pairs.subsets) else (),
    )


def pair_keys(pairs: Pairs) -> list[frozenset[str]]:
    """What makes two pairs the same: their texts, whichever comes first and however it is capitalised."""
    return [frozenset((a.strip().lower(), b.strip().lower())) for a, b in zip(pairs.first, pairs.second, strict=True)]


def sizes_of(paths: Sequence[str | Path]) -> list[list[Any]]:
    """Names and sizes of files, by which a kept part knows that they are still the same."""
    return [[Path(path).name, Path(path).stat().st_size] for path in paths]
