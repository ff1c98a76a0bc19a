"""Random biLMs in the published format, and what they give, word by word and sentence by sentence, in float64.

Written from the equations, on the published arrays themselves: nothing here knows how limbeck runs or stores a model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def options(
    *,
    clip: float | None = None,
    skip: bool = True,
    activation: str = "relu",
    highways: int = 1,
    projection: int = 5,
    cells: int = 7,
    layers: int = 2,
    **more: Any,
) -> dict[str, Any]:
    return {
        "char_cnn": {
            "activation": activation,
            "embedding": {"dim": 3},
            "filters": [[1, 2], [3, 4]],
            "max_characters_per_token": 12,
            "n_characters": 262,
            "n_highway": highways,
        },
        "lstm": {
            "cell_clip": clip,
            "proj_clip": clip,
            "dim": cells,
            "n_layers": layers,
            "projection_dim": projection,
            "use_skip_connections": skip,
        },
        **more,
    }


def random_arrays(options: dict[str, Any], seed: int = 0) -> dict[str, Array]:
    """Arrays under their published names."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Array:
        return rng.normal(scale=0.7, size=shape).astype(np.float32).astype(np.float64)

    cnn, lstm = options["char_cnn"], options["lstm"]
    d, features = cnn["embedding"]["dim"], sum(number for _, number in cnn["filters"])
    p, n = lstm["projection_dim"], lstm["dim"]
    arrays = {"char_embed": draw(261, d)}
    for i, (width, number) in enumerate(cnn["filters"]):
        arrays |= {f"CNN/W_cnn_{i}": draw(1, width, d, number), f"CNN/b_cnn_{i}": draw(number)}
    for i in range(cnn["n_highway"]):
        for kind in ("carry", "transform"):
            arrays |= {f"CNN_high_{i}/W_{kind}": draw(features, features), f"CNN_high_{i}/b_{kind}": draw(features)}
    if features != p:
        arrays |= {"CNN_proj/W_proj": draw(features, p), "CNN_proj/b_proj": draw(p)}
    for side in range(2):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{side}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            arrays |= {f"{cell}/W_0": draw(2 * p, 4 * n), f"{cell}/B": draw(4 * n)}
            if p != n:
                arrays[f"{cell}/W_P_0"] = draw(n, p)
    return arrays


def write(folder: Path, options: dict[str, Any], arrays: dict[str, Array], name: str = "lm_weights.hdf5") -> Path:
    import h5py

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "options.json").write_text(json.dumps(options))
    with h5py.File(folder / name, "w") as file:
        for key, array in arrays.items():
            file[key] = array.astype(np.float32)
    return folder


def expected(sentence: Sequence[str], options: dict[str, Any], arrays: dict[str, Array]) -> Array:
    """All layers (layers + 1, words, 2 * projection_dim) of a sentence; its boundaries must be among the words."""
    x = np.stack([word_vector(word, options, arrays) for word in sentence])
    sides = [stack(x, 0, options, arrays), [layer[::-1] for layer in stack(x[::-1], 1, options, arrays)]]
    return np.stack([np.hstack([x, x]), *(np.hstack(pair) for pair in zip(*sides, strict=True))])


def word_vector(word: str, options: dict[str, Any], arrays: dict[str, Array]) -> Array:
    cnn = options["char_cnn"]
    longest = cnn["max_characters_per_token"]
    inside = {"<S>": [256], "</S>": [257]}.get(word, list(word.encode()))[: longest - 2]
    ids = [258, *inside, 259]
    letters = arrays["char_embed"][ids + [260] * (longest - len(ids))]
    bend = np.tanh if cnn["activation"] == "tanh" else relu
    found = []
    for i, (width, _) in enumerate(cnn["filters"]):
        kernel, bias = arrays[f"CNN/W_cnn_{i}"][0], arrays[f"CNN/b_cnn_{i}"]  # (width, d, number)
        answers = [np.einsum("wd,wdn->n", letters[at : at + width], kernel) for at in range(longest - width + 1)]
        found.append(bend(np.max(answers, axis=0) + bias))
    x = np.concatenate(found)
    for i in range(cnn["n_highway"]):
        carry = sigmoid(x @ arrays[f"CNN_high_{i}/W_carry"] + arrays[f"CNN_high_{i}/b_carry"])
        transform = relu(x @ arrays[f"CNN_high_{i}/W_transform"] + arrays[f"CNN_high_{i}/b_transform"])
        x = carry * transform + (1 - carry) * x
    if "CNN_proj/W_proj" in arrays:
        x = x @ arrays["CNN_proj/W_proj"] + arrays["CNN_proj/b_proj"]
    return x


def stack(x: Array, side: int, options: dict[str, Any], arrays: dict[str, Array]) -> list[Array]:
    """One direction's layers, each (words, projection_dim), in the order in which it reads."""
    lstm = options["lstm"]
    layers = []
    for layer in range(lstm["n_layers"]):
        cell = f"RNN_{side}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        c, m, out = np.zeros(lstm["dim"]), np.zeros(lstm["projection_dim"]), []
        for word in x:
            i, j, f, o = np.split(np.concatenate([word, m]) @ arrays[f"{cell}/W_0"] + arrays[f"{cell}/B"], 4)
            c = clipped(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j), lstm["cell_clip"])
            m = sigmoid(o) * np.tanh(c)
            if f"{cell}/W_P_0" in arrays:
                m = clipped(m @ arrays[f"{cell}/W_P_0"], lstm["proj_clip"])
            out.append(m)
        x = np.stack(out) + (x if layer and lstm["use_skip_connections"] else 0)
        layers.append(x)
    return layers


def clipped(x: Array, limit: float | None) -> Array:
    return x if limit is None else np.clip(x, -limit, limit)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)
