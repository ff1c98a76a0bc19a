"""Each check rejects a fake that breaks its law, and accepts one that does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import torch

from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.corpus.units import Text
from limbeck.encoded import Encoded
from limbeck.encoders.protocol import Prepared
from limbeck.errors import LimbeckError
from limbeck.seeds import hash_text
from limbeck.state import State
from limbeck.testing import LAWS, BrokenLaw, check_accumulator, check_encoder

# --- accumulators: a sound one, and one broken in each way -------------------------------------


class Sound:
    """n and Σx. `label` is a place for the twins to do mischief with; −1 when nothing was seen."""

    name: ClassVar[str] = "sound"

    def __init__(self, *, layers: int = 2, dim: int = 5, unit: str = "words") -> None:
        self.layers, self.dim, self.unit = layers, dim, unit
        self.n = 0
        self.sums = np.zeros((layers, dim))
        self.label = -1

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim, "unit": self.unit}

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        self.n += len(batch)
        self.sums = self.sums + batch.vectors.sum(1).numpy()
        self.label = max(self.label, int(batch.texts.max(initial=-1)))

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.n += other.n
        self.sums = self.sums + other.sums
        self.label = max(self.label, other.label)

    def state(self) -> State:
        return {"n": np.array(self.n), "sums": self.sums.copy(), "label": np.array(self.label)}

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        made.n, made.label = int(state["n"]), int(state["label"])
        made.sums = state["sums"].copy()
        return made


class ChangesInput(Sound):
    def update(self, batch):
        super().update(batch)
        batch.vectors.clamp_(min=0.0)


class ChangesIdentities(Sound):
    def update(self, batch):
        super().update(batch)
        batch.words[batch.words < 0] = 0


class KeepsInput(Sound):
    """Adds the vectors up only when asked."""

    def update(self, batch):
        check_shape(self, batch)
        self.__dict__.setdefault("kept", []).append(batch)

    def _settle(self):
        for batch in self.__dict__.pop("kept", []):
            Sound.update(self, batch)

    def merge(self, other):
        self._settle()
        other._settle()
        super().merge(other)

    def state(self):
        held = type(self).from_state(super().state(), **self.settings())
        for batch in self.__dict__.get("kept", []):
            Sound.update(held, batch)
        return Sound.state(held)


class LivingState(Sound):
    def update(self, batch):
        check_shape(self, batch)
        self.n += len(batch)
        self.sums += batch.vectors.sum(1).numpy()  # in place
        self.label = max(self.label, int(batch.texts.max(initial=-1)))

    def state(self):
        return super().state() | {"sums": self.sums}


class KeepsLoadedState(LivingState):
    state = Sound.state

    @classmethod
    def from_state(cls, state, **settings):
        made = super().from_state(state, **settings)
        made.sums = state["sums"]
        return made


class CountsEmptyBatches(Sound):
    def update(self, batch):
        super().update(batch)
        self.n += not len(batch)


class FailsOnEmptyBatch(Sound):
    def update(self, batch):
        super().update(batch)
        batch.texts.min()


class LosesLeftEmpty(Sound):
    def merge(self, other):
        if self.n:
            super().merge(other)


class LosesRightEmpty(Sound):
    def merge(self, other):
        super().merge(other)
        if not other.n:
            self.label = -1


class DividesByZero(Sound):
    def merge(self, other):
        super().merge(other)
        self.sums = self.sums * (self.n / self.n)


class EmptiesOther(Sound):
    def merge(self, other):
        super().merge(other)
        other.n = 0


class SharesWithOther(LivingState):
    """Takes the other's array over when it has none of its own."""

    state = Sound.state

    def merge(self, other):
        empty = not self.n
        super().merge(other)
        if empty:
            self.sums = other.sums


class KeepsLeftLabel(Sound):
    """Associative, with an identity, not commutative."""

    def merge(self, other):
        label = self.label if self.n else other.label
        super().merge(other)
        self.label = label


class Averages(Sound):
    """Commutative, with an identity, not associative."""

    def merge(self, other):
        both = bool(self.n and other.n)
        super().merge(other)
        self.sums = self.sums / (2 if both else 1)


class CountsBatches(Sound):
    def update(self, batch):
        super().update(batch)
        self.n += bool(len(batch))


class DropsLastRow(Sound):
    """As a loop that forgets its last portion does."""

    def update(self, batch):
        super().update(batch)
        if len(batch):
            self.sums = self.sums - batch.vectors[:, -1].numpy()


class RemembersLast(Sound):
    def update(self, batch):
        super().update(batch)
        if len(batch):
            self.label = int(batch.texts[-1])


class MergesByMax(Sound):
    def merge(self, other):
        n = max(self.n, other.n)
        super().merge(other)
        self.n = n


class NearlyMerges(Sound):
    """Off by 1e-8 a merge: a float32 somewhere."""

    def merge(self, other):
        super().merge(other)
        if self.n > other.n > 0:
            self.sums = self.sums * (1 + 1e-8) ** min(self.n, 1)


class ForgetsOnLoad(Sound):
    @classmethod
    def from_state(cls, state, **settings):
        return super().from_state(state | {"n": np.array(0)}, **settings)


