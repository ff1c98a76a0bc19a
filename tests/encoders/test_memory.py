"""A device without room for a batch: read in halves to the same vectors, said once; what fits nowhere is told."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pytest
import torch
from refusals import raises
from tiny_models import FAMILIES, model, story, text, tokenizer

from limbeck.corpus import Corpus
from limbeck.distillation.alone import frame_vectors
from limbeck.distillation.settings import DistillSettings
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.encoders.memory import is_out_of_memory, read_parts
from limbeck.encoders.protocol import Prepared
from limbeck.errors import LimbeckError
from limbeck.stream import Choice, TextSource, run_pass, survey
from limbeck.stream.context import RunContext

CPU_SAYS = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes. Error code 12"
FULL: list[BaseException] = [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError(CPU_SAYS), MemoryError()]


class Narrow(HuggingFaceEncoder):
    """Raises when a batch has more than so many pieces, and writes down how many there were."""

    limit = 10**9
    error: BaseException = FULL[0]
    carries_state = False

    def forward(self, batch: Prepared) -> torch.Tensor:
        self.read = [*getattr(self, "read", []), len(batch.pieces)]
        if len(batch.pieces) > self.limit:
            raise self.error
        return super().forward(batch)


def made(limit: int = 10**9, **settings: Any) -> Narrow:
    encoder = Narrow(model("bert"), tokenizer(FAMILIES["bert"]), name="narrow", device="cpu", **settings)
    encoder.limit = limit
    return encoder


@pytest.mark.parametrize("error", FULL, ids=lambda error: type(error).__name__)
def test_halves_give_the_same_vectors_and_the_size_is_kept(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = list(story())
    encoder = made(60)
    encoder.error = error
    batch = encoder.prepare(texts)
    assert len(batch.pieces) > 150
    whole = HuggingFaceEncoder.forward(encoder, batch)
    for again in (False, True):
        encoder.read = []
        parts = list(read_parts(encoder, batch))
        assert [units.start for units, _, _ in parts] == [0, *(units.stop for units, _, _ in parts[:-1])]
        assert parts[-1][0].stop == len(batch)
        for units, part, vectors in parts:
            assert list(part.strings) == list(batch.strings)[units]
            np.testing.assert_array_equal(part.positions, batch.positions[units])
            torch.testing.assert_close(vectors, whole[:, units], rtol=1e-6, atol=1e-6)
        # what failed once is not tried again
        assert any(read > 60 for read in encoder.read) is not again
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "out of memory on cpu" in said[0]
    assert "--batch-tokens" in said[0]


def test_a_pass_and_words_alone_are_those_of_a_device_with_room() -> None:
    corpus = Corpus.from_sentences([list(one.words) for one in story()])
    sums = []
    for limit in (10**9, 70):
        encoder = made(limit)
        source = TextSource(corpus, encoder, batch_tokens=200)
        plan = survey(source, choice=Choice(min_contexts=1), context=RunContext(shard_units=200))
        seen: dict[int, np.ndarray] = {}

        class Keep:
            def update(self, batch: Any, seen: dict[int, np.ndarray] = seen) -> None:
                for row, name in enumerate(batch.occurrences.tolist()):
                    assert name not in seen
                    seen[name] = np.append(batch.vectors[:, row].numpy().ravel(), batch.words[row])

            def end_shard(self, number: int) -> None: ...

        run_pass(source, [], plan=plan, consumers=[Keep()])
        words = frame_vectors(encoder, ["river", "lamp", "kettle"] * 9, DistillSettings(method=("frame",)))
        sums.append((seen, words[-1].matrix, encoder))
    (one, alone, _), (other, alone_again, narrow) = sums
    assert any(read > 70 for read in narrow.read)
    assert one.keys() == other.keys()
    assert len(one) > 100
    for name, row in one.items():
        np.testing.assert_allclose(other[name], row, rtol=0, atol=1e-6)
    np.testing.assert_allclose(alone_again, alone, rtol=0, atol=1e-6)


def test_one_text_without_room_is_told_with_its_length() -> None:
    encoder = made(20)
    long = text("the river rose and fell in the old house by the sand " * 4, index=1)
    batch = encoder.prepare([text("the river"), long])
    pieces = len(encoder.prepare([long]).pieces)
    with raises(LimbeckError, code="no_memory", parameter="batch_tokens", says=f"{pieces} pieces"):
        list(read_parts(encoder, batch))
    carrying = made(20)
    carrying.carries_state = True
    with raises(LimbeckError, code="no_memory", parameter="batch_tokens"):
        list(read_parts(carrying, batch))


def test_other_errors_stay_what_they_are() -> None:
    encoder = made(20)
    encoder.error = RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    with pytest.raises(RuntimeError, match="shapes cannot be"):
        list(read_parts(encoder, encoder.prepare(list(story()))))
    assert not is_out_of_memory(ValueError("out of memory"))
    fine = copy(encoder)
    fine.limit = 10**9
    assert [len(part) for _, part, _ in read_parts(fine, fine.prepare([]))] == [0]
