"""The probing run: labelled words, their vectors, probes, controls, and a folder of tables and figures."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from limbeck import __version__
from limbeck.encoders.layers import TABLE
from limbeck.encoders.protocol import Encoder
from limbeck.errors import InputError, UsageError
from limbeck.parameters import takes
from limbeck.probing.labelled import read_labelled
from limbeck.probing.result import Probed
from limbeck.probing.settings import ProbeSettings, tuple_of
from limbeck.probing.splits import read_lists, with_sides
from limbeck.reporting.probes import draw_probes
from limbeck.runs.execution.folders import RunFolder
from limbeck.runs.execution.input_guard import steady
from limbeck.runs.execution.sources import CORPUS_OPTIONS, READING, is_static, open_corpus, open_encoder, refuse_options
from limbeck.runs.probing.work import Probing
from limbeck.state import write_text
from limbeck.stream.workers import Workers
from limbeck.tables import read_csv, write_csv
from limbeck.vectors import StaticVectors

#: options of training; probes of another run have been trained
TRAINING = ("preset", "hidden", "epochs", "patience", "batch", "learning_rate")
#: what a model would do to the labelled words that a probe must not have
NOT_FOR_PROBES = ("context", "targets", "units", "special", "text_unit", "repair")
EVERY_LAYER = f"{TABLE},0--1"


@takes("limbeck.probing.settings:ProbeSettings", *READING)
def probe(
    model: Any,
    data: Any = "sample",
    *,
    static: str | Path | StaticVectors | None = None,
    train_words: str | Path | None = None,
    test_words: str | Path | None = None,
    probes_of: str | Path | None = None,
    keep_probes: bool = False,
    out: str | Path | None = None,
    existing: str = "fail",
    workers: int = 0,
    progress: bool = False,
    **options: Any,
) -> Probed:
    """Probe a model for the classes of words, at every layer; `out` also writes tables and figures.

    model        a name or folder, an Encoder, StaticVectors, or a function of texts
    data         labelled text: a path, a Corpus, or sentences
    static       word vectors to compare with
    train_words  a list of words to train on, and `test_words` one to test on, as WIKI-PSE has them
    probes_of    the folder of another run with kept probes: these are tried on this model, and none are trained
    options      settings of `ProbeSettings`, options of the model and the text as `limbeck.measure` has them

    >>> import limbeck as lb
    >>> probed = lb.probing.probe("mini-bert", "sample", layers="0,12", min_words=9, epochs=2, compare=(), controls=())
    >>> [(row["layer"], row["units"]) for row in probed.rows("scores", side="test")]
    [('0', 25), ('12', 25)]
    """
    if probes_of is not None:
        refuse_options({name: options[name] for name in TRAINING if name in options}, "probes of another run")
    settings, rest = settings_of(options)
    work = open_probing(
        model,
        data,
        settings,
        static=static,
        lists=read_lists(train_words, test_words),
        probes_of=probes_of,
        keep_probes=keep_probes,
        **rest,
    )
    with Workers(workers) as processes:
        if out is None:
            return work.run(workers=processes, progress=progress)
        with RunFolder(out, existing=existing) as folder:
            return probe_into(folder, work, workers=processes, progress=progress)


def settings_of(options: dict[str, Any]) -> tuple[ProbeSettings, dict[str, Any]]:
    """The settings among the options, and the other options."""
    known = {one.name for one in fields(ProbeSettings)}
    given = {name: value for name, value in options.items() if name in known}
    for name in ("classes", "probes", "compare", "controls"):
        if name in given:
            given[name] = tuple_of(given[name])
    for name in ("context_size", "seeds"):
        if name in given:
            given[name] = whole_numbers(given[name], name)
    return ProbeSettings(**given), {name: value for name, value in options.items() if name not in known}


def whole_numbers(value: Any, name: str) -> tuple[int, ...]:
    """Different numbers, rising."""
    parts = (value,) if isinstance(value, int) else tuple_of(value)
    try:
        return tuple(sorted({int(part) for part in parts}))
    except ValueError:
        option = "--" + name.replace("_", "-")
        raise UsageError(f"{option} must be whole numbers with commas between; got {value!r}.") from None


def open_probing(
    model: Any,
    data: Any,
    settings: ProbeSettings,
    *,
    static: str | Path | StaticVectors | None = None,
    lists: Mapping[str, Sequence[str]] | None = None,
    probes_of: str | Path | None = None,
    keep_probes: bool = False,
    **options: Any,
) -> Probing:
    """The labelled words and the model, ready to be probed."""
    corpus_options = {name: options.pop(name) for name in CORPUS_OPTIONS if name in options}
    refuse_options({name: options[name] for name in NOT_FOR_PROBES if name in options}, "probing")
    if probes_of is not None and not (Path(probes_of) / "probes").is_dir():
        raise InputError(f"{probes_of}: holds no probes: run it again with --keep-probes.")
    if isinstance(static, str | Path):
        static = StaticVectors.load(Path(static).expanduser())
    text = open_corpus(data, **corpus_options)
    with steady(text):
        labelled = read_labelled(
            text,
            label=settings.label,
            words=settings.words_by,
            classes=settings.classes,
            max_contexts=settings.max_contexts,
            min_words=settings.min_words,
            seed=settings.seed,
        )
    labelled, sides = with_sides(labelled, dev=settings.dev, test=settings.test, lists=lists, seed=settings.seed)
    encoder = open_at_every_layer(model, **options)
    return Probing(encoder, labelled, sides, settings, text.describe(), static, probes_of, keep_probes)


def open_at_every_layer(model: Any, **options: Any) -> Encoder:
    """The model with its embedding table as the lowest layer, unless layers are asked for or it has no such table."""
    named = isinstance(model, str | Path) and not is_static(model)
    if not named or "layers" in options:
        return open_encoder(model, **options)
    try:
        return open_encoder(model, layers=EVERY_LAYER, **options)
    except UsageError:
        return open_encoder(model, **options)  # a table of another width, or none (ELMo): its layers alone


def probe_into(folder: RunFolder, work: Probing, *, workers: Workers | None = None, progress: bool = False) -> Probed:
    """The whole run into its folder. A complete one is read, if it was made of the same."""
    identity = json.loads(json.dumps(work.identity, default=str))
    if folder.complete:
        return read_complete(folder.target, identity)
    began = time.monotonic()
    claim(folder.state, identity)
    probed = work.run(state=folder.state, kept=folder.unfinished / "probes", workers=workers, progress=progress)
    for name, columns in probed.tables.items():
        write_csv(folder.unfinished / f"{name}.csv", columns)
    draw_probes(probed.tables, folder.unfinished / "figures", model=probed.model)
    about = {
        "command": "probe",
        "limbeck": __version__,
        "model": probed.model,
        "settings": probed.settings,
        "facts": probed.facts,
        "tables": list(probed.tables),
        "identity": identity,
        "seconds": round(time.monotonic() - began, 3),
    }
    write_text(folder.unfinished / "run.json", json.dumps(about, indent=2, default=str) + "\n")
    folder.passing.append("state")  # vectors and decisions, many times the size of what they gave
    folder.finish()
    return probed


def claim(state: Path, identity: dict[str, Any]) -> None:
    """Take the folder of what a stopped run has done; refused where that was of something else."""
    state.mkdir(parents=True, exist_ok=True)
    mark = state / "identity.json"
    if mark.is_file() and json.loads(mark.read_text(encoding="utf-8")) != identity:
        raise InputError(
            f"{state.parent}: the unfinished run is of another model, data or settings: --existing=replace."
        )
    write_text(mark, json.dumps(identity))


def read_complete(folder: Path, identity: dict[str, Any]) -> Probed:
    """What a finished run holds; refused where it is of another model, data or settings."""
    told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    if told.get("command") != "probe" or told.get("identity") != identity:
        raise InputError(
            f"{folder}: holds a finished run of another command, model, data or settings: --existing=replace, or "
            "another --out."
        )
    return read_probed(folder)


def read_probed(folder: str | Path) -> Probed:
    """The tables of a finished run; numbers are numbers again, an empty cell is NaN."""
    folder = Path(folder)
    told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    tables = {
        name: {column: [_cell(column, value) for value in values] for column, values in columns.items()}
        for name in told["tables"]
        for columns in [read_csv(folder / f"{name}.csv")]
    }
    return Probed(told["model"], tables, told["settings"], told["facts"])


#: columns of text; all others are numbers
TEXT = frozenset("space level probe context layer side class from to word now text pieces quarter".split())


def _cell(column: str, value: str) -> Any:
    if column in TEXT:
        return value
    if value == "":
        return float("nan")
    return float(value) if "." in value or "e" in value or "n" in value else int(value)
