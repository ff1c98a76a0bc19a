"""The file formats of word vectors: told apart by content when read, by name when written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast, get_args

from limbeck.corpus.compression import compression_of, open_bytes
from limbeck.errors import InputError, UsageError, choose
from limbeck.extras import need
from limbeck.state import atomic
from limbeck.vectors import arrays, fasttext, folders, models, spacy_folders, text, word2vec
from limbeck.vectors.damaged import told_as_damage
from limbeck.vectors.gather import Floats, Table
from limbeck.vectors.model_files import check_links
from limbeck.vectors.precision import DTYPES, check_range
from limbeck.vectors.settings import Readable, Written

#: what `format=` may be when reading, and when writing
READABLE: tuple[str, ...] = get_args(Readable)
WRITABLE: tuple[str, ...] = get_args(Written)
FOLDERS = ("model2vec", "spacy")
NARROW = ("npz", "safetensors", "model2vec")  #: formats that have float16 and int8 too
BY_SUFFIX = {
    ".txt": "word2vec",
    ".vec": "fasttext",
    ".glove": "glove",
    ".bin": "word2vec-binary",
    ".npz": "npz",
    ".safetensors": "safetensors",
    "": "model2vec",
}
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
HEAD = 1 << 20  #: bytes looked at to tell a text's second line from binary numbers: room for 40,000 dimensions
PICKLED = (b"\2", b"\3", b"\4", b"\5")  #: the second byte of a pickle says which protocol, the first that it is one
ARRAYS: dict[str, Callable[..., Table]] = {
    "npz": arrays.read_npz,
    "npy": arrays.read_npy,
    "safetensors": arrays.read_safetensors,
}


def read(path: str | Path, *, format: str = "auto", limit: int | None = None) -> Table:
    """Read word vectors of any format; `limit`: the first so many different words."""
    choose(format, READABLE, what="format")
    if limit is not None and limit < 1:
        raise UsageError(
            f"limit must be at least 1, got {limit}: leave it out to read all words.",
            code="out_of_range",
            parameter="limit",
        )
    path = Path(path).expanduser()
    if not path.exists():
        raise InputError(
            f"{path}: a file or folder of word vectors is needed, nothing is there: check the path.", code="not_found"
        )
    table = read_folder(path, format, limit) if path.is_dir() else read_file(path, format, limit)
    if not table.words:
        raise InputError(
            f"{path}: word vectors are needed, there is no word in it: check how it was made.", code="no_words"
        )
    return table


def read_file(path: Path, format: str, limit: int | None) -> Table:
    if format in (*FOLDERS, "model"):
        raise InputError(
            f"{path}: format {format!r} is a folder, got a file: give the folder or another format.",
            code="other_kind",
            parameter="format",
        )
    with open(path, "rb") as plain:
        compressed = compression_of(plain.read(8)) is not None
    if format == "auto":
        with open_bytes(path) as stream:
            format = detect(stream.read(HEAD), path)
    if format in ARRAYS:
        if compressed:
            raise InputError(
                f"{path}: a compressed {format} file cannot be read in place: decompress it first.",
                code="unsupported",
                parameter="format",
            )
        with told_as_damage(path, format):
            return ARRAYS[format](path, limit=limit)
    with told_as_damage(path, format), open_bytes(path) as stream:
        if format == "word2vec-binary":
            return word2vec.read_word2vec_binary(stream, path, limit=limit)
        if format == "fasttext-binary":
            return fasttext.read_fasttext_binary(stream, path, limit=limit, plain=not compressed)
        return text.read_text(stream, path, header=format != "glove", limit=limit)


def read_folder(path: Path, format: str, limit: int | None) -> Table:
    if (path / "vectors.json").is_file() and format == "auto":
        raise InputError(
            f"{path}: word vectors are needed, these are kept occurrence vectors: use OccurrenceVectors.load.",
            code="other_kind",
        )
    check_links(path)
    if format == "auto":
        with told_as_damage(path, "vectors"):
            folders.refuse_several(path)
            format = folder_format(path)
    if format == "model2vec":
        with told_as_damage(path, format):
            return folders.read_model2vec(path, limit=limit)
    if format == "spacy":
        with told_as_damage(path, "vectors of spaCy"):
            return spacy_folders.read_spacy(path, limit=limit)
    if format == "model":
        with told_as_damage(path, "a model"):
            table = models.read_model(path)
        return table if limit is None else Table(table.words[:limit], table.matrix[:limit].copy(), table.notes)
    raise InputError(
        f"{path}: format {format!r} is a file, got a folder: give the file or another format.",
        code="other_kind",
        parameter="format",
    )


def folder_format(path: Path) -> str:
    """The format that a folder's files show."""
    if spacy_folders.is_spacy(path):
        return "spacy"
    if folders.is_model2vec(path):
        return "model2vec"
    if models.is_model(path):
        return "model"
    raise InputError(
        f"{path}: a folder of word vectors must hold model.safetensors and tokenizer.json (model2vec, limbeck "
        "distill), a pipeline of spaCy, or a model with its tokenizer; got none of these: check the path.",
        code="other_kind",
    )


