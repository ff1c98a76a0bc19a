"""Numbers that papers printed or shipped with their code, and where each stands."""

from __future__ import annotations

import numpy as np

from limbeck.papers.estimates import Curve
from limbeck.papers.findings import Published
from limbeck.papers.subjects import Subject

# Ethayarajh 2019

SHIPPED = "files shipped with the code (kawine/contextual, c10c992); its README says they are close to the paper's"
SHIPPED_MEV = "means over the files shipped with the code (kawine/contextual, 84d2f97)"

#: mean cosine of random pairs by layer, input first
RANDOM_PAIRS = {
    "BERT": (0.105, 0.168, 0.219, 0.245, 0.327, 0.377, 0.420, 0.398, 0.399, 0.484, 0.561, 0.675, 0.477),
    "GPT-2": (0.611, 0.644, 0.597, 0.614, 0.587, 0.573, 0.578, 0.582, 0.595, 0.617, 0.667, 0.758, 0.978),
    "ELMo": (0.008, 0.157, 0.136),
}
#: mean self-similarity by layer, input first, not adjusted
MEAN_SELF_SIMILARITY = {
    "BERT": (0.954, 0.921, 0.871, 0.823, 0.798, 0.781, 0.765, 0.744, 0.731, 0.754, 0.782, 0.839, 0.755),
    "GPT-2": (0.917, 0.921, 0.900, 0.908, 0.884, 0.865, 0.850, 0.842, 0.838, 0.840, 0.852, 0.887, 0.985),
    "ELMo": (1.0, 0.744, 0.642),
}
HEADLINE_MEV = 0.05  #: the "less than 5 %" of a word's variance that one static vector explains
#: raw MEV of the released code, lowest and highest layer mean (GPT-2: layers 2 to 11)
RAW_MEV = {"BERT": (0.010, 0.040), "GPT-2": (0.286, 0.351), "ELMo": (0.033, 0.039)}
#: name, number of layers and dimensions of the models that the paper measured
OWN_MODELS = {"BERT": ("bert-base-cased", 13, 768), "GPT-2": ("gpt2", 13, 768), "ELMo": ("elmo", 3, 1024)}

ANISOTROPY = Published("mean cosine of random pairs, by layer from the input", RANDOM_PAIRS, SHIPPED)
SELF_SIMILARITY = Published("raw self-similarity, by layer from the input", MEAN_SELF_SIMILARITY, SHIPPED)
LOWEST_WORDS = Published(
    "lowest self-similarity, averaged over layers", {"ELMo": ["and", "of", "'s", "the", "to"]}, "§4.2"
)
INTRA_SENTENCE = (
    Published("adjusted intra-sentence similarity of most layers", {"GPT-2": "close to 0"}, "§4.2, Figure 3"),
    Published("adjusted intra-sentence similarity of all layers but one", {"BERT": "> 0.20", "ELMo": "> 0.20"}, "§4.2"),
    Published("raw intra-sentence similarity and baseline of layer 4", {"GPT-2": [0.537, 0.587]}, SHIPPED),
    Published("adjusted intra-sentence similarity of the input layer", {"ELMo": 0.31}, SHIPPED),
)
MEV = (
    Published("adjusted MEV, every layer", {"BERT": "< 0.05", "GPT-2": "< 0.05", "ELMo": "< 0.05"}, "§4.3, Figure 4"),
    Published("raw MEV of the released code, lowest and highest layer (GPT-2: layers 2–11)", RAW_MEV, SHIPPED_MEV),
)
GPT2_MEV = (
    Published("raw MEV of layers 2 to 11", {"GPT-2": "around 0.30"}, "§4.3"),
    Published(
        "raw MEV of the released code, lowest and highest of layers 2–11", {"GPT-2": [0.286, 0.351]}, SHIPPED_MEV
    ),
    Published("its baseline, lowest and highest of layers 2–11", {"GPT-2": [0.97, 0.998]}, SHIPPED_MEV),
)

#: columns of Table 1, and its rows
TABLE_1_SETS = ("SimLex999", "MEN", "WS353", "RW", "Google", "MSR", "SemEval2012(2)", "BLESS", "AP")
TABLE_1 = Published(
    "scores on " + ", ".join(TABLE_1_SETS),
    {
        "GloVe": [0.194, 0.216, 0.339, 0.127, 0.189, 0.312, 0.097, 0.390, 0.308],
        "FastText": [0.239, 0.239, 0.432, 0.176, 0.203, 0.289, 0.104, 0.375, 0.291],
        "ELMo, layer 1": [0.276, 0.167, 0.317, 0.148, 0.170, 0.326, 0.114, 0.410, 0.308],
        "ELMo, layer 2": [0.215, 0.151, 0.272, 0.133, 0.130, 0.268, 0.132, 0.395, 0.318],
        "BERT, layer 1": [0.315, 0.200, 0.394, 0.208, 0.236, 0.389, 0.166, 0.365, 0.321],
        "BERT, layer 2": [0.320, 0.166, 0.383, 0.188, 0.230, 0.385, 0.149, 0.365, 0.321],
        "BERT, layer 11": [0.221, 0.076, 0.319, 0.135, 0.175, 0.290, 0.149, 0.370, 0.289],
        "BERT, layer 12": [0.233, 0.082, 0.325, 0.144, 0.184, 0.307, 0.144, 0.360, 0.294],
        "GPT-2, layer 1": [0.174, 0.012, 0.176, 0.183, 0.052, 0.081, 0.033, 0.220, 0.184],
        "GPT-2, layer 2": [0.135, 0.036, 0.171, 0.180, 0.045, 0.062, 0.021, 0.245, 0.184],
        "GPT-2, layer 11": [0.126, 0.034, 0.165, 0.182, 0.031, 0.038, 0.045, 0.270, 0.189],
        "GPT-2, layer 12": [0.140, -0.009, 0.113, 0.163, 0.020, 0.021, 0.014, 0.225, 0.172],
    },
    "Table 1",
)


def shipped_subjects() -> tuple[Subject, ...]:
    """The paper's three models as far as its shipped numbers go: the same rules can be asked of them."""
    return tuple(_shipped(family) for family in RANDOM_PAIRS)


def _shipped(family: str) -> Subject:
    baseline, value = np.array(RANDOM_PAIRS[family]), np.array(MEAN_SELF_SIMILARITY[family])
    layers = tuple(str(layer) for layer in range(len(value)))
    columns = {
        ("anisotropy", "value"): baseline,
        ("self_similarity", "value"): value,
        ("self_similarity", "baseline"): baseline,
        ("self_similarity", "adjusted"): value - baseline,
    }
    curves = {name: Curve(layers, values, np.zeros_like(values)) for name, values in columns.items()}
    return Subject(name=f"published {family}", family=family, layers=layers, curves=curves)


def is_own_model(subject: Subject) -> bool:
    """Whether a run's model is one of those that the paper measured: by name and by shape."""
    known = OWN_MODELS.get(subject.family)
    if known is None or not subject.account:
        return False
    name, layers, dim = known
    last = subject.name.lower().replace("\\", "/").rsplit("/", 1)[-1]
    named = name in last if subject.family == "ELMo" else last == name
    return named and len(subject.layers) == layers and subject.account.get("dim") == dim
