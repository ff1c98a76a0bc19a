"""When a claim about scores before and after repair is held: sentence similarity, classification, tuning."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from limbeck.measures.intervals import QUANTILES, REPLICATES
from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every, minus
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.parts import estimate
from limbeck.papers.space_rules import ONE_SIGN, over_seeds, told
from limbeck.papers.space_subjects import SpaceModel
from limbeck.seeds import generator_for

Beside = Sequence[SpaceModel]
FITS = {"task": "fitted on each set itself, as published", "text": "fitted on another text"}


#: most of its test pairs, 1,007 of 1,379, were taken from STS 2012 to 2016; the other sets share few pairs or none
SHARING = ("sts-b",)


def mean_difference(parts: Mapping[str, Estimate], *, shared: Collection[str] = ()) -> Estimate:
    """The mean over tasks of differences, by task.

    The intervals of tasks that have examples of their own err apart. Those of `shared` tasks, whose examples other
    tasks have too, are added in full: too wide, never too narrow.
    """
    error = math.hypot(*(one.error for name, one in parts.items() if name not in shared))
    error += sum(one.error for name, one in parts.items() if name in shared)
    return Estimate(sum(one.value for one in parts.values()) / len(parts), error / len(parts))


def _points(one: Estimate) -> str:
    """A difference of scores in points."""
    sign = "+" if one.value >= 0 else "−"
    return f"{sign}{abs(100 * one.value):.1f}" + (f" ± {100 * one.error:.1f}" if one.error else "")


def differences(model: SpaceModel, setting: str, other: str) -> dict[str, Estimate]:
    """Classification: how much higher one setting's score is than another's, by task."""
    rows = model.rows("classify", "compared", setting=setting, other=other)
    return {row["task"]: estimate(row, "difference") for row in rows}


def sts_differences(
    model: SpaceModel, setting: str, other: str, fit: str, *, tables: tuple[str, str] = ("sts", "compared")
) -> dict[str, Estimate]:
    """Sentence similarity: the same by set, of means over clusterings.

    Its error is that of the pairs, resampled for one clustering, and that of the mean over clusterings.

    tables  those with the scores and with their differences; `NEW` for those of new pairs alone
    """
    scores, compared = tables
    sides = [
        {row["task"]: row for row in model.rows("sts", scores, setting=name, fit="" if name == "baseline" else fit)}
        for name in (setting, other)
    ]
    found = {}
    for row in model.rows("sts", compared, setting=setting, other=other, fit=fit):
        one, two = (side[row["task"]] for side in sides)
        seeds = [over_seeds({**side, "spread": _known(side.get("sd")), "seeds": side.get("runs", 1)}, "value").error
                 for side in (one, two)]  # fmt: skip
        error = math.hypot(estimate(row, "difference").error, *seeds)
        found[row["task"]] = Estimate(one["value"] - two["value"], error)
    return found


def _known(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else 0.0


def sts_gains(setting: str, other: str, fit: str) -> Rule:
    """A repair's scores on sentence similarity are higher, on the mean of the sets."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        by_set = sts_differences(model, setting, other, fit)
        found, parts = mean_difference(by_set, shared=SHARING), by_set.values()
        means = [
            np.mean([row["value"] for row in model.rows("sts", setting=name, fit="" if name == "baseline" else fit)])
            for name in (other, setting)
        ]
        higher = sum(one.value > 0 for one in parts)
        sure = sum(one.above(0.0) is Verdict.HELD for one in parts)
        beyond = f", beyond chance on {sure}" if any(one.error for one in parts) else ""
        why = f"{100 * means[0]:.1f} → {100 * means[1]:.1f}, {_points(found)}; higher on {higher} of {len(parts)} sets"
        return Judgement(found.above(0.0), f"{why}{beyond}", {"mean difference": found})

    told_as = "the vectors as they are" if other == "baseline" else f"the {other} repair"
    return Rule(
        f"Spearman's correlation, averaged over the sets, is higher with the {setting} repair than with {told_as}; "
        f"{FITS[fit]}; the interval of STS-B, whose pairs are those of other sets for the most part, is added in full",
        judge,
    )


