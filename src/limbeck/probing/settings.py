"""Settings of a probing run; the command line's options of the same names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from limbeck.errors import UsageError, choose
from limbeck.parameters import check_fields
from limbeck.probing.batched import Training

#: preset -> how probes are trained: the paper's one hidden layer of 1,024, 400 epochs and no early stopping (batch and
#: optimiser are not told there), or what a laptop does in minutes
PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"hidden": 64, "epochs": 40, "patience": None},
    "paper": {"hidden": 1024, "epochs": 400, "patience": None},
}
PROBES = ("mlp", "linear")
#: what can be probed beside the layers in context
COMPARED = ("average", "bag", "random")
CONTROLS = ("majority", "random-labels", "random-weights", "description-length")


@dataclass(frozen=True)
class ProbeSettings:
    """What is probed and how.

    label, words_by, classes, max_contexts, min_words   see `limbeck.probing.read_labelled`
    dev, test     shares of the words
    preset        how probes are trained: one of `PRESETS`; hidden, epochs, patience (0: none), batch and learning_rate
                  change it
    probes        mlp, linear
    compare       of `COMPARED`; static vectors are compared when they are given
    context_size  words to each side of the occurrence, beside whole sentences
    controls      of `CONTROLS`
    seeds         starts of the probes; the first also draws random vectors, labels and weights
    seed          of the split and of the contexts that are kept
    """

    label: str | None = None
    words_by: str | None = None
    classes: tuple[str, ...] = ()
    max_contexts: int = 100
    min_words: int = 10
    dev: float = 0.1
    test: float = 0.3
    preset: str = "quick"
    hidden: int | None = None
    epochs: int | None = None
    patience: int | None = None
    batch: int = 256
    learning_rate: float = 1e-3
    probes: tuple[str, ...] = ("mlp",)
    compare: tuple[str, ...] = ("average", "bag", "random")
    context_size: tuple[int, ...] = ()
    controls: tuple[str, ...] = ("majority",)
    seeds: tuple[int, ...] = (0,)
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        choose(self.preset, PRESETS, what="--preset")
        for given, known, what in (
            (self.probes, PROBES, "--probe"),
            (self.compare, COMPARED, "--compare"),
            (self.controls, CONTROLS, "--control"),
        ):
            for name in given:
                choose(name, known, what=what)
        if not self.probes or not self.seeds:
            raise UsageError("at least one probe and one seed are needed; got none.")
        if any(size < 0 for size in self.context_size):
            raise UsageError(f"--context-size is words to each side, 0 or more; got {min(self.context_size)}.")
        if min(self.max_contexts, self.min_words) < 1:
            raise UsageError("--max-contexts and --min-words must be at least 1.")
        self.training("mlp")

    def training(self, probe: str) -> Training:
        """How probes of a kind are trained."""
        chosen = dict(PRESETS[self.preset])
        for name in ("hidden", "epochs", "patience"):
            if (value := getattr(self, name)) is not None:
                chosen[name] = value
        if probe == "linear":
            chosen["hidden"] = 0
        elif chosen["hidden"] < 1:
            raise UsageError("--hidden must be at least 1; a probe without is --probe linear.")
        chosen["patience"] = chosen["patience"] or None
        return Training(**chosen, batch=self.batch, learning_rate=self.learning_rate)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def tuple_of(value: str | Sequence[Any]) -> tuple[Any, ...]:
    """A sequence, or a string with commas between.

    >>> tuple_of("mlp, linear")
    ('mlp', 'linear')
    """
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value)
