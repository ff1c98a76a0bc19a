"""limbeck distill: one vector a word, out of a language model and a text."""

from __future__ import annotations

import argparse
import ast
import sys
import textwrap
import warnings
from collections import Counter
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import (
    add_corpus_options,
    add_model_options,
    add_pass_options,
    count,
    positive,
    source_options,
)
from limbeck.cli.output import add, tell
from limbeck.cli.running import opened, started
from limbeck.cli.torchrun import joined, launched
from limbeck.errors import UsageError

if TYPE_CHECKING:
    from limbeck.distillation import Distilled
    from limbeck.distillation.settings import DistillSettings
    from limbeck.runs.distilling.subject import Subject
    from limbeck.runs.distilling.work import Distillation

FOLDER = """\
DIR is then a folder that limbeck, model2vec and sentence-transformers load, with a card (README.md), words.parquet
(each word's count, and how its vector came about) and run.json; of a method that trains also losses.csv and figures/.
Several methods or layers give DIR/METHOD[-LAYER]. `limbeck convert` makes files for gensim and spaCy of it.

examples:
  limbeck distill --model mini-bert --corpus sample --out vectors
  limbeck distill --model bert-base-uncased --corpus 'texts/*.txt.gz' --method average --layers 8-12 --out vectors
  limbeck distill --model bert-base-uncased --corpus text.txt --method average,principal,frame --out vectors
  limbeck distill --model bert-base-uncased --corpus text.txt --words words.txt --unseen frame --out vectors
  limbeck distill --model bert-base-uncased --words words.txt --out vectors
  limbeck distill --model bert-base-uncased --words words.txt --frame "this is a {}." --out vectors
  limbeck distill --model gpt2 --corpus text.txt --repair all-but-the-top:components=3 --dim 256 --keep float16 --out v
  limbeck distill --vectors kept --out vectors
  limbeck distill --model mini-bert --corpus sample --tasks wordsim --data data --out vectors

training, the same as the paper did it, and going on with what was stopped:
  limbeck distill --model mini-bert --corpus sample --method x2static --set epochs=4 --set subsample=1e-3 --out vectors
  limbeck distill --model roberta-base --corpus text.txt --method x2static --preset paper --out v
  limbeck distill --model roberta-base --corpus text.txt --method x2static --preset paper --out v --existing resume
  limbeck distill --model mini-bert --corpus sample --method x2static,skipgram --set x2static.epochs=4 --out vectors

training on several GPUs, or in several processes:
  torchrun --nproc-per-node 4 -m limbeck distill --model roberta-base --corpus text.txt --method x2static --out v
"""


def epilog() -> str:
    """Methods and their settings as they are registered. They import torch: asked for when somebody asks for help."""
    from limbeck.distillation import METHODS

    wide = max(map(len, METHODS)) + 2
    lines = ["methods, several with commas between; those that read the text share one pass over it:"]
    lines += [f"  {name:{wide}}{method.summary}" for name, method in METHODS.items()]
    lines += [
        "",
        "settings of their own (--set NAME=VALUE, or METHOD.NAME=VALUE where several have some), and defaults:",
    ]
    told: dict[str, list[str]] = {}
    for name, method in METHODS.items():
        if method.settings is not None:
            values = method.settings()
            line = ", ".join(f"{one.name}={getattr(values, one.name)}" for one in fields(values))
            told.setdefault(line, []).append(name)
    for line, names in told.items():
        lines += [f"  {', '.join(names)}", textwrap.fill(line, 118, initial_indent=" " * 4, subsequent_indent=" " * 4)]
    return "\n".join([*lines, "", FOLDER])


