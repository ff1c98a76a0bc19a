"""What a distilling run is about: teacher, text and words, and what can be told of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.corpus.language import Fit, fit_of_list, function_words, listed, words_in
from limbeck.corpus.sample import LICENCE, SAMPLE
from limbeck.distillation.methods import METHODS, in_order, templates_of
from limbeck.distillation.settings import TEMPLATE, TEMPLATES, DistillSettings
from limbeck.encoders.miniatures import is_miniature, miniature_folder
from limbeck.encoders.protocol import Encoder
from limbeck.seeds import hash_text
from limbeck.stream import Source


@dataclass(frozen=True)
class Subject:
    """What is distilled.

    source   a text read by the teacher, or kept vectors; None where words are read alone
    encoder  the teacher; None for kept vectors
    only     the words that are to have vectors; None: those of the text
    also     words beside those of the text
    notes    what a user should know of how it was opened
    """

    source: Source | None
    encoder: Encoder | None
    only: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()
    model: str = ""  # as it was named
    notes: tuple[str, ...] = ()

    def named(self) -> dict[str, int | None]:
        """The words that were named, by their hash: a list of many would fill a record."""
        only = None if self.only is None else hash_text("\x1f".join(self.only))
        return {"words": only, "added words": hash_text("\x1f".join(self.also)) if self.also else None}

    @property
    def layers(self) -> tuple[str, ...]:
        of = self.source or self.encoder
        assert of is not None
        return of.layers

    @property
    def dim(self) -> int:
        of = self.source or self.encoder
        assert of is not None
        return of.dim

    @property
    def name(self) -> str:
        of = self.source or self.encoder
        assert of is not None
        return of.name

    @property
    def tells_case(self) -> bool | None:
        """Whether the teacher tells Tea and tea apart; None of kept vectors that do not say."""
        if self.encoder is not None:
            return self.encoder.tells_case
        assert self.source is not None
        kept = self.source.describe().get("kept_from")
        told = kept.get("tells_case") if isinstance(kept, Mapping) else None
        return told if isinstance(told, bool) else None


def describe(subject: Subject) -> dict[str, Any]:
    """Teacher and text, for the card and run.json."""
    if subject.source is not None:
        told: Mapping[str, Any] = subject.source.describe()
    else:
        assert subject.encoder is not None
        told = {
            "encoder_fingerprint": subject.encoder.fingerprint,
            "model_fingerprint": subject.encoder.model_fingerprint,
            "encoder_settings": subject.encoder.describe(),
        }
    teacher = {
        "name": subject.name,
        "fingerprint": told.get("model_fingerprint") or told.get("encoder_fingerprint"),
        "settings": told.get("encoder_settings") or {},
        "licence": licence_of(subject.model),
    }
    text = told.get("corpus")
    if "vectors" in told:
        kept = told.get("kept_from") or {}
        text = kept.get("corpus") or {"vectors": told["vectors"]}
    licence = LICENCE if isinstance(text, Mapping) and text.get("paths") == [SAMPLE] else None
    return {"teacher": teacher, "text": text, "text_unit": told.get("text_unit"), "text_licence": licence}


def licence_of(model: str) -> str | None:
    """What a local model's card says of its licence; None where nobody says."""
    if not model:
        return None
    folder = miniature_folder(model) if is_miniature(model) else Path(model).expanduser()
    try:
        text = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"^licen[cs]e:[ \t]*(\S.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else None


# the language of the sentences that words are read in


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