class NearlyLoads(Sound):
    @classmethod
    def from_state(cls, state, **settings):
        return super().from_state(state | {"sums": state["sums"] * (1 + 1e-15)}, **settings)


class CannotLoadEmpty(Sound):
    def state(self):
        return super().state() if self.n else {}


class OtherSettingsOnLoad(Sound):
    @classmethod
    def from_state(cls, state, **settings):
        return super().from_state(state, **(settings | {"unit": "pieces"}))


class SavesRounded(Sound):
    """Its file is bit-exact, but less than what was in memory."""

    def state(self):
        return super().state() | {"sums": self.sums.astype(np.float32)}


class MergesAnything(Sound):
    def merge(self, other):
        self.n += other.n
        if other.sums.shape == self.sums.shape:
            self.sums = self.sums + other.sums
        self.label = max(self.label, other.label)


class TakesAnyShape(Sound):
    def update(self, batch):
        self.n += len(batch)
        self.sums = self.sums + batch.vectors[:, :, : self.dim].sum(1).numpy()
        self.label = max(self.label, int(batch.texts.max(initial=-1)))


class RefusesWithoutNames(Sound):
    def merge(self, other):
        if self.settings() != other.settings():
            raise LimbeckError("these do not go together.", code="other_settings")
        super().merge(other)


class RefusesWithPlainError(Sound):
    def merge(self, other):
        if self.settings() != other.settings():
            raise ValueError(f"{self.settings()} {other.settings()}")
        super().merge(other)


class RefusesTooLate(Sound):
    def merge(self, other):
        self.n += 1
        check_alike(self, other)
        self.n -= 1
        super().merge(other)


TWINS: dict[str, list[type[Sound]]] = {
    "input is neither changed nor kept": [ChangesInput, ChangesIdentities, KeepsInput],
    "state is a copy": [LivingState, KeepsLoadedState],
    "an empty batch changes nothing": [CountsEmptyBatches, FailsOnEmptyBatch],
    "empty is the identity of merge": [LosesLeftEmpty, LosesRightEmpty, DividesByZero],
    "merge leaves the other side alone": [EmptiesOther, SharesWithOther],
    "merge commutes": [KeepsLeftLabel],
    "merge associates": [Averages],
    "any batching gives the same state": [CountsBatches, DropsLastRow],
    "any order gives the same state": [RemembersLast],
    "any sharding gives the same state": [MergesByMax],
    "state to file to state is bit-exact": [ForgetsOnLoad, NearlyLoads, CannotLoadEmpty, OtherSettingsOnLoad],
    "merging after reload equals merging before": [SavesRounded],
    "unlike settings are refused, naming both sides": [
        MergesAnything,
        TakesAnyShape,
        RefusesWithoutNames,
        RefusesWithPlainError,
        RefusesTooLate,
    ],
}


def test_a_sound_accumulator_passes():
    check_accumulator(Sound)


def test_every_law_has_a_twin():
    assert set(TWINS) == set(LAWS)


@pytest.mark.parametrize(
    ("law", "broken"), [pytest.param(law, twin, id=twin.__name__) for law, twins in TWINS.items() for twin in twins]
)
def test_a_broken_accumulator_is_rejected(law: str, broken: type[Sound]):
    with pytest.raises(BrokenLaw, match=f'breaks the law "{law}"'):
        check_accumulator(broken)


def test_a_small_error_is_not_float_noise():
    with pytest.raises(BrokenLaw, match="sums is not the same within 1e-10"):
        check_accumulator(NearlyMerges)


def test_a_plain_mistake_shows_itself():
    class Mistaken(Sound):
        def update(self, batch):
            raise TypeError("my own mistake")

    with pytest.raises(TypeError, match="my own mistake"):
        check_accumulator(Mistaken)


# --- encoders ---------------------------------------------------------------------------------


class Letters:
    """A sound encoder: a word's vector is a function of the word, its place and its text."""

    name = "letters"
    fingerprint = "letters-1"
    layers = ("0", "1")
    dim = 3
    units = "words"

    @property
    def prepare(self):
        return prepare

    def forward(self, batch: Prepared) -> torch.Tensor:
        seeds = [hash_text(f"{word} {at} {text}") % 2**31 for word, at, text in self._rows(batch)]
        rows = [np.random.default_rng(seed).normal(size=(2, 3)) for seed in seeds]
        return torch.from_numpy(np.array(rows).reshape(len(rows), 2, 3)).transpose(0, 1).to(torch.float32)

    def _rows(self, batch: Prepared):
        return zip(batch.strings, batch.positions.tolist(), batch.texts.tolist(), strict=True)


def prepare(texts: Sequence[Text], /) -> Prepared:
    """Every word a piece; "Why" has no vector."""
    rows = [
        (word, sentence.identity, at, text.identity)
        for text in texts
        for sentence in text.sentences
        for at, word in enumerate(sentence.words)
    ]
    kept = [row for row in rows if row[0] != "Why"]
    columns = [np.array([row[i] for row in kept], dtype=np.int64) for i in (1, 2, 3)]
    n = np.arange(len(kept))
    return Prepared(
        pieces=n.astype(np.int32),
        window_starts=np.arange(len(kept) + 1),
        unit_window=n,
        unit_first=n * 0,
        unit_count=n * 0 + 1,
        strings=[row[0] for row in kept],
        sentences=columns[0],
        positions=columns[1],
        texts=columns[2],
        dropped={"a question": len(rows) - len(kept)} if len(rows) > len(kept) else {},
    )


