"""When a claim about embedding tables is held: each rule in words, and as a function that decides it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from limbeck.measures.tables import geometry
from limbeck.papers.estimates import CannotShow, Estimate, Floats, Verdict, every, minus
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.published_tables import TABLE_1, UNUSED_COSINES, paper_name
from limbeck.papers.rules import MANY_LAYERS, TREND
from limbeck.papers.statistics import correlation, spearman
from limbeck.papers.table_subjects import FORMS, SHARES, Table
from limbeck.papers.table_training import Training
from limbeck.seeds import generator_for

Beside = Sequence[Table]
MANY_MODELS = 5  #: fewer have no correlation worth the name
SHIFTS = (0.0, 1.0, 2.0, 4.0)  #: of the made sphere, in its radii
SPHERE_POINTS = 2000
ROUNDING = 1e-9  #: what is below is the same number
NOT_PAPERS = "not a model of the paper's"
SIGNS = {"one": "one sign, as published", "both": "both signs"}


def finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise CannotShow(f"{what} is not known")
    return value


def log10_isotropy(table: Table, form: str, signs: str = "one") -> float:
    """log₁₀ I(W), or a reason why there is none. Comparisons are made of it: I(W) itself may be below any float."""
    shape = table.shape(form)
    value = shape.log10_isotropy_one_sign if signs == "one" else shape.log10_isotropy
    return finite(value, f"I(W) of the table {FORMS[form]}{f' ({shape.note})' if shape.note else ''}")


def isotropy(table: Table, form: str, signs: str = "one") -> float:
    """I(W), or a reason why there is none."""
    return math.pow(10, log10_isotropy(table, form, signs))


def told(log10: float) -> str:
    """I(W) in a sentence: a power of ten where it is tiny.

    >>> told(math.log10(0.5)), told(-57.1)
    ('0.500', '10^−57.1')
    """
    return f"{math.pow(10, log10):.3f}" if log10 > -2 else minus(f"10^{log10:.1f}").replace("^-", "^−")


# figures and tables


def same_geometry(near: float) -> Rule:
    """Table 1's row, where the model is the paper's."""

    def judge(table: Table, _: Beside) -> Judgement:
        ours = [isotropy(table, form) for form in ("raw", "centered", "components")]
        shape = table.shape("raw")
        ours += [shape.mean_norm, shape.norm_of_mean, shape.shift]
        numbers = {what: Estimate(value) for what, value in zip(ROW, ours, strict=True)}
        name = paper_name(table)
        if not name:
            return Judgement(Verdict.UNSHOWN, NOT_PAPERS, numbers)
        apart = Estimate(max(abs(a - b) for a, b in zip(ours, TABLE_1[name], strict=True)))
        return Judgement(apart.below(near), f"at most {apart} from the printed row", numbers)

    return Rule(f"the model is one of the paper's and all six numbers are less than {near:g} from Table 1's", judge)


ROW = ("I(W)", "I(W), centred", "I(W), components removed", "mean norm", "norm of the mean", "ratio")


def same_bins(near: float) -> Rule:
    """The two numbers that §4.2 gives for BERT's unused tokens."""

    def judge(table: Table, _: Beside) -> Judgement:
        curve = {f"by {order}": tuple(found.cosines.tolist()) for order, found in table.bins.items()}
        if paper_name(table) not in ("BERT-base-uncased", "BERT-base-cased"):
            return Judgement(Verdict.UNSHOWN, f"{NOT_PAPERS}; compared with the {table.reference}", curve=curve)
        found = table.bins["id"].cosines
        apart = Estimate(max(abs(found[2] - UNUSED_COSINES[0]), abs(found[28] - UNUSED_COSINES[1])))
        return Judgement(apart.below(near), f"{found[2]:.2f} and {found[28]:.2f}", curve=curve)

    return Rule(f"the model is BERT-base and the cosines that §4.2 names are met within {near:g}", judge)


# Figures 1 to 4


