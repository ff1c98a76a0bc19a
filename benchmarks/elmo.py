"""Words a second of a biLM, beside a plain Python loop over its steps with the same weights.

    python -m benchmarks.elmo [--size small --corpus TEXT --format prose] [--device cuda]

Three things take turns on the same sentences. Each is judged by its fastest round: a team of threads that must share
its cores with others is slowed tenfold at times, and medians would then compare the neighbours.

    the encoder   prepared texts to all layers' vectors, in batches of similar length, as `limbeck measure` runs it
    the stacks    the LSTMs alone, on batches of word vectors that already lie on the device
    plain loops   an LSTM cell for each step, layer and direction as its equations are written: on the stacks' own
                  batches; and for whole sentences, every word spelt anew in all its columns, in batches of 32 in the
                  order of the text, and one sentence at a time

Sizes are those of published models ("small", "original"), which clip, and of the miniature in this package ("mini"),
which does not, so that torch's fused LSTM can be used on a GPU. Weights are random: they decide no speed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import text
from benchmarks.machine import report

if TYPE_CHECKING:
    import torch

    from limbeck.corpus import Text
    from limbeck.encoders import BiLM, ElmoEncoder, Prepared

PLAIN_BATCH = 32  #: sentences
#: (filters, highways, cells, projection, clip)
SIZES: dict[str, tuple[list[list[int]], int, int, int, float | None]] = {
    "tiny": ([[1, 8], [3, 8]], 1, 32, 8, 3),
    "mini": ([[1, 32], [2, 32], [3, 64], [4, 128], [5, 256]], 2, 512, 128, None),
    "small": ([[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512]], 1, 1024, 128, 3),
    "original": ([[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]], 2, 4096, 512, 3),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="prose; made sentences without it")
    parser.add_argument("--format", default="prose")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--words", type=int, default=4_000)
    parser.add_argument("--lone-sentences", type=int, default=20, help="how many the plain loop reads one at a time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--name", default="")
    options = parser.parse_args(arguments)

    import torch

    torch.set_num_threads(options.threads)
    texts = take(options.corpus, options.format, options.words)
    name = options.name or f"elmo-{options.size}-{options.device}-{options.dtype}"
    report(name, compare(make(options), texts, options))


def compare(encoder: ElmoEncoder, texts: list[Text], options: argparse.Namespace) -> dict[str, Any]:
    import torch

    prepared = encoder.prepare(texts)
    words, lone = len(prepared), texts[: options.lone_sentences]
    batches = list(stack_batches(encoder, prepared))
    model = bilm(encoder)
    acts: dict[str, tuple[Callable[[], object], int]] = {
        "encoder": (lambda: encode(encoder, prepared), words),
        "stacks": (lambda: [model.read(*batch) for batch in batches], words),
        "plain loop, the stacks' batches": (lambda: [plain_stacks(model, *batch) for batch in batches], words),
        "plain loop, whole": (lambda: plain_whole(model, texts, PLAIN_BATCH, options), words),
        "plain loop, a sentence at a time": (
            lambda: plain_whole(model, lone, 1, options),
            sum(len(found.words) for found in lone),
        ),
    }
    with torch.inference_mode():
        difference = largest_difference(encoder, texts, options)
        for act, _ in acts.values():  # what is compiled and allocated once
            timed(act, options.device)
        rounds: list[dict[str, float]] = []
        for turn in range(options.rounds):
            rounds.append({name: count / timed(act, options.device) for name, (act, count) in acts.items()})
            told = ", ".join(f"{name} {speed:,.0f}" for name, speed in rounds[-1].items())
            print(f"round {turn}: words a second: {told}", flush=True)

    fastest = {name: max(found[name] for found in rounds) for name in acts}
    return {
        "times a plain loop, the stacks alone": fastest["stacks"] / fastest["plain loop, the stacks' batches"],
        "times a plain loop, whole": fastest["encoder"] / fastest["plain loop, whole"],
        "times a plain loop, a sentence at a time": fastest["encoder"] / fastest["plain loop, a sentence at a time"],
        **{f"{name}, words a second": speed for name, speed in fastest.items()},
        "largest difference from the plain loop": difference,
        "size": options.size,
        "clips": SIZES[options.size][-1] is not None,
        "device": options.device,
        "dtype": options.dtype,
        "words": words,
        "sentences": len(texts),
        "text": "made" if options.corpus is None else "given",
        "rounds, words a second of the encoder": [round(found["encoder"]) for found in rounds],
    }


# ours


def make(options: argparse.Namespace) -> ElmoEncoder:
    import torch

    from limbeck.encoders import BiLM, ElmoEncoder

    filters, highways, cells, projection, clip = SIZES[options.size]
    torch.manual_seed(0)
    model = BiLM(
        {
            "char_cnn": {
                "activation": "relu",
                "embedding": {"dim": 16},
                "filters": filters,
                "max_characters_per_token": 50,
                "n_characters": 262,
                "n_highway": highways,
            },
            "lstm": {
                "cell_clip": clip,
                "proj_clip": clip,
                "dim": cells,
                "n_layers": 2,
                "projection_dim": projection,
                "use_skip_connections": True,
            },
        }
    )
    return ElmoEncoder(model, name=options.size, device=options.device, dtype=options.dtype)


def bilm(encoder: ElmoEncoder) -> BiLM:
    return encoder.model


def encode(encoder: ElmoEncoder, prepared: Prepared) -> None:
    from limbeck.encoders import batches

    for batch in batches(prepared, batch_tokens=encoder.batch_tokens):
        encoder.forward(batch)


def stack_batches(encoder: ElmoEncoder, prepared: Prepared) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Word vectors (sentences, words, d) in the encoder's batches, and the sentences' lengths with boundaries."""
    import torch

    from limbeck.encoders import batches

    d, dtype = bilm(encoder).options.projection, next(bilm(encoder).parameters()).dtype
    for batch in batches(prepared, batch_tokens=encoder.batch_tokens):
        lengths = np.bincount(batch.unit_window) + 2
        vectors = torch.randn(len(lengths), int(lengths.max()), d, dtype=dtype, device=encoder.device)
        yield vectors, torch.from_numpy(lengths).to(encoder.device)


