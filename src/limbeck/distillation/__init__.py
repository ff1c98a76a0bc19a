"""Static word vectors out of a language model: one vector a word, from many contexts, one, or none.

made = limbeck.distillation.distill("bert-base-uncased", "text.txt", out="vectors")
vectors = limbeck.distillation.vectors_for(["tea", "coffee"], "bert-base-uncased")

Names load on first use, since most of them import torch.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["METHODS", "DistillSettings", "Distilled", "Known", "Method", "Rows", "Trained", "distill", "vectors_for"]

#: public name -> module; the run that puts the parts together stands above them, and is named here for users
_MODULES = {
    "METHODS": "limbeck.distillation.methods",
    "DistillSettings": "limbeck.distillation.settings",
    "Distilled": "limbeck.distillation.distilled",
    "Known": "limbeck.distillation.rows",
    "Method": "limbeck.distillation.methods",
    "Rows": "limbeck.distillation.rows",
    "Trained": "limbeck.distillation.methods",
    "distill": "limbeck.runs.distill",
    "vectors_for": "limbeck.runs.distill",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
