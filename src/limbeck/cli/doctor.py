"""limbeck doctor: what is here, what is missing, and the command that gets it."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from limbeck.cli.output import tell

EPILOG = """\
Tells the versions of everything that matters, the devices that models can run on, and of every extra whether it is
installed, with the command that installs it. The exit status is 1 where something is missing that limbeck needs.

examples:
  limbeck doctor
  limbeck doctor --json
"""
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?[^;]*(?:;(.*))?$")
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
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


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="tell versions, devices, and what is missing",
        description="Tell versions, devices and extras: what is here, what is missing, and the command that gets it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def run(options: argparse.Namespace) -> int:
    base, extras = packages()
    found: dict[str, Any] = {
        "limbeck": _version("limbeck") or "not installed as a package",
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "packages": base,
        "extras": extras,
        "devices": devices(),
        "miniatures": miniatures(),
        "disk_free_gb": round(shutil.disk_usage(Path.cwd()).free / 1e9, 1),
        "hub": hub(),
        "colour": _colour(),
    }
    found["remedies"] = remedies(base, extras, found["miniatures"])
    tell(**found)
    print_found(found)
    return int(any(one is None for one in base.values()) or not all(found["miniatures"].values()))


def packages(declared: list[str] | None = None) -> tuple[dict[str, str | None], dict[str, dict[str, str | None]]]:
    """Versions of what limbeck needs, and by extra of what it can use; None where it is not installed.

    declared  requirements as a package's metadata has them; limbeck's own unless said
    """
    if declared is None:
        try:
            declared = requires("limbeck") or []
        except PackageNotFoundError:  # run from its source, without an installation
            declared = []
    base: dict[str, str | None] = {}
    extras: dict[str, dict[str, str | None]] = {}
    for line in declared:
        if not (match := REQUIREMENT.match(line.strip())):
            continue
        name, condition = match[1], match[2] or ""
        if not (extra := EXTRA.search(condition)):
            base[name] = _version(name)
        elif extra[1] not in FOR_DEVELOPERS:
            extras.setdefault(extra[1], {})[name] = _version(name)
    return base, extras


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


def remedies(
    base: dict[str, str | None], extras: dict[str, dict[str, str | None]], models: dict[str, bool]
) -> dict[str, str]:
    """What is missing -> the command that gets it."""
    found = {name: f"pip install {name}" for name, version in base.items() if version is None}
    for extra, parts in extras.items():
        if any(version is None for version in parts.values()):
            found[f"extra {extra}"] = f'pip install "limbeck[{extra}]"'
    if not all(models.values()):
        found["miniatures"] = "pip install --force-reinstall --no-deps limbeck"
    return found


def print_found(found: dict[str, Any]) -> None:
    print(f"limbeck {found['limbeck']}, Python {found['python']}, {found['system']}")
    print(f"cores {found['cores']}, free disk {found['disk_free_gb']} GB, colour {found['colour']}")
    print(f"hub {found['hub']}")
    print("\ndevices (the first is what --device auto takes)")
    for one in found["devices"]:
        memory = f", {one['memory_gb']} GB" if "memory_gb" in one else ""
        print(f"  {one['device']:8} {one['name']}{memory}")
    print("\npackages")
    for name, number in found["packages"].items():
        print(f"  {name:14} {number or 'MISSING: ' + found['remedies'][name]}")
    there = [name for name, is_there in found["miniatures"].items() if is_there]
    print(f"\nminiatures in the package: {', '.join(there) or 'none: ' + found['remedies']['miniatures']}")
    print("\nextras")
    for name, parts in found["extras"].items():
        missing = [part for part, number in parts.items() if number is None]
        told = ", ".join(f"{part} {number}" for part, number in parts.items() if number)
        if missing:
            told = f"missing {', '.join(missing)}: {found['remedies'][f'extra {name}']}"
        print(f"  {name:14} {told}{f'  ({PURPOSES[name]})' if name in PURPOSES else ''}")
    needed = [name for name, number in found["packages"].items() if number is None]
    print(f"\n{'Missing: ' + ', '.join(needed) if needed else 'All that limbeck needs is here.'}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _colour() -> str:
    if os.environ.get("NO_COLOR"):
        return "off (NO_COLOR)"
    return "on" if sys.stdout.isatty() else "off (no terminal)"
