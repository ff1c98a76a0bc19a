"""Optional packages, and the one line a user gets when one is missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from limbeck.errors import MissingExtra

#: import name -> the extra of limbeck that installs it (None: part of the base install)
EXTRA_OF: dict[str, str | None] = {
    "h5py": "hdf5",
    "spacy": None,
    "pyarrow": None,
    "pyarrow.parquet": None,
    "matplotlib": None,
    "rich": None,
    "zstandard": None,
    "fsspec": "remote",
    "accelerate": "gguf",
    "gguf": "gguf",
    "gensim": "export",
    "gensim.models.keyedvectors": "export",
    "ray": "ray",
    "sentencepiece": "sentencepiece",
    "sklearn.cluster": "repair",
    "sentence_transformers.base.modules": "st",
}


def need(module: str, *, purpose: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        extra = EXTRA_OF.get(module)
        package = f'"limbeck[{extra}]"' if extra else (error.name or module)
        raise MissingExtra(
            f"{purpose} needs {module}, which is not installed: pip install {package}.", code="not_installed"
        ) from error
