"""When a claim about word similarity is held: a table and its repaired forms, by inner product and by cosine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every, minus
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.published_tables import TABLE_2, TABLE_3, paper_name
from limbeck.papers.table_rules import NOT_PAPERS, ROUNDING, Beside
from limbeck.papers.table_similarity import COSINE, INNER, SCORINGS, SETS, Way
from limbeck.papers.table_subjects import FORMS, Table


def same_scores(near: float, *, by_set: bool) -> Rule:
    """Table 2's or Table 3's rows, where the model is the paper's."""

    def judge(table: Table, _: Beside) -> Judgement:
        scores = table.scored()
        numbers = {
            f"{FORMS[form]}, {scoring}": scores.mean(form, scoring)
            for form in FORMS
            for scoring in SCORINGS
            if (form, scoring) in scores.ways
        }
        name = paper_name(table)
        if name not in TABLE_2:
            told = ", ".join(f"{title} {scores.sets[key].kept}" for key, title in SETS.items() if key in scores.sets)
            return Judgement(Verdict.UNSHOWN, f"{NOT_PAPERS}; pairs kept: {told}", numbers)
        apart: list[float] = []
        if by_set:
            for form, rows in TABLE_3[name].items():
                ours = table.components if form == "components" else form
                for key, (inner, cosine) in zip(SETS, rows, strict=True):
                    if key in scores.sets:
                        found = scores.sets[key].values
                        apart += [found[ours, INNER] - inner / 100, found[ours, COSINE] - cosine / 100]
        else:
            for form, (cosine, inner) in TABLE_2[name].items():
                ours = table.components if form == "components" else form
                apart += [scores.mean(ours, COSINE).value - cosine / 100, scores.mean(ours, INNER).value - inner / 100]
        most = Estimate(float(np.nanmax(np.abs(apart))))
        return Judgement(most.below(near), f"at most {most} from the printed numbers", numbers)

    what = "on each set" if by_set else "averaged over the sets"
    return Rule(f"the model is one of the paper's and its correlations {what} are less than {near:g} from those", judge)


def better(form: str, than: str, *, scorings: Sequence[str] = SCORINGS) -> Rule:
    """A form of the table scores higher than another, by every scoring."""

    def judge(table: Table, _: Beside) -> Judgement:
        scores = table.scored()
        one, other = (_chosen(table, name) for name in (form, than))
        numbers = {scoring: scores.contrast({(one, scoring): 1.0, (other, scoring): -1.0}) for scoring in scorings}
        why = ", ".join(
            f"{_called(scoring)} {scores.mean(one, scoring).value:.3f} against {scores.mean(other, scoring).value:.3f} "
            f"(difference {numbers[scoring]})"
            for scoring in scorings
        )
        return Judgement(every(number.above(0) for number in numbers.values()), minus(why), numbers)

    by = " and by ".join(_called(scoring) for scoring in scorings)
    text = f"the mean correlation over the sets, by {by}, is higher for the table {FORMS[form]} than for the table "
    return Rule(f"{text}{FORMS[than]}; pairs resampled", judge)


def same_by_inner_product(form: str, than: str) -> Rule:
    """Two forms whose inner products differ by a constant, which no correlation sees."""

    def judge(table: Table, _: Beside) -> Judgement:
        scores = table.scored()
        apart = scores.contrast({(form, INNER): 1.0, (than, INNER): -1.0})
        why = f"{scores.mean(form, INNER).value:.3f}, {abs(apart.value):.0e} apart"
        return Judgement(Estimate(abs(apart.value)).below(ROUNDING), why, {"difference": apart})

    text = "the mean correlation over the sets, by inner product, is the same to rounding"
    return Rule(f"{text}, {FORMS[form]} or by the original projection", judge)


def gains_are_larger() -> Rule:
    """What a repair brings is more for the inner product than for the cosine."""
    forms = ("centered", "scaled", "components")

    def judge(table: Table, _: Beside) -> Judgement:
        scores, numbers, told = table.scored(), {}, []
        for name in forms:
            form = _chosen(table, name)
            gains = {way: scores.contrast(_gain(form, way)) for way in SCORINGS}
            both = _gain(form, INNER) | {way: -weight for way, weight in _gain(form, COSINE).items()}
            numbers[FORMS[form]] = scores.contrast(both)
            told.append(
                f"{FORMS[form]} {gains[INNER].value:+.3f} by inner product, {gains[COSINE].value:+.3f} by cosine"
            )
        return Judgement(every(number.above(0) for number in numbers.values()), minus("; ".join(told)), numbers)

    text = "centring, scaled centring and the removal of components each raise the mean correlation over the sets more "
    return Rule(f"{text}by inner product than by cosine; pairs resampled", judge)


def gap_closes(share: float) -> Rule:
    """Centring closes most of the gap between the two scorings."""

    def judge(table: Table, _: Beside) -> Judgement:
        scores = table.scored()
        before = scores.contrast({("raw", COSINE): 1.0, ("raw", INNER): -1.0})
        after = scores.contrast({("centered", COSINE): 1.0, ("centered", INNER): -1.0})
        numbers = {"gap, raw": before, "gap, centred": after}
        if before.value <= 0:
            raise CannotShow(f"there is no gap: the inner product is {-before.value:.3f} ahead of the cosine")
        left = scores.contrast({
            ("centered", COSINE): 1.0, ("centered", INNER): -1.0,
            ("raw", COSINE): share - 1.0, ("raw", INNER): 1.0 - share,
        })  # fmt: skip
        return Judgement(left.below(1e-12), f"cosine ahead by {before} raw, by {after} centred", numbers)

    return Rule(f"centring takes away at least {share:.0%} of what cosine is ahead; pairs resampled".replace(
        "%", "\u00a0%"), judge)  # fmt: skip


def _gain(form: str, scoring: str) -> dict[Way, float]:
    return {(form, scoring): 1.0, ("raw", scoring): -1.0}


def _chosen(table: Table, form: str) -> str:
    return table.components if form == "components" else form


def _called(scoring: str) -> str:
    return "inner product" if scoring == INNER else "cosine"
