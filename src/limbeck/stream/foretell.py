"""What a pass over a text would take, from a little of it: a few seconds of trying, whatever its size.

Of a large text the beginnings of some files are read and its words are counted up. Of that, shards are made ready as
for the pass, and batches of different lengths tried, in part where they are large. Each length has its own price for a
piece, since attention asks more for long texts, and padding counts with what is padded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from limbeck.corpus import Corpus
from limbeck.corpus.compression import Decompressed, open_bytes
from limbeck.corpus.documents import FileFormat, RawDocument
from limbeck.corpus.offsets import Mark
from limbeck.corpus.vocabulary import Vocabulary
from limbeck.encoded import Encoded
from limbeck.encoders.protocol import Prepared
from limbeck.remote import size_of
from limbeck.stream.context import RunContext
from limbeck.stream.plan import Choice, Plan, choose_words
from limbeck.stream.progress import clock as as_clock
from limbeck.stream.run import survey
from limbeck.stream.sources import DerivedSource, Source, TextSource, device_of
from limbeck.stream.tasks import Ready, ShardStart
from limbeck.stream.workers import Pool
from limbeck.strings import Strings

SAMPLE_BYTES = 500_000  #: of text that are read to count its words; of a smaller one all
HEADS = 8  #: files whose beginnings are read
SHARD_UNITS = 20_000
SHARDS = 3  #: that are made ready for trying, if they are within the time for that
READY_SECONDS = 0.5  #: of making text ready
SECONDS = 1.0  #: of trying batches, warming up and all
FIRST_PIECES = 16  #: of the first try
CLASSES = 4  #: of lengths
CERTAIN = 0.03  #: relative standard error with which trying ends before its time
EVERY_WORD = 1 << 40

Clock = Callable[[], float]


@dataclass(frozen=True)
class Outlook:
    """A plan of a whole text, as far as some of it tells.

    source   what was read of it
    some     the plan of that
    plan     of the whole: the same where all was read
    share    how much of the text was read, by bytes
    seconds  of looking
    """

    source: Source
    some: Plan
    plan: Plan
    share: float
    seconds: float

    @property
    def whole_look(self) -> float:
        """Seconds that planning the whole takes."""
        return self.seconds / self.share

    @property
    def note(self) -> str:
        """For a line about the plan."""
        return "" if self.share == 1 else f"; estimated from {self.share:.1%} of the text"


class Beginnings(Corpus):
    """The beginnings of some files of a corpus, documents numbered anew; `seen` and `whole` are bytes of text."""

    def __init__(self, corpus: Corpus, most: int = SAMPLE_BYTES) -> None:
        self.__dict__.update(corpus.__dict__)
        self.whole, self.seen = 0.0, 0
        if self._made:
            self.whole = float(sum(map(_size, self._made)))
        elif not isinstance(self._format, FileFormat):  # a file of rows knows only itself where they are
            self.whole = float(sum(size_of(one.path) * expansion(one, self.encoding) for one in self._sources))
        self.some = self.whole > 1.5 * most
        if self.some:
            places = np.unique(np.linspace(0, len(self._sources) - 1, min(HEADS, len(self._sources))).astype(int))
            self._sources = [self._sources[place] for place in places.tolist()]
            self._room = most / max(len(self._sources), 1)

    def _all_documents(self, start: Mark | None = None) -> Iterator[RawDocument]:
        if not self.some:
            yield from super()._all_documents(start)
            return
        self.seen = 0
        for documents in [iter(self._made)] if self._made else map(self._of, range(len(self._sources))):
            room = self._room
            for document in documents:
                size = _size(document)
                self.seen += size
                room -= size
                yield document
                if room <= 0:
                    break

    def _of(self, number: int) -> Iterator[RawDocument]:
        return (document for _, document in self._documents_in(self._sources[number], None))

    @property
    def share(self) -> float:
        return min(self.seen / self.whole, 1.0) if self.some and self.whole else 1.0


def expansion(source: Any, encoding: str) -> float:
    """Bytes of text for each byte of a file, by its beginning: 1 but for compressed ones."""
    try:
        with open_bytes(source.path, source.name) as stream:
            if not isinstance(stream.raw, Decompressed):
                return 1.0
            got = 0
            while got < 1 << 22 and (data := stream.read(1 << 18)):
                got += len(data)
            return got / max(stream.raw.taken, 1) if got else 1.0
    except OSError:  # what is wrong is told by who reads it
        return 1.0


def _size(document: RawDocument) -> int:
    return sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in document.lines)


def look_ahead(
    source: Source,
    *,
    choice: Choice,
    deduplicate: bool = True,
    most: int = SAMPLE_BYTES,
    clock: Clock = time.monotonic,
) -> Outlook:
    """The plan of a source; of a large text an estimate of it, from some of it."""
    began = clock()
    text = text_of(source)
    if text is None:
        plan = survey(source, choice=choice, deduplicate=deduplicate)
        return Outlook(source, plan, plan, 1.0, clock() - began)
    corpus = Beginnings(text.corpus, most)
    text = replace(text, corpus=corpus)
    every = replace(choice, min_contexts=1, max_words=EVERY_WORD, drop_punctuation=False) if corpus.some else choice
    some = survey(text, choice=every, deduplicate=deduplicate, context=RunContext(shard_units=SHARD_UNITS))
    plan = enlarged(some, corpus.share, choice) if corpus.some else some
    some = replace(some, vocabulary=plan.vocabulary)
    return Outlook(text, some, plan, corpus.share, clock() - began)


def text_of(source: Any) -> TextSource | None:
    """The text that is read through an encoder, behind what changes its vectors."""
    while isinstance(source, DerivedSource):
        source = source.source
    return source if isinstance(source, TextSource) else None


def enlarged(plan: Plan, share: float, choice: Choice) -> Plan:
    """The plan of a text of which this is a share: as many of each word, and no new ones, which would be rare."""

    def more(number: Any) -> Any:
        return np.rint(np.asarray(number) / share).astype(np.int64)

    words = plan.vocabulary
    chosen: Vocabulary = choose_words(words.words, more(words.counts), more(words.contexts), choice)
    return replace(
        plan,
        vocabulary=chosen,
        units=int(more(plan.units)),
        texts=int(more(plan.texts)),
        sentences=int(more(plan.sentences)),
        documents=int(more(plan.documents)),
        dropped={reason: int(more(number)) for reason, number in plan.dropped.items()},
    )


def time_told(seconds: float, speed: float) -> str:
    """One line: the whole, and the words a second of its passes."""
    return f"about {as_clock(seconds)} at {speed:,.0f} words a second"


# --- time ----------------------------------------------------------------------------------------


Try = tuple[int, float]  # pieces with their padding, and the seconds that they took


@dataclass
class Class:
    """Batches of similar length: pieces of all of them with their padding, and what trying some has cost."""

    pieces: int
    batches: list[tuple[list[str], Ready]]
    tries: list[Try] = field(default_factory=list)


def price_of(tries: Sequence[Try]) -> float:
    """Seconds a piece; 0 where nothing was tried."""
    return sum(seconds for _, seconds in tries) / max(sum(pieces for pieces, _ in tries), 1)


def seconds_of(classes: Sequence[Class]) -> float:
    """What all batches would take, each class at its own price; one that was not tried at the mean price."""
    mean = price_of([one for some in classes for one in some.tries])
    return sum(one.pieces * (price_of(one.tries) if one.tries else mean) for one in classes)


def uncertainty(classes: Sequence[Class]) -> float:
    """Relative standard error of `seconds_of`, by how much tries of a class differ; infinite below three tries each.

    >>> round(uncertainty([Class(100, [], [(10, 0.9), (10, 1.0), (10, 1.1)])]), 4)
    0.0577
    """
    if any(len(one.tries) < 3 for one in classes):
        return math.inf
    prices = [np.array([seconds / pieces for pieces, seconds in one.tries]) for one in classes]
    variance = sum(one.pieces**2 * own.var(ddof=1) / len(own) for one, own in zip(classes, prices, strict=True))
    whole = seconds_of(classes)
    return float(math.sqrt(variance) / whole) if whole else 0.0


def seconds_a_pass(
    outlook: Outlook,
    *,
    consume: Callable[[Encoded], None] = lambda batch: None,
    workers: int = 0,
    seconds: float = SECONDS,
    clock: Clock = time.monotonic,
) -> float:
    """How long one reading of the whole takes; `consume` is what is done with each batch."""
    source, some = outlook.source, outlook.some
    if not isinstance(source, TextSource):
        return _of_vectors(source, some, consume, seconds=seconds, clock=clock)
    places = np.unique(np.linspace(0, len(some.shards) - 1, min(SHARDS, len(some.shards))).astype(int)).tolist()
    began, shards = clock(), []
    batches: list[tuple[list[str], Ready]] = []
    for place in places:
        shards.append(some.shards[place])
        batches += ready(source, replace(some, shards=(some.shards[place],)))
        if clock() - began > READY_SECONDS:
            break
    made = clock() - began
    classes = divided(batches)
    dearer = try_out(source, classes, consume, seconds=seconds, clock=clock)
    # words of shards are counted with those of texts that repeat others, which are not read
    share = outlook.share * sum(shard.units for shard in shards) / sum(shard.units for shard in some.shards)
    forward = seconds_of(classes) / dearer
    # without workers a thread makes text ready, and shares the processor with the model that it feeds
    own = workers < 1 and device_of(source) == "cpu"
    return float((forward + made if own else max(forward, made / max(workers, 1))) / share)


def ready(source: TextSource, plan: Plan) -> Iterator[tuple[list[str], Ready]]:
    """The batches of a plan's shards, each with the strings that its codes refer to."""
    distinct: list[str] = []
    for item in source.feed(plan)(Pool()):
        if isinstance(item, ShardStart):
            distinct = item.distinct
        elif isinstance(item, Ready) and len(item.words):
            yield distinct, item


