"""limbeck models: the miniatures that come with limbeck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from limbeck.cli.output import tell, width, wrapped
from limbeck.cli.program import TerminalCommand, TerminalSettings
from limbeck.encoders.miniatures import MINIATURES, Miniature, read_miniature

ANY_OTHER = "--model takes a name on the Hugging Face hub, a folder, or a file of vectors"
#: figures that say in one number how well a model does its own task, best first -> how they are told
TOLD = {
    "masked_accuracy": "{:.0%} of hidden pieces found",
    "perplexity_per_word": "perplexity {:.0f} a word",
}


@dataclass(kw_only=True)
class ModelsCommand(TerminalCommand):
    """List the models that come with limbeck: small, trained, and there without a network."""

    command: ClassVar[str] = "models"
    summary: ClassVar[str] = "list the models that come with limbeck"
    details: ClassVar[str] = """\
They were trained on one text at one size, so that models of three kinds can be laid side by side, and so that
everything can be tried without a network. docs/models.md says what they are good for, and what not.
"""
    examples: ClassVar[str] = """\
limbeck models
limbeck models --json
limbeck measure --model mini-bert --corpus sample --out runs/mini-bert
limbeck measure --model mini-bert mini-gpt2 mini-elmo --corpus text.txt --out runs/three
"""

    def perform(self, terminal: TerminalSettings) -> int:
        found = [read_miniature(name) for name in MINIATURES]
        tell(models=[asdict(one) for one in found])
        print_table(found)
        print("\nThese:     limbeck measure --model mini-bert --corpus sample --out runs/mini-bert")
        print(wrapped(f"Any other: {ANY_OTHER}", indent=" " * 11))
        return 0


def print_table(found: list[Miniature]) -> None:
    rows = [("name", "kind", "layers x width", "parameters", "size", "held-out text", "licence")]
    for one in found:
        shape, size = f"{one.layers} x {one.width}", f"{one.size / 1e6:.1f} MB"
        rows.append((one.name, one.kind, shape, f"{one.parameters:,}", size, figure_of(one.figures), one.licence))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) > width():  # a model below the other
        titles, *models = rows
        for name, *cells in models:
            print(name)
            for title, cell in zip(titles[1:], cells, strict=True):
                print(wrapped(f"  {title:14}  {cell}", indent=" " * 18))
        return
    for row in rows:
        print("  ".join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=True)).rstrip())


def figure_of(figures: Mapping[str, Any]) -> str:
    """One figure in words.

    >>> figure_of({"perplexity_per_word": 123.4, "words": 5})
    'perplexity 123 a word'
    """
    return next((form.format(figures[name]) for name, form in TOLD.items() if name in figures), "-")
