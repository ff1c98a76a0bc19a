"""Ways to distil, by name. A new one is one more entry of METHODS.

A method gets its vectors in one of four ways:

- from the pass: `accumulators` says what the one pass over the text fills, `finish` makes vectors of it;
- from the teacher alone: `alone` reads words without the text;
- by training: `train` reads the text as often as it likes, begins from the vectors of the method `start` if it names
  one (a user may name another), and gives the vectors of one layer, the source's last;
- of others: `compose` makes vectors of those of `parts`, which are made first; these may be a function of its settings.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from limbeck.accumulators import Accumulator, Occurrences, WordContexts, WordPools
from limbeck.distillation.alone import frame_vectors, word_vectors
from limbeck.distillation.best import FRAMES, BestSettings, best_parts, best_rows, frames_vectors
from limbeck.distillation.principal import principal_rows
from limbeck.distillation.rows import Known, Rows
from limbeck.distillation.settings import FRAME, DistillSettings
from limbeck.distillation.x2static.settings import regression_settings, sent2vec_settings, x2static_settings
from limbeck.encoders.protocol import Encoder
from limbeck.errors import UsageError, choose
from limbeck.stream.plan import Plan
from limbeck.stream.sources import Source

if TYPE_CHECKING:
    from limbeck.stream.workers import Workers

Ints = NDArray[np.int64]
NOTHING = "none"  #: what a training begins from where it begins anew


@dataclass(frozen=True)
class Shape:
    """Of a source's vectors."""

    layers: int
    dim: int


@dataclass(frozen=True)
class Trained:
    """What a method that trains gives.

    matrix  (words, d), a row for each word of the plan's vocabulary
    losses  the loss curve, rows of a table, as many as are worth keeping
    about   what a reader of the card should know
    """

    matrix: NDArray[Any]
    losses: Sequence[Mapping[str, float]] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


class Train(Protocol):
    def __call__(
        self,
        source: Source,
        plan: Plan,
        settings: Any,
        /,
        *,
        checkpoint: Path | None,
        workers: Workers | int,
        progress: bool,
        start: NDArray[Any] | None,
    ) -> Trained: ...


class Compose(Protocol):
    def __call__(
        self, parts: Mapping[str, Rows], known: Known, settings: Any, /, *, device: str, progress: bool
    ) -> Rows: ...


class Alone(Protocol):
    def __call__(
        self,
        encoder: Encoder,
        words: Sequence[str],
        settings: DistillSettings,
        /,
        *,
        state: Path | None,
        workers: Workers | None,
        progress: bool,
    ) -> list[Rows]: ...


@dataclass(frozen=True)
class Method:
    """A way to distil; see the module's text.

    summary   one line for people
    start     of train: see above; "none": it always begins anew
    settings  of train and compose: makes a dataclass of the values that were given by name, and refuses wrong ones
    untaught  of train: the teacher has no part in it, so that its vectors cannot stand in for a word the text lacks
    ngrams    of train: it has vectors for such words itself, by their characters
    unaltered  vectors are the teacher's own of the word, so that another such can stand beside them as it is
    heeds     settings of a run that nothing but it and others that name them heed: refused where none is asked for
    together  of train: processes of a torch.distributed group can do it together
    """

    summary: str
    accumulators: Callable[[Plan, Shape, DistillSettings], list[Accumulator]] | None = None
    finish: Callable[[Sequence[Any], int, DistillSettings], Rows] | None = None  # filled, number of the layer
    alone: Alone | None = None
    train: Train | None = None
    start: str = ""
    parts: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()
    compose: Compose | None = None
    settings: Callable[..., Any] | None = None
    untaught: bool = False
    ngrams: bool = False
    unaltered: bool = False
    heeds: tuple[str, ...] = ()
    together: bool = False

    @property
    def one_layer(self) -> bool:
        """Whether it gives vectors of the source's last layer only."""
        return self.train is not None or self.compose is not None


