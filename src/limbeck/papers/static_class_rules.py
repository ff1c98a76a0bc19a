"""When a claim about classification with static vectors is held."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from limbeck.papers import published_static as published
from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.least_f1 import least_macro_f1
from limbeck.papers.parts import Row, estimate
from limbeck.papers.static_rules import NOT_FEWER, NOT_PAPERS, Beside, called, check_epochs, parent_name
from limbeck.papers.static_subjects import (
    AVERAGE,
    FROZEN,
    MEAN,
    METHODS,
    PARAGRAPH,
    SENTENCE,
    Parent,
)

NORMAL = 1.96  #: deviations to each side that hold 95 % of a normal distribution
#: classes of the test sets of which Table 4's macro-F1 cannot be right: sizes, accuracy, macro-F1 as printed for GloVe
IMPOSSIBLE = {
    "SST-5": ((279, 633, 389, 510, 399), 43.2, 15.5),
    "TREC": ((138, 113, 94, 81, 65, 9), 86.2, 45.4),
}


def classifies_better(one: str, others: Sequence[str], *, trained: bool = False) -> Rule:
    """Higher macro-F1 on average over the tasks; `trained`: the others are baselines, whose epochs count."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        own = _classified(parent, one)
        known = {row["method"] for row in parent.rows("classify", "scores")}
        there = [name for name in others if name in known]
        if not there:
            raise CannotShow("none of the others was classified with")
        if trained:
            check_epochs(parent)
        numbers = {}
        for name in there:
            numbers[METHODS[name]] = _ahead(parent, one, name)
        told = ", ".join(f"{METHODS[name]} {_classified(parent, name).value:.3f}" for name in there)
        return Judgement(every(n.above(0) for n in numbers.values()), f"macro-F1 {own} against {told}", numbers)

    named = ", ".join(METHODS[name] for name in others)
    text = f"macro-F1, averaged over the tasks, is higher for {called(one)} than for each of {named}"
    return Rule(f"{text}{f', {NOT_FEWER}' if trained else ''}; examples and runs resampled", judge)


def classifies_a_little_better(one: str, other: str, little: float) -> Rule:
    """Higher macro-F1 on average over the tasks, but not much."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        number = _ahead(parent, one, other)
        why = f"macro-F1 {_classified(parent, one)} against {_classified(parent, other)} (difference {number})"
        return Judgement(every([number.above(0), number.below(little)]), why, {"difference": number})

    text = f"macro-F1, averaged over the tasks, is higher for {called(one)} than for {called(other)}"
    return Rule(f"{text}, and by less than {little:g}; examples and runs resampled", judge)


def frozen_better(other: str) -> Rule:
    """A linear classifier on a sentence-transformer as it is, above static vectors made of it."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        number = _ahead(parent, FROZEN, other)
        why = f"macro-F1 {_classified(parent, FROZEN)} against {_classified(parent, other)} (difference {number})"
        if parent.account and not parent.account.get("sentence_transformer"):
            return Judgement(Verdict.UNSHOWN, f"not a sentence-transformer; frozen all the same: {why}")
        return Judgement(number.above(0), why, {"difference": number})

    text = "macro-F1 of a linear classifier on the frozen parent, a sentence-transformer, averaged over the tasks, is"
    return Rule(f"{text} higher than that of {called(other)}; examples and runs resampled", judge)


