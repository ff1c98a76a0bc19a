"""Every reader on broken files: thousands of mutations of a small valid file of each kind.

A reader must give a result or a LimbeckError that names the file. Anything else is a finding: another exception, a
crash, a hang, more memory than the limit. Each mutation is made by its number alone and can be made again:

    python -m benchmarks.fuzz                              # all kinds, some minutes
    python -m benchmarks.fuzz --kind hdf5 --count 20000
    python -m benchmarks.fuzz --kind hdf5 --only 1234      # one mutation, with its traceback
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import io
import json
import lzma
import multiprocessing
import random
import shutil
import signal
import struct
import sys
import tarfile
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.errors import LimbeckError

SECONDS = 10  #: that a reader may take for a file of some kilobytes
MEMORY = 3 << 30  #: bytes that it may take beyond what a process has at its start
BATCH = 50  #: mutations a process is given at once
WORDS = ["the", "bank", "東京", "naïve"]


@dataclass(frozen=True)
class Kind:
    """A kind of file: how a small valid one is made in a folder, and how limbeck reads it.

    `make` returns what is mutated, one file or several; `read` is given the folder.
    """

    name: str
    make: Callable[[Path], list[Path]]
    read: Callable[[Path], object]


def kinds() -> dict[str, Kind]:
    """All kinds by name; those whose package is missing are left out."""
    found = [*corpora(), *compressed(), *tables(), *occurrences(), *states()]
    return {kind.name: kind for kind in found}


# --- text -------------------------------------------------------------------------------------

TEXTS = {
    "prose": "The bank was steep. “We” tied it, at 東京.\n\nIt's 3.5 m; Dr. X isn't here.\n" * 3,
    "words": "The bank was steep .\nWe tied it .\n\nAt 東京 .\n" * 3,
    "tsv": "score\tleft\tright\n" + "4.8\tA man plays.\tA 東京 man.\n\n" * 4,
    "jsonl": '{"words": ["The", "bank"], "labels": {"1": {"sense": "x", "span": "1"}}, "glued": [0], "document": "d"}\n'
    '{"words": ["an", "apple"], "index": 1, "label": "plant", "paragraph": "p"}\n{"text": "Running text. More."}\n',
    "conllu": "# newdoc\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n1\tdo\tdo\tAUX\t_\t_\t0\troot\t_\t_\n"
    "2\tn't\tnot\tPART\t_\t_\t1\tadvmod\t_\t_\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n# newpar\n1\tIt\tit\tPRON"
    + "\t_" * 6
    + "\n\n",
    "semcor": "<contextfile concordance=brown>\n<context filename=br-a01 paras=yes>\n<p pnum=1>\n<s snum=1>\n"
    "<wf cmd=done pos=VB lemma=take_place wnsn=1;2 lexsn=2:30:00::>took_place</wf>\n<punc>.</punc>\n</s>\n</p>\n"
    "</context>\n</contextfile>\n",
    "wikipse": "she moved to @new_york@-location in may\n@apple@ is\n" * 3,
}


def corpora() -> Iterator[Kind]:
    for format, text in TEXTS.items():
        yield Kind(format, _writing("text", text.encode()), _corpus("text", format))
        yield Kind(f"{format} guessed", _writing("text", text.encode()), _corpus("text", "auto"))
    yield Kind("parquet", _parquet, _corpus("text.parquet", "parquet"))


def compressed() -> Iterator[Kind]:
    data = TEXTS["words"].encode() * 5
    yield Kind("gzip", _writing("text", gzip.compress(data) + gzip.compress(data)), _corpus("text", "words"))
    yield Kind("bzip2", _writing("text", bz2.compress(data) + bz2.compress(data)), _corpus("text", "words"))
    yield Kind("xz", _writing("text", lzma.compress(data) + lzma.compress(data)), _corpus("text", "words"))
    with contextlib.suppress(ImportError):
        import zstandard

        frames = zstandard.ZstdCompressor(write_checksum=True).compress(data) * 2
        yield Kind("zstandard", _writing("text", frames), _corpus("text", "words"))
    for mode, compress in (("tar", bytes), ("tar.gz", gzip.compress)):
        for form, number in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
            yield Kind(f"{mode} {form}", _writing("t", compress(_tar(number))), _corpus("t", "words"))


def _tar(format: int) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format) as archive:
        for name in ("en/a.txt", "de/" + "long" * 40 + "ü.txt"):
            if format == tarfile.USTAR_FORMAT and len(name) > 90:
                name = "de/b.txt"
            member = tarfile.TarInfo(name)
            member.size = 30
            archive.addfile(member, io.BytesIO(b"The bank was steep .\nWe did .\n"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return file.getvalue()


def _parquet(folder: Path) -> list[Path]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {"text": ["The bank. It was.", None, "東京"] * 5, "n": list(range(15))}
    pq.write_table(pa.table(rows), folder / "text.parquet", row_group_size=4, use_dictionary=["text"])
    return [folder / "text.parquet"]


def _corpus(name: str, format: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        from limbeck.corpus import Corpus

        columns = ["left", "right"] if format == "tsv" else None
        corpus = Corpus(folder / name, format=format, columns=columns)
        _ = corpus.fingerprint
        by_characters = Corpus(folder / name, format=format, columns=columns, characters=True)
        return list(corpus), list(by_characters)

    return read


# --- word vectors -----------------------------------------------------------------------------


def tables() -> Iterator[Kind]:
    for name in ("v.txt", "v.vec", "v.glove", "v.bin", "v.npz", "v.safetensors", "v.txt.gz", "v.bin.zst"):
        yield Kind(name, _saved(name), _static(name))
    for dtype in ("float16", "int8"):
        yield Kind(f"v.npz {dtype}", _saved("v.npz", dtype), _static("v.npz"))
        yield Kind(f"v.safetensors {dtype}", _saved("v.safetensors", dtype), _static("v.safetensors"))
    yield Kind("v.npz compressed", _small_npz, _static("v.npz"))
    yield Kind("fasttext", _writing("v.bin", fasttext_model()), _static("v.bin"))
    yield Kind("fasttext gzip", _writing("v.bin.gz", gzip.compress(fasttext_model())), _static("v.bin.gz"))
    yield Kind("model2vec", _saved("v", facts=True), _static("v"))
    yield Kind("spacy", _spacy, _static("v"))
    yield Kind("model", _model, _static("v"))
    yield Kind("counts", _writing("counts", "the 5\nbank\t3\n東京 2\n".encode()), _counts)


def _vectors(**facts: Any) -> Any:
    from limbeck.vectors import StaticVectors

    return StaticVectors(WORDS, np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32), **facts)


def _saved(name: str, dtype: str = "float32", *, facts: bool = False) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        known = {"counts": [5, 3, 2, 2], "origins": ["corpus"] * 4, "total": 20} if facts else {}
        _vectors(**known).save(folder / name, dtype=dtype)
        return sorted(path for path in (folder / name).iterdir()) if (folder / name).is_dir() else [folder / name]

    return make


def _small_npz(folder: Path) -> list[Path]:
    vectors = _vectors()
    np.savez_compressed(folder / "v.npz", vectors=vectors.matrix, words=np.array(vectors.words))
    return [folder / "v.npz"]


def fasttext_model(*, dim: int = 3, bucket: int = 5, minn: int = 2, maxn: int = 3) -> bytes:
    """A .bin as fastText writes it, with the words of this module."""
    data = struct.pack("<ii", 793_712_314, 12)
    data += struct.pack("<12id", dim, 5, 5, 1, 5, 1, 1, 2, bucket, minn, maxn, 100, 1e-4)
    data += struct.pack("<iiiqq", len(WORDS), len(WORDS), 0, 20, -1)
    data += b"".join(word.encode() + b"\0" + struct.pack("<qb", 5, 0) for word in WORDS)
    rows = np.random.default_rng(0).normal(size=(len(WORDS) + bucket, dim)).astype("<f4")
    return data + b"\0" + struct.pack("<qq", *rows.shape) + rows.tobytes()


def _spacy(folder: Path) -> list[Path]:
    _vectors().save(folder / "v", "spacy")
    return [folder / "v" / "vocab" / name for name in ("vectors", "key2row", "strings.json", "vectors.cfg")]


def _model(folder: Path) -> list[Path]:
    from limbeck.vectors.precision import Tensor, write_tensors

    (folder / "v").mkdir()
    with open(folder / "v" / "model.safetensors", "wb") as file:
        write_tensors(file, {"embeddings.word_embeddings.weight": Tensor.of(_vectors().matrix)})
    vocabulary = {"model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(WORDS)}}, "added_tokens": []}
    (folder / "v" / "tokenizer.json").write_text(json.dumps(vocabulary))
    config = {"model_type": "bert", "hidden_size": 4, "num_attention_heads": 2, "num_hidden_layers": 1}
    (folder / "v" / "config.json").write_text(json.dumps(config | {"intermediate_size": 4, "vocab_size": 4}))
    return [folder / "v" / name for name in ("model.safetensors", "tokenizer.json")]


def _static(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        from limbeck.vectors import StaticVectors

        vectors = StaticVectors.load(folder / name)
        return len(vectors), vectors.counts, vectors.unit

    return read


def _counts(folder: Path) -> object:
    from limbeck.vectors.word_counts import read_counts

    return read_counts(folder / "counts")


# --- occurrence vectors, state, weights -------------------------------------------------------


def occurrences() -> Iterator[Kind]:
    yield Kind("kept", _kept, _occurrences("v"))
    yield Kind("occurrences npz", _occurrence_npz, _occurrences("v.npz"))
    for long in (True, False):
        yield Kind(
            f"occurrences parquet {'long' if long else 'wide'}", _occurrence_parquet(long), _occurrences("v.parquet")
        )
    with contextlib.suppress(ImportError):
        import h5py  # noqa: F401

        yield Kind("hdf5", _hdf5, _occurrences("v.hdf5"))


def _kept(folder: Path) -> list[Path]:
    from limbeck.vectors import OccurrenceWriter

    writer = OccurrenceWriter(
        folder / "v", encoder_name="m", encoder_fingerprint="f", layers=("0", "1"), dim=3, dtype="float32", about={}
    )
    ids = np.array([0, 0, 1, 1])
    vectors = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
    writer.write(vectors, strings=WORDS, sentences=ids, texts=ids, occurrences=np.arange(4, dtype=np.uint64), shard=0)
    writer.close(duplicates=np.array([1]))
    return sorted((folder / "v").iterdir())


def _occurrence_npz(folder: Path) -> list[Path]:
    vectors = np.random.default_rng(0).normal(size=(2, 4, 3))
    np.savez(folder / "v.npz", vectors=vectors, words=np.array(WORDS), sentences=[0, 1, 0, 1], layers=["a", "b"])
    return [folder / "v.npz"]


def _occurrence_parquet(long: bool) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        vectors = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32).tolist()
        if long:
            rows = {
                "word": WORDS * 2,
                "layer": [0] * 4 + [1] * 4,
                "sentence": [0, 0, 1, 1] * 2,
                "vector": [*vectors[0], *vectors[1]],
            }
        else:
            rows = {"word": WORDS, "context": ["x", "x", "y", "y"], "layer_0": vectors[0], "layer_1": vectors[1]}
        pq.write_table(pa.table(rows), folder / "v.parquet", row_group_size=3)
        return [folder / "v.parquet"]

    return make


def _hdf5(folder: Path) -> list[Path]:
    import h5py

    rng = np.random.default_rng(0)
    with h5py.File(folder / "v.hdf5", "w") as file:
        file["0"] = rng.normal(size=(2, 2, 3)).astype(np.float32)
        file.create_dataset("1", data=rng.normal(size=(2, 2, 3)), chunks=(1, 2, 3), compression="gzip")
        file["sentence_to_index"] = "{}"
    (folder / "word2sent.json").write_text(json.dumps({"the": [[0, 0], [1, 1]], "bank": [[0, 1]]}))
    return [folder / "v.hdf5", folder / "word2sent.json"]


def _occurrences(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        from limbeck.vectors import OccurrenceVectors

        kept = OccurrenceVectors.load(folder / name)
        return [
            (kept.strings_of(n), [block.vectors.sum() for block in kept.shard(n)]) for n in range(min(kept.shards, 8))
        ]

    return read


def states() -> Iterator[Kind]:
    yield Kind("state", _state, _load_state)
    yield Kind("elmo safetensors", _elmo, _load_elmo)
    with contextlib.suppress(ImportError):
        import h5py  # noqa: F401

        yield Kind("elmo hdf5", _elmo_published, _load_elmo)


def _state(folder: Path) -> list[Path]:
    from limbeck.state import save

    save(folder / "s.npz", {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2])}, about={"x": [1, 2]})
    return [folder / "s.npz"]


def _load_state(folder: Path) -> object:
    from limbeck.state import load

    return load(folder / "s.npz")


OPTIONS = {
    "char_cnn": {
        "activation": "relu", "embedding": {"dim": 2}, "filters": [[1, 2], [2, 2]], "max_characters_per_token": 10,
        "n_characters": 262, "n_highway": 1,
    },
    "lstm": {
        "cell_clip": 3, "dim": 4, "n_layers": 1, "proj_clip": 3, "projection_dim": 2, "use_skip_connections": True,
    },
}  # fmt: skip


def _elmo(folder: Path) -> list[Path]:
    import torch

    from limbeck.encoders import BiLM
    from limbeck.encoders.bilm_files import write_folder

    torch.manual_seed(0)
    write_folder(folder / "v", OPTIONS, BiLM(OPTIONS).state_dict(), dtype="float32")
    return sorted((folder / "v").iterdir())


def _elmo_published(folder: Path) -> list[Path]:
    import h5py

    (folder / "v").mkdir()
    (folder / "v" / "options.json").write_text(json.dumps(OPTIONS))
    rng = np.random.default_rng(0)
    shapes = {
        "char_embed": (261, 2), "CNN/W_cnn_0": (1, 1, 2, 2), "CNN/b_cnn_0": (2,), "CNN/W_cnn_1": (1, 2, 2, 2),
        "CNN/b_cnn_1": (2,), "CNN_high_0/W_carry": (4, 4), "CNN_high_0/b_carry": (4,), "CNN_high_0/W_transform": (4, 4),
        "CNN_high_0/b_transform": (4,), "CNN_proj/W_proj": (4, 2), "CNN_proj/b_proj": (2,),
    }  # fmt: skip
    for side in (0, 1):
        cell = f"RNN_{side}/RNN/MultiRNNCell/Cell0/LSTMCell"
        shapes |= {f"{cell}/W_0": (4, 16), f"{cell}/B": (16,), f"{cell}/W_P_0": (4, 2)}
    with h5py.File(folder / "v" / "weights.hdf5", "w") as file:
        for name, shape in shapes.items():
            file[name] = rng.normal(size=shape).astype(np.float32)
    return sorted((folder / "v").iterdir())


def _load_elmo(folder: Path) -> object:
    from limbeck.encoders import ElmoEncoder

    return ElmoEncoder.from_folder(folder / "v")


def _writing(name: str, data: bytes) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        (folder / name).write_bytes(data)
        return [folder / name]

    return make


# --- mutations --------------------------------------------------------------------------------

INTEGERS = [struct.pack("<i", value) for value in (-1, 0, 1 << 30, (1 << 31) - 1)]
INTEGERS += [struct.pack("<q", value) for value in (-1, 0, 1 << 40, (1 << 63) - 1)]
PIECES = [b"\n", b" ", b"\0", b"\t", b'"', b"{", b"[" * 3000, b"-1", b"1e999", b"NaN", b"9" * 40, b"9" * 5000, b"null"]
PIECES += [b"\xff\xfe", b"\\ud800", b"../../../etc/passwd", b"<!ENTITY a '&b;&b;'>", b"true", b"[]", b"{}"]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four things done to it."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        length = rng.choice([1, 1, 2, 4, 8, 40])
        match rng.randrange(9):
            case 0:  # flip bits
                if at < len(data):
                    data = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
            case 1:
                data = data[:at]
            case 2:
                data = data[:at] + data[at + length :]
            case 3:
                data = data[:at] + rng.randbytes(length) + data[at:]
            case 4:
                data = data[:at] + rng.randbytes(length) + data[at + length :]
            case 5:
                number = rng.choice(INTEGERS)
                data = data[:at] + number + data[at + len(number) :]
            case 6:
                data = data[:at] + rng.choice(PIECES) + data[at:]
            case 7:  # a number that is written out becomes another
                places = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
                if places:
                    at = rng.choice(places)
                    data = data[:at] + rng.choice([b"999999999999", b"-1", b"0", b"7", b"x"]) + data[at + 1 :]
            case 8:  # a part comes twice
                data = data[:at] + data[max(0, at - length * 4) :]
    return data


def attempt(kind: Kind, folder: Path, valid: dict[Path, bytes], number: int) -> str:
    """Read mutation `number`: "read" or "refused"; anything else is raised."""
    rng = random.Random(f"{kind.name} {number}")
    path = rng.choice(sorted(valid))
    changed = mutate(valid[path], rng)
    path.write_bytes(changed)
    try:
        kind.read(folder)
        return "read"
    except LimbeckError as error:
        if not any(name in str(error) for name in (folder.name, path.name)):
            raise AssertionError(f"the message does not name the file: {error}") from error
        if "\n" in str(error).strip():
            raise AssertionError(f"the message has several lines: {error}") from error
        return "refused"
    finally:
        path.write_bytes(valid[path])


@contextlib.contextmanager
def prepared(kind: Kind) -> Iterator[tuple[Path, dict[Path, bytes]]]:
    """A folder with a valid file of a kind, which must read; warnings of what is broken are not told."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files = kind.make(folder)
            kind.read(folder)
            yield folder, {path: path.read_bytes() for path in files}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class TookTooLong(BaseException):
    """A reader did not come to an end."""


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of work: a busy machine is no hang
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _batch(name: str, start: int, count: int, memory: int, pipe: Any) -> None:
    """Some mutations in a process of their own, which tells each number before it tries it."""
    import resource

    kind = kinds()[name]
    with prepared(kind) as (folder, valid), contextlib.redirect_stderr(io.StringIO()):
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))
        for number in range(start, start + count):
            pipe.send((number, "begun", ""))
            try:
                with within(SECONDS):
                    verdict, told = attempt(kind, folder, valid, number), ""
            except BaseException:
                verdict, told = "found", traceback.format_exc()
            pipe.send((number, verdict, told))
    pipe.send((None, "done", ""))


