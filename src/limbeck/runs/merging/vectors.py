"""Occurrence vectors of parts of a text into one folder, shard by shard; no vector is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limbeck.errors import InputError
from limbeck.runs.execution.parts import TEXTS
from limbeck.runs.merging.sides import Side, check_model, joined_plan
from limbeck.state import save
from limbeck.stream.checkpoint import Checkpoint
from limbeck.stream.context import RunContext
from limbeck.stream.progress import Progress
from limbeck.vectors.arrays import read_json
from limbeck.vectors.damaged import told_as_damage
from limbeck.vectors.writer import DESCRIPTION, OccurrenceWriter


def merge_vectors(folders: Sequence[Path], out: Path, context: RunContext) -> None:
    """Folders of `limbeck encode --part` into one, with the shards of the whole text."""
    with told_as_damage(" and ".join(map(str, folders)), "vectors that can be merged", "encode them again"):
        records = [record_of(path) for path in folders]
        for path, told in zip(folders, records, strict=True):
            if "part" not in told["source"]:
                raise InputError(
                    f"{path}: only vectors of parts of one text are merged: encode them with --part K/N.",
                    code="not_mergeable",
                    parameter="part",
                )
            check_model(folders[0], records[0], path, told)
        plan, identity, sides = joined_plan([Side.read(*pair) for pair in zip(folders, records, strict=True)])
    told = sides[0].told
    about: dict[str, Any] = {name: value for name, value in told["source"].items() if name != "part"}
    about["merged"] = {"runs": [str(side.folder) for side in sides]}
    if "part" in identity:
        about["part"] = identity["part"]
    writer = OccurrenceWriter(
        out,
        encoder_name=told["name"],
        encoder_fingerprint=told["fingerprint"],
        layers=told["layers"],
        dim=told["dim"],
        dtype=told["dtype"],
        about=about,
    )
    number = {shard.start: shard.number for shard in plan.shards}
    with Progress("merging", total=len(plan.shards), unit="shards", show=context.progress) as bar:
        for side in sides:
            for shard in side.plan.shards:
                file = side.folder / f"{shard.number:05d}.npz"
                if file.is_file():  # a shard of which no word has a vector has none
                    share(file, writer.path(number[shard.start]))
                bar.advance(1)
    writer.close(duplicates=plan.duplicates)
    if "part" in identity and context.checkpoint is not None:  # may be merged again
        Checkpoint(context.checkpoint, identity).save_plan(plan)
        save(context.checkpoint / TEXTS, sides[0].texts)


def record_of(folder: Path) -> dict[str, Any]:
    """What a folder of occurrence vectors says of itself, by the names of a run's record."""
    told = read_json(folder / DESCRIPTION)
    return {
        "command": "encode",
        "name": told["encoder_name"],
        "layers": told["layers"],
        "dim": told["dim"],
        "dtype": told["dtype"],
        "fingerprint": told["encoder_fingerprint"],
        "source": told.get("about", {}),
    }


def share(file: Path, place: Path) -> None:
    """The same file at another place: a second name for it where the disk allows, else a copy."""
    place.unlink(missing_ok=True)
    try:
        os.link(file, place)
    except OSError:
        shutil.copyfile(file, place)
