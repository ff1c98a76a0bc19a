"""What tests ask of an error: its class, by its code what is wrong, and the parameter that it is about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from limbeck.cli import main
from limbeck.errors import LimbeckError


@contextmanager
def raises(
    kind: type[LimbeckError], *, code: str, parameter: str | None = "", says: str | tuple[str, ...] = ()
) -> Iterator[pytest.ExceptionInfo[LimbeckError]]:
    """The block ends by such an error.

    parameter  None where it differs from case to case
    says       data that the message must hold: a file and its line, the number that was got; never its prose
    """
    __tracebackhide__ = True
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert error.code == code, f"{error.code!r}: {error}"
    assert parameter in (None, error.parameter), f"{error.parameter!r}: {error}"
    missing = [datum for datum in ([says] if isinstance(says, str) else says) if datum not in str(error)]
    assert not missing, f"{missing} missing in: {error}"


def refused(*words: Any, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """How a command line ends that is refused: its exit status, what is wrong, and about which parameter."""
    capsys.readouterr()
    status = main([*map(str, words), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["error"]
    assert told["status"] == status
    return status, told.get("code", ""), told.get("parameter", "")