class Help(argparse.Action):
    """--help, with what is registered."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        parser.epilog = epilog()
        parser.print_help()
        parser.exit()


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "distill",
        help="static word vectors out of a model and a text",
        description="Make one vector a word out of a language model (the teacher) and a text.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action=Help, nargs=0, help="show this help message and exit")
    group = parser.add_argument_group("method")
    group.add_argument(
        "--method",
        metavar="NAMES",
        help="see below (default: best; of kept vectors average; of --words without --corpus frame)",
    )
    group.add_argument(
        "--over-contexts", metavar="KIND", help="of average: mean (default), min or max over a word's contexts"
    )
    group.add_argument("--max-contexts", type=positive, metavar="N", help="of principal: contexts a word (100)")
    group.add_argument(
        "--frame",
        action="append",
        metavar="TEXT",
        help='of frame, with {} in the word\'s place (default: "the meaning of {}."), and of frames and best (default: '
        "4 sentences); may be given several times",
    )
    group.add_argument("--no-special-input", action="store_true", help="of word: do not give the teacher [CLS], [SEP]")
    group.add_argument("--special-mean", action="store_true", help="of word: pool them with the word's pieces")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of a method that has some, see below; METHOD.NAME=VALUE where several do",
    )
    group.add_argument(
        "--preset",
        metavar="NAME",
        help="of x2static: corrected, paper, or released (as the published code did); also of --lowercase, "
        "--min-count, --max-words, --window, --keep-first and duplicate texts, where they are not given",
    )
    group.add_argument(
        "--start", metavar="METHOD", help="of methods that train: whose vectors they begin from; none to begin anew"
    )
    group.add_argument("--seed", type=count, metavar="N", help="of what is drawn (0)")
    group = parser.add_argument_group("words")
    group.add_argument("--min-count", type=positive, metavar="N", help="least occurrences of a word of the text (5)")
    group.add_argument("--max-words", type=positive, metavar="N", help="the most frequent so many (750000)")
    group.add_argument("--words", metavar="FILE", help="show exactly the words of this file, one a line")
    group.add_argument("--add-words", metavar="FILE", help="these words beside those of the text")
    group.add_argument(
        "--unseen",
        metavar="HOW",
        help="a word that is not in the text: from the frame (default), its pieces, alone, or drop",
    )
    group.add_argument(
        "--case",
        metavar="HOW",
        help="keep, or lower: Tea counts as tea, whatever the teacher reads (default: lower where the teacher's "
        "tokenizer does not tell them apart)",
    )
    group = parser.add_argument_group("finishing")
    group.add_argument(
        "--repair",
        dest="finish_repair",
        metavar="R",
        help="METHOD[:NAME=VALUE,...] fitted on the vectors themselves, or a file or folder of `limbeck repair`",
    )
    group.add_argument("--dim", type=positive, metavar="N", help="dimensions to keep, by principal components")
    group.add_argument("--weighting", metavar="KIND", help="none (default), or sif: a/(a + p), p the word's share")
    group.add_argument("--sif", type=float, metavar="A", help="a of sif (0.001)")
    group.add_argument("--keep", metavar="DTYPE", help="precision of the file: float32 (default), float16 or int8")
    group = parser.add_argument_group("scores")
    group.add_argument("--tasks", default="", metavar="NAMES", help="tasks of `limbeck evaluate`, for the card")
    group.add_argument("--data", type=Path, metavar="DIR", help="folder of the tasks' files")
    add_model_options(parser, several=False, layers="the last")
    add_corpus_options(parser)
    parser.add_argument("--vectors", metavar="V", help="kept vectors in the place of --model and --corpus")
    add_pass_options(parser)
    return parser


#: settings of `limbeck.distillation.distill` that have an option of their name
SETTINGS = (
    "preset", "over_contexts", "max_contexts", "start", "seed", "min_count", "max_words", "unseen", "case", "dim",
    "weighting", "sif", "keep",
)  # fmt: skip


def run(options: argparse.Namespace) -> int:
    launch = launched()
    if launch is None:
        return make(options)
    with joined(launch, options) as group:
        if not group.first:
            return take_part(options)
        status = make(options, together=True)
        from limbeck.runs.distilling.together import send_others_home

        send_others_home()
    return status


def take_part(options: argparse.Namespace) -> int:
    """What every process but the first does, where torchrun has started several."""
    from limbeck.runs.distill import open_subject, settings_of
    from limbeck.runs.distilling.together import help_training

    def subject_of() -> tuple[Subject, DistillSettings]:
        settings, source = settings_of(options.method, {**given_settings(options), **source_options(options)})
        named = {"words": options.words, "add_words": options.add_words, "vectors": options.vectors}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first process tells
            return open_subject(options.model, options.corpus, settings, **named, **source), settings

    with started(options) as workers:
        help_training(subject_of, workers)
    return 0


def make(options: argparse.Namespace, *, together: bool = False) -> int:
    """The run; `together` with other processes."""
    from limbeck.runs.distill import distill_into, open_subject, settings_of, usual_method

    if options.model is None and options.vectors is None:
        raise UsageError("--model is needed, with --corpus or --words; or --vectors.")
    if options.vectors is not None and (options.model or options.corpus):
        raise UsageError("--vectors stand in the place of --model and --corpus: give one or the other.")
    if options.vectors is not None and options.preset is not None:
        raise UsageError("--preset says how the teacher reads the text, and kept vectors are past that: leave it out.")
    if options.method is None:
        options.method = usual_method(corpus=options.corpus, words=options.words, vectors=options.vectors)
        if options.method == "frame" and not options.quiet:
            print("without --corpus words are read in a frame: --method frame", file=sys.stderr)
    settings, source = settings_of(options.method, {**given_settings(options), **source_options(options)})
    if together:
        from limbeck.runs.distilling.together import check_together

        check_together(settings)
        if options.corpus == ["-"]:
            raise UsageError("several processes cannot all read standard input: give --corpus a file.")
    named = {"words": options.words, "add_words": options.add_words, "vectors": options.vectors}

    def subject_of() -> Subject:
        return open_subject(options.model, options.corpus, settings, **named, **source)

    if options.dry_run:
        foresee(subject_of, settings, options)
        return 0
    with opened(options.out, options) as (folder, workers):
        complete = folder.complete
        subject = subject_of()

        def announce(work: Distillation) -> None:
            if not options.quiet:
                for line in foreseen(work):
                    print(line, file=sys.stderr)

        made = distill_into(
            folder,
            subject,
            settings,
            tasks=options.tasks,
            data=options.data,
            workers=workers,
            progress=not options.quiet,
            on_plan=announce,
        )
    if complete:
        print(f"{options.out}: complete already.")
    print_made(made, options.out)
    return 0


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What was asked for; the rest is left to the library, which knows the defaults."""
    found = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    if options.frame:
        found["templates"] = tuple(options.frame)
    if options.no_special_input:
        found["special_input"] = False
    if options.special_mean:
        found["special_mean"] = True
    if options.finish_repair is not None:
        found["repair"] = options.finish_repair
    if options.set:
        found["train"] = trained_settings(options.set, options.method)
    return found


