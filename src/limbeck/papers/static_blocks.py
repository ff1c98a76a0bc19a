"""What pages say of static vectors: the parents, the paper's tables with ours beside, and what was done otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

from limbeck.papers import published_static as published
from limbeck.papers.estimates import minus
from limbeck.papers.markdown import how, table
from limbeck.papers.parts import Row
from limbeck.papers.published_static import SETS
from limbeck.papers.results import Reproduction
from limbeck.papers.static_rules import parent_name
from limbeck.papers.static_subjects import (
    AVERAGE,
    EXISTING,
    FINE_TUNED,
    MEAN,
    METHODS,
    PARAGRAPH,
    READ_IN_PARAGRAPH,
    SENTENCE,
    TRAINED,
    Parent,
)

#: what differs from the paper or from its code, and why
DEVIATIONS = (
    "All methods are scored on the same pairs, those whose two words all of them know. The paper dropped pairs with "
    'unknown words for X2Static and scored them by the word alone for ASE; the column "all pairs" has unknown words '
    "from a sentence about nothing else (with `--preset paper` and `released` from the word alone), and for baselines "
    "with n-grams from these.",
    "ASE's best layer is chosen on the very sets, as in the paper, and beside on MTurk-287, MTurk-771 and MEN. For "
    "Table 4 it is the layer of these three sets too; the paper took that of best average macro-F1 on the very tasks.",
    "X2Static is trained for several epochs where the text is small (`--epochs`), and the baselines for as many; the "
    "paper's one epoch was of 1.28 billion words, its baselines had 5 to 15. `--preset paper` and `released` have one "
    "and five, the baselines five.",
    "Words need 5 occurrences, the paper's 10 with `--preset paper` and `released`. Parents read text as they were "
    "trained to; with those presets lower-cased. Case never tells two words apart.",
    "Skip-gram and CBOW are trained by gensim the way the fastText tool does it, at one setting of the paper's grid; "
    "the paper chose among all settings on the five sets themselves. Sent2Vec is its objective, with lazy Adam.",
    "The curve by size has the same pairs at every size, those whose words the smallest text knows that knows 50 of "
    "them; both kinds of vectors are made of the text alone.",
    "Contexts are compared after one epoch at a learning rate of 0.01, Sent2Vec's among them, since a masked target "
    "costs a reading of its sentence. Whole paragraphs are read fewer at a time, so that there are as many steps.",
    "Table 5's deviations are over runs of the classifier on vectors of one training; the paper's over six trainings "
    "of X2Static.",
    "The frozen parent's features are the mean over a text's words at the last layer, divided by their root mean "
    "square; the linear classifier has ten epochs, of which a held-out part chooses, at a rate of 0.01. The paper took "
    "sentence-transformers' own vectors and chose among 3 to 6 epochs and three rates.",
    "A fine-tuned parent keeps the step that is best on the development set, at one learning rate; the paper chose "
    "among 3 to 6 epochs and two rates, and then trained on the development examples too.",
    "Macro-F1 is computed properly; the paper's is not what its name says for tasks of more than two classes.",
)


def models(found: Reproduction) -> str:
    """What was distilled, from what, and how to do it again."""
    rows = []
    for one in found.subjects:
        kind = one.family or "unknown"
        about = one.parts["similarity"].about if "similarity" in one.parts else {}
        words = f"{about['vocabulary']:,}" if "vocabulary" in about else "–"
        rows.append([one.name, kind, "–" if one.is_file else str(len(one.layers) - 1), str(one.account["dim"]), words])
    lines = [table(["parent", "kind", "layers", "dimensions", "words scored"], rows)]
    parents = [one for one in found.subjects if not one.is_file]
    if parents:
        first = parents[0].account
        corpus = first["source"]["corpus"]
        named = ", ".join(f"`{Path(path).name}`" for path in corpus.get("paths", [])) or "sentences in memory"
        lines.append(
            f"Text: {named}, {first['counts']['sentences']:,} sentences. Preset: `{', '.join(found.presets)}`."
        )
    return "\n\n".join([*lines, *how(found)])


def deviations(found: Reproduction) -> str:
    return "\n".join(f"- {text}" for text in DEVIATIONS)


def errors(found: Reproduction) -> str:
    return "\n".join(f"- {text}" for text in published.ERRORS)


def settings(found: Reproduction) -> str:
    """Tables 1 and 2 with this run's settings beside."""
    parents = [one for one in found.subjects if not one.is_file]
    if not parents:
        return ""
    used = parents[0].account["settings"]
    rows = [
        [name.replace("_", " "), _plain(value), _plain(used["x2static"][name])]
        for name, value in published.TABLE_1.items()
    ]
    parts = ["X2Static (Table 1):", table(["setting", "paper", "here"], rows)]
    tried = published.TABLE_2["skip-gram and CBOW"]
    own = used["baselines"]
    here = {"character_ngrams": "none; 3-6", "min_count": used["x2static"]["min_count"], **own}
    rows = [
        [name.replace("_", " "), ", ".join(map(_plain, values)), _plain(here[name])] for name, values in tried.items()
    ]
    return "\n\n".join(
        [*parts, "Skip-gram and CBOW (Table 2):", table(["setting", "tried in the paper", "here"], rows)]
    )


