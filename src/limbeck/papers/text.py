"""The text that papers are tried on, and the senses of words that its labels tell."""

from __future__ import annotations

from pathlib import Path

from limbeck.corpus import Corpus
from limbeck.corpus.sample import sample_path
from limbeck.errors import InputError

#: layers of annotation that tell a word's sense, the finest first
SENSE_LABELS = ("sense", "class")
LABELLED = ("jsonl", "semcor", "wikipse")  #: formats that can have them


def default_corpus() -> Path:
    """The labelled sample corpus of the package: the file itself, whatever else is called so where the user is."""
    return sample_path()


def count_senses(corpus: Corpus, *, label: str | None = None) -> dict[str, int]:
    """In how many senses each labelled word stands in a corpus; words in lower case.

    label  the layer of annotation to count; None: the first of `SENSE_LABELS` that the corpus has

    Labels of several words together ("New York") are no label of one of them, and are left out.
    """
    wanted = (label,) if label else SENSE_LABELS
    found: dict[str, dict[str, set[str]]] = {name: {} for name in wanted}
    if corpus.format in LABELLED:
        for sentence in corpus:
            for index, layers in sentence.labels.items():
                if layers.get("span", "1") == "1":
                    for name in found.keys() & layers.keys():
                        found[name].setdefault(sentence.words[index].lower(), set()).add(layers[name])
    for senses in found.values():
        if senses:
            return {word: len(values) for word, values in senses.items()}
    if label:
        where = ", ".join(corpus.paths) or "the text"
        raise InputError(
            f"{where}: must have words with the label {label!r}; it has none: check --sense-label.",
            code="no_labels",
            parameter="sense_label",
        )
    return {}
