"""What the command line asks of its own process before anything heavy is loaded. The Python API changes none of it."""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from limbeck.cli.output import add
from limbeck.errors import Advice

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's mallopt
_NEVER = 2**31 - 1


def print_anything() -> None:
    """Let a character that the terminal does not have become a question mark, not the end of the command.

    What is printed to a stream that is closed goes nowhere; a file that is opened must not get its number.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            if number:
                setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 (to the end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """While a command runs: what limbeck itself warns of is told as its errors are, not as a line of its source."""
    usual = warnings.formatwarning
    own = str(Path(__file__).parents[1])
    known: set[str] = set()  # of several models each would tell it again

    def shown(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if not filename.startswith(own):
            return usual(message, category, filename, lineno, line)
        told = " ".join((message.for_terminal() if isinstance(message, Advice) else str(message)).split())
        if told in known:
            return ""
        known.add(told)
        add("warnings", told)
        return f"limbeck: warning: {told}\n"

    warnings.formatwarning = shown
    try:
        yield
    finally:
        warnings.formatwarning = usual


def prepare_process() -> None:
    """Settings for tokenisers and memory; a variable that the user has set stays."""
    # before any tokeniser is loaded: worker processes divide the cores already
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # batches differ in shape: without this a GPU's memory falls into pieces that are asked for and given back
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    # large pages for large tensors: small ones cost a CPU a sixth of a model's time
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    # Python's keeper of semaphores complains, behind our own line, when a process that prepares text was killed
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    # at its end Python looks for cycles among all objects there are: with torch a second, and all goes anyway
    atexit.register(gc.freeze)
    _keep_freed_memory()


def _keep_freed_memory() -> None:
    """Let the next batch have the pages of the last one.

    glibc gives the memory of large tensors back to the system as soon as they go, and the system clears every page
    that is asked for again. Other C libraries have no such switch and are left alone.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _NEVER)
    mallopt(_M_TRIM_THRESHOLD, _NEVER)
