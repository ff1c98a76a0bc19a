"""limbeck reproduce: a paper's claims, tried on any models."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.measure import add_measure_options, check_before, folders_of, foresee, measure_into, settings_of
from limbeck.cli.options import add_corpus_options, add_model_options, add_pass_options, positive, source_options
from limbeck.errors import InputError, LimbeckError, UsageError, choose
from limbeck.reproduce import PAPERS, paper_named

if TYPE_CHECKING:
    from limbeck.corpus import Corpus
    from limbeck.reproduce.findings import Finding, Paper, Source
    from limbeck.reproduce.results import Reproduction
    from limbeck.reproduce.space_subjects import Part
    from limbeck.reproduce.space_wanted import Wanted
    from limbeck.tables import Columns

    #: what came out, and files with its numbers: path in the folder -> columns
    Gathered = tuple[Reproduction, Mapping[str, Columns]]

EPILOG = """\
papers: {papers}

Without --model the miniatures of the package are measured, without --corpus its sample corpus. DIR then holds
findings.json and findings.md (each claim: held, not held, too close to call, cannot be shown; by which rule, with
which numbers), figures/, and the numbers: runs/, a folder of `limbeck measure` for each model; tables/, for papers
about embedding tables (bis2021), which need no pass through the model; spaces/, for papers about repairs
(rajaee2021), and parents/, for papers about static vectors (gupta2021), where every part that was measured is kept, so
that a run that was stopped goes on with --existing resume.

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
"""
#: source of a paper's claims -> options that it has no use for
CAPS = ("quick", "max_pairs", "seeds", "max_train", "starts", "count_in")  #: of spaces alone, or nearly
TRAINING = ("epochs", "min_count", "sentences")  #: of parents alone
IDLE: dict[Source, tuple[str, ...]] = {
    "runs": ("early", *CAPS, *TRAINING),
    "tables": (
        *CAPS, *TRAINING,
        "revision", "layers", "pooling", "units", "window", "context", "targets", "keep_first", "special", "stack",
        "device", "dtype", "trust_remote_code", "text_unit", "batch_tokens", "workers", "senses", "sense_label",
        "min_contexts", "max_words", "mev_words", "max_contexts", "points", "two_pass", "no_text",
    ),
    "parents": (
        "early", "max_pairs", "seeds", "count_in", "layers", "units", "context", "targets", "special", "text_unit",
        "senses", "sense_label", "min_contexts", "max_words", "mev_words", "max_contexts", "points", "two_pass",
        "no_text",
    ),
    "spaces": (
        *TRAINING, "early", "layers", "pooling", "units", "context", "targets", "special", "stack", "text_unit",
        "senses", "sense_label", "workers", "min_contexts", "max_words", "mev_words", "max_contexts", "two_pass",
        "no_text",
    ),
}  # fmt: skip
#: source of a paper's claims -> what they are tried on, in words
TRIED_ON: dict[Source, str] = {
    "runs": "run folders of all layers",
    "tables": "embedding tables, and reads no layer",
    "spaces": "pieces of a text at all layers, before and after repair",
    "parents": "static vectors that are made from parents and a text",
}
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
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with files, anywhere in it: word-similarity sets (bis2021, gupta2021; ethayarajh2019 with "
        "analogies and categories, for its Table 1); sentence similarity, classification, a treebank and SemCor "
        "(rajaee2021); classification (gupta2021)",
    )
    group = parser.add_argument_group("static vectors (gupta2021)")
    group.add_argument("--epochs", type=positive, metavar="N", help="of X2Static (10; with other presets their own)")
    group.add_argument(
        "--min-count", type=positive, metavar="N", help="occurrences that a word needs (5; with other presets 10)"
    )
    group.add_argument(
        "--sentences", type=positive, metavar="N", help="of the text on which other contexts are tried (5000)"
    )
    group = parser.add_argument_group("repairs (rajaee2021), of which gupta2021 too has --quick, --max-train, --starts")
    group.add_argument("--quick", action="store_true", help="a little of everything, to see it run: no number counts")
    group.add_argument("--max-pairs", type=positive, metavar="N", help="sentence pairs of each set (default: all)")
    group.add_argument("--seeds", type=positive, metavar="N", help="clusterings that are averaged (5)")
    group.add_argument("--max-train", type=positive, metavar="N", help="training examples of each task (1000)")
    group.add_argument("--starts", type=positive, metavar="N", help="training runs of each setting (5)")
    group.add_argument(
        "--count-in", nargs="+", metavar="C", help="text in which words are counted for their frequency (the text)"
    )
    group = parser.add_argument_group("embedding tables (bis2021)")
    group.add_argument(
        "--early", type=Path, metavar="DIR", help="folder with tables kept in training, early-NAME.safetensors"
    )
    add_pass_options(parser)
    add_measure_options(parser)
    parser.set_defaults(vectors=None, default_of=parser.get_default)
    return parser


def run(options: argparse.Namespace) -> int:
    """Gather what the paper's claims are tried on, judge them, write and print them."""
    paper = paper_named(options.paper)
    options.model = options.model or list(paper.models)
    refuse_idle(paper.source, options)
    ways = {"runs": from_runs, "tables": from_tables, "spaces": from_spaces, "parents": from_parents}
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


