"""Where occurrences come from: a corpus read through an encoder, or vectors kept from an earlier pass.

A source can be surveyed (cheap, for the plan) and read (dear, shard by shard).
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus
from limbeck.corpus.units import TextUnit
from limbeck.encoded import Encoded, Groups
from limbeck.encoders.memory import read_parts
from limbeck.encoders.protocol import Encoder, as_encoder
from limbeck.errors import InputError, UsageError
from limbeck.seeds import hash_ids, hash_text
from limbeck.stream.plan import Plan, Surveyed, surveyed
from limbeck.stream.tasks import Feed, Ready, ShardEnd, ShardStart, Survey, salted
from limbeck.stream.workers import Workers
from limbeck.vectors import OccurrenceVectors
from limbeck.vectors.blocks import Identities

NO_WORDS = "{}: every vector needs its word here, none has one: save both, numpy.savez(NAME, words=…, vectors=…)."


class Source(ABC):
    """Anything that gives occurrences with vectors.

    encoder    what gives the vectors, just as they are; None where there is no such thing, or they are changed
    corpus     the text; None where it is not there any more
    text_unit  what the text was divided into
    path       where kept vectors lie, for messages
    device     where the vectors are made, without an encoder
    wordless   whether rows have no words: an array by itself
    remedy     what to do where nothing has a vector
    """

    encoder: Encoder | None = None
    corpus: Corpus | None = None
    text_unit: TextUnit = "sentence"
    path: str = ""
    device: str = "cpu"
    wordless: bool = False
    remedy: str = "check --model and --lowercase, or --context and --keep-first"

    @property
    @abstractmethod
    def name(self) -> str: ...
    @property
    @abstractmethod
    def fingerprint(self) -> str: ...
    @property
    @abstractmethod
    def layers(self) -> tuple[str, ...]: ...
    @property
    @abstractmethod
    def dim(self) -> int: ...
    @abstractmethod
    def describe(self) -> dict[str, object]: ...
    @abstractmethod
    def survey(self, *, workers: Workers) -> Iterator[Surveyed]: ...
    @abstractmethod
    def read(self, plan: Plan, *, start: int, workers: Workers, seed: int) -> Iterator[Encoded | ShardEnd]: ...

    def on(self, device: str) -> Source:
        """The source with its vectors made on a device."""
        return self


class DerivedSource(Source):
    """A source that changes something of another, and is as that one in all else."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.encoder, self.corpus, self.text_unit = source.encoder, source.corpus, source.text_unit
        self.path, self.device, self.wordless = source.path, device_of(source), source.wordless

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def fingerprint(self) -> str:
        return self.source.fingerprint

    @property
    def layers(self) -> tuple[str, ...]:
        return self.source.layers

    @property
    def dim(self) -> int:
        return self.source.dim

    def describe(self) -> dict[str, object]:
        return self.source.describe()

    def survey(self, *, workers: Workers) -> Iterator[Surveyed]:
        return self.source.survey(workers=workers)

    def read(self, plan: Plan, *, start: int, workers: Workers, seed: int) -> Iterator[Encoded | ShardEnd]:
        return self.source.read(plan, start=start, workers=workers, seed=seed)


@dataclass(frozen=True)
class TextSource(Source):
    """A corpus, read through an encoder."""

    corpus: Corpus = field()
    encoder: Encoder = field()
    text_unit: TextUnit = "sentence"
    batch_tokens: int | None = None  # None: as many as the encoder says

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoder", as_encoder(self.encoder))
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise UsageError(
                f"--batch-tokens is a number of pieces, 1 or more; got {self.batch_tokens}.",
                code="out_of_range",
                parameter="batch_tokens",
            )

    @property
    def name(self) -> str:
        return self.encoder.name

    @property
    def fingerprint(self) -> str:
        return f"{self.encoder.fingerprint}-{self.corpus.fingerprint}-{self.text_unit}"

    @property
    def layers(self) -> tuple[str, ...]:
        return self.encoder.layers

    @property
    def dim(self) -> int:
        return self.encoder.dim

    def describe(self) -> dict[str, object]:
        return {
            "encoder": self.encoder.name,
            "encoder_fingerprint": self.encoder.fingerprint,
            "model_fingerprint": self.encoder.model_fingerprint,
            "encoder_settings": self.encoder.describe(),
            "corpus": self.corpus.describe(),
            "corpus_fingerprint": self.corpus.fingerprint,
            "text_unit": self.text_unit,
        }

    def survey(self, *, workers: Workers) -> Iterator[Surveyed]:
        # pieces, or chosen words: the encoder knows what will have a vector
        selective = self.encoder.units == "pieces" or self.encoder.selective
        prepare = self.encoder.prepare if selective else None
        return workers.run(Survey(self.corpus, self.text_unit, prepare))

    def read(self, plan: Plan, *, start: int, workers: Workers, seed: int) -> Iterator[Encoded | ShardEnd]:
        """Batches of shards `start`, `start` + 1, …, each shard followed by its end; text is made ready from now on."""
        return self.encoded(workers.run(self.feed(plan, start=start, seed=seed)))

    def encoded(self, ready: Iterator[ShardStart | Ready | ShardEnd]) -> Iterator[Encoded | ShardEnd]:
        """What the encoder gives for batches that are ready."""
        distinct: list[str] = []
        for item in ready:
            if isinstance(item, ShardStart):
                distinct = item.distinct
                continue
            if isinstance(item, ShardEnd):
                yield item
                continue
            for units, batch, vectors in read_parts(self.encoder, item.named(distinct)):
                yield Encoded(
                    vectors=vectors,
                    words=item.words[units],
                    sentences=batch.sentences,
                    texts=batch.texts,
                    occurrences=item.occurrences[units],
                    strings=batch.strings,
                    pieces=batch.unit_count,
                )
                del vectors  # the next batch may need its room

    def on(self, device: str) -> TextSource:
        return replace(self, encoder=self.encoder.on(device))

    def feed(self, plan: Plan, *, start: int = 0, seed: int = 0) -> Feed:
        """The job that makes batches ready for the encoder."""
        budget = self.batch_tokens or self.encoder.batch_tokens
        return Feed(self.corpus, self.text_unit, self.encoder.prepare, plan, start, budget, seed)


