"""limbeck evaluate: how well vectors agree with what people said of words and sentences."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.evaluate_classify import add_classify_options, classify_options, draw_classified
from limbeck.cli.evaluate_inputs import (
    check_against,
    check_uses,
    fitted_repairs,
    names_of,
    numbers,
    open_targets,
    other_units,
    repairs_by_name,
    unfitted_repairs,
)
from limbeck.cli.evaluate_words import add_word_options, word_options
from limbeck.cli.methods import METHODS_TOLD
from limbeck.cli.options import positive
from limbeck.errors import InputError, UsageError, choose

if TYPE_CHECKING:
    from limbeck.evaluation.suites import Scored, Suite, Wishes
    from limbeck.evaluation.targets import Target
    from limbeck.evaluation.tuning import Tuning

UNITS = ("pieces", "words")
ALL_PAIRS = 4  #: with more columns than this each is compared with one only
EPILOG = f"""\
A target is a model (a miniature, a Hugging Face id, a folder) or a file of word vectors. A sentence's vector is the
mean of its pieces', or words', vectors at one layer, the last unless --layers says otherwise. For word similarity a
model reads each word by itself; a vector file has a vector for it or not.

--tasks are groups (sts: STS 2012-2016, STS-B and SICK-R, those that are there; wordsim: all sets of word pairs that
are there; analogy: Google and MSR; relations: SemEval-2012 task 2; categorization: AP, BLESS, ESSLLI, Battig;
classify-sentences: CR, MR, MPQA, SUBJ, TREC, SST-5; classify: these and RTE, CoLA, SST-2, MRPC, WiC, BoolQ,
those that are there) or names, such as sts-b-dev, simlex-999 or rte. Classification trains a convolution over the
words of a vector file, or a small network on frozen vectors of texts, as they are and after each repair; where no
repair is asked for, of a model after the global and the cluster-based one of Rajaee & Pilehvar (2021).

--method fits repairs on the vectors of each task: of classification on its training part, with --transductive on the
very vectors that are scored. Similarity has no training part, and needs --transductive. --repair takes what was fitted
on another text.

{METHODS_TOLD}
DIR then holds scores.csv (every metric, aggregation and subset), comparisons.csv, items.parquet (every item, for
limbeck compare), run.json; with --tune also tuning.csv and figures/; of classification classify.csv, epochs.csv (every
start and epoch) and figures/.

