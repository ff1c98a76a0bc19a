"""limbeck finetune: train a model on a task, and keep it as a model of its own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import count, positive, rate
from limbeck.cli.output import console as make_console
from limbeck.errors import Interrupted

if TYPE_CHECKING:
    from limbeck.probing.finetuning import Finetuned, FinetuneSettings

EPILOG = """\
tasks:
  pos           parts of speech: files *train*.conllu, *dev*, *test* (Universal Dependencies), plain or compressed
  ner           named entities: a word and its IOB tag a line, *train*.conll, *dev*, *test* (WNUT-17), or eng.train,
                eng.testa, eng.testb (CoNLL-2003)
  sst2, mrpc, cr, mr, mpqa, subj, trec, sst-5, cola, rte, boolq
                classes of texts and of pairs of texts, in the layouts of their releases
Their files lie anywhere under --data.

All weights and a linear layer on the last layer are trained by plain Adam, in float32. The step that is best on the
development set is kept. DIR is then a model: --model DIR works with every command. In it are head.safetensors (the
linear layer), steps.csv and dev.csv (curves), classes.csv (scores by class), attention.csv (attention before and
after), figures/ and run.json (settings, scores, the parent's fingerprint).

The settings that are not given are the paper's, for BERT. A miniature is small and wants larger steps: give it
--learning-rate 5e-4 --batch 32.

examples:
  limbeck finetune --model mini-bert --task sst2 --data data --learning-rate 5e-4 --batch 32 --out models/sst2
  limbeck finetune --model bert-base-uncased --task mrpc --data data --out models/mrpc
  limbeck finetune --model mini-bert --task pos --data data/UD_English-EWT --attention-window 2 --out models/pos-2
  limbeck measure --model models/sst2 --corpus sample --out runs/sst2
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "finetune",
        help="train a model on a task and keep it as a model of its own",
        description="Fine-tune a model on a task of words or of texts, as Zhao et al. (2020) did.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    group = parser.add_argument_group("model and task")
    group.add_argument("--model", required=True, metavar="M", help="a miniature, a Hugging Face id or a local folder")
    group.add_argument("--revision", help="branch, tag or commit of a model on the hub")
    group.add_argument("--trust-remote-code", action="store_true", help="run code that comes with the model")
    group.add_argument("--device", default="auto", help="auto (default), cpu, cuda, cuda:1, mps")
    group.add_argument("--task", required=True, metavar="T", help="see below")
    group.add_argument("--data", required=True, type=Path, metavar="D", help="folder that has the task's files in it")
    group.add_argument("--column", default="upos", help="what pos learns: upos (default), xpos or deprel")
    group.add_argument("--max-train", type=positive, metavar="N", help="most training examples, drawn by seed")
    group.add_argument("--max-dev", type=positive, metavar="N", help="most development examples, drawn by seed")
    group = parser.add_argument_group("training")
    group.add_argument("--epochs", type=positive, metavar="N", help="through the training set (5, unless --steps)")
    group.add_argument("--steps", type=positive, metavar="N", help="stop after N steps")
    group.add_argument(
        "--batch", type=positive, metavar="N", help="examples a step (pos 150, sst2 200, mrpc 350, all others 32)"
    )
    group.add_argument("--learning-rate", type=rate, default=5e-5, metavar="R", help="of Adam (5e-5)")
    group.add_argument("--max-length", type=positive, default=128, metavar="N", help="most pieces read at once (128)")
    group.add_argument(
        "--evaluate-every", type=positive, metavar="N", help="steps between two scores on dev (five scores an epoch)"
    )
    group.add_argument("--word-piece", default="last", help="what stands for a word: last (default), first, mean")
    group.add_argument(
        "--sentence-piece",
        default="auto",
        help="what stands for a text: first ([CLS]), last, mean; auto (default) is first, of a decoder last",
    )
    group.add_argument(
        "--attention-window", type=count, metavar="K", help="let each word attend to K words on each side only"
    )
    group.add_argument(
        "--attention-texts",
        type=count,
        default=200,
        metavar="N",
        help="dev texts that attention before and after is compared on (200); 0 leaves it out",
    )
    group.add_argument("--seed", type=count, default=0, metavar="N", help="of first weights, order, dropout (0)")
    group = parser.add_argument_group("run")
    group.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write; it must be new")
    group.add_argument(
        "--existing", default="fail", metavar="HOW", help="where DIR is there already: fail (default), resume, replace"
    )
    group.add_argument("--batch-tokens", type=positive, metavar="N", help="padded pieces a pass (default: by device)")
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.errors import choose
    from limbeck.probing.finetuning.data import COLUMNS, name_of
    from limbeck.runs.execution.folders import RunFolder

    settings = settings_of(options)
    settings.check()
    name_of(options.task)  # a wrong name should not cost a model's loading
    choose(options.column, COLUMNS, what="--column")
    folder = RunFolder(options.out, existing=options.existing)
    try:
        with folder:
            if folder.complete:
                print(f"{options.out}: complete already.")
                return 0
            found = _finetune(options, settings, folder)
    except KeyboardInterrupt:
        if folder.resumable:
            raise Interrupted("stopped; to go on: the same command with --existing=resume.") from None
        raise
    print_finetuned(found, options.out)
    return 0


def _finetune(options: argparse.Namespace, settings: FinetuneSettings, folder: Any) -> Finetuned:
    from limbeck.encoders.loading import load_parts
    from limbeck.probing.finetuning import read_task
    from limbeck.runs.finetune import finetune_into

    data = read_task(options.task, options.data, column=options.column, seed=options.seed)
    parts = load_parts(options.model, revision=options.revision, trust_remote_code=options.trust_remote_code)
    return finetune_into(
        parts,
        data,
        folder,
        settings=settings,
        device=options.device,
        progress=not options.quiet,
        source=options.model,
        draw=draw_folder,
    )


def settings_of(options: argparse.Namespace) -> FinetuneSettings:
    from limbeck.probing.finetuning import FinetuneSettings

    return FinetuneSettings(
        epochs=options.epochs,
        steps=options.steps,
        batch=options.batch,
        learning_rate=options.learning_rate,
        length=options.max_length,
        evaluate_every=options.evaluate_every,
        word_piece=options.word_piece,
        sentence_piece=options.sentence_piece,
        attention_window=options.attention_window,
        max_train=options.max_train,
        max_dev=options.max_dev,
        attention_texts=options.attention_texts,
        pieces=options.batch_tokens,
        seed=options.seed,
    )


def draw_folder(folder: Path) -> None:
    """The figures of a folder, from its tables."""
    import json

    from limbeck.reporting.finetuning import draw_attention, draw_finetuning
    from limbeck.tables import read_csv

    about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    draw_finetuning(
        read_csv(folder / "steps.csv"),
        read_csv(folder / "dev.csv"),
        folder / "figures",
        name=about["name"],
        metric=about["settings"]["metric"],
        best=about["best_step"],
    )
    if (folder / "attention.csv").is_file():
        table = read_csv(folder / "attention.csv")
        title = f"{about['task']}, {table['texts'][0]} texts"
        draw_attention({title: table}, folder / "figures", about=f"{about['name']}.")


def print_finetuned(found: Finetuned, target: Path) -> None:
    """Scores of the best step, what is to be known of the data, and where it all is."""
    from rich.table import Table

    from limbeck.stream.progress import clock

    console = make_console()
    steps = found.curves.steps["step"]
    title = f"{found.parts.name} on {found.data.name}: step {found.best_step} of {len(steps)}, {clock(found.seconds)}"
    table = Table(title=title, title_justify="left")
    table.add_column("part")
    table.add_column("n", justify="right")
    names = list(next(iter(found.scores.values())).values)
    for name in [*names, "most frequent class"]:
        table.add_column(name.replace("_", "-"), justify="right")
    for part, scores in found.scores.items():
        cells = [f"{scores.values[name]:.3f}" for name in names]
        table.add_row(part, f"{len(found.data.parts[part]):,}", *cells, f"{found.majority[part]:.3f}")
    console.print(table)
    lines = list(found.data.notes)
    dev = found.scores["dev"].values
    if dev["accuracy"] <= found.majority["dev"] or not dev[found.data.metric]:
        lines.append(
            "on dev it is no better than the most frequent class: give more --epochs, or another --learning-rate (5e-4 "
            "and --batch 32 for a miniature, 5e-5 or less for a large model)"
        )
    if found.left_out:
        told = ", ".join(f"{part} {number:,}" for part, number in found.left_out.items())
        lines.append(f"words of which the tokenizer leaves nothing, counted as wrong: {told}")
    if found.attention is not None:
        by_layer = found.attention.pooled.mean(1)
        lines.append(f"attention before and after, mean cosine of heads: layer 1 {by_layer[0]:.3f}, "
                     f"layer {len(by_layer)} {by_layer[-1]:.3f}")  # fmt: skip
    lines.append(f"{target}: a model, its head, report.html, tables, figures/, run.json; use with --model {target}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
