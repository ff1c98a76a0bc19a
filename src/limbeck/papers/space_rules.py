"""When a claim about a space's isotropy and about what its directions hold is held; `space_score_rules` has the rest.

log₁₀ I(W) is that with one sign of each eigenvector, as published, unless a rule says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from limbeck.analysis.tenses import NO_SENSES
from limbeck.papers.estimates import CannotShow, Estimate, Floats, Verdict, every, mean_of, minus, percent
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.parts import Row, estimate
from limbeck.papers.published_spaces import paper_name, printed_models
from limbeck.papers.rules import falls
from limbeck.papers.space_subjects import SpaceModel
from limbeck.papers.statistics import over_words

Beside = Sequence[SpaceModel]
ONE_SIGN = "log10_isotropy_one_sign"
NOT_PAPERS = "not a model of the paper's"
#: quantile of Student's t for a 95 % interval of a mean over so many seeds
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
FEWEST = 5  #: the paper's smallest number of components, from which a global removal counts


def told(log10: float) -> str:
    """I(W) in a sentence: a power of ten where it is tiny.

    >>> told(math.log10(0.5)), told(-57.1)
    ('0.500', '10^−57.1')
    """
    return f"{math.pow(10, log10):.3f}" if log10 > -2 else f"10^{minus(f'{log10:.1f}')}"


def over_seeds(row: Row, value: str = ONE_SIGN) -> Estimate:
    """A mean over clusterings, with the interval that their spread gives."""
    middle, spread = row[value], row.get("spread", 0.0)
    if not math.isfinite(middle):
        raise CannotShow("I(W) is not defined")
    count = int(row.get("seeds", 1))
    error = STUDENT.get(count, 1.96) * spread / math.sqrt(count) if spread and count > 1 else 0.0
    return Estimate(float(middle), error)


# rows that stand for a table or a figure


def same_as_printed(
    what: str, near: float, pairs_of: Callable[[SpaceModel, SpaceModel], Sequence[tuple[str, float, float]]]
) -> Rule:
    """A table's numbers, where the model is the paper's.

    pairs_of  ours and the printed model -> name, our number, the printed one
    """

    def judge(model: SpaceModel, beside: Beside) -> Judgement:
        name = paper_name(model)
        if not name:
            raise CannotShow(NOT_PAPERS)
        printed = next(one for one in printed_models() if one.family == name)
        found = pairs_of(model, printed)
        off = {told: abs(ours - theirs) for told, ours, theirs in found}
        worst = max(off, key=lambda told: off[told])
        verdict = Verdict.HELD if off[worst] <= near else Verdict.NOT_HELD
        numbers = {told: Estimate(ours) for told, ours, _ in found}
        return Judgement(verdict, f"furthest from the printed number by {off[worst]:.3g} ({worst})", numbers)

    return Rule(f"{what} is within {near:g} of every printed number, where the model is the paper's", judge)


def printed_layers(model: SpaceModel, printed: SpaceModel) -> list[tuple[str, float, float]]:
    ours = {row["layer"]: row[ONE_SIGN] for row in model.rows("layers")}
    return [
        (f"layer {row['layer']}", ours[row["layer"]], row[ONE_SIGN])
        for row in printed.rows("layers")
        if row["layer"] in ours
    ]


def printed_local(model: SpaceModel, printed: SpaceModel) -> list[tuple[str, float, float]]:
    ours = {row["clusters"]: row[ONE_SIGN] for row in model.rows("local")}
    return [(f"k = {row['clusters']}", ours[row["clusters"]], row[ONE_SIGN]) for row in printed.rows("local")]


def printed_tense(model: SpaceModel, printed: SpaceModel) -> list[tuple[str, float, float]]:
    _sensed(model)
    found = []
    for row in printed.rows("tense", metric="euclidean"):
        if row["kind"] != "dominance":
            wanted = {"space": row["space"], "metric": "euclidean", "kind": row["kind"]}
            [ours] = model.rows("tense", **wanted)
            found.append((f"{row['space']} {row['kind']}", ours["value"], row["value"]))
    return found


# isotropy by layer


def every_layer_below(most: float, column: str = ONE_SIGN, what: str = "I(W)") -> Rule:
    """Below a threshold in every layer but the input."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        curve = model.contextual_layers(model.curve(column))
        layer, highest = curve.highest()
        verdict = every(one.below(math.log10(most)) for one in curve)
        under = sum(one.value < math.log10(most) for one in curve)
        why = f"{under} of {len(curve)} layers; highest {told(highest.value)} (layer {layer})"
        return Judgement(verdict, why, {"highest log₁₀": highest}, curve={column: tuple(curve.values.tolist())})

    return Rule(f"{what} is below {most:g} in every layer but the input", judge)


