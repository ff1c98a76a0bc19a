"""What a killed run leaves behind: its plan, and part files, each with the state of a range of shards.

A part is replaced atomically and carries a checksum over its content, so that one which is there and whole is the mark
that its shards are done. A resumed run does the shards that no whole part covers again from their beginnings; batches
never cross shards, so the numbers are the same. Parts are merged two by two as they come, so that they stay few.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from limbeck.accumulators import Accumulator
from limbeck.errors import InputError, LimbeckError
from limbeck.state import DamagedFile, State, digest_of, load, save
from limbeck.stream.plan import Plan

PLAN = "plan.npz"
PARTS = "parts"
MOST_PARTS = 3  #: of a run on one machine; each may be as large as the state of the whole run
#: settings whose values say nothing to a reader
FINGERPRINTS = ("model", "text", "source")


@dataclass(frozen=True, order=True)
class Part:
    """A range of shards that are done."""

    first: int
    stop: int  # one past the last

    def __len__(self) -> int:
        return self.stop - self.first

    @property
    def file(self) -> str:
        return f"{self.first:06d}-{self.stop:06d}.npz"

    @classmethod
    def named(cls, file: Path) -> Part | None:
        """The range that a file's name tells."""
        first, dash, stop = file.stem.partition("-")
        return cls(int(first), int(stop)) if dash and first.isdecimal() and stop.isdecimal() else None


