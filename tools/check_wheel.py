"""Build the wheel and see that it holds the whole package, data included; on request, try it in an empty environment.

python tools/check_wheel.py                          build in a temporary folder and look inside
python tools/check_wheel.py --keep dist --install    keep the wheel, install it elsewhere and run it
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "limbeck"
DATA = "limbeck/data/"
MINIATURES = ("mini-bert", "mini-gpt2", "mini-elmo")
ALL_DATA, ONE_FILE = 40_000_000, 10_000_000  #: bytes that the data, and one file of them, may have
TRIAL = """
import limbeck

assert sum(1 for _ in limbeck.Corpus("sample")) > 1500, "data/sample.jsonl is not what it should be"
assert limbeck.load_encoder("mini-elmo", device="cpu").name == "mini-elmo"
print("imported from", limbeck.__file__)
"""


def build(folder: Path) -> Path:
    """Build the wheel into `folder` and return its path."""
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"The wheel could not be built:\n{done.stdout}{done.stderr}")
    (wheel,) = folder.glob("limbeck-*.whl")
    return wheel


def faults(names: set[str]) -> list[str]:
    """What is wrong with a wheel that holds the files `names`: one line each, none if all is well."""
    expected = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found = [f"missing: {name}" for name in sorted(expected - names)]
    strays = {name for name in names - expected if ".dist-info/" not in name}
    found += [f"does not belong: {name}" for name in sorted(strays)]
    for wanted in ("entry_points.txt", "licenses/LICENSE"):
        if not any(name.endswith(f".dist-info/{wanted}") for name in names):
            found.append(f"missing: {wanted} in the metadata")
    wanted_data = ["sample.jsonl", *(f"miniatures/{name}/model.safetensors" for name in MINIATURES)]
    found += [f"missing: {DATA}{name}" for name in wanted_data if DATA + name not in names]
    return found


def excess(sizes: Mapping[str, int]) -> list[str]:
    """What is too heavy among the data of a wheel, given the bytes of each of its files."""
    data = {name: size for name, size in sizes.items() if name.startswith(DATA)}
    found = [f"too large: {name}, {size / 1e6:.1f} MB" for name, size in data.items() if size > ONE_FILE]
    if sum(data.values()) > ALL_DATA:
        found.append(f"too large: the data together, {sum(data.values()) / 1e6:.1f} MB")
    return found


def try_installed(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment, away from the checkout, and run it there."""
    venv.create(folder / "env", with_pip=True)
    scripts = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    quiet = ["--quiet", "--disable-pip-version-check"]
    constraint = ["--constraint", str(ROOT / "constraints.txt")]
    for command in (
        [str(scripts / "python"), "-m", "pip", "install", *quiet, *constraint, str(wheel)],
        [str(scripts / "python"), "-c", TRIAL],
        [str(scripts / "limbeck"), "--help"],
        [str(scripts / "limbeck"), "models"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"In an empty environment, {' '.join(command[:3])} failed:\n{done.stdout}{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheel and see that it holds the whole package.")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="put the wheel there")
    parser.add_argument("--install", action="store_true", help="install it into an empty environment and run it")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        with zipfile.ZipFile(wheel) as archive:
            sizes = {entry.filename: entry.file_size for entry in archive.infolist() if not entry.is_dir()}
        found = faults(set(sizes)) + excess(sizes)
        if found:
            sys.exit("\n".join([f"{wheel.name} is not whole:", *found]))
        print(f"{wheel.name}: {len(sizes)} files, {wheel.stat().st_size / 1e6:.1f} MB, whole.")
        if arguments.install:
            try_installed(wheel, folder)
            print("It installs and runs in an empty environment.")
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            print(f"Kept as {shutil.copy2(wheel, arguments.keep)}.")


if __name__ == "__main__":
    main()
