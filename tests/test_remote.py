"""Text, vectors and runs by URL: against an S3 server on this machine, and against file systems made to fail."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import raises, refused

import limbeck as lb
from limbeck import remote
from limbeck.cli import main
from limbeck.corpus import Corpus
from limbeck.corpus.offsets import marks_of
from limbeck.errors import InputError, LimbeckError, MissingExtra, UsageError
from limbeck.runs.execution.folders import RunFolder
from limbeck.runs.execution.uploads import UPLOADING, remote_target
from limbeck.vectors import OccurrenceVectors

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("s3fs")
moto = pytest.importorskip("moto.server")

TEXT = "".join(f"sentence {i} of the text , with 東京 and {i * 7919 % 1009}\n" for i in range(3_000))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[str]:
    """An empty bucket, by URL; credentials and endpoint stand in the environment alone."""
    import s3fs

    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "TMPDIR": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    monkeypatch.setattr(remote, "_copies", {})
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    name = f"bucket-{abs(hash(request.node.name))}"
    system.mkdir(name)
    yield f"s3://{name}"
    system.rm(name, recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()


def upload(url: str, data: bytes) -> None:
    system, path = remote.file_system(url)
    system.pipe_file(path, data)


def words(corpus: Corpus) -> list[tuple[str, ...]]:
    return [sentence.words for sentence in corpus]


def test_a_corpus_by_url_is_the_corpus_here(bucket: str, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    lines = TEXT.splitlines(keepends=True)
    parts = {
        "part-0.txt.zst": zstandard.ZstdCompressor().compress("".join(lines[:1_500]).encode()),
        "part-1.txt.gz": gzip.compress("".join(lines[1_500:]).encode()),
    }
    for name, data in parts.items():
        upload(f"{bucket}/text/{name}", data)
        (tmp_path / name).write_bytes(data)
    upload(f"{bucket}/text/.hidden", b"no text")
    upload(f"{bucket}/other.txt", b"another text\n")
    here = words(Corpus([tmp_path / name for name in parts], format="words"))
    assert here == [tuple(line.split()) for line in lines]
    for url in (f"{bucket}/text", f"{bucket}/text/", f"{bucket}/text/part-*", f"{bucket}/**/part-?.txt.*"):
        corpus = Corpus(url, format="words")
        assert words(corpus) == here, url
    assert corpus.describe()["files"] == 2
    assert corpus.describe()["bytes"] == sum(map(len, parts.values()))
    assert words(Corpus(Path(f"{bucket}/other.txt"), format="words")) == [("another", "text")]


def test_ranges_and_formats_by_url(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr("limbeck.corpus.corpus.SPACING", 10_000)
    monkeypatch.setattr("limbeck.corpus.offsets.STEP", 5_000)
    monkeypatch.setattr("limbeck.corpus.documents.BLOCK_CHARACTERS", 5_000)
    upload(f"{bucket}/text.txt", TEXT.encode())
    corpus = Corpus(f"{bucket}/text.txt", format="words")
    whole = list(corpus.documents())
    marks = marks_of(document.mark for document in whole)
    assert len(marks) > 2
    assert [d.lines for d in corpus.documents(2, marks=marks)] == [d.lines for d in whole[2:]]
    pq.write_table(pa.table({"text": TEXT.splitlines()[:100]}), tmp_path / "a.parquet", row_group_size=10)
    upload(f"{bucket}/a.parquet", (tmp_path / "a.parquet").read_bytes())
    assert words(Corpus(f"{bucket}/a.parquet")) == words(Corpus(tmp_path / "a.parquet"))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name in ("en/a", "de/b"):
            member = tarfile.TarInfo(name)
            member.size = 6
            tar.addfile(member, io.BytesIO(name.encode() + b" x"))
    upload(f"{bucket}/texts.tar.gz", archive.getvalue())
    assert words(Corpus(f"{bucket}/texts.tar.gz/de", format="words")) == [("de/b", "x")]


def test_the_fingerprint_of_a_url(bucket: str) -> None:
    url = f"{bucket}/text.txt"
    upload(url, TEXT.encode())
    one = Corpus(url, format="words")
    assert one.fingerprint == Corpus(url, format="words").fingerprint
    upload(url, TEXT.encode().replace(b"1008", b"8001", 1))
    assert Corpus(url, format="words").fingerprint != one.fingerprint
    with raises(InputError, code="changed", says="text.txt"):
        list(one)


def test_what_is_not_there(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (f"{bucket}/nothing", "s3://no-such-bucket-at-all/text.txt", "s3://no-such-bucket-at-all"):
        with raises(InputError, code="not_found", says=f"{url}: "):
            Corpus(url)
    with raises(InputError, code="not_found"):
        Corpus(f"{bucket}/*.jsonl")
    upload(f"{bucket}/empty.txt", b"")
    with raises(InputError, code="empty", says="empty.txt"):
        Corpus(f"{bucket}/empty.txt")
    with raises(UsageError, code="unknown_choice"):
        Corpus("nothing://bucket/text")
    with raises(UsageError, code="password") as error:
        Corpus("ftp://name:secret@host/text")
    assert "secret" not in str(error.value)


def test_no_network_is_one_line(
    bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    out = f"{bucket}/run"
    assert main(["measure", "--model", "mini-bert", "--corpus", f"{bucket}/text.txt", "--out", "x", "--dry-run"]) == 1
    error = capsys.readouterr().err
    assert f"{bucket}/text.txt: cannot be reached" in error
    assert len(error.strip().splitlines()) == 1
    assert refused("measure", "--model", "mini-bert", "--corpus", "sample", "--out", out, capsys=capsys) == (
        1,
        "not_reachable",
        "",
    )
    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.delenv("AWS_ENDPOINT_URL")


class Flaky:
    """A file system that fails some times before it works."""

    def __init__(self, data: bytes, failures: list[Exception]) -> None:
        self.data, self.failures, self.calls = data, failures, 0

    def info(self, path: str) -> dict[str, Any]:
        return {"name": path, "size": len(self.data), "type": "file", "ETag": "x"}

    def invalidate_cache(self) -> None: ...

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return self.data[start:end]


def test_tries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    monkeypatch.setattr(remote, "BLOCK", 1_000)

    def corpus(failures: list[Exception]) -> tuple[Flaky, Corpus]:
        system = Flaky(TEXT.encode(), failures)
        monkeypatch.setattr(remote, "file_system", lambda url: (system, url))
        return system, Corpus("far://away/text.txt", format="words")

    _, good = corpus([TimeoutError("slow"), OSError("reset")])
    assert len(words(good)) == 3_000
    system, bad = corpus([])
    system.failures, system.calls = [OSError("reset by peer")] * 100, 0
    with raises(InputError, code="not_reachable", says=("far://away/text.txt: ", "(reset by peer)")):
        list(bad)
    assert system.calls == remote.TRIES
    system.failures, system.calls = [PermissionError("Forbidden")] * 100, 0
    with raises(InputError, code="not_permitted", says="(Forbidden)"):
        list(bad)
    assert system.calls == 1, "what is forbidden stays forbidden"


def test_cut_answers_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    system = Flaky(TEXT.encode(), [])
    monkeypatch.setattr(remote, "file_system", lambda url: (system, url))
    corpus = Corpus("far://away/text.txt", format="words")
    monkeypatch.setattr(system, "cat_file", lambda path, start, end: system.data[start : end - 1])
    with raises(InputError, code="not_reachable"):
        list(corpus)


def test_memory_and_files(tmp_path: Path) -> None:
    system = fsspec.filesystem("memory")
    system.pipe_file("/texts/a b.txt", TEXT.encode())
    assert len(words(Corpus("memory://texts/a b.txt", format="words"))) == 3_000
    (tmp_path / "a b.txt").write_text(TEXT, encoding="utf-8")
    url = (tmp_path / "a b.txt").as_uri()
    assert "%20" in url
    for given in (url, Path(url), f"file://{tmp_path}/*.txt"):
        corpus = Corpus(given, format="words")
        assert len(words(corpus)) == 3_000
        assert corpus.fingerprint == Corpus(tmp_path / "a b.txt", format="words").fingerprint
    system.rm("/texts", recursive=True)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(url: str) -> None:
        raise ImportError("Please install gcsfs to access Google Storage")

    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(fsspec.core, "url_to_fs", fails)
    with raises(MissingExtra, code="not_installed", says=("gs://", "pip install gcsfs")):
        Corpus("gs://bucket/text")
    with raises(MissingExtra, code="not_installed", says=("s3://", 'pip install "limbeck[remote]"')):
        Corpus("s3://bucket/text")
    monkeypatch.setattr("importlib.import_module", missing)
    with raises(MissingExtra, code="not_installed", says='pip install "limbeck[remote]"'):
        Corpus("s3://bucket/text")


def test_vectors_by_url(bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    vectors = lb.StaticVectors(["a", "b", "c"], rng.normal(size=(3, 4)))
    for name in ("v.txt.gz", "v.npz", "v.safetensors", "v.bin", "folder"):
        vectors.save(tmp_path / name)
        assert main(["convert", str(tmp_path / name), f"{bucket}/{name}"]) == 0
        assert f"{bucket}/{name}: 3 words" in capsys.readouterr().out
        found = lb.StaticVectors.load(f"{bucket}/{name}")
        assert found.words == vectors.words
        assert np.array_equal(found.matrix, vectors.matrix)
    assert refused("convert", tmp_path / "v.npz", f"{bucket}/v.npz", capsys=capsys) == (1, "exists", "existing")
    assert main(["convert", f"{bucket}/folder", str(tmp_path / "back.vec"), "--quiet"]) == 0
    assert np.array_equal(lb.StaticVectors.load(tmp_path / "back.vec").matrix, vectors.matrix)
    upload(f"{bucket}/broken.npz", b"PK\x03\x04 and nothing else")
    with raises(InputError, code="damaged", says=f"{bucket}/broken.npz: ") as error:
        lb.StaticVectors.load(f"{bucket}/broken.npz")
    assert str(tmp_path) not in str(error.value)


def one_hot(texts: Any) -> list[np.ndarray[Any, Any]]:
    return [np.eye(26)[[ord(word[0]) % 26 for word in text.words]] for text in texts]


SETTINGS = {"min_contexts": 2}
SENTENCES = [["a", "b", "c"], ["b", "a"], ["c", "a"], ["a", "c", "b"]]


def test_a_run_by_url(bucket: str, tmp_path: Path) -> None:
    url = f"{bucket}/runs/one"
    measured = lb.measure(one_hot, SENTENCES, **SETTINGS, out=url)
    names = remote.names_in(url)
    assert {"run.json", "layers.csv"} <= set(names)
    assert UPLOADING not in names
    target = remote_target(url, ("run.json", "vectors.json"))
    assert target is not None
    assert not target.place.exists(), "nothing is left here"
    lb.measure(one_hot, SENTENCES, **SETTINGS, out=tmp_path / "here")
    here = {p.relative_to(tmp_path / "here").as_posix() for p in (tmp_path / "here").rglob("*") if p.is_file()}
    assert set(names) == here
    with raises(LimbeckError, code="exists", parameter="existing"):
        lb.measure(one_hot, SENTENCES, **SETTINGS, out=url)
    again = lb.measure(one_hot, SENTENCES, **SETTINGS, out=url, existing="resume")
    assert again["self_similarity"].value == pytest.approx(measured["self_similarity"].value)
    upload(f"{url}/old.txt", b"somebody's own")
    lb.measure(one_hot, SENTENCES[:3], **SETTINGS, out=url, existing="replace")
    assert set(remote.names_in(url)) == {*here, "old.txt"}, "it is none of limbeck's"
    upload(f"{bucket}/mine/notes.txt", b"mine")
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        lb.measure(one_hot, SENTENCES, **SETTINGS, out=f"{bucket}/mine", existing="replace")
    assert remote.names_in(f"{bucket}/mine") == ["notes.txt"]


def test_an_upload_that_broke_off_goes_on(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{bucket}/run"
    real, sent = remote.put, list[str]()

    def breaks(local: Path, to: str) -> None:
        if len(sent) == 3:
            raise InputError(f"{to}: cannot be reached (unplugged).", code="not_reachable")
        sent.append(to)
        real(local, to)

    monkeypatch.setattr("limbeck.runs.execution.uploads.put", breaks)
    with raises(LimbeckError, code="not_reachable", says=("unplugged", "existing='resume'")):
        lb.measure(one_hot, SENTENCES, **SETTINGS, out=url)
    assert "run.json" not in remote.names_in(url), "half a run must not pass for one"
    monkeypatch.setattr("limbeck.runs.execution.uploads.put", real)
    with raises(LimbeckError, code="unfinished", parameter="existing"):
        lb.measure(one_hot, SENTENCES, **SETTINGS, out=url)
    lb.measure(one_hot, SENTENCES, **SETTINGS, out=url, existing="resume")
    assert "run.json" in remote.names_in(url)
    assert UPLOADING not in remote.names_in(url)


def test_run_json_comes_last(bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sent: list[str] = []
    monkeypatch.setattr("limbeck.runs.execution.uploads.put", lambda local, url: sent.append(url))
    with RunFolder(f"{bucket}/run") as folder:
        for name in ("zebra.csv", "run.json", "a.csv", "vectors.json"):
            (folder.unfinished / name).write_text(json.dumps({}))
        place = folder.finish()
    assert str(place) == f"{bucket}/run"
    names = [url.removeprefix(f"{bucket}/run/") for url in sent]
    assert names[0] == UPLOADING
    assert names[-2:] == ["vectors.json", "run.json"]
    assert {"a.csv", "zebra.csv"} <= set(names[1:-2])


def test_the_commands_take_urls(bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    upload(f"{bucket}/t/a.jsonl", b"".join(json.dumps({"words": s}).encode() + b"\n" for s in SENTENCES))
    vectors = lb.StaticVectors(["a", "b", "c"], np.random.default_rng(0).normal(size=(3, 4)))
    vectors.save(tmp_path / "v.npz")
    upload(f"{bucket}/v.npz", (tmp_path / "v.npz").read_bytes())
    text = ["--corpus", f"{bucket}/t/*.jsonl", "--workers", "0"]
    assert main(["encode", "--model", f"{bucket}/v.npz", *text, "--out", f"{bucket}/kept"]) == 0
    assert f"use with --vectors {bucket}/kept" in capsys.readouterr().out
    told = json.loads(remote.file_system(bucket)[0].cat_file(f"{bucket}/kept/vectors.json"))
    assert told["about"]["corpus"]["paths"] == [f"{bucket}/t/*.jsonl"]
    assert "secret" not in json.dumps(told)
    kept = OccurrenceVectors.load(f"{bucket}/kept")
    assert kept.words_total == sum(map(len, SENTENCES))
    assert sum(len(block) for number in range(kept.shards) for block in kept.shard(number)) == kept.words_total


@pytest.mark.slow  # draws the figures of three folders
def test_several_models_at_a_url_have_their_page_there(bucket: str, tmp_path: Path) -> None:
    upload(f"{bucket}/t.jsonl", b"".join(json.dumps({"words": s}).encode() + b"\n" for s in SENTENCES))
    for seed, name in enumerate(("one.npz", "two.npz")):
        lb.StaticVectors(["a", "b", "c"], np.random.default_rng(seed).normal(size=(3, 4))).save(tmp_path / name)
    models = [str(tmp_path / "one.npz"), str(tmp_path / "two.npz")]
    given = ["--corpus", f"{bucket}/t.jsonl", "--min-contexts", "2", "--quiet"]
    assert main(["measure", "--model", *models, *given, "--out", f"{bucket}/both"]) == 0
    names = remote.names_in(f"{bucket}/both")
    assert {"report.html", "one.npz/run.json", "two.npz/run.json"} <= set(names)
    assert any(name.startswith("figures/") for name in names)
    page = remote.file_system(bucket)[0].cat_file(f"{bucket}/both/report.html").decode()
    assert "one.npz" in page
    assert "two.npz" in page


@pytest.mark.parametrize("what", ["changed", "vanished"])
def test_a_text_by_url_that_does_not_stay(bucket: str, tmp_path: Path, what: str) -> None:
    lines = b"".join(json.dumps({"words": s}).encode() + b"\n" for s in SENTENCES)
    upload(f"{bucket}/t.jsonl", lines)

    asked: list[Any] = []

    def meddling(texts: Any) -> list[np.ndarray[Any, Any]]:
        asked.append(texts)
        if len(asked) == 1:  # how many dimensions there are
            pass
        elif what == "vanished":
            remote.remove(f"{bucket}/t.jsonl")
        else:
            upload(f"{bucket}/t.jsonl", lines[::-1])  # of the same size
        return one_hot(texts)

    with raises(InputError, code=what, says=f"{bucket}/t.jsonl: "):
        lb.measure(meddling, f"{bucket}/t.jsonl", **SETTINGS, out=tmp_path / "out")
    again = "fail" if what == "changed" else "replace"  # of two versions of a text nothing is left in the way
    lb.measure(one_hot, SENTENCES, **SETTINGS, out=tmp_path / "out", existing=again)
