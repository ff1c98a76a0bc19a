"""Checks of the laws of accumulators, encoders and repairs, for limbeck's own and for anybody's.

    check_accumulator(lambda: MySums(layers=2, dim=5))
    check_encoder(my_encoder)
    check_repair(lambda: MyRepair(components=3))

Each returns nothing, and raises `BrokenLaw` where a law does not hold.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck import state as files
from limbeck.accumulators import Accumulator
from limbeck.corpus.units import Sentence, Text
from limbeck.encoded import Encoded
from limbeck.encoders.protocol import Encoder, Prepared
from limbeck.errors import LimbeckError
from limbeck.seeds import generator_for, hash_ids
from limbeck.state import State

EXACT = 1e-10  #: states of float64 input may differ by this part of their largest number
NOISE = {torch.float64: 1e-5, torch.float32: 1e-5}  #: a vector may move by this part of its norm with the batch
HALF_NOISE = 2e-2  #: the same for 16-bit vectors
Compared = Iterator[tuple[str, State, State]]  # where, state that was got, state that was wanted
Encoding = tuple[Prepared, torch.Tensor]


class BrokenLaw(AssertionError):
    """A law does not hold; the message names it."""

    def __init__(self, who: str, law: str, found: str) -> None:
        super().__init__(f'{who} breaks the law "{law}": {found}.')


# --- accumulators -----------------------------------------------------------------------------


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
        except _Found as found:
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


class _Found(Exception):
    """What was found where a law does not hold."""


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
            raise _Found(f"update changed the batch's {name}")
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
            raise _Found(f"settings were {accumulator.settings()}, are {loaded.settings()}")


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
                raise _Found(f"the message on {what} does not name both {sides[0]} and {sides[1]}") from error
        else:
            raise _Found(f"{what} was taken in")
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


# --- encoders ---------------------------------------------------------------------------------


def check_encoder(encoder: Encoder, texts: Sequence[Text] | None = None) -> None:
    """Check an encoder that gives every word a vector, on `texts` or else on a few made ones.

    Where `prepare` does not pickle it only warns: such an encoder works, in one process.
    """
    texts = _example_texts() if texts is None else list(texts)
    who = f"The encoder {encoder.name!r}"
    whole = _encode(who, encoder, texts)
    _check_units(who, encoder, texts, whole[0])
    _compare(who, "encoding is deterministic", whole, [_encode(who, encoder, texts)])
    _compare(who, "batch size changes nothing", whole, [_encode(who, encoder, [text]) for text in texts])
    _compare(who, "order changes nothing", whole, [_encode(who, encoder, texts[::-1])])
    _encode(who, encoder, [])
    try:
        pickle.dumps(encoder.prepare)
    except Exception as error:
        warnings.warn(f"{who} works in one process only: prepare does not pickle ({error}).", stacklevel=2)


def _example_texts() -> list[Text]:
    documents = (
        "The bank of the river was steep .",
        "A bank lends money .|It wants the money back .",
        "Steep",
        "The the The bank",
        "She runs , and so does the river that she ran along .|Why ?|Because .",
    )
    return [
        Text(tuple(Sentence(tuple(s.split()), document=d, index=i) for i, s in enumerate(document.split("|"))))
        for d, document in enumerate(documents)
    ]


def _encode(who: str, encoder: Encoder, texts: Sequence[Text]) -> Encoding:
    law = "texts give (layers, units, dim) finite floats"
    prepared = encoder.prepare(texts)
    vectors = encoder.forward(prepared).detach().cpu()
    wanted = (len(encoder.layers), len(prepared), encoder.dim)
    if tuple(vectors.shape) != wanted:
        raise BrokenLaw(who, law, f"{len(texts)} texts gave {tuple(vectors.shape)}, not {wanted}")
    if not vectors.is_floating_point() or not bool(torch.isfinite(vectors).all()):
        raise BrokenLaw(who, law, f"{len(texts)} texts gave numbers that are no finite floats ({vectors.dtype})")
    return prepared, vectors


def _check_units(who: str, encoder: Encoder, texts: Sequence[Text], prepared: Prepared) -> None:
    law = "each word gets one vector or a counted reason"
    sizes = {(text.identity, s.identity): len(s.words) for text in texts for s in text.sentences}
    units = [*zip(prepared.texts.tolist(), prepared.sentences.tolist(), prepared.positions.tolist(), strict=True)]
    for (text, sentence, position), count in Counter(units).items():
        inside = 0 <= position < sizes.get((text, sentence), 0) or encoder.units != "words"
        if count > 1 or not inside or (text, sentence) not in sizes:
            raise BrokenLaw(who, law, f"unit {position} of sentence {sentence}, text {text}, has {count} vectors")
    words, dropped = sum(sizes.values()), sum(prepared.dropped.values())
    if encoder.units == "words" and len(units) + dropped != words:
        raise BrokenLaw(who, law, f"of {words} words {len(units)} have vectors and {dropped} were dropped")


def _compare(who: str, law: str, whole: Encoding, parts: Sequence[Encoding]) -> None:
    """Every unit of `whole` must be in `parts`, with the same vector but for float noise."""
    places = {key: row for row, key in enumerate(_keys(whole[0]))}
    found = [key for prepared, _ in parts for key in _keys(prepared)]
    dropped = sum((Counter(prepared.dropped) for prepared, _ in parts), Counter[str]())
    if sorted(found) != sorted(places) or dropped != Counter(whole[0].dropped):
        raise BrokenLaw(who, law, "other units get vectors, or other reasons are counted")
    vectors = torch.cat([v for _, v in parts], dim=1).to(torch.float64)
    wanted = whole[1][:, [places[key] for key in found]].to(torch.float64)
    gap = torch.linalg.vector_norm(vectors - wanted, dim=-1) / torch.linalg.vector_norm(wanted, dim=-1)
    if len(found) and not float(gap.max()) <= NOISE.get(whole[1].dtype, HALF_NOISE):
        raise BrokenLaw(who, law, f"a vector moves by {float(gap.max()):.2g} of its norm")


def _keys(prepared: Prepared) -> list[tuple[int, int]]:
    return list(zip(prepared.sentences.tolist(), prepared.positions.tolist(), strict=True))


# --- repairs ----------------------------------------------------------------------------------


def check_repair(make: Callable[[], Any], *, dim: int = 6, seed: int = 0) -> None:
    """Check the laws of repairs on made vectors; `make` returns a fresh repair that is not fitted.

    It is to be a subclass of `limbeck.repair.Repair`. Beside these laws stand scikit-learn's own
    (`sklearn.utils.estimator_checks.check_estimator`).
    """
    generator = generator_for(seed, "testing", "repairs")
    x = generator.normal(size=(90, dim)) * generator.uniform(0.2, 3.0, size=dim) + generator.normal(size=dim)
    new = generator.normal(size=(40, dim)) * 2.0
    who = f"The repair {type(make()).__name__!r}"
    wanted = make().fit(x.copy()).transform(new.copy())  # what fails without any law fails here, as it is
    for law, compare in REPAIR_LAWS.items():
        try:
            for where, got, expected in compare(make, x, new, wanted):
                scale = max(float(np.abs(expected).max(initial=0.0)), 1.0)
                if got.shape != expected.shape or not np.isfinite(got).all():
                    raise _Found(f"{where}, shape {got.shape} and finite or not, it should be {expected.shape}, finite")
                if not np.abs(got - expected).max(initial=0.0) <= REPAIR_NOISE.get(law, EXACT) * scale:
                    raise _Found(f"{where}, the vectors are not the same")
        except _Found as found:
            raise BrokenLaw(who, law, str(found)) from found.__cause__
        except Exception as error:
            raise BrokenLaw(who, law, f"{type(error).__name__} was raised ({error})") from error


Array = NDArray[Any]
Repaired = Iterator[tuple[str, Array, Array]]  # where, vectors that were got, vectors that were wanted


def _rows_left_alone(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    fitted, applied = x.copy(), new.copy()
    repair = make().fit(fitted)
    repair.transform(applied)
    yield "after fit", fitted, x
    yield "after transform", applied, new
    fitted *= -3.0
    yield "after the rows of the fit were overwritten", repair.transform(new), wanted
    if hasattr(repair, "partial_fit"):
        batch = x.copy()
        streamed = make().partial_fit(batch)
        batch *= -3.0
        yield "after a batch was overwritten", streamed.transform(new), make().partial_fit(x).transform(new)


def _one_by_one(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    repair = make().fit(x)
    yield "row by row", np.concatenate([repair.transform(row[None]) for row in new]), wanted


def _batches_of_rows(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    if not hasattr(make(), "partial_fit"):
        return
    whole = make().partial_fit(x).transform(new)
    for sizes in ([1, 30, 59], [45, 45]):
        repair = make()
        for rows in np.split(x, np.cumsum(sizes)[:-1]):
            repair.partial_fit(rows)
        yield f"in batches of {sizes}", repair.transform(new), whole


def _tensors_alike(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    repaired = make().fit(torch.from_numpy(x)).transform(torch.from_numpy(new))
    if not isinstance(repaired, torch.Tensor):
        raise _Found(f"a tensor became {type(repaired).__name__}")
    yield "fitted on tensors", repaired.numpy(), wanted


def _module_alike(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    module = make().fit(x).as_torch()
    yield "in float64", module(torch.from_numpy(new)).numpy(), wanted
    yield "in float32", module(torch.from_numpy(new.astype(np.float32))).numpy(), wanted
    yield "with more axes", module(torch.from_numpy(new).reshape(4, 10, -1)).reshape(40, -1).numpy(), wanted


def _file_and_back(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    from limbeck.repair import load  # scikit-learn is an extra

    with tempfile.TemporaryDirectory() as folder:
        make().fit(x).save(Path(folder) / "repair.safetensors")
        yield "after a file", load(Path(folder) / "repair.safetensors").transform(new), wanted


def _degenerate(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    for what, rows in {
        "one row": x[:1],
        "equal rows": np.repeat(x[:1], 5, axis=0),
        "zero rows": np.zeros_like(x),
        "fewer rows than dimensions": x[:3],
        "a constant dimension": np.where(np.arange(x.shape[1]) == 1, 0.1, x),
        "one direction": x[:, :1] * np.ones(x.shape[1]),
    }.items():
        repaired = make().fit(rows).transform(np.concatenate([rows, new]))
        if not np.isfinite(repaired).all():
            raise _Found(f"{what} gave NaN or infinity")
        yield f"on {what}", repaired, repaired


REPAIR_LAWS: dict[str, Callable[[Callable[[], Any], Array, Array, Array], Repaired]] = {
    "rows are neither changed nor kept": _rows_left_alone,
    "rows are repaired one by one": _one_by_one,
    "any batches give the same fit": _batches_of_rows,
    "tensors are repaired like arrays": _tensors_alike,
    "the torch module does what transform does": _module_alike,
    "file and back changes nothing": _file_and_back,
    "degenerate input has a defined result": _degenerate,
}
#: law -> part of the largest number by which the vectors may differ, where it is not EXACT
REPAIR_NOISE = {"the torch module does what transform does": 1e-6}
