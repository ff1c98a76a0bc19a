"""The laws of encoders."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from collections.abc import Sequence

import torch

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders.protocol import REQUIRED, EncoderLike, Prepared
from limbeck.testing.laws import BrokenLaw

NOISE = {torch.float64: 1e-5, torch.float32: 1e-5}  #: a vector may move by this part of its norm with the batch
HALF_NOISE = 2e-2  #: the same for 16-bit vectors
Encoding = tuple[Prepared, torch.Tensor]


def check_encoder(encoder: EncoderLike, texts: Sequence[Text] | None = None) -> None:
    """Check an encoder that gives every word a vector, on `texts` or else on a few made ones.

    Where `prepare` does not pickle it only warns: such an encoder works, in one process.
    """
    texts = _example_texts() if texts is None else list(texts)
    who = f"The encoder {getattr(encoder, 'name', type(encoder).__name__)!r}"
    if missing := [name for name in REQUIRED if not hasattr(encoder, name)]:
        raise BrokenLaw(who, "an encoder has the members of limbeck.encoders.EncoderLike", f"no {', '.join(missing)}")
    whole = _encode(who, encoder, texts)
    _check_units(who, encoder, texts, whole[0])
    _compare(who, "encoding is deterministic", whole, [_encode(who, encoder, texts)])
    _compare(who, "batch size changes nothing", whole, [_encode(who, encoder, [text]) for text in texts])
    _compare(who, "order changes nothing", whole, [_encode(who, encoder, texts[::-1])])
    _encode(who, encoder, [])
    try:
        pickle.dumps(encoder.prepare)
    except Exception as error:
        warnings.warn(f"{who} works in one process only: prepare does not pickle ({error}).", stacklevel=2)


def _example_texts() -> list[Text]:
    documents = (
        "The bank of the river was steep .",
        "A bank lends money .|It wants the money back .",
        "Steep",
        "The the The bank",
        "She runs , and so does the river that she ran along .|Why ?|Because .",
    )
    return [
        Text(tuple(Sentence(tuple(s.split()), document=d, index=i) for i, s in enumerate(document.split("|"))))
        for d, document in enumerate(documents)
    ]


def _encode(who: str, encoder: EncoderLike, texts: Sequence[Text]) -> Encoding:
    law = "texts give (layers, units, dim) finite floats"
    prepared = encoder.prepare(texts)
    vectors = encoder.forward(prepared).detach().cpu()
    wanted = (len(encoder.layers), len(prepared), encoder.dim)
    if tuple(vectors.shape) != wanted:
        raise BrokenLaw(who, law, f"{len(texts)} texts gave {tuple(vectors.shape)}, not {wanted}")
    if not vectors.is_floating_point() or not bool(torch.isfinite(vectors).all()):
        raise BrokenLaw(who, law, f"{len(texts)} texts gave numbers that are no finite floats ({vectors.dtype})")
    return prepared, vectors


def _check_units(who: str, encoder: EncoderLike, texts: Sequence[Text], prepared: Prepared) -> None:
    law = "each word gets one vector or a counted reason"
    sizes = {(text.identity, s.identity): len(s.words) for text in texts for s in text.sentences}
    units = [*zip(prepared.texts.tolist(), prepared.sentences.tolist(), prepared.positions.tolist(), strict=True)]
    for (text, sentence, position), count in Counter(units).items():
        inside = 0 <= position < sizes.get((text, sentence), 0) or encoder.units != "words"
        if count > 1 or not inside or (text, sentence) not in sizes:
            raise BrokenLaw(who, law, f"unit {position} of sentence {sentence}, text {text}, has {count} vectors")
    words, dropped = sum(sizes.values()), sum(prepared.dropped.values())
    if encoder.units == "words" and len(units) + dropped != words:
        raise BrokenLaw(who, law, f"of {words} words {len(units)} have vectors and {dropped} were dropped")


def _compare(who: str, law: str, whole: Encoding, parts: Sequence[Encoding]) -> None:
    """Every unit of `whole` must be in `parts`, with the same vector but for float noise."""
    places = {key: row for row, key in enumerate(_keys(whole[0]))}
    found = [key for prepared, _ in parts for key in _keys(prepared)]
    dropped = sum((Counter(prepared.dropped) for prepared, _ in parts), Counter[str]())
    if sorted(found) != sorted(places) or dropped != Counter(whole[0].dropped):
        raise BrokenLaw(who, law, "other units get vectors, or other reasons are counted")
    vectors = torch.cat([v for _, v in parts], dim=1).to(torch.float64)
    wanted = whole[1][:, [places[key] for key in found]].to(torch.float64)
    gap = torch.linalg.vector_norm(vectors - wanted, dim=-1) / torch.linalg.vector_norm(wanted, dim=-1)
    if len(found) and not float(gap.max()) <= NOISE.get(whole[1].dtype, HALF_NOISE):
        raise BrokenLaw(who, law, f"a vector moves by {float(gap.max()):.2g} of its norm")


def _keys(prepared: Prepared) -> list[tuple[int, int]]:
    return list(zip(prepared.sentences.tolist(), prepared.positions.tolist(), strict=True))
