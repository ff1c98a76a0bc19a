"""When a claim about static vectors is held: each rule in words, and as a function that decides it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from limbeck.reproduce import published_static as published
from limbeck.reproduce.estimates import CannotShow, Estimate, Verdict, every, minus
from limbeck.reproduce.findings import Judgement, Rule
from limbeck.reproduce.published_static import SETS
from limbeck.reproduce.space_subjects import estimate
from limbeck.reproduce.static_subjects import (
    AVERAGE,
    CBOW,
    MEAN,
    METHODS,
    PARAGRAPH,
    SENT2VEC,
    SENTENCE,
    SKIPGRAM,
    TRAINED,
    Parent,
)

Beside = Sequence[Parent]
NOT_PAPERS = "not a parent of the paper's"
BEST, CHOSEN = "average, best layer", "average, layer chosen on other sets"
#: classes of the test sets of which Table 4's macro-F1 cannot be right: sizes, accuracy, macro-F1 as printed for GloVe
IMPOSSIBLE = {
    "SST-5": ((279, 633, 389, 510, 399), 43.2, 15.5),
    "TREC": ((138, 113, 94, 81, 65, 9), 86.2, 45.4),
}


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
    return Rule(f"{_called(one)} scores higher than {_called(other)} {where}; pairs resampled", judge)


def beats_trained(one: str) -> Rule:
    """Higher than every baseline that was trained on the same text."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        there = [name for name in TRAINED if parent.has(name)]
        if not there:
            raise CannotShow(parent.missing.get("baselines", "no baseline was trained"))
        numbers = {METHODS[name]: parent.difference(one, name) for name in there}
        own = parent.score(one)
        told = ", ".join(f"{METHODS[name]} {parent.score(name).value:.3f}" for name in there)
        return Judgement(every(n.above(0) for n in numbers.values()), f"{own} against {told}", numbers)

    return Rule(
        f"{_called(one)} scores higher on average than each baseline trained on the text; pairs resampled", judge
    )


def beats_files(one: str) -> Rule:
    """Higher than existing vectors, on the pairs that each knows."""

    def judge(parent: Parent, beside: Beside) -> Judgement:
        files = [other for other in beside if other.is_file]
        if not files:
            raise CannotShow("no file of existing vectors was given: name some by --model")
        own = parent.score(one)
        numbers = {other.name: own - other.score("file") for other in files}
        told = ", ".join(f"{other.name} {other.score('file')}" for other in files)
        return Judgement(every(n.above(0) for n in numbers.values()), f"{own} against {told}", numbers)

    text = f"{_called(one)} scores higher on average than each file of vectors that was given"
    return Rule(f"{text}, each on the pairs it knows", judge)


def a_little_better(one: str, other: str, little: float) -> Rule:
    def judge(parent: Parent, _: Beside) -> Judgement:
        number = parent.difference(one, other)
        verdict = every([number.above(0), number.below(little)])
        return Judgement(verdict, _told(parent, one, other, MEAN, number), {"difference": number})

    text = f"{_called(one)} scores higher on average than {_called(other)}, and by less than {little:g}"
    return Rule(f"{text}; pairs resampled", judge)


