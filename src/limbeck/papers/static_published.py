"""The paper's own parents as far as its tables go, so that the rules can be asked of them too."""

from __future__ import annotations

import math

import numpy as np

from limbeck.analysis.result import columns_of
from limbeck.papers import published_static as published
from limbeck.papers.findings import Tried
from limbeck.papers.parts import Part, Row
from limbeck.papers.published_static import SETS
from limbeck.papers.static_rules import parent_name
from limbeck.papers.static_subjects import (
    AVERAGE,
    BEST,
    CBOW,
    CHOSEN,
    FINE_TUNED,
    FROZEN,
    MEAN,
    PARAGRAPH,
    SENT2VEC,
    SENTENCE,
    SKIPGRAM,
    Parent,
)
from limbeck.papers.table_sources import WORD_VECTORS

#: rows of Table 3 that belong to the text rather than to a parent -> our method; the n-grams are bold in Table 2
BASELINES = {"skipgram": SKIPGRAM, "cbow": CBOW, "sent2vec": SENT2VEC}
#: parent -> row of Table 4 of the sentence-transformer made of it
SENTENCE_TRANSFORMERS = {"BERT-12": "SBERT-base-NLI, frozen", "RoBERTa-12": "SRoBERTa-base-NLI, frozen"}


def printed_parents() -> tuple[Tried, ...]:
    return (*(_printed(name) for name in published.DISTILLED), *(_printed_file(name) for name in published.EXISTING))


def _printed_file(name: str) -> Parent:
    """Existing vectors that the paper scored."""
    rows = [
        _row({"method": "file", "layer": ""}, over, _of_sets(published.EXISTING[name], over)) for over in (*SETS, MEAN)
    ]
    part = Part({"scores": columns_of(rows), "differences": {}})
    return Parent(f"published {name}", WORD_VECTORS, ("table",), {"similarity": part})


def _printed(name: str) -> Parent:
    rows = published.DISTILLED[name]
    best = str(published.LAYERS[name][-1])
    scored: dict[tuple[str, str], published.Row] = {
        (AVERAGE, best): rows[published.OVERALL],
        (SENTENCE, ""): rows[published.SENTENCE],
        (PARAGRAPH, ""): rows[published.PARAGRAPH],
        **{(method, ""): published.TRAINED[key] for key, method in BASELINES.items()},
    }
    scores = [
        _row({"method": method, "layer": layer}, over, _of_sets(values, over))
        for (method, layer), values in scored.items()
        for over in (*SETS, MEAN)
    ]
    named = {BEST if method == AVERAGE else method: values for (method, _), values in scored.items()}
    differences = [
        _row({"one": one, "other": other}, over, _of_sets(named[one], over) - _of_sets(named[other], over))
        for one in (SENTENCE, PARAGRAPH)
        for other in named
        if other != one
        for over in (*SETS, MEAN)
    ]
    family = next(kind for known, _, _, kind in published.OWN_MODELS.values() if known == name)
    layers = next(count for known, _, count, _ in published.OWN_MODELS.values() if known == name)
    parts = {
        "similarity": Part(
            {"scores": columns_of(scores), "differences": columns_of(differences)},
            {"best_layer": best, "no_chosen_layer": f"the paper gives no {CHOSEN}"},
        ),
    }
    if f"{name} {published.PARAGRAPH}" in published.TABLE_4:
        parts["classify"] = _classified(name)
        parts["finetuned"] = _fine_tuned(name)
    return Parent(f"published {name}", family, tuple(str(layer) for layer in range(layers)), parts)


def _classified(name: str) -> Part:
    keys = {AVERAGE: "ASE", SENTENCE: published.SENTENCE, PARAGRAPH: published.PARAGRAPH}
    rows = {method: published.TABLE_4[f"{name} {key}"] for method, key in keys.items()}
    rows |= {method: published.TABLE_4[key] for key, method in BASELINES.items()}
    if name in SENTENCE_TRANSFORMERS:
        rows[FROZEN] = published.TABLE_4[SENTENCE_TRANSFORMERS[name]]
    spread = {method: published.TABLE_5[name]["ASE" if method == AVERAGE else key] for method, key in keys.items()
              if method != SENTENCE}  # fmt: skip
    scores = [
        {"method": method, "layer": "", "task": task, "f1": f1 / 100, "f1_low": math.nan, "f1_high": math.nan,
         "accuracy": accuracy / 100, "f1_deviation": math.nan, "accuracy_deviation": math.nan, "runs": 1}
        for method, pairs in rows.items()
        for task, (f1, accuracy) in zip((*published.TASKS, MEAN), pairs, strict=True)
    ]  # fmt: skip
    for row in scores:
        if row["task"] == MEAN and row["method"] in spread:  # Table 5's means, over six runs, for Table 4's, of one
            f1, f1_deviation, accuracy, deviation = spread[str(row["method"])]
            row |= {"f1": f1 / 100, "f1_deviation": f1_deviation / 100, "accuracy": accuracy / 100,
                    "accuracy_deviation": deviation / 100, "runs": published.TABLE_5_RUNS}  # fmt: skip
    value = {method: pairs[-1][0] / 100 for method, pairs in rows.items()}
    differences = [
        {"one": one, "other": other, "value": value[one] - value[other], "low": math.nan, "high": math.nan}
        for one in rows
        for other in rows
        if one != other
    ]
    return Part({"scores": columns_of(scores), "differences": columns_of(differences)})


def _fine_tuned(name: str) -> Part:
    """Rows of Table 4 of the parent itself; how many examples they are of is left open, so they have no interval."""
    pairs = zip((*published.TASKS, MEAN), published.TABLE_4[f"{name} {FINE_TUNED}"], strict=True)
    scores = [
        {"method": FINE_TUNED, "task": task, "f1": f1 / 100, "accuracy": accuracy / 100, "f1_deviation": math.nan,
         "accuracy_deviation": math.nan, "runs": 1, "n": 0}
        for task, (f1, accuracy) in pairs
    ]  # fmt: skip
    return Part({"scores": columns_of(scores)})


def _of_sets(row: published.Row, over: str) -> float:
    """A cell, or the mean of the five: the printed averages are not all what they should be."""
    return float(np.mean(row[:5])) if over == MEAN else row[list(SETS).index(over)]


def _row(head: Row, over: str, value: float) -> Row:
    nothing = {"low": math.nan, "high": math.nan, "n": 0, "total": 0, "all_pairs": math.nan}
    return {**head, "set": over, "value": round(value, 6), **nothing}


def is_own_parent(parent: Parent) -> bool:
    """Whether a parent is one of the paper's."""
    return bool(parent.account) and bool(parent_name(parent))
