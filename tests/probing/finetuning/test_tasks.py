"""Reading tasks: files found and refused, tags and entities by hand, parts that do not overlap."""

from __future__ import annotations

import itertools
from pathlib import Path

import made_tasks
import numpy as np
import pytest
from refusals import raises

from limbeck.errors import InputError, UsageError
from limbeck.probing.finetuning import entities, tags
from limbeck.probing.finetuning.data import name_of, read_task, tagged

CONLLU = "# sent_id = 1\n1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


@pytest.mark.parametrize(
    ("line", "spans"),
    [
        ("O O", []),
        ("B-per I-per O", [("per", 0, 2)]),
        ("B-per B-per", [("per", 0, 1), ("per", 1, 2)]),  # two that touch
        ("I-per I-per O I-loc", [("per", 0, 2), ("loc", 3, 4)]),  # IOB1 writes the first word so
        ("B-per I-loc", [("per", 0, 1), ("loc", 1, 2)]),  # another type begins another entity
        ("O B-creative-work I-creative-work", [("creative-work", 1, 3)]),  # at the end; a hyphen inside the type
    ],
)
def test_spans_by_hand(line, spans):
    assert entities.spans_of(line.split()) == spans


def test_entities_are_counted_whole():
    gold = ["B-per I-per O B-loc".split(), "B-loc O".split()]
    said = ["B-per O O B-loc".split(), "B-per O".split()]
    found = entities.count_entities(gold, said)
    # half an entity is none; "loc" is found once of two, "per" was said twice and never right
    assert found[""] == entities.Found(true=3, predicted=3, right=1)
    assert found["loc"] == entities.Found(2, 1, 1)
    assert found["per"] == entities.Found(1, 2, 0)
    assert found[""].f1 == pytest.approx(1 / 3)
    assert (found["loc"].precision, found["loc"].recall) == (1.0, 0.5)
    assert found["loc"].f1 == pytest.approx(2 / 3)
    assert entities.Found(0, 0, 0).f1 == 0.0


def spans_by_brute_force(tags: list[str]) -> set[tuple[str, int, int]]:
    """Of all stretches of words those that begin, go on and end as the CoNLL scorer says, asked one by one."""
    found = set()
    for begin in range(len(tags)):
        for end in range(begin + 1, len(tags) + 1):
            kind = tags[begin][2:]
            before = tags[begin - 1] if begin else "O"
            behind = tags[end] if end < len(tags) else "O"
            begins = tags[begin] == f"B-{kind}" or (
                tags[begin] == f"I-{kind}" and before not in (f"B-{kind}", f"I-{kind}")
            )
            goes_on = all(tag == f"I-{kind}" for tag in tags[begin + 1 : end])
            if begins and goes_on and behind != f"I-{kind}":
                found.add((kind, begin, end))
    return found


def test_entities_against_brute_force():
    """Every sequence of up to four tags, and F1 of random guesses, from definitions alone."""
    tags = ("O", "B-x", "I-x", "B-y-z", "I-y-z")
    for length in range(5):
        for line in itertools.product(tags, repeat=length):
            assert set(entities.spans_of(line)) == spans_by_brute_force(list(line)), line
    draws = np.random.default_rng(0)
    gold = [draws.choice(tags, size=9).tolist() for _ in range(60)]
    said = [[tag if draws.random() < 0.8 else str(draws.choice(tags)) for tag in line] for line in gold]
    true, told = (
        {(number, *span) for number, line in enumerate(lines) for span in spans_by_brute_force(line)}
        for lines in (gold, said)
    )
    precision, recall = len(true & told) / len(told), len(true & told) / len(true)
    found = entities.count_entities(gold, said)[""]
    assert 0.3 < found.f1 < 0.8  # neither all nor nothing
    assert (found.precision, found.recall) == (pytest.approx(precision), pytest.approx(recall))
    assert found.f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_pos_is_read_from_columns(tmp_path: Path):
    for split in ("train", "dev"):
        (tmp_path / f"xx-ud-{split}.conllu").write_text(CONLLU * 2, encoding="utf-8")
    found = read_task("pos", tmp_path)
    assert (found.level, found.metric, found.classes) == ("word", "accuracy", ("NOUN", "VERB"))
    assert {split: len(part) for split, part in found.parts.items()} == {"train": 2, "dev": 2}
    assert found.parts["dev"].tags[1].tolist() == [0, 1]
    assert found.parts["train"].sentences[0].words == ("Dogs", "bark")
    assert read_task("pos", tmp_path, column="xpos").classes == ("NNS", "VBP")


def test_entities_are_read_a_word_a_line(tmp_path: Path):
    (tmp_path / "mytrain.conll").write_text("Ann\tB-per\nLee\tI-per\n\t\nran\tO\n\n\nOslo\tB-loc\n", encoding="utf-8")
    (tmp_path / "my.dev.conll").write_text(
        "-DOCSTART- -X- O O\n\nU.N. NNP I-NP B-org\nmet VB I-VP O\n", encoding="utf-8"
    )
    found = read_task("ner", tmp_path)
    assert [s.words for s in found.parts["train"].sentences] == [("Ann", "Lee"), ("ran",), ("Oslo",)]
    assert found.classes == ("B-loc", "B-per", "I-per", "O")
    assert found.unknown == ("B-org",)
    assert found.parts["dev"].tags[0].tolist() == [4, 3]  # a tag that training has not is numbered behind the others
    assert "B-org" in found.notes[0]
    (tmp_path / "mytrain.conll").write_text("Ann\tB-per\nLee\n", encoding="utf-8")
    with raises(InputError, code="malformed", says="conll:2:"):
        read_task("ner", tmp_path)


