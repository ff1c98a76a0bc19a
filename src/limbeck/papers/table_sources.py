"""Embedding tables from whatever a user names: a model's input table, a file of word vectors, a biLM's words.

A table has a row a token; with it goes how a text is counted in those tokens, and which words are one token.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus
from limbeck.corpus.units import Sentence, Text
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.bilm_files import is_bilm_folder
from limbeck.encoders.loading import check_model, load_encoder
from limbeck.encoders.miniatures import is_miniature, miniature_folder
from limbeck.encoders.protocol import DEFAULT_BATCH_TOKENS
from limbeck.errors import InputError
from limbeck.extras import need
from limbeck.runs.execution.sources import is_static
from limbeck.stream.collected import collect_texts
from limbeck.vectors import StaticVectors
from limbeck.vectors.models import find_folder, read_table, read_tokens

TEXTS_AT_ONCE = 1024
Counts = NDArray[np.int64]
WORD_VECTORS = "word vectors"  #: the family of a file of them
#: models that read leftwards only, by the beginning of their model_type
CAUSAL = ("gpt", "llama", "mistral", "gemma", "qwen", "opt", "bloom", "falcon", "phi", "smollm", "olmo")


@dataclass(frozen=True)
class EmbeddingTable:
    """A table and what a text is to it.

    matrix   (rows, d) as it is stored, all rows, whether a token belongs to them or not
    tokens   of the rows; "" where a row has none
    kind     what a row stands for: "pieces" or "words"
    family   BERT, GPT-2 or ELMo, by how the model reads; or `WORD_VECTORS`
    counts   occurrences of each row in the text
    words    occurrences of each different word in the text, largest first
    row_of   the row of a word that is one token inside a sentence; None for others
    corpus   what the text says of itself
    folder   of the model, None for a file
    """

    name: str
    matrix: NDArray[Any]
    tokens: Sequence[str]
    kind: str
    family: str
    counts: Counts
    words: Counts
    row_of: Callable[[str], int | None]
    corpus: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def fingerprint(self) -> str:
        """Of numbers and shape."""
        head = f"{self.matrix.shape} {self.matrix.dtype}".encode()
        return hashlib.sha256(head + np.ascontiguousarray(self.matrix).tobytes()).hexdigest()[:16]


def open_table(model: str, corpus: Corpus, *, name: str | None = None) -> EmbeddingTable:
    """The table that a model is named for: a miniature, a folder, an id on the hub, or a file of word vectors."""
    if is_static(model):
        return _of_vectors(StaticVectors.load(model), corpus, name=name or Path(model).name)
    check_model(model)
    folder = miniature_folder(model) if is_miniature(model) else find_folder(model)
    name = name or (folder.absolute().name if Path(model).expanduser().is_dir() or is_miniature(model) else model)
    if is_bilm_folder(folder):
        return _of_spelling(folder, corpus, name=name)
    return _of_model(folder, corpus, name=name)


def _of_model(folder: Path, corpus: Corpus, *, name: str) -> EmbeddingTable:
    aligner = Aligner(_tokenizer(folder))  # before the rest: what is wrong with it is told in a line
    matrix, tokens = read_table(folder), read_tokens(folder)
    counts, words = np.zeros(len(matrix), dtype=np.int64), Counter[str]()
    sentences = iter(corpus)
    while texts := [Text((sentence,)) for sentence in islice(sentences, TEXTS_AT_ONCE)]:
        pieces = aligner(texts).pieces
        counts += np.bincount(pieces[pieces < len(matrix)], minlength=len(matrix))
        words.update(chain.from_iterable(text.words for text in texts))
    unknown = _unknown(aligner)

    def row_of(word: str) -> int | None:
        """Cut as behind another word, so that byte-level tokenisers see its blank (docs/fidelity.md §5.8)."""
        found = aligner([Text((Sentence(("the", word)),))])
        if found.counts[1] != 1 or found.first[1] == found.first[0]:
            return None
        piece = int(found.pieces[found.first[1]])
        return None if piece == unknown or piece >= len(matrix) else piece

    return EmbeddingTable(
        name=name,
        matrix=matrix,
        tokens=[tokens.get(row, "") for row in range(len(matrix))],
        kind="pieces",
        family=_family(folder),
        counts=counts,
        words=_falling(words),
        row_of=row_of,
        corpus=corpus.describe(),
        folder=folder,
    )


def _of_vectors(vectors: StaticVectors, corpus: Corpus, *, name: str) -> EmbeddingTable:
    words = _count_words(corpus)

    def row_of(word: str) -> int | None:
        """As it is spelt, else in lower case."""
        found = next((spelling for spelling in (word, word.lower()) if spelling in vectors), None)
        return None if found is None else vectors.index(found)

    counts = np.zeros(len(vectors), dtype=np.int64)
    for word, count in words.items():
        if (row := row_of(word)) is not None:
            counts[row] += count
    return EmbeddingTable(
        name, vectors.matrix, vectors.words, "words", WORD_VECTORS, counts, _falling(words), row_of, corpus.describe()
    )


def _of_spelling(folder: Path, corpus: Corpus, *, name: str) -> EmbeddingTable:
    """A biLM has no table: its characters give every word a vector, here each word of the text, most frequent first."""
    encoder = load_encoder(folder, name=name, layers="0", device="cpu")
    words = _count_words(corpus)
    kept = [word for word, _ in words.most_common()]
    found = collect_texts(encoder, [[word] for word in kept], batch_tokens=DEFAULT_BATCH_TOKENS)
    # layer 0 has the same vector twice, once for each direction: half of it is the word's own
    half = found.vectors.shape[2] // 2
    rows = found.vectors[0, :, :half].numpy()
    kept = [kept[text] for text in found.texts.tolist()]
    place = {word: row for row, word in enumerate(kept)}
    lower = {word.lower(): row for word, row in reversed(place.items())}
    counts = np.array([words[word] for word in kept], dtype=np.int64)

    def row_of(word: str) -> int | None:
        return place.get(word, lower.get(word.lower()))

    return EmbeddingTable(name, rows, kept, "words", "ELMo", counts, _falling(words), row_of, corpus.describe(), folder)


def _count_words(corpus: Corpus) -> Counter[str]:
    return Counter(chain.from_iterable(_words(corpus)))


def _words(corpus: Corpus) -> Iterator[tuple[str, ...]]:
    for sentence in corpus:
        yield sentence.words


def _falling(words: Counter[str]) -> Counts:
    return np.array([count for _, count in words.most_common()], dtype=np.int64)


def _tokenizer(folder: Path) -> Any:
    """The tokeniser itself; transformers is asked only where there is no tokenizer.json."""
    file = folder / "tokenizer.json"
    try:
        if file.is_file():
            return need("tokenizers", purpose="Cutting text into pieces").Tokenizer.from_file(str(file))
        transformers: Any = need("transformers", purpose="loading a tokenizer without tokenizer.json")
        return transformers.AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    except Exception as error:  # both libraries raise almost anything here
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{folder}: a tokenizer is needed, got none that loads ({reason}): check its files.", code="incomplete"
        ) from error


def _unknown(aligner: Aligner) -> int | None:
    if aligner.backend is None:
        found = getattr(aligner.slow, "unk_token_id", None)
        return None if found is None else int(found)
    token = getattr(aligner.backend.model, "unk_token", None)
    return None if token is None else aligner.backend.token_to_id(token)


def _family(folder: Path) -> str:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return "GPT-2" if str(config.get("model_type", "")).startswith(CAUSAL) else "BERT"
