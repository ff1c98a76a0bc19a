"""What can be evaluated: a model's vectors of texts at some layers, or a table of word vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, get_args, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.corpus import Corpus, Sentence
from limbeck.corpus.segment import splitter_for
from limbeck.corpus.units import SENTENCE_BITS
from limbeck.encoders.layers import TABLE
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Encoder, EncoderLike, as_encoder
from limbeck.encoders.table import table_fingerprint
from limbeck.errors import InputError, UsageError, choose
from limbeck.evaluation.rows import TextRows
from limbeck.evaluation.settings import DEFAULTS, EvaluationSettings, OutOfVocabulary
from limbeck.evaluation.wordsim import Fallback, ask, check_policy, mean_of
from limbeck.stream import TextSource
from limbeck.stream.collected import collect
from limbeck.vectors.finding import Case
from limbeck.vectors.sentences import (
    OF_THE_TABLE,
    Frequencies,
    Weighting,
    find_words,
    first_direction,
    frequencies,
    without,
)
from limbeck.vectors.static import StaticVectors


@runtime_checkable
class Target(Protocol):
    """Something that has vectors for the words or pieces of texts, at one layer or more."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str:
        """What a file of a repair calls the model that it was fitted on."""

    @property
    def layers(self) -> tuple[str, ...]: ...
    @property
    def dim(self) -> int: ...
    def rows(self, texts: Sequence[str]) -> TextRows:
        """Vectors of every word or piece of these texts."""

    def describe(self) -> dict[str, Any]:
        """Everything that a reader needs to make the same vectors."""


@dataclass(frozen=True)
class ModelTarget:
    """The words or pieces of texts as a model sees them, at every layer that the encoder was loaded with.

    Pieces are those of the text as it is. Words are told apart by the rules of a language, as in a corpus, and are put
    before the model as they were written. Which of them have vectors ([CLS], a decoder's first position) is the
    encoder's to say.

    oov  of word similarity, for words without any vector: "drop", "zero", or "mean", that of the task's other words
    """

    encoder: Encoder
    name: str = ""
    language: str = "en"
    lowercase: bool = False
    progress: bool = False
    oov: OutOfVocabulary = "drop"

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoder", as_encoder(self.encoder))
        object.__setattr__(self, "name", self.name or self.encoder.name)
        if choose(self.oov, get_args(OutOfVocabulary), what="oov") == "fallback":
            raise UsageError(
                "oov='fallback' is for tables, a model's vectors are of another space: choose another.",
                code="unsupported",
                parameter="oov",
            )

    @property
    def model(self) -> str:
        return self.encoder.name

    @property
    def model_fingerprint(self) -> str | None:
        """Changes with the model, and with no setting; None where the encoder does not say."""
        return self.encoder.model_fingerprint

    @property
    def layers(self) -> tuple[str, ...]:
        return self.encoder.layers

    @property
    def dim(self) -> int:
        return self.encoder.dim

    def describe(self) -> dict[str, Any]:
        settings = self.encoder.describe()
        return {
            "name": self.name,
            "encoder": self.encoder.name,
            "fingerprint": self.encoder.fingerprint,
            "layers": list(self.layers),
            "settings": {
                **settings,
                "units": self.encoder.units,
                "lowercase": self.lowercase,
                "language": self.language,
            },
        }

    def rows(self, texts: Sequence[str]) -> TextRows:
        """One pass over all texts."""
        sentences = [self._sentence(text, number) for number, text in enumerate(texts)]
        told = {"units": self.encoder.units}
        if isinstance(self.encoder.prepare, PiecePreparer) and self.encoder.prepare.special:
            told["special"] = "yes"
        if not any(sentence.words for sentence in sentences):
            nothing = torch.zeros(len(self.layers), 0, self.encoder.dim)
            return TextRows(self.layers, nothing, np.empty(0, dtype=np.int64), len(texts), told)
        source = TextSource(Corpus.from_sentences(sentences), self.encoder)
        found = collect(source, progress=self.progress)
        return TextRows(self.layers, found.vectors, found.texts >> SENTENCE_BITS, len(texts), told)

    def _sentence(self, text: str, number: int) -> Sentence:
        text = text.lower() if self.lowercase else text
        if self.encoder.units == "pieces":
            return Sentence(tuple(text.split()), document=number)
        words, glued = splitter_for(self.language).words(text)
        return Sentence(words, document=number, glued=glued)


