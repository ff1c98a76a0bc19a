"""What is asked of every model when the claims of Zhao et al. (2020) are tried, and how much of everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from limbeck.papers.probe_data import Words
from limbeck.probing.finetuning.data import TaskData

#: width of the paper's model; narrower ones learn at a rate that is so much higher (see `rate_of`)
PAPER_WIDTH = 768
PAPER_RATE = 5e-5
#: task -> what the paper calls it; in the order of its Table 3
TASKS = {"pos": "POS", "sst-2": "SST2", "mrpc": "MRPC", "ner": "NER"}
SIZES = (0, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Caps:
    """How much is read and trained; what costs time. None: all there is, or as in the paper.

    combinations  of word and class, whole words drawn by hash
    contexts      of a combination
    min_words     that a class must have; None: by the data
    hidden        units of a probe
    epochs        of the probes
    rows          of the probes' batches
    starts        of the probes on averages over contexts, whose spread is told
    sizes         words to each side that the model sees
    layers        at most so many blocks of the model, evenly spread, where the context is cut; the table beside
    tasks         to fine-tune on
    steps         of fine-tuning; None: five epochs
    batch         examples a step; None: the paper's
    train, dev    examples of each task
    rate          of Adam in fine-tuning; None: the paper's for its width, more for narrower models
    windows       words to each side that a word attends to when parts of speech are learnt
    attention     texts that attention is compared on
    """

    combinations: int | None = 4000
    contexts: int = 2
    min_words: int | None = None
    hidden: int = 32
    epochs: int = 40
    rows: int = 64
    starts: int = 5
    sizes: tuple[int, ...] = SIZES
    layers: int | None = 4
    tasks: tuple[str, ...] = tuple(TASKS)
    steps: int | None = 60
    batch: int | None = 16
    train: int | None = None
    dev: int | None = 300
    rate: float | None = None
    windows: tuple[int, ...] = SIZES
    attention: int = 50


PAPER = Caps(
    combinations=None, contexts=100, min_words=10, hidden=1024, epochs=400, rows=256, starts=5, layers=None,
    steps=None, batch=None, dev=None, rate=PAPER_RATE, attention=200,
)  # fmt: skip
QUICK = Caps(
    combinations=300, contexts=1, min_words=5, hidden=16, epochs=8, starts=2, sizes=(0, 4), layers=2, steps=4, batch=4,
    train=40, dev=20, windows=(0, 4), attention=4,
)  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """What is asked of every model.

    words    labelled words, the same for all models
    encoder  options of `open_encoder`
    static   a file of word vectors to compare with
    frozen   names of models that are probed and not fine-tuned
    tasks    those that were found, by name
    missing  task -> why it is not there
    """

    words: Words
    tasks: Mapping[str, TaskData]
    missing: Mapping[str, str]
    encoder: Mapping[str, Any] = field(default_factory=dict)
    static: str | None = None
    frozen: tuple[str, ...] = ()
    caps: Caps = Caps()
    preset: str = "corrected"
    seed: int = 0
    progress: bool = False


def rate_of(caps: Caps, dim: int) -> float:
    """The rate of Adam: as asked, or the paper's 5e-5 at 768 dimensions and inversely more at fewer.

    >>> rate_of(Caps(), 768), round(rate_of(Caps(), 128), 6)
    (5e-05, 0.0003)
    """
    return PAPER_RATE * max(1.0, PAPER_WIDTH / dim) if caps.rate is None else caps.rate


def spread_layers(layers: Sequence[str], most: int | None) -> str:
    """So many of a model's blocks, the lowest and the highest among them, and its table; as `--layers` has them.

    >>> spread_layers(["table", "0", "1", "2", "3", "4", "5", "6"], 3)
    'table,1,4,6'
    """
    blocks = [layer for layer in layers if layer not in ("table", "0")]
    count = len(blocks) if most is None else min(most, len(blocks))
    steps = max(count - 1, 1)
    chosen = [blocks[-(-place * (len(blocks) - 1) // steps)] for place in range(count)]
    return ",".join([*(layer for layer in layers if layer == "table"), *chosen])
