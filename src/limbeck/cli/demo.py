"""limbeck demo: the main job on what is in the package."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from limbeck.cli.output import tell, width, wrapped
from limbeck.encoders.miniatures import MINIATURES


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo",
        help="measure three small models on a small text, all in the package",
        description="Measure three small models on a small text. All are in the package: nothing is downloaded.",
        epilog="example:\n  limbeck demo --out runs/demo",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/demo"), metavar="DIR", help="folder (default: runs/demo)"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Say which command this is, and do it; runs of an earlier demo are replaced."""
    from limbeck.cli.program import TerminalSettings, made
    from limbeck.cli.running import perform
    from limbeck.corpus.sample import SAMPLE, sample_path
    from limbeck.places import remove_own
    from limbeck.runs.measure import MeasureRun

    out: Path = options.out
    check_out(out)
    command = ["measure", "--model", *MINIATURES, "--corpus", SAMPLE, "--out", str(out)]
    told = "A miniature BERT, GPT-2 and ELMo, trained on the same text, read some 3,000 sentences. This does the same:"
    print(f"{wrapped(told)}\n  limbeck {shlex.join(command)}\n", flush=True)  # before the progress, in a file too
    given = {"model": MINIATURES, "corpus": [str(sample_path())], "out": out, "existing": "replace"}
    perform(made(MeasureRun, given), TerminalSettings(quiet=options.quiet))
    for name in MINIATURES:  # hundreds of megabytes, and nobody goes on from a demonstration
        remove_own(out / name, "state")
    tell_end(out)
    return 0


def tell_end(out: Path) -> None:
    """What is strongest in the runs, where to look, and what comes next."""
    from limbeck.reporting.strongest import strongest

    folders = [out / name for name in MINIATURES]
    page = out / "report.html"  # of all three, which measuring has written
    found = strongest(folders)
    tell(report=page, findings=[{**asdict(one), "strength": one.strength} for one in found])
    if found:
        print("\n" + wrapped("What stands out most, by its size over the width of its 95 % interval:"))
    for number, one in enumerate(found, 1):
        print(wrapped(f"{number}. {one.sentence}", indent="   ", columns=width()))
    print("\n" + wrapped(f"The report, to be opened in a browser: {page}"))
    print(wrapped(f"Figures: {out / 'figures' / 'self_similarity.png'} and its neighbours"))
    print(wrapped("Your own model and text: limbeck measure --model MODEL --corpus TEXT --out DIR"))


def check_out(out: Path) -> None:
    """Refuse a folder that is neither new nor an earlier demo's: nobody asked for anything in it to be replaced."""
    from limbeck.places import unfinished_of
    from limbeck.runs.execution.folders import holds_run, refuse_other

    targets = [out / name for name in MINIATURES]
    if not any(holds_run(target) or unfinished_of(target).exists() for target in targets):
        refuse_other(out)
