"""Rajaee & Pilehvar 2021: the printed numbers by their own rules, each rule on models that keep and break it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from made_spaces import ONE, changed, layer_rows, local_rows, made_model, structure_rows, tense_rows

from limbeck.evaluation import Pairs
from limbeck.measures import log10_isotropy_one_sign
from limbeck.papers import paper_named
from limbeck.papers.estimates import Estimate, Verdict
from limbeck.papers.findings import Finding, judge, judge_all
from limbeck.papers.markdown import block_names, blocks, findings_page
from limbeck.papers.pages import read_page
from limbeck.papers.parts import Part, Row, columns_of_models, keep_part, kept_part
from limbeck.papers.published_spaces import TABLE_1, TABLE_2, TABLE_3, TABLE_5, TABLE_6, is_own_model
from limbeck.papers.results import draw_figures, try_on
from limbeck.papers.space_data import Data, pair_keys, some_pairs
from limbeck.papers.space_gather import tuned_methods
from limbeck.papers.space_measures import Measuring, removed
from limbeck.papers.space_score_rules import SHARING, mean_difference
from limbeck.papers.space_subjects import SpaceModel, analysis_of
from limbeck.papers.space_wanted import Wanted
from limbeck.repairs import AllButTheTop, ClusterRemoval
from limbeck.reporting.style import styled

PAPER = paper_named("rajaee2021")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "rajaee2021.md"
CLAIMS = {claim.id: claim for claim in PAPER.claims}
HELD, NOT_HELD, CLOSE, UNSHOWN = Verdict.HELD, Verdict.NOT_HELD, Verdict.CLOSE, Verdict.UNSHOWN
#: rows that compare with printed numbers, or only draw
ROWS = ("F1", "T5", "T1", "F2", "S", "T2", "T6", "T3", "F4", "F3", "T4", "F5")


def found(name: str, *models: SpaceModel) -> Finding:
    return judge(CLAIMS[name], models, PAPER.numbers)


def verdict(name: str, *models: SpaceModel) -> Verdict:
    return found(name, *models).verdict


def by_paper(name: str) -> dict[str, Verdict]:
    return {model.removeprefix("published "): said.verdict for model, said in found(name).published.items()}


# the printed numbers


def test_table_3_is_consistent_with_its_averages() -> None:
    assert [round(float(np.mean(TABLE_3[name])), 1) for name in TABLE_3] == pytest.approx([61.2, 62.1, 63.2], abs=0.11)


def test_tables_agree_where_they_tell_the_same() -> None:
    """The last layer of Table 5 is the baseline of Table 1, on the same sentences."""
    for family, values in TABLE_5.items():
        assert math.log10(values[-1]) == pytest.approx(math.log10(TABLE_1[family][0]), abs=0.01), family


def test_rules_find_in_the_printed_numbers_what_the_text_says() -> None:
    assert set(by_paper("F1.anisotropic").values()) == {HELD}
    assert by_paper("F1.falls") == {"GPT-2": HELD}
    assert by_paper("F1.semi-convex") == {"RoBERTa": HELD}
    assert by_paper("F1.input") == {"all models": HELD}
    assert by_paper("T1.restores") == {"BERT": HELD, "RoBERTa": HELD}
    assert by_paper("T1.far") == {"GPT-2": HELD}
    for name in ("T2.global", "T2.cluster", "T2.more", "T6.rises"):
        assert by_paper(name) == dict.fromkeys(("GPT-2", "BERT", "RoBERTa"), HELD), name
    for name in ("T3.global", "T3.cluster", "T3.more"):
        assert by_paper(name) == {"BERT": HELD}, name
    for name in ("T4.before", "T4.after", "T4.isotropy"):
        assert by_paper(name) == dict.fromkeys(("GPT-2", "BERT", "RoBERTa"), HELD), name
    assert by_paper("S.more") == {"all models": HELD}


def test_fewer_components_cannot_be_read_off_gpt2s_numbers() -> None:
    """Both methods took 30 components away: that clusters need fewer is not to be seen there."""
    assert by_paper("T2.fewer") == {"BERT": HELD, "RoBERTa": HELD}


def test_inductive_claims_have_no_published_numbers() -> None:
    assert not found("T2.cluster/inductive").published
    assert not found("F2.cosine").published


def test_own_models_are_known_by_name_and_dimensions() -> None:
    def named(name: str, dim: int) -> SpaceModel:
        return replace(made_model(), name=name, account={"dim": dim})

    assert is_own_model(named("google-bert/bert-base-uncased", 768))
    assert is_own_model(named("gpt2", 768))
    assert not is_own_model(named("gpt2", 1024))
    assert not is_own_model(named("bert-base-cased", 768))
    assert not is_own_model(made_model())


@pytest.mark.parametrize("name", ["F1", "T5", "T1", "T2", "T6", "T3", "T4", "S"])
def test_the_papers_own_model_is_held_to_the_printed_numbers(name: str) -> None:
    """A model that has the paper's numbers meets them, another does not."""
    printed = next(one for one in PAPER.numbers if one.family == "BERT")
    own = replace(printed, name="bert-base-uncased", account={"dim": 768})
    assert verdict(name, own) is HELD
    part, table, column = {
        "F1": ("layers", "layers", ONE), "T5": ("layers", "layers", ONE), "T1": ("local", "local", ONE),
        "T2": ("sts", "sts", "value"), "T6": ("sts", "sts", ONE), "T3": ("classify", "classify", "value"),
        "T4": ("tense", "tense", "value"), "S": ("tuning", "", ""),
    }[name]  # fmt: skip
    if name == "S":
        held = Part({}, {"best": {"global": [1, 30], "cluster": [27, 12]}})
        off = replace(own, parts={**own.parts, part: held})
    else:
        off = changed(own, part, table, lambda row: {**row, column: row[column] + 1.5})
    assert verdict(name, off) is NOT_HELD
    assert verdict(name, made_model()) is UNSHOWN
    assert "not a model of the paper's" in found(name, made_model()).why


