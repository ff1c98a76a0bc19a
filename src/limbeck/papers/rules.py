"""When a claim about curves is held: each rule in words, and as a function that decides it.

A rule compares with a threshold, interval included: a number whose interval holds the threshold is too close to call.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from limbeck.papers.estimates import (
    CannotShow,
    Curve,
    Estimate,
    Verdict,
    at_least,
    every,
    mean_of,
    opposite,
    percent,
)
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.statistics import spearman
from limbeck.papers.subjects import Subject

Beside = Sequence[Subject]
TREND = 0.5  #: rank correlation with height from which a change is a trend and not the doing of one layer
MANY_LAYERS = 5  #: fewer layers have no rank correlation worth the name
#: measure -> what texts call it
NAMES = {
    "anisotropy": "anisotropy",
    "self_similarity": "self-similarity",
    "intra_sentence_similarity": "intra-sentence similarity",
    "intra_sentence_similarity_matched": "intra-sentence similarity",
    "mev": "MEV (Eq. 3)",
    "mev_centered": "MEV (centred)",
    "mev_truncated_svd": "MEV (released code)",
    "log10_isotropy": "log₁₀ I(W)",
    "log10_isotropy_one_sign": "log₁₀ I(W), one sign",
    "isoscore": "IsoScore",
}
PLAIN = ("anisotropy", "log10_isotropy", "log10_isotropy_one_sign", "isoscore")  #: measures without a baseline


def called(measure: str, column: str) -> str:
    """What a column of a measure is called in a sentence.

    >>> called("self_similarity", "adjusted"), called("anisotropy", "value")
    ('adjusted self-similarity', 'anisotropy')
    """
    if measure in PLAIN:
        return NAMES[measure]
    kind = {"value": "raw", "adjusted": "adjusted", "baseline": "the baseline of"}[column]
    matched = " (made sentences as baseline)" if measure.endswith("_matched") and column != "value" else ""
    return f"{kind} {NAMES[measure]}{matched}"


def every_layer_above(measure: str, column: str, least: float) -> Rule:
    """Above a threshold in every contextual layer."""
    text = f"{called(measure, column)} is above {least:g} in every contextual layer"
    return Rule(text, lambda subject, _: _all_above(subject, measure, column, least))


def _all_above(subject: Subject, measure: str, column: str, least: float) -> Judgement:
    curve = subject.contextual_layers(subject.curve(measure, column))
    layer, lowest = curve.lowest()
    verdict = every(one.above(least) for one in curve)
    return Judgement(verdict, f"lowest {lowest} (layer {layer})", {"lowest": lowest})


def every_layer_below(measure: str, column: str, most: float) -> Rule:
    """Below a threshold in every contextual layer."""
    text = f"{called(measure, column)} is below {most:g} in every contextual layer"
    return Rule(text, lambda subject, _: _all_below(subject, measure, column, most))


def _all_below(subject: Subject, measure: str, column: str, most: float) -> Judgement:
    curve = subject.contextual_layers(subject.curve(measure, column))
    layer, highest = curve.highest()
    verdict = every(one.below(most) for one in curve)
    return Judgement(verdict, f"highest {highest} (layer {layer})", {"highest": highest})


def rises(measure: str, column: str) -> Rule:
    """Higher in the upper half of the layers."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        lower, upper = subject.curve(measure, column).halves()
        return _changed(subject.curve(measure, column), lower, upper, (upper - lower).above(0))

    text = f"the mean {called(measure, column)} of the upper half of the layers, the input counted, is above that of "
    return Rule(f"{text}the lower half", judge)


def falls(measure: str, column: str) -> Rule:
    """Lower in the upper half of the layers, and falling all along."""
    text = f"the mean {called(measure, column)} of the upper half of the layers, the input counted, is below that of "
    text += f"the lower half, and its rank correlation with height is −{TREND:g} or less (with fewer than "
    text += f"{MANY_LAYERS} layers: each is below the one before it)"
    return Rule(text, lambda subject, _: _fall(subject, measure, column))


def _fall(subject: Subject, measure: str, column: str) -> Judgement:
    curve = subject.curve(measure, column)
    lower, upper = curve.halves()
    if len(curve) < MANY_LAYERS:  # too few for a correlation: each must be below the one before it
        trend = every([(one - following).above(0) for one, following in itertools.pairwise(curve)])
    else:
        trend = Estimate(_with_height(curve)).below(-TREND + 1e-9)
    return _changed(curve, lower, upper, every([(lower - upper).above(0), trend]))


