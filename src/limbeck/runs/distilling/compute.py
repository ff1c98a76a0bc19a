"""From what a user names to distilled vectors: teacher and text opened and checked, vectors made and scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from limbeck.distillation.card import number_of
from limbeck.distillation.distilled import DistilledVectors
from limbeck.distillation.methods import METHODS, in_order, own_settings, start_of
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.wordlist import read_word_list
from limbeck.distillation.x2static.settings import Training
from limbeck.errors import UsageError, choose, parameter_of
from limbeck.runs.distilling.needs import needs
from limbeck.runs.distilling.subject import Subject
from limbeck.runs.distilling.work import Distillation
from limbeck.runs.execution.input_guard import steady
from limbeck.runs.execution.record import plain, record_of
from limbeck.runs.execution.sources import (
    CORPUS_OPTIONS,
    is_static,
    need_words,
    open_encoder,
    open_source,
    refuse_options,
)
from limbeck.runs.measuring.sums import size
from limbeck.stream.context import RunContext
from limbeck.vectors import StaticVectors

# opening


def open_subject(
    model: Any, corpus: Any, settings: DistillSettings, *, vectors: str | Path | None = None, **options: Any
) -> Subject:
    """The teacher and the text that the options name; only the teacher's last layer unless others are asked for."""
    named = isinstance(model, str | Path)
    window = options.pop("preset_window", None)
    if window is not None:
        return open_within(window, model, corpus, settings, **options)
    only, also = listed_in(settings)
    if only is not None and not only:
        raise UsageError("--words must be at least one; got none.", code="no_words", parameter="words")
    if named and not is_static(model):
        options.setdefault("layers", "-1")
    if vectors is not None:
        check_without_teacher(settings)
    if corpus is not None or vectors is not None or model is None:
        source = need_words(open_source(model, corpus, vectors=vectors, **options))
        return checked(Subject(source, source.encoder, only, also, str(model) if named else ""), settings)
    reading = [name for name in settings.methods if METHODS[name].alone is None]
    if reading:
        others = [name for name in METHODS if METHODS[name].alone is not None]
        raise UsageError(
            f"--corpus is needed: {', '.join(reading)} {'makes' if len(reading) == 1 else 'make'} vectors of a text; "
            f"{', '.join(others[:-1])} and {others[-1]} do not.",
            code="required",
            parameter="corpus",
        )
    if only is None:
        raise UsageError(
            "--corpus or --words is needed, to know which words are to have vectors.",
            code="required",
            parameter="words",
        )
    if settings.weighting == "sif":
        raise UsageError(
            "--weighting=sif needs counts of words: give a --corpus, or omit it.",
            code="no_counts",
            parameter="weighting",
        )
    refuse_options({name: options[name] for name in (*CORPUS_OPTIONS, "text_unit") if name in options}, "no text")
    subject = Subject(None, open_encoder(model, **options), (*only, *also), (), str(model) if named else "")
    return checked(subject, settings)


