"""What pages say of probed models: data, the paper's tables with ours beside, and what was done otherwise."""

from __future__ import annotations

import math

from limbeck.papers import published_probes as published
from limbeck.papers.estimates import minus
from limbeck.papers.markdown import how, table
from limbeck.papers.parts import Row
from limbeck.papers.probe_context_rules import windows_of
from limbeck.papers.probe_subjects import (
    AVERAGE,
    BAG,
    NEW,
    PARTS,
    RANDOM_BAG,
    SAME,
    STATIC_BAG,
    ProbedModel,
)
from limbeck.papers.probe_wanted import TASKS
from limbeck.papers.results import Reproduction
from limbeck.probing.names import AROUND, CONTEXT, WHOLE

#: parts of which there is one a task -> what they are together
KINDS = {"tuned": "fine-tuning", "probed": "probes after it"}
#: what differs from the paper, or was left open by it, and why
DEVIATIONS = (
    "The paper's data, WIKI-PSE, do not come with limbeck; they are read by `--corpus` with `--format wikipse`. "
    "Without, classes are the supersenses of SemCor's nouns, those with `--min-words` words, and combinations are "
    "drawn by whole words (`--max-combinations`).",
    "Numbers are of the test words. The paper's Figures 5 and 6 are of its development words, which are too few here; "
    "development words choose the best layer of averages, which the paper chose on the test words.",
    "Context-level F1 counts false positives over all classifiers of a combination; the paper does not say how they "
    "arise. Recall alone, the other reading, stands beside.",
    "Probes have fewer units and epochs and smaller batches than the paper's 1,024, 400 and an untold batch "
    "(`--hidden`, `--epochs`, `--probe-batch`; all of the paper's with `--preset paper`). Bags of words, whose vectors "
    "are short, are the first to suffer from short training: claims about bags say more about its length than about "
    "bags.",
    "P-model has the word's own pieces in it and no special tokens; a word alone (size 0) stands between the special "
    "tokens that the model expects. The paper says neither.",
    "P-around, which the paper does not have, is P-model without the word's own pieces: by how sure it is, contexts of "
    "each class are put into quarters. Words in telling contexts are easier by themselves, so what F1 loses from the "
    "surest quarter to the least sure counts as far as it is more than in the lowest layer, which knows no context.",
    "Figures 4, 5 and 6 are of one start of the probes, as in the paper; its five starts are of the averages of the "
    "upper layers, as here. Intervals are over words with that one start: what another start would change is not in "
    "them.",
    "Nothing is judged by probes whose best layer is not surely above the majority class, nor by a task whose "
    "accuracy is not above the share of its most frequent class with its whole interval.",
    "Figure 5 has some of the layers, evenly spread.",
    "Fine-tuning takes few steps of small batches at a rate that rises as models get narrower (5e-5 at 768 "
    "dimensions), on other data: parts of speech of UD-EWT instead of the Penn Treebank, entities of WNUT-17 instead "
    "of CoNLL-2003. MRPC has no development set of its own, so a tenth of the training pairs is held out.",
    "With `--attention-window` the special tokens are words of their own at the two ends, not a short cut.",
    "Claims of §4.3 and §4.4 are asked of models that read both sides, as BERT does.",
)


