"""Pipeline files: TOML with a model, a text, and a table per run, whose keys are the options of its command."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from limbeck.corpus.settings import CorpusSettings, FileSettings, TextUnitSettings
from limbeck.encoders.settings import DeviceSettings, EncoderSettings, LayerSettings, LoadingSettings
from limbeck.errors import InputError, Interrupted, UsageError
from limbeck.remote import Place, refuse_password
from limbeck.runs.execution.run import SharedRun, paths_in, run_classes
from limbeck.runs.execution.settings import (
    FolderSettings,
    ModelSettings,
    ModelsSettings,
    PartSettings,
    RepairedSettings,
    SeparateTextSettings,
    TextSettings,
    VectorsSettings,
)
from limbeck.settings import Option, Settings, options_of, refuse_no_path
from limbeck.stream.context import silent
from limbeck.stream.settings import BatchSettings, EngineSettings, WorkersSettings

if TYPE_CHECKING:
    from limbeck.runs.execution.result import RunResult
    from limbeck.runs.execution.sharing import Reading

#: what all runs share, at the top of the file
TOP = (
    ModelSettings, TextSettings, LoadingSettings, EncoderSettings, CorpusSettings, TextUnitSettings, BatchSettings,
    WorkersSettings,
)  # fmt: skip
#: settings of a command that are said at the top, or mean nothing where a pass is shared
NOT_IN_TABLES = (
    ModelSettings, ModelsSettings, TextSettings, DeviceSettings, LayerSettings, FileSettings, TextUnitSettings,
    BatchSettings, WorkersSettings, FolderSettings, VectorsSettings, PartSettings, SeparateTextSettings,
)  # fmt: skip
EITHER = ("out", "layers")  #: keys that may stand at the top for all, and in a table for one
DEEPEST = 10  #: levels of a file, which needs four
REPAIRED = "repair changes the vectors inside the pass, which the others share: run it separately"


@cache
def sharing() -> dict[str, type[SharedRun[Any]]]:
    """The commands that can share a pass, by name."""
    return {name: one for name, one in run_classes().items() if issubclass(one, SharedRun)}


def key_of(option: Option) -> str:
    """How a file spells an option: as the command line does, without dashes before it."""
    return option.name.replace("_", "-")


@cache
def top_options() -> dict[str, Option]:
    """Key -> option at the top of a file."""
    return {key_of(one): one for kind in TOP for one in options_of(kind) if not one.terminal}


@cache
def own_options(command: str) -> dict[str, Option]:
    """Key -> option of a run's table, `EITHER` among them."""
    run = sharing()[command]
    own = [one for kind in run.settings().values() if not issubclass(kind, NOT_IN_TABLES) for one in options_of(kind)]
    either = [one for kind in run.settings().values() for one in options_of(kind) if one.name in EITHER]
    return {key_of(one): one for one in (*own, *either) if not one.terminal}


@dataclass(frozen=True)
class Table:
    """One run: its command, and its options by their keys."""

    command: str
    options: Mapping[str, Any]
    line: int
    number: int  # among those of its command, from 1

    @property
    def title(self) -> str:
        return self.command if self.number == 1 else f"{self.command} {self.number}"


