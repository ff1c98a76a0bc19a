"""The trainer: a consumer of a pass that gathers a shard's contexts and targets, then trains on them.

Everything that chance decides is a function of seed, epoch and identities, and training goes shard by shard, so the
state after a shard is all that a resumed run needs to give the same vectors.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.distillation.x2static.adam import Rows
from limbeck.distillation.x2static.contexts import (
    Gathered,
    no_contexts,
    other_contexts,
    row_contexts,
    sentence_contexts,
)
from limbeck.distillation.x2static.group import Group
from limbeck.distillation.x2static.objectives import Contrast, Fit, Ints, Objective, Targets
from limbeck.distillation.x2static.sampling import Negatives, keep_probabilities, kept
from limbeck.distillation.x2static.settings import Contrasting, Regression, Sent2Vec, Training, X2Static
from limbeck.distillation.x2static.static_context import OwnContexts
from limbeck.encoded import Encoded
from limbeck.encoders.memory import is_out_of_memory
from limbeck.errors import LimbeckError
from limbeck.seeds import hash_ids, seed_of
from limbeck.state import State
from limbeck.transfer import fetch

STEPS_A_LOSS = 100  #: steps that one point of the loss curve covers at most
LOSSES_A_SHARD = 4  #: points that a shard of so many steps has at least, so that a short training has a curve too


@dataclass
class Losses:
    """The loss curve: a row for some steps of a shard."""

    rows: list[dict[str, float]] = field(default_factory=list)

    COLUMNS = ("epoch", "shard", "step", "progress", "learning_rate", "targets", "loss")
    WHOLE = ("epoch", "shard", "step", "targets")  #: columns of whole numbers

    def as_array(self) -> NDArray[np.float64]:
        return np.array([[row[name] for name in self.COLUMNS] for row in self.rows]).reshape(-1, len(self.COLUMNS))

    @classmethod
    def from_array(cls, array: NDArray[np.float64]) -> Losses:
        rows = [dict(zip(cls.COLUMNS, row, strict=True)) for row in array.tolist()]
        return cls([row | {name: int(row[name]) for name in cls.WHOLE} for row in rows])


@dataclass(frozen=True)
class _Steps:
    """The steps of a shard whose losses are still on the device."""

    shard: int
    epoch: int
    begun: int  # steps before them
    targets: Ints  # (steps,)
    parts: NDArray[np.float64]  # (steps,) how far in the shard each is


class Trainer:
    """Word vectors trained on the batches of a pass.

    counts       (words,) occurrences of each word of the vocabulary
    shard_units  units of each shard of the plan: how far each brings the training
    layer        index of the teacher's layer among the batch's
    paragraphs   texts hold several sentences, each of which has a context of its own
    start        (words, dim) vectors to begin with; None for small random ones
    group        the processes that train together; None: those of torch.distributed, if there are some
    """

    def __init__(
        self,
        counts: Ints,
        dim: int,
        settings: Training,
        *,
        shard_units: Ints,
        device: torch.device | str = "cpu",
        layer: int = 0,
        paragraphs: bool = False,
        start: NDArray[np.floating] | None = None,
        dtype: torch.dtype = torch.float32,
        group: Group | None = None,
    ) -> None:
        if not len(counts):
            raise LimbeckError(
                "the text must hold words of the vocabulary, it holds none: check --words and --case.",
                code="no_words",
                parameter="words",
            )
        if start is not None and start.shape != (len(counts), dim):
            raise LimbeckError(
                f"training starts from vectors {(len(counts), dim)}; got {start.shape}.",
                code="wrong_shape",
                parameter="start",
            )
        self.counts = counts
        self.settings = settings
        self.layer = layer
        self.paragraphs = paragraphs
        self.epoch = 0
        self._losses = Losses()
        self._pending: tuple[Callable[[], torch.Tensor], _Steps] | None = None
        self.seen = 0  # occurrences in the first epoch
        self._keep = keep_probabilities(counts, settings.subsample)
        self._before = np.concatenate([[0], np.cumsum(shard_units)]).astype(np.float64)
        self._gathered: list[Gathered] = []
        self.group = group or Group()
        with _room_for(f"the vectors of {len(counts):,} words and their moments", "lower --max-words"):
            self.objective = _objective(counts, dim, settings, torch.device(device), start, dtype, self.group)

    @property
    def tables(self) -> dict[str, Rows]:
        return self.objective.tables

    @property
    def step(self) -> int:
        return next(iter(self.tables.values())).step

    # a consumer of a pass

    @torch.no_grad()
    def update(self, batch: Encoded) -> None:
        if len(batch):
            self._gathered.append(self.gather(batch))

    def end_shard(self, number: int) -> None:
        self.train(number, self.take())

    def gather(self, batch: Encoded) -> Gathered:
        """What training needs of a batch."""
        settings = self.settings
        if isinstance(settings, Sent2Vec):
            return no_contexts(batch)
        context = settings.context if isinstance(settings, X2Static | Regression) else "words"
        if context in ("words", "pieces"):
            return sentence_contexts(batch, self.layer, over=context, paragraphs=self.paragraphs)
        # a context for each target: only those that will be targets are worth making
        known = np.flatnonzero(batch.words >= 0)
        targets = known[self._kept(batch.words[known], batch.occurrences[known], self.epoch)]
        return (other_contexts if context == "others" else row_contexts)(batch, self.layer, targets)

    def take(self) -> Gathered | None:
        """All that was gathered since the last time."""
        parts, self._gathered = self._gathered, []
        return Gathered.join(parts) if parts else None

    def share(self, shard: Gathered | None, *, source: int) -> Gathered | None:
        """What the process `source` has gathered, with contexts in this one's dimensions."""
        table = next(iter(self.tables.values()))
        dim = 0 if isinstance(self.settings, Sent2Vec) else table.dim
        return self.group.share_shard(shard, source=source, dim=dim, device=table.values.device)

    # training

    @torch.no_grad()
    def train(self, number: int, shard: Gathered | None) -> None:
        """Train on a shard once, in steps of about `batch_texts` texts."""
        if shard is None:
            return
        if self.epoch == 0:
            self.seen += shard.seen
        targets = self.targets(number, shard)
        if not len(targets.words):
            return
        begun = self.step
        sizes = np.diff(targets.bounds)
        places = np.flatnonzero(sizes)  # a step whose words were all left out is none
        rates = [self.learning_rate(number, place / len(sizes)) for place in places]
        some = self.settings.batch_texts
        with _room_for(f"a step of {some} texts", f"lower --set batch_texts={some} or --batch-tokens"):
            self.objective.begin(shard, targets)
            losses = torch.stack(
                [self.objective.step(int(place), rate) for place, rate in zip(places, rates, strict=True)]
            )
        self._settle()
        steps = _Steps(number, self.epoch, begun, sizes[places], (places + 0.5) / len(sizes))
        self._pending = (fetch(losses.double()), steps)

    def _settle(self) -> None:
        """Write down the losses of the shard before: asked for now, the device has long had them ready."""
        if self._pending is None:
            return
        (losses, steps), self._pending = self._pending, None
        found = losses().numpy()
        if not np.isfinite(found).all():
            raise LimbeckError(
                f"the loss must stay finite; it left that in epoch {steps.epoch + 1}: lower learning_rate.",
                code="not_finite",
                parameter="learning_rate",
            )
        covered = min(STEPS_A_LOSS, max(1, len(found) // LOSSES_A_SHARD))
        for low in range(0, len(found), covered):
            some = slice(low, low + covered)
            middle = float(steps.parts[some].mean())
            self._losses.rows.append(
                {
                    "epoch": steps.epoch + 1,
                    "shard": steps.shard,
                    "step": steps.begun + low + len(found[some]),
                    "progress": self.progress(steps.shard, middle, steps.epoch) * self.settings.epochs,
                    "learning_rate": self.learning_rate(steps.shard, middle, steps.epoch),
                    "targets": int(steps.targets[some].sum()),
                    "loss": float(found[some].sum() / steps.targets[some].sum()),
                }
            )

    @property
    def losses(self) -> Losses:
        """The loss curve so far."""
        self._settle()
        return self._losses

    def targets(self, number: int, shard: Gathered) -> Targets:
        """The targets of a shard, in the order of its steps: texts are shuffled, a text's targets stay together."""
        settings = self.settings
        texts, text_of = np.unique(shard.texts, return_inverse=True)
        rank = np.empty(len(texts), dtype=np.int64)
        rank[np.argsort(hash_ids(texts, salt=seed_of(settings.seed, "order", self.epoch)), kind="stable")] = np.arange(
            len(texts)
        )
        chosen = np.flatnonzero(self._kept(shard.words, shard.keys, self.epoch))
        place = rank[text_of[shard.context_of[chosen]]]
        order = np.argsort(place, kind="stable")
        chosen, place = chosen[order], place[order]
        steps = max(1, round(len(texts) / settings.batch_texts))
        edges = np.arange(steps + 1) * len(texts) // steps
        return Targets(
            words=shard.words[chosen],
            context_of=shard.context_of[chosen],
            keys=shard.keys[chosen],
            bounds=np.searchsorted(place, edges),
            texts=len(texts),
            number=number,
            epoch=self.epoch,
            places=chosen,
        )

    def progress(self, number: int, part: float, epoch: int | None = None) -> float:
        """How far the whole training has come, 0 to 1, when a part of a shard is done."""
        within = self._before[number] + part * (self._before[number + 1] - self._before[number])
        epochs = self.epoch if epoch is None else epoch
        return float((epochs + within / max(self._before[-1], 1.0)) / self.settings.epochs)

    def learning_rate(self, number: int, part: float, epoch: int | None = None) -> float:
        rate = self.settings.learning_rate
        return rate if self.settings.schedule == "constant" else rate * (1 - self.progress(number, part, epoch))

    def _kept(self, words: Ints, keys: NDArray[np.uint64], epoch: int) -> NDArray[np.bool_]:
        return kept(words, keys, self._keep, seed=self.settings.seed, epoch=epoch)

    # files

    def state(self) -> State:
        """All there is to go on from; of several processes the first has it, and all have to ask."""
        arrays: State = {"losses": self.losses.as_array(), "seen": np.array(self.seen)}
        for name, table in self.tables.items():
            arrays |= table.state(f"{name}/")
        return arrays

    def restore(self, state: State) -> None:
        """Go on from a state; of several processes the first has it, and the others give nothing."""
        losses, seen = self.group.share((state["losses"], state["seen"]) if self.group.first else None)
        self._losses = Losses.from_array(losses)
        self.seen = int(seen)
        for name, table in self.tables.items():
            table.restore(state, f"{name}/")

    def matrix(self) -> NDArray[np.float32]:
        """The words' vectors. Sent2Vec's are those of the source matrix, as its own tool gives them."""
        if "sources" in self.tables:
            return self.tables["sources"].matrix()[: len(self.counts)]
        return self.tables["vectors"].matrix()


def _objective(
    counts: Ints,
    dim: int,
    settings: Training,
    device: torch.device,
    start: NDArray[np.floating] | None,
    dtype: torch.dtype,
    group: Group,
) -> Objective:
    kinds: dict[str, Any] = {
        "device": device,
        "moments": torch.bfloat16 if settings.moments == "bfloat16" else dtype,
        "dtype": dtype,
        "seed": settings.seed,
        "group": group,
    }
    words = len(counts)
    if isinstance(settings, Sent2Vec):
        negatives = Negatives(counts, settings.exponent, device=device)
        targets, sources = Rows(words, dim, **kinds), Rows(settings.rows(words), dim, **kinds)
        sources.fill(None if start is None else _extended(start, sources), "sources")  # targets begin at zero
        return OwnContexts(targets, sources, negatives, settings)
    vectors = Rows(words, dim, **kinds)
    if isinstance(settings, X2Static) and settings.length and start is not None:
        start = start - start.mean(axis=0)
        start = start * (settings.length / max(float(np.linalg.norm(start, axis=1).mean()), 1e-12))
    vectors.fill(start)
    if isinstance(settings, Regression):
        return Fit(vectors, counts, settings)
    if isinstance(settings, Contrasting):
        return Contrast(vectors, Negatives(counts, settings.exponent, device=device), settings)
    raise TypeError(f"no trainer for {type(settings).__name__}")


@contextmanager
def _room_for(what: str, remedy: str) -> Iterator[None]:
    """Around what takes the device's memory: that it is full is said with a remedy. A run may go on from there."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise LimbeckError(
            f"there must be room for {what} on the device beside the teacher, and memory is full: {remedy}, take --set "
            "moments=bfloat16, or more GPUs (torchrun).",
            code="no_memory",
        ) from OSError(errno.ENOMEM, "out of memory")


def _extended(start: NDArray[np.floating], sources: Rows) -> NDArray[np.floating]:
    """Given word vectors, and zeros for the n-grams."""
    return np.concatenate([start, np.zeros((sources.words - len(start), start.shape[1]), dtype=start.dtype)])
