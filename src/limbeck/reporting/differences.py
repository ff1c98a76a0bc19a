"""Which differences between two runs are real: paired over words for `measure`, over items for `evaluate`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limbeck.errors import UsageError
from limbeck.places import missing_run
from limbeck.record import read_record
from limbeck.vectors.damaged import told_as_damage

Row = dict[str, Any]
#: columns of compare.csv; a row is one number of A beside one of B
COLUMNS = (
    "measure", "part", "layer_a", "layer_b", "a", "b", "difference", "low", "high", "p", "p_holm", "real", "n",
    "share", "test", "draws",
)  # fmt: skip
KINDS = ("measure", "evaluate")


@dataclass(frozen=True)
class Differences:
    """Two runs laid side by side.

    kind    of both runs: "measure" or "evaluate"
    a, b    their names
    rows    a dict for each number that both have, with the columns of compare.csv; `difference` is b − a, `real`
            whether p, adjusted by Holm's method over all rows that have one, is below 0.05; None where there is no p
    movers  of measure: the words whose self-similarity rises and falls most from a to b, with the change
    notes   what a reader must know
    """

    kind: str
    a: str
    b: str
    rows: Sequence[Row]
    notes: tuple[str, ...] = ()
    movers: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)

    @property
    def real(self) -> list[Row]:
        """The rows whose difference is real."""
        return [row for row in self.rows if row["real"]]

    def sentences(self) -> list[str]:
        """What came out, in plain words: a sentence a measure or task, then the notes."""
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            if row["real"] is not None:
                groups.setdefault((row["measure"], row["part"]), []).append(row)
        found = [_sentence(self, rows) for rows in groups.values()]
        return [*found, *self.notes, *self.undefined()]

    def undefined(self) -> list[str]:
        """A note where numbers cannot be laid beside each other, since a side has none."""
        without = [row for row in self.rows if not math.isfinite(row["difference"])]
        if not without:
            return []
        named = dict.fromkeys(row["measure"].replace("_", " ") for row in without)
        count = f"{len(without):,} of {len(self.rows):,} rows"
        return [f"No difference in {count}, since a side has no number there: {', '.join(named)}."]


def differences_between(a: Any, b: Any, *, layers: str | None, draws: int, seed: int) -> Differences:
    """Which differences between two runs are real: paths of run folders, or results of `limbeck.measure`.

    Runs of `limbeck measure` are paired over the words that both track, layer by layer; runs of `limbeck evaluate`
    over the items (pairs, questions) that both were scored on, task by task. p comes from a paired test and is
    adjusted for the number of all tests (Holm).

    layers  of measure: which layer of a goes with which of b, "12:6,0:0"; where it is not said, layers of the same
            name, and of models of different depth those at the same relative depth
    """
    from limbeck.reporting.item_differences import compare_scores
    from limbeck.reporting.word_differences import compare_words

    kinds = [kind_of(run) if isinstance(run, Path) else "measure" for run in (a, b)]
    if kinds[0] != kinds[1]:
        raise UsageError(
            f"Two runs of one command are compared, got {kinds[0]} ({a}) and {kinds[1]} ({b}): give two alike.",
            code="not_comparable",
            parameter="b",
        )
    with told_as_damage(f"{a} and {b}", f"runs of {kinds[0]}", "make the runs again"):
        if kinds[0] == "measure":
            return compare_words(a, b, layers=layers, draws=draws, seed=seed)
        if layers is not None:
            raise UsageError(
                "--layers applies only to runs of measure; these are of evaluate, whose columns have their layers.",
                code="no_effect",
                parameter="layers",
            )
        return compare_scores(a, b, draws=draws, seed=seed)


def account_of(folder: Path, *, done: str = "compared") -> dict[str, Any]:
    """run.json of a run folder; `done` says what is done with it, where there is none."""
    path = folder / "run.json"
    if not path.is_file():
        inner = sorted(one.parent.name for one in folder.glob("*/run.json")) if folder.is_dir() else []
        if inner:
            hint = f"it holds several runs: {', '.join(str(folder / name) for name in inner[:4])}"
        elif (folder / "config.json").is_file():  # a model's
            hint = f"measure it first: limbeck measure --model {folder} --corpus TEXT --out DIR"
        else:
            hint = "no run.json is there: check the path"
        raise missing_run(folder, f"a folder of a finished run is {done}", hint)
    return read_record(path)


def kind_of(folder: Path) -> str:
    """The command that made a run; refused where its numbers cannot be paired."""
    kind = str(account_of(folder).get("command", ""))
    if kind not in KINDS:
        raise UsageError(
            f"Runs of measure or evaluate are compared; {folder} is one of {kind or 'an unknown command'}: "
            "measure or evaluate what it is about.",
            code="not_comparable",
        )
    return kind


def judged(rows: list[Row]) -> list[Row]:
    """The same rows with `p_holm` and `real`, over all that have a p. What has no difference has no p either."""
    from limbeck.evaluation.significance import ALPHA, holm  # numpy loads with it

    for row in rows:
        if not math.isfinite(row["difference"]):
            row["low"] = row["high"] = row["p"] = math.nan
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
        row["real"] = None if math.isnan(adjusted) else adjusted < ALPHA
    return rows


def _sentence(found: Differences, rows: Sequence[Row]) -> str:
    """Of the rows of one measure and part, or of one task."""
    measure, part = rows[0]["measure"], rows[0]["part"]
    named = f"{measure.replace('_', ' ')}{' less its baseline' if part == 'adjusted' else ''}"
    real = [row for row in rows if row["real"]]
    if found.kind == "evaluate":
        row = rows[0]
        columns = "" if (row["layer_a"], row["layer_b"]) == (found.a, found.b) else f" ({row['layer_b']})"
        return " ".join(_of_scores(found, one, f"{one['measure']}{columns}") for one in rows)
    if not real:
        least = min(row["p_holm"] for row in rows)
        return f"{named}: no real difference at any of {len(rows)} layers (least p, Holm: {_p(least)})."
    higher = sum(row["difference"] > 0 for row in real)
    if higher in (0, len(real)):
        at = "every layer" if len(real) == len(rows) else f"{len(real)} of {len(rows)} layers"
        how = f"{'higher' if higher else 'lower'} than {found.a} at {at}"
    else:
        how = f"higher than {found.a} at {higher} and lower at {len(real) - higher} of {len(rows)} layers"
    most = max(real, key=lambda row: abs(row["difference"]))
    layer = most["layer_a"] if most["layer_a"] == most["layer_b"] else f"{most['layer_a']} beside {most['layer_b']}"
    return f"{named}: {found.b} is {how}; it differs most at layer {layer} ({_change(most)}, {_share(most)})."


def _of_scores(found: Differences, row: Row, named: str) -> str:
    if not row["real"]:
        return f"{named}: no real difference ({_change(row)}, p (Holm) {_p(row['p_holm'])}, n {row['n']:,})."
    how = "higher" if row["difference"] > 0 else "lower"
    return f"{named}: {found.b} is {how} than {found.a} ({_change(row)}, p (Holm) {_p(row['p_holm'])}, n {row['n']:,})."


def _change(row: Row) -> str:
    interval = "" if math.isnan(row["low"]) else f" [{row['low']:+.3f}, {row['high']:+.3f}]"
    return f"{row['difference']:+.3f}{interval}"


def _share(row: Row) -> str:
    if math.isnan(row["share"]):
        return f"p (Holm) {_p(row['p_holm'])}, not paired"
    share = row["share"] if row["difference"] > 0 else 1 - row["share"]
    return f"so for {share:.0%} of {row['n']:,} words, p (Holm) {_p(row['p_holm'])}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
