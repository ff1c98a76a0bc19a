"""Tables made of decisions: groups of contexts."""

from __future__ import annotations

import numpy as np

from limbeck.probing.result import Outcome, confidence_rows, quarters
from limbeck.probing.spaces import Level
from limbeck.probing.splits import DEV, TEST

COUNT = 80


def made(kind: np.ndarray, sides: np.ndarray, own: np.ndarray, right: np.ndarray) -> Outcome:
    """Every row a combination of its own, decided on rightly or not at all."""
    targets, number = np.eye(2, dtype=bool)[kind], np.arange(COUNT)
    level = Level("context", targets, sides, number, targets, number)
    margins, none = own[None].astype(np.float16), np.full(1, np.nan)
    return Outcome("x", "mlp", "all", 0, ("1",), level, number, (targets & right[:, None])[None], margins, {}, none)


def test_quarters_are_of_each_class():
    """A frequent class, of which a probe is always surer, is in every quarter as often as a rare one."""
    generator = np.random.default_rng(0)
    kind = np.array([0] * 64 + [1] * 16)
    sides = np.where(np.arange(COUNT) % 4, TEST, DEV).astype(np.int8)
    margin = np.where(kind == 0, 5.0, -5.0) + generator.permutation(COUNT) / COUNT
    found = quarters([made(kind, sides, margin, np.ones(COUNT, bool))])
    for own in (0, 1):
        test = (kind == own) & (sides == TEST)
        assert np.bincount(found[test])[1:].tolist() == [test.sum() // 4] * 4
        ranks = np.argsort(np.argsort(margin[test]))
        np.testing.assert_array_equal(found[test], ranks // (test.sum() // 4) + 1)
        assert found[kind == own].min() >= 1  # development rows have one too


def test_f1_by_quarter():
    """The least sure half is wrong; two starts are averaged before they are put in order."""
    kind, sides = np.arange(COUNT) % 2, np.full(COUNT, TEST, dtype=np.int8)
    margin = np.arange(COUNT) / COUNT
    outcome = made(kind, sides, margin, margin >= 0.5)
    noise = 4 * np.random.default_rng(1).standard_normal(COUNT)
    around = [made(kind, sides, margin * 64 + sign * noise, np.ones(COUNT, bool)) for sign in (1, -1)]
    rows = confidence_rows([outcome], around)
    assert [row["quarter"] for row in rows] == ["1", "2", "3", "4"]
    np.testing.assert_allclose([row["f1"] for row in rows], [0, 0, 1, 1])
    assert [row["units"] for row in rows] == [20] * 4
