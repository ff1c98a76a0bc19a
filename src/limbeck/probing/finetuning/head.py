"""The linear layer of a fine-tuned model, in a file beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from limbeck.errors import InputError
from limbeck.state import atomic

FILE = "head.safetensors"
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Head:
    """Logits of a vector x are weight · x + bias, one for each class.

    vector  which vector of the last layer it was trained on, in words
    """

    weight: Floats  # (classes, dim)
    bias: Floats  # (classes,)
    classes: tuple[str, ...]
    vector: str

    def save(self, folder: Path) -> None:
        about = {"classes": json.dumps(self.classes), "vector": self.vector}
        with atomic(folder / FILE) as temporary:
            save_file({"weight": self.weight, "bias": self.bias}, temporary, metadata=about)


def load_head(folder: str | Path) -> Head:
    """The linear layer out of a folder of `limbeck finetune`."""
    path = Path(folder).expanduser() / FILE
    try:
        with safe_open(path, framework="numpy") as file:
            about = file.metadata()
            return Head(
                file.get_tensor("weight"), file.get_tensor("bias"), tuple(json.loads(about["classes"])), about["vector"]
            )
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: must be the head of a fine-tuned model ({error}): give a folder of it.", code="damaged"
        ) from error
