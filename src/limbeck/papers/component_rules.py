"""When a claim about vectors out of principal components is held (Table 1 of Ethayarajh 2019)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from limbeck.papers import published
from limbeck.papers.component_vectors import AVERAGE, FILE, PRINCIPAL, SETS
from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every, minus
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.parts import Row, estimate
from limbeck.papers.subjects import Subject

Beside = Sequence[Subject]
TOLD = {"web": "scored as published", "known": "scored on what the vectors know"}


def layers_of(subject: Subject) -> list[str]:
    """Layers whose components were scored, lowest first; none of a file."""
    return [str(layer) for layer in subject.benchmarks().about["layers"]]


def rows_of(subject: Subject, way: str, *, vectors: str = PRINCIPAL, layer: str = "") -> list[Row]:
    """A row a set, of those that are defined."""
    wanted = {"vectors": vectors, "layer": layer, "way": way}
    rows = [row for row in subject.benchmarks().rows("scores") if wanted.items() <= row.items()]
    known = [row for row in rows if math.isfinite(row["value"])]
    if not known:
        raise CannotShow(f"there are no scores {TOLD[way]}")
    return known


def mean_score(subject: Subject, way: str, *, vectors: str = PRINCIPAL, layer: str = "") -> Estimate:
    """The mean over the sets; errors are taken as independent from set to set."""
    found = [estimate(row) for row in rows_of(subject, way, vectors=vectors, layer=layer)]
    error = math.sqrt(sum(one.error**2 for one in found)) / len(found)
    return Estimate(sum(one.value for one in found) / len(found), error)


def same_table(near: float) -> Rule:
    """Table 1's rows, where the model is the paper's."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        kind = PRINCIPAL if layers_of(subject) else FILE
        numbers = {
            f"layer {layer}" if layer else "file": mean_score(subject, "web", vectors=kind, layer=layer)
            for layer in layers_of(subject) or [""]
        }
        told = ", ".join(f"{name} {_three(number)}" for name, number in numbers.items())
        if not published.is_own_model(subject):
            return Judgement(Verdict.UNSHOWN, f"not a model of the paper's; mean over the sets: {told}", numbers)
        apart = [
            abs(row["value"] - printed[list(SETS).index(row["set"])])
            for layer in layers_of(subject)
            if (printed := published.TABLE_1.values.get(f"{subject.family}, layer {layer}"))
            for row in rows_of(subject, "web", layer=layer)
        ]
        if not apart:
            raise CannotShow("none of these layers is in the printed table")
        mean = Estimate(sum(apart) / len(apart))
        return Judgement(mean.below(near), f"{mean} apart on average; mean over the sets: {told}", numbers)

    return Rule(f"the model is one of the paper's and its scores less than {near:g} from the print, on average", judge)


