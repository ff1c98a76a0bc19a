"""Names of a package that load on first use, so that its settings are read without torch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def lazy(package: str, names: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, where `names` has each module's public names, set apart by spaces.

    They hide from type checkers behind `if TYPE_CHECKING`, whose imports name the same: a `__getattr__` that is seen
    makes every name, right or wrong, an `Any`.
    """
    modules = {name: module for module, several in names.items() for name in several.split()}

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    def listed() -> list[str]:
        return list(sys.modules[package].__all__)

    return load, listed
