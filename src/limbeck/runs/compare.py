"""`limbeck compare`: which differences between two runs are real.

What tests them stands in `limbeck.reporting.differences`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from limbeck.errors import UsageError
from limbeck.reporting.differences import COLUMNS, Differences, Row, kind_of
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import Run
from limbeck.runs.execution.settings import OptionalFolderSettings
from limbeck.settings import Settings, option, path_of
from limbeck.sketch import Curves

if TYPE_CHECKING:
    from limbeck.runs.measure import MeasureResult
    from limbeck.stream.context import RunContext

#: columns of a table in a notebook: the numbers, without how they were tested
TESTED = ("p", "share", "test", "draws")


@dataclass(frozen=True)
class SidesSettings(Settings, group="runs"):
    """What is compared."""

    a: Any = option(
        None,
        common=True,
        positional=True,
        required=True,
        recorded=False,
        metavar="A",
        files=True,
        help="folder of a run",
    )
    b: Any = option(
        None,
        common=True,
        positional=True,
        required=True,
        recorded=False,
        metavar="B",
        files=True,
        help="folder of another run of the same command",
    )


@dataclass(frozen=True)
class CompareSettings(Settings, group="comparison"):
    """How two runs are compared."""

    layers: str | None = option(
        None, common=True, metavar="A:B,…", help='which layers go together, for example "12:6,0:0"'
    )
    draws: int = option(1000, minimum=1, metavar="N", help="resamples of each test (1000); many tests take more")
    seed: int = option(0, metavar="N", help="seed of the resamples (0)")


@dataclass(frozen=True, eq=False, repr=False)
class CompareResult(Differences, RunResult):
    """Two runs laid side by side, as `limbeck.reporting.differences.Differences` tells; `record` is run.json."""

    files: ClassVar[Mapping[str, str]] = {"compare": "compare.csv"}
    __eq__ = RunResult.__eq__
    __repr__ = RunResult.__repr__

    @classmethod
    def of(cls, record: Mapping[str, Any], found: Differences) -> Self:
        """The result of a comparison."""
        return cls(record, {"compare": {name: [row[name] for row in found.rows] for name in COLUMNS}}, **vars(found))

    def head(self, rows: int) -> tuple[dict[str, list[Any]], int]:
        columns = self.columns()
        kept = [name for name in columns if name not in TESTED]
        if columns["layer_a"] == columns["layer_b"]:
            kept.remove("layer_b")
        named = {"layer_a": "layer"} if "layer_b" not in kept else {}
        return {named.get(name, name): list(columns[name][:rows]) for name in kept}, len(self.rows)

    def title(self) -> str:
        return f"{self.b} beside {self.a}"

    def curves(self) -> Curves | None:
        """Of measure: both runs' self-similarity, less anisotropy, at the layers compared."""
        rows = [row for row in self.rows if (row["measure"], row["part"]) == ("self_similarity", "adjusted")]
        if len(rows) < 2:
            return None
        lines = {self.a: [row["a"] for row in rows], self.b: [row["b"] for row in rows]}
        return Curves([row["layer_a"] for row in rows], lines, up="self-similarity less anisotropy")

    def facts(self) -> dict[str, Any]:
        """compare.json, which is what --json prints too."""
        return {
            "kind": self.kind,
            "a": self.a,
            "b": self.b,
            "rows": list(self.rows),
            "movers": dict(self.movers),
            "sentences": self.sentences(),
        }

    def write(self, folder: Path) -> None:
        from limbeck.state import write_text

        super().write(folder)
        facts = self.facts() | {"rows": [_without_nan(row) for row in self.rows]}
        write_text(folder / "compare.json", json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def read(cls, folder: Path, record: Mapping[str, Any]) -> Self:
        from limbeck.vectors.damaged import told_as_damage

        path = folder / "compare.json"
        with told_as_damage(path, "a comparison", "compare again"):
            told = json.loads(path.read_text(encoding="utf-8"))
            movers = {way: [(word, change) for word, change in words] for way, words in told["movers"].items()}
            rows = [_with_nan(row) for row in told["rows"]]
            found = Differences(told["kind"], told["a"], told["b"], rows, tuple(record["notes"]), movers)
            return cls.of(record, found)


@dataclass(kw_only=True)
class CompareRun(Run[CompareResult]):
    """Tell which differences between two runs are real, paired over words or items."""

    result = CompareResult
    command: ClassVar[str] = "compare"
    summary: ClassVar[str] = "tell which differences between two runs are real"
    details: ClassVar[str] = """\
A and B are folders of finished runs, both of `limbeck measure` or both of `limbeck evaluate`. Of measure, words that
both track are paired layer by layer: self-similarity and MEV, raw and less their baselines, by a sign-flip test.
Of evaluate, the items that both were scored on are paired task by task, by a paired bootstrap. Differences are B less
A; p is adjusted for the number of all tests (Holm), and a difference is called real where that is below 0.05.
Layers of models of different depth are matched by relative depth, unless --layers says which go together.

Two checkpoints: measure both on the same text, then compare their runs.
DIR then holds report.html, compare.csv, compare.json and run.json.
"""
    examples: ClassVar[str] = """\
limbeck compare runs/before runs/after
limbeck compare runs/bert runs/gpt2 --out runs/compared
limbeck compare runs/bert runs/minilm --layers 12:6,6:3
limbeck compare runs/sts-before runs/sts-after --json
"""

    sides: SidesSettings
    comparison: CompareSettings
    output: OptionalFolderSettings

    def validate(self) -> None:
        from limbeck.runs.measure import MeasureResult

        for name in ("a", "b"):
            side = getattr(self.sides, name)
            if not isinstance(side, MeasureResult) and path_of(side) is None:
                raise UsageError(
                    "Run folders, or results of limbeck.measure, are compared (scores by limbeck.evaluation.compare); "
                    f"got {type(side).__name__}.",
                    code="wrong_type",
                    parameter=name,
                )
            if path := path_of(side):
                kind_of(path)  # before what tests them is loaded

    def compute(self, context: RunContext) -> CompareResult:
        from limbeck.reporting.differences import differences_between

        sides = [path_of(side) or side for side in (self.sides.a, self.sides.b)]
        settings = self.comparison.as_dict()
        found = differences_between(*sides, **settings)
        facts = {
            "runs": [str(side) if isinstance(side, Path) else side.name for side in sides],
            "settings": settings,
            "notes": found.notes,
        }
        return CompareResult.of(self.record(facts, context), found)


def _without_nan(row: Row) -> Row:
    """A row as JSON has it, which knows no NaN and no infinity."""
    return {name: None if isinstance(cell, float) and not math.isfinite(cell) else cell for name, cell in row.items()}


def _with_nan(row: Row) -> Row:
    return {name: math.nan if cell is None and name != "real" else cell for name, cell in row.items()}


def compare(a: str | Path | MeasureResult, b: str | Path | MeasureResult, **keywords: Any) -> CompareResult:
    """Which differences between two runs are real, and what that means in plain words; with `out` also a folder.

    a, b  folders of runs, both of `limbeck measure` or both of `limbeck evaluate`; or results of `limbeck.measure`

    All other keywords are the options of `limbeck compare`, by the same names.
    """
    return CompareRun.results(a=a, b=b, **keywords)[0]
