"""limbeck probe: how well classes of words are read off each layer of a model."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import add_engine_options, add_model_options, count, positive, rate, source_options
from limbeck.cli.output import console as make_console
from limbeck.cli.running import opened
from limbeck.errors import UsageError

if TYPE_CHECKING:
    from limbeck.probing import Probed
    from limbeck.probing.settings import ProbeSettings
    from limbeck.runs.probing.work import Probing

#: options of a model that would change which words have a vector: refused, and not in the help
NOT_FOR_PROBES = ("--units", "--context", "--targets", "--special")

EPILOG = """\
labelled data: SemCor (supersenses), CoNLL-U (a column), WIKI-PSE (classes), JSON lines:
  {"words": ["an", "apple", "tree"], "index": 1, "label": "plant"}    and "lemma", "span", "split" where they are known
  {"words": [...], "labels": {"1": {"class": "plant", "lemma": "apple"}}}                 several words of a sentence
or `sample`, the corpus that comes with limbeck. Words are split into training, development and test by a hash of the
word or lemma, so that none is on two sides; a split that the data give is refused where a word is.

presets of training:
  quick   one hidden layer of 64, 40 epochs (default)
  paper   one hidden layer of 1,024, 400 epochs (Zhao et al. 2020)
Neither stops early; --patience N does, by the loss on the development words, which with rare classes may cost F1.

compared with the layers in context, each with --compare (default: average,bag,random):
  average   one vector a word, the mean over its contexts; of the table it is the model's input embedding
  bag       the mean over the words of the sentence: of the model's table (P-model), the same without the word itself
            (P-around), of --static vectors (P-static)
  random    random vectors, one a word, and the mean of those over the sentence (P-random)
With --static FILE also its vectors, one a word (static).

controls, with --control (default: majority):
  majority            every word is of the largest class
  random-labels       a class drawn for each word: what is left is selectivity
  random-weights      the model before training
  description-length  bits of an online code for the labels

DIR then holds tables (CSV: scores, classes, curves, data, pieces, confidence, ...), figures/ and run.json.

