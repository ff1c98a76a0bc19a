"""What a distilling run is about: teacher, text and words, and what can be told of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.corpus.sample import LICENCE, SAMPLE
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
