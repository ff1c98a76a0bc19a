"""Every number that Zhao et al. (2020) print, and which model and data they belong to.

The paper counts layers from 0, the first block; here that is layer 1 (docs/fidelity.md, Layer numbers).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from limbeck.papers.findings import Published
from limbeck.papers.parts import Part, Row
from limbeck.papers.probe_subjects import (
    AVERAGE,
    BAG,
    NEW,
    RANDOM_BAG,
    SAME,
    STATIC_BAG,
    ProbedModel,
)
from limbeck.probing.names import CONTEXT, WHOLE
from limbeck.tables import columns_of

OWN_MODEL = "bert-base-uncased"
OWN_DATA = "Wiki-PSE"
NEAR = 0.01  #: share by which data may be more or fewer than the paper's: it lost some on the way (docs/fidelity.md)
LAYERS = tuple(str(layer) for layer in range(1, 13))

#: Table 1: nearest to "suit"
TABLE_1 = {
    "GloVe": ("suits", "lawsuit", "filed", "lawsuits", "sued", "complaint", "jacket"),
    "BERT": ("suits", "suited", "lawsuit", "##suit", "lawsuits", "slacks", "47th"),
}
#: Table 2: words, combinations, contexts
TABLE_2 = {
    "train": (35_399, 62_184, 2_178_895),
    "dev": (8_850, 15_437, 542_938),
    "test": (44_250, 77_706, 2_722_893),
}
#: Table 3: development scores, F1 of NER and accuracy of the others
TABLE_3 = {"pos": 0.977, "sst-2": 0.928, "mrpc": 0.853, "ner": 0.946}
#: of which data these are
TASK_DATA = {"pos": "Penn Treebank", "sst-2": "GLUE", "mrpc": "GLUE", "ner": "CoNLL-2003"}
#: examples of these to train on and for development, where they are read here as they are: of POS other tags are read,
#: and of MRPC other pairs are held out
TASK_EXAMPLES = {"sst-2": {"train": 67_349, "dev": 872}, "ner": {"train": 14_041, "dev": 3_250}}
#: Table 4, by setting and task
BATCHES: dict[str, float] = {"pos": 150, "sst-2": 200, "mrpc": 350, "ner": 32}
TABLE_4: dict[str, dict[str, float]] = {
    "batch": BATCHES,
    "learning_rate": dict.fromkeys(BATCHES, 5e-5),
    "epochs": dict.fromkeys(BATCHES, 5.0),
    "length": dict.fromkeys(BATCHES, 128),
}
SETTING = {"length": "max_length"}  #: in Table 4 -> of limbeck, where it has another name
#: Table 5: micro-F1 of one vector a word
TYPE_LEVEL = {
    "dev": {"random": 0.269, "table": 0.653, "fastText": 0.625, "GloVe": 0.681, "PSE": 0.790},
    "test": {"random": 0.267, "table": 0.652, "fastText": 0.626, "GloVe": 0.680, "PSE": 0.787},
}
AVERAGES = {
    "dev": (0.746, 0.759, 0.764, 0.775, 0.786, 0.791, 0.794, 0.805, 0.811, 0.812, 0.813, 0.809),
    "test": (0.744, 0.756, 0.762, 0.773, 0.783, 0.788, 0.790, 0.802, 0.806, 0.809, 0.808, 0.806),
}
#: means and deviations over five starts of the upper six layers
STARTS = ((0.791, 0.001), (0.801, 0.001), (0.807, 0.001), (0.808, 0.001), (0.808, 0.001), (0.805, 0.001))
#: Table 6: micro-F1 of one vector an occurrence
BAGS = {
    "dev": {RANDOM_BAG: 0.637, STATIC_BAG: 0.707, BAG: 0.672},
    "test": {RANDOM_BAG: 0.630, STATIC_BAG: 0.707, BAG: 0.670},
}
IN_CONTEXT = {
    "dev": (0.649, 0.692, 0.711, 0.739, 0.771, 0.782, 0.795, 0.813, 0.826, 0.832, 0.836, 0.835),
    "test": (0.645, 0.688, 0.708, 0.737, 0.766, 0.777, 0.790, 0.810, 0.824, 0.828, 0.830, 0.831),
}
#: §4.4.2: development F1 at the last layer after fine-tuning on parts of speech
POS_TUNED = {SAME: 0.072, NEW: 0.735}
#: Table 7: accuracy of parts of speech by words that a word attends to on either side
TABLE_7 = {"0": 0.886, "2": 0.973, "4": 0.975, "8": 0.976, "16": 0.977, "32": 0.977, WHOLE: 0.977}

NEIGHBORS = Published("neighbours of suit", {"neighbours": TABLE_1}, "Table 1")
DATA = Published("words, combinations and contexts", {OWN_MODEL: TABLE_2}, "Table 2")
TYPES = Published("micro-F1, one vector a word", {OWN_MODEL: {"others": TYPE_LEVEL, "average": AVERAGES}}, "Table 5")
SPREAD = Published("mean and deviation over five starts", {OWN_MODEL: STARTS}, "Table 5")
CONTEXTS = Published(
    "micro-F1, one vector an occurrence", {OWN_MODEL: {"others": BAGS, "layers": IN_CONTEXT}}, "Table 6"
)
TUNED = Published("development scores", {OWN_MODEL: TABLE_3}, "Table 3")
SETTINGS = Published("settings of fine-tuning", {OWN_MODEL: TABLE_4}, "Table 4")
AFTER = Published("development F1 of the last layer after POS", {OWN_MODEL: POS_TUNED}, "§4.4.2")
WINDOWS = Published("development accuracy of POS", {OWN_MODEL: TABLE_7}, "Table 7")


def printed_model() -> ProbedModel:
    """The paper's BERT as far as its tables go, so that the rules can be asked of it too."""
    scores = []
    for side in ("dev", "test"):
        for name, value in TYPE_LEVEL[side].items():
            space = {"table": AVERAGE, "GloVe": "static"}.get(name, name)
            scores.append(_row(space, "table" if name == "table" else "none", side, value))
        scores += [_row(AVERAGE, layer, side, value) for layer, value in zip(LAYERS, AVERAGES[side], strict=True)]
        scores += [_row(name, "none", side, value) for name, value in BAGS[side].items()]
        scores += [_row(CONTEXT, layer, side, value) for layer, value in zip(LAYERS, IN_CONTEXT[side], strict=True)]
    starts = [
        _row(AVERAGE, layer, "test", value) | {"deviation": deviation, "starts": 5}
        for layer, (value, deviation) in zip(LAYERS[6:], STARTS, strict=True)
    ]
    tuned = [_row(setup, LAYERS[-1], "dev", value) for setup, value in POS_TUNED.items()]
    windows = [
        {"window": window, "metric": "accuracy", "value": value, "low": math.nan, "high": math.nan}
        for window, value in TABLE_7.items()
    ]
    parts = {
        "layers": Part({"scores": columns_of(scores)}),
        "starts": Part({"scores": columns_of(starts)}),
        "probed-pos": Part({"scores": columns_of(tuned)}),
        "windows": Part({"scores": columns_of(windows)}),
    }
    return ProbedModel(f"published {OWN_MODEL}", "BERT", ("table", *LAYERS), parts)


