"""Whether the sentences that words are read in are in the language of the text, or of the words."""

from __future__ import annotations

from limbeck.corpus.language import Fit, fit_of_list, function_words, listed, words_in
from limbeck.distillation.methods import METHODS, in_order, templates_of
from limbeck.distillation.settings import TEMPLATE, TEMPLATES, DistillSettings
from limbeck.runs.distilling.subject import Subject


def templates_warning(subject: Subject, settings: DistillSettings) -> str:
    """What to tell where words of another language are read in English sentences; "" where they are not."""
    if not are_english(templates_read(subject, settings)):
        return ""
    if subject.source is None:
        what, fit = "words", fit_of_list(subject.only or (), "en")
    elif (corpus := subject.source.corpus) is not None:
        what, fit = "text", corpus.fit
    else:
        return ""
    told = language_told(fit, what)
    return (
        f"words are read in English sentences, and {told}: give --template sentences of its language." if told else ""
    )


def language_told(fit: Fit, what: str) -> str:
    """That a text or words are not in English, and which language they are in; "" where nobody knows or they are."""
    plural = what == "words"
    if fit:
        return "" if fit.language in ("en", "xx") else f"--language says {listed([fit.language])}"
    if fit.looks:
        return "" if "en" in fit.looks else f"the {what} {'look' if plural else 'looks'} like {listed(fit.looks)}"
    return f"the {what} {'do' if plural else 'does'} not look like English (en)" if fit.language == "en" else ""


def templates_read(subject: Subject, settings: DistillSettings) -> list[str]:
    """The sentences that words are, or may be, read in."""
    found = [
        template
        for name in in_order(settings)
        if "template" in METHODS[name].heeds
        for template in templates_of(name, settings)
    ]
    if subject.encoder is not None and (subject.only or subject.also) and settings.unseen == "frame":
        found += settings.template or (TEMPLATE,)
    return found


def are_english(templates: list[str]) -> bool:
    """Whether half the words of sentences with {} are English function words; those that are built in are English."""
    if not templates or {*templates} <= {TEMPLATE, *TEMPLATES}:
        return bool(templates)
    words = list(words_in(" ".join(templates).lower()))
    return 2 * sum(word in function_words("en") for word in words) >= max(2, len(words))
