"""Every reader on broken and malicious files: a result or one sentence that names the file, and nothing else.

`python -m benchmarks.fuzz` does the same for thousands of mutations, in processes of their own.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import raises

from benchmarks.fuzz import Kind, attempt, fasttext_model, kinds, mutate, prepared
from limbeck import npz, state
from limbeck.corpus import Corpus, compression, documents
from limbeck.errors import InputError, LimbeckError
from limbeck.evaluation.catalogue import entries_of
from limbeck.runs.execution.pipeline import Pipeline
from limbeck.vectors import OccurrenceVectors, StaticVectors
from limbeck.vectors import formats as vector_formats

KINDS = kinds()
MUTATIONS = {"model": 10}  #: of a kind that takes longer to read; the script tries thousands


@pytest.mark.parametrize("name", KINDS)
def test_mutations(name: str) -> None:
    kind = KINDS[name]
    with prepared(kind) as (folder, valid):
        for number in range(MUTATIONS.get(name, 40)):
            attempt(kind, folder, valid, number)


def changes(kind: Kind, valid: dict[Path, bytes], number: int) -> bool:
    """Whether a mutation leaves anything to find."""
    rng = random.Random(f"{kind.name} {number}")
    path = rng.choice(sorted(valid))
    return mutate(valid[path], rng) != valid[path]


def test_a_reader_that_fails_is_found(tmp_path: Path) -> None:
    """The twin: what must not happen does not pass."""

    def make(folder: Path) -> list[Path]:
        (folder / "x").write_bytes(b"fine")
        return [folder / "x"]

    def careless(folder: Path) -> None:
        if (folder / "x").read_bytes() != b"fine":
            raise KeyError("x")

    def nameless(folder: Path) -> None:
        if (folder / "x").read_bytes() != b"fine":
            raise InputError("something is wrong", code="damaged")

    for read, error in ((careless, KeyError), (nameless, AssertionError)):
        kind = Kind("bad", make, read)
        with prepared(kind) as (folder, valid):
            numbers = [number for number in range(20) if changes(kind, valid, number)]
            assert len(numbers) > 10
            for number in numbers:
                with pytest.raises(error):
                    attempt(kind, folder, valid, number)


MAGIC = [
    b"",
    b"PK\x03\x04",
    b"PAR1",
    b"\x89HDF\r\n\x1a\n",
    b"\x1f\x8b\x08",
    b"BZh9",
    b"\xfd7zXZ\x00",
    b"\x28\xb5\x2f\xfd",
]
MAGIC += [
    struct.pack("<ii", 793_712_314, 12),
    struct.pack("<Q", 40) + b'{"a":',
    b"3 2\n",
    b'{"words": [',
    b"<contextfile",
]


@settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(magic=st.sampled_from(MAGIC), rest=st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, magic: bytes, rest: bytes) -> None:
    path = tmp_path / "any-bytes"
    path.write_bytes(magic + rest)
    readers: list[Callable[[], object]] = [
        lambda: StaticVectors.load(path),
        lambda: [list(OccurrenceVectors.load(path).shard(0))],
        lambda: state.load(path),
        *[lambda format=format: list(Corpus(path, format=format)) for format in ("words", "jsonl", "conllu", "semcor")],
    ]
    for read in readers:
        told = ""
        try:
            read()
        except LimbeckError as error:
            told = str(error)
        assert not told or "any-bytes" in told


# --- headers that promise more than there is --------------------------------------------------


def refused(path: Path, read: Callable[[Path], object], code: str = "") -> str:
    """The message."""
    with pytest.raises(LimbeckError) as error:
        read(path)
    assert error.value.code == code or (error.value.code and not code)
    assert path.name in str(error.value)
    return str(error.value)


def refused_cheaply(path: Path, read: Callable[[Path], object], code: str = "") -> None:
    """Refused without taking memory that the file could not fill."""
    import tracemalloc

    refused(path, read, code)  # packages load at the first time, slowly where memory is traced
    tracemalloc.start()
    try:
        refused(path, read, code)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20, f"{peak >> 20} MiB for a file of {path.stat().st_size} bytes"


@pytest.mark.parametrize(
    "header", ["1000000000000 3", "3 1000000000000", "999999999999999999 999999999999999999", "9" * 5000]
)
@pytest.mark.parametrize("name", ["v.txt", "v.bin"])
def test_word2vec_headers(tmp_path: Path, name: str, header: str) -> None:
    path = tmp_path / name
    path.write_bytes(header.encode() + b"\n" + (b"a 1 2 3\n" if name == "v.txt" else b"a " + bytes(12)))
    refused_cheaply(path, StaticVectors.load)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_fasttext_headers(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    good = fasttext_model()
    path = tmp_path / "v.bin"
    path.write_bytes(compress(good))
    assert len(StaticVectors.load(path)) == 4
    for dim, bucket, maxn in ((1 << 20, 2_000_000_000, 3), (2_000_000_000, 5, 3), (3, 2_000_000_000, 3), (0, 5, 3)):
        data = bytearray(good)
        struct.pack_into("<i", data, 8, dim)
        struct.pack_into("<i", data, 8 + 32, bucket)
        struct.pack_into("<i", data, 8 + 40, maxn)
        shape = good.rindex(struct.pack("<qq", 9, 3))
        struct.pack_into("<qq", data, shape, 4 + bucket, dim)
        path.write_bytes(compress(bytes(data)))
        refused_cheaply(path, StaticVectors.load)
    for size, pruned in ((2_000_000_000, -1), (4, 1 << 60)):
        data = bytearray(good)
        struct.pack_into("<iiiqq", data, 64, size, size, 0, 20, pruned)
        path.write_bytes(compress(bytes(data)))
        refused_cheaply(path, StaticVectors.load)
    data = bytearray(good)
    struct.pack_into(
        "<i", data, 8 + 40, 2_000_000_000
    )  # n-grams of up to two thousand million characters: read at once
    path.write_bytes(compress(bytes(data)))
    assert len(StaticVectors.load(path)) == 4


def npy(shape: tuple[int, ...], dtype: str = "<f4", data: bytes = b"") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"shape": shape, "fortran_order": False, "descr": dtype})
    return file.getvalue() + data


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_array_headers(tmp_path: Path, compression: int) -> None:
    path = tmp_path / "v.npz"
    for shape in ((10**12, 300), (10**9, 10**9, 10**9), (-1, -5), (1 << 40,)):
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("vectors.npy", npy(shape, data=bytes(64)))
            archive.writestr("words.npy", npy(shape, "<U1", data=bytes(64)))
            archive.writestr("__header__.npy", npy(shape, "<U1", data=bytes(64)))
        refused_cheaply(path, StaticVectors.load)
        refused_cheaply(path, lambda path: list(OccurrenceVectors.load(path).shard(0)))
        refused_cheaply(path, state.load)


def test_hdf5_that_is_larger_than_its_file(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "v.hdf5"
    (tmp_path / "word2sent.json").write_text('{"a": [[0, 0]]}')
    with h5py.File(path, "w") as file:
        file.create_dataset("0", shape=(13, 10**7, 768), dtype="f4", chunks=(1, 1000, 768))
    assert path.stat().st_size < 10_000
    refused_cheaply(path, OccurrenceVectors.load, "too_large")
    for link in (h5py.ExternalLink("/etc/passwd", "x"), h5py.SoftLink("/y")):
        with h5py.File(path, "w") as file:
            file["y"] = np.zeros((1, 1, 1), dtype="f4")
            file["0"] = link
        refused_cheaply(path, OccurrenceVectors.load, "outside_folder")


# --- bombs ------------------------------------------------------------------------------------


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor(level=3).compress(data)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_compressed_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]) -> None:
    monkeypatch.setattr(compression, "EXPANDED", 1 << 20)
    monkeypatch.setattr(compression, "EXPANSION", 100)
    path = tmp_path / "bomb.txt"
    path.write_bytes(compress(b"a\n" * (1 << 20)))
    message = refused(path, lambda path: list(Corpus(path, format="words").documents()), "too_large")
    assert "100 times" in message
    path.write_bytes(compress(b"3 2\n" + b"0 " * (1 << 20)))
    refused(path, StaticVectors.load, "too_large")
    ordinary = "".join(f"{i * 7919 % 10007} words of {i}\n" for i in range(20_000)).encode()
    path.write_bytes(compress(ordinary))
    assert len(list(Corpus(path, format="words").documents())) == 20


def test_the_limits_of_bombs_are_those_that_are_told() -> None:
    told = (Path(__file__).parents[2] / "docs" / "safety.md").read_text(encoding="utf-8")
    assert compression.EXPANSION == npz.EXPANSION == 1_000
    assert compression.EXPANDED == npz.EXPANDED == 1 << 30
    assert "1,000 times" in told
    assert "gibibyte" in told
    assert documents.MOST_CHARACTERS == 1 << 26
    assert "67 million" in told


def test_zipped_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "EXPANDED", 1 << 20)
    monkeypatch.setattr(npz, "EXPANSION", 100)
    path = tmp_path / "v.npz"
    np.savez_compressed(path, vectors=np.zeros((1 << 20, 4), dtype=np.float32), words=np.zeros(1 << 20, dtype="<U1"))
    refused(path, StaticVectors.load, "damaged")


def test_lines_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_CHARACTERS", 10_000)
    path = tmp_path / "text"
    for format, line in {"jsonl": '{"text": "' + "a" * 20_000, "conllu": "1\ta" * 9_000, "tsv": "a" * 10_000}.items():
        path.write_text(line)
        refused(path, lambda path, format=format: list(Corpus(path, format=format).documents()), "too_large")
    path.write_text("1\ta\n" * 9_000)
    refused(path, lambda path: list(Corpus(path, format="conllu").documents()), "too_large")
    refused(path, lambda path: list(Corpus(path, format="semcor").documents()), "too_large")


# --- archives ---------------------------------------------------------------------------------


def test_archives_reach_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret words\n")
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind, link in (
            ("link", tarfile.SYMTYPE, str(tmp_path / "secret.txt")),
            ("hard", tarfile.LNKTYPE, "../secret.txt"),
            ("device", tarfile.CHRTYPE, ""),
            ("pipe", tarfile.FIFOTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, link
            archive.addfile(member)
        for name in ("../../outside.txt", "/absolute.txt", "inside.txt"):
            member = tarfile.TarInfo(name)
            member.size = 6
            archive.addfile(member, io.BytesIO(b"plain\n"))
    before = sorted(tmp_path.parent.rglob("*"))
    assert [d.source for d in Corpus(path, format="words").documents()] == [
        f"{path}//absolute.txt",
        f"{path}/inside.txt",
    ]
    assert sorted(tmp_path.parent.rglob("*")) == before, "nothing is unpacked"


def test_sparse_files_in_archives(tmp_path: Path) -> None:
    """A header of 512 bytes that says: a tebibyte of zeros."""
    member = tarfile.TarInfo("a.txt")
    member.type, member.size = tarfile.GNUTYPE_SPARSE, 0
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"00000000000\0" + b"00000000000\0"
    header[483:495] = tarfile.itn(1 << 40, 12, tarfile.GNU_FORMAT)  # type: ignore[attr-defined]
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "a.tar"
    path.write_bytes(bytes(header) + bytes(1024))
    refused(path, lambda path: list(Corpus(path, format="words")), "unsupported")


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    path = tmp_path / "br-a01"
    lines = ["<!DOCTYPE x [", *[f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)], "]>"]
    path.write_text("\n".join(lines))
    refused(path, lambda path: list(Corpus(path, format="semcor")), "malformed")
    path.write_text("<contextfile>\n<s snum=1>\n<wf>&a11;</wf>\n</s>\n")
    assert [s.words for s in Corpus(path, format="semcor")] == [("&a11;",)]


# --- nothing in a file is run -----------------------------------------------------------------


class Payload:
    """What a pickle can do: it leaves a file behind when it is loaded."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


