"""The corpus as a whole: paths, slices, settings, fingerprints, workers."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from refusals import raises

from limbeck.corpus import Corpus, Sentence, Text, segment
from limbeck.errors import InputError, UsageError


def words(corpus: Corpus) -> list[tuple[str, ...]]:
    return [sentence.words for sentence in corpus]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "texts"
    (root / "sub").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "b.txt").write_text("Two.\n")
    (root / "a.txt.gz").write_bytes(gzip.compress(b"One.\n"))
    (root / "sub" / "c.txt").write_text("Three.\n\nFour.\n")
    (root / ".hidden").write_text("Never.\n")
    (root / ".git" / "d.txt").write_text("Never.\n")
    return root


def test_folder_glob_list(folder: Path) -> None:
    everything = [("One", "."), ("Two", "."), ("Three", "."), ("Four", ".")]
    assert words(Corpus(folder)) == everything
    assert [s.document for s in Corpus(folder)] == [0, 1, 2, 3]
    assert words(Corpus(str(folder / "**" / "*.txt"))) == everything[1:]
    assert words(Corpus([folder / "sub", folder / "b.txt"])) == [*everything[2:], everything[1]]


def test_name_with_glob_signs(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("Here.\n")
    assert words(Corpus(tmp_path / "a[1].txt")) == [("Here", ".")]


def test_archive(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "texts.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder / "b.txt", "texts/b.txt")
        archive.add(folder / "sub", "texts/sub")
    assert words(Corpus(path)) == [("Two", "."), ("Three", "."), ("Four", ".")]
    assert words(Corpus(path / "sub")) == [("Three", "."), ("Four", ".")]
    assert [raw.source for raw in Corpus(path / "sub").documents()] == [f"{path}/texts/sub/c.txt"] * 2
    with raises(InputError, code="not_found"):
        words(Corpus(path / "other"))
    path.write_bytes(path.read_bytes()[:100])
    with raises(InputError, code="damaged"):
        words(Corpus(path))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(gzip.compress(b"One.\nTwo.\n"))

    monkeypatch.setattr("sys.stdin", Input)
    with Corpus("-") as corpus:
        copy = corpus._sources[0].path
        assert words(corpus) == words(corpus) == [("One", "."), ("Two", ".")]
        assert words(pickle.loads(pickle.dumps(corpus))) == [("One", "."), ("Two", ".")]
        assert copy.exists()
    assert not copy.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipe_with_a_name(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("One.\n",))  # both ends wait for each other
    writer.start()
    with Corpus(path) as corpus:
        writer.join()
        assert words(corpus) == words(corpus) == [("One", ".")]


def test_missing_empty_unreadable(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    blank = tmp_path / "blank.txt"
    blank.write_text(" \n\n")
    (tmp_path / "folder").mkdir()
    with raises(InputError, code="not_found"):
        Corpus(tmp_path / "nothing.txt")
    with raises(InputError, code="not_found"):
        Corpus(str(tmp_path / "*.nothing"))
    with raises(InputError, code="empty"):
        Corpus(empty)
    with raises(InputError, code="empty"):
        Corpus(tmp_path / "folder")
    with raises(InputError, code="no_words", parameter="format", says="blank.txt"):
        list(Corpus(blank))
    with raises(InputError, code="no_words", parameter="format"):
        list(Corpus(blank, format="words"))
    with raises(InputError, code="required", parameter="corpus"):
        Corpus([])


def test_choices(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with raises(UsageError, code="unknown_choice", parameter="format", says="'conllu'"):
        Corpus(tmp_path / "a.txt", format="conll")
    with raises(UsageError, code="unknown_choice", parameter="paragraphs"):
        Corpus(tmp_path / "a.txt", paragraphs="pages")
    with raises(UsageError, code="unknown_choice"):
        Corpus(tmp_path / "a.txt", language="qq")
    (tmp_path / "b.jsonl").write_text('{"words": ["x"]}\n')
    with raises(InputError, code="ambiguous", parameter="format", says=("a.txt", "b.jsonl")):
        Corpus(tmp_path)


@pytest.mark.parametrize(("start", "stop"), [(0, None), (0, 3), (2, 5), (4, None), (5, 5), (9, None), (9, 12)])
@pytest.mark.parametrize("format", ["prose", "words"])
def test_slices_of_documents(tmp_path: Path, format: str, start: int, stop: int | None) -> None:
    for name in "abc":
        (tmp_path / name).write_text("".join(f"{name} {i}.\n\n" for i in range(1_100 if format == "words" else 3)))
    corpus = Corpus(tmp_path, format=format)
    everything = list(corpus.documents())
    assert [raw.number for raw in everything] == list(range(9))
    assert list(corpus.documents(start, stop)) == everything[start:stop]


def test_lowercase_and_characters() -> None:
    text = "İstanbul isn't ÉCOLE."
    lower = next(iter(Corpus.from_text(text, lowercase=True)))
    assert lower.words == ("i̇stanbul", "is", "n't", "école", ".")
    (sentence,) = Corpus.from_text("Ab e\u0301f, 東京", characters=True)
    assert sentence.words == ("A", "b", "e\u0301", "f", ",", "東", "京")
    assert Text((sentence,)).layout()[0] == "Ab e\u0301f, 東京"
    labelled = Sentence(("a", "new", "york"), labels={1: {"class": "x", "span": "2"}}, glued=frozenset({0}))
    (exploded,) = Corpus.from_sentences([labelled], characters=True)
    assert exploded.words == tuple("anewyork")
    assert exploded.labels == {1: {"class": "x", "span": "7"}}
    assert Text((exploded,)).layout()[0] == "anew york"


def test_from_sentences() -> None:
    given = [
        Sentence(("a", "b"), 3, 0, 0, {1: {"pos": "X"}}, frozenset({0})),
        Sentence(("c",), 3, 1, 1),
        Sentence(("d",), 7),
    ]
    found = list(Corpus.from_sentences(given))
    assert [(s.words, s.document, s.paragraph, s.index) for s in found] == [
        (("a", "b"), 0, 0, 0),
        (("c",), 0, 1, 1),
        (("d",), 1, 0, 0),
    ]
    assert found[0].labels == {1: {"pos": "X"}}
    assert found[0].glued == {0}
    lists = Corpus.from_sentences([["w", str(i)] for i in range(2_500)])
    assert [len(raw.lines) for raw in lists.documents()] == [1_000, 1_000, 500]
    assert words(lists)[2_400] == ("w", "2400")
    with raises(InputError, code="no_words", parameter="format"):
        list(Corpus.from_sentences([]))
    with pytest.raises(TypeError, match="from_text"):
        Corpus.from_sentences(["not a list"])


def test_from_text_is_as_from_file(tmp_path: Path) -> None:
    text = "One. Two.\r\n\r\nThree\x00four 😀.\n"
    (tmp_path / "t").write_bytes(text.encode())
    assert list(Corpus.from_text(text)) == list(Corpus(tmp_path / "t"))


def test_pickled_corpus_and_sentences(folder: Path) -> None:
    corpus = Corpus(folder, lowercase=True)
    before = list(corpus)
    again = pickle.loads(pickle.dumps(corpus))
    assert list(again) == before
    assert again.fingerprint == corpus.fingerprint
    assert pickle.loads(pickle.dumps(before)) == before


def test_fingerprint(tmp_path: Path) -> None:
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("One.\n" * 50_000)
    b.write_text("One.\n" * 50_000)
    same = Corpus(a).fingerprint
    assert Corpus(b).fingerprint == same  # neither name nor time
    assert Corpus(a, lowercase=True).fingerprint != same
    assert Corpus(a, format="words").fingerprint != same
    for change in (0, 25_000, 49_999):
        b.write_text("One.\n" * change + "Two.\n" + "One.\n" * (49_999 - change))
        assert Corpus(b).fingerprint != same
    assert Corpus.from_text("a").fingerprint != Corpus.from_text("b").fingerprint
    about = Corpus(a).describe()
    assert (about["format"], about["files"], about["bytes"]) == ("prose", 1, 250_000)


def test_abandoned_reading_closes_files(folder: Path) -> None:
    documents = Corpus(folder).documents()
    next(documents)
    documents.close()  # an open file would be a ResourceWarning, which is an error here


def test_threads_may_parse_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "KEPT_CHARACTERS", 2_000)  # much is forgotten and learnt again
    corpus = Corpus.from_text("\n\n".join(f"Word{i} isn't a{i} word. It's {i}." for i in range(2_000)))
    segment.splitter_for.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(corpus.parse, corpus.documents()))
    assert [s for document in found for s in document] == list(corpus)
    segment.splitter_for.cache_clear()


def test_threads_share_what_is_known_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    segment.splitter_for.cache_clear()
    corpus = Corpus.from_text("It isn't late.\n")
    seen: list[str] = []
    tokenize = segment.SpacyTokenizer.__call__
    watched = lambda own, pieces: seen.extend(pieces) or tokenize(own, pieces)  # type: ignore[func-returns-value]  # noqa: E731
    monkeypatch.setattr(segment.SpacyTokenizer, "__call__", watched)
    for _ in range(3):  # as the blocks of a pass have one each
        thread = threading.Thread(target=lambda: list(corpus))
        thread.start()
        thread.join()
    assert sorted(seen) == ["It", "isn't", "late."]