def stays_above_but_falls(measure: str, column: str) -> Rule:
    """Falling, and above 0 at every contextual layer."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        both = [_fall(subject, measure, column), _all_above(subject, measure, column, 0.0)]
        why = "; ".join(one.why for one in both)
        return Judgement(every(one.verdict for one in both), why, {**both[0].numbers, **both[1].numbers})

    return Rule(f"{falls(measure, column).text}; and it is above 0 in every contextual layer", judge)


def _with_height(curve: Curve) -> float:
    return spearman(np.arange(len(curve), dtype=np.float64), np.array([one.value for one in curve]))


def _changed(curve: Curve, lower: Estimate, upper: Estimate, verdict: Verdict) -> Judgement:
    numbers = {"lower half": lower, "upper half": upper, "difference": upper - lower}
    rank = _with_height(curve)
    if np.isfinite(rank):
        numbers["rank correlation with height"] = Estimate(rank)
    return Judgement(verdict, f"{lower} in the lower half, {upper} in the upper", numbers)


def last_below_penultimate(measure: str) -> Rule:
    def judge(subject: Subject, _: Beside) -> Judgement:
        curve = subject.contextual_layers(subject.curve(measure))
        if len(curve) < 2:
            raise CannotShow("there is one contextual layer only")
        numbers = {"penultimate": curve[-2], "last": curve[-1], "difference": curve[-2] - curve[-1]}
        why = f"{curve[-2]} in the last but one, {curve[-1]} in the last"
        return Judgement(numbers["difference"].above(0), why, numbers)

    return Rule(f"{called(measure, 'value')} is lower in the last layer than in the one before it", judge)


def input_lowest(measure: str, share: float) -> Rule:
    """The contextual layers are above the input layer, almost all of them."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        curve = subject.curve(measure)
        first, above = subject.input_layer(curve)[0], list(subject.contextual_layers(curve))
        verdicts = [(one - first).above(0) for one in above]
        sure = sum(verdict is Verdict.HELD for verdict in verdicts)
        numbers = {"input layer": first, "share of layers above it": Estimate(sure / len(above))}
        needed = int(np.ceil(share * len(above) - 1e-9))
        why = f"{sure} of {len(above)} contextual layers are above the input's {first}"
        return Judgement(at_least(needed, verdicts), why, numbers)

    return Rule(
        f"at least {percent(share)} of the contextual layers have more {NAMES[measure]} than the input layer", judge
    )