def test_no_pickle_is_loaded(tmp_path: Path) -> None:
    import torch

    trace = tmp_path / "was-run"
    objects = np.array([Payload(trace), "b"], dtype=object)
    path = tmp_path / "v.npz"
    for arrays in (
        {"words": objects, "vectors": np.zeros((2, 3), dtype=np.float32)},
        {"words": np.array(["a", "b"]), "vectors": objects},
    ):
        np.savez(path, allow_pickle=True, **arrays)  # type: ignore[arg-type]
        refused(path, StaticVectors.load, "damaged")
        refused(path, lambda path: OccurrenceVectors.load(path).strings_of(0))
        refused(path, state.load)
    np.savez(path, allow_pickle=True, __header__=np.array(Payload(trace), dtype=object))
    refused(path, state.load)
    for name in ("v.bin", "v.pkl", "pytorch_model.bin", "v.npy"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Payload(trace)))
        refused(path, StaticVectors.load)
        torch.save({"embeddings": Payload(trace)}, path)
        refused(path, StaticVectors.load)
    with pytest.raises(LimbeckError):
        OccurrenceVectors.load(tmp_path / "v.pkl")
    assert not trace.exists()


def model_folder(folder: Path, trace: Path) -> None:
    import torch

    folder.mkdir()
    config = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 5}
    own = {"auto_map": {"AutoModel": "own.Own", "AutoConfig": "own.OwnConfig", "AutoTokenizer": ["own.Own", "own.Own"]}}
    (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 8} | own))
    (folder / "own.py").write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n")
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"} | own))
    torch.save({"embeddings.word_embeddings.weight": Payload(trace)}, folder / "pytorch_model.bin")