def fine_tuned_better() -> Rule:
    """The parent, fine-tuned on each task, above the best of its static vectors on the same tasks."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        if "finetuned" not in parent.parts:
            raise CannotShow(
                "nothing fine-tuned of it was given: make folders with limbeck finetune, name them by --fine-tuned"
            )
        own = {row["task"]: row for row in parent.rows("finetuned", "scores") if row["task"] != MEAN}
        static: dict[str, dict[str, Row]] = {}
        for row in parent.rows("classify", "scores") if "classify" in parent.parts else ():
            if row["method"] != FROZEN:
                static.setdefault(row["method"], {})[row["task"]] = row
        tested = {task: row["n"] for task, row in own.items()}
        means = {method: _mean_accuracy(rows, tested) for method, rows in static.items() if set(own) <= set(rows)}
        mean = _mean_accuracy(own, tested)
        numbers = {"accuracy": mean, "macro-F1": Estimate(sum(row["f1"] for row in own.values()) / len(own))}
        told = f"mean accuracy {mean} on {', '.join(own)}"
        if not means:
            return Judgement(Verdict.UNSHOWN, f"{told}; its static vectors were not classified with", numbers)
        best = max(means, key=lambda method: means[method].value)
        numbers["ahead"] = mean - means[best]
        why = f"{told}, against {means[best]} for the best static vectors, {METHODS[best]}"
        return Judgement(numbers["ahead"].above(0), why, numbers)

    text = "accuracy of the fine-tuned parent, averaged over its tasks, is higher than that of the best of its static"
    return Rule(f"{text} vectors on the same tasks; test examples drawn anew, for either", judge)


def _mean_accuracy(rows: Mapping[str, Row], tested: Mapping[str, int]) -> Estimate:
    """Over tasks; test examples as draws of a coin (binomial), since those of a fine-tuned model are not kept."""
    found = [rows[task]["accuracy"] for task in tested]
    spread = sum(p * (1 - p) / n for p, n in zip(found, tested.values(), strict=True) if n)
    return Estimate(sum(found) / len(found), NORMAL * math.sqrt(spread) / len(found))


def stands_over_runs(one: str, other: str) -> Rule:
    """Table 5: further ahead than both deviate from run to run."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        found = {}
        for method in (one, other):
            (row,) = parent.rows("classify", "scores", method=method, task=MEAN)
            if row["runs"] < 2:
                raise CannotShow("one run has no deviation")
            found[method] = (row["f1"], row["f1_deviation"], row["runs"])
        ahead = found[one][0] - found[other][0]
        both = found[one][1] + found[other][1]
        told = " against ".join(f"{100 * value:.1f} ± {100 * spread:.1f}" for value, spread, _runs in found.values())
        number = Estimate(ahead - both)
        return Judgement(
            number.above(0), f"macro-F1 {told} over {found[one][2]} runs", {"ahead less deviations": number}
        )

    text = f"mean macro-F1 of {called(one)} is higher than that of {called(other)} by more than their deviations over "
    return Rule(f"{text}runs together", judge)


def same_classification(near: float) -> Rule:
    """Table 4, where the parent is the paper's: accuracy, since the printed macro-F1 cannot be right."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        rows = parent.rows("classify", "scores", task=MEAN)
        numbers = {METHODS[row["method"]]: Estimate(row["accuracy"]) for row in rows}
        told = ", ".join(f"{name} {number.value:.3f}" for name, number in numbers.items())
        name = parent_name(parent)
        if f"{name} {published.PARAGRAPH}" not in published.TABLE_4:
            return Judgement(Verdict.UNSHOWN, f"{NOT_PAPERS}; mean accuracy: {told}", numbers)
        keys = {AVERAGE: "ASE", SENTENCE: published.SENTENCE, PARAGRAPH: published.PARAGRAPH}
        apart = Estimate(
            max(
                abs(numbers[METHODS[way]].value - published.TABLE_4[f"{name} {key}"][-1][1] / 100)
                for way, key in keys.items()
                if METHODS[way] in numbers
            )
        )
        return Judgement(apart.below(near), f"at most {apart} from the printed accuracy; {told}", numbers)

    return Rule(f"the parent is one of the paper's and mean accuracies are less than {near:g} from the print", judge)


def impossible_f1() -> Rule:
    """Table 4's macro-F1 of two tasks is below what any predictions of that accuracy have."""

    def judge() -> Judgement:
        numbers, told = {}, []
        for task, (sizes, accuracy, printed) in IMPOSSIBLE.items():
            least = 100 * least_macro_f1(sizes, accuracy / 100)
            numbers[task] = Estimate(least - printed)
            told.append(f"{task} at {accuracy:.1f} % has a macro-F1 of at least {least:.1f}, printed is {printed:.1f}")
        return Judgement(every(number.above(0) for number in numbers.values()), "; ".join(told), numbers)

    return Rule(
        "the lowest macro-F1 that predictions of the printed accuracy can have is above the printed", alone=judge
    )


def _classified(parent: Parent, method: str) -> Estimate:
    (row,) = parent.rows("classify", "scores", method=method, task=MEAN)
    return estimate(row, "f1", "f1_low", "f1_high")


def _ahead(parent: Parent, one: str, other: str) -> Estimate:
    (row,) = parent.rows("classify", "differences", one=one, other=other)
    return estimate(row)
