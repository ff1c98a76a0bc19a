"""The distilling run: one pass over a text for all methods together, one folder of vectors for each."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from limbeck.distillation.distilled import Distilled
from limbeck.distillation.lacking import lacking_told
from limbeck.distillation.methods import METHODS, in_order, own_settings, start_of
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.wordlist import read_word_list
from limbeck.distillation.x2static.settings import Training
from limbeck.encoders.protocol import Encoder
from limbeck.errors import InputError, UsageError, choose
from limbeck.parameters import takes
from limbeck.reporting.training import draw_training
from limbeck.runs.distilling.settings import settings_of
from limbeck.runs.distilling.subject import Subject
from limbeck.runs.distilling.work import EVERYTHING, Distillation
from limbeck.runs.execution.folders import RunFolder
from limbeck.runs.execution.input_guard import steady
from limbeck.runs.execution.sources import (
    CORPUS_OPTIONS,
    READING,
    is_static,
    need_words,
    open_encoder,
    open_source,
    refuse_options,
)
from limbeck.state import write_text
from limbeck.stream.workers import Workers
from limbeck.vectors import StaticVectors

__all__ = [
    "EVERYTHING",
    "distill",
    "distill_into",
    "distill_subject",
    "open_subject",
    "settings_of",
    "usual_method",
    "vectors_for",
]


@takes("limbeck.distillation:DistillSettings", *READING)
def distill(
    model: Any = None,
    corpus: Any = None,
    *,
    methods: str | Sequence[str] | None = None,
    words: Iterable[str] | str | Path | None = None,
    add_words: Iterable[str] | str | Path | None = None,
    vectors: str | Path | None = None,
    preset: str | None = None,
    out: str | Path | None = None,
    existing: str = "fail",
    tasks: str | Sequence[str] = (),
    data: str | Path | None = None,
    workers: int = 0,
    progress: bool = False,
    **options: Any,
) -> dict[str, Distilled]:
    """Static word vectors of a teacher, by one or several methods in one pass; `out` also writes them.

    model      the teacher: a name or folder, an Encoder, StaticVectors, or a function of texts
    corpus     a path, a Corpus, or a list of sentences; not needed where `words` are read alone or in a frame
    methods    names of `limbeck.distillation.METHODS`, a sequence or with commas between; None: see `usual_method`
    words      exactly the words that are to have vectors, or a file of them; without, those of the text
    add_words  words beside those of the text
    vectors    kept vectors in the place of model and corpus
    tasks, data  names or groups of evaluation tasks to score on, and the folder of their files
    preset     of x2static, see `limbeck.runs.distilling.settings.with_preset`
    options    settings of `DistillSettings`, options of the teacher and the text as `limbeck.measure` has them

    One result for each method and layer, by name: "best", "average", or with several layers "average-11", "average-12".

    >>> import limbeck as lb
    >>> sentences = [["green", "tea"], ["black", "tea"], ["black", "night"]]
    >>> def letters(texts):
    ...     return [[[float(len(word)), float(word < "n")] for word in text.words] for text in texts]
    >>> made = lb.distillation.distill(letters, sentences, methods="average", min_count=2)
    >>> made["average"].vectors.words, made["average"]["tea"].tolist()
    (['black', 'tea'], [3.0, 0.0])
    """
    usual = usual_method(corpus=corpus, words=words, vectors=vectors)
    given = options if preset is None else options | {"preset": preset}
    settings, rest = settings_of(usual if methods is None else methods, given)
    subject = open_subject(model, corpus, settings, words=words, add_words=add_words, vectors=vectors, **rest)
    how: dict[str, Any] = {"tasks": tasks, "data": data, "progress": progress}
    with Workers(workers) as processes:
        if out is None:
            return distill_subject(subject, settings, workers=processes, **how)
        with RunFolder(out, existing=existing) as folder:
            return distill_into(folder, subject, settings, workers=processes, **how)


def usual_method(*, corpus: Any = None, words: Any = None, vectors: Any = None) -> str:
    """The method where none is named: "best".

    Of kept vectors, without a teacher to read frames, "average"; of words without a text "frame".
    """
    if vectors is not None:
        return "average"
    return "frame" if corpus is None and words is not None else DistillSettings.methods[0]


@takes("limbeck.runs.distill:distill", "limbeck.distillation:DistillSettings", *READING)
def vectors_for(
    words: Iterable[str] | str | Path, model: Any, corpus: Any = None, *, methods: str | None = None, **options: Any
) -> StaticVectors:
    """Vectors for these words, whatever pieces the teacher's tokeniser makes of them; not for those it knows none of.

    With a corpus by the method `best`, without one in the frame. See `distill` for other methods and options.

    >>> import limbeck as lb
    >>> vectors = lb.distillation.vectors_for(["tea", "night train"], "mini-bert")
    >>> vectors.words, vectors["night train"].shape
    (['tea', 'night train'], (128,))
    """
    made = distill(model, corpus, methods=methods, words=words, **options)
    if len(made) != 1:
        raise UsageError(f"one method and one layer give one vector a word; these give {', '.join(made)}: choose one.")
    (only,) = made.values()
    if told := lacking_told(only.about):
        warnings.warn(f"words without a vector{told}", stacklevel=2)
    return only.vectors


def open_subject(
    model: Any,
    corpus: Any,
    settings: DistillSettings,
    *,
    words: Iterable[str] | str | Path | None = None,
    add_words: Iterable[str] | str | Path | None = None,
    vectors: str | Path | None = None,
    **options: Any,
) -> Subject:
    """The teacher and the text that the options name; only the teacher's last layer unless others are asked for."""
    named = isinstance(model, str | Path)
    window = options.pop("preset_window", None)
    if window is not None:
        return open_within(window, model, corpus, settings, words=words, add_words=add_words, **options)
    only = None if words is None else tuple(words_in(words))
    also = () if add_words is None else tuple(words_in(add_words))
    if only is not None and not only:
        raise UsageError("words must be at least one; got none.")
    if named and not is_static(model):
        options.setdefault("layers", "-1")
    if vectors is not None:
        check_without_teacher(settings)
    if corpus is not None or vectors is not None or model is None:
        source = need_words(open_source(model, corpus, vectors=vectors, **options))
        encoder: Encoder | None = getattr(source, "encoder", None)
        return checked(Subject(source, encoder, only, also, str(model) if named else ""), settings)
    reading = [name for name in settings.methods if METHODS[name].alone is None]
    if reading:
        others = [name for name in METHODS if METHODS[name].alone is not None]
        raise UsageError(
            f"--corpus is needed: {', '.join(reading)} {'makes' if len(reading) == 1 else 'make'} vectors of a text; "
            f"{', '.join(others[:-1])} and {others[-1]} do not."
        )
    if only is None:
        raise UsageError("--corpus or --words is needed, to know which words are to have vectors.")
    if settings.weighting == "sif":
        raise UsageError("--weighting sif needs counts of words: give a --corpus, or leave it out.")
    refuse_options({name: options[name] for name in (*CORPUS_OPTIONS, "text_unit") if name in options}, "no text")
    subject = Subject(None, open_encoder(model, **options), (*only, *also), (), str(model) if named else "")
    return checked(subject, settings)


