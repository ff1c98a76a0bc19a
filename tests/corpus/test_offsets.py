"""A range of documents read from marks is the range read from the beginning."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import raises

from limbeck.corpus import Corpus, compression, conllu, documents, jsonl, offsets, readers
from limbeck.corpus import corpus as corpus_module
from limbeck.corpus.documents import RawDocument
from limbeck.corpus.offsets import Frame, Frames, Mark, Place, last_before, marks_of
from limbeck.errors import InputError


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks and documents so small that a file of some kilobytes has many, and blocks end in their midst."""
    monkeypatch.setattr(offsets, "STEP", 700)
    monkeypatch.setattr(corpus_module, "SPACING", 1_000)
    monkeypatch.setattr(corpus_module, "SPACING_ROWS", 3)
    for module in (documents, jsonl, readers, conllu):
        monkeypatch.setattr(module, "DOCUMENT_LINES", 7)
    monkeypatch.setattr(documents, "BLOCK_CHARACTERS", 5_000)
    monkeypatch.setattr(compression, "BUFFER", 512)


def words(rng: random.Random) -> str:
    return " ".join(rng.choice(["東京", "naïve", "the", "x" * 30, "😀", "\ufeffbank", "a\u2028b"]) for _ in range(12))


def prose(rng: random.Random) -> str:
    return "\n".join(rng.choice(["", "\n", words(rng), words(rng)]) for _ in range(500))


def tree(rng: random.Random) -> str:
    parts = []
    for number in range(400):
        if number % 11 == 3:
            parts.append("# newdoc\n")
        rows = [f"{i}\t{rng.choice(['東京', 'of'])}\t_\tNOUN" + "\t_" * 6 + "\n" for i in range(1, rng.randint(2, 9))]
        parts.append("".join(rows) + rng.choice(["\n", "\n\n"]))
    return "".join(parts)


def objects(rng: random.Random) -> str:
    lines = []
    for number in range(250):
        own = {"document": f"d{number // 5}"} if number % 40 < 20 else {}
        kind = {"text": words(rng)} if number % 3 == 0 else {"words": words(rng).split()}
        lines.append(json.dumps(kind | own, ensure_ascii=bool(number % 2)))
        lines += [""] * (number % 4 == 0)
    return "\n".join(lines)


def table(rng: random.Random) -> str:
    head = "\nscore\tleft\tright\n"
    return head + "".join(f"{i}\t{words(rng)}\t{words(rng)}\n" + "\n" * (i % 3 == 0) for i in range(150))


TEXTS: dict[str, Callable[[random.Random], str]] = {
    "prose": prose,
    "words": prose,
    "wikipse": prose,
    "jsonl": objects,
    "conllu": tree,
    "tsv": table,
}
OPTIONS = {"tsv": {"columns": ["right", "left"]}}


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": zstd,
}


def in_frames(data: bytes, compress: Callable[[bytes], bytes], size: int) -> bytes:
    """Parts of the data compressed apart from each other, cut anywhere: within lines and characters."""
    return b"".join(compress(data[at : at + size]) for at in range(0, len(data), size))


def plain(document: RawDocument) -> tuple[object, ...]:
    return document.number, document.source, document.line, document.lines


