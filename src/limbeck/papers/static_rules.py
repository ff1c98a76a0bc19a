"""When a claim about static vectors is held: each rule in words, and as a function that decides it.

Here settings and word similarity; `static_curve_rules` has size of the text and contexts, `static_class_rules`
classification.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from limbeck.papers import published_static as published
from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every, minus
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.parts import estimate
from limbeck.papers.published_static import SETS
from limbeck.papers.static_subjects import (
    AVERAGE,
    BEST,
    CHOSEN,
    EXISTING,
    MEAN,
    METHODS,
    PARAGRAPH,
    SENTENCE,
    TRAINED,
    Parent,
)

Beside = Sequence[Parent]
NOT_PAPERS = "not a parent of the paper's"
NOT_FEWER = "none of which had fewer epochs than X2Static"


# --- settings and tables -------------------------------------------------------------------------


def same_settings() -> Rule:
    """Table 1: the run's own settings beside the paper's."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        used = (parent.account.get("settings") or {}).get("x2static")
        if not used:
            raise CannotShow("nothing was trained")
        other = [f"{name} {used[name]:g} (paper {value:g})" for name, value in published.TABLE_1.items()
                 if name in used and used[name] != value]  # fmt: skip
        if other:
            return Judgement(Verdict.UNSHOWN, f"trained otherwise: {', '.join(other)}")
        return Judgement(Verdict.HELD, "the same")

    return Rule("X2Static was trained with the settings of the paper's Table 1", judge)


def in_grid() -> Rule:
    """Table 2: the baselines' settings are among those that the paper tried."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        used = (parent.account.get("settings") or {}).get("baselines")
        if not used:
            raise CannotShow("no baseline was trained")
        tried = published.TABLE_2["skip-gram and CBOW"]
        other = [f"{name} {used[name]:g}" for name in ("epochs", "negatives", "subsampling", "window", "learning_rate")
                 if used[name] not in tried[name]]  # fmt: skip
        told = ", ".join(f"{name} {used[name]:g}" for name in ("epochs", "negatives", "subsampling", "window"))
        if other:
            return Judgement(Verdict.UNSHOWN, f"not in the grid: {', '.join(other)}")
        return Judgement(Verdict.HELD, f"{told}; one of the grid, not searched for")

    return Rule("the baselines were trained with settings of the paper's grid", judge)


def same_scores(near: float) -> Rule:
    """Tables 3 and 6, where the parent is the paper's."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        if parent.is_file:
            own = {"": parent.score("file")}
        else:
            ways = [(AVERAGE, parent.best_layer), (SENTENCE, ""), (PARAGRAPH, "")]
            own = {
                f"{METHODS[way]}{f', layer {layer}' if layer else ''}": parent.score(way, layer=layer)
                for way, layer in ways
                if parent.has(way)
            }
        told = ", ".join(f"{name} {number}".strip() for name, number in own.items())
        name = parent_name(parent)
        if not name:
            return Judgement(Verdict.UNSHOWN, f"{NOT_PAPERS}; mean over the sets: {told}", own)
        printed = published.DISTILLED[name]
        pairs = [(SENTENCE, printed[published.SENTENCE]), (PARAGRAPH, printed[published.PARAGRAPH])]
        apart = [
            abs(parent.score(way, over=each).value - row[place])
            for way, row in pairs
            for place, each in enumerate(SETS)
        ]
        most = Estimate(max(apart))
        return Judgement(most.below(near), f"at most {most} from the printed numbers; {told}", own)

    return Rule(
        f"the parent is one of the paper's and X2Static scores less than {near:g} from the print, set by set", judge
    )


def parent_name(parent: Parent) -> str:
    """What the paper calls a parent; "" where it is none of its."""
    return published.paper_name(parent.name, dim=parent.account.get("dim"), layers=len(parent.layers))


# --- word similarity -----------------------------------------------------------------------------


def beats(one: str, other: str, *, over: Sequence[str] = (MEAN,)) -> Rule:
    """One method scores higher than another from the same parent, on average or on each of some sets."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        numbers = {each: parent.difference(one, other, over=each) for each in over}
        layer = _layer_told(parent, other)
        return Judgement(
            every(number.above(0) for number in numbers.values()),
            f"{'; '.join(_told(parent, one, other, each, number) for each, number in numbers.items())}{layer}",
            {_named(each): number for each, number in numbers.items()},
        )

    where = _listed(over)
    return Rule(f"{called(one)} scores higher than {called(other)} {where}; pairs resampled", judge)


def beats_trained(one: str) -> Rule:
    """Higher than every baseline that was trained on the same text."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        there = [name for name in TRAINED if parent.has(name)]
        if not there:
            raise CannotShow(parent.missing.get("baselines", "no baseline was trained"))
        check_epochs(parent)
        numbers = {METHODS[name]: parent.difference(one, name) for name in there}
        own = parent.score(one)
        told = ", ".join(f"{METHODS[name]} {parent.score(name).value:.3f}" for name in there)
        return Judgement(every(n.above(0) for n in numbers.values()), minus(f"{own} against {told}"), numbers)

    text = f"{called(one)} scores higher on average than each baseline trained on the text, {NOT_FEWER}"
    return Rule(f"{text}; pairs resampled", judge)


