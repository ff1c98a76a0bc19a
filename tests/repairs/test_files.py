"""Repairs in files: bit by bit, chains too, and one clear line for what is no such file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from refusals import raises
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import limbeck as lb
from limbeck.errors import InputError, LimbeckError
from limbeck.repairs import AllButTheTop, Center, ClusterRemoval, ScaledCenter, Standardize, Whitening

X = np.random.default_rng(0).normal(size=(60, 5)) + 2.0
ALL = [
    Center(),
    ScaledCenter(),
    Standardize(),
    Whitening(),
    AllButTheTop(2, projection="uncentered"),
    AllButTheTop(0),
    ClusterRemoval(np.int64(3), 2, random_state=4),
    ClusterRemoval(2, 1, init=X[:2]),
    ClusterRemoval(2, 1, init=torch.from_numpy(X[:2])),
    ClusterRemoval(1, 1, init=X[:1].tolist()),
]


@pytest.mark.parametrize("repair", ALL, ids=lambda r: type(r).__name__)
def test_there_and_back(repair: Any, tmp_path: Path) -> None:
    repair.fit(X).save(tmp_path / "r.safetensors")
    loaded = lb.repairs.load(str(tmp_path / "r.safetensors"))
    assert type(loaded) is type(repair)
    assert_array_equal(loaded.transform(X), repair.transform(X))
    for name in repair.learned:
        assert getattr(loaded, name).tobytes() == getattr(repair, name).tobytes()
    assert {k: np.asarray(v).tolist() for k, v in loaded.get_params().items()} == {
        k: np.asarray(v).tolist() for k, v in repair.get_params().items()
    }
    assert list(tmp_path.iterdir()) == [tmp_path / "r.safetensors"]
    with raises(LimbeckError, code="unsupported"):
        loaded.partial_fit(X)
    loaded.fit(X + 1.0)  # anew
    loaded.partial_fit(X)


def test_what_the_file_says(tmp_path: Path) -> None:
    AllButTheTop(2).fit(X).save(tmp_path / "r.safetensors")
    with safe_open(tmp_path / "r.safetensors", framework="numpy") as file:
        about = json.loads(file.metadata()["limbeck_repair"])
        assert sorted(file.keys()) == ["0.components_", "0.mean_", "0.variances_"]
    assert about == {
        "format": 2,
        "chain": False,
        "steps": [
            {
                "name": "allbutthetop",
                "class": "AllButTheTop",
                "params": {"n_components": 2, "projection": "centered"},
                "features": 5,
                "feature_names": None,
            }
        ],
    }


def test_a_stream_that_was_not_asked_yet_is_saved(tmp_path: Path) -> None:
    Center().partial_fit(X[:30]).partial_fit(X[30:]).save(tmp_path / "r.safetensors")
    np.testing.assert_allclose(lb.repairs.load(tmp_path / "r.safetensors").mean_, X.mean(0), atol=1e-12)


def test_chains(tmp_path: Path) -> None:
    chain = make_pipeline(Center(), "passthrough", ClusterRemoval(3, 1), Standardize()).fit(X)
    lb.repairs.save(chain, tmp_path / "chain.safetensors")
    loaded = lb.repairs.load(tmp_path / "chain.safetensors")
    assert isinstance(loaded, Pipeline)
    assert [name for name, _ in loaded.steps] == ["center", "clusterremoval", "standardize"]
    assert_array_equal(loaded.transform(X), chain.transform(X))
    assert_array_equal(lb.repairs.as_torch(loaded)(torch.from_numpy(X)), chain.transform(X))


def test_feature_names_are_kept(tmp_path: Path) -> None:
    repair = Center().fit(X)
    repair.feature_names_in_ = np.array(list("abcde"), dtype=object)
    repair.save(tmp_path / "r.safetensors")
    assert list(lb.repairs.load(tmp_path / "r.safetensors").get_feature_names_out()) == list("abcde")


def test_only_fitted_repairs_are_saved(tmp_path: Path) -> None:
    with raises(LimbeckError, code="wrong_type", parameter="repair"):
        lb.repairs.save(make_pipeline(Center(), StandardScaler()).fit(X), tmp_path / "r")
    with pytest.raises(ValueError, match="not fitted"):
        lb.repairs.save(Center(), tmp_path / "r")
    assert not list(tmp_path.iterdir())


def rewrite(path: Path, change: Any) -> None:
    """The file with its arrays and its description changed by `change(arrays, about)`."""
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(file.metadata()["limbeck_repair"])
    change(arrays, about)
    save_file(arrays, path, metadata={"limbeck_repair": json.dumps(about)})


BREAKS: dict[str, tuple[Any, str]] = {
    "format": (lambda a, t: t.update(format=3), "other_format"),
    "class": (lambda a, t: t["steps"][0].update({"class": "Centre"}), "unknown_choice"),
    "steps": (lambda a, t: t.update(steps=[]), "damaged"),
    "lost array": (lambda a, t: a.pop("0.mean_"), "damaged"),
    "nan": (lambda a, t: a.update({"0.mean_": np.full(5, np.nan)}), "damaged"),
    "shape": (lambda a, t: a.update({"0.mean_": np.zeros(4)}), "damaged"),
    "params": (lambda a, t: t["steps"][0]["params"].update(strength=2), "damaged"),
    "no dictionary": (lambda a, t: t.update(steps=[3]), "damaged"),
    "no step": (lambda a, t: t.pop("chain"), "damaged"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_damaged_file_is_one_line(name: str, tmp_path: Path) -> None:
    change, code = BREAKS[name]
    path = tmp_path / "r.safetensors"
    Center().fit(X).save(path)
    rewrite(path, change)
    with raises(InputError, code=code) as caught:
        lb.repairs.load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_foreign_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    with raises(InputError, code="other_kind"):
        lb.repairs.load(path)
    path.write_bytes(b"nothing of the kind")
    with raises(InputError, code="other_kind"):
        lb.repairs.load(path)
    save_file({"vectors": X}, path)
    with raises(InputError, code="other_kind"):
        lb.repairs.load(path)
    Whitening().fit(X).save(path)
    path.write_bytes(path.read_bytes()[:-8])
    with raises(InputError, code="other_kind") as caught:
        lb.repairs.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        lb.repairs.load(tmp_path)
