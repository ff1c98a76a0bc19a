"""Occurrence vectors in npz files: the folder that OccurrenceWriter writes, and a user's own file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.state import load
from limbeck.strings import unpack
from limbeck.vectors.arrays import MATRIX_NAMES, neighbor, read_json, strings_in
from limbeck.vectors.blocks import (
    Block,
    Identities,
    Ints,
    as_identities,
    block_rows,
    cut,
    identities_of,
    is_together,
    order_together,
)
from limbeck.vectors.mapped import map_member, member_names, read_member
from limbeck.vectors.occurrences import fingerprint_file
from limbeck.vectors.writer import DESCRIPTION, DUPLICATES, FORMAT


class KeptFolder:
    """A folder of shards with its vectors.json."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        about: dict[str, Any] = read_json(folder / DESCRIPTION)
        if about.get("format") != FORMAT:
            raise InputError(
                f"{folder}: kept vectors of format {FORMAT} are needed, got {about.get('format')}: encode again.",
                code="other_format",
            )
        missing = {"encoder_name", "layers", "dim", "shards"} - about.keys()
        if missing:
            raise InputError(
                f"{folder / DESCRIPTION}: {', '.join(sorted(missing))} must be there: encode again.", code="incomplete"
            )
        self.name: str = about["encoder_name"]
        self.layers = tuple(about["layers"])
        self.dim: int = about["dim"]
        self.about: dict[str, Any] = about.get("about", {})
        self.files = [neighbor(shard["file"], folder / DESCRIPTION) for shard in about["shards"]]
        self.rows = [int(shard["rows"]) for shard in about["shards"]]
        self.shards = len(self.files)
        self.words_total = sum(self.rows)
        known = folder / DUPLICATES
        self.duplicates: Ints | None = load(known)[0]["texts"] if known.is_file() else None
        # the description holds a hash of each shard, so it stands for the vectors
        self.fingerprint = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16).hexdigest()

    def identities(self, shard: int) -> Identities:
        path = self.files[shard]
        if not path.is_file():
            raise InputError(
                f"{path}: {DESCRIPTION} names this shard, the file is not there: copy the whole folder.",
                code="incomplete",
            )
        strings = unpack(read_member(path, "strings"), read_member(path, "offsets"), path)
        numbers = (read_member(path, name) for name in ("sentences", "texts", "occurrences"))
        return Identities(strings, *numbers)

    def blocks(self, shard: int) -> Iterator[Block]:
        path = self.files[shard]
        identities = self.identities(shard)
        vectors = map_member(path, "vectors")  # (layers, n, d)
        expected = (len(self.layers), len(identities), self.dim)
        if vectors.shape != expected:
            raise InputError(
                f"{path}: vectors of shape {expected} are needed, got {vectors.shape}: encode again.",
                code="wrong_shape",
            )
        yield from blocks_of(identities, vectors, path)


