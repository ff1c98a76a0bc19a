"""Options of word vectors in files: which format, precision and words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from limbeck.settings import Settings, option

#: formats that are written, the last three only read
Written = Literal[
    "auto", "word2vec", "word2vec-binary", "glove", "fasttext", "npz", "safetensors", "model2vec", "spacy"
]
Readable = Literal[Written, "fasttext-binary", "npy", "model"]
Precision = Literal["float32", "float16", "int8"]


@dataclass(frozen=True)
class ConvertSettings(Settings, group="conversion"):
    """From which file into which, and what is changed on the way."""

    source: Path = option(
        positional=True, required=True, common=True, metavar="IN", files=True, help="file or folder of word vectors"
    )
    target: Path = option(
        positional=True, required=True, common=True, metavar="OUT", files=True, help="file or folder to write"
    )
    format: Written = option("auto", metavar="NAME", help="format of OUT (default: by its name)")
    source_format: Readable = option(
        "auto", flag="--from", metavar="NAME", help="format of IN (default: by its content)"
    )
    limit: int | None = option(None, minimum=1, metavar="N", help="the first N different words of IN")
    lowercase: bool = option(
        False, help="words in lower case; of those that become the same the first is kept, their counts are summed"
    )
    normalize: bool = option(False, help="scale every vector to length 1")
    dtype: Precision = option(
        "float32",
        metavar="TYPE",
        help="float32 (default), float16, int8 (with a scale per word); the last two for npz, safetensors, model2vec",
    )
    blanks: Literal["underscore", "drop", "keep"] = option(
        "underscore",
        metavar="HOW",
        help="blanks in words, in text and .bin: underscore (default), drop such words, keep (text only)",
    )
    language: str = option("en", help="of the spaCy pipeline (default: en)")
    existing: Literal["fail", "replace"] = option(
        "fail", metavar="HOW", help="if OUT exists: fail (default), or replace it"
    )
