"""Options of a pass: the size of its batches, and who makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from limbeck.errors import UsageError
from limbeck.settings import Settings, option


@dataclass(frozen=True)
class BatchSettings(Settings, group="computation"):
    """How much is read at once."""

    batch_tokens: int | None = option(
        None, minimum=1, metavar="N", help="padded subwords per batch (default: chosen for the device)"
    )


@dataclass(frozen=True)
class WorkersSettings(Settings, group="computation"):
    """By how many processes of this machine a pass is made."""

    workers: int | None = option(
        None, minimum=0, metavar="N", help="processes that split and tokenize (default: chosen for the device)"
    )


@dataclass(frozen=True)
class EngineSettings(WorkersSettings):
    """Where a pass is made, and by how many."""

    engine: Literal["local", "ray"] = option(
        "local",
        metavar="NAME",
        help="local (default), or ray, whose --workers hold the model (default: one per GPU, else one per two cores): "
        "see docs/scale.md",
    )
    address: str | None = option(
        None, metavar="A", help="with --engine ray: address of a running cluster, or auto to find it"
    )
    gpus_per_worker: float | None = option(
        None,
        minimum=0,
        metavar="G",
        help="with --engine ray: 1 where the cluster has GPUs (default), 0.5 for two workers on one, 0 for none",
    )

    def check(self) -> None:
        for name in ("address", "gpus_per_worker"):
            if getattr(self, name) is not None and self.engine == "local":
                flag = f"--{name.replace('_', '-')}"
                raise UsageError(f"{flag} applies only with --engine=ray.", code="no_effect", parameter=name)
        if self.engine == "ray" and self.workers == 0:
            raise UsageError(
                "--workers must be at least 1 with --engine=ray; omit it for as many as fit.",
                code="out_of_range",
                parameter="workers",
            )