def table_3(found: Reproduction) -> str:
    """Spearman's correlation of every method, ours above and the paper's below."""
    head = ["", *SETS.values(), "mean", "all pairs"]
    parts = []
    files = [one for one in found.subjects if one.is_file and "similarity" in one.parts]
    if files:
        rows = [[one.name, *_cells(one, "file", "")] for one in files]
        parts += ["Existing vectors, each on the pairs that it knows:", table(head, rows)]
        parts += _beside_files(found)
    for one in found.subjects:
        if one.is_file or "similarity" not in one.parts:
            continue
        parts += [f"**{one.name}**, {_pairs_told(one)}:", table(head, _rows_of(one))]
    missing = {one.missing["similarity"] for one in found.subjects if "similarity" in one.missing}
    parts += [f"Not scored: {reason}." for reason in sorted(missing)]
    printed = {parent_name(one) for one in found.subjects} - {""}
    rows = [[f"*{name}, printed*", *_numbers(row)] for name, row in {**published.EXISTING, **published.TRAINED}.items()]
    for name, lines in published.DISTILLED.items():
        if not printed or name in printed:
            rows += [[f"*{name}: {kind}, printed*", *_numbers(row)] for kind, row in lines.items()]
    return "\n\n".join([*parts, "The paper's, with averages as printed:", table(head[:-1], rows)])


def _beside_files(found: Reproduction) -> list[str]:
    """X2Static and existing vectors on the same pairs."""
    rows = [
        [one.name, row["file"], f"{row['n']:,}", _three(row["own"]), _three(row["other"]), _with_interval(row)]
        for one in found.subjects
        if not one.is_file and "similarity" in one.parts
        for row in one.part("similarity").rows(EXISTING)
        if row["set"] == MEAN
    ]
    head = ["parent", "existing vectors", "pairs", METHODS[PARAGRAPH], "existing", "difference"]
    return ["On the pairs that both know, means over the sets:", table(head, rows)] if rows else []


def table_6(found: Reproduction) -> str:
    """The layers whose averages score best, ours above and the paper's below."""
    rows = []
    for one in found.subjects:
        best = one.parts["similarity"].about.get("best_layer") if "similarity" in one.parts else None
        if best is not None and not one.is_file:
            most = [layer if math.isfinite(value) else "–" for layer, value in _best_of_sets(one)]
            rows.append([one.name, *most, best, one.layers[-1]])
    heights = {name: count - 1 for name, _, count, _ in published.OWN_MODELS.values()}
    for name, layers in published.LAYERS.items():
        rows.append([f"*{name}, printed*", *map(str, layers), str(heights[name])])
    return table(["parent", *SETS.values(), "on average", "highest layer"], rows)


def _best_of_sets(one: Parent) -> list[tuple[str, float]]:
    """Of each set the layer whose averages score best, and its score; NaN where none has one, or there is no set."""
    rows = [row for row in one.part("similarity").rows("scores") if row["method"] == AVERAGE]
    found = []
    for over in SETS:
        scores = [(row["layer"], row["value"]) for row in rows if row["set"] == over and math.isfinite(row["value"])]
        found.append(max(scores, key=itemgetter(1), default=("", math.nan)))
    return found


