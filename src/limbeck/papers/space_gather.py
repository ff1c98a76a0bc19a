"""A model's parts, one after the other: kept as soon as each is measured, taken from where they were kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from limbeck.analysis.spaces import Method, family_of, methods_of
from limbeck.errors import LimbeckError
from limbeck.papers.estimates import CannotShow
from limbeck.papers.parts import forget_parts, keep_part, kept_part
from limbeck.papers.space_measures import MEASURES, Measuring, asked_for
from limbeck.papers.space_subjects import PARTS, SpaceModel
from limbeck.papers.space_wanted import Wanted

#: kind of model, as analyses call it -> as the paper does
FAMILIES = {"bert": "BERT", "roberta": "RoBERTa", "gpt2": "GPT-2"}


def gather(model: str, wanted: Wanted, *, name: str, folder: Path, resume: bool) -> SpaceModel:
    """Measure every part of a model that can be; a part that is there already for the same wishes is taken as it is.

    folder  where the model's parts are kept, a file each
    """
    if not resume:
        forget_parts(folder, MEASURES)
    measuring = Measuring(model, name, wanted)
    parts, missing = {}, {}
    try:
        encoder = measuring.last_layer
        for part, measure in MEASURES.items():
            asked = asked_for(part, measuring)
            found = kept_part(folder / f"{part}.json", asked)
            if found is None:
                if wanted.progress:
                    print(f"{name}: {PARTS[part]}", file=sys.stderr)
                try:
                    found = measure(measuring)
                except (CannotShow, LimbeckError) as reason:
                    (folder / f"{part}.json").unlink(missing_ok=True)
                    missing[part] = _clause(str(reason))
                    continue
                keep_part(folder / f"{part}.json", found, asked)
            parts[part] = found
            if part == "tuning":
                measuring.methods = tuned_methods(found.about["best"])
        account = _account(measuring)
        layers = measuring.every_layer.layers
    finally:
        measuring.close()
    return SpaceModel(name, family_name(encoder), layers, parts, missing, account)


def tuned_methods(best: dict[str, list[int]]) -> tuple[Method, ...]:
    """The two repairs of a tuning."""
    return methods_of(best["global"][1], *best["cluster"])


def family_name(encoder: Any) -> str:
    """BERT, RoBERTa, GPT-2 or ELMo, by how the model reads."""
    about = encoder.describe()
    return "ELMo" if about.get("model_type") == "elmo" else FAMILIES[family_of(encoder)]


def _account(measuring: Measuring) -> dict[str, Any]:
    """What was done, as run.json would have it."""
    wanted, encoder = measuring.wanted, measuring.last_layer
    corpus = measuring.other_text
    return {
        "settings": {
            "preset": wanted.preset,
            "seed": wanted.seed,
            "methods": [str(method) for method in measuring.repairs()],
            "tuned": bool(measuring.methods),
            "caps": vars(wanted.caps),
        },
        "dim": encoder.dim,
        "units": encoder.units,
        "text": measuring.text_name,
        "counts": {},
        "source": {
            "encoder_fingerprint": encoder.fingerprint,
            "corpus_fingerprint": corpus.fingerprint,
            "corpus": corpus.describe(),
        },
    }


def _clause(text: str) -> str:
    """A sentence as a part of another."""
    return text.strip().rstrip(".")
