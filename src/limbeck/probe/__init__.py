"""How well words are interpreted in context: probes for classes of words, by layer and by amount of context.

probed = limbeck.probe.probe("mini-bert", "sample", min_words=5)
probed.tables["scores"]

Names load on first use, since most of them import torch.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "AttentionSimilarity",
    "FinetuneSettings",
    "Finetuned",
    "Labelled",
    "ProbeSettings",
    "Probed",
    "Probes",
    "TaskData",
    "Training",
    "attention_similarity",
    "finetune",
    "load_head",
    "probe",
    "read_labelled",
    "read_probed",
    "read_task",
    "score",
    "train",
]

#: public name -> module; the run that puts the parts together stands above them, and is named here for users
_MODULES = {
    "Labelled": "limbeck.probe.labelled",
    "ProbeSettings": "limbeck.probe.settings",
    "Probed": "limbeck.probe.result",
    "Probes": "limbeck.probe.batched",
    "Training": "limbeck.probe.batched",
    "probe": "limbeck.run.probe",
    "read_labelled": "limbeck.probe.labelled",
    "read_probed": "limbeck.run.probe",
    "score": "limbeck.probe.scoring",
    "train": "limbeck.probe.batched",
    "AttentionSimilarity": "limbeck.probe.attention",
    "FinetuneSettings": "limbeck.probe.finetuning",
    "Finetuned": "limbeck.probe.finetuning",
    "TaskData": "limbeck.probe.finetuning",
    "attention_similarity": "limbeck.probe.attention",
    "finetune": "limbeck.run.finetune",
    "load_head": "limbeck.probe.finetuning",
    "read_task": "limbeck.probe.finetuning",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
