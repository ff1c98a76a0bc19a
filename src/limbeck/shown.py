"""Results that are tables: how a notebook shows them, and how they become those of pandas, polars and Arrow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from limbeck.extras import need
from limbeck.sketch import Curves, sketch

__all__ = ["Tabular"]

ROWS_SHOWN = 20  #: of a table in a notebook


class Tabular:
    """What a class gets that says its table: `columns()`, and of curves to draw `curves()`.

    A table is a dict of equally long columns. pandas and polars are imported when they are asked for.
    """

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The table, a sequence a column."""
        raise NotImplementedError

    def head(self, rows: int) -> tuple[Mapping[str, Sequence[Any]], int]:
        """The first rows, and how many there are; of large tables a class makes no more than these."""
        columns = self.columns()
        return {name: values[:rows] for name, values in columns.items()}, count_of(columns)

    def curves(self) -> Curves | None:
        """What is drawn above the table in a notebook; nothing unless a class says so."""
        return None

    def title(self) -> str:
        """What stands above the table in a notebook."""
        return type(self).__name__

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        arrow = need("pyarrow", purpose="An Arrow table")
        return arrow.table({name: arrow.array(values) for name, values in self._arrays().items()})

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        pandas = need("pandas", purpose="A pandas table")
        return pandas.DataFrame(self._arrays())

    def to_polars(self) -> Any:
        """A polars DataFrame."""
        polars = need("polars", purpose="A polars table")
        return polars.DataFrame(self._arrays(), strict=False)

    def _arrays(self) -> dict[str, Any]:
        """Columns as the libraries take them: arrays as they are, everything else as lists."""
        return {name: values if hasattr(values, "dtype") else list(values) for name, values in self.columns().items()}

    def _repr_html_(self) -> str:
        """Title, figure and the first rows. Everything that comes from outside is escaped."""
        drawn = self.curves()
        parts = [f"<p><strong>{escape(self.title())}</strong></p>", sketch(drawn) if drawn else ""]
        columns, count = self.head(ROWS_SHOWN)
        return "".join([*parts, html_table(columns, count=count)])


def count_of(columns: Mapping[str, Sequence[Any]]) -> int:
    """Rows of a table."""
    return max((len(values) for values in columns.values()), default=0)


def html_table(columns: Mapping[str, Sequence[Any]], *, count: int | None = None) -> str:
    """Rows of a table as HTML, and how many there are where these are the first of more.

    >>> html_table({"word": ["<b>"], "n": [3]})
    '<table><thead><tr><th>word</th><th>n</th></tr></thead><tbody><tr><td>&lt;b&gt;</td><td>3</td></tr></tbody></table>'
    """
    rows = count_of(columns)
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell(values[row]))}</td>" for values in columns.values()) + "</tr>"
        for row in range(rows)
    )
    more = f"<p>{rows:,} of {count:,} rows</p>" if count is not None and count > rows else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def cell(value: Any) -> str:
    """A value as people read it: four digits of a number, nothing where there is none.

    >>> cell(0.123456), cell(float("nan")), cell(None), cell(12), cell("so")
    ('0.1235', '', '', '12', 'so')
    """
    if value is None:
        return ""
    if isinstance(value, bool | int | str):
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return "" if math.isnan(number) else f"{number:.4g}"
