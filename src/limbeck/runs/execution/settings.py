"""Options that runs share: what is read, and where the result goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from limbeck.encoders.miniatures import MINIATURES, refuse_misspelt
from limbeck.errors import UsageError
from limbeck.places import NEEDED_REPAIR, missing_run
from limbeck.settings import Settings, option, path_of

CORPUS_HELP = (
    "files, folders or globs, plain or compressed (gzip, bzip2, xz, zstd); - for standard input; sample for the corpus "
    "that comes with limbeck"
)
MODEL_HELP = (
    "a miniature (see `limbeck models`), a Hugging Face id or a local folder; also a file of static vectors (word2vec, "
    "GloVe, fastText, safetensors) or a model2vec folder"
)


@dataclass(frozen=True)
class ModelSettings(Settings, group="model"):
    """One model."""

    model: Any = option(
        None, common=True, recorded=False, metavar="M", suggestions=MINIATURES, files=True, help=MODEL_HELP
    )

    def check(self) -> None:
        refuse_misspelt(self.model)


@dataclass(frozen=True)
class ModelsSettings(Settings, group="model"):
    """One or several models."""

    model: tuple[Any, ...] | None = option(
        None,
        common=True,
        recorded=False,
        metavar="M",
        suggestions=MINIATURES,
        files=True,
        help=f"{MODEL_HELP}; several are read one after another",
    )

    def check(self) -> None:
        for place, model in enumerate(self.model or ()):
            refuse_misspelt(model)
            if place and isinstance(model, str | Path) and is_prose(Path(model)):
                raise UsageError(
                    f"{model} is a text file, got as one of several models: did you mean --corpus {model}?",
                    code="other_kind",
                    parameter="model",
                )


def is_prose(path: Path) -> bool:
    """Whether this is a plain text file, and none of vectors, each line of which ends in a number."""
    if path.suffix not in (".txt", ".text") or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        words = file.readline(1 << 16).split()
    return bool(words) and not words[-1].lstrip("-")[:1].isdigit()


@dataclass(frozen=True)
class TextSettings(Settings, group="text"):
    """The text that is read."""

    corpus: Any = option(
        None,
        common=True,
        recorded=False,
        metavar="C",
        suggestions=("sample",),
        files=True,
        paths=True,
        help=CORPUS_HELP,
    )


@dataclass(frozen=True)
class VectorsSettings(Settings, group="model"):
    """What stands in the place of model and text."""

    vectors: Any = option(
        None,
        recorded=False,
        metavar="V",
        files=True,
        help="cached vectors (see `limbeck encode`) in the place of --model and --corpus, or an array of embeddings "
        "(.npy)",
    )


def need_source(model: Any, corpus: Any, vectors: Any = None, *, instead: str = ", or --vectors") -> None:
    """Refuse anything but a model and a corpus, or cached vectors instead, where those are taken."""
    if vectors is None and (model is None or corpus is None):
        raise UsageError(
            f"--model and --corpus are needed{instead}.",
            code="required",
            parameter="corpus" if model is not None else "model",
        )
    refuse_two_sources(vectors, model, corpus)


def refuse_two_sources(vectors: Any, model: Any, corpus: Any) -> None:
    """Refuse cached vectors beside what they stand in the place of."""
    if vectors is not None and (model is not None or corpus is not None):
        raise UsageError(
            "--vectors replaces --model and --corpus: give one or the other.", code="exclusive", parameter="vectors"
        )


def refuse_pipe(corpus: Any, why: str) -> None:
    """Refuse standard input for a text that is read more than once."""
    from limbeck.corpus.sources import is_read_once

    if any(map(is_read_once, corpus if isinstance(corpus, list | tuple) else ())):
        raise UsageError(
            f"--corpus must be files, since {why}; got a pipe: put it into a file.",
            code="read_once",
            parameter="corpus",
        )


def check_several(models: Sequence[Any], corpus: Any) -> None:
    """Refuse what one of several models would fail at: the last should not be refused when the first is done."""
    from limbeck.encoders.loading import check_model
    from limbeck.runs.execution.sources import is_static

    refuse_pipe(corpus, "each model reads it anew")
    for model in models:
        if isinstance(model, str | Path) and not is_static(model):
            check_model(str(model))


@dataclass(frozen=True)
class RepairedSettings(Settings, group="model"):
    """A repair inside the pass."""

    repair: Any = option(
        None,
        recorded=False,
        metavar="R",
        files=True,
        help="repair the vectors inside the pass: the folder of a run of `limbeck repair`, each layer by its own "
        "repair, or a file of one repair, for every layer",
    )

    def check(self) -> None:
        path = path_of(self.repair)
        if path is not None and not path.expanduser().exists():  # its reader loads what takes seconds to load
            raise missing_run(path.expanduser(), NEEDED_REPAIR, "", parameter="repair")


@dataclass(frozen=True)
class PartSettings(Settings, group="a part of a text, for `limbeck merge`"):
    """Which part of a text is read, where others read the rest."""

    part: str | None = option(None, metavar="K/N", help="index the whole text, read the K-th of N parts")
    index_of: Path | None = option(
        None, metavar="RUN", files=True, help="take the index of another part's run instead of making it"
    )


@dataclass(frozen=True)
class SeparateTextSettings(Settings, group="a part of a text, for `limbeck merge`"):
    """What makes runs over texts of their own mergeable."""

    vocabulary: Any = option(
        None, metavar="FILE", files=True, help="words to track, one per line, or a run that tracked them"
    )
    first_document: int = option(0, minimum=0, metavar="N", help="number of the text's first document (0)")


@dataclass(frozen=True)
class OptionalFolderSettings(Settings, group="output"):
    """Where the result goes, if it is to be kept; a run that is stopped begins anew."""

    figures = False  # of runs that draw none
    dry_run = False  # of runs that are soon done

    out: Path | None = option(
        None, common=True, recorded=False, metavar="DIR", files=True, help="folder to write; it must be new"
    )
    existing: Literal["fail", "replace"] = option(
        "fail", recorded=False, metavar="HOW", help="if DIR exists: fail (default), or replace it"
    )


@dataclass(frozen=True)
class OptionalOutputSettings(OptionalFolderSettings):
    """Where the result and its figures go, if they are to be kept."""

    figures: bool = option(True, recorded=False, help="do not draw figures")


@dataclass(frozen=True)
class FolderSettings(Settings, group="output"):
    """Where the result goes."""

    figures = False  # of runs that draw none
    dry_run = False  # of runs that are soon done

    out: Path | None = option(
        None,
        common=True,
        required=True,
        recorded=False,
        metavar="DIR",
        files=True,
        help="folder to write; it must be new",
    )
    existing: Literal["fail", "resume", "replace"] = option(
        "fail",
        recorded=False,
        metavar="HOW",
        help="if DIR exists: fail (default), resume an unfinished run, or replace it",
    )


def need_folder(output: FolderSettings) -> None:
    """Refuse a run without a folder, where what it makes is too large for anything else."""
    if output.out is None:
        raise UsageError("--out is required.", code="required", parameter="out")


@dataclass(frozen=True)
class PassOutputSettings(FolderSettings):
    """Where the result of a pass goes."""

    dry_run: bool = option(False, terminal=True, recorded=False, help="report words, time, memory and disk, and stop")


@dataclass(frozen=True)
class DrawnOutputSettings(FolderSettings):
    """Where the result and its figures go."""

    figures: bool = option(True, recorded=False, help="do not draw figures")


@dataclass(frozen=True)
class OutputSettings(DrawnOutputSettings, PassOutputSettings):
    """Where the result of a pass and its figures go."""
