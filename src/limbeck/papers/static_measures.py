"""The parts of a parent: scores of its static vectors by set, by size of the text, by context, in classification."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from limbeck.analysis.result import columns_of
from limbeck.corpus import Corpus
from limbeck.distillation.distilled import DistilledVectors
from limbeck.errors import LimbeckError
from limbeck.evaluation.task import Pairs
from limbeck.papers.estimates import CannotShow
from limbeck.papers.parts import Part
from limbeck.papers.static_classify import Networks, classification, classify_frozen
from limbeck.papers.static_scores import (
    Scoreboard,
    Way,
    all_pair_values,
    cosines_of,
    difference_rows,
    existing_rows,
    score_rows,
    scoreboard,
)
from limbeck.papers.static_subjects import (
    AVERAGE,
    BEST,
    CBOW,
    CHOSEN,
    EXISTING,
    FROZEN,
    PARAGRAPH,
    READ_IN_PARAGRAPH,
    SENT2VEC,
    SENTENCE,
    SKIPGRAM,
    TRAINED,
)
from limbeck.papers.static_vectors import ParentVectors
from limbeck.stream.progress import Progress
from limbeck.vectors import StaticVectors

CURVE_PAIRS = 50  #: that a text must know for the curve by size to begin with it
#: how vectors are trained, X2Static's and Sent2Vec's alike, where contexts are compared
ALIKE: dict[str, Any] = {"epochs": 1, "learning_rate": 1e-2, "schedule": "constant"}


class Distilling(ParentVectors):
    """Every part of one parent; vectors that several parts need are made once."""

    def similarity(self) -> Part:
        """Tables 3 and 6."""
        sets = self.wanted.sets
        averages = self.all_averages
        x2static = {SENTENCE: self.of_whole_text["sentence"], PARAGRAPH: self.of_whole_text["paragraph"]}
        trained = self.trained()
        vectors: dict[Way, StaticVectors] = {(AVERAGE, layer): one for layer, one in averages.items()}
        vectors |= {(name, ""): one for name, one in {**x2static, **trained["vectors"]}.items()}
        known = words_of_all(vectors)
        told = {way: cosines_of(known_only(one, known), sets.told) for way, one in vectors.items()}
        board = scoreboard(told, sets.told, seed=self.wanted.seed)
        everything = {
            (AVERAGE, layer): all_pair_values(cosines_of(one, sets.told, fallback=self.without_text[layer]), sets.told)
            for layer, one in averages.items()
        }
        for name, unseen in trained["unseen"].items():
            cosines = cosines_of(trained["vectors"][name], sets.told, fallback=unseen)
            everything[name, ""] = all_pair_values(cosines, sets.told)
        layers = [way for way in board.ways if way[0] == AVERAGE]
        best = board.best(layers) if math.isfinite(board.value(layers[0])) else None
        about = {
            "best_layer": best[1] if best else None,
            "no_best_layer": "no set has pairs enough",
            "vocabulary": len(known),
            "missing": trained["missing"],
            **self.chosen(averages, known),
        }
        wanted = self._differences(board, best, about["chosen_layer"])
        tables = {
            "scores": columns_of(score_rows(board, everything)),
            "differences": columns_of(difference_rows(board, wanted)),
        }
        if self.wanted.files:
            own = cosines_of(x2static[PARAGRAPH], sets.told)
            rows = existing_rows((PARAGRAPH, ""), own, self.wanted.files, sets.told, seed=self.wanted.seed)
            tables[EXISTING] = columns_of(rows)
        return Part(tables, about)

    def chosen(self, averages: Mapping[str, DistilledVectors], known: set[str]) -> dict[str, Any]:
        """The average's layer that does best on the sets that are not told."""
        sets = self.wanted.sets.other
        if not sets:
            return {"chosen_layer": None, "no_chosen_layer": "needs MTurk-287, MTurk-771 or MEN to choose a layer on"}
        told = {(AVERAGE, layer): cosines_of(known_only(one, known), sets) for layer, one in averages.items()}
        board = scoreboard(told, sets, seed=self.wanted.seed, draws=1)
        if not board.used:
            return {"chosen_layer": None, "no_chosen_layer": "MTurk-287, MTurk-771 and MEN have too few pairs"}
        return {"chosen_layer": board.best(board.ways)[1]}

    def _differences(self, board: Scoreboard, best: Way | None, chosen: str | None) -> list[tuple[str, Way, str, Way]]:
        """What is compared with what."""
        others: dict[str, Way] = {name: (name, "") for name in (*TRAINED, SENTENCE) if (name, "") in board.ways}
        if best is not None:
            others[BEST] = best
        if chosen is not None:
            others[CHOSEN] = (AVERAGE, chosen)
        return [
            (one, (one, ""), other, way)
            for one in (SENTENCE, PARAGRAPH)
            for other, way in others.items()
            if other != one
        ]

    def size(self, similarity: Part) -> Part:
        """Figure 1: the average at its best layer, and X2Static with paragraphs, on beginnings of the text.

        All sizes are scored on the same pairs, those whose words the smallest text knows of which 50 pairs are known: a
        larger text then makes better vectors, not other pairs. Smaller texts are left out.
        """
        layer = similarity.about["best_layer"]
        if layer is None:
            raise CannotShow("no set has pairs enough")
        sets = {name: self.wanted.sets.told[name] for name in ("simlex-999", "rw") if name in self.wanted.sets.told}
        if not sets:
            raise CannotShow("needs SimLex-999 or RW: give the folder of their files by --data")
        encoder = self.encoder(layer)
        kept: dict[str, set[str]] = {}  # of each set the words of the smallest text that will do
        rows = []
        for share in (*self.wanted.caps.sizes, 1.0):
            number = max(1, round(share * self.sentences))
            corpus = self.corpus if share == 1 else self.beginning(number)
            words = int(self.lengths[:number].sum())
            averages = self.all_averages if share == 1 else self.averages(corpus, encoder)
            trained = self.of_whole_text["paragraph"] if share == 1 else self.x2static(corpus, "paragraph")
            ways: dict[Way, StaticVectors] = {(AVERAGE, layer): averages[layer], (PARAGRAPH, ""): trained}
            for name, pairs in sets.items():
                known = words_of_all(ways)
                if name not in kept and count_known(pairs, known) >= CURVE_PAIRS:
                    kept[name] = known
                if name in kept:
                    one = {name: pairs}
                    told = {way: cosines_of(known_only(vectors, kept[name]), one) for way, vectors in ways.items()}
                    board = scoreboard(told, one, seed=self.wanted.seed)
                    found = [row for row in score_rows(board, {}) if row["set"] == name]
                    rows += [{**row, "sentences": number, "words": words} for row in found]
        if not rows:
            raise CannotShow(f"SimLex-999 and RW have fewer than {CURVE_PAIRS} pairs of words that the text knows")
        return Part({"scores": columns_of(rows)}, {"layer": layer})

    def contexts(self) -> Part:
        """§3 and §3.1: other contexts than the mean over the sentence's words, on a part of the text.

        A masked target costs a reading of its sentence, so all have one epoch and learn faster instead.
        """
        sets = self.wanted.sets.told
        number = min(self.sentences, self.wanted.caps.sentences)
        corpus = self.beginning(number)
        made: dict[Way, StaticVectors] = {}
        missing = {}
        for context in ("words", "others", "masked"):
            try:
                made[context, ""] = self.x2static(corpus, "sentence", context=context, **ALIKE)
            except LimbeckError as error:
                missing[context] = str(error).rstrip(".")
        # as many steps for paragraphs as for sentences, that nothing but the context differs
        texts = max(1, round(self.training().batch_texts * paragraphs_of(corpus) / number))
        made[READ_IN_PARAGRAPH, ""] = self.x2static(corpus, "paragraph", batch_texts=texts, **ALIKE)
        made[SENT2VEC, ""] = self.sent2vec(corpus, **ALIKE)
        board = scoreboard({way: cosines_of(one, sets) for way, one in made.items()}, sets, seed=self.wanted.seed)
        pairs = [("words", SENT2VEC), (READ_IN_PARAGRAPH, "words"), ("others", "words"), ("masked", "words"),
                 ("masked", "others")]  # fmt: skip
        wanted = [(a, (a, ""), b, (b, "")) for a, b in pairs if (a, "") in made and (b, "") in made]
        tables = {
            "scores": columns_of(score_rows(board, {})),
            "differences": columns_of(difference_rows(board, wanted)),
        }
        return Part(tables, {"sentences": number, "missing": missing})

    def classify(self, similarity: Part | None) -> Part:
        """Table 4: a convolution on frozen vectors."""
        about = similarity.about if similarity is not None else {}
        layer = about.get("chosen_layer") or about.get("best_layer") or self.last_layer.layers[-1]
        (average,) = self.averaged(self.encoder(layer), self.corpus, min_count=self.min_count)
        vectors = {
            AVERAGE: average,
            SENTENCE: self.of_whole_text["sentence"],
            PARAGRAPH: self.of_whole_text["paragraph"],
        }
        vectors |= {name: one for name, one in self.trained()["vectors"].items() if name in (SKIPGRAM, CBOW, SENT2VEC)}
        caps = self.wanted.caps
        # small networks: a core for each, where there are several, is faster than one after the other on a device
        networks = Networks(vectors, self.wanted.classify, starts=caps.starts, max_train=caps.train,
                            seed=self.wanted.seed, device="cpu" if self.workers.count else self.device)  # fmt: skip
        results: dict[str, dict[str, Any]] = {}
        with Progress("classification", total=len(networks.units), unit="tasks", show=self.wanted.progress) as shown:
            for (method, task), found in zip(networks.units, self.workers.run(networks), strict=True):
                results.setdefault(method, {})[task] = found
                shown.advance(1)
        results[FROZEN] = {
            name: classify_frozen(task, self.last_layer, starts=caps.starts, max_train=caps.train,
                                  seed=self.wanted.seed, progress=self.wanted.progress)
            for name, task in self.wanted.classify.items()
        }  # fmt: skip
        return classification(results, layer=layer, seed=self.wanted.seed)


def count_known(pairs: Pairs, words: set[str]) -> int:
    """Pairs of which both words are known."""
    return sum(a.lower() in words and b.lower() in words for a, b in zip(pairs.first, pairs.second, strict=True))


def paragraphs_of(corpus: Corpus) -> int:
    return len({(sentence.document, sentence.paragraph) for sentence in corpus})


def words_of_all(vectors: Mapping[Way, StaticVectors]) -> set[str]:
    """Words that all have."""
    return set.intersection(*(set(one.words) for one in vectors.values()))


def known_only(vectors: StaticVectors, words: set[str]) -> StaticVectors:
    rows = [row for row, word in enumerate(vectors.words) if word in words]
    return StaticVectors([vectors.words[row] for row in rows], vectors.matrix[rows])
