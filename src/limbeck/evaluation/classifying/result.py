"""What a classification returns: scores by setting, start and epoch, the epochs chosen, intervals, comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UsageError, choose
from limbeck.evaluation import significance
from limbeck.evaluation.classifying.scores import Metric, resampled, score
from limbeck.evaluation.settings import DRAWS
from limbeck.evaluation.significance import Comparison
from limbeck.shown import Tabular
from limbeck.sketch import Curves
from limbeck.tables import columns_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """A setting's score: mean over starts at the epochs chosen.

    spread     standard deviation over starts
    low, high  95 % interval of the mean, examples and starts resampled
    """

    value: float
    spread: float
    low: float
    high: float


@dataclass(frozen=True)
class Classified(Tabular):
    """A task, learnt from an encoder's vectors as they are and repaired.

    settings      names of the settings (baseline, repairs); the first is what others are compared with
    gold          (n,) classes of the examples that are reported
    predictions   (settings, starts, epochs, n)
    held_out      (settings, starts, epochs) scores on the part of the training set that nobody was trained on
    losses        (settings, starts, epochs) on the examples trained on
    majority      score of the class that most training examples have
    trained, held, available   examples trained on, held out, and in the training set
    from_epoch    the first epoch that may be chosen, counted from 0
    learning_rates  (settings, starts) where they were chosen too
    covered       share of the texts' words that have a vector; None where encoders say which texts have none
    """

    task: str
    encoder: str
    metric: Metric
    reported: str
    settings: tuple[str, ...]
    seeds: tuple[int, ...]
    trained: int
    held: int
    available: int
    majority: float
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    used: Mapping[str, Any]
    gold: NDArray[np.int64] = field(repr=False)
    predictions: NDArray[np.int16] = field(repr=False)
    held_out: Floats = field(repr=False)
    losses: Floats = field(repr=False)
    draws: int = DRAWS
    seed: int = 0
    from_epoch: int = 0
    learning_rates: Floats | None = field(default=None, repr=False)
    covered: float | None = None

    def title(self) -> str:
        return f"{self.encoder} on {self.task}"

    def columns(self) -> dict[str, list[Any]]:
        """The rows of classify.csv."""
        return columns_of(self.table_rows())

    def curves(self) -> Curves:
        """The reported score by epoch, a line a setting."""
        lines = {setting: self.curve(setting) for setting in self.settings}
        epochs = [str(number) for number in range(1, self.predictions.shape[2] + 1)]
        return Curves(epochs, lines, across="epoch", up=self.metric)

    @cached_property
    def scores(self) -> Floats:
        """(settings, starts, epochs) on the examples reported."""
        return score(self.predictions, self.gold, metric=self.metric)

    @cached_property
    def chosen(self) -> NDArray[np.int64]:
        """(settings, starts) index of the epoch that did best on the examples held out, the first of equal ones.

        What is reported has no say in it (docs/fidelity.md §3).
        """
        return np.asarray(self.held_out[..., self.from_epoch :].argmax(-1) + self.from_epoch)

    @cached_property
    def chosen_scores(self) -> Floats:
        """(settings, starts) reported scores at the epochs chosen."""
        return np.take_along_axis(self.scores, self.chosen[..., None], -1)[..., 0]

    @cached_property
    def chosen_predictions(self) -> NDArray[np.int16]:
        """(settings, starts, n) at the epochs chosen."""
        return np.take_along_axis(self.predictions, self.chosen[..., None, None], 2)[:, :, 0]

    def run_scores(self, setting: str, *, metric: Metric) -> Floats:
        """(starts,) reported scores by any metric at the epochs chosen, which the task's own metric chose."""
        return score(self.chosen_predictions[self._place(setting)], self.gold, metric=metric)

    def _drawn(self, draws: int) -> Floats:
        """(settings, draws)"""
        if draws not in self._kept:
            at = self.chosen_predictions
            self._kept[draws] = resampled(at, self.gold, metric=self.metric, draws=draws, seed=self.seed)
        return self._kept[draws]

    @cached_property
    def _kept(self) -> dict[int, Floats]:
        """What was drawn, by the number of draws: intervals and comparisons differ in it."""
        return {}

    def summary(self, setting: str) -> Summary:
        """The score of a setting."""
        place = self._place(setting)
        values = self.chosen_scores[place]
        return Summary(
            float(values.mean()), deviation(values), *significance.percentiles(self._drawn(self.draws)[place])
        )

    def compare(
        self,
        setting: str,
        other: str | None = None,
        *,
        than: Classified | None = None,
        draws: int | None = None,
    ) -> Comparison:
        """How much higher a setting's score is than another's, on the same draws of examples and starts.

        other  the other setting; the first unless said
        than   the result that it is of; this one unless said. Another encoder's, say, on the same task
        draws  of the bootstrap; the result's own number unless said
        """
        draws = self.draws if draws is None else draws
        than = self if than is None else than
        a, b = self._place(setting), 0 if other is None else than._place(other)
        same = (self.task, self.seeds, self.draws, self.seed) == (than.task, than.seeds, than.draws, than.seed)
        if not same or not np.array_equal(self.gold, than.gold):
            raise UsageError(
                f"Two results are compared on one task, from the same starts and draws, got {self.task} "
                f"({len(self.gold)} examples, {len(self.seeds)} starts) and {than.task} ({len(than.gold)}, "
                f"{len(than.seeds)}): classify both alike.",
                code="not_comparable",
            )
        difference = float(self.chosen_scores[a].mean() - than.chosen_scores[b].mean())
        return significance.from_bootstrap(difference, self._drawn(draws)[a] - than._drawn(draws)[b], n=len(self.gold))

    def curve(self, setting: str) -> Floats:
        """(epochs,) reported score after each epoch, mean over starts."""
        return np.asarray(self.scores[self._place(setting)].mean(0))

    def epochs_to_first(self, setting: str) -> int | None:
        """The first epoch after which a setting's mean score is what the first setting's is at its best; None: never.

        For the first setting itself, its best epoch. It says who is sooner at one place, and looks at what is
        reported: it describes curves, and no score is chosen by it.
        """
        reached = self.curve(setting) >= self.curve(self.settings[0]).max() - 1e-12
        return int(reached.argmax()) + 1 if reached.any() else None

    def _rate(self, place: int, run: int) -> float | None:
        """The learning rate of a run: its own, or that of all."""
        if self.learning_rates is None:
            return self.used.get("learning_rate")
        return float(self.learning_rates[place, run])

    def _place(self, setting: str) -> int:
        return self.settings.index(choose(setting, self.settings, what="setting"))

    def table_rows(self, *, draws: int | None = None) -> list[dict[str, Any]]:
        """A row for each setting; `draws` are those of the comparisons with the first, see `compare`."""
        used = " ".join(f"{name}={value}" for name, value in self.used.items())
        dropped = "; ".join(f"{reason}: {count}" for reason, count in self.dropped.items())
        rows = []
        for place, setting in enumerate(self.settings):
            summary = self.summary(setting)
            against = self.compare(setting, draws=draws) if place else None
            accuracy, f1 = (self.run_scores(setting, metric=metric) for metric in ("accuracy", "macro-f1"))
            rows.append({
                "target": self.encoder,
                "task": self.task,
                "setting": setting,
                "metric": self.metric,
                "value": summary.value,
                "spread": summary.spread,
                "low": summary.low,
                "high": summary.high,
                "difference": against.difference if against else None,
                "difference_low": against.low if against else None,
                "difference_high": against.high if against else None,
                "p": against.p if against else None,
                "accuracy": float(accuracy.mean()),
                "accuracy_spread": deviation(accuracy),
                "macro_f1": float(f1.mean()),
                "macro_f1_spread": deviation(f1),
                "epochs_to_first": self.epochs_to_first(setting),
                "majority": self.majority,
                "split": self.reported,
                "n": len(self.gold),
                "word_coverage": self.covered,
                "trained": self.trained,
                "held_out": self.held,
                "available": self.available,
                "starts": len(self.seeds),
                "settings": used,
                "dropped": dropped,
                "note": "; ".join(self.notes),
            })  # fmt: skip
        return rows

    def epoch_rows(self) -> list[dict[str, Any]]:
        """A row for each setting, start and epoch; `chosen` marks the epochs that scores were taken from."""
        return [
            {
                "target": self.encoder,
                "task": self.task,
                "metric": self.metric,
                "setting": setting,
                "seed": seed,
                "epoch": epoch + 1,
                "loss": float(self.losses[place, run, epoch]),
                "held_out": float(self.held_out[place, run, epoch]),
                "score": float(self.scores[place, run, epoch]),
                "learning_rate": self._rate(place, run),
                "chosen": int(self.chosen[place, run] == epoch),
                "majority": self.majority,
            }
            for place, setting in enumerate(self.settings)
            for run, seed in enumerate(self.seeds)
            for epoch in range(self.scores.shape[2])
        ]