def falls_to_the_end() -> Rule:
    """Falling with height, and low at the end too: a last layer that rises above the lower half is no fall."""
    trend = falls(ONE_SIGN, "value")

    def judge(model: SpaceModel, beside: Beside) -> Judgement:
        assert trend.judge is not None
        found = trend.judge(model, beside)
        last, lower = model.curve(ONE_SIGN)[-1], found.numbers["lower half"]
        verdict = every([found.verdict, (lower - last).above(0.0)])
        return Judgement(verdict, f"{found.why}, {last} in the last", {**found.numbers, "last layer": last})

    return Rule(f"{trend.text}; and the last layer is below the mean of the lower half", judge)


def last_highest() -> Rule:
    """Semi-convex: of all layers but the input the last is the most isotropic."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        curve = model.contextual_layers(model.curve(ONE_SIGN))
        if len(curve) < 3:
            raise CannotShow("a form needs three layers or more")
        layer, highest = curve.highest()
        lowest_at, lowest = curve.lowest()
        ends = min(curve[0].value, curve[-1].value)
        held = layer == curve.layers[-1] and lowest.value < ends
        why = f"highest {told(highest.value)} in layer {layer}, lowest {told(lowest.value)} in layer {lowest_at}"
        return Judgement(Verdict.HELD if held else Verdict.NOT_HELD, why, {"highest": highest, "lowest": lowest})

    return Rule("of all layers but the input, I(W) is highest in the last and lowest in one between the ends", judge)


def input_most_isotropic(family: str, others: Sequence[str]) -> Rule:
    """One kind's input layer is more isotropic than the others'."""

    def judge(models: Beside) -> Judgement:
        first = {model.name: (model.family, model.curve(ONE_SIGN)[0]) for model in models if "layers" in model.parts}
        mine = {name: one.value for name, (kind, one) in first.items() if kind == family}
        theirs = {name: one.value for name, (kind, one) in first.items() if kind in others}
        if not mine or not theirs:
            raise CannotShow(f"needs a model of the kind of {family} and one of {' or '.join(others)}")
        why = ", ".join(f"{name.removeprefix('published ')} {told(value)}" for name, value in (mine | theirs).items())
        held = min(mine.values()) > max(theirs.values())
        return Judgement(Verdict.HELD if held else Verdict.NOT_HELD, why)

    return Rule(
        f"I(W) of the input layer is higher in {family}'s kind than in {' and '.join(others)}'s", together=judge
    )


# local isotropy


def clusters_restore(most: int, almost: float) -> Rule:
    """With clusters put on the origin the space is almost isotropic, and more so than with its mean taken away."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        rows = {row["clusters"]: over_seeds(row) for row in model.rows("local")}
        found, centered, before = rows[most], rows[1], rows[0]
        verdict = every([found.above(math.log10(almost)), (found - centered).above(0.0)])
        why = f"{told(before.value)} as it is, {told(centered.value)} centred, {told(found.value)} with {most} clusters"
        return Judgement(verdict, why, {f"log₁₀ I(W), k = {k}": one for k, one in rows.items()})

    text = f"I(W) with {most} clusters, each put on the origin, is above {almost:g} and above that with one"
    return Rule(text, judge)