def listed_in(settings: DistillSettings) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The words that alone are to have vectors, None for those of the text; and words beside."""
    only = None if settings.words is None else tuple(words_in(settings.words, "--words"))
    return only, () if settings.add_words is None else tuple(words_in(settings.add_words, "--add-words"))


def words_in(words: Any, option: str) -> Iterable[str]:
    """The words of a list or of a file; whatever else a user gives is refused."""
    if isinstance(words, str | Path):
        return read_word_list(words)
    parameter = parameter_of(option)
    if isinstance(words, bytes) or not isinstance(words, Iterable):
        told = f"{option} must be a list of words, or a file of them; got {words!r:.60}."
        raise UsageError(told, code="wrong_type", parameter=parameter)
    found = list(words)
    if wrong := [word for word in found if not isinstance(word, str)]:
        told = f"{option} must be a list of words, got {wrong[0]!r:.60} in it."
        raise UsageError(told, code="wrong_type", parameter=parameter)
    return found


def check_without_teacher(settings: DistillSettings) -> None:
    """Refuse methods that cached vectors are not enough for."""
    for name in settings.methods:
        needed = in_order(replace(settings, method=(name,)))
        if any(METHODS[one].alone is not None for one in needed):
            raise UsageError(
                f"--method {name} reads words with the teacher, which cached vectors do not have: choose another, such "
                "as average, or give --model and --corpus in the place of --vectors.",
                code="no_teacher",
                parameter="method",
            )


def open_within(window: int, model: Any, corpus: Any, settings: DistillSettings, **options: Any) -> Subject:
    """The subject with a preset's window, or where that is more than the teacher has with the teacher's own."""
    try:
        return open_subject(model, corpus, settings, window=window, **options)
    except UsageError:
        subject = open_subject(model, corpus, settings, **options)  # refuses again what is wrong otherwise
    own = None if subject.encoder is None else subject.encoder.window
    having = "has none to choose" if own is None else f"reads {own}"
    note = f"the preset's window is {window} pieces, and the teacher {having}: its own was taken."
    return replace(subject, notes=(*subject.notes, note))


def checked(subject: Subject, settings: DistillSettings) -> Subject:
    """The subject, if its vectors have the layers and as many dimensions as are asked for."""
    for name in in_order(settings):
        own = own_settings(name, settings)
        if isinstance(own, Training) and own.layer is not None and not METHODS[name].untaught:
            choose(own.layer, subject.layers, what=f"--set {name}.layer, of those of --layers,")
        if first := start_of(name, settings):
            check_dimensions(name, first, subject, settings)
    for name in settings.methods:
        own = getattr(own_settings(name, settings), "dim", None)
        if METHODS[name].compose is not None and own is not None and own > subject.dim:
            raise UsageError(
                f"--set {name}.dim must be at most the teacher's {subject.dim} dimensions; got {own}.",
                code="out_of_range",
                parameter="set",
            )
        if settings.dim is not None and settings.dim > (own or subject.dim):
            raise UsageError(
                f"--dim must be at most the {own or subject.dim} dimensions that {name} has; got {settings.dim}.",
                code="out_of_range",
                parameter="dim",
            )
    return subject


def check_dimensions(name: str, first: str, subject: Subject, settings: DistillSettings) -> None:
    """Refuse to begin from vectors of other dimensions, before they are made."""
    own = {one: own_settings(one, settings) for one in (first, name)}
    dims = {one: getattr(own[one], "dim", None) or subject.dim for one in own}
    if dims[first] == dims[name]:
        return
    # a method that composes has the teacher's dimensions at most
    able = [one for one in own if hasattr(own[one], "dim") and METHODS[one].compose is None]
    other = {first: name, name: first}
    remedy = f"--set {able[0]}.dim={dims[other[able[0]]]}, or another --start" if able else "choose another --start"
    raise UsageError(
        f"{name} has {dims[name]} dimensions and must begin from as many; {first} has {dims[first]}: {remedy}.",
        code="other_dimensions",
        parameter="start",
    )


def identity(subject: Subject, settings: DistillSettings) -> dict[str, Any]:
    """All that the vectors depend on, in plain values."""
    of = subject.source or subject.encoder
    assert of is not None
    return dict(plain(settings.as_dict() | subject.named() | {"source": of.fingerprint}))


# making


def distill_subject(
    subject: Subject,
    settings: DistillSettings,
    context: RunContext | None = None,
    *,
    tasks: Sequence[tuple[Any, Any]] = (),
    options: Mapping[str, Any] | None = None,
) -> dict[str, DistilledVectors]:
    """Every method's vectors of every layer, by name: "best", "average-11"; with scores on tasks that were found.

    options  of the command, for the record
    """
    context = context or RunContext()
    work = Distillation(subject, settings, context)
    with steady(subject.source):
        if work.plan_words() is not None:
            for line in forecast(work):
                context.notify(line)
        for name in settings.methods:
            work.make(name)
    own = identity(subject, settings)
    made: dict[str, DistilledVectors] = {}
    for name in settings.methods:
        several = len(work.rows[name]) > 1
        for place, rows in enumerate(work.rows[name]):
            layer = work.layer_of(name, place)
            key = f"{name}-{layer}" if several else name
            made[key] = work.finished(name, layer, rows, result=key, identity=own)
    for key, one in made.items():
        facts = one.record | {"scores": scores_of(one, tasks, key, progress=context.progress)}
        one.record = record_of("distill", facts, options=options or {}, seconds=context.seconds)
    return made


def forecast(work: Distillation) -> Iterator[str]:
    """What a planned run will read and take, in a few lines."""
    plan, listed = work.plan, work.listed
    others = len(listed.words) - listed.shown
    yield f"{number_of(listed.shown)}, read without a text" if plan is None else plan.describe()
    if plan is not None and (others or listed.shown != len(plan.vocabulary)):
        line = f"{number_of(listed.shown)} {'gets' if listed.shown == 1 else 'get'} a vector"
        if others:
            line += f"; the {others:,} most frequent others of the text are read too, to compare with, and not saved"
        if others and work.subject.only is None and work.settings.min_count > 1:
            line += f" (--min-count is {work.settings.min_count}; a lower one saves more)"
        if work.chosen.training is not None:
            line += f"; {number_of(len(work.chosen.training.vocabulary))} of the text are trained"
        yield line
    need = needs(work)
    yield (
        f"{size(need.memory)} of memory beside the model, {size(need.disk)} of disk and {size(need.state)} while it "
        "runs"
    )


def find_tasks(tasks: Sequence[str], data: Path | None) -> list[tuple[Any, Any]]:
    """The tasks to score on."""
    if not tasks:
        return []
    if data is None:
        raise UsageError("--tasks need --data, the folder of their files.", code="required", parameter="data")
    from limbeck.evaluation import suites

    return suites.find_tasks(data.expanduser(), list(tasks))


def scores_of(
    vectors: StaticVectors, tasks: Sequence[tuple[Any, Any]], name: str, *, progress: bool = False
) -> list[dict[str, Any]]:
    """Scores on tasks, as a card shows them."""
    if not tasks:
        return []
    from limbeck.evaluation.settings import EvaluationSettings
    from limbeck.evaluation.targets import TableTarget

    target = TableTarget(vectors, name=name)
    settings = EvaluationSettings()
    scores = [
        score for suite, task in tasks for score in suite.scores(task, target, {"": None}, settings, progress=progress)
    ]
    columns = ("task", "metric", "value", "low", "high", "n", "coverage")
    return [{column: getattr(score, column) for column in columns} for score in scores]
