"""`make golden`: the program beside itself as it was, number by number.

    python tools/golden.py                     every scenario, there and here, compared at 1e-10
    python tools/golden.py measure-bert merge  these alone
    python tools/golden.py --record            write tests/golden/record.json, which `make test` compares

There is the commit in tests/golden/BASE, checked out into .golden/base with an environment of its own; its results are
kept in .golden/there and made once. Both sides run in one thread and with the same processor capability. The commands
are tests/golden/scenarios.toml, in the words of that commit; tests/golden/names.toml says what is called otherwise by
now, tests/golden/CHANGES.md which numbers were moved on purpose.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
WORK = ROOT / ".golden"
DATA = ROOT.parent / "shared" / "data"
TOLERANCE = 1e-10
#: what a run writes that holds no number of its own, or that is there to go on from
IGNORED_FOLDERS = ("figures", "state", "checkpoint")
IGNORED_FILES = (".html", ".png", ".svg", ".md", ".toml", ".limbeck", ".lock")
#: of JSON: when, where and how long
IGNORED_KEYS = ("seconds", "versions", "written", "command", "settings", "source", "out", "limbeck", "typed", "machine")
Numbers = dict[str, Any]  #: "file: place" -> a number, or a text that must be the same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", help="names of scenarios (default: all)")
    parser.add_argument("--record", action="store_true", help="write the small committed record, from here")
    options = parser.parse_args()
    scenarios = read_scenarios()
    if unknown := set(options.scenario) - scenarios.keys():
        parser.error(f"no scenario {', '.join(sorted(unknown))}; there are {', '.join(scenarios)}")
    if options.record:
        return record(scenarios)
    wanted = with_needed(scenarios, options.scenario or list(scenarios))
    names, changes = read_names(), read_changes()
    base = checked_out()
    inputs = make_inputs(WORK / "inputs")
    failures = 0
    for name in wanted:
        scenario = scenarios[name]
        if any("{data}" in line for line in scenario["run"]) and not DATA.is_dir():
            print(f"{name}: left out, it needs {DATA}", flush=True)
            continue
        began = time.monotonic()
        there = run_scenario(name, scenario, WORK / "there" / base.commit[:12], base.limbeck, inputs, keep=True)
        middle = time.monotonic()
        here = run_scenario(name, scenario, WORK / "here", [sys.executable, "-m", "limbeck"], inputs, names=names)
        unlike = differences(numbers_in(there, names), numbers_in(here), changes.get(name, []))
        failures += bool(unlike)
        told = f"there {middle - began:.0f} s, here {time.monotonic() - middle:.0f} s"
        print(f"{name}: {f'{len(unlike)} DIFFERENT' if unlike else 'the same'} ({told})", flush=True)
        for line in unlike[:20]:
            print(f"    {line}")
    print(f"{len(wanted) - failures} of {len(wanted)} scenarios are the same at {TOLERANCE:g} as {base.commit[:12]}")
    return int(failures > 0)


def read_scenarios() -> dict[str, dict[str, Any]]:
    return tomllib.loads((GOLDEN / "scenarios.toml").read_text(encoding="utf-8"))


def read_names() -> dict[str, dict[str, str]]:
    """Old names to new ones, by what they name: commands, options, files, columns, values."""
    return tomllib.loads((GOLDEN / "names.toml").read_text(encoding="utf-8"))


def read_changes() -> dict[str, list[str]]:
    """Of each scenario the patterns of places whose numbers were moved on purpose: rows "| scenario | `pattern` |"."""
    text = (GOLDEN / "CHANGES.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for name, pattern in re.findall(r"^\| ([\w-]+) \| `([^`]+)` \|", text, re.MULTILINE):
        found.setdefault(name, []).append(pattern)
    return found


def with_needed(scenarios: Mapping[str, Any], asked: list[str]) -> list[str]:
    """These scenarios, each behind those whose folders it goes on from."""
    found: dict[str, None] = {}
    for name in asked:
        needed = re.findall(r"\{runs\}/([\w-]+)", " ".join(scenarios[name]["run"]))
        found |= dict.fromkeys([*needed, name])
    return list(found)


class Base:
    """The recorded commit with its own environment."""

    def __init__(self, commit: str) -> None:
        self.commit = commit
        self.tree = WORK / "base"
        self.python = WORK / "environment" / "bin" / "python"

    @property
    def limbeck(self) -> list[str]:
        return [str(self.python), "-m", "limbeck"]


def checked_out() -> Base:
    base = Base((GOLDEN / "BASE").read_text(encoding="utf-8").split()[0])
    WORK.mkdir(exist_ok=True)
    if not base.tree.is_dir():
        _do("git", "worktree", "prune")
        _do("git", "worktree", "add", "--detach", "--force", str(base.tree), base.commit)
    else:
        _do("git", "-C", str(base.tree), "checkout", "--quiet", "--detach", base.commit)
    stamp = WORK / "environment" / "of"
    constraints = (base.tree / "constraints.txt").read_text() + (base.tree / "pyproject.toml").read_text()
    if not stamp.is_file() or stamp.read_text() != constraints:
        shutil.rmtree(WORK / "environment", ignore_errors=True)
        print("installing the recorded commit, a minute or two ...", flush=True)
        _do(sys.executable, "-m", "venv", str(WORK / "environment"))
        pip = [str(base.python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        _do(*pip, "-c", str(base.tree / "constraints.txt"), "-e", f"{base.tree}[dev,models]")
        stamp.write_text(constraints)
    return base


def _do(*command: str) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


def make_inputs(folder: Path) -> Path:
    """Texts and small data sets made of the sample corpus; the scores of pairs are hashes."""
    lines = (ROOT / "src" / "limbeck" / "data" / "sample.jsonl").read_text(encoding="utf-8").splitlines()
    sentences = [words for words in (json.loads(line)["words"] for line in lines) if len(words) > 3]
    sentences = list({" ".join(words).lower(): words for words in sentences}.values())  # each once
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "made"
    for name in ("STSBenchmark", "SimLex-999", "SST"):
        (made / name).mkdir(parents=True, exist_ok=True)

    def write(path: Path, lines: list[str]) -> None:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    write(folder / "text.txt", [" ".join(words) for words in sentences[:600]])
    write(folder / "more.txt", [" ".join(words) for words in sentences[600:1000]])
    pairs = [(" ".join(a), " ".join(b)) for a, b in zip(sentences[::7], sentences[3::7], strict=False)]
    rows = [f"main-news\tx\t2012\t{n}\t{5 * share(a, b):.2f}\t{a}\t{b}" for n, (a, b) in enumerate(pairs[:160])]
    write(made / "STSBenchmark" / "sts-test.csv", rows[:80])
    write(made / "STSBenchmark" / "sts-dev.csv", rows[80:])
    counts: dict[str, int] = {}
    for words in sentences:
        for word in words:
            if word.isalpha() and word.islower():
                counts[word] = counts.get(word, 0) + 1
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[40:240]
    couples = list(zip(frequent[::2], frequent[1::2], strict=True))
    write(
        made / "SimLex-999" / "SimLex-999.txt",
        ["word1\tword2\tPOS\tSimLex999", *(f"{a}\t{b}\tN\t{10 * share(a, b):.2f}" for a, b in couples)],
    )
    write(made / "EN-MTurk-287.txt", [f"{a}\t{b}\t{1 + 4 * share(b, a):.3f}" for a, b in couples])
    write(made / "words.txt", [*frequent[:60], "unfathomableness", "x-ray", "nosuchword"])
    same: list[str] = []
    for words in sentences[:120]:
        other = [
            frequent[int(100 + 100 * share(word, ""))] if word.isalpha() and len(word) > 4 else word for word in words
        ]
        same.append(f"1.0\t{' '.join(words)}\t{' '.join(other)}\t1")
        same.append(f"1.0\t{' '.join(words)}\t{' '.join(words[::-1])}\t0")
    write(made / "made.pairs.tsv", same)
    labelled = [f"{int(share(' '.join(words), '') > 0.5)} {' '.join(words)}" for words in sentences]
    for name, some in (("train", labelled[:300]), ("dev", labelled[300:360]), ("test", labelled[360:420])):
        write(made / "SST" / f"stsa.binary.{name}", some)
    return folder


def share(one: str, other: str) -> float:
    """A number from 0 to 1 made of two texts."""
    return int.from_bytes(hashlib.blake2b(f"{one}\0{other}".encode(), digest_size=4).digest()) / 2**32


def run_scenario(
    name: str,
    scenario: Mapping[str, Any],
    runs: Path,
    limbeck: list[str],
    inputs: Path,
    *,
    names: Mapping[str, Mapping[str, str]] | None = None,
    keep: bool = False,
) -> Path:
    """The folder of a scenario, run anew, or kept from the last time where its commands are the same."""
    out = runs / name
    done = out / "commands.json"
    if keep and done.is_file() and json.loads(done.read_text()) == scenario["run"]:
        return out
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    places = {
        "out": out, "runs": runs, "text": inputs / "text.txt", "more": inputs / "more.txt", "made": inputs / "made",
        "data": DATA,
    }  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment.pop("PYTHONPATH", None)  # each side runs the code that is installed in its environment
    environment.setdefault("ATEN_CPU_CAPABILITY", "avx2")
    for number, line in enumerate(scenario["run"]):
        words = [word.format(**places) for word in shlex.split(line)]
        command = [*limbeck, *(renamed(words, names) if names else words)]
        if scenario.get("interrupt") and not number:
            interrupt(command, out, environment)
            command += ["--existing", "resume"]
        made = subprocess.run(command, capture_output=True, text=True, cwd=out, env=environment)
        if made.returncode:
            print(f"{name}: {shlex.join(command)}\nended with {made.returncode}\n{made.stderr[-2000:]}", flush=True)
            break
    else:
        done.write_text(json.dumps(scenario["run"]))
    return out


def renamed(words: list[str], names: Mapping[str, Mapping[str, str]]) -> list[str]:
    """A command line in today's words."""
    options, commands = names.get("options", {}), names.get("commands", {})
    own = names.get(f"options {words[0]}", {})
    return [commands.get(words[0], words[0]), *(own.get(word, options.get(word, word)) for word in words[1:])]


