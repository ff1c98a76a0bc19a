"""limbeck measures, repairs, distils and probes the word vectors of language models.

Names load on first use, so that `import limbeck` imports no torch.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: public name -> (module, attribute); an empty attribute means the module itself
_PUBLIC: dict[str, tuple[str, str]] = {
    "AnalyzeResult": ("limbeck.runs.analyze", "AnalyzeResult"),
    "CompareResult": ("limbeck.runs.compare", "CompareResult"),
    "Corpus": ("limbeck.corpus", "Corpus"),
    "DistillResult": ("limbeck.runs.distill", "DistillResult"),
    "DistilledVectors": ("limbeck.distillation", "DistilledVectors"),
    "EncodeResult": ("limbeck.runs.encode", "EncodeResult"),
    "Encoder": ("limbeck.encoders.protocol", "Encoder"),
    "EvaluateResult": ("limbeck.runs.evaluate", "EvaluateResult"),
    "FinetuneResult": ("limbeck.runs.finetune", "FinetuneResult"),
    "MeasureResult": ("limbeck.runs.measure", "MeasureResult"),
    "OccurrenceVectors": ("limbeck.vectors", "OccurrenceVectors"),
    "ProbeResult": ("limbeck.runs.probe", "ProbeResult"),
    "RepairResult": ("limbeck.runs.repair", "RepairResult"),
    "ReproduceResult": ("limbeck.papers.reproduce", "ReproduceResult"),
    "StaticVectors": ("limbeck.vectors", "StaticVectors"),
    "accumulators": ("limbeck.accumulators", ""),
    "analyze": ("limbeck.runs.analyze", "analyze"),
    "compare": ("limbeck.runs.compare", "compare"),
    "distill": ("limbeck.runs.distill", "distill"),
    "distillation": ("limbeck.distillation", ""),
    "encode": ("limbeck.runs.encode", "encode"),
    "evaluate": ("limbeck.runs.evaluate", "evaluate"),
    "finetune": ("limbeck.runs.finetune", "finetune"),
    "load": ("limbeck.runs.execution.load", "load"),
    "load_encoder": ("limbeck.encoders", "load_encoder"),
    "measure": ("limbeck.runs.measure", "measure"),
    "measures": ("limbeck.measures", ""),
    "merge": ("limbeck.runs.merge", "merge"),
    "probe": ("limbeck.runs.probe", "probe"),
    "probing": ("limbeck.probing", ""),
    "repair": ("limbeck.runs.repair", "repair"),
    "repairs": ("limbeck.repairs", ""),
    "report": ("limbeck.reporting", "report"),
    "reproduce": ("limbeck.papers.reproduce", "reproduce"),
    "run": ("limbeck.runs.execution.pipeline", "run"),
    "stream": ("limbeck.stream", ""),
    "tasks": ("limbeck.evaluation", ""),
    "testing": ("limbeck.testing", ""),
}

__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'limbeck' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def __dir__() -> list[str]:
    return sorted(__all__)
