"""Encode once: keep the vectors of every occurrence, to be used in the place of model and text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from limbeck.distill.wordlist import tells_case
from limbeck.encoded import Encoded
from limbeck.errors import InputError, choose
from limbeck.run.folder import RunFolder
from limbeck.run.sources import open_source
from limbeck.stream import Choice, Source, run_pass
from limbeck.stream.run import SHARD_UNITS
from limbeck.stream.workers import Workers
from limbeck.vectors import OccurrenceWriter
from limbeck.vectors.writer import DESCRIPTION

Kept = Literal["float16", "float32"]
DTYPES: tuple[Kept, ...] = get_args(Kept)
SHARD_BYTES = 1 << 30  #: of vectors in float32, before they are written


class Keeper:
    """Writes each shard's occurrences to a file when the shard is complete."""

    def __init__(self, writer: OccurrenceWriter) -> None:
        self.writer = writer
        self._batches: list[Encoded] = []

    def update(self, batch: Encoded) -> None:
        # kept on the host: a shard of a large model would not fit beside it
        self._batches.append(
            Encoded(batch.vectors.cpu(), batch.words, batch.sentences, batch.texts, batch.occurrences, batch.strings)
        )

    def end_shard(self, number: int) -> None:
        import torch

        batches, self._batches = self._batches, []
        if not batches:  # a shard of which no word has a vector
            return
        self.writer.write(
            torch.cat([batch.vectors for batch in batches], dim=1),
            strings=[string for batch in batches for string in batch.strings],
            sentences=np.concatenate([batch.sentences for batch in batches]),
            texts=np.concatenate([batch.texts for batch in batches]),
            occurrences=np.concatenate([batch.occurrences for batch in batches]),
            shard=number,
        )


def encode(
    model: Any,
    corpus: Any,
    *,
    out: str | Path,
    keep: Kept = "float16",
    existing: str = "fail",
    workers: int = 0,
    progress: bool = False,
    shard_units: int | None = None,
    **options: Any,
) -> Path:
    """Keep the vectors of every occurrence in a folder; see `measure` for the options.

    Duplicate texts are kept: whether they count is decided when the vectors are used.
    """
    choose(keep, DTYPES, what="--keep")
    with RunFolder(out, existing=existing) as folder:
        source = open_source(model, corpus, **options)
        return encode_source(source, folder, keep=keep, workers=workers, progress=progress, shard_units=shard_units)


def encode_source(
    source: Source,
    folder: RunFolder,
    *,
    keep: Kept = "float16",
    workers: int | Workers = 0,
    progress: bool = False,
    shard_units: int | None = None,
) -> Path:
    """Run the pass and keep what comes out of it; nothing is left to do where the folder is complete."""
    if folder.complete:
        check_same(folder.target, source, keep=keep)
        return folder.target
    (folder.unfinished / DESCRIPTION).unlink(missing_ok=True)  # of a run killed in its last moment
    writer = OccurrenceWriter(
        folder.unfinished,
        encoder_name=source.name,
        encoder_fingerprint=source.fingerprint,
        layers=source.layers,
        dim=source.dim,
        dtype=keep,
        about=about_source(source),
    )
    passed = run_pass(
        source,
        [],
        consumers=[Keeper(writer)],
        checkpoint=folder.state,
        settings={"keep": keep},
        choice=Choice(),
        read_duplicates=True,
        shard_units=shard_units or shard_size(source),
        workers=workers,
        progress=progress,
    )
    writer.close(duplicates=passed.plan.duplicates)
    shutil.rmtree(folder.state)
    return folder.finish()


def about_source(source: Source) -> dict[str, object]:
    """What kept vectors know of where they come from; also whether their teacher tells Tea and tea apart."""
    encoder = getattr(source, "encoder", None)
    return source.describe() | ({} if encoder is None else {"tells_case": tells_case(encoder)})


def shard_size(source: Source) -> int:
    """Words a shard: as many as memory holds at once, with all their layers."""
    return max(1, min(SHARD_UNITS["cpu"], SHARD_BYTES // (4 * len(source.layers) * source.dim)))


def check_same(folder: Path, source: Source, *, keep: Kept) -> None:
    """Refuse to take finished vectors for those of another model, text or precision."""
    about = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    wanted = {"encoder_fingerprint": source.fingerprint, "dtype": keep}
    for name, value in wanted.items():
        if about.get(name) != value:
            what = "model, text or settings" if name == "encoder_fingerprint" else f"--keep ({about.get(name)})"
            raise InputError(
                f"{folder}: holds finished vectors of another {what}: --existing replace, or another --out."
            )