examples:
  limbeck probe --model mini-bert --data sample --min-words 5 --out runs/probe
  limbeck probe --model bert-base-uncased --data semcor3.0.tar.xz/brown1 semcor3.0.tar.xz/brown2 \\
      --classes 'noun.*,verb.*' --preset paper --seeds 1,2,3,4,5 --out runs/supersenses
  limbeck probe --model mini-bert --data en_ewt-ud-train.conllu.xz --label upos --max-contexts 10 --out runs/pos
  limbeck probe --model bert-base-uncased --data corpus.txt --format wikipse --train-words train.tsv \\
      --test-words test.tsv --static wiki-news-300d.vec --out runs/wiki-pse
  limbeck probe --model mini-bert --data sample --min-words 5 --context-size 0,2,4,8 --out runs/contexts
  limbeck probe --model mini-bert --data sample --min-words 5 --probe mlp,linear \\
      --control majority,random-labels,random-weights,description-length --out runs/controls
  limbeck probe --model bert-base-uncased --data labelled.jsonl --keep-probes --out runs/before
  limbeck probe --model ./fine-tuned --data labelled.jsonl --probes runs/before --out runs/after
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "probe",
        help="ask how well classes of words are read off each layer",
        description="Train one probe a class at every layer, and say how well words are interpreted in context.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser, several=False, layers="all, with the table")
    for option in NOT_FOR_PROBES:
        parser._option_string_actions[option].help = argparse.SUPPRESS
    group = parser.add_argument_group("labelled data")
    group.add_argument("--data", nargs="+", metavar="D", help="files, folders, globs or sample")
    group.add_argument("--format", help="auto (default), jsonl, semcor, conllu, wikipse")
    group.add_argument("--encoding", help="of the files (default: utf-8)")
    group.add_argument("--lowercase", action="store_true", help="lower-case the text, for the model too")
    group.add_argument("--label", metavar="NAME", help="the label to probe for (default: what the format has)")
    group.add_argument("--classes", metavar="NAMES", help="names or patterns of classes, commas between (default: all)")
    group.add_argument("--words-by", metavar="HOW", help="what makes one word: lemma (default, where known) or form")
    group.add_argument("--max-contexts", type=positive, metavar="N", help="of a word and class, by hash (100)")
    group.add_argument("--min-words", type=positive, metavar="N", help="that a class must have (10)")
    group.add_argument("--dev", type=float, metavar="SHARE", help="of the words, for development (0.1)")
    group.add_argument("--test", type=float, metavar="SHARE", help="of the words, for the test (0.3)")
    group.add_argument("--train-words", metavar="FILE", help="words to train on, one a line or as in WIKI-PSE")
    group.add_argument("--test-words", metavar="FILE", help="words to test on")
    group = parser.add_argument_group("probes")
    group.add_argument("--probe", metavar="KINDS", help="mlp (default), linear, or mlp,linear")
    group.add_argument("--preset", metavar="NAME", help="quick (default) or paper, see below")
    group.add_argument("--hidden", type=positive, metavar="N", help="units of the hidden layer")
    group.add_argument("--epochs", type=positive, metavar="N", help="at most so many")
    group.add_argument("--patience", type=count, metavar="N", help="stop after so many epochs without a better loss")
    group.add_argument("--batch", type=positive, metavar="N", help="rows a step (256)")
    group.add_argument("--learning-rate", type=rate, metavar="R", help="of Adam (0.001)")
    group.add_argument("--seeds", metavar="N,...", help="starts of the probes (0)")
    group.add_argument("--seed", type=count, metavar="N", help="of the split and of the contexts kept (0)")
    group.add_argument("--keep-probes", action="store_true", help="write the trained probes into DIR/probes")
    group.add_argument("--probes", metavar="RUN", help="try the kept probes of another run on this model, train none")
    group = parser.add_argument_group("beside the layers in context")
    group.add_argument("--context-size", metavar="N,...", help="words to each side, for example 0,2,4,8,16,32")
    group.add_argument("--compare", metavar="NAMES", help="see below; none for nothing")
    group.add_argument("--static", metavar="FILE", help="word vectors to compare with")
    group.add_argument("--control", metavar="NAMES", help="see below; none for nothing")
    group = parser.add_argument_group("run")
    group.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write; it must be new")
    group.add_argument(
        "--existing", default="fail", metavar="HOW", help="where DIR is there already: fail (default), resume, replace"
    )
    group.add_argument("--dry-run", action="store_true", help="say what would be probed, and stop")
    group.add_argument("--batch-tokens", type=positive, metavar="N", help="padded pieces a batch (default: by device)")
    add_engine_options(group)
    # options of other texts, which labelled data do not have
    parser.set_defaults(corpus=None, paragraphs=None, cells=None, columns=None, language=None, text_unit=None)
    return parser


#: options of `limbeck.probing.probe` under their own names
SETTINGS = (
    "label", "classes", "words_by", "max_contexts", "min_words", "dev", "test", "preset", "hidden", "epochs",
    "patience", "batch", "learning_rate", "seeds", "seed", "context_size",
)  # fmt: skip
#: option -> setting whose name is another
NAMED = {"probe": "probes", "compare": "compare", "control": "controls"}


def run(options: argparse.Namespace) -> int:
    if not (options.model and options.data):
        raise UsageError("--model and --data are needed.")
    from limbeck.probing.splits import read_lists
    from limbeck.runs.probe import open_probing, probe_into

    settings, source = probe_settings_of(options)
    lists = read_lists(options.train_words, options.test_words)
    options.corpus = options.data  # what decides how many processes pay

    def opened_probing() -> Probing:
        return open_probing(
            options.model,
            options.data[0] if len(options.data) == 1 else options.data,
            settings,
            static=options.static,
            lists=lists,
            probes_of=options.probes,
            keep_probes=options.keep_probes,
            **source,
        )

    if options.dry_run:
        for line in described(opened_probing()):
            print(line)
        return 0
    with opened(options.out, options) as (folder, workers):
        complete = folder.complete
        work = opened_probing()
        if not options.quiet and not complete:
            for line in described(work):
                print(line, file=sys.stderr)
        probed = probe_into(folder, work, workers=workers, progress=not options.quiet)
    if complete:
        print(f"{options.out}: complete already.")
    print_probed(probed, options.out)
    return 0