def spectrum_flattens() -> Rule:
    def judge(table: Table, _: Beside) -> Judgement:
        if len(table.shape("raw").singular_values) < 2:
            raise CannotShow("there are no two singular values")
        raw, centered = (table.shape(form).normalized_singular_values for form in ("raw", "centered"))
        numbers = {"raw": Estimate(float(raw[1])), "centred": Estimate(float(centered[1]))}
        why = f"the second singular value is {raw[1]:.2f} of the first, {centered[1]:.2f} after centring"
        return Judgement((numbers["centred"] - numbers["raw"]).above(0), why, numbers)

    return Rule("the second singular value is a larger part of the first after centring", judge)


def sphere(shift: float, *, seed: int = 0) -> Floats:
    """Points on a sphere of radius 1 in three dimensions, moved by so many radii along (1, 1, 1)."""
    points = generator_for(seed, "reproduce", "sphere").normal(size=(SPHERE_POINTS, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    moved: Floats = points + shift / math.sqrt(3)
    return moved


def sphere_gap() -> Rule:
    """A moved sphere has one large singular value, and is a sphere still."""

    def judge() -> Judgement:
        shapes = [geometry(sphere(shift)) for shift in SHIFTS]
        second = [float(shape.normalized_singular_values[1]) for shape in shapes]
        falling = all(a > b for a, b in itertools.pairwise(second))
        numbers = {f"σ₂/σ₁ at shift {shift:g}": Estimate(value) for shift, value in zip(SHIFTS, second, strict=True)}
        even = min(shape.isoscore for shape in shapes)
        numbers["least IsoScore"] = Estimate(even)
        why = "σ₂/σ₁ is " + ", ".join(f"{value:.2f}" for value in second)
        why += f" at a shift of {', '.join(f'{shift:g}' for shift in SHIFTS)} radii; IsoScore stays {even:.2f}"
        return Judgement(Verdict.HELD if falling else Verdict.NOT_HELD, why, numbers)

    text = f"of {SPHERE_POINTS:,} points on a sphere, the second singular value over the first falls with every shift"
    return Rule(text, alone=judge)


def rises_with_rarity(order: str) -> Rule:
    """Cosine with the reference rows rises from bin to bin."""

    def judge(table: Table, _: Beside) -> Judgement:
        if order not in table.bins:
            raise CannotShow("there are no bins")
        found = table.bins[order]
        # a bin of reference rows is compared with itself, and rows that never occur have no frequency to go by
        kept = np.isfinite(found.cosines) & ~found.own & (~found.unseen if order == "measured" else True)
        values = found.cosines[kept]
        if len(values) < MANY_LAYERS:
            raise CannotShow(f"{len(values)} bins are too few for a trend")
        half = len(values) // 2
        lower, upper = Estimate(float(values[:half].mean())), Estimate(float(values[-half:].mean()))
        rank = spearman(np.arange(len(values), dtype=np.float64), values)
        verdict = every([(upper - lower).above(0), Estimate(rank).above(TREND - 1e-9)])
        why = f"{lower} in the frequent half of {len(values)} bins, {upper} in the rare half, rank correlation "
        why += f"{minus(f'{rank:.2f}')} ({table.reference})"
        return Judgement(verdict, why, {"frequent half": lower, "rare half": upper, "rank correlation": Estimate(rank)})

    by = "id" if order == "id" else "frequency in the text, of rows that occur"
    text = f"over bins of 1,000 rows by {by}, the mean cosine with unused (else the last) rows is higher in the rarer "
    return Rule(f"{text}half, with a rank correlation of {TREND:g} or more; needs {MANY_LAYERS} bins", judge)


def few_cover(limits: Sequence[float], factor: float) -> Rule:
    """Few kinds of tokens make up much of a text, and the rest takes many."""

    def judge(table: Table, _: Beside) -> Judgement:
        if table.frequencies is None:
            raise CannotShow("no token of the table occurs in the text")
        kinds, cover = len(table.frequencies.tokens), table.frequencies.tokens_to_cover
        conditions = [Estimate(cover[place] / kinds).below(limit) for place, limit in enumerate(limits)]
        conditions.append(Estimate(cover[-1] / cover[len(limits) - 1]).above(factor))
        told = ", ".join(f"{count:,} for {share:.0%}" for count, share in zip(cover, SHARES, strict=True))
        numbers = {f"tokens for {share:.0%}": Estimate(count) for count, share in zip(cover, SHARES, strict=True)}
        numbers["tokens that occur"] = Estimate(kinds)
        why = f"{told} of {int(table.frequencies.tokens.sum()):,} tokens, of {kinds:,} kinds"
        return Judgement(every(conditions), why.replace("%", "\u00a0%"), numbers)

    shares = [f"{limit:.0%} of the kinds of token that occur make up {share:.0%}" for limit, share in
              zip(limits, SHARES, strict=False)]  # fmt: skip
    text = f"less than {' and less than '.join(shares)} of the text, and {SHARES[-1]:.0%} takes more than {factor:g} "
    return Rule(f"{text}times as many as {SHARES[len(limits) - 1]:.0%}".replace("%", "\u00a0%"), judge)


# Table 1


def centering_restores(least: float, signs: str) -> Rule:
    def judge(table: Table, _: Beside) -> Judgement:
        raw, centered = (log10_isotropy(table, form, signs) for form in ("raw", "centered"))
        numbers = {"log₁₀, raw": Estimate(raw), "log₁₀, centred": Estimate(centered)}
        verdict = Estimate(centered).above(math.log10(least))
        return Judgement(verdict, f"{told(raw)} raw, {told(centered)} centred", numbers)

    return Rule(f"I(W), {SIGNS[signs]}, is above {least:g} after centring", judge)


def components_add() -> Rule:
    def judge(table: Table, _: Beside) -> Judgement:
        centered, removed = (log10_isotropy(table, form) for form in ("centered", "components"))
        numbers = {"log₁₀, centred": Estimate(centered), "log₁₀, components removed": Estimate(removed)}
        why = f"{told(centered)} centred, {told(removed)} without the components"
        return Judgement(Estimate(removed - centered).above(0), why, numbers)

    return Rule("I(W) is higher with ⌈d/100⌉ components removed than after centring", judge)


def isotropy_is_the_shift(near: float) -> Rule:
    """In logarithms: −ln I(W) is nearly ‖μ‖."""

    def judge(table: Table, _: Beside) -> Judgement:
        found = log10_isotropy(table, "raw")
        mean = finite(table.shape("raw").norm_of_mean, "‖μ‖")
        numbers = {"−ln I(W)": Estimate(-found * math.log(10)), "‖μ‖": Estimate(mean)}
        verdict = Estimate(abs(numbers["−ln I(W)"].value - mean)).below(near * mean)
        return Judgement(verdict, f"I(W) {told(found)}, exp(−‖μ‖) {told(-mean / math.log(10))}", numbers)

    share = f"{near:.0%}".replace("%", "\u00a0%")
    return Rule(f"−ln I(W), {SIGNS['one']}, is within {share} of ‖μ‖", judge)


def falls_with(quantity: Callable[[Table], float], what: str) -> Rule:
    """Over models: a quantity and I(W) go against each other."""

    def judge(tables: Beside) -> Judgement:
        pairs = [(finite(quantity(table), what), isotropy(table, "raw")) for table in tables]
        if len(pairs) < MANY_MODELS:
            raise CannotShow(f"a correlation over models needs {MANY_MODELS} of them; here: {len(pairs)}")
        x, y = (np.array(column) for column in zip(*pairs, strict=True))
        found = correlation(x, y)
        if not math.isfinite(found):
            raise CannotShow("one of the two does not vary over models")
        room = 1.96 / math.sqrt(len(pairs) - 3)
        centre = math.atanh(max(min(found, 1 - 1e-9), -1 + 1e-9))
        low, high = math.tanh(centre - room), math.tanh(centre + room)
        without = [correlation(np.delete(x, i), np.delete(y, i)) for i in range(len(x))]
        value = Estimate(found, high - found)  # the side towards 0 is the one that decides
        numbers, alone = {"correlation": value}, []
        for place in (int(np.argmin(without)), int(np.argmax(without))):  # what hangs on a single model
            name = f"without {tables[place].name.removeprefix('published ')}"
            numbers[name] = Estimate(without[place])
            alone.append(f"{without[place]:.2f} {name}")
        why = f"{found:.3f} over {len(pairs)} models (95\u00a0% from {low:.2f} to {high:.2f}), {', '.join(alone)}"
        return Judgement(value.below(0), minus(why), numbers)

    return Rule(f"over {MANY_MODELS} models or more, the correlation of {what} with I(W) is below 0, interval included",
                together=judge)  # fmt: skip


def top_is_mean(least: float) -> Rule:
    def judge(table: Table, _: Beside) -> Judgement:
        found = Estimate(finite(table.shape("raw").top_with_mean, "the direction of the mean"))
        return Judgement(found.above(least), f"cosine {found}", {"cosine": found})

    return Rule(f"the cosine of the first eigenvector of WᵀW with the mean is above {least:g}", judge)


def no_narrow_cone(most: float) -> Rule:
    def judge(table: Table, _: Beside) -> Judgement:
        found = Estimate(finite(table.shape("raw").mean_cosine, "the mean pair cosine"))
        angle = math.degrees(math.acos(max(-1.0, min(1.0, found.value))))
        return Judgement(found.below(most), f"mean pair cosine {found}, {angle:.0f}°", {"mean pair cosine": found})

    return Rule(f"the mean cosine of all pairs of rows is below {most:g}", judge)


# equations


def projections_differ_by_a_constant() -> Rule:
    def judge(table: Table, _: Beside) -> Judgement:
        if table.identities is None:
            raise CannotShow("there is no table to try it on")
        found = Estimate(table.identities.projections)
        size = table.shape("raw").mean_norm
        why = f"rows differ from the same vector by at most {found.value:.0e} at a mean norm of {size:.2f}"
        return Judgement(found.below(ROUNDING * size), minus(why), {"largest deviation": found})

    return Rule("all rows of the two forms differ by one and the same vector, to rounding", judge)


def constant_is_one_over_n() -> Rule:
    def judge(table: Table, _: Beside) -> Judgement:
        if table.identities is None:
            raise CannotShow("there is no table to try it on")
        one, printed = Estimate(table.identities.regularizer), Estimate(table.identities.regularizer_as_printed)
        verdict = every([one.below(ROUNDING), printed.above(ROUNDING)])
        why = f"pair by pair less ‖Σŵ‖²/N² − 1/N: {one.value:.0e}; less the printed form with −N: {printed.value:.0f}"
        return Judgement(verdict, minus(why), {"with 1/N": one, "as printed": printed})

    return Rule("CosReg summed pair by pair is ‖Σŵ‖²/N² − 1/N to rounding, and is not with −N", judge)


def isotropy_is_higher(form: str, than: str) -> Rule:
    """Of two forms of a table. A whole table is no sample, so there is no interval."""

    def judge(table: Table, _: Beside) -> Judgement:
        one, other = (log10_isotropy(table, name) for name in (form, than))
        numbers = {f"log₁₀, {FORMS[form]}": Estimate(one), f"log₁₀, {FORMS[than]}": Estimate(other)}
        return Judgement(Estimate(one - other).above(0), f"{told(one)} against {told(other)}", numbers)

    return Rule(f"I(W), {SIGNS['one']}, is higher for the table {FORMS[form]} than for the table {FORMS[than]}", judge)


def gradient_sums_to_zero() -> Rule:
    """Eq. 5 is an identity: it is true of any matrix, and no evidence for how one came about."""

    def judge(table: Table, _: Beside) -> Judgement:
        if table.identities is None:
            raise CannotShow("there is no table to try it on")
        found = table.identities
        rows = found.along + found.against
        verdict = every([
            Estimate(found.gradient).below(ROUNDING),
            Verdict.HELD if (found.against, rows) == (1, table.shape("raw").rows) else Verdict.NOT_HELD,
            Estimate(found.common).below(ROUNDING),
        ])  # fmt: skip
        numbers = {"gradient less Eq. 5": Estimate(found.gradient), "rows along −h": Estimate(found.along)}
        numbers[COMMON] = Estimate(found.common)
        why = f"{found.along:,} rows go along −h and {found.against} along h; autograd less Eq. 5: {found.gradient:.0e}"
        return Judgement(verdict, minus(f"{why}; {COMMON}: {found.common:.0e}"), numbers)

    text = "for one prediction from a random h, autograd's gradient by the table is Eq. 5's to rounding, the target's "
    return Rule(f"{text}row goes along h, every other row along −h, and their mean is zero to rounding", judge)


COMMON = "mean step over mean length of a step"


def needs_trainings() -> Rule:
    """Whether Eq. 5 is what moves a table: its rows sum to zero, so something else must have a part in it."""

    def judge(table: Table, _: Beside) -> Judgement:
        numbers = {COMMON: Estimate(table.identities.common)} if table.identities else {}
        return Judgement(Verdict.UNSHOWN, UNDECIDED, numbers)

    text = "of trainings that differ in the optimizer alone, those by plain gradient descent end with as long a mean of"
    return Rule(f"{text} rows, beside the rows' mean norm, as those by Adam", judge)


#: why a finished table does not tell what moved it
UNDECIDED = (
    "not decided by a table; the rows of that gradient sum to zero (`E5.gradient`), so plain gradient descent through "
    "the softmax cannot move their mean, while an optimizer that scales each number by itself, as Adam does, can, and "
    "so can the input of a tied table; it needs trainings that differ in the optimizer alone"
)


def shorter_when_centered() -> Rule:
    def judge(table: Table, _: Beside) -> Judgement:
        raw, centered = (Estimate(finite(table.shape(form).mean_norm, "the mean norm")) for form in ("raw", "centered"))
        why = f"mean norm {raw} raw, {centered} centred"
        return Judgement((raw - centered).above(0), why, {"raw": raw, "centred": centered})

    return Rule("the mean norm of the rows is lower after centring", judge)


def early_shift(rise: float, part: float) -> Rule:
    """The shift comes early in training."""

    def judge(table: Table, _: Beside) -> Judgement:
        if table.training is None:
            raise CannotShow("no tables were kept in the course of its training")
        found: Training = table.training
        shift = found.shift
        start, peak = float(shift[0]), int(shift.argmax())
        numbers = {
            "start": Estimate(start),
            "greatest": Estimate(float(shift[peak])),
            "last": Estimate(float(shift[-1])),
        }
        ends = f"{start:.2f} at the start, {shift[peak]:.2f} at {found.moments[peak]}, {shift[-1]:.2f} at "
        ends += found.moments[-1]
        if shift[peak] - start < rise:
            return Judgement(Verdict.NOT_HELD, f"it is there from the start: {ends}", numbers)
        half = next(i for i, value in enumerate(shift) if value >= start + (shift[peak] - start) / 2)
        numbers["tokens until half of the rise"] = Estimate(found.tokens[half])
        verdict = Estimate(found.tokens[half] / found.tokens[-1]).below(part)
        return Judgement(verdict, f"half of the rise is there by {found.moments[half]}: {ends}", numbers,
                         curve={"shift": tuple(shift.tolist())})  # fmt: skip

    text = f"‖μ‖ over the mean norm rises by more than {rise:g}, and half of that is there before {part:.0%} of the "
    return Rule(f"{text}tokens were seen".replace("%", "\u00a0%"), judge)
