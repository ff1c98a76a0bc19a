"""Encoders: text to vectors of every layer. Names load on first use, since some of them import torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limbeck.encoders.batching import batches, concatenate, select
    from limbeck.encoders.elmo import ElmoEncoder
    from limbeck.encoders.function import FunctionEncoder
    from limbeck.encoders.huggingface import HuggingFaceEncoder
    from limbeck.encoders.loading import load_encoder
    from limbeck.encoders.protocol import Encoder, EncoderLike, Prepared, Preparer, as_encoder
    from limbeck.encoders.table import TableEncoder

__all__ = [
    "ElmoEncoder",
    "Encoder",
    "EncoderLike",
    "FunctionEncoder",
    "HuggingFaceEncoder",
    "Prepared",
    "Preparer",
    "TableEncoder",
    "as_encoder",
    "batches",
    "concatenate",
    "load_encoder",
    "select",
]

_MODULES = {
    "ElmoEncoder": "elmo",
    "Encoder": "protocol",
    "EncoderLike": "protocol",
    "FunctionEncoder": "function",
    "HuggingFaceEncoder": "huggingface",
    "Prepared": "protocol",
    "Preparer": "protocol",
    "TableEncoder": "table",
    "as_encoder": "protocol",
    "batches": "batching",
    "concatenate": "batching",
    "load_encoder": "loading",
    "select": "batching",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