def _rows_of(one: Parent) -> list[list[str]]:
    rows = []
    layers = [layer for layer, _ in one.by_layer()]
    best = one.part("similarity").about.get("best_layer")
    if best is not None:
        most = _best_of_sets(one)
        finite = [value for _, value in most if math.isfinite(value)] or [math.nan]
        cells = [f"{_three(value)} ({layer})" if math.isfinite(value) else "–" for layer, value in most]
        rows.append(["average over contexts, best layer of each set", *cells, _three(sum(finite) / len(finite)), ""])
        rows.append([f"average over contexts, best layer ({best})", *_cells(one, AVERAGE, best)])
    chosen = one.part("similarity").about.get("chosen_layer")
    if chosen is not None:
        rows.append([f"average over contexts, layer chosen on other sets ({chosen})", *_cells(one, AVERAGE, chosen)])
    if layers[-1] not in (best, chosen):
        rows.append([f"average over contexts, last layer ({layers[-1]})", *_cells(one, AVERAGE, layers[-1])])
    rows += [[METHODS[name], *_cells(one, name, "")] for name in (SENTENCE, PARAGRAPH, *TRAINED) if one.has(name)]
    return rows


def _cells(one: Parent, method: str, layer: str) -> list[str]:
    found = {row["set"]: row for row in one.rows("similarity", "scores", method=method, layer=layer)}
    cells = [_three(found[name]["value"]) if name in found else "–" for name in SETS]
    mean = found[MEAN]
    interval = f" ({_three(mean['low'])} to {_three(mean['high'])})" if math.isfinite(mean["low"]) else ""
    return [*cells, _three(mean["value"]) + interval, _three(mean["all_pairs"])]


def _pairs_told(one: Parent) -> str:
    rows = {row["set"]: row for row in one.rows("similarity", "scores", method=AVERAGE)}
    told = ", ".join(f"{SETS[name]} {rows[name]['n']:,} of {rows[name]['total']:,}" for name in SETS if name in rows)
    return f"pairs that all know: {told}"


def size(found: Reproduction) -> str:
    """The curves by size of the text."""
    rows = []
    for one in found.subjects:
        if "size" not in one.parts:
            continue
        for method in (AVERAGE, PARAGRAPH):
            for name in ("simlex-999", "rw"):
                curve = [
                    row for row in one.part("size").rows("scores") if (row["method"], row["set"]) == (method, name)
                ]
                told = ", ".join(f"{row['words']:,}: {_three(row['value'])}" for row in curve)
                called = METHODS[method] + (f", layer {one.part('size').about['layer']}" if method == AVERAGE else "")
                rows.append([one.name, called, SETS[name], told])
    if not rows:
        return _reasons(found, "size")
    told = table(["parent", "vectors", "set", "score"], rows)
    return "\n\n".join(["Spearman's correlation by words of the text:", told, *_without(found, "size")])


def contexts(found: Reproduction) -> str:
    """X2Static with other contexts."""
    names = {
        "sent2vec": "static vectors of the sentence's other words (eq. 2)",
        "words": "the sentence's words (eq. 3)",
        READ_IN_PARAGRAPH: "its words, the whole paragraph read (eq. 4)",
        "others": "its other words",
        "masked": "its words, the target masked",
    }
    rows, notes = [], []
    for one in found.subjects:
        if "contexts" in one.parts:
            part = one.part("contexts")
            means = {row["method"]: row for row in part.rows("scores") if row["set"] == MEAN}
            for method in (name for name in names if name in means):
                rows.append([one.name, names[method], _with_interval(means[method]), f"{means[method]['n']:,}"])
            notes += [f"{one.name}, {names[name]}: {why}." for name, why in part.about["missing"].items()]
            notes.append(f"{one.name}: on the first {part.about['sentences']:,} sentences.")
    if not rows:
        return _reasons(found, "contexts")
    head = ["parent", "context", "mean over the sets", "pairs"]
    return "\n\n".join([table(head, rows), *notes, *_without(found, "contexts")])