def clusters_stay_far(far: float) -> Rule:
    """However many clusters are put on the origin, the space is not isotropic."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        rows = {row["clusters"]: over_seeds(row) for row in model.rows("local") if row["clusters"]}
        k, best = max(rows.items(), key=lambda item: item[1].value)
        verdict = every(one.below(math.log10(far)) for one in rows.values())
        return Judgement(verdict, f"at best {told(best.value)} (k = {k})", {"best log₁₀": best})

    return Rule(f"I(W) stays below {far:g} for every number of clusters", judge)


def cosine_misses(near: float, far: float) -> Rule:
    """Some model has cosines near 0 on average in a space that is far from isotropic."""

    def judge(models: Beside) -> Judgement:
        told_of, verdicts = [], []
        for model in models:
            if "local" not in model.parts:
                continue
            rows = [row for row in model.rows("local") if row["clusters"] and "mean_cosine" in row]
            shown = [row for row in rows if abs(row["mean_cosine"]) < near and row[ONE_SIGN] < math.log10(far)]
            if not rows:
                continue
            verdicts.append(bool(shown))
            least = min(shown or rows, key=lambda row: row[ONE_SIGN])
            cosine = minus(f"{least['mean_cosine']:.3f}")
            told_of.append(
                f"{model.name}: mean cosine {cosine} and I(W) {told(least[ONE_SIGN])} with k = {least['clusters']}"
            )
        if not verdicts:
            raise CannotShow("there are no mean cosines by number of clusters")
        return Judgement(Verdict.HELD if any(verdicts) else Verdict.NOT_HELD, "; ".join(told_of))

    text = f"for some model and number of clusters the mean cosine is within {near:g} of 0 and I(W) below {far:g}"
    return Rule(text, together=judge)


def fewer_components() -> Rule:
    """Clusters need fewer removed components than the whole space for the same isotropy."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        rows = model.rows("removal")
        whole = {row["components"]: over_seeds(row) for row in rows if row["method"] == "global"}
        each = {row["components"]: over_seeds(row) for row in rows if row["method"] == "cluster"}
        # of each global number the fewest that surely, and that likely, do as well; None where none that was tried does
        needed = {
            count: (
                min((c for c, one in each.items() if one.low >= reached.value), default=None),
                min((c for c, one in each.items() if one.value >= reached.value), default=None),
            )
            for count, reached in whole.items()
            if count >= FEWEST
        }
        if not needed:
            raise CannotShow(f"a global removal of {FEWEST} components or more was not tried")
        if len(each) == 1 and any(sure is None or sure >= count for count, (sure, _) in needed.items()):
            raise CannotShow("isotropy is given for one number of components only")
        verdict = every(
            Verdict.HELD if sure is not None and sure < count
            else Verdict.CLOSE if likely is not None and likely < count
            else Verdict.NOT_HELD
            for count, (sure, likely) in needed.items()
        )  # fmt: skip
        why = ", ".join(
            f"{'no number tried' if likely is None else likely} for {count}" for count, (_, likely) in needed.items()
        )
        numbers = {f"components of each cluster for {count} of the whole": Estimate(float(likely))
                   for count, (_, likely) in needed.items() if likely is not None}  # fmt: skip
        return Judgement(verdict, f"of each cluster, for so many of the whole space: {why}", numbers)

    text = f"for each number of components of {FEWEST} or more removed from the whole space, fewer removed from each "
    return Rule(f"{text}cluster give at least the same I(W)", judge)


# what directions hold