def check(corpus: Corpus, *, least: int) -> list[RawDocument]:
    """Every kind of range from marks against the plain reading."""
    whole = list(corpus.documents())
    marks = marks_of(document.mark for document in whole if document.mark)
    assert len(marks) >= least, "the file must have several marks for this to say anything"
    assert marks[:, 0].tolist() == sorted(set(marks[:, 0].tolist()))
    starts = {0, 1, len(whole) - 1, len(whole) // 2, *marks[:, 0].tolist(), *(marks[:, 0] - 1).clip(0).tolist()}
    for start in sorted(starts):
        for stop in (start + 4,) if start % 5 else (None, start + 1):
            found = list(corpus.documents(start, stop, marks=marks))
            assert list(map(plain, found)) == list(map(plain, whole[start:stop])), (start, stop)
    for document in whole[:: max(1, len(whole) // 10)]:
        again = next(iter(corpus.documents(document.number, marks=marks)))
        assert corpus.parse(again) == corpus.parse(document)
    return whole


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("format", TEXTS)
def test_ranges_of_lines(tmp_path: Path, format: str, kind: str) -> None:
    text = TEXTS[format](random.Random(1))
    end = {"gzip": "\r\n", "xz": "\r"}.get(kind, "\n")
    data = b"\xef\xbb\xbf" + text.replace("\n", end).encode()
    frames = 9_973 if kind in ("gzip", "zstandard") else len(data)
    (tmp_path / "a").write_bytes(in_frames(data, COMPRESS[kind], frames))
    (tmp_path / "b").write_bytes(COMPRESS[kind](data[3:]))
    corpus = Corpus(tmp_path, format=format, **OPTIONS.get(format, {}))  # type: ignore[arg-type]
    # a marked line follows a line feed; of single carriage returns none is remembered but the files' beginnings
    check(corpus, least=2 if end == "\r" else 5)


@pytest.mark.parametrize("kind", [kind for kind in COMPRESS if kind != "plain"])
def test_frames_before_the_range_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    text = "".join(f"sentence number {i} of the text , with 東京\n" for i in range(4_000)).encode()
    path = tmp_path / kind
    path.write_bytes(in_frames(text, COMPRESS[kind], 8_000))
    corpus = Corpus(path, format="words")
    whole = list(corpus.documents())
    marks = marks_of(document.mark for document in whole if document.mark)
    seen: list[str] = []
    real = compression._decompressor
    monkeypatch.setattr(compression, "_decompressor", lambda kind: (seen.append(kind), real(kind))[1])
    assert [d.lines for d in corpus.documents(len(whole) - 1, marks=marks)] == [whole[-1].lines]
    assert len(seen) <= 3, f"{len(seen)} of {-(-len(text) // 8_000)} frames"


def test_bytes_before_the_range_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text"
    path.write_text("".join(f"sentence number {i} of the text\n" for i in range(20_000)))
    corpus = Corpus(path, format="words")
    whole = list(corpus.documents())
    marks = marks_of(document.mark for document in whole if document.mark)
    read: list[int] = []
    real = compression._Counting.read1
    monkeypatch.setattr(
        compression._Counting, "read1", lambda self, size=512: (block := real(self, size), read.append(len(block)))[0]
    )
    assert [d.lines for d in corpus.documents(len(whole) - 1, marks=marks)] == [whole[-1].lines]
    assert sum(read) < 30_000 < path.stat().st_size


def test_lines_that_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document may begin within a line that is too long for one; there is no mark, and nothing is lost."""
    monkeypatch.setattr(documents, "_cut", lambda line, limit, real=documents._cut: real(line, 500))
    rng = random.Random(2)
    text = "\n".join(" ".join(words(rng) for _ in range(rng.choice([1, 1, 40]))) for _ in range(120))
    (tmp_path / "text").write_text(text, encoding="utf-8")

    for name in ("bounded_lines", "bounded_runs"):
        monkeypatch.setattr(readers, name, partial(getattr(documents, name), limit=500))
    for format in ("words", "prose"):
        check(Corpus(tmp_path / "text", format=format), least=3)


@pytest.mark.parametrize("columns", [["text"], ["words"], ["text", "title"], ["words", "other"]])
def test_rows_of_parquet(tmp_path: Path, columns: list[str]) -> None:
    rng = random.Random(3)
    lists = [words(rng).split() if rng.random() < 0.8 else [] for _ in range(200)]
    texts = [words(rng) if rng.random() < 0.8 else None for _ in range(200)]
    rows = pa.table({"text": texts, "title": texts[::-1], "words": lists, "other": lists[::-1]})
    for name in ("a", "b"):
        pq.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=17)
    several = columns == ["words", "other"]  # a document may begin with a row's second cell
    check(Corpus(tmp_path, columns=columns), least=2 if several else 8)


def test_archives_and_many_files(tmp_path: Path) -> None:
    rng = random.Random(4)
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        for name in ("x", "y"):
            data = prose(rng).encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    for name in ("a", "c", "d"):
        (tmp_path / name).write_text(prose(rng), encoding="utf-8")
    whole = check(Corpus(tmp_path, format="words"), least=8)
    marked = [document.source for document in whole if document.mark]
    assert sum(source.endswith("b.tar.gz/x") for source in marked) == 1, "an archive is read from its beginning"


def test_encodings_that_cannot_be_entered(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(prose(random.Random(5)).encode("utf-16"))
    check(Corpus(path, format="words", encoding="utf-16"), least=1)
    path.write_bytes(("café naïve\n" * 2_000).encode("windows-1252"))
    check(Corpus(path, format="words", encoding="windows-1252"), least=3)


def test_errors_name_the_right_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": f"sentence {i} of some length to fill the file"}) for i in range(2_000)]
    path.write_text("\n".join([*lines, '{"document": broken']))
    corpus = Corpus(path)
    with raises(InputError, code="malformed", says="a.jsonl:2001:"):
        list(corpus.documents())
    lines[1_990] = "\udcff"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    found: list[RawDocument] = []
    with raises(InputError, code="not_utf8", parameter="encoding", says="a.jsonl:1991:"):
        found.extend(corpus.documents())
    path.write_text("\n".join(lines[:1_990]))
    whole = list(corpus.documents())
    marks = marks_of(document.mark for document in whole if document.mark)
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    with raises(InputError, code="not_utf8", parameter="encoding", says="a.jsonl:1991:"):
        list(corpus.documents(1_900, marks=marks))
    path.write_text("\n".join([*lines[:1_990], '{"document": broken']))
    with raises(InputError, code="malformed", says="a.jsonl:1991:"):
        list(corpus.documents(1_900, marks=marks))


def test_marks_as_arrays() -> None:
    marks = [Mark(3, 0, 4, Place(2, 10, Frame(5, 6))), Mark(9, 1, 1, Place())]
    array = marks_of(marks)
    assert array.shape == (2, 7)
    assert [last_before(array, n) for n in (2, 3, 8, 9, 99)] == [None, marks[0], marks[0], marks[1], marks[1]]
    assert last_before(marks_of([]), 5) is None
    assert np.array_equal(marks_of([]), np.empty((0, 7)))


def test_frames_are_bounded() -> None:
    frames = Frames(Frame())
    for number in range(1, 20_000):
        frames.note(Frame(number, number * 1_000))
    assert len(frames._found) <= offsets.MOST_FRAMES
    assert frames.before(19_999_500) == Frame(19_999, 19_999_000)


def test_a_plan_keeps_them_and_shards_are_read_by_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limbeck.stream.plan import Choice, Plan, make_plan
    from limbeck.stream.tasks import Feed, SurveyChunk

    path = tmp_path / "text"
    path.write_text("".join(f"sentence number {i} of the text\n" for i in range(20_000)))
    corpus = Corpus(path, format="words")
    whole = list(corpus.documents())
    survey = SurveyChunk(corpus, "sentence", None)
    made = make_plan([survey(whole[:900]), survey(whole[900:])], choice=Choice(), shard_units=5_000)
    plan = Plan.from_arrays(made.to_arrays(), {})
    assert np.array_equal(plan.marks, marks_of(document.mark for document in whole))
    assert len(plan.shards) > 20
    read: list[int] = []
    real = compression._Counting.read1
    monkeypatch.setattr(
        compression._Counting, "read1", lambda self, size=512: (block := real(self, size), read.append(len(block)))[0]
    )
    feed = Feed(corpus, "sentence", None, plan, 0, 100, 0)  # type: ignore[arg-type]
    some = [plan.shards[2], plan.shards[3], plan.shards[-1]]  # as a worker has them that shares the text with others
    found = [(shard.number, d.number, d.lines) for shard, chunk in feed._chunks(some) for d in chunk]
    assert found == [(s.number, n, whole[n].lines) for s in some for n in range(s.start, s.stop)]
    assert sum(read) < path.stat().st_size / 2