def models(found: Reproduction) -> str:
    """What was probed, for which classes, and how to do it again."""
    rows = [
        [one.name, one.family, f"{len(one.blocks)} × {one.account['dim']}", _yes(one, "contexts"), _tasks(one)]
        for one in found.subjects
    ]
    lines = [table(["model", "kind", "blocks × dimensions", "context cut", "fine-tuned on"], rows)]
    if found.subjects:
        told = found.subjects[0].account
        caps = told["settings"]["caps"]
        sides = "; ".join(
            f"{side} {one['words']:,} words, {one['combinations']:,} combinations, {one['contexts']:,} contexts"
            for side, one in told["counts"].items()
        )
        lines.append(f"Labelled words: {told['text']}, {len(told['classes'])} classes; {sides}.")
        lines += [f"{line[:1].upper()}{line[1:]}." for line in told["one_sided"]]
        if not published.own_words(told["counts"]):
            lines.append(
                f"These are not the paper's words: what it prints of {published.OWN_DATA} stands beside, from other "
                "data, and nothing is held against it."
            )
        lines.append(
            f"Probes: {caps['hidden']:,} hidden units, {caps['epochs']} epochs, batches of {caps['rows']}; "
            f"{caps['starts']} starts for averages of the upper layers, one for all else. "
            f"Fine-tuning: {_or(caps['steps'], '5 epochs', 'steps')}, "
            f"{_or(caps['batch'], 'batches as in the paper', 'examples a step')}."
        )
    return "\n\n".join([*lines, *how(found)])


def deviations(found: Reproduction) -> str:
    return "\n".join(f"- {text}" for text in DEVIATIONS)