# rules on made models


@pytest.mark.parametrize("name", [name for name in CLAIMS if name not in (*ROWS, "F1.semi-convex", "T1.far")])
def test_a_model_as_the_paper_describes_them_keeps_the_claims(name: str) -> None:
    models = [made_model(), replace(made_model("GPT-2"), name="other")]
    if name == "F1.input":
        models[1] = changed(models[1], "layers", "layers", lambda row: {**row, ONE: row[ONE] + 0.5})
    if name == "S.more":
        best = {"global": [1, 30], "cluster": [10, 30]}
        models[1] = replace(models[1], parts={**models[1].parts, "tuning": Part({}, {"best": best})})
    said = found(name, *models)
    assert said.verdict is HELD, said.why


def shifted(part: str, table: str, column: str, by: float, **only: object) -> Callable[[SpaceModel], SpaceModel]:
    """All numbers of a column, with their intervals, moved."""

    def change(row: Row) -> Row:
        if any(row[name] != cell for name, cell in only.items()):
            return row
        ends = {
            "difference": ("low", "high"), "value": ("low", "high"), "change": ("change_low", "change_high")
        }.get(column, ())  # fmt: skip
        return {**row, **{name: row[name] + by for name in (column, *ends) if name in row}}

    return lambda model: changed(model, part, table, change)