def probe_settings_of(options: argparse.Namespace) -> tuple[ProbeSettings, dict[str, Any]]:
    """What was asked for of the probes, and the other options."""
    from limbeck.runs.probe import TRAINING, settings_of

    for option in NOT_FOR_PROBES:
        if given_for(options, option[2:]):
            raise UsageError(f"{option} cannot be chosen for probing, labelled words are probed: leave it out.")
    for idle in (*TRAINING, "context_size", "keep_probes", "compare", "control", "static"):
        if options.probes and given_for(options, idle) and getattr(options, idle) != "none":
            raise UsageError(f"--{idle.replace('_', '-')} is for probes that are trained, and --probes trains none.")

    given = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    for option, name in NAMED.items():
        if (value := getattr(options, option)) is not None:
            given[name] = () if value == "none" else value
    return settings_of({**given, **source_options(options)})


def given_for(options: argparse.Namespace, name: str) -> bool:
    """Whether an option was given; 0 is."""
    value = getattr(options, name)
    return value is not None and value is not False


def described(work: Probing) -> list[str]:
    """What will be probed, in a few lines."""
    from limbeck.probing.splits import one_sided
    from limbeck.runs.measuring.sums import size

    sides = work.facts_of_sides()
    told = "; ".join(
        f"{name} {one['words']:,} words, {one['combinations']:,} combinations, {one['contexts']:,} contexts"
        for name, one in sides.items()
    )
    probes = len(work.encoder.layers) * len(work.labelled.classes)
    vectors = len(work.labelled) * len(work.encoder.layers) * work.encoder.dim * 4
    lines = [f"{len(work.labelled.classes)} classes: {told}"]
    if work.labelled.left_out:
        lines.append(
            "left out: " + ", ".join(f"{reason} {number:,}" for reason, number in work.labelled.left_out.items())
        )
    lines.append(f"words by {work.labelled.words_by}")
    lines += one_sided(work.labelled, work.sides)
    lines += [f"{what}: {note}" for what, note in work.notes.items()]
    starts, epochs = len(work.settings.seeds), work.settings.training("mlp").epochs
    how = f", trained together, from {starts} start{'s' * (starts > 1)} of {epochs} epochs" * (work.probes_of is None)
    layers = len(work.encoder.layers)
    lines.append(f"{probes:,} probes at {layers} layer{'s' * (layers > 1)}{how}; {size(vectors)} of vectors")
    return lines


def print_probed(probed: Probed, target: Path) -> None:
    """F1 by layer on the test side, and what stands beside it."""
    from rich.table import Table

    console = make_console()
    rows = probed.rows("scores", side="test", context="all")
    kinds = list(dict.fromkeys((row["space"], row["level"], row["probe"]) for row in rows))
    curves = [kind for kind in kinds if kind[0] in ("context", "average", "random weights", "random labels")]
    console.print(f"{probed.model}: micro-F1 on the test words", markup=False, highlight=False, soft_wrap=True)
    table = Table()
    table.add_column("layer", justify="right")
    several = len({kind[2] for kind in curves}) > 1
    for space, _, probe in curves:
        table.add_column(f"{space}, {probe}" if several else space, justify="right")
    table.add_column("recall only" if not several else f"recall only, {curves[0][2]}", justify="right")
    layers = list(dict.fromkeys(row["layer"] for row in rows if row["space"] == "context"))
    found = {(row["space"], row["level"], row["probe"], row["layer"]): row for row in rows}
    for layer in layers:
        cells = [number(found.get((*kind, layer))) for kind in curves]
        table.add_row(layer, *cells, number(found.get((*curves[0], layer)), "recall"))
    console.print(table)
    for kind in kinds:
        if kind not in curves:
            own = next(row for row in rows if (row["space"], row["level"], row["probe"]) == kind)
            probe = "" if kind[2] == "none" else f", {kind[2]}"
            console.print(f"{kind[0]} ({kind[1]} level{probe}): {number(own)}", markup=False, highlight=False)
    guess = [row["f1"] for row in rows if (row["space"], row["level"]) == ("majority", "context")]
    if guess and max(row["f1"] for row in rows if row["space"] == "context") <= guess[0]:
        told = "no layer is above the majority class, these probes say nothing: give more --epochs or more words"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    for what, note in probed.facts["notes"].items():
        console.print(f"{what}: {note}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"{target}: report.html, tables, figures/, run.json", markup=False, highlight=False, soft_wrap=True)


def number(row: dict[str, Any] | None, column: str = "f1") -> str:
    """A score with its deviation over starts, where there are several."""
    if row is None or math.isnan(row[column]):
        return "-"
    spread = row[f"{column}_std"]
    return f"{row[column]:.3f}" if math.isnan(spread) else f"{row[column]:.3f} ± {spread:.3f}"
