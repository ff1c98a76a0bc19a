"""One pass for many consumers: each folder is what its own command writes, and the model reads the text once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from made import OwnEncoder, sentences
from refusals import raises
from tiny_models import model, tokenizer

import limbeck as lb
from limbeck.corpus import Corpus
from limbeck.corpus.units import Sentence
from limbeck.encoders import HuggingFaceEncoder
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.places import unfinished_of
from limbeck.runs.distill import DistillRun
from limbeck.runs.encode import EncodeRun
from limbeck.runs.execution.folders import KEPT, RunFolder
from limbeck.runs.execution.parts import with_choice
from limbeck.runs.execution.run import SharedRun
from limbeck.runs.execution.sharing import EVERYTHING, SHARED, Reading, run_jobs
from limbeck.runs.measure import MeasureRun
from limbeck.runs.probe import ProbeRun
from limbeck.runs.repair import RepairRun
from limbeck.stream import Choice, TextSource, survey
from limbeck.tables import read_csv

MADE = [
    replace(s, labels={0: {"class": "even" if len(s.words[0]) % 2 else "odd"}} if s.words else s.labels)
    for s in sentences(240, documents=14)
]
SETTINGS: dict[str, Any] = {"min_contexts": 3, "max_contexts": 7, "mev_words": 6, "points": 150, "seed": 5}
RELEASED: dict[str, Any] = {"preset": "released", "min_contexts": 2, "points": 100}
DISTILLED: dict[str, Any] = {
    "method": ["average", "principal", "contexts"], "min_count": 2, "max_contexts": 5, "unseen": "drop", "seed": 2,
}  # fmt: skip
REPAIRED: dict[str, Any] = {"method": "standardize", "local_points": 50, "figures": False, **SETTINGS}
PROBED: dict[str, Any] = {"min_words": 2, "epochs": 2, "compare": "average", "control": "none", "words_by": "form"}


def shared(kind: type[SharedRun[Any]], out: Path, title: str, **options: Any) -> SharedRun[Any]:
    """A command as one of several that share a pass."""
    run = kind.of({"out": out, **options})
    run.title = title
    return run


def measuring(out: Path, title: str = "measure", **options: Any) -> SharedRun[Any]:
    """`limbeck measure` as one of them."""
    return shared(MeasureRun, out, title, figures=False, **options)


def probing(out: Path, title: str = "probe", **options: Any) -> SharedRun[Any]:
    """`limbeck probe` as another."""
    return shared(ProbeRun, out, title, figures=False, **options)


def distilling(out: Path, title: str = "distill", **options: Any) -> SharedRun[Any]:
    """`limbeck distill` as a third."""
    return shared(DistillRun, out, title, **options)


def jobs_into(folder: Path) -> list[Any]:
    return [
        measuring(folder / "measure", "measure", **SETTINGS),
        shared(EncodeRun, folder / "encode", "encode", keep="float32"),
        distilling(folder / "distill", **DISTILLED),
        shared(RepairRun, folder / "repair", "repair", **REPAIRED),
        measuring(folder / "released", "released", **RELEASED),
        probing(folder / "probe", **PROBED),
    ]


def alone(folder: Path, encoder: Any) -> None:
    """The same by the single commands."""
    lb.measure(encoder, MADE, out=folder / "measure", **SETTINGS, figures=False)
    lb.encode(encoder, MADE, out=folder / "encode", keep="float32")
    lb.distill(encoder, MADE, out=folder / "distill", **DISTILLED)
    lb.repair(encoder, MADE, out=folder / "repair", **REPAIRED)
    lb.measure(encoder, MADE, out=folder / "released", **RELEASED, figures=False)
    lb.probe(encoder, Corpus.from_sentences(MADE), out=folder / "probe", **PROBED, figures=False)


def check_tables(one: Path, other: Path) -> int:
    """Every CSV and Parquet file below two folders; how many there were."""
    names = {str(path.relative_to(one)) for path in one.rglob("*") if path.suffix in (".csv", ".parquet")}
    assert names == {str(path.relative_to(other)) for path in other.rglob("*") if path.suffix in (".csv", ".parquet")}
    for name in sorted(names):
        both = [
            read_csv(folder / name) if name.endswith(".csv") else parquet.read_table(folder / name).to_pydict()
            for folder in (one, other)
        ]
        assert list(both[0]) == list(both[1]), name
        for column, values in both[0].items():
            for mine, theirs in zip(values, both[1][column], strict=True):
                if mine != theirs and not (isinstance(mine, float) and np.isnan(mine) and np.isnan(theirs)):
                    assert float(mine) == pytest.approx(float(theirs), rel=1e-6, abs=1e-6), (name, column)
    return len(names)


def reading(encoder: Any) -> Reading:
    return Reading(Corpus.from_sentences(MADE), encoder)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, int]:
    """The plan's folders, the single commands', and how many batches the plan has read."""
    together, single = tmp_path_factory.mktemp("together"), tmp_path_factory.mktemp("single")
    encoder = OwnEncoder()
    run_jobs(jobs_into(together), lambda: reading(encoder))
    alone(single, OwnEncoder())
    return together, single, encoder.batches


@pytest.mark.parametrize("name", ["measure", "encode", "distill", "repair", "released", "probe"])
def test_each_folder_is_what_its_command_writes(both: tuple[Path, Path, int], name: str) -> None:
    together, single, _ = both
    files = [
        {str(path.relative_to(folder / name)) for path in (folder / name).rglob("*") if path.is_file()}
        for folder in (together, single)
    ]
    assert files[0] == files[1]
    assert check_tables(together / name, single / name) > 0 or name == "encode"
    record = "vectors.json" if name == "encode" else "run.json"
    told = [json.loads((folder / name / record).read_text()) for folder in (together, single)]
    for key in told[0].keys() - {"seconds", "written", "timings"}:
        assert told[0][key] == told[1][key], key


def test_vectors(both: tuple[Path, Path, int]) -> None:
    together, single, _ = both
    for place in sorted((single / "distill").rglob("*.safetensors")):
        mine, theirs = (lb.StaticVectors.load(folder) for folder in (together / place.relative_to(single), place))
        assert mine.words == theirs.words
        np.testing.assert_allclose(mine.matrix, theirs.matrix, atol=1e-6)
    kept = [lb.OccurrenceVectors.load(folder / "encode") for folder in (together, single)]
    assert kept[0].fingerprint == kept[1].fingerprint  # a hash over all vectors


def test_the_text_is_read_once(both: tuple[Path, Path, int]) -> None:
    """Once for all, and once more for what a repair left; the text is one batch."""
    assert both[2] == 2


def test_a_stopped_plan_goes_on(both: tuple[Path, Path, int], tmp_path: Path) -> None:
    stopped = False

    def stop(batch: int) -> None:
        nonlocal stopped
        if not stopped and batch == 3:
            stopped = True
            raise KeyboardInterrupt

    def small(encoder: Any) -> Reading:
        return replace(reading(encoder), batch_tokens=200)

    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs_into(tmp_path), lambda: small(OwnEncoder(watch=stop)))
    assert not (tmp_path / "measure").exists()
    with raises(LimbeckError, code="unfinished", parameter="existing", says="'resume'"):
        run_jobs(jobs_into(tmp_path), lambda: small(OwnEncoder()))
    run_jobs(jobs_into(tmp_path), lambda: small(OwnEncoder()), existing="resume")
    # standardized vectors have a mean of rounding errors, which is what tells the sides of a picture: its tables aside
    for name in ("measure", "distill", "repair/before", "released", "probe"):
        check_tables(tmp_path / name, both[1] / name)
    after = [read_csv(folder / "repair/after/layers.csv")["value"] for folder in (tmp_path, both[1])]
    np.testing.assert_allclose(*(np.array(values, dtype=float) for values in after), atol=1e-6)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    # nothing is left to do, and nothing is done
    encoder = OwnEncoder()
    run_jobs(jobs_into(tmp_path), lambda: small(encoder), existing="resume")
    assert encoder.batches == 0
    # a finished folder of another plan is refused
    others = [measuring(tmp_path / "measure", **{**SETTINGS, "seed": 6})]
    with raises(InputError, code="other_run", parameter="existing"):
        run_jobs(others, lambda: small(encoder), existing="resume")


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_plan_stopped_while_a_consumer_finishes_reads_no_more(
    both: tuple[Path, Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """In its last moment, with all files there and the folder not yet in its place."""
    finished: list[Path] = []
    write_page = RunFolder._write_page

    def stop(folder: RunFolder) -> None:
        if len(finished) == which:
            raise KeyboardInterrupt
        finished.append(folder.target)
        write_page(folder)

    monkeypatch.setattr(RunFolder, "_write_page", stop)
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs_into(tmp_path)[:3], lambda: reading(OwnEncoder()))
    monkeypatch.undo()
    encoder, told = OwnEncoder(), list[str]()
    run_jobs(jobs_into(tmp_path)[:3], lambda: reading(encoder), existing="resume", tell=told.append)
    assert encoder.batches == 0
    assert not [line for line in told if "read once" in line]
    for name in ("measure", "encode", "distill"):
        files = [
            {str(path.relative_to(folder / name)) for path in (folder / name).rglob("*")}
            for folder in (tmp_path, both[1])
        ]
        assert files[0] == files[1]
        check_tables(tmp_path / name, both[1] / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["distill", "encode", "measure"]


def test_an_error_in_the_shared_pass_leaves_what_is_done(tmp_path: Path) -> None:
    def lose(batch: int) -> None:
        raise LimbeckError("a device is lost", code="unsupported")

    told: list[str] = []
    with raises(LimbeckError, code="unsupported", says="a device is lost") as caught:
        run_jobs(jobs_into(tmp_path)[:1], lambda: reading(OwnEncoder(watch=lose)), tell=told.append)
    assert caught.value.__notes__ == [KEPT]
    assert told[-1].endswith("texts, read once for 1 run")
    assert (unfinished_of(tmp_path / "measure") / "state" / SHARED / "plan.npz").exists()


def test_plans_of_any_choice_out_of_one_survey() -> None:
    source = TextSource(Corpus.from_sentences(MADE), OwnEncoder())
    for deduplicate in (True, False):
        everything = survey(source, choice=EVERYTHING, deduplicate=deduplicate)
        for choice in (
            Choice(),
            Choice(min_contexts=20, drop_punctuation=True),
            Choice(min_contexts=9, by_occurrences=True),
            Choice(min_contexts=2, max_words=5, seed=3),
        ):
            mine, theirs = with_choice(everything, choice), survey(source, choice=choice, deduplicate=deduplicate)
            assert mine.fingerprint == theirs.fingerprint
            for name, array in theirs.to_arrays().items():
                np.testing.assert_array_equal(mine.to_arrays()[name], array, err_msg=name)


def test_layers_of_a_model(tmp_path: Path) -> None:
    """Consumers of different layers; the encoder with some layers is the one that was loaded with them."""
    text = [Sentence(s.words, document=s.document, index=s.index) for s in MADE[:60]]

    def loaded(layers: str | None = None) -> HuggingFaceEncoder:
        return HuggingFaceEncoder(
            model("bert"), tokenizer("wordpiece uncased"), name="tiny", layers=layers, device="cpu"
        )

    settings: dict[str, Any] = {"min_contexts": 2, "points": 50, "mev_words": 3}
    jobs: list[Any] = [
        measuring(tmp_path / "low", "low", layers="0", **settings),
        distilling(tmp_path / "last", "last", method="average", min_count=2, unseen="drop"),
        measuring(tmp_path / "table", "table", layers="table,-1", **settings),
    ]
    run_jobs(jobs, lambda: Reading(Corpus.from_sentences(text), loaded()))
    for name, layers in (("low", "0"), ("table", "table,-1")):
        lb.measure(loaded(layers), text, out=tmp_path / f"{name} alone", figures=False, **settings)
        check_tables(tmp_path / name, tmp_path / f"{name} alone")
        told = [json.loads((tmp_path / at / "run.json").read_text())["source"] for at in (name, f"{name} alone")]
        assert told[0] == told[1]
    made = lb.distill(loaded("-1"), text, method="average", min_count=2, unseen="drop")
    kept = lb.StaticVectors.load(tmp_path / "last")
    assert kept.words == made.words
    np.testing.assert_allclose(kept.matrix, made.matrix, atol=1e-6)


@pytest.mark.parametrize(
    ("job", "code"),
    [
        (lambda out: measuring(out, **SETTINGS, two_pass=True), "not_shared"),
        (lambda out: distilling(out, "d", method="x2static"), "not_shared"),
        (lambda out: measuring(out, layers="0"), "no_effect"),
    ],
)
def test_what_cannot_share_a_pass_says_why(tmp_path: Path, job: Any, code: str) -> None:
    with raises(UsageError, code=code, parameter=None):
        run_jobs([job(tmp_path / "out")], lambda: reading(OwnEncoder()))
    assert not list(tmp_path.iterdir())


def test_two_consumers_of_one_folder(tmp_path: Path) -> None:
    jobs = [measuring(tmp_path / "out"), shared(EncodeRun, tmp_path / "out", "e")]
    with raises(UsageError, code="twice", parameter="out"):
        run_jobs(jobs, lambda: reading(OwnEncoder()))
