"""limbeck doctor: what is here, what is missing, and the command that gets it."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from limbeck import __version__
from limbeck.cli.output import tell, wrapped
from limbeck.cli.program import TerminalCommand, TerminalSettings

REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?([^;]*)(?:;(.*))?$")
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
LEAST = re.compile(r">=\s*(\d+(?:\.\d+)*)")
FOR_DEVELOPERS = ("dev", "docs", "models")  #: extras that no user of limbeck misses
#: what an extra is for, in a few words
PURPOSES = {
    "hdf5": "vectors in HDF5",
    "gguf": "models in GGUF",
    "sentencepiece": "tokenisers of sentencepiece",
    "ja": "words of Japanese",
    "th": "words of Thai",
    "vi": "words of Vietnamese",
    "zh": "words of Chinese",
    "repair": "repairs, analyses, word tasks",
    "st": "repairs inside sentence-transformers",
    "export": "gensim and model2vec, baselines",
    "ray": "a pass on a cluster",
    "remote": "text and results by URL",
}


@dataclass(kw_only=True)
class DoctorCommand(TerminalCommand):
    """Report versions, devices and extras: what is here, what is missing, and the command that gets it."""

    command: ClassVar[str] = "doctor"
    summary: ClassVar[str] = "report versions, devices, and what is missing"
    details: ClassVar[str] = """\
Reports the versions of everything that matters, the devices that models can run on, and of every extra whether it is
installed, with the command that installs it. The exit status is 1 where something is missing that limbeck needs.
"""
    examples: ClassVar[str] = """\
