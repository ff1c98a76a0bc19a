"""limbeck demo: the main job on what is in the package."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from limbeck.cli.output import tell, width, wrapped
from limbeck.cli.program import TerminalCommand, TerminalSettings, made
from limbeck.encoders.miniatures import MINIATURES
from limbeck.settings import Settings, option


@dataclass(frozen=True)
class DemoSettings(Settings, group="output"):
    """Where the demonstration goes."""

    out: Path = option(
        Path("runs/demo"), common=True, metavar="DIR", files=True, help="folder to write (default: runs/demo)"
    )


@dataclass(kw_only=True)
class DemoCommand(TerminalCommand):
    """Measure three small models on a small text. All are in the package: nothing is downloaded."""

    command: ClassVar[str] = "demo"
    summary: ClassVar[str] = "measure three small models on a small text, all in the package"
    examples: ClassVar[str] = "limbeck demo --out runs/demo"

    output: DemoSettings

    @property
    def writes(self) -> bool:
        return True

    def perform(self, terminal: TerminalSettings) -> int:
        """Say which command this is, and do it; runs of an earlier demo are replaced."""
        from limbeck.cli import perform
        from limbeck.corpus.sample import SAMPLE, sample_path
        from limbeck.places import remove_own
        from limbeck.runs.measure import MeasureRun

        out = self.output.out
        check_out(out)
        command = ["measure", "--model", *MINIATURES, "--corpus", SAMPLE, "--out", str(out)]
        told = "A miniature BERT, GPT-2 and ELMo, trained on the same text, read some 3,000 sentences. "
        told += "This does the same:"
        print(f"{wrapped(told)}\n  limbeck {shlex.join(command)}\n", flush=True)  # before the progress, in a file too
        given = {"model": MINIATURES, "corpus": [str(sample_path())], "out": out, "existing": "replace"}
        perform(made(MeasureRun, given), TerminalSettings(quiet=terminal.quiet))
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