def sts_isotropy_rises(fit: str) -> Rule:
    """On every set the cluster-based repair gives more isotropy than the global one, and that more than none."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        found = {
            (row["setting"], row["task"]): row[ONE_SIGN]
            for row in model.rows("sts")
            if row["fit"] in ("", fit)
        }  # fmt: skip
        tasks = list(dict.fromkeys(task for _, task in found))
        held = [
            found["baseline", task] < found["global", task] < found["cluster", task]
            for task in tasks
            if ("cluster", task) in found
        ]
        if not held:
            raise CannotShow("there are no numbers of isotropy by set")
        means = [float(np.mean([found[name, task] for task in tasks])) for name in ("baseline", "global", "cluster")]
        why = f"{sum(held)} of {len(held)} sets; on average {' < '.join(map(told, means))}"
        if sorted(means) != means:
            why = f"{sum(held)} of {len(held)} sets; on average {', '.join(map(told, means))}"
        names = ("baseline", "global", "cluster")
        return Judgement(
            Verdict.HELD if all(held) else Verdict.NOT_HELD, why,
            {f"mean log₁₀ I(W), {name}": Estimate(value) for name, value in zip(names, means, strict=True)},
        )  # fmt: skip

    return Rule(f"on every set I(W) is higher with the cluster-based than with the global repair, and higher with that "
                f"than without; {FITS[fit]}", judge)  # fmt: skip


def classify_gains(setting: str, other: str) -> Rule:
    """A repair's scores on classification are higher, on the mean of the tasks."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        by_task = differences(model, setting, other)
        found = mean_difference(by_task)
        parts = ", ".join(f"{task} {_points(Estimate(one.value))}" for task, one in by_task.items())
        return Judgement(found.above(0.0), f"{_points(found)} over {len(by_task)} tasks: {parts}", {"mean": found})

    told_as = "the vectors as they are" if other == "baseline" else f"the {other} repair"
    return Rule(
        f"the score, averaged over the tasks, is higher with the {setting} repair than with {told_as}; starts and "
        "reported examples resampled",
        judge,
    )


