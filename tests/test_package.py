"""The package as a whole: its names, its data, and what importing it costs."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import version

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
    for name in limbeck.stream.__all__:
        assert getattr(limbeck.stream, name) is not None


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