def later(module: str, name: str) -> Any:
    """A function of a module that is loaded when it is called, for methods that few runs need."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return call


def _pools(plan: Plan, shape: Shape, settings: DistillSettings) -> list[Accumulator]:
    size = {"layers": shape.layers, "dim": shape.dim, "words": len(plan.vocabulary)}
    return [WordPools(**size, pools=[settings.over_contexts], vocabulary=plan.fingerprint)]


def _pooled(filled: Sequence[Any], layer: int, settings: DistillSettings) -> Rows:
    return Rows(filled[0].pooled(settings.over_contexts, layer), filled[0].n > 0)


def _occurrences(plan: Plan, shape: Shape, settings: DistillSettings) -> list[Accumulator]:
    most = int(plan.vocabulary.counts.max(initial=1))
    return [
        Occurrences(
            layers=shape.layers,
            dim=shape.dim,
            capacity=max(1, min(settings.max_contexts, most)),
            chosen=list(range(len(plan.vocabulary))),
            vocabulary=plan.fingerprint,
        )
    ]


def _principal(filled: Sequence[Any], layer: int, settings: DistillSettings) -> Rows:
    return principal_rows(filled[0], layer)


_train = later("limbeck.distillation.x2static.training", "train")


def _baseline(summary: str, function: str, *, ngrams: bool = False) -> Method:
    own = "Settings" if ngrams else "WordSettings"
    train, settings = (later("limbeck.distillation.baselines", name) for name in (function, own))
    return Method(summary, train=train, start=NOTHING, settings=settings, untaught=True, ngrams=ngrams)


def _contexts(plan: Plan, shape: Shape, settings: DistillSettings) -> list[Accumulator]:
    size = {"layers": shape.layers, "dim": shape.dim, "words": len(plan.vocabulary)}
    return [WordContexts(**size, vocabulary=plan.fingerprint)]


def _mean_context(filled: Sequence[Any], layer: int, settings: DistillSettings) -> Rows:
    return Rows(filled[0].mean(layer), filled[0].n > 0)


METHODS: dict[str, Method] = {
    "best": Method(
        "frames, average, contexts, spelling, neighbours in one",
        parts=best_parts,
        compose=best_rows,
        settings=BestSettings,
    ),
    "word": Method(
        "the word alone, without the text", alone=word_vectors, unaltered=True, heeds=("special_input", "special_mean")
    ),
    "frame": Method(
        "the word in a sentence about nothing else", alone=frame_vectors, unaltered=True, heeds=("templates",)
    ),
    "frames": Method("the mean of several sentences about the word alone", alone=frames_vectors, heeds=("templates",)),
    "contexts": Method("the mean of the texts it occurs in", accumulators=_contexts, finish=_mean_context),
    "average": Method(
        "the average over its contexts", accumulators=_pools, finish=_pooled, unaltered=True, heeds=("over_contexts",)
    ),
    "principal": Method(
        "the first principal component of its contexts",
        accumulators=_occurrences,
        finish=_principal,
        heeds=("max_contexts",),
    ),
    "x2static": Method(
        "trained towards its contexts, away from others", train=_train, settings=x2static_settings, together=True
    ),
    "sent2vec": Method(
        "trained without the teacher, on the text alone",
        train=_train,
        settings=sent2vec_settings,
        untaught=True,
        together=True,
    ),
    "regression": Method(
        "trained so that its sentences' means are right",
        train=_train,
        start="average",
        settings=regression_settings,
        together=True,
    ),
    "skipgram": _baseline("skip-gram on the same text, without the teacher", "train_skipgram"),
    "cbow": _baseline("CBOW on the same text, without the teacher", "train_cbow"),
    "skipgram-ngrams": _baseline(
        "skip-gram with character n-grams, without the teacher", "train_skipgram_ngrams", ngrams=True
    ),
    "cbow-ngrams": _baseline("CBOW with character n-grams, without the teacher", "train_cbow_ngrams", ngrams=True),
}


def predicts(name: str, settings: DistillSettings) -> bool:
    """Whether a word that the text lacks is brought into the method's space, see `limbeck.distillation.predicting`."""
    method = METHODS[name]
    if settings.unseen == "drop" or method.untaught or method.alone is not None:
        return False
    return not method.unaltered or settings.over_contexts != "mean"  # a least or greatest is no vector of the teacher