def sooner(setting: str) -> Rule:
    """The baseline's best score is reached in fewer epochs."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        gains = []
        for task, start in _starts(model):
            curves = _curves(model, task, start, "score")
            last = len(curves["baseline"])
            best = curves["baseline"].max() - 1e-12
            first = [
                int(np.argmax(curves[name] >= best)) if (curves[name] >= best).any() else last
                for name in ("baseline", setting)
            ]
            gains.append((task, float(first[0] - first[1])))
        found = _over_cells(gains)
        return Judgement(found.above(0.0), f"{_signed(found)} epochs sooner, over tasks and starts", {"epochs": found})

    return Rule(
        f"with the {setting} repair fewer epochs pass until the score is what it is at best without (one more than "
        "there were, where it never is), averaged over tasks and starts",
        judge,
    )


def loss_falls_faster(setting: str) -> Rule:
    """The loss of the examples trained on is lower all along."""

    def judge(model: SpaceModel, _: Beside) -> Judgement:
        gains, last = [], []
        for task, start in _starts(model):
            curves = _curves(model, task, start, "loss")
            gains.append((task, float((curves["baseline"] - curves[setting]).mean())))
            last.append([curves[name][-1] for name in ("baseline", setting)])
        found = _over_cells(gains)
        ends = np.mean(last, axis=0)
        return Judgement(found.above(0.0), f"after the last epoch {ends[0]:.3f} without, {ends[1]:.3f} with it",
                         {"mean difference of losses": found})  # fmt: skip

    return Rule(
        f"the training loss is lower with the {setting} repair than without, averaged over epochs, tasks and starts",
        judge,
    )


def _starts(model: SpaceModel) -> list[tuple[str, int]]:
    return list(dict.fromkeys((row["task"], row["seed"]) for row in model.rows("classify", "epochs")))


def _curves(model: SpaceModel, task: str, start: int, column: str) -> dict[str, NDArray[np.float64]]:
    rows = model.rows("classify", "epochs", task=task, seed=start)
    names = dict.fromkeys(row["setting"] for row in rows)
    return {
        name: np.array([row[column] for row in sorted(rows, key=lambda row: row["epoch"]) if row["setting"] == name])
        for name in names
    }


def _over_cells(gains: Sequence[tuple[str, float]]) -> Estimate:
    """Mean over tasks and starts; tasks, and starts within them, are resampled."""
    by_task: dict[str, list[float]] = {}
    for task, gain in gains:
        by_task.setdefault(task, []).append(gain)
    tasks = [np.array(values) for values in by_task.values()]
    value = float(np.mean([some.mean() for some in tasks]))
    generator = generator_for(0, "reproduce", "epochs")
    draws = np.empty(REPLICATES)
    for at in range(REPLICATES):
        chosen = generator.integers(len(tasks), size=len(tasks))
        draws[at] = np.mean([generator.choice(tasks[task], size=len(tasks[task])).mean() for task in chosen])
    low, high = np.quantile(draws, QUANTILES)
    return Estimate(value, float(max(high - value, value - low, 0.0)))


def _signed(one: Estimate) -> str:
    return minus(f"{one.value:+.2f}") + (f" ± {one.error:.2f}" if one.error else "")


# tables and settings where the model is the paper's


def printed_scores(
    part: str, fit: str | None = None
) -> Callable[[SpaceModel, SpaceModel], list[tuple[str, float, float]]]:
    """Pairs of our numbers and the printed ones, in points, for `same_as_printed`."""

    def pairs_of(model: SpaceModel, printed: SpaceModel) -> list[tuple[str, float, float]]:
        ours = {
            (row["setting"], row["task"]): row["value"]
            for row in model.rows(part)
            if fit is None or row["fit"] in ("", fit)
        }
        return [
            (f"{row['setting']} on {row['task']}", 100 * ours[row["setting"], row["task"]], 100 * row["value"])
            for row in printed.rows(part)
            if (row["setting"], row["task"]) in ours
        ]

    return pairs_of


def printed_isotropy(model: SpaceModel, printed: SpaceModel) -> list[tuple[str, float, float]]:
    ours = {(row["setting"], row["task"]): row[ONE_SIGN] for row in model.rows("sts") if row["fit"] in ("", "task")}
    return [
        (f"{row['setting']} on {row['task']}", ours[row["setting"], row["task"]], row[ONE_SIGN])
        for row in printed.rows("sts")
        if (row["setting"], row["task"]) in ours
    ]


def printed_settings(model: SpaceModel, printed: SpaceModel) -> list[tuple[str, float, float]]:
    ours, theirs = (one.part("tuning").about["best"] for one in (model, printed))
    names = ("clusters", "components")
    return [
        (f"{names[at]}, {method}", float(ours[method][at]), float(theirs[method][at]))
        for method in ("global", "cluster")
        for at in (0, 1)
    ]


def more_components(family: str, than: Sequence[str]) -> Rule:
    """One kind of model needs more components removed than others, globally and in clusters."""

    def judge(models: Beside) -> Judgement:
        best = {model.name: (model.family, model.part("tuning").about["best"]) for model in models
                if "tuning" in model.parts}  # fmt: skip
        mine = {name: one for name, (kind, one) in best.items() if kind == family}
        theirs = {name: one for name, (kind, one) in best.items() if kind in than}
        if not mine or not theirs:
            raise CannotShow(f"needs tuned models of the kind of {family} and of {' or '.join(than)}")
        verdicts = []
        for method in ("global", "cluster"):
            least = min(one[method][1] for one in mine.values())
            most = max(one[method][1] for one in theirs.values())
            verdicts.append(Verdict.HELD if least > most else Verdict.NOT_HELD)
        why = ", ".join(
            f"{name.removeprefix('published ')} {one['global'][1]} globally, {one['cluster'][1]} of each of "
            f"{one['cluster'][0]} clusters"
            for name, one in (mine | theirs).items()
        )
        return Judgement(every(verdicts), why)

    return Rule(
        f"the numbers of components that do best on the development set are larger for {family}'s kind, globally and "
        "in clusters",
        together=judge,
    )
