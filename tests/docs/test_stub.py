"""The types of the public names are those of the settings."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import limbeck as lb

ROOT = Path(__file__).parents[2]


def stub_module() -> Any:
    """docs/stub.py, which is no package of the installed program."""
    spec = importlib.util.spec_from_file_location("limbeck_stub", ROOT / "docs" / "stub.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_stub_is_what_the_settings_say() -> None:
    module = stub_module()
    assert module.STUB.read_text(encoding="utf-8") == module.stub(), "make pages writes it anew"


def test_every_public_name_is_in_the_stub() -> None:
    text = Path(lb.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    for name in lb.__all__:
        assert name in text
