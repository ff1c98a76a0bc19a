"""Encoders: text to vectors of every layer. Names load on first use, since some of them import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
    from limbeck.encoders.batching import batches, concatenate, select
    from limbeck.encoders.bilm import BiLM
    from limbeck.encoders.elmo import ElmoEncoder
    from limbeck.encoders.function import FunctionEncoder
    from limbeck.encoders.huggingface import HuggingFaceEncoder
    from limbeck.encoders.loading import load_encoder
    from limbeck.encoders.protocol import Encoder, EncoderLike, Prepared, Preparer, as_encoder
    from limbeck.encoders.spelling import spell
    from limbeck.encoders.table import TableEncoder
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "batching": "batches concatenate select",
            "bilm": "BiLM",
            "elmo": "ElmoEncoder",
            "function": "FunctionEncoder",
            "huggingface": "HuggingFaceEncoder",
            "loading": "load_encoder",
            "protocol": "Encoder EncoderLike Prepared Preparer as_encoder",
            "spelling": "spell",
            "table": "TableEncoder",
        },
    )

__all__ = [
    "BiLM",
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
    "spell",
]
