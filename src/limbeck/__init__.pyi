"""The public names of limbeck with their types; written by `python -m docs.stub`, do not edit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

from limbeck import accumulators as accumulators
from limbeck import analysis as analysis
from limbeck import distillation as distillation
from limbeck import evaluation as evaluation
from limbeck import measures as measures
from limbeck import probing as probing
from limbeck import repairs as repairs
from limbeck import reporting as reporting
from limbeck import stream as stream
from limbeck import testing as testing
from limbeck.cli.run import run_plan as run_plan
from limbeck.corpus import Corpus as Corpus
from limbeck.encoders import load_encoder as load_encoder
from limbeck.reporting.differences import compare as compare
from limbeck.runs.encode import EncodeResult as EncodeResult
from limbeck.runs.evaluate import EvaluateResult as EvaluateResult
from limbeck.runs.measure import MeasureResult as MeasureResult
from limbeck.runs.measure import MeasureSettings as MeasureSettings
from limbeck.runs.merge import merge as merge
from limbeck.vectors import OccurrenceVectors as OccurrenceVectors
from limbeck.vectors import StaticVectors as StaticVectors

__version__: str

def encode(
    model: Any,
    corpus: Any,
    *,
    out: str | Path,
    progress: bool = ...,
    existing: Literal["fail", "resume", "replace"] = ...,
    keep: Literal["float16", "float32"] = ...,
    revision: str | None = ...,
    device: str | None = ...,
    dtype: Literal["float32", "bfloat16", "float16"] | None = ...,
    trust_remote_code: bool = ...,
    layers: Any = ...,
    pooling: Literal["mean", "first", "last", "sum", "max", "min"] | None = ...,
    units: Literal["words", "pieces", "characters"] | None = ...,
    window: int | None = ...,
    context: int | None = ...,
    targets: Any = ...,
    keep_first: bool = ...,
    special: bool = ...,
    stack: Literal["encoder", "decoder"] | None = ...,
    repair: Any = ...,
    format: Literal["auto", "words", "prose", "tsv", "jsonl", "parquet", "conllu", "semcor", "wikipse"] = ...,
    paragraphs: Literal["lines", "blocks"] = ...,
    columns: Any = ...,
    cells: Literal["sentence", "prose"] = ...,
    encoding: str = ...,
    language: str = ...,
    lowercase: bool = ...,
    text_unit: Literal["sentence", "paragraph", "document"] = ...,
    part: str | None = ...,
    index_of: str | Path | None = ...,
    batch_tokens: int | None = ...,
    workers: int | None = ...,
    engine: Literal["local", "ray"] = ...,
    address: str | None = ...,
    gpus_per_worker: float | None = ...,
) -> EncodeResult: ...

def evaluate(
    targets: Any,
    *,
    tasks: str | Sequence[str] = ...,
    data: str | Path | None = ...,
    progress: bool = ...,
    out: str | Path | None = ...,
    existing: Literal["fail", "replace"] = ...,
    figures: bool = ...,
    layers: Any = ...,
    units: Literal["pieces", "words"] | None = ...,
    special: bool = ...,
    keep_first: bool = ...,
    lowercase: bool = ...,
    language: str = ...,
    missing: Literal["zero", "drop"] = ...,
    oov: Literal["drop", "mean", "zero", "fallback"] | None = ...,
    case: Literal["either", "keep", "lower"] | None = ...,
    fallback: Any = ...,
    weighting: Literal["mean", "sif"] | None = ...,
    counts: Any = ...,
    repair: Sequence[str | Path] = ...,
    method: Sequence[str] = ...,
    transductive: bool = ...,
    tune: bool = ...,
    tune_on: str = ...,
    clusters: Any = ...,
    components: Any = ...,
    seeds: int = ...,
    metric: Literal["spearman", "pearson"] | None = ...,
    aggregation: Literal["pooled", "mean", "weighted"] = ...,
    against: str | None = ...,
    draws: int = ...,
    seed: int = ...,
    preset: Literal["web"] | None = ...,
    analogy: Literal["add", "mul"] = ...,
    vocabulary: int | None = ...,
    classifier: Literal["auto", "mlp", "cnn"] = ...,
    max_train: int | None = ...,
    starts: int | None = ...,
    epochs: int | None = ...,
    learning_rate: str | float | Sequence[float] | None = ...,
    scale: Literal["as-is", "rms"] = ...,
    split: Literal["dev", "test"] | None = ...,
    hidden: int = ...,
    features: Literal["mean", "flattened"] | None = ...,
    length: int = ...,
    embeddings: Literal["frozen", "tuned"] = ...,
    revision: str | None = ...,
    device: str | None = ...,
    dtype: Literal["float32", "bfloat16", "float16"] | None = ...,
    trust_remote_code: bool = ...,
    batch_tokens: int | None = ...,
) -> EvaluateResult: ...

@overload
def measure(
    model: list[Any],
    corpus: Any = ...,
    *,
    progress: bool = ...,
    out: str | Path | None = ...,
    existing: Literal["fail", "resume", "replace"] = ...,
    figures: bool = ...,
    preset: Literal["corrected", "paper", "released"] = ...,
    min_contexts: int = ...,
    max_words: int = ...,
    mev_words: int = ...,
    max_contexts: int = ...,
    points: int = ...,
    two_pass: bool = ...,
    seed: int = ...,
    revision: str | None = ...,
    device: str | None = ...,
    dtype: Literal["float32", "bfloat16", "float16"] | None = ...,
    trust_remote_code: bool = ...,
    layers: Any = ...,
    pooling: Literal["mean", "first", "last", "sum", "max", "min"] | None = ...,
    units: Literal["words", "pieces", "characters"] | None = ...,
    window: int | None = ...,
    context: int | None = ...,
    targets: Any = ...,
    keep_first: bool = ...,
    special: bool = ...,
    stack: Literal["encoder", "decoder"] | None = ...,
    vectors: Any = ...,
    repair: Any = ...,
    format: Literal["auto", "words", "prose", "tsv", "jsonl", "parquet", "conllu", "semcor", "wikipse"] = ...,
    paragraphs: Literal["lines", "blocks"] = ...,
    columns: Any = ...,
    cells: Literal["sentence", "prose"] = ...,
    encoding: str = ...,
    language: str = ...,
    lowercase: bool = ...,
    text_unit: Literal["sentence", "paragraph", "document"] = ...,
    text: bool = ...,
    part: str | None = ...,
    index_of: str | Path | None = ...,
    vocabulary: Any = ...,
    first_document: int = ...,
    batch_tokens: int | None = ...,
    workers: int | None = ...,
    engine: Literal["local", "ray"] = ...,
    address: str | None = ...,
    gpus_per_worker: float | None = ...,
) -> list[MeasureResult]: ...

@overload
def measure(
    model: Any = ...,
    corpus: Any = ...,
    *,
    progress: bool = ...,
    out: str | Path | None = ...,
    existing: Literal["fail", "resume", "replace"] = ...,
    figures: bool = ...,
    preset: Literal["corrected", "paper", "released"] = ...,
    min_contexts: int = ...,
    max_words: int = ...,
    mev_words: int = ...,
    max_contexts: int = ...,
    points: int = ...,
    two_pass: bool = ...,
    seed: int = ...,
    revision: str | None = ...,
    device: str | None = ...,
    dtype: Literal["float32", "bfloat16", "float16"] | None = ...,
    trust_remote_code: bool = ...,
    layers: Any = ...,
    pooling: Literal["mean", "first", "last", "sum", "max", "min"] | None = ...,
    units: Literal["words", "pieces", "characters"] | None = ...,
    window: int | None = ...,
    context: int | None = ...,
    targets: Any = ...,
    keep_first: bool = ...,
    special: bool = ...,
    stack: Literal["encoder", "decoder"] | None = ...,
    vectors: Any = ...,
    repair: Any = ...,
    format: Literal["auto", "words", "prose", "tsv", "jsonl", "parquet", "conllu", "semcor", "wikipse"] = ...,
    paragraphs: Literal["lines", "blocks"] = ...,
    columns: Any = ...,
    cells: Literal["sentence", "prose"] = ...,
    encoding: str = ...,
    language: str = ...,
    lowercase: bool = ...,
    text_unit: Literal["sentence", "paragraph", "document"] = ...,
    text: bool = ...,
    part: str | None = ...,
    index_of: str | Path | None = ...,
    vocabulary: Any = ...,
    first_document: int = ...,
    batch_tokens: int | None = ...,
    workers: int | None = ...,
    engine: Literal["local", "ray"] = ...,
    address: str | None = ...,
    gpus_per_worker: float | None = ...,
) -> MeasureResult: ...

def report(
    *runs: str | Path,
    out: str | Path = ...,
    title: str | None = ...,
    existing: Literal["fail", "replace"] = ...,
) -> Path: ...
