"""When a claim about the size of the context is held (Figure 5); and about attention to few words (Table 7)."""

from __future__ import annotations

from collections.abc import Sequence

from limbeck.papers import published_probes as published
from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.parts import estimate
from limbeck.papers.probe_scores import Scored, combined, mean
from limbeck.papers.probe_subjects import BAG, ProbedModel
from limbeck.probing.names import WHOLE

Beside = Sequence[ProbedModel]


# --- size of the context -------------------------------------------------------------------------


def local_enough(few: int) -> Rule:
    """What the nearest words give against what all others give."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard(part="contexts")
        none, some, whole = (_mean_at(model, size) for size in ("0", str(few), WHOLE))
        near, far = (some - none).estimate, (whole - some).estimate
        more = combined(lambda a, b, c: (b - a) - (c - b), [none, some, whole]).estimate
        why = f"from 0 to {few} words {near}, from {few} to all {far}: more by {more}"
        return Judgement(more.above(0), why, {"near": near, "far": far, "more": more})

    return Rule(
        f"F1, the mean over layers, gains more from no word to {few} on each side than from those to all", judge
    )


def more_is_better() -> Rule:
    """Every layer with all words against the same without any."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard(part="contexts")
        alone, whole = _at(model, "0"), _at(model, WHOLE)
        gains = {layer: (whole[layer] - alone[layer]).estimate for layer in whole}
        told = ", ".join(f"layer {layer} {gain}" for layer, gain in gains.items())
        return Judgement(every(gain.above(0) for gain in gains.values()), told, gains)

    return Rule("every layer's F1 is higher with whole sentences than with the word alone", judge)


def alike_alone(near: float) -> Rule:
    """How far layers lie apart when they see the word alone."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        model.heard(part="contexts", context="0")
        found = _at(model, "0")
        apart = combined(lambda *values: max(values) - min(values), list(found.values())).estimate
        whole = _at(model, WHOLE)
        other = combined(lambda *values: max(values) - min(values), list(whole.values())).estimate
        told = ", ".join(f"layer {layer} {one.value:.3f}" for layer, one in found.items())
        why = f"highest above lowest by {apart} ({told}); with whole sentences by {other}"
        return Judgement(apart.below(near), why, {"apart": apart})

    return Rule(f"with the word alone the highest F1 of all layers is less than {near:g} above the lowest", judge)


def large_hurt_bag(large: Sequence[int]) -> Rule:
    """The bag of words with many words against the same with fewer."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        sizes = _sizes(model)
        few = [size for size in sizes if size < min(large)]
        many = [size for size in sizes if size in large]
        if not few or not many:
            raise CannotShow(f"not run: needs sizes below and among {', '.join(map(str, large))}: see --context-size")
        found = {size: model.score(BAG, context=str(size), part="contexts") for size in [*few, *many]}
        model.heard(BAG, part="contexts", context=str(max(few, key=lambda size: found[size].value)))
        lost = combined(
            lambda *values: max(values[: len(few)]) - max(values[len(few) :]), [found[size] for size in [*few, *many]]
        ).estimate
        told = ", ".join(f"{size}: {one.value:.3f}" for size, one in found.items())
        return Judgement(lost.above(0), f"P-model by words to each side {told}; lost {lost}", {"lost": lost})

    told = " or ".join(map(str, large))
    return Rule(f"the best F1 of P-model with fewer words is above that with {told} to each side", judge)


def higher_gain_more() -> Rule:
    """What the highest layer gains by context against what the lowest does."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        alone, whole = _at(model, "0"), _at(model, WHOLE)
        layers = list(whole)
        if len(layers) < 2:
            raise CannotShow("two layers are needed")
        model.heard(part="contexts")
        low, high = layers[0], layers[-1]
        more = combined(
            lambda a, b, c, d: (b - a) - (d - c), [alone[high], whole[high], alone[low], whole[low]]
        ).estimate
        gains = (whole[high] - alone[high]).estimate, (whole[low] - alone[low]).estimate
        why = f"layer {high} gains {gains[0]}, layer {low} {gains[1]}: more by {more}"
        return Judgement(more.above(0), why, {"more": more})

    return Rule("the highest layer's F1 gains more by whole sentences than the lowest layer's", judge)


def _at(model: ProbedModel, size: str) -> dict[str, Scored]:
    return model.curve(context=size, part="contexts")


def _mean_at(model: ProbedModel, size: str) -> Scored:
    return mean(list(_at(model, size).values()))


def _sizes(model: ProbedModel) -> list[int]:
    rows = model.rows("contexts", space=BAG, side="test")
    return sorted({int(row["context"]) for row in rows if row["context"] != WHOLE})


# --- attention to few words ----------------------------------------------------------------------


def windows_of(model: ProbedModel) -> dict[str, Estimate]:
    """Accuracy of parts of speech by words attended to on either side; all of them last."""
    found = {row["window"]: estimate(row) for row in model.rows("windows")}
    if WHOLE not in found:
        found[WHOLE] = estimate(model.rows("tuned-pos")[0])
    return found


def windows_beside() -> Rule:
    """Table 7, whose treebank is never the one that is read here."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        found = windows_of(model)
        told = ", ".join(f"{size} {value}" for size, value in found.items())
        return Judgement(Verdict.UNSHOWN, f"not the paper's treebank; accuracy: {told}", found)

    return Rule(f"the treebank is the paper's ({published.TASK_DATA['pos']}), which is not read here", judge)


def few_words_suffice(few: int, near: float) -> Rule:
    """Attention to few words against attention to all."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        found = windows_of(model)
        if str(few) not in found:
            raise CannotShow(f"not run: needs {few} among --attention-window")
        model.check_learnt("pos")
        lost = found[WHOLE] - found[str(few)]
        return Judgement(
            lost.below(near), f"{few} words {found[str(few)]}, all {found[WHOLE]}: lost {lost}", {"lost": lost}
        )

    return Rule(f"accuracy with {few} words on either side is less than {near:g} below that with all", judge)


def none_is_worse(much: float) -> Rule:
    """Attention to nothing but the word itself."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        found = windows_of(model)
        if "0" not in found:
            raise CannotShow("not run: needs 0 among --attention-window")
        model.check_learnt("pos")
        lost = found[WHOLE] - found["0"]
        return Judgement(lost.above(much), f"0 words {found['0']}, all {found[WHOLE]}: lost {lost}", {"lost": lost})

    return Rule(f"accuracy without any other word is more than {much:g} below that with all", judge)
