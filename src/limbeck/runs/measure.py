"""The measuring run: one pass, every number, one folder."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from limbeck.accumulators import Accumulator, Moments, Partition
from limbeck.corpus import Corpus
from limbeck.errors import LimbeckError, UsageError
from limbeck.parameters import takes
from limbeck.runs.execution.folders import RunFolder
from limbeck.runs.execution.input_guard import steady
from limbeck.runs.execution.parts import Division, division_of, planned
from limbeck.runs.execution.sources import READING, open_source
from limbeck.runs.measuring.explorer import write_explorer
from limbeck.runs.measuring.results import (
    Measured,
    basis_of,
    compute,
    dimension_table,
    frequency_table,
    layer_table,
    spectrum_table,
    word_table,
)
from limbeck.runs.measuring.sample import sample_table
from limbeck.runs.measuring.settings import MeasureSettings, accumulators_for
from limbeck.state import write_text
from limbeck.stream import Passed, Plan, Source, run_pass
from limbeck.stream.checkpoint import Checkpoint
from limbeck.stream.run import identity_of
from limbeck.stream.workers import Workers
from limbeck.tables import write_csv, write_parquet


@takes(*READING)
def measure(
    model: Any = None,
    corpus: Any = None,
    *,
    vectors: Any = None,
    out: str | Path | None = None,
    existing: str = "fail",
    settings: MeasureSettings | None = None,
    keep_text: bool = True,
    part: str | None = None,
    plan_of: str | Path | None = None,
    vocabulary: str | Path | Sequence[str] | None = None,
    workers: int = 0,
    progress: bool = False,
    **options: Any,
) -> Measured:
    """Every measure at every layer of a model on a text; `out` also writes the run folder.

    model    a name or folder, an Encoder, StaticVectors, or a function of texts
    corpus   a path, a Corpus, or a list of sentences (lists of words)
    vectors  kept vectors in the place of model and corpus; or an array (n, d) or (layers, n, d), whose rows have no
             words: what needs words is not defined then
    part, plan_of, vocabulary  of a run that is to be merged with others, see `limbeck.runs.execution.parts`
    options  of the encoder and the pass: device, dtype, layers, pooling, text_unit, batch_tokens, …

    >>> import numpy as np
    >>> import limbeck as lb
    >>> sentences = [["a", "b", "c"], ["b", "a"], ["c", "a"], ["a", "c", "b"]]
    >>> def one_hot(texts):
    ...     return [np.eye(26)[[ord(word[0]) - ord("a") for word in text.words]] for text in texts]
    >>> run = lb.measure(one_hot, sentences, settings=lb.MeasureSettings(min_contexts=2))
    >>> float(run["self_similarity"].value[0])
    1.0
    """
    settings = settings or MeasureSettings()
    division = division_of(part, plan_of=plan_of, vocabulary=vocabulary)
    options.setdefault("preset_units", settings.rules.units)
    source = open_source(model, corpus, vectors=vectors, **options)
    if out is None:
        return measure_source(source, settings=settings, division=division, workers=workers, progress=progress)[0]
    with RunFolder(out, existing=existing) as folder:
        measured, passed = measure_source(
            source, settings=settings, division=division, workers=workers, progress=progress, checkpoint=folder.state
        )
        if not folder.complete:  # else its state gave all that was asked for
            how: dict[str, Any] = {"division": division, "keep_text": keep_text}
            save(measured, folder.unfinished, source=source, settings=settings, passed=passed, **how)
            folder.finish()
    return measured


def measure_source(
    source: Source,
    *,
    settings: MeasureSettings,
    division: Division | None = None,
    checkpoint: Path | None = None,
    workers: int | Workers = 0,
    progress: bool = False,
    on_plan: Callable[[Plan], None] | None = None,
) -> tuple[Measured, Passed]:
    """Run the pass (twice where asked) and compute everything."""
    began = time.monotonic()
    division = division or Division()
    if division.part is not None and settings.two_pass:
        raise UsageError("--two-pass needs directions of the whole text, which a part does not know: leave one out.")
    shape = {"layers": len(source.layers), "dim": source.dim}
    identity = identity_for(source, settings, division)
    chosen: dict[str, Any] = {"choice": settings.choice, "deduplicate": settings.rules.deduplicate}

    def enough(plan: Plan) -> None:
        check_enough(plan, settings, source)

    def prepare(plan: Plan) -> list[Accumulator]:
        if on_plan is not None:
            on_plan(plan)
        return accumulators_for(plan, **shape, settings=settings)

    with steady(source), nullcontext(workers) if isinstance(workers, Workers) else Workers(workers) as processes:
        how: dict[str, Any] = {"workers": processes, "progress": progress}
        plan = planned(source, division, identity, state=checkpoint, check=enough, **chosen, **how)
        told = settings.as_dict() | division.told()
        passed = run_pass(
            source, prepare, plan=plan, checkpoint=checkpoint, settings=told, seed=settings.seed, **chosen, **how
        )
        passed.seconds = time.monotonic() - began
        check_any(passed, source, division)
        partition = None
        if settings.two_pass:
            moments = next(a for a in passed.accumulators if isinstance(a, Moments))
            again = Partition(**shape, basis=basis_of(moments).cpu())
            run_pass(source, [again], plan=passed.plan, seed=settings.seed, **how)
            partition = again
    measured = compute(source.name, source.layers, passed.plan, passed.accumulators, settings, partition)
    return replace(measured, source=source.describe()), passed


def identity_for(source: Source, settings: MeasureSettings, division: Division | None = None) -> dict[str, Any]:
    """All that a run's numbers depend on."""
    return identity_of(
        source,
        settings.as_dict() | (division or Division()).told(),
        seed=settings.seed,
        choice=settings.choice,
        deduplicate=settings.rules.deduplicate,
    )


