"""What a fine-tuning needs to go on where it was stopped, in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from limbeck.errors import InputError
from limbeck.state import atomic

FILE = "finetune.safetensors"
FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """A folder for the file, and what must be the same for it to be of use: model, data, settings."""

    folder: Path
    identity: str

    def save(self, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        header = {"format": FORMAT, "identity": self.identity, **about}
        with atomic(self.folder / FILE) as temporary:
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary,
                      metadata={"limbeck": json.dumps(header)})  # fmt: skip

    def load(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]] | None:
        """Tensors and what is known of them; None where nothing was saved."""
        path = self.folder / FILE
        if not path.is_file():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                about: dict[str, Any] = json.loads(file.metadata()["limbeck"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (it is no dict)
        except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"{path}: cannot be read ({error}): --existing=replace begins anew.",
                code="damaged",
                parameter="existing",
            ) from error
        if about.get("format") != FORMAT or about.get("identity") != self.identity:
            raise InputError(
                f"{self.folder.parent}: the unfinished run there is of another model, data or settings: give those, or "
                "--existing=replace to begin anew.",
                code="other_run",
                parameter="existing",
            )
        return tensors, about
