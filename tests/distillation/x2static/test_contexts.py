"""Contexts against the model run by hand, one text at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from refusals import raises
from tiny_models import STORY, backend, model, split, tokenizer

from limbeck.corpus import Corpus
from limbeck.corpus.units import Sentence
from limbeck.distillation.x2static import X2Static, train
from limbeck.distillation.x2static.contexts import Gathered
from limbeck.distillation.x2static.masked import MaskedTargets
from limbeck.distillation.x2static.sampling import keep_probabilities
from limbeck.distillation.x2static.trainer import Trainer
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.errors import UsageError
from limbeck.seeds import hash_occurrences
from limbeck.stream import Choice, Plan, TextSource, run_pass, survey

LINES = [line.strip() for line in STORY.replace("\n", " ").split(". ")]
SENTENCES = [  # short, so that three of them fit the window
    Sentence(split(line).words[:6], document=0, paragraph=index // 3, index=index)
    for index, line in enumerate(LINES)
    if line
]


def teacher(kind: str = "wordpiece uncased", family: str = "bert") -> HuggingFaceEncoder:
    return HuggingFaceEncoder(model(family), tokenizer(kind), name="tiny", layers="-1", dtype="float64", device="cpu")


def source_of(unit: Any = "sentence") -> tuple[TextSource, Plan]:
    source = TextSource(Corpus.from_sentences(SENTENCES), teacher(), unit, 200)
    return source, survey(source, choice=Choice(min_contexts=1))


def gathered(source: TextSource, plan: Plan, settings: X2Static) -> Gathered:
    trainer = Trainer(
        plan.vocabulary.counts,
        source.dim,
        settings,
        shard_units=np.array([1]),
        paragraphs=source.text_unit != "sentence",
    )
    batches: list[Any] = []

    class Keep:
        update = staticmethod(batches.append)

        def end_shard(self, number: int) -> None:
            pass

    run_pass(source, [], plan=plan, consumers=[Keep()])
    return Gathered.join([trainer.gather(batch) for batch in batches])


def by_hand(words: list[str], spans: list[range] | None = None) -> Any:
    """Last layer of the model for a text, all pieces (n, d), and the pieces of each word, special tokens in front."""
    reader = tokenizer("wordpiece uncased")
    ids = [reader(word, add_special_tokens=False)["input_ids"] for word in words]
    flat = [reader.cls_token_id, *(piece for each in ids for piece in each), reader.sep_token_id]
    with torch.no_grad():
        states = model("bert").double()(torch.tensor([flat])).last_hidden_state[0].numpy()
    ends = 1 + np.cumsum([len(each) for each in ids])
    return states, [range(end - len(each), end) for end, each in zip(ends.tolist(), ids, strict=True)], flat


def context_of(found: Gathered, sentence: Sentence, place: int) -> np.ndarray:
    key = hash_occurrences(np.array([sentence.identity]), np.array([place]))
    row = int(np.flatnonzero(found.keys == key)[0])
    return found.contexts[int(found.context_of[row])].numpy()


@pytest.mark.parametrize("over", ["words", "pieces"])
@pytest.mark.parametrize("unit", ["sentence", "paragraph"])
def test_contexts_are_means_of_the_models_vectors(over: str, unit: str) -> None:
    source, plan = source_of(unit)
    read = TextSource(source.corpus, teacher().with_special(), unit, 200) if over == "pieces" else source
    found = gathered(read, plan, X2Static(context=over))
    assert len(found.words) == sum(len(s.words) for s in SENTENCES)  # special tokens are no targets
    paragraphs: dict[int, list[Sentence]] = {}
    for sentence in SENTENCES:
        paragraphs.setdefault(sentence.index if unit == "sentence" else sentence.paragraph, []).append(sentence)
    several = False
    for together in paragraphs.values():
        states, spans, _ = by_hand([w for s in together for w in s.words])
        several |= any(len(span) > 1 for span in spans)
        at = 0
        for number, sentence in enumerate(together):
            own = spans[at : at + len(sentence.words)]
            at += len(sentence.words)
            if over == "words":
                wanted = np.mean([states[list(span)].mean(0) for span in own], axis=0)
            else:  # docs/fidelity.md §4.3, §4.6
                first = 0 if unit == "sentence" else own[0].start
                last = own[-1].stop + (number == len(together) - 1)
                wanted = states[first:last].mean(0)
            for place in (0, len(sentence.words) - 1):
                np.testing.assert_allclose(context_of(found, sentence, place), wanted, rtol=0, atol=1e-5)
    assert several


def test_contexts_without_the_target() -> None:
    source, plan = source_of()
    found = gathered(source, plan, X2Static(context="others", subsample=0))
    alone = [s for s in SENTENCES if len(s.words) == 1]
    assert len(found.words) == sum(len(s.words) for s in SENTENCES) - len(alone)
    for sentence in SENTENCES[:4]:
        states, spans, _ = by_hand(list(sentence.words))
        words = np.stack([states[list(span)].mean(0) for span in spans])
        for place in range(len(sentence.words)):
            wanted = np.delete(words, place, axis=0).mean(0)
            np.testing.assert_allclose(context_of(found, sentence, place), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("unit", ["sentence", "paragraph"])
def test_contexts_with_the_target_masked(unit: str) -> None:
    source, plan = source_of(unit)
    settings = X2Static(context="masked", subsample=0)
    keep = keep_probabilities(plan.vocabulary.counts, 0)
    read = TextSource(source.corpus, MaskedTargets(teacher(), plan.vocabulary, keep), unit, 200)
    found = gathered(read, plan, settings)
    mask = backend("wordpiece uncased").token_to_id("[MASK]")
    together = SENTENCES[3:6] if unit == "paragraph" else SENTENCES[4:5]
    words = [w for s in together for w in s.words]
    _, spans, flat = by_hand(words)
    at = sum(len(s.words) for s in together[: together.index(SENTENCES[4])])
    own = spans[at : at + len(SENTENCES[4].words)]
    for place, span in enumerate(own):
        hidden = [mask if i in span else piece for i, piece in enumerate(flat)]
        with torch.no_grad():
            states = model("bert").double()(torch.tensor([hidden])).last_hidden_state[0].numpy()
        wanted = states[own[0].start : own[-1].stop].mean(0)
        np.testing.assert_allclose(context_of(found, SENTENCES[4], place), wanted, rtol=0, atol=1e-5)


def test_every_context_trains() -> None:
    source, plan = source_of()
    matrices = {}
    for context in ("words", "pieces", "others", "masked"):
        settings = X2Static(context=context, subsample=1e-2, batch_texts=4)
        trained = train(source, plan, settings)
        assert trained.about["targets"] > 20
        matrices[context] = trained.matrix
    assert len({matrix.tobytes() for matrix in matrices.values()}) == 4


def test_a_teacher_without_a_mask_is_told() -> None:
    source = TextSource(Corpus.from_sentences(SENTENCES), teacher("byte-level", "gpt2"))
    plan = survey(source, choice=Choice(min_contexts=1))
    with raises(UsageError, code="unsupported", parameter="context"):
        train(source, plan, X2Static(context="masked"))