def check_enough(plan: Plan, settings: MeasureSettings, source: object = None) -> None:
    """A run without a single word to follow would be a table of holes, unless nobody has asked for words."""
    if not len(plan.vocabulary) and not getattr(source, "wordless", False):
        raise LimbeckError(
            f"at least one word must occur in {settings.min_contexts} different texts; of {plan.types:,} words in "
            f"{plan.texts:,} texts none does: lower --min-contexts or give more text."
        )


def check_any(passed: Passed, source: object, division: Division | None = None) -> None:
    """A run in which no word has a vector would be a table of holes too."""
    if not any(accumulator.n for accumulator in passed.accumulators if isinstance(accumulator, Moments)):
        if division is not None and division.part is not None and not any(passed.dropped.values()):
            raise LimbeckError(
                f"--part {division.part}: at least one text must not repeat an earlier one, all of this part do: merge "
                "the other parts without it, which gives the same numbers, or divide the text into fewer."
            )
        told = ", ".join(f"{reason} ({number:,})" for reason, number in passed.dropped.items() if number)
        remedy = getattr(source, "remedy", "check --model and --lowercase, or --context and --keep-first")
        raise LimbeckError(
            f"at least one word must have a vector, none of {passed.plan.units:,} has: "
            f"{told or 'none was asked for'}: {remedy}."
        )


def check_same(state: Path, source: Source, settings: MeasureSettings, division: Division | None = None) -> None:
    """Refuse to take a finished run, known by its state, for one of another model, text or settings."""
    Checkpoint(state, identity_for(source, settings, division)).load_plan()


def save(
    measured: Measured,
    folder: Path,
    *,
    source: Source,
    settings: MeasureSettings,
    passed: Passed,
    division: Division | None = None,
    keep_text: bool = True,
) -> None:
    """Write all files of a run folder (but for figures, which are drawn from them)."""
    corpus: Corpus | None = getattr(source, "corpus", None) if keep_text else None
    write_tables(measured, folder, corpus)
    write_explorer(measured, folder, passed.accumulators, corpus)
    told = account(measured, source, settings, passed) | (division or Division()).told()
    write_text(folder / "run.json", json.dumps(told, indent=2, default=str) + "\n")


def write_tables(measured: Measured, folder: Path, texts: Corpus | Mapping[int, str] | None = None) -> None:
    """The tables of a run folder; `texts` has the sentences of its sample, if they are to be in it."""
    write_csv(folder / "layers.csv", layer_table(measured))
    write_parquet(folder / "words.parquet", word_table(measured))
    write_csv(folder / "frequency.csv", frequency_table(measured))
    write_parquet(folder / "spectra.parquet", spectrum_table(measured))
    write_parquet(folder / "dimensions.parquet", dimension_table(measured))
    write_parquet(folder / "sample.parquet", sample_table(measured, texts))


class Described(Protocol):
    """Where vectors came from, as far as a record is concerned."""

    @property
    def dim(self) -> int: ...
    def describe(self) -> Mapping[str, object]: ...


def account(measured: Measured, source: Described, settings: MeasureSettings, passed: Passed) -> dict[str, Any]:
    """Where the numbers come from: everything a reader needs to trust or repeat them."""
    plan = passed.plan
    most, least = measured.extremes()
    return {
        "command": "measure",
        "name": measured.name,
        "layers": list(measured.layers),
        "dim": source.dim,
        "settings": settings.as_dict(),
        "source": source.describe(),
        "counts": {
            "documents": plan.documents,
            "texts": plan.texts,
            "sentences": plan.sentences,
            "words": plan.units,
            "distinct_words": plan.types,
            "followed_words": int(measured.counted.sum()),
            "measured_occurrences": measured.moments.n,
        },
        "dropped": plan.dropped | passed.dropped,
        "lowest_self_similarity": most,
        "highest_self_similarity": least,
        "seconds": round(passed.seconds, 3),
        "versions": versions(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def versions() -> dict[str, str]:
    """Of everything that could change a number."""
    found = {"python": platform.python_version()}
    for package in ("limbeck", "torch", "transformers", "tokenizers", "numpy", "spacy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
