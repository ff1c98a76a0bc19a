"""When a claim about fine-tuning is held: scores and settings, what probes find afterwards, and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from limbeck.papers import published_probes as published
from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.parts import estimate
from limbeck.papers.probe_scores import combined, mean
from limbeck.papers.probe_subjects import NEW, SAME, ProbedModel, halves
from limbeck.papers.probe_wanted import TASKS

Beside = Sequence[ProbedModel]
WORDS, SENTENCES = ("pos", "ner"), ("sst-2", "mrpc")


# --- scores and settings -------------------------------------------------------------------------


def same_tuned(near: float) -> Rule:
    """Table 3, where model and data are the paper's."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        rows = {task: model.rows(f"tuned-{task}")[0] for task in TASKS if f"tuned-{task}" in model.parts}
        if not rows:
            raise CannotShow(_why_none(model))
        found = {TASKS[task]: estimate(row) for task, row in rows.items()}
        told = ", ".join(
            f"{TASKS[task]} {row['metric']} {found[TASKS[task]]} (most frequent class {row['majority']:.3f})"
            for task, row in rows.items()
        )
        absent = "; ".join(f"{TASKS[task]} not run: {model.missing.get(f'tuned-{task}', 'not asked for')}"
                           for task in TASKS if task not in rows)  # fmt: skip
        why = told + (f"; {absent}" if absent else "")
        others = {task: unlike for task in rows if (unlike := published.unlike_task(model, task))}
        own = [task for task in rows if task not in others]
        if not own:
            return Judgement(Verdict.UNSHOWN, f"{'; '.join(dict.fromkeys(others.values()))}; {why}", found)
        apart = Estimate(max(abs(rows[task]["value"] - published.TABLE_3[task]) for task in own))
        near_print = f"{', '.join(TASKS[task] for task in own)} at most {apart} from the print"
        beside = "".join(f"; {TASKS[task]} {unlike}" for task, unlike in others.items())
        return Judgement(apart.below(near), f"{near_print}{beside}; {why}", found)

    return Rule(
        f"model and data are the paper's and development scores are less than {near:g} from the print; scores on other "
        "data stand beside it",
        judge,
    )


def same_settings() -> Rule:
    """Table 4: the run's own settings beside the paper's."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        other, known = [], False
        for task in TASKS:
            if f"tuned-{task}" not in model.parts:
                continue
            known = True
            used = model.part(f"tuned-{task}").about["settings"]
            for name, printed in published.TABLE_4.items():
                own = used[published.SETTING.get(name, name)]
                if not math.isclose(own, printed[task], rel_tol=1e-6):
                    other.append(f"{TASKS[task]} {name} {own:g} (paper {printed[task]:g})")
        if not known:
            raise CannotShow(_why_none(model))
        if other:
            return Judgement(Verdict.UNSHOWN, f"trained otherwise: {', '.join(other)}")
        return Judgement(Verdict.HELD, "the same")

    return Rule("the four tasks were learnt with the settings of the paper's Table 4", judge)


def _why_none(model: ProbedModel) -> str:
    reasons = dict.fromkeys(model.missing.get(f"tuned-{task}", "no task was asked for") for task in TASKS)
    return f"not run: {'; '.join(reasons)}"


# --- probes after fine-tuning --------------------------------------------------------------------


def words_disturb_more() -> Rule:
    """The loss under (a) of tasks of words against tasks of sentences."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        lost = {task: mean(list(model.loss(task, SAME).values())) for task in (*WORDS, *SENTENCES)}
        model.heard()
        model.check_learnt(*lost)
        more = combined(lambda a, b, c, d: min(a, b) - max(c, d), list(lost.values())).estimate
        told = ", ".join(f"{TASKS[task]} {one.estimate}" for task, one in lost.items())
        why = f"lost with the same probes, mean over layers: {told}: least of words above most of sentences by {more}"
        return Judgement(more.above(0), why, {"more": more})

    return Rule(
        "with the probes of the model before, POS and NER each lose more F1, the mean over layers, than either of SST2 "
        "and MRPC",
        judge,
    )


def top_changes_most() -> Rule:
    """The loss under (a) in the upper half of the layers against the lower half, task by task."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        numbers = {}
        for task in _probed(model):
            lower, upper = halves(model.loss(task, SAME))
            numbers[TASKS[task]] = (upper - lower).estimate
        told = ", ".join(f"{name} {number}" for name, number in numbers.items())
        verdict = every(number.above(0) for number in numbers.values())
        return Judgement(verdict, f"upper half loses more than the lower by: {told}{_left_out(model)}", numbers)

    return Rule(
        "with the probes of the model before, the upper half of the layers loses more F1 than the lower half, for "
        "every task",
        judge,
    )


def new_probes_recover() -> Rule:
    """At the last layer: what new probes win back against what they do not."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        numbers, untouched = {}, []
        for task in _probed(model):
            same, new = model.loss(task, SAME), model.loss(task, NEW)
            layer = list(same)[-1]
            if same[layer].estimate.above(0) is not Verdict.HELD:
                untouched.append(TASKS[task])
                continue
            numbers[TASKS[task]] = combined(lambda a, b: (a - b) - b, [same[layer], new[layer]]).estimate
        if not numbers:
            raise CannotShow(f"nothing is lost at the last layer with the same probes ({', '.join(untouched)})")
        told = ", ".join(f"{name} {number}" for name, number in numbers.items())
        rest = f"; nothing that could be won back is lost after {', '.join(untouched)}" if untouched else ""
        verdict = every(number.above(0) for number in numbers.values())
        return Judgement(verdict, f"won back more than still lost by: {told}{rest}{_left_out(model)}", numbers)

    return Rule("at the last layer new probes win back more of the lost F1 than stays lost, where any was lost", judge)


