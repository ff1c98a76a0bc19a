"""`limbeck reproduce`: a paper's claims, tried on any models.

What every paper has in common stands here, what the papers of a kind have of their own in
`limbeck.papers.reproductions`. What computes is imported when a run does: `--help` needs none of it.
"""

from __future__ import annotations

import json
import shlex
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from limbeck.corpus.settings import CorpusSettings
from limbeck.errors import InputError, LimbeckError, UsageError, choose
from limbeck.papers import PAPERS, paper_named
from limbeck.papers.settings import PaperDataSettings, PaperSettings, ReproduceOutputSettings
from limbeck.places import MARK, claim, is_own, place_of, remove_own
from limbeck.record import read_record
from limbeck.remote import Place
from limbeck.runs.execution.result import SAVING, RunResult
from limbeck.runs.execution.run import Run
from limbeck.runs.execution.settings import ModelsSettings, TextSettings
from limbeck.settings import options_of, refuse_no_path

if TYPE_CHECKING:
    from limbeck.papers.findings import Paper, Tried
    from limbeck.papers.results import Reproduction
    from limbeck.reporting.figures import Makers
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.stream.context import RunContext
    from limbeck.tables import Columns

FORMAT = 1  #: of findings.json
#: options that say how a run goes, and change no number
UNCHANGING = ("existing", "workers", "dry_run")
HOLDS = """\
Without --model the miniatures of the package are measured, without --corpus its sample corpus. DIR then holds
findings.json and findings.md (each claim: held, not held, too close to call, cannot be shown; by which rule, with
which numbers), figures/, and the numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class ReproduceResult(RunResult):
    """What became of a paper's claims on some models: a row for each claim.

    record        findings.json: the paper, the models, and every finding with its rule, verdict and numbers
    tables        findings: claim, verdict, text and reason
    reproduction  all that the claims were tried on, for figures and pages; None when loaded
    numbers       tables of its folder, by their path there; empty when loaded
    """

    has_record: ClassVar[bool] = False  # findings.json is

    reproduction: Reproduction | None = field(default=None, repr=False, compare=False)
    numbers: Mapping[str, Columns] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, found: Reproduction, numbers: Mapping[str, Columns]) -> Self:
        """The result of a run."""
        record = json.loads(json.dumps({"format": FORMAT, **found.as_dict()}, allow_nan=False))
        return cls(record, findings_of(record), found, numbers)

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        """Every claim with its rule, its verdict, and each model's verdict, reason and numbers."""
        return list(self.record["findings"])

    def __getitem__(self, claim: str) -> Mapping[str, Any]:
        """A finding by its claim: `result["F1.spectrum"]["verdict"]`."""
        return {one["id"]: one for one in self.findings}[claim]

    def title(self) -> str:
        return f"{self.record['paper']['title']} ({self.record['paper']['citation']})"

    def columns(self) -> Columns:
        return self.tables["findings"]

    def save(self, folder: str | Path, *, existing: Literal["fail", "replace"] = "fail", figures: bool = True) -> None:
        """Write a folder as the verb does with `out`: findings, figures and tables."""
        from limbeck.runs.execution.execute import telling_folder
        from limbeck.runs.execution.folders import ReproductionFolder

        refuse_no_path(folder, "folder")
        choose(existing, SAVING, what="--existing")
        if existing == "fail":
            refuse_findings(Path(folder))
        with ReproductionFolder(folder) as place:
            with telling_folder(place.unfinished):
                self.write(place.unfinished, figures=figures)
            place.finish()

    def write(self, folder: Path, *, figures: bool = True) -> None:
        """Figures and tables first: a folder with findings.json is whole. Tables that are empty now are removed.

        Of what is in the folder, only limbeck's own is removed or overwritten.
        """
        from limbeck.papers.markdown import findings_page
        from limbeck.papers.results import FORMS, draw_figures, makers_of
        from limbeck.reporting.page import NAME as REPORT
        from limbeck.state import write_text
        from limbeck.tables import write_csv

        if self.reproduction is None:
            raise LimbeckError("What was loaded is saved by copying its folder.", code="unsupported")
        names = {name for name, columns in self.numbers.items() if columns} | {"findings.md", "findings.json", REPORT}
        if figures:
            names |= {f"figures/{name}.{form}" for name in makers_of(self.reproduction) for form in FORMS}
        claim(folder, names)
        if figures:
            draw_figures(self.reproduction, folder / "figures")
        for name, columns in self.numbers.items():
            if not columns:
                remove_own(folder, name)
            else:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                write_csv(folder / name, columns)
        write_text(folder / "findings.md", findings_page(self.reproduction, figures=figures))
        text = json.dumps(self.record, indent=2, ensure_ascii=False, allow_nan=False)
        write_text(folder / "findings.json", f"{text}\n")

    def write_drawn(self, folder: Path) -> None:
        """Figures are drawn of what is in memory."""

    def figures(self, folder: Path) -> Makers:
        from limbeck.papers.results import makers_of

        return {} if self.reproduction is None else makers_of(self.reproduction)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The findings in a folder that was written."""
        refuse_no_path(folder, "folder")
        path = Path(folder).expanduser() / "findings.json"
        record = read_record(path)
        if record.get("format") != FORMAT:
            raise InputError(
                f"{path}: must have format {FORMAT}, got {record.get('format')}: make the run again.",
                code="other_format",
            )
        return cls(record, findings_of(record))


def findings_of(record: Mapping[str, Any]) -> dict[str, Columns]:
    """The table of findings."""
    named = {"claim": "id", "verdict": "verdict", "text": "claim", "why": "why"}
    return {"findings": {name: [one[key] for one in record["findings"]] for name, key in named.items()}}


def refuse_findings(folder: Path) -> None:
    """Refuse a folder that has findings, or parts that a stopped run has kept, where nothing is to be replaced."""
    place = place_of(folder)
    if (place / "findings.json").exists():
        raise LimbeckError(
            f"{folder}: it already holds findings: --existing=resume or replace, or another --out.",
            code="exists",
            parameter="existing",
        )
    if is_own(place) and any(path.name != MARK and path.is_file() for path in place.rglob("*")):
        raise LimbeckError(
            f"{folder}: an unfinished run is here: --existing=resume goes on, --existing=replace begins anew.",
            code="unfinished",
            parameter="existing",
        )


def refuse_other_paper(folder: Path, paper: Paper) -> None:
    """Refuse to go on in a folder that holds the findings on another paper."""
    try:
        told = read_record(folder / "findings.json").get("paper")
    except InputError:
        return  # there are none yet, or they are written anew
    other = told.get("id") if isinstance(told, dict) else None
    if other not in (None, paper.id):
        raise LimbeckError(
            f"{folder}: it holds findings on {other}, not on {paper.id}: choose another --out.",
            code="other_run",
            parameter="out",
        )


@dataclass(kw_only=True)
class ReproduceRun(Run[ReproduceResult]):
    """Measure some models and say of each claim of a paper whether it holds for them."""

    result = ReproduceResult
    command: ClassVar[str] = "reproduce"
    summary: ClassVar[str] = "try a paper's claims on any models"
    details: ClassVar[str] = f"""\
