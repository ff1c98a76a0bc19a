"""What claims are judged on: a run folder as curves by layer and tables of words, or a paper's own numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.measures.mev import MEASURES as MEV_MEASURES
from limbeck.papers.estimates import CannotShow, Curve, Floats
from limbeck.papers.parts import Part
from limbeck.reporting.read import AGAIN, TABLE, Run, read_runs
from limbeck.tables import read_parquet

#: measures whose baseline is the layer's anisotropy, and so has that one's interval
AGAINST_ANISOTROPY = ("self_similarity", "intra_sentence_similarity")


@dataclass(frozen=True)
class Words:
    """The followed words of a run. Arrays are (words,) or, by layer, (words, layers); undefined is NaN.

    least  occurrences below which a word does not count (--min-contexts)
    """

    words: tuple[str, ...]
    n: NDArray[np.int64]
    contexts: NDArray[np.int64]
    self_similarity: Floats
    mev: Mapping[str, Floats] = field(default_factory=dict)  # by definition
    mev_baseline: Mapping[str, Floats] = field(default_factory=dict)
    least: int = 0


@dataclass(frozen=True)
class Subject:
    """A model as the rules see it, measured here or by the paper.

    family    which of BERT, GPT-2 and ELMo it is like: reads both sides, reads leftwards, or is a pair of LSTMs
    layers    from the input upwards; the bare table is not one of them, unless static vectors are all there is
    language  of the text, for stop words
    account   run.json; empty for a paper's own numbers
    senses    word in lower case -> in how many senses or classes the text has it
    static    scores of static vectors made of its layers, see `component_vectors`; `no_static` says why there are none
    """

    name: str
    family: str
    layers: tuple[str, ...]
    curves: Mapping[tuple[str, str], Curve]
    words: Words | None = None
    language: str = "en"
    account: Mapping[str, Any] = field(default_factory=dict)
    senses: Mapping[str, int] = field(default_factory=dict)
    static: Part | None = None
    no_static: str = ""

    def curve(self, measure: str, column: str = "value") -> Curve:
        """A column of layers.csv: "value", "baseline" or "adjusted"."""
        try:
            return self.curves[measure, column]
        except KeyError:
            raise CannotShow(f"there are no numbers of {measure} by layer") from None

    @property
    def has_input(self) -> bool:
        """Whether the first layer is what the first block reads. Layers with names of their own begin with it."""
        return self.layers[0] == "0" or not self.layers[0].isdigit()

    def input_layer(self, curve: Curve) -> Curve:
        if not self.has_input:
            raise CannotShow("the input layer was not measured")
        return curve.part([0])

    def contextual_layers(self, curve: Curve) -> Curve:
        """All layers but the input."""
        places = [place for place in range(len(self.layers)) if place or not self.has_input]
        if not places:
            raise CannotShow("no layer above the input was measured")
        return curve.part(places)

    def benchmarks(self) -> Part:
        if self.static is None:
            raise CannotShow(self.no_static or "there are no scores of static vectors")
        return self.static

    def table(self) -> Words:
        if self.words is None:
            raise CannotShow("there are no numbers by word")
        return self.words


def read_subjects(folders: Sequence[Path], *, senses: Mapping[str, int] | None = None) -> list[Subject]:
    """Run folders of `limbeck measure`, under names that differ."""
    return [_subject(run, senses or {}) for run in read_runs(folders)]


def _subject(run: Run, senses: Mapping[str, int]) -> Subject:
    path = run.folder / "run.json"
    account = json.loads(path.read_text(encoding="utf-8"))  # readable: read_runs has read it
    places = [place for place, layer in enumerate(run.layers) if layer != TABLE] or [0]
    layers = tuple(run.layers[place] for place in places)
    source = account.get("source") or {}
    return Subject(
        name=run.name,
        family=family_of(account),
        layers=layers,
        curves=_curves(run, places, layers),
        words=_read_words(
            run.folder / "words.parquet", layers, least=(account.get("settings") or {}).get("min_contexts", 0)
        ),
        language=(source.get("corpus") or {}).get("language") or "en",
        account=account,
        senses=senses,
    )


def family_of(account: Mapping[str, Any]) -> str:
    """BERT, GPT-2 or ELMo, by how the model reads; "" for static vectors and functions.

    >>> family_of({"source": {"encoder_settings": {"model_type": "llama", "causal": True}}})
    'GPT-2'
    """
    settings = (account.get("source") or {}).get("encoder_settings") or {}
    if settings.get("model_type") == "elmo":
        return "ELMo"
    if "causal" not in settings:
        return ""
    return "GPT-2" if settings["causal"] else "BERT"


def _curves(run: Run, places: list[int], layers: tuple[str, ...]) -> dict[tuple[str, str], Curve]:
    curves: dict[tuple[str, str], Curve] = {}
    anisotropy = _errors(run, "anisotropy")
    for measure in run.measures:
        own = _errors(run, measure)
        adjusted = np.hypot(own, anisotropy) if measure in AGAINST_ANISOTROPY else own
        for column, errors in (("value", own), ("baseline", np.zeros_like(own)), ("adjusted", adjusted)):
            curves[measure, column] = Curve(layers, run.column(measure, column)[places], errors[places])
    return curves


def _errors(run: Run, measure: str) -> Floats:
    """Half the width of the intervals, the longer side; 0 where there is none."""
    value, low, high = (run.column(measure, column) for column in ("value", "low", "high"))
    return np.nan_to_num(np.maximum(high - value, value - low), nan=0.0)


def _read_words(path: Path, layers: tuple[str, ...], *, least: int) -> Words:
    baselines = {name: f"{name}_baseline" for name in MEV_MEASURES}
    by_layer = ["self_similarity", *MEV_MEASURES, *baselines.values()]
    try:  # ValueError: what pyarrow raises for a broken file and for a missing column
        table = read_parquet(path, ["word", "layer", "n", "contexts", *by_layer]).to_pydict()
        names = np.array(table["layer"], dtype=str)
        first = np.flatnonzero(names == layers[0])
        columns = {
            name: np.stack([np.array(table[name], dtype=np.float64)[names == layer] for layer in layers], axis=1)
            for name in by_layer
        }
    except (OSError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(
            f"{path}: must have every word's measures by layer; {reason}: {AGAIN}.", code="incomplete"
        ) from error
    return Words(
        words=tuple(table["word"][row] for row in first),
        n=np.array(table["n"], dtype=np.int64)[first],
        contexts=np.array(table["contexts"], dtype=np.int64)[first],
        self_similarity=columns["self_similarity"],
        mev={name: columns[name] for name in MEV_MEASURES},
        mev_baseline={name: columns[column] for name, column in baselines.items()},
        least=least,
    )
