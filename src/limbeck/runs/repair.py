"""The repairing run: measure a space, fit a repair for each layer, measure the repaired space, one folder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.accumulators import Moments, Points, UnitSums
from limbeck.encoders.huggingface import choose_device
from limbeck.encoders.layers import TABLE
from limbeck.encoders.table import ZERO
from limbeck.errors import InputError, LimbeckError, UsageError, choose
from limbeck.measures.result import Result
from limbeck.parameters import check_fields, takes
from limbeck.repairs.files import describe, fingerprint_of, load, read_about
from limbeck.repairs.fitting import fit_matrix, fit_source
from limbeck.repairs.folders import FOLDER, save_repairs
from limbeck.repairs.methods import name_of, parse_repair
from limbeck.repairs.source import RepairedSource
from limbeck.runs.execution.context import RunContext
from limbeck.runs.execution.execute import write
from limbeck.runs.execution.folders import RunFolder
from limbeck.runs.execution.record import versions
from limbeck.runs.execution.sources import READING, is_static, open_source, refuse_options
from limbeck.runs.measure import MeasureResult, MeasureSettings
from limbeck.runs.measuring.compute import check_same, measure_source
from limbeck.runs.measuring.results import Measured
from limbeck.runs.repairing.frequencies import count_words, read_counts
from limbeck.runs.repairing.local import local_table
from limbeck.runs.repairing.space import space_tables
from limbeck.runs.repairing.tables import load_table, open_table, save_like
from limbeck.shown import Tabular
from limbeck.sketch import Curves
from limbeck.state import write_text
from limbeck.stream import Passed, Plan, Source, VectorSource
from limbeck.stream.workers import Workers
from limbeck.tables import write_csv, write_parquet
from limbeck.vectors import StaticVectors
from limbeck.vectors.plain import is_array, write_repaired

WEIGHTS = ("uniform", "frequency")
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class RepairSettings:
    """What to do to the vectors, and how to measure what it did.

    method        METHOD[:NAME=VALUE,...], several with + between; see `limbeck.repairs.methods.parse_repair`
    weights       of a table's rows in the fit: "uniform", or "frequency" as given by counts
    local_points  kept occurrences, chosen by hash, that isotropy by cluster is measured on; 0 leaves it out
    """

    method: str
    weights: str = "uniform"
    local_points: int = 10_000
    measure: MeasureSettings = field(default_factory=MeasureSettings)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.local_points < 0:
            raise UsageError(f"local_points must be 0 or more, got {self.local_points}.")

    def make(self) -> Any:
        """The repair, not fitted."""
        choose(self.weights, WEIGHTS, what="--weights")
        return parse_repair(self.method, seed=self.measure.seed, option="--method")

    @property
    def for_table(self) -> RepairSettings:
        """The same where every word has one vector: what compares occurrences of a word has nothing to compare."""
        return replace(self, measure=replace(self.measure, min_contexts=1, max_words=1, mev_words=0))


@dataclass(frozen=True)
class Repaired(Tabular):
    """What a repairing run found.

    repairs        {layer: fitted repair}
    before, after  {measure: result}, arrays over `layers`
    local          columns of local.csv: isotropy by number of clusters, before the repair
    space          columns of space.csv: first components and their correlation with frequency, before and after
    """

    name: str
    layers: tuple[str, ...]
    repairs: dict[str, Any]
    before: Mapping[str, Result]
    after: Mapping[str, Result]
    local: Mapping[str, Sequence[Any]]
    space: Mapping[str, Sequence[Any]]
    dropped: Mapping[str, int]  # after the repair, reason -> occurrences
    n: int  # vectors that were fitted on

    def title(self) -> str:
        return f"{self.name}: {name_of(self.repairs[self.layers[0]])}, fitted on {self.n:,} vectors"

    def columns(self) -> dict[str, list[Any]]:
        """A row a layer and measure: its value before and after."""
        rows = [
            (layer, measure, float(self.before[measure].value[place]), float(self.after[measure].value[place]))
            for place, layer in enumerate(self.layers)
            for measure in self.before
            if measure in self.after
        ]
        names = ("layer", "measure", "before", "after")
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def curves(self) -> Curves:
        """Anisotropy before and after, by layer."""
        lines = {"before": self.before["anisotropy"].value, "after": self.after["anisotropy"].value}
        return Curves(self.layers, lines, up="anisotropy")


@dataclass(frozen=True)
class Subject:
    """What is repaired: a source of vectors, and the table that it is made of, if it is one.

    table  static vectors, to be written repaired
    path   where they came from
    alone  whether the table is measured by itself, row by row, rather than on a text
    """

    source: Source
    table: StaticVectors | None = None
    path: str | Path = ""
    alone: bool = False

    @property
    def left_out(self) -> dict[str, int]:
        """Rows of a table by itself that are fitted on, and not measured."""
        zero = int((~self.table.matrix.any(axis=1)).sum()) if self.alone and self.table is not None else 0
        return {ZERO: zero} if zero else {}


def open_subject(model: Any = None, corpus: Any = None, *, vectors: Any = None, **options: Any) -> Subject:
    """Model and text, kept vectors, or a table of vectors by itself: static vectors, or a model with layers="table"."""
    if vectors is not None or corpus is not None or model is None or is_array(model):
        source = open_source(model, corpus, vectors=vectors, **options)
        static = isinstance(model, str | Path) and is_static(model)
        return Subject(source, load_table(model) if static else None, model if static else "")
    named = isinstance(model, str | Path)
    layers = options.pop("layers", TABLE if not named or is_static(model) else None)
    if layers != TABLE:
        raise UsageError("--corpus is needed; without one, --layers table repairs a model's embedding table by itself.")
    device = options.pop("device", "auto")
    refuse_options(options, "a table of vectors without a text")
    table = load_table(model) if named else model
    name = Path(model).expanduser().name if named else TABLE
    where = "cpu" if device == "auto" else str(choose_device(device))
    whole = not named or is_static(model)
    return Subject(open_table(table, name, whole=whole, device=where), table, model if named else "", alone=True)


@takes(*READING)
def repair(
    model: Any = None,
    corpus: Any = None,
    *,
    method: str,
    out: str | Path,
    vectors: Any = None,
    counts: Mapping[str, int] | str | Path | None = None,
    existing: str = "fail",
    settings: RepairSettings | None = None,
    keep_text: bool = True,
    workers: int = 0,
    progress: bool = False,
    **options: Any,
) -> Repaired:
    """Fit repairs, measure before and after, and write the run folder (but for figures); see `measure`.

    method    see `limbeck.repairs.methods.parse_repair`; `settings` has the rest
    counts    frequencies of words, or a file of them; without, the text's own
    """
    settings = replace(settings or RepairSettings(method), method=method)
    settings.make()  # a wrong name should not cost a model's loading
    with RunFolder(out, existing=existing) as folder, Workers(workers) as processes:
        if folder.complete:
            raise LimbeckError(f"{out}: it is complete already: use what it holds, or existing='replace'.")
        subject = open_subject(model, corpus, vectors=vectors, **options)
        return repair_subject(
            subject, folder, settings, counts=counts, keep_text=keep_text, workers=processes, progress=progress
        )


def repair_subject(
    subject: Subject,
    folder: RunFolder,
    settings: RepairSettings,
    *,
    counts: Mapping[str, int] | str | Path | None = None,
    keep_text: bool = True,
    workers: Workers | None = None,
    progress: bool = False,
    on_plan: Callable[[Plan], None] | None = None,
    draw: Callable[[Path], object] | None = None,
) -> Repaired:
    """The whole run into its folder; `draw` is called with it before it is put in its place."""
    began = time.monotonic()
    settings = settings.for_table if subject.alone else settings
    source, target = subject.source, folder.unfinished
    processes = workers or Workers()
    how: dict[str, Any] = {"workers": processes, "progress": progress}
    frequencies = known_counts(subject, settings, counts, processes, progress)

    def measured(source: Source, name: str) -> tuple[Measured, Passed]:
        own = on_plan if name == BEFORE else None
        context = RunContext(checkpoint=folder.state / name, **how)
        found, passed = measure_source(source, settings.measure, context, on_index=own or (lambda index: None))
        texts = getattr(source, "corpus", None) if keep_text else None
        result = MeasureResult.of(found, passed, source, settings.measure, texts=texts, options={}, facts={})
        (target / name).mkdir(exist_ok=True)
        write(result, target / name, figures=False)
        return found, passed

    before, passed = measured(source, BEFORE)
    repairs = fitted(subject, settings, target / FOLDER, passed, frequencies, how)
    local = local_table(before, most=settings.local_points, seed=settings.measure.seed, progress=progress)
    spaces = {BEFORE: space_tables(before, frequencies)}
    results, n = before.results, before.moments.n
    if subject.alone and subject.table is not None:  # zero vectors too are fitted on, words without a count are not
        counted = settings.weights == "frequency"
        n = int((row_weights(subject.table, frequencies) > 0).sum()) if counted else len(subject.table)
    del before, passed  # its kept points: the repaired ones take the same room
    after, passed = measured(RepairedSource(source, repairs), AFTER)
    spaces[AFTER] = space_tables(after, frequencies)
    space = _labelled({name: facts for name, (_, facts) in spaces.items()})
    write_csv(target / "local.csv", local)
    write_csv(target / "space.csv", space)
    write_parquet(target / "space.parquet", _labelled({name: places for name, (places, _) in spaces.items()}))
    dropped = passed.dropped | subject.left_out
    found = Repaired(source.name, source.layers, repairs, results, after.results, local, space, dropped, n)
    told = account(found, source, settings, seconds=time.monotonic() - began)
    if subject.table is not None:
        made = repaired_table(subject.table, repairs[source.layers[0]])
        told["vectors"] = save_like(made, subject.path or source.name, target / "vectors").relative_to(target)
    elif isinstance(source, VectorSource) and source.wordless:
        told["vectors"] = write_repaired(source.kept, repairs, target / "vectors").relative_to(target)
    write_text(target / "run.json", json.dumps(told, indent=2, default=str) + "\n")
    if draw is not None:
        draw(target)
    folder.finish()
    return found


def known_counts(
    subject: Subject,
    settings: RepairSettings,
    counts: Mapping[str, int] | str | Path | None,
    workers: Workers,
    progress: bool,
) -> Mapping[str, int] | None:
    """Frequencies of words: as given, else those of the text; a table by itself has none."""
    if settings.weights == "frequency" and (not subject.alone or counts is None):
        raise UsageError(
            "--weights frequency is for a table of vectors without a text, with --counts; on a text every occurrence "
            "counts already, which is the same."
        )
    if counts is not None:
        return read_counts(counts) if isinstance(counts, str | Path) else counts
    if subject.alone or getattr(subject.source, "wordless", False):
        return None
    deduplicate = settings.measure.rules.deduplicate
    return count_words(subject.source, deduplicate=deduplicate, workers=workers, progress=progress)


def fitted(
    subject: Subject,
    settings: RepairSettings,
    folder: Path,
    passed: Passed,
    counts: Mapping[str, int] | None,
    how: Mapping[str, Any],
) -> dict[str, Any]:
    """Repairs by layer: those that a stopped run has left in the folder, else new ones, put there."""
    source, made, about = subject.source, settings.make(), about_repairs(subject.source, settings)
    if (kept := kept_repairs(folder, about, source.layers)) is not None:
        return kept
    if subject.alone and subject.table is not None:
        weights = row_weights(subject.table, counts) if settings.weights == "frequency" else None
        repairs = {source.layers[0]: fit_matrix(subject.table.matrix, made, weights=weights)}
    else:
        seen = [a for a in passed.accumulators if isinstance(a, Moments | UnitSums) or type(a) is Points]
        chosen: dict[str, Any] = {"seed": settings.measure.seed, "sample": settings.measure.points}
        repairs = fit_source(source, made, plan=passed.plan, seen=seen, **chosen, **how)
    save_repairs(folder, repairs, about=about)
    return repairs


def row_weights(table: StaticVectors, counts: Mapping[str, int] | None) -> NDArray[np.float64]:
    """How often each word of a table occurs: what its row weighs in the fit."""
    weights = np.array([(counts or {}).get(word, 0) for word in table.words], dtype=np.float64)
    if not weights.any():
        raise InputError("--counts must have some of the table's words, it has none: give counts of its words.")
    return weights


def about_repairs(source: Source, settings: RepairSettings) -> dict[str, Any]:
    """What a repair's file says of it: fitted on which vectors, and how."""
    told = source.describe()
    about = {
        "model": source.name,
        "model_fingerprint": told.get("model_fingerprint"),
        "units": _units_of(told),
        "fingerprint": source.fingerprint,
        "method": name_of(settings.make()),
        "settings": {
            name: value for name, value in asdict(settings).items() if name not in ("measure", "local_points")
        },
        "seed": settings.measure.seed,
        "corpus": told.get("corpus") or told.get("kept_from") or None,
    }
    plain: dict[str, Any] = json.loads(json.dumps(about, default=str))
    return plain


