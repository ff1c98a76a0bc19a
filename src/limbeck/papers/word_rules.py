"""When a claim about words is held: stop words, variety of contexts, words that chance explains better."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from limbeck.papers.estimates import CannotShow, Estimate, Floats, Verdict, every, percent
from limbeck.papers.findings import Judgement, Rule
from limbeck.papers.rules import NAMES
from limbeck.papers.statistics import over_words, partial_spearman, spearman, superiority
from limbeck.papers.subjects import Subject, Words

Beside = Sequence[Subject]
LOWEST = 5  #: as many words as the paper names
FEWEST_WORDS = 20  #: fewer are no ground for a statement about words


def stop_words_of(language: str) -> frozenset[str]:
    """spaCy's list, clitics like 's among them."""
    try:
        listed = importlib.import_module(f"spacy.lang.{language}.stop_words").STOP_WORDS
    except ModuleNotFoundError:
        raise CannotShow(f"there is no list of stop words for the language {language!r}") from None
    return frozenset(listed)


def is_word(string: str) -> bool:
    """Punctuation and symbols alone are none, as in the paper."""
    return any(character.isalnum() for character in string)


def over_layers(table: Words) -> tuple[list[str], Floats, NDArray[np.int64]]:
    """Words, their self-similarity averaged over all layers, and their rows.

    Left out: punctuation, words undefined somewhere, and words too rare without the occurrences that have no vector
    (a decoder's first positions).
    """
    means = table.self_similarity.mean(axis=1)
    kept = np.isfinite(means) & (table.n >= table.least)
    rows = np.array([i for i, word in enumerate(table.words) if kept[i] and is_word(word)], dtype=np.int64)
    if len(rows) < FEWEST_WORDS:
        raise CannotShow(f"{len(rows)} words are too few for a statement about words")
    return [table.words[row] for row in rows], means[rows], rows


def stop_words_lowest(least: float) -> Rule:
    """Stop words are below other words in so many of the pairs."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        words, means, _rows = over_layers(subject.table())
        stop = np.isin([word.lower() for word in words], list(stop_words_of(subject.language)))
        if not 2 <= stop.sum() <= len(words) - 2:
            raise CannotShow(f"{int(stop.sum())} of {len(words)} words are stop words: too few of one kind")
        found = over_words(
            lambda values, marks: (
                superiority(values[marks > 0], values[marks == 0]) if 0 < marks.mean() < 1 else np.nan
            ),
            means,
            stop.astype(np.float64),
            name=f"stop words {subject.name}",
        )
        numbers = {
            "share of pairs in which the stop word is lower": found,
            "mean of stop words": Estimate(float(means[stop].mean())),
            "mean of other words": Estimate(float(means[~stop].mean())),
        }
        why = f"lower in {percent(found.value)} of pairs ({int(stop.sum())} stop words, {int((~stop).sum())} others)"
        return Judgement(found.above(least), why, numbers)

    text = f"in more than {percent(least)} of the pairs of a stop word and another word, the stop word has the lower "
    return Rule(f"{text}self-similarity, averaged over all layers; words resampled", judge)


def lowest_are_stop_words(sure: int, possible: int) -> Rule:
    """Of the five words of lowest self-similarity, so many are stop words."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        words, means, _rows = over_layers(subject.table())
        lowest = tuple(words[i] for i in np.argsort(means, kind="stable")[:LOWEST])
        stop = stop_words_of(subject.language)
        count = sum(word.lower() in stop for word in lowest)
        verdict = Verdict.HELD if count >= sure else Verdict.CLOSE if count >= possible else Verdict.NOT_HELD
        numbers = {"stop words among the five lowest": Estimate(count)}
        told = ", ".join(f"“{word}”" for word in lowest)
        return Judgement(verdict, f"{told}: {count} stop words", numbers, words=lowest)

    text = f"at least {sure} of the five words of lowest self-similarity, averaged over all layers, are stop words; "
    return Rule(f"{text}{possible} are too close to call", judge)


def contexts_rather_than_senses() -> Rule:
    """Self-similarity goes with the number of contexts more than with the number of senses."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        table = subject.table()
        words, means, rows = over_layers(table)
        contexts, n = table.contexts[rows].astype(np.float64), table.n[rows].astype(np.float64)
        if min(len(np.unique(column)) for column in (means, contexts, n)) < 2:
            raise CannotShow("words do not differ in self-similarity, or in number of contexts")
        name = f"variety {subject.name}"
        numbers = {
            "with log frequency, all words": over_words(spearman, means, np.log(n), name=name),
            "with distinct contexts, all words": over_words(spearman, means, contexts, name=name),
        }
        told = f"rank correlation {numbers['with distinct contexts, all words']} with contexts"
        senses = np.array([subject.senses.get(word.lower(), 0) for word in words], dtype=np.float64)
        known = senses > 0
        if known.sum() < FEWEST_WORDS or len(np.unique(senses[known])) < 2:
            why = f"{told}; {int(known.sum())} followed words have labels of their senses, or all have equally many"
            return Judgement(Verdict.UNSHOWN, why, numbers)
        columns = (means[known], contexts[known], senses[known])
        by_contexts = over_words(lambda y, c, s: spearman(y, c), *columns, name=name)
        by_senses = over_words(lambda y, c, s: spearman(y, s), *columns, name=name)
        apart = over_words(lambda y, c, s: spearman(y, s) - spearman(y, c), *columns, name=name)
        numbers |= {
            "with distinct contexts, labelled words": by_contexts,
            "with senses, labelled words": by_senses,
            "with senses at equal contexts": over_words(lambda y, c, s: partial_spearman(y, s, c), *columns, name=name),
            "difference": apart,
        }
        why = f"rank correlation {by_contexts} with contexts, {by_senses} with senses ({int(known.sum())} words)"
        return Judgement(every([by_contexts.below(0), apart.above(0)]), why, numbers)

    text = "over the words whose senses are labelled, the rank correlation of self-similarity (averaged over all "
    return Rule(
        f"{text}layers) with the number of contexts is below 0, and below that with the number of senses", judge
    )


def many_words_below_baseline(definition: str, least: float) -> Rule:
    """The raw MEV of so many words is below chance at their own number of occurrences."""

    def judge(subject: Subject, _: Beside) -> Judgement:
        table = subject.table()
        places = [place for place in range(len(subject.layers)) if place or not subject.has_input]
        values, chance = (kind[definition][:, places] for kind in (table.mev, table.mev_baseline))
        defined = np.isfinite(values) & np.isfinite(chance)
        some = defined.any(axis=1)
        if some.sum() < FEWEST_WORDS:
            raise CannotShow(f"{int(some.sum())} words with a MEV and a baseline are too few")
        below = np.where(defined, values < chance, np.nan)[some]
        found = over_words(lambda share: float(share.mean()), np.nanmean(below, axis=1), name=f"{definition} below")
        curve = {"share of words below the baseline": tuple(_mean_by_layer(below).tolist())}
        why = f"{percent(found.value)} of words on average over contextual layers"
        return Judgement(found.above(least), why, {"share of words": found}, curve=curve)

    text = (
        f"raw {NAMES[definition]} is below the word's baseline for more than {percent(least)} of the words, on average "
    )
    return Rule(f"{text}over contextual layers; words resampled", judge)


def _mean_by_layer(values: Floats) -> Floats:
    """Means of columns over what is defined; NaN where nothing is."""
    defined = np.isfinite(values)
    counts = defined.sum(axis=0)
    return np.where(counts > 0, np.where(defined, values, 0).sum(axis=0) / np.maximum(counts, 1), np.nan)
