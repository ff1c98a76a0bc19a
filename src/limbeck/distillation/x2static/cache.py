"""Contexts and targets on disk, so that later epochs need no teacher."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch

from limbeck.distillation.x2static.contexts import Gathered
from limbeck.distillation.x2static.settings import Sent2Vec, Training
from limbeck.errors import LimbeckError
from limbeck.state import load, save
from limbeck.stream.plan import Plan
from limbeck.transfer import send

FOLDER = "contexts"
OWN_BYTES = 12  #: of an occurrence: its word and its hash
MOST = float(np.finfo(np.float16).max)


class ContextCache:
    """One file a shard: contexts in float16, and who the occurrences are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, number: int, shard: Gathered | None) -> None:
        if shard is None:  # no text of it had a vector
            save(self._path(number), {})
            return
        contexts = shard.contexts
        if contexts.numel() and float(contexts.abs().max()) > MOST:
            raise LimbeckError(
                f"contexts kept between epochs are float16, at most {MOST:,.0f}; this teacher's are larger: "
                "ask for one epoch.",
                code="out_of_range",
                parameter="epochs",
            )
        save(
            self._path(number),
            {
                "contexts": contexts.to("cpu", torch.float16).numpy(),
                "texts": shard.texts,
                "words": shard.words.astype(np.int32),
                "sizes": np.bincount(shard.context_of, minlength=len(shard.texts)).astype(np.int32),
                "keys": shard.keys,
            },
            about={"seen": shard.seen},
        )

    def read(self, number: int, device: torch.device) -> Gathered | None:
        path = self._path(number)
        arrays, about = load(path)
        if not arrays:
            return None
        sizes = arrays["sizes"]
        return Gathered(
            contexts=send(arrays["contexts"], device).float(),
            texts=arrays["texts"],
            words=arrays["words"].astype(np.int64),
            context_of=np.repeat(np.arange(len(sizes)), sizes),
            keys=arrays["keys"],
            seen=about["seen"],
        )

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npz"


def cache_bytes(plan: Plan, settings: Training, dim: int, *, processes: int = 1) -> int:
    """About what the contexts of a plan take on disk: of each process its dimensions, and who the occurrences are."""
    if not settings.keeps_contexts:
        return 0
    own = plan.sentences * 12 + int(plan.vocabulary.counts.sum()) * OWN_BYTES
    return processes * own + (0 if isinstance(settings, Sent2Vec) else plan.sentences * dim * 2)


def check_room(folder: Path, needed: int) -> None:
    """Refuse a cache that the disk has no room for."""
    there = folder
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise LimbeckError(
            f"{folder}: contexts for later epochs take about {size(needed)} on disk, {size(free)} are free: "
            "ask for one epoch, or choose another --out.",
            code="no_space",
            parameter="epochs",
        )


def size(count: int) -> str:
    """A number of bytes as people write it."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:,.1f} {unit}"
    return f"{count} bytes"
