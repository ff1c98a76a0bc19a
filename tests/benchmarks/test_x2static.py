"""The benchmark of X2Static runs, and the way that it compares with trains what we train. Nothing is timed here."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import all as every
from benchmarks import text, x2static
from benchmarks.models import bert, corpus_of, train_tokenizer
from limbeck.distillation.x2static.adam import Rows
from limbeck.distillation.x2static.contexts import Gathered
from limbeck.distillation.x2static.objectives import Contrast, Targets
from limbeck.distillation.x2static.sampling import Negatives
from limbeck.distillation.x2static.settings import X2Static
from limbeck.stream import Choice, TextSource, survey

SMALL = "--words 4000 --types 200 --layers 1 --dim 64 --steps 1 --rounds 1"


def test_it_runs_and_tells_what_the_table_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMBECK_BENCH_OUT", str(tmp_path))
    x2static.main([*SMALL.split(), "--name", "x2static"])
    figures = json.loads((tmp_path / "x2static.json").read_text())["figures"]
    [gpu] = [one for one in every.benchmarks("cuda", "bfloat16") if one.name == "x2static"]
    assert gpu.targets
    assert all(figures[target.figure] > 0 for target in gpu.targets)


def test_the_published_way_takes_the_step_that_ours_takes(tmp_path: Path) -> None:
    corpus = corpus_of(text.write_words(tmp_path / "text.txt", 2000, types=100), format="words")
    teacher = bert(train_tokenizer(corpus), device="cpu", dtype="float32", layers=1, dim=64)
    source = TextSource(corpus, teacher)
    plan = survey(source, choice=Choice(min_contexts=1))
    published = x2static.Published(source, plan, train_tokenizer(corpus), 0)  # every word a target
    lines = [list(sentence.words) for sentence in corpus][: x2static.LINES]
    contexts = published.contexts(lines)
    start = published.embedding.weight.detach().clone()
    first = published.train(lines, contexts)
    assert first == pytest.approx(11 * math.log(2), rel=0.1)

    words = np.concatenate([plan.vocabulary.ids(line) for line in lines])
    n = len(words)
    vectors = Rows(len(start), 64, device=torch.device("cpu"))
    vectors.fill(start.numpy())
    ours = Contrast(
        vectors, Negatives(plan.vocabulary.counts, 0.5, device=torch.device("cpu")), X2Static(distinct=False)
    )
    context_of = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
    shard = Gathered(contexts, np.arange(len(lines)), words, context_of, np.zeros(n, np.uint64), n)
    targets = Targets(words, context_of, np.zeros(n, np.uint64), np.array([0, n]), len(lines), 0, 0, np.arange(n))
    drawn = torch.tensor(published.pool[: n * x2static.NEGATIVES]).reshape(n, -1)
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr("limbeck.distillation.x2static.objectives.draw_negatives", lambda *_: drawn)
        ours.begin(shard, targets)
        loss = ours.step(0, 1e-3)
    assert float(loss) / n == pytest.approx(first, rel=1e-5)
    np.testing.assert_allclose(vectors.matrix(), published.embedding.weight.detach().numpy(), rtol=0, atol=1e-5)