BREAKS: dict[str, tuple[str, Callable[[SpaceModel], SpaceModel]]] = {
    "F1.anisotropic": ("BERT", shifted("layers", "layers", ONE, 3.0, layer="3")),
    "F1.anisotropic/equal-length": ("BERT", shifted("layers", "layers", "equal_length_one_sign", 9.0)),
    "F1.falls": ("GPT-2", shifted("layers", "layers", ONE, 20.0, layer="6")),
    "T1.restores": ("BERT", shifted("local", "local", ONE, -1.0, clusters=20)),
    "T1.far": ("GPT-2", lambda model: model),
    "F2.cosine": ("BERT", shifted("local", "local", "mean_cosine", 0.2)),
    "T2.fewer": ("BERT", shifted("removal", "removal", ONE, -2.0, method="cluster")),
    "T2.global": ("BERT", shifted("sts", "sts", "value", -0.1, fit="task", setting="global")),
    "T2.cluster": ("BERT", shifted("sts", "sts", "value", -0.2, fit="task", setting="cluster")),
    "T2.more": ("BERT", shifted("sts", "sts", "value", -0.1, fit="task", setting="cluster")),
    "T2.global/inductive": ("BERT", shifted("sts", "sts", "value", -0.1, fit="text", setting="global")),
    "T2.cluster/inductive": ("BERT", shifted("sts", "sts", "value", -0.2, fit="text", setting="cluster")),
    "T2.more/inductive": ("BERT", shifted("sts", "sts", "value", -0.1, fit="text", setting="cluster")),
    "T6.rises": ("BERT", shifted("sts", "sts", ONE, -0.5, fit="task", setting="cluster", task="sts-b")),
    "T6.rises/inductive": ("BERT", shifted("sts", "sts", ONE, -9.0, fit="text", setting="global")),
    "T3.global": ("BERT", shifted("classify", "compared", "difference", -0.1, setting="global")),
    "T3.cluster": ("BERT", shifted("classify", "compared", "difference", -0.1, other="baseline")),
    "T3.more": ("BERT", shifted("classify", "compared", "difference", -0.1, other="global")),
    "F4.sooner": ("BERT", shifted("classify", "epochs", "score", -0.2, setting="cluster")),
    "F4.loss": ("BERT", shifted("classify", "epochs", "loss", 5.0, setting="cluster")),
    "F3.falls": ("BERT", shifted("structure", "structure", "change", 0.3, space="cluster")),
    "F3.punctuation": ("BERT", shifted("clusters", "claims", "value", -0.6)),
    "F3.directions": ("BERT", shifted("clusters", "claims", "value", -0.9)),
    "T4.before": ("BERT", shifted("tense", "tense", "value", -5.0, kind="dominance")),
    "T4.after": ("BERT", shifted("tense", "tense", "value", 5.0, kind="dominance")),
    "T4.isotropy": ("BERT", shifted("tense", "tense", ONE, -9.0, space="cluster")),
    "T4.apart": ("BERT", shifted("tense", "verbs", "DT", -5.0)),
    "T4.nearer": ("BERT", shifted("tense", "verbs", "DT", 5.0, space="cluster")),
    "F5.global": ("BERT", shifted("frequency", "claims", "value", -0.6)),
    "F5.cluster": ("BERT", shifted("frequency", "claims", "value", -0.6)),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_model_does_not_keep_the_claim(name: str) -> None:
    family, broken = BREAKS[name]
    said = found(name, broken(made_model(family)))
    assert said.verdict is NOT_HELD, said.why


def test_every_claim_has_a_model_that_breaks_it() -> None:
    others = {"F1.semi-convex", "F1.input", "S.more"}
    assert set(BREAKS) | others | set(ROWS) == set(CLAIMS)


def test_gpt2_that_stays_far() -> None:
    far = local_rows({0: -50.0, 1: -60.0, 3: -40.0, 6: -30.0, 9: -20.0, 20: -10.0})
    picture = made_model().rows("local", "picture")
    assert verdict("T1.far", made_model("GPT-2", local={"local": far, "picture": picture})) is HELD


def test_semi_convex_form() -> None:
    convex = made_model("RoBERTa", layers={"layers": layer_rows([-1, -6, -9, -10, -9, -8, -5])})
    assert verdict("F1.semi-convex", convex) is HELD
    assert verdict("F1.semi-convex", made_model("RoBERTa")) is NOT_HELD


def test_a_fall_is_no_fall_where_the_last_layer_rises_again() -> None:
    """What mini-gpt2 does: its last normalisation undoes it."""
    rows = layer_rows([-0.5, -15.0, -20.0, -25.0, -30.0, -60.0, -3.0])
    said = found("F1.falls", made_model("GPT-2", layers={"layers": rows}))
    assert said.verdict is NOT_HELD
    assert "−3.000 in the last" in said.why


def test_claims_over_models_need_both_kinds() -> None:
    assert verdict("F1.input", made_model()) is UNSHOWN
    assert verdict("S.more", made_model()) is UNSHOWN
    both = [made_model(), replace(made_model("GPT-2"), name="other")]
    assert verdict("F1.input", *both) is NOT_HELD  # equally isotropic
    assert verdict("S.more", *both) is NOT_HELD


@pytest.mark.parametrize(
    ("name", "part", "table", "ends"),
    [
        ("T2.cluster", "sts", "compared", {"low": -0.5, "high": 0.6}),
        ("T3.cluster", "classify", "compared", {"low": -0.5, "high": 0.6}),
        ("F3.falls", "structure", "structure", {"change_low": -0.5, "change_high": 0.5}),
        ("F3.punctuation", "clusters", "claims", {"low": -0.1, "high": 0.5}),
        ("T4.after", "tense", "tense", {"low": -9.0, "high": 9.0}),
        ("F5.cluster", "frequency", "claims", {"low": -0.1, "high": 0.5}),
        ("T1.restores", "local", "local", {"spread": 2.0}),
    ],
)
def test_wide_intervals_are_too_close_to_call(name: str, part: str, table: str, ends: Row) -> None:
    assert verdict(name, changed(made_model(), part, table, lambda row: {**row, **ends})) is CLOSE


def test_an_interval_of_a_mean_over_sets_is_narrower_than_theirs() -> None:
    """Two sets that err apart, each by 0.02, and STS-B, which shares pairs with them and may err as they do."""
    [said] = found("T2.cluster", made_model()).models.values()
    assert said.numbers["mean difference"].value == pytest.approx(0.08)
    assert said.numbers["mean difference"].error == pytest.approx((math.sqrt(2) + 1) * 0.02 / 3)
    assert "50.0 → 58.0, +8.0 ± 1.6; higher on 3 of 3 sets, beyond chance on 3" in said.why
    vary = changed(made_model(), "sts", "sts", lambda row: {**row, "sd": 0.01})
    [said] = found("T2.cluster", vary).models.values()
    each = math.hypot(0.02, 2.78 * 0.01 / math.sqrt(5))
    assert said.numbers["mean difference"].error == pytest.approx((math.sqrt(2) + 1) * each / 3)


def test_the_interval_of_a_mean_covers_sets_that_share_pairs() -> None:
    """Drawn: two independent sets, and a third that is the first again."""
    generator = np.random.default_rng(0)
    first, second = generator.normal(0, [[1.0], [2.0]], size=(2, 100_000))
    spread = float(np.std(first + second + first)) / 3
    parts = {"sts12": Estimate(0.0, 1.0), "sick-r": Estimate(0.0, 2.0), "sts-b": Estimate(0.0, 1.0)}
    assert mean_difference(parts).error < spread  # as if they erred apart
    assert spread <= mean_difference(parts, shared=SHARING).error < 1.3 * spread


def test_differences_on_new_pairs_stand_beside_those_of_all() -> None:
    """Pairs that were tuned on, or are in a set further left, are left out of them, and counted."""
    whole = made_model()
    rows = [{**row, "value": row["value"] / 2, "n": 90} for row in whole.rows("sts", "sts")]
    sts = {"sts": [{**row, "n": 100} for row in whole.rows("sts", "sts")], "compared": whole.rows("sts", "compared"),
           "new": rows, "new-compared": whole.rows("sts", "compared")}  # fmt: skip
    model = made_model(sts=sts)
    left_out = {"sts12": 0, "sts-b": 30, "sick-r": 3}
    model = replace(model, parts={**model.parts, "sts": replace(model.parts["sts"], about={"left_out": left_out})})
    text = blocks(try_on(PAPER, [model]), figures="figures")["table-2"]
    assert "30 of 100 of sts-b, 3 of 100 of sick-r" in text
    _, _, beside = text.partition("new pairs")
    assert "| +2.5 ± 1.2 | +4.0 ± 1.2 | +1.5 ± 1.2 |" in beside  # half the differences, and sets that err apart
    assert "new pairs" not in blocks(try_on(PAPER, [whole]), figures="figures")["table-2"]


def test_pairs_are_the_same_in_either_order() -> None:
    one = Pairs("one", "sts", ["A cat.", "b", "c"], ["a dog. ", "b", "d"], np.zeros(3))
    other = Pairs("other", "sts", ["A dog."], ["a cat."], np.zeros(1))
    assert [key in pair_keys(one) for key in pair_keys(other)] == [True]
    assert len(set(pair_keys(one))) == 3


def test_few_clusterings_have_a_wide_interval() -> None:
    """Student's: the spread of five over √5, times 2.78."""
    [said] = found("T1.restores", made_model()).models.values()
    assert said.numbers["log₁₀ I(W), k = 20"].error == pytest.approx(2.78 * 0.01 / math.sqrt(5))


def test_verbs_without_senses_cannot_show_dominance() -> None:
    tables = {"tense": tense_rows(sensed=False), "verbs": made_model().rows("tense", "verbs")}
    model = made_model(tense=tables)
    for name in ("T4.before", "T4.after"):
        assert verdict(name, model) is UNSHOWN
        assert "SemCor" in found(name, model).why
    assert verdict("T4.apart", model) is HELD
    assert verdict("T4.nearer", model) is HELD


@pytest.mark.parametrize("name", [name for name in CLAIMS if name not in ("F1.semi-convex",)])
def test_what_was_not_measured_cannot_be_shown(name: str) -> None:
    parts = dict.fromkeys(made_model().parts)
    models = [made_model("BERT", **parts), replace(made_model("GPT-2", **parts), name="other")]
    said = found(name, *models)
    assert said.verdict is UNSHOWN
    if name in ("T2.cluster", "F3.falls"):
        assert "needs the files of" in said.why


def test_fewer_components_with_a_margin() -> None:
    """Clusters that do as well on average, and in their interval do not, are too close to call."""
    wide = changed(
        made_model(), "removal", "removal", lambda row: {**row, "spread": 3.0 if row["method"] == "cluster" else 0.0}
    )
    assert verdict("T2.fewer", wide) is CLOSE


# measuring


def test_removed_components_are_those_of_separate_repairs() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(400, 8)) * np.linspace(3, 0.3, 8) + 2.0
    rows = torch.from_numpy(x)
    for count, (_, one) in zip((0, 1, 3), removed(rows, 1, (0, 1, 3), seed=0), strict=True):
        assert one == pytest.approx(log10_isotropy_one_sign(AllButTheTop(count).fit(x).transform(x)).value, abs=1e-6)
    for count, (_, one) in zip((1, 4), removed(rows, 5, (1, 4), seed=3), strict=True):
        alone = ClusterRemoval(5, count, random_state=3).fit(x).transform(x)
        assert one == pytest.approx(log10_isotropy_one_sign(alone).value, abs=1e-6)