# the plain way


def plain_whole(model: BiLM, texts: list[Text], at_once: int, options: argparse.Namespace) -> list[list[torch.Tensor]]:
    """All layers (sentences, words, 2 d) of each batch, boundaries included."""
    import torch

    from limbeck.encoders import spell

    found = []
    for some in batched(texts, at_once):
        sentences = [["<S>", *one.words, "</S>"] for one in some]
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        rows = torch.from_numpy(spell([word for sentence in sentences for word in sentence])).long()
        ids = torch.nn.utils.rnn.pad_sequence(rows.split(lengths.tolist()), batch_first=True).to(options.device)
        vectors = model.embed(ids)
        forward, backward = plain_stacks(model, vectors, lengths.to(options.device))
        pairs = zip([vectors, *forward], [vectors, *backward], strict=True)
        found.append([torch.cat(pair, -1) for pair in pairs])
    return found


def batched(items: list[Any], size: int) -> Iterator[list[Any]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def plain_stacks(
    model: BiLM, vectors: torch.Tensor, lengths: torch.Tensor
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Both directions, one after the other, each layer a loop over its steps."""
    from limbeck.encoders.bilm import reverse

    forward, backward = [], []
    ahead, back = vectors, reverse(vectors, lengths)
    for number, layer in enumerate(model.layers):
        clip = model.options.cell_clip
        ahead = plain_lstm(layer.rightward, ahead, clip) + (ahead if number else 0)
        back = plain_lstm(layer.leftward, back, clip) + (back if number else 0)
        forward.append(ahead)
        backward.append(reverse(back, lengths))
    return forward, backward


def plain_lstm(weights: torch.nn.LSTM, x: torch.Tensor, clip: float | None) -> torch.Tensor:
    import torch

    hidden = x.new_zeros(x.shape[0], weights.proj_size)
    cell = x.new_zeros(x.shape[0], weights.hidden_size)
    out = []
    for step in range(x.shape[1]):
        gates = torch.nn.functional.linear(x[:, step], weights.weight_ih_l0, weights.bias_ih_l0)
        gates = gates + torch.nn.functional.linear(hidden, weights.weight_hh_l0, weights.bias_hh_l0)
        enter, forget, new, leave = gates.chunk(4, -1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        if clip is not None:
            cell = cell.clamp(-clip, clip)
        hidden = torch.nn.functional.linear(torch.sigmoid(leave) * torch.tanh(cell), weights.weight_hr_l0)
        if clip is not None:
            hidden = hidden.clamp(-clip, clip)
        out.append(hidden)
    return torch.stack(out, 1)


def largest_difference(encoder: ElmoEncoder, texts: list[Text], options: argparse.Namespace) -> float:
    """Between the two ways' vectors, over the first sentences."""
    import torch

    some = texts[: 2 * PLAIN_BATCH]
    ours = encoder.forward(encoder.prepare(some))
    layers = plain_whole(bilm(encoder), some, PLAIN_BATCH, options)
    theirs = []
    for batch, part in zip(layers, batched(some, PLAIN_BATCH), strict=True):
        whole = torch.stack(batch)
        theirs += [whole[:, row, 1 : 1 + len(one.words)] for row, one in enumerate(part)]
    return float((ours - torch.cat(theirs, 1)).abs().max())


# text and clocks


def take(corpus: str | None, format: str, words: int) -> list[Text]:
    """Sentences of about so many words in all, each a text."""
    from limbeck.corpus import Corpus, Sentence, Text

    if corpus is None:
        found: Iterator[Sequence[str]] = text.sentences(words)
    else:
        found = (sentence.words for sentence in Corpus(corpus, format=format))
    chosen, seen = [], 0
    for index, own in enumerate(found):
        chosen.append(Text((Sentence(tuple(own), index=index),)))
        seen += len(own)
        if seen >= words:
            break
    return chosen


def timed(act: Callable[[], object], device: str) -> float:
    import torch

    began = time.perf_counter()
    act()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
