"""What is asked of every model when the claims of Rajaee & Pilehvar (2021) are tried, and how much of everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from limbeck.papers.space_data import Data


@dataclass(frozen=True)
class Caps:
    """How much is read and tried; what costs time.

    points      occurrences that isotropy is measured on, chosen by hash
    sample      occurrences that repairs are fitted on, and that frequency and clusters look at
    pairs       of each set of sentence pairs; None for all
    seeds       clusterings that are averaged
    clusters, components   tried in tuning
    train, reported, starts, epochs  of classification: examples, training runs
    groups      of sentences of one structure, for each token
    occurrences of each verb, sense and tense
    """

    points: int = 50_000
    sample: int = 20_000
    pairs: int | None = None
    seeds: int = 5
    clusters: tuple[int, ...] = (5, 10, 15, 20, 25, 27, 30)
    components: tuple[int, ...] = tuple(range(5, 31))
    train: int = 1000
    reported: int = 1000
    starts: int = 5
    epochs: int = 10
    groups: int = 200
    occurrences: int = 10


QUICK = Caps(
    points=3000, sample=3000, pairs=150, seeds=2, clusters=(5, 15, 27), components=(5, 10, 15), train=150, reported=150,
    starts=2, epochs=4, groups=30, occurrences=5,
)  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """What is asked of every model.

    corpus      text of the user's, or the sample corpus: repairs that know nothing of the tasks are fitted on it
    own_text    whether the user named it: then layers are measured on it, and else on the development set's sentences
    text        options of `open_corpus`
    encoder     options of `open_encoder`
    count_in    texts in which words are counted for their frequency; none: the text itself
    published   the paper's way where it differs: repairs fitted on what is looked at, flattened features
    """

    data: Data
    corpus: Sequence[str]
    own_text: bool
    text: Mapping[str, Any]
    encoder: Mapping[str, Any]
    count_in: Sequence[str] = ()
    caps: Caps = Caps()
    preset: str = "corrected"
    seed: int = 0
    progress: bool = False

    @property
    def published(self) -> bool:
        return self.preset != "corrected"

    @property
    def lowercase(self) -> bool:
        return bool(self.text.get("lowercase"))

    @property
    def language(self) -> str:
        return str(self.text.get("language", "en"))
