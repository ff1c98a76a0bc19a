"""A parent's parts, one after the other: kept as soon as each is made, taken from where they were kept."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.analysis.result import columns_of
from limbeck.errors import InputError, LimbeckError
from limbeck.evaluation.classifying.catalogue import SENTENCES, find_some, load_table
from limbeck.papers.estimates import CannotShow
from limbeck.papers.parts import Part, forget_parts, keep_part, kept_part
from limbeck.papers.space_gather import family_name
from limbeck.papers.static_measures import ALIKE, Distilling
from limbeck.papers.static_scores import WordSets, cosines_of, score_rows, scoreboard
from limbeck.papers.static_subjects import FROZEN, PARTS, READ_IN_PARAGRAPH, Parent
from limbeck.papers.static_vectors import Shared
from limbeck.papers.static_wanted import Wanted
from limbeck.papers.table_sources import WORD_VECTORS
from limbeck.vectors import StaticVectors


def find_sentence_tasks(data: Path | None) -> tuple[dict[str, Any], str]:
    """The tasks of Table 4 as far as they lie under a folder, and what is missing."""
    names = list(load_table(SENTENCES))
    if data is None:
        return {}, f"needs files of {', '.join(names)}: give the folder to --data"
    try:
        return dict(find_some(data, [], names)), ""
    except InputError as error:
        return {}, str(error).rstrip(".")


def missing_data(sets: WordSets, classify: str) -> dict[str, str]:
    """Kind of data -> why it is not there."""
    found = {} if sets.told else {"similarity": sets.missing}
    return found | ({"classify": classify} if classify else {})


def gather(model: str, wanted: Wanted, shared: Shared, *, name: str, folder: Path, resume: bool) -> Parent:
    """Make every part of a parent that can be made; one that is there already for the same wishes is taken as it is."""
    if not resume:
        forget_parts(folder, ("similarity", "size", "contexts", "classify"))
    distilling = Distilling(model, name, wanted, shared)
    parts: dict[str, Part] = {}
    missing: dict[str, str] = {}
    makers: dict[str, Callable[[], Part]] = {
        "similarity": distilling.similarity,
        "size": lambda: distilling.size(_needed(parts, missing, "similarity")),
        "contexts": distilling.contexts,
        "classify": lambda: distilling.classify(parts.get("similarity")),
    }
    try:
        for part in makers:
            needs = "classify" if part == "classify" else "similarity"
            if needs in wanted.missing:
                missing[part] = wanted.missing[needs]
        asked = {part: asked_for(part, distilling) for part in makers if part not in missing}
        kept = {part: kept_part(folder / f"{part}.json", wish) for part, wish in asked.items()}
        if any(part in kept and kept[part] is None for part in ("similarity", "classify")):
            distilling.begin_baselines()
        for part, found in kept.items():
            if found is None:
                if wanted.progress:
                    print(f"{name}: {PARTS[part]}", file=sys.stderr)
                try:
                    found = makers[part]()
                except (CannotShow, LimbeckError) as reason:
                    (folder / f"{part}.json").unlink(missing_ok=True)
                    missing[part] = str(reason).strip().rstrip(".")
                    if wanted.progress:
                        print(f"{name}: not made: {missing[part]}", file=sys.stderr)
                    continue
                keep_part(folder / f"{part}.json", found, asked[part])
            parts[part] = found
        encoder = distilling.every_layer
        return Parent(name, family_name(encoder), encoder.layers, parts, missing, account(distilling))
    finally:
        distilling.close()


def gather_file(vectors: StaticVectors, wanted: Wanted, *, name: str) -> Parent:
    """Existing vectors, which are among those wanted: their scores."""
    missing = dict(wanted.missing)
    parts = {}
    if wanted.sets.told:
        parts["similarity"] = file_part(vectors, wanted, name)
    told = {
        "settings": {"preset": wanted.preset, "seed": wanted.seed},
        "dim": vectors.dim,
        "counts": {"words": len(vectors)},
        "source": {},
    }
    return Parent(name, WORD_VECTORS, ("table",), parts, missing, told)


def account(distilling: Distilling) -> dict[str, Any]:
    """What was done, as run.json would have it."""
    wanted, corpus = distilling.wanted, distilling.corpus
    trained = asdict(distilling.training())
    used = {"epochs": trained["epochs"], "negatives": trained["negatives"], "subsampling": trained["subsample"],
            "learning_rate": trained["learning_rate"], "batch_size": trained["batch_texts"],
            "min_count": distilling.min_count, "max_words": distilling.preset.max_words}  # fmt: skip
    return {
        "settings": {
            "preset": wanted.preset,
            "seed": wanted.seed,
            "caps": asdict(wanted.caps),
            "x2static": used,
            "baselines": asdict(distilling.baseline_settings()),
        },
        "sentence_transformer": distilling.is_sentence_transformer,
        "dim": distilling.last_layer.dim,
        "counts": {"sentences": distilling.sentences},
        "source": {
            "encoder_fingerprint": distilling.last_layer.fingerprint,
            "corpus_fingerprint": corpus.fingerprint,
            "corpus": corpus.describe(),
        },
    }


def _needed(parts: dict[str, Part], missing: dict[str, str], name: str) -> Part:
    if name not in parts:
        raise CannotShow(missing.get(name, f"there are no numbers on the {PARTS[name]}"))
    return parts[name]


def asked_for(part: str, distilling: Distilling) -> dict[str, Any]:
    """Everything that decides a part's numbers: one that was kept for the same is not made again."""
    wanted = distilling.wanted
    sets = {**wanted.sets.told, **wanted.sets.other}
    own: dict[str, list[Any]] = {
        "similarity": [[name, _fingerprint(vectors)] for name, vectors in wanted.files.items()],
        "size": [wanted.caps.sizes],
        "contexts": [wanted.caps.sentences, ALIKE, READ_IN_PARAGRAPH],
        "classify": [list(wanted.classify), wanted.caps.train, wanted.caps.starts, FROZEN],
    }
    return {
        "model": distilling.last_layer.fingerprint,
        "text": distilling.corpus.fingerprint,
        "encoder": dict(wanted.encoder),
        "preset": wanted.preset,
        "min_count": distilling.min_count,
        "training": asdict(distilling.training()),
        "baselines": asdict(distilling.baseline_settings()),
        "sets": {name: len(pairs) for name, pairs in sets.items()},
        "seed": wanted.seed,
        "part": own[part],
    }


def _fingerprint(vectors: StaticVectors) -> str:
    told = hashlib.blake2b(" ".join(vectors.words).encode(), digest_size=16)
    told.update(np.ascontiguousarray(vectors.matrix).tobytes())
    return told.hexdigest()


def file_part(vectors: StaticVectors, wanted: Wanted, name: str) -> Part:
    """The scores of a file of vectors, on the pairs that it knows."""
    sets = wanted.sets.told
    board = scoreboard({("file", ""): cosines_of(wanted.files[name], sets)}, sets, seed=wanted.seed)
    return Part({"scores": columns_of(score_rows(board, {})), "differences": {}}, {"vocabulary": len(vectors)})


def words_of_sets(vectors: StaticVectors, sets: WordSets) -> StaticVectors:
    """Those that the sets ask for, by their lower case, as MUSE reads them: of words that then are alike the first."""
    asked = set(sets.words)
    place: dict[str, int] = {}
    for row, word in enumerate(vectors.words):
        if word.lower() in asked:
            place.setdefault(word.lower(), row)
    return StaticVectors(list(place), vectors.matrix[list(place.values())])
