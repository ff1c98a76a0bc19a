"""limbeck analyze as a user types it, on vectors that are quickly made."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import raises, refused

import limbeck as lb
from limbeck.cli import main
from limbeck.encoders import TableEncoder
from limbeck.errors import InputError, UsageError
from limbeck.repairs import Center, save
from limbeck.vectors import StaticVectors

sys.path.insert(0, str(Path(__file__).parent.parent / "analysis"))
import planted

WORDS = [*planted.NOUNS, *planted.VERBS, *planted.ADJECTIVES, "The", "the", "of", ",", ".", "when", "it", "and"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of vectors, a text, a treebank and pairs, with nothing else around."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{word} {' '.join(f'{v:.5f}' for v in planted.numbers(word, 16))}" for word in WORDS]
    Path("vectors.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    Path("other.txt").write_text("\n".join(rows[::-1]) + "\n", encoding="utf-8")
    generator = np.random.default_rng(0)
    odds = 1 / np.arange(1, len(WORDS) + 1)
    text = [" ".join(generator.choice(WORDS, 9, p=odds / odds.sum())) for _ in range(90)]
    Path("text.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
    Path("bank.conllu").write_text(planted.conllu(), encoding="utf-8")
    pairs = []
    for number in range(40):
        first, second = (" ".join(generator.choice(WORDS, 6)) for _ in range(2))
        pairs.append(f"{number % 6}.0000\t{first}\t{first if number % 2 else second}\t{number % 2}")
    Path("some.pairs.tsv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    lines = []
    for number in range(40):
        place = number % 2
        words = ["it", VERB[place], planted.NOUNS[number % 10], "."]
        told = {"1": {"lemma": "rise", "tense": ("past", "present")[place]}}
        lines.append(json.dumps({"words": [*words, planted.ADJECTIVES[number % 8], f"{number}"], "labels": told}))
    Path("tenses.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


VERB = ("rose", "fell")
QUICK = ["--method", "center", "all-but-the-top:n_components=2"]
#: analysis -> what it needs
ASKED = {
    "structure": ["--data", "bank.conllu", "--groups", "4", "--group-size", "3", "--neighbors", "2"],
    "pairs": ["--data", "some.pairs.tsv"],
    "tense": ["--corpus", "tenses.jsonl"],
    "frequency": ["--corpus", "text.txt", "--format", "words"],
    "clusters": ["--corpus", "text.txt", "--format", "words", "--clusters", "4"],
}


def command(what: str, *more: str, model: tuple[str, ...] = ("vectors.txt",), out: str = "run") -> list[str]:
    name = "structure" if what == "pairs" else what
    return ["analyze", name, "--model", *model, *ASKED[what], *QUICK, "--out", out, *more]


def table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("what", list(ASKED))
def test_a_run(folder: Path, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(what)) == 0
    said = capsys.readouterr().out
    assert "vectors.txt" in said
    assert "run: report.html, tables, claims.csv, figures/, run.json" in said
    assert "center is Center()" in said
    rows = table(folder / "run" / f"{what}.csv")
    assert {row["space"] for row in rows} == {"baseline", "center", "global"}
    assert {row["model"] for row in rows} == {"vectors.txt"}
    claims = table(folder / "run" / "claims.csv")
    assert claims
    assert {row["verdict"] for row in claims} <= {"held", "not held", "too close to call", "cannot be shown"}
    told = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    assert told["command"] == "analyze"
    assert told["models"][0]["units"] == "words"
    assert {claim["id"] for claim in told["claims"]} == {row["id"] for row in claims}
    pictures = sorted(path.name for path in (folder / "run" / "figures").iterdir())
    assert f"{what}.png" in pictures
    assert f"{what}.svg" in pictures
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_models_side_by_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command("frequency", model=("vectors.txt", "other.txt"))) == 0
    rows = table(folder / "run" / "frequency.csv")
    assert {row["model"] for row in rows} == {"vectors.txt", "other.txt"}
    said = capsys.readouterr().out
    assert said.count("vectors: words") == 2


def test_a_fitted_repair(folder: Path) -> None:
    """A file of a repair stands beside the baseline, and the paper's methods are then left out."""
    x = np.random.default_rng(0).standard_normal((50, 16))
    save(Center().fit(x), folder / "mine.safetensors")
    asked = ["analyze", "clusters", "--model", "vectors.txt", *ASKED["clusters"], "--quiet", "--out", "run"]
    assert main([*asked, "--repair", "mine.safetensors"]) == 0
    assert [row["space"] for row in table(folder / "run" / "spaces.csv")] == ["baseline", "mine.safetensors"]