def table_4(found: Reproduction) -> str:
    """Classification: macro-F1 / accuracy."""
    rows = []
    scored = [one.part(part) for part in ("classify", "finetuned") for one in found.subjects if part in one.parts]
    tasks = list(dict.fromkeys(row["task"] for row in scored[0].rows("scores"))) if scored else []
    for one in found.subjects:
        if "classify" in one.parts:
            scores = one.part("classify").rows("scores")
            for method in dict.fromkeys(row["method"] for row in scores):
                own = {row["task"]: row for row in scores if row["method"] == method}
                layer = f", layer {own[MEAN]['layer']}" if own[MEAN]["layer"] else ""
                rows.append([one.name, METHODS[method] + layer, *(_two(own[task]) for task in tasks)])
        if "finetuned" in one.parts:
            tuned = {row["task"]: row for row in one.part("finetuned").rows("scores")}
            if set(tuned) != set(tasks):
                del tuned[MEAN]  # a mean over other tasks than the other rows' would mislead
            cells = [_two(tuned[task]) if task in tuned else "–" for task in tasks]
            rows.append([one.name, METHODS[FINE_TUNED], *cells])
    if not rows:
        return _reasons(found, "classify")
    head = ["parent", "vectors", *(task if task != MEAN else "mean" for task in tasks)]
    names = [task.upper() for task in tasks[:-1]]
    places = [published.TASKS.index(name) for name in names if name in published.TASKS]
    for name, printed in published.TABLE_4.items():
        cells = [f"{printed[place][0]:.1f} / {printed[place][1]:.1f}" for place in (*places, len(printed) - 1)]
        rows.append(["*printed*", f"*{name}*", *cells])
    return "\n\n".join(["Macro-F1 / accuracy, in per cent:", table(head, rows), *_without(found, "classify")])


def table_5(found: Reproduction) -> str:
    """Means over the tasks and their deviations over runs."""
    rows = [
        [one.name, METHODS[row["method"]], str(row["runs"]), _spread(row, "f1"), _spread(row, "accuracy")]
        for one in found.subjects
        if "classify" in one.parts
        for row in one.part("classify").rows("scores")
        if row["task"] == MEAN
    ]
    if not rows:
        return _reasons(found, "classify")
    for name, kinds in published.TABLE_5.items():
        for kind, (f1, f1_deviation, accuracy, deviation) in kinds.items():
            numbers = [f"{f1:.1f} ± {f1_deviation:.1f}", f"{accuracy:.1f} ± {deviation:.1f}"]
            rows.append(["*printed*", f"*{name} {kind}*", str(published.TABLE_5_RUNS), *numbers])
    told = table(["parent", "vectors", "runs", "macro-F1", "accuracy"], rows)
    above = "Mean over the tasks and its deviation over runs, in per cent:"
    return "\n\n".join([above, told, *_without(found, "classify")])


def _spread(row: Row, name: str) -> str:
    deviation = row[f"{name}_deviation"]
    return f"{100 * row[name]:.1f}" + (f" ± {100 * deviation:.1f}" if math.isfinite(deviation) else "")


def _without(found: Reproduction, part: str) -> list[str]:
    """Parents that a table lacks, and why."""
    return [f"{one.name}: {one.missing[part]}." for one in found.subjects if part in one.missing and not one.is_file]


def _reasons(found: Reproduction, part: str) -> str:
    return "\n\n".join(sorted({f"Not made: {one.missing[part]}." for one in found.subjects if part in one.missing}))


def _two(row: Row) -> str:
    return f"{100 * row['f1']:.1f} / {100 * row['accuracy']:.1f}"


def _with_interval(row: Row) -> str:
    interval = f" ({_three(row['low'])} to {_three(row['high'])})" if math.isfinite(row["low"]) else ""
    return _three(row["value"]) + interval


def _three(value: float) -> str:
    return minus(f"{value:.3f}") if math.isfinite(value) else "–"


def _numbers(row: Sequence[float]) -> list[str]:
    return [f"{value:.4f}" for value in row]


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
