"""words.parquet of a run, read as far as a question needs: a column at one layer, or one word at every layer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError, choose
from limbeck.reporting.differences import account_of
from limbeck.reporting.page.sections.layers import MEASURES
from limbeck.sketch import Curves, sketch
from limbeck.tables import open_parquet

Floats = NDArray[np.float64]
MOST_ROWS = 500  #: of one answer
SENTENCES = 20  #: of a word, from the run's sample
COUNTS = ("n", "contexts")
COLUMNS = ("n", "contexts", "self_similarity", "mev", "mev_centered", "mev_truncated_svd")
#: what columns are called, as on the page of `limbeck report`, whose table of words says MEV for short
TITLES = {name: MEASURES[name][0] for name in COLUMNS if name in MEASURES} | {"mev": "MEV"}


class WordTable:
    """The words of a run folder. A word's layers stand together in the file, in the order of run.json."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        account = account_of(self.folder, done="served")
        if account.get("command") != "measure":
            raise UsageError(
                f"Runs of measure are served; {self.folder} is one of {account.get('command', 'an unknown command')}: "
                "limbeck report shows others.",
                code="other_kind",
            )
        missing = [name for name in ("name", "layers") if name not in account]
        if missing:
            raise InputError(
                f"{self.folder / 'run.json'}: {' and '.join(missing)} missing: measure the run again.",
                code="incomplete",
            )
        self.name = str(account["name"])
        self.layers = [str(layer) for layer in account["layers"]]
        self.counts = dict(account.get("counts", {}))
        path = self.folder / "words.parquet"
        try:
            self._file = open_parquet(path, memory_map=True)
        except (OSError, ValueError) as error:
            told = " ".join(str(error).split())[:100]
            raise InputError(
                f"{path}: must be there and whole; {told}: measure the run again.", code="not_readable"
            ) from error
        known = self._file.schema_arrow.names
        self.columns = [name for name in COLUMNS if name in known]
        if self._file.metadata.num_rows % len(self.layers) or "word" not in known:
            raise InputError(
                f"{path}: must have every word at each layer of run.json: measure the run again.", code="incomplete"
            )
        self._column = lru_cache(maxsize=16)(self._read_column)
        self._order = lru_cache(maxsize=16)(self._sorted)
        self._words: list[str] | None = None

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows) // len(self.layers)

    @property
    def words(self) -> list[str]:
        """Every word once; read when it is first asked for."""
        if self._words is None:
            self._words = [str(word) for word in self._every("word", 0)]
        return self._words

    def page(
        self,
        *,
        layer: str,
        sort: str = "n",
        descending: bool = True,
        search: str = "",
        offset: int = 0,
        limit: int = 50,
    ) -> dict[str, Any]:
        """Some rows of the table at one layer: {"total", "offset", "rows"}. Undefined values stand last.

        search  words that have this in them, in small or capital letters
        """
        choose(layer, self.layers, what="layer")
        choose(sort, ["word", *self.columns], what="sort")
        if offset < 0 or not 0 < limit <= MOST_ROWS:
            raise UsageError(
                f"offset must be at least 0 and limit 1 to {MOST_ROWS}, got {offset} and {limit}.", code="out_of_range"
            )
        place = self.layers.index(layer)
        order = self._order(sort, place, descending)
        if search:
            part = search.casefold()
            order = np.array([row for row in order.tolist() if part in self.words[row].casefold()], dtype=np.int64)
        chosen = order[offset : offset + limit]
        values = {name: self._column(name, place)[chosen] for name in self.columns}
        rows = [
            {"word": self.words[row], **{name: _number(name, values[name][at]) for name in self.columns}}
            for at, row in enumerate(chosen.tolist())
        ]
        return {"total": len(order), "offset": offset, "rows": rows}

    def word(self, word: str) -> dict[str, Any]:
        """One word at every layer, and sentences that it stands in, as far as the run's sample has any."""
        row = self._row_of(word)
        first, layers = row * len(self.layers), len(self.layers)
        found: dict[str, list[Any]] = {name: [] for name in self.columns}
        start = 0
        for group in range(self._file.metadata.num_row_groups):
            length = self._file.metadata.row_group(group).num_rows
            low, high = max(first, start), min(first + layers, start + length)
            if low < high:
                table = self._file.read_row_group(group, columns=self.columns).slice(low - start, high - low)
                for name in self.columns:
                    found[name] += [_number(name, value) for value in table[name].to_pylist()]
            start += length
        return {"word": word, "layers": self.layers, **found, "sentences": self.sentences(word)}

    def picture(self, word: str) -> str:
        """The word's curves over layers, as SVG."""
        found = self.word(word)
        lines = {
            TITLES[name]: [float("nan") if value is None else value for value in found[name]]
            for name in ("self_similarity", "mev", "mev_centered")
            if any(value is not None for value in found.get(name, ()))  # the key tells of no line that is not there
        }
        return sketch(Curves(self.layers, lines, up=word))

    def sentences(self, word: str) -> list[str]:
        """Of the run's sample, those that hold the word; none where the text was kept out of the folder."""
        path = self.folder / "sample.parquet"
        if not path.is_file():
            return []
        file = open_parquet(path)
        if not {"word", "sentence"} <= set(file.schema_arrow.names):
            return []
        found: dict[str, None] = {}
        for batch in file.iter_batches(columns=["word", "sentence"]):
            columns = batch.to_pydict()
            found |= {
                text: None
                for own, text in zip(columns["word"], columns["sentence"], strict=True)
                if own == word and text
            }
            if len(found) >= SENTENCES:
                break
        return list(found)[:SENTENCES]

    def _row_of(self, word: str) -> int:
        try:
            return self.words.index(word)
        except ValueError:
            raise UsageError(f"The run follows no word {word!r}.", code="not_found") from None

    def _read_column(self, name: str, place: int) -> Floats:
        return np.array(self._every(name, place), dtype=np.float64)

    def _every(self, name: str, place: int) -> Sequence[Any]:
        """A column at one layer: every so many rows of the file, batch by batch."""
        found: list[Any] = []
        at = 0
        for batch in self._file.iter_batches(columns=[name]):
            skip = (place - at) % len(self.layers)
            found += batch.column(0).to_pylist()[skip :: len(self.layers)]
            at += len(batch)
        return found

    def _sorted(self, name: str, place: int, descending: bool) -> NDArray[np.int64]:
        if name == "word":
            order = sorted(range(len(self)), key=lambda row: (self.words[row].casefold(), row), reverse=descending)
            return np.array(order, dtype=np.int64)
        values = self._column(name, place)
        return np.asarray(np.argsort(-values if descending else values, kind="stable"))  # NaN last either way


def _number(name: str, value: Any) -> Any:
    """As JSON has it: None where undefined, counts whole."""
    if value is None or not np.isfinite(value):
        return None
    return int(value) if name in COUNTS else float(value)
