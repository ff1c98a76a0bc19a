"""Tasks of single words on one target: analogies, relations, categories, at every layer and after every repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from limbeck.errors import UsageError
from limbeck.evaluation.analogy import solve_analogies
from limbeck.evaluation.categorize import put_into_clusters
from limbeck.evaluation.item_score import ItemScore, Outcomes, Rows, item_score
from limbeck.evaluation.semeval2012 import rate_relations
from limbeck.evaluation.settings import DEFAULTS, EvaluationSettings
from limbeck.evaluation.targets import TableTarget, Target, as_target, name_of
from limbeck.evaluation.web import as_loaded, spell
from limbeck.evaluation.word_task import Categories, Items, Questions, Relations, WordTask
from limbeck.evaluation.word_vectors import Setting, repaired_tables, word_tables
from limbeck.vectors.static import StaticVectors


def evaluate_words(
    task: WordTask | Items,
    target: Any,
    *,
    name: str = "",
    repair: Any = None,
    settings: EvaluationSettings = DEFAULTS,
) -> ItemScore:
    """A target's score on analogies, relations or categories.

    target    StaticVectors, a dict of vectors, or a target of `limbeck.evaluation.targets`; for relations and
              categories also an encoder with one layer, which reads each word by itself
    repair    of the vectors, fitted, or not and then fitted on the whole table
    settings  `analogy` (add or mul) and `vocabulary` of analogies; `oov`, without which questions of analogies are
              wrong and other items left out; `preset` (web: lower-cased unit vectors and the peer's policies, whatever
              the target says); `device`, `draws`, `seed`
    """
    if isinstance(target, Mapping):
        target = StaticVectors(list(target), np.array(list(target.values())))
    known = as_target(target, name=name, settings=settings)
    if known is None:
        raise UsageError(
            f"A task of words needs vectors of words, got {type(target).__name__}: give StaticVectors.",
            code="wrong_type",
            parameter="target",
        )
    known = known if settings.preset is None else as_web_loads(known)
    if len(known.layers) > 1:
        raise UsageError(
            f"One score is of one layer, {known.name} has {len(known.layers)}: load it with one.",
            code="ambiguous",
            parameter="layer",
        )
    (score,) = word_scores(task, known, {"": repair}, settings)
    return score


def as_web_loads(target: Target) -> TableTarget:
    """A table as the peer loads it, with its policy for missing words."""
    if not isinstance(target, TableTarget):
        raise UsageError(
            f"The preset web is about files of word vectors, got the model {target.name}: leave one out.",
            code="unsupported",
            parameter="preset",
        )
    return TableTarget(as_loaded(target.vectors), name=target.name, oov="mean", case="keep")


def word_scores(
    task: WordTask | Items,
    target: Target,
    repairs: Mapping[str, Any],
    settings: EvaluationSettings,
    *,
    progress: bool = False,
) -> list[ItemScore]:
    """A score for each layer of a target and each repair of its vectors; a table is as the preset has loaded it."""
    preset = settings.preset
    items, notes = task.read() if isinstance(task, WordTask) else (task, ())
    called = task.name if isinstance(task, WordTask) else type(task).__name__.lower()
    return [
        item_score(
            called,
            name_of(target, layer, name),
            found.outcomes,
            found.found,
            parts=_parts(items),
            dropped=found.dropped,
            settings={**({"preset": preset} if preset else {}), **found.settings, "layer": layer}
            | ({"repair": name} if name else {}),
            notes=notes,
            known=found.known,
            again=found.again,
            draws=settings.draws,
            seed=settings.seed,
        )
        for (layer, name), found in _outcomes(items, target, repairs, settings)
    ]


def _outcomes(
    items: Items, target: Target, repairs: Mapping[str, Any], settings: EvaluationSettings
) -> Iterator[tuple[Setting, Outcomes]]:
    if isinstance(items, Questions):
        return _analogies(items, target, repairs, settings)
    if isinstance(items, Categories):
        return _clusters(items, target, repairs, settings)
    return _relations(items, target, repairs, settings)


def _analogies(
    questions: Questions, target: Target, repairs: Mapping[str, Any], settings: EvaluationSettings
) -> Iterator[tuple[Setting, Outcomes]]:
    if not isinstance(target, TableTarget):
        raise UsageError(
            f"Analogies are searched in a table of word vectors, {target.name} is a model and has none: distil one "
            "(limbeck distill), or leave the analogies out.",
            code="unsupported",
        )
    web = settings.preset == "web"
    for setting, matrix, fallback in repaired_tables(target, repairs):
        found = solve_analogies(
            questions,
            target.vectors.words,
            matrix,
            method=settings.analogy,
            oov="mean" if web else settings.oov or "wrong",
            case="keep" if web else target.case,
            fallback=fallback,
            vocabulary=settings.vocabulary,
            spell=spell if web else None,
            device=settings.device,
        )
        yield setting, found


def _relations(
    relations: Relations, target: Target, repairs: Mapping[str, Any], settings: EvaluationSettings
) -> Iterator[tuple[Setting, Outcomes]]:
    web = settings.preset == "web"
    counts = Counter(word for one in relations.relations for pair in (*one.prototypes, *one.pairs) for word in pair)
    for setting, table in word_tables(target, list(counts), np.array(list(counts.values())), repairs):
        likeness: Literal["cosine", "dot"] = "dot" if web else "cosine"
        yield setting, rate_relations(relations, table, likeness=likeness, undefined_is_zero=web, normalize=not web)


def _clusters(
    categories: Categories, target: Target, repairs: Mapping[str, Any], settings: EvaluationSettings
) -> Iterator[tuple[Setting, Outcomes]]:
    web = settings.preset == "web"
    counts = Counter(categories.words)
    for setting, table in word_tables(target, list(counts), np.array(list(counts.values())), repairs):
        yield (
            setting,
            put_into_clusters(
                categories, table, best_first=web, every_entry=web, normalize=not web, seed=settings.seed
            ),
        )


def _parts(items: Items) -> dict[str, Rows]:
    if isinstance(items, Questions):
        return items.parts()
    if isinstance(items, Categories):
        return {}
    groups: dict[str, list[int]] = {}
    for number, one in enumerate(items.relations):
        groups.setdefault(one.group, []).append(number)
    return {name: np.array(numbers, dtype=np.int64) for name, numbers in groups.items()}
