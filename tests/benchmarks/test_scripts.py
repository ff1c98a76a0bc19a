"""Every benchmark runs, at a tiny size, and writes what the table of all of them reads. Nothing is timed here."""

from __future__ import annotations

import argparse
import json
import mmap
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("h5py")

from benchmarks import all as every
from benchmarks import brute_force, elmo, exactness, memory, published_way, startup, text, text_preparation


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIMBECK_BENCH_OUT", str(tmp_path))
    return tmp_path


def figures(out: Path, name: str) -> dict[str, Any]:
    written = json.loads((out / f"{name}.json").read_text())
    assert written["machine"]["cores"] >= 1
    found: dict[str, Any] = written["figures"]
    return found


def targets(name: str) -> list[every.Target]:
    return [target for b in every.benchmarks("cpu", "float32") if b.name == name for target in b.targets]


def test_startup_loads_nothing_heavy(out: Path) -> None:
    startup.main(["--runs", "1"])
    found = figures(out, "startup")
    assert found["heavy modules after import limbeck"] == []
    assert found["heavy modules after import limbeck.cli"] == []
    assert all(target.figure in found for target in targets("startup"))


def test_startup_sees_a_heavy_module() -> None:
    assert startup.loaded("h5py") == ["h5py"]


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_published_way_agrees_with_ours(out: Path) -> None:
    published_way.main("--sentences 60 --layers 2 --dim 8 --cells 4 --rounds 2 --check-sentences 20".split())
    found = figures(out, "published_way")
    assert found["largest difference where it reads all pairs"] < 1e-6
    assert 0 < found["largest difference where it samples 1,000"] < 0.2  # sampling shows
    assert found["pairs it was timed on"] <= found["pairs it needs"]
    assert all(target.figure in found for target in targets("published_way"))


def test_pairs_of_the_published_way() -> None:
    assert [published_way.pairs_needed(n) for n in (5, 32, 33)] == [20, 992, 1000]


def test_memory_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = argparse.Namespace(corpus=None, format="auto", types=40, max_words=30, layers=1, dim=64, trace=False)
    short, long = memory.make_texts(tmp_path, (300, 600), options)
    assert short.stat().st_size < long.stat().st_size
    model = memory.make_model(tmp_path / "model", short, options)
    memory.main(["--one", str(model), str(long), "--format", "words", "--max-words", "30"])  # in its own process, else
    run = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert run["words"] >= 600
    assert 0 < run["followed"] <= 30
    found = memory.figures(run, run | {"peaks": {step: 2 * peak for step, peak in run["peaks"].items()}}, options)
    assert found["peak, megabytes"][0] > 50  # Python and torch alone
    assert found["peak of the long run over the short one's"] == pytest.approx(2, rel=1e-3)
    assert all(target.figure in found for target in targets("memory"))


def test_memory_takes_the_median_of_repeats() -> None:
    runs = [{"peaks": {"loaded": 1.0, "written": peak}} for peak in (30.0, 10.0, 20.0)]
    assert memory.middle(runs)["peaks"]["written"] == 20
    assert memory.middle(runs[:2])["repeats"] == [30, 10]


@pytest.mark.skipif(sys.platform != "linux", reason="steps have peaks of their own on Linux alone")
def test_peak_can_be_forgotten() -> None:
    # not by numpy, since commands tell the allocator to keep what is freed
    with mmap.mmap(-1, 240_000_000) as kept:
        kept[::4096] = b"1" * len(range(0, len(kept), 4096))
        high = memory.peak()
    memory.forget_peak()
    assert memory.peak() < high - 100


def test_elmo_and_the_plain_loop_give_the_same(out: Path) -> None:
    elmo.main("--size tiny --words 120 --rounds 1 --lone-sentences 1 --threads 1 --name elmo".split())
    found = figures(out, "elmo")
    assert found["largest difference from the plain loop"] < 1e-6
    assert found["words"] >= 120
    assert all(found[figure] > 0 for figure in every.SHOWN["elmo"])


def test_exactness(out: Path) -> None:
    exactness.main("--words 1000 --layers 1 --dim 64".split())
    found = figures(out, "exactness")
    assert all(target.figure in found for target in targets("exactness"))
    for dtype, target in exactness.TARGETS.items():
        assert found["by measure"][dtype]["anisotropy"] < target


def test_exactness_sees_a_difference() -> None:
    assert exactness.relative([1.0, 2.0], [1.0, 2.2]) == pytest.approx(1 / 11)
    assert not every.Target("x", most=1e-6).reached(exactness.relative([np.nan], [1.0]))


def test_brute_force_by_hand() -> None:
    """Two words in two texts, in the plane."""
    x = np.array([[[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [3.0, 0.0]]])
    seen = brute_force.Seen(x, np.array([0, 1, 0, 1]), np.array([1, 1, 2, 2]), np.array([1, 1, 2, 2]))
    found = {name: float(value[0]) for name, value in brute_force.measure(seen).items()}
    assert found["anisotropy"] == pytest.approx(0.5)  # of four pairs two are equal directions
    assert found["self_similarity"] == pytest.approx(0.0)
    assert found["intra_sentence_similarity"] == pytest.approx((np.sqrt(0.5) + 2.5 / np.sqrt(13)) / 2)
    assert found["mean_norm"] == pytest.approx(1.75)


def test_text_preparation(out: Path) -> None:
    text_preparation.main("--words 1500 --rounds 1 --vocabulary 400".split())
    found = figures(out, "text_preparation")
    assert found["pieces a word, WordPiece and special tokens"] > 1
    assert all(figure in found for figure in every.SHOWN["text_preparation"])


def test_made_text_is_the_same_again_and_follows_zipf() -> None:
    made = [word for sentence in text.sentences(20_000, types=100) for word in sentence]
    assert made == [word for sentence in text.sentences(20_000, types=100) for word in sentence]
    counts = [made.count(text.spell(rank)) for rank in (0, 10, 90)]
    assert counts[0] > 2 * counts[1] > 4 * counts[2] > 0
    assert len({text.spell(number) for number in range(20_000)}) == 20_000


def test_made_prose_is_read_as_it_was_made(tmp_path: Path) -> None:
    from limbeck.corpus import Corpus

    sentences = list(Corpus(text.write_prose(tmp_path / "made.txt", 3_000), format="prose"))
    assert len(sentences) == pytest.approx(len(list(text.sentences(3_000))), rel=0.1)  # "mo." may be Missouri
    assert {sentence.words[-1] for sentence in sentences} == {"."}


def test_table_says_what_is_not_reached(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = every.Benchmark("startup", [], [every.Target("a", least=2), every.Target("b", most=2)])
    rows = every.lines_of(benchmark, {"a": 1.0, "b": 1.0})
    assert [row[4] for row in rows] == ["no", "yes"]
    assert every.lines_of(benchmark, None)[0][4] == "no"
    assert [row[4] for row in every.lines_of(benchmark, {})] == ["no", "no"]
    every.print_table(rows)
    assert "at least 2" in capsys.readouterr().out