papers: {", ".join(PAPERS)}

`limbeck reproduce PAPER --help` tells more about one of them. Here brackets say which papers take an option, where not
all of them do.

{HOLDS}
"""
    examples: ClassVar[str] = """\
limbeck reproduce ethayarajh2019 --out runs/ethayarajh2019
limbeck reproduce ethayarajh2019 --model bert-base-cased gpt2 --corpus text.txt --out runs/mine
limbeck reproduce rajaee2021 --data data --quick --out runs/quick
limbeck reproduce bis2021 --model bert-base-cased glove.6B.300d.txt --data similarity-sets --out runs/tables
limbeck reproduce gupta2021 --data data --corpus text.txt --out runs/gupta2021
limbeck reproduce zhao2020 --data data --out runs/zhao2020
"""
    no_static: ClassVar[str] = ""  #: why static vectors cannot be tried; "" where they can

    which: PaperSettings
    models: ModelsSettings
    text: TextSettings
    output: ReproduceOutputSettings
    files: PaperDataSettings
    reading: CorpusSettings

    @classmethod
    def kinds(cls) -> Mapping[str, type[ReproduceRun]]:
        if cls is not ReproduceRun:
            return {}
        from limbeck.papers.reproductions import KINDS

        return {paper: KINDS[source] for paper, source in PAPERS.items()}

    @cached_property
    def paper(self) -> Paper:
        return paper_named(str(self.which.paper))

    @property
    def tried(self) -> tuple[str, ...]:
        """The models, as they are named."""
        return tuple(map(str, self.models.model or self.paper.models))

    @cached_property
    def names(self) -> list[str]:
        """What the models are called in findings, and their folders."""
        from limbeck.runs.execution.folders import named_folders

        return [folder.name for folder in named_folders(Path(), self.tried)]

    @property
    def corpus(self) -> list[Any]:
        """The text, which each model reads anew."""
        from limbeck.papers.text import default_corpus

        return places(self.text.corpus or str(default_corpus()))

    @property
    def command_line(self) -> str:
        """The command that does it again."""
        words = ["limbeck", self.command]
        for settings in (getattr(self, name) for name in self.settings()):
            given = settings.given()
            for one in options_of(type(settings)):
                words += one.words(given[one.name]) if one.name in given and one.name not in UNCHANGING else []
        return shlex.join(words)

    def validate(self) -> None:
        from limbeck.corpus.sources import is_read_once
        from limbeck.encoders.loading import check_model
        from limbeck.papers.markdown import block_names
        from limbeck.papers.pages import check_page
        from limbeck.runs.execution.sources import is_static

        for model in self.models.model or ():
            if not isinstance(model, str | Path):
                raise UsageError(
                    f"--model must be names or folders, since each is read several times; got {type(model).__name__}.",
                    code="wrong_type",
                    parameter="model",
                )
        _ = self.names
        for name in self.tried:
            if not is_static(name):
                check_model(name)
            elif self.no_static:
                raise UsageError(f"{name}: {self.no_static}", code="unsupported", parameter="model")
        if self.output.page is not None:
            check_page(self.output.page, block_names(self.paper))
        if any(map(is_read_once, self.corpus if self.text.corpus else ())):
            raise UsageError(
                "--corpus must be files, each model reads it anew; got a pipe: put it into a file.",
                code="read_once",
                parameter="corpus",
            )

    def check_folder(self) -> None:
        if self.output.out is None:
            self.refuse_unkept()
        elif self.output.existing == "fail":
            refuse_findings(self.output.out)
        if self.output.out is not None and self.resumes:
            refuse_other_paper(self.output.out, self.paper)

    def make_folder(self) -> RunFolder:
        from limbeck.runs.execution.folders import ReproductionFolder

        assert self.output.out is not None
        return ReproductionFolder(self.output.out)

    @abstractmethod
    def gather(self, folder: Path, context: RunContext) -> tuple[Reproduction, Mapping[str, Columns]]:
        """What the claims are tried on, judged, and files with its numbers; in `folder` each part is kept."""

    def judge(self, subjects: Sequence[Tried]) -> Reproduction:
        """Every claim on what was gathered."""
        from limbeck.papers.results import try_on

        return try_on(self.paper, subjects, command=self.command_line)

    @property
    def resumes(self) -> bool:
        """Whether what is kept of an earlier try is taken."""
        return self.output.existing == "resume"

    def compute(self, context: RunContext) -> ReproduceResult:
        with ExitStack() as stack:
            folder = self.output.out or Path(stack.enter_context(TemporaryDirectory()))
            found, numbers = self.gather(folder, context)
        return ReproduceResult.of(found, numbers)

    def publish(self, result: ReproduceResult) -> None:
        from limbeck.papers.results import write_blocks

        if self.output.page is not None and result.reproduction is not None:
            write_blocks(result.reproduction, self.output.page)


def places(given: Any) -> list[Any]:
    """One file or several, as a list; a string alone is always a path."""
    if isinstance(given, list | tuple):
        return list(given)
    return [Place(given) if isinstance(given, str) else given]


def reproduce(
    paper: str, model: Any = None, corpus: Any = None, *, progress: bool = False, **keywords: Any
) -> ReproduceResult:
    """Try a paper's claims on some models; with `out` also a folder of findings, figures and tables.

    paper     ethayarajh2019, zhao2020, rajaee2021, bis2021 or gupta2021
    model     names or folders, one or a list; None: the miniatures of the package
    corpus    files, one or a list; None: the sample corpus
    progress  show bars, and say which part is being measured

    All other keywords are the options of `limbeck reproduce PAPER`, by the same names; one that another paper has is
    refused.
    """
    models = model if model is None or isinstance(model, list | tuple) else [model]
    return ReproduceRun.results(progress, paper=paper, model=models, corpus=corpus, **keywords)[0]