def trained_settings(given: list[str], methods: str) -> dict[str, dict[str, Any]]:
    """--set NAME=VALUE by method: {method: {name: value}}."""
    from limbeck.distillation import METHODS

    names = [name.strip() for name in methods.split(",")]
    able = [name for name in names if name in METHODS and METHODS[name].settings is not None]
    found: dict[str, dict[str, Any]] = {}
    for part in given:
        name, equals, value = part.partition("=")
        method, dot, own = name.partition(".")
        if not equals or not name:
            raise UsageError(f"--set must be NAME=VALUE or METHOD.NAME=VALUE; got {part!r}.")
        if not dot:
            if not able:
                raise UsageError(f"--set {part}: {', '.join(names)} has no settings of its own: leave it out.")
            if len(able) > 1:
                raise UsageError(
                    f"--set {part}: several methods have settings of their own: it must be METHOD.NAME=VALUE, with "
                    f"METHOD one of {', '.join(able)}."
                )
            method, own = able[0], name
        found.setdefault(method, {})[own] = plain_value(value)
    return found


def plain_value(text: str) -> Any:
    """A number, true, none or a tuple, as Python writes them in any case; anything else is a string."""
    try:
        return ast.literal_eval(text.capitalize() if text.lower() in ("true", "false", "none") else text)
    except (ValueError, SyntaxError):
        return text


