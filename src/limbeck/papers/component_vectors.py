"""Table 1 of Ethayarajh (2019): static vectors out of a layer's principal components, scored on nine sets.

Scored in two ways: "web", as the table was (lower-cased unit vectors, an unknown word is the mean vector and an unknown
answer wrong, the best of six clusterings, see `limbeck.evaluation.web`), and "known", on what the vectors know: pairs
and questions with unknown words are left out, one clustering is settled beforehand. The average over contexts stands
beside the principal component, and files of word vectors are cut to the words of the text, as there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from limbeck.analysis.result import columns_of
from limbeck.errors import InputError
from limbeck.evaluation import evaluate, tasks
from limbeck.evaluation.settings import EvaluationSettings
from limbeck.evaluation.targets import TableTarget
from limbeck.evaluation.web import as_loaded
from limbeck.evaluation.word_suite import evaluate_words
from limbeck.evaluation.word_task import word_tasks
from limbeck.papers import published
from limbeck.papers.parts import Part, Row
from limbeck.papers.published import TABLE_1_SETS
from limbeck.papers.subjects import Subject
from limbeck.runs.distill import distill
from limbeck.vectors import StaticVectors

#: name of a task -> what Table 1 calls it
SETS = dict(
    zip(
        ("simlex-999", "men", "ws-353", "rw", "google-analogies", "msr-analogies", "semeval-2012-2-all", "bless", "ap"),
        TABLE_1_SETS,
        strict=True,
    )
)
SIMILARITY = tuple(SETS)[:4]
WAYS = ("web", "known")
PRINCIPAL, AVERAGE, FILE = "principal", "average", "file"
DRAWS = 300
FEWEST = 20  #: items that a set must have left; fewer are no ground for a score


def find_nine_sets(data: Path | None) -> tuple[dict[str, Any], str]:
    """The nine sets as far as they lie under a folder, and what is missing."""
    if data is None:
        return {}, f"needs files of {', '.join(SETS.values())}: give the folder to --data"
    found: dict[str, Any] = {}
    for name in SETS:
        try:
            found |= tasks(data, name) if name in SIMILARITY else word_tasks(data, name)
        except InputError:
            if not data.is_dir():
                raise
    missing = [title for name, title in SETS.items() if name not in found]
    return found, f"no files of {', '.join(missing)} under {data}" if missing else ""


def ends(layers: Sequence[str]) -> list[str]:
    """The lowest two and the highest two layers above the input, each once.

    >>> ends(["0", "1", "2", "3", "4", "5"]), ends(["0", "1", "2"])
    (['1', '2', '4', '5'], ['1', '2'])
    """
    above = [layer for layer in layers if layer.isdigit() and layer != "0"]
    return list(dict.fromkeys([*above[:2], *above[-2:]]))


def component_part(
    model: Any, corpus: Any, layers: Sequence[str], sets: Mapping[str, Any], *, seed: int = 0, **options: Any
) -> Part:
    """Both kinds of vectors at some layers, on every set, in both ways."""
    if options.pop("characters", False):
        options["units"] = "characters"
    made = distill(
        model,
        corpus,
        method=[PRINCIPAL, AVERAGE],
        layers=",".join(layers),
        case="lower",
        unseen="drop",
        seed=seed,
        **options,
    )
    rows = []
    for one in made.values():
        rows += score_rows(one, sets, {"vectors": one.method, "layer": one.layer}, seed=seed)
    words = next(iter(made.values())).words
    return Part({"scores": columns_of(rows)}, {"words": len(words), "layers": list(layers)})


def file_part(vectors: StaticVectors, words: Sequence[str], sets: Mapping[str, Any], *, seed: int = 0) -> Part:
    """A file of vectors, cut to the words of the text."""
    known = set(words)
    rows = [row for row, word in enumerate(vectors.words) if word.lower() in known]
    if not rows:
        raise InputError(
            "The file of vectors must have words of the text, it has none: check --lowercase.",
            code="no_words",
            parameter="lowercase",
        )
    cut = as_loaded(StaticVectors([vectors.words[row] for row in rows], vectors.matrix[rows]))
    found = score_rows(cut, sets, {"vectors": FILE, "layer": ""}, seed=seed)
    return Part({"scores": columns_of(found)}, {"words": len(cut), "layers": []})


def score_rows(vectors: StaticVectors, sets: Mapping[str, Any], head: Row, *, seed: int) -> list[Row]:
    """A row for each set and way, which begins with the cells of `head`."""
    loaded = as_loaded(vectors)
    targets = {
        "web": TableTarget(loaded, name="web", oov="mean", case="keep"),
        "known": TableTarget(loaded, name="known", oov="drop", case="lower"),
    }
    settings = EvaluationSettings(draws=DRAWS, seed=seed)
    rows = []
    for name, task in sets.items():
        for way, target in targets.items():
            if name in SIMILARITY:
                score: Any = evaluate(task, target, settings=settings)
            else:
                policy = replace(settings, preset="web") if way == "web" else replace(settings, oov="drop")
                score = evaluate_words(task, target, settings=policy)
            enough = score.n >= FEWEST
            value, low, high = (score.value, score.low, score.high) if enough else (math.nan, math.nan, math.nan)
            rows.append(
                {
                    **head, "set": name, "way": way, "value": value, "low": low, "high": high,
                    "n": score.n, "total": score.total, "coverage": score.coverage,
                }
            )  # fmt: skip
    return rows


def with_printed(subjects: Sequence[Subject]) -> tuple[Subject, ...]:
    """The paper's models with their rows of the printed table, and its two files of vectors."""
    printed: dict[str, dict[str, Sequence[float]]] = {}
    for name, values in published.TABLE_1.values.items():
        family, _, layer = name.partition(", layer ")
        printed.setdefault(family, {})[layer] = values
    models = [replace(one, static=_printed_part(printed.pop(one.family))) for one in subjects]
    files = [
        Subject(f"published {name}", "", ("table",), {}, static=_printed_part(rows)) for name, rows in printed.items()
    ]
    return (*models, *files)


def _printed_part(rows: Mapping[str, Sequence[float]]) -> Part:
    """Rows of the printed table as a part: layer ("" for a file) -> scores."""
    nothing = {"way": "web", "low": math.nan, "high": math.nan, "n": 0, "total": 0, "coverage": math.nan}
    scores = [
        {"vectors": PRINCIPAL if layer else FILE, "layer": layer, "set": name, "value": value, **nothing}
        for layer, values in rows.items()
        for name, value in zip(SETS, values, strict=True)
    ]
    return Part({"scores": columns_of(scores)}, {"layers": [layer for layer in rows if layer]})
