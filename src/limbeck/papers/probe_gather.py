"""A probed model's parts, one after the other: kept as soon as each is made, taken from where they were kept."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from limbeck.errors import LimbeckError
from limbeck.papers.estimates import CannotShow
from limbeck.papers.parts import Part, forget_parts, keep_part, kept_part
from limbeck.papers.probe_measures import Measuring
from limbeck.papers.probe_subjects import PARTS, ProbedModel
from limbeck.papers.probe_wanted import Wanted
from limbeck.papers.space_gather import family_name
from limbeck.places import remove_folder
from limbeck.probing.splits import one_sided


def gather(
    model: str, wanted: Wanted, *, name: str, folder: Path, resume: bool, asked_of: Collection[str] | None = None
) -> ProbedModel:
    """Make every part of a model that can be made; one that is there already for the same wishes is taken as it is.

    folder    where the model's parts are kept, a file each, with its fine-tuned models
    asked_of  families that the claims about context and fine-tuning are about; others are probed at their layers alone
    """
    if not resume:
        forget(folder)
    measuring = Measuring(model, name, wanted, folder)
    family = family_name(measuring.encoder)
    parts: dict[str, Part] = {}
    missing: dict[str, str] = {}
    try:
        for part in PARTS:
            if asked_of is not None and family not in asked_of and part not in ("neighbors", "layers", "starts"):
                missing[part] = f"these claims are about {' and '.join(sorted(asked_of))} and its like"
                continue
            if lacking := lacking_for(part, name, wanted):
                missing[part] = lacking
                continue
            asked = measuring.asked(part)
            found = kept_part(folder / f"{part}.json", asked)
            if found is None:
                if wanted.progress:
                    print(f"{name}: {PARTS[part]}", file=sys.stderr)
                try:
                    found = measuring.make(part)
                except (CannotShow, LimbeckError) as reason:
                    (folder / f"{part}.json").unlink(missing_ok=True)
                    missing[part] = str(reason).strip().rstrip(".")
                    continue
                keep_part(folder / f"{part}.json", found, asked)
            parts[part] = found
    finally:
        measuring.close()
    return ProbedModel(name, family, measuring.encoder.layers, parts, missing, account(measuring))


def forget(folder: Path) -> None:
    """Remove what limbeck has kept of a model, with its fine-tuned models and what a stopped run had done."""
    windows = [path.stem for path in folder.glob("window-*.json")]
    forget_parts(folder, [*PARTS, *windows])
    for path in (folder / "pretrained" / "probes").glob("*.safetensors"):
        path.unlink()
    for place in (*folder.glob("state-*"), *(folder / "tuned").glob("*"), *(folder / "tuned").glob(".*.unfinished")):
        remove_folder(place)


def lacking_for(part: str, name: str, wanted: Wanted) -> str:
    """Why a part that needs fine-tuning cannot be made, or is not to be; "" where nothing stands against it."""
    kind, _, task = part.partition("-")
    if kind not in ("tuned", "probed", "windows"):
        return ""
    if name in wanted.frozen:
        return f"{name} was to be left as it is: leave out --not-tuned"
    if (needed := task or "pos") not in wanted.caps.tasks:
        return f"{needed} was not asked for: name it by --tasks"
    return wanted.missing.get(needed, "")


def account(measuring: Measuring) -> dict[str, Any]:
    """What was done, as run.json would have it."""
    wanted, encoder = measuring.wanted, measuring.encoder
    work = measuring.work(encoder)
    return {
        "settings": {"preset": wanted.preset, "seed": wanted.seed, "caps": asdict(wanted.caps)},
        "dim": encoder.dim,
        "counts": work.facts_of_sides(),
        "classes": list(work.labelled.classes),
        "left_out": dict(work.labelled.left_out),
        "one_sided": one_sided(work.labelled, work.sides),
        "text": wanted.words.name,
        "source": {
            "encoder_fingerprint": encoder.fingerprint,
            "corpus_fingerprint": wanted.words.described.get("fingerprint"),
            "corpus": wanted.words.described,
        },
    }