def interrupt(command: list[str], out: Path, environment: Mapping[str, str]) -> None:
    """Run a command until it has saved a part of its state, and stop it there."""
    process = subprocess.Popen(command, cwd=out, env=dict(environment), stderr=subprocess.DEVNULL)
    while process.poll() is None and not any(out.glob(".*.unfinished/**/parts/*.npz")):
        time.sleep(0.02)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)


# comparing


def numbers_in(folder: Path, names: Mapping[str, Mapping[str, str]] | None = None) -> Numbers:
    """Every number in the files of a scenario by its place, in today's words where `names` are given."""
    found: Numbers = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if not path.is_file() or path.name == "commands.json" or path.suffix in IGNORED_FILES:
            continue
        if set(place.parts) & set(IGNORED_FOLDERS) or any(part.startswith(".") for part in place.parts):
            continue
        for inside, value in read(path):
            told = f"{place}: {' '.join(inside)}"
            if names:
                told = in_new_words(told, names)
                value = names.get("values", {}).get(value, value) if isinstance(value, str) else value
            found[told] = value
    return found


def in_new_words(place: str, names: Mapping[str, Mapping[str, str]]) -> str:
    """A place of the recorded commit as it is called today."""
    path, _, inside = place.partition(": ")
    folder, slash, file = path.rpartition("/")
    columns = names.get("columns", {})
    return f"{folder}{slash}{names.get('files', {}).get(file, file)}: " + " ".join(
        columns.get(part, part) for part in inside.split(" ")
    )


