"""What `limbeck evaluate` asks, prints and writes for classification."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from limbeck.cli.options import count, positive
from limbeck.errors import UsageError, choose

if TYPE_CHECKING:
    from limbeck.tables import Columns

#: option -> keyword of `limbeck.evaluation.classify` and `convolve`
KEYWORDS = {
    "classifier": "classifier",
    "embeddings": "embeddings",
    "hidden": "hidden",
    "features": "features",
    "length": "length",
    "max_train": "max_train",
    "starts": "starts",
    "epochs": "epochs",
    "learning_rate": "learning_rate",
    "scale": "scale",
    "split": "split",
}


def add_classify_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("classification")
    group.add_argument(
        "--classifier",
        metavar="KIND",
        help="cnn: a convolution over the words of a vector file (its default for single texts); mlp: a small network "
        "on one vector a text (all others)",
    )
    group.add_argument("--embeddings", metavar="HOW", help="cnn: words' vectors are frozen (default), or tuned too")
    group.add_argument("--hidden", type=count, metavar="N", help="mlp: units (100); 0 for a linear classifier")
    group.add_argument(
        "--features", metavar="KIND", help="mean of the vectors (default), or flattened: all of the first --length"
    )
    group.add_argument("--length", type=positive, metavar="N", help="pieces of a flattened example (64)")
    group.add_argument("--max-train", type=positive, metavar="N", help="most training examples, drawn (default: all)")
    group.add_argument(
        "--starts",
        "--runs",
        type=positive,
        metavar="N",
        help="training runs, alike for all settings (5; 6 on the sets of classify-sentences)",
    )
    group.add_argument(
        "--epochs", type=positive, metavar="N", help="of each; the one that counts is chosen (10; cnn: 16, of 8 to 16)"
    )
    group.add_argument(
        "--learning-rate",
        metavar="X",
        help="of Adam (mean: 1e-3, flattened: 3e-5; cnn: several, from which it chooses: 1e-4,3e-4,1e-3)",
    )
    group.add_argument("--scale", metavar="HOW", help="of features: as-is (default), or rms, one size for all settings")
    group.add_argument(
        "--split", metavar="NAME", help="what is reported: dev or test (default: the task's own, dev if there is one)"
    )


def classify_options(options: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of `classify` and `convolve`: those that were given, checked before a model is loaded."""
    from limbeck.evaluation.classifying.convolution import EMBEDDINGS
    from limbeck.evaluation.classifying.run import FEATURES, SCALES
    from limbeck.evaluation.classifying.suite import CLASSIFIERS

    found = {keyword: getattr(options, name) for name, keyword in KEYWORDS.items()}
    given = {name: value for name, value in found.items() if value is not None}
    choices: dict[str, Sequence[str]] = {
        "classifier": CLASSIFIERS, "embeddings": EMBEDDINGS, "features": FEATURES, "scale": SCALES,
        "split": ("dev", "test"),
    }  # fmt: skip
    for name, those in choices.items():
        if name in given:
            choose(given[name], those, what=f"--{name}")
    if options.transductive:
        given["transductive"] = True
    if options.learning_rate is not None:
        given["learning_rate"] = learning_rates(options.learning_rate)
    if options.device is not None:
        given["device"] = options.device
    if given.get("classifier") == "mlp" and "embeddings" in given:
        raise UsageError("--embeddings is about a convolution, got --classifier mlp: leave one of them out.")
    if "length" in given and given.get("features") != "flattened":
        raise UsageError("--length is about flattened features, got none: add --features flattened.")
    return given


def learning_rates(text: str) -> float | tuple[float, ...]:
    """One number, or several with commas between.

    >>> learning_rates("1e-3"), learning_rates("1e-4,3e-4")
    (0.001, (0.0001, 0.0003))
    """
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = (float("nan"),)
    if not all(0 < rate < float("inf") for rate in found):
        raise UsageError(f"--learning-rate must be above 0, one number or several with commas between, got {text!r}.")
    return found[0] if len(found) == 1 else found


def classified_table(scores: Sequence[Any]) -> Table | None:
    """Macro-F1 and accuracy of all runs, a row a task and target, and their means over tasks; None without any."""
    from limbeck.evaluation.classifying.result import mean_over_tasks
    from limbeck.evaluation.classifying.suite import ClassifyScore
    from limbeck.evaluation.mean_score import FEWEST

    classified = [score for score in scores if isinstance(score, ClassifyScore)]
    if not classified:
        return None
    table = Table(title="classification: mean ± standard deviation over runs, in %", title_justify="left")
    for column in ("task", "target", "macro-F1", "accuracy", "runs"):
        table.add_column(column, justify="left" if column in ("task", "target") else "right")
    before = ""
    for score in classified:
        runs = [score.result.run_scores(score.setting, metric=metric) for metric in ("macro-f1", "accuracy")]
        name = "" if score.task == before else score.task
        table.add_row(name, score.target, *(spread(values) for values in runs), str(len(runs[0])))
        before = score.task
    enough = [score for score in classified if score.n >= FEWEST]  # the others are named in the notes
    for place, (target, (tasks, *means)) in enumerate(mean_over_tasks(enough).items()):
        name = "" if place else f"mean of {tasks}"
        table.add_row(name, target, *(spread(values) for values in means), str(len(means[0])))
    return table


def spread(values: Any) -> str:
    """Per cent: 83.6 ± 0.4."""
    return f"{100 * values.mean():.1f}" + (f" ± {100 * values.std(ddof=1):.1f}" if len(values) > 1 else "")


def draw_classified(tables: Mapping[str, Columns], folder: Path) -> None:
    """Figures of the tables that classification has made, if it has."""
    from limbeck.reporting.epochs import draw_epochs

    if "epochs.csv" in tables:
        draw_epochs(tables["epochs.csv"], folder / "figures")
