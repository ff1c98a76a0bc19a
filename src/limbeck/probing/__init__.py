"""How well words are interpreted in context: probes for classes of words, by layer and by amount of context.

`limbeck.probe` and `limbeck.finetune` put these parts together.

Names load on first use, since most of them import torch.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "AttentionSimilarity",
    "FinetuneSettings",
    "LabelSettings",
    "Labelled",
    "ProbeSettings",
    "Probes",
    "TaskData",
    "Training",
    "attention_similarity",
    "load_head",
    "read_labelled",
    "read_task",
    "score",
    "train",
]

#: public name -> module
_MODULES = {
    "LabelSettings": "limbeck.probing.settings",
    "Labelled": "limbeck.probing.labelled",
    "ProbeSettings": "limbeck.probing.settings",
    "Probes": "limbeck.probing.batched",
    "Training": "limbeck.probing.settings",
    "read_labelled": "limbeck.probing.labelled",
    "score": "limbeck.probing.scoring",
    "train": "limbeck.probing.batched",
    "AttentionSimilarity": "limbeck.probing.attention",
    "FinetuneSettings": "limbeck.probing.finetuning.settings",
    "TaskData": "limbeck.probing.finetuning.data",
    "attention_similarity": "limbeck.probing.attention",
    "load_head": "limbeck.probing.finetuning.head",
    "read_task": "limbeck.probing.finetuning.data",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