def gains_most_on(one: str, sets: Sequence[str]) -> Rule:
    """What a method is ahead of the baselines is more on some sets than on the others."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        there = [name for name in (SKIPGRAM, CBOW, SENT2VEC) if parent.has(name)]
        if not there:
            raise CannotShow("no baseline was trained")
        gains = {}
        for each in SETS:
            try:
                best = max(parent.score(name, over=each).value for name in there)
                gains[each] = parent.score(one, over=each).value - best
            except CannotShow:
                continue
        inside = [gains[each] for each in sets if each in gains]
        outside = [gain for each, gain in gains.items() if each not in sets]
        if not inside or not outside:
            raise CannotShow("too few sets have pairs enough")
        apart = Estimate(float(np.mean(inside) - np.mean(outside)))
        told = ", ".join(f"{SETS[each]} {minus(f'{gain:+.3f}')}" for each, gain in gains.items())
        return Judgement(apart.above(0), told, {"difference": apart})

    named = " and ".join(SETS[each] for each in sets)
    return Rule(
        f"{_called(one)} is further ahead of the best baseline on {named} than on the other sets, on average", judge
    )


def low_layers_best(share: float) -> Rule:
    """The average's best layer is a low one."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        layers = [layer for layer, _value in parent.by_layer()]
        place = layers.index(parent.best_layer)
        depth = Estimate(place / max(len(layers) - 1, 1))
        told = f"layer {parent.best_layer} of {layers[-1]}"
        return Judgement(depth.below(share + 1e-9), told, {"relative depth": depth})

    return Rule(f"the layer whose averages score best lies in the lower half (relative depth {share:g} or less)", judge)


# --- size of the text ----------------------------------------------------------------------------


def saturates(set_: str, most: float) -> Rule:
    """The last growth of the text brings the average little."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        sizes, values = _curve(parent, AVERAGE, set_)
        gain = values[-1] - values[-2]
        told = ", ".join(f"{size:,} words {value.value:.3f}" for size, value in zip(sizes, values, strict=True))
        # the pairs are the same at both sizes: their own errors all but cancel, and no interval is claimed
        return Judgement(Estimate(gain.value).below(most), minus(told), {"last gain": Estimate(gain.value)})

    return Rule(f"the last growth of the text raises the average's score on {SETS[set_]} by less than {most:g}", judge)


def ahead_or_growing(set_: str, least: float) -> Rule:
    """X2Static is above the average at the full size, or grows faster in the last step."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        ours, theirs = (_curve(parent, way, set_)[1] for way in (PARAGRAPH, AVERAGE))
        ahead = Estimate((ours[-1] - theirs[-1]).value)
        faster = Estimate((ours[-1] - ours[-2]).value - (theirs[-1] - theirs[-2]).value)
        best = max(ahead.value, faster.value)
        found = Verdict.HELD if best > least else Verdict.NOT_HELD if best < -least else Verdict.CLOSE
        why = f"{ours[-1].value:.3f} against {theirs[-1].value:.3f}, last gains "
        why += f"{(ours[-1] - ours[-2]).value:+.3f} against {(theirs[-1] - theirs[-2]).value:+.3f}"
        return Judgement(found, minus(why), {"ahead": ahead, "faster": faster})

    text = f"on {SETS[set_]}, X2Static (paragraph) is above the average at the full size of the text"
    return Rule(f"{text}, or gains more from its last growth, by more than {least:g}; less is too close to call", judge)


def drawn_curve() -> Rule:
    """Figure 1's row: its curves are drawn; the paper prints no number of them."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        curve = {
            f"{METHODS[way]}, {SETS[name]}": tuple(one.value for one in _curve(parent, way, name)[1])
            for way in (AVERAGE, PARAGRAPH)
            for name in ("simlex-999", "rw")
            if parent.part("size").rows("scores")
        }
        return Judgement(Verdict.UNSHOWN, "drawn; the paper prints no number of its curves", curve=curve)

    return Rule("the curves are the paper's, which prints no number of them", judge)


def _curve(parent: Parent, method: str, set_: str) -> tuple[list[int], list[Estimate]]:
    rows = sorted(parent.rows("size", "scores", method=method, set=set_), key=lambda row: row["words"])
    known = [row for row in rows if np.isfinite(row["value"])]
    if len(known) < 2:
        raise CannotShow(f"{SETS[set_]} has too few pairs of words that are in the text")
    return [int(row["words"]) for row in known], [estimate(row) for row in known]


# --- contexts ------------------------------------------------------------------------------------


def better_context(one: str, other: str) -> Rule:
    """X2Static with one context scores higher than with another, on the same part of the text."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        (row,) = parent.rows("contexts", "differences", one=one, other=other, set=MEAN)
        number = estimate(row)
        scores = {way: parent.rows("contexts", "scores", method=way, set=MEAN)[0]["value"] for way in (one, other)}
        why = f"{scores[one]:.3f} against {scores[other]:.3f} (difference {number})"
        return Judgement(number.above(0), minus(why), {"difference": number})

    names = {"words": "the sentence's words (eq. 3)", "others": "the other words", "masked": "the target masked",
             SENT2VEC: "static vectors (eq. 2)"}  # fmt: skip
    text = f"X2Static with {names[one]} as context scores higher on average than with {names[other]}"
    return Rule(f"{text}; pairs resampled", judge)