@dataclass(frozen=True)
class Pipeline:
    """A pipeline as it is written; `shared` are the keys at the top."""

    path: Path
    shared: Mapping[str, Any]
    tables: Sequence[Table] = field(default_factory=list)
    text: str = ""

    @classmethod
    def read(cls, path: str | Path) -> Pipeline:
        """The pipeline in a file; keys that nobody knows are refused with file, line and the nearest that is known."""
        refuse_no_path(path, "pipeline")
        path = Path(path).expanduser()
        try:
            text = path.read_text(encoding="utf-8")
            found = tomllib.loads(text)
            check_values(found)
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file: check the path.", code="not_found") from None
        except OSError as error:
            raise InputError(
                f"{path}: a pipeline must be readable; {error.strerror}: check the path.", code="not_readable"
            ) from error
        except RecursionError as error:
            raise InputError(
                f"{path}: a pipeline must be TOML of a few levels, this is nested too deeply.", code="malformed"
            ) from error
        except ValueError as error:
            raise InputError(f"{path}: a pipeline must be TOML: {error}.", code="malformed") from error
        shared = {dashed(key): value for key, value in found.items() if key not in sharing()}
        tables: list[Table] = []
        for command in sharing():
            given = found.get(command, [])
            for number, options in enumerate([given] if isinstance(given, dict) else given, 1):
                if not isinstance(options, dict):
                    raise InputError.at(
                        path,
                        line_of(text, "", 1, command),
                        f"{command} must be a table, [[{command}]].",
                        code="malformed",
                    )
                keys = {dashed(key): value for key, value in options.items()}
                tables.append(Table(command, keys, line_of(text, command, number), number))
        made = cls(path, shared, sorted(tables, key=lambda table: table.line), text)
        made.check()
        return made

    def check(self) -> None:
        """Refuse keys that nobody knows."""
        for key in self.shared:
            self._known(key, [*top_options(), "out", *sharing()], "", 1)
        for table in self.tables:
            for key in table.options:
                if key in top_options() and key not in EITHER and key not in own_options(table.command):
                    self.fail(f"{key} is shared by all runs: put it at the top", table.command, table.number, key)
                self._known(key, list(own_options(table.command)), table.command, table.number)

    def _known(self, key: str, names: Sequence[str], command: str, number: int) -> None:
        if key not in names:
            near = get_close_matches(key, names, n=1)
            where = f"[[{command}]]" if command else "the top of a pipeline"
            remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            self.fail(f"{key!r} is no key of {where}: {remedy}", command, number, key)

    def fail(self, message: str, command: str = "", number: int = 1, key: str = "") -> NoReturn:
        """A `UsageError` that names file and line."""
        line = line_of(self.text, command, number, key)
        place = f"{self.path}:{line}" if line else f"{self.path}"
        end = "" if message.endswith(("?", ".")) else "."
        raise UsageError(f"{place}: {message}{end}", code="pipeline", parameter=key.replace("-", "_"))

    def runs(self, out: Path | None = None) -> list[SharedRun[Any]]:
        """The runs, each with the settings that its own command would have; `out` holds those that name no folder."""
        if not self.tables:
            raise UsageError(
                f"{self.path}: a pipeline must have a run, it has none: add [[measure]], for example.", code="empty"
            )
        for key in ("model", "corpus"):
            if key not in self.shared:
                self.fail(f"a pipeline needs a model and a text; {key} is missing")
        base = out or (Path(self.shared["out"]) if "out" in self.shared else None)
        found = []
        for table in self.tables:
            given = dict(table.options)
            if "out" not in given and base is None:
                self.fail(
                    "a run needs a folder: give it an out, or the pipeline, or --out", table.command, table.number
                )
            given.setdefault("out", None if base is None else str(base / table.title.replace(" ", "-")))
            if "layers" in self.shared:
                given.setdefault("layers", self.shared["layers"])
            found.append(self._run(table, given))
        return found

    def _run(self, table: Table, given: Mapping[str, Any]) -> SharedRun[Any]:
        run = sharing()[table.command]
        known = own_options(table.command)
        for one in known.values():
            if one.required and key_of(one) not in given:
                self.fail(f"{key_of(one)} is required", table.command, table.number)
        try:
            values = {known[key].name: value_of(known[key], value) for key, value in given.items()}
            if {one.name for one in options_of(RepairedSettings)} & values.keys() and RepairedSettings in kinds_of(run):
                raise UsageError(REPAIRED, code="not_shared", parameter="repair")
            made = run(**{name: kind.of(values) for name, kind in run.settings().items()})
            made.title = f"{self.path}:{table.line}: {table.title}"
            made.validate_shared()
        except UsageError as error:
            key = error.parameter.replace("_", "-")
            message = error.message.removeprefix("--")
            self.fail(message, table.command, table.number, key if key in table.options else "")
        return made

    def workers(self, engine: EngineSettings) -> EngineSettings:
        """How the pass is made: the number of workers in the file serves where none is given."""
        if engine.workers is None and "workers" in self.shared:
            return replace(engine, workers=self._shared()["workers"])
        return engine

    def open(self) -> Reading:
        """Model and text, with every layer."""
        from limbeck.runs.execution.sharing import Reading
        from limbeck.runs.execution.sources import open_source
        from limbeck.stream import TextSource

        values = self._shared()
        model, corpus = values.pop("model"), values.pop("corpus")
        for name in ("workers", "layers"):
            values.pop(name, None)
        source = open_source(model, corpus, **values)
        assert isinstance(source, TextSource)
        asked = "units" in values
        return Reading(source.corpus, source.encoder, source.text_unit, source.batch_tokens, model, asked)

    def _shared(self) -> dict[str, Any]:
        """The values at the top, by name, where they are not the default."""
        known = top_options()
        values: dict[str, Any] = {}
        for key, value in self.shared.items():
            if key == "out":
                continue
            try:
                values[known[key].name] = value_of(known[key], value)
            except UsageError as error:
                self.fail(error.message.removeprefix("--"), key=key)
        found: dict[str, Any] = {}
        for kind in TOP:
            found |= kind.of(values).given()
        return found