def not_run(found: Reproduction) -> str:
    """Of each model the parts that were not made, and why; the same reasons together."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for one in found.subjects:
        for part, why in one.missing.items():
            kind = part.partition("-")[0]
            parts = reasons.setdefault(why, {}).setdefault(one.name, [])
            if (called := KINDS.get(kind, PARTS.get(part, part))) not in parts:
                parts.append(called)
    lines = []
    for why, by_model in reasons.items():
        told = "; ".join(f"{name} ({', '.join(parts)})" for name, parts in by_model.items())
        lines.append(f"- Not run, {told}: {why}.")
    if not any(one.has("layers", space="static") for one in found.subjects):
        lines.append("- Not run: static vectors beside (`P-static`, Table 1, Figure 3): give a file to `--static`.")
    return "\n".join(lines)


def neighbors(found: Reproduction) -> str:
    rows = []
    for one in found.subjects:
        if "neighbors" not in one.parts:
            continue
        for space, called in (("table", "table"), ("static", "static vectors")):
            own = [row for row in one.part("neighbors").rows("scores") if row["space"] == space]
            if own:
                near = ", ".join(f"`{row['neighbor']}` {row['cosine']:.2f}" for row in own)
                rows.append([one.name, called, own[0]["word"], near])
    rows += [[f"*{name}, printed*", "", "suit", ", ".join(f"`{word}`" for word in words)]
             for name, words in published.TABLE_1.items()]  # fmt: skip
    return "Nearest by cosine:\n\n" + table(["model", "space", "word", "neighbours"], rows)


def data(found: Reproduction) -> str:
    """Tables 2 and 8; the same words for all models."""
    one = _first(found, "layers")
    if one is None:
        return _reasons(found, "layers")
    rows = one.part("layers").rows("data")
    sides = list(dict.fromkeys(row["side"] for row in rows))
    cells = {(row["side"], row["class"]): row for row in rows}
    classes = list(dict.fromkeys(row["class"] for row in rows))
    lines = [
        [kind, *(f"{cells[side, kind]['combinations']:,} / {cells[side, kind]['contexts']:,}" for side in sides)]
        for kind in classes
    ]
    words = [["*words*", *(f"{cells[side, 'total']['words']:,}" for side in sides)]]
    called, printed = f"{published.OWN_DATA}, printed", [published.TABLE_2[side] for side in sides]
    beside = [
        [f"*{called}: words*", *(f"{count:,}" for count, _, _ in printed)],
        [f"*{called}: total*", *(f"{combinations:,} / {contexts:,}" for _, combinations, contexts in printed)],
    ]
    return "Combinations / contexts:\n\n" + table(["class", *sides], [*lines, *words, *beside])


def examples(found: Reproduction) -> str:
    one = _first(found, "layers")
    if one is None:
        return _reasons(found, "layers")
    rows = [[row["word"], row["class"], row["text"]] for row in one.part("layers").rows("examples")]
    return table(["word", "class", "context"], rows) if rows else "No word has several classes."


def layers(found: Reproduction) -> str:
    """Every layer of every model, and what stands beside; then the print."""
    parts = []
    for one in found.subjects:
        if "layers" not in one.parts:
            continue
        rows = [row for row in one.part("layers").rows("scores") if row["side"] == "test"]
        of = {(row["space"], row["layer"]): row for row in rows}
        lines = [
            [layer, _with_interval(of.get((CONTEXT, layer))), _three(of.get((CONTEXT, layer)), "recall"),
             _with_interval(of.get((AVERAGE, layer)))]
            for layer in one.layers
        ]  # fmt: skip
        beside = [
            [name, _with_interval(row), _three(row, "recall"), ""]
            for name in (BAG, AROUND, STATIC_BAG, RANDOM_BAG)
            if (row := next((row for row in rows if row["space"] == name), None))
        ]
        words = [
            [f"{name}, one vector a word", "", "", _with_interval(row)]
            for name in ("static", "random")
            if (row := next((row for row in rows if row["space"] == name), None))
        ]
        largest = {row["level"]: row for row in rows if row["space"] == "majority"}
        last = [["majority class", *(_three(largest.get("context"), key) for key in ("f1", "recall")),
                 _three(largest.get("type"))]] if largest else []  # fmt: skip
        head = ["layer", "in context (95 %)", "recall alone", "average over contexts (95 %)"]
        units = next(row["units"] for row in rows if row["space"] == CONTEXT)
        parts += [f"**{one.name}**, {units:,} combinations:", table(head, [*lines, *beside, *words, *last])]
        if "starts" in one.parts:
            told = ", ".join(
                f"{row['layer']} {row['f1']:.3f} ± {row['deviation']:.3f}"
                for row in one.part("starts").rows("scores")
                if row["side"] == "test" and math.isfinite(row["deviation"])
            )
            parts.append(f"Averages of the upper layers, mean ± deviation over {_starts(one)} starts: {told}.")
    printed = [
        [layer, f"{context:.3f}", f"{average:.3f}"]
        for layer, context, average in zip(
            published.LAYERS, published.IN_CONTEXT["test"], published.AVERAGES["test"], strict=True
        )
    ]
    printed += [[name, f"{value:.3f}", ""] for name, value in published.BAGS["test"].items()]
    printed += [[name, "", f"{value:.3f}"] for name, value in published.TYPE_LEVEL["test"].items()]
    head = ["layer", "in context", "one vector a word"]
    called = f"*Printed, {published.OWN_MODEL} on {published.OWN_DATA}{_other(found)}:*"
    return "\n\n".join([*parts, *_lacking(found, "layers"), called, table(head, printed)])


def failures(found: Reproduction) -> str:
    """F1 by pieces and by certainty, and words that the last layer gets wrong."""
    rows, words = [], []
    for one in found.subjects:
        if "layers" not in one.parts:
            continue
        part, layer = one.part("layers"), one.blocks[-1]
        for name, column, called in (("pieces", "pieces", "pieces"), ("confidence", "quarter", "quarter of certainty")):
            for row in part.rows(name):
                if row["layer"] == layer and row["units"]:
                    rows.append([one.name, f"{called}: {row[column]}", _with_interval(row), f"{row['units']:,}"])
        for kind in dict.fromkeys(row["kind"] for row in part.rows("failures")):
            own = [row for row in part.rows("failures") if row["kind"] == kind]
            told = ", ".join(dict.fromkeys(f"{row['word'].replace('_', ' ')} ({row['class']})" for row in own))
            words.append(f"- {one.name}, {kind}: {told}.")
    if not rows:
        return _reasons(found, "layers")
    head = ["model", "group", "micro-F1 at the last layer (95 %)", "combinations"]
    listing = ["Some that the last layer gets wrong:", "\n".join(words)] if words else []
    return "\n\n".join([table(head, rows), *listing])


def failure_contexts(found: Reproduction) -> str:
    """The same with their sentences, and decisions that more context turns."""
    parts = []
    for one in found.subjects:
        if "layers" in one.parts and (some := one.part("layers").rows("failures")):
            rows = [[row["kind"], str(row["pieces"]), row["class"], row["text"]] for row in some]
            parts += [f"**{one.name}**:", table(["kind", "pieces", "class", "context"], rows)]
        if "contexts" in one.parts and (some := one.part("contexts").rows("flip_examples")):
            rows = [[f"{row['from']} → {row['to']}", row["now"], row["class"], row["text"]] for row in some]
            parts += [f"**{one.name}**, decisions at layer {some[0]['layer']} that more context turns:",
                      table(["words to each side", "now", "class", "context"], rows)]  # fmt: skip
    return "\n\n".join(parts)


def contexts(found: Reproduction) -> str:
    """Figure 5 in numbers, and how many decisions turn."""
    parts = []
    for one in found.subjects:
        if "contexts" not in one.parts:
            continue
        rows = [row for row in one.part("contexts").rows("scores") if row["side"] == "test"]
        ticks = [*sorted({row["context"] for row in rows} - {WHOLE}, key=int), WHOLE]
        of = {(row["space"], row["layer"], row["context"]): row for row in rows}
        names = list(dict.fromkeys((row["space"], row["layer"]) for row in rows))
        lines = [
            [f"layer {layer}" if space == CONTEXT and layer != "table" else "table" if space == CONTEXT else space,
             *(_three(of.get((space, layer, tick))) for tick in ticks)]
            for space, layer in names
        ]  # fmt: skip
        parts += [f"**{one.name}**, micro-F1 by words to each side:",
                  table(["", *ticks[:-1], "whole sentence"], lines)]  # fmt: skip
        flips = one.part("contexts").rows("flips")
        last = [row for row in flips if row["layer"] == flips[-1]["layer"]] if flips else []
        told = "; ".join(
            f"{row['from']} to {row['to']}: {row['put_right']} right, {row['put_wrong']} wrong" for row in last
        )
        if last:
            which = f"layer {last[0]['layer']} puts right or wrong, of {last[0]['contexts']:,}"
            parts.append(f"Test contexts that {which}: {told}.")
    return "\n\n".join([*parts, *_lacking(found, "contexts")]) if parts else _reasons(found, "contexts")


def tasks(found: Reproduction) -> str:
    """Tables 3 and 4 with ours beside."""
    rows = []
    for one in found.subjects:
        for task, name in TASKS.items():
            if f"tuned-{task}" not in one.parts:
                continue
            part = one.part(f"tuned-{task}")
            row, about = part.rows("scores")[0], part.about
            used = about["settings"]
            rows.append([
                one.name, name, row["metric"], _with_interval(row, "value"), f"{row['majority']:.3f}",
                f"{about['examples']['train']:,}", f"{used['steps']} (kept {about['best_step']})", str(used["batch"]),
                f"{used['learning_rate']:g}",
            ])  # fmt: skip
    if not rows:
        return _reasons(found, *(f"tuned-{task}" for task in TASKS))
    rows += [
        [f"*{published.OWN_MODEL} on {published.TASK_DATA[task]}, printed*", name,
         "f1" if task == "ner" else "accuracy",
         f"{published.TABLE_3[task]:.3f}", "", "", "5 epochs", f"{published.BATCHES[task]:g}", "5e-05"]
        for task, name in TASKS.items()
    ]  # fmt: skip
    head = [
        "model",
        "task",
        "metric",
        "development (95 %)",
        "most frequent class",
        "examples",
        "steps",
        "batch",
        "rate",
    ]
    return table(head, rows)


def tuned(found: Reproduction) -> str:
    """Figure 6 in numbers."""
    parts = []
    for one in found.subjects:
        there = [task for task in TASKS if f"probed-{task}" in one.parts]
        if not there:
            continue
        before = {row["layer"]: row for row in one.part("layers").rows("scores")
                  if (row["space"], row["side"]) == (CONTEXT, "test")}  # fmt: skip
        cells = {
            (task, row["space"], row["layer"]): row
            for task in there
            for row in one.part(f"probed-{task}").rows("scores")
            if row["side"] == "test"
        }
        lines = [
            [layer, _three(before.get(layer)),
             *(f"{_three(cells.get((task, SAME, layer)))} / {_three(cells.get((task, NEW, layer)))}" for task in there)]
            for layer in one.layers
        ]  # fmt: skip
        head = ["layer", "before", *(f"{TASKS[task]} (a) / (b)" for task in there)]
        parts += [f"**{one.name}**, micro-F1:", table(head, lines)]
    if not parts:
        return _reasons(found, *(f"probed-{task}" for task in TASKS))
    last = published.IN_CONTEXT["dev"][-1]
    printed = (
        f"Printed, {published.OWN_MODEL} on {published.OWN_DATA} and the {published.TASK_DATA['pos']} (other data than "
        f"here), last layer: before {last}, POS {published.POS_TUNED[SAME]} / {published.POS_TUNED[NEW]}."
    )
    return "\n\n".join([*parts, printed])


def windows(found: Reproduction) -> str:
    """Table 7 with ours beside."""
    shown = {one.name: windows_of(one) for one in found.subjects if "windows" in one.parts and "tuned-pos" in one.parts}
    if not shown:
        return _reasons(found, "windows")
    ticks = [*sorted({size for own in shown.values() for size in own} - {WHOLE}, key=int), WHOLE]
    rows = [[name, *(str(own[tick]) if tick in own else "–" for tick in ticks)] for name, own in shown.items()]
    printed = [f"{published.TABLE_7[tick]:.3f}" if tick in published.TABLE_7 else "–" for tick in ticks]
    rows.append([f"*{published.OWN_MODEL} on the {published.TASK_DATA['pos']}, printed*", *printed])
    return "Accuracy on development sentences by words on either side:\n\n" + table(["model", *ticks], rows)


def _other(found: Reproduction) -> str:
    """What stands behind printed numbers of probes that no model here can be held against."""
    return " (other data than here)" if all(published.unlike(one) for one in found.subjects) else ""


def _first(found: Reproduction, part: str) -> ProbedModel | None:
    return next((one for one in found.subjects if part in one.parts), None)


def _yes(one: ProbedModel, part: str) -> str:
    return "yes" if part in one.parts else "–"


def _tasks(one: ProbedModel) -> str:
    return ", ".join(name for task, name in TASKS.items() if f"tuned-{task}" in one.parts) or "–"


def _starts(one: ProbedModel) -> int:
    return int(one.part("starts").rows("scores")[0]["starts"])


def _lacking(found: Reproduction, *parts: str) -> list[str]:
    told = dict.fromkeys(one.missing[part] for one in found.subjects for part in parts if part in one.missing)
    return [f"Not run: {reason}." for reason in told]


def _reasons(found: Reproduction, *parts: str) -> str:
    return "\n\n".join(_lacking(found, *parts))


def _or(value: object, nothing: str, what: str) -> str:
    return nothing if value is None else f"{value} {what}"


def _with_interval(row: Row | None, column: str = "f1") -> str:
    if row is None or not math.isfinite(row[column]):
        return "–"
    low, high = (minus(f"{row[end]:.3f}") for end in ("low", "high"))
    interval = f" ({low} to {high})" if math.isfinite(row["low"]) else ""
    return f"{row[column]:.3f}{interval}"


def _three(row: Row | None, column: str = "f1") -> str:
    return f"{row[column]:.3f}" if row is not None and math.isfinite(row[column]) else "–"
