"""What `limbeck evaluate` asks and writes for classification."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import positive
from limbeck.errors import UsageError, choose

if TYPE_CHECKING:
    from limbeck.tables import Columns

#: option -> keyword of `limbeck.evaluate.classify`
KEYWORDS = {
    "features": "features",
    "length": "length",
    "max_train": "max_train",
    "starts": "starts",
    "epochs": "epochs",
    "learning_rate": "learning_rate",
    "scale": "scale",
    "split": "split",
}
FITS = ("training", "all")


def add_classify_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("classification")
    group.add_argument(
        "--features", metavar="KIND", help="mean of the vectors (default), or flattened: all of the first --length"
    )
    group.add_argument("--length", type=positive, metavar="N", help="pieces of a flattened example (64)")
    group.add_argument("--max-train", type=positive, metavar="N", help="most training examples, drawn (default: all)")
    group.add_argument("--starts", type=positive, metavar="N", help="training runs, alike for all settings (5)")
    group.add_argument("--epochs", type=positive, metavar="N", help="of each; the one that counts is chosen (10)")
    group.add_argument("--learning-rate", type=float, metavar="X", help="of Adam (mean: 1e-3, flattened: 3e-5)")
    group.add_argument("--scale", metavar="HOW", help="of features: as-is (default), or rms, one size for all settings")
    group.add_argument("--split", metavar="NAME", help="what is reported: dev or test (default: dev if there is one)")
    group.add_argument(
        "--fit", metavar="ON", help="tokens that repairs are fitted on: training (default), or all, as published"
    )


def classify_options(options: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of `limbeck.evaluate.classify`: those that were given, checked before a model is loaded."""
    from limbeck.evaluate.classifying.run import FEATURES, SCALES

    found = {keyword: getattr(options, name) for name, keyword in KEYWORDS.items()}
    given = {name: value for name, value in found.items() if value is not None}
    for name, choices in (("features", FEATURES), ("scale", SCALES), ("split", ("dev", "test"))):
        if name in given:
            choose(given[name], choices, what=f"--{name}")
    if options.fit is not None:
        given["transductive"] = choose(options.fit, FITS, what="--fit") == "all"
    if given.get("learning_rate", 1.0) <= 0:
        raise UsageError(f"--learning-rate must be above 0, got {options.learning_rate}.")
    if "length" in given and given.get("features") != "flattened":
        raise UsageError("--length is about flattened features, got none: add --features flattened.")
    return given


def draw_classified(tables: Mapping[str, Columns], folder: Path) -> None:
    """Figures of the tables that classification has made, if it has."""
    from limbeck.report.epochs import draw_epochs

    if "epochs.csv" in tables:
        draw_epochs(tables["epochs.csv"], folder / "figures")
