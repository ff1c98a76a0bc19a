"""limbeck reproduce: a paper's claims, tried on any models."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.measure import add_measure_options, check_before, folders_of, foresee, measure_into, settings_of
from limbeck.cli.options import add_corpus_options, add_model_options, add_pass_options, source_options
from limbeck.errors import LimbeckError, UsageError
from limbeck.reproduce import PAPERS, paper_named

if TYPE_CHECKING:
    from limbeck.reproduce.findings import Finding
    from limbeck.reproduce.results import Reproduction

EPILOG = """\
papers: {papers}

Without --model the miniatures of the package are measured, without --corpus its sample corpus. DIR then holds
findings.json and findings.md (each claim: held, not held, too close to call, cannot be shown; by which rule, with
which numbers), figures/, and runs/, a folder of `limbeck measure` for each model.

examples:
  limbeck reproduce ethayarajh2019 --out runs/ethayarajh2019
  limbeck reproduce ethayarajh2019 --model bert-base-cased gpt2 --corpus text.txt --out runs/mine
  limbeck reproduce ethayarajh2019 --model bert-base-cased gpt2 --corpus sts.tsv --columns 1,2 --preset released \\
      --out runs/published
  limbeck reproduce ethayarajh2019 --corpus semcor3.0.tar.xz --format semcor --out runs/semcor
  limbeck reproduce ethayarajh2019 --out runs/ethayarajh2019 --existing resume --page docs/architecture.md