def _units_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """What the vectors are of: words or pieces, and how pieces became words."""
    settings = told.get("encoder_settings") or (told.get("kept_from") or {}).get("encoder_settings") or {}
    return {name: settings[name] for name in ("units", "pooling", "special") if name in settings}


def kept_repairs(folder: Path, about: Mapping[str, Any], layers: Sequence[str]) -> dict[str, Any] | None:
    """Repairs of every layer that a stopped run has fitted, if it has; they must have been fitted the same way."""
    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        told = read_about(file)
        for name in ("method", "settings", "seed", "fingerprint"):
            if told.get(name) != about[name]:
                raise InputError(
                    f"{file}: a run is resumed with the same model, text and method; {name} is another: use what was "
                    "used then, or --existing=replace."
                )
        found[told["layer"]] = load(file)
    return found if found.keys() >= set(layers) else None


def check_complete(folder: RunFolder, subject: Subject, settings: RepairSettings) -> None:
    """Refuse to take a finished run for one of another model, text, method or settings."""
    settings = settings.for_table if subject.alone else settings
    check_same(folder.state / BEFORE, subject.source, settings.measure)
    kept_repairs(folder.target / FOLDER, about_repairs(subject.source, settings), subject.source.layers)


def repaired_table(table: StaticVectors, repair: Any) -> StaticVectors:
    """Every vector of a table, repaired."""
    return StaticVectors(table.words, repair.transform(table.matrix))


def account(found: Repaired, source: Source, settings: RepairSettings, *, seconds: float) -> dict[str, Any]:
    """Where the repairs and the numbers come from."""
    first = found.repairs[found.layers[0]]
    return {
        "command": "repair",
        "name": found.name,
        "layers": list(found.layers),
        "dim": source.dim,
        "method": name_of(first),
        "steps": describe(first),
        "settings": asdict(settings),
        "source": source.describe(),
        "repairs": {layer: fingerprint_of(repair) for layer, repair in found.repairs.items()},
        "fitted_on": found.n,
        "dropped_after": dict(found.dropped),
        "seconds": round(seconds, 3),
        "versions": versions(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _labelled(tables: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
    """Tables of the same columns, one below the other, with a first column `repair` that says which it was."""
    first = next(iter(tables.values()))
    columns: dict[str, list[Any]] = {
        "repair": [name for name, table in tables.items() for _ in next(iter(table.values()))]
    }
    return columns | {name: [value for table in tables.values() for value in table[name]] for name in first}