def fuzz(
    name: str, *, count: int, start: int = 0, memory: int = MEMORY
) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """Verdicts of `count` mutations, and what was found: (number, traceback)."""
    verdicts = {"read": 0, "refused": 0, "found": 0}
    findings: list[tuple[int, str]] = []
    from limbeck.encoders import ElmoEncoder  # noqa: F401  (loaded once: the processes are forks)

    context = multiprocessing.get_context("fork")
    at, end = start, start + count
    while at < end:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_batch, args=(name, at, min(BATCH * 20, end - at), memory, there))
        process.start()
        there.close()
        number, verdict, told = at, "", ""
        try:
            # a reader in C hears no alarm; making the valid file may take a while
            while here.poll(SECONDS * 30):
                found, verdict, told = here.recv()
                if verdict == "done":
                    break
                number = found
                if verdict != "begun":
                    verdicts[verdict] += 1
                    at = number + 1
                    if verdict == "found":
                        findings.append((number, told))
        except EOFError:
            pass
        if verdict != "done":
            process.kill()
            process.join()
            if verdict in ("", "begun"):
                verdicts["found"] += 1
                findings.append((number, f"the process hung or died with status {process.exitcode}"))
            at = number + 1
        process.join()
    return verdicts, findings


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", help="one kind of file; may be given several times (default: all)")
    parser.add_argument("--count", type=int, default=2_000, help="mutations a kind (default: 2,000)")
    parser.add_argument("--start", type=int, default=0, help="number of the first (default: 0)")
    parser.add_argument("--only", type=int, help="this mutation alone, in this process")
    options = parser.parse_args(arguments)
    wanted = options.kind or list(kinds())
    if options.only is not None:
        kind = kinds()[wanted[0]]
        with prepared(kind) as (folder, valid), within(SECONDS):
            print(attempt(kind, folder, valid, options.only))
        return 0
    bad = 0
    for name in wanted:
        began = time.monotonic()
        verdicts, findings = fuzz(name, count=options.count, start=options.start)
        told = ", ".join(f"{verdict} {number:,}" for verdict, number in verdicts.items())
        print(f"{name:28} {told}, {time.monotonic() - began:.0f} s", flush=True)
        seen: set[str] = set()
        for number, trace in findings:
            last = trace.strip().splitlines()[-1]
            if last not in seen:
                seen.add(last)
                print(f"  --only {number}: {last[:200]}", flush=True)
        bad += len(findings)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