def read(path: Path) -> Iterator[tuple[list[str], Any]]:
    """The places and values in a file."""
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as file:
            for row, cells in enumerate(csv.DictReader(file)):
                for column, cell in cells.items():
                    yield [str(column), str(row)], number(cell or "")
    elif path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        table = parquet.read_table(path)
        for column in table.column_names:
            values = table.column(column).to_pylist()
            flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
            if all(isinstance(one, int | float | None) for one in flat):
                yield [column], np.array([np.nan if one is None else one for one in flat], dtype=np.float64)
            else:
                yield [column], digest("\n".join(map(str, flat)))
    elif path.suffix in (".npz", ".npy"):
        loaded = np.load(path, allow_pickle=False)
        for name in [""] if path.suffix == ".npy" else loaded.files:
            array = loaded[name] if name else loaded
            yield [name or "array"], array if array.dtype.kind in "fiub" else digest(array.tobytes())
    elif path.suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(str(path), framework="np") as file:
            for name in file.keys():  # noqa: SIM118 (it is no dict)
                yield [name], file.get_tensor(name)
    elif path.suffix == ".json":
        yield from leaves(json.loads(path.read_text(encoding="utf-8")), [])
    elif path.suffix in (".txt", ".vec", ".glove"):
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines()):
            for column, field in enumerate(text.split(" ")):
                yield [str(line), str(column)], number(field)


