"""What was measured of embedding tables, as plain columns for CSV files; docs/files.md tells what each means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from limbeck.measures.tables import Geometry
from limbeck.papers.table_subjects import SHARES, Table


def columns_of(tables: Sequence[Table]) -> dict[str, dict[str, list[Any]]]:
    """Everything that was measured as tables of plain numbers: file name -> columns."""
    return {
        "geometry.csv": _rows(
            ("model", "form", "rows", "dim", "zero_rows", "isotropy_one_sign", "isotropy_both_signs",
             "log10_isotropy_one_sign", "log10_isotropy", "mean_norm", "norm_of_mean", "shift", "mean_cosine",
             "top_with_mean", "isoscore"),
            [(one.name, form, *_geometry_cells(shape)) for one in tables for form, shape in one.geometry.items()],
        ),
        "singular_values.csv": _rows(
            ("model", "form", "index", "value", "over_largest"),
            [
                (one.name, form, place, float(value), float(share))
                for one in tables
                for form, shape in one.geometry.items()
                for place, (value, share) in enumerate(
                    zip(shape.singular_values, shape.normalized_singular_values, strict=True)
                )
            ],
        ),
        "bins.csv": _rows(
            ("model", "order", "reference", "bin", "mean_cosine", "of_reference_rows", "unseen"),
            [
                (one.name, order, one.reference, place, float(value), bool(own), bool(unseen))
                for one in tables
                for order, found in one.bins.items()
                for place, (value, own, unseen) in enumerate(zip(found.cosines, found.own, found.unseen, strict=True))
            ],
        ),
        "frequencies.csv": _rows(
            ("model", "unit", "share", "kinds", "kinds_in_all", "occurrences"),
            [
                (one.name, unit, share, kinds, len(counts), int(counts.sum()))
                for one in tables
                if one.frequencies is not None
                for unit, counts, cover in (
                    ("tokens", one.frequencies.tokens, one.frequencies.tokens_to_cover),
                    ("words", one.frequencies.words, one.frequencies.words_to_cover),
                )
                for share, kinds in zip(SHARES, cover, strict=True)
            ],
        ),
        "similarity.csv": _rows(
            ("model", "set", "form", "scoring", "pearson", "pairs", "pairs_of_the_set"),
            [
                (one.name, name, *way, float(value), found.kept, found.total)
                for one in tables
                if one.scores is not None
                for name, found in one.scores.sets.items()
                for way, value in found.values.items()
            ],
        ),
        "training.csv": _rows(
            ("model", "tokens", "finished", "rows", "isotropy_one_sign", "isotropy_both_signs",
             "log10_isotropy_one_sign", "log10_isotropy", "mean_norm", "norm_of_mean", "shift", "mean_cosine",
             "top_with_mean", "isoscore"),
            [
                (one.name, tokens, one.training.finished and place == len(one.training.tokens) - 1,
                 one.training.rows, *_geometry_cells(shape)[3:])
                for one in tables
                if one.training is not None
                for place, (tokens, shape) in enumerate(zip(one.training.tokens, one.training.shapes, strict=True))
            ],
        ),
    }  # fmt: skip


def _geometry_cells(shape: Geometry) -> tuple[Any, ...]:
    return (
        shape.rows, shape.dim, shape.zero_rows, shape.isotropy_one_sign, shape.isotropy,
        shape.log10_isotropy_one_sign, shape.log10_isotropy, shape.mean_norm, shape.norm_of_mean, shape.shift,
        shape.mean_cosine, shape.top_with_mean, shape.isoscore,
    )  # fmt: skip


def _rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