examples:
  limbeck evaluate mini-bert mini-gpt2 --tasks sts --data data
  limbeck evaluate bert-base-uncased --tasks sts-b-dev --layers all --data data --out runs/layers
  limbeck evaluate mini-bert --tasks sts --data data --repair runs/repaired --out runs/repaired-sts
  limbeck evaluate mini-bert --tasks sts --data data --method cluster:components=12 --transductive
  limbeck evaluate mini-bert --tasks sts --data data --tune --out runs/tuned
  limbeck evaluate mini-bert --tasks classify --data data --max-train 2500 --out runs/classified
  limbeck evaluate glove.6B.300d.txt fasttext.vec --tasks wordsim,sts --data data --oov mean
  limbeck evaluate vectors/ glove.6B.300d.txt --tasks classify-sentences --data data --out runs/sentences
  limbeck evaluate vectors/ --tasks sts --weighting sif --data data
  limbeck evaluate vectors/ GoogleNews.bin --tasks wordsim,analogy,relations,categorization --data data --out runs/words
  limbeck evaluate GoogleNews.bin --tasks analogy,categorization --data data --preset web
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "evaluate",
        help="score models and vector files on word and sentence similarity",
        description="Score models and vector files on word and sentence similarity, side by side, with intervals.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="+", metavar="TARGET", help="a model or a file of word vectors")
    parser.add_argument("--tasks", required=True, metavar="T,T", help="groups or names, see below")
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder with the tasks' files")
    group = parser.add_argument_group("vectors")
    group.add_argument("--layers", metavar="L", help='such as "-1" (default), "0,6,12", "table" or "all"')
    group.add_argument("--units", metavar="UNIT", help="what is averaged: pieces (default) or words")
    group.add_argument("--special", action="store_true", help="with pieces: special tokens ([CLS], [SEP]) among them")
    group.add_argument("--keep-first", action="store_true", help="keep a decoder's first position")
    group.add_argument("--lowercase", action="store_true", help="lower-case the texts")
    group.add_argument("--language", default="en", help="whose rules tell words apart (default: en)")
    group.add_argument(
        "--oov", metavar="HOW", help="words without a vector: drop (default), mean, zero, fallback (vector files only)"
    )
    group.add_argument("--fallback", metavar="FILE", help="with --oov fallback: vectors for words that have none")
    group.add_argument("--case", help="of words looked up in vector files: either (default), keep, lower")
    group.add_argument(
        "--weighting", metavar="HOW", help="of a text's words in vector files (sts): mean (default), or sif"
    )
    group.add_argument("--counts", metavar="FILE", help="with --weighting sif: a word and its count a line")
    group.add_argument("--missing", default="zero", metavar="HOW", help="texts without a vector: zero (default), drop")
    group = parser.add_argument_group("repairs")
    group.add_argument(
        "--repair", nargs="+", default=[], metavar="R", help="fitted repairs: files, or run folders of `limbeck repair`"
    )
    group.add_argument(
        "--method", nargs="+", action="extend", default=[], metavar="M", help="repairs to fit on each task, see below"
    )
    group.add_argument(
        "--transductive", action="store_true", help="fit --method's repairs on the very vectors that are scored"
    )
    group.add_argument("--tune", action="store_true", help="find clusters and components on --tune-on, then use them")
    group.add_argument("--tune-on", default="sts-b-dev", metavar="TASK", help="development set (default: sts-b-dev)")
    group.add_argument("--clusters", metavar="K", help='tried, such as "5-30/5" or "10,27" (default: 5-30/5 and 27)')
    group.add_argument("--components", metavar="C", help="tried (default: 5-30)")
    group.add_argument("--seeds", type=positive, default=5, metavar="N", help="clusterings averaged in tuning (5)")
    group = parser.add_argument_group("scores")
    group.add_argument("--metric", help="spearman or pearson (default: the task's)")
    group.add_argument(
        "--aggregation", default="pooled", metavar="HOW", help="of subsets: pooled (default), mean, weighted"
    )
    group.add_argument(
        "--against",
        metavar="NAME",
        help="compare each column with this one (default: every two; of more than 4 each with the first)",
    )
    group.add_argument(
        "--draws", type=positive, default=1000, metavar="N", help="of the bootstrap (1000; comparisons take more)"
    )
    group.add_argument("--seed", type=int, default=0, help="of the bootstrap, and of the clusters scored (default: 0)")
    add_word_options(parser)
    add_classify_options(parser)
    group = parser.add_argument_group("run")
    group.add_argument("--out", type=Path, metavar="DIR", help="folder to write; it must be new")
    group.add_argument("--existing", default="fail", metavar="HOW", help="where DIR is there: fail (default), replace")
    group.add_argument("--device", help="auto (default), cpu, cuda, cuda:1, mps")
    group.add_argument("--dtype", help="float32 (default), bfloat16 or float16")
    group.add_argument("--batch-tokens", type=positive, metavar="N", help="padded pieces a batch (default: by device)")
    group.add_argument("--revision", help="branch, tag or commit of a model on the hub")
    group.add_argument("--trust-remote-code", action="store_true", help="run code that comes with the model")
    return parser


