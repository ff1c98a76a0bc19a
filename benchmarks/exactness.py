"""How far streamed, sharded and merged, and brute-force results are apart, on the CPU, measure by measure.

    python -m benchmarks.exactness [--words 3000 --dim 64]

A streamed pass, and passes divided in 1, 2 and 7 shards whose states are turned into arrays and back and merged in
reverse order, are compared with `benchmarks.brute_force`, which goes over all pairs of the very same vectors in
float64. The vectors come from a small random model with two rogue dimensions (sentences as contexts) and from a
function that makes them (paragraphs as contexts; a rogue dimension with mean 30 and spread 1), each in float32 and in
float64. Figures are the largest relative difference over layers. A model's own vectors change in their last digits
with the batch they are made in: this is part of the sharded figures, since shards are batched apart.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import brute_force, text
from benchmarks.machine import report
from limbeck.corpus import Corpus, Sentence, Text
from limbeck.encoded import Encoded
from limbeck.runs.measure import MeasureSettings
from limbeck.runs.measuring.results import Measured, compute
from limbeck.runs.measuring.sums import accumulators_for
from limbeck.seeds import generator_for
from limbeck.stream import Plan, RunContext, TextSource, run_pass, survey

ALL = 1 << 40
SETTINGS = MeasureSettings(max_words=ALL, mev_words=ALL, max_contexts=ALL, points=ALL)  # nothing is sampled
SHARDS = (1, 2, 7)
DTYPES = ("float32", "float64")
TARGETS = {"float32": 1e-6, "float64": 1e-10}
RANK_TARGET = 1e-5  # of effective rank, in float32 and float64
PARAGRAPH = 2  # sentences
DOCUMENT = 6


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=3_000)
    parser.add_argument("--layers", type=int, default=3, help="of the model, beside its embeddings")
    parser.add_argument("--dim", type=int, default=64)
    options = parser.parse_args(arguments)

    apart: dict[str, dict[str, dict[str, float]]] = {}  # dtype -> way -> measure -> difference
    for dtype in DTYPES:
        for name, source in sources(dtype, options):
            for way, differences in compare(source).items():
                found = apart.setdefault(dtype, {}).setdefault(way, {})
                for measure, value in differences.items():
                    found[measure] = max(found.get(measure, 0.0), value)
            print(f"{dtype}, {name}: done", flush=True)
    report("exactness", figures(apart))


def figures(apart: dict[str, dict[str, dict[str, float]]]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    by_measure: dict[str, dict[str, float]] = {}
    for dtype in DTYPES:
        against_pairs = {way: found for way, found in apart[dtype].items() if way != "baselines"}
        by_measure[dtype] = {
            measure: max(found[measure] for found in against_pairs.values()) for measure in against_pairs["streamed"]
        }
        others = {measure: value for measure, value in by_measure[dtype].items() if measure != "effective_rank"}
        told[f"{dtype}: largest relative difference from brute force"] = max(others.values())
        told[f"{dtype}: in"] = max(others, key=lambda measure: others[measure])
        told[f"{dtype}: effective rank"] = by_measure[dtype]["effective_rank"]
        told[f"{dtype}: measures beyond {TARGETS[dtype]:g}"] = [
            f"{way}: {measure} {value:.2g}"
            for way, found in against_pairs.items()
            for measure, value in found.items()
            if value > (RANK_TARGET if measure == "effective_rank" else TARGETS[dtype])
        ]
        told[f"{dtype}: by way"] = {
            way: max(value for measure, value in found.items() if measure != "effective_rank")
            for way, found in against_pairs.items()
        }
        told[f"{dtype}: baselines, sharded from streamed"] = max(apart[dtype]["baselines"].values())
    return told | {"by measure": by_measure}


def compare(source: TextSource) -> dict[str, dict[str, float]]:
    """Relative differences of each way from brute force, and of sharded baselines from streamed ones."""
    keeper = Keeper()
    shape = {"layers": len(source.layers), "dim": source.dim}
    plan = survey(source, choice=SETTINGS.choice)
    made = accumulators_for(plan, **shape, settings=SETTINGS)
    passed = run_pass(source, made, plan=plan, consumers=[keeper])
    streamed = compute(source.name, source.layers, plan, passed.accumulators, SETTINGS)
    exact = brute_force.measure(keeper.seen())
    if set(exact) != set(streamed.results):
        raise SystemExit(f"no brute force for {set(streamed.results) ^ set(exact)}: write it.")
    found = {"streamed": differences(streamed, exact)}
    baselines: dict[str, float] = {}
    for count in SHARDS:
        merged = sharded(source, count)
        found[f"sharded in {count}"] = differences(merged, exact)
        for measure, result in streamed.results.items():
            if result.baseline is not None:
                value = relative(merged[measure].baseline, result.baseline)
                baselines[measure] = max(baselines.get(measure, 0.0), value)
    return found | {"baselines": baselines}


def sharded(source: TextSource, count: int) -> Measured:
    """Shards passed over one by one, their states made arrays and states again, merged from the last to the first."""
    shape = {"layers": len(source.layers), "dim": source.dim}
    plan = survey(source, choice=SETTINGS.choice)
    plan = survey(source, choice=SETTINGS.choice, context=RunContext(shard_units=-(-plan.units // count)))
    if len(plan.shards) != count:
        raise SystemExit(f"the text has too few documents for {count} shards: raise --words.")
    total = accumulators_for(plan, **shape, settings=SETTINGS)
    for shard in reversed(plan.shards):
        alone: Plan = dataclasses.replace(plan, shards=(shard,))
        part = run_pass(source, accumulators_for(plan, **shape, settings=SETTINGS), plan=alone).accumulators
        for mine, other in zip(total, part, strict=True):
            mine.merge(type(other).from_state(other.state(), **other.settings()))
    return compute(source.name, source.layers, plan, total, SETTINGS)


def differences(measured: Measured, exact: dict[str, NDArray[np.float64]]) -> dict[str, float]:
    return {measure: relative(measured[measure].value, value) for measure, value in exact.items()}


def relative(value: Any, reference: Any) -> float:
    with np.errstate(invalid="ignore"):
        apart = np.abs(np.asarray(value) - np.asarray(reference)) / np.abs(reference)
    return float(np.max(apart))  # NaN where one side is undefined, which is beyond any target


class Keeper:
    """A consumer that keeps everything, for brute force."""

    def __init__(self) -> None:
        self.batches: list[Encoded] = []

    def update(self, batch: Encoded) -> None:
        self.batches.append(batch)

    def end_shard(self, number: int) -> None:
        pass

    def seen(self) -> brute_force.Seen:
        return brute_force.Seen(
            vectors=np.concatenate([batch.vectors.numpy() for batch in self.batches], axis=1),
            words=np.concatenate([batch.words for batch in self.batches]),
            sentences=np.concatenate([batch.sentences for batch in self.batches]),
            texts=np.concatenate([batch.texts for batch in self.batches]),
        )


# what is measured


def sources(dtype: str, options: argparse.Namespace) -> Iterator[tuple[str, TextSource]]:
    from limbeck.encoders import FunctionEncoder

    corpus = made_corpus(options.words)
    model = rogue_model(corpus, dtype, layers=options.layers, dim=options.dim)
    yield "model", TextSource(corpus, model, "sentence", 2_048)
    made = FunctionEncoder(MadeVectors(dtype, options.dim), name="made", version=dtype)
    yield "made vectors", TextSource(corpus, made, "paragraph", 2_048)


def made_corpus(words: int) -> Corpus:
    return Corpus.from_sentences(
        Sentence(
            tuple(sentence),
            document=number // DOCUMENT,
            paragraph=number % DOCUMENT // PARAGRAPH,
            index=number % DOCUMENT,
        )
        for number, sentence in enumerate(text.sentences(words, types=400))
    )


def rogue_model(corpus: Corpus, dtype: str, *, layers: int, dim: int) -> Any:
    """A small random BERT in which two dimensions stick out at every layer, as in real ones.

    Its anisotropy is about 0.75 and one dimension makes 0.6 of that, its self-similarity about 0.88.
    """
    import torch

    from benchmarks.models import bert, train_tokenizer

    encoder = bert(train_tokenizer(corpus, size=300), device="cpu", dtype=dtype, layers=layers, dim=dim)
    with torch.no_grad():
        for name, weight in encoder.model.named_parameters():
            inner = "attention.output" in name
            if weight.ndim == 2:
                weight.mul_(3)  # contexts differ visibly
            elif "LayerNorm.bias" in name and not inner:
                weight[:2] += torch.tensor([6.0, -3.0], dtype=weight.dtype)
            elif "LayerNorm.weight" in name:
                weight[:2] *= 0.1 if inner else 2  # damped inside, or they would grow until all vectors are alike
    return encoder


class MadeVectors:
    """Two layers of vectors that depend on a word and its place alone: any batch gives the same."""

    def __init__(self, dtype: str, dim: int) -> None:
        self.dtype, self.dim = dtype, dim
        self.scale = np.geomspace(0.1, 3, dim)  # a spectrum that falls
        self.mean = np.where(np.arange(dim) == dim // 2, 30.0, 0.2)  # one rogue dimension
        self.scale[dim // 2] = 1.0

    def __call__(self, texts: Sequence[Text]) -> list[NDArray[Any]]:
        return [np.concatenate([self.sentence(sentence) for sentence in one.sentences], axis=1) for one in texts]

    def sentence(self, sentence: Sentence) -> NDArray[Any]:
        own = np.stack([generator_for(0, word).normal(size=self.dim) for word in sentence.words])
        noise = generator_for(0, sentence.identity).normal(size=(2, len(sentence.words), self.dim))
        vectors: NDArray[Any] = self.mean + self.scale * (own + noise * np.array([0.5, 2.0])[:, None, None])
        return vectors.astype(self.dtype)


if __name__ == "__main__":
    main()
