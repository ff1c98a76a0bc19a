"""When a claim about probed layers is held: each rule in words, and as a function that decides it.

Here data, layers, averages, bags of words and failures; `probe_context_rules` has the size of the context, and
`probe_tuning_rules` fine-tuning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from limbeck.papers import published_probes as published
from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.parts import estimate
from limbeck.papers.probe_scores import Scored, combined, scored
from limbeck.papers.probe_subjects import (
    AVERAGE,
    BAG,
    RANDOM_BAG,
    STATIC_BAG,
    ProbedModel,
    halves,
)
from limbeck.probing.names import CONTEXT

Beside = Sequence[ProbedModel]
NEEDS_STATIC = "not run: needs static vectors: give a file to --static"


# --- tables of the paper -------------------------------------------------------------------------


def listed(part: str, table: str, what: str) -> Rule:
    """A table of words or sentences, which nobody can call right or wrong."""

    def together(models: Beside) -> Judgement:
        count = sum(len(model.part(part).rows(table)) for model in models if part in model.parts)
        if not count:
            raise CannotShow(f"there are no {what}")
        return Judgement(Verdict.UNSHOWN, f"{count} {what} are listed; the paper prints no numbers to judge them by")

    return Rule("the paper gave numbers to compare with", together=together)


def same_neighbors() -> Rule:
    """Table 1, where the table is the paper's."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        rows = model.rows("neighbors", space="table")
        found = [row["neighbor"] for row in rows]
        told = f"{rows[0]['word']}: {', '.join(found)}"
        if not published.is_own(model):
            return Judgement(Verdict.UNSHOWN, f"not the paper's model; {told}", words=tuple(found))
        shared = set(found) & set(published.TABLE_1["BERT"])
        return Judgement(Estimate(len(shared)).above(len(found) / 2), f"{len(shared)} as printed; {told}")

    return Rule("the table is the paper's and more than half of the neighbours of suit are those printed", judge)


def same_data() -> Rule:
    """Tables 2 and 8: how many words, combinations and contexts."""

    def together(models: Beside) -> Judgement:
        there = [model for model in models if "layers" in model.parts]  # all have the same words
        if not there:
            raise CannotShow("nothing was probed")
        counts = {row["side"]: row for row in there[0].rows("layers", "data", **{"class": "total"})}
        told = "; ".join(
            f"{side} {row['words']:,} words, {row['combinations']:,} combinations, {row['contexts']:,} contexts"
            for side, row in counts.items()
        )
        if not published.own_words(counts):
            return Judgement(Verdict.UNSHOWN, f"not the paper's labelled words; {told}")
        return Judgement(Verdict.HELD, told)

    return Rule("there are as many words, combinations and contexts as printed, within a hundredth", together=together)


def same_scores(space: str, near: float) -> Rule:
    """Tables 5 and 6, where model and data are the paper's."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        curve = model.curve(space)
        values = {layer: one.value for layer, one in curve.items()}
        told = ", ".join(f"{layer} {value:.3f}" for layer, value in values.items())
        shown = {space: tuple(values.values())}
        if why := published.unlike(model):
            return Judgement(Verdict.UNSHOWN, f"{why}; by layer: {told}", curve=shown)
        printed = published.AVERAGES if space == AVERAGE else published.IN_CONTEXT
        apart = Estimate(max(abs(a - b) for a, b in zip(values.values(), printed["test"], strict=True)))
        return Judgement(apart.below(near), f"at most {apart} from the print; by layer: {told}", curve=shown)

    return Rule(
        f"model and labelled words are the paper's and every layer's F1 is less than {near:g} from the print", judge
    )


# --- one vector a word ---------------------------------------------------------------------------


def average_best() -> Rule:
    """Averages over contexts against all other vectors of words."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard(AVERAGE)
        by_dev = model.curve(AVERAGE, side="dev")
        layer = max(by_dev, key=lambda name: by_dev[name].value)
        best = model.score(AVERAGE, layer)
        others = {"random vectors": model.score("random")}
        if "table" in model.layers:
            others["the table"] = model.score(AVERAGE, "table")
        if model.has("layers", space="static"):
            others["static vectors"] = model.score("static")
        numbers = {f"more than {name}": (best - other).estimate for name, other in others.items()}
        told = ", ".join(f"{name} {number}" for name, number in numbers.items())
        why = f"layer {layer} {best.value:.3f}; {told}" + ("" if "static vectors" in others else " (no --static)")
        return Judgement(every(number.above(0) for number in numbers.values()), why, numbers)

    return Rule(
        "the average over contexts, at the layer that is best on the development words, has a higher F1 than random "
        "vectors, the table and static vectors",
        judge,
    )