# --- classification ------------------------------------------------------------------------------


def classifies_better(one: str, others: Sequence[str]) -> Rule:
    """Higher macro-F1 on average over the tasks."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        own = _classified(parent, one)
        known = {row["method"] for row in parent.rows("classify", "scores")}
        there = [name for name in others if name in known]
        if not there:
            raise CannotShow("none of the others was classified with")
        numbers = {}
        for name in there:
            (row,) = parent.rows("classify", "differences", one=one, other=name)
            numbers[METHODS[name]] = estimate(row)
        told = ", ".join(f"{METHODS[name]} {_classified(parent, name).value:.3f}" for name in there)
        return Judgement(every(n.above(0) for n in numbers.values()), f"macro-F1 {own} against {told}", numbers)

    named = ", ".join(METHODS[name] for name in others)
    text = f"macro-F1, averaged over the tasks, is higher for {_called(one)} than for each of {named}"
    return Rule(f"{text}; examples and runs resampled", judge)


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

    text = (
        f"mean macro-F1 of {_called(one)} is higher than that of {_called(other)} by more than their deviations over "
    )
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


def least_macro_f1(sizes: Sequence[int], accuracy: float, *, steps: int = 400) -> float:
    """The lowest macro-F1 of any predictions of an accuracy, for classes of these sizes.

    F1 of a class is 2c/(n + p) with n its size, p how often it is predicted and c ≤ min(n, p) how often rightly. At the
    lowest, wrong predictions go where they cost most, and classes are either rightly predicted as a whole or not at
    all, but for one: so all orders of filling classes are tried, and all ways to divide wrong predictions among them.
    """
    total = sum(sizes)
    least = 1.0
    for count in range(1, len(sizes) + 1):
        for chosen in itertools.permutations(range(len(sizes)), count):
            right, left = [0] * len(sizes), round(accuracy * total)
            for place in chosen:
                right[place] = min(sizes[place], left)
                left -= right[place]
            if left or not all(right[place] for place in chosen):
                continue
            least = min(least, _least_for(sizes, right, total - sum(right), steps))
    return least


def _least_for(sizes: Sequence[int], right: Sequence[int], wrong: int, steps: int) -> float:
    """The lowest macro-F1 with so many right in each class.

    F1 is convex in p, so wrong predictions go, a step at a time, where the next ones cost most; a class cannot be
    wrongly predicted for what is its own.
    """
    predicted = list(right)
    room = [wrong - (n - c) for n, c in zip(sizes, right, strict=True)]
    step = max(1, wrong // steps)
    while wrong > 0:
        some = [min(step, wrong, left) for left in room]
        fall = [
            2 * c / (n + p) - 2 * c / (n + p + more) if more > 0 else -1.0
            for c, n, p, more in zip(right, sizes, predicted, some, strict=True)
        ]
        place = int(np.argmax(fall))
        predicted[place] += some[place]
        room[place] -= some[place]
        wrong -= some[place]
    return float(np.mean([2 * c / (n + p) if c else 0.0 for c, n, p in zip(right, sizes, predicted, strict=True)]))


def _classified(parent: Parent, method: str) -> Estimate:
    (row,) = parent.rows("classify", "scores", method=method, task=MEAN)
    return estimate(row, "f1", "f1_low", "f1_high")


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


def _called(way: str) -> str:
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
