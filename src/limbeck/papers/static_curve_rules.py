"""When a claim about static vectors by size of the text, or by what they are predicted from, is held."""

from __future__ import annotations

import numpy as np

from limbeck.papers.estimates import CannotShow, Estimate, Verdict, minus
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.parts import estimate
from limbeck.papers.published_static import SETS
from limbeck.papers.static_rules import Beside
from limbeck.papers.static_subjects import AVERAGE, MEAN, METHODS, PARAGRAPH, READ_IN_PARAGRAPH, SENT2VEC, Parent

FEWEST_SIZES = 3  #: of the text, for a curve to have a course


def saturates(set_: str, most: float) -> Rule:
    """The last growth of the text brings the average little."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        sizes, values = _curve(parent, AVERAGE, set_)
        gain = values[-1] - values[-2]
        told = ", ".join(f"{size:,} words {value.value:.3f}" for size, value in zip(sizes, values, strict=True))
        # the pairs are the same at both sizes: their own errors all but cancel, and no interval is claimed
        return Judgement(Estimate(gain.value).below(most), minus(told), {"last gain": Estimate(gain.value)})

    text = f"the last growth of the text raises the average's score on {SETS[set_]} by less than {most:g}"
    return Rule(f"{text}; of {FEWEST_SIZES} sizes at least", judge)


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
    text = f"{text}, or gains more from its last growth, by more than {least:g}; less is too close to call"
    return Rule(f"{text}; of {FEWEST_SIZES} sizes at least", judge)


def drawn_curve() -> Rule:
    """Figure 1's row: its curves are drawn; the paper prints no number of them."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        sets = {row["set"] for row in parent.part("size").rows("scores") if np.isfinite(row["value"])}
        curve = {
            f"{METHODS[way]}, {SETS[name]}": tuple(one.value for one in _curve(parent, way, name, least=1)[1])
            for way in (AVERAGE, PARAGRAPH)
            for name in sorted(sets)
        }
        return Judgement(Verdict.UNSHOWN, "the paper prints no numbers of it, so it is only drawn", curve=curve)

    return Rule("the curves are the paper's, which prints no number of them", judge)


def _curve(parent: Parent, method: str, set_: str, *, least: int = FEWEST_SIZES) -> tuple[list[int], list[Estimate]]:
    """Words of the text and scores; a curve of fewer sizes shows no course."""
    rows = sorted(parent.rows("size", "scores", method=method, set=set_), key=lambda row: row["words"])
    known = [row for row in rows if np.isfinite(row["value"])]
    if len(known) < least:
        raise CannotShow(f"{SETS[set_]} has pairs enough at {len(known)} sizes of the text, {least} are needed")
    return [int(row["words"]) for row in known], [estimate(row) for row in known]


# --- contexts ------------------------------------------------------------------------------------


def better_context(one: str, other: str, enough: int) -> Rule:
    """X2Static with one context scores higher than with another, on the same part of the text."""

    def judge(parent: Parent, _: Beside) -> Judgement:
        missing = parent.part("contexts").about.get("missing", {})
        for way in (one, other):
            if way in missing:
                raise CannotShow(missing[way])
        (row,) = parent.rows("contexts", "differences", one=one, other=other, set=MEAN)
        number = estimate(row)
        scores = {way: parent.rows("contexts", "scores", method=way, set=MEAN)[0] for way in (one, other)}
        pairs = scores[one]["n"]
        if pairs < enough:
            raise CannotShow(f"{pairs} pairs of words are known to all, {enough} are needed: raise --sentences")
        why = f"{scores[one]['value']:.3f} against {scores[other]['value']:.3f} (difference {number}), {pairs:,} pairs"
        return Judgement(number.above(0), minus(why), {"difference": number})

    names = {
        SENT2VEC: "static vectors (eq. 2)",
        "words": "the sentence's words (eq. 3)",
        READ_IN_PARAGRAPH: "the sentence's words in their paragraph (eq. 4)",
        "others": "the other words",
        "masked": "the target masked",
    }
    text = f"X2Static with {names[one]} as context scores higher on average than with {names[other]}"
    return Rule(f"{text}, on {enough} pairs at least; pairs resampled", judge)
