"""Options that several commands share, and what becomes of them."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from limbeck.errors import UsageError, choose
from limbeck.remote import Place
from limbeck.settings import Settings, options_of

UNITS = ("words", "pieces", "characters")


def add_model_options(parser: argparse.ArgumentParser, *, several: bool, layers: str = "all") -> None:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        nargs="+" if several else None,
        metavar="M",
        help="a miniature (see `limbeck models`), a Hugging Face id or a local folder; a file of static vectors "
        "(word2vec, GloVe, fastText, safetensors) or a model2vec folder will do too"
        + ("; several give one folder each" if several else ""),
    )
    group.add_argument("--revision", help="branch, tag or commit of a model on the hub")
    group.add_argument(
        "--layers", help=f'for example "0,3-5,-1"; "table" is the bare embedding table (default: {layers})'
    )
    group.add_argument("--pooling", metavar="KIND", help="pieces to words: mean (default), first, last, sum, max, min")
    group.add_argument("--units", metavar="UNIT", help="what gets a vector: words (default), pieces or characters")
    group.add_argument("--window", type=positive, metavar="N", help="most pieces read at once (default: the model's)")
    group.add_argument("--context", type=count, metavar="K", help="let each word see K words on each side only")
    group.add_argument(
        "--targets", metavar="WORDS", help='words to keep, parted by commas, or "label:NAME" for words so labelled'
    )
    group.add_argument("--keep-first", action="store_true", help="keep a decoder's first position in the statistics")
    group.add_argument("--special", action="store_true", help="with pieces: special tokens ([CLS], [SEP]) among them")
    group.add_argument("--stack", help="of an encoder-decoder: encoder (default) or decoder")
    group.add_argument("--device", help="auto (default), cpu, cuda, cuda:1, mps")
    group.add_argument("--dtype", help="float32 (default), bfloat16 or float16")
    group.add_argument("--trust-remote-code", action="store_true", help="run code that comes with the model")


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("text")
    group.add_argument(
        "--corpus",
        nargs="+",
        type=Place,
        metavar="C",
        help="files, folders or globs, plain or compressed (gzip, bzip2, xz, zstd); - for standard input; sample for "
        "the corpus that comes with limbeck",
    )
    group.add_argument(
        "--format",
        help="auto (default), words (one sentence a line), prose, tsv, jsonl, parquet, conllu, semcor, wikipse",
    )
    group.add_argument("--paragraphs", help="of prose: lines (default) or blocks (hard-wrapped text)")
    group.add_argument("--columns", metavar="A,B", help="of tsv, parquet and jsonl: names, of tsv also numbers from 1")
    group.add_argument("--cells", help="of tsv: each cell is a sentence (default) or prose")
    group.add_argument("--encoding", help="of the files (default: utf-8)")
    group.add_argument("--language", help="whose rules split words and sentences (default: en)")
    group.add_argument("--lowercase", action="store_true", help="lower-case the text, for the model too")
    group.add_argument(
        "--text-unit",
        metavar="UNIT",
        help="what the model sees at once: sentence (default), paragraph, document",
    )


def add_pass_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("run")
    group.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write; it must be new")
    group.add_argument(
        "--existing", default="fail", metavar="HOW", help="where DIR is there already: fail (default), resume, replace"
    )
    group.add_argument("--dry-run", action="store_true", help="say words, time, memory and disk, and stop")
    group.add_argument("--batch-tokens", type=positive, metavar="N", help="padded pieces a batch (default: by device)")
    add_engine_options(group)


def add_engine_options(group: argparse._ArgumentGroup) -> None:
    """Where a pass is made, and by how many."""
    group.add_argument(
        "--workers",
        type=count,
        metavar="N",
        help="processes that split and tokenise (default: by device); with --engine ray, workers that hold the model "
        "(default: one a GPU, else one for two cores)",
    )
    group.add_argument("--engine", default="local", metavar="E", help="local (default), or ray: see docs/scale.md")
    group.add_argument("--address", metavar="A", help="with --engine ray: a running cluster, auto to find it")
    group.add_argument(
        "--gpus-per-worker",
        type=share,
        metavar="G",
        help="with --engine ray: 1 where the cluster has GPUs (default), 0.5 for two on one, 0 for none",
    )


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """What every command has; one that a command declares in its own words stays as it is."""
    group = parser.add_argument_group("output")
    for option, told in (
        ("--quiet", "print errors only, and what is not written to files"),
        ("--json", "print the result as one JSON object, for programs"),
        ("--debug", "show the whole traceback when something goes wrong"),
    ):
        if option not in parser._option_string_actions:
            group.add_argument(option, action="store_true", help=told)


def add_settings(parser: argparse.ArgumentParser, *kinds: type[Settings]) -> None:
    """The options of settings classes, for a parser that is not read off a run class."""
    from limbeck.cli.program import _add

    for kind in kinds:
        group = parser.add_argument_group(kind.group)
        for one in options_of(kind):
            _add(group, one, one.default)


#: options of the model and the text; what is not given is left to the library, which knows the defaults
SOURCE_OPTIONS = (
    "revision", "layers", "pooling", "window", "context", "keep_first", "special", "stack", "device", "dtype",
    "trust_remote_code", "format", "paragraphs", "cells", "encoding", "language", "lowercase", "text_unit",
    "batch_tokens",
)  # fmt: skip


def source_options(options: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of `open_source`, without model and corpus: those that were given."""
    given = {name: getattr(options, name) for name in SOURCE_OPTIONS}
    found: dict[str, Any] = {name: value for name, value in given.items() if value is not None and value is not False}
    if options.columns:
        found["columns"] = tuple(part.strip() for part in options.columns.split(","))
    if options.targets:
        named = options.targets.startswith("label:")
        found["targets"] = options.targets if named else tuple(word.strip() for word in options.targets.split(","))
    if options.units is not None:
        choose(options.units, UNITS, what="--units")
        if options.units == "characters":
            found["characters"] = True
        found["units"] = "words" if options.units == "characters" else options.units
    if getattr(options, "vectors", None) is not None and (idle := found.keys() - {"device", "repair"}):
        named = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(idle))
        raise UsageError(f"--vectors were made with a model and a text; {named} comes too late: give it to encode.")
    return found


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number, 0 or more, got {text!r}")
    return value


def rate(text: str) -> float:
    """A learning rate."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None
    if not (0 < value < 1 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1, got {text}")
    return value


def positive(text: str) -> int:
    value = count(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return value


def count(text: str) -> int:
    try:
        value = int(text.replace("_", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, got {text}")
    return value