class Checkpoint:
    """A folder with the plan and the parts of one pass, tied to its settings."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.settings = settings
        self._plan = ""  # digest of the plan that parts are of
        self._dropped: dict[Part, dict[str, int]] = {}  # what had no vector in each

    # the plan

    def save_plan(self, plan: Plan) -> None:
        self._make(self.folder)
        save(self.folder / PLAN, plan.to_arrays(), about={"settings": self.settings, "dropped": plan.dropped})

    def load_plan(self) -> Plan | None:
        """The plan of an earlier try, if there is a whole one; it must have been made for the same thing."""
        path = self.folder / PLAN
        if not path.exists():
            return None
        try:
            arrays, about = load(path)
        except DamagedFile:
            tell(f"{path}: damaged, the text is planned anew.")
            return None
        self._check(about["settings"], path)
        return Plan.from_arrays(arrays, about["dropped"])

    # parts

    def open(self, plan: Plan, kinds: Sequence[Accumulator]) -> list[Part]:
        """The parts of this plan that are whole, in order and without overlap; all others are removed, and told."""
        self._make(self.folder / PARTS)
        whole, others = self._find(plan, kinds)
        self.remove(others)
        return whole

    def _find(self, plan: Plan, kinds: Sequence[Accumulator]) -> tuple[list[Part], list[Part]]:
        """Parts that are whole and do not overlap, and all others."""
        self._plan = digest_of(plan.to_arrays())
        found = [part for file in (self.folder / PARTS).glob("*.npz") if (part := Part.named(file)) is not None]
        whole: list[Part] = []
        others: list[Part] = []
        for part in sorted(found, key=len, reverse=True):  # a merged part before those that it was merged from
            overlaps = any(part.first < other.stop and other.first < part.stop for other in whole)
            good = not overlaps and self._is_whole(part, len(plan.shards), kinds)
            (whole if good else others).append(part)
        return sorted(whole), others

    def _is_whole(self, part: Part, shards: int, kinds: Sequence[Accumulator]) -> bool:
        path = self._path(part)
        try:
            _, about = load(path)
        except DamagedFile:
            tell(f"{path}: damaged, {_shards(part)} done again.")
            return False
        self._check(about["settings"], path)
        for accumulator, entry in zip(kinds, about["accumulators"], strict=True):
            if entry["kind"] != accumulator.name:
                raise InputError(
                    f"{path}: holds {entry['kind']} where {accumulator.name} is asked for: --existing=replace.",
                    code="other_kind",
                    parameter="existing",
                )
        if about["plan"] != self._plan or [part.first, part.stop] != about["shards"] or part.stop > shards:
            tell(f"{path}: of another plan, {_shards(part)} done again.")
            return False
        self._dropped[part] = about["dropped"]
        return True

    def save_part(self, part: Part, accumulators: Sequence[Accumulator], dropped: dict[str, int]) -> None:
        """Keep the state of a range of shards; `open` comes first."""
        kinds = [{"kind": a.name, "settings": a.settings()} for a in accumulators]
        self.save_arrays(part, arrays_of(accumulators), kinds, dropped)

    def save_arrays(self, part: Part, arrays: State, kinds: list[dict[str, Any]], dropped: dict[str, int]) -> None:
        about: dict[str, Any] = {"settings": self.settings, "plan": self._plan, "shards": [part.first, part.stop]}
        save(self._path(part), arrays, about=about | {"dropped": dropped, "accumulators": kinds})
        self._dropped[part] = dropped

    def load_part(self, part: Part, kinds: Sequence[Accumulator]) -> list[Accumulator]:
        """The accumulators of a part; `kinds` are accumulators of the same kinds."""
        arrays, about = load(self._path(part))
        return restored(kinds, arrays, [entry["settings"] for entry in about["accumulators"]])

    def dropped_in(self, parts: Iterable[Part]) -> dict[str, int]:
        """What had no vector in some parts, by reason."""
        total: Counter[str] = Counter()
        for part in parts:
            total.update(self._dropped[part])
        return dict(total)

    def remove(self, parts: Iterable[Part]) -> None:
        """Take parts away that another one holds."""
        for part in parts:
            self._path(part).unlink(missing_ok=True)

    def compact(self, parts: Sequence[Part], kinds: Sequence[Accumulator], *, most: int = MOST_PARTS) -> list[Part]:
        """The parts with the smallest neighbours merged until there are at most so many; two are in memory at once."""
        kept = sorted(parts)
        while len(kept) > most:
            sizes = {i: b.stop - a.first for i, (a, b) in enumerate(pairwise(kept)) if a.stop == b.first}
            if not sizes:
                break
            i = min(sizes, key=sizes.__getitem__)
            two, both = kept[i : i + 2], Part(kept[i].first, kept[i + 1].stop)
            merged = self.load_part(two[0], kinds)
            self.merge_all(two[1:], merged)
            self.save_part(both, merged, self.dropped_in(two))
            self.remove(two)
            kept[i : i + 2] = [both]
        return kept

    def merge_all(self, parts: Iterable[Part], into: Sequence[Accumulator]) -> None:
        """Merge parts into accumulators of the same kinds, in order, one in memory at a time."""
        for part in sorted(parts):
            merge_into(into, self.load_part(part, into))

    def _path(self, part: Part) -> Path:
        return self.folder / PARTS / part.file

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LimbeckError(
                f"{folder}: could not be made ({error.strerror}): choose another --out.",
                code="not_writable",
                parameter="out",
            ) from error

    def _check(self, theirs: dict[str, Any], path: Path) -> None:
        unlike = [name for name, value in self.settings.items() if theirs.get(name) != value]
        if unlike:
            name = unlike[0]
            now, then = self.settings[name], theirs.get(name)
            told = "is another" if name in FINGERPRINTS else f"was {then!r} and is {now!r} now"
            raise InputError(
                f"{path}: a run is resumed with the same model, text and settings; {name} {told}: use what was used "
                "then, or --existing=replace.",
                code="other_run",
                parameter="existing",
            )


def gaps(parts: Sequence[Part], shards: int, *, start: int = 0) -> list[Part]:
    """The ranges of shards from `start` on that no part covers, in order."""
    missing = []
    for part in sorted(parts):
        if part.first > start:
            missing.append(Part(start, part.first))
        start = max(start, part.stop)
    return [*missing, Part(start, shards)] if start < shards else missing


def arrays_of(accumulators: Sequence[Accumulator]) -> State:
    """The states of accumulators together, arrays named NUMBER/NAME."""
    return {
        f"{number}/{name}": array
        for number, accumulator in enumerate(accumulators)
        for name, array in accumulator.state().items()
    }


def restored(kinds: Sequence[Accumulator], arrays: State, settings: Sequence[dict[str, Any]]) -> list[Accumulator]:
    """Accumulators of the same kinds out of their states."""
    return restored_as([type(accumulator) for accumulator in kinds], arrays, settings)


def restored_as(
    kinds: Sequence[type[Accumulator]], arrays: State, settings: Sequence[dict[str, Any]]
) -> list[Accumulator]:
    """Accumulators of those kinds out of their states."""
    found: list[Accumulator] = []
    for number, (kind, own) in enumerate(zip(kinds, settings, strict=True)):
        prefix = f"{number}/"
        state = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
        found.append(kind.from_state(state, **own))
    return found


def merge_into(mine: Sequence[Accumulator], others: Sequence[Accumulator]) -> None:
    """Merge accumulators with others of the same kinds."""
    for one, other in zip(mine, others, strict=True):
        one.merge(other)


def tell(line: str) -> None:
    """Say something in one line, beside the output."""
    print(line, file=sys.stderr, flush=True)


def _shards(part: Part) -> str:
    return f"shard {part.first} is" if len(part) == 1 else f"shards {part.first} to {part.stop - 1} are"