def test_a_repair_is_known_by_the_models_weights_and_not_by_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = TableEncoder(StaticVectors.load("vectors.txt"), name="any").model_fingerprint
    repair = Center().fit(np.random.default_rng(0).standard_normal((50, 16)))
    save(repair, folder / "renamed.safetensors", about={"model": "before", "model_fingerprint": known})
    save(repair, folder / "retrained.safetensors", about={"model": "vectors.txt", "model_fingerprint": "another"})
    asked = ["analyze", "clusters", "--model", "vectors.txt", *ASKED["clusters"], "--quiet", "--out"]
    assert main([*asked, "one", "--repair", "renamed.safetensors"]) == 0
    assert "note" not in capsys.readouterr().err
    assert refused(*asked, "two", "--repair", "retrained.safetensors", capsys=capsys) == (1, "other_model", "")


def test_kept_vectors(folder: Path) -> None:
    assert main(["encode", "--model", "vectors.txt", *ASKED["frequency"], "--out", "kept", "--quiet"]) == 0
    assert main(["analyze", "frequency", "--vectors", "kept", *QUICK, "--out", "again"]) == 0
    assert main(command("frequency")) == 0
    kept, read = (table(folder / name / "frequency.csv") for name in ("again", "run"))
    assert [row["measure"] for row in kept] == [row["measure"] for row in read]
    for one, other in zip(kept, read, strict=True):
        if one["measure"] == "neighbors_in_band":  # equal vectors of a word are equally near
            continue
        assert float(one["value"]) == pytest.approx(float(other["value"]), abs=5e-3)  # kept as float16


#: how a text is written -> the options that say so
WRITTEN = {
    "upper case": ["--format", "words", "--lowercase"],
    "utf-16": ["--format", "words", "--encoding", "utf-16"],
    "words": ["--format", "words"],
    "Italian": ["--format", "prose", "--language", "it"],
}


