"""The numbers that Rajaee & Pilehvar (2021) print, and the three models that they are of, as the rules see models."""

from __future__ import annotations

import math
from collections.abc import Mapping

from limbeck.analysis.result import columns_of
from limbeck.papers.findings import Published
from limbeck.papers.parts import Part, Row
from limbeck.papers.space_subjects import SpaceModel

#: name on the hub -> what the paper's models are called here, and their dimensions
OWN_MODELS = {
    "gpt2": ("GPT-2", 768),
    "bert-base-uncased": ("BERT", 768),
    "roberta-base": ("RoBERTa", 768),
}
FAMILIES = ("GPT-2", "BERT", "RoBERTa")

#: I(W) by number of clusters, 0 for the space as it is
TABLE_1 = {
    "GPT-2": {0: 5.02e-174, 1: 2.49e-220, 3: 9.42e-66, 6: 1.40e-41, 9: 1.18e-41, 20: 4.06e-47},
    "BERT": {0: 5.05e-05, 1: 0.010, 3: 0.040, 6: 0.125, 9: 0.131, 20: 0.262},
    "RoBERTa": {0: 2.70e-06, 1: 0.015, 3: 0.290, 6: 0.453, 9: 0.545, 20: 0.603},
}
SETS = ("sts12", "sts13", "sts14", "sts15", "sts16", "sick-r", "sts-b")
#: Spearman × 100 on `SETS`
TABLE_2 = {
    "GPT-2": {
        "baseline": (26.49, 30.25, 35.74, 41.25, 46.40, 45.05, 24.8),
        "global": (51.42, 69.71, 55.91, 60.35, 62.12, 59.22, 55.7),
        "cluster": (52.40, 72.71, 59.23, 62.19, 64.26, 59.51, 62.3),
    },
    "BERT": {
        "baseline": (42.87, 59.21, 59.75, 62.85, 63.74, 58.69, 47.4),
        "global": (54.62, 70.39, 60.34, 63.73, 69.37, 63.68, 65.5),
        "cluster": (58.34, 75.65, 63.55, 64.37, 69.63, 63.75, 66.0),
    },
    "RoBERTa": {
        "baseline": (33.09, 56.44, 46.76, 55.44, 60.88, 61.28, 56.0),
        "global": (51.59, 73.57, 60.70, 66.72, 69.34, 65.82, 70.1),
        "cluster": (54.87, 76.70, 64.18, 67.05, 69.28, 66.93, 71.4),
    },
}
TASKS = ("rte", "cola", "sst-2", "mrpc", "wic", "boolq")
#: score × 100 on `TASKS`, BERT alone
TABLE_3 = {
    "baseline": (54.4, 38.0, 80.1, 70.2, 60.0, 64.7),
    "global": (56.2, 38.8, 80.2, 72.1, 60.7, 64.9),
    "cluster": (56.5, 40.7, 82.5, 72.4, 61.0, 66.4),
}
KINDS = ("ST-SM", "ST-DM", "DT-SM")
#: distances of `KINDS`, and I(W)
TABLE_4 = {
    "GPT-2": {"baseline": (48.82, 48.19, 50.86, 2.26e-05), "cluster": (9.32, 9.53, 9.49, 0.17)},
    "BERT": {"baseline": (13.44, 14.24, 14.87, 2.24e-05), "cluster": (10.31, 10.50, 10.32, 0.32)},
    "RoBERTa": {"baseline": (5.89, 6.31, 6.86, 1.22e-06), "cluster": (4.78, 5.00, 4.89, 0.73)},
}
#: I(W) by layer, input first; RoBERTa's layer 6 is printed "3.1Ef-10"
TABLE_5 = {
    "GPT-2": (1.5e-02, 9.9e-24, 2.8e-23, 6.1e-26, 1.6e-27, 3.0e-30, 1.6e-32, 1.3e-37, 3.4e-45, 6.4e-55, 4.1e-32,
              1.8e-132, 5.0e-174),
    "BERT": (4.6e-04, 9.9e-06, 6.3e-05, 8.8e-05, 9.2e-06, 4.8e-06, 3.9e-06, 1.1e-07, 1.0e-05, 2.5e-05, 6.9e-05,
             2.4e-07, 5.0e-05),
    "RoBERTa": (9.1e-03, 2.7e-07, 8.7e-10, 4.2e-09, 5.4e-12, 2.4e-10, 3.1e-10, 1.3e-10, 1.4e-10, 1.3e-10, 6.7e-11,
                1.4e-10, 2.7e-06),
}  # fmt: skip
#: I(W) on `SETS`
TABLE_6 = {
    "GPT-2": {
        "baseline": (1.4e-178, 1.0e-170, 1.4e-172, 2.9e-177, 6.0e-174, 9.9e-140, 2.6e-105),
        "global": (0.57, 0.40, 0.05, 0.12, 0.60, 0.57, 0.51),
        "cluster": (0.71, 0.74, 0.47, 0.74, 0.74, 0.78, 0.70),
    },
    "BERT": {
        "baseline": (3.1e-05, 1.9e-04, 2.6e-04, 3.7e-07, 2.8e-04, 4.2e-05, 1.1e-04),
        "global": (0.48, 0.41, 0.55, 0.72, 0.65, 0.63, 0.58),
        "cluster": (0.68, 0.61, 0.77, 0.81, 0.75, 0.82, 0.73),
    },
    "RoBERTa": {
        "baseline": (3.1e-06, 3.1e-07, 3.8e-06, 3.8e-06, 3.5e-06, 3.7e-07, 2.9e-06),
        "global": (0.67, 0.87, 0.87, 0.84, 0.85, 0.90, 0.88),
        "cluster": (0.89, 0.91, 0.93, 0.92, 0.89, 0.94, 0.90),
    },
}
#: Appendix B.2: components of the global method; clusters, and components of each
BEST = {"GPT-2": (30, 10, 30), "BERT": (15, 27, 12), "RoBERTa": (25, 27, 12)}