def run(
    pipeline: str | Path,
    *,
    out: str | Path | None = None,
    existing: Literal["fail", "resume", "replace"] = "fail",
    workers: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    gpus_per_worker: float | None = None,
    progress: bool = False,
    notify: Callable[[str], None] = silent,
) -> dict[Path, RunResult]:
    """Run a pipeline file: one pass over its text for all its runs; their results by folder.

    out      folder of runs that name none of their own, in the place of the pipeline's
    existing what to do with folders that are there: "fail", "resume" or "replace"
    workers, engine, address, gpus_per_worker  who makes the pass, as the commands have them
    progress show bars
    notify   is called with lines on how far it has come
    """
    from limbeck.runs.execution.folders import check_target, is_begun, refuse_input
    from limbeck.runs.execution.sharing import run_jobs
    from limbeck.runs.execution.workers import start_workers

    file = Pipeline.read(pipeline)
    found = file.runs(None if out is None else Path(out))
    settings = file.workers(
        EngineSettings(workers=workers, engine=engine, address=address, gpus_per_worker=gpus_per_worker)
    )
    for one in found:
        check_target(one.out, existing=existing)  # before anything is started
    shared = file._shared()
    if existing == "replace":
        read = [file.path, *paths_in(kind.of(shared) for kind in TOP)]
        for one in found:
            refuse_input(one.out, [*read, *one.inputs()])
    try:
        with start_workers(settings, corpus=shared["corpus"], device=shared.get("device")) as processes:
            results = run_jobs(found, file.open, existing=existing, workers=processes, progress=progress, tell=notify)
    except KeyboardInterrupt:
        if not any(map(is_begun, (one.out for one in found))):
            raise  # there is nothing to go on from
        raise Interrupted(
            "stopped; to go on: the same command with --existing=resume.", code="stopped", parameter="existing"
        ) from None
    return {one.out: result for one, result in zip(found, results, strict=True)}


def kinds_of(run: type[SharedRun[Any]]) -> list[type[Settings]]:
    return list(run.settings().values())


def value_of(option: Option, value: Any) -> Any:
    """A value of TOML as the option has it."""
    if option.paths:
        return [Place(str(one)) for one in (value if isinstance(value, list) else [value])]
    if option.several or option.type is bool:
        return option.check(value)
    if isinstance(value, list) and option.type in (object, str):
        value = ",".join(map(str, value))
    if option.type is object and isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return option.check(value)


def check_values(pipeline: Mapping[str, Any]) -> None:
    """Refuse a URL that has a password in it, anywhere in a file; RecursionError where it is nested too deeply."""
    level: list[Any] = [pipeline]
    for _ in range(DEEPEST):
        inside = [one for value in level for one in (value.values() if isinstance(value, dict) else value)]
        for one in inside:
            if isinstance(one, str):
                refuse_password(one)
        level = [one for one in inside if isinstance(one, dict | list)]
    if level:
        raise RecursionError


def dashed(key: str) -> str:
    return key.replace("_", "-")


def line_of(text: str, command: str, number: int = 1, key: str = "") -> int:
    """The line of a table's header, or of a key in it; 0 where it is not found."""
    seen = 0 if command else number
    found = 0
    spelled = re.escape(key).replace("\\-", "[-_]")
    for line, content in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([\w-]+)\s*\]", content)
        if header:
            if not command and header[1] == key:
                return line
            if seen == number and (found or not command):
                return found
            seen += header[1] == command
            if seen == number and header[1] == command:
                found = line
                if not key:
                    return line
        elif seen == number and key and re.match(rf"\s*[\"']?{spelled}[\"']?\s*=", content):
            return line
    return found


def as_toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False)


def lines_for(options: Mapping[str, Any]) -> str:
    """Keys and values, a line each."""
    return "".join(f"{key} = {as_toml(value)}\n" for key, value in options.items())
