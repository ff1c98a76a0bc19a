"""What an analysis prints at its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from limbeck.analysis import Analysis, Claim
from limbeck.analysis.result import Row
from limbeck.analysis.tenses import COMPARED, TENSE_KINDS
from limbeck.cli.output import say
from limbeck.runs.analyze import AnalyzeResult, AnalyzeRun

Table = tuple[str, list[str], list[list[str]]]  #: title, names of columns, cells


def show(result: AnalyzeResult, run: AnalyzeRun) -> None:
    """A table or two a model, its claims, what repairs were fitted, what was left out, where it all is."""
    from rich.table import Table as Drawn

    for one in result.analyses:
        for title, columns, rows in TABLES[one.what](one):
            drawn = Drawn(title=f"{one.model}: {title}", title_justify="left")
            for name in columns:
                left = name in ("layer", "most typical tokens")
                drawn.add_column(name, justify="left" if left else "right", no_wrap=not left)
            for row in rows:
                drawn.add_row(*row)
            say(drawn)
        say(*fitted(one), *claims(one), *left_out(one))
        say("")
    figures = "figures/, " * run.output.figures
    where = f"{run.output.out}: report.html, tables, claims.csv, {figures}run.json"
    say(where)


def structure_table(one: Analysis) -> Iterator[Table]:
    rows = one.rows("structure")
    tokens = list(dict.fromkeys(row["token"] for row in rows))
    cells = [
        [row["layer"], row["space"], *(interval(find(rows, row, token=token), percent) for token in tokens)]
        for row in firsts(rows)
    ]
    yield "neighbours from sentences of the same structure", ["layer", "space", *tokens], cells


def pairs_table(one: Analysis) -> Iterator[Table]:
    rows = one.rows("pairs")
    cells = [
        [
            row["layer"],
            row["space"],
            row["subset"],
            interval({**row, "value": row["auc"]}, number),
            number(row["same"]),
            number(row["different"]),
        ]
        for row in rows
    ]
    columns = ["layer", "space", "pairs", "same structure is nearer", "distance, same", "distance, different"]
    yield "structure told by distance", columns, cells


def tense_table(one: Analysis) -> Iterator[Table]:
    rows = [row for row in one.rows("tense") if row["metric"] == one.settings["metric"]]
    sensed = any(row["kind"] == "ST-DM" and math.isfinite(row["value"]) for row in rows)
    kinds = COMPARED if sensed else TENSE_KINDS
    cells = [
        [
            row["layer"],
            row["space"],
            *(number(find(rows, row, kind=kind)["value"]) for kind in kinds),
            interval(find(rows, row, kind="dominance"), number),
            number(row["log10_isotropy"]),
            number(row["log10_isotropy_one_sign"]),
        ]
        for row in firsts(rows)
    ]
    difference = "DT-SM − ST-DM" if sensed else "DT − ST"
    columns = ["layer", "space", *kinds, difference, "log10 I(W)", "one sign"]
    verbs, occurrences = rows[0]["verbs"], rows[0]["occurrences"]
    yield f"{one.settings['metric']} distances over {verbs} verbs, {occurrences:,} occurrences", columns, cells


def frequency_table(one: Analysis) -> Iterator[Table]:
    rows = one.rows("frequency")
    cells = []
    for row in firsts(rows):

        def value(measure: str, components: int = 0, row: Row = row) -> Row:
            return find(rows, row, measure=measure, components=components)

        counts = [found["components"] for found in rows if found["measure"] == "r2_of_first_components"]
        cells.append(
            [
                row["layer"],
                row["space"],
                interval(value("r2_of_first_components", min(counts)), number),
                number(value("r2_of_first_components", max(counts))["value"]),
                number(value("r2_of_all_dimensions")["value"]),
                number(value("pearson", 1)["value"]),
                number(value("norm_pearson")["value"]),
                percent(value("neighbors_in_band")["value"]),
                percent(value("neighbors_in_band_by_chance")["value"]),
            ]
        )
    columns = ["layer", "space", "R² of 2", f"of {max(counts)}", "of all", "|r| of 1st", "r of norms", "neighbours"]
    columns.append("chance")
    yield "log frequency told by components, norms, neighbours", columns, cells


def clusters_table(one: Analysis) -> Iterator[Table]:
    rows = one.rows("clusters")
    layer = rows[-1]["layer"]
    cells = [
        [f"{row['size']:,}", percent(row["punctuation"]), percent(row["stop_words"]), str(row["tokens"])]
        for row in rows
        if row["space"] == "baseline" and row["layer"] == layer
    ]
    yield f"clusters of layer {layer}", ["tokens", "punctuation", "stop words", "most typical tokens"], cells
    cells = [
        [
            row["layer"],
            row["space"],
            str(row["clusters"]),
            percent(row["with_1_percent_punctuation"]),
            percent(row["mostly_punctuation"]),
            percent(row["mostly_stop_words"]),
            number(row["mean_cosine"]),
            number(row["random_cosine"]),
            number(row["halves_cosine"]),
            number(row["to_global_cosine"]),
        ]
        for row in one.rows("directions")
    ]
    columns = [
        "layer", "space", "k", "≥ 1 % punct.", "mostly p.", "mostly s.", "|cos| clusters", "random", "halves", "global"
    ]  # fmt: skip
    yield "share of clusters; their first components", columns, cells


TABLES: dict[str, Callable[[Analysis], Iterator[Table]]] = {
    "structure": structure_table,
    "pairs": pairs_table,
    "tense": tense_table,
    "frequency": frequency_table,
    "clusters": clusters_table,
}


def fitted(one: Analysis) -> Iterator[str]:
    """Which repairs there were: each once, whatever the layer."""
    told = dict.fromkeys(
        f"{row['space']} is {row['repair']}"
        + (f", fitted on {row['fitted_on']:,} {one.units}" * bool(row["fitted_on"]))
        + (f", less than the paper's {row['instead_of']}: vectors or dimensions are few" * bool(row["instead_of"]))
        for row in one.rows("spaces")
        if row["repair"] != "none"
    )
    yield from told
    yield f"vectors: {one.units}"


def claims(one: Analysis) -> Iterator[str]:
    """A line a claim; those of the last layer where there are many, and how many of the others held."""
    layer = one.claims[-1].layer
    metric = str(one.settings.get("metric"))
    chosen = [claim for claim in one.claims if claim.layer == layer and (one.what != "tense" or claim.about == metric)]
    for claim in chosen:
        about = f" [{claim.about}]" if claim.about and one.what != "tense" else ""
        space = claim.id.rsplit(".", 1)[-1]
        where = f" ({space})" if claim.id.count(".") > 1 and space not in claim.text else ""
        numbers = "" if claim.verdict == "cannot be shown" else f" {difference(claim)};"
        yield f"{claim.verdict}: {claim.text}{where}{about}:{numbers} {claim.why}"
    others = [claim for claim in one.claims if claim.layer != layer]
    if others:
        yield f"other layers: {sum(claim.verdict == 'held' for claim in others)} of {len(others)} claims held"


def difference(claim: Claim) -> str:
    """A claim's number with its interval, on the scale of the tables: shares are in per cent there."""
    if claim.points:
        value, low, high = (100 * number for number in (claim.value, claim.low, claim.high))
        return f"{value:+z.1f} {claim.points} ({low:+z.1f} to {high:+z.1f})"  # z: no -0.0
    return f"{claim.value:+z.3f} ({claim.low:+z.3f} to {claim.high:+z.3f})"


def left_out(one: Analysis) -> Iterator[str]:
    if one.dropped:
        yield "left out: " + ", ".join(f"{reason} {count:,}" for reason, count in one.dropped.items())
    yield from (f"note: {note}" for note in one.notes)


def firsts(rows: Sequence[Row]) -> list[Row]:
    """The first row of each layer and space."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        found.setdefault((row["layer"], row["space"]), row)
    return list(found.values())


def find(rows: Sequence[Row], like: Row, **wanted: Any) -> Row:
    """The row of the same layer and space with these cells; NaN where there is none."""
    wanted |= {"layer": like["layer"], "space": like["space"]}
    nothing = {"value": math.nan, "low": math.nan, "high": math.nan}
    return next((row for row in rows if all(row[name] == cell for name, cell in wanted.items())), nothing)


def interval(row: Row, form: Callable[[float], str]) -> str:
    """A number with the ends of its interval."""
    if not math.isfinite(row["low"]):
        return form(row["value"])
    low, high = (form(row[end]).removesuffix(" %") for end in ("low", "high"))
    return f"{form(row['value'])} ({low} – {high})"


def number(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %" if math.isfinite(value) else "-"
