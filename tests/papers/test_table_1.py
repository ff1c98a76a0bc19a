"""Table 1 of ethayarajh2019: principal components on word tasks, in the published way and on what the vectors know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_static import write_sets
from scipy.stats import spearmanr

from limbeck.analysis.result import columns_of
from limbeck.evaluation import tasks
from limbeck.papers import paper_named, published
from limbeck.papers.component_gather import gather_components, words_of_text
from limbeck.papers.component_rules import (
    averages_do_as_well,
    beats_files_on_most,
    first_layer_best,
    lower_better,
    mean_score,
    worst_of_all,
)
from limbeck.papers.component_vectors import (
    AVERAGE,
    FILE,
    PRINCIPAL,
    SETS,
    ends,
    file_part,
    find_nine_sets,
    score_rows,
)
from limbeck.papers.estimates import Verdict
from limbeck.papers.findings import judge
from limbeck.papers.parts import Part
from limbeck.papers.subjects import Subject
from limbeck.runs.distill import distill
from limbeck.vectors import StaticVectors

WORDS = [f"w{i}" for i in range(25)]


@pytest.fixture
def simlex(tmp_path: Path) -> dict[str, object]:
    return dict(tasks(write_sets(tmp_path / "data", WORDS), "simlex-999"))


def test_both_ways_by_hand(simlex: dict[str, object]) -> None:
    """web: a word unknown is the mean of all unit vectors; known: its pairs are left out."""
    generator = np.random.default_rng(3)
    vectors = StaticVectors(WORDS[:20], generator.normal(size=(20, 4)) + 0.5)
    rows = score_rows(vectors, simlex, {"vectors": PRINCIPAL, "layer": "1"}, seed=0)
    found = {row["way"]: row for row in rows}
    unit = {word: row / np.linalg.norm(row) for word, row in zip(vectors.words, vectors.matrix, strict=True)}
    mean = np.mean(list(unit.values()), axis=0)
    pairs = simlex["simlex-999"].read()  # type: ignore[attr-defined]

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return round(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), 6)  # so that equal ones stay equal

    both = list(zip(pairs.first, pairs.second, strict=True))
    web = [cosine(unit.get(a, mean), unit.get(b, mean)) for a, b in both]
    kept = [i for i, (a, b) in enumerate(both) if a in unit and b in unit]
    known = [cosine(unit[both[i][0]], unit[both[i][1]]) for i in kept]
    assert found["web"]["value"] == pytest.approx(spearmanr(web, pairs.gold).statistic, abs=1e-6)
    assert found["known"]["value"] == pytest.approx(spearmanr(known, pairs.gold[kept]).statistic, abs=1e-6)
    assert (found["web"]["n"], found["known"]["n"]) == (61, len(kept))


def test_components_and_averages_of_a_function(simlex: dict[str, object]) -> None:
    """Occurrences of a word that lie on a line through the origin: component and average are one direction."""
    direction = {word: np.random.default_rng(i).normal(size=6) for i, word in enumerate(WORDS)}
    other = np.ones(6)  # of words that are not the text's: a function is tried on some before it is used

    def encode(texts: list[object]) -> list[np.ndarray]:
        return [
            np.array([direction.get(word, other) * (1 + place) for place, word in enumerate(text.words)])  # type: ignore[attr-defined]
            for text in texts
        ]

    generator = np.random.default_rng(0)
    text = [list(generator.permutation(WORDS)[:8]) for _ in range(60)]
    made = distill(encode, text, method=[PRINCIPAL, AVERAGE], case="lower", unseen="drop", min_count=1)
    scores = {
        method: score_rows(one, simlex, {"vectors": method, "layer": "1"}, seed=0) for method, one in made.items()
    }
    for one, other in zip(scores[PRINCIPAL], scores[AVERAGE], strict=True):
        assert one["value"] == pytest.approx(other["value"], abs=1e-5)


def test_files_are_cut_to_the_texts_words(simlex: dict[str, object]) -> None:
    vectors = StaticVectors([*WORDS, "Elsewhere"], np.random.default_rng(0).normal(size=(26, 4)))
    part = file_part(vectors, WORDS[:22], simlex)
    assert part.about["words"] == 22
    assert {row["vectors"] for row in part.rows("scores")} == {FILE}


def test_words_of_the_text_are_counted_without_case(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("The cat . the dog\n" * 3, encoding="utf-8")
    assert words_of_text([str(path)], {"format": "words"}) == ["the"]


def test_ends() -> None:
    assert ends([str(layer) for layer in range(13)]) == ["1", "2", "11", "12"]
    assert ends(["0", "1"]) == ["1"]


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    assert "--data" in find_nine_sets(None)[1]
    found, missing = find_nine_sets(write_sets(tmp_path / "data", WORDS))
    assert set(found) == {"simlex-999", "men", "ws-353", "rw"}
    assert missing.startswith("no files of Google, MSR")


def test_a_model_in_layers_and_kept(tmp_path: Path, simlex: dict[str, object]) -> None:
    """From the miniature's own layers, kept and taken again; another text is not taken for the same."""
    text = tmp_path / "text.txt"
    lines = [f"the old river rose and the lamp fell in {year} .\n" for year in range(1901, 1907)]
    text.write_text("".join(lines), encoding="utf-8")
    account = {"layers": ["0", "1", "12"], "source": {"encoder_fingerprint": "a", "corpus_fingerprint": "b"}}
    options = {"format": "words", "max_contexts": 10, "seed": 0}
    given = ({"mini-bert": account}, [str(text)], simlex, options)
    (part,) = gather_components(*given, folder=tmp_path / "kept", resume=False)
    assert isinstance(part, Part)
    rows = part.rows("scores")
    assert {(row["vectors"], row["layer"]) for row in rows} == {
        (kind, layer) for kind in (PRINCIPAL, AVERAGE) for layer in ("1", "12")
    }
    path = tmp_path / "kept" / "1.json"
    path.write_text(path.read_text().replace('"words": 9', '"words": 4'), encoding="utf-8")
    (again,) = gather_components(*given, folder=tmp_path / "kept", resume=True)
    assert isinstance(again, Part)
    assert again.about["words"] != part.about["words"]
    other = {"mini-bert": {**account, "source": {"encoder_fingerprint": "a", "corpus_fingerprint": "c"}}}
    (anew,) = gather_components(other, *given[1:], folder=tmp_path / "kept", resume=True)
    assert isinstance(anew, Part)
    assert anew.about["words"] == part.about["words"]