class WrongShape(Letters):
    dim = 4


class WrongAxes(Letters):
    def forward(self, batch):
        return super().forward(batch).transpose(0, 1)


class GivesNaN(Letters):
    def forward(self, batch):
        vectors = super().forward(batch)
        return vectors / (vectors[:, :1] - vectors[:, :1])


class FlatWhenEmpty(Letters):
    def forward(self, batch):
        return super().forward(batch) if len(batch) else torch.zeros(0)


class Random(Letters):
    def forward(self, batch):
        return torch.randn(2, len(batch), 3)


class DependsOnBatchSize(Letters):
    """A mean over the batch: batch normalisation, or padding that is not masked."""

    def forward(self, batch):
        vectors = super().forward(batch)
        return vectors - 0.01 * vectors.mean(dim=1, keepdim=True)


class DependsOnOrder(Letters):
    """Each vector leaks a little of its neighbour in the batch, wherever it has more than one text."""

    def forward(self, batch):
        vectors = super().forward(batch)
        if len(set(batch.texts.tolist())) < 2:
            return vectors
        return vectors + 1e-3 * (torch.arange(len(batch)) - self.home(batch))[None, :, None]

    def home(self, batch):
        """Each unit's row in the order of texts, so that only that order changes nothing."""
        return torch.from_numpy(np.argsort(np.lexsort((batch.positions, batch.sentences))))


class _Repreparing(Letters):
    """Meddles with what `prepare` gives."""

    @property
    def prepare(self):
        return lambda texts: self.meddle(prepare(texts))

    def meddle(self, prepared: Prepared) -> Prepared:
        return prepared

    def take(self, prepared: Prepared, rows: list[int]) -> Prepared:
        return replace(
            prepared,
            strings=[prepared.strings[i] for i in rows],
            **{name: getattr(prepared, name)[rows] for name in ("sentences", "positions", "texts", "unit_window")},
        )


class LosesAWord(_Repreparing):
    def meddle(self, prepared):
        return self.take(prepared, [i for i, word in enumerate(prepared.strings) if word != "money"])


class LosesTheReason(_Repreparing):
    def meddle(self, prepared):
        return replace(prepared, dropped={})


class GivesTwo(_Repreparing):
    """One word twice in place of another: the number of units is right."""

    def meddle(self, prepared):
        rows = [*range(len(prepared))]
        return self.take(prepared, [rows[0], *rows[:-1]] if rows else rows)


class InventsAPlace(_Repreparing):
    def meddle(self, prepared):
        return replace(prepared, positions=prepared.positions + 1)


class DropsInCompany(_Repreparing):
    """Counts a reason, but which word it drops depends on who else is in the batch."""

    def meddle(self, prepared):
        if len(prepared) < 20:
            return prepared
        return replace(self.take(prepared, [*range(1, len(prepared))]), dropped={"a question": 1, "too many": 1})


ENCODER_TWINS: dict[str, list[type[Letters]]] = {
    "texts give (layers, units, dim) finite floats": [WrongShape, WrongAxes, GivesNaN, FlatWhenEmpty],
    "each word gets one vector or a counted reason": [LosesAWord, LosesTheReason, GivesTwo, InventsAPlace],
    "encoding is deterministic": [Random],
    "batch size changes nothing": [DependsOnBatchSize, DropsInCompany],
    "order changes nothing": [DependsOnOrder],
}


def test_a_sound_encoder_passes():
    check_encoder(Letters())


@pytest.mark.parametrize(
    ("law", "broken"),
    [pytest.param(law, twin, id=twin.__name__) for law, all_ in ENCODER_TWINS.items() for twin in all_],
)
def test_a_broken_encoder_is_rejected(law: str, broken: type[Letters]):
    with pytest.raises(BrokenLaw) as caught:
        check_encoder(broken())
    assert f'breaks the law "{law}"' in str(caught.value)


def test_what_an_encoder_lacks_is_named():
    class Unnamed:
        layers, dim, prepare = ("0",), 2, None

    with pytest.raises(BrokenLaw, match="no name, fingerprint, units, forward"):
        check_encoder(Unnamed())


def test_an_encoder_that_does_not_pickle_is_warned_of():
    with pytest.warns(UserWarning, match="works in one process only"):
        check_encoder(_Repreparing())


def test_an_encoder_of_pieces_may_give_more_units_than_words():
    class Pieces(_Repreparing):
        units = "pieces"

        def meddle(self, prepared):
            rows = [i for i in range(len(prepared)) for _ in range(2)]
            twice = self.take(prepared, rows)
            return replace(twice, positions=twice.positions * 2 + np.arange(len(rows)) % 2)

    with pytest.warns(UserWarning, match="pickle"):
        check_encoder(Pieces())
