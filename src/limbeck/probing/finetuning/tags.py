"""Files of tagged words: columns of a CoNLL-U file, or a word and its tag a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from limbeck.corpus import Corpus
from limbeck.corpus.compression import open_text
from limbeck.corpus.units import Sentence
from limbeck.errors import InputError
from limbeck.evaluation.catalogue import index_of

OUTSIDE = "O"
TAG = "tag"  #: layer of annotation that a tagged word has
#: what the file of a split has in its name; CoNLL-2003 calls its development set testa
SPLITS = {
    "train": re.compile(r"train", re.IGNORECASE),
    "dev": re.compile(r"dev|valid|testa", re.IGNORECASE),
    "test": re.compile(r"test(?!a)", re.IGNORECASE),
}
CONLLU = re.compile(r".*\.conllu(\.\w+)?", re.IGNORECASE)
CONLL = re.compile(r".*\.(conll|annotated|iob2?|bio)(\.\w+)?|eng\.(train|testa|testb)", re.IGNORECASE)


def find_files(data: str | Path, names: re.Pattern[str], *, task: str, example: str) -> dict[str, Path]:
    """The files of a task's splits, anywhere under a folder; there must be one to train on and one to choose by."""
    files = [path for paths in index_of(Path(data).expanduser()).values() for path in paths]
    known = [path for path in files if names.fullmatch(path.name)]
    found: dict[str, Path] = {}
    for split, pattern in SPLITS.items():
        fitting = sorted(path for path in known if pattern.search(path.name))
        if len(fitting) > 1:
            raise InputError(
                f"{data}: there must be one {split} file for {task}, got {fitting[0].name} and {fitting[1].name}: "
                "give a folder that has one of them.",
                code="ambiguous",
                parameter="data",
            )
        if fitting:
            found[split] = fitting[0]
    missing = [split for split in ("train", "dev") if split not in found]
    if missing:
        raise InputError(
            f"{data}: {task} needs files to train on and to choose the best step by, got no {missing[0]} file "
            f"(such as {example}): give their folder.",
            code="incomplete",
            parameter="data",
        )
    return found


def read_columns(path: Path, layer: str) -> list[Sentence]:
    """Sentences of a CoNLL-U file with the labels of one layer of annotation, "upos" say."""
    with Corpus(path, format="conllu") as corpus:
        found = [_with_layer(sentence, layer) for sentence in corpus]
    return _not_empty(found, path)


def _with_layer(sentence: Sentence, layer: str) -> Sentence:
    labels: Mapping[int, Mapping[str, str]] = {
        at: {TAG: known[layer]} for at, known in sentence.labels.items() if layer in known
    }
    return Sentence(
        sentence.words, sentence.document, sentence.paragraph, sentence.index, labels=labels, glued=sentence.glued
    )


def read_tagged(path: Path) -> list[Sentence]:
    """Sentences of a file with a word a line, its tag in the last column, an empty line between sentences."""
    found: list[Sentence] = []
    words: list[str] = []
    tags: list[str] = []

    def end() -> None:
        if words:
            found.append(
                Sentence(tuple(words), index=len(found), labels={at: {TAG: tag} for at, tag in enumerate(tags)})
            )
        words.clear()
        tags.clear()

    with open_text(path) as stream:
        for number, raw in enumerate(stream, 1):
            line = raw.strip()
            if not line or line.startswith("-DOCSTART-"):
                end()
                continue
            cells = line.split("\t") if "\t" in line else line.split()
            word, tag = cells[0].strip(), cells[-1].strip()
            if len(cells) < 2 or not word or not (tag == OUTSIDE or re.fullmatch(r"[BI]-\S+", tag)):
                raise InputError.at(
                    path,
                    number,
                    f"a line must have a word and a tag (O, B-X or I-X), got {line[:40]!r}: mend it.",
                    code="malformed",
                )
            words.append(word)
            tags.append(tag)
    end()
    return _not_empty(found, path)


def _not_empty(sentences: list[Sentence], path: Path) -> list[Sentence]:
    if not any(sentence.labels for sentence in sentences):
        raise InputError(f"{path}: tagged words are needed, got none: give the file that has them.", code="empty")
    return sentences