def from_runs(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Measure each model as `limbeck measure` does, and judge by the run folders."""
    from limbeck.reproduce.component_vectors import find_nine_sets
    from limbeck.reproduce.results import evaluate
    from limbeck.reproduce.text import default_corpus

    if options.layers is not None:
        raise UsageError("Claims are about all layers of a model; got --layers: leave it out.")
    settings = settings_of(options)
    targets = folders_of(options.out / "runs", options.model)
    check_page(paper, options)
    check_out(options)
    sets = find_nine_sets(options.data)  # a wrong folder is told before anything is measured
    options.corpus = options.corpus or [str(default_corpus())]
    check_before(targets, options)
    if options.dry_run:
        for model in options.model:
            foresee(model, settings, options)
        return None
    senses = senses_of(options)
    for model, target in zip(options.model, targets, strict=True):
        measure_into(target, model, settings, options, summary=False)
    static = components_of(options, targets, *sets)
    found = evaluate(paper, targets, senses=senses, static=static, command=command_of(options.typed))
    words = sorted(senses)
    scores = table_of_components(found)
    return found, {
        "senses.csv": {"word": words, "senses": [senses[word] for word in words]} if senses else {},
        "static.csv": scores,
    }


def components_of(
    options: argparse.Namespace, targets: Sequence[Path], sets: Mapping[str, Any], missing: str
) -> list[Part | str]:
    """Table 1 of ethayarajh2019: of each model the scores of its static vectors, or why there are none."""
    import json

    from limbeck.reproduce.component_gather import gather_components

    if not sets:
        return [missing] * len(targets)
    given = source_options(options) | {"max_contexts": options.max_contexts, "seed": options.seed}
    given.pop("text_unit", None)
    models = {
        model: json.loads((target / "run.json").read_text(encoding="utf-8"))
        for model, target in zip(options.model, targets, strict=True)
    }
    if not options.quiet:
        print("static vectors of principal components", file=sys.stderr)
    return gather_components(
        models, options.corpus, sets, given, folder=options.out / "static", resume=options.existing == "resume"
    )


def table_of_components(found: Reproduction) -> Columns:
    from limbeck.analyze.result import columns_of

    parts = {one.name: one.static for one in found.subjects if one.static is not None}
    return columns_of([{"model": name, **row} for name, part in parts.items() for row in part.rows("scores")])


def from_tables(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Read each model's embedding table, and judge by that; a matter of seconds, so nothing is resumed."""
    from limbeck.reproduce.results import try_on
    from limbeck.reproduce.table_files import columns_of
    from limbeck.reproduce.table_similarity import find_sets
    from limbeck.reproduce.table_subjects import Gathering, gather
    from limbeck.reproduce.text import default_corpus
    from limbeck.run.folder import EXISTING
    from limbeck.run.presets import preset_named
    from limbeck.run.sources import CORPUS_OPTIONS, open_corpus

    preset_named(options.preset)
    choose(options.existing, EXISTING, what="--existing")
    names = [folder.name for folder in folders_of(Path(), options.model)]
    check_page(paper, options)
    check_out(options)
    sets, missing = find_sets(options.data)
    if options.early is not None and not options.early.is_dir():
        raise InputError(f"{options.early}: --early must be a folder of early tables, there is none: check the path.")
    how = Gathering(sets, missing, options.early, options.preset, options.seed)
    given = {name: value for name, value in source_options(options).items() if name in CORPUS_OPTIONS}
    tables = []
    for model, name in zip(options.model, names, strict=True):
        with open_corpus(options.corpus or [str(default_corpus())], **given) as corpus:
            if options.dry_run:
                describe_table(model, corpus, name=name)
                continue
            if not options.quiet:
                print(f"{name}: reading its table, counting its tokens in the text", file=sys.stderr)
            tables.append(gather(model, corpus, how, name=name))
    if options.dry_run:
        return None
    found = try_on(paper, tables, command=command_of(options.typed))
    return found, {f"tables/{name}": columns for name, columns in columns_of(tables).items()}


def from_spaces(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Measure each model's space part by part, before and after repair; what is kept from before is taken."""
    from limbeck.encoders.loading import check_model
    from limbeck.reproduce.results import try_on
    from limbeck.reproduce.space_gather import gather
    from limbeck.reproduce.space_subjects import columns_of_models
    from limbeck.run.folder import EXISTING
    from limbeck.run.presets import preset_named
    from limbeck.run.sources import is_static

    preset_named(options.preset)
    choose(options.existing, EXISTING, what="--existing")
    names = [folder.name for folder in folders_of(Path(), options.model)]
    for model in options.model:
        if is_static(model):
            raise UsageError(f"{model}: claims about layers need a model, these are static vectors: see bis2021.")
        check_model(model)
    check_page(paper, options)
    check_out(options)
    wanted = wanted_of(options)
    if options.dry_run:
        for name in names:
            describe_space(name, wanted)
        return None
    models = [
        gather(model, wanted, name=name, folder=options.out / "spaces" / name, resume=options.existing == "resume")
        for model, name in zip(options.model, names, strict=True)
    ]
    found = try_on(paper, models, command=command_of(options.typed))
    return found, {f"spaces/{name}": columns for name, columns in columns_of_models(models).items()}


def from_parents(paper: Paper, options: argparse.Namespace) -> Gathered | None:
    """Make each parent's static vectors part by part, and score them; what is kept from before is taken."""
    from limbeck.encoders.loading import check_model
    from limbeck.reproduce.results import try_on
    from limbeck.reproduce.static_gather import gather, gather_file
    from limbeck.reproduce.static_subjects import columns_of_parents
    from limbeck.run.folder import EXISTING
    from limbeck.run.presets import preset_named
    from limbeck.run.sources import is_static

    preset_named(options.preset)
    choose(options.existing, EXISTING, what="--existing")
    names = [folder.name for folder in folders_of(Path(), options.model)]
    for model in options.model:
        if not is_static(model):
            check_model(model)
    check_page(paper, options)
    check_out(options)
    wanted = parents_wanted_of(options)
    if options.dry_run:
        for name in names:
            describe_parent(name, wanted)
        return None
    parents: list[Any] = []
    shared: dict[int, dict[str, Any]] = {}  # baselines of the text, by dimension
    for model, name in zip(options.model, names, strict=True):
        if is_static(model):
            parents.append(gather_file(model, wanted, name=name))
            continue
        folder = options.out / "parents" / name
        parents.append(gather(model, wanted, shared, name=name, folder=folder, resume=options.existing == "resume"))
    found = try_on(paper, parents, command=command_of(options.typed))
    return found, {f"parents/{name}": columns for name, columns in columns_of_parents(parents).items()}


def parents_wanted_of(options: argparse.Namespace) -> Any:
    """What is asked of every parent."""
    from dataclasses import replace

    from limbeck.reproduce.static_gather import find_sentence_tasks, missing_data
    from limbeck.reproduce.static_scores import find_word_sets
    from limbeck.reproduce.static_wanted import QUICK, Caps, Wanted
    from limbeck.reproduce.text import default_corpus
    from limbeck.run.sources import CORPUS_OPTIONS

    given = source_options(options)
    text = {name: given.pop(name) for name in list(given) if name in CORPUS_OPTIONS}
    asked = {"epochs": options.epochs, "min_count": options.min_count, "sentences": options.sentences,
             "train": options.max_train, "starts": options.starts}  # fmt: skip
    sets = find_word_sets(options.data)
    tasks, lacking = find_sentence_tasks(options.data)
    return Wanted(
        sets=sets,
        classify=tasks,
        missing=missing_data(sets, lacking),
        corpus=options.corpus or [str(default_corpus())],
        text=text,
        encoder=given,
        caps=replace(
            QUICK if options.quick else Caps(), **{k: value for k, value in asked.items() if value is not None}
        ),
        preset=options.preset,
        seed=options.seed,
        progress=not options.quiet,
        workers=options.workers or 0,
    )


def describe_parent(name: str, wanted: Any) -> None:
    """--dry-run: what would be made, and what cannot be."""
    from limbeck.reproduce.static_subjects import PARTS

    for part, what in PARTS.items():
        lacking = wanted.missing.get("classify" if part == "classify" else "similarity")
        print(f"{name}: {what}" + (f": not made, it {lacking}" if lacking else ""))


def wanted_of(options: argparse.Namespace) -> Wanted:
    """What is asked of every model."""
    from dataclasses import replace

    from limbeck.reproduce.space_data import find_data
    from limbeck.reproduce.space_wanted import QUICK, Caps, Wanted
    from limbeck.reproduce.text import default_corpus
    from limbeck.run.sources import CORPUS_OPTIONS

    given = source_options(options)
    text = {name: given.pop(name) for name in list(given) if name in CORPUS_OPTIONS}
    caps = QUICK if options.quick else Caps(points=options.points)
    asked = {"pairs": options.max_pairs, "seeds": options.seeds, "train": options.max_train, "starts": options.starts}
    return Wanted(
        data=find_data(options.data),
        corpus=options.corpus or [str(default_corpus())],
        own_text=bool(options.corpus),
        text=text,
        encoder=given,
        count_in=options.count_in or (),
        caps=replace(caps, **{name: number for name, number in asked.items() if number is not None}),
        preset=options.preset,
        seed=options.seed,
        progress=not options.quiet,
    )


def describe_space(name: str, wanted: Wanted) -> None:
    """--dry-run: what would be measured, and what cannot be."""
    from limbeck.reproduce.space_subjects import PARTS

    needs = {"tuning": "development", "sts": "sts", "classify": "classify", "structure": "treebank"}
    lacking = {part: wanted.data.missing[kind] for part, kind in needs.items() if kind in wanted.data.missing}
    for part, what in PARTS.items():
        print(f"{name}: {what}" + (f": not measured, it {lacking[part]}" if part in lacking else ""))


def describe_table(model: str, corpus: Corpus, *, name: str) -> None:
    """--dry-run: what would be read, and the memory that it takes."""
    from limbeck.reproduce.table_sources import open_table

    table = open_table(model, corpus, name=name)
    rows, dim = table.matrix.shape
    memory = 6 * 8 * rows * dim / 2**20  # a few copies in float64: repaired, centred, its gradient
    print(
        f"{name}: {rows:,} {table.kind} × {dim}, {int(table.counts.sum()):,} tokens, about {memory:,.0f} MB of memory"
    )


def check_page(paper: Paper, options: argparse.Namespace) -> None:
    """A page with blocks that nobody can fill is refused before anything is measured."""
    from limbeck.reproduce.markdown import block_names
    from limbeck.reproduce.pages import read_page

    if options.page is not None:
        read_page(options.page, block_names(paper))


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


def write(found: Reproduction, out: Path, *, page: Path | None, files: Mapping[str, Columns]) -> None:
    """findings.json, findings.md, figures/ and the files with numbers; and a page's generated blocks with its figures.

    Of a file that has no columns this time an older one is removed.
    """
    from limbeck.reproduce.markdown import blocks, findings_page
    from limbeck.reproduce.pages import blocks_of, read_page, write_page
    from limbeck.reproduce.results import draw_figures, write_json
    from limbeck.state import write_text
    from limbeck.tables import write_csv

    draw_figures(found, out / "figures")
    for name, columns in files.items():
        (out / name).unlink(missing_ok=True)
        if columns:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_csv(out / name, columns)
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
    if found.paper.source == "spaces":
        from limbeck.reproduce.space_blocks import missing_parts

        lines += [f"not measured: {reason}" for reason in missing_parts(found.subjects)]
    for line in [*lines, f"{out}: findings.md, findings.json, figures/ and {found.paper.source}/"]:
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
