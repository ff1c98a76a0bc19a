"""limbeck convert: word vectors from one format into another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from limbeck.cli.program import TerminalCommand, TerminalSettings
from limbeck.vectors.settings import ConvertSettings

if TYPE_CHECKING:
    from limbeck.vectors.convert import Converted


@dataclass(kw_only=True)
class ConvertCommand(TerminalCommand):
    """Read word vectors of any format and write them in another."""

    command: ClassVar[str] = "convert"
    summary: ClassVar[str] = "bring word vectors into another format"
    details: ClassVar[str] = """\
formats, detected by the content of IN and by the name of OUT unless they are given:
  word2vec         text with a header line          .txt
  word2vec-binary  for gensim and word2vec itself   .bin
  glove            text without a header            .glove
  fasttext         fastText's text                  .vec
  npz              numpy's arrays                   .npz
  safetensors      arrays                           .safetensors
  model2vec        a folder for model2vec, sentence-transformers and limbeck   a name without ending
  spacy            a folder for spacy.load          give --format spacy
Text and .bin are compressed where the name also ends in .gz, .bz2, .xz or .zst. Read, too: fastText's .bin
(fasttext-binary), an array NAME.npy with its words in NAME.txt (npy), and the input embedding table of a Hugging Face
model (model).
"""
    examples: ClassVar[str] = """\
limbeck convert vectors vectors.bin                          a distilled folder for gensim
limbeck convert vectors pipeline --format spacy --language en
limbeck convert glove.6B.50d.txt glove --dtype int8          for model2vec, a quarter of the size
limbeck convert GoogleNews.bin.gz small.npz --limit 100000 --normalize
limbeck convert wiki.vec.gz wiki.txt.zst --lowercase
"""

    conversion: ConvertSettings

    @property
    def writes(self) -> bool:
        return True

    def perform(self, terminal: TerminalSettings) -> int:
        from limbeck.vectors.convert import convert_files

        with telling(not terminal.quiet) as tell:
            done = convert_files(self.conversion, tell=tell)
        print(line(done))
        return 0


def line(done: Converted) -> str:
    """What was written and what was not, in one line."""
    from limbeck.runs.measuring.sums import size

    what = f"{done.words:,} words of {done.dim:,} dimensions as {done.format}, {done.dtype}"
    text = f"{done.path}: {what}, {size(done.size)}"
    if done.notes:
        text += "; left out or changed: " + "; ".join(f"{reason} ({count:,})" for reason, count in done.notes.items())
    return text


@contextmanager
def telling(show: bool) -> Iterator[Callable[[str], None]]:
    """On a terminal a line that says what is being done, for as long as it takes."""
    if not (show and sys.stderr.isatty()):
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update