def classify_table(results: Iterable[Classified]) -> dict[str, list[Any]]:
    """Columns of all results' rows, for `limbeck.tables`.

    `p_holm` is p adjusted for the number of all comparisons; for many, more are drawn, see `significance.draws_for`.
    """
    several = list(results)
    tests = sum(len(result.settings) - 1 for result in several)
    rows = [row for result in several for row in result.table_rows(draws=significance.draws_for(tests, result.draws))]
    p = significance.holm([float("nan") if row["p"] is None else row["p"] for row in rows])
    found: dict[str, list[Any]] = {}
    for name, values in columns_of(rows).items():
        found |= {name: values, "p_holm": p} if name == "p" else {name: values}  # which stands behind p
    return found


def epoch_table(results: Iterable[Classified]) -> dict[str, list[Any]]:
    """Columns of all results' scores by epoch, for `limbeck.tables` and the figure."""
    return columns_of([row for result in results for row in result.epoch_rows()])


def mean_over_tasks(scores: Iterable[Any]) -> dict[str, tuple[int, Floats, Floats]]:
    """Of each target with several tasks their number, and each run's mean macro-F1 and accuracy over them (Table 5 of
    Gupta & Jaggi 2021); left out where runs differ in number."""
    runs: dict[str, dict[str, tuple[Floats, Floats]]] = {}
    for one in scores:
        f1, accuracy = (one.result.run_scores(one.setting, metric=metric) for metric in ("macro-f1", "accuracy"))
        runs.setdefault(one.target, {})[one.task] = (f1, accuracy)
    found = {}
    for target, tasks in runs.items():
        if len(tasks) > 1 and len({len(f1) for f1, _ in tasks.values()}) == 1:
            f1, accuracy = (np.mean(several, axis=0) for several in zip(*tasks.values(), strict=True))
            found[target] = (len(tasks), f1, accuracy)
    return found


def deviation(values: Floats) -> float:
    """Standard deviation over runs; NaN for one run."""
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")