def run(options: argparse.Namespace) -> int:
    """Check everything, score every target on every task, compare, print and write."""
    from limbeck.cli.evaluate_summary import print_summary
    from limbeck.evaluation.suites import averaged, find_tasks
    from limbeck.runs.execution.folders import RunFolder, check_target

    began = time.monotonic()
    wishes = wishes_of(options)
    check_options(options)
    tasks = find_tasks(options.data, [name.strip() for name in options.tasks.split(",") if name.strip()])
    if not tasks:
        raise UsageError("--tasks must name at least one task or group, got none: sts, wordsim or a task's name.")
    check_uses(options, {suite.group for suite, _ in tasks})
    development = tuning_task(options) if options.tune else None
    unfitted = unfitted_repairs(options.method, options.seed)
    for path in options.repair:
        if not Path(path).expanduser().exists():
            raise InputError(
                f"{path}: a fitted repair or a run folder of `limbeck repair` is needed, got nothing there."
            )
    names = names_of(options.target)
    if options.out is not None:
        choose(options.existing, ("fail", "replace"), what="--existing")
        check_target(options.out, existing=options.existing)

    with nullcontext() if options.out is None else RunFolder(options.out, existing=options.existing) as folder:
        targets = open_targets(names, options)
        fitted = fitted_repairs(options.repair, targets)
        about_targets = [f"{target.name}: {note}" for target in targets for note in getattr(target, "notes", ())]
        for note in [*about_targets, *other_units(options.repair, targets, fitted)]:
            print(f"limbeck: note: {note}", file=sys.stderr)
        scores: list[tuple[Suite, list[Scored]]] = []  # of each task, the columns of its table
        tuned: list[Tuning] = []
        repairs: list[dict[str, Any]] = []
        for target, own in zip(targets, fitted, strict=True):
            found = tune_target(target, development, options) if development is not None else []
            tuned += found
            chosen = chosen_repairs(found, options.seed)
            repairs.append(repairs_by_name(fitted=own, on_the_task=unfitted, tuned=chosen))
        if options.against is not None:
            check_against(options.against, targets, repairs, {suite.group for suite, _ in tasks})
        for suite, task in tasks:
            columns: list[Scored] = []
            for target, own in zip(targets, repairs, strict=True):
                say(f"{target.name}: {task.name}", options)
                columns += suite.scores(task, target, own, wishes)
            scores.append((suite, columns))
        scores += averaged(scores, wishes)
        compared = comparisons(scores, wishes, options.against)
        if folder is not None:
            write(folder.unfinished, scores, compared, tuned)
            told = account(options, targets, tasks, scores, seconds=time.monotonic() - began)
            (folder.unfinished / "run.json").write_text(
                json.dumps(told, indent=2, default=str) + "\n", encoding="utf-8"
            )
            folder.finish()
    print_summary(scores, compared, tuned, options.out, draws=options.draws)
    return 0


def say(text: str, options: argparse.Namespace) -> None:
    if not options.quiet:
        print(text, file=sys.stderr)


def wishes_of(options: argparse.Namespace) -> Wishes:
    from limbeck.evaluation.correlation import METRICS
    from limbeck.evaluation.sts import AGGREGATIONS
    from limbeck.evaluation.suites import Wishes

    if options.metric is not None:
        choose(options.metric, METRICS, what="--metric")
    choose(options.aggregation, AGGREGATIONS, what="--aggregation")
    choose(options.missing, ("zero", "drop"), what="--missing")
    if options.weighting is not None:
        choose(options.weighting, ("mean", "sif"), what="--weighting")
    return Wishes(
        metric=options.metric,
        aggregation=options.aggregation,
        missing=options.missing,
        draws=options.draws,
        seed=options.seed,
        progress=not options.quiet,
        classify=classify_options(options),
        words=word_options(options),
    )


def check_options(options: argparse.Namespace) -> None:
    """Refuse what is not there or does not go together, before anything is loaded; numbers are read."""
    from limbeck.evaluation.wordsim import CASES, POLICIES

    for name, choices in (("oov", POLICIES), ("case", CASES)):
        if (typed := getattr(options, name)) is not None:
            choose(typed, choices, what=f"--{name}")
    if options.oov == "fallback" and options.fallback is None:
        raise UsageError("--oov fallback needs a file of vectors for words that have none: add --fallback FILE.")
    if options.fallback is not None and options.oov != "fallback":
        raise UsageError("--fallback is for --oov fallback, got another policy: add it, or leave --fallback out.")
    if options.units is not None:
        choose(options.units, UNITS, what="--units")
    if options.special and options.units == "words":
        raise UsageError("--special is about pieces, got --units words: leave one of them out.")
    for name in ("clusters", "components"):
        if (typed := getattr(options, name)) is None:
            continue
        if not options.tune:
            raise UsageError(f"--{name} says what --tune tries, got no --tune: add it, or name it in --method.")
        setattr(options, name, numbers(typed, what=f"--{name}"))


# --- tuning --------------------------------------------------------------------------------------


def tuning_task(options: argparse.Namespace) -> Any:
    from limbeck.evaluation.suites import find_tasks

    found = find_tasks(options.data, [options.tune_on])
    if len(found) != 1 or found[0][1].kind != "sts":
        raise UsageError(f"--tune-on must name one task of texts, got {options.tune_on!r}: sts-b-dev, say.")
    return found[0][1].read()


