"""Which words are probed, and by which probes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from limbeck.errors import UsageError
from limbeck.settings import Settings, option


@dataclass(frozen=True)
class Training:
    """How probes are trained.

    hidden         units of the hidden layer; 0 for none, a linear probe
    epochs         at most so many
    patience       stop a probe after so many epochs without a lower loss on the development side, and keep its best;
                   None: train all epochs and keep the last
    """

    hidden: int = 64
    epochs: int = 40
    patience: int | None = None
    batch: int = 256
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch) < 1 or self.hidden < 0 or self.learning_rate <= 0:
            raise UsageError("epochs, batch and learning rate must be above 0, hidden at least 0.", code="out_of_range")


#: preset -> how probes are trained: the paper's one hidden layer of 1,024, 400 epochs and no early stopping (batch and
#: optimizer are not told there), or what a laptop does in minutes
PRESETS = {"quick": Training(), "paper": Training(hidden=1024, epochs=400)}


@dataclass(frozen=True)
class LabelSettings(Settings, group="labeled words"):
    """Which labeled words are probed, and on which side of the split each is."""

    label: str | None = option(None, metavar="NAME", help="the label to probe for (default: what the format has)")
    classes: tuple[str, ...] = option(
        (), separator=",", metavar="NAMES", help="names or patterns of classes, separated by commas (default: all)"
    )
    words_by: Literal["lemma", "form"] | None = option(
        None, metavar="HOW", help="what makes one word: lemma (default, where known) or form"
    )
    max_contexts: int = option(
        100, minimum=1, metavar="N", help="most contexts of a word and class; of more, a random sample (100)"
    )
    min_words: int = option(10, minimum=1, common=True, metavar="N", help="minimum number of words per class (10)")
    dev: float = option(0.1, metavar="SHARE", help="share of the words for development (0.1)")
    test: float = option(0.3, metavar="SHARE", help="share of the words for the test (0.3)")
    train_words: Path | None = option(
        None, recorded=False, metavar="FILE", files=True, help="words to train on, one per line or as in WIKI-PSE"
    )
    test_words: Path | None = option(None, recorded=False, metavar="FILE", files=True, help="words to test on")
    seed: int = option(0, metavar="N", help="seed of the split and of the contexts that are kept (0)")


LABELS = LabelSettings()


@dataclass(frozen=True)
class ProbeSettings(Settings, group="probes"):
    """How probes are trained, and what stands beside them.

    Of several seeds the first also draws random vectors, labels and weights.
    """

    probe: tuple[Literal["mlp", "linear"], ...] = option(
        ("mlp",), separator=",", metavar="KINDS", help="mlp (default), linear, or mlp,linear"
    )
    preset: Literal["quick", "paper"] = option("quick", metavar="NAME", help="quick (default) or paper, see below")
    hidden: int | None = option(None, minimum=1, metavar="N", help="units of the hidden layer")
    epochs: int | None = option(None, minimum=1, metavar="N", help="at most N epochs")
    patience: int | None = option(
        None, minimum=0, metavar="N", help="stop after N epochs without a lower loss; 0 for never"
    )
    batch: int = option(Training.batch, minimum=1, metavar="N", help="rows per step (256)")
    learning_rate: float = option(Training.learning_rate, above=0, below=1, metavar="R", help="of Adam (0.001)")
    seeds: tuple[int, ...] = option((0,), separator=",", metavar="N,...", help="starts of the probes (0)")
    keep_probes: bool = option(False, recorded=False, help="write the trained probes into DIR/probes")
    probes: Path | None = option(
        None,
        recorded=False,
        metavar="RUN",
        files=True,
        help="try the kept probes of another run on this model, train none",
    )
    context_size: tuple[int, ...] = option(
        (), separator=",", minimum=0, metavar="N,...", help="words to each side, for example 0,2,4,8,16,32"
    )
    compare: tuple[Literal["average", "bag", "random", "none"], ...] = option(
        ("average", "bag", "random"), separator=",", metavar="NAMES", help="see below; none for nothing"
    )
    static: Any = option(None, recorded=False, metavar="FILE", files=True, help="word vectors to compare with")
    control: tuple[Literal["majority", "random-labels", "random-weights", "description-length", "none"], ...] = option(
        ("majority",), separator=",", metavar="NAMES", help="see below; none for nothing"
    )

    def check(self) -> None:
        for name in ("seeds", "context_size"):
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))
        for name in ("compare", "control"):
            if (value := getattr(self, name)) == ("none",):
                object.__setattr__(self, name, ())
            elif "none" in value:
                raise UsageError(f"--{name} must be none or names, not both.", code="exclusive", parameter=name)
        for name in ("probe", "seeds"):
            if not getattr(self, name):
                raise UsageError(f"--{name} must have at least one value.", code="required", parameter=name)
        if self.probes is not None:
            self._refuse_idle()

    def _refuse_idle(self) -> None:
        """Probes of another run have been trained, and are tried on words in context alone."""
        for name, value in self.given().items():
            if value != () and name not in ("probe", "seeds", "probes"):
                flag = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{flag} applies to probes that are trained, and --probes trains none: omit it.",
                    code="no_effect",
                    parameter=name,
                )

    def training(self, probe: str) -> Training:
        """How probes of a kind are trained."""
        preset = PRESETS[self.preset]
        return Training(
            hidden=0 if probe == "linear" else self.hidden or preset.hidden,
            epochs=self.epochs or preset.epochs,
            patience=preset.patience if self.patience is None else self.patience or None,
            batch=self.batch,
            learning_rate=self.learning_rate,
        )
