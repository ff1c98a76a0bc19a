"""Kept occurrence vectors: the writer's folder, and other people's npz, Parquet and HDF5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from refusals import raises

from limbeck.errors import InputError, UsageError
from limbeck.seeds import hash_occurrences, hash_text
from limbeck.vectors import OccurrenceVectors, OccurrenceWriter, blocks, hdf5
from limbeck.vectors.blocks import Block

LAYERS, DIM = 3, 4


def hash_by_hand(sentence: int, position: int) -> int:
    """The hash of an occurrence in Python integers."""

    def mix(z: int) -> int:
        mask = (1 << 64) - 1
        z = (z + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    return mix((mix(sentence & ((1 << 64) - 1)) + position) & ((1 << 64) - 1))


def made(lengths: list[int], seed: int = 0, first: int = 0) -> dict[str, Any]:
    """Sentences of these lengths, two to a text."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    sentences = np.repeat(np.arange(first, first + len(lengths)), lengths)
    return {
        "vectors": rng.normal(size=(LAYERS, n, DIM)).astype(np.float32),
        "strings": [f"wörd {i}" if i % 5 == 0 else f"w{i}" for i in range(n)],
        "sentences": sentences,
        "texts": sentences // 2 * 2,
        "positions": np.array([position for length in lengths for position in range(length)], dtype=np.int64),
    }


def writer(folder: Path, dtype: str = "float32", **changes: Any) -> OccurrenceWriter:
    settings = {"encoder_name": "tiny", "encoder_fingerprint": "abc", "layers": ("0", "1", "2"), "dim": DIM} | changes
    return OccurrenceWriter(folder, dtype=dtype, about={"corpus": "c"}, **settings)  # type: ignore[arg-type]


def joined(found: list[Block]) -> tuple[np.ndarray, list[str], np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.concatenate([block.vectors for block in found], axis=1),
        [string for block in found for string in block.strings],
        np.concatenate([block.sentences for block in found]),
        np.concatenate([block.texts for block in found]),
        np.concatenate([block.occurrences for block in found]),
    )


def check_shard(vectors: OccurrenceVectors, number: int) -> list[Block]:
    """Blocks agree with `strings_of`, and no text lies in two."""
    found = list(vectors.shard(number))
    known = vectors.strings_of(number)
    _, strings, sentences, texts, occurrences = joined(found)
    assert strings == known.strings
    assert np.array_equal(sentences, known.sentences)
    assert np.array_equal(texts, known.texts)
    assert np.array_equal(occurrences, known.occurrences)
    assert occurrences.dtype == np.uint64
    seen: set[int] = set()
    for block in found:
        here = set(block.texts.tolist())
        assert not here & seen
        seen |= here
        assert block.vectors.shape == (len(vectors.layers), len(block), vectors.dim)
        assert block.sentences.dtype == block.texts.dtype == np.int64
    return found


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 8)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor, lambda x: torch.tensor(x).to(torch.bfloat16)])
def test_folder_round_trip(tmp_path: Path, dtype: str, kind: Any, small_blocks: None) -> None:
    shards = [made([3, 4, 2, 6]), made([], first=4), made([20, 1, 1], seed=1, first=4)]
    with writer(tmp_path / "kept", dtype) as out:
        for data in shards:
            vectors = kind(data["vectors"])
            out.write(vectors, data["strings"], data["sentences"], data["texts"], positions=data["positions"])
        assert not (tmp_path / "kept" / "vectors.json").exists()  # written last
    vectors = OccurrenceVectors.load(tmp_path / "kept")
    assert (vectors.name, vectors.layers, vectors.dim, vectors.shards) == ("tiny", ("0", "1", "2"), DIM, 3)
    assert vectors.words_total == 15 + 0 + 22
    assert list(vectors.shard(1)) == []
    assert len(vectors.strings_of(1)) == 0
    for number in (0, 2):
        data = shards[number]
        array, strings, sentences, texts, occurrences = joined(check_shard(vectors, number))
        expected = torch.as_tensor(kind(data["vectors"])).float().numpy().astype(dtype).astype(np.float32)
        assert np.array_equal(array, expected)
        assert strings == data["strings"]
        assert np.array_equal(sentences, data["sentences"])
        assert np.array_equal(texts, data["texts"])
        by_hand = [
            hash_by_hand(s, p) for s, p in zip(data["sentences"].tolist(), data["positions"].tolist(), strict=True)
        ]
        assert occurrences.tolist() == by_hand
    assert [len(block) for block in vectors.shard(0)] == [7, 8]
    assert [len(block) for block in vectors.shard(2)] == [21, 1]  # a text longer than a block stays whole