# files


def test_a_part_comes_back_as_it_was(tmp_path: Path) -> None:
    part = Part({"t": {"a": [1, 2], "b": [0.1, math.nan], "c": ["x", "y"]}}, {"best": {"global": [1, 5]}})
    asked = {"seed": 0, "part": [("f", 3), None]}
    keep_part(tmp_path / "deep" / "p.json", part, asked)
    back = kept_part(tmp_path / "deep" / "p.json", asked)
    assert back is not None
    assert back.rows("t")[0] == {"a": 1, "b": 0.1, "c": "x"}
    assert math.isnan(back.rows("t")[1]["b"])
    assert back.about == part.about
    assert kept_part(tmp_path / "deep" / "p.json", {**asked, "seed": 1}) is None
    assert kept_part(tmp_path / "none.json", asked) is None


def test_numpys_numbers_are_kept(tmp_path: Path) -> None:
    part = Part({"t": {"a": np.array([1.5, np.inf]), "b": [np.int64(3), np.float32(2.0)]}})
    keep_part(tmp_path / "p.json", part, {})
    back = kept_part(tmp_path / "p.json", {})
    assert back is not None
    assert back.tables["t"]["b"] == [3, 2.0]
    assert math.isnan(back.tables["t"]["a"][1])


def test_columns_of_models_stand_below_one_another() -> None:
    files = columns_of_models([made_model(), replace(made_model(), name="other")])
    assert {"layers.csv", "sts.csv", "sts-compared.csv", "classify-epochs.csv", "tense-verbs.csv"} <= files.keys()
    assert list(dict.fromkeys(files["layers.csv"]["model"])) == ["made", "other"]
    assert "target" not in files["classify-epochs.csv"]