def start_of(name: str, settings: DistillSettings) -> str:
    """The method whose vectors a training begins from; "" for none."""
    method = METHODS[name]
    if method.train is None:
        return ""
    usual = settings.start in (None, name) or method.start == NOTHING  # the one that others begin from has its own
    start = method.start if usual else settings.start
    return "" if start is None or start == NOTHING else start


def parts_of(name: str, settings: DistillSettings) -> tuple[str, ...]:
    """The methods that one is made of."""
    parts = METHODS[name].parts
    return parts(own_settings(name, settings)) if callable(parts) else parts


def templates_of(name: str, settings: DistillSettings) -> tuple[str, ...]:
    """The sentences that words are read in for a method, or for what stands in for it."""
    usual = FRAMES if "frames" in (name, *parts_of(name, settings)) else (FRAME,)
    return settings.templates or usual


def in_order(settings: DistillSettings) -> list[str]:
    """The methods that are asked for and those they need, each after what it needs."""
    if not settings.methods:
        raise UsageError(f"at least one method is needed: {', '.join(METHODS)}.")
    if settings.start is not None:
        choose(settings.start, [NOTHING, *METHODS], what="--start")
    ordered: list[str] = []

    def add(name: str, asked_by: tuple[str, ...]) -> None:
        if name in asked_by:
            raise UsageError(f"{name} cannot be made before itself ({', '.join(asked_by)}): choose another --start.")
        choose(name, METHODS, what="--method")
        for other in filter(None, (*parts_of(name, settings), start_of(name, settings))):
            add(other, (*asked_by, name))
        if name not in ordered:
            ordered.append(name)

    for name in settings.methods:
        add(name, ())
    return ordered


def own_settings(name: str, settings: DistillSettings) -> Any:
    """The settings of a method that trains or composes, made of what was given for it."""
    method, given = METHODS[name], settings.train.get(name, {})
    if method.settings is None:
        if given:
            raise UsageError(f"{name} has no settings of its own; got {', '.join(given)}: leave --set out.")
        return None
    usual = method.settings()
    if settings.seed and hasattr(usual, "seed"):
        given = {"seed": settings.seed, **given}
    values = defaults(method.settings, usual)
    for key in given:
        choose(key, values, what=f"--set of {name}")
    return method.settings(
        **{
            key: of_kind(f"--set {key} of {name}", value, values[key], kind_of(key, usual, values[key]))
            for key, value in given.items()
        }
    )


def defaults(make: Callable[..., Any], usual: Any) -> dict[str, Any]:
    """Names and defaults of settings: those that are made, and what else the function that makes them asks for."""
    found = {one.name: getattr(usual, one.name) for one in fields(usual)}
    others = inspect.signature(make).parameters.values()
    return found | {one.name: one.default for one in others if one.name not in found and one.default is not one.empty}


def kind_of(key: str, usual: Any, default: Any) -> type:
    """The type of a setting, which is written down where its default is None."""
    if default is not None:
        return type(default)
    (kind,) = (one for one in get_args(get_type_hints(type(usual))[key]) if one is not type(None))
    found: type = get_origin(kind) or kind
    return found


def of_kind(what: str, value: Any, usual: Any, kind: type) -> Any:
    """A value of the kind that is asked for; a number is a name too, as of a layer. Others are refused."""
    if value is None and usual is None:
        return None
    if kind is str and type(value) is int:
        return str(value)
    kinds: dict[type, tuple[tuple[type, ...], str]] = {
        bool: ((bool,), "True or False"),
        int: ((int,), "a whole number"),
        float: ((int, float), "a number"),
        str: ((str,), "a name"),
        tuple: ((tuple, list), "several numbers in brackets"),
    }
    allowed, told = kinds.get(kind, ((object,), ""))
    if not isinstance(value, allowed) or (isinstance(value, bool) and allowed not in ((bool,), (object,))):
        such = "" if usual is None else f", such as {usual}"
        raise UsageError(f"{what} must be {told}{such}; got {value!r}.")
    return value