@pytest.mark.parametrize("written", list(WRITTEN))
def test_counted_in_the_same_text(folder: Path, written: str) -> None:
    """A text that is counted is read as the text is; counted in itself it changes nothing."""
    plain = [word for word in WORDS if word.isalpha() and word.islower()]
    generator = np.random.default_rng(0)
    odds = 1 / np.arange(1, len(plain) + 1)
    lines = [generator.choice(plain, 9, p=odds / odds.sum()).tolist() for _ in range(60)]
    if written == "Italian":
        lines = [[f"l'{word}" for word in line] for line in lines]  # two words there, one in English
        names = [*plain, "l'"]
    else:
        lines = [[f"{word}'s" for word in line] for line in lines]  # one word a blank, two in prose
        names = [f"{word}'s" for word in plain]
    if written == "upper case":
        lines = [[word.upper() for word in line] if number % 3 else line for number, line in enumerate(lines)]
    text = "\n".join(" ".join(line) for line in lines) + "\n"
    Path("said.dat").write_text(text, encoding="utf-16" if written == "utf-16" else "utf-8")
    rows = [f"{name} {' '.join(f'{v:.5f}' for v in planted.numbers(name, 16))}" for name in names]
    Path("names.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    asked = ["analyze", "frequency", "--model", "names.txt", "--corpus", "said.dat", *WRITTEN[written], *QUICK]
    assert main([*asked, "--out", "alone"]) == 0
    assert main([*asked, "--count-in", "said.dat", "--out", "counted"]) == 0
    for file in ("frequency.csv", "points.csv", "claims.csv"):
        assert (folder / "counted" / file).read_bytes() == (folder / "alone" / file).read_bytes()
    alone, counted = (
        json.loads((folder / name / "run.json").read_text(encoding="utf-8"))["models"][0]
        for name in ("alone", "counted")
    )
    assert counted["dropped"] == alone["dropped"] == {}
    assert counted["settings"]["counted"] == 60 * 9 * (2 if written == "Italian" else 1)
    assert counted["settings"]["counted_in"] == "--count-in"


def test_claims_are_on_the_scale_of_the_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ "before, after" next to a difference: it is theirs, per cent beside points."""
    seen = 0
    for what in ASKED:
        assert main(command(what, out=what)) == 0
        for line in capsys.readouterr().out.splitlines():
            told = re.search(r": ([+-][\d.]+)( points)? \(.*?([\d.]+)(%?) before, ([\d.]+)", line)
            if told:
                value, points, before, percent, after = told.groups()
                assert bool(points) == bool(percent)
                assert float(value) == pytest.approx(float(before) - float(after), abs=0.11 if points else 0.0011)
                seen += 1
    assert seen >= 8


def test_two_clusters(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["analyze", "clusters", "--model", "vectors.txt", "--corpus", "text.txt", "--format", "words"]
    assert main([*asked, "--clusters", "2", "--points", "100", "--out", "run"]) == 0
    said = capsys.readouterr().out
    assert not re.search(r"\bnan\b", said)
    assert "cannot be shown: clusters do not share their dominant directions: 3 clusters" in said
    assert "points from one half" in said
    # 100 rows, 2 components of 16 dimensions: 12 clusters have 8 rows each
    assert "ClusterRemoval(n_clusters=12, n_components=2" in said
    assert "less than the paper's cluster:n_clusters=27,n_components=12: vectors or dimensions are few" in said


def test_methods_as_evaluate_has_them(folder: Path) -> None:
    named = ["--method", "cluster:n_clusters=4,n_components=1,iterations=3", "--method", "standardize+all-but-the-top"]
    asked = ["analyze", "clusters", "--model", "vectors.txt", *ASKED["clusters"], "--seed", "3"]
    assert main([*asked, *named, "--out", "run"]) == 0
    told = {row["space"]: row["repair"] for row in table(folder / "run" / "spaces.csv")}
    assert told == {
        "baseline": "none",
        "cluster": "ClusterRemoval(n_clusters=4, n_components=1, iterations=3)",
        "standardize+all-but-the-top": "Standardize() → AllButTheTop(n_components=1)",
    }


def test_a_place_beyond_its_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("some.pairs.tsv").read_text(encoding="utf-8").splitlines()
    lines[4] = "17" + lines[4][lines[4].index("\t") :]
    Path("some.pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(command("pairs")) == 1
    said = capsys.readouterr().err
    assert said.startswith("limbeck: some.pairs.tsv:5: ")
    assert "got 17 with 6 and 6 words" in said
    assert said.count("\n") == 1


def test_an_existing_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command("tense")) == 0
    capsys.readouterr()
    assert refused(*command("tense"), capsys=capsys) == (1, "exists", "existing")
    assert main(command("tense", "--existing", "resume")) == 0
    assert "complete already" in capsys.readouterr().out
    assert refused(*command("tense", "--seed", "3", "--existing", "resume"), capsys=capsys) == (1, "other_run", "out")
    assert main(command("tense", "--seed", "3", "--existing", "replace")) == 0
    told = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    assert told["models"][0]["settings"]["seed"] == 3


def test_the_same_twice(folder: Path) -> None:
    for name in ("one", "two"):
        assert main(command("structure", out=name)) == 0
    for file in ("structure.csv", "claims.csv", "sentences.csv", "figures/structure.svg"):
        assert (folder / "one" / file).read_bytes() == (folder / "two" / file).read_bytes()


def test_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle leaves nothing."""
    before = sorted(path.name for path in folder.iterdir())

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("limbeck.reporting.draw", stop)
    assert main(command("tense")) == 130
    assert sorted(path.name for path in folder.iterdir()) == before


#: analysis -> the keywords that say the same as `command`
KEYWORDS: dict[str, dict[str, Any]] = {
    "structure": {"data": ["bank.conllu"], "groups": 4, "group_size": 3, "neighbors": 2},
    "pairs": {"data": "some.pairs.tsv"},
    "tense": {"corpus": "tenses.jsonl"},
    "frequency": {"corpus": "text.txt", "format": "words"},
    "clusters": {"corpus": "text.txt", "format": "words", "clusters": 4},
}


@pytest.mark.parametrize("what", list(KEYWORDS))
def test_python_writes_what_the_command_line_writes_and_reads_it_again(folder: Path, what: str) -> None:
    models = ["vectors.txt", "other.txt"]
    assert main(command(what, "--no-figures", model=tuple(models), out="typed")) == 0
    name = "structure" if what == "pairs" else what
    methods = ["center", "all-but-the-top:n_components=2"]
    found = lb.analyze(name, models, **KEYWORDS[what], method=methods, out="python", figures=False)
    written = [sorted(path.name for path in (folder / one).iterdir()) for one in ("typed", "python")]
    assert written[0] == written[1]
    for file in folder.glob("python/*.csv"):
        assert file.read_bytes() == (folder / "typed" / file.name).read_bytes()
    again = lb.AnalyzeResult.load("python")
    assert [one.model for one in again.analyses] == models
    for one, other in zip(again.analyses, found.analyses, strict=True):
        np.testing.assert_equal(one.tables, other.tables)  # with the types of the cells
        np.testing.assert_equal([claim.row() for claim in one.claims], [claim.row() for claim in other.claims])
        same = ("what", "units", "settings", "dropped", "notes")
        assert all(getattr(one, name) == getattr(other, name) for name in same)
    assert {type(cell) for row in again.rows(what) for cell in row.values()} <= {str, int, float}
    assert again.title() == found.title()
    records = [json.loads((folder / one / "run.json").read_text(encoding="utf-8")) for one in ("typed", "python")]
    for record in records:
        del record["seconds"], record["written"]
    assert str(records[0]) == str(records[1])  # NaN is not itself


def test_what_is_in_memory(folder: Path) -> None:
    """Vectors, sentences and a fitted repair as objects; nothing is written."""
    vectors = StaticVectors.load("vectors.txt")
    lines = [line.split() for line in Path("text.txt").read_text(encoding="utf-8").splitlines()]
    repair = Center().fit(np.random.default_rng(0).standard_normal((50, 16)))
    before = sorted(folder.iterdir())
    found = lb.analyze("clusters", vectors, lines, clusters=4, repair={"mine": repair})
    assert sorted(folder.iterdir()) == before
    assert {row["space"] for row in found.rows("spaces")} == {"baseline", "mine"}
    assert found.claims == found.analyses[0].claims
    assert found.to_arrow().column_names[0] == "verdict"


@pytest.mark.parametrize(
    ("what", "keywords", "code", "parameter"),
    [
        ("tenses", {}, "unknown_choice", "what"),
        ("tense", {"groups": 3}, "no_effect", "groups"),
        ("structure", {"data": "bank.conllu", "corpus": "text.txt"}, "no_effect", "corpus"),
        ("clusters", {"count_in": "text.txt"}, "no_effect", "count_in"),
        ("clusters", {"targets": "a"}, "no_effect", "targets"),
        ("clusters", {"vectors": "kept"}, "exclusive", "vectors"),
        ("structure", {}, "required", "data"),
        ("structure", {"data": "bank.conllu", "group_size": 1}, "out_of_range", "group_size"),
        ("clusters", {"metrics": "cosine"}, "unknown_parameter", "metrics"),
    ],
)
def test_options_of_other_analyses(
    folder: Path, what: str, keywords: dict[str, Any], code: str, parameter: str
) -> None:
    with pytest.raises(UsageError) as caught:
        lb.analyze(what, "vectors.txt", **keywords)
    assert (caught.value.code, caught.value.parameter) == (code, parameter)


def test_cached_vectors_are_as_they_were_made(folder: Path) -> None:
    assert main(["encode", "--model", "vectors.txt", *ASKED["frequency"], "--out", "kept", "--quiet"]) == 0
    with pytest.raises(UsageError) as caught:
        lb.analyze("frequency", vectors="kept", layers="0")
    assert (caught.value.code, caught.value.parameter) == ("no_effect", "layers")


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["analyze", "tenses"], 2, "did you mean 'tense'?"),
        (["analyze", "tense"], 2, "--model is needed"),
        (["analyze", "structure", "--model", "vectors.txt"], 2, "needs sentences"),
        (["analyze", "structure", "--model", "vectors.txt", "--data", "bank.conllu", "some.pairs.tsv"], 2, "got both"),
        (["analyze", "structure", "--model", "vectors.txt", "--data", "none.conllu"], 1, "none.conllu"),
        (
            ["analyze", "structure", "--model", "vectors.txt", "--data", "bank.conllu", "--corpus", "text.txt"],
            2,
            "tense",
        ),
        (["analyze", "tense", "--model", "vectors.txt", "--groups", "3"], 2, "--groups belongs to analyze structure"),
        (["analyze", "tense", "--model", "vectors.txt", "--corpus", "text.txt"], 1, "labels none"),
        (["analyze", "tense", "--model", "vectors.txt", "--units", "pieces"], 2, "omit --units"),
        (["analyze", "clusters", "--model", "vectors.txt", "--method", "clusters:3"], 2, "did you mean 'cluster'?"),
        (
            ["analyze", "clusters", "--model", "vectors.txt", "--method", "cluster:3"],
            2,
            "must be like cluster:n_clusters=27",
        ),
        (["analyze", "clusters", "--model", "vectors.txt", "--method", "centre+whiten"], 2, "--method must be one of"),
        (["analyze", "clusters", "--model", "vectors.txt", "--method", "cluster:3,components=2"], 2, "--method must"),
        (["analyze", "clusters", "--model", "vectors.txt", "--method", "cluster:component=2"], 2, "did you mean"),
        (["analyze", "clusters", "--model", "vectors.txt", "--metric", "cosin"], 2, "did you mean 'cosine'?"),
        (["analyze", "clusters", "--model", "vectors.txt", "--targets", "a"], 2, "--targets"),
        (["analyze", "clusters", "--model", "vectors.txt", "--vectors", "kept"], 2, "one or the other"),
        (["analyze", "clusters", "--model", "vectors.txt", "--repair", "none.safetensors"], 1, "none.safetensors"),
        (["analyze", "clusters", "--model", "vectors.txt", "--corpus", "text.txt", "--clusters", "1"], 1, "--clusters"),
    ],
)
def test_wrong_usage(
    folder: Path, arguments: list[str], status: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--out", "run", "--quiet"]) == status
    said = capsys.readouterr().err
    assert told in said
    assert said.startswith("limbeck: ")
    assert said.count("\n") == 1
    assert not (folder / "run").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_layer_in_the_singular_is_named_as_it_must_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "tense", "--model", "m", "--layer", "all", "--out", "o"]) == 2
    assert "did you mean --layers?" in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["analyze", "--help"])
    said = capsys.readouterr().out
    assert "examples:" in said
    for what in ("structure", "tense", "frequency", "clusters"):
        assert f"limbeck analyze {what}" in said


