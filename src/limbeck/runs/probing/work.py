"""The work of a probing run: spaces are made, and probes trained on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.encoders.protocol import Encoder
from limbeck.encoders.table import table_fingerprint
from limbeck.errors import InputError
from limbeck.probing.batched import Probes, Rows, train
from limbeck.probing.controls import (
    description_length,
    majority_decisions,
    portions,
    random_labels,
    with_random_weights,
)
from limbeck.probing.features import Features, extract, reads_words_alone
from limbeck.probing.labelled import Labelled
from limbeck.probing.names import CONTEXT, MAJORITY, RANDOM_LABELS, RANDOM_WEIGHTS, WHOLE
from limbeck.probing.result import Outcome, Row, data_rows
from limbeck.probing.scoring import score
from limbeck.probing.settings import ProbeSettings
from limbeck.probing.spaces import (
    Level,
    Space,
    averages,
    context_level,
    in_context,
    model_bag,
    random_words,
    static_bag,
    static_words,
    surroundings,
    type_level,
)
from limbeck.probing.splits import DEV, SIDES, TEST, TRAIN, Sides, one_sided
from limbeck.probing.tables import rows_by_pieces, tables_of
from limbeck.seeds import hash_text
from limbeck.state import State, digest_of, load, save
from limbeck.stream.progress import Progress
from limbeck.stream.workers import Workers
from limbeck.vectors import StaticVectors

NOT_ALONE = "left out, the first position of a decoder has no vector and a word alone no other: give --keep-first"


@dataclass
class Probing:
    """A model, labelled words and settings; `run` does it all."""

    encoder: Encoder
    labelled: Labelled
    sides: Sides
    settings: ProbeSettings
    data: Mapping[str, Any]
    static: StaticVectors | None = None
    whole: Features | None = None  # vectors of whole sentences that were read before, at these layers or at more

    def __post_init__(self) -> None:
        self.begin()

    @property
    def identity(self) -> dict[str, Any]:
        """All that the numbers depend on."""
        return {
            "model": self.encoder.fingerprint,
            "data": self.data_fingerprint,
            "text": self.data.get("fingerprint"),
            "settings": self.settings.as_dict(),
            "static": None if self.static is None else table_fingerprint(self.static.words, self.static.matrix),
            "probes_of": None if self.settings.probes is None else self.probes_fingerprint,
            "keep_probes": self.settings.keep_probes,
        }

    @cached_property
    def data_fingerprint(self) -> str:
        """Changes with the text, words, classes and sides that probes are trained on."""
        labelled = self.labelled
        texts = ["\x1f".join([*one.words, *map(str, sorted(one.glued))]) for one in labelled.sentences]
        numbers = {name: getattr(labelled, name) for name in ("sentence", "position", "span", "word", "kind")}
        numbers |= {"sides": self.sides, "texts": np.array(list(map(hash_text, texts)), dtype=np.uint64)}
        return digest_of(numbers, "\x1e".join(["\x1f".join(labelled.classes), "\x1f".join(labelled.words)]))

    @cached_property
    def given_probes(self) -> dict[tuple[str, int], Path]:
        """Where the probes of another run are kept, by kind and start."""
        folder = self.settings.probes
        assert folder is not None
        asked: list[tuple[str, int]] = [(probe, seed) for probe in self.settings.probe for seed in self.settings.seeds]
        found = {(kind, seed): folder / "probes" / f"{kind}-{seed}.safetensors" for kind, seed in asked}
        for path in found.values():
            if not path.is_file():
                raise InputError(
                    f"{path}: there are no such probes: give --probe and --seeds as in that run.",
                    code="no_probes",
                    parameter="probes",
                )
        return found

    @cached_property
    def probes_fingerprint(self) -> str:
        """Changes with the weights of the given probes; files of the same weights may differ."""
        weights = {
            f"{kind}-{seed}-{name}": weight.numpy()
            for (kind, seed), path in self.given_probes.items()
            for name, weight in Probes.load(path)[0].weights.items()
        }
        return digest_of(weights)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of context that the model can be read with."""
        return tuple(size for size in self.settings.context_size if size or reads_words_alone(self.encoder))

    @cached_property
    def device(self) -> torch.device:
        return torch.device(self.encoder.device)

    def begin(
        self,
        *,
        state: Path | None = None,
        kept: Path | None = None,
        workers: Workers | None = None,
        progress: bool = False,
    ) -> None:
        """Nothing tried yet; `run` begins so, and so does who wants some of the spaces alone."""
        self._state, self._kept = state, kept if self.settings.keep_probes else None
        self._workers, self._progress = workers or Workers(), progress
        self.notes: dict[str, str] = {}
        if self.settings.probes is None and self.sizes != self.settings.context_size:
            self.notes["context 0"] = NOT_ALONE
        self.outcomes: dict[tuple[str, str, str], list[Outcome]] = {}

    def run(
        self,
        *,
        state: Path | None = None,
        kept: Path | None = None,
        workers: Workers | None = None,
        progress: bool = False,
    ) -> dict[str, dict[str, list[Any]]]:
        """Tables of every space, probe and start. `state` is a folder in which a stopped run finds what it has done."""
        self.begin(state=state, kept=kept, workers=workers, progress=progress)
        others = {"data": data_rows(self.labelled, self.sides)}
        whole = self.extracted(None)
        for space in self.spaces(whole):
            self.probe_space(space, WHOLE)
        if self.settings.probes is None:
            others["description_length"] = self.try_controls(whole)
        others["pieces"] = rows_by_pieces(self.outcomes, whole)
        del whole
        for size in self.sizes if self.settings.probes is None else ():
            features = self.extracted(size)
            for space in self.spaces(features, sized=True):
                self.probe_space(space, str(size))
        return tables_of(self.outcomes, self.labelled, probes=self.settings.probe, sizes=self.sizes, others=others)

    # vectors

    def extracted(self, size: int | None, encoder: Encoder | None = None) -> Features:
        if size is None and encoder is None and self.whole is not None:
            return self.whole.at_layers(self.encoder.layers)
        name = "random" if encoder is not None else WHOLE if size is None else str(size)
        file = None if self._state is None else self._state / f"vectors-{name}.npy"
        return extract(
            encoder or self.encoder,
            self.labelled,
            context=size,
            file=file,
            workers=self._workers,
            progress=self._progress,
        )

    @cached_property
    def in_context(self) -> Level:
        return context_level(self.labelled, self.sides)

    @cached_property
    def of_words(self) -> Level:
        return type_level(self.labelled, self.sides)

    def spaces(self, features: Features, *, sized: bool = False) -> Iterator[Space]:
        """What is probed with this context; one vector a word has no context, and is probed once."""
        settings, seed = self.settings, self.settings.seeds[0]
        level = replace(self.in_context, sides=np.where(features.found, self.sides, np.int8(-1)))
        yield in_context(features, level)
        if self.settings.probes is not None:
            return
        if "bag" in settings.compare:
            if (bag := model_bag(features, level)) is not None:
                yield bag
            else:
                self.notes["P-model and P-around"] = "left out, they need the embedding table: --layers table,..."
            if not sized and (around := surroundings(features, level)) is not None:
                yield around
            if self.static is not None:
                yield static_bag(self.static, features, level, seed=seed)
            if "random" in settings.compare:
                yield static_bag(None, features, level, seed=seed)
        if sized:
            return
        if "average" in settings.compare:
            known = np.flatnonzero(features.found)
            part = replace(features, index=features.index[known])
            seen = np.zeros(len(self.labelled.words), dtype=bool)
            seen[self.labelled.word[known]] = True
            words = replace(self.of_words, sides=np.where(seen, self.of_words.sides, np.int8(-1)))
            yield averages(part, self.labelled.take(known), words)
        if "random" in settings.compare:
            yield random_words(self.labelled, self.of_words, seed=seed)
        if self.static is not None:
            yield static_words(self.static, self.labelled, self.of_words, seed=seed)

    # probes

    def probe_space(self, space: Space, context: str, *, watch_training: bool = False) -> None:
        """Train probes of each kind from each start, or try those of another run, and keep what they say."""
        if space.note:
            self.notes[f"{space.name}, context {context}"] = space.note
        for probe in self.settings.probe:
            for seed in self.settings.seeds:
                make = partial(self.tried, space, probe, context, seed, watch_training)
                made = self.remembered(f"{space.name}-{probe}-{context}-{seed}", make)
                self.outcomes.setdefault((space.name, probe, context), []).append(
                    outcome_of(made, space, probe, context, seed)
                )

    def tried(self, space: Space, probe: str, context: str, seed: int, watch_training: bool) -> State:
        rows = np.flatnonzero((space.level.sides == DEV) | (space.level.sides == TEST))
        if self.settings.probes is not None:
            probes = self.loaded(space, probe, seed)
            curves: State = {}
        else:
            probes, curves = self.trained(space, probe, context, seed)
        decisions = np.empty((len(space.layers), len(rows), len(self.labelled.classes)), dtype=bool)
        own = np.empty((len(space.layers), len(rows)), dtype=np.float16)
        first = space.level.targets[rows].argmax(1)
        for part, margins in probes.margins(space.features, space.index[rows]):
            decisions[:, part] = margins > 0
            mine = np.take_along_axis(margins, first[part][None, :, None], axis=2)[..., 0]
            own[:, part] = np.clip(mine, -60000, 60000)
        known = np.full(len(space.layers), np.nan)
        if watch_training:
            seen = np.flatnonzero(space.level.sides == TRAIN)
            said = probes.decisions(space.features, space.index[seen])
            level = space.level
            known = np.array([score(one, level.unit[seen], level.gold, level.word).f1 for one in said])
        return {"rows": rows, "decisions": np.packbits(decisions), "own": own, "known": known, **curves}

    def trained(self, space: Space, probe: str, context: str, seed: int) -> tuple[Probes, State]:
        settings = self.settings.training(probe)
        name = f"{space.name}, {probe}, context {context}, seed {seed}"
        total = settings.epochs * len(space.layers)
        with Progress(name, total=total, unit="layers × epochs", show=self._progress) as bar:
            made = train(
                self.rows_of(space, TRAIN),
                self.rows_of(space, DEV),
                names=self.labelled.classes,
                settings=settings,
                seed=seed,
                device=self.device,
                on_epoch=bar.advance,
            )
        if self._kept is not None and space.name == CONTEXT and context == WHOLE:
            made.probes.save(self._kept / f"{probe}-{seed}.safetensors", about=self.about_probes(space))
        return made.probes, {"loss": made.losses, "dev_loss": made.dev_losses, "dev_f1": made.dev_f1}

    def rows_of(self, space: Space, side: int) -> Rows:
        here = np.flatnonzero(space.level.sides == side)
        if not len(here):
            raise InputError(
                f"every side of the split needs words with vectors; {SIDES[side]} has none: give more data.",
                code="too_few",
            )
        return Rows(space.features, space.index[here], space.level.targets[here])

    def about_probes(self, space: Space) -> dict[str, str]:
        return {"data": self.data_fingerprint, "layers": ",".join(space.layers), "model": self.encoder.name}

    def loaded(self, space: Space, probe: str, seed: int) -> Probes:
        """Probes of another run: of the same words, sides and layers, else their scores would mean nothing."""
        path = self.given_probes[probe, seed]
        probes, about = Probes.load(path, device=str(self.device))
        here = self.about_probes(space)
        for name, what in (("data", "labelled words and split"), ("layers", "layers")):
            if about.get(name) != here[name]:
                raise InputError(
                    f"{path}: trained on other {what}: give both runs the same data and settings.",
                    code="other_settings",
                )
        if probes.dim != self.encoder.dim:
            raise InputError(
                f"{path}: for vectors of another width than {self.encoder.name} has.", code="other_dimensions"
            )
        if about.get("model") != self.encoder.name:
            self.notes["probes"] = f"trained on {about.get('model')}, tried on {self.encoder.name}"
        return probes

    def remembered(self, name: str, make: Callable[[], State]) -> State:
        """What a stopped run has made already, or made now."""
        if self._state is None:
            return make()
        file = self._state / f"{name.replace(' ', '_')}.npz"
        if file.is_file():
            return load(file)[0]
        made = make()
        save(file, made)
        return made

    # controls

    def try_controls(self, whole: Features) -> list[Row]:
        """Probes that ought to say less; and the rows of description lengths, which are no outcomes."""
        settings, seed = self.settings, self.settings.seeds[0]
        level = replace(self.in_context, sides=np.where(whole.found, self.sides, np.int8(-1)))
        space = in_context(whole, level)
        if MAJORITY in settings.control:
            for own in (level, self.of_words):
                self.guess(own)
        if "random-labels" in settings.control:
            mixed = replace(space, name=RANDOM_LABELS, level=random_labels(level, seed=seed))
            self.probe_space(mixed, WHOLE, watch_training=True)
        if "random-weights" in settings.control:
            untrained = with_random_weights(self.encoder, seed=seed)
            drawn = in_context(self.extracted(None, untrained), level)
            self.probe_space(replace(drawn, name=RANDOM_WEIGHTS), WHOLE)
        if "description-length" not in settings.control:
            return []
        return [row for probe in settings.probe for row in self.described(space, probe)]

    def guess(self, level: Level) -> None:
        """The class that most have, for all."""
        rows = np.flatnonzero((level.sides == DEV) | (level.sides == TEST))
        said = majority_decisions(level, rows)
        made = Outcome(
            MAJORITY, "none", WHOLE, 0, ("none",), level, rows, said[None],
            np.where(said[None].any(2), 1, -1).astype(np.float16), {}, np.array([np.nan]),
        )  # fmt: skip
        self.outcomes[f"{MAJORITY}-{level.name}", "none", WHOLE] = [made]

    def described(self, space: Space, probe: str) -> list[Row]:
        settings, seed = self.settings.training(probe), self.settings.seeds[0]
        words = space.level.word[space.level.unit[space.level.sides == TRAIN]]

        def make() -> State:
            total = settings.epochs * len(space.layers) * (len(portions(words, seed=seed)[1]) - 1)
            name = f"description length, {probe}"
            with Progress(name, total=total, unit="layers × epochs", show=self._progress) as bar:
                found = description_length(
                    self.rows_of(space, TRAIN),
                    self.rows_of(space, DEV),
                    words=words,
                    names=self.labelled.classes,
                    settings=settings,
                    seed=seed,
                    device=self.device,
                    on_epoch=bar.advance,
                )
            return {"bits": found.bits, "uniform": np.array(found.uniform)}

        made = self.remembered(f"description-{probe}", make)
        uniform = int(made["uniform"]) * len(self.labelled.classes)
        return [
            {
                "probe": probe,
                "layer": layer,
                "bits": float(bits),
                "uniform_bits": uniform,
                "compression": uniform / bits,
            }
            for layer, bits in zip(space.layers, made["bits"].sum(1).tolist(), strict=True)
        ]

    # what was read

    def describe(self) -> list[str]:
        """What will be probed, in a few lines."""
        from limbeck.runs.measuring.sums import size

        counts = "; ".join(
            f"{name} {one['words']:,} words, {one['combinations']:,} combinations, {one['contexts']:,} contexts"
            for name, one in self.facts_of_sides().items()
        )
        labelled, layers = self.labelled, len(self.encoder.layers)
        lines = [f"{len(labelled.classes)} classes: {counts}"]
        if labelled.left_out:
            reasons = ", ".join(f"{reason} {number:,}" for reason, number in labelled.left_out.items())
            lines.append(f"left out: {reasons}")
        lines.append(f"words by {labelled.words_by}")
        lines += one_sided(labelled, self.sides)
        lines += [f"{what}: {note}" for what, note in self.notes.items()]
        trained = ""
        if self.settings.probes is None:
            starts, epochs = len(self.settings.seeds), self.settings.training("mlp").epochs
            trained = f", trained together, from {starts} start{'s' * (starts > 1)} of {epochs} epochs"
        vectors = size(len(labelled) * layers * self.encoder.dim * 4)
        probes = layers * len(labelled.classes)
        lines.append(f"{probes:,} probes at {layers} layer{'s' * (layers > 1)}{trained}; {vectors} of vectors")
        return lines

    def facts_of_sides(self) -> dict[str, dict[str, int]]:
        """How many words, combinations and contexts are on each side."""
        return {
            name: {
                "words": len(np.unique(self.labelled.word[self.sides == side])),
                "combinations": len(np.unique(self.labelled.combination[self.sides == side])),
                "contexts": int((self.sides == side).sum()),
            }
            for side, name in enumerate(SIDES)
        }

    def facts(self) -> dict[str, Any]:
        trained = self.settings.probe if self.settings.probes is None else ()
        return {
            "classes": list(self.labelled.classes),
            "words_by": self.labelled.words_by,
            "sides": self.facts_of_sides(),
            "left_out": dict(self.labelled.left_out),
            "notes": self.notes,
            "one_sided": one_sided(self.labelled, self.sides),
            "training": {probe: vars(self.settings.training(probe)) for probe in trained},
            "imbalance": "no class is weighted and no row left out; data.csv has each class' share of the contexts",
            "probes_of": None if self.settings.probes is None else str(self.settings.probes),
            "data": dict(self.data),
        }


def outcome_of(made: State, space: Space, probe: str, context: str, seed: int) -> Outcome:
    rows: NDArray[np.int64] = made["rows"]
    shape = (len(space.layers), len(rows), space.level.gold.shape[1])
    decisions = np.unpackbits(made["decisions"], count=int(np.prod(shape))).astype(bool).reshape(shape)
    curves: State = {name: made[name] for name in ("loss", "dev_loss", "dev_f1") if name in made}
    return Outcome(
        space.name, probe, context, seed, space.layers, space.level, rows, decisions, made["own"], curves, made["known"]
    )