def lower_better(way: str) -> Rule:
    """The two lowest layers above the two highest."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        layers = layers_of(subject)
        if len(layers) < 2:
            raise CannotShow("two layers above the input are needed")
        half = len(layers) // 2
        low, high = (
            _mean([mean_score(subject, way, layer=layer) for layer in some]) for some in (layers[:half], layers[half:])
        )
        told = ", ".join(f"layer {layer} {_three(mean_score(subject, way, layer=layer))}" for layer in layers)
        numbers = {"lowest": low, "highest": high, "difference": low - high}
        return Judgement((low - high).above(0), told, numbers)

    text = "the principal components of the two lowest layers above the input score higher than those of the highest"
    return Rule(f"{text}, on average over the sets, {TOLD[way]}", judge)


def first_layer_best(way: str) -> Rule:
    """The first layer of this model above every layer of every other model, and above its own others."""

    def judge(subject: Subject, beside: Beside) -> Judgement:
        others = _others(subject, beside)
        first, *rest = layers_of(subject)
        own = mean_score(subject, way, layer=first)
        numbers = {f"{subject.name}, layer {layer}": mean_score(subject, way, layer=layer) for layer in rest}
        for one in others:
            numbers |= {f"{one.name}, layer {layer}": mean_score(one, way, layer=layer) for layer in layers_of(one)}
        told = ", ".join(f"{name} {_three(number)}" for name, number in numbers.items())
        verdict = every((own - number).above(0) for number in numbers.values())
        return Judgement(verdict, f"{_three(own)} against {told}", {"first layer": own, **numbers})

    text = "the principal components of its first layer score higher than those of every other layer and model"
    return Rule(f"{text}, on average over the sets, {TOLD[way]}", judge)


def worst_of_all(way: str) -> Rule:
    """Every layer of this model below every layer of the others."""

    def judge(subject: Subject, beside: Beside) -> Judgement:
        others = _others(subject, beside)
        own = {f"layer {layer}": mean_score(subject, way, layer=layer) for layer in layers_of(subject)}
        best = max(own.values(), key=lambda number: number.value)
        lowest = {one.name: min((mean_score(one, way, layer=layer) for layer in layers_of(one)),
                                key=lambda number: number.value) for one in others}  # fmt: skip
        told = ", ".join(f"{name} at least {_three(number)}" for name, number in lowest.items())
        verdict = every((number - best).above(0) for number in lowest.values())
        return Judgement(verdict, f"at most {_three(best)}; {told}", {"best layer": best, **lowest})

    text = "the principal components of its best layer score lower than those of the worst layer of every other model"
    return Rule(f"{text}, on average over the sets, {TOLD[way]}", judge)


def beats_files_on_most(way: str) -> Rule:
    """More than half of the sets, against each file of vectors."""

    def judge(subject: Subject, beside: Beside) -> Judgement:
        files = [one for one in beside if one.static is not None and not layers_of(one)]
        if not files:
            raise CannotShow("no file of vectors was given: name GloVe or fastText by --model")
        first = layers_of(subject)[0]
        own = {row["set"]: row["value"] for row in rows_of(subject, way, layer=first)}
        numbers, told = {}, []
        for one in files:
            theirs = {row["set"]: row["value"] for row in rows_of(one, way, vectors=FILE)}
            both = [name for name in SETS if name in own and name in theirs]
            if not both:
                raise CannotShow("there is no set that both know")
            wins = sum(own[name] > theirs[name] for name in both)
            numbers[one.name] = Estimate(wins / len(both))
            told.append(f"{one.name}: {wins} of {len(both)}")
        verdict = every(number.above(0.5) for number in numbers.values())
        return Judgement(verdict, f"layer {first} is ahead on so many sets: {', '.join(told)}", numbers)

    text = "the principal components of its first layer score higher than each file of vectors on more than half of "
    return Rule(f"{text}the sets, {TOLD[way]}", judge)


def averages_do_as_well(way: str, near: float) -> Rule:
    """Means over contexts are no worse than principal components."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        layers = layers_of(subject)
        kinds = {
            kind: _mean([mean_score(subject, way, vectors=kind, layer=layer) for layer in layers])
            for kind in (AVERAGE, PRINCIPAL)
        }
        apart = kinds[AVERAGE] - kinds[PRINCIPAL]
        why = f"{kinds[AVERAGE]} against {kinds[PRINCIPAL]}, on average over layers"
        # both come from the same words and pairs: their errors all but cancel
        return Judgement(Estimate(apart.value).above(-near), why, {"difference": Estimate(apart.value)})

    text = f"averages over contexts score no more than {near:g} below principal components, on average over the sets "
    return Rule(f"{text}and layers, {TOLD[way]}", judge)


def _others(subject: Subject, beside: Beside) -> list[Subject]:
    others = [one for one in beside if one.family != subject.family and one.static is not None and layers_of(one)]
    if not others:
        raise CannotShow("there is no model of another kind to compare with")
    return others


def _mean(numbers: Sequence[Estimate]) -> Estimate:
    """Layers share words and pairs: errors are averaged, nothing cancels."""
    count = len(numbers)
    return Estimate(sum(one.value for one in numbers) / count, sum(one.error for one in numbers) / count)


def _three(number: Estimate) -> str:
    return minus(f"{number.value:.3f}")
