"""How soon the report of a large run can be read: 13 layers × 50,000 words in a headless browser.

    python -m benchmarks.page [--words 50000] [--runs 1] [--browser /usr/bin/chromium]

The run is made of numbers, with as much of everything as `limbeck measure` writes at most. Told are the size of the
page, the time to write it, the time from asking for it to all sections drawn (median of several openings, each in a
fresh browser context), how long one frame takes at the median and at worst while the table of words is scrolled from
end to end, and how long sorting it takes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import report as write_figures
from limbeck.reporting import report
from limbeck.reporting.read import MEASURES
from limbeck.runs.measuring.explorer import CLOUDS, NEIGHBORS, OCCURRENCES
from limbeck.tables import write_csv, write_parquet

LIMIT = 3.0  #: seconds in which a page must be open
DIM = 768
SCROLL = """async () => {
  const body = document.querySelector('#words .body'), frames = [];
  let last = performance.now();
  for (let i = 0; i <= 120; i++) {
    body.scrollTop = body.scrollHeight * i / 120;
    await new Promise(requestAnimationFrame);
    frames.push(performance.now() - last);
    last = performance.now();
  }
  return frames.slice(1);
}"""
SORT = """async () => {
  const began = performance.now();
  document.querySelectorAll('#words .head button')[1].click();
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--browser", default=shutil.which("chromium"))
    parser.add_argument("--name", default="page")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        runs = [made(Path(folder) / f"run{i}", options.words, options.layers, seed=i) for i in range(options.runs)]
        began = time.perf_counter()
        page = report(*runs, out=Path(folder) / "report.html")
        written = time.perf_counter() - began
        figures = {
            "words": options.words, "layers": options.layers, "runs": options.runs,
            "size of the page, MB": round(page.stat().st_size / 1e6, 2), "seconds to write it": round(written, 2),
        }  # fmt: skip
        write_figures(options.name, figures | opened(page, options.browser, options.rounds))


def opened(page: Path, executable: str, rounds: int) -> dict[str, Any]:
    """Times of a page in a browser."""
    from playwright.sync_api import sync_playwright

    times, frames, sorts = [], [], []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for _ in range(rounds):
            tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            began = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
            times.append(time.perf_counter() - began)
            frames += tab.evaluate(SCROLL)
            sorts.append(tab.evaluate(SORT))
            tab.context.close()
        browser.close()
    return {
        "seconds to open it (median)": round(statistics.median(times), 2),
        "in time": statistics.median(times) < LIMIT,
        "load of the machine (1 minute)": round(os.getloadavg()[0], 1),
        "milliseconds a frame of scrolling (median)": round(statistics.median(frames), 1),
        "milliseconds a frame of scrolling (95 %)": round(float(np.quantile(frames, 0.95)), 1),
        "milliseconds a frame of scrolling (worst)": round(max(frames), 1),
        "milliseconds to sort the words": round(statistics.median(sorts)),
    }


def made(path: Path, words: int, layers: int, *, seed: int) -> Path:
    """A run folder of numbers, as large as they get."""
    generator = np.random.default_rng(seed)
    path.mkdir()
    names = [str(layer) for layer in range(layers)]
    (path / "run.json").write_text(
        json.dumps({"command": "measure", "name": f"model {seed}", "dim": DIM, "layers": names})
    )
    rows = [(layer, measure, *generator.uniform(0.1, 1, size=5), 9, "") for layer in names for measure in MEASURES]
    columns = ("layer", "measure", "value", "baseline", "adjusted", "low", "high", "n", "note")
    write_csv(path / "layers.csv", dict(zip(columns, zip(*rows, strict=True), strict=True)))
    bands = [(layer, 5 * 2**b, 10 * 2**b, 9, *generator.uniform(size=2)) for layer in names for b in range(12)]
    columns = ("layer", "from", "below", "words", "self_similarity", "mev")
    write_csv(path / "frequency.csv", dict(zip(columns, zip(*bands, strict=True), strict=True)))
    by_layer: dict[str, Any] = {"layer": [layer for layer in names for _ in range(DIM)]}
    index = np.tile(np.arange(DIM), layers)
    write_parquet(
        path / "spectra.parquet", by_layer | {"index": index, "centered": generator.exponential(size=len(index))}
    )
    write_parquet(
        path / "dimensions.parquet", by_layer | {"dimension": index, "share": generator.uniform(size=len(index))}
    )
    followed = [f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}word{i}" for i in range(words)]
    n = np.sort(generator.zipf(1.3, size=words).clip(5, 10**7))[::-1]
    similarity = generator.uniform(-0.1, 1, size=words * layers)
    mev = np.full(words * layers, np.nan)
    mev[: 1000 * layers] = generator.uniform(size=mev[: 1000 * layers].size)
    write_parquet(
        path / "words.parquet",
        of_words(followed, names)
        | {"n": np.repeat(n, layers), "contexts": np.repeat(n, layers), "self_similarity": similarity}
        | {"mev": mev, "mev_baseline": mev},
    )
    text = " ".join(followed[:22])
    for name, count in (("sample.parquet", 2000), (CLOUDS, OCCURRENCES)):
        some = of_words([followed[i % 400] for i in range(count)], names)
        said = [f"{i} {text}" for i in range(count) for _ in names]
        places = generator.normal(size=(2, count * layers))
        write_parquet(
            path / name, some | {"occurrence": [0] * len(said), "sentence": said, "x": places[0], "y": places[1]}
        )
    near = of_words([word for word in followed[:2000] for _ in range(8)], names)
    others = [followed[i] for i in generator.integers(0, min(words, 5000), size=len(near["word"]))]
    cosines = generator.uniform(size=len(others))
    write_parquet(path / NEIGHBORS, near | {"rank": [1] * len(others), "neighbor": others, "cosine": cosines})
    return path


def of_words(words: Sequence[str], layers: Sequence[str]) -> dict[str, Any]:
    """Columns of a row a word and layer."""
    return {"word": [word for word in words for _ in layers], "layer": list(layers) * len(words)}


if __name__ == "__main__":
    main()
