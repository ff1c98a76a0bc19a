"""What a fine-tuning prints at its end."""

from __future__ import annotations

from limbeck.cli.output import say
from limbeck.runs.finetune import FinetuneResult, FinetuneRun


def show(result: FinetuneResult, run: FinetuneRun) -> None:
    """Scores of the best step, what is to be known of the data, and where it all is."""
    import numpy as np
    from rich.table import Table

    from limbeck.stream.progress import clock

    record, scores = result.record, result.scores
    steps, name = len(result.tables["steps"]["step"]), record["parent"]["name"]
    title = f"{name} on {record['task']}: step {result.best_step} of {steps}, {clock(record['seconds'])}"
    table = Table(title=title, title_justify="left")
    table.add_column("part")
    table.add_column("n", justify="right")
    names = list(next(iter(scores.values())))
    for column in [*names, "most frequent class"]:
        table.add_column(column.replace("_", "-"), justify="right")
    for part, values in scores.items():
        cells = [f"{values[column]:.3f}" for column in names]
        table.add_row(part, f"{record['examples'][part]:,}", *cells, f"{record['majority'][part]:.3f}")
    say(table)
    lines = list(record["notes"])
    dev = scores["dev"]
    if dev["accuracy"] <= record["majority"]["dev"] or not dev[record["settings"]["metric"]]:
        lines.append(
            "on dev it is no better than the most frequent class: give more --epochs, or another --learning-rate (5e-4 "
            "and --batch 32 for a miniature, 5e-5 or less for a large model)"
        )
    if record["left_out"]:
        counts = ", ".join(f"{part} {number:,}" for part, number in record["left_out"].items())
        lines.append(f"words of which the tokenizer leaves nothing, counted as wrong: {counts}")
    if attention := result.tables.get("attention"):
        heads = attention["layer"].count("1")
        by_layer = np.array(attention["similarity"]).reshape(-1, heads).mean(1)
        lines.append(f"attention before and after, mean cosine of heads: layer 1 {by_layer[0]:.3f}, "
                     f"layer {len(by_layer)} {by_layer[-1]:.3f}")  # fmt: skip
    out, figures = run.output.out, "figures/, " * run.output.figures
    lines.append(f"{out}: a model, its head, report.html, tables, {figures}run.json; use with --model {out}")
    say(*lines)
