"""convert: every format into every other, and what is left out on the way."""

from __future__ import annotations

import itertools
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from refusals import raises

from limbeck.cli import main
from limbeck.errors import InputError, UsageError
from limbeck.vectors import StaticVectors
from limbeck.vectors import convert as module
from limbeck.vectors.convert import convert

FILES = {
    "word2vec": "v.txt",
    "word2vec-binary": "v.bin",
    "glove": "v.glove",
    "fasttext": "v.vec",
    "npz": "v.npz",
    "safetensors": "v.safetensors",
    "model2vec": "folder",
    "spacy": "pipeline",
}
WORDS = ["the", "naïve", "New_York", "don't", "3.14", "😀", "[UNK]"]


def made(words: list[str], dim: int = 4) -> StaticVectors:
    return StaticVectors(words, np.random.default_rng(len(words)).normal(size=(len(words), dim)))


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(FILES, 2)))
def test_every_format_into_every_other(tmp_path: Path, one: str, other: str) -> None:
    vectors = made(WORDS)
    vectors.save(tmp_path / FILES[one], one)
    done = convert(tmp_path / FILES[one], tmp_path / FILES[other], format=other)
    again = StaticVectors.load(tmp_path / FILES[other])
    assert again.words == WORDS
    assert np.array_equal(again.matrix, vectors.matrix)
    assert (done.words, done.dim, done.format, done.notes) == (7, 4, other, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([FILES[one], FILES[other]])  # nothing besides


@pytest.mark.parametrize(("one", "other"), [("v.txt.gz", "v.bin.zst"), ("v.bin.xz", "v.vec.bz2")])
def test_compressed(tmp_path: Path, one: str, other: str) -> None:
    made(WORDS).save(tmp_path / one)
    convert(tmp_path / one, tmp_path / other)
    assert np.array_equal(StaticVectors.load(tmp_path / other).matrix, made(WORDS).matrix)


def test_limit_lowercase_and_normalize(tmp_path: Path) -> None:
    words = ["The", "Cat", "the", "CAT", "zero", "dog"]
    matrix = np.array([[3, 4], [1, 0], [5, 5], [6, 6], [0, 0], [7, 7]])
    StaticVectors(words, matrix, counts=[1, 2, 4, 8, 16, 32], origins=list("abcdef")).save(tmp_path / "v")
    done = convert(tmp_path / "v", tmp_path / "new", limit=5, lowercase=True, normalize=True)
    again = StaticVectors.load(tmp_path / "new")
    assert again.words == ["the", "cat", "zero"]
    assert np.allclose(again.matrix, [[0.6, 0.8], [1, 0], [0, 0]])
    assert again.counts is not None
    assert (again.counts.tolist(), again.origins) == ([5, 10, 16], ["a", "b", "e"])
    assert done.notes == {module.SAME_IN_LOWER_CASE: 2, module.ZERO: 1}
    other = convert(tmp_path / "v", tmp_path / "new.bin")
    assert other.notes == {module.WITHOUT_FACTS: 6}


def test_the_card_comes_along(tmp_path: Path) -> None:
    made(WORDS).save(tmp_path / "v")
    (tmp_path / "v" / "README.md").write_text("# Vectors\n\nLicence: theirs\n")
    convert(tmp_path / "v", tmp_path / "new", limit=3, dtype="int8")
    card = (tmp_path / "new" / "README.md").read_text()
    assert card == "# Vectors\n\nLicence: theirs\n\nConverted by `limbeck convert`: the first 3 words, int8.\n"


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_rows_are_moved_in_place(tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", rows)
    words = [f"{'W' if i % 3 else 'w'}{i % 70}" for i in range(100)]
    vectors = StaticVectors(list(dict.fromkeys(words)), np.arange(2 * len(set(words))).reshape(-1, 2))
    vectors.save(tmp_path / "v.npz")
    convert(tmp_path / "v.npz", tmp_path / "new.npz", lowercase=True, normalize=True)
    first: dict[str, np.ndarray] = {}
    for word in vectors.words:
        first.setdefault(word.lower(), vectors[word] / np.linalg.norm(vectors[word]).clip(1e-9))
    again = StaticVectors.load(tmp_path / "new.npz")
    assert again.words == list(first)
    assert np.allclose(again.matrix, list(first.values()), atol=1e-6)


def test_blanks_in_words(tmp_path: Path) -> None:
    from gensim.models import KeyedVectors

    words = ["new york", "new_york", "ice cream", "plain", "a b_c", "a_b c"]
    vectors = made(words)
    vectors.save(tmp_path / "v.npz")
    done = convert(tmp_path / "v.npz", tmp_path / "v.bin")
    keyed = KeyedVectors.load_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    assert keyed.index_to_key == ["new_york", "ice_cream", "plain", "a_b_c"]
    assert np.array_equal(keyed["new_york"], vectors["new_york"])  # not that of "new york"
    assert np.array_equal(keyed["ice_cream"], vectors["ice cream"])
    assert done.notes == {module.ALREADY_THERE: 2, module.UNDERSCORED: 2}
    done = convert(tmp_path / "v.npz", tmp_path / "v.txt", blanks="drop")
    assert StaticVectors.load(tmp_path / "v.txt").words == ["new_york", "plain"]
    assert done.notes == {module.WITH_BLANK: 4}
    convert(tmp_path / "v.npz", tmp_path / "v.vec", blanks="keep")
    assert StaticVectors.load(tmp_path / "v.vec").words == words
    convert(tmp_path / "v.npz", tmp_path / "folder")  # any word will do there
    assert StaticVectors.load(tmp_path / "folder").words == words
    with raises(UsageError, code="unsupported", parameter="blanks"):
        convert(tmp_path / "v.npz", tmp_path / "w.bin", blanks="keep")


def test_words_that_a_format_cannot_hold_are_counted(tmp_path: Path) -> None:
    words = ["fine", "", "line\nbreak", "\ud800"]
    made(words).save(tmp_path / "v.npz")
    for name, kept in (("v.txt", ["fine"]), ("v.bin", ["fine"]), ("folder", ["fine", "", "line\nbreak"])):
        done = convert(tmp_path / "v.npz", tmp_path / name)
        assert StaticVectors.load(tmp_path / name).words == kept
        assert done.notes == {module.NOT_WRITABLE: len(words) - len(kept)}
    assert convert(tmp_path / "v.npz", tmp_path / "v.safetensors").notes == {}


def test_what_is_there_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    made(["a"]).save(tmp_path / "v.npz")
    for name, format in (("old.txt", "auto"), ("folder", "auto"), ("pipeline", "spacy")):
        made(["b"]).save(tmp_path / name, format)
        with raises(InputError, code="exists", parameter="existing", says="'replace'"):
            convert(tmp_path / "v.npz", tmp_path / name, format=format)
        assert StaticVectors.load(tmp_path / name).words == ["b"]
        convert(tmp_path / "v.npz", tmp_path / name, format=format, existing="replace")
        assert StaticVectors.load(tmp_path / name).words == ["a"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for format in ("model2vec", "spacy", "npz"):
        with raises(InputError, code="in_the_way", parameter="target"):
            convert(tmp_path / "v.npz", tmp_path / "mine", format=format, existing="replace")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    with raises(UsageError, code="in_the_way", parameter="target"):
        convert(tmp_path / "v.npz", tmp_path / "v.npz", existing="replace")


def test_a_failed_conversion_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(["a"]).save(tmp_path / "v.npz")
    made(["b"]).save(tmp_path / "folder")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("limbeck.vectors.folders.write_text", stop)  # after the matrix, before the rest
    monkeypatch.setattr("limbeck.vectors.spacy_folders.pipeline_with", stop)
    for name, format in (("new", "auto"), ("pipeline", "spacy"), ("folder", "auto")):
        with pytest.raises(KeyboardInterrupt):
            convert(tmp_path / "v.npz", tmp_path / name, format=format, existing="replace")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "v.npz"]
    assert StaticVectors.load(tmp_path / "folder").words == ["b"]


@pytest.mark.parametrize(("one", "other"), [("v.npz", "folder"), ("folder", "v.safetensors"), ("v.bin", "folder")])
def test_the_matrix_is_held_once(tmp_path: Path, one: str, other: str) -> None:
    words = [f"word{number}" for number in range(20_000)]
    matrix = np.random.default_rng(0).normal(size=(20_000, 500)).astype(np.float32)
    StaticVectors(words, matrix).save(tmp_path / one)
    tracemalloc.start()
    try:
        convert(tmp_path / one, tmp_path / other, normalize=True, lowercase=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.75 * matrix.nbytes  # blocks, and the words in their dictionaries


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["The", "the", "ice cream"]
    made(words).save(tmp_path / "v.npz")
    assert main(["convert", str(tmp_path / "v.npz"), str(tmp_path / "out.bin"), "--lowercase"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == (
        f"{tmp_path / 'out.bin'}: 2 words of 4 dimensions as word2vec-binary, float32, 0 kB; left out or changed: "
        "words that are another in lower case, the first was kept (1); "
        "words with a blank, written with underscores (1)\n"
    )
    assert (
        main(["convert", str(tmp_path / "out.bin"), str(tmp_path / "p"), "--format", "spacy", "--language", "de"]) == 0
    )
    assert main(["convert", str(tmp_path / "p"), str(tmp_path / "small"), "--dtype", "int8", "--limit", "1"]) == 0
    assert StaticVectors.load(tmp_path / "small").words == ["the"]


def test_the_command_writes_what_the_function_writes(tmp_path: Path) -> None:
    made(["The", "the", "ice cream"]).save(tmp_path / "v.npz")
    convert(tmp_path / "v.npz", tmp_path / "a.txt", lowercase=True, limit=2, source_format="npz", blanks="drop")
    options = ["--lowercase", "--limit", "2", "--from", "npz", "--blanks", "drop"]
    assert main(["convert", *options, str(tmp_path / "v.npz"), str(tmp_path / "b.txt"), "--quiet"]) == 0
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()


@pytest.mark.parametrize(
    ("keywords", "code", "parameter", "told"),
    [
        ({"limit": 0}, "out_of_range", "limit", "limit must be at least 1, got 0"),
        ({"format": "spcy"}, "unknown_choice", "format", "did you mean 'spacy'"),
        ({"format": "npy"}, "unknown_choice", "format", "format must be one of"),  # which is only read
        ({"source_format": "nyp"}, "unknown_choice", "source_format", "source_format must be one of"),
        ({"lowercased": True}, "unknown_parameter", "lowercased", "did you mean 'lowercase'"),
        ({"existing": "resume"}, "unknown_choice", "existing", "existing must be one of fail, replace"),
    ],
)
def test_keywords_are_checked(
    tmp_path: Path, keywords: dict[str, object], code: str, parameter: str, told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        convert(tmp_path / "v.npz", tmp_path / "v.txt", **keywords)
    assert (caught.value.code, caught.value.parameter) == (code, parameter)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nowhere.bin", "v.txt"], 1, "nothing is there"),
        (["in.txt", "v.docx"], 2, "the name must end in"),
        (["in.txt", "v.bin", "--dtype", "int8"], 2, "hold int8"),
        (["in.txt", "v", "--format", "spcy"], 2, "did you mean 'spacy'"),
        (["in.txt", "v", "--from", "safetensors"], 1, "cannot be read as safetensors"),
        (["in.txt", "v", "--from", "spcy"], 2, "--from must be one of"),
        (["in.txt", "v", "--limit", "0"], 2, "--limit must be at least 1"),
        (["in.txt", "v", "--blanks", "dash"], 2, "blanks must be one of"),
        (["in.txt", "v", "--existing", "keep"], 2, "existing must be one of"),
        (["in.txt", "v.npz.gz"], 2, "not compressed"),
        (["in.txt", "v", "--format", "spacy", "--language", "xx-no"], 0, ""),
        (["in.txt", "v", "--format", "spacy", "--language", "qq"], 2, "language"),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    made(["a"]).save("in.txt")
    assert main(["convert", *arguments]) == status
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == (1 if status else 0)
    if status:
        assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]