class ArrayFile:
    """A user's npz: `vectors` (n, d) or (layers, n, d), and perhaps words, sentences, contexts, positions, layers.

    Of an npz without `vectors` they are an array by another usual name, or the only one.
    """

    shards = 1

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name.removesuffix(".npz")
        self.names = member_names(path)
        usual = [name for name in MATRIX_NAMES if name in self.names] or self.names
        if not usual or (usual is self.names and len(usual) > 1):
            raise InputError(
                f"{path}: an array 'vectors' is needed, got {', '.join(self.names) or 'none'}: rename it.",
                code="incomplete",
            )
        self._matrix = usual[0]
        self.wordless = "words" not in self.names
        self.shape = map_member(path, self._matrix).shape
        shape = self.vectors().shape
        if len(shape) != 3 or 0 in (shape[0], shape[2]):
            raise InputError(
                f"{path}: vectors (n, d) or (layers, n, d) are needed, got shape {shape}.", code="wrong_shape"
            )
        self.words_total, self.dim = shape[1], shape[2]
        self.layers = self.layer_names(shape[0])
        self.fingerprint = fingerprint_file(path)

    def vectors(self) -> NDArray[Any]:
        vectors = map_member(self.path, self._matrix)
        if vectors.dtype.kind != "f":
            raise InputError(
                f"{self.path}: vectors must be floating-point numbers, got {vectors.dtype}.", code="wrong_type"
            )
        return vectors[None] if vectors.ndim == 2 else vectors

    def layer_names(self, count: int) -> tuple[str, ...]:
        if "layers" in self.names:
            names = tuple(str(name) for name in read_member(self.path, "layers").tolist())
            if len(names) != count:
                raise InputError(
                    f"{self.path}: {count} names of layers are needed, got {len(names)}.", code="unequal_lengths"
                )
            return names
        # a single unnamed layer is not called "0", which means the input layer
        return ("vectors",) if count == 1 else tuple(str(layer) for layer in range(count))

    def in_file_order(self) -> Identities:
        strings = [""] * self.words_total
        if "words" in self.names:
            offsets = read_member(self.path, "offsets") if "offsets" in self.names else None
            strings = strings_in(read_member(self.path, "words"), offsets, self.path)
        contexts = self.column("contexts")
        identities = identities_of(
            strings,
            self.column("sentences"),
            self.column("texts") if contexts is None else contexts,
            self.column("positions"),
        )
        if len(strings) != self.words_total:
            raise InputError(
                f"{self.path}: one word a vector is needed, got {len(strings)} words and {self.words_total} vectors.",
                code="unequal_lengths",
            )
        return identities

    def column(self, name: str) -> Ints | None:
        if name not in self.names:
            return None
        values = as_identities(read_member(self.path, name))
        if values.shape != (self.words_total,):
            raise InputError(
                f"{self.path}: {name} must be one value a vector ({self.words_total}), got shape {values.shape}.",
                code="unequal_lengths",
                parameter=name,
            )
        return values

    def identities(self, shard: int) -> Identities:
        identities = self.in_file_order()
        return identities if is_together(identities.texts) else identities.reordered(order_together(identities.texts))

    def blocks(self, shard: int) -> Iterator[Block]:
        identities, vectors = self.in_file_order(), self.vectors()
        if is_together(identities.texts):
            yield from blocks_of(identities, vectors, self.path)
        else:
            order = order_together(identities.texts)
            yield from blocks_of(identities.reordered(order), vectors, self.path, order=order)


def blocks_of(
    identities: Identities, vectors: NDArray[Any], path: Path, *, order: Ints | None = None
) -> Iterator[Block]:
    """Blocks of mapped vectors (layers, n, d); `order`: which row of the file stands where."""
    for start, end in cut(identities.texts, block_rows(vectors.shape[0], vectors.shape[2])):
        part = vectors[:, start:end] if order is None else vectors[:, order[start:end]]
        yield finite_block(identities.rows(start, end), part, path, start)


def finite_block(identities: Identities, vectors: NDArray[Any], path: Path, row: int) -> Block:
    """A block of finite numbers, float32 or wider; `row` is the number of its first row, for the message."""
    if vectors.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: vectors must be real numbers, got {vectors.dtype}: encode or save them again.", code="wrong_type"
        )
    wide = np.ascontiguousarray(vectors, dtype=np.float64 if vectors.dtype == np.float64 else np.float32)
    finite = np.isfinite(wide).all(axis=(0, 2))
    if not finite.all():
        at = int(np.flatnonzero(~finite)[0])
        layer = int(np.flatnonzero(~np.isfinite(wide[:, at]).all(axis=1))[0])
        word = f" ({identities.strings[at]!r})" if identities.strings[at] else ""
        raise InputError(
            f"{path}: vectors must be finite numbers, got NaN or infinity in layer {layer} of row {row + at}{word}: "
            "mend or remove it.",
            code="not_finite",
        )
    return Block.of(identities, wide)
