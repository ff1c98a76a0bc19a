"""Fine-tune a model on a task, in memory: what is made of the settings, and what came out."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from limbeck.encoders.alignment import Aligner
from limbeck.encoders.huggingface import HuggingFaceEncoder, choose_batch_tokens
from limbeck.encoders.loading import Parts, load_parts
from limbeck.errors import UsageError
from limbeck.probing.attention import AttentionSimilarity, attention_similarity
from limbeck.probing.finetuning.checkpoint import Checkpoint
from limbeck.probing.finetuning.data import TaskData
from limbeck.probing.finetuning.network import Network
from limbeck.probing.finetuning.pieces import Reader, Windows
from limbeck.probing.finetuning.scores import Scores, majority, score_part
from limbeck.probing.finetuning.settings import FinetuneSettings
from limbeck.probing.finetuning.training import CHECKPOINT_SECONDS, Curves, Loop, predict, train

EPOCHS = 5
BATCHES = {"pos": 150, "sst-2": 200, "mrpc": 350, "ner": 32}  #: Table 4 of Zhao et al. (2020)
BATCH = 32  #: for tasks that the paper has not
LOOKS = 5  #: at the development set in an epoch, unless said
#: which vector of the last layer is classified, in words
VECTORS = {
    ("word", "last"): "a word's last piece",
    ("word", "first"): "a word's first piece",
    ("word", "mean"): "the mean of a word's pieces",
    ("sentence", "first"): "a text's first piece",
    ("sentence", "last"): "a text's last piece",
    ("sentence", "mean"): "the mean of a text's pieces",
}


@dataclass(frozen=True)
class Finetuned:
    """A model after fine-tuning, with what is known of how it came about.

    parts                         model and tokenizer; the model is the one that was given, changed
    parent, fingerprint           of the model's weights before and after
    used                          settings as they were used, nothing left open
    scores                        part -> scores of the best step
    majority                      part -> accuracy of the class most frequent in training
    left_out                      part -> words of which the tokeniser left nothing
    attention                     how alike attention is before and after; None where it was not asked for
    """

    data: TaskData
    parts: Parts
    network: Network
    parent: str
    fingerprint: str
    used: Mapping[str, Any]
    curves: Curves
    best_step: int
    scores: Mapping[str, Scores]
    majority: Mapping[str, float]
    left_out: Mapping[str, int]
    attention: AttentionSimilarity | None
    seconds: float


def finetune_model(
    model: str | Path | Parts,
    data: TaskData,
    *,
    settings: FinetuneSettings | None = None,
    batch_tokens: int | None = None,
    device: str = "auto",
    state: Path | None = None,
    checkpoint_seconds: float | None = None,
    progress: bool = False,
) -> Finetuned:
    """Fine-tune all weights of a model and a linear layer on its last layer, by plain Adam, in float32.

    model         name or folder, or parts, whose model is changed in place
    batch_tokens  most padded subwords in one forward pass; by device unless said
    state         folder for checkpoints, from which a stopped call goes on to the same weights

    The step with the best score on the development set is kept (Zhao et al. 2020, §4.4 and Appendix B).
    """
    settings = settings or FinetuneSettings()
    if settings.attention_window is not None and data.level != "word":
        raise UsageError(
            f"--attention-window applies only to tasks of words, pos and ner: a text's class needs all of it; got "
            f"{data.name}.",
            code="no_effect",
            parameter="attention_window",
        )
    data = data.limited(most=settings.max_train, most_dev=settings.max_dev, seed=settings.seed)
    parts = model if isinstance(model, Parts) else load_parts(model)
    if getattr(parts.model.config, "is_encoder_decoder", False):
        raise UsageError(
            f"{parts.name} is an encoder-decoder, of which limbeck fine-tunes none: give another model.",
            code="unsupported",
            parameter="model",
        )
    encoder = HuggingFaceEncoder(parts.model, parts.tokenizer, name=parts.name, device=device)
    aligner = encoder.prepare.aligner
    assert isinstance(aligner, Aligner)
    before = copy.deepcopy(parts.model) if settings.attention_texts else None
    parent = encoder.model_fingerprint

    length = min(settings.max_length, encoder.window)
    sentence = settings.sentence_piece
    if sentence == "auto":
        sentence = "last" if encoder.causal else "first" if aligner.prefix else "mean"
    ends = getattr(parts.model.config, "eos_token_id", None)
    reader = Reader(
        aligner,
        length=length,
        word=settings.word_piece,
        sentence=sentence,
        separator=ends if isinstance(ends, int) else None,
    )
    read = {name: reader(part) for name, part in data.parts.items()}
    pad = getattr(parts.model.config, "pad_token_id", None)
    loop = _loop(
        settings,
        data,
        read["train"],
        pieces=batch_tokens or _pieces_for(encoder.device),
        pad=pad if isinstance(pad, int) and pad >= 0 else 0,
    )
    used: dict[str, Any] = {
        "task": data.name,
        "epochs": round(loop.steps / loop.per_epoch, 4),
        "steps": loop.steps,
        "batch": loop.batch,
        "learning_rate": loop.learning_rate,
        "max_length": length,
        "evaluate_every": loop.evaluate_every,
        "vector": VECTORS[data.level, settings.word_piece if data.level == "word" else sentence],
        "causal": encoder.causal,
        "attention_window": settings.attention_window,
        "metric": data.metric,
        "seed": settings.seed,
    }
    network = Network(
        parts.model,
        np.bincount(read["train"].places.label, minlength=len(data.classes)),
        causal=encoder.causal,
        neighbors=settings.attention_window,
        seed=settings.seed,
    ).to(encoder.device)

    def evaluate() -> dict[str, float]:
        predicted, loss = predict(network, read["dev"], pieces=loop.pieces, pad=loop.pad)
        found = score_part(data, data.parts["dev"], read["dev"].places, predicted)
        return {"loss": loss, **found.values}

    checkpoint = Checkpoint(state, _identity(parent, read, loop, used)) if state is not None else None
    trained = train(
        network,
        read["train"],
        evaluate,
        loop,
        metric=data.metric,
        checkpoint=checkpoint,
        checkpoint_seconds=CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds,
        progress=progress,
    )
    network.eval()
    scores: dict[str, Scores] = {}
    for name in ("dev", "test"):
        if name in read:
            predicted, _ = predict(network, read[name], pieces=loop.pieces, pad=loop.pad)
            scores[name] = score_part(data, data.parts[name], read[name].places, predicted)
    attention = None
    if before is not None:
        parent_parts = Parts(before, parts.tokenizer, f"{parts.name} (before)")
        texts = data.parts["dev"].texts(settings.attention_texts)
        attention = attention_similarity(parent_parts, parts, texts, length=length, device=str(encoder.device))
    after = HuggingFaceEncoder(parts.model, parts.tokenizer, name=parts.name, device=str(encoder.device))
    return Finetuned(
        data=data,
        parts=parts,
        network=network,
        parent=parent,
        fingerprint=after.model_fingerprint,
        used=used,
        curves=trained.curves,
        best_step=trained.best_step,
        scores=scores,
        majority={name: majority(data, name) for name in scores},
        left_out={name: windows.left_out for name, windows in read.items() if windows.left_out},
        attention=attention,
        seconds=trained.seconds,
    )


def _pieces_for(device: torch.device) -> int:
    """Padded pieces a pass: training keeps what every layer gave, so a GPU holds fewer than for reading alone."""
    whole = choose_batch_tokens(device)
    return whole // 8 if device.type == "cuda" else whole


def _loop(settings: FinetuneSettings, data: TaskData, windows: Windows, *, pieces: int, pad: int) -> Loop:
    batch = settings.batch or BATCHES.get(data.name, BATCH)
    per_epoch = -(-len(windows) // batch)
    epochs = settings.epochs or (EPOCHS if settings.steps is None else None)
    asked = (None if epochs is None else epochs * per_epoch, settings.steps)
    return Loop(
        steps=min(number for number in asked if number is not None),
        per_epoch=per_epoch,
        batch=batch,
        evaluate_every=settings.evaluate_every or max(1, per_epoch // LOOKS),
        learning_rate=settings.learning_rate,
        pieces=pieces,
        pad=pad,
        seed=settings.seed,
    )


def _identity(parent: str, read: Mapping[str, Windows], loop: Loop, used: Mapping[str, Any]) -> str:
    """Changes with whatever changes the result: model, examples, settings."""
    digest = hashlib.blake2b(json.dumps([parent, asdict(loop), used], sort_keys=True).encode(), digest_size=16)
    for name in ("train", "dev"):
        for window in read[name].pieces:
            digest.update(np.asarray(window).tobytes())
        digest.update(read[name].places.label.tobytes())
    return digest.hexdigest()