def input_within(measure: str, near: float) -> Rule:
    """The input layer is as good as 0."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        first = subject.input_layer(subject.curve(measure))[0]
        verdict = every([first.below(near), first.above(-near)])
        return Judgement(verdict, f"{first} in the input layer", {"input layer": first})

    return Rule(f"{called(measure, 'value')} of the input layer is within {near:g} of 0", judge)


def input_at_least(measure: str, column: str, least: float) -> Rule:
    def judge(subject: Subject, _: Beside) -> Judgement:
        first = subject.input_layer(subject.curve(measure, column))[0]
        return Judgement(first.above(least), f"{first.value:.6f} in the input layer", {"input layer": first})

    return Rule(f"{called(measure, column)} of the input layer is above {least:g}", judge)


def input_highest(measure: str, column: str) -> Rule:
    def judge(subject: Subject, _: Beside) -> Judgement:
        curve = subject.curve(measure, column)
        first = subject.input_layer(curve)[0]
        layer, other = subject.contextual_layers(curve).highest()
        numbers = {"input layer": first, "highest contextual layer": other}
        why = f"{first} in the input layer, at most {other} above it (layer {layer})"
        return Judgement((first - other).above(0), why, numbers)

    return Rule(f"{called(measure, column)} of the input layer is above that of every other", judge)


def last_below(measure: str, column: str, most: float) -> Rule:
    def judge(subject: Subject, _: Beside) -> Judgement:
        last = subject.contextual_layers(subject.curve(measure, column))[-1]
        return Judgement(last.below(most), f"{last} in the last layer", {"last layer": last})

    return Rule(f"{called(measure, column)} of the last layer is below {most:g}", judge)


def most_layers_below(measure: str, column: str, most: float) -> Rule:
    """Below a threshold in more than half of the contextual layers."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        curve = list(subject.contextual_layers(subject.curve(measure, column)))
        verdicts = [one.below(most) for one in curve]
        sure = sum(verdict is Verdict.HELD for verdict in verdicts)
        numbers = {"share of layers": Estimate(sure / len(curve)), "mean": mean_of(curve)}
        why = f"below {most:g} in {sure} of {len(curve)} contextual layers, {mean_of(curve)} on average"
        return Judgement(at_least(len(curve) // 2 + 1, verdicts), why, numbers)

    return Rule(f"{called(measure, column)} is below {most:g} in more than half of the contextual layers", judge)


def all_layers_but_one_above(measure: str, column: str, least: float) -> Rule:
    def judge(subject: Subject, _: Beside) -> Judgement:
        curve = subject.curve(measure, column)
        verdicts = [one.above(least) for one in curve]
        sure = sum(verdict is Verdict.HELD for verdict in verdicts)
        layer, lowest = curve.lowest()
        why = f"above {least:.2f} in {sure} of {len(curve)} layers, lowest {lowest} (layer {layer})"
        numbers = {"share of layers": Estimate(sure / len(curve)), "lowest": lowest}
        return Judgement(at_least(len(curve) - 1, verdicts), why, numbers)

    return Rule(f"{called(measure, column)} is above {least:.2f} in all layers but one, the input counted", judge)


def move_together(measure: str, column: str, other: str) -> Rule:
    """One falls where the other rises, layer by layer."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        first, second = subject.curve(measure, column), subject.curve(other)
        if len(first) < MANY_LAYERS:
            raise CannotShow(f"{len(first)} layers are too few for a correlation over layers")
        rank = spearman(np.array([one.value for one in first]), np.array([one.value for one in second]))
        if not np.isfinite(rank):
            raise CannotShow("one of the two does not vary over layers")
        found = Estimate(rank)
        return Judgement(found.below(-TREND), f"rank correlation {found}", {"rank correlation": found})

    text = f"over layers, the rank correlation of {called(measure, column)} with {NAMES[other]} is below −{TREND:g}"
    return Rule(f"{text}; needs {MANY_LAYERS} layers", judge)


def middle_around(measure: str, column: str, value: float, near: float) -> Rule:
    """The mean from the second contextual layer to the last but one is about a number."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        curve = subject.contextual_layers(subject.curve(measure, column))
        if len(curve) < 3:
            raise CannotShow("there is no layer between the first and the last")
        mean = mean_of([curve[place] for place in range(1, len(curve) - 1)])
        verdict = every([mean.above(value - near), mean.below(value + near)])
        return Judgement(verdict, f"{mean} on average", {"mean": mean})

    text = f"the mean {called(measure, column)} from layer 2 to the last but one is within {near:g} of {value:g}"
    return Rule(text, judge)


def only_first_is_below(small: str, large: str, column: str, most: float) -> Rule:
    """One definition stays below a threshold in every layer, the other does not."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        found, other = (_all_below(subject, measure, column, most) for measure in (small, large))
        numbers = {NAMES[small]: found.numbers["highest"], NAMES[large]: other.numbers["highest"]}
        why = f"{NAMES[small]} at most {numbers[NAMES[small]]}, {NAMES[large]} at most {numbers[NAMES[large]]}"
        return Judgement(every([found.verdict, opposite(other.verdict)]), why, numbers)

    text = every_layer_below(small, column, most).text
    return Rule(f"{text}, and {called(large, column)} is not", judge)


def lowest_of_all(measure: str, column: str) -> Rule:
    """On average over contextual layers, lower than every model of another family."""

    def judge(subject: Subject, beside: Beside) -> Judgement:
        others = [one for one in beside if one.family != subject.family and (measure, column) in one.curves]
        if not others:
            raise CannotShow("there is no model of another kind to compare with")
        own = _average(subject)
        numbers = {subject.name: own} | {one.name: _average(one) for one in others}
        verdict = every((numbers[one.name] - own).above(0) for one in others)
        return Judgement(verdict, ", ".join(f"{name} {value}" for name, value in numbers.items()), numbers)

    def _average(one: Subject) -> Estimate:
        return mean_of(list(one.contextual_layers(one.curve(measure, column))))

    text = f"the mean {called(measure, column)} over contextual layers is below that of every model of another kind"
    return Rule(text, judge)
