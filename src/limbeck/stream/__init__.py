"""The pass over a corpus: planned, batched, sharded, resumable, written once.

Names load on first use: worker processes need none of those that import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.stream.collected import Collected, collect, collect_texts
    from limbeck.stream.context import RunContext
    from limbeck.stream.filling import Consumer
    from limbeck.stream.plan import Choice, Plan, Shard
    from limbeck.stream.run import Passed, run_pass, stream, survey
    from limbeck.stream.sources import Source, TextSource, VectorSource
    from limbeck.stream.workers import Workers
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "collected": "Collected collect collect_texts",
            "context": "RunContext",
            "filling": "Consumer",
            "plan": "Choice Plan Shard",
            "run": "Passed run_pass stream survey",
            "sources": "Source TextSource VectorSource",
            "workers": "Workers",
        },
    )

__all__ = [
    "Choice",
    "Collected",
    "Consumer",
    "Passed",
    "Plan",
    "RunContext",
    "Shard",
    "Source",
    "TextSource",
    "VectorSource",
    "Workers",
    "collect",
    "collect_texts",
    "run_pass",
    "stream",
    "survey",
]
