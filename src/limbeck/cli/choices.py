"""What an option or an argument can be, command by command, as far as names can be listed: for completion.

What is cheap to import is taken from where it is checked. The rest stands here as it stands in `--help`, which tests
compare; where a command checks a name before it does anything, they also ask it whether it takes just these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from limbeck.cli.options import UNITS
from limbeck.cli.program import command_named, options_for
from limbeck.encoders.miniatures import MINIATURES
from limbeck.evaluation.settings import task_names
from limbeck.papers import PAPERS
from limbeck.settings import Option


@dataclass(frozen=True)
class Names:
    """Names to choose from.

    names    the names, or what lists them, where that takes time
    between  what stands between several of them, if there may be several
    files    whether a file or folder will do as well
    """

    names: Sequence[str] | Callable[[], Sequence[str]]
    between: str = ""
    files: bool = False

    def all(self) -> Sequence[str]:
        return self.names() if callable(self.names) else self.names


NOTHING = Names(())


MODELS = Names(MINIATURES, files=True)
TEXTS = Names(("sample",), files=True)
CORPUS_FORMATS = ("auto", "words", "prose", "tsv", "jsonl", "parquet", "conllu", "semcor", "wikipse")

#: an option that means the same in every command that has it
OPTIONS: dict[str, Names] = {
    "--cells": Names(("sentence", "prose")),
    "--corpus": TEXTS,
    "--device": Names(("auto", "cpu", "cuda", "mps")),
    "--dtype": Names(("float32", "bfloat16", "float16")),
    "--engine": Names(("local", "ray")),
    "--existing": Names(("fail", "resume", "replace")),
    "--format": Names(CORPUS_FORMATS),
    "--layers": Names(("all", "table")),
    "--model": MODELS,
    "--not-tuned": MODELS,
    "--paragraphs": Names(("lines", "blocks")),
    "--pooling": Names(("mean", "first", "last", "sum", "max", "min")),
    "--preset": Names(("corrected", "paper", "released")),
    "--stack": Names(("encoder", "decoder")),
    "--tasks": Names(task_names, between=","),
    "--text-unit": Names(("sentence", "paragraph", "document")),
    "--units": Names(UNITS),
    "--weights": Names(("uniform", "frequency")),
}
#: an option that means something of its own in a command
OF_COMMAND: dict[tuple[str, str], Names] = {
    ("reproduce", "--tasks"): Names(("pos", "sst-2", "mrpc", "ner"), between=","),
}
#: what a command's arguments can be, where they are names
ARGUMENTS: dict[str, Names] = {
    "reproduce": Names(tuple(PAPERS)),
}


def names_for(command: str, flag: str) -> Names | None:
    """What an option of a command can be followed by, if names are known."""
    found = command_named(command)
    for one in () if found is None else options_for(found):
        if one.flag == flag:
            names = names_of(one)
            return None if names == NOTHING else names
    return OF_COMMAND.get((command, flag), OPTIONS.get(flag))


def names_of(one: Option) -> Names:
    """The same of an option that settings declare."""
    return Names(one.choices or one.suggestions, one.between or one.separator, one.files)