def best_layer(share: float) -> Rule:
    """At which layer the average is best."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard(AVERAGE)
        curve = model.curve(AVERAGE)
        layers = list(curve)
        if len(layers) < 4:
            raise CannotShow(f"top layers are told from others where there are four or more, not {len(layers)}")
        found = max(curve, key=lambda name: curve[name].value)
        top = layers[-max(1, round(share * len(layers))) :]
        rest = [layer for layer in layers if layer not in top]
        more = combined(
            lambda *values: max(values[: len(top)]) - max(values[len(top) :]), [curve[layer] for layer in [*top, *rest]]
        ).estimate
        return Judgement(
            more.above(0), f"best is layer {found}; top {len(top)} above the rest by {more}", {"more": more}
        )

    return Rule(f"the layer with the highest F1 is in the top {_part(share)} of the layers", judge)


def upper_better(space: str) -> Rule:
    """The upper half against the lower half."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard(space)
        lower, upper = halves(model.curve(space))
        more = (upper - lower).estimate
        why = f"upper half {upper.value:.3f}, lower half {lower.value:.3f}: {more}"
        return Judgement(more.above(0), why, {"more": more})

    return Rule("the mean F1 of the upper half of the layers is above that of the lower half", judge)


def above_table() -> Rule:
    """The lowest block's average against the table."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        layer = model.blocks[0]
        if "table" not in model.layers:
            raise CannotShow("the model has no table")
        model.heard(AVERAGE)
        more = (model.score(AVERAGE, layer) - model.score(AVERAGE, "table")).estimate
        return Judgement(more.above(0), f"layer {layer} above the table by {more}", {"more": more})

    return Rule("the average of the lowest layer has a higher F1 than the table", judge)


def like_static(near: float) -> Rule:
    """The table against static vectors."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        if not model.has("layers", space="static"):
            raise CannotShow(NEEDS_STATIC)
        model.heard(AVERAGE)
        model.heard("static")
        more = (model.score(AVERAGE, "table") - model.score("static")).estimate
        apart = Estimate(abs(more.value), more.error)
        return Judgement(apart.below(near), f"table above static vectors by {more}", {"more": more})

    return Rule(f"the table's F1 is less than {near:g} from that of static vectors", judge)


def above_random() -> Rule:
    """Every space of words against random vectors."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard(AVERAGE)
        random = model.score("random")
        spaces = {f"layer {layer}": one for layer, one in model.curve(AVERAGE).items()}
        if "table" in model.layers:
            spaces["table"] = model.score(AVERAGE, "table")
        if model.has("layers", space="static"):
            spaces["static vectors"] = model.score("static")
        least = min(spaces, key=lambda name: spaces[name].value)
        more = (spaces[least] - random).estimate
        return Judgement(
            more.above(0), f"random {random.value:.3f}; least is {least}, more by {more}", {"least more": more}
        )

    return Rule("the least F1 of all vectors of words is above that of random vectors", judge)


def starts_agree(most: float) -> Rule:
    """The spread over starts of the probes."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        rows = model.rows("starts", space=AVERAGE, side="test")
        known = {row["layer"]: row["deviation"] for row in rows if math.isfinite(row["deviation"])}
        model.heard(AVERAGE)
        if not known:
            raise CannotShow("a deviation needs two starts or more: raise --starts")
        told = ", ".join(f"{row['layer']} {row['f1']:.3f} ± {row['deviation']:.3f}" for row in rows)
        worst = Estimate(max(known.values()))
        return Judgement(worst.below(most), f"{rows[0]['starts']} starts: {told}", {"largest deviation": worst})

    return Rule(f"the deviation of F1 over starts is less than {most:g} at each of the upper layers", judge)


