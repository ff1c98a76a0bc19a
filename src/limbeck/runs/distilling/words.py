"""Which words a distilling run is about: those of the result, and those of the text that others need beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from limbeck.distillation.methods import METHODS, NOTHING, in_order, predicts, start_of
from limbeck.distillation.predicting import FITTED
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.wordlist import WordList, choose_words, folded, following
from limbeck.runs.distilling.subject import Subject
from limbeck.stream import Plan

COMPANY = 1000  #: words, the text's own if need be, that a method which compares words is given


@dataclass(frozen=True)
class Chosen:
    """The words of a run, and the plans that follow them.

    plan      follows all of them
    listed    the words of the result, and behind them those that they are compared with
    read      for the pass over the text: follows the list, and where a training begins from the pass its words too
    training  for methods that train: follows the text's own words and those that are named, whatever else is asked
              for, since what a word is set against and which share of the text it has must not hang on what is shown;
              None where nothing trains
    begin     the list of words that a training begins from, and that others are brought into its space by; `listed`
              itself where that has them all
    """

    plan: Plan
    listed: WordList
    read: Plan
    training: Plan | None
    begin: WordList


def choose(whole: Plan, subject: Subject, settings: DistillSettings, *, fold: bool) -> Chosen:
    """The words of a run, of a plan that follows all words of the text. Of `Chosen.plan` it gives the same again."""
    if fold:
        whole = replace(whole, vocabulary=folded(whole.vocabulary))
    trains = any(METHODS[name].train is not None for name in in_order(settings))
    if subject.only is None:
        company = company_for(in_order(settings))
        plan, listed = choose_words(whole, settings, fold=fold, also=subject.also, company=company)
        training = following(whole, listed.words[: listed.shown]) if trains else None
        return Chosen(plan, listed, plan, training, listed)
    company = company_for(made_to_show(settings))
    fit_on = FITTED if learning_from_words(subject, settings) else 0
    named = (*subject.only, *subject.also)
    read, listed = choose_words(
        whole, settings, fold=fold, only=subject.only, also=subject.also, company=company, to_fit_on=fit_on
    )
    if not trains:
        return Chosen(read, listed, read, None, listed)
    before = made_to_begin_from(settings)
    there = [word for word, row in zip(named, whole.vocabulary.ids(named).tolist(), strict=True) if row >= 0]
    _, begin = choose_words(whole, settings, fold=fold, also=there, company=company_for(before))
    training = following(whole, begin.words[: begin.shown])
    plan = following(whole, [*listed.words, *begin.words])
    if any(METHODS[name].accumulators is not None for name in before):
        read = plan
    return Chosen(plan, listed.within(plan.vocabulary), read, training, begin.within(plan.vocabulary))


def made_to_show(settings: DistillSettings) -> list[str]:
    """The methods that are asked for, and those that they are made of."""
    return in_order(replace(settings, start=NOTHING))


def made_to_begin_from(settings: DistillSettings) -> list[str]:
    """The methods that some training begins from, and those that these need."""
    starts = dict.fromkeys(filter(None, (start_of(name, settings) for name in in_order(settings))))
    return in_order(replace(settings, method=tuple(starts))) if starts else []


def company_for(methods: Iterable[str]) -> int:
    """How many words a list needs at least, for methods that compare words."""
    return COMPANY if any(METHODS[name].compose is not None for name in methods) else 0


def learning_from_words(subject: Subject, settings: DistillSettings) -> list[str]:
    """The methods that learn from the words of the list what a word is like that the text lacks.

    A method that compares words is given enough of them for that, and reads each of them often. One that trains learns
    from those that it is trained on.
    """
    if subject.encoder is None:
        return []
    others = [name for name in settings.methods if METHODS[name].compose is None and METHODS[name].train is None]
    return [name for name in others if predicts(name, settings)]