def test_given_hashes_are_kept(tmp_path: Path) -> None:
    data = made([2])
    hashes = np.array([2**64 - 1, 5], dtype=np.uint64)
    with writer(tmp_path) as out:
        out.write(data["vectors"], data["strings"], data["sentences"], data["texts"], occurrences=hashes)
    assert OccurrenceVectors.load(tmp_path).strings_of(0).occurrences.tolist() == [2**64 - 1, 5]


@pytest.mark.parametrize(
    ("value", "dtype", "datum"),
    [
        (65505.0, "float16", "got 65505 in layer 1 of 'w2'"),
        (-1e6, "float16", "got -1e+06 in layer 1 of 'w2'"),
        (np.nan, "float32", "got nan in layer 1 of 'w2'"),
        (np.inf, "float16", "got inf in layer 1 of 'w2'"),
    ],
)
def test_numbers_that_cannot_be_kept(tmp_path: Path, value: float, dtype: str, datum: str) -> None:
    data = made([4])
    data["vectors"][1, 2, 3] = value
    with raises(InputError, code="out_of_range", parameter="dtype", says=datum):
        writer(tmp_path, dtype).write(**data)
    assert not list(tmp_path.glob("*"))


def test_largest_half_is_kept(tmp_path: Path) -> None:
    data = made([1])
    data["vectors"][:] = -65504
    with writer(tmp_path, "float16") as out:
        out.write(**data)
    assert (next(OccurrenceVectors.load(tmp_path).shard(0)).vectors == -65504).all()