# --- words in context ----------------------------------------------------------------------------


def rises(least: float) -> Rule:
    """Rank correlation of F1 with height."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard()
        curve = list(model.curve().values())
        if len(curve) < 4:
            raise CannotShow(f"a rise over layers needs four or more, not {len(curve)}")
        found = combined(_rank_correlation, curve).estimate
        first, last = curve[0].value, curve[-1].value
        why = f"rank correlation with height {found}; lowest {first:.3f}, highest {last:.3f}"
        return Judgement(found.above(least), why, {"rank correlation": found})

    return Rule(f"the rank correlation of F1 with height is above {least:g}", judge)


def _rank_correlation(*values: float) -> float:
    """Spearman's, with the numbers 1 to n; ranks of equal values are averaged."""
    x = np.asarray(values, dtype=np.float64)
    ranks = np.array([(x < one).sum() + 0.5 * (x == one).sum() for one in x])
    height = np.arange(len(x), dtype=np.float64)
    ranks, height = ranks - ranks.mean(), height - height.mean()
    scale = math.sqrt(float(ranks @ ranks) * float(height @ height))
    return float(ranks @ height) / scale if scale else 0.0


def levels_off(little: float) -> Rule:
    """What the top two layers add."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        curve = model.curve()
        layers = list(curve)
        if len(layers) < 4:
            raise CannotShow(f"top layers are told from others where there are four or more, not {len(layers)}")
        model.heard()
        more = (curve[layers[-1]] - curve[layers[-3]]).estimate
        told = f"add {more}" if more.value >= 0 else f"add nothing: F1 is lower by {-more}"
        return Judgement(more.below(little), f"layers {layers[-2]} and {layers[-1]} {told}", {"more": more})

    return Rule(f"the last layer's F1 is less than {little:g} above that of the layer two below it", judge)


def largest_step_low(share: float) -> Rule:
    """Where F1 rises most from one layer to the next."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        curve = model.curve()
        layers = list(curve)
        low = max(1, math.ceil(share * (len(layers) - 1)))
        if len(layers) < 4:
            raise CannotShow(f"steps are compared where there are four layers or more, not {len(layers)}")
        model.heard()

        def more(*values: float) -> float:
            steps = np.diff(values)
            return float(steps[:low].max() - steps[low:].max())

        found = combined(more, list(curve.values())).estimate
        steps = np.diff([one.value for one in curve.values()])
        at = int(steps.argmax())
        why = f"largest step {steps[at]:.3f}, from layer {layers[at]} to {layers[at + 1]}; low ones more by {found}"
        if "0" in model.layers:
            into = (curve[layers[0]] - model.score(CONTEXT, "0")).estimate
            why += f"; from layer 0, which the paper leaves out, to 1: {into}"
        return Judgement(found.above(0), why, {"low steps more": found})

    return Rule(f"the largest step of F1 between neighbouring layers lies in the lowest {_part(share)} of them", judge)


def lowest_like_bag() -> Rule:
    """The lowest layer against the bag of words."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard()
        model.heard(BAG)
        layer = model.blocks[0]
        more = (model.score(CONTEXT, layer) - model.score(BAG)).estimate
        return Judgement(more.below(0), f"layer {layer} above P-model by {more}", {"more": more})

    return Rule("the lowest layer's F1 is not above that of P-model", judge)


def above_bags(first: int) -> Rule:
    """From one layer on, each layer against the bags of words."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        curve = {layer: one for layer, one in model.curve().items() if int(layer) >= first}
        if not curve:
            raise CannotShow(f"there is no layer {first}")
        bags = {name: model.score(name) for name in (BAG, STATIC_BAG) if model.has("layers", space=name)}
        if not bags:
            raise CannotShow("there is no bag of words")
        layer = min(curve, key=lambda name: curve[name].value)
        bag = max(bags, key=lambda name: bags[name].value)
        model.heard()
        model.heard(bag)
        more = (curve[layer] - bags[bag]).estimate
        why = f"least is layer {layer}, above {bag} by {more}" + ("" if STATIC_BAG in bags else " (no --static)")
        return Judgement(more.above(0), why, {"least more": more})

    return Rule(
        f"from layer {first} on (the paper's {first - 1}) every layer's F1 is above P-static and P-model", judge
    )