def of_claims(part: str, name: str, text: str) -> Rule:
    """A number of an analysis that the claim wants above 0, with its interval."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        rows = model.rows(part, "claims", id=name)
        found = estimate(rows[-1])
        return Judgement(found.above(0.0), rows[-1]["why"], {"above 0": found})

    return Rule(text, judge)


def structure_falls(space: str) -> Rule:
    """Fewer neighbours of the same structure after repair, over the tokens."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        before = {row["token"]: row for row in model.rows("structure", space="baseline")}
        rows = model.rows("structure", space=space)
        falls = [-estimate(row, "change", "change_low", "change_high") for row in rows]
        mean = mean_of(falls)
        parts = ", ".join(
            f"{row['token']} {percent(before[row['token']]['value'])} → {percent(row['value'])}" for row in rows
        )
        sure = sum(one.above(0.0) is Verdict.HELD for one in falls)
        why = f"{parts}; lower beyond chance for {sure} of {len(rows)}"
        return Judgement(mean.above(0.0), why, {"mean fall": mean})

    text = "the share of neighbours from sentences of the same structure falls, averaged over the tokens"
    return Rule(f"{text} ({space} repair)", judge)


def _sensed(model: SpaceModel) -> None:
    [row] = model.rows("tense", space="baseline", metric="euclidean", kind="ST-DM")
    if not math.isfinite(row["value"]):
        raise CannotShow(f"{NO_SENSES}: {model.account.get('lacks', 'give SemCor and a treebank to --data')}")


def tense_dominates(space: str, *, no_more: bool = False) -> Rule:
    """DT-SM above ST-DM: a verb is nearer to another meaning in its own tense than to its own meaning in another."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        _sensed(model)
        rows = {row["kind"]: row for row in model.rows("tense", space=space, metric="euclidean")}
        found = estimate(rows["dominance"])
        why = ", ".join(f"{kind} {rows[kind]['value']:.2f}" for kind in ("ST-SM", "ST-DM", "DT-SM"))
        verdict = found.below(0.0) if no_more else found.above(0.0)
        return Judgement(verdict, f"{why}; difference {found}", {"DT-SM − ST-DM": found})

    side = "below" if no_more else "above"
    when = {"baseline": "as the space is", "cluster": "after the cluster-based repair"}[space]
    return Rule(f"DT-SM minus ST-DM, averaged over verbs, is {side} 0 {when}", judge)


def verbs_more_isotropic(space: str) -> Rule:
    """I(W) of the verbs rises."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        before, after = (model.rows("tense", space=name)[0][ONE_SIGN] for name in ("baseline", space))
        return Judgement(
            Estimate(after - before).above(0.0), f"{told(before)} before, {told(after)} after",
            {"before": Estimate(before), "after": Estimate(after)},
        )  # fmt: skip

    return Rule(f"I(W) of the verbs' vectors is higher after the {space} repair", judge)


def _apart(rows: Sequence[Row]) -> tuple[list[str], Floats]:
    """(DT − ST) / (DT + ST) of each verb: how far tenses are apart beside all distances, which repairs shorten."""
    kept = [row for row in rows if math.isfinite(row["ST"]) and math.isfinite(row["DT"]) and row["ST"] + row["DT"] > 0]
    return [row["verb"] for row in kept], np.array([(row["DT"] - row["ST"]) / (row["DT"] + row["ST"]) for row in kept])


def tenses_apart() -> Rule:
    """A verb's tenses lie apart; needs no senses."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        verbs, apart = _apart(model.rows("tense", "verbs", space="baseline"))
        found = over_words(lambda x: float(x.mean()), apart, name="apart")
        return Judgement(found.above(0.0), f"{found} over {len(verbs)} verbs", {"(DT − ST) / (DT + ST)": found})

    return Rule("(DT − ST) / (DT + ST), averaged over verbs, is above 0 as the space is", judge)


def tenses_nearer(space: str) -> Rule:
    """They lie less far apart after repair."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        sides = [
            dict(zip(*_apart(model.rows("tense", "verbs", space=name)), strict=True)) for name in ("baseline", space)
        ]
        both = sorted(sides[0].keys() & sides[1].keys())
        before, after = (np.array([side[verb] for verb in both]) for side in sides)
        found = over_words(lambda x: float(x.mean()), before - after, name="nearer")
        why = f"{before.mean():.3f} before, {after.mean():.3f} after, over {len(both)} verbs"
        return Judgement(found.above(0.0), why, {"fall": found})

    return Rule(f"(DT − ST) / (DT + ST), averaged over verbs, is lower after the {space} repair", judge)
