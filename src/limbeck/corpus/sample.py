"""The corpus that comes with limbeck: some three thousand sentences, words in several senses labelled by class."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

SAMPLE = "sample"  #: how it is named on the command line and in records
LICENCE = "CC0 1.0"


def sample_path() -> Path:
    """The file of the sample corpus, JSON lines."""
    return Path(str(files("limbeck").joinpath("data", "sample.jsonl")))


def name_of(path: str) -> str:
    """What a record calls a path: the sample corpus by its name, since where it is installed tells nothing."""
    return SAMPLE if path == str(sample_path()) else path
