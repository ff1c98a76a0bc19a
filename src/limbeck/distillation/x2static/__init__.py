"""Static word vectors trained against a teacher's contexts: X2Static, its static forerunner, and a regression.

    train(source, plan, settings) -> Trained

Names load on first use, since training needs torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.distillation.x2static.settings import (
    PRESETS,
    Preset,
    Regression,
    Sent2Vec,
    Training,
    X2Static,
    preset_named,
)
from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.distillation.x2static.static_context import word_source
    from limbeck.distillation.x2static.trainer import Trainer
    from limbeck.distillation.x2static.training import train
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "static_context": "word_source",
            "trainer": "Trainer",
            "training": "train",
        },
    )

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
