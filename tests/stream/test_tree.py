"""States are merged two by two, and are there until it is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from limbeck.stream.checkpoint import Part

pytest.importorskip("ray", reason="needs ray")
pytestmark = pytest.mark.filterwarnings("ignore")

from limbeck.stream.tree import Node, Tree  # noqa: E402


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setattr("limbeck.stream.tree.put", lambda thing: thing)  # nothing is sent
    return Tree([])


class Stubborn:
    """An actor as `Tree` sees one; its merges are said to have failed."""

    def __init__(self, name: str = "") -> None:
        self.merge, self.name, self.asked = self, name, 0

    def options(self, **_: Any) -> Any:
        return self

    def remote(self, *_: Any) -> tuple[str, str]:
        self.asked += 1
        return f"done {self.name}{self.asked}", f"state {self.asked}"


def test_states_whose_merge_fails_wait_again(tree: Tree) -> None:
    worker = Stubborn()
    own = {Part(0, 2): Node("a", {"x": 1}), Part(2, 3): Node("b", {"x": 2, "y": 1}), Part(5, 6): Node("c", {})}
    for part, node in own.items():
        tree.add(part, node)
    for _ in range(3):
        assert tree.pair(worker)
        assert not tree.pair(worker)  # nothing else has a neighbour
        assert tree.busy(worker)
        assert tree.held == 3
        # what is being merged is there still, and can be kept
        assert tree.nodes() == list(own.items())
        assert not tree.remove(Part(2, 3))
        (reference,) = tree.under_way
        assert tree.failed(reference).both == Part(0, 3)
        assert tree.nodes() == list(own.items())
    assert tree.remove(Part(0, 2))
    assert tree.whole
    tree.add(Part(6, 7), Node("d", {"x": 3}))
    tree.pair(worker)
    assert tree.late(-1.0) == [worker]
    assert tree.late(1000.0) == []
    assert tree.merged(tree.under_way[0]) == Part(5, 7)
    assert tree.nodes() == [(Part(2, 3), own[Part(2, 3)]), (Part(5, 7), Node("state 4", {"x": 3}, 1))]


def test_states_do_not_pile_up(tree: Tree) -> None:
    workers, most = [Stubborn("a"), Stubborn("b"), Stubborn("c")], 0
    generator = np.random.default_rng(0)
    for number in generator.permutation(12).tolist() + list(range(12, 400)):
        if number % 3 == 0:  # a worker comes to its merges before its next block, others work on meanwhile
            for reference in tree.under_way:
                tree.merged(reference)
        while tree.pair(workers[number % 3]):
            pass
        tree.add(Part(number, number + 1), Node("state", {}))
        most = max(most, tree.held)
    assert most < 30
    while not tree.whole:
        tree.pair(workers[0], all_done=True)
        for reference in tree.under_way:
            tree.merged(reference)
    ((part, _),) = tree.nodes()
    assert part == Part(0, 400)