def check_without_teacher(settings: DistillSettings) -> None:
    """Refuse methods that kept vectors are not enough for."""
    for name in settings.methods:
        needed = in_order(replace(settings, methods=(name,)))
        if any(METHODS[one].alone is not None for one in needed):
            raise UsageError(
                f"--method {name} reads words with the teacher, which kept vectors do not have: choose another, such "
                "as average, or give --model and --corpus in the place of --vectors."
            )


def open_within(window: int, model: Any, corpus: Any, settings: DistillSettings, **options: Any) -> Subject:
    """The subject with a preset's window, or where that is more than the teacher has with the teacher's own."""
    try:
        return open_subject(model, corpus, settings, window=window, **options)
    except UsageError:
        subject = open_subject(model, corpus, settings, **options)  # refuses again what is wrong otherwise
    own = getattr(subject.encoder, "window", None)
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
            check_start(name, first, subject, settings)
    for name in settings.methods:
        own = getattr(own_settings(name, settings), "dim", None)
        if METHODS[name].compose is not None and own is not None and own > subject.dim:
            raise UsageError(f"--set {name}.dim must be at most the teacher's {subject.dim} dimensions; got {own}.")
        if settings.dim is not None and settings.dim > (own or subject.dim):
            raise UsageError(
                f"--dim must be at most the {own or subject.dim} dimensions that {name} has; got {settings.dim}."
            )
    return subject


def check_start(name: str, first: str, subject: Subject, settings: DistillSettings) -> None:
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
        f"{name} has {dims[name]} dimensions and must begin from as many; {first} has {dims[first]}: {remedy}."
    )


def words_in(words: Any) -> Iterable[str]:
    """The words of a list or of a file; whatever else a user gives is refused."""
    if isinstance(words, str | Path):
        return read_word_list(words)
    if isinstance(words, bytes) or not isinstance(words, Iterable):
        raise UsageError(f"words must be a list of words, or a file of them; got {words!r:.60}.")
    found = list(words)
    if wrong := [word for word in found if not isinstance(word, str)]:
        raise UsageError(f"words must be a list of words, got {wrong[0]!r:.60} in it.")
    return found