@dataclass(frozen=True)
class TableTarget:
    """The words of texts, each with its one vector in a table; a text's unknown words are treated as `oov` says.

    oov       "drop" leaves them out of the text's mean, "zero" too (zeros do not turn a mean); "mean" gives them the
              mean of all vectors, "fallback" what `fallback` has for them
    case      "either", "keep" or "lower", see `word_similarities`
    weighting "mean" of a text's words, or "sif": weights a / (a + p(w)), and the first direction of all texts of a task
              taken out of each, see `limbeck.vectors.sentences`; of texts alone, a word's vector is what it is
    counts    of words, for p(w); the vectors' own unless said
    total     words of the text that was counted; what the vectors know of it, else the sum of the counts, unless said
    """

    vectors: StaticVectors
    name: str = "vectors"
    oov: OutOfVocabulary = "drop"
    case: Case = "either"
    fallback: Fallback | None = None
    language: str = "en"
    lowercase: bool = False
    weighting: Weighting = "mean"
    counts: Mapping[str, int] | None = None
    total: int | None = None
    a: float = 1e-3

    def __post_init__(self) -> None:
        check_policy(self.oov, self.case, self.fallback)
        if choose(self.weighting, get_args(Weighting), what="weighting") == "sif":
            _ = self._frequencies  # refuses vectors without counts before anything is done

    @property
    def model(self) -> str:
        return self.name

    @property
    def model_fingerprint(self) -> str:
        return table_fingerprint(self.vectors.words, self.vectors.matrix)

    @property
    def layers(self) -> tuple[str, ...]:
        return (TABLE,)

    @property
    def dim(self) -> int:
        return self.vectors.dim

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "words": len(self.vectors),
            "dim": self.dim,
            "notes": dict(self.vectors.notes),
            "settings": {
                "oov": self.oov,
                "case": self.case,
                "lowercase": self.lowercase,
                "language": self.language,
                "weighting": self.weighting,
                **self._told,
            },
        }

    def rows(self, texts: Sequence[str]) -> TextRows:
        """Rows of the words that are in the table, or have something in their place."""
        words = self.split(texts)
        places, stand_ins = self.look_up(dict.fromkeys(word for text in words for word in text))
        kept = [
            (number, word)
            for number, text in enumerate(words)
            for word in text
            if places[word] >= 0 or word in stand_ins
        ]
        rows = np.array([places[word] for _, word in kept], dtype=np.int64)
        matrix = np.empty((len(kept), self.vectors.dim), dtype=np.float32)
        matrix[rows >= 0] = self.vectors.matrix[rows[rows >= 0]]
        for at in np.flatnonzero(rows < 0).tolist():
            matrix[at] = stand_ins[kept[at][1]]
        told: dict[str, str | int] = {"units": "words", "oov": self.oov, "case": self.case}
        told |= {"words": sum(map(len, words)), "words_found": int((rows >= 0).sum())}
        numbers = np.array([number for number, _ in kept], dtype=np.int64)
        weights = None
        if self.weighting == "sif":
            told |= {"weighting": "sif", **self._told}
            # what stands in for a word that is not there was never counted: p(w) = 0
            weights = np.where(rows >= 0, self._weights[rows], 1.0) if len(rows) else np.empty(0)
        return TextRows(self.layers, torch.from_numpy(matrix).unsqueeze(0), numbers, len(texts), told, weights)

    def finish(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """The vectors (texts, d) of all texts of a task after what they have in common is taken out, with "sif"."""
        return without(means, first_direction(means) if self.weighting == "sif" else None)

    def split(self, texts: Sequence[str]) -> list[Sequence[str]]:
        """The words of each text, those of the table among them found as `StaticVectors.sentences` finds them."""
        finder = self.vectors.finder(self.case, self.language)
        return [finder.split(text.lower() if self.lowercase else text) for text in texts]

    def look_up(self, words: Iterable[str]) -> tuple[dict[str, int], dict[str, NDArray[np.float64]]]:
        """Of each word its row in the table, −1 for none; and what stands in the place of some that have none."""
        places = find_words(self.vectors, words, self.case)
        missing = {word: self._instead(word) for word, place in places.items() if place < 0}
        return places, {word: vector for word, vector in missing.items() if vector is not None}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of all its scores should know."""
        return () if self.weighting == "mean" or self._frequencies.of_text else (OF_THE_TABLE,)

    @property
    def _told(self) -> dict[str, str]:
        """How words are weighted, for tables; text, since numbers are summed there."""
        return {"a": str(self.a), "of_words": str(self._frequencies.total)} if self.weighting == "sif" else {}

    @cached_property
    def _frequencies(self) -> Frequencies:
        return frequencies(self.vectors, self.counts, self.total)

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return self._frequencies.weights(self.a)

    @cached_property
    def _mean(self) -> NDArray[np.float64]:
        return mean_of(self.vectors)

    def _instead(self, word: str) -> NDArray[np.float64] | None:
        if self.oov == "mean":
            return self._mean
        return ask(word, self.fallback, dim=self.dim) if self.fallback is not None else None


def as_target(thing: Any, *, name: str = "", settings: EvaluationSettings = DEFAULTS) -> Target | None:
    """A target out of an encoder or StaticVectors, as settings say; a target itself; None for anything else."""
    oov, language, lowercase = settings.oov or "drop", settings.language, settings.lowercase
    if isinstance(thing, StaticVectors):
        return TableTarget(thing, name or "vectors", oov, language=language, lowercase=lowercase)
    if isinstance(thing, EncoderLike):
        return ModelTarget(as_encoder(thing), name, language, lowercase, oov=oov)
    return thing if isinstance(thing, Target) else None


def name_of(target: Target, layer: str, repair: str) -> str:
    """How tables call a target at a layer after a repair."""
    named = f"{target.name} layer {layer}" if len(target.layers) > 1 else target.name
    return f"{named} + {repair}" if repair else named


def check_repair(target: Target, repair: Any, name: str) -> None:
    """Refuse fitted repairs, one or {layer: repair}, that are not of a target's layers or dimensions."""
    from limbeck.repairs.repair import chain_of  # scikit-learn is an extra

    for layer in target.layers:
        own = repair_for(repair, layer, name)
        wanted = chain_of(own)[0][1].n_features_in_
        if wanted != target.dim:
            raise InputError(
                f"{name}: a repair must be of the vectors' own space, got one for {wanted} dimensions and "
                f"{target.name} has {target.dim}: give the one that was fitted on it.",
                code="other_dimensions",
                parameter="repair",
            )


def repair_for(repair: Any, layer: str, name: str) -> Any:
    """The repair of a layer, where there is one for each."""
    if not isinstance(repair, Mapping):
        return repair
    if layer not in repair:
        raise UsageError(
            f"{name}: the repairs are those of layers {', '.join(repair)}, got {layer}: choose --layers among them.",
            code="other_layers",
            parameter="repair",
        )
    return repair[layer]
