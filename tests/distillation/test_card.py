"""What the card says was done is what was done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import raises

import limbeck as lb
from limbeck.distillation import DistilledVectors
from limbeck.distillation.card import card
from limbeck.distillation.method_settings import BestSettings
from limbeck.distillation.settings import TEMPLATES
from limbeck.errors import LimbeckError
from limbeck.runs.distilling.work import plainly

FRAMED = "the word in sentences about nothing else"
USED = "the word in its contexts"
ABOUT = "the texts that it occurs in"


def card_of(pull: float = 0.3, cut_up: int = 1, **own: float) -> str:
    about: dict[str, Any] = {"method": "best", "layer": "1", "settings": {"template": TEMPLATES}, "cut_up": cut_up}
    about |= {"method_settings": plainly(BestSettings(**own)), "neighbours_pull": pull}
    made = DistilledVectors(["tea", "night"], np.eye(2), counts=[3, 2], origins=["corpus"] * 2, record=about)
    return card(made, dtype="float32")


@pytest.mark.parametrize("name", ["README.md", "run.json", "words.parquet"])
def test_a_folder_of_yours_is_not_written_over(tmp_path: Path, name: str) -> None:
    def teacher(texts: Any) -> Any:
        return [np.eye(2)[: len(text.words)] for text in texts]

    made = lb.distill(teacher, [["tea", "night"]] * 2, min_count=1, method="average", unseen="drop")
    (tmp_path / name).write_text("my thesis")
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        made.save(tmp_path, format="model2vec")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "my thesis")]
    made.save(tmp_path / "own", format="model2vec")
    made.save(tmp_path / "own", format="model2vec")  # its own may be


@pytest.mark.parametrize(
    ("own", "told", "untold"),
    [
        ({}, f"makes of {FRAMED}, {USED} and {ABOUT}.", ()),
        ({"frames": 0.0}, f"makes of {USED} and {ABOUT}.", (FRAMED, "The sentences:")),
        ({"average": 0.0, "contexts": 0.0}, f"makes of {FRAMED}.", (USED, ABOUT)),
        ({"contexts": 0.0}, f"makes of {FRAMED} and {USED}.", (ABOUT,)),
    ],
)
def test_only_views_that_count_are_named(own: dict[str, float], told: str, untold: tuple[str, ...]):
    found = card_of(**own)
    assert told in found
    assert not [part for part in untold if part in found]


def test_what_is_done_for_words_that_are_cut_up_is_told():
    cut_up = "Of 2 words that the teacher's tokenizer cuts up"
    assert f"{cut_up} these texts count more and what their letters say of them is added." in card_of(cut_up=2)
    assert f"{cut_up} these texts count more." in card_of(cut_up=2, spelling=0.0)
    assert f"{cut_up} these texts count less." in card_of(cut_up=2, spelling=0.0, split=0.0)
    assert f"{cut_up} what their letters say of them is added." in card_of(cut_up=2, contexts=0.0)
    assert "cuts up" not in card_of(cut_up=2, spelling=0.0, split=1.0)
    assert "cuts up" not in card_of(cut_up=0)


def test_how_far_vectors_were_drawn_is_told():
    among_few = card_of(pull=0.042625)
    assert "drawn towards the mean of the words nearest to it, which counts 0.043 beside the word itself" in among_few
    assert "less than the 0.3 asked for" in among_few
    among_many = card_of(pull=0.3)
    assert "which counts 0.3 beside the word itself." in among_many
    assert "less than" not in among_many


def test_vectors_that_were_not_drawn_are_not_said_to_be():
    assert "drawn" not in card_of(neighbours=0.0)
    assert "drawn" not in card_of(pull=0.0)  # a single word has no neighbour


def test_a_text_in_another_language_is_told():
    told = "the text does not look like English (en): give --language de."
    for text in ({"language_warning": told}, [{}, {"language_warning": told}, {"language_warning": told}]):
        record = {"method": "average", "layer": "1", "text": text}
        made = DistilledVectors(["tea"], np.eye(1), counts=[3], origins=["corpus"], record=record)
        assert card(made, dtype="float32").count("The text does not look like English") == 1
