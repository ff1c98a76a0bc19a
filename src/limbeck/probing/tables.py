"""All tables of a probing, made of what its probes decided; `limbeck.probing.result` makes the rows of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from limbeck.probing import result
from limbeck.probing.features import Features
from limbeck.probing.labelled import Labelled
from limbeck.probing.names import AROUND, CONTEXT, MAJORITY, RANDOM_LABELS, TABLES, WHOLE
from limbeck.probing.result import Outcome, Row
from limbeck.tables import columns_of

#: (space, probe, context) -> what probes of that kind say of it, one outcome a start
Outcomes = Mapping[tuple[str, str, str], Sequence[Outcome]]


def tables_of(
    outcomes: Outcomes,
    labelled: Labelled,
    *,
    probes: Sequence[str],
    sizes: Sequence[int],
    others: Mapping[str, Sequence[Row]],
) -> dict[str, dict[str, list[Any]]]:
    """Every table that has rows, in order; `others` are the rows of tables that outcomes alone do not give."""
    several = list(outcomes.values())
    rows: dict[str, list[Row]] = {name: list(some) for name, some in others.items()}
    rows["scores"] = [row for own in several for row in result.score_rows(own)]
    rows["curves"] = [row for own in several for row in result.curve_rows(own)]
    rows["classes"] = [
        row
        for own in several
        if own[0].context == WHOLE and own[0].space not in (RANDOM_LABELS, MAJORITY)
        for row in result.class_rows(own, labelled.classes)
    ]
    for probe in probes:
        contextual = outcomes[CONTEXT, probe, WHOLE]
        if around := outcomes.get((AROUND, probe, WHOLE)):
            rows.setdefault("confidence", []).extend(result.confidence_rows(contextual, around))
        if control := outcomes.get((RANDOM_LABELS, probe, WHOLE)):
            rows.setdefault("selectivity", []).extend(result.selectivity_rows(contextual, control))
        for less, more in pairwise([*map(str, sizes), WHOLE]):
            if (CONTEXT, probe, less) in outcomes:
                pair = outcomes[CONTEXT, probe, less][0], outcomes[CONTEXT, probe, more][0]
                rows.setdefault("flips", []).extend(result.flip_rows(*pair))
                rows.setdefault("flip_examples", []).extend(result.flip_examples(*pair, labelled))
    return {name: columns_of(rows[name]) for name in TABLES if rows.get(name)}


def rows_by_pieces(outcomes: Outcomes, whole: Features) -> list[Row]:
    """Scores by the number of a word's pieces; of models that read whole words none."""
    if not whole.pieces.any():
        return []
    contextual = [own for (space, _, _), own in outcomes.items() if space == CONTEXT]
    return [row for own in contextual for row in result.piece_rows(own, whole)]
