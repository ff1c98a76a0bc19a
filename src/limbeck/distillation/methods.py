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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from limbeck.distillation.method_settings import (
    BaselineSettings,
    BestSettings,
    MethodSettings,
    NgramSettings,
    settings_from,
)
from limbeck.distillation.settings import TEMPLATE, TEMPLATES, DistillSettings
from limbeck.distillation.x2static.settings import Regression, Sent2Vec, X2Static
from limbeck.errors import UsageError, choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from limbeck.accumulators import Accumulator
    from limbeck.distillation.rows import Known, Rows
    from limbeck.encoders.protocol import Encoder
    from limbeck.stream.context import RunContext
    from limbeck.stream.plan import Plan
    from limbeck.stream.sources import Source

X2STATIC = "x2static"  #: the method that has presets
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
        context: RunContext,
        /,
        *,
        start: NDArray[Any] | None,
    ) -> Trained: ...


class Compose(Protocol):
    def __call__(
        self, parts: Mapping[str, Rows], known: Known, settings: Any, /, *, device: str, progress: bool
    ) -> Rows: ...


class Alone(Protocol):
    def __call__(
        self, encoder: Encoder, words: Sequence[str], settings: DistillSettings, context: RunContext, /
    ) -> list[Rows]: ...


@dataclass(frozen=True)
class Method:
    """A way to distil; see the module's text.

    summary   one line for people
    start     of train: see above; "none": it always begins anew
    settings  of train and compose: the class of its own settings
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
    settings: type[MethodSettings] | None = None
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


def _of(module: str, name: str) -> Any:
    return later(f"limbeck.distillation.{module}", name)


_train = _of("x2static.training", "train")


def _baseline(summary: str, function: str, *, ngrams: bool = False) -> Method:
    train, own = _of("baselines", function), NgramSettings if ngrams else BaselineSettings
    return Method(summary, train=train, start=NOTHING, settings=own, untaught=True, ngrams=ngrams)


METHODS: dict[str, Method] = {
    "best": Method(
        "templates, average, contexts, spelling in one vector",
        parts=BestSettings.parts,
        compose=_of("best", "best_rows"),
        settings=BestSettings,
    ),
    "word": Method(
        "the word alone, without the text",
        alone=_of("alone", "word_vectors"),
        unaltered=True,
        heeds=("special_input", "special_mean"),
    ),
    "frame": Method(
        "the word in a sentence about nothing else",
        alone=_of("alone", "frame_vectors"),
        unaltered=True,
        heeds=("template",),
    ),
    "frames": Method(
        "the mean of several sentences about the word alone",
        alone=_of("best", "frames_vectors"),
        heeds=("template",),
    ),
    "contexts": Method(
        "the mean of the texts it occurs in",
        accumulators=_of("passes", "contexts"),
        finish=_of("passes", "mean_context"),
    ),
    "average": Method(
        "the average over its contexts",
        accumulators=_of("passes", "pools"),
        finish=_of("passes", "pooled"),
        unaltered=True,
        heeds=("over_contexts",),
    ),
    "principal": Method(
        "the first principal component of its contexts",
        accumulators=_of("passes", "occurrences"),
        finish=_of("passes", "principal"),
        heeds=("max_contexts",),
    ),
    "x2static": Method(
        "trained towards its contexts, away from others", train=_train, settings=X2Static, together=True
    ),
    "sent2vec": Method(
        "trained without the teacher, on the text alone",
        train=_train,
        settings=Sent2Vec,
        untaught=True,
        together=True,
    ),
    "regression": Method(
        "trained so that its sentences' means are right",
        train=_train,
        start="average",
        settings=Regression,
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
    usual = TEMPLATES if "frames" in (name, *parts_of(name, settings)) else (TEMPLATE,)
    return settings.template or usual


def in_order(settings: DistillSettings) -> list[str]:
    """The methods that are asked for and those they need, each after what it needs."""
    if not settings.methods:
        raise UsageError(f"--method must be at least one of {', '.join(METHODS)}.", code="required", parameter="method")
    if settings.start is not None:
        choose(settings.start, [NOTHING, *METHODS], what="--start")
    ordered: list[str] = []

    def add(name: str, asked_by: tuple[str, ...]) -> None:
        if name in asked_by:
            raise UsageError(
                f"{name} cannot be made before itself ({', '.join(asked_by)}): choose another --start.",
                code="exclusive",
                parameter="start",
            )
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
    kind, given = METHODS[name].settings, settings.set.get(name, {})
    if kind is None:
        if given:
            raise UsageError(
                f"--set: {name} has no settings of its own; got {', '.join(given)}: omit it.",
                code="no_effect",
                parameter="set",
            )
        return None
    if settings.seed and "seed" in kind.names():
        given = {"seed": settings.seed, **given}
    return settings_from(kind, given, method=name)


def with_methods(settings: DistillSettings, usual: str) -> DistillSettings:
    """The settings with methods, `usual` where none is named, and with each value of `set` at its method."""
    settings = settings if settings.method is not None else replace(settings, method=(usual,))
    values = {name: dict(some) for name, some in settings.set.items() if name}
    loose = settings.set.get("", {})
    if loose:
        able = [name for name in settings.methods if name in METHODS and METHODS[name].settings is not None]
        if len(able) != 1:
            first, value = next(iter(loose.items()))
            told = f"one of {', '.join(able)} (METHOD.NAME=VALUE)" if able else "methods with settings"
            raise UsageError(
                f"--set {first}={value} must be for {told}; got --method {','.join(settings.methods)}.",
                code="ambiguous" if able else "no_effect",
                parameter="set",
            )
        values[able[0]] = loose | values.get(able[0], {})
    if settings.preset is not None:
        values[X2STATIC] = {"preset": settings.preset, **values.get(X2STATIC, {})}
    return replace(settings, set=values)