limbeck doctor
limbeck doctor --json
"""

    def perform(self, terminal: TerminalSettings) -> int:
        base, extras = packages()
        found: dict[str, Any] = {
            "limbeck": version_of("limbeck") or f"{__version__} (not installed as a package)",
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "packages": {one.name: one.version for one in base},
            "extras": {extra: {one.name: one.version for one in parts} for extra, parts in extras.items()},
            "devices": devices(),
            "miniatures": miniatures(),
            "disk_free_gb": round(shutil.disk_usage(Path.cwd()).free / 1e9, 1),
            "hub": hub(),
            "colour": _colour(),
        }
        found["needed"] = needed(base, found["devices"], found["miniatures"])
        found["remedies"] = remedies(base, extras, found["miniatures"])
        tell(**found)
        print_found(found, base, extras)
        return int(bool(found["needed"]))


@dataclass(frozen=True)
class Package:
    """What limbeck needs or can use: the version, None where it is not installed, and the least that will do."""

    name: str
    version: str | None
    least: str = ""

    @property
    def wanting(self) -> str:
        """What is wrong with it, if anything is."""
        if self.version is None:
            return "missing"
        return "too old" if self.least and release(self.version) < release(self.least) else ""

    @property
    def asked(self) -> str:
        """As pip is asked for it."""
        return f'"{self.name}>={self.least}"' if self.least else self.name


def packages(declared: list[str] | None = None) -> tuple[list[Package], dict[str, list[Package]]]:
    """What limbeck needs, and by extra what it can use.

    declared  requirements as a package's metadata has them; limbeck's own unless said
    """
    if declared is None:
        try:
            declared = requires("limbeck") or []
        except PackageNotFoundError:  # run from its source, without an installation
            declared = []
    base: list[Package] = []
    extras: dict[str, list[Package]] = {}
    for line in declared:
        if not (match := REQUIREMENT.match(line.strip())):
            continue
        least = LEAST.search(match[2])
        one = Package(match[1], version_of(match[1]), least[1] if least else "")
        if not (extra := EXTRA.search(match[3] or "")):
            base.append(one)
        elif extra[1] not in FOR_DEVELOPERS:
            extras.setdefault(extra[1], []).append(one)
    return base, extras


def needed(base: list[Package], devices: list[dict[str, Any]], models: dict[str, bool]) -> list[str]:
    """What limbeck cannot do without and has not."""
    found = [one.name if one.wanting == "missing" else f"{one.name} ({one.wanting})" for one in base if one.wanting]
    if not base:
        found.append("limbeck as a package")
    if devices[0]["device"] == "none" and not any(one.name == "torch" and one.wanting for one in base):
        found.append("a torch that can be loaded")
    return found + ["miniatures"] * (not all(models.values()))


def devices() -> list[dict[str, Any]]:
    """What models can run on, the one that auto takes first; what is wrong where torch cannot be loaded."""
    try:
        import torch
    except Exception as error:  # whatever a broken installation raises: it is what is asked for
        return [{"device": "none", "name": f"torch cannot be loaded: {' '.join(str(error).split())[:200]}"}]
    found = []
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        about = torch.cuda.get_device_properties(number)
        found.append({"device": f"cuda:{number}", "name": about.name, "memory_gb": round(about.total_memory / 1e9, 1)})
    if torch.backends.mps.is_available():
        found.append({"device": "mps", "name": "Apple GPU"})
    capability = torch.backends.cpu.get_cpu_capability()
    found.append({"device": "cpu", "name": f"{torch.get_num_threads()} threads, {capability}"})
    return found


def miniatures() -> dict[str, bool]:
    """Whether the models of the package are there."""
    from limbeck.encoders.miniatures import MINIATURES, miniature_folder

    return {name: (miniature_folder(name) / "model.safetensors").is_file() for name in MINIATURES}


def hub() -> str:
    """Where models of the Hugging Face hub are kept, and whether new ones may be fetched."""
    home = os.environ.get("HF_HUB_CACHE") or os.path.join(
        os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface"), "hub"
    )
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    return f"{home}{' (HF_HUB_OFFLINE: only what is there)' if offline else ''}"


def remedies(base: list[Package], extras: dict[str, list[Package]], models: dict[str, bool]) -> dict[str, str]:
    """What is missing or too old -> the command that gets it."""
    found = {one.name: f"pip install {one.asked}" for one in base if one.wanting}
    if not base:
        found["limbeck"] = "pip install -c constraints.txt ."
    for extra, parts in extras.items():
        if any(one.wanting for one in parts):
            found[f"extra {extra}"] = f'pip install "limbeck[{extra}]"'
    if not all(models.values()):
        found["miniatures"] = f"pip install --force-reinstall --no-deps {came_from()}"
    return found


def came_from() -> str:
    """What pip is asked for to get the same limbeck again: the folder it was installed from, or its name."""
    try:
        told = json.loads(distribution("limbeck").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return "."
    url = str(told.get("url", "limbeck"))
    return shlex.quote(unquote(url.removeprefix("file://"))) if url.startswith("file://") else url


def print_found(found: dict[str, Any], base: list[Package], extras: dict[str, list[Package]]) -> None:
    _say(f"limbeck {found['limbeck']}, Python {found['python']}, {found['system']}")
    _say(f"cores {found['cores']}, free disk {found['disk_free_gb']} GB, colour {found['colour']}")
    _say(f"hub {found['hub']}")
    print("\ndevices (the first is what --device auto takes)")
    for one in found["devices"]:
        memory = f", {one['memory_gb']} GB" if "memory_gb" in one else ""
        _say(f"  {one['device']:8} {one['name']}{memory}", 11)
    print("\npackages")
    for package in base:
        told = package.version or ""
        if package.wanting:
            told = f"{f'{told} ' * bool(told)}{package.wanting.upper()}: {found['remedies'][package.name]}"
        _say(f"  {package.name:14} {told}", 17)
    if not base:
        _say(f"  not known, limbeck is not installed as a package: {found['remedies']['limbeck']}")
    lost = [name for name, is_there in found["miniatures"].items() if not is_there]
    told = f"MISSING {', '.join(lost)}: {found['remedies']['miniatures']}" if lost else ", ".join(found["miniatures"])
    print()
    _say(f"miniatures in the package: {told}")
    if extras:
        print("\nextras")
    for name, parts in extras.items():
        wanting = [f"{one.wanting} {one.name}" for one in parts if one.wanting]
        told = ", ".join(f"{one.name} {one.version}" for one in parts if one.version)
        if wanting:
            told = f"{', '.join(wanting)}: {found['remedies'][f'extra {name}']}"
        _say(f"  {name:14} {told}{f'  ({PURPOSES[name]})' if name in PURPOSES else ''}", 17)
    lacking = found["needed"]
    print()
    _say(f"Needed: {', '.join(lacking)}" if lacking else "All that limbeck needs is here.")


def _say(line: str, indent: int = 2) -> None:
    print(wrapped(line, indent=" " * indent))


def version_of(name: str) -> str | None:
    """The version that is installed; "unknown" where its metadata are broken, None where there is none."""
    try:
        return version(name) or "unknown"
    except PackageNotFoundError:
        return None
    except Exception:  # whatever half a folder raises
        return "unknown"


def release(text: str) -> tuple[int, ...]:
    """The numbers of a version, to compare by; of one that is not known more than any.

    >>> release("2.13.0+cpu") > release("2.9")
    True
    """
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else (sys.maxsize,)


def _colour() -> str:
    if os.environ.get("NO_COLOR"):
        return "off (NO_COLOR)"
    return "on" if sys.stdout.isatty() else "off (no terminal)"
