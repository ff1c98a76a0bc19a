"""What a killed run leaves behind: its plan, and one state file that covers the shards done so far.

The state file is replaced atomically, so its presence is the marker that those shards are complete. A resumed run
does the shards after it again from their beginnings; batches never cross shards, so the numbers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limbeck.accumulators import Accumulator
from limbeck.errors import InputError, LimbeckError
from limbeck.state import State, load, save
from limbeck.stream.plan import Plan

PLAN = "plan.npz"
STATE = "accumulators.npz"
#: settings whose values say nothing to a reader
FINGERPRINTS = ("model", "text", "source")


class Checkpoint:
    """A folder with the plan and the state of one pass, tied to its settings."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.settings = settings

    def save_plan(self, plan: Plan) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LimbeckError(f"{self.folder}: could not be made ({error.strerror}): choose another --out.") from error
        save(self.folder / PLAN, plan.to_arrays(), about={"settings": self.settings, "dropped": plan.dropped})

    def load_plan(self) -> Plan | None:
        """The plan of an earlier try, if there is one; it must have been made for the same thing."""
        path = self.folder / PLAN
        if not path.exists():
            return None
        arrays, about = load(path)
        self._check(about["settings"], path)
        return Plan.from_arrays(arrays, about["dropped"])

    def save_state(self, accumulators: Sequence[Accumulator], *, shards: int, dropped: dict[str, int]) -> None:
        arrays: State = {}
        for number, accumulator in enumerate(accumulators):
            for name, array in accumulator.state().items():
                arrays[f"{number}/{name}"] = array
        kinds = [{"kind": a.name, "settings": a.settings()} for a in accumulators]
        about = {"settings": self.settings, "shards": shards, "dropped": dropped, "accumulators": kinds}
        save(self.folder / STATE, arrays, about=about)

    def load_state(self, fresh: Sequence[Accumulator]) -> tuple[list[Accumulator], int, dict[str, int]] | None:
        """Accumulators as they stood, shards done, units dropped; `fresh` are the empty ones to be continued."""
        path = self.folder / STATE
        if not path.exists():
            return None
        arrays, about = load(path)
        self._check(about["settings"], path)
        restored: list[Accumulator] = []
        for number, (accumulator, entry) in enumerate(zip(fresh, about["accumulators"], strict=True)):
            if entry["kind"] != accumulator.name:
                raise InputError(
                    f"{path}: holds {entry['kind']} where {accumulator.name} is asked for: --existing replace."
                )
            prefix = f"{number}/"
            state = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            restored.append(type(accumulator).from_state(state, **entry["settings"]))
        return restored, about["shards"], about["dropped"]

    def _check(self, theirs: dict[str, Any], path: Path) -> None:
        unlike = [name for name, value in self.settings.items() if theirs.get(name) != value]
        if unlike:
            name = unlike[0]
            now, then = self.settings[name], theirs.get(name)
            told = "is another" if name in FINGERPRINTS else f"was {then!r} and is {now!r} now"
            raise InputError(
                f"{path}: a run is resumed with the same model, text and settings; {name} {told}: use what was used "
                "then, or --existing replace."
            )