def near_pretrained(near: float, tasks: Sequence[str]) -> Rule:
    """What new probes find against what they found before."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        lost = {TASKS[task]: mean(list(model.loss(task, NEW).values())).estimate
                for task in _probed(model) if task in tasks}  # fmt: skip
        if not lost:
            raise CannotShow(f"none of {', '.join(TASKS[task] for task in tasks)} was learnt")
        told = ", ".join(f"{name} {number}" for name, number in lost.items())
        verdict = every(Estimate(abs(number.value), number.error).below(near) for number in lost.values())
        return Judgement(verdict, f"lost with new probes, mean over layers: {told}{_left_out(model)}", lost)

    told = ", ".join(TASKS[task] for task in tasks)
    return Rule(f"with new probes F1, the mean over layers, is less than {near:g} from before, after {told}", judge)


def pos_loses_most() -> Rule:
    """With new probes, parts of speech against the other tasks."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        lost = {task: halves(model.loss(task, NEW))[1] for task in TASKS if task not in model.unlearnt}
        model.heard()
        model.check_learnt("pos")
        others = [one for task, one in lost.items() if task != "pos"]
        if not others:
            raise CannotShow("no other task was learnt")
        more = combined(lambda first, *rest: first - max(rest), [lost["pos"], *others]).estimate
        told = ", ".join(f"{TASKS[task]} {one.estimate}" for task, one in lost.items())
        why = f"lost with new probes in the upper half: {told}: more by {more}{_left_out(model)}"
        return Judgement(more.above(0), why, {"more": more})

    return Rule("with new probes POS loses more F1 in the upper half of the layers than any other task", judge)


def a_little_better(task: str, most: float) -> Rule:
    """With new probes, a task after which classes are found slightly better."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        gain = -mean(list(model.loss(task, NEW).values())).estimate
        model.heard()
        model.check_learnt(task)
        verdict = every([gain.above(0), gain.below(most)])
        return Judgement(verdict, f"gained with new probes, mean over layers: {gain}", {"gain": gain})

    return Rule(f"with new probes F1, the mean over layers, gains after {TASKS[task]}, and less than {most:g}", judge)


def _left_out(model: ProbedModel) -> str:
    """Tasks that were not learnt, in words: their fine-tuning changed the model, and taught it nothing."""
    names = " and ".join(TASKS[task] for task in model.unlearnt)
    return f"; {names} left out, not surely better than the most frequent class" if names else ""


def _probed(model: ProbedModel) -> list[str]:
    """Tasks that were learnt and after which the model was probed; at least one."""
    found = [task for task in TASKS if f"probed-{task}" in model.parts]
    if not found:
        raise CannotShow(_why_none(model))
    model.heard()
    if not (known := [task for task in found if task not in model.unlearnt]):
        model.check_learnt(*found)
    return known


# --- attention -----------------------------------------------------------------------------------


def heads_of(model: ProbedModel, task: str) -> NDArray[np.float64]:
    """Cosines of attention before and after, (layers, heads)."""
    rows = model.rows(f"tuned-{task}", "attention")
    layers, heads = (int(max(float(row[name]) for row in rows)) for name in ("layer", "head"))
    found = np.full((layers, heads), np.nan)
    for row in rows:
        found[int(row["layer"]) - 1, int(row["head"]) - 1] = float(row["similarity"])
    return found


def attention_top_changes(tasks: Sequence[str]) -> Rule:
    """The upper half of the layers against the lower half, heads as a sample."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        numbers = {}
        for task in tasks:
            found = heads_of(model, task)
            model.check_learnt(task)
            half = len(found) // 2
            lower, upper = found[:half].ravel(), found[-half:].ravel()
            numbers[TASKS[task]] = _of(lower) - _of(upper)
        told = ", ".join(f"{name} {number}" for name, number in numbers.items())
        verdict = every(number.above(0) for number in numbers.values())
        return Judgement(verdict, f"cosine in the lower half above that in the upper by: {told}", numbers)

    told = " and ".join(TASKS[task] for task in tasks)
    return Rule(f"heads of the upper half of the layers change more than those of the lower half, after {told}", judge)


def attention_changes_more(one: str, other: str) -> Rule:
    """Two tasks, head by head, in the upper half of the layers."""

    def judge(model: ProbedModel, _: Beside) -> Judgement:
        first, second = heads_of(model, one), heads_of(model, other)
        model.check_learnt(one, other)
        half = len(first) // 2
        more = _of((second - first)[-half:].ravel())
        why = f"cosine after {TASKS[other]} above that after {TASKS[one]} by {more}"
        return Judgement(more.above(0), why, {"more": more})

    return Rule(
        f"in the upper half of the layers heads change more after {TASKS[one]} than after {TASKS[other]}", judge
    )


def _of(values: NDArray[np.float64]) -> Estimate:
    """A mean over heads, with its interval."""
    error = 1.96 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Estimate(float(values.mean()), error)
