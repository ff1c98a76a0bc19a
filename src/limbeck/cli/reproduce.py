"""limbeck reproduce: a paper's claims, tried on any models."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import add_corpus_options, add_model_options, add_pass_options, add_settings, positive
from limbeck.cli.reproduce_findings import print_findings, write
from limbeck.cli.reproduce_parts import from_parents, from_spaces
from limbeck.cli.reproduce_probes import IDLE as IDLE_FOR_PROBES
from limbeck.cli.reproduce_probes import OPTIONS as PROBING
from limbeck.cli.reproduce_probes import add_probe_options, from_probes
from limbeck.cli.reproduce_runs import from_runs, from_tables
from limbeck.errors import UsageError
from limbeck.papers import PAPERS, paper_named
from limbeck.runs.measure import MeasureSettings, SentenceSettings

if TYPE_CHECKING:
    from limbeck.papers.findings import Source

EPILOG = """\
papers: {papers}

Without --model the miniatures of the package are measured, without --corpus its sample corpus. DIR then holds
findings.json and findings.md (each claim: held, not held, too close to call, cannot be shown; by which rule, with
which numbers), figures/, and the numbers: runs/, a folder of `limbeck measure` for each model; tables/, for papers
about embedding tables (bis2021), which need no pass through the model; spaces/, for papers about repairs
(rajaee2021), parents/, for papers about static vectors (gupta2021), and probes/, for papers about probes (zhao2020),
where every part that was measured is kept, so that a run that was stopped goes on with --existing resume.

examples:
  limbeck reproduce ethayarajh2019 --out runs/ethayarajh2019
  limbeck reproduce ethayarajh2019 --model bert-base-cased gpt2 --corpus text.txt --out runs/mine
  limbeck reproduce ethayarajh2019 --model bert-base-cased gpt2 --corpus sts.tsv --columns 1,2 --preset released \\
      --out runs/published
  limbeck reproduce ethayarajh2019 --corpus semcor3.0.tar.xz --format semcor --out runs/semcor
  limbeck reproduce ethayarajh2019 --out runs/ethayarajh2019 --existing resume --page docs/architecture.md
  limbeck reproduce rajaee2021 --out runs/rajaee2021
  limbeck reproduce rajaee2021 --data data --model bert-base-uncased gpt2 --max-train 2500 --out runs/repairs
  limbeck reproduce rajaee2021 --data data --quick --out runs/quick
  limbeck reproduce bis2021 --out runs/bis2021
  limbeck reproduce bis2021 --model bert-base-cased glove.6B.300d.txt --data similarity-sets --out runs/tables
  limbeck reproduce gupta2021 --data data --corpus text.txt --out runs/gupta2021
  limbeck reproduce gupta2021 --data data --corpus text.txt --model bert-base-uncased glove.txt --out runs/static
  limbeck reproduce gupta2021 --data data --quick --out runs/quick
  limbeck reproduce zhao2020 --data data --out runs/zhao2020
  limbeck reproduce zhao2020 --data data --model bert-base-uncased --corpus corpus.txt --format wikipse \\
      --train-words train.tsv --test-words test.tsv --static wiki-news-300d.vec --preset paper --out runs/published