# --- rules -----------------------------------------------------------------------------------------


def subject(name: str, family: str, by_layer: dict[str, float], *, average: float = 0.0, error: float = 0.0) -> Subject:
    """Scores that are the same on every set; the average is so much above the component."""
    rows = [
        {"vectors": kind, "layer": layer, "set": each, "way": way, "value": value + more, "low": value + more - error,
         "high": value + more + error, "n": 50, "total": 50, "coverage": 1.0}
        for layer, value in by_layer.items()
        for kind, more in ((PRINCIPAL if layer else FILE, 0.0), (AVERAGE, average))
        for each in SETS
        for way in ("web", "known")
    ]  # fmt: skip
    part = Part({"scores": columns_of(rows)}, {"layers": [layer for layer in by_layer if layer], "words": 10})
    return Subject(name, family, ("0", "1", "2"), {}, static=part)


BERT = subject("b", "BERT", {"1": 0.4, "2": 0.35, "11": 0.3, "12": 0.2})
GPT2 = subject("g", "GPT-2", {"1": 0.1, "12": 0.15})
ELMO = subject("e", "ELMo", {"1": 0.3, "2": 0.2})


def test_rules_on_made_scores() -> None:
    everyone = [BERT, GPT2, ELMO]
    for way in ("web", "known"):
        assert lower_better(way).judge(BERT, everyone).verdict is Verdict.HELD  # type: ignore[misc]
        assert lower_better(way).judge(GPT2, everyone).verdict is Verdict.NOT_HELD  # type: ignore[misc]
        assert first_layer_best(way).judge(BERT, everyone).verdict is Verdict.HELD  # type: ignore[misc]
        assert first_layer_best(way).judge(ELMO, everyone).verdict is Verdict.NOT_HELD  # type: ignore[misc]
        assert worst_of_all(way).judge(GPT2, everyone).verdict is Verdict.HELD  # type: ignore[misc]
        assert worst_of_all(way).judge(ELMO, everyone).verdict is Verdict.NOT_HELD  # type: ignore[misc]
    unsure = subject("b", "BERT", {"1": 0.31, "12": 0.3}, error=0.5)
    assert lower_better("web").judge(unsure, []).verdict is Verdict.CLOSE  # type: ignore[misc]


def test_files_and_averages() -> None:
    weak, strong = subject("f", "", {"": 0.3}), subject("f", "", {"": 0.5})
    assert beats_files_on_most("web").judge(BERT, [BERT, weak]).verdict is Verdict.HELD  # type: ignore[misc]
    assert beats_files_on_most("web").judge(BERT, [BERT, strong]).verdict is Verdict.NOT_HELD  # type: ignore[misc]
    worse = subject("b", "BERT", {"1": 0.4, "2": 0.3}, average=-0.02)
    assert averages_do_as_well("web", 0.01).judge(BERT, []).verdict is Verdict.HELD  # type: ignore[misc]
    assert averages_do_as_well("web", 0.01).judge(worse, []).verdict is Verdict.NOT_HELD  # type: ignore[misc]


def test_the_papers_claims_are_held_by_the_printed_table() -> None:
    paper = paper_named("ethayarajh2019")
    claims = {claim.id: claim for claim in paper.claims}
    for name in ("T1.lower", "T1.files", "T1.bert-best", "T1.gpt2-worst"):
        found = judge(claims[name], (), paper.numbers)
        assert {one.verdict for one in found.published.values()} == {Verdict.HELD}, name
    bert = next(one for one in paper.numbers if one.name == "published BERT")
    assert mean_score(bert, "web", layer="1").value == pytest.approx(  # type: ignore[arg-type]
        np.mean(published.TABLE_1.values["BERT, layer 1"])
    )


def test_without_scores_the_reason_is_told() -> None:
    paper = paper_named("ethayarajh2019")
    claim = next(claim for claim in paper.claims if claim.id == "T1.lower")
    found = judge(claim, [replace(BERT, static=None, no_static="needs files")])
    assert (found.verdict, found.why) == (Verdict.UNSHOWN, "needs files")