def test_analyses_come_back() -> None:
    again = analysis_of(made_model(), "clusters")
    assert [claim.id for claim in again.claims] == ["F3.punctuation", "F3.directions"]
    assert again.claims[0].verdict == "held"
    assert again.rows("angles")[0]["cosine"] == 0.1


# pages and figures


def test_the_blocks_hold_ours_and_the_printed_numbers() -> None:
    models = [made_model(), replace(made_model("GPT-2"), name="other")]
    found = try_on(PAPER, models, command="limbeck reproduce rajaee2021 --out here")
    made = blocks(found, figures="figures")
    assert "| 15 globally; 27 clusters, 12 of each (tuned) |" in made["models"]
    assert "| *BERT, printed* | as it is |  | 42.9 |" in made["table-2"]
    assert "| made | as it is |  | 50.0 | – |" in made["table-2"]
    assert "| made | the set | +5.0 ± 1.6 | +8.0 ± 1.6 | +3.0 ± 1.6 |" in made["table-2"]
    assert "10^−178" in made["table-6"] or "10^−177.9" in made["table-6"]
    assert "| *BERT, printed* | 54.4 |" not in made["table-3"]
    assert "54.4" in made["table-3"]
    assert "| made | I(W), one sign | 10^−5.0 |" in made["table-1"]
    assert "10^−173.3" in made["table-5"]
    assert "| made | as it is | 7.00 | 9.00 | 7.00 | 7.50 | 9.00 | 1.500 ± 0.100 | 10^−5.0 |" in made["table-4"]
    assert "27 × 12" in made["settings"]
    assert "limbeck reproduce rajaee2021 --out here" in made["models"]
    assert findings_page(found).count("## ") > 10