def foresee(subject_of: Any, settings: Any, options: argparse.Namespace) -> None:
    """--dry-run: look at some of the text, try some batches, and say what the whole would take."""
    from limbeck.runs.distill import find_wanted
    from limbeck.runs.distilling.needs import time_told
    from limbeck.runs.distilling.work import EVERYTHING, Distillation
    from limbeck.stream.foretell import look_ahead

    find_wanted(options.tasks, options.data)
    with started(options) as workers:
        work = Distillation(subject_of(), settings, None, workers, not options.quiet)
        source = work.subject.source
        ahead = None
        if source is not None:
            ahead = look_ahead(source, choice=EVERYTHING, deduplicate=settings.deduplicate)
        work.plan_words(None if ahead is None else ahead.plan)
        times = time_told(work, ahead, workers=workers)
    first, *others = foreseen(work)
    for line in (first + (ahead.note if ahead else ""), *others, *times):
        print(line)


def foreseen(work: Distillation) -> list[str]:
    """What a planned run will read and take, in a few lines."""
    from limbeck.distillation.card import number_of
    from limbeck.runs.distilling.needs import needs
    from limbeck.runs.measuring.sums import size

    plan, listed = work.plan, work.listed
    others = len(listed.words) - listed.shown
    lines = [f"{number_of(listed.shown)}, read without a text" if plan is None else plan.describe()]
    if plan is not None and (others or listed.shown != len(plan.vocabulary)):
        line = f"{number_of(listed.shown)} {'is' if listed.shown == 1 else 'are'} to have a vector"
        if others:
            line += f"; {others:,} frequent ones of the text are read to compare them with, and left out again"
        if work.chosen.training is not None:
            line += f"; {number_of(len(work.chosen.training.vocabulary))} of the text are trained"
        lines.append(line)
    need = needs(work)
    lines.append(
        f"{size(need.memory)} of memory beside the model, {size(need.disk)} of disk and {size(need.state)} while it "
        "runs"
    )
    return lines


def print_made(made: dict[str, Distilled], target: Path) -> None:
    """What was made, from where, its scores, and how to use it."""
    from limbeck.distillation.card import number_of, source_of
    from limbeck.distillation.lacking import lacking_told

    several = len(made) > 1
    tell(out=target)
    for name, one in made.items():
        elsewhere = "".join(f", {n:,} of them from {source_of(origin)}" for origin, n in one.from_elsewhere.items())
        left_out = sum(one.about.get("left_out", {}).values())
        have = f"{'has' if left_out == 1 else 'have'} none{lacking_told(one.about)}"
        told = f"; {number_of(left_out)} {have}" if left_out else ""
        where = target / name if several else target
        add("vectors", facts_of(one, where))
        layer = "" if one.about.get("untaught") else f", layer {one.layer}"
        print(f"{where}: {number_of(len(one))} × {one.vectors.dim} dimensions{layer}{elsewhere}{told}")
        for score in one.about.get("scores") or []:
            value = f"{score['value']:.3f} ({score['low']:.3f} to {score['high']:.3f})"
            value = value if isfinite(score["value"]) else "undefined"
            print(f"  {score['task']}: {value}, coverage {score['coverage']:.1%}")
    notes = next(iter(made.values())).about.get("notes") or []
    tell(notes=notes)
    for note in notes:
        print(f"note: {note}")


def facts_of(one: Distilled, folder: Path) -> dict[str, Any]:
    """What --json says of a set of vectors."""
    return {
        "folder": folder,
        "method": one.method,
        "layer": None if one.about.get("untaught") else one.layer,
        "words": len(one),
        "dim": one.vectors.dim,
        "origins": dict(sorted(Counter(one.origins).items())),
        "left_out": one.about.get("left_out", {}),
        "left_out_words": one.about.get("left_out_words", {}),
        "scores": one.about.get("scores") or [],
    }
