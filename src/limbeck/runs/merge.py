"""`limbeck merge`: runs of parts of a text, made anywhere, into the run that all of it would have given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from limbeck.errors import InputError, UsageError
from limbeck.places import missing_run
from limbeck.runs.encode import EncodeResult
from limbeck.runs.execution.run import Run
from limbeck.runs.execution.settings import DrawnOutputSettings, need_folder
from limbeck.runs.measure import MeasureResult
from limbeck.settings import Settings, option

if TYPE_CHECKING:
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.stream.context import RunContext


@dataclass(frozen=True)
class PartsSettings(Settings, group="runs"):
    """What is merged."""

    runs: tuple[Path, ...] = option(
        (),
        positional=True,
        recorded=False,
        metavar="RUN",
        files=True,
        help="folders of `limbeck measure`, or of `limbeck encode`",
    )


@dataclass(kw_only=True)
class MergeRun(Run[MeasureResult | EncodeResult]):
    """Merge runs of parts of a text, made anywhere, into the run that all of it would have given."""

    command: ClassVar[str] = "merge"
    summary: ClassVar[str] = "merge runs of parts of a text into one"
    details: ClassVar[str] = """\
Runs belong together when they are parts of one text (--part K/N of `limbeck measure` and `limbeck encode`), or
separate texts that were measured with one --vocabulary, each with a --first-document behind the documents of those
before it. DIR then holds what one run over all of it would have written. Anything else is refused, both sides named.
"""
    examples: ClassVar[str] = """\
limbeck measure --model bert-base-cased --corpus text.txt --part 1/2 --out parts/1
limbeck measure --model bert-base-cased --corpus text.txt --part 2/2 --index-of parts/1 --out parts/2
limbeck merge parts/1 parts/2 --out runs/whole

limbeck measure --model bert-base-cased --corpus a.txt --out runs/a
limbeck measure --model bert-base-cased --corpus b.txt --vocabulary runs/a --first-document 120 --out runs/b
limbeck merge runs/a runs/b --out runs/both

limbeck encode --model bert-base-cased --corpus text.txt --part 1/2 --out vectors/1
limbeck encode --model bert-base-cased --corpus text.txt --part 2/2 --out vectors/2
limbeck merge vectors/1 vectors/2 --out vectors/whole
"""

    parts: PartsSettings
    output: DrawnOutputSettings

    @cached_property
    def paths(self) -> list[Path]:
        return [path.expanduser() for path in self.parts.runs]

    @property
    def of_vectors(self) -> list[bool]:
        """Of each run, whether it is one of `limbeck encode`."""
        from limbeck.vectors.writer import DESCRIPTION

        return [(path / DESCRIPTION).is_file() for path in self.paths]

    def validate(self) -> None:
        from limbeck.runs.merging.sides import refuse

        if len(self.paths) < 2:
            raise UsageError(
                f"at least two runs can be merged; got {len(self.paths)}.", code="too_few", parameter="runs"
            )
        for path in self.paths:
            if not path.is_dir():
                raise missing_run(path, "the folder of a finished run is needed", "", parameter="runs")
        if len(set(self.of_vectors)) == 2:
            a, b = (self.paths[self.of_vectors.index(kind)] for kind in (True, False))
            refuse(a, b, "the one has occurrence vectors, the other is a measuring run")
        need_folder(self.output)

    def compute(self, context: RunContext) -> MeasureResult | EncodeResult:
        if not self.of_vectors[0]:
            from limbeck.runs.merging.measured import merge_measured

            return merge_measured(self.paths, context, options=self.options())
        from limbeck.runs.merging.vectors import merge_vectors

        assert context.folder is not None
        assert self.output.out is not None
        merge_vectors(self.paths, context.folder, context)
        return replace(EncodeResult.load(context.folder), folder=self.output.out)

    def check_complete(self, folder: RunFolder) -> None:
        raise InputError(
            f"{folder.target}: it is complete already: --existing=replace, or another --out.",
            code="exists",
            parameter="existing",
        )

    def load(self, folder: Path) -> MeasureResult | EncodeResult:
        return EncodeResult.load(folder) if self.of_vectors[0] else MeasureResult.load(folder)


def missing_parts(part: str) -> list[int]:
    """Numbers of the parts that a merged run lacks, by the parts that it has.

    >>> missing_parts("1/4,3/4"), missing_parts("")
    ([2, 4], [])
    """
    from limbeck.runs.execution.parts import TextPart

    have = [TextPart.parse(one) for one in part.split(",") if one]
    return [number for number in range(1, have[0].count + 1) if number not in {p.number for p in have}] if have else []


def merge(
    *runs: str | Path | EncodeResult, out: str | Path, progress: bool = False, **keywords: Any
) -> MeasureResult | EncodeResult:
    """One run out of runs of parts of a text: what a run over all of it would have written.

    runs      folders of `limbeck measure`, which give a MeasureResult, or of `limbeck encode`, which give an
              EncodeResult; made with `part`, or with `vocabulary` and `first_document`. What does not belong together
              is refused
    out       a new folder
    progress  show bars

    All other keywords are the options of `limbeck merge`, by the same names.
    """
    return MergeRun.results(progress, runs=runs, out=out, **keywords)[0]