LAYERS = Published("I(W) by layer, input first", TABLE_5, "Table 5, Figure 1")
LOCAL = Published("I(W) by number of clusters (0: as it is)", {k: dict(v) for k, v in TABLE_1.items()}, "Table 1")
STS = Published(f"Spearman × 100 on {', '.join(SETS)}", {k: dict(v) for k, v in TABLE_2.items()}, "Table 2")
STS_ISOTROPY = Published(f"I(W) on {', '.join(SETS)}", {k: dict(v) for k, v in TABLE_6.items()}, "Table 6")
CLASSIFY = Published(f"scores × 100 on {', '.join(TASKS)}", {"BERT": dict(TABLE_3)}, "Table 3")
TENSE = Published(f"distances {', '.join(KINDS)} and I(W)", {k: dict(v) for k, v in TABLE_4.items()}, "Table 4")
SETTINGS = Published("components globally; clusters, components of each", dict(BEST), "Appendix B.2")


def printed_models() -> tuple[SpaceModel, ...]:
    """The paper's three models, as far as its tables go: the same rules can be asked of them."""
    return tuple(_printed(family) for family in FAMILIES)


def _printed(family: str) -> SpaceModel:
    layers = tuple(str(layer) for layer in range(len(TABLE_5[family])))
    parts = {
        "layers": _part(
            layers=[
                {"layer": layer, "log10_isotropy_one_sign": math.log10(value)}
                for layer, value in zip(layers, TABLE_5[family], strict=True)
            ]
        ),
        "local": _part(
            local=[
                {"clusters": k, "log10_isotropy_one_sign": math.log10(value), "spread": 0.0, "seeds": 5}
                for k, value in TABLE_1[family].items()
            ]
        ),
        "sts": _part(sts=_sts_rows(family), compared=_compared(_percent(TABLE_2[family]), SETS, fit="task")),
        "removal": _part(removal=_removal_rows(family)),
        "tuning": Part({}, {"best": _best(family)}),
        "tense": _part(tense=_tense_rows(family)),
    }
    if family == "BERT":
        scores = _percent(TABLE_3)
        parts["classify"] = _part(
            classify=[
                {"task": task, "setting": setting, "value": value}
                for setting, values in scores.items()
                for task, value in zip(TASKS, values, strict=True)
            ],
            compared=_compared(scores, TASKS),
        )
    return SpaceModel(f"published {family}", family, layers, parts)


def _part(**tables: list[Row]) -> Part:
    return Part({name: columns_of(rows) for name, rows in tables.items()})


def _percent(table: Mapping[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(value / 100 for value in values) for name, values in table.items()}


def _sts_rows(family: str) -> list[Row]:
    return [
        {"fit": "" if setting == "baseline" else "task", "setting": setting, "task": task, "value": value / 100,
         "log10_isotropy_one_sign": math.log10(isotropy)}
        for setting, values in TABLE_2[family].items()
        for task, value, isotropy in zip(SETS, values, TABLE_6[family][setting], strict=True)
    ]  # fmt: skip


def _compared(scores: Mapping[str, tuple[float, ...]], tasks: tuple[str, ...], **more: str) -> list[Row]:
    """Differences of printed numbers, which have no intervals."""
    return [
        {**more, "setting": setting, "other": other, "task": task, "difference": a - b, "low": a - b, "high": a - b}
        for setting, other in (("global", "baseline"), ("cluster", "baseline"), ("cluster", "global"))
        for task, a, b in zip(tasks, scores[setting], scores[other], strict=True)
    ]


def _removal_rows(family: str) -> list[Row]:
    """Isotropy after the removal of the one number of components that is printed, over the sets."""
    whole, _, each = BEST[family]
    found = []
    for method, components in (("global", whole), ("cluster", each)):
        value = sum(map(math.log10, TABLE_6[family][method])) / len(SETS)
        found.append({"method": method, "components": components, "log10_isotropy_one_sign": value, "spread": 0.0})
    return found


def _best(family: str) -> dict[str, list[int]]:
    whole, clusters, each = BEST[family]
    return {"global": [1, whole], "cluster": [clusters, each]}


def _tense_rows(family: str) -> list[Row]:
    found = []
    for space, (*distances, isotropy) in TABLE_4[family].items():
        told = dict(zip(KINDS, distances, strict=True))
        told["dominance"] = told["DT-SM"] - told["ST-DM"]
        found += [
            {"space": space, "metric": "euclidean", "kind": kind, "value": value, "low": value, "high": value,
             "log10_isotropy_one_sign": math.log10(isotropy)}
            for kind, value in told.items()
        ]  # fmt: skip
    return found


def paper_name(model: SpaceModel) -> str:
    """What the paper calls a model that was measured here: by name and dimensions; "" where it is none of its."""
    last = model.name.lower().replace("\\", "/").rsplit("/", 1)[-1].removeprefix("openai-")
    known = OWN_MODELS.get(last)
    return known[0] if known and model.account and model.account.get("dim") == known[1] else ""


def is_own_model(model: SpaceModel) -> bool:
    """Whether a model is one of the paper's."""
    return bool(paper_name(model))
