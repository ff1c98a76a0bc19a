"""How a model is fine-tuned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from limbeck.settings import Settings, option

WORD_TASKS = ("pos", "ner")
#: columns of CoNLL-U that can be learned
Column = Literal["upos", "xpos", "deprel"]


def known_tasks() -> tuple[str, ...]:
    """Names of tasks that can be fine-tuned on."""
    from limbeck.evaluation.classifying.catalogue import all_tasks

    return (*WORD_TASKS, *(name for name, task in all_tasks().items() if task.kind != "word"))


@dataclass(frozen=True)
class FinetuneSettings(Settings, group="training"):
    """How to fine-tune; the defaults are those of Zhao et al. (2020)."""

    max_train: int | None = option(None, minimum=2, metavar="N", help="most training examples, drawn by seed")
    max_dev: int | None = option(None, minimum=1, metavar="N", help="most development examples, drawn by seed")
    epochs: int | None = option(
        None, minimum=1, common=True, metavar="N", help="passes through the training set (5, unless --steps)"
    )
    steps: int | None = option(None, minimum=1, metavar="N", help="stop after N steps, whatever the epochs")
    batch: int | None = option(
        None,
        minimum=1,
        common=True,
        metavar="N",
        help="examples per step (pos 150, sst2 200, mrpc 350, all others 32)",
    )
    learning_rate: float = option(5e-5, above=0, below=1, common=True, metavar="R", help="of Adam (5e-5)")
    max_length: int = option(
        128,
        minimum=4,
        metavar="N",
        help="most subwords that are read at once (128, or the model's own limit if that is less); a longer sentence "
        "of tagged words is read in parts, a longer text is cut",
    )
    evaluate_every: int | None = option(
        None, minimum=1, metavar="N", help="steps between two scores on the development set (five scores per epoch)"
    )
    word_piece: Literal["last", "first", "mean"] = option(
        "last", help="which subword stands for a word: last (default), first or mean"
    )
    sentence_piece: Literal["auto", "first", "last", "mean"] = option(
        "auto",
        help="which subword stands for a text: first ([CLS]), last or mean; auto (default) is first where the model "
        "puts a special token there and sees to the right, last of a decoder, else mean",
    )
    attention_window: int | None = option(
        None, minimum=0, metavar="K", help="let each word attend to K words on each side only, in training and scoring"
    )
    attention_texts: int = option(
        200,
        minimum=0,
        metavar="N",
        help="development texts on which attention before and after is compared (200); 0 leaves it out",
    )
    seed: int = option(0, metavar="N", help="seed of the first weights, the order of examples and dropout (0)")
