"""What the claims of Zhao et al. (2020) are judged on: a model's layers probed, whole, cut and fine-tuned, in parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from limbeck.papers.estimates import CannotShow, Estimate, Verdict
from limbeck.papers.parts import ModelInParts, Row
from limbeck.papers.probe_scores import Scored, mean, scored
from limbeck.papers.probe_wanted import TASKS
from limbeck.probing.names import CONTEXT, MAJORITY, WHOLE

#: part -> what it is, for people who wait for it; tasks and windows have one each
PARTS = {
    "neighbors": "neighbours of an ambiguous word",
    "layers": "probes at every layer",
    "starts": "probes on averages over contexts, from several starts",
    "contexts": "probes with little context",
    **{f"tuned-{task}": f"fine-tuning on {name}" for task, name in TASKS.items()},
    **{f"probed-{task}": f"probes after fine-tuning on {name}" for task, name in TASKS.items()},
    "windows": "parts of speech with attention to few words",
}
AVERAGE = "average"
BAG, STATIC_BAG, RANDOM_BAG = "P-model", "P-static", "P-random"
SPACES = {CONTEXT: "layers", AVERAGE: "averages", "static": "static vectors"}  #: as reasons call them
SAME, NEW = "same probes", "new probes"  #: setups (a) and (b)


class ProbedModel(ModelInParts):
    """A model, probed layer by layer; layers from the table upwards, as limbeck numbers them: the paper's 0 is 1."""

    PARTS = PARTS
    LACKING = "not run: "
    UNWRITTEN = ("draws",)

    def has(self, part: str, **wanted: Any) -> bool:
        if part not in self.parts:
            return False
        return any(
            all(row.get(name) == cell for name, cell in wanted.items()) for row in self.part(part).rows("scores")
        )

    def heard(self, space: str = CONTEXT, *, context: str = WHOLE, part: str = "layers") -> None:
        """Refuse to judge by probes that say nothing: whose best F1 is not surely above that of the majority class.

        A paper's own numbers have no majority class beside them, and are believed.
        """
        level = "type" if space in (AVERAGE, "static") else "context"
        guesses = [row for row in self.part("layers").rows("scores")
                   if (row["space"], row["side"], row.get("level")) == (MAJORITY, "test", level)]  # fmt: skip
        if not guesses:
            return
        found = [scored(row) for row in self.rows(part, space=space, context=context, side="test")]
        best, guess = max(found, key=lambda one: one.value), scored(guesses[0])
        more = (best - guess).estimate
        if more.above(0) is not Verdict.HELD:
            where = {WHOLE: "", "0": " with the word alone"}.get(context, f" with {context} words to each side")
            raise CannotShow(
                f"probes on {SPACES.get(space, space)}{where} say nothing: F1 {best.value:.3f} at best, the majority "
                f"class {guess.value:.3f} (more by {more}): train longer (--epochs) or on more words"
            )

    @property
    def unlearnt(self) -> list[str]:
        """Tasks that were not learnt: not surely better than the most frequent class, or no entity found.

        Sure is an accuracy that is above it with its whole 95 % interval, as if all places erred apart.
        """
        rows = {task: self.parts[f"tuned-{task}"].rows("scores")[0] for task in TASKS if f"tuned-{task}" in self.parts}
        return [
            task
            for task, row in rows.items()
            if accuracy_of(row).above(row["majority"]) is not Verdict.HELD or not row["value"]
        ]

    def check_learnt(self, *tasks: str) -> None:
        """Refuse to judge what fine-tuning does by tasks that were not learnt."""
        if names := [TASKS[task] for task in tasks if task in self.unlearnt]:
            were = "was" if len(names) == 1 else "were"
            raise CannotShow(
                f"{' and '.join(names)} {were} not learnt, not surely better than the most frequent class: train "
                "longer (--steps)"
            )

    @property
    def blocks(self) -> tuple[str, ...]:
        """The layers that the paper counts: those above the input."""
        return tuple(layer for layer in self.layers if layer not in ("table", "0"))

    def score(
        self, space: str, layer: str | None = None, *, context: str = WHOLE, side: str = "test", part: str = "layers"
    ) -> Scored:
        """The micro-F1 of a space; `layer` where it has several."""
        wanted = {"space": space, "context": context, "side": side} | ({} if layer is None else {"layer": layer})
        return scored(self.rows(part, **wanted)[0])

    def curve(
        self, space: str = CONTEXT, *, context: str = WHOLE, side: str = "test", part: str = "layers"
    ) -> dict[str, Scored]:
        """The micro-F1 of a space by block, from the lowest upwards."""
        rows = self.rows(part, space=space, context=context, side=side)
        found = {row["layer"]: scored(row) for row in rows if row["layer"] not in ("table", "0")}
        if not found:
            raise CannotShow("no layer above the input was probed")
        return found

    def tuned(self, task: str, setup: str) -> dict[str, Scored]:
        """The micro-F1 by block after fine-tuning on a task, in setup (a) or (b)."""
        return self.curve(setup, part=f"probed-{task}")

    def loss(self, task: str, setup: str) -> dict[str, Scored]:
        """What was lost by fine-tuning on a task, by block: before minus after, on the same words."""
        before = self.curve(side=self.tuned_side(task))
        after = self.curve(setup, part=f"probed-{task}", side=self.tuned_side(task))
        return {layer: before[layer] - after[layer] for layer in after if layer in before}

    def tuned_side(self, task: str) -> str:
        """On which words: the test words here, the development words of the paper."""
        return "test" if self.has(f"probed-{task}", side="test") else "dev"


def accuracy_of(row: Row) -> Estimate:
    """The accuracy of a fine-tuned model, of which F1 may be told instead, with its interval."""
    share = row["accuracy"]
    return Estimate(share, 1.96 * math.sqrt(share * (1 - share) / row["places"]))


def halves(curve: Mapping[str, Scored]) -> tuple[Scored, Scored]:
    """Means of the lower and of the upper half; of an odd number of layers the middle one belongs to neither."""
    found = list(curve.values())
    if len(found) < 2:
        raise CannotShow("a trend needs two layers or more")
    half = len(found) // 2
    return mean(found[:half]), mean(found[-half:])