def test_files_are_missing_or_too_many(tmp_path: Path):
    (tmp_path / "a-train.conllu").write_text(CONLLU, encoding="utf-8")
    with raises(InputError, code="incomplete", parameter="data"):
        read_task("pos", tmp_path)
    (tmp_path / "b-train.conllu").write_text(CONLLU, encoding="utf-8")
    with raises(InputError, code="ambiguous", parameter="data"):
        read_task("pos", tmp_path)
    with raises(InputError, code="not_found", parameter="data"):
        read_task("ner", tmp_path / "nothing")


def test_conll_2003_names_its_files_so():
    names = ["eng.train", "eng.testa", "eng.testb"]
    assert all(tags.CONLL.fullmatch(name) for name in names)
    chosen = {split: [name for name in names if pattern.search(name)] for split, pattern in tags.SPLITS.items()}
    assert chosen == {"train": ["eng.train"], "dev": ["eng.testa"], "test": ["eng.testb"]}


def test_names_of_tasks():
    assert [name_of(name) for name in ("SST2", "sst-2", "sst5", "pos")] == ["sst-2", "sst-2", "sst-5", "pos"]
    with raises(UsageError, code="unknown_choice", says="'mrpc'"):
        name_of("mprc")
    with pytest.raises(UsageError):
        name_of("wic")  # about a word in two texts: another kind of task


def test_a_task_without_dev_lends_some_of_training(tmp_path: Path):
    folder = tmp_path / "TREC"
    folder.mkdir()
    lines = [f"{kind}:x question number {number} ?" for number in range(20) for kind in ("HUM", "LOC", "NUM")]
    (folder / "train_5500.label").write_text("\n".join(lines), encoding="latin-1")
    (folder / "TREC_10.label").write_text("HUM:x who ?\n", encoding="latin-1")
    found = read_task("trec", tmp_path, seed=3)
    sizes = {split: len(part) for split, part in found.parts.items()}
    assert sizes == {"train": 54, "dev": 6, "test": 1}
    texts = [set(zip(found.parts[s].examples.texts[0], found.parts[s].examples.labels, strict=True))
             for s in ("train", "dev")]  # fmt: skip
    assert not texts[0] & texts[1]
    assert len(texts[0] | texts[1]) == 60
    assert any("held out" in note for note in found.notes)
    assert read_task("trec", tmp_path, seed=3).parts["dev"].examples.texts == found.parts["dev"].examples.texts
    assert read_task("trec", tmp_path, seed=4).parts["dev"].examples.texts != found.parts["dev"].examples.texts


def test_limits_draw_by_seed():
    data = made_tasks.tagging(20)
    few = data.limited(most=5, most_dev=2, seed=1)
    assert (len(few.parts["train"]), len(few.parts["dev"]), len(few.parts["test"])) == (5, 2, 8)
    whole = [s.index for s in data.parts["train"].sentences]
    chosen = [s.index for s in few.parts["train"].sentences]
    assert set(chosen) < set(whole)
    assert chosen == sorted(chosen)
    for row, index in enumerate(chosen):
        assert np.array_equal(few.parts["train"].tags[row], data.parts["train"].tags[whole.index(index)])


def test_one_tag_cannot_be_learnt():
    with raises(InputError, code="too_few"):
        tagged("pos", {"train": [made_tasks.sentence("a b", "X X")], "dev": []})


SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "data"


@pytest.mark.data
@pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there")
def test_released_sets_have_their_counts():
    """Counts from the pages beside the data."""
    files = tags.find_files(SHARED, tags.CONLLU, task="pos", example="")
    dev = tags.read_columns(files["dev"], "upos")
    assert (len(dev), sum(len(sentence.labels) for sentence in dev)) == (2001, 25147)
    assert {split: path.name[:-10] for split, path in files.items()} == {
        "train": "en_ewt-ud-train", "dev": "en_ewt-ud-dev", "test": "en_ewt-ud-test",
    }  # fmt: skip
    ner = read_task("ner", SHARED)
    assert {split: len(part) for split, part in ner.parts.items()} == {"train": 3394, "dev": 1009, "test": 1287}
    assert {s: sum(map(len, part.tags)) for s, part in ner.parts.items()} == {
        "train": 62730, "dev": 15733, "test": 23394,
    }  # fmt: skip
    names = (*ner.classes, *ner.unknown)
    count = [
        sum(len(entities.spans_of([names[n] for n in own])) for own in ner.parts[split].tags)
        for split in ("train", "dev", "test")
    ]
    assert count == [1975, 836, 1079]
    mrpc = read_task("mrpc", SHARED)
    assert {split: len(part) for split, part in mrpc.parts.items()} == {"train": 3668, "dev": 408, "test": 1725}
