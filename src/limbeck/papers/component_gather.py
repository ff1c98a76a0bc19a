"""Table 1 of Ethayarajh (2019) model by model: kept as soon as it is scored, taken from where it was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.errors import LimbeckError
from limbeck.papers.component_vectors import component_part, ends, file_part
from limbeck.papers.parts import Part, forget_parts, keep_part, kept_part
from limbeck.runs.execution.sources import CORPUS_OPTIONS, is_static, open_corpus
from limbeck.vectors import StaticVectors

MIN_COUNT = 5  #: occurrences that a word needs, as in the paper


def gather_components(
    models: Mapping[str, Mapping[str, Any]],
    corpus: Sequence[str],
    sets: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    folder: Path,
    resume: bool,
) -> list[Part | str]:
    """A part for each model, or why there is none; files of vectors are cut to the words of the text.

    models   as they were named -> run.json of their measuring
    options  of the text and of the encoders, `max_contexts` and `seed`
    """
    if not resume:
        forget_parts(folder, map(str, range(1, len(models) + 1)))
    text = {name: value for name, value in options.items() if name in CORPUS_OPTIONS}
    found: list[Part | str] = []
    for number, (model, account) in enumerate(models.items()):
        source = account.get("source") or {}
        asked = {
            "model": source.get("encoder_fingerprint"),
            "text": source.get("corpus_fingerprint"),
            "sets": sorted(sets),
            "options": dict(options),
        }
        path = folder / f"{number + 1}.json"
        part = kept_part(path, asked)
        if part is None:
            try:
                if is_static(model):
                    words = words_of_text(corpus, text)
                    vectors = StaticVectors.load(Path(model).expanduser())
                    part = file_part(vectors, words, sets, seed=options.get("seed", 0))
                else:
                    layers = ends([str(layer) for layer in account["layers"]])
                    part = component_part(model, list(corpus), layers, sets, min_count=MIN_COUNT, **options)
            except LimbeckError as error:
                found.append(str(error).rstrip("."))
                continue
            keep_part(path, part, asked)
        found.append(part)
    return found


def words_of_text(corpus: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """Words of the text that occur often enough, in lower case."""
    counts: dict[str, int] = {}
    with open_corpus(list(corpus), **options) as text:
        for sentence in text:
            for word in sentence.words:
                counts[word.lower()] = counts.get(word.lower(), 0) + 1
    return [word for word, count in counts.items() if count >= MIN_COUNT]
