"""What a distilling run will take, told before it begins: time, memory and disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from limbeck.distillation.alone import CHUNK
from limbeck.distillation.baselines import buckets_of
from limbeck.distillation.best import BLOCK as VIEWED
from limbeck.distillation.card import number_of
from limbeck.distillation.method_settings import NgramSettings
from limbeck.distillation.methods import METHODS, in_order, own_settings, templates_of
from limbeck.distillation.neighbours import AMONG, BLOCK, NEAREST
from limbeck.distillation.pieces import cuts_words_up
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.spelling import bytes_of as spelling_bytes
from limbeck.distillation.x2static.cache import cache_bytes
from limbeck.distillation.x2static.settings import Training
from limbeck.runs.distilling.work import Distillation
from limbeck.stream.context import RunContext
from limbeck.stream.foretell import Outlook, seconds_a_pass
from limbeck.stream.progress import clock
from limbeck.stream.workers import Workers

TRIED = 16  #: words of a first trial
SECONDS = 1.0  #: of trials in all
# Room for copies while vectors are made, bytes a word and dimension beside what is kept. Measured as the greatest
# memory of whole runs with 10,000 and 20,000 words of 512 dimensions and a teacher of no size: a word and dimension
# more took 61.7 bytes for best, 19.9 for frames, 68.8 for average with three layers and 35 for principal with five
# contexts a word; `needs` says 73, 24, 72 and 44. Spelling comes beside, and says for itself what it takes.
READING = 16  #: of all layers, while words are read in sentences
COMPOSING = 20  #: views and their copies
FINISHING = 12


@dataclass(frozen=True)
class Needs:
    """Bytes.

    memory  beside the model, on host and device together
    state   of disk while the run goes on
    disk    for what it leaves
    """

    memory: int
    state: int
    disk: int


def needs(work: Distillation) -> Needs:
    """What a planned run keeps of its words, and the room it works in.

    Methods that train say for themselves what they take.
    """
    settings, layers, dim, shown = work.settings, len(work.subject.layers), work.subject.dim, work.listed.shown
    plan = None if work.plan is None else work.chosen.read
    sums = 0 if plan is None else layers * len(plan.vocabulary) * dim
    width = {"float32": 4, "float16": 2, "int8": 1}[settings.keep]
    kept = state = disk = blocks = 0
    room = FINISHING * len(work.listed.words) * dim
    for name in in_order(settings):
        method, own = METHODS[name], own_settings(name, settings)
        own_dim = getattr(own, "dim", None) or dim  # of the vectors that it makes
        listed = sum(len(some.words) for some in work.lists(name))
        table, one = layers * listed * dim, listed * dim
        if method.accumulators is not None:
            if name == "principal" and plan is not None:
                filled = layers * dim * 4 * int(np.minimum(plan.vocabulary.counts, settings.max_contexts).sum())
            else:
                filled = sums * (4 if name == "average" and settings.over_contexts != "mean" else 8)
            kept, state = kept + filled + 8 * table, state + filled
        elif method.alone is not None:
            kept += 4 * table
            # frames: the sum of sentences, a new one while the old is there, and the sentence that is read
            state += 4 * table * (3 if name == "frames" else sentences_of(name, settings))
            room = max(room, READING * table)
        elif method.compose is not None:
            kept, room = kept + 4 * one, max(room, COMPOSING * one)
            blocks = blocks_of(listed, dim)
            if getattr(own, "spelling", 0) and cuts_words_up(work.subject.encoder):
                blocks = max([blocks, *(spelling_bytes(some.words) for some in work.lists(name))])
        elif work.chosen.training is not None:
            words = len(work.chosen.training.vocabulary)
            trained = words * own_dim
            kept, state = kept + 12 * trained, state + 4 * trained
            if isinstance(own, NgramSettings):
                kept += 4 * buckets_of(own, words) * own_dim
            if isinstance(own, Training):
                state += cache_bytes(work.chosen.training, own, dim)
        if name in settings.methods:
            result = shown * own_dim * (1 if method.one_layer else layers)
            kept, disk = kept + 4 * result, disk + width * result
    return Needs(kept + room + blocks, state, disk)


def blocks_of(words: int, dim: int) -> int:
    """Bytes of blocks of rows while views are turned, or while words are compared, whichever is more."""
    turned = 2 * 8 * min(words, VIEWED) * dim + 5 * 8 * dim**2  # float64: two blocks, and matrices of products
    cosines = (4 + 1 + 4) * BLOCK * min(words, AMONG)  # with the mask of some of them, and what sorting takes
    return max(turned, cosines + 2 * 4 * BLOCK * min(words, NEAREST) * dim)


def sentences_of(name: str, settings: DistillSettings) -> int:
    """How many sentences a method that needs no text reads each word in."""
    return len(templates_of(name, settings)) if "template" in METHODS[name].heeds else 1


def time_told(work: Distillation, ahead: Outlook | None, *, workers: Workers) -> list[str]:
    """How long a planned run would take, by trying some batches of its text, and what is not in that."""
    settings = work.settings
    methods = {name: METHODS[name] for name in in_order(settings)}
    taught = [name for name, method in methods.items() if method.train is not None and not method.untaught]
    passes = any(method.accumulators is not None for method in methods.values()) + len(taught)
    parts: list[tuple[float, str]] = []
    if passes and ahead is not None:
        one = seconds_a_pass(ahead, workers=workers.count)
        speed = ahead.plan.units / max(one, 1e-9)
        over = "one pass" if passes == 1 else f"{passes} passes"
        seconds = passes * one + ahead.whole_look
        parts.append((seconds, f"{over} over the text at {speed:,.0f} words a second"))
    for name in (name for name, method in methods.items() if method.alone is not None):
        number = sentences_of(name, settings)
        where = "read alone" if name == "word" else f"in {number} sentences each" if number > 1 else "in a sentence"
        words = [word for some in work.lists(name) for word in some.words]
        seconds = seconds_alone(work, name, words, workers=workers)
        parts.append((seconds, f"{number_of(len(words))} {where}"))
    lines = []
    if len(parts) == 1:
        lines.append(f"about {clock(parts[0][0])}, for {parts[0][1]}")
    elif parts:
        told = "; ".join(f"{clock(seconds)} for {what}" for seconds, what in parts)
        lines.append(f"about {clock(sum(seconds for seconds, _ in parts))}: {told}")
    others = [f"training {name}" for name, method in methods.items() if method.train is not None]
    others += [f"putting {name} together" for name, method in methods.items() if method.compose is not None]
    if others:
        lines.append(f"not counted: {', '.join(others)}")
    return lines


def seconds_alone(work: Distillation, name: str, words: Sequence[str], *, workers: Workers) -> float:
    """Seconds for all words of a method that needs no text, by more and more of them, from all over the list.

    The first trial, in which things warm up, is made again; a larger one only if it fits in the time.
    """
    read, number = METHODS[name].alone, min(TRIED, len(words))
    assert read is not None
    teacher = work.teacher(f"--method {name}")
    end, warm = time.monotonic() + SECONDS, False
    while True:
        some = [words[at] for at in np.linspace(0, len(words) - 1, number).astype(int).tolist()]
        began = time.monotonic()
        read(teacher, some, work.settings, RunContext(workers))
        took = time.monotonic() - began
        more, next_one = (min(4 * number, len(words)), 4 * took) if warm else (number, 0.0)
        if number >= min(len(words), CHUNK) or time.monotonic() + next_one > end:
            return took * len(words) / number
        number, warm = more, True
