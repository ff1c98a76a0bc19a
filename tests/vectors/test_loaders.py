"""Five loaders give a word the same vector: model2vec, sentence-transformers (two ways), gensim, spaCy, limbeck."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.vectors import StaticVectors

ODD = (
    "the cat i do n't 's naïve ß 日本語 don't o'clock rock'n'roll well-known e-mail u.s. at&t c++ #tag 3.14 1,000 x2 "
    "co₂ new_york _ . ... -- !! ' 'em <s> ##ing [UNK] [CLS] 😀 ❤️ 👨‍👩‍👧"
).split()
LOWER = [*ODD, "new york", "rock 'n' roll", " leading", "trailing ", "a\u00a0b"]
MIXED = [*LOWER, "The", "NATO", "iPhone", "McDonald's", "U.S.", "New York", "New_York", "É"]
DTYPES = ("float32", "float16", "int8")


def made(words: Sequence[str], dim: int = 6) -> StaticVectors:
    return StaticVectors(words, np.random.default_rng(len(words)).normal(size=(len(words), dim)))


def model2vec(folder: Path) -> Callable[[list[str]], Any]:
    from model2vec import StaticModel

    return StaticModel.from_pretrained(folder).encode


def sentence_transformer(folder: Path) -> Callable[[list[str]], Any]:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu").encode


def static_embedding(folder: Path) -> Callable[[list[str]], Any]:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    module = StaticEmbedding.from_model2vec(str(folder))
    return SentenceTransformer(modules=[module], device="cpu").encode


FOLDER_LOADERS = (model2vec, sentence_transformer, static_embedding)


@pytest.fixture(scope="module", params=[LOWER, MIXED], ids=["lower", "mixed"])
def vectors(request: pytest.FixtureRequest) -> StaticVectors:
    return made(request.param)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loader", FOLDER_LOADERS)
def test_a_vectors_folder_gives_every_word_its_vector(
    tmp_path: Path, vectors: StaticVectors, loader: Callable[[Path], Callable[[list[str]], Any]], dtype: str
) -> None:
    vectors.save(tmp_path / "v", dtype=dtype)
    ours = StaticVectors.load(tmp_path / "v")
    assert ours.words == vectors.words
    theirs = np.asarray(loader(tmp_path / "v")(vectors.words), dtype=np.float32)
    same = np.isclose(theirs, ours.matrix, atol=1e-6).all(axis=1)
    assert [word for word, fine in zip(ours.words, same, strict=True) if not fine] == []
    if dtype == "float32":
        assert np.array_equal(ours.matrix, vectors.matrix)


@pytest.mark.parametrize("loader", FOLDER_LOADERS)
def test_texts_are_divided_into_words_of_the_table(
    tmp_path: Path, loader: Callable[[Path], Callable[[list[str]], Any]]
) -> None:
    words = "i live in new york it 's n't is do well - known . ! new_york".split()
    encode = {}
    for name, extra in (("words", []), ("phrases", ["new york", "well-known", "don't"])):
        vectors = made([*words, *extra])
        vectors.save(tmp_path / name)
        encode[name] = (vectors, loader(tmp_path / name))

    def expect(name: str, text: str, found: str | list[str]) -> None:
        vectors, encoder = encode[name]
        found = found.split() if isinstance(found, str) else found
        assert np.allclose(encoder([text])[0], np.mean([vectors[word] for word in found], axis=0), atol=1e-6), text

    # where the table has the words alone, a phrase is the mean of its words
    expect("words", "new york", "new york")
    expect("words", "Well-known", "well - known")
    expect("words", "It isn't!", "it is n't !")
    expect("words", "DON'T", "do n't")
    expect("words", "new_york", "new_york")  # an underscore is part of a word
    # where it has the phrase, that is found, also inside a text
    expect("phrases", "new york", ["new york"])
    expect("phrases", "I live in New York.", ["i", "live", "in", "new york", "."])
    expect("phrases", "well-known", ["well-known"])
    expect("phrases", "don't", ["don't"])
    expect("phrases", "It's new", "it 's new")


def test_unknown_words_are_left_out_or_count_as_zeros(tmp_path: Path) -> None:
    vectors = made(["cat", "dog", "[UNK]"])  # a word like any other
    vectors.save(tmp_path / "v")
    text = ["the cat and a dog"]
    mean = vectors.vectors(["cat", "dog"]).mean(axis=0)
    assert np.allclose(model2vec(tmp_path / "v")(text)[0], mean, atol=1e-6)
    # sentence-transformers divides by all five words: the same direction, shorter
    assert np.allclose(sentence_transformer(tmp_path / "v")(text)[0], mean * 2 / 5, atol=1e-6)
    assert not model2vec(tmp_path / "v")(["", "nothing known"]).any()


def test_long_texts_are_not_cut(tmp_path: Path) -> None:
    vectors = made(["a", "b"])
    vectors.save(tmp_path / "v")
    found = model2vec(tmp_path / "v")(["a " * 2000 + "b " * 2000])[0]
    assert np.allclose(found, vectors.matrix.mean(axis=0), atol=1e-3)  # it sums in float32


def test_case_is_heeded_where_the_table_has_case(tmp_path: Path) -> None:
    vectors = made(["Turkey", "turkey"])
    vectors.save(tmp_path / "v")
    for loader in (model2vec, sentence_transformer):
        assert np.allclose(loader(tmp_path / "v")(["Turkey", "turkey"]), vectors.matrix, atol=1e-6)
    lower = made(["turkey"])
    lower.save(tmp_path / "lower")
    assert np.allclose(model2vec(tmp_path / "lower")(["Turkey", "TURKEY"]), lower.matrix[[0, 0]], atol=1e-6)


# gensim


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("v.bin", {"binary": True}),
        ("v.bin.gz", {"binary": True}),
        ("v.txt", {}),
        ("v.vec.gz", {}),
        ("v.glove", {"no_header": True}),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # gensim leaves a file open
def test_files_for_gensim(tmp_path: Path, name: str, options: dict[str, bool]) -> None:
    from gensim.models import KeyedVectors

    vectors = made([word for word in MIXED if " " not in word])
    vectors.save(tmp_path / name)
    keyed = KeyedVectors.load_word2vec_format(str(tmp_path / name), **options)
    assert keyed.index_to_key == vectors.words
    assert np.array_equal(keyed.vectors, vectors.matrix)


def test_to_gensim() -> None:
    counts = np.arange(len(MIXED))
    vectors = StaticVectors(MIXED, made(MIXED).matrix, counts=counts)
    keyed = vectors.to_gensim()
    for word in MIXED:
        assert np.array_equal(keyed[word], vectors[word])
        assert keyed.get_vecattr(word, "count") == counts[vectors.index(word)]
    assert [word for word, _ in keyed.most_similar("new york", topn=5)] == [
        word for word, _ in vectors.most_similar("new york", 5)
    ]
    keyed.unit_normalize_all()  # changes its own copy
    assert np.array_equal(vectors.matrix, made(MIXED).matrix)


def test_gensim_writes_what_we_read(tmp_path: Path) -> None:
    keyed = made(["a", "b", "naïve"]).to_gensim()
    for name, binary in (("v.bin", True), ("v.txt", False)):
        keyed.save_word2vec_format(str(tmp_path / name), binary=binary)
        again = StaticVectors.load(tmp_path / name)
        assert again.words == keyed.index_to_key
        assert np.allclose(again.matrix, keyed.vectors, atol=1e-6)


# spaCy


def test_spacy_folder(tmp_path: Path) -> None:
    import spacy

    vectors = made(MIXED)
    vectors.save(tmp_path / "pipeline", "spacy")
    nlp = spacy.load(tmp_path / "pipeline")
    assert (nlp.lang, nlp.pipe_names) == ("en", [])
    for word in MIXED:
        assert np.array_equal(nlp.vocab[word].vector, vectors[word]), word
    assert not nlp.vocab["unheard"].has_vector
    document = nlp("The cat don't")
    assert np.array_equal(document[1].vector, vectors["cat"])
    expected = vectors.vectors(["The", "cat", "do", "n't"]).mean(axis=0)
    assert np.allclose(document.vector, expected, atol=1e-6)
    again = StaticVectors.load(tmp_path / "pipeline")  # told by its content
    assert again.words == MIXED
    assert np.array_equal(again.matrix, vectors.matrix)
    assert StaticVectors.load(tmp_path / "pipeline", limit=3).words == MIXED[:3]


def test_to_spacy() -> None:
    vectors = made(["Katze", "New York"])
    nlp = vectors.to_spacy(language="de")
    assert nlp.lang == "de"
    assert np.array_equal(nlp("Katze")[0].vector, vectors["Katze"])
    assert np.array_equal(nlp.vocab["New York"].vector, vectors["New York"])
    nlp.vocab.vectors.data[:] = 0  # its own copy
    assert vectors.matrix.any()


def test_spacy_vectors_of_others(tmp_path: Path) -> None:
    import spacy

    nlp = spacy.blank("en")
    nlp.vocab.set_vector("cat", np.array([1, 2], dtype=np.float32))
    nlp.vocab.set_vector("dog", np.array([3, 4], dtype=np.float32))
    nlp.vocab.vectors.add("kitten", row=nlp.vocab.vectors.find(key="cat"))  # two words of one row, as after pruning
    nlp.vocab.strings.add("kitten")
    nlp.to_disk(tmp_path / "theirs")
    read = StaticVectors.load(tmp_path / "theirs")
    assert {word: read[word].tolist() for word in read.words} == {"cat": [1, 2], "dog": [3, 4], "kitten": [1, 2]}
