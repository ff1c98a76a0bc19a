"""How well words are interpreted in context: probes for classes of words, by layer and by amount of context.

`limbeck.probe` and `limbeck.finetune` put these parts together.

Names load on first use, since most of them import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.probing.attention import AttentionSimilarity, attention_similarity
    from limbeck.probing.batched import Probes, Rows, train
    from limbeck.probing.finetuning.data import TaskData, read_task, tagged
    from limbeck.probing.finetuning.head import load_head
    from limbeck.probing.finetuning.settings import FinetuneSettings
    from limbeck.probing.labelled import Labelled, read_labelled
    from limbeck.probing.scoring import score
    from limbeck.probing.settings import LabelSettings, ProbeSettings, Training
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "attention": "AttentionSimilarity attention_similarity",
            "batched": "Probes Rows train",
            "finetuning.data": "TaskData read_task tagged",
            "finetuning.head": "load_head",
            "finetuning.settings": "FinetuneSettings",
            "labelled": "Labelled read_labelled",
            "scoring": "score",
            "settings": "LabelSettings ProbeSettings Training",
        },
    )

__all__ = [
    "AttentionSimilarity",
    "FinetuneSettings",
    "LabelSettings",
    "Labelled",
    "ProbeSettings",
    "Probes",
    "Rows",
    "TaskData",
    "Training",
    "attention_similarity",
    "load_head",
    "read_labelled",
    "read_task",
    "score",
    "tagged",
    "train",
]
