"""limbeck reproduce: what is refused before anything is measured, and the command as it is told afterwards."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.errors import LimbeckError, UsageError, choose

if TYPE_CHECKING:
    from limbeck.papers.findings import Paper
    from limbeck.papers.results import Reproduction
    from limbeck.tables import Columns

    #: what came out, and files with its numbers: path in the folder -> columns
    Gathered = tuple[Reproduction, Mapping[str, Columns]]

#: options that say how a run goes, and change no number -> how many words follow them
HOW = {"--existing": 1, "--quiet": 0, "--json": 0, "--debug": 0, "--workers": 1}


def begin(paper: Paper, options: argparse.Namespace, *, no_static: str = "") -> list[str]:
    """Refuse what cannot be done before anything is measured; what the models are called.

    no_static  why static vectors cannot be tried; "" where they can
    """
    from limbeck.encoders.loading import check_model
    from limbeck.runs.execution.folders import EXISTING
    from limbeck.runs.execution.sources import is_static

    choose(options.existing, EXISTING, what="--existing")
    from limbeck.runs.execution.folders import named_folders

    names = [folder.name for folder in named_folders(Path(), options.model)]
    for model in options.model:
        if not is_static(model):
            check_model(model)
        elif no_static:
            raise UsageError(f"{model}: {no_static}")
    check_page(paper, options)
    check_out(options)
    return names


def check_page(paper: Paper, options: argparse.Namespace) -> None:
    """A page with blocks that nobody can fill is refused before anything is measured."""
    from limbeck.papers.markdown import block_names
    from limbeck.papers.pages import read_page

    if options.page is not None:
        read_page(options.page, block_names(paper))


def check_out(options: argparse.Namespace) -> None:
    """Refuse what could not be read once a model, and findings that are there already."""
    from limbeck.corpus.sources import is_read_once

    if any(map(is_read_once, options.corpus or ())):
        raise UsageError("--corpus must be files, each model reads it anew; got a pipe: put it into a file.")
    if options.existing == "fail" and not options.dry_run and (options.out / "findings.json").exists():
        raise LimbeckError(f"{options.out}: it already holds findings: --existing=resume or replace, or another --out.")


def command_of(typed: Sequence[str]) -> str:
    """The command as it was typed, without the options that change no number.

    >>> command_of(["reproduce", "ethayarajh2019", "--existing", "resume", "--out", "my runs", "--quiet"])
    "limbeck reproduce ethayarajh2019 --out 'my runs'"
    """
    words, left = ["limbeck"], iter(typed)
    for word in left:
        if word.partition("=")[0] not in HOW:
            words.append(word)
        elif "=" not in word:
            for _ in range(HOW[word]):
                next(left, None)
    return shlex.join(words)
