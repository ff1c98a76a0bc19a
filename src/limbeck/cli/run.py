"""limbeck run: a plan, one pass for all its consumers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import add_engine_options
from limbeck.errors import Interrupted, UsageError
from limbeck.parameters import takes
from limbeck.runs.distill import DistillRun
from limbeck.runs.encode import EncodeRun
from limbeck.runs.execution.run import SharedRun
from limbeck.runs.measure import MeasureRun
from limbeck.runs.probe import ProbeRun
from limbeck.runs.repair import RepairRun

if TYPE_CHECKING:
    from limbeck.cli.plan_file import PlanFile
    from limbeck.runs.execution.sharing import Reading

EPILOG = """\
A plan names a model and a text, and has a table for each consumer; keys are the options of its command:

  model = "bert-base-cased"
  corpus = ["text.txt"]
  out = "runs/all"               # consumers without an out of their own: runs/all/measure, runs/all/distill, ...

  [[measure]]
  min-contexts = 10

  [[encode]]
  layers = "0,6,12"
  keep = "float32"

  [[distill]]
  method = "average,principal"

  [[repair]]
  method = "whiten"

  [[probe]]
  label = "class"

Each folder is what its own command would have written. `limbeck plan COMMAND ...` writes such a file.

examples:
  limbeck run plan.toml
  limbeck run plan.toml --out runs/again
  limbeck run plan.toml --existing resume
  limbeck run plan.toml --engine ray --workers 4
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="run a plan: one pass over a text for many consumers",
        description="Read a text by a model once, for all that a plan wants: measures, repairs, vectors, probes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plan", metavar="PLAN", help="a plan file")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of consumers that name none, in the plan's place"
    )
    parser.add_argument(
        "--existing",
        default="fail",
        metavar="HOW",
        help="where folders are there already: fail (default), resume, replace",
    )
    add_engine_options(parser.add_argument_group("where"))
    return parser


def run(options: argparse.Namespace) -> int:
    show = not options.quiet
    made = run_plan(
        options.plan,
        out=options.out,
        existing=options.existing,
        engine=options.engine,
        workers=options.workers,
        address=options.address,
        gpus_per_worker=options.gpus_per_worker,
        progress=show,
        tell=_say if show else _be_quiet,
    )
    for folder in made:
        print(folder)
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _be_quiet(line: str) -> None:
    pass


@takes()
def run_plan(
    plan: str | Path,
    *,
    out: str | Path | None = None,
    existing: str = "fail",
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    gpus_per_worker: float | None = None,
    progress: bool = False,
    tell: Callable[[str], None] = _be_quiet,
) -> list[Path]:
    """Run a plan file: one pass over its text for all its consumers; the folders that were written.

    out      folder of consumers that name none of their own, in the place of the plan's
    engine   "local", or "ray", with its address and GPUs a worker
    workers  of the engine, in the place of the plan's
    tell     a function that is given lines on how far it has come
    """
    from limbeck.cli.plan_file import PlanFile, shared_parser
    from limbeck.cli.running import started
    from limbeck.runs.execution.folders import check_target
    from limbeck.runs.execution.sharing import run_jobs

    file = PlanFile.read(plan)
    if not file.tables:
        raise UsageError(f"{file.path}: a plan must have a consumer, it has none: add [[measure]], for example.")
    given = {key: value for key, value in file.shared.items() if key not in ("out", "layers")}
    shared = file.parsed(shared_parser(), given, "", 1)
    for key in ("model", "corpus"):
        if not getattr(shared, key):
            file.fail(f"a plan needs a model and a text; {key} is missing")
    jobs = jobs_of(file, out if out is None else Path(out))
    for job in jobs:
        check_target(job.out, existing=existing)  # before anything is started
    shared.engine, shared.address, shared.gpus_per_worker, shared.dry_run = engine, address, gpus_per_worker, False
    shared.workers = shared.workers if workers is None else workers
    how: dict[str, Any] = {"existing": existing, "progress": progress, "tell": tell}
    try:
        with started(shared) as processes:
            run_jobs(jobs, lambda: open_reading(shared), workers=processes, **how)
    except KeyboardInterrupt:
        raise Interrupted("stopped; to go on: the same command with --existing=resume.") from None
    return [job.out for job in jobs]


def open_reading(shared: argparse.Namespace) -> Reading:
    """Model and text, with every layer."""
    from limbeck.cli.options import source_options
    from limbeck.runs.execution.sharing import Reading
    from limbeck.runs.execution.sources import open_source
    from limbeck.stream import TextSource

    source = open_source(shared.model, shared.corpus, **source_options(shared))
    assert isinstance(source, TextSource)
    asked = shared.units is not None
    return Reading(source.corpus, source.encoder, source.text_unit, source.batch_tokens, shared.model, asked)


def jobs_of(file: PlanFile, out: Path | None) -> list[Any]:
    """The consumers of a plan, each with the settings that its own command would have."""
    from limbeck.cli.plan_file import own_parser

    base = out or (Path(file.shared["out"]) if "out" in file.shared else None)
    jobs: list[Any] = []
    for table in file.tables:
        given = dict(table.options)
        if "out" not in given:
            if base is None:
                file.fail(
                    "a consumer needs a folder: give it an out, or the plan, or --out", table.command, table.number
                )
            given["out"] = str(base / table.title.replace(" ", "-"))
        layers = given.pop("layers", file.shared.get("layers"))
        options = file.parsed(own_parser(table.command), given, table.command, table.number)
        try:
            job = MAKERS[table.command](options)
        except UsageError as error:
            file.fail(error.message, table.command, table.number)
        job.title = f"{file.path}:{table.line}: {table.title}"
        if layers is not None:
            job.encoder = replace(job.encoder, layers=str(layers))
        jobs.append(job)
    return jobs


REPAIRED = "repair changes the vectors inside the pass, which others share: run it by itself"


def shared_run(run: type[SharedRun[Any]]) -> Callable[[argparse.Namespace], Any]:
    """What makes a run out of its options."""

    def make(options: argparse.Namespace) -> Any:
        from limbeck.cli.program import made

        given = vars(options)
        if given.get("repair") is not None:
            raise UsageError(REPAIRED, code="not_shared", parameter="repair")
        return made(run, given)

    return make


def distill_job(options: argparse.Namespace) -> Any:
    from limbeck.cli.program import made

    run = made(DistillRun, vars(options))
    assert run.settled is not None  # what is wrong with them is told now
    return run


def probe_job(options: argparse.Namespace) -> Any:
    from limbeck.cli.program import made

    return made(ProbeRun, vars(options))


MAKERS = {
    "measure": shared_run(MeasureRun),
    "encode": shared_run(EncodeRun),
    "repair": shared_run(RepairRun),
    "distill": distill_job,
    "probe": probe_job,
}