def is_own(model: ProbedModel) -> bool:
    """Whether a model measured here is the paper's, by its name and shape."""
    name = model.name.rsplit("/", 1)[-1]
    return name == OWN_MODEL and model.account.get("dim") == 768 and len(model.blocks) == len(LAYERS)


def own_words(counts: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether there are as many words, combinations and contexts on each side as in Table 2: side -> counts.

    Development words are drawn from those to train on, so that these are counted together.
    """
    for sides in (("train", "dev"), ("test",)):
        for at, what in enumerate(("words", "combinations", "contexts")):
            printed = sum(TABLE_2[side][at] for side in sides)
            if not _near(sum(counts.get(side, {}).get(what, 0) for side in sides), printed):
                return False
    return True


def unlike(model: ProbedModel) -> str:
    """Why probes of a model cannot be held against the print; "" where model and labelled words are the paper's."""
    if not is_own(model):
        return "not the paper's model"
    return "" if own_words(model.account.get("counts", {})) else "not the paper's labelled words"


def unlike_task(model: ProbedModel, task: str) -> str:
    """Why a fine-tuned model's score cannot be held against the print; "" where model and task are the paper's."""
    if not is_own(model):
        return "not the paper's model"
    examples, printed = model.part(f"tuned-{task}").about["examples"], TASK_EXAMPLES.get(task)
    if printed is None or not all(_near(examples[part], count) for part, count in printed.items()):
        return f"not the paper's data ({TASK_DATA[task]})"
    return ""


def _near(count: float, printed: int) -> bool:
    return abs(count - printed) <= NEAR * printed


def _row(space: str, layer: str, side: str, value: float) -> Row:
    return {"space": space, "layer": layer, "side": side, "context": WHOLE, "f1": value, "deviation": math.nan}
