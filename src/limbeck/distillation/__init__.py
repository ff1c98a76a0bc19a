"""Static word vectors out of a language model: one vector a word, from many contexts, one, or none.

vectors = limbeck.distill("bert-base-uncased", "text.txt", out="vectors")
vectors = limbeck.distill("bert-base-uncased", words=["tea", "coffee"])

Names load on first use, since most of them import torch.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["METHODS", "DistillSettings", "DistilledVectors", "Known", "Method", "MethodSettings", "Rows", "Trained"]

#: public name -> module
_MODULES = {
    "METHODS": "limbeck.distillation.methods",
    "DistillSettings": "limbeck.distillation.settings",
    "DistilledVectors": "limbeck.distillation.distilled",
    "Known": "limbeck.distillation.rows",
    "Method": "limbeck.distillation.methods",
    "MethodSettings": "limbeck.distillation.method_settings",
    "Rows": "limbeck.distillation.rows",
    "Trained": "limbeck.distillation.methods",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
