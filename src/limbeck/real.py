"""Anybody's arrays as plain arrays of real numbers, or a refusal of what would be lost on the way."""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError

WHAT_TO_DO = "give an array of real numbers, without what has no value"

REAL = (numbers.Real, Decimal, np.bool_)


def real_array(x: Any, *, what: str = "x") -> NDArray[Any]:
    """x as a numpy array of real numbers, without a copy where that can be; `what` is how an error calls it.

    Masked values, imaginary parts, and objects that are no numbers (None, pandas' NA) are refused: numpy would fill in,
    drop or fail on them. A masked array of which nothing is masked loses nothing.

    >>> real_array([[1, 2]]).tolist()
    [[1, 2]]
    """
    refuse_unreal(x, what=what)
    if hasattr(x, "detach"):  # a tensor, without importing torch
        x = x.detach().cpu()
        x = x.float() if "bfloat16" in str(x.dtype) else x
        x = x.numpy()
    array = np.asarray(x)
    kind = array.dtype.kind
    if kind == "c":
        raise refused(what, f"complex numbers ({array.dtype})")
    if kind == "O":
        for one in array.flat:
            if not isinstance(one, REAL):
                raise refused(what, f"a value that is no real number ({repr(one)[:40]})")
        return array.astype(np.float64)
    if kind == "V" and array.dtype.names is None:  # bfloat16 and narrower, of packages that add them to numpy
        return array.astype(np.float32)
    if kind not in "fiub":
        raise refused(what, f"values that are no numbers ({array.dtype})")
    return array


def refuse_unreal(x: Any, *, what: str = "x") -> None:
    """Refuse masked values and complex tensors, which have to be seen before x is made an array."""
    if has_mask(x) or (isinstance(x, list | tuple) and any(map(has_mask, x))):
        raise refused(what, "masked values")
    if callable(getattr(x, "is_complex", None)) and x.is_complex():
        raise refused(what, f"complex numbers ({x.dtype})")


def has_mask(x: Any) -> bool:
    """Whether something in an array, or a tensor, is masked."""
    if isinstance(x, np.ma.MaskedArray):
        return bool(np.ma.is_masked(x))
    return hasattr(x, "get_mask") and not bool(x.get_mask().all())  # torch's mask is of what is there


def refused(what: str, got: str) -> InputError:
    return InputError(f"{what} must hold real numbers, got {got}: {WHAT_TO_DO}.", code="wrong_type")
