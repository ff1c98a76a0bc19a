"""Which engine runs a pass; what a shard adds does not depend on those before it; models as they are sent."""

from __future__ import annotations

import io
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from made import OwnEncoder, sentences
from refusals import raises, refused

from limbeck.accumulators import Accumulator, Moments, WordSums
from limbeck.cli import main
from limbeck.encoded import Encoded
from limbeck.encoders import load_encoder
from limbeck.errors import MissingExtra, UsageError
from limbeck.stream import collect_texts, stream
from limbeck.stream.filling import settle

SHAPE = {"layers": 2, "dim": 5}


def test_an_unknown_engine_is_refused() -> None:
    with raises(UsageError, code="unknown_choice", parameter="engine", says="'ray'"):
        stream(sentences(9), OwnEncoder(), [], engine="rya")


def test_without_ray_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "limbeck.stream.ray", raising=False)
    with raises(MissingExtra, code="not_installed"):
        stream(sentences(9), OwnEncoder(), [], engine="ray")


@pytest.mark.parametrize("option", [["--address", "auto"], ["--gpus-per-worker", "1"]])
def test_options_of_ray_need_ray(tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["measure", "--model", "mini-bert", "--corpus", "sample", "--out", str(tmp_path / "run"), *option]
    name = option[0].removeprefix("--").replace("-", "_")
    assert refused(*given, capsys=capsys) == (2, "no_effect", name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("named", ["--address", "RAY_ADDRESS"])
def test_an_address_where_nobody_listens_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    pytest.importorskip("ray", reason="needs ray")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"  # free a moment later
    monkeypatch.setenv("RAY_ADDRESS", address)
    given = ["--engine", "ray", "--address", address if named == "--address" else "auto"]
    assert main(["measure", "--model", "mini-bert", "--corpus", "sample", "--out", str(tmp_path / "run"), *given]) == 1
    told = capsys.readouterr().err
    assert f"a cluster of Ray must be at --address {address}" in told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


PRINTED = """
import limbeck.stream.ray
from ray._private.ray_logging import stdout_deduplicator

def told(line):
    said = {"lines": [line], "pid": "raylet", "is_err": False, "job_id": None, "ip": "127.0.0.1"}
    return [line for some in stdout_deduplicator.deduplicate(said) for line in some["lines"]]

assert told("another thing") == ["another thing"]
assert told("A worker died or was killed while executing a task by an unexpected system error.") == []
"""


@pytest.mark.ray
def test_ray_does_not_print_where_results_are_expected() -> None:
    """In a process of its own: Ray reads what it is told when it is first imported."""
    pytest.importorskip("ray", reason="needs ray")
    subprocess.run([sys.executable, "-c", PRINTED], check=True, capture_output=True)


# shards


def batch(seed: int, *, rows: int = 60, mean: float = 50.0) -> Encoded:
    """float32 vectors far from the origin, where rounding shows."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(mean, 1.0, size=(2, rows, 5)).astype(np.float32)
    texts = np.sort(generator.integers(0, 9, size=rows)) + 100 * seed
    words = generator.integers(-1, 7, size=rows)
    identities = np.arange(rows, dtype=np.uint64) + np.uint64(1000 * seed)
    return Encoded(torch.from_numpy(vectors), words, texts, texts, identities, ["w"] * rows)


@pytest.mark.parametrize("kind", [Moments, WordSums])
def test_what_a_shard_adds_does_not_depend_on_those_before_it(kind: Any) -> None:
    def empty() -> Accumulator:
        made: Accumulator = kind(**SHAPE, **({"words": 7} if kind is WordSums else {}))
        return made

    shards = [[batch(10 * shard + number, mean=30.0 * shard) for number in range(3)] for shard in range(1, 5)]
    through, apart = empty(), []
    for shard in shards:
        apart.append(empty())
        for one in shard:
            through.update(one)
            apart[-1].update(one)
        settle([through, apart[-1]])
    whole = apart[0]
    for one in apart[1:]:
        whole.merge(one)
    theirs = whole.state()
    for name, array in through.state().items():
        np.testing.assert_allclose(array, theirs[name], rtol=1e-13, err_msg=name)


def test_a_model_of_transformers_is_sent_with_all_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="needs ray")
    from transformers.utils.output_capturing import _CAN_RECORD_REGISTRY

    from limbeck.stream.ray import _Packer

    encoder = load_encoder(str(tiny_models.save_bert(tmp_path)))
    texts = ["the river rose", "a lamp of copper"]
    before = collect_texts(encoder, texts)  # transformers hangs its hooks on the model here
    file = io.BytesIO()
    _Packer(file).dump(encoder)
    for kind in list(_CAN_RECORD_REGISTRY):  # as in a process that has never made a model
        monkeypatch.delitem(_CAN_RECORD_REGISTRY, kind)
    again = pickle.loads(file.getvalue())
    assert again.fingerprint == encoder.fingerprint
    torch.testing.assert_close(collect_texts(again, texts).vectors, before.vectors, rtol=0, atol=0)
    torch.testing.assert_close(collect_texts(encoder, texts).vectors, before.vectors, rtol=0, atol=0)
