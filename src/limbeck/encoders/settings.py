"""Options of a model: which layers it gives, of which units, on which device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from limbeck.encoders.layers import read_layers
from limbeck.settings import Settings, option

Units = Literal["words", "pieces", "characters"]


@dataclass(frozen=True)
class DeviceSettings(Settings, group="model"):
    """How a model is found, and where it computes."""

    revision: str | None = option(None, help="branch, tag or commit of a model on the hub")
    device: str | None = option(
        None, suggestions=("auto", "cpu", "cuda", "mps"), help="auto (default), cpu, cuda, cuda:1 or mps"
    )
    trust_remote_code: bool = option(False, help="run code that comes with the model")


@dataclass(frozen=True)
class LoadingSettings(DeviceSettings, group="model"):
    """The same of a model that is not trained, so that half its precision may do."""

    dtype: Literal["float32", "bfloat16", "float16"] | None = option(
        None, help="precision of the model: float32 (default), bfloat16 or float16"
    )


@dataclass(frozen=True)
class WindowSettings(Settings, group="model"):
    """How much a model reads at once, and whether its first position counts."""

    window: int | None = option(
        None, minimum=1, metavar="N", help="most subwords that are read at once (default: the model's)"
    )
    keep_first: bool = option(False, help="keep a decoder's first position in the statistics")


@dataclass(frozen=True)
class PoolingSettings(WindowSettings, group="model"):
    """The same, how subwords become words, and which half of a model is read."""

    pooling: Literal["mean", "first", "last", "sum", "max", "min"] | None = option(
        None, metavar="HOW", help="subwords to words: mean (default), first, last, sum, max or min"
    )
    stack: Literal["encoder", "decoder"] | None = option(
        None, metavar="NAME", help="of an encoder-decoder: encoder (default) or decoder"
    )


@dataclass(frozen=True)
class LayerSettings(PoolingSettings, group="model"):
    """The same, and which layers are read."""

    layers: Any = option(
        None,
        common=True,
        metavar="LAYERS",
        suggestions=("all", "table"),
        help='layers, for example "0,3-5,-1"; "table" is the bare embedding table',
    )

    def check(self) -> None:
        read_layers(self.layers)


@dataclass(frozen=True)
class UnitSettings(Settings, group="model"):
    """What a model reads and gives a vector."""

    units: Units | None = option(
        None, metavar="UNIT", help="what gets a vector: words (default), pieces (subwords) or characters"
    )
    context: int | None = option(None, minimum=0, metavar="K", help="let each word see K words on each side only")
    targets: Any = option(
        None, metavar="WORDS", help='words to keep, separated by commas, or "label:NAME" for words with that label'
    )
    special: bool = option(False, help="with pieces: special tokens ([CLS], [SEP]) among them")

    def check(self) -> None:
        super().check()
        if isinstance(self.targets, str) and not self.targets.startswith("label:"):
            object.__setattr__(self, "targets", tuple(word.strip() for word in self.targets.split(",")))


@dataclass(frozen=True)
class EncoderSettings(UnitSettings, LayerSettings, group="model"):
    """Layers and units: everything that is asked of an encoder."""
