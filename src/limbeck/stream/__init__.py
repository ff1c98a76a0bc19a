"""The pass over a corpus: planned, batched, sharded, resumable, written once.

Names load on first use: worker processes need none of those that import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limbeck.stream.collected import Collected, collect, collect_texts
    from limbeck.stream.filling import Consumer
    from limbeck.stream.plan import Choice, Plan, Shard
    from limbeck.stream.run import Passed, run_pass, stream, survey
    from limbeck.stream.sources import Source, TextSource, VectorSource

__all__ = [
    "Choice",
    "Collected",
    "Consumer",
    "Passed",
    "Plan",
    "Shard",
    "Source",
    "TextSource",
    "VectorSource",
    "collect",
    "collect_texts",
    "run_pass",
    "stream",
    "survey",
]

_MODULES = {
    **dict.fromkeys(("Collected", "collect", "collect_texts"), "collected"),
    **dict.fromkeys(("Choice", "Plan", "Shard"), "plan"),
    "Consumer": "filling",
    **dict.fromkeys(("Passed", "run_pass", "stream", "survey"), "run"),
    **dict.fromkeys(("Source", "TextSource", "VectorSource"), "sources"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
