"""Occurrence vectors in HDF5: one dataset a sentence, named by its number, (layers, tokens, dim).

The layout that the code of Ethayarajh (2019) wrote, with word2sent.json beside it: {word: [[sentence, token], ...]}.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.extras import need
from limbeck.npz import EXPANDED, EXPANSION
from limbeck.seeds import hash_occurrences
from limbeck.vectors.arrays import read_json
from limbeck.vectors.blocks import Block, Identities, block_rows, cut
from limbeck.vectors.kept import finite_block
from limbeck.vectors.occurrences import Words, fingerprint_file

SHARD_SENTENCES = 4096


class SentenceFile:
    """An HDF5 file of sentences."""

    def __init__(self, path: Path, *, words: str | Path | Words | None = None) -> None:
        self.path = path
        self.name = path.stem
        self.sentences: list[int] = []
        self.tokens: list[int] = []  # of each sentence
        self.layers, self.dim = self.look()
        self.words_total = sum(self.tokens)
        self.shards = -(-len(self.sentences) // SHARD_SENTENCES)
        index, files = self.find_words(words)
        self.strings = self.place(index)
        self.fingerprint = fingerprint_file(path, *files)

    def open(self) -> Any:
        h5py = need("h5py", purpose="reading HDF5")
        try:
            return h5py.File(self.path, "r")
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be read as HDF5 ({error}): get the whole file.", code="damaged"
            ) from error

    def look(self) -> tuple[tuple[str, ...], int]:
        """Sentences, their lengths, layers and dimensions, from the shapes alone."""
        with self.open() as file:
            # other datasets (ELMo's "sentence_to_index") are passed over; "10" stands after "9"
            shapes = {int(name): checked_dataset(file, name, self.path).shape for name in file if is_number(name)}
        full = [shape for shape in shapes.values() if len(shape) == 3]
        if not full:
            raise InputError(
                f"{self.path}: datasets named 0, 1, ... of shape (layers, tokens, dimensions) are needed, "
                "got none: this is another layout.",
                code="other_kind",
            )
        layers, _, dim = full[0]
        for sentence in sorted(shapes):
            shape = shapes[sentence]
            if shape == (layers, dim):
                shape = (layers, 1, dim)  # the released code's squeeze() drops the token axis of one-token sentences
            if len(shape) != 3 or (shape[0], shape[2]) != (layers, dim):
                raise InputError(
                    f"{self.path}: dataset {sentence}: shape ({layers}, tokens, {dim}) is needed as in the other "
                    f"sentences, got {shape}.",
                    code="wrong_shape",
                )
            self.sentences.append(sentence)
            self.tokens.append(shape[1])
        return tuple(str(layer) for layer in range(layers)), dim

    def find_words(self, words: str | Path | Words | None) -> tuple[Words, list[Path]]:
        if words is not None and not isinstance(words, str | Path):
            return words, []
        file = self.path.with_name("word2sent.json") if words is None else Path(words).expanduser()
        if not file.is_file():
            raise InputError(
                f"{self.path}: the words are needed in {file}, which is not there: HDF5 of this layout holds no "
                "strings, so give words= or put word2sent.json beside it.",
                code="incomplete",
                parameter="words",
            )
        index: Words = read_json(file)
        return index, [file]

    def place(self, words: Words) -> dict[int, dict[int, str]]:
        """{sentence: {token: word}}."""
        lengths = dict(zip(self.sentences, self.tokens, strict=True))
        strings: dict[int, dict[int, str]] = {}
        for word, places in words.items():
            for sentence, token in places:
                if not 0 <= token < lengths.get(sentence, 0):
                    raise InputError(
                        f"{self.path}: {word!r} must stand where there is a vector, got sentence {sentence}, token "
                        f"{token}: word2sent.json belongs to another file.",
                        code="unequal_lengths",
                    )
                other = strings.setdefault(sentence, {}).setdefault(token, word)
                if other != word:
                    raise InputError(
                        f"{self.path}: a token must be one word, got {other!r} and {word!r} at sentence {sentence}, "
                        f"token {token}.",
                        code="unequal_lengths",
                    )
        return strings

    def range_of(self, shard: int) -> range:
        return range(shard * SHARD_SENTENCES, min((shard + 1) * SHARD_SENTENCES, len(self.sentences)))

    def identities(self, shard: int) -> Identities:
        strings: list[str] = []
        numbers, positions = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for at in self.range_of(shard):
            sentence, length = self.sentences[at], self.tokens[at]
            words = self.strings.get(sentence, {})
            strings += [words.get(token, "") for token in range(length)]
            numbers.append(np.full(length, sentence, dtype=np.int64))
            positions.append(np.arange(length, dtype=np.int64))
        sentences = np.concatenate(numbers)
        return Identities(strings, sentences, sentences, hash_occurrences(sentences, np.concatenate(positions)))

    def blocks(self, shard: int) -> Iterator[Block]:
        identities = self.identities(shard)
        filled = [self.sentences[at] for at in self.range_of(shard) if self.tokens[at]]
        done = 0
        with self.open() as file:
            for start, end in cut(identities.texts, block_rows(len(self.layers), self.dim)):
                parts: list[NDArray[Any]] = []
                rows = 0
                while rows < end - start:
                    part = checked_dataset(file, str(filled[done]), self.path)[()].reshape(
                        len(self.layers), -1, self.dim
                    )
                    parts.append(part)
                    rows += part.shape[1]
                    done += 1
                vectors = np.concatenate(parts, axis=1)  # (layers, n, d)
                yield finite_block(identities.rows(start, end), vectors, self.path, start)


def checked_dataset(file: Any, name: str, path: Path) -> Any:
    """A dataset of numbers that lies in the file itself and has about as many bytes there as it will have here."""
    h5py = need("h5py", purpose="reading HDF5")
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise InputError(
            f"{path}: {name} must lie in the file itself, it is a link to elsewhere: copy it in.", code="outside_folder"
        )
    found = file[name]
    if not isinstance(found, h5py.Dataset) or found.dtype.kind not in "fiu" or found.is_virtual or found.external:
        raise InputError(
            f"{path}: {name} must be an array of numbers in the file itself: this is another layout.", code="other_kind"
        )
    if found.nbytes > max(EXPANDED, EXPANSION * found.id.get_storage_size()):
        raise InputError(
            f"{path}: {name} would grow to more than {EXPANSION:,} times its size ({found.shape}): get another file.",
            code="too_large",
        )
    return found


def is_number(name: str) -> bool:
    """Whether a dataset is named by a sentence's number: "7", not "07"."""
    return name.isascii() and name.isdigit() and len(name) < 19 and str(int(name)) == name