def detect(head: bytes, path: Path) -> str:
    """The format that a file's first (decompressed) bytes show."""
    if head.startswith(b"PK\x03\x04"):
        return "npz"
    if len(head) > 8 and head[8:9] == b"{" and struct.unpack("<Q", head[:8])[0] < 1 << 32:
        return "safetensors"
    if head[:4] == struct.pack("<i", fasttext.MAGIC):
        return "fasttext-binary"
    for magic, what in ((b"PAR1", "Parquet"), (b"\x89HDF", "HDF5")):
        if head.startswith(magic):
            raise InputError(
                f"{path}: word vectors are needed, got a {what} file: load it with OccurrenceVectors.load.",
                code="other_kind",
            )
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head[:1] == b"\x80" and head[1:2] in PICKLED:
        raise InputError(
            f"{path}: word vectors are needed, got a pickle, as gensim's save writes, which is not read since it can "
            "run any code: save the vectors with gensim's save_word2vec_format(NAME, binary=True).",
            code="unsupported",
        )
    first, newline, rest = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    if not head.strip():
        raise InputError(f"{path}: word vectors are needed, the file is empty.", code="empty")
    header = text.header_of(first) if newline else None
    if header is None:
        if b"\0" in head[:4096]:
            raise InputError(
                f"{path}: word vectors are needed, got an unknown binary file: save them as word2vec, text, npz or "
                "safetensors.",
                code="other_kind",
            )
        return "glove"
    return "word2vec" if is_text(rest) else "word2vec-binary"


def is_text(rest: bytes) -> bool:
    """Whether what follows a header is a line of text: at least half of its fields after the first are numbers.

    Half, so that one damaged number in a text is told with its line and not as a damaged binary file.
    """
    fields = rest.split(b"\n", 1)[0].split()[1:]
    numbers = sum(text.is_number(field) for field in fields)
    return not rest.strip() or 0 < len(fields) <= 2 * numbers


def format_of(path: str | Path, format: str = "auto") -> str:
    """The format that word vectors are written in: the one given, or what the name's ending says."""
    choose(format, WRITABLE, what="format")
    path = Path(path).expanduser()
    compressed = path.suffix in COMPRESSED
    if format == "auto":
        suffix = Path(path.stem).suffix if compressed else path.suffix
        if suffix not in BY_SUFFIX or (compressed and not suffix):
            raise UsageError(
                f"{path}: the name must end in {', '.join(filter(None, BY_SUFFIX))} or nothing (a folder), "
                f"got {suffix!r}: rename it or give a format.",
                code="unknown_choice",
                parameter="format",
            )
        format = BY_SUFFIX[suffix]
    if compressed and (format in ARRAYS or format in FOLDERS):
        raise UsageError(
            f"{path}: {format} is not compressed: leave {path.suffix} out of the name.", code="unsupported"
        )
    return format


def check_dtype(dtype: str, format: str) -> None:
    choose(dtype, DTYPES, what="dtype")
    if dtype != "float32" and format not in NARROW:
        raise UsageError(
            f"Only {', '.join(NARROW)} hold {dtype}, got {format}: choose one of them or float32.",
            code="unsupported",
            parameter="dtype",
        )


def write(
    path: str | Path,
    words: Sequence[str],
    matrix: Floats,
    *,
    format: str = "auto",
    dtype: str = "float32",
    language: str = "en",
) -> None:
    """Write word vectors; "auto" goes by the name's ending (.gz, .bz2, .xz, .zst compress text and .bin)."""
    format = format_of(path, format)
    check_dtype(dtype, format)
    check_range(words, matrix, dtype)
    path = Path(path).expanduser()
    if format in FOLDERS:
        if path.is_file():
            raise InputError(
                f"{path}: a folder ({format}) is to be written, got a file of that name: choose another.",
                code="in_the_way",
            )
        refuse_model(path)
        if format == "spacy":
            spacy_folders.write_spacy(path, words, matrix, language=language)
        else:
            folders.write_model2vec(path, words, matrix, dtype=dtype)
        return
    if path.is_dir():
        raise InputError(
            f"{path}: a file ({format}) is to be written, got a folder of that name: choose another.", code="in_the_way"
        )
    if format == "word2vec-binary":
        word2vec.check_binary_words(words, path)
    elif format not in ARRAYS:
        text.check_text_words(words, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        if format == "npz":
            arrays.write_npz(temporary, words, matrix, dtype=dtype)
        elif format == "safetensors":
            arrays.write_safetensors(temporary, words, matrix, dtype=dtype)
        else:
            with compressing(temporary, path.suffix) as stream:
                if format == "word2vec-binary":
                    word2vec.write_word2vec_binary(stream, words, matrix)
                else:
                    text.write_text(stream, words, matrix, header=format != "glove")


def refuse_model(folder: Path) -> None:
    """Refuse a folder with a model or the like: its files have the names of those that vectors are written to."""
    there = [name for name in folders.FILES if os.path.lexists(folder / name)]
    if there and not (folders.is_model2vec(folder) or spacy_folders.is_spacy(folder)):
        raise InputError(
            f"{folder}: a new folder or one of vectors is needed, this has {', '.join(there)} of something else: "
            "choose another.",
            code="in_the_way",
        )


@contextmanager
def compressing(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    """A file opened for writing, compressed as the suffix says; the same content gives the same bytes."""
    with open(path, "wb") as file:
        inner: Any
        match suffix:
            case ".gz":
                inner = gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0)
            case ".bz2":
                inner = bz2.BZ2File(file, "wb")
            case ".xz":
                inner = lzma.LZMAFile(file, "wb")  # noqa: SIM115 (closed below, like the others)
            case ".zst":
                zstandard = need("zstandard", purpose="writing .zst files")
                inner = zstandard.ZstdCompressor().stream_writer(file, closefd=False)
            case _:
                yield file
                return
        with inner, io.BufferedWriter(cast(io.RawIOBase, inner), 1 << 20) as buffered:
            yield cast(IO[bytes], buffered)
