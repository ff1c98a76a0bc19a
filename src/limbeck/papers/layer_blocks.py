"""What pages say of runs by layer: the models, the words, and tables with a column a layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from limbeck.papers.estimates import minus
from limbeck.papers.markdown import how, table
from limbeck.papers.results import Reproduction
from limbeck.papers.rules import called


def models(found: Reproduction) -> str:
    """What was measured, on what, and how to do it again."""
    rows = [
        [one.name, one.family or "none of the three", str(len(one.layers) - one.has_input), str(one.account["dim"])]
        for one in found.subjects
    ]
    lines = [table(["model", "kind", "layers above the input", "dimensions"], rows)]
    counts = found.subjects[0].account.get("counts", {})
    corpus = (found.subjects[0].account.get("source") or {}).get("corpus") or {}
    named = ", ".join(f"`{Path(path).name}`" for path in corpus.get("paths", [])) or "kept vectors"
    told = f"Text: {named}, {counts.get('words', 0):,} words in {counts.get('texts', 0):,} different texts; "
    told += f"{counts.get('tracked_words', 0):,} words followed. Preset: `{', '.join(found.presets)}`."
    lines.append(told)
    return "\n\n".join([*lines, *how(found)])


def words(found: Reproduction) -> str:
    """What the claims about words found, number by number."""
    parts = []
    for one in found.findings:
        numbers = {name: judged.numbers for name, judged in one.models.items() if judged.numbers}
        if one.claim.figure != "words" or not numbers:
            continue
        quantities = list(dict.fromkeys(quantity for some in numbers.values() for quantity in some))
        rows = [
            [name, *(str(some[quantity]) if quantity in some else "" for quantity in quantities)]
            for name, some in numbers.items()
        ]
        parts.append(f"{one.claim.text[0].upper()}{one.claim.text[1:]}:")
        parts.append(table(["model", *quantities], rows))
        parts += [f"Lowest in {name}: {', '.join(told.words)}." for name, told in one.models.items() if told.words]
    return "\n\n".join(parts) or "No model here has words to tell of."


def beside(columns: Sequence[tuple[str, str]]) -> Callable[[Reproduction], str]:
    """Writes some columns of layers.csv, a table each."""
    return lambda found: "\n\n".join(by_layer(found, measure, column) for measure, column in columns)


def by_layer(found: Reproduction, measure: str, column: str) -> str:
    """A measure as a table: a row a model, a column a layer."""
    longest = max(len(one.layers) for one in found.subjects)
    rows = []
    for one in found.subjects:
        values = [_value(value) for value in one.curve(measure, column).values]
        rows.append([one.name, *values, *[""] * (longest - len(values))])
    name = called(measure, column)
    return f"{name[0].upper()}{name[1:]}, by layer from the input:\n\n" + table(["", *map(str, range(longest))], rows)


def _value(value: float) -> str:
    if not math.isfinite(value):
        return ""
    return minus(f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}")