def test_no_code_of_a_model_is_run(tmp_path: Path) -> None:
    from limbeck.encoders import load_encoder

    trace = tmp_path / "was-run"
    model_folder(tmp_path / "model", trace)
    for read in (StaticVectors.from_model, StaticVectors.load, load_encoder):
        with raises(LimbeckError, code="damaged", parameter=None):
            read(tmp_path / "model")
    assert not trace.exists()


def test_files_that_name_others_name_neighbours(tmp_path: Path) -> None:
    kind = KINDS["kept"]
    with prepared(kind) as (folder, _):
        description = folder / "v" / "vectors.json"
        told = json.loads(description.read_text())
        told["shards"][0]["file"] = "../../../elsewhere.npz"
        description.write_text(json.dumps(told))
        with raises(InputError, code="outside_folder"):
            kind.read(folder)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"wte.weight": "/etc/passwd"}}))
    (tmp_path / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}}')
    with raises(InputError, code="outside_folder"):
        vector_formats.read(tmp_path, format="model")


# --- nested deeply, and very wide -------------------------------------------------------------

DEEP = {
    "lists": "corpus = " + "[" * 20_000,
    "tables": "[" + ".".join(["a"] * 2_000) + "]\n",
    "keys": "[[measure]]\n" + ".".join(["min-contexts"] + ["a"] * 2_000) + " = 1\n",
    "inline": "corpus = " + "{a = " * 20_000,
}


@pytest.mark.parametrize("how", DEEP)
def test_plans_and_tasks_nested_deeply(tmp_path: Path, how: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(DEEP[how], encoding="utf-8")
    refused(path, Pipeline.read, "malformed")
    if how in ("lists", "inline"):
        refused(path, lambda path: list(entries_of(path)))


def test_parquet_of_very_many_columns(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "wide.parquet"
    parquet.write_table(arrow.table({f"c{number}": [1.0] for number in range(20_000)}), path)
    for read in (Corpus, OccurrenceVectors.load, StaticVectors.load):
        assert len(refused(path, lambda path, read=read: list(read(path)))) < 1_000  # type: ignore[misc]
