"""What `limbeck evaluate` asks for tasks of single words: analogies, relations, categories."""

from __future__ import annotations

import argparse
from collections.abc import Set
from typing import TYPE_CHECKING

from limbeck.cli.options import positive
from limbeck.errors import UsageError, choose

if TYPE_CHECKING:
    from limbeck.evaluation.word_suite import WordWishes

WORDS = frozenset({"wordsim", "analogy", "relations", "categorization"})  #: kinds of tasks of words


def add_word_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("words")
    group.add_argument(
        "--preset",
        metavar="NAME",
        help="web: vector files loaded, words looked up and tasks of words scored as by word-embeddings-benchmarks",
    )
    group.add_argument("--analogy", metavar="HOW", help="what is reported: add (3CosAdd, default) or mul (3CosMul)")
    group.add_argument(
        "--vocabulary", type=positive, metavar="N", help="analogies: search the first N words of a file (default: all)"
    )


def word_options(options: argparse.Namespace) -> WordWishes:
    """How tasks of words are scored; checked before anything is loaded."""
    from limbeck.evaluation.analogy_search import METHODS
    from limbeck.evaluation.web import PRESETS
    from limbeck.evaluation.word_suite import WordWishes

    if options.preset is not None:
        choose(options.preset, PRESETS, what="--preset")
        if options.oov is not None or options.case is not None or options.fallback is not None:
            name = next(name for name in ("oov", "case", "fallback") if getattr(options, name) is not None)
            raise UsageError(f"--preset {options.preset} says what --{name} would, got both: leave one of them out.")
    if options.analogy is not None:
        choose(options.analogy, METHODS, what="--analogy")
    return WordWishes(
        preset=options.preset,
        method=options.analogy or "add",
        oov=options.oov or "wrong",
        vocabulary=options.vocabulary,
        device=options.device,
    )


def check_word_uses(options: argparse.Namespace, groups: Set[str], static: list[bool]) -> None:
    """Refuse what none of the tasks and targets would heed."""
    for name in ("analogy", "vocabulary"):
        if getattr(options, name) is not None and "analogy" not in groups:
            raise UsageError(f"--{name} is about analogies, got no such task: leave it out.")
    if "analogy" in groups and not all(static):
        raise UsageError(
            "Analogies are searched in a table of word vectors, a model has none: give vector files (limbeck distill "
            "makes them), or leave the analogies out."
        )
    if options.preset is not None and not (all(static) and groups <= WORDS):
        raise UsageError(f"--preset {options.preset} is about words in vector files, got others too: leave it out.")
