"""Repairs of every layer: fitted, or found where an interrupted run has left them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.accumulators import Moments, Points, UnitSums
from limbeck.errors import InputError, UsageError
from limbeck.repairs.files import load, read_about
from limbeck.repairs.fitting import count_passes, fit_matrix, fit_source, memory_needed
from limbeck.repairs.folders import save_repairs
from limbeck.repairs.methods import name_of, parse_repair
from limbeck.runs.execution.record import plain
from limbeck.runs.measure import MeasureSettings
from limbeck.runs.repair import RepairSettings
from limbeck.runs.repairing.frequencies import count_words, read_counts
from limbeck.runs.repairing.subject import Subject
from limbeck.stream import Passed
from limbeck.stream.context import RunContext
from limbeck.vectors import StaticVectors


@dataclass(frozen=True)
class Fit:
    """How the repairs of a subject are fitted.

    measures  the seed, and how many occurrences of any words are kept
    """

    subject: Subject
    settings: RepairSettings
    measures: MeasureSettings

    @property
    def repair(self) -> Any:
        """The repair, not fitted."""
        return parse_repair(self.settings.method or "", seed=self.measures.seed, option="--method")

    @property
    def by_frequency(self) -> bool:
        return self.settings.weights == "frequency"

    @property
    def shape(self) -> dict[str, Any]:
        return {"layers": len(self.subject.source.layers), "dim": self.subject.source.dim}

    @property
    def memory(self) -> int:
        """Bytes that it takes."""
        return memory_needed(self.repair, **self.shape)

    def passes(self, units: int) -> int:
        """How often so many words are read for it, beyond what is measured."""
        if self.subject.alone:
            return 0
        return count_passes(self.repair, **self.shape, units=units, sample=self.measures.points)

    def counts(self, context: RunContext) -> Mapping[str, int] | None:
        """Frequencies of words: as given, else those of the text; a table by itself has none."""
        subject, given = self.subject, self.settings.counts
        if self.by_frequency and (not subject.alone or given is None):
            raise UsageError(
                "--weights=frequency is for a table of vectors without a text, with --counts; on a text every "
                "occurrence counts already, which is the same.",
                code="no_effect",
                parameter="weights",
            )
        if given is not None:
            return read_counts(given) if isinstance(given, str | Path) else dict(given)
        if subject.alone or subject.source.wordless:
            return None
        deduplicate = self.measures.rules.deduplicate
        return count_words(subject.source, deduplicate=deduplicate, context=context)

    def size(self, counts: Mapping[str, int] | None, measured: int) -> int:
        """Vectors that it uses, of which so many are measured too."""
        table = self.subject.table
        if not self.subject.alone or table is None:
            return measured
        # zero vectors too are fitted on, words without a count are not
        return int((row_weights(table, counts) > 0).sum()) if self.by_frequency else len(table)

    def repairs(
        self, folder: Path | None, passed: Passed, counts: Mapping[str, int] | None, context: RunContext
    ) -> dict[str, Any]:
        """Repairs by layer: those that an interrupted run has left in the folder, else new ones, put there."""
        source, table = self.subject.source, self.subject.table
        about = self.about()
        if folder is not None and (saved := saved_repairs(folder, about, source.layers)) is not None:
            return saved
        if self.subject.alone and table is not None:
            weights = row_weights(table, counts) if self.by_frequency else None
            repairs = {source.layers[0]: fit_matrix(table.matrix, self.repair, weights=weights)}
        else:
            seen = [a for a in passed.accumulators if isinstance(a, Moments | UnitSums) or type(a) is Points]
            repairs = fit_source(
                source,
                self.repair,
                plan=passed.plan,
                seen=seen,
                seed=self.measures.seed,
                sample=self.measures.points,
                context=context,
            )
        if folder is not None:
            save_repairs(folder, repairs, about=about)
        return repairs

    def about(self) -> dict[str, Any]:
        """What a repair's file says of it: fitted on which vectors, and how."""
        source = self.subject.source
        facts = source.describe()
        about = {
            "model": source.name,
            "model_fingerprint": facts.get("model_fingerprint"),
            "units": units_of(facts),
            "fingerprint": source.fingerprint,
            "method": name_of(self.repair),
            "settings": {"method": self.settings.method, "weights": self.settings.weights},
            "seed": self.measures.seed,
            "corpus": facts.get("corpus") or facts.get("kept_from") or None,
        }
        return dict(plain(about))


def row_weights(table: StaticVectors, counts: Mapping[str, int] | None) -> NDArray[np.float64]:
    """How often each word of a table occurs: what its row weighs in the fit."""
    weights = np.array([(counts or {}).get(word, 0) for word in table.words], dtype=np.float64)
    if not weights.any():
        raise InputError(
            "--counts must have some of the table's words, it has none: give counts of its words.",
            code="no_counts",
            parameter="counts",
        )
    return weights


def units_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the vectors are of: words or subwords, and how subwords became words."""
    settings = facts.get("encoder_settings") or (facts.get("kept_from") or {}).get("encoder_settings") or {}
    return {name: settings[name] for name in ("units", "pooling", "special") if name in settings}


def saved_repairs(folder: Path, about: Mapping[str, Any], layers: Sequence[str]) -> dict[str, Any] | None:
    """Repairs of every layer that an earlier run has fitted, if it has; they must have been fitted the same way."""
    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        saved = read_about(file)
        for name in ("method", "settings", "seed", "fingerprint"):
            if saved.get(name) != about[name]:
                raise InputError(
                    f"{file}: a run is resumed with the same model, text and method; {name} is another: use what was "
                    "used then, or --existing=replace.",
                    code="other_run",
                    parameter="seed" if name == "seed" else "",
                )
        found[saved["layer"]] = load(file)
    return {layer: found[layer] for layer in layers} if found.keys() >= set(layers) else None
