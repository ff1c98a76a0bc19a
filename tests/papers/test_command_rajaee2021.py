"""limbeck reproduce rajaee2021 from outside: a little of everything, resumed, and one line for what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import MARKS, Run, check_schema, draw_only, runner
from made import as_prose, sentences
from refusals import refused

import limbeck.papers.rajaee2021 as paper
import limbeck.papers.space_wanted as wanted
from limbeck.evaluation.enhanced import enhancement
from limbeck.papers.space_data import find_data
from limbeck.papers.space_gather import tuned_methods
from limbeck.papers.space_measures import Measuring

WORDS = "the river rose and a lamp of copper fell in sand house old cellar kettle story winter".split()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(as_prose(sentences(200)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small sets in the layouts of STS-B, SICK and RTE, and a treebank."""
    folder = tmp_path_factory.mktemp("data")
    generator = np.random.default_rng(0)

    def made() -> str:
        return " ".join(generator.choice(WORDS, size=6))

    for name in ("STSBenchmark", "RTE"):
        (folder / name).mkdir()
    for name in ("sts-dev.csv", "sts-test.csv"):
        lines = [f"main\tfile\t2012\t{at}\t{generator.uniform(0, 5):.2f}\t{made()}\t{made()}" for at in range(60)]
        (folder / "STSBenchmark" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("train.tsv", "dev.tsv"):
        lines = [f"{at}\t{made()}\t{made()}\t{('entailment', 'not_entailment')[at % 2]}" for at in range(40)]
        text = "\n".join(["index\tsentence1\tsentence2\tlabel", *lines]) + "\n"
        (folder / "RTE" / name).write_text(text, encoding="utf-8")
    (folder / "made.conllu").write_text(_treebank(), encoding="utf-8")
    return folder


def _treebank() -> str:
    """Sentences "the A B , of the C .", every word about as often as the others of its kind."""
    nouns = [f"noun{at}" for at in range(12)]
    verbs = [f"ran{at}" for at in range(12)]
    blocks = []
    for at in range(84):
        one, verb, other = nouns[at % 12], verbs[(at + at // 12) % 12], nouns[(at + 3 * (at // 12) + 5) % 12]
        words = [("the", "DET"), (one, "NOUN"), (verb, "VERB"), (",", "PUNCT"), ("of", "ADP"), ("the", "DET"),
                 (other, "NOUN"), (".", "PUNCT")]  # fmt: skip
        lines = [f"{at}\t{word}\t{word}\t{tag}\t_\t_\t0\t_\t_\t_" for at, (word, tag) in enumerate(words, 1)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing has tests of its own, and a tiny model needs less than --quick has."""
    draw_only(monkeypatch, paper, "layers")
    tiny = replace(wanted.QUICK, points=400, sample=400, clusters=(2, 3), components=(1, 2), groups=6)
    monkeypatch.setattr(wanted, "QUICK", tiny)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "rajaee2021")


def test_the_whole_command(run: Run, model: Path, text: Path, data: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "page.md"
    page.write_text(MARKS.format("table-2") + MARKS.format("figure-layers"), encoding="utf-8")
    given = ["--model", model, "--corpus", text, "--data", data, "--quick", "--out", out]
    status, said, err = run(*given, "--page", page)
    assert status == 0, err
    assert "bert is not among the paper's models" in said
    assert "not measured: tense" in said  # the text labels no verbs
    assert "bert: isotropy of every layer" in err
    names = ".limbeck figures findings.json findings.md report.html spaces".split()
    assert sorted(path.name for path in out.iterdir()) == names
    kept = {path.stem for path in (out / "spaces" / "bert").iterdir()}
    assert kept == {"tuning", "layers", "local", "removal", "frequency", "clusters", "structure", "sts", "classify"}
    assert (out / "spaces" / "layers.csv").read_text().count("\nbert,") == 3
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    check_schema(found)
    verdicts = {one["id"]: one["verdict"] for one in found["findings"]}
    assert verdicts["T2.cluster"] != "cannot be shown"
    assert verdicts["T3.cluster"] != "cannot be shown"
    assert verdicts["F3.falls"] != "cannot be shown"
    assert verdicts["T4.before"] == "cannot be shown"
    written = page.read_text(encoding="utf-8")
    assert written.startswith("mine\n")
    assert "| bert | as it is |" in written
    assert (tmp_path / "figures" / "rajaee2021-layers.svg").is_file()

    # a second time: refused; resumed, nothing is measured again; what was asked anew is
    status, _, err = run(*given)
    assert status == 1
    assert "already holds findings" in err
    before = (out / "findings.json").read_bytes()
    status, _, err = run(*given, "--page", page, "--existing", "resume")
    assert status == 0, err
    assert "isotropy of every layer" not in err
    assert (out / "findings.json").read_bytes() == before
    (out / "spaces" / "bert" / "local.json").unlink()
    status, _, err = run(*given, "--starts", 1, "--existing", "resume")
    assert status == 0, err
    assert "bert: isotropy of clusters put on the origin" in err
    assert "bert: classification before and after" in err
    assert "bert: isotropy of every layer" not in err
    assert "bert: sentence similarity" not in err


def test_new_pairs_are_scored_as_a_set_of_their_own(model: Path, text: Path, data: Path, tmp_path: Path) -> None:
    """Twenty of sixty test pairs are in the development set, turned round: the rest has the scores of the rest."""
    folder = tmp_path / "STSBenchmark"
    folder.mkdir()
    lines = {name: (data / "STSBenchmark" / name).read_text().splitlines() for name in ("sts-dev.csv", "sts-test.csv")}
    turned = ["\t".join([*cells[:5], cells[6].upper(), cells[5]])
              for cells in (line.split("\t") for line in lines["sts-dev.csv"][:20])]  # fmt: skip
    (folder / "sts-dev.csv").write_text("\n".join(lines["sts-dev.csv"]) + "\n")
    (folder / "sts-test.csv").write_text("\n".join([*turned, *lines["sts-test.csv"][20:]]) + "\n")
    caps = replace(wanted.QUICK, pairs=None, seeds=1)
    asked = wanted.Wanted(find_data(tmp_path), [str(text)], True, {}, {}, caps=caps)
    measuring = Measuring(str(model), "bert", asked)
    measuring.methods = tuned_methods({"global": [1, 1], "cluster": [2, 1]})
    part = measuring.sts()
    assert part.about["left_out"] == {"sts-b": 20}
    whole = asked.data.sts["sts-b"].read()
    rest = replace(whole, first=whole.first[20:], second=whole.second[20:], gold=whole.gold[20:], subsets=())
    repairs = {"baseline": None, **measuring.fitted}
    expected = {one.setting: one for one in enhancement([rest], measuring.target, repairs=repairs)}
    rows = {row["setting"]: row for row in part.rows("new") if row["fit"] in ("", "text")}
    for name, row in rows.items():
        assert (row["value"], row["n"]) == (pytest.approx(expected[name].value), 40)
    for row in part.rows("new-compared"):
        if row["fit"] == "text":
            apart = expected[row["setting"]].value - expected[row["other"]].value
            assert row["difference"] == pytest.approx(apart)
    (folder / "sts-test.csv").write_text("\n".join(lines["sts-dev.csv"]) + "\n")  # nothing in it is new
    part = measuring.sts()
    assert (part.rows("new"), part.rows("new-compared")) == ([], [])
    measuring.close()


def test_without_data_rows_say_what_is_missing(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    status, said, err = run("--model", model, "--corpus", text, "--quick", "--out", tmp_path / "out")
    assert status == 0, err
    assert "not measured: sts: needs files of STS and SICK (" in said
    assert "STS.input" in said
    assert "--data" in said
    found = json.loads((tmp_path / "out" / "findings.json").read_text(encoding="utf-8"))
    why = {one["id"]: one["why"] for one in found["findings"]}
    assert "--data" in why["T2.cluster"]
    assert "RTE" in why["T3.cluster"]
    assert "CoNLL-U" in why["F3.falls"]


def test_a_stopped_run_goes_on(
    run: Run,
    model: Path,
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What was measured before the interruption is kept, and nothing is half there."""
    from limbeck.papers import space_gather

    def stop(_: Any) -> Any:
        raise KeyboardInterrupt

    given = ["--model", model, "--corpus", text, "--quick", "--out", tmp_path / "out"]
    with monkeypatch.context() as patched:
        patched.setattr(space_gather, "MEASURES", {**space_gather.MEASURES, "removal": stop})
        run(*given)
    assert {path.name for path in (tmp_path / "out" / "spaces" / "bert").iterdir()} == {"layers.json", "local.json"}
    assert not (tmp_path / "out" / "findings.json").exists()
    kept = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert refused("reproduce", "rajaee2021", *given, capsys=capsys) == (1, "unfinished", "existing")
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == kept
    status, _, err = run(*given, "--existing", "resume")
    assert status == 0, err
    assert "bert: isotropy of every layer" not in err
    assert "bert: isotropy by number of removed components" in err


def test_dry_run(run: Run, model: Path, tmp_path: Path) -> None:
    status, said, _ = run("--model", model, "--dry-run", "--out", tmp_path / "out")
    assert status == 0
    assert "bert: isotropy of every layer\n" in said
    assert "bert: sentence similarity before and after: not measured, it needs files of STS" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        (["--layers", "0"], 2, "no option --layers"),
        (["--early", "x"], 2, "--early"),
        (["--data", "nowhere"], 1, "nowhere: --data must be a folder"),
        (["--preset", "publishd"], 2, "released"),
        (["--max-pairs", "0"], 2, "at least 1"),
    ],
)
def test_one_line_for_what_is_wrong(
    run: Run, model: Path, tmp_path: Path, given: list[str], status: int, told: str
) -> None:
    ended, _, err = run("--model", model, *given, "--out", tmp_path / "out")
    assert ended == status
    assert told in err
    assert "Traceback" not in err


def test_static_vectors_are_refused(run: Run, tmp_path: Path) -> None:
    from limbeck import StaticVectors

    StaticVectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 4))).save(tmp_path / "v.txt")
    status, _, err = run("--model", tmp_path / "v.txt", "--out", tmp_path / "out")
    assert status == 2
    assert "need a model" in err