"""
#: options that say how a run goes, and change no number -> how many words follow them
HOW = {"--existing": 1, "--quiet": 0, "--debug": 0, "--workers": 1}


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "reproduce",
        help="try a paper's claims on any models",
        description="Measure some models and say of each claim of a paper whether it holds for them.",
        epilog=EPILOG.format(papers=", ".join(PAPERS)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paper", metavar="PAPER", help=f"one of {', '.join(PAPERS)}")
    parser.add_argument(
        "--page", type=Path, metavar="P", help="Markdown page whose generated blocks are written anew, with figures"
    )
    add_model_options(parser, several=True)
    add_corpus_options(parser)
    group = parser.add_argument_group("senses")
    group.add_argument(
        "--senses",
        nargs="+",
        metavar="C",
        help="labelled corpus in which the senses of words are counted (default: the corpus itself, if it has labels)",
    )
    group.add_argument("--sense-label", metavar="NAME", help="label that tells the sense (default: sense, else class)")
    add_pass_options(parser)
    add_measure_options(parser)
    parser.set_defaults(vectors=None)
    return parser


def run(options: argparse.Namespace) -> int:
    """Measure each model, judge the claims, write and print them."""
    from limbeck.reproduce.markdown import block_names
    from limbeck.reproduce.pages import read_page
    from limbeck.reproduce.results import evaluate
    from limbeck.reproduce.text import default_corpus

    paper = paper_named(options.paper)
    options.model = options.model or list(paper.models)
    if options.layers is not None:
        raise UsageError("Claims are about all layers of a model; got --layers: leave it out.")
    settings = settings_of(options)
    out: Path = options.out
    targets = folders_of(out / "runs", options.model)
    if options.page is not None:
        read_page(options.page, block_names(paper))
    check_out(options)
    options.corpus = options.corpus or [str(default_corpus())]
    check_before(targets, options)
    if options.dry_run:
        for model in options.model:
            foresee(model, settings, options)
        return 0
    senses = senses_of(options)
    for model, target in zip(options.model, targets, strict=True):
        measure_into(target, model, settings, options, summary=False)
    found = evaluate(paper, targets, senses=senses, command=command_of(options.typed))
    write(found, out, page=options.page, senses=senses)
    print_findings(found, out)
    return 0


def check_out(options: argparse.Namespace) -> None:
    """Refuse what could not be read once a model, and findings that are there already."""
    if "-" in (options.corpus or ()):
        raise UsageError("--corpus must be files, each model reads it anew; got standard input: put it into a file.")
    if options.existing == "fail" and not options.dry_run and (options.out / "findings.json").exists():
        raise LimbeckError(f"{options.out}: it already holds findings: --existing resume or replace, or another --out.")


def senses_of(options: argparse.Namespace) -> dict[str, int]:
    """In how many senses words stand, by the labels of --senses or of the corpus."""
    from limbeck.reproduce.text import count_senses
    from limbeck.run.sources import CORPUS_OPTIONS, open_corpus

    if options.senses:
        with open_corpus(options.senses) as corpus:
            return count_senses(corpus, label=options.sense_label)
    given = {name: value for name, value in source_options(options).items() if name in CORPUS_OPTIONS}
    with open_corpus(options.corpus, **given) as corpus:
        return count_senses(corpus, label=options.sense_label)


def command_of(typed: Sequence[str]) -> str:
    """The command as it was typed, without the options that change no number.

    >>> command_of(["reproduce", "ethayarajh2019", "--existing", "resume", "--out", "my runs", "--quiet"])
    "limbeck reproduce ethayarajh2019 --out 'my runs'"
    """
    words, left = ["limbeck"], iter(typed)
    for word in left:
        if word.partition("=")[0] not in HOW:
            words.append(word)
        elif "=" not in word:
            for _ in range(HOW[word]):
                next(left, None)
    return shlex.join(words)


def write(found: Reproduction, out: Path, *, page: Path | None, senses: dict[str, int]) -> None:
    """findings.json, findings.md, senses.csv and figures/; and the generated blocks of a page, with its figures."""
    from limbeck.reproduce.markdown import blocks, findings_page
    from limbeck.reproduce.pages import blocks_of, read_page, write_page
    from limbeck.reproduce.results import draw_figures, write_json
    from limbeck.state import write_text
    from limbeck.tables import write_csv

    draw_figures(found, out / "figures")
    (out / "senses.csv").unlink(missing_ok=True)
    if senses:
        write_csv(out / "senses.csv", {"word": sorted(senses), "senses": [senses[word] for word in sorted(senses)]})
    write_text(out / "findings.md", findings_page(found))
    write_json(found, out / "findings.json")
    if page is not None:
        prefix = f"{found.paper.id}-"
        made = blocks(found, figures="figures", prefix=prefix)
        wanted = {name for name in found.paper.figures if f"figure-{name}" in blocks_of(read_page(page, made))}
        draw_figures(found, page.parent / "figures", only=wanted, prefix=prefix, forms=["svg"])
        write_page(page, made)


def print_findings(found: Reproduction, out: Path) -> None:
    """A line a claim: is it held, by whom not, and which figure shows it."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if Console().is_terminal else 120)
    table = Table(title=f"{found.paper.title} ({found.paper.citation})", title_justify="left")
    for title in ("", "claim", "held?", "figure"):
        table.add_column(title)
    for one in found.findings:
        table.add_row(one.claim.id.split(".")[0], one.claim.text, held(one), one.claim.figure)
    console.print(table, markup=False)
    counts: dict[str, int] = {}
    for one in found.findings:
        counts[one.verdict] = counts.get(one.verdict, 0) + 1
    lines = [", ".join(f"{verdict}: {count}" for verdict, count in counts.items())]
    lines += [found.note] if found.note else []
    for line in [*lines, f"{out}: findings.md, findings.json, figures/ and runs/"]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def held(one: Finding) -> str:
    """The verdict, and where models differ, those that it comes from."""
    if not one.models and one.claim.kind != "question":
        return f"{one.verdict}: {one.why}"
    if one.claim.kind == "figure" and one.verdict == "cannot be shown":
        return "drawn; not the paper's models"
    others: Sequence[str] = [name for name, judged in one.models.items() if judged.verdict is one.verdict]
    if 0 < len(others) < len(one.models):
        return f"{one.verdict} ({', '.join(others)})"
    return str(one.verdict)