class Fixed:
    """An encoder of one's own; what it is called in memory changes from object to object."""

    def __init__(self) -> None:
        self.inner = TableEncoder(StaticVectors.load("vectors.txt"), name="mine")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)


def shorten(path: str) -> None:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    Path(path).write_text("\n".join(lines[: len(lines) - 6]) + "\n", encoding="utf-8")


def change_vectors(path: str) -> None:
    """Another vector for its last word."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    word, first, rest = lines[-1].split(" ", 2)
    Path(path).write_text("\n".join([*lines[:-1], f"{word} {float(first) + 1} {rest}"]) + "\n", encoding="utf-8")


def encode_anew() -> None:
    shorten("text.txt")
    kept("replace")


def kept(existing: str = "fail") -> None:
    lb.encode("vectors.txt", "text.txt", format="words", out="kept", existing=existing)


def save_repair(seed: int) -> None:
    save(Center().fit(np.random.default_rng(seed).standard_normal((50, 16))), "mine.safetensors")


#: what is analyzed, and how something that it reads becomes another thing of the same name
CHANGED: dict[str, tuple[str, dict[str, Any], Any]] = {
    "text": ("clusters", {"model": "vectors.txt", **KEYWORDS["clusters"]}, lambda: shorten("text.txt")),
    "model": ("clusters", {"model": "vectors.txt", **KEYWORDS["clusters"]}, lambda: change_vectors("vectors.txt")),
    "one of several models": (
        "clusters",
        {"model": ["other.txt", "vectors.txt"], **KEYWORDS["clusters"]},
        lambda: change_vectors("vectors.txt"),
    ),
    "treebank": ("structure", {"model": "vectors.txt", **KEYWORDS["structure"]}, lambda: shorten("bank.conllu")),
    "pairs": ("structure", {"model": "vectors.txt", **KEYWORDS["pairs"]}, lambda: shorten("some.pairs.tsv")),
    "labelled text": ("tense", {"model": "vectors.txt", **KEYWORDS["tense"]}, lambda: shorten("tenses.jsonl")),
    "text counted in": (
        "frequency",
        {"model": "vectors.txt", "corpus": "tenses.jsonl", "count_in": "counts.jsonl"},
        lambda: shorten("counts.jsonl"),
    ),
    "repair": (
        "frequency",
        {"model": "vectors.txt", **KEYWORDS["frequency"], "repair": "mine.safetensors"},
        lambda: save_repair(1),
    ),
    "kept vectors": ("frequency", {"vectors": "kept"}, encode_anew),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_finished_run_is_not_that_of_changed_data(folder: Path, what: str) -> None:
    Path("counts.jsonl").write_bytes(Path("tenses.jsonl").read_bytes())
    save_repair(0)
    kept()
    kind, keywords, change = CHANGED[what]
    asked = {**keywords, "method": ["center"], "out": "run", "figures": False}
    made = lb.analyze(kind, **asked)
    assert lb.analyze(kind, **asked, existing="resume").record["seconds"] == made.record["seconds"]
    change()
    with raises(InputError, code="other_run", parameter="out"):
        lb.analyze(kind, **asked, existing="resume")


def test_a_model_that_is_loaded_again_is_the_same(folder: Path) -> None:
    asked = {**KEYWORDS["clusters"], "method": ["center"], "out": "run", "figures": False}
    made = lb.analyze("clusters", Fixed(), **asked)
    assert lb.analyze("clusters", Fixed(), **asked, existing="resume") == made
    assert made.record["source"]["model"] == ["mine"]
    change_vectors("vectors.txt")
    with raises(InputError, code="other_run", parameter="out"):
        lb.analyze("clusters", Fixed(), **asked, existing="resume")


def test_a_text_in_memory_is_not_in_the_folder(folder: Path) -> None:
    """Named and by its fingerprint alone, that in which units are counted too."""
    texts = [[*planted.NOUNS[:6], "confidential"]] * 3 + [list(WORDS)] * 40
    kinds: dict[str, dict[str, Any]] = {"clusters": {"clusters": 2}, "frequency": {"count_in": texts}}
    for what, more in kinds.items():
        found = lb.analyze(what, "vectors.txt", texts, method=["center"], out=what, figures=False, **more)
        written = (folder / what / "run.json").read_text(encoding="utf-8")
        assert "confidential" not in written
        assert "confidential" not in repr(found)
        assert found.record["source"]["corpus"] == ["text in memory"]
        assert found.record["identity"]["read"]["corpus"]["fingerprint"]
        again = lb.analyze(what, "vectors.txt", texts, method=["center"], out=what, existing="resume", **more)
        assert again.record["seconds"] == found.record["seconds"]