def tune_target(target: Target, pairs: Any, options: argparse.Namespace) -> list[Tuning]:
    """Every layer of a target tuned, from one pass."""
    from limbeck.evaluation.sweeping import different_texts
    from limbeck.evaluation.tuning import CLUSTERS, COMPONENTS, tune

    say(f"{target.name}: tuning on {pairs.name}", options)
    rows = target.rows(different_texts(pairs)[0])
    return [
        tune(
            pairs,
            target,
            layer=layer,
            clusters=options.clusters or CLUSTERS,
            components=options.components or COMPONENTS,
            seeds=range(options.seeds),
            metric=options.metric,
            aggregation=options.aggregation,
            rows=rows,
        )
        for layer in target.layers
    ]


def chosen_repairs(tuned: Sequence[Tuning], seed: int) -> dict[str, Any]:
    """The best settings of each layer as repairs to fit on each task, under one name for all layers."""
    found: dict[str, Any] = {}
    for one in tuned:
        for name, repair in one.best_repairs(seed=seed).items():
            method = name.split()[0]
            found.setdefault(name if len(tuned) == 1 else f"tuned {method}", {})[one.layer] = repair
    return found


# --- results -------------------------------------------------------------------------------------


def comparisons(
    scores: Sequence[tuple[Suite, Sequence[Scored]]], wishes: Wishes, against: str | None = None
) -> list[dict[str, Any]]:
    """Every two columns of every task with Holm's correction over all; each and the one that `against` names, or with
    many columns each and the first."""
    from dataclasses import asdict, replace
    from itertools import combinations

    from limbeck.evaluation.significance import draws_for, holm
    from limbeck.stream.progress import Progress

    several: list[tuple[Suite, Scored, Scored]] = []
    for suite, columns in scores:
        pairs = list(combinations(columns, 2))
        if against is not None or len(columns) > ALL_PAIRS:
            names = [column.target for column in columns]
            one = columns[0 if against is None else names.index(choose(against, names, what="--against"))]
            pairs = [(one, other) for other in columns if other is not one]
        several += [(suite, *pair) for pair in pairs]
    wishes = replace(wishes, draws=draws_for(len(several), wishes.draws))
    rows: list[dict[str, Any]] = []
    with Progress("comparing", total=len(several), unit="pairs", show=wishes.progress and bool(several)) as shown:
        for suite, one, other in several:
            found = suite.compare(other, one, wishes)  # positive: the later one, a repair say, is higher
            told = {**asdict(found), "draws": wishes.draws}
            rows.append({"task": one.task, "target": other.target, "other": one.target, **told})
            shown.advance(1)
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows


def write(
    folder: Path,
    scores: Sequence[tuple[Suite, Sequence[Scored]]],
    compared: Sequence[Mapping[str, Any]],
    tuned: Sequence[Tuning],
) -> None:
    """All files of the folder but run.json."""
    from limbeck.evaluation.items import items_table
    from limbeck.reporting.tuning import draw_tuning
    from limbeck.tables import columns_of, write_csv, write_parquet

    by_maker: dict[Any, list[Any]] = {}  # kinds that share their tables write into one
    for suite, columns in scores:
        by_maker.setdefault(suite.tables, []).extend(columns)
    for make, every_column in by_maker.items():
        made = make(every_column)
        for name, table in made.items():
            write_csv(folder / name, table)
        draw_classified(made, folder)
    items = items_table(score for _, columns in scores for score in columns)
    if items["task"]:
        write_parquet(folder / "items.parquet", items)
    if compared:
        write_csv(folder / "comparisons.csv", columns_of(compared))
    if tuned:
        tables = [one.table() for one in tuned]
        whole = {name: [value for table in tables for value in table[name]] for name in tables[0]}
        write_csv(folder / "tuning.csv", whole)
        draw_tuning(whole, folder / "figures")


def account(
    options: argparse.Namespace,
    targets: Sequence[Target],
    tasks: Sequence[tuple[Suite, Any]],
    scores: Sequence[tuple[Suite, Sequence[Scored]]],
    *,
    seconds: float,
) -> dict[str, Any]:
    """run.json: where the numbers come from."""
    from limbeck.cli.evaluate_summary import notes_of
    from limbeck.runs.execution.record import versions

    leave = ("run", "debug", "typed", "command", "quiet", "json", "out", "existing", "target")
    return {
        "command": "evaluate",
        "targets": [target.describe() for target in targets],
        "tasks": [{"name": task.name, "kind": suite.group, "citation": task.citation} for suite, task in tasks],
        "settings": {name: value for name, value in vars(options).items() if name not in leave},
        "notes": notes_of(scores),
        "seconds": round(seconds, 3),
        "versions": versions(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
