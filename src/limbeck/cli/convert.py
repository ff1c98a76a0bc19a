"""limbeck convert: word vectors from one format into another."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.errors import UsageError

if TYPE_CHECKING:
    from limbeck.vectors.convert import Converted

EPILOG = """\
formats, told by the content of IN and by the name of OUT unless they are given:
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

examples:
  limbeck convert vectors vectors.bin                          a distilled folder for gensim
  limbeck convert vectors pipeline --format spacy --language en
  limbeck convert glove.6B.50d.txt glove --dtype int8          for model2vec, a quarter of the size
  limbeck convert GoogleNews.bin.gz small.npz --limit 100000 --normalize
  limbeck convert wiki.vec.gz wiki.txt.zst --lowercase
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "convert",
        help="bring word vectors into another format",
        description="Read word vectors of any format and write them in another.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="IN", type=Path, help="file or folder of word vectors")
    parser.add_argument("target", metavar="OUT", type=Path, help="file or folder to write")
    parser.add_argument("--format", default="auto", metavar="NAME", help="format of OUT (default: by its name)")
    parser.add_argument(
        "--from", dest="source_format", default="auto", metavar="NAME", help="format of IN (default: by its content)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="the first N different words of IN")
    parser.add_argument(
        "--lowercase", action="store_true", help="words in lower case; of those that become the same the first is kept"
    )
    parser.add_argument("--normalize", action="store_true", help="scale every vector to length 1")
    parser.add_argument(
        "--dtype",
        default="float32",
        metavar="TYPE",
        help="float32 (default), float16, int8 (with a scale a word); the last two for npz, safetensors, model2vec",
    )
    parser.add_argument(
        "--blanks",
        default="underscore",
        metavar="HOW",
        help="blanks in words, in text and .bin: underscore (default), drop such words, keep (text only)",
    )
    parser.add_argument("--language", default="en", help="of the spaCy pipeline (default: en)")
    parser.add_argument(
        "--existing", default="fail", metavar="HOW", help="where OUT is there already: fail (default), replace"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.vectors.convert import convert

    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit must be at least 1, got {options.limit}: leave it out to read all words.")
    with telling(not options.quiet) as tell:
        done = convert(
            options.source,
            options.target,
            format=options.format,
            source_format=options.source_format,
            limit=options.limit,
            lowercase=options.lowercase,
            normalize=options.normalize,
            dtype=options.dtype,
            blanks=options.blanks,
            language=options.language,
            existing=options.existing,
            tell=tell,
        )
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
