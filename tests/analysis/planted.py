"""Made texts and vectors in which the truth is known."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from limbeck.corpus.units import Text

NOUNS = "lamp river cellar kettle owl harbour winter story copper meadow".split()
VERBS = "rose fell moved stopped turned waited burned sank".split()
ADJECTIVES = "old cold green small quiet dark warm tall".split()


def conllu(count: int = 60, *, seed: int = 0) -> str:
    """Sentences "The ADJ NOUN VERB of the ADJ NOUN , and PRON VERB ." with random words, as a treebank writes them."""
    generator = np.random.default_rng(seed)
    lines = []
    for number in range(count):
        adjective, other = generator.choice(ADJECTIVES, 2, replace=False)
        noun, second = generator.choice(NOUNS, 2, replace=False)
        verb, last = generator.choice(VERBS, 2, replace=False)
        rows = [
            ("The", "the", "DET", "DT", "Definite=Def|PronType=Art"),
            (adjective, adjective, "ADJ", "JJ", "Degree=Pos"),
            (noun, noun, "NOUN", "NN", "Number=Sing"),
            (verb, verb, "VERB", "VBD", "Mood=Ind|Tense=Past|VerbForm=Fin"),
            ("of", "of", "ADP", "IN", "_"),
            ("the", "the", "DET", "DT", "Definite=Def|PronType=Art"),
            (other, other, "ADJ", "JJ", "Degree=Pos"),
            (second, second, "NOUN", "NN", "Number=Sing"),
            (",", ",", "PUNCT", ",", "_"),
            ("when", "when", "ADV", "WRB", "PronType=Int"),
            ("it", "it", "PRON", "PRP", "Case=Nom"),
            (last, last, "VERB", "VBD", "Mood=Ind|Tense=Past|VerbForm=Fin"),
            (".", ".", "PUNCT", ".", "_"),
        ]
        lines.append(f"# sent_id = {number}")
        for place, (form, lemma, upos, xpos, feats) in enumerate(rows, 1):
            lines.append("\t".join([str(place), form, lemma, upos, xpos, feats, "0", "dep", "_", "_"]))
        lines.append("")
    return "\n".join(lines) + "\n"


def numbers(text: str, size: int) -> Any:
    """Standard normal numbers that depend on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(size)


def by_word_and_context(dim: int = 24) -> Callable[[Sequence[Text]], list[Any]]:
    """An encoder's function: a word's vector is its own plus a little of its neighbours."""

    def encode(texts: Sequence[Text]) -> list[Any]:
        made = []
        for text in texts:
            own = np.stack([numbers(word, dim) for word in text.words])
            beside = np.stack([numbers(f"{place} {' '.join(text.words)}", dim) for place in range(len(text.words))])
            made.append(own + 0.3 * beside)
        return made

    return encode
