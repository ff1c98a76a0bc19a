"""limbeck compare: which differences between two runs are real."""

from __future__ import annotations

import argparse
import json
import math
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import positive
from limbeck.cli.output import as_json, console, tell

if TYPE_CHECKING:
    from limbeck.reporting.differences import Compared, Row
    from limbeck.runs.execution.folders import RunFolder

EPILOG = """\
A and B are folders of finished runs, both of `limbeck measure` or both of `limbeck evaluate`. Of measure, words that
both follow are paired layer by layer: self-similarity and MEV, raw and less their baselines, by a sign-flip test.
Of evaluate, the items that both were scored on are paired task by task, by a paired bootstrap. Differences are B less
A; p is adjusted for the number of all tests (Holm), and a difference is called real where that is below 0.05.
Layers of models of different depth are matched by relative depth, unless --layers says which go together.

Two checkpoints: measure both on the same text, then compare their runs.

examples:
  limbeck compare runs/before runs/after
  limbeck compare runs/bert runs/gpt2 --out runs/compared
  limbeck compare runs/bert runs/minilm --layers 12:6,6:3
  limbeck compare runs/sts-before runs/sts-after --json
"""
#: measures in the terminal's table; the rest stands in compare.csv
SHOWN = (("self_similarity", "value"), ("self_similarity", "adjusted"), ("mev", "adjusted"), ("anisotropy", "value"))


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="tell which differences between two runs are real",
        description="Tell which differences between two runs are real, paired over words or items.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("a", type=Path, metavar="A", help="folder of a run")
    parser.add_argument("b", type=Path, metavar="B", help="folder of another run of the same command")
    parser.add_argument("--layers", metavar="A:B,…", help='which layers go together, for example "12:6,0:0"')
    parser.add_argument(
        "--draws", type=positive, default=1000, metavar="N", help="of the tests (1000; many tests take more)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default: 0)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to write: report.html, compare.csv, compare.json"
    )
    parser.add_argument("--existing", default="fail", metavar="HOW", help="where DIR is there: fail (default), replace")
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.errors import choose
    from limbeck.reporting.differences import compare
    from limbeck.runs.execution.folders import RunFolder

    if options.out is not None:
        choose(options.existing, ("fail", "replace"), what="--existing")
    with nullcontext() if options.out is None else RunFolder(options.out, existing=options.existing) as folder:
        found = compare(options.a, options.b, layers=options.layers, draws=options.draws, seed=options.seed)
        if folder is not None:
            write(found, folder, options)
    print_compared(found, options.out)
    return 0


def facts_of(found: Compared) -> dict[str, Any]:
    """compare.json, which is what --json prints too."""
    return {
        "kind": found.kind,
        "a": found.a,
        "b": found.b,
        "rows": list(found.rows),
        "movers": dict(found.movers),
        "sentences": found.sentences(),
    }


def write(found: Compared, folder: RunFolder, options: argparse.Namespace) -> None:
    from limbeck.runs.execution.record import versions
    from limbeck.tables import write_csv

    write_csv(folder.unfinished / "compare.csv", found.columns())
    (folder.unfinished / "compare.json").write_text(as_json(facts_of(found)) + "\n", encoding="utf-8")
    told = {
        "command": "compare",
        "runs": [str(options.a), str(options.b)],
        "settings": {"layers": options.layers, "draws": options.draws, "seed": options.seed},
        "versions": versions(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    (folder.unfinished / "run.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    folder.finish()


def print_compared(found: Compared, out: Path | None) -> None:
    """The table, then what it means."""
    tell(**facts_of(found), out=out)
    to = console()
    to.print(compared_table(found), markup=False)
    lines = found.sentences()
    for way, word in (("up", "rise"), ("down", "fall")):
        if words := found.movers.get(way):
            told = ", ".join(f"“{name}” ({change:+.2f})" for name, change in words[:6])
            lines.append(f"words whose self-similarity, less anisotropy, averaged over layers, {word}s most: {told}")
    if out is not None:
        lines.append(f"{out}: report.html, compare.csv, compare.json, run.json")
    for line in lines:
        to.print(line, markup=False, highlight=False, soft_wrap=True)


def compared_table(found: Compared) -> Any:
    from rich.table import Table

    told = f"{found.b} less {found.a} (* real: p adjusted by Holm's method below 0.05)"
    table = Table(title=told, title_justify="left")
    first, second = ("measure", "layer") if found.kind == "measure" else ("task", "column")
    for name in (first, second, "A", "B", "difference", "95 % interval", "p (Holm)"):
        table.add_column(name, justify="left" if name in (first, "column") else "right", no_wrap="interval" in name)
    shown = [row for row in found.rows if found.kind == "evaluate" or (row["measure"], row["part"]) in SHOWN]
    for place, row in enumerate(shown):
        named = row["measure"] if found.kind == "evaluate" else _named(row)
        again = place > 0 and (_named(shown[place - 1]) == _named(row))
        last = place == len(shown) - 1 or _named(shown[place + 1]) != _named(row)
        table.add_row("" if again else named, *_cells(row), end_section=last)
    return table


def _named(row: Row) -> str:
    return f"{row['measure'].replace('_', '-')}{', adjusted' if row['part'] == 'adjusted' else ''}"


def _cells(row: Row) -> list[str]:
    """A dash stands where there is no number."""
    same = row["layer_a"] == row["layer_b"]
    p = row["p_holm"]
    mark = " *" if row["real"] else "  "
    return [
        row["layer_a"] if same else f"{row['layer_a']} : {row['layer_b']}",
        "-" if math.isnan(row["a"]) else f"{row['a']:.3f}",
        "-" if math.isnan(row["b"]) else f"{row['b']:.3f}",
        "-  " if math.isnan(row["difference"]) else f"{row['difference']:+.3f}{mark}",
        "-" if math.isnan(row["low"]) else f"[{row['low']:+.3f}, {row['high']:+.3f}]",
        "-" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}",
    ]
