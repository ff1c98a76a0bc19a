"""Models made of numbers, for the rules of Rajaee & Pilehvar (2021): a space that keeps every claim, to be broken."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from limbeck.analysis.result import columns_of
from limbeck.papers.parts import Part, Row
from limbeck.papers.space_subjects import SpaceModel

SETS = ("sts12", "sts-b", "sick-r")
TASKS = ("rte", "boolq")
ONE = "log10_isotropy_one_sign"


def made_model(family: str = "BERT", **parts: dict[str, list[Row]] | None) -> SpaceModel:
    """A model of which all claims hold; `parts` in the place of its own, None for one that is missing."""
    tables = made_tables() | parts
    account = {
        "dim": 128,
        "units": "pieces",
        "text": "a text",
        "settings": {
            "preset": "corrected",
            "tuned": True,
            "methods": ["all-but-the-top:n_components=15", "cluster:n_clusters=27,n_components=12"],
            "caps": {"pairs": None, "seeds": 5, "train": 100, "starts": 2},
        },
    }
    abouts = {
        "tuning": {"best": {"global": [1, 15], "cluster": [27, 12]}, "baseline": 0.5},
        "local": {"picture_clusters": 9},
        "structure": {"what": "structure", "units": "pieces", "settings": {}},
        "tense": {"what": "tense", "units": "words", "settings": {"metric": "euclidean"}},
        "clusters": {"what": "clusters", "units": "pieces", "settings": {}},
        "frequency": {"what": "frequency", "units": "pieces", "settings": {}},
    }
    return SpaceModel(
        name="made",
        family=family,
        layers=tuple(map(str, range(7))),
        parts={
            part: Part({name: columns_of(rows) for name, rows in held.items()}, abouts.get(part, {}))
            for part, held in tables.items()
            if held is not None
        },
        missing={part: f"needs the files of {part}" for part, held in tables.items() if held is None},
        account=account,
    )


def changed(model: SpaceModel, part: str, table: str, change: Callable[[Row], Row | None]) -> SpaceModel:
    """The model with the rows of a table changed, or left out where the change gives None."""
    rows = [new for row in model.rows(part, table) if (new := change(dict(row))) is not None]
    held = model.parts[part]
    tables = {**held.tables, table: columns_of(rows)}
    return replace(model, parts={**model.parts, part: Part(tables, held.about)})


def made_tables() -> dict[str, dict[str, list[Row]] | None]:
    return {
        "layers": {"layers": layer_rows([-1.0, -5.0, -6.0, -7.0, -8.0, -9.0, -10.0])},
        "local": {
            "local": local_rows({0: -5.0, 1: -2.5, 3: -2.0, 6: -1.0, 9: -0.6, 20: -0.3}),
            "picture": [
                {"space": space, "first": float(at), "second": float(-at)}
                for space in ("as it is", "clusters on the origin")
                for at in range(5)
            ],
        },
        "removal": {
            "removal": [
                {"method": method, "clusters": k, "components": count, ONE: -3.0 / (1 + rate * count), "spread": 0.0,
                 "seeds": 5}
                for method, k, rate in (("global", 1, 0.5), ("cluster", 27, 1.0))
                for count in (0, 1, 2, 3, 5, 8, 12, 15)
            ]
        },
        "tuning": {
            "tuning": [
                {"clusters": k, "components": count, "value": 0.5 + 0.01 * count / 15}
                for k in (1, 27)
                for count in (5, 12, 15)
            ]
        },
        "sts": {"sts": sts_rows(), "compared": compared_rows(SETS)},
        "classify": {
            "classify": [
                {"task": task, "setting": setting, "value": value, "spread": 0.01, "majority": 0.5}
                for task in TASKS
                for setting, value in (("baseline", 0.60), ("global", 0.62), ("cluster", 0.64))
            ],
            "compared": [
                {"task": task, "setting": setting, "other": other, "difference": 0.02, "low": 0.01, "high": 0.03}
                for task in TASKS
                for setting, other in (("global", "baseline"), ("cluster", "baseline"), ("cluster", "global"))
            ],
            "epochs": epoch_rows(),
        },
        "structure": {"structure": structure_rows(-0.1), "spaces": spaces(), "claims": []},
        "clusters": {
            "claims": [claim_row("F3.punctuation", 0.2, 0.1, 0.3), claim_row("F3.directions", 0.5, 0.4, 0.6)],
            "directions": [
                {"layer": "6", "space": "baseline", "clusters": 27, "with_punctuation": 0.8,
                 "with_1_percent_punctuation": 0.7, "mostly_punctuation": 0.1, "mostly_stop_words": 0.2,
                 "mean_cosine": 0.1, "random_cosine": 0.07, "halves_cosine": 0.8, "to_global_cosine": 0.2}
            ],
            "clusters": [
                {"layer": "6", "space": "baseline", "halves": 0.8, "to_global": 0.2},
                {"layer": "6", "space": "baseline", "halves": 0.9, "to_global": 0.1},
            ],
            "angles": [{"layer": "6", "space": "baseline", "cosine": 0.1}],
            "spaces": spaces(),
        },
        "tense": {"tense": tense_rows(), "verbs": verb_rows(), "spaces": spaces(), "claims": []},
        "frequency": {
            "claims": [claim_row(f"F5.shrinks.{space}", 0.2, 0.1, 0.3) for space in ("global", "cluster")],
            "frequency": [
                {"layer": "6", "space": space, "measure": measure, "components": count, "value": 0.2, "low": 0.1,
                 "high": 0.3}
                for space in ("baseline", "global", "cluster")
                for measure, count in (("r2_of_first_components", 2), ("r2_of_all_dimensions", 0), ("pearson", 1),
                                       ("norm_pearson", 0), ("neighbors_in_band", 0),
                                       ("neighbors_in_band_by_chance", 0))
            ],
            "points": [
                {"layer": "6", "space": space, "unit": f"w{at}", "per_million": 10.0 ** (at % 4), "first": float(at),
                 "second": float(at % 3)}
                for space in ("baseline", "global", "cluster")
                for at in range(12)
            ],
            "spaces": spaces(),
        },
    }  # fmt: skip


def layer_rows(values: list[float]) -> list[Row]:
    return [
        {"layer": str(at), ONE: value, "log10_isotropy": 2 * value, "equal_length_one_sign": 2 * value,
         "mean_cosine": 0.5, "mean_norm": 10.0}
        for at, value in enumerate(values)
    ]  # fmt: skip


def local_rows(values: dict[int, float], spread: float = 0.01) -> list[Row]:
    return [
        {"clusters": k, ONE: value, "log10_isotropy": value, "mean_cosine": 0.4 if k == 0 else 0.001,
         "spread": spread if k > 1 else 0.0, "seeds": 5}
        for k, value in values.items()
    ]  # fmt: skip


def sts_rows() -> list[Row]:
    return [
        {"fit": fit, "setting": setting, "task": task, "value": value, "low": value - 0.03, "high": value + 0.03,
         "sd": 0.0 if setting == "cluster" else math.nan, "runs": 5 if setting == "cluster" else 1,
         ONE: isotropy, "log10_isotropy": isotropy}
        for task in SETS
        for fit, setting, value, isotropy in (
            ("", "baseline", 0.50, -5.0), ("task", "global", 0.55, -0.5), ("task", "cluster", 0.58, -0.2),
            ("text", "global", 0.52, -1.0), ("text", "cluster", 0.54, -0.8),
        )
    ]  # fmt: skip


def compared_rows(tasks: tuple[str, ...]) -> list[Row]:
    return [
        {"fit": fit, "task": task, "setting": setting, "other": other, "difference": 0.03, "low": 0.01, "high": 0.05}
        for fit in ("task", "text")
        for task in tasks
        for setting, other in (("global", "baseline"), ("cluster", "baseline"), ("cluster", "global"))
    ]


def epoch_rows(*, slow: str = "baseline") -> list[Row]:
    """Settings that come to 0.60 after four epochs, the slow one after six."""
    return [
        {"target": "made", "task": task, "metric": "accuracy", "setting": setting, "seed": seed, "epoch": epoch,
         "score": min(0.60, 0.60 - 0.02 * ((6 if setting == slow else 4) - epoch)), "majority": 0.5,
         "loss": (1.0 if setting == slow else 0.8) / epoch, "held_out": 0.5, "chosen": 0}
        for task in TASKS
        for setting in ("baseline", "global", "cluster")
        for seed in (0, 1, 2)
        for epoch in range(1, 7)
    ]  # fmt: skip


def structure_rows(change: float, half: float = 0.02) -> list[Row]:
    return [
        {"layer": "6", "space": space, "token": token, "value": 0.5 + by, "low": 0.45 + by, "high": 0.55 + by,
         "chance": 0.004, "change": by, "change_low": by - half if by else 0.0, "change_high": by + half if by else 0.0}
        for space, by in (("baseline", 0.0), ("global", change / 2), ("cluster", change))
        for token in (".", "the")
    ]  # fmt: skip


def tense_rows(*, sensed: bool = True) -> list[Row]:
    found = []
    for space, (same, other_meaning, other_tense), isotropy in (
        ("baseline", (7.0, 7.5, 9.0), -5.0),
        ("global", (6.0, 6.5, 6.4), -1.0),
        ("cluster", (6.0, 6.5, 6.2), -0.5),
    ):
        kinds = {"ST": same, "DT": other_tense, "ST-SM": same, "ST-DM": other_meaning, "DT-SM": other_tense}
        kinds["dominance"] = other_tense - (other_meaning if sensed else same)
        for kind, value in kinds.items():
            known = sensed or "-" not in kind
            found.append({
                "layer": "6", "space": space, "metric": "euclidean", "kind": kind,
                "value": value if known else math.nan, "low": value - 0.1 if known else math.nan,
                "high": value + 0.1 if known else math.nan, "verbs": 4, ONE: isotropy, "log10_isotropy": isotropy,
            })  # fmt: skip
    return found


def verb_rows() -> list[Row]:
    return [
        {"space": space, "verb": verb, "ST": 7.0, "DT": apart + 0.01 * at}
        for space, apart in (("baseline", 9.0), ("global", 8.0), ("cluster", 7.5))
        for at, verb in enumerate(("go", "see", "take", "make", "say", "find"))
    ]


def spaces() -> list[Row]:
    return [{"layer": "6", "space": space} for space in ("baseline", "global", "cluster")]


def claim_row(name: str, value: float, low: float, high: float) -> dict[str, Any]:
    return {"id": name, "text": "", "rule": "", "value": value, "low": low, "high": high, "n": 9, "why": "so it is",
            "about": "", "model": "made", "layer": "6"}  # fmt: skip