"""
#: source of a paper's claims -> options that it has no use for
CAPS = ("quick", "max_pairs", "seeds", "max_train", "starts", "count_in")  #: of spaces alone, or nearly
TRAINING = ("epochs", "min_count", "sentences", "fine_tuned")  #: of parents alone
ENGINE = ("engine", "address", "gpus_per_worker")  #: of runs alone, which are measured as `limbeck measure` does
IDLE: dict[Source, tuple[str, ...]] = {
    "runs": ("early", *CAPS, *TRAINING, *PROBING),
    "probes": (*IDLE_FOR_PROBES, *ENGINE),
    "tables": (
        *CAPS, *TRAINING, *PROBING, *ENGINE,
        "revision", "layers", "pooling", "units", "window", "context", "targets", "keep_first", "special", "stack",
        "device", "dtype", "trust_remote_code", "text_unit", "batch_tokens", "workers", "senses", "sense_label",
        "min_contexts", "max_words", "mev_words", "max_contexts", "points", "two_pass", "text",
    ),
    "parents": (
        *PROBING, *ENGINE,
        "early", "max_pairs", "seeds", "count_in", "layers", "units", "context", "targets", "special", "text_unit",
        "senses", "sense_label", "min_contexts", "max_words", "mev_words", "max_contexts", "points", "two_pass",
        "text",
    ),
    "spaces": (
        *PROBING, *ENGINE,
        *TRAINING, "early", "layers", "pooling", "units", "context", "targets", "special", "stack", "text_unit",
        "senses", "sense_label", "workers", "min_contexts", "max_words", "mev_words", "max_contexts", "two_pass",
        "text",
    ),
}  # fmt: skip
#: source of a paper's claims -> what they are tried on, in words
TRIED_ON: dict[Source, str] = {
    "runs": "run folders of all layers",
    "tables": "embedding tables, and reads no layer",
    "spaces": "pieces of a text at all layers, before and after repair",
    "parents": "static vectors that are made from parents and a text",
    "probes": "labelled words at all layers, before and after fine-tuning",
}


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
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with files, anywhere in it: word-similarity sets (bis2021, gupta2021; ethayarajh2019 with "
        "analogies and categories, for its Table 1); sentence similarity, classification, a treebank and SemCor "
        "(rajaee2021); classification (gupta2021); SemCor, a treebank, entities, SST-2 and MRPC (zhao2020)",
    )
    group = parser.add_argument_group("static vectors (gupta2021)")
    group.add_argument(
        "--epochs", type=positive, metavar="N", help="of X2Static and baselines (10; with other presets their own)"
    )
    group.add_argument(
        "--min-count", type=positive, metavar="N", help="occurrences that a word needs (5; with other presets 10)"
    )
    group.add_argument(
        "--sentences", type=positive, metavar="N", help="of the text on which other contexts are tried (5000)"
    )
    group.add_argument(
        "--fine-tuned", nargs="+", metavar="DIR",
        help="folders of `limbeck finetune` whose parents are among the models, for more rows of Table 4",
    )  # fmt: skip
    group = parser.add_argument_group("repairs (rajaee2021), of which gupta2021 too has --quick, --max-train, --starts")
    group.add_argument("--quick", action="store_true", help="a little of everything, to see it run: no number counts")
    group.add_argument("--max-pairs", type=positive, metavar="N", help="sentence pairs of each set (default: all)")
    group.add_argument("--seeds", type=positive, metavar="N", help="clusterings that are averaged (5)")
    group.add_argument("--max-train", type=positive, metavar="N", help="training examples of each task (1000)")
    group.add_argument("--starts", type=positive, metavar="N", help="training runs of each setting (5)")
    group.add_argument(
        "--count-in", nargs="+", metavar="C", help="text in which words are counted for their frequency (the text)"
    )
    add_probe_options(parser)
    group = parser.add_argument_group("embedding tables (bis2021)")
    group.add_argument(
        "--early", type=Path, metavar="DIR", help="folder with tables kept in training, early-NAME.safetensors"
    )
    add_pass_options(parser)
    add_settings(parser, MeasureSettings, SentenceSettings)
    parser.set_defaults(vectors=None, default_of=parser.get_default)
    return parser


def run(options: argparse.Namespace) -> int:
    """Gather what the paper's claims are tried on, judge them, write and print them."""
    from limbeck.runs.execution.folders import held

    paper = paper_named(options.paper)
    options.model = options.model or list(paper.models)
    refuse_idle(paper.source, options)
    ways = {"runs": from_runs, "tables": from_tables, "spaces": from_spaces, "parents": from_parents,
            "probes": from_probes}  # fmt: skip
    with nullcontext() if options.dry_run else held(options.out):
        gathered = ways[paper.source](paper, options)
        if gathered is None:  # a dry run
            return 0
        found, files = gathered
        write(found, options.out, page=options.page, files=files)
    print_findings(found, options.out)
    return 0


def refuse_idle(source: Source, options: argparse.Namespace) -> None:
    """Options that this paper has no use for are refused, lest somebody trust in them."""
    idle = [name for name in IDLE[source] if getattr(options, name) != options.default_of(name)]
    if idle:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
        raise UsageError(f"The claims of {options.paper} are tried on {TRIED_ON[source]}; got {named}: leave it out.")
