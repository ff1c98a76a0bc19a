"""`limbeck encode`: the vectors of every occurrence of a text, in a folder that replaces model and text."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from limbeck.corpus.settings import CorpusSettings, TextUnitSettings
from limbeck.encoders.settings import EncoderSettings, LoadingSettings
from limbeck.errors import InputError
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import SharedRun
from limbeck.runs.execution.settings import (
    ModelSettings,
    PartSettings,
    PassOutputSettings,
    RepairedSettings,
    TextSettings,
    need_folder,
    need_source,
)
from limbeck.settings import Settings, option
from limbeck.stream.settings import BatchSettings, EngineSettings

if TYPE_CHECKING:
    from limbeck.encoded import Encoded
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.runs.execution.parts import Division
    from limbeck.runs.execution.sharing import Reading
    from limbeck.stream import Consumer, Source
    from limbeck.stream.context import RunContext
    from limbeck.vectors import OccurrenceVectors, OccurrenceWriter

SHARD_BYTES = 1 << 30  #: of vectors in float32, before they are written


@dataclass(frozen=True)
class EncodeSettings(Settings, group="vectors"):
    """How vectors are saved."""

    keep: Literal["float16", "float32"] = option(
        "float16", metavar="DTYPE", help="precision of the saved vectors: float16 (default) or float32"
    )


@dataclass(frozen=True, eq=False, repr=False)
class EncodeResult(RunResult, os.PathLike[str]):
    """Saved vectors: `result.vectors` opens them. It is a path, too, wherever cached vectors are taken.

    record  vectors.json: the encoder, its layers, the text, the files
    folder  where they are
    """

    has_record = False  # vectors.json describes them

    folder: Path = field(compare=False)

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def name(self) -> str:
        """The model's."""
        return str(self.record["encoder_name"])

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(self.record["layers"])

    @property
    def dim(self) -> int:
        return int(self.record["dim"])

    @property
    def n(self) -> int:
        """Occurrences that have a vector."""
        return int(self.record["words_total"])

    @property
    def vectors(self) -> OccurrenceVectors:
        """The vectors, of which nothing large is read yet."""
        from limbeck.vectors import OccurrenceVectors

        return OccurrenceVectors.load(self.folder)

    def title(self) -> str:
        return f"{self.name}: {self.n:,} occurrences, {len(self.layers)} layers of {self.dim} dimensions"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """A row per file."""
        files = self.record["shards"]
        return {"file": [one["file"] for one in files], "occurrences": [one["rows"] for one in files]}

    def write(self, folder: Path) -> None:
        """Copy the vectors; where a run writes them itself, shard by shard, they are there."""
        from limbeck.places import MARK
        from limbeck.remote import brought
        from limbeck.vectors.writer import DESCRIPTION

        if not (folder / DESCRIPTION).is_file():
            with brought(self.folder) as there:
                shutil.copytree(there, folder, ignore=shutil.ignore_patterns(MARK), dirs_exist_ok=True)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        from limbeck.vectors.arrays import read_json
        from limbeck.vectors.writer import DESCRIPTION

        folder = Path(folder).expanduser()
        return cls(read_json(folder / DESCRIPTION), {}, folder)


