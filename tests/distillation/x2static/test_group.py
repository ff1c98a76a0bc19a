"""Two processes that train together, over gloo: the vectors of one process, on each of them, stopped or not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import together
import torch
from refusals import raises

from limbeck.distillation.x2static.group import Group
from limbeck.errors import InputError, LimbeckError

SCRIPT = Path(together.__file__)
CONTRAST: dict[str, Any] = {"subsample": 0.05, "negatives": 4}
TASKS: dict[str, dict[str, Any]] = {
    "x2static": {"method": "x2static", "settings": CONTRAST | {"epochs": 2, "schedule": "linear"}},
    "others": {"method": "x2static", "settings": CONTRAST | {"context": "others", "epochs": 2}},
    # 5 dimensions are not divided evenly
    "sent2vec": {"method": "sent2vec", "settings": CONTRAST | {"dim": 5, "epochs": 2}},
    "cosine": {"method": "regression", "settings": {"fit": "cosine", "pull": 2.0}, "start": True},
    "squared": {"method": "regression", "settings": {"pull": 2.0, "epochs": 2}, "start": True},
    "bfloat16": {"method": "x2static", "settings": CONTRAST | {"moments": "bfloat16"}},
}


def run_together(folder: Path, tasks: dict[str, dict[str, Any]], size: int = 2) -> list[dict[str, Any]]:
    folder.mkdir()
    command = [sys.executable, str(SCRIPT)]
    started = [
        subprocess.Popen([*command, str(rank), str(size), str(folder / "store"), str(folder), json.dumps(tasks)])
        for rank in range(size)
    ]
    assert [process.wait(timeout=120) for process in started] == [0] * size
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(size)]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stopped")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, stopped: Path) -> list[dict[str, Any]]:
    """All that two processes make, in one start of them: starting is dear."""
    tasks = dict(TASKS)
    for name in ("x2static", "others", "bfloat16"):
        for at in (3, 8):
            kept = {"checkpoint": str(stopped / f"{name}-{at}")}
            tasks |= {f"{name}-until-{at}": TASKS[name] | kept | {"stop": at}, f"{name}-from-{at}": TASKS[name] | kept}
    tasks["lone"] = TASKS["x2static"] | {"lone": True}
    tasks["kept"] = TASKS["x2static"] | {"checkpoint": str(stopped / "kept"), "stop": 4}
    return run_together(tmp_path_factory.mktemp("both") / "run", tasks)


@pytest.mark.parametrize("name", TASKS)
def test_two_processes_make_the_vectors_of_one(name: str, both: list[dict[str, Any]]) -> None:
    one = together.go(TASKS[name])
    assert one.about["steps"] > 10
    # moments in bfloat16 are rounded at random, for each process by its own draws
    tolerance = 5e-3 if name == "bfloat16" else 2e-5
    for found in both:
        np.testing.assert_allclose(found[name], one.matrix, rtol=0, atol=tolerance)
        np.testing.assert_allclose(found[f"{name}/losses"], [row["loss"] for row in one.losses], rtol=1e-2)
        assert found[f"{name}/steps"] == one.about["steps"]
        assert found[f"{name}/seen"] == one.about["occurrences_seen"]
    np.testing.assert_array_equal(both[0][name], both[1][name])
    moved = one.matrix - together.go(TASKS[name] | {"settings": TASKS[name]["settings"] | {"seed": 1}}).matrix
    assert np.abs(moved).max() > 10 * tolerance  # another training would be told apart


def test_processes_that_do_not_add_up_their_scores_are_noticed(both: list[dict[str, Any]]) -> None:
    assert np.abs(both[0]["lone"] - both[0]["x2static"]).max() > 1e-2


@pytest.mark.parametrize("name", ["x2static", "others", "bfloat16"])
@pytest.mark.parametrize("at", [3, 8])
def test_stopped_together_they_go_on_to_the_same_vectors(
    name: str, at: int, both: list[dict[str, Any]], stopped: Path
) -> None:
    for found in both:
        assert f"{name}-until-{at}/stopped" in found
        np.testing.assert_array_equal(found[f"{name}-from-{at}"], found[name])
        np.testing.assert_array_equal(found[f"{name}-from-{at}/losses"], found[f"{name}/losses"])
    assert [path.name for path in (stopped / f"{name}-{at}").iterdir()] == ["training.npz"]


def test_another_number_of_processes_is_refused(both: list[dict[str, Any]], stopped: Path) -> None:
    assert len(both) == 2
    with raises(InputError, code="other_run", parameter="existing"):
        together.go(TASKS["x2static"] | {"checkpoint": str(stopped / "kept")})


def test_a_process_that_is_gone_is_told_and_the_run_may_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(partial: torch.Tensor) -> None:
        raise RuntimeError("[gloo/transport/tcp/pair.cc:538] Connection closed by peer")

    monkeypatch.setattr(torch.distributed, "all_reduce", gone)
    group = Group()
    group.size = 2
    with raises(LimbeckError, code="worker_lost") as raised:
        group.sum(torch.zeros(1))
    assert isinstance(raised.value.__cause__, OSError)


def test_dimensions_are_divided_without_rest() -> None:
    group = Group()
    rows = torch.arange(10.0).reshape(2, 5)
    assert group.own(rows) is rows
    group.size = 3
    parts = [group.own(rows, rank=rank) for rank in range(3)]
    assert [part.shape for part in parts] == [(2, 2)] * 3
    assert torch.equal(torch.cat(parts, dim=1)[:, :5], rows)
    assert not parts[2][:, 1].any()