def beats_files(one: str) -> Rule:
    """Higher than existing vectors on the pairs that both know; of the paper's own only the scores are told."""

    def judge(parent: Parent, beside: Beside) -> Judgement:
        files = [other for other in beside if other.is_file]
        if not files:
            raise CannotShow("no file of existing vectors was given: name some by --model")
        if not parent.account:
            own = parent.score(one)
            numbers = {other.name: own - other.score("file") for other in files}
            why = f"{own} against " + ", ".join(f"{other.name} {other.score('file')}" for other in files)
        else:
            rows = [row for other in files for row in parent.rows("similarity", EXISTING, file=other.name, set=MEAN)]
            numbers = {row["file"]: estimate(row) for row in rows}
            why = "; ".join(
                f"{row['own']:.3f} against {row['file']} {row['other']:.3f} (difference {numbers[row['file']]}) on "
                f"{row['n']:,} pairs"
                for row in rows
            )
        return Judgement(every(n.above(0) for n in numbers.values()), minus(why), numbers)

    text = f"{called(one)} scores higher on average than each file of vectors that was given"
    return Rule(f"{text}, on the pairs that both know; pairs resampled", judge)


def a_little_better(one: str, other: str, little: float) -> Rule:
    def judge(parent: Parent, _: Beside) -> Judgement:
        number = parent.difference(one, other)
        verdict = every([number.above(0), number.below(little)])
        return Judgement(verdict, _told(parent, one, other, MEAN, number), {"difference": number})

    text = f"{called(one)} scores higher on average than {called(other)}, and by less than {little:g}"
    return Rule(f"{text}; pairs resampled", judge)


def gains_most_on(one: str, sets: Sequence[str]) -> Rule:
    """What a method is ahead of the best baseline of a set is more on some sets than on the others."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        there = [name for name in TRAINED if parent.has(name)]
        if not there:
            raise CannotShow(parent.missing.get("baselines", "no baseline was trained"))
        check_epochs(parent)
        gains: dict[str, Estimate] = {}
        for each in SETS:
            try:
                best = max(there, key=lambda name: parent.score(name, over=each).value)
            except CannotShow:  # too few pairs
                continue
            gains[each] = parent.difference(one, best, over=each)
        inside = [gains[each] for each in sets if each in gains]
        outside = [gain for each, gain in gains.items() if each not in sets]
        if not inside or not outside:
            raise CannotShow("too few sets have pairs enough")
        apart = _mean_of_sets(inside) - _mean_of_sets(outside)
        told = ", ".join(f"{SETS[each]} {minus(f'{gain.value:+.3f}')}" for each, gain in gains.items())
        return Judgement(apart.above(0), f"{told}; difference {apart}", {"difference": apart})

    named = " and ".join(SETS[each] for each in sets)
    text = f"{called(one)} is further ahead of the best baseline on {named} than on the other sets, on average"
    which = f"of all baselines trained on the text, {NOT_FEWER}, the best on each set by the pairs that are compared"
    return Rule(f"{text}; {which}; pairs resampled", judge)


def _mean_of_sets(gains: Sequence[Estimate]) -> Estimate:
    """Sets have pairs, and so resamplings, of their own: their errors are independent."""
    error = math.sqrt(sum(gain.error**2 for gain in gains)) / len(gains)
    return Estimate(sum(gain.value for gain in gains) / len(gains), error)


def check_epochs(parent: Parent) -> None:
    """A longer training is no better method: with fewer epochs for the baselines nothing is shown."""
    used = parent.account.get("settings") or {}
    ours, theirs = (used.get(kind, {}).get("epochs", 0) for kind in ("x2static", "baselines"))
    if theirs < ours:
        raise CannotShow(f"the baselines had {theirs} epochs, X2Static {ours}")


def low_layers_best(share: float) -> Rule:
    """The average's best layer is low among all layers of the parent, those without a printed score included."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        highest = len(parent.layers) - 1
        depth = Estimate(parent.layers.index(parent.best_layer) / max(highest, 1))
        told = f"layer {parent.best_layer} of {parent.layers[-1]}"
        return Judgement(depth.below(share + 1e-9), told, {"relative depth": depth})

    return Rule(f"the layer whose averages score best lies in the lower half (relative depth {share:g} or less)", judge)


# --- words ---------------------------------------------------------------------------------------


def _told(parent: Parent, one: str, other: str, over: str, number: Estimate) -> str:
    sides = [_value(parent, way, over) for way in (one, other)]
    prefix = "" if over == MEAN else f"{SETS[over]} "
    return prefix + minus(f"{sides[0]:.3f} against {sides[1]:.3f} (difference {number})")


def _value(parent: Parent, way: str, over: str) -> float:
    if way in (BEST, CHOSEN):
        layer = parent.best_layer if way == BEST else parent.chosen_layer
        return parent.score(AVERAGE, layer=layer, over=over).value
    return parent.score(way, over=over).value


def _layer_told(parent: Parent, way: str) -> str:
    if way not in (BEST, CHOSEN):
        return ""
    return f", its layer {parent.best_layer if way == BEST else parent.chosen_layer}"


def called(way: str) -> str:
    names = {
        BEST: "the average over contexts at its best layer (chosen on these very sets)",
        CHOSEN: "the average over contexts at a layer chosen on MTurk-287, MTurk-771 and MEN",
        AVERAGE: "the average over contexts",
        PARAGRAPH: "X2Static (paragraph)",
        SENTENCE: "X2Static (sentence)",
    }
    return names.get(way) or METHODS[way]


def _named(over: str) -> str:
    return "mean over the sets" if over == MEAN else SETS[over]


def _listed(over: Sequence[str]) -> str:
    return "on average over the sets" if tuple(over) == (MEAN,) else f"on {' and '.join(SETS[one] for one in over)}"