@dataclass(kw_only=True)
class EncodeRun(SharedRun[EncodeResult]):
    """Encode a text once and save every vector; --vectors then replaces model and text."""

    result = EncodeResult
    command: ClassVar[str] = "encode"
    summary: ClassVar[str] = "save the vectors of every word of a text"
    details: ClassVar[str] = """\
DIR then holds a file of vectors per shard, and vectors.json. Duplicate texts are among them: whether they count is
decided when the vectors are used.
"""
    examples: ClassVar[str] = """\
limbeck encode --model bert-base-cased --corpus text.txt --out vectors
limbeck encode --model bert-base-cased --corpus text.txt --layers 0,6,12 --keep float32 --out vectors
limbeck encode --model bert-base-cased --corpus text.txt --repair runs/repaired --out isotropic
limbeck encode --model bert-base-cased --corpus text.txt --part 2/3 --out vectors-2
limbeck measure --vectors vectors --out runs/cached
"""

    model: ModelSettings
    text: TextSettings
    output: PassOutputSettings
    encoding: EncodeSettings
    loading: LoadingSettings
    encoder: EncoderSettings
    repaired: RepairedSettings
    reading: CorpusSettings
    unit: TextUnitSettings
    part: PartSettings
    batches: BatchSettings
    engine: EngineSettings

    @property
    def transient(self) -> Sequence[str]:
        from limbeck.stream.checkpoint import PARTS

        return ["state" if self.part.part is None else f"state/{PARTS}"]  # parts are merged by their index

    def validate(self) -> None:
        need_source(self.model.model, self.text.corpus, instead="")
        need_folder(self.output)
        _ = self.division  # a wrong part should not cost a model's loading

    @cached_property
    def division(self) -> Division:
        """Which part of a text is read."""
        from limbeck.runs.execution.parts import division_of

        return division_of(self.part.part, index_of=self.part.index_of)

    @property
    def depends(self) -> dict[str, Any]:
        """Beside model and text, what its vectors depend on."""
        return self.encoding.as_dict() | self.division.told()

    def open(self) -> None:
        from limbeck.runs.execution.sources import open_source

        self.source = cast(Any, open_source(self.model.model, self.text.corpus, **self.source_options()))

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.runs.measuring.sums import size
        from limbeck.stream import Choice
        from limbeck.stream.foretell import look_ahead, seconds_a_pass, time_told

        ahead = look_ahead(self.source, choice=Choice(), deduplicate=False)
        one, units = seconds_a_pass(ahead, workers=context.workers.count), ahead.plan.units
        yield ahead.plan.describe() + ahead.note
        yield time_told(one + ahead.whole_look + opened, units / max(one, 1e-9))
        width = 2 if self.encoding.keep == "float16" else 4
        yield f"{size(units * len(self.source.layers) * self.source.dim * width)} of disk"

    def compute(self, context: RunContext) -> EncodeResult:
        from limbeck.runs.execution.input_guard import steady
        from limbeck.runs.execution.parts import planned
        from limbeck.stream import Choice, run_pass
        from limbeck.vectors.writer import DESCRIPTION

        source, folder = self.source, context.folder
        assert folder is not None
        (folder / DESCRIPTION).unlink(missing_ok=True)  # of a run killed in its last moment
        writer = self.writer(folder)
        context = replace(context, shard_units=self.shard_units or context.shard_units or shard_size(source))
        with steady(source):
            index = planned(source, self.division, self.identity(), choice=Choice(), deduplicate=True, context=context)
            run_pass(
                source,
                [],
                context=context,
                plan=index,
                consumers=[Saver(writer)],
                settings=self.depends,
                choice=Choice(),
                read_duplicates=True,
            )
        writer.close(duplicates=index.duplicates)
        return replace(EncodeResult.load(folder), folder=self.out)

    def writer(self, folder: Path) -> OccurrenceWriter:
        """What writes vectors into a folder, with what is known of their origin."""
        from limbeck.vectors import OccurrenceWriter

        source: Source = self.source
        encoder = source.encoder
        case = {} if encoder is None else {"tells_case": encoder.tells_case}  # whether Tea and tea differ
        return OccurrenceWriter(
            folder,
            encoder_name=source.name,
            encoder_fingerprint=source.fingerprint,
            layers=source.layers,
            dim=source.dim,
            dtype=self.encoding.keep,
            about=source.describe() | case | self.division.told(),
        )

    def check_complete(self, folder: RunFolder) -> None:
        about = EncodeResult.load(folder.target).record
        for name, wanted, what, parameter in (
            ("encoder_fingerprint", self.source.fingerprint, "model, text or settings", ""),
            ("dtype", self.encoding.keep, f"--keep ({about.get('dtype')})", "keep"),
        ):
            if about.get(name) != wanted:
                raise InputError(
                    f"{folder.target}: contains finished vectors of another {what}: --existing=replace, or another "
                    "--out.",
                    code="other_run",
                    parameter=parameter,
                )
        part, theirs = self.division.told().get("part"), about["about"].get("part")
        if theirs != part:
            raise InputError(
                f"{folder.target}: contains finished vectors of part {theirs or '1/1'} of the text, not of "
                f"{part or '1/1'}: --existing=replace, or another --out.",
                code="other_run",
                parameter="part",
            )

    def load(self, folder: Path) -> EncodeResult:
        return replace(EncodeResult.load(folder), folder=self.out)

    # sharing a pass

    @property
    def reads_duplicates(self) -> bool:
        return True

    def join_pass(self, reading: Reading, folder: RunFolder) -> None:
        super().join_pass(reading, folder)
        self.shard_units = shard_size(self.source)

    def identity(self) -> Any:
        from limbeck.stream.run import identity_of

        return identity_of(self.source, self.depends, choice=self.choice)

    def consumers(self) -> list[Consumer]:
        return [Saver(self.writer(self.folder.unfinished))]


class Saver:
    """Writes each shard's occurrences to a file when the shard is complete."""

    def __init__(self, writer: OccurrenceWriter) -> None:
        self.writer = writer
        self._batches: list[Encoded] = []

    def update(self, batch: Encoded) -> None:
        from limbeck.encoded import Encoded

        # on the host: a shard of a large model would not fit beside it
        self._batches.append(
            Encoded(batch.vectors.cpu(), batch.words, batch.sentences, batch.texts, batch.occurrences, batch.strings)
        )

    def end_shard(self, number: int) -> None:
        import numpy as np
        import torch

        batches, self._batches = self._batches, []
        if not batches:  # a shard of which no word has a vector
            return
        self.writer.write(
            torch.cat([batch.vectors for batch in batches], dim=1),
            strings=[string for batch in batches for string in batch.strings],
            sentences=np.concatenate([batch.sentences for batch in batches]),
            texts=np.concatenate([batch.texts for batch in batches]),
            occurrences=np.concatenate([batch.occurrences for batch in batches]),
            shard=number,
        )


def shard_size(source: Source) -> int:
    """Words per shard: as many as memory holds at once, with all their layers."""
    from limbeck.stream.run import SHARD_UNITS

    return max(1, min(SHARD_UNITS["cpu"], SHARD_BYTES // (4 * len(source.layers) * source.dim)))


def encode(model: Any, corpus: Any, *, out: str | Path, progress: bool = False, **keywords: Any) -> EncodeResult:
    """Save the vectors of every occurrence in a folder, to be used in the place of model and text.

    model, corpus  as `measure` takes them
    out            a new folder
    progress       show bars

    All other keywords are the options of `limbeck encode`, by the same names. Duplicate texts are encoded too: whether
    they count is decided when the vectors are used.
    """
    return EncodeRun.results(progress, model=model, corpus=corpus, out=out, **keywords)[0]
