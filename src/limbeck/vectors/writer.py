"""OccurrenceWriter: keeps encoded vectors in a folder, one file a shard, the description last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from limbeck import state
from limbeck.errors import InputError, UsageError, choose
from limbeck.real import real_array, refuse_unreal
from limbeck.seeds import hash_occurrences
from limbeck.strings import pack
from limbeck.vectors.blocks import is_together
from limbeck.vectors.mapped import read_member

DESCRIPTION = "vectors.json"
FORMAT = 1
LARGEST = {"float16": 65504.0, "float32": float(np.finfo(np.float32).max)}
Kept = Literal["float16", "float32"]


DUPLICATES = "duplicates.npz"


class OccurrenceWriter:
    """Writes shards of occurrences (00000.npz, 00001.npz, ...) into a folder, and vectors.json when it is closed.

    A folder without vectors.json is an unfinished one: a killed run goes on by writing the missing shards, and
    several processes may write different shards into one folder, each with a writer of the same settings.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        encoder_name: str,
        encoder_fingerprint: str,
        layers: Sequence[str],
        dim: int,
        dtype: Kept = "float16",
        about: Mapping[str, Any] | None = None,
    ) -> None:
        choose(dtype, LARGEST, what="dtype")
        self.folder = Path(folder)
        if (self.folder / DESCRIPTION).exists():
            raise InputError(
                f"{self.folder}: a new folder is needed, got one of finished vectors: choose another.", code="exists"
            )
        self.dtype: str = dtype
        self.layers, self.dim = tuple(layers), dim
        self.about = dict(about or {})
        self.header = {
            "encoder_name": encoder_name,
            "encoder_fingerprint": encoder_fingerprint,
            "layers": list(self.layers),
            "dim": dim,
            "dtype": dtype,
        }
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, shard: int) -> Path:
        return self.folder / f"{shard:05d}.npz"

    def done(self, shard: int) -> bool:
        """Whether this shard is written already (files appear whole or not at all)."""
        return self.path(shard).exists()

    def write(
        self,
        vectors: Any,
        strings: Sequence[str],
        sentences: NDArray[np.int64],
        texts: NDArray[np.int64],
        *,
        positions: NDArray[np.int64] | None = None,
        occurrences: NDArray[np.uint64] | None = None,
        shard: int | None = None,
    ) -> Path:
        """Write one shard: vectors (layers, n, d), an array or a tensor on any device, and who the n rows are.

        `shard`: its number; left out, the first that is not there yet.
        """
        if (positions is None) == (occurrences is None):
            raise UsageError("Either positions or occurrences must be given, got both or neither.", code="exclusive")
        rows = len(strings)
        array = as_array(vectors)
        if array.shape != (len(self.layers), rows, self.dim) or not len(sentences) == len(texts) == rows:
            raise UsageError(
                f"Vectors (layers, words, dimensions) of {len(self.layers)}, {rows}, {self.dim} are needed "
                f"with as many sentences and texts as words, got vectors {array.shape}, {len(sentences)} "
                f"sentences and {len(texts)} texts.",
                code="wrong_shape",
                parameter="vectors",
            )
        if not is_together(np.asarray(texts)):
            raise UsageError(
                "The words of one text must stand together, got a text divided by another: sort by text.",
                code="out_of_order",
            )
        self.check_numbers(array, strings)
        if occurrences is None:
            assert positions is not None
            occurrences = hash_occurrences(np.asarray(sentences), np.asarray(positions))
        data, offsets = pack(strings)
        arrays = {
            "vectors": np.ascontiguousarray(array, dtype=self.dtype),
            "strings": data,
            "offsets": offsets,
            "sentences": np.asarray(sentences, dtype=np.int64),
            "texts": np.asarray(texts, dtype=np.int64),
            "occurrences": np.asarray(occurrences, dtype=np.uint64),
        }
        digest = hashlib.blake2b(digest_size=16)
        for part in arrays.values():
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        if shard is None:
            shard = next(number for number in range(len(list(self.folder.iterdir())) + 1) if not self.done(number))
        path = self.path(shard)
        state.save(path, arrays, about={**self.header, "rows": rows, "hash": digest.hexdigest()})
        return path

    def check_numbers(self, array: NDArray[Any], strings: Sequence[str]) -> None:
        """Refuse what would become infinite: models have coordinates beyond float16's range."""
        for layer, rows in zip(self.layers, array, strict=True):
            with np.errstate(invalid="ignore"):
                wrong = ~(np.abs(rows).max(axis=1, initial=0) <= LARGEST[self.dtype])  # NaN is wrong too
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                worst = rows[row][np.argmax(np.where(np.isnan(rows[row]), np.inf, np.abs(rows[row])))]
                todo = "keep them with dtype='float32'" if np.isfinite(worst) else "look at the encoder"
                raise InputError(
                    f"Vectors kept as {self.dtype} must be within ±{LARGEST[self.dtype]:g}, got {worst:g} "
                    f"in layer {layer} of {strings[row]!r}: {todo}.",
                    code="out_of_range",
                    parameter="dtype",
                )

    def close(self, *, duplicates: NDArray[np.int64] | None = None) -> None:
        """Write vectors.json, which makes the folder whole: the settings, and each shard's rows and hash.

        `duplicates` are the identities of texts that repeat an earlier one: where some words have no vector, that can
        no longer be told from the words that are kept.
        """
        if duplicates is not None:
            state.save(self.folder / DUPLICATES, {"texts": duplicates})
        shards = []
        for path in sorted(self.folder.glob("[0-9]*.npz")):
            about = json.loads(str(read_member(path, "__header__")))["about"]
            for key, value in self.header.items():
                if about[key] != value:
                    raise InputError(
                        f"{path}: all shards must have {key} {value!r}, got {about[key]!r}: "
                        "remove the folder and encode again.",
                        code="other_settings",
                    )
            shards.append({"file": path.name, "rows": about["rows"], "hash": about["hash"]})
        description = {
            "format": FORMAT,
            **self.header,
            "about": self.about,
            "shards": shards,
            "words_total": sum(shard["rows"] for shard in shards),
        }
        state.write_text(self.folder / DESCRIPTION, json.dumps(description, indent=1, ensure_ascii=False) + "\n")

    def __enter__(self) -> OccurrenceWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None:
            self.close()


def as_array(vectors: Any) -> NDArray[Any]:
    """A numpy array of an array or tensor; bfloat16, which numpy lacks, as float32."""
    if hasattr(vectors, "detach"):  # a tensor, without importing torch
        refuse_unreal(vectors, what="Vectors")
        vectors = vectors.detach()
        if "float" in str(vectors.dtype) and "64" not in str(vectors.dtype):
            vectors = vectors.float()
        vectors = vectors.cpu().numpy()
    return real_array(vectors, what="Vectors")
