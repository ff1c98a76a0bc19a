"""Options of `limbeck reproduce`: those of every paper, and what the papers of a kind have of their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from limbeck.encoders.miniatures import MINIATURES
from limbeck.papers import PAPERS
from limbeck.runs.execution.settings import PassOutputSettings
from limbeck.settings import Settings, option


@dataclass(frozen=True)
class PaperSettings(Settings, group="paper"):
    """Whose claims are tried."""

    paper: str | None = option(
        None,
        common=True,
        positional=True,
        required=True,
        metavar="PAPER",
        suggestions=tuple(PAPERS),
        help=f"one of {', '.join(PAPERS)}",
    )


@dataclass(frozen=True)
class PaperDataSettings(Settings, group="data"):
    """The files of tasks."""

    data: Path | None = option(
        None,
        common=True,
        metavar="DIR",
        files=True,
        help="folder with files, anywhere in it: word-similarity sets (bis2021, gupta2021; ethayarajh2019 with "
        "analogies and categories, for its Table 1); sentence similarity, classification, a treebank and SemCor "
        "(rajaee2021); classification (gupta2021); SemCor, a treebank, entities, SST-2 and MRPC (zhao2020)",
    )


@dataclass(frozen=True)
class ReproduceOutputSettings(PassOutputSettings):
    """Where findings go, and onto which page."""

    page: Path | None = option(
        None,
        metavar="P",
        files=True,
        help="Markdown page whose generated blocks are written anew, with figures",
    )


@dataclass(frozen=True)
class PaperPresetSettings(Settings, group="measures"):
    """By whose rules."""

    preset: Literal["corrected", "paper", "released"] = option(
        "corrected", metavar="NAME", help="corrected (default), paper, or released (as the published code did)"
    )
    seed: int = option(0, metavar="N", help="seed of every sample and interval (0)")


@dataclass(frozen=True)
class SensesSettings(Settings, group="senses"):
    """Where the senses of words are counted."""

    senses: Any = option(
        None,
        metavar="C",
        files=True,
        paths=True,
        help="labeled corpus in which the senses of words are counted (default: the corpus itself, if it has labels)",
    )
    sense_label: str | None = option(
        None, metavar="NAME", help="label that gives the sense (default: sense, else class)"
    )


@dataclass(frozen=True)
class TablesSettings(Settings, group="embedding tables"):
    """What is known of a table's training."""

    early: Path | None = option(
        None, metavar="DIR", files=True, help="folder with tables kept in training, early-NAME.safetensors"
    )


@dataclass(frozen=True)
class QuickSettings(Settings, group="how much"):
    """How much of everything, where a paper trains."""

    quick: bool = option(False, help="a little of everything, to see it run: no number counts")
    max_train: int | None = option(
        None, minimum=1, metavar="N", help="training examples of each task (rajaee2021: 1000; others: all)"
    )
    starts: int | None = option(
        None, minimum=1, metavar="N", help="training runs of each setting, in zhao2020 of probes on averages (5; "
        "gupta2021: 3)",
    )  # fmt: skip


@dataclass(frozen=True)
class EpochsSettings(Settings, group="how much"):
    """How long vectors or probes are trained."""

    epochs: int | None = option(
        None,
        minimum=1,
        metavar="N",
        help="of X2Static and baselines (gupta2021: 10; with other presets their own), or of probes (zhao2020: 40)",
    )


@dataclass(frozen=True)
class SpacesSettings(Settings, group="repairs"):
    """How much of a space is looked at."""

    points: int = option(
        50_000, minimum=1, metavar="N", help="occurrences on which isotropy is measured, chosen by hash (50000)"
    )
    max_pairs: int | None = option(None, minimum=1, metavar="N", help="sentence pairs of each set (default: all)")
    seeds: int | None = option(None, minimum=1, metavar="N", help="clusterings that are averaged (5)")
    count_in: Any = option(
        None,
        metavar="C",
        files=True,
        paths=True,
        help="text in which words are counted for their frequency (default: the corpus)",
    )


@dataclass(frozen=True)
class ParentsSettings(Settings, group="static vectors"):
    """How static vectors are made of their parents."""

    min_count: int | None = option(
        None, minimum=1, metavar="N", help="occurrences that a word needs (5; with other presets 10)"
    )
    sentences: int | None = option(
        None, minimum=1, metavar="N", help="sentences of the text on which other contexts are tried (5000)"
    )
    fine_tuned: tuple[Path, ...] = option(
        (),
        metavar="DIR",
        files=True,
        help="folders of `limbeck finetune` whose parents are among the models, for more rows of Table 4",
    )


@dataclass(frozen=True)
class ProbedWordsSettings(Settings, group="probing"):
    """Which labeled words are probed, by which probes and rules."""

    preset: Literal["corrected", "paper"] = option(
        "corrected", metavar="NAME", help="corrected (default) or paper, of which no code was released"
    )
    seed: int = option(0, metavar="N", help="seed of every sample and interval (0)")
    classes: tuple[str, ...] = option(
        (), separator=",", metavar="NAMES", help="names or patterns of classes, separated by commas (SemCor: noun.*)"
    )
    max_combinations: int | None = option(
        None, minimum=1, metavar="N", help="combinations of word and class, by whole words (4000)"
    )
    max_contexts: int | None = option(None, minimum=1, metavar="N", help="contexts of each combination (2)")
    min_words: int | None = option(
        None, minimum=1, metavar="N", help="minimum number of words per class (SemCor: 150, else 5)"
    )
    train_words: Path | None = option(
        None, metavar="FILE", files=True, help="words to train on, one per line or as in WIKI-PSE"
    )
    test_words: Path | None = option(None, metavar="FILE", files=True, help="words to test on (default: split by hash)")
    hidden: int | None = option(None, minimum=1, metavar="N", help="units of a probe's hidden layer (32)")
    probe_batch: int | None = option(None, minimum=1, metavar="N", help="rows per step of the probes (64)")
    static: Path | None = option(None, metavar="FILE", files=True, help="word vectors to compare with")
    context_size: tuple[int, ...] = option(
        (), separator=",", minimum=0, metavar="N,...", help="words to each side (0,2,4,8,16,32)"
    )


@dataclass(frozen=True)
class TunedSettings(Settings, group="fine-tuning"):
    """How models are fine-tuned."""

    tasks: tuple[str, ...] = option(
        (),
        separator=",",
        metavar="NAMES",
        suggestions=("pos", "sst-2", "mrpc", "ner"),
        help="to fine-tune on (pos,sst-2,mrpc,ner)",
    )
    not_tuned: tuple[str, ...] = option(
        (), metavar="M", suggestions=MINIATURES, files=True, help="models that are probed and not fine-tuned"
    )
    steps: int | None = option(None, minimum=1, metavar="N", help="of fine-tuning (60; --preset paper: 5 epochs)")
    batch: int | None = option(None, minimum=1, metavar="N", help="examples per step (16; --preset paper: by task)")
    learning_rate: float | None = option(
        None, above=0, below=1, metavar="R", help="of fine-tuning (5e-5 × 768 / the model's dimensions)"
    )
    max_dev: int | None = option(None, minimum=1, metavar="N", help="development examples of each task (300)")
    attention_window: tuple[int, ...] = option(
        (),
        separator=",",
        minimum=0,
        metavar="K,...",
        help="words on either side that POS may attend to (0,2,4,8,16,32)",
    )
    attention_texts: int | None = option(
        None, minimum=0, metavar="N", help="texts on which attention before and after is compared (50)"
    )