def distill_into(
    folder: RunFolder,
    subject: Subject,
    settings: DistillSettings,
    *,
    tasks: str | Sequence[str] = (),
    data: str | Path | None = None,
    workers: Workers | None = None,
    progress: bool = False,
    on_plan: Callable[[Distillation], None] | None = None,
) -> dict[str, Distilled]:
    """The whole run into its folder. A complete one is read, if it was made of the same."""
    if folder.complete:
        return read_complete(folder.target, subject, settings, find_wanted(tasks, data), progress=progress)
    made = distill_subject(
        subject,
        settings,
        state=folder.state,
        tasks=tasks,
        data=data,
        workers=workers,
        progress=progress,
        on_plan=on_plan,
    )
    for name, one in made.items():
        place = folder.unfinished if len(made) == 1 else folder.unfinished / name
        one.save(place, dtype=settings.keep)
        draw_losses(one, place / "figures")
    if len(made) > 1:
        whole = {"command": "distill", "results": list(made), "identity": identity(subject, settings)}
        write_text(folder.unfinished / "run.json", json.dumps(whole, indent=2, default=str) + "\n")
    folder.passing.append("state")  # sums and kept vectors, many times the size of what they gave
    folder.finish()
    return made


def draw_losses(made: Distilled, out: Path) -> None:
    """The loss curve of a method that trains and tells how far it had come at each loss."""
    losses = made.about.get("training", {}).get("losses") or []
    if losses and {"progress", "loss", "epoch"} <= losses[0].keys():
        columns = {name: [row[name] for row in losses] for name in losses[0]}
        draw_training(columns, out, name=f"{made.method}, {made.about['teacher']['name']}")


def identity(subject: Subject, settings: DistillSettings) -> dict[str, Any]:
    """All that the vectors depend on, in plain values."""
    of = subject.source or subject.encoder
    assert of is not None
    told = settings.as_dict() | subject.named() | {"source": of.fingerprint}
    plain: dict[str, Any] = json.loads(json.dumps(told, default=str))
    return plain


def read_complete(
    folder: Path,
    subject: Subject,
    settings: DistillSettings,
    wanted: Sequence[tuple[Any, Any]],
    *,
    progress: bool = False,
) -> dict[str, Distilled]:
    """What a finished run holds, scored anew where tasks are asked for.

    Refused where it is of another teacher, text or settings.
    """
    told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    if told.get("command") != "distill" or told.get("identity") != identity(subject, settings):
        raise InputError(
            f"{folder}: holds a finished run of another command, teacher, text or settings: --existing=replace, or "
            "another --out."
        )
    places = {name: folder / name for name in told["results"]} if "results" in told else {told["result"]: folder}
    made = {str(name): Distilled.load(place) for name, place in places.items()}
    for name, one in made.items():
        if wanted:
            one.about["scores"] = scores_of(one.vectors, wanted, name, progress=progress)
            one.save_about(places[name], dtype=settings.keep)
    return made


def distill_subject(
    subject: Subject,
    settings: DistillSettings,
    *,
    state: Path | None = None,
    tasks: str | Sequence[str] = (),
    data: str | Path | None = None,
    workers: Workers | None = None,
    progress: bool = False,
    on_plan: Callable[[Distillation], None] | None = None,
) -> dict[str, Distilled]:
    """Every method's vectors of every layer; `state` is a folder in which a stopped run finds what it has done."""
    began = time.monotonic()
    work = Distillation(subject, settings, state, workers or Workers(), progress)
    wanted = find_wanted(tasks, data)
    with steady(subject.source):
        plan = work.plan_words()
        if plan is not None and on_plan is not None:
            on_plan(work)
        for name in settings.methods:
            work.make(name)
    made: dict[str, Distilled] = {}
    for name in settings.methods:
        for place, rows in enumerate(work.rows[name]):
            layer = work.layer_of(name, place)
            several = len(work.rows[name]) > 1
            made[f"{name}-{layer}" if several else name] = work.finished(name, layer, rows)
    for key, one in made.items():
        one.about["result"] = key
        one.about["identity"] = identity(subject, settings)
        one.about["scores"] = scores_of(one.vectors, wanted, key, progress=progress)
        one.about["seconds"] = round(time.monotonic() - began, 3)
    return made


def find_wanted(tasks: str | Sequence[str], data: str | Path | None) -> list[tuple[Any, Any]]:
    """The tasks to score on, found before anything dear is done."""
    names = tasks.split(",") if isinstance(tasks, str) else list(tasks)
    names = [name.strip() for name in names if name.strip()]
    if not names:
        return []
    if data is None:
        raise UsageError("--tasks need --data, the folder of their files.")
    from limbeck.evaluation.suites import find_tasks

    return find_tasks(Path(data).expanduser(), names)


def scores_of(
    vectors: StaticVectors, wanted: Sequence[tuple[Any, Any]], name: str, *, progress: bool = False
) -> list[dict[str, Any]]:
    """Scores on tasks, as a card shows them."""
    if not wanted:
        return []
    from limbeck.evaluation.settings import EvaluationSettings
    from limbeck.evaluation.targets import TableTarget

    target = TableTarget(vectors, name=name)
    settings = EvaluationSettings()
    scores = [
        score for suite, task in wanted for score in suite.scores(task, target, {"": None}, settings, progress=progress)
    ]
    columns = ("task", "metric", "value", "low", "high", "n", "coverage")
    return [{column: getattr(score, column) for column in columns} for score in scores]