def test_unfinished_and_finished_folders(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write(**made([2]), shard=1)
    with raises(InputError, code="incomplete"):
        OccurrenceVectors.load(tmp_path)
    again = writer(tmp_path)  # after a kill: goes on
    assert again.done(1)
    assert not again.done(0)
    again.write(**made([3]))  # the first that is missing
    again.close()
    assert [len(OccurrenceVectors.load(tmp_path).strings_of(i)) for i in (0, 1)] == [3, 2]
    with raises(InputError, code="exists"):
        writer(tmp_path)


def test_shards_of_another_encoder_are_refused(tmp_path: Path) -> None:
    writer(tmp_path).write(**made([2]))
    other = writer(tmp_path, encoder_fingerprint="xyz")
    other.write(**made([2]))
    with raises(InputError, code="other_settings", says=("00000.npz", "'xyz'", "'abc'")):
        other.close()


def test_fingerprint_follows_the_vectors(tmp_path: Path) -> None:
    prints = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        with writer(tmp_path / name) as out:
            out.write(**made([3], seed=seed))
        prints.append(OccurrenceVectors.load(tmp_path / name).fingerprint)
    assert prints[0] == prints[1] != prints[2]


def test_writer_refuses(tmp_path: Path) -> None:
    data = made([2, 2, 2])
    with raises(UsageError, code="exclusive"):
        writer(tmp_path).write(data["vectors"], data["strings"], data["sentences"], data["texts"])
    with raises(UsageError, code="wrong_shape", parameter="vectors"):
        writer(tmp_path).write(**{**data, "strings": data["strings"][1:]})
    with raises(UsageError, code="out_of_order"):
        writer(tmp_path).write(**{**data, "texts": np.array([0, 0, 1, 1, 0, 0])})


def test_a_shard_that_is_gone(tmp_path: Path) -> None:
    with writer(tmp_path) as out:
        out.write(**made([2]))
    (tmp_path / "00000.npz").unlink()
    with raises(InputError, code="incomplete", says="00000.npz"):
        list(OccurrenceVectors.load(tmp_path).shard(0))


# npz


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npz(tmp_path: Path, save: Any, order: str, small_blocks: None) -> None:
    data = made([3, 4, 2, 6])
    array = np.asarray(data["vectors"], order=order)  # type: ignore[call-overload]
    save(
        tmp_path / "x.npz",
        vectors=array,
        words=np.array(data["strings"]),
        sentences=data["sentences"],
        contexts=data["texts"],
    )
    vectors = OccurrenceVectors.load(tmp_path / "x.npz")
    assert (vectors.layers, vectors.dim, vectors.words_total, vectors.name) == (("0", "1", "2"), DIM, 15, "x")
    array, strings, sentences, texts, occurrences = joined(check_shard(vectors, 0))
    assert np.array_equal(array, data["vectors"])
    assert strings == data["strings"]
    assert np.array_equal(sentences, data["sentences"])
    assert np.array_equal(texts, data["texts"])
    # positions are counted within the sentence
    by_hand = [hash_by_hand(s, p) for s, p in zip(data["sentences"].tolist(), data["positions"].tolist(), strict=True)]
    assert occurrences.tolist() == by_hand


def test_npz_with_vectors_alone(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.savez(tmp_path / "x.npz", vectors=x)
    vectors = OccurrenceVectors.load(tmp_path / "x.npz")
    assert vectors.layers == ("vectors",)
    (block,) = check_shard(vectors, 0)
    assert block.vectors.dtype == np.float64
    assert np.array_equal(block.vectors[0], x)
    assert block.strings == [""] * 5
    assert (
        len(set(block.sentences.tolist()))
        == len(set(block.texts.tolist()))
        == len(set(block.occurrences.tolist()))
        == 5
    )


def test_npz_with_contexts_apart_and_as_strings(tmp_path: Path, small_blocks: None) -> None:
    rng = np.random.default_rng(0)
    contexts = np.array([f"text {i}" for i in rng.integers(0, 6, size=40)])
    x = rng.normal(size=(40, 3)).astype(np.float32)
    np.savez(tmp_path / "x.npz", vectors=x, words=np.array([f"w{i}" for i in range(40)]), contexts=contexts)
    vectors = OccurrenceVectors.load(tmp_path / "x.npz")
    array, strings, sentences, texts, _ = joined(check_shard(vectors, 0))
    rows = [int(string[1:]) for string in strings]
    assert sorted(rows) == list(range(40))
    assert np.array_equal(array[0], x[rows])
    assert texts.view(np.uint64).tolist() == [hash_text(contexts[row]) for row in rows]
    assert sentences.tolist() == rows  # without sentences each row is its own


@pytest.mark.parametrize(
    ("arrays", "code"),
    [
        ({"x": np.ones((2, 2)), "y": np.ones((2, 2))}, "incomplete"),
        ({"vectors": np.ones(3)}, "wrong_shape"),
        ({"vectors": np.ones((3, 2)), "words": np.array(["a"])}, "unequal_lengths"),
        ({"vectors": np.ones((3, 2)), "sentences": np.arange(2)}, "unequal_lengths"),
        ({"vectors": np.array([[1.0, 2], [np.nan, 1]]), "words": np.array(["a", "b"])}, "not_finite"),
        ({"vectors": np.ones((2, 2)), "words": np.array(["a", None])}, "damaged"),
        ({"vectors": np.ones((2, 2), dtype=int)}, "wrong_type"),
    ],
)
def test_npz_refused(tmp_path: Path, arrays: dict[str, Any], code: str) -> None:
    np.savez(tmp_path / "x.npz", **arrays)
    with raises(InputError, code=code, parameter=None, says="x.npz:"):
        list(OccurrenceVectors.load(tmp_path / "x.npz").shard(0))


def test_truncated_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", vectors=np.ones((50, 4)))
    (tmp_path / "x.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:300])
    with raises(InputError, code="damaged", says="x.npz"):
        OccurrenceVectors.load(tmp_path / "x.npz")


# Parquet


@pytest.mark.parametrize("layout", ["one", "wide", "by occurrence", "by layer"])
@pytest.mark.parametrize("fixed", [False, True])
def test_parquet(tmp_path: Path, layout: str, fixed: bool, small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.vectors.parquet.BATCH", 4)
    data = made([3, 4, 2, 6])
    x = data["vectors"]
    kind = pa.list_(pa.float32(), DIM) if fixed else pa.list_(pa.float32())
    n = x.shape[1]
    if layout in ("one", "wide"):
        order = [(None, row) for row in range(n)]
    elif layout == "by occurrence":
        order = [(layer, row) for row in range(n) for layer in range(LAYERS)]
    else:
        order = [(layer, row) for layer in range(LAYERS) for row in range(n)]
    columns: dict[str, Any] = {
        "word": [data["strings"][row] for _, row in order],
        "sentence": [int(data["sentences"][row]) for _, row in order],
        "context": [f"text {data['texts'][row]}" for _, row in order],
    }
    if layout == "wide":
        for layer in (2, 0, 1):
            columns[f"layer_{layer}"] = pa.array([x[layer, row].tolist() for _, row in order], kind)
    else:
        columns["vector"] = pa.array([x[layer or 0, row].tolist() for layer, row in order], kind)
    if layout.startswith("by"):
        columns["layer"] = [layer for layer, _ in order]
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=11)
    vectors = OccurrenceVectors.load(tmp_path / "x.parquet")
    assert vectors.layers == (("vectors",) if layout == "one" else ("0", "1", "2"))
    assert (vectors.words_total, vectors.dim) == (n, DIM)
    array, strings, sentences, texts, occurrences = joined(check_shard(vectors, 0))
    assert np.array_equal(array, x[:1] if layout == "one" else x)
    assert strings == data["strings"]
    assert np.array_equal(sentences, data["sentences"])
    assert texts.view(np.uint64).tolist() == [hash_text(f"text {text}") for text in data["texts"]]
    by_hand = [hash_by_hand(s, p) for s, p in zip(data["sentences"].tolist(), data["positions"].tolist(), strict=True)]
    assert occurrences.tolist() == by_hand


def test_layers_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    columns = {f"layer_{layer}": [[float(layer)]] for layer in (10, 2, 1)}
    pq.write_table(pa.table({"word": ["a"], **columns}), tmp_path / "x.parquet")
    vectors = OccurrenceVectors.load(tmp_path / "x.parquet")
    assert vectors.layers == ("1", "2", "10")
    assert next(vectors.shard(0)).vectors.ravel().tolist() == [1, 2, 10]


@pytest.mark.parametrize(
    ("columns", "code", "datum"),
    [
        ({"token": ["a"], "vector": [[1.0]]}, "incomplete", ""),
        ({"word": ["a", "b"], "vector": [[1.0, 2.0], [1.0]]}, "wrong_shape", "row 1"),
        ({"word": ["a", "b"], "vector": [[1.0, 2.0], None]}, "incomplete", "row 1"),
        ({"word": ["a", None], "vector": [[1.0], [2.0]]}, "incomplete", "row 1"),
        ({"word": ["a"] * 3, "context": [1, 2, 1], "vector": [[1.0]] * 3}, "out_of_order", ""),
        ({"word": ["a"] * 3, "layer": [0, 1, 0], "vector": [[1.0]] * 3}, "out_of_order", "got 3"),
        ({"word": ["a", "b"], "layer": [0, 1], "vector": [[1.0]] * 2}, "out_of_order", "layer 0"),
        ({"word": ["a"], "vector": ["x"]}, "wrong_type", ""),
        ({"word": ["a", "b"], "vector": [[1.0], [float("inf")]]}, "not_finite", "row 1"),
    ],
)
def test_parquet_refused(tmp_path: Path, columns: dict[str, Any], code, datum: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with raises(InputError, code=code, says=("x.parquet:", datum)):
        list(OccurrenceVectors.load(tmp_path / "x.parquet").shard(0))


# HDF5


def sentence_file(folder: Path, lengths: list[int], *, squeeze: bool = True) -> dict[int, np.ndarray]:
    rng = np.random.default_rng(0)
    arrays = {
        number: rng.normal(size=(LAYERS, length, DIM)).astype(np.float32) for number, length in enumerate(lengths)
    }
    with h5py.File(folder / "elmo.hdf5", "w") as file:
        for number, array in arrays.items():
            # the released code squeezes one-token sentences
            file.create_dataset(str(number), data=array[:, 0] if squeeze and array.shape[1] == 1 else array)
        file.create_dataset("sentence_to_index", data=np.array([0]))
    return arrays


def test_hdf5(tmp_path: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "SHARD_SENTENCES", 5)
    lengths = [3, 1, 4, 2, 5, 1, 9, 2, 2, 3, 4, 1]  # twelve: "10" and "11" must not stand behind "1"
    arrays = sentence_file(tmp_path, lengths)
    index = {"the": [[0, 0], [6, 8], [10, 3]], "cat": [[0, 2], [1, 0], [11, 0]]}
    (tmp_path / "word2sent.json").write_text(json.dumps(index))
    vectors = OccurrenceVectors.load(tmp_path / "elmo.hdf5")
    assert (vectors.layers, vectors.dim, vectors.shards) == (("0", "1", "2"), DIM, 3)
    assert vectors.words_total == sum(lengths)
    at = []
    for number in range(3):
        for block in check_shard(vectors, number):
            for row in range(len(block)):
                sentence = int(block.sentences[row])
                position = sum(1 for other, _ in at if other == sentence)
                at.append((sentence, position))
                assert np.array_equal(block.vectors[:, row], arrays[sentence][:, position])
                assert int(block.occurrences[row]) == hash_by_hand(sentence, position)
                expected = [word for word, places in index.items() if [sentence, position] in places]
                assert block.strings[row] == (expected[0] if expected else "")
                assert block.texts[row] == sentence
    assert [sentence for sentence, _ in at] == [s for s, length in enumerate(lengths) for _ in range(length)]


def test_hdf5_words_given(tmp_path: Path) -> None:
    sentence_file(tmp_path, [2, 3])
    with raises(InputError, code="incomplete", parameter="words", says="word2sent.json"):
        OccurrenceVectors.load(tmp_path / "elmo.hdf5")
    given = OccurrenceVectors.load(tmp_path / "elmo.hdf5", words={"a": [[1, 2]]})
    assert given.strings_of(0).strings == ["", "", "", "", "a"]
    (tmp_path / "other.json").write_text('{"b": [[0, 0]]}')
    named = OccurrenceVectors.load(tmp_path / "elmo.hdf5", words=tmp_path / "other.json")
    assert named.strings_of(0).strings[0] == "b"


@pytest.mark.parametrize(
    ("index", "datum"),
    [
        ({"a": [[0, 2]]}, "token 2"),
        ({"a": [[7, 0]]}, "token 0"),
        ({"a": [[0, 0]], "b": [[0, 0]]}, "sentence 0"),
    ],
)
def test_hdf5_words_of_another_file(tmp_path: Path, index: dict[str, Any], datum: str) -> None:
    sentence_file(tmp_path, [2, 3])
    with raises(InputError, code="unequal_lengths", says=("elmo.hdf5:", datum)):
        OccurrenceVectors.load(tmp_path / "elmo.hdf5", words=index)


def test_hdf5_of_another_layout(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("vectors", data=np.ones((3, 2)))
    with raises(InputError, code="other_kind"):
        OccurrenceVectors.load(tmp_path / "x.h5", words={})
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("0", data=np.ones((3, 2, 4)))
        file.create_dataset("1", data=np.ones((2, 2, 4)))
    with raises(InputError, code="wrong_shape"):
        OccurrenceVectors.load(tmp_path / "x.h5", words={})


# all


def test_what_is_not_vectors(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello")
    with raises(InputError, code="other_kind", says="'hell'"):
        OccurrenceVectors.load(tmp_path / "x")
    with raises(InputError, code="not_readable"):
        OccurrenceVectors.load(tmp_path / "nowhere")
    with raises(UsageError, code="unknown_choice", parameter="format", says="'parquet'"):
        OccurrenceVectors.load(tmp_path / "x", "parket")


@pytest.mark.parametrize("most", [1, 3, 100])
def test_cut_against_brute_force(most: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        texts = np.repeat(np.arange(8), rng.integers(0, 5, size=8))
        ranges = list(blocks.cut(texts, most))
        assert [row for start, end in ranges for row in range(start, end)] == list(range(len(texts)))
        for (start, end), following in zip(ranges, [*ranges[1:], None], strict=True):
            assert end - start <= most or len(set(texts[start:end].tolist())) == 1
            if following is not None:  # the next text would not have fitted
                assert texts[end] != texts[end - 1]
                assert end - start + (texts == texts[end]).sum() > most


def test_hash_of_occurrences_wraps() -> None:
    sentences = np.array([0, 1, 2**63 - 1, -1])
    positions = np.array([0, 5, 7, 2**62])
    with np.errstate(all="raise"):
        found = hash_occurrences(sentences, positions)
    assert found.tolist() == [hash_by_hand(int(s), int(p)) for s, p in zip(sentences, positions, strict=True)]