@dataclass(frozen=True)
class VectorSource(Source):
    """Vectors kept from an earlier pass, or brought by a user."""

    kept: OccurrenceVectors
    path: str = field()
    device: str = "cpu"
    wordless: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "wordless", self.kept.wordless)

    @property
    def name(self) -> str:
        return self.kept.name

    @property
    def fingerprint(self) -> str:
        return self.kept.fingerprint

    @property
    def layers(self) -> tuple[str, ...]:
        return self.kept.layers

    @property
    def dim(self) -> int:
        return self.kept.dim

    def describe(self) -> dict[str, object]:
        return {
            "vectors": self.path,
            "encoder": self.kept.name,
            "encoder_fingerprint": self.kept.fingerprint,
            "model_fingerprint": self.kept.model_fingerprint,
            "kept_from": self.kept.about,
        }

    def on(self, device: str) -> VectorSource:
        return replace(self, device=device)

    def survey(self, *, workers: Workers) -> Iterator[Surveyed]:
        for number in range(self.kept.shards):
            rows = self.kept.strings_of(number)
            if not any(rows.strings) and not self.wordless:
                raise InputError(NO_WORDS.format(self.path), code="no_words")
            found = surveyed(
                rows.strings,
                rows.texts,
                contents=_contents(rows),
                documents=np.array([number]),
                document_units=np.array([len(rows)]),
                sentences=len(np.unique(rows.sentences)),
            )
            known = self.kept.duplicates
            yield found if known is None else replace(found, repeats=np.isin(found.texts, known))

    def read(self, plan: Plan, *, start: int, workers: Workers, seed: int) -> Iterator[Encoded | ShardEnd]:
        import torch

        for shard in plan.shards[start:]:
            for number in range(shard.start, shard.stop):
                for block in self.kept.shard(number):
                    batch = Encoded(
                        vectors=torch.from_numpy(np.require(block.vectors, requirements=["C", "W"])).to(self.device),
                        words=plan.vocabulary.ids(block.strings),
                        sentences=block.sentences,
                        texts=block.texts,
                        occurrences=salted(block.occurrences, seed),
                        strings=block.strings,
                    )
                    yield _without(batch, plan.duplicates)
            yield ShardEnd(shard, {})


def device_of(source: Source) -> str:
    """Kind of device a source's vectors are made on."""
    return str((source.encoder or source).device).split(":")[0]


def _without(batch: Encoded, texts: NDArray[np.int64]) -> Encoded:
    """The batch without some texts."""
    if not len(texts):
        return batch
    keep = np.flatnonzero(~np.isin(batch.texts, texts))
    return batch if len(keep) == len(batch) else batch.take(keep)


def _contents(rows: Identities) -> dict[int, int]:
    """A hash of what each text says.

    Nobody knows it where rows have no name (""), or where no two rows share a text, so that texts were never told:
    such texts are unlike any other.
    """
    groups = Groups.by(rows.texts)
    unlike = hash_ids(groups.identities).tolist()
    if len(groups.sizes) == len(rows):
        return dict(zip(groups.identities.tolist(), unlike, strict=True))
    order = np.argsort(groups.of_row, kind="stable")
    ends = np.cumsum(groups.sizes).tolist()
    found = {}
    for text, own, (a, b) in zip(groups.identities.tolist(), unlike, itertools.pairwise([0, *ends]), strict=True):
        words = [rows.strings[i] for i in order[a:b].tolist()]
        found[text] = hash_text("\x1f".join(words)) if all(words) else own
    return found