def divided(batches: Sequence[tuple[list[str], Ready]], classes: int = CLASSES) -> list[Class]:
    """Batches by their longest window, in classes of about as many pieces each."""
    longest = np.array([longest_of(item.batch) for _, item in batches], dtype=np.int64)
    pieces = np.array([padded(item.batch) for _, item in batches], dtype=np.int64)
    order = np.argsort(longest, kind="stable")
    before = np.cumsum(pieces[order]) - pieces[order]
    number = np.minimum(classes * before // max(int(pieces.sum()), 1), classes - 1)
    found = []
    for one in np.unique(number):
        members = order[number == one].tolist()
        found.append(Class(int(pieces[members].sum()), [batches[member] for member in members]))
    return found


def longest_of(batch: Prepared) -> int:
    return int(np.diff(batch.window_starts).max(initial=1))


def padded(batch: Prepared) -> int:
    return max(len(batch.window_starts) - 1, 1) * longest_of(batch)


def try_out(
    source: TextSource,
    classes: Sequence[Class],
    consume: Callable[[Encoded], None],
    *,
    seconds: float,
    clock: Clock = time.monotonic,
) -> float:
    """Try batches of all classes by turns, until their prices are certain or the time is over.

    The first try warms up. Then the parts of batches that are tried grow as long as a try of each class fits in the
    time. How many times dearer a subword was in these parts than in whole batches is returned.
    """
    if not classes:
        return 1.0

    def attempt(number: int, turn: int, room: int) -> Try:
        batches = classes[number].batches
        distinct, item = batches[(len(batches) // 2 + turn) % len(batches)]
        item = part_of(item, room)
        began = clock()
        for encoded in source.encoded(iter([ShardStart(distinct), item])):
            if isinstance(encoded, Encoded) and len(encoded):
                float(encoded.norms.sum())  # waits for the device
                consume(encoded)
        return padded(item.batch), clock() - began

    end, room, middle = clock() + seconds, FIRST_PIECES, len(classes) // 2
    attempt(middle, 0, room)
    grown = [attempt(middle, 0, room)]
    largest = padded(classes[middle].batches[len(classes[middle].batches) // 2][1].batch)
    more = 0.0  # seconds that the last part took beyond the one before: the next will take four times that beyond it
    while grown[-1][0] < largest and (grown[-1][1] + 4 * more) * (1 + len(classes)) < end - clock():
        room *= 4
        grown.append(attempt(middle, 0, room))
        more = max(grown[-1][1] - grown[-2][1], 0.0)
    classes[middle].tries.append(grown[-1])
    # the longest first, whose price differs most from the others'
    step = 0
    while clock() < end and uncertainty(classes) > CERTAIN:
        turn, place = divmod(step, len(classes))
        classes[-1 - place].tries.append(attempt(len(classes) - 1 - place, turn, room))
        step += 1
    whole = sum(one.pieces for one in classes) / sum(len(one.batches) for one in classes)
    return times_dearer(grown, room, whole)


def times_dearer(tries: Sequence[Try], part: float, whole: float) -> float:
    """How many times a subword costs in a part of a batch what it costs in a whole one, by tries of several sizes.

    A call has a price of its own beside that of each of its subwords, which small parts share among few.

    >>> round(times_dearer([(100, 0.02), (400, 0.05)], part=400, whole=1_000), 3)
    1.136
    """
    if len(tries) < 2 or part >= whole:
        return 1.0
    (few, first), (many, last) = tries[0], tries[-1]
    each = max(last - first, 0.0) / max(many - few, 1)
    call = max(first - each * few, 0.0)
    if each <= 0:
        return 1.0
    return (call / part + each) / (call / whole + each)


def part_of(item: Ready, room: int) -> Ready:
    """The first windows of a batch that make up so many pieces, at least one, with the units that are read there."""
    batch = item.batch
    windows = len(batch.window_starts) - 1
    kept = max(room // longest_of(batch), 1)
    if kept >= windows:
        return item
    units = np.flatnonzero(batch.unit_window < kept)
    if not len(units):  # windows without a word; the whole then
        return item
    stop = int(batch.window_starts[kept])
    strings = Strings([], Strings.of(batch.strings).codes[units])
    columns = {
        name: getattr(batch, name)[units]
        for name in ("unit_window", "unit_first", "unit_count", "sentences", "positions", "texts")
    }
    some = replace(
        batch, pieces=batch.pieces[:stop], window_starts=batch.window_starts[: kept + 1], strings=strings, **columns
    )
    return Ready(some, item.words[units], item.occurrences[units])


def _of_vectors(
    source: Source, plan: Plan, consume: Callable[[Encoded], None], *, seconds: float, clock: Clock
) -> float:
    """Of kept vectors, by those that are read within the time."""
    from limbeck.stream.workers import Workers

    began, units = clock(), 0
    for item in source.read(plan, start=0, workers=Workers(), seed=0):
        if isinstance(item, Encoded) and len(item):
            consume(item)
            units += len(item)
        if clock() - began > seconds:
            break
    return (clock() - began) * plan.units / max(units, 1)
