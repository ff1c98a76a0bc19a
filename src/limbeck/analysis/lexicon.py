"""Labelled verbs of a corpus: their tense, by label or by a lexicon learnt from a treebank, and their sense."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from limbeck.analysis.settings import VERBS, TenseSettings
from limbeck.corpus import Sentence
from limbeck.errors import InputError, LimbeckError
from limbeck.seeds import hash_occurrences

SURE = 0.95  #: share of a form's tensed uses that must be of one tense
AMBIGUOUS = "verb form of more than one tense"
UNKNOWN = "verb form not in the treebank"
UNTENSED = "verb form never tensed in the treebank"
MULTIWORD = "verb of several words"
BEYOND = "beyond the number kept of each verb, sense and tense"
#: of UD -> what tables call it
TENSES = {"Past": "past", "Pres": "present"}

Form = tuple[str, str]  #: lemma and word, in lower case


@dataclass(frozen=True)
class TenseLexicon:
    """Tense of verb forms as a treebank uses them.

    Uses without a tense (infinitives, imperatives, gerunds) do not count, so that "walk" is present by its tensed uses
    and stays so where it is an infinitive, which a form cannot tell.
    """

    uses: Mapping[Form, Mapping[str, int]]

    @classmethod
    def learn(cls, treebank: Iterable[Sentence]) -> TenseLexicon:
        """From sentences with lemma, upos and feats."""
        uses: dict[Form, Counter[str]] = {}
        for sentence in treebank:
            for place, labels in sentence.labels.items():
                if labels.get("upos") in ("VERB", "AUX") and "lemma" in labels:
                    form = labels["lemma"].lower(), sentence.words[place].lower()
                    feats = dict(part.split("=", 1) for part in labels.get("feats", "").split("|") if "=" in part)
                    tense = TENSES.get(feats.get("Tense", ""))
                    uses.setdefault(form, Counter()).update([tense] if tense else [])
        if not any(uses.values()):
            raise InputError(
                "The treebank must have verbs with a tense, none has: give a CoNLL-U file to --data.",
                code="no_labels",
                parameter="data",
            )
        return cls(uses)

    def tense(self, lemma: str, word: str) -> tuple[str, str]:
        """The tense of a form, or why it has none: ("past", "") or ("", reason)."""
        uses = self.uses.get((lemma.lower(), word.lower()))
        if uses is None:
            return "", UNKNOWN
        if not uses:
            return "", UNTENSED
        tense = max(uses, key=lambda name: uses[name])
        return (tense, "") if uses[tense] >= SURE * sum(uses.values()) else ("", AMBIGUOUS)


@dataclass(frozen=True)
class Verbs:
    """Labelled verb occurrences, in the order of the corpus.

    sentences  those that hold one, numbered as `identities` and `places` name them
    senses     empty strings where the corpus tells none
    dropped    reason -> occurrences that were left out
    """

    sentences: list[Sentence]
    identities: NDArray[np.int64]
    places: NDArray[np.int64]
    lemmas: list[str]
    tenses: list[str]
    senses: list[str]
    dropped: dict[str, int]

    def __len__(self) -> int:
        return len(self.lemmas)

    @property
    def hashes(self) -> NDArray[np.uint64]:
        return hash_occurrences(self.identities, self.places)

    @property
    def with_senses(self) -> bool:
        return any(self.senses)


@dataclass(frozen=True)
class _Verb:
    sentence: int
    place: int
    lemma: str
    tense: str
    sense: str


def find_verbs(
    corpus: Iterable[Sentence],
    lexicon: TenseLexicon | None = None,
    settings: TenseSettings = VERBS,
    *,
    seed: int = 0,
) -> Verbs:
    """Verbs with two senses of enough occurrences each, and of each verb, sense and tense not too many.

    A sense is WordNet's (label "sense" with a lexsn of verbs, as in SemCor); its tense comes from the lexicon. Where
    words carry a "tense" label that is taken, and no sense is needed: all verbs with both tenses are.
    """
    least, most = settings.min_occurrences, settings.max_occurrences
    sentences: list[Sentence] = []
    sensed: list[_Verb] = []
    tensed: list[_Verb] = []
    dropped: Counter[str] = Counter()
    for sentence in corpus:
        before = len(sensed) + len(tensed)
        for place, labels in sentence.labels.items():
            lemma, sense = labels.get("lemma", "").lower(), labels.get("sense", "")
            if labels.get("tense"):
                tensed.append(_Verb(len(sentences), place, lemma, labels["tense"], sense))
            elif sense and labels.get("lexsn", "").startswith("2:"):
                if "span" in labels:
                    dropped[MULTIWORD] += 1
                else:
                    sensed.append(_Verb(len(sentences), place, lemma, "", sense))
        if len(sensed) + len(tensed) > before:
            sentences.append(sentence)
    if tensed:
        found = _both_tenses(tensed)
    elif sensed:
        if lexicon is None:
            raise LimbeckError(
                "The corpus tells senses but no tenses: give a treebank (CoNLL-U) to --data.",
                code="no_labels",
                parameter="data",
            )
        found = _with_tense(_polysemous(sensed, least), sentences, lexicon, dropped)
    else:
        raise InputError(
            "The corpus must label verbs with a tense or a sense (SemCor); it labels none: give such a --corpus, or "
            "none for the sample corpus.",
            code="no_labels",
            parameter="corpus",
        )
    if not found:
        raise LimbeckError(
            f"no verb has two senses of at least {least} occurrences in known tenses: lower --min-occurrences, or give "
            "more text.",
            code="too_few",
            parameter="min_occurrences",
        )
    kept = _at_most(found, sentences, most, seed, dropped)
    return _verbs(kept, sentences, dropped)


def _both_tenses(found: Sequence[_Verb]) -> list[_Verb]:
    tenses: dict[str, set[str]] = {}
    for verb in found:
        tenses.setdefault(verb.lemma, set()).add(verb.tense)
    return [verb for verb in found if len(tenses[verb.lemma]) > 1]


def _polysemous(found: Sequence[_Verb], least: int) -> list[_Verb]:
    counts = Counter(verb.sense for verb in found)
    senses: dict[str, set[str]] = {}
    for verb in found:
        if counts[verb.sense] >= least:
            senses.setdefault(verb.lemma, set()).add(verb.sense)
    return [verb for verb in found if len(senses.get(verb.lemma, ())) > 1 and verb.sense in senses[verb.lemma]]


def _with_tense(
    found: Sequence[_Verb], sentences: Sequence[Sentence], lexicon: TenseLexicon, dropped: Counter[str]
) -> list[_Verb]:
    told = []
    for verb in found:
        tense, why = lexicon.tense(verb.lemma, sentences[verb.sentence].words[verb.place])
        if why:
            dropped[why] += 1
        else:
            told.append(replace(verb, tense=tense))
    return told


def _at_most(
    found: Sequence[_Verb], sentences: Sequence[Sentence], most: int, seed: int, dropped: Counter[str]
) -> list[_Verb]:
    """The smallest hashes of each verb, sense and tense, so that more text changes the choice no more than it must."""
    identities = np.array([sentences[verb.sentence].identity for verb in found], dtype=np.int64)
    order = np.argsort(hash_occurrences(identities + seed, np.array([verb.place for verb in found])), kind="stable")
    taken: Counter[tuple[str, str, str]] = Counter()
    kept = []
    for at in order.tolist():
        verb = found[at]
        group = verb.lemma, verb.sense, verb.tense
        taken[group] += 1
        if taken[group] <= most:
            kept.append(at)
    if len(kept) < len(found):
        dropped[BEYOND] += len(found) - len(kept)
    return [found[at] for at in sorted(kept)]


def _verbs(found: Sequence[_Verb], sentences: Sequence[Sentence], dropped: Counter[str]) -> Verbs:
    """With the sentences that are needed alone, numbered anew from 0 in documents of a thousand."""
    needed = sorted({verb.sentence for verb in found})
    number = {sentence: at for at, sentence in enumerate(needed)}
    made = [
        replace(sentences[at], document=place // 1000, paragraph=0, index=place % 1000)
        for place, at in enumerate(needed)
    ]
    return Verbs(
        sentences=made,
        identities=np.array([made[number[verb.sentence]].identity for verb in found], dtype=np.int64),
        places=np.array([verb.place for verb in found], dtype=np.int64),
        lemmas=[verb.lemma for verb in found],
        tenses=[verb.tense for verb in found],
        senses=[verb.sense for verb in found],
        dropped=dict(dropped),
    )
