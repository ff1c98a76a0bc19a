"""Sentences to numbers, once: the tokeniser of the transformers, and the tokens all three miniatures are trained on.

    python -m recipes.tokens tokenizer wiki-1.sentences.xz --out tokenizer.json
    python -m recipes.tokens pieces    wiki-*.sentences.xz --tokenizer tokenizer.json --out pieces.npz
    python -m recipes.tokens words     wiki-*.sentences.xz --out words.npz

Both files hold one long stream (`stream`) and where sentences begin in it (`starts`), so that a row of a batch is a
slice that begins with a sentence. In `pieces` a paragraph ends with [SEP]; in `words` a sentence stands between <S>
and </S>.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from recipes.sentences import read_paragraphs, text_of, words_of

PIECES = 8192
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BEGIN, END, UNKNOWN = "<S>", "</S>", "<UNK>"  #: the first three entries of the words' vocabulary


def train_tokenizer(files: Sequence[Path], sentences: int = 1_000_000) -> Tokenizer:
    """Lower-cased word pieces, learnt from the first `sentences`."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=PIECES, special_tokens=SPECIALS, limit_alphabet=400, show_progress=False
    )
    lines = chain.from_iterable(chain.from_iterable(read_paragraphs(file) for file in files))
    tokenizer.train_from_iterator(map(text_of, islice(lines, sentences)), trainer)
    return tokenizer


def pieces_of(files: Sequence[Path], tokenizer: Tokenizer, paragraphs_at_once: int = 20_000) -> dict[str, np.ndarray]:
    """The stream of piece ids: paragraph after paragraph, each closed by [SEP]."""
    separator = tokenizer.token_to_id("[SEP]")
    stream: list[np.ndarray] = []
    lengths: list[int] = []  # of sentences; the [SEP] after a paragraph's last sentence belongs to it
    paragraphs = chain.from_iterable(read_paragraphs(file) for file in files)
    while batch := list(islice(paragraphs, paragraphs_at_once)):
        encoded = iter(tokenizer.encode_batch_fast([text_of(line) for paragraph in batch for line in paragraph]))
        ids: list[int] = []
        for paragraph in batch:
            for _ in paragraph:
                piece_ids = next(encoded).ids
                ids.extend(piece_ids)
                lengths.append(len(piece_ids))
            ids.append(separator)
            lengths[-1] += 1
        stream.append(np.array(ids, dtype=np.uint16))
    return {"stream": np.concatenate(stream), "starts": _starts(lengths)}


def words_of_files(files: Sequence[Path]) -> dict[str, np.ndarray]:
    """The stream of word ids, lower-cased, and the words in the order of their frequency."""
    found: dict[str, int] = {}
    stream: list[np.ndarray] = []
    lengths: list[int] = []
    begin, end = (found.setdefault(word, len(found)) for word in (BEGIN, END))
    found[UNKNOWN] = 2
    paragraphs = chain.from_iterable(read_paragraphs(file) for file in files)
    for paragraph in paragraphs:
        ids: list[int] = []
        for line in paragraph:
            words = words_of(line.lower())
            ids.append(begin)
            ids.extend([found.setdefault(word, len(found)) for word in words])
            ids.append(end)
            lengths.append(len(words) + 2)
        stream.append(np.array(ids, dtype=np.uint32))
    return _by_frequency(np.concatenate(stream), list(found), _starts(lengths))


def _by_frequency(stream: np.ndarray, words: list[str], starts: np.ndarray) -> dict[str, np.ndarray]:
    """Number the words anew, the most frequent first (after the three special ones)."""
    counts = np.bincount(stream, minlength=len(words))
    order = np.concatenate([np.arange(3), 3 + np.argsort(-counts[3:], kind="stable")])
    rank = np.empty(len(words), dtype=np.uint32)
    rank[order] = np.arange(len(words), dtype=np.uint32)
    vocabulary = "\n".join(words[i] for i in order).encode()
    return {
        "stream": rank[stream],
        "starts": starts,
        "counts": counts[order],
        "vocabulary": np.frombuffer(vocabulary, dtype=np.uint8),
    }


def vocabulary_of(arrays: dict[str, np.ndarray]) -> list[str]:
    """The words of a file of words."""
    return arrays["vocabulary"].tobytes().decode().split("\n")


def _starts(lengths: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)


def load(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file.items())


def main() -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tokenizer", "pieces", "words"])
    parser.add_argument("sentences", type=Path, nargs="+", help="files of recipes.sentences")
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for file in options.sentences:
        if not file.is_file():
            parser.error(f"{file} must be a file of recipes.sentences; nothing is there")
    if options.what == "tokenizer":
        train_tokenizer(options.sentences).save(str(options.out))
        return
    if options.what == "pieces":
        if options.tokenizer is None or not options.tokenizer.is_file():
            parser.error("pieces needs --tokenizer, a file that `recipes.tokens tokenizer` wrote")
        arrays = pieces_of(options.sentences, Tokenizer.from_file(str(options.tokenizer)))
    else:
        arrays = words_of_files(options.sentences)
    np.savez(options.out, **arrays)
    print(f"{options.out}: {len(arrays['stream']):,} tokens in {len(arrays['starts']):,} sentences")


if __name__ == "__main__":
    main()
