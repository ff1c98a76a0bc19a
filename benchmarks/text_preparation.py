"""Words a second a core of everything that happens to text before the model, and how many cores feed one GPU.

    python -m benchmarks.text_preparation [--corpus TEXT --format prose] [--gpu-tokens-per-second 1.6e6]

Steps alone: reading a file into raw documents (plain and with each compression), dividing prose into sentences and
words, and tokenising with alignment for three kinds of tokeniser trained on the text. All together: what a run does,
the planning pass and then the pass that hands batches to the model, both from the plain file. One core means this
process's CPU time, so a busy machine does not change the figures; steps take turns and medians over rounds are told.
Every round begins with empty memories (words and chunks that were met before are cheap, so longer text is faster).

The GPU's speed is in tokens of BERT-base on sentences, special tokens counted, as `benchmarks.overhead` measures it;
its default is one H200's in bfloat16.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import itertools
import lzma
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import text
from benchmarks.machine import report

if TYPE_CHECKING:
    from limbeck.corpus import Corpus, Text
    from limbeck.corpus.documents import RawDocument
    from limbeck.stream import Plan, TextSource

TRAINED_ON = 5_000  # sentences


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="prose; made prose without it")
    parser.add_argument("--format", default="prose")
    parser.add_argument("--words", type=int, default=300_000, help="how much of it is read")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vocabulary", type=int, default=30_000, help="of the tokenisers")
    parser.add_argument("--gpu-tokens-per-second", type=float, default=1.6e6)
    options = parser.parse_args(arguments)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core

    with tempfile.TemporaryDirectory(prefix="limbeck-bench-") as folder:
        plain = Path(folder) / "text.txt"
        if options.corpus is None:
            text.write_prose(plain, options.words, types=50_000)
        else:
            from benchmarks.memory import cut

            cut(options.corpus, options.format, plain, options.words)
        figures = steps(plain, options)
    report("text_preparation", figures)


def steps(plain: Path, options: argparse.Namespace) -> dict[str, Any]:
    from limbeck.corpus import Corpus
    from limbeck.corpus.units import texts_of

    corpus = Corpus(plain, format=options.format)
    raw = list(corpus.documents())
    texts = [found for document in raw for found in texts_of(corpus.parse(document), "sentence")]
    words = sum(len(found.words) for found in texts)
    tokenizers = train(corpus, options.vocabulary)
    wordpiece = tokenizers["WordPiece"]
    plan = index_of(source_of(corpus, wordpiece))
    pieces = feed(source_of(corpus, wordpiece), plan)
    # each makes its act anew, so that no round profits from what another has met; only the act is timed
    acts: dict[str, Callable[[], Callable[[], object]]] = {}
    for name, path in compressed(plain).items():
        acts[f"reading, {name}"] = partial(reading, path, options.format)
    acts["dividing into sentences and words"] = partial(dividing, corpus, raw)
    for name, tokenizer in tokenizers.items():
        acts[f"tokenising and alignment, {name}"] = partial(preparing, tokenizer, texts)
    acts["planning pass"] = lambda: partial(index_of, source_of(corpus, wordpiece))
    acts["pass that feeds the model, WordPiece"] = lambda: partial(feed, source_of(corpus, wordpiece), plan)

    spent: dict[str, list[float]] = {name: [] for name in acts}
    for turn in range(options.rounds):
        for name, make in acts.items():
            forget_words()
            spent[name].append(core_seconds(make()))
        print(f"round {turn}: done", flush=True)
    seconds = {name: statistics.median(found) for name, found in spent.items()}
    planning, feeding = seconds["planning pass"], seconds["pass that feeds the model, WordPiece"]
    wanted = options.gpu_tokens_per_second * words / pieces  # words a second
    needed = {
        "while it works": wanted * feeding / words,
        "with the planning pass": wanted * (planning + feeding) / words,
    }
    return {
        **{f"{name}, words a second a core": words / spent for name, spent in seconds.items()},
        "all together, words a second a core": words / (planning + feeding),
        "pieces a word, WordPiece and special tokens": pieces / words,
        "GPU, tokens a second (given)": options.gpu_tokens_per_second,
        **{f"cores that feed it, {when}": math.ceil(cores) for when, cores in needed.items()},
        "words": words,
        "sentences": len(texts),
        "text": "made" if options.corpus is None else "given",
    }


# the steps


def reading(path: Path, format: str) -> Callable[[], object]:
    from limbeck.corpus import Corpus

    corpus = Corpus(path, format=format)
    return lambda: sum(len(document.lines) for document in corpus.documents())


def dividing(corpus: Corpus, raw: list[RawDocument]) -> Callable[[], object]:
    return lambda: sum(len(corpus.parse(document)) for document in raw)


def preparing(tokenizer: Any, texts: list[Text], at_once: int = 2_000) -> Callable[[], object]:
    from limbeck.encoders.alignment import Aligner
    from limbeck.encoders.preparer import PiecePreparer

    prepare = PiecePreparer(Aligner(tokenizer), capacity=510)
    return lambda: [len(prepare(texts[at : at + at_once]).pieces) for at in range(0, len(texts), at_once)]


def index_of(source: TextSource) -> Plan:
    from limbeck.stream import Choice, survey

    return survey(source, choice=Choice())


def feed(source: TextSource, plan: Plan) -> int:
    """Everything up to the model; the pieces it would be given."""
    from limbeck.stream.tasks import Ready
    from limbeck.stream.workers import Pool

    return sum(len(item.batch.pieces) for item in source.feed(plan)(Pool()) if isinstance(item, Ready))


def forget_words() -> None:
    """Begin with a splitter that has met no word yet, and have it ready before anything is timed."""
    from limbeck.corpus import segment

    segment.splitter_for.cache_clear()
    segment.splitter_for("en")


def core_seconds(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


# files and tokenisers


def compressed(plain: Path) -> dict[str, Path]:
    import zstandard

    data = plain.read_bytes()
    found = {"plain": plain}
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "bzip2": bz2.compress,
        "xz": lzma.compress,
        "zstandard": lambda some: zstandard.ZstdCompressor().compress(some),
    }
    for name, pack in packers.items():
        found[name] = plain.with_name(f"{name}.txt")  # told by content, not by name
        found[name].write_bytes(pack(data))
    return found


def train(corpus: Corpus, size: int) -> dict[str, Any]:
    """WordPiece as BERT's, byte-level BPE as GPT-2's, Unigram as SentencePiece's."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    from benchmarks.models import train_tokenizer

    lines = [" ".join(sentence.words) for sentence in itertools.islice(corpus, TRAINED_ON)]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))
    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.NFKC()
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=min(size, 8_000), special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    unigram.train_from_iterator(lines, trainer)
    wordpiece = train_tokenizer(corpus, size=size, sentences=TRAINED_ON)
    return {"WordPiece": wordpiece, "byte-level BPE": bpe, "Unigram": unigram}


def source_of(corpus: Corpus, tokenizer: Any) -> TextSource:
    """A source whose model is never run: it only has to say how texts are prepared."""
    from benchmarks.models import bert
    from limbeck.stream import TextSource

    return TextSource(corpus, bert(tokenizer, device="cpu", dtype="float32", layers=1, dim=64), "sentence", 32_768)


if __name__ == "__main__":
    main()