def leaves(value: Any, place: list[str]) -> Iterator[tuple[list[str], Any]]:
    """The numbers of a JSON value."""
    if isinstance(value, dict):
        for key, inside in value.items():
            if key not in IGNORED_KEYS:
                yield from leaves(inside, [*place, key])
    elif isinstance(value, list):
        for at, inside in enumerate(value):
            yield from leaves(inside, [*place, str(at)])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, float(value)


def number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def digest(text: str | bytes) -> str:
    return hashlib.blake2b(text.encode() if isinstance(text, str) else text, digest_size=8).hexdigest()


def differences(old: Numbers, new: Numbers, moved: list[str], *, tolerance: float = TOLERANCE) -> list[str]:
    """In lines what is there and not here, or another number; what is new here alone is no difference."""
    lines = []
    for place, value in old.items():
        if any(re.search(pattern, place) for pattern in moved):
            continue
        if place not in new:
            lines.append(f"{place}: is missing, was {shown(value)}")
        elif (apart := distance(value, new[place])) > tolerance:
            lines.append(f"{place}: was {shown(value)}, is {shown(new[place])} ({apart:.2g})")
    return lines if old else ["nothing was written there"]


def shown(value: Any) -> str:
    return f"an array of {value.shape}" if isinstance(value, np.ndarray) else repr(value)[:60]


def distance(one: Any, other: Any) -> float:
    """How far apart two values are, beside their size; 0 for equal texts, infinite for what cannot be compared."""
    if isinstance(one, str) or isinstance(other, str):
        return 0.0 if one == other else np.inf
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.shape != b.shape:
        return np.inf
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b) / np.maximum(1.0, np.abs(a)))
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


# the small committed record


def small_numbers(folder: Path) -> Numbers:
    """Of a scenario the numbers that fit a record: the middle and the interval of what layers and tasks have."""
    tables = ("layers.csv", "scores.csv", "comparisons.csv", "compare.csv")
    return {
        place: value
        for place, value in numbers_in(folder).items()
        if Path(place.split(":")[0]).name in tables and isinstance(value, float) and np.isfinite(value)
    }


def record(scenarios: Mapping[str, Any]) -> int:
    inputs = make_inputs(WORK / "inputs")
    kept = {}
    for name, scenario in scenarios.items():
        if scenario.get("small"):
            folder = run_scenario(name, scenario, WORK / "record", [sys.executable, "-m", "limbeck"], inputs)
            kept[name] = small_numbers(folder)
            print(f"{name}: {len(kept[name])} numbers")
    (GOLDEN / "record.json").write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
