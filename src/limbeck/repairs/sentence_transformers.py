"""A fitted repair as a module of sentence-transformers: between Transformer and Pooling, or after Pooling.

from sentence_transformers import SentenceTransformer
from limbeck.repairs.sentence_transformers import RepairModule

model = SentenceTransformer("all-MiniLM-L6-v2")
model.insert(1, RepairModule(limbeck.repairs.load("repair.safetensors")))  # on tokens, before they are averaged
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self, get_args

import torch

from limbeck.errors import InputError, UsageError, choose
from limbeck.extras import need
from limbeck.repairs.files import as_torch, load, save, steps_of

Module: Any = need("sentence_transformers.base.modules", purpose="A repair inside sentence-transformers").Module

On = Literal["token_embeddings", "sentence_embedding"]
FILE = "repair.safetensors"


class RepairModule(Module):  # type: ignore[misc]
    """Repairs token embeddings, or sentence embeddings, inside a SentenceTransformer.

    repair  fitted, or a Pipeline of fitted ones
    on      "token_embeddings": between Transformer and Pooling; "sentence_embedding": after Pooling

    It has no weights to train, gradients go through it, and what it learned keeps its precision whatever the model's
    is. Tokens that only fill up a batch are repaired too, and
    Pooling leaves them out. A saved model names this class, so that loading it needs limbeck, and since version 6 of
    sentence-transformers `trust_remote_code=True`, as for every module that is not its own.
    """

    config_keys = ["on"]  # noqa: RUF012 (as the base class declares it)

    def __init__(self, repair: Any, on: On = "token_embeddings") -> None:
        super().__init__()
        choose(on, get_args(On), what="on")
        self.on = on
        self.repair = repair
        self._applied = (as_torch(repair),)  # in a tuple, so that model.half() leaves it alone

    def forward(self, features: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Features with those of `on` repaired."""
        if self.on not in features:
            order = "between Transformer and Pooling" if self.on == "token_embeddings" else "after Pooling"
            raise UsageError(
                f"A repair of {self.on} must stand {order}, got {', '.join(features)}: put it there.",
                code="out_of_order",
            )
        x: torch.Tensor = features[self.on]
        wanted = self.get_embedding_dimension()
        if x.shape[-1] != wanted:
            raise UsageError(
                f"A repair must be of the vectors' own space, got one for {wanted} dimensions and vectors of "
                f"{x.shape[-1]}: give the one that was fitted on this model's.",
                code="other_dimensions",
            )
        features[self.on] = self._applied[0].to(x.device)(x)
        return features

    def get_embedding_dimension(self) -> int:
        """Of what goes in and comes out."""
        return int(steps_of(self.repair)[0][1].n_features_in_)

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **options: Any) -> None:
        """Into the module's folder: config.json, and the repair as `limbeck.repairs.save` writes it."""
        self.save_config(output_path)
        save(self.repair, Path(output_path) / FILE)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> Self:
        """From a saved model, local or on the hub."""
        names = ("token", "cache_folder", "revision", "local_files_only")
        where = {"subfolder": subfolder, **{name: options[name] for name in names if name in options}}
        config = cls.load_config(model_name_or_path, **where)
        file = cls.load_file_path(model_name_or_path, filename=FILE, **where)
        if file is None:
            raise InputError(
                f"{model_name_or_path}: the repair {subfolder}/{FILE} is needed, got none: save it again.",
                code="not_found",
            )
        return cls(load(file), **config)
