"""Whatever a folder or a file of limbeck holds: vectors, or the result of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.errors import InputError
from limbeck.record import check_format, read_record
from limbeck.runs.execution.run import run_classes
from limbeck.settings import refuse_no_path

if TYPE_CHECKING:
    from limbeck.runs.execution.result import RunResult
    from limbeck.vectors import OccurrenceVectors, StaticVectors


def load(path: str | Path) -> StaticVectors | OccurrenceVectors | RunResult:
    """What a folder holds: static vectors, the vectors of every occurrence, or the result of a run.

    A folder of `limbeck distill` with one set of vectors gives them, with their record; one of `limbeck encode` gives
    `OccurrenceVectors`; one of any other command its result, as `MeasureResult.load` does. Everything else is read as
    static vectors: a file (word2vec, GloVe, fastText, safetensors, …), or a folder of model2vec or spaCy.

    >>> import tempfile
    >>> import numpy as np
    >>> import limbeck as lb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lb.StaticVectors(["tea", "coffee"], np.eye(2)).save(f"{folder}/drinks.txt")
    ...     lb.load(f"{folder}/drinks.txt")["tea"].tolist()
    [1.0, 0.0]
    """
    from limbeck.vectors import OccurrenceVectors, StaticVectors
    from limbeck.vectors.writer import DESCRIPTION

    refuse_no_path(path, "path")
    folder = Path(path).expanduser()
    if (folder / DESCRIPTION).is_file():
        return OccurrenceVectors.load(folder)
    if (folder / "findings.json").is_file():  # papers stand above runs, which know nothing of them
        raise InputError(
            f"{folder}: findings of a paper are loaded by ReproduceResult.load.", code="other_kind", parameter="path"
        )
    if not (folder / "run.json").is_file():
        return StaticVectors.load(path)
    record = check_format(folder, read_record(folder / "run.json"))
    command = str(record.get("command"))
    if command not in run_classes():
        raise InputError(
            f"{folder}: a run of limbeck {command} gives no result to load; look at it with `limbeck report`.",
            code="other_kind",
            parameter="path",
        )
    result = run_classes()[command].result.load(folder)
    if command == "distill" and "results" not in record:
        (vectors,) = result.vectors.values()  # type: ignore[attr-defined]
        return vectors  # type: ignore[no-any-return]
    return result
