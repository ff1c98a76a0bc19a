"""What the claims of Gupta & Jaggi (2021) are judged on: a parent and the static vectors made from it, in parts.

A file of word vectors is judged too, where a claim is about existing vectors; it has one part, its scores.
"""

from __future__ import annotations

import math

from limbeck.papers.estimates import CannotShow, Estimate
from limbeck.papers.parts import ModelInParts, estimate
from limbeck.papers.table_sources import WORD_VECTORS

#: part -> what it is, for people who wait for it
PARTS = {
    "similarity": "word similarity of its static vectors",
    "size": "word similarity by size of the text",
    "contexts": "other contexts for X2Static, on a part of the text",
    "classify": "classification with its static vectors",
    "finetuned": "classification by the parent itself, fine-tuned",
}
AVERAGE, SENTENCE, PARAGRAPH, SENT2VEC = "average", "x2static-sentence", "x2static-paragraph", "sent2vec"
SKIPGRAM, CBOW = "skipgram-ngrams", "cbow-ngrams"
FROZEN, FINE_TUNED = "frozen", "fine-tuned"  #: not static: the parent as it is, and trained on the task
READ_IN_PARAGRAPH = "paragraph"  #: a context of §3: the sentence's words as they are when its paragraph is read
BEST, CHOSEN = "average, best layer", "average, layer chosen on other sets"
#: method -> what tables call it
METHODS = {
    AVERAGE: "average over contexts (ASE)",
    SENTENCE: "X2Static, sentence",
    PARAGRAPH: "X2Static, paragraph",
    "skipgram": "skip-gram",
    SKIPGRAM: "skip-gram with n-grams",
    "cbow": "CBOW",
    CBOW: "CBOW with n-grams",
    SENT2VEC: "Sent2Vec's objective",
    FROZEN: "the frozen parent, a linear classifier",
    FINE_TUNED: "the parent itself, fine-tuned",
    "file": "as it is",
}
TRAINED = ("skipgram", SKIPGRAM, "cbow", CBOW, SENT2VEC)  #: on the same text, without the parent
EXISTING = "existing"  #: a table of word similarity: X2Static beside files of vectors
MEAN = "mean"  #: in the place of a set: the mean over the sets


class Parent(ModelInParts):
    """A parent, distilled here or by the paper; or a file of word vectors, of the family `WORD_VECTORS`."""

    PARTS = PARTS

    @property
    def is_file(self) -> bool:
        return self.family == WORD_VECTORS

    def score(self, method: str, *, layer: str = "", over: str = MEAN) -> Estimate:
        """Word similarity of one method, on a set or on average."""
        (row,) = self.rows("similarity", "scores", method=method, layer=layer, set=over)
        return estimate(row)

    def has(self, method: str) -> bool:
        return any(row["method"] == method for row in self.part("similarity").rows("scores"))

    def difference(self, one: str, other: str, *, over: str = MEAN) -> Estimate:
        """How much higher a method scores than another on the same pairs; pairs resampled."""
        (row,) = self.rows("similarity", "differences", one=one, other=other, set=over)
        return estimate(row)

    @property
    def best_layer(self) -> str:
        """Of the average: highest mean over the very sets that are told, as in the paper."""
        return self._layer("best_layer")

    @property
    def chosen_layer(self) -> str:
        """Of the average: highest mean over other sets."""
        return self._layer("chosen_layer")

    def _layer(self, name: str) -> str:
        layer = self.part("similarity").about.get(name)
        if layer is None:
            raise CannotShow(str(self.part("similarity").about.get(f"no_{name}", "no layer was chosen")))
        return str(layer)

    def by_layer(self, over: str = MEAN) -> list[tuple[str, float]]:
        """The average's score by layer."""
        return [(row["layer"], row["value"]) for row in self.rows("similarity", "scores", method=AVERAGE, set=over)]


def known(value: float) -> bool:
    return math.isfinite(value)
