"""limbeck demo: the main job on what is in the package."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "demo",
        help="measure a small model on a small text, both in the package",
        description="Measure a small model on a small text. Both are in the package: nothing is downloaded.",
        epilog="example:\n  limbeck demo --out runs/demo",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/demo"), metavar="DIR", help="folder (default: runs/demo)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def run(options: argparse.Namespace) -> int:
    """Measure, print, draw; the folder is replaced where it is there."""
    from limbeck.cli.summary import print_summary
    from limbeck.demo import DIM, LAYERS, demo_corpus, random_bert
    from limbeck.report import draw
    from limbeck.run.folder import RunFolder
    from limbeck.run.measure import measure_source, save
    from limbeck.run.settings import MeasureSettings
    from limbeck.stream import TextSource

    print(
        f"A randomly initialised BERT of {LAYERS} layers and {DIM} dimensions reads some 400 sentences of prose.\n"
        "It has learnt nothing: the numbers show what limbeck measures, not what a trained model does.\n"
    )
    out: Path = options.out
    settings = MeasureSettings()
    with demo_corpus() as corpus, RunFolder(out, existing="replace") as folder:
        source = TextSource(corpus, random_bert(corpus))
        measured, passed = measure_source(
            source, settings=settings, checkpoint=folder.state, progress=not options.quiet
        )
        save(measured, folder.unfinished, source=source, settings=settings, passed=passed)
        draw([folder.unfinished], folder.unfinished / "figures")
        folder.finish()
    print_summary(measured, passed, out)
    print(f"\nLook at {out / 'figures' / 'self_similarity.png'} and its neighbours.")
    print("Your own model and text:  limbeck measure --model MODEL --corpus TEXT --out DIR")
    return 0
