"""The package as a whole: its names, its data, and what importing it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import limbeck

LIGHT = """
import sys
{code}
heavy = sorted({{"torch", "transformers", "spacy", "pyarrow", "matplotlib", "numpy"}} & set(sys.modules))
print("heavy:", *heavy)
"""


@pytest.mark.parametrize(
    "code",
    [
        "import limbeck\ndir(limbeck)",
        "from limbeck.cli import main\n"
        "names = 'analyze compare measure evaluate encode finetune probe repair merge reproduce'\n"
        "for c in ([], *([c] for c in names.split())):\n"
        "    try: main([*c, '--help'])\n    except SystemExit as e: assert not e.code",
    ],
    ids=["import", "help"],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT.format(code=code)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].strip() == "heavy:"


def test_every_public_name_is_there() -> None:
    for name in limbeck.__all__:
        assert getattr(limbeck, name) is not None
    assert set(limbeck.__all__) <= set(dir(limbeck))
    with pytest.raises(AttributeError, match="no attribute 'mesure'"):
        limbeck.mesure
    assert limbeck.__version__ == version("limbeck")


@pytest.mark.parametrize(
    "package",
    "analysis corpus distillation distillation.x2static encoders evaluation probing reporting stream vectors".split(),
)
def test_names_that_load_late_are_what_type_checkers_read(package: str) -> None:
    module = importlib.import_module(f"limbeck.{package}")
    assert module.__file__
    seen = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(seen) if isinstance(node, ast.ImportFrom)]
    read = {name.name: node.module for node in imports for name in node.names}
    assert set(module.__all__) <= set(read)
    for name in module.__all__:
        assert getattr(module, name) is getattr(importlib.import_module(str(read[name])), name)
    assert dir(module) == sorted(module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'mesure'"):
        module.mesure


def test_the_types_of_public_names_are_tried_by_a_wrong_attribute() -> None:
    """Of a name that mypy takes for `Any` every attribute is right: `tests/typed` would pass."""
    tree = ast.parse((Path(__file__).parent / "typed" / "public_api.py").read_text(encoding="utf-8"))
    tried = {
        ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "nonsense"
    }
    packages = {name for name in limbeck.__all__ if inspect.ismodule(getattr(limbeck, name))}
    classes = {name for name in limbeck.__all__ if inspect.isclass(getattr(limbeck, name))}
    late = {f"{name}.{inner}" for name in ("distillation", "probing") for inner in getattr(limbeck, name).__all__}
    assert tried == {f"lb.{name}" for name in packages | classes | late}


def test_the_program_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "limbeck", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"limbeck {limbeck.__version__}\n"


def test_every_module_says_what_it_is() -> None:
    for module in pkgutil.walk_packages(limbeck.__path__, "limbeck."):
        if module.name.endswith(("__main__", ".kernels")):  # a program; what only a GPU's compiler can read
            continue
        assert importlib.import_module(module.name).__doc__, module.name


def test_no_verb_has_the_name_of_a_module() -> None:
    """Importing a module puts it in the place of whatever the package has by its name."""
    modules = {module.name for module in pkgutil.iter_modules(limbeck.__path__)}
    verbs = {name for name in limbeck.__all__ if callable(getattr(limbeck, name)) and name.islower()}
    assert {"measure", "encode", "repair", "distill", "evaluate", "probe", "finetune", "analyze", "compare"} < verbs
    assert not verbs & modules
