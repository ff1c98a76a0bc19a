"""The laws of accumulators."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from limbeck import state as files
from limbeck.accumulators import Accumulator
from limbeck.encoded import Encoded
from limbeck.errors import LimbeckError
from limbeck.seeds import generator_for, hash_ids
from limbeck.state import State
from limbeck.testing.laws import EXACT, BrokenLaw, Found

Compared = Iterator[tuple[str, State, State]]  # where, state that was got, state that was wanted


def check_accumulator(
    make: Callable[[], Accumulator], *, layers: int = 2, dim: int = 5, words: int = 7, seed: int = 0
) -> None:
    """Check every law of `limbeck.accumulators.protocol` on made data.

    `make` returns a fresh empty accumulator for vectors of (layers, n, dim) and words 0 … words − 1.
    """
    kit = _Kit(make, made_texts(layers=layers, dim=dim, words=words, seed=seed), seed)
    kit.fill(kit.texts)  # what fails without any law fails here, as it is
    who = f"The accumulator {make().name!r}"
    for law, (exact, compare) in LAWS.items():
        try:
            for where, got, wanted in compare(kit):
                difference = _difference(got, wanted, exact=exact)
                if difference:
                    raise BrokenLaw(who, law, f"{where}, {difference}")
        except BrokenLaw:
            raise
        except Found as found:
            raise BrokenLaw(who, law, str(found)) from found.__cause__
        except Exception as error:
            raise BrokenLaw(who, law, f"{type(error).__name__} was raised ({error})") from error


def made_texts(*, layers: int, dim: int, words: int, seed: int = 0, texts: int = 23) -> list[Encoded]:
    """Texts of one to three sentences of one to six words, a batch each, in float64.

    Words repeat, some are not followed (−1), and the vectors are neither centered nor of one length.
    """
    generator = generator_for(seed, "testing")
    made: list[Encoded] = []
    count = 0
    for text in range(1, texts + 1):
        sizes = generator.integers(1, 7, size=int(generator.integers(1, 4)))
        n = int(sizes.sum())
        vectors = generator.normal(size=(layers, 1, dim)) + generator.normal(size=(layers, n, dim))
        ids = np.asarray(generator.integers(-1, words, size=n), dtype=np.int64)
        batch = Encoded(
            vectors=torch.from_numpy(vectors * generator.uniform(0.2, 3.0, size=(1, n, 1))),
            words=ids,
            sentences=1000 * text + np.repeat(np.arange(len(sizes)), sizes),
            texts=np.full(n, 1000 * text),
            occurrences=hash_ids(np.arange(count, count + n)),
            strings=[f"wörd {i}" for i in ids],
        )
        made.append(batch)
        count += n
    return made


def join(batches: Sequence[Encoded]) -> Encoded:
    """Several batches as one, which shares no memory with them."""
    columns: dict[str, Any] = {name: np.concatenate([getattr(b, name) for b in batches]) for name in _COLUMNS}
    strings = [string for batch in batches for string in batch.strings]
    return Encoded(vectors=torch.cat([b.vectors for b in batches], dim=1), strings=strings, **columns)


_COLUMNS = ("words", "sentences", "texts", "occurrences")


class _Kit:
    """Made texts, and accumulators filled with them; everything anew, so that one broken law hides no other."""

    def __init__(self, make: Callable[[], Accumulator], texts: list[Encoded], seed: int) -> None:
        self.make = make
        self.texts = texts
        self.generator = generator_for(seed, "testing", "splits")

    def fill(self, texts: Sequence[Encoded], *, size: int = 0) -> Accumulator:
        """Whole texts in batches of `size` texts, in one without it."""
        made = self.make()
        for start in range(0, len(texts), size or len(texts)):
            made.update(join(texts[start : start + (size or len(texts))]))
        return made

    def merged(self, mine: Accumulator, *others: Accumulator) -> Accumulator:
        for other in others:
            mine.merge(other)
        return mine

    def reload(self, accumulator: Accumulator) -> Accumulator:
        with tempfile.TemporaryDirectory() as folder:
            files.save(Path(folder) / "state.npz", accumulator.state())
            arrays, _ = files.load(Path(folder) / "state.npz")
        return type(accumulator).from_state(arrays, **accumulator.settings())


def _input_left_alone(kit: _Kit) -> Compared:
    batch, untouched, accumulator = join(kit.texts), join(kit.texts), kit.make()
    accumulator.update(batch)
    for name in ("vectors", *_COLUMNS):
        if not np.array_equal(np.asarray(getattr(batch, name)), np.asarray(getattr(untouched, name))):
            raise Found(f"update changed the batch's {name}")
    before = _copied(accumulator.state())
    batch.vectors.mul_(-3.0)
    for name in _COLUMNS:
        getattr(batch, name)[:] = getattr(batch, name)[::-1].copy()
    yield "after the batch's arrays were overwritten", accumulator.state(), before


def _state_is_a_copy(kit: _Kit) -> Compared:
    accumulator = kit.fill(kit.texts)
    taken = accumulator.state()
    kept = _copied(taken)
    accumulator.update(join(kit.texts))
    yield "after a later update", taken, kept
    taken = _copied(kept)
    type(accumulator).from_state(taken, **accumulator.settings()).update(join(kit.texts))
    yield "after an update of what was made from it", taken, kept


def _empty_batch(kit: _Kit) -> Compared:
    for accumulator in (kit.make(), kit.fill(kit.texts)):
        before = _copied(accumulator.state())
        accumulator.update(join(kit.texts).take(np.empty(0, dtype=np.int64)))
        yield "after an empty batch", accumulator.state(), before


def _empty_is_identity(kit: _Kit) -> Compared:
    full = kit.fill(kit.texts).state()
    yield "with the empty one on the left", kit.merged(kit.make(), kit.fill(kit.texts)).state(), full
    yield "with the empty one on the right", kit.merged(kit.fill(kit.texts), kit.make()).state(), full
    yield "with two empty ones", kit.merged(kit.make(), kit.make()).state(), kit.make().state()


def _other_left_alone(kit: _Kit) -> Compared:
    for mine in (kit.make(), kit.fill(kit.texts[0::2])):
        other = kit.fill(kit.texts[1::2])
        before = _copied(other.state())
        mine.merge(other)
        yield "after it was merged", other.state(), before
        merged = _copied(mine.state())
        other.update(join(kit.texts))
        yield "after the other side went on", mine.state(), merged


def _commutes(kit: _Kit) -> Compared:
    a, b = kit.texts[0::2], kit.texts[1::2]
    left, right = kit.merged(kit.fill(a), kit.fill(b)), kit.merged(kit.fill(b), kit.fill(a))
    yield "with the sides exchanged", left.state(), right.state()


def _associates(kit: _Kit) -> Compared:
    a, b, c = kit.texts[0::3], kit.texts[1::3], kit.texts[2::3]
    left = kit.merged(kit.fill(a), kit.fill(b), kit.fill(c))
    right = kit.merged(kit.fill(a), kit.merged(kit.fill(b), kit.fill(c)))
    yield "with the brackets moved", left.state(), right.state()


def _batching(kit: _Kit) -> Compared:
    for size in (1, 2, 5):
        yield f"in batches of {size} texts", kit.fill(kit.texts, size=size).state(), kit.fill(kit.texts).state()


def _order(kit: _Kit) -> Compared:
    for size in (0, 3):
        shuffled = [kit.texts[i] for i in kit.generator.permutation(len(kit.texts))]
        yield "with the texts shuffled", kit.fill(shuffled, size=size).state(), kit.fill(kit.texts).state()


def _sharding(kit: _Kit) -> Compared:
    for count in (1, 2, 7):
        shards = [kit.fill(kit.texts[i::count], size=2) for i in kit.generator.permutation(count)]
        yield f"in {count} shards", kit.merged(kit.make(), *shards).state(), kit.fill(kit.texts).state()


def _to_file_and_back(kit: _Kit) -> Compared:
    for accumulator, kind in ((kit.make(), "an empty one"), (kit.fill(kit.texts), "a full one")):
        loaded = kit.reload(accumulator)
        yield f"for {kind}", loaded.state(), accumulator.state()
        if loaded.settings() != accumulator.settings():
            raise Found(f"settings were {accumulator.settings()}, are {loaded.settings()}")


def _merge_after_reload(kit: _Kit) -> Compared:
    a, b = kit.texts[0::2], kit.texts[1::2]
    before = kit.merged(kit.fill(a), kit.fill(b))
    after = kit.merged(kit.reload(kit.fill(a)), kit.reload(kit.fill(b)))
    yield "with both sides reloaded", after.state(), before.state()
    fresh, empty = kit.merged(kit.make(), kit.fill(b)), kit.merged(kit.reload(kit.make()), kit.fill(b))
    yield "with a reloaded empty one", empty.state(), fresh.state()


def _unlike_refused(kit: _Kit) -> Compared:
    doubled = join([replace(text, vectors=text.vectors.repeat(1, 1, 2)) for text in kit.texts])
    mine, dim = kit.fill(kit.texts), doubled.vectors.shape[2]
    attempts = [("vectors of another length", partial(mine.update, doubled), (dim // 2, dim))]
    for name, value in mine.settings().items():
        other = _with_setting(kit.make(), name, _another(value))
        attempts.append((f"another {name}", partial(mine.merge, other), (value, other.settings()[name])))
    for what, attempt, sides in attempts:
        try:
            attempt()
        except LimbeckError as error:
            if not all(str(side) in str(error) for side in sides):
                raise Found(f"the message on {what} does not name both {sides[0]} and {sides[1]}") from error
        else:
            raise Found(f"{what} was taken in")
        yield f"after {what} was refused", mine.state(), kit.fill(kit.texts).state()


#: law -> (whether to the last bit, what to compare); in an order in which the plainest failure comes first
LAWS: dict[str, tuple[bool, Callable[[_Kit], Compared]]] = {
    "input is neither changed nor kept": (True, _input_left_alone),
    "state is a copy": (True, _state_is_a_copy),
    "an empty batch changes nothing": (True, _empty_batch),
    "empty is the identity of merge": (False, _empty_is_identity),
    "merge leaves the other side alone": (True, _other_left_alone),
    "merge commutes": (False, _commutes),
    "merge associates": (False, _associates),
    "any batching gives the same state": (False, _batching),
    "any order gives the same state": (False, _order),
    "any sharding gives the same state": (False, _sharding),
    "state to file to state is bit-exact": (True, _to_file_and_back),
    "merging after reload equals merging before": (True, _merge_after_reload),
    "unlike settings are refused, naming both sides": (True, _unlike_refused),
}


def _copied(state: State) -> State:
    return {name: array.copy() for name, array in state.items()}


def _difference(got: State, wanted: State, *, exact: bool) -> str:
    """How two states differ, in a few words; empty where they are the same."""
    if set(got) != set(wanted):
        return f"the arrays are {sorted(got)}, not {sorted(wanted)}"
    for name, right in wanted.items():
        left = got[name]
        if (left.shape, left.dtype) != (right.shape, right.dtype):
            return f"{name} is {left.dtype}{left.shape}, not {right.dtype}{right.shape}"
        if left.tobytes() == right.tobytes():
            continue
        if exact or left.dtype.kind != "f":
            return f"{name} is not the same"
        scale = float(np.abs(right[np.isfinite(right)]).max(initial=0.0))
        if not np.allclose(left, right, rtol=0.0, atol=EXACT * scale, equal_nan=True):
            return f"{name} is not the same within {EXACT:g} of its largest number, {scale:.3g}"
    return ""


def _another(value: Any) -> Any:
    """A value of the same kind that is not the same."""
    return value + ("-other" if isinstance(value, str) else [0] if isinstance(value, list) else 1)


def _with_setting(accumulator: Accumulator, name: str, value: Any) -> Accumulator:
    """An empty accumulator of the same kind with one setting changed."""
    settings = {**accumulator.settings(), name: value}
    try:
        made: Accumulator = type(accumulator)(**settings)
        if made.settings() == settings:
            return made
    except Exception:  # a setting that only stands for what the constructor takes, such as a fingerprint
        pass
    accumulator.settings = lambda: settings  # type: ignore[method-assign]
    return accumulator
