"""Static word vectors trained against a teacher's contexts: X2Static, its static forerunner, and a regression.

    train(source, plan, settings) -> Trained

Names load on first use, since training needs torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from limbeck.distillation.x2static.settings import (
    PRESETS,
    Preset,
    Regression,
    Sent2Vec,
    Training,
    X2Static,
    preset_named,
)

if TYPE_CHECKING:
    from limbeck.distillation.x2static.static_context import word_source
    from limbeck.distillation.x2static.trainer import Trainer
    from limbeck.distillation.x2static.training import train

__all__ = [
    "PRESETS",
    "Preset",
    "Regression",
    "Sent2Vec",
    "Trainer",
    "Training",
    "X2Static",
    "preset_named",
    "train",
    "word_source",
]

_MODULES = {
    "word_source": "static_context",
    "Trainer": "trainer",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