def random_bag_below() -> Rule:
    """The bag of random vectors against the others."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        bags = {name: model.score(name) for name in (BAG, STATIC_BAG) if model.has("layers", space=name)}
        if not bags:
            raise CannotShow("there is no bag of words")
        for name in bags:
            model.heard(name)
        random = model.score(RANDOM_BAG)
        numbers = {name: (one - random).estimate for name, one in bags.items()}
        told = ", ".join(f"{name} more by {number}" for name, number in numbers.items())
        return Judgement(
            every(number.above(0) for number in numbers.values()), f"P-random {random.value:.3f}; {told}", numbers
        )

    return Rule("P-random's F1 is below those of P-model and P-static", judge)


def _part(share: float) -> str:
    return "third" if math.isclose(share, 1 / 3) else f"{share:.0%}"


# --- failures ------------------------------------------------------------------------------------


def many_pieces_worse() -> Rule:
    """F1 at the last layer by number of pieces."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        layer = model.blocks[-1]
        if "layers" in model.parts and "pieces" not in model.part("layers").tables:
            raise CannotShow("its words are not cut into pieces")
        rows = {row["pieces"]: row for row in model.rows("layers", "pieces", layer=layer) if row["units"]}
        groups = {name: estimate(row, "f1") for name, row in rows.items() if math.isfinite(row["f1"])}
        if len(groups) < 2:
            raise CannotShow("all words are of one piece")
        model.heard()
        first, last = next(iter(groups)), list(groups)[-1]
        less = groups[first] - groups[last]
        told = ", ".join(f"{name}: {value} ({rows[name]['units']})" for name, value in groups.items())
        return Judgement(less.above(0), f"layer {layer}, F1 by pieces: {told}", {"less": less})

    return Rule("at the last layer words of the most pieces have a lower F1 than words of one", judge)


def _quarters(model: ProbedModel, layer: str) -> dict[str, Scored]:
    """F1 of a layer by quarter of contexts, least sure and surest among them."""
    rows = model.part("layers").rows("confidence") if "confidence" in model.part("layers").tables else []
    own = {row["quarter"]: row for row in rows if row["layer"] == layer and math.isfinite(row["f1"])}
    if not {"1", "4"} <= set(own):
        raise CannotShow("there are too few contexts, or P-around is equally sure of all")
    if not all("draws" in row for row in own.values()):
        raise CannotShow("kept without the draws of its words: measure it again (--existing replace)")
    return {name: scored(row) for name, row in own.items()}


def dull_contexts_worse() -> Rule:
    """How F1 falls with the certainty of the words around, at the last layer beside one that knows no context.

    Words that stand in telling contexts are easier by themselves, so that F1 falls in that one too.
    """

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        layer, lowest = model.blocks[-1], model.layers[0]
        if lowest not in ("table", "0"):
            raise CannotShow("no layer that knows no context was probed")
        high, low = _quarters(model, layer), _quarters(model, lowest)
        model.heard()
        more = combined(lambda a, b, c, d: (a - b) - (c - d), [high["4"], high["1"], low["4"], low["1"]]).estimate
        told = ", ".join(f"{name}: {one.estimate}" for name, one in high.items())
        called = "the table" if lowest == "table" else "layer 0"
        why = (
            f"layer {layer}, F1 by quarter of P-around's certainty, least first: {told}; less by "
            f"{(high['4'] - high['1']).estimate}, in {called}, which knows no context, by "
            f"{(low['4'] - low['1']).estimate}: more by {more}"
        )
        return Judgement(more.above(0), why, {"more": more})

    return Rule(
        "from the quarter of each class' contexts of which P-around is surest to that of which it is least sure F1 "
        "falls more at the last layer than in the table or layer 0, which knows no context",
        judge,
    )
