"""What mypy makes of the public names: read by `make check`, never run.

An ignored error that is no error is one itself (warn_unused_ignores), so a misspelt keyword must be found.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np

import limbeck as lb

assert_type(lb.measure("mini-bert", "text.txt", min_contexts=3), lb.MeasureResult)
assert_type(lb.measure(["mini-bert", "mini-gpt2"], "text.txt"), list[lb.MeasureResult])
lb.measure("mini-bert", "text.txt", min_context=3)  # type: ignore[call-overload]
lb.measure("mini-bert", "text.txt", preset="papr")  # type: ignore[call-overload]
lb.measure("mini-bert", "text.txt", min_contexts="3")  # type: ignore[call-overload]
assert_type(lb.report("runs/a", "runs/b", out="page.html"), Path)
lb.report("runs/a", output="page.html")  # type: ignore[call-arg]
lb.report("runs/a", existing="resume")  # type: ignore[arg-type]

assert_type(lb.evaluate("mini-bert", tasks="sts", data="data", learning_rate=1e-3), lb.EvaluateResult)
lb.evaluate(["glove.txt"], task="sts", data="data")  # type: ignore[call-arg]
lb.evaluate("glove.txt", tasks=["sts"], data="data", oov="dropp")  # type: ignore[arg-type]

assert_type(lb.encode("mini-bert", "text.txt", out="vectors"), lb.EncodeResult)
lb.encode("mini-bert", "text.txt")  # type: ignore[call-arg]
lb.encode("mini-bert", "text.txt", out="vectors", keep="float8")  # type: ignore[arg-type]
assert_type(lb.repair("mini-bert", "text.txt", method="center").before, lb.MeasureResult)
lb.repair("mini-bert", "text.txt", method="center", weight="frequency")  # type: ignore[call-arg]
assert_type(lb.merge("one", "two", out="both"), lb.MeasureResult | lb.EncodeResult)

assert_type(lb.probe("mini-bert", control="none", probe=("mlp", "linear"), context_size=(0, 2)), lb.ProbeResult)
lb.probe("mini-bert", "sample", units="pieces")  # type: ignore[call-arg]
assert_type(lb.finetune("mini-bert", "sst2", "data", max_length=64), lb.FinetuneResult)
lb.finetune("mini-bert", "sst2", "data", dtype="float16")  # type: ignore[call-arg]
assert_type(lb.compare("runs/a", "runs/b", draws=300, out="compared"), lb.CompareResult)
lb.compare("runs/a", "runs/b", existing="resume")  # type: ignore[arg-type]
assert_type(lb.analyze("tense", ["mini-bert", "mini-gpt2"], max_occurrences=3), lb.AnalyzeResult)
lb.analyze("tense", "mini-bert", maximum_occurrences=3)  # type: ignore[call-arg]


assert_type(lb.distill("mini-bert", "text.txt", min_count=3), lb.DistilledVectors)
assert_type(lb.distill("mini-bert", "text.txt", method="average"), lb.DistilledVectors)
assert_type(lb.distill("mini-bert", "text.txt", method=["average", "x2static"]), lb.DistillResult)
lb.distill("mini-bert", "text.txt", methods="average")  # type: ignore[call-overload]
lb.distill("mini-bert", "text.txt", unseen="frames")  # type: ignore[call-overload]

# below the verbs: settings instead of keywords, each checked by the class that declares it
pairs = lb.tasks.Pairs("own", "sts", ["a"], ["b"], np.array([1.0]))
assert_type(lb.tasks.evaluate(pairs, "vectors", settings=lb.tasks.EvaluationSettings(draws=50)), lb.tasks.Score)
lb.tasks.EvaluationSettings(metrics="pearson")  # type: ignore[call-arg]
lb.tasks.EvaluationSettings(metric="kendall")  # type: ignore[arg-type]
lb.tasks.evaluate(pairs, "vectors", draws=50)  # type: ignore[call-arg]
lb.load_encoder("mini-bert", layer=1)  # type: ignore[call-arg]
lb.repairs.ClusterRemoval(clusters=5)  # type: ignore[call-arg]

# what is known of a public name is not `Any`: an attribute that it does not have is an error
lb.accumulators.nonsense  # type: ignore[attr-defined]
lb.AnalyzeResult.nonsense  # type: ignore[attr-defined]
lb.CompareResult.nonsense  # type: ignore[attr-defined]
lb.Corpus.nonsense  # type: ignore[attr-defined]
lb.distillation.nonsense  # type: ignore[attr-defined]
lb.distillation.DistilledVectors.nonsense  # type: ignore[attr-defined]
lb.distillation.DistillSettings.nonsense  # type: ignore[attr-defined]
lb.distillation.Known.nonsense  # type: ignore[attr-defined]
lb.distillation.Method.nonsense  # type: ignore[attr-defined]
lb.distillation.METHODS.nonsense  # type: ignore[attr-defined]
lb.distillation.MethodSettings.nonsense  # type: ignore[attr-defined]
lb.distillation.Rows.nonsense  # type: ignore[attr-defined]
lb.distillation.Trained.nonsense  # type: ignore[attr-defined]
lb.DistilledVectors.nonsense  # type: ignore[attr-defined]
lb.DistillResult.nonsense  # type: ignore[attr-defined]
lb.Encoder.nonsense  # type: ignore[attr-defined]
lb.EncodeResult.nonsense  # type: ignore[attr-defined]
lb.EvaluateResult.nonsense  # type: ignore[attr-defined]
lb.FinetuneResult.nonsense  # type: ignore[attr-defined]
lb.MeasureResult.nonsense  # type: ignore[attr-defined]
lb.measures.nonsense  # type: ignore[attr-defined]
lb.OccurrenceVectors.nonsense  # type: ignore[attr-defined]
lb.ProbeResult.nonsense  # type: ignore[attr-defined]
lb.probing.nonsense  # type: ignore[attr-defined]
lb.probing.attention_similarity.nonsense  # type: ignore[attr-defined]
lb.probing.AttentionSimilarity.nonsense  # type: ignore[attr-defined]
lb.probing.FinetuneSettings.nonsense  # type: ignore[attr-defined]
lb.probing.Labelled.nonsense  # type: ignore[attr-defined]
lb.probing.LabelSettings.nonsense  # type: ignore[attr-defined]
lb.probing.load_head.nonsense  # type: ignore[attr-defined]
lb.probing.Probes.nonsense  # type: ignore[attr-defined]
lb.probing.ProbeSettings.nonsense  # type: ignore[attr-defined]
lb.probing.read_labelled.nonsense  # type: ignore[attr-defined]
lb.probing.read_task.nonsense  # type: ignore[attr-defined]
lb.probing.Rows.nonsense  # type: ignore[attr-defined]
lb.probing.score.nonsense  # type: ignore[attr-defined]
lb.probing.tagged.nonsense  # type: ignore[attr-defined]
lb.probing.TaskData.nonsense  # type: ignore[attr-defined]
lb.probing.train.nonsense  # type: ignore[attr-defined]
lb.probing.Training.nonsense  # type: ignore[attr-defined]
lb.RepairResult.nonsense  # type: ignore[attr-defined]
lb.repairs.nonsense  # type: ignore[attr-defined]
lb.ReproduceResult.nonsense  # type: ignore[attr-defined]
lb.StaticVectors.nonsense  # type: ignore[attr-defined]
lb.stream.nonsense  # type: ignore[attr-defined]
lb.tasks.nonsense  # type: ignore[attr-defined]
lb.testing.nonsense  # type: ignore[attr-defined]
