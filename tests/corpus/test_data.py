"""Counts on real data against those published beside it."""

from __future__ import annotations

import lzma
import tarfile
from pathlib import Path

import pytest

from limbeck.corpus import Corpus, Text

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
STS = SHARED / "data" / "sts"
TAGGING = SHARED / "data" / "tagging"
WIKI = SHARED / "corpora" / "wiki-1.txt.xz"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the data folder beside the repository is not there"),
]


@pytest.mark.parametrize(
    ("path", "columns", "rows"),
    [
        ("STS12/STS.input.MSRpar.txt", (1, 2), 750),
        ("STS14/STS.input.tweet-news.txt", (1, 2), 750),
        ("STS16/STS2016.input.postediting.txt", (1, 2), 3287),
        ("STSBenchmark/sts-train.csv", (6, 7), 5749),
        ("STSBenchmark/sts-test.csv", (6, 7), 1379),
        ("SICK/SICK_test_annotated.txt", ("sentence_A", "sentence_B"), 4927),
        ("SICK/SICK.txt.xz", ("sentence_A", "sentence_B"), 9840),
    ],
)
def test_sentence_pairs(path: str, columns: tuple[str, ...], rows: int) -> None:
    corpus = Corpus(STS / path, columns=columns)
    raws = list(corpus.documents())
    assert len(raws) == rows
    for raw in raws[::97]:
        found = corpus.parse(raw)
        assert [sentence.paragraph for sentence in found] == [0, 1]
        for sentence, cell in zip(found, raw.lines, strict=True):
            assert Text((sentence,)).layout()[0] == " ".join(cell.split())


def test_semcor() -> None:
    path = TAGGING / "semcor3.0.tar.xz"
    corpus = Corpus(path / "brown1")
    sentences = list(corpus)
    assert sentences[-1].document == 102
    assert len(sentences) == 11_182
    assert sum("pos" in labels for s in sentences for labels in s.labels.values()) == 198_796
    # an oracle of its own: a plain look for the attribute in the archive's text
    senses = 0
    with tarfile.open(path) as archive:
        for member in archive:
            if "brown1/tagfiles/br-" in member.name:
                text = archive.extractfile(member).read().decode()  # type: ignore[union-attr]
                senses += sum(part.split(" ")[0].split(";")[0] not in ("0", "-1") for part in text.split(" wnsn=")[1:])
    assert sum("sense" in labels for s in sentences for labels in s.labels.values()) == senses
    assert len(list(Corpus(path).documents())) == 352


@pytest.mark.parametrize(("part", "counts"), [("dev", (318, 2001, 25147)), ("test", (316, 2077, 25094))])
def test_universal_dependencies(part: str, counts: tuple[int, int, int]) -> None:
    path = TAGGING / "UD_English-EWT" / f"en_ewt-ud-{part}.conllu.xz"
    sentences = list(Corpus(path))
    assert (sentences[-1].document + 1, len(sentences), sum(len(s.words) for s in sentences)) == counts
    with lzma.open(path, "rt", encoding="utf-8") as file:
        texts = [line.split(" = ", 1)[1].strip() for line in file if line.startswith("# text = ")]
    assert [Text((s,)).layout()[0] for s in sentences] == [" ".join(text.split()) for text in texts]


def test_wikipedia() -> None:
    corpus = Corpus(WIKI)
    raws = list(corpus.documents(0, 60))
    with lzma.open(WIKI, "rt", encoding="utf-8") as file:
        head = [file.readline() for _ in range(3_000)]
    articles = "".join(head).split("\n\n")
    for raw, article in zip(raws, articles, strict=False):
        assert "\n".join(raw.lines) == article.strip("\n")
        laid = Text(tuple(corpus.parse(raw))).layout()[0]
        assert laid == " ".join(article.split())
