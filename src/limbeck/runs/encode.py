"""Encode once: keep the vectors of every occurrence, to be used in the place of model and text."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from limbeck.distillation.wordlist import tells_case
from limbeck.encoded import Encoded
from limbeck.errors import InputError, choose
from limbeck.parameters import takes
from limbeck.runs.execution.folders import RunFolder
from limbeck.runs.execution.input_guard import steady
from limbeck.runs.execution.parts import Division, division_of, planned
from limbeck.runs.execution.sources import READING, open_source
from limbeck.stream import Choice, Source, run_pass
from limbeck.stream.checkpoint import PARTS
from limbeck.stream.run import SHARD_UNITS, identity_of
from limbeck.stream.workers import Workers
from limbeck.vectors import OccurrenceWriter
from limbeck.vectors.arrays import read_json
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


@takes(*READING)
def encode(
    model: Any,
    corpus: Any,
    *,
    out: str | Path,
    keep: Kept = "float16",
    existing: str = "fail",
    part: str | None = None,
    index_of: str | Path | None = None,
    workers: int = 0,
    progress: bool = False,
    shard_units: int | None = None,
    **options: Any,
) -> Path:
    """Keep the vectors of every occurrence in a folder; see `measure` for the options.

    Duplicate texts are kept: whether they count is decided when the vectors are used.
    """
    choose(keep, DTYPES, what="--keep")
    how: dict[str, Any] = {"keep": keep, "division": division_of(part, index_of=index_of), "shard_units": shard_units}
    with RunFolder(out, existing=existing) as folder:
        source = open_source(model, corpus, **options)
        return encode_source(source, folder, workers=workers, progress=progress, **how)


def encode_source(
    source: Source,
    folder: RunFolder,
    *,
    keep: Kept = "float16",
    division: Division | None = None,
    workers: int | Workers = 0,
    progress: bool = False,
    shard_units: int | None = None,
) -> Path:
    """Run the pass and keep what comes out of it; nothing is left to do where the folder is complete."""
    division = division or Division()
    if folder.complete:
        check_same(folder.target, source, keep=keep, division=division)
        return folder.target
    (folder.unfinished / DESCRIPTION).unlink(missing_ok=True)  # of a run killed in its last moment
    writer = writer_for(source, folder.unfinished, keep=keep, division=division)
    told = settings_told(keep, division)
    with steady(source), nullcontext(workers) if isinstance(workers, Workers) else Workers(workers) as processes:
        how: dict[str, Any] = {"choice": Choice(), "workers": processes, "progress": progress}
        plan = planned(
            source,
            division,
            identity_of(source, told, choice=Choice()),
            deduplicate=True,
            state=folder.state,
            shard_units=shard_units or shard_size(source),
            **how,
        )
        run_pass(
            source,
            [],
            plan=plan,
            consumers=[Keeper(writer)],
            checkpoint=folder.state,
            settings=told,
            read_duplicates=True,
            **how,
        )
    writer.close(duplicates=plan.duplicates)
    folder.passing.append("state" if division.part is None else f"state/{PARTS}")  # of a part the plan is merged by
    return folder.finish()


def writer_for(source: Source, folder: Path, *, keep: Kept, division: Division | None = None) -> OccurrenceWriter:
    """What writes the vectors of a source into a folder."""
    return OccurrenceWriter(
        folder,
        encoder_name=source.name,
        encoder_fingerprint=source.fingerprint,
        layers=source.layers,
        dim=source.dim,
        dtype=keep,
        about=about_source(source) | (division or Division()).told(),
    )


def settings_told(keep: Kept, division: Division | None = None) -> dict[str, Any]:
    """What a stopped run must share with the one that goes on."""
    return {"keep": keep} | (division or Division()).told()


def about_source(source: Source) -> dict[str, object]:
    """What kept vectors know of where they come from; also whether their teacher tells Tea and tea apart."""
    encoder = getattr(source, "encoder", None)
    return source.describe() | ({} if encoder is None else {"tells_case": tells_case(encoder)})


def shard_size(source: Source) -> int:
    """Words a shard: as many as memory holds at once, with all their layers."""
    return max(1, min(SHARD_UNITS["cpu"], SHARD_BYTES // (4 * len(source.layers) * source.dim)))


def check_same(folder: Path, source: Source, *, keep: Kept, division: Division | None = None) -> None:
    """Refuse to take finished vectors for those of another model, text, part or precision."""
    about = read_json(folder / DESCRIPTION)
    wanted = {"encoder_fingerprint": source.fingerprint, "dtype": keep}
    for name, value in wanted.items():
        if about.get(name) != value:
            what = "model, text or settings" if name == "encoder_fingerprint" else f"--keep ({about.get(name)})"
            raise InputError(
                f"{folder}: holds finished vectors of another {what}: --existing=replace, or another --out."
            )
    part = (division or Division()).told().get("part")
    if about["about"].get("part") != part:
        raise InputError(
            f"{folder}: holds finished vectors of part {about['about'].get('part') or '1/1'} of the text, not of "
            f"{part or '1/1'}: --existing=replace, or another --out."
        )
