"""OccurrenceVectors: vectors of word occurrences that were kept, by limbeck or by anybody else, read block by block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, choose
from limbeck.remote import brought
from limbeck.vectors.blocks import Block, Identities
from limbeck.vectors.damaged import told_as_damage

FORMATS = ("auto", "folder", "npz", "npy", "parquet", "hdf5")
MAGIC = {b"PK\x03\x04": "npz", b"\x93NUM": "npy", b"PAR1": "parquet", b"\x89HDF": "hdf5"}
Words = Mapping[str, Sequence[Sequence[int]]]

__all__ = ["Block", "Identities", "OccurrenceVectors"]


class Source(Protocol):
    """One kind of file: what it holds, and how it is read shard by shard."""

    name: str
    fingerprint: str
    layers: tuple[str, ...]
    dim: int
    shards: int
    words_total: int

    def identities(self, shard: int) -> Identities: ...

    def blocks(self, shard: int) -> Iterator[Block]: ...


class OccurrenceVectors:
    """Vectors of occurrences in the place of a model and a text.

    name         the encoder's, or the file's
    fingerprint  changes whenever the vectors could change
    layers, dim  as an encoder's
    shards       how many parts can be read apart from each other; a text is in one part only
    words_total  rows in all shards, tokens that are not words among them
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._path: object = getattr(source, "path", None) or getattr(source, "folder", source.name)
        self.name, self.fingerprint = source.name, source.fingerprint
        self.layers, self.dim = source.layers, source.dim
        self.shards, self.words_total = source.shards, source.words_total
        #: whether rows have no words, only vectors
        self.wordless = bool(getattr(source, "wordless", False))
        #: where they came from: model, text and settings, as far as that is known
        self.about: dict[str, object] = getattr(source, "about", {})
        #: of the model alone, whatever the text and the settings were, as far as that is known
        self.model_fingerprint = getattr(source, "model_fingerprint", None) or self.about.get("model_fingerprint")
        #: identities of texts known to repeat an earlier one, None where nobody has looked
        self.duplicates: NDArray[np.int64] | None = getattr(source, "duplicates", None)

    @property
    def plain(self) -> Any:
        """What holds an array without words: its `vectors()` (layers, n, d) and their `shape`; None for others."""
        return self._source if self.wordless else None

    @classmethod
    def load(
        cls, path: str | Path, format: str = "auto", *, words: str | Path | Words | None = None
    ) -> OccurrenceVectors:
        """Open a folder of `OccurrenceWriter`, an npz, npy, Parquet or HDF5 file; nothing large is read yet.

        `words` is for HDF5 alone: word2sent.json or what is in it, {word: [[sentence, token], ...]}; left out, the
        file of that name beside it.
        """
        choose(format, FORMATS, what="format")
        with brought(path) as place:
            return cls._opened(place, format, words)

    @classmethod
    def _opened(cls, path: Path, format: str, words: str | Path | Words | None) -> OccurrenceVectors:
        if format == "auto":
            format = detect(path)
        if not path.exists():
            raise InputError(f"{path}: kept vectors are needed, nothing is there: check the path.", code="not_found")
        with told_as_damage(path, f"kept vectors ({format})"):
            return cls._of(path, format, words)

    @classmethod
    def _of(cls, path: Path, format: str, words: str | Path | Words | None) -> OccurrenceVectors:
        # imported here, so that pyarrow and h5py are needed by those who use them
        match format:
            case "folder":
                from limbeck.vectors.kept import KeptFolder

                return cls(KeptFolder(path))
            case "npz":
                from limbeck.vectors.kept import ArrayFile

                return cls(ArrayFile(path))
            case "npy":
                from limbeck.vectors.plain import read_npy

                return cls(read_npy(path))
            case "parquet":
                from limbeck.vectors.parquet import ParquetSource

                return cls(ParquetSource(path))
            case _:
                from limbeck.vectors.hdf5 import SentenceFile

                return cls(SentenceFile(path, words=words))

    def __repr__(self) -> str:
        size = f"{self.words_total} words, {len(self.layers)} layers, {self.dim} dimensions"
        return f"OccurrenceVectors({self.name!r}, {size})"

    def __len__(self) -> int:
        return self.words_total

    def shard(self, number: int) -> Iterator[Block]:
        """The blocks of one shard; a block is bounded in size, and no text lies in two."""
        self._checked(number)
        with told_as_damage(self._path, "kept vectors"):
            yield from self._source.blocks(number)

    def strings_of(self, number: int) -> Identities:
        """Words, sentences, texts and hashes of one shard's rows in the order of its blocks, without their vectors."""
        self._checked(number)
        with told_as_damage(self._path, "kept vectors"):
            return self._source.identities(number)

    def _checked(self, number: int) -> None:
        if not 0 <= number < self.shards:
            raise IndexError(f"shard {number} of {self.shards}")


def detect(path: Path) -> str:
    """The format by content."""
    if path.is_dir():
        if not (path / "vectors.json").is_file():
            raise InputError(
                f"{path}: a folder of kept vectors has a vectors.json, this one has none: the run that wrote "
                "it was not finished, or this is another kind of folder.",
                code="incomplete",
            )
        return "folder"
    try:
        with open(path, "rb") as file:
            head = file.read(4)
    except OSError as error:
        raise InputError(
            f"{path}: kept vectors are needed, the file cannot be opened ({error.strerror}): check the path.",
            code="not_readable",
        ) from error
    if head not in MAGIC:
        raise InputError(
            f"{path}: npz, npy, Parquet or HDF5 is needed, got a file that begins with {head!r}: convert it.",
            code="other_kind",
        )
    return MAGIC[head]


def fingerprint_file(*paths: Path, pieces: int = 64, size: int = 1 << 16) -> str:
    """A hash of the files' sizes and of evenly spaced pieces of their content: these files can be 40 GB."""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        length = path.stat().st_size
        digest.update(length.to_bytes(8, "little"))
        with open(path, "rb") as file:
            for piece in range(pieces):
                file.seek(max(0, length - size) * piece // (pieces - 1))
                digest.update(file.read(size))
                if length <= size:
                    break
    return digest.hexdigest()