def test_blocks_say_what_is_missing() -> None:
    found = try_on(PAPER, [made_model(sts=None, classify=None, structure=None)])
    made = blocks(found, figures="figures")
    assert "Not measured: needs the files of sts." in made["table-2"]
    assert "*BERT, printed*" in made["table-2"]
    assert "Not measured: structure: needs the files of structure." in made["models"]


def test_the_page_has_known_blocks() -> None:
    read_page(PAGE, block_names(PAPER))


@pytest.mark.parametrize("missing", [(), ("sts", "classify", "structure", "tense", "frequency", "clusters", "tuning")])
def test_every_figure_can_be_drawn(missing: tuple[str, ...], tmp_path: Path) -> None:
    model = made_model(**dict.fromkeys(missing))
    with styled():
        draw_figures(try_on(PAPER, [model]), tmp_path, forms=["svg"])
    assert {path.stem for path in tmp_path.iterdir()} == set(PAPER.figures) == set(PAPER.captions)
    if missing:
        assert "needs the files of sts" in (tmp_path / "sts.svg").read_text(encoding="utf-8")


def test_all_claims_are_judged_and_numbered_once() -> None:
    assert len(CLAIMS) == len(PAPER.claims)
    assert {one.claim.id for one in judge_all(PAPER, [made_model()])} == set(CLAIMS)
    assert {claim.figure for claim in PAPER.claims} <= {*PAPER.figures, ""}
    assert TABLE_2.keys() == TABLE_6.keys()


def test_structure_counts_tokens_beyond_chance() -> None:
    rows = structure_rows(-0.1)
    rows[-1] = {**rows[-1], "change_low": -0.3, "change_high": 0.1}
    spaces = [{"layer": "6", "space": name} for name in ("baseline", "global", "cluster")]
    said = found("F3.falls", made_model(structure={"structure": rows, "spaces": spaces}))
    assert "lower beyond chance for 1 of 2" in said.why


@pytest.mark.parametrize(("preset", "transductive"), [("corrected", False), ("released", True), ("paper", True)])
def test_presets_decide_what_repairs_are_fitted_on(preset: str, transductive: bool) -> None:
    measuring = Measuring("nothing is loaded", "made", Wanted(Data(), ["a.txt"], True, {}, {}, preset=preset))
    measuring.methods = tuned_methods({"global": [1, 7], "cluster": [10, 3]})
    assert measuring.settings().transductive is transductive
    written = [str(method) for method in measuring.settings().methods]
    assert written == ["all-but-the-top:n_components=7", "cluster:n_clusters=10,n_components=3"]


def test_some_pairs_keep_their_scores_and_order() -> None:
    names = [f"t{at}" for at in range(50)]
    pairs = Pairs("made", "sts", names, names[::-1], np.arange(50.0), subsets=["a", "b"] * 25)
    fewer = some_pairs(pairs, 20, 0)
    assert len(fewer) == 20
    assert [int(name[1:]) for name in fewer.first] == fewer.gold.tolist() == sorted(fewer.gold.tolist())
    assert list(fewer.subsets) == ["ab"[int(gold) % 2] for gold in fewer.gold]
    assert some_pairs(pairs, None, 0) is pairs
    assert list(some_pairs(pairs, 20, 1).first) != list(fewer.first)
