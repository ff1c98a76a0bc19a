"""Checks of the laws of accumulators, encoders and repairs, for limbeck's own and for anybody's.

    check_accumulator(lambda: MySums(layers=2, dim=5))
    check_encoder(my_encoder)
    check_repair(lambda: MyRepair(n_components=3))

Each returns nothing, and raises `BrokenLaw` where a law does not hold.
"""

from __future__ import annotations

from limbeck.testing.accumulators import LAWS, check_accumulator, join, made_texts
from limbeck.testing.encoders import check_encoder
from limbeck.testing.laws import BrokenLaw
from limbeck.testing.repairs import check_repair

__all__ = ["LAWS", "BrokenLaw", "check_accumulator", "check_encoder", "check_repair", "join", "made_texts"]
