"""The rules of zhao2020: on the paper's own numbers they find what it says, on made ones what was put in."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_probes import LAYERS, by_layer, made_model, scores, write_labelled
from refusals import raises
from scipy.stats import spearmanr

from limbeck.analysis.result import columns_of
from limbeck.corpus import Corpus
from limbeck.errors import InputError
from limbeck.papers import paper_named
from limbeck.papers import published_probes as published
from limbeck.papers.estimates import Verdict
from limbeck.papers.findings import judge
from limbeck.papers.markdown import block_names, blocks
from limbeck.papers.pages import blocks_of, read_page
from limbeck.papers.parts import Part, columns_of_models
from limbeck.papers.probe_data import fewer_words, find_tasks, find_words, semcor_in
from limbeck.papers.probe_listings import nearest
from limbeck.papers.probe_measures import score_row
from limbeck.papers.probe_rules import _rank_correlation
from limbeck.papers.probe_scores import Scored, combined, mean, quarter_rows, scored, scored_rows
from limbeck.papers.probe_subjects import ProbedModel
from limbeck.papers.probe_wanted import TASKS
from limbeck.papers.results import Reproduction, draw_figures, try_on
from limbeck.probing.labelled import read_labelled
from limbeck.probing.names import WHOLE
from limbeck.probing.result import Outcome, quarters
from limbeck.probing.scoring import weights_of_words
from limbeck.probing.settings import LabelSettings
from limbeck.probing.spaces import Level
from limbeck.probing.splits import DEV, TEST

PAPER = paper_named("zhao2020")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "zhao2020.md"
CLAIMS = {claim.id: claim for claim in PAPER.claims}
HELD, NOT_HELD, CLOSE, UNSHOWN = Verdict.HELD, Verdict.NOT_HELD, Verdict.CLOSE, Verdict.UNSHOWN


def verdict(claim: str, model: ProbedModel) -> Verdict:
    return judge(CLAIMS[claim], [model], ()).verdict


def why(claim: str, model: ProbedModel) -> str:
    return judge(CLAIMS[claim], [model], ()).why


# --- what is printed -----------------------------------------------------------------------------


def test_rules_find_in_the_print_what_the_text_says() -> None:
    """All claims that the paper prints numbers for; F3.best stands for the text and the table alike."""
    judged = {claim.id: judge(claim, [], PAPER.numbers).published for claim in PAPER.claims}
    shown = {name: next(iter(found.values())).verdict for name, found in judged.items() if found}
    assert shown == dict.fromkeys(
        ("F3.average", "F3.best", "F3.top", "F3.lowest", "F3.static", "F3.random", "F3.starts", "F4.rises",
         "F4.levels-off", "F4.step", "F4.bag", "F4.above", "F4.random", "F6.recover", "T7.few", "T7.none"),
        HELD,
    )  # fmt: skip


def test_the_print_adds_up() -> None:
    """Table 2 is the sum of Table 8 as far as the paper's own totals go, and the text's numbers are those of tables."""
    assert published.IN_CONTEXT["dev"][-1] == 0.835  # §4.4.2: 0.835 before fine-tuning
    assert round(published.IN_CONTEXT["dev"][-1] - published.POS_TUNED["same probes"], 3) == 0.763
    assert round(published.IN_CONTEXT["dev"][-1] - published.POS_TUNED["new probes"], 3) == 0.1
    assert max(published.AVERAGES["dev"]) == published.AVERAGES["dev"][10]  # the text's layer 10
    assert max(published.AVERAGES["test"]) == published.AVERAGES["test"][9]  # the test table's layer 9
    assert published.TABLE_3["pos"] == published.TABLE_7[WHOLE]


def own_model(**more: Any) -> ProbedModel:
    """The paper's model with the paper's scores and as many words as the paper has, of other development words."""
    counts = {side: dict(zip(("words", "combinations", "contexts"), numbers, strict=True))
              for side, numbers in published.TABLE_2.items()}  # fmt: skip
    for what, moved in (("words", 150), ("combinations", 200), ("contexts", 9000)):
        counts["train"][what] += moved
        counts["dev"][what] -= moved
    account = {"settings": {"preset": "paper"}, "dim": 768, "counts": counts} | more
    parts = PAPER.numbers[0].parts
    return ProbedModel("bert-base-uncased", "BERT", ("table", "0", *published.LAYERS), parts, {}, account)


def test_only_the_papers_model_on_its_words_meets_printed_numbers() -> None:
    own = own_model()
    assert PAPER.is_own(own)
    assert verdict("F4", own) is HELD
    assert verdict("F3", own) is HELD
    off = [row | {"f1": row["f1"] - 0.05} for row in own.parts["layers"].rows("scores")]
    assert verdict("F4", replace(own, parts={"layers": Part({"scores": columns_of(off)})})) is NOT_HELD
    small = own_model(dim=128)
    assert not PAPER.is_own(small)
    assert why("F4", small).startswith("not the paper's model")
    for side, what in (("train", "words"), ("test", "combinations"), ("test", "contexts")):
        counts = deepcopy(own.account["counts"])
        counts[side][what] = round(0.9 * counts[side][what])
        semcor = own_model(counts=counts)
        assert PAPER.is_own(semcor)
        for claim in ("F3", "F4"):
            assert verdict(claim, semcor) is UNSHOWN
            assert why(claim, semcor).startswith("not the paper's labelled words; by layer: 1 0.")


def test_tasks_are_held_against_the_print_where_their_data_are_the_papers() -> None:
    def tuned(task: str, value: float, **examples: int) -> dict[str, Part]:
        row = {"metric": "accuracy", "value": value, "low": value, "high": value, "accuracy": value, "majority": 0.5}
        return {f"tuned-{task}": Part({"scores": columns_of([row])}, {"examples": examples})}

    glue = tuned("sst-2", 0.93, train=67_349, dev=872)
    others = tuned("pos", 0.5, train=39_000, dev=1_700) | tuned("mrpc", 0.5, train=3_668, dev=408)
    found = judge(CLAIMS["T3"], [replace(own_model(), parts=glue | others)], ())
    assert found.verdict is HELD
    assert "SST2 at most 0.002 from the print; POS not the paper's data (Penn Treebank); MRPC not" in found.why
    assert verdict("T3", replace(own_model(), parts=tuned("sst-2", 0.85, train=67_349, dev=872))) is NOT_HELD
    senteval = replace(own_model(), parts=tuned("sst-2", 0.93, train=6_920, dev=872))
    assert why("T3", senteval).startswith("not the paper's data (GLUE); SST2 accuracy 0.930")
    assert verdict("T3", senteval) is UNSHOWN
    assert why("T3", replace(own_model(dim=12), parts=glue)).startswith("not the paper's model; ")
    assert verdict("T7", PAPER.numbers[0]) is UNSHOWN  # of whatever treebank, it is not the paper's


def test_the_page_says_whose_the_printed_numbers_are() -> None:
    """Of a model on other words they are marked as from other data; on the paper's they are not."""
    with_rows = made_model(sizes={"0": by_layer(*[0.3] * 8), WHOLE: by_layer(*[0.4] * 8)}, windows={"0": 0.8},
                           attention={"pos": [[0.9, 0.8]] * 6})  # fmt: skip
    made = blocks(try_on(PAPER, [with_rows]), figures="f")
    assert "*Printed, bert-base-uncased on Wiki-PSE (other data than here):*" in made["layers"]
    assert "These are not the paper's words" in made["models"]
    assert "Classes with no test word: b." in made["models"]
    assert "bert-base-uncased on CoNLL-2003, printed" in made["tasks"]
    assert "bert-base-uncased on the Penn Treebank, printed" in made["windows"]
    counts = own_model().account["counts"]
    ours = replace(own_model(), account=with_rows.account | {"counts": counts, "dim": 768}, parts=with_rows.parts)
    found = Reproduction(PAPER, (ours,), ())
    assert "*Printed, bert-base-uncased on Wiki-PSE:*" in PAPER.blocks["layers"].make(found)
    assert "not the paper's words" not in PAPER.blocks["models"].make(found)


# --- scores and their draws ----------------------------------------------------------------------


def test_draws_are_those_of_the_words() -> None:
    """F1 in each draw, counted out by repeating every word as often as it is drawn."""
    generator = np.random.default_rng(3)
    rows, classes, layers = 60, 3, 2
    kind = generator.integers(0, classes, rows)
    targets = np.eye(classes, dtype=bool)[kind]
    sides = np.where(np.arange(rows) % 2, TEST, DEV).astype(np.int8)
    unit = np.arange(rows)
    level = Level("context", targets, sides, unit, targets, unit)
    decisions = generator.random((layers, rows, classes)) < 0.4
    made = Outcome("context", "mlp", WHOLE, 0, ("1", "2"), level, unit, decisions,
                   np.zeros((layers, rows), dtype=np.float16), {}, np.full(layers, np.nan))  # fmt: skip
    found = {(row["side"], row["layer"]): row for row in scored_rows([made])}
    test = np.flatnonzero(sides == TEST)
    drawn = weights_of_words(len(test), 0)
    for layer in range(layers):
        row = found["test", str(layer + 1)]
        assert row["words"] == len(test)
        for at in (0, 17, 199):
            again = np.repeat(test, drawn[at])
            tp = (decisions[layer][again] & targets[again]).sum()
            wrong = (decisions[layer][again] != targets[again]).sum()
            assert row["draws"][at] == pytest.approx(2 * tp / (2 * tp + wrong), abs=1e-4)
        assert len(row["draws"]) == 200


def test_differences_on_the_same_words_are_sharp() -> None:
    a, b = (scored(row) for row in scores("context", {"1": 0.5, "2": 0.52})[2:])
    apart = (b - a).estimate
    assert apart.value == pytest.approx(0.02)
    assert apart.error < 0.01 < a.estimate.error  # both err together
    other = Scored(b.value, b.draws, words=a.words + 1)
    assert (other - a).estimate.error > 0.05  # of other words: nothing cancels
    assert (Scored(0.4, np.empty(0)) - a).estimate.error == 0  # a printed number has no draws


def test_numbers_made_of_several_scores() -> None:
    some = [Scored(value, np.array([value - 0.1, value + 0.1]), 5) for value in (0.2, 0.4, 0.9)]
    assert mean(some).value == pytest.approx(0.5)
    assert mean(some).draws.tolist() == pytest.approx([0.4, 0.6])
    assert combined(max, some).draws.tolist() == pytest.approx([0.8, 1.0])


@pytest.mark.parametrize("values", [(0.1, 0.2, 0.15, 0.3), (0.3, 0.3, 0.1, 0.2, 0.2), (4.0, 3.0, 2.0)])
def test_rank_correlation_is_spearmans(values: tuple[float, ...]) -> None:
    assert _rank_correlation(*values) == pytest.approx(spearmanr(range(len(values)), values).statistic)


# --- rules ---------------------------------------------------------------------------------------


def test_rules_of_layers() -> None:
    """A curve as the paper has it, then one that says the opposite, then one within its own noise."""
    like = made_model(others={"P-model": 0.42})
    flat = by_layer(0.5, 0.5, 0.5, 0.49, 0.48, 0.47, 0.46, 0.55)
    unlike = made_model(context=flat, average=flat, others={"P-model": 0.2, "P-random": 0.3, "random": 0.6})
    for claim in ("F3.average", "F3.best", "F3.top", "F3.lowest", "F3.random", "F4.rises", "F4.levels-off", "F4.step",
                  "F4.bag", "F4.above", "F4.random"):  # fmt: skip
        assert verdict(claim, like) is HELD, (claim, why(claim, like))
    for claim in ("F3.average", "F3.random", "F4.rises", "F4.levels-off", "F4.step", "F4.bag", "F4.random"):
        assert verdict(claim, unlike) is NOT_HELD, (claim, why(claim, unlike))
    noisy = made_model(context=dict.fromkeys(LAYERS, 0.4), noise=0.05)
    assert verdict("F4.rises", noisy) in (CLOSE, NOT_HELD)
    assert verdict("F3.top", noisy) is CLOSE
    assert "--static" in why("F3.static", like)
    assert verdict("F3.static", made_model(others={"static": 0.31})) is HELD
    assert verdict("F3.static", made_model(others={"static": 0.6})) is NOT_HELD


def test_a_fall_is_told_as_one() -> None:
    falling = by_layer(0.3, 0.35, 0.40, 0.50, 0.55, 0.6, 0.58, 0.56)
    assert "layers 5 and 6 add nothing: F1 is lower by 0.040 ±" in why("F4.levels-off", made_model(context=falling))
    assert "layers 5 and 6 add 0.005 ±" in why("F4.levels-off", made_model())


def quarter(layer: str, name: str, value: float, draws: Any) -> dict[str, Any]:
    return {"layer": layer, "quarter": name, "f1": value, "low": value - 0.1, "high": value + 0.1, "units": 9,
            "draws": list(draws)}  # fmt: skip


def test_probes_that_say_nothing_decide_nothing() -> None:
    """As good as the majority class, or surely no better: of layers, averages, bags and sizes, each its own claims."""
    layers = ("table", "1", "3", "6")
    values = {"0": (0.2, 0.30, 0.31, 0.32), "4": (0.2, 0.36, 0.40, 0.44), WHOLE: (0.2, 0.37, 0.42, 0.47)}
    sizes = {size: dict(zip(layers, row, strict=True)) for size, row in values.items()}
    bags = {"0": 0.2, "4": 0.3, "16": 0.25, WHOLE: 0.24}
    heads = [[0.9, 0.8]] * 6
    none = by_layer(*[0.1] * 8)
    starts = Part({"scores": columns_of(scores("average", {"5": 0.5, "6": 0.6}))})
    groups = [quarter(layer, name, 0.3, np.full(100, 0.3)) for layer in ("table", "6") for name in "14"]
    tuned = dict.fromkeys(TASKS, (none, none))
    usual: dict[str, Any] = {"sizes": sizes, "bags": bags, "tuned": tuned, "attention": dict.fromkeys(TASKS, heads),
                             "windows": {"0": 0.5, "4": 0.6}}  # fmt: skip

    def judged(**more: Any) -> dict[str, tuple[Verdict, str]]:
        model = made_model(**usual | more)
        tables = {**model.parts["layers"].tables, "confidence": columns_of(groups)}
        model = replace(model, parts={**model.parts, "layers": Part(tables), "starts": starts})
        found = {name: judge(claim, [model], ()) for name, claim in CLAIMS.items() if claim.kind == "claim"}
        return {name: (one.verdict, one.why) for name, one in found.items()}

    by_majority = {"F7.top", "F7.pos", "T7.few", "T7.none"}  # asks nothing of probes
    silent = judged(majority=0.7)
    for name, (verdict_, told) in silent.items():
        if name not in by_majority | {"F3.static", "Q.pieces"}:
            assert verdict_ is UNSHOWN, name
            assert "say nothing: F1 0." in told, (name, told)
            assert "the majority class 0.700" in told
    heard = judged()
    assert {name for name, (verdict_, _) in heard.items() if verdict_ is UNSHOWN} == {"F3.static", "Q.pieces"}
    # noise: a little above the majority class, within the interval
    assert judged(majority=0.59, noise=0.05)["F4.rises"][0] is UNSHOWN
    # a bag that says nothing takes with it what is said of bags alone
    poor = judged(others={"P-model": 0.02}, bags=dict.fromkeys(bags, 0.02))
    lost = {name for name, (_, told) in poor.items() if "probes on P-model" in told}
    assert lost == {"F4.bag", "F4.above", "F4.random", "F5.bag"}
    alone = {**sizes, "0": dict.fromkeys(layers, 0.02)}
    assert "the word alone say nothing" in judged(sizes=alone)["F5.alone"][1]
    assert judged(sizes=alone)["F5.more"][0] is HELD  # the word alone may know nothing


def test_tasks_that_were_not_learnt_decide_nothing() -> None:
    before = by_layer(0.3, 0.35, 0.40, 0.50, 0.55, 0.600, 0.602, 0.605)
    less = {layer: value - 0.1 for layer, value in before.items()}
    heads = {task: [[0.9, 0.8]] * 6 for task in TASKS}
    tuned = dict.fromkeys(TASKS, (less, before))
    claims = ("F6.words", "F6.top", "F6.recover", "F6.near", "F6.pos", "F6.mrpc", "F7.top", "F7.pos", "T7.none")
    model = made_model(context=before, tuned=tuned, attention=heads, windows={"0": 0.2, "4": 0.2}, accuracy=0.2)
    for claim in claims:
        assert verdict(claim, model) is UNSHOWN, claim
        assert "not learnt, not surely better than the most frequent class: train longer" in why(claim, model), claim
    fine = made_model(context=before, tuned=tuned, attention=heads, windows={"0": 0.8, "4": 0.9})
    assert all(verdict(claim, fine) is not UNSHOWN for claim in claims)
    # one of them, without an entity: what needs it cannot be shown, the others are judged without it
    part = fine.parts["tuned-ner"]
    nothing = Part({**part.tables, "scores": columns_of([part.rows("scores")[0] | {"value": 0.0}])}, part.about)
    some = replace(fine, parts={**fine.parts, "tuned-ner": nothing})
    assert "NER was not learnt" in why("F6.words", some)
    for claim in ("F6.top", "F6.near", "F6.pos"):
        assert verdict(claim, some) is verdict(claim, fine)
        assert "NER left out, not surely better than" in why(claim, some)
        assert "NER 0." not in why(claim, some)


def test_a_task_is_learnt_when_its_interval_says_so() -> None:
    """Of 100 places 0.25 has ± 0.085 and 0.30 has ± 0.090, of a majority of 0.2: the second alone is surely above."""
    heads = dict.fromkeys(TASKS, [[0.9, 0.8]] * 6)
    assert made_model(attention=heads, accuracy=0.25).unlearnt == list(TASKS)
    assert made_model(attention=heads, accuracy=0.30).unlearnt == []
    # F1 has no interval; the accuracy beside it has
    part = made_model(attention=heads).parts["tuned-ner"]
    for accuracy, expected in ((0.25, ["ner"]), (0.30, [])):
        row = part.rows("scores")[0] | {"metric": "f1", "value": 0.4, "low": np.nan, "high": np.nan}
        own = Part({**part.tables, "scores": columns_of([row | {"accuracy": accuracy}])}, part.about)
        assert made_model(attention=heads, more={"tuned-ner": own}).unlearnt == expected


def test_starts_need_several() -> None:
    rows = scores("average", {"5": 0.5, "6": 0.6})
    assert verdict("F3.starts", made_model(more={"starts": Part({"scores": columns_of(rows)})})) is HELD
    wide = [row | {"deviation": 0.03} for row in rows]
    assert verdict("F3.starts", made_model(more={"starts": Part({"scores": columns_of(wide)})})) is NOT_HELD
    single = [row | {"deviation": float("nan")} for row in rows]
    assert "--starts" in why("F3.starts", made_model(more={"starts": Part({"scores": columns_of(single)})}))


def test_rules_of_context() -> None:
    """Size 0 alike, most gained by 4 words, the top gains more; and the contrary of each."""
    layers = ("table", "1", "3", "6")
    like = {"0": (0.2, 0.30, 0.31, 0.32), "4": (0.2, 0.36, 0.40, 0.44), WHOLE: (0.2, 0.37, 0.42, 0.47)}
    unlike = {"0": (0.2, 0.50, 0.40, 0.30), "4": (0.2, 0.49, 0.40, 0.30), WHOLE: (0.2, 0.49, 0.45, 0.27)}
    made = {}
    for name, values, bags in (
        ("like", like, {"0": 0.2, "4": 0.3, "16": 0.25, WHOLE: 0.24}),
        ("unlike", unlike, {"0": 0.2, "4": 0.22, "16": 0.3, WHOLE: 0.3}),
    ):
        sizes = {size: dict(zip(layers, row, strict=True)) for size, row in values.items()}
        made[name] = made_model(sizes=sizes, bags=bags)
    for claim in ("F5.local", "F5.more", "F5.alone", "F5.bag", "F5.higher"):
        assert verdict(claim, made["like"]) is HELD, (claim, why(claim, made["like"]))
        assert verdict(claim, made["unlike"]) is NOT_HELD, (claim, why(claim, made["unlike"]))
    assert "--context-size" in why("F5.bag", made_model(sizes={"0": by_layer(*[0.3] * 8), WHOLE: by_layer(*[0.4] * 8)},
                                                        bags={"0": 0.2, WHOLE: 0.3}))  # fmt: skip
    assert "not run" in why("F5.local", made_model())


def test_rules_of_fine_tuning() -> None:
    before = by_layer(0.3, 0.35, 0.40, 0.50, 0.55, 0.600, 0.602, 0.605)

    def less(*lost: float) -> dict[str, float]:
        return {layer: value - part for (layer, value), part in zip(before.items(), lost, strict=True)}

    none = less(*[0.0] * 8)
    top = less(0, 0, 0.01, 0.02, 0.05, 0.2, 0.3, 0.4)
    like = made_model(
        context=before,
        tuned={
            "pos": (top, less(0, 0, 0, 0, 0.01, 0.03, 0.05, 0.1)),
            "ner": (less(0, 0, 0, 0.01, 0.03, 0.1, 0.2, 0.3), less(0, 0, 0, 0, 0, 0.01, 0.01, 0.02)),
            "sst-2": (less(0, 0, 0, 0, 0, 0.01, 0.02, 0.03), none),
            "mrpc": (less(0, 0, 0, 0, 0, 0.01, 0.01, 0.02), less(*[-0.01] * 8)),
        },
    )
    bottom = less(0, 0, 0.3, 0.2, 0.1, 0.02, 0.01, 0.1)
    unlike = made_model(
        context=before,
        tuned={
            "pos": (none, none),
            "ner": (none, none),
            "sst-2": (bottom, less(*[0.2] * 8)),
            "mrpc": (bottom, bottom),
        },
    )
    for claim in ("F6.words", "F6.top", "F6.recover", "F6.near", "F6.pos", "F6.mrpc"):
        assert verdict(claim, like) is HELD, (claim, why(claim, like))
        assert verdict(claim, unlike) is NOT_HELD, (claim, why(claim, unlike))
    # POS alone makes the mean of both larger; NER loses less than SST2
    pos_alone = {"pos": (top, none), "ner": (less(*[0.01] * 8), none), "sst-2": (less(*[0.03] * 8), none)}
    lopsided = made_model(context=before, tuned={**pos_alone, "mrpc": (none, none)})
    assert verdict("F6.words", lopsided) is NOT_HELD
    assert "least of words above most of sentences by −0.020 ±" in why("F6.words", lopsided)
    untouched = made_model(context=before, tuned=dict.fromkeys(("pos", "ner", "sst-2", "mrpc"), (none, none)))
    assert "nothing is lost" in why("F6.recover", untouched)
    assert why("F6.words", made_model()).startswith("not run: ")


def test_rules_of_attention_and_windows() -> None:
    calm, wild = [[0.99, 0.98]] * 3, [[0.6, 0.7]] * 3
    like = made_model(attention={"pos": [*calm, *wild], "mrpc": [*calm, *[[0.9, 0.95]] * 3]},
                      windows={"0": 0.80, "4": 0.899, WHOLE: 0.9})  # fmt: skip
    unlike = made_model(attention={"pos": [*wild, *calm], "mrpc": [*wild, *[[0.5, 0.6]] * 3]},
                        windows={"0": 0.9, "4": 0.8, WHOLE: 0.9})  # fmt: skip
    for claim in ("F7.top", "F7.pos", "T7.none", "T7.few"):
        assert verdict(claim, like) in ((HELD, CLOSE) if claim == "T7.few" else (HELD,)), (claim, why(claim, like))
        assert verdict(claim, unlike) is NOT_HELD, (claim, why(claim, unlike))
    # accuracy with all words, where no window says so, is that of the fine-tuning itself
    assert "all 0.900" in why("T7.none", made_model(attention={"pos": calm}, windows={"0": 0.5}))


def test_rules_of_failures() -> None:
    def table(column: str, values: dict[str, float]) -> list[dict[str, object]]:
        return [{"layer": "6", column: name, "f1": value, "low": value - 0.02, "high": value + 0.02, "units": 40}
                for name, value in values.items()]  # fmt: skip

    for better, expected in ((0.6, HELD), (0.3, CLOSE), (0.1, NOT_HELD)):
        base = made_model().parts["layers"].tables
        own = Part({**base, "pieces": columns_of(table("pieces", {"1": better, "4 or more": 0.3}))})
        assert verdict("Q.pieces", made_model(more={"layers": own})) is expected


def test_contexts_are_judged_beside_a_layer_that_knows_none() -> None:
    """A fall that the table has as well is no fall of contexts; draws of the same words cancel."""
    words = np.random.default_rng(0).normal(size=100) * 0.05  # what words do to a quarter, at every layer
    own = np.random.default_rng(1).normal(size=(4, 100)) * 0.001
    falls = {"6": (0.3, 0.6), "table": (0.35, 0.4)}

    def judged(falls: dict[str, tuple[float, float]], *, paired: bool = True, kept: bool = True) -> tuple[Verdict, str]:
        rows = []
        for at, (layer, values) in enumerate(falls.items()):
            for name, value, sign, noise in zip("14", values, (-1, 1), own[2 * at : 2 * at + 2], strict=True):
                drawn = sign * (words if paired or not at else words[::-1])
                rows.append(quarter(layer, name, value, value + drawn + noise))
        rows = rows if kept else [{key: cell for key, cell in row.items() if key != "draws"} for row in rows]
        tables = {**made_model().parts["layers"].tables, "confidence": columns_of(rows)}
        model = made_model(more={"layers": Part(tables)})
        return verdict("Q.context", model), why("Q.context", model)

    found, told = judged(falls)
    assert found is HELD
    assert "less by 0.300 ±" in told
    assert "in the table, which knows no context, by 0.050 ±" in told
    assert "more by 0.250 ±" in told
    assert judged({"6": (0.3, 0.6), "table": (0.1, 0.5)})[0] is NOT_HELD
    near = {"6": (0.3, 0.42), "table": (0.3, 0.4)}
    assert judged(near)[0] is HELD
    assert judged(near, paired=False)[0] is CLOSE
    assert "--existing replace" in judged(falls, kept=False)[1]
    assert "too few contexts" in why("Q.context", made_model())


def test_draws_of_quarters_are_those_of_all_test_words() -> None:
    """Counted out by repeating every word as often as it is drawn, in every quarter the same."""
    generator = np.random.default_rng(5)
    words, classes = 40, 2
    word = np.repeat(np.arange(words), 2)  # two contexts each, of one class
    targets = np.eye(classes, dtype=bool)[word % classes]
    sides = np.where(word % 4 < 3, TEST, DEV).astype(np.int8)
    gold = np.eye(classes, dtype=bool)[np.arange(words) % classes]
    level = Level("context", targets, sides, word, gold, np.arange(words))
    rows = np.arange(len(word))

    def outcome(name: str, layers: tuple[str, ...]) -> Outcome:
        size = (len(layers), len(word))
        return Outcome(name, "mlp", WHOLE, 0, layers, level, rows, generator.random((*size, classes)) < 0.5,
                       generator.normal(size=size).astype(np.float16), {}, np.full(len(layers), np.nan))  # fmt: skip

    context, around = outcome("context", ("table", "1")), outcome("P-around", ("table",))
    found = quarter_rows([context], [around])
    assert [(row["layer"], row["quarter"]) for row in found] == [(a, b) for a in ("table", "1") for b in "1234"]
    test = np.flatnonzero(np.arange(words) % 4 < 3)
    drawn = weights_of_words(len(test), 0)
    of_row = quarters([around])
    for row in found:
        said = context.decisions[("table", "1").index(row["layer"])]
        for at in (0, 31, 199):
            counts = np.zeros(3)
            for times, one in zip(drawn[at], test, strict=True):
                here = [n for n in rows if word[n] == one and of_row[n] == int(row["quarter"])]
                for kind in range(classes) if here else ():
                    yes = sum(said[n, kind] for n in here)
                    mine = bool(gold[one, kind])
                    says = 2 * yes >= len(here) if mine else 2 * yes > len(here)
                    counts += times * np.array([says and mine, says and not mine, mine and not says])
            tp, fp, fn = counts
            assert row["draws"][at] == pytest.approx(2 * tp / (2 * tp + fp + fn), abs=1e-4)


@pytest.mark.parametrize("name", ["F5", "F6", "F7", "T9", "Q", "T7"])
def test_rows_that_nobody_can_judge_do_not_contradict_themselves(name: str) -> None:
    """What is asked for, numbers of the paper or its data, is what is missing."""
    examples = Part({**made_model().parts["layers"].tables, "examples": columns_of([{"word": "tea"}]),
                     "failures": columns_of([{"kind": "many pieces"}])})  # fmt: skip
    sizes = {"0": by_layer(*[0.3] * 8), WHOLE: by_layer(*[0.4] * 8)}
    model = made_model(sizes=sizes, attention={"pos": [[0.9, 0.8]] * 6}, windows={"0": 0.8},
                       tuned={"pos": (by_layer(*[0.3] * 8),) * 2}, more={"layers": examples})  # fmt: skip
    assert verdict(name, model) is UNSHOWN
    told, rule = why(name, model), CLAIMS[name].rule
    assert rule is not None
    if name == "T7":
        assert "treebank is the paper's" in rule.text
        assert told.startswith("not the paper's treebank")
    else:
        figure = "the paper printed the figure in numbers"
        assert rule.text == (figure if name[0] == "F" else "the paper gave numbers to compare with")
        printed = "one point of a curve" if name == "F6" else "no numbers to judge"
        assert f"the paper prints {printed}" in told


# --- data ----------------------------------------------------------------------------------------


def test_fewer_words_are_whole_words(tmp_path: Path) -> None:
    labelled = read_labelled(Corpus(write_labelled(tmp_path / "words.jsonl")), LabelSettings(min_words=1))
    some = fewer_words(labelled, 21, min_words=1)
    assert len({*zip(some.word.tolist(), some.kind.tolist(), strict=True)}) == 21
    for word, name in enumerate(some.words):  # nothing of a word is lost, and it is the same text
        own = np.flatnonzero(some.word == word)
        before = np.flatnonzero(labelled.word == labelled.words.index(name))
        assert sorted(map(some.text_of, own.tolist())) == sorted(map(labelled.text_of, before.tolist()))
    assert set(some.words) <= set(fewer_words(labelled, 30, min_words=1).words)  # more are more of the same
    assert sum(some.left_out.values()) == len(labelled) - len(some)
    rare = fewer_words(labelled, 21, min_words=11)
    assert len(rare.classes) == 1
    assert set(rare.kind.tolist()) == {0}
    with raises(InputError, code="too_few", parameter="min_words"):
        fewer_words(labelled, 5, min_words=6)


def test_what_is_probed_for(tmp_path: Path) -> None:
    assert find_words(["mine.jsonl"], None) == (["mine.jsonl"], "mine.jsonl", (), 5)
    assert find_words(None, None)[1] == "the sample corpus"
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "semcor3.0.tar.xz").touch()
    paths, name, classes, least = find_words(None, tmp_path)
    assert ([Path(path).name for path in paths], name, classes, least) == (
        ["brown1", "brown2"], "SemCor", ("noun.*",), 150
    )  # fmt: skip
    with raises(InputError, code="not_found", parameter="data"):
        semcor_in(tmp_path / "nowhere")
    tasks, missing = find_tasks(tmp_path, ("pos", "mrpc"), seed=0)
    assert not tasks
    assert set(missing) == {"pos", "mrpc"}
    assert "give the folder to --data" in find_tasks(None, ("pos",), seed=0)[1]["pos"]


def test_neighbours_and_scores() -> None:
    table = np.array([[1.0, 0], [0.9, 0.1], [0, 1], [-1, 0]])
    assert [row["neighbor"] for row in nearest(table, ["a", "b", "c", "d"], 0)] == ["b", "c", "d"]
    row = score_row({"accuracy": 0.8}, "accuracy", 100, 0.5)
    assert (row["low"], row["high"]) == (pytest.approx(0.8 - 1.96 * 0.04), pytest.approx(0.8 + 1.96 * 0.04))


# --- pages and figures ---------------------------------------------------------------------------


def test_figures_and_blocks_of_much_and_of_nothing(tmp_path: Path) -> None:
    layers = ("table", "1", "6")
    sizes = {size: dict(zip(layers, (0.2, 0.3, 0.4), strict=True)) for size in ("0", WHOLE)}
    calm = [[0.9, 0.8]] * 6
    tuned = {task: (by_layer(*[0.3] * 8), by_layer(*[0.4] * 8)) for task in ("pos", "mrpc")}
    much = made_model(sizes=sizes, bags={"0": 0.2, WHOLE: 0.3}, tuned=tuned, attention={"pos": calm, "mrpc": calm},
                      windows={"0": 0.8})  # fmt: skip
    nothing = ProbedModel("bare", "GPT-2", LAYERS, {}, {"layers": "needs words"}, much.account)
    for subjects, drawn in (([much, nothing], set(PAPER.figures)), ([nothing], {"layers"})):
        found = try_on(PAPER, subjects, command="limbeck reproduce zhao2020")
        made = blocks(found, figures="figures")
        assert set(made) == set(block_names(PAPER))
        assert "needs words" in made["not-run"]
        draw_figures(found, tmp_path / str(len(subjects)), forms=["svg"])
        assert {path.stem for path in (tmp_path / str(len(subjects))).glob("*.svg")} == drawn
        for name in PAPER.figures:
            assert made[f"figure-{name}"].startswith("![" if name in drawn else "Not drawn: n")
    assert made["figure-tuned"] == "Not drawn: nothing was fine-tuned."
    assert "| 6 | 0.605 | 0.300 / 0.400 | 0.300 / 0.400 |" in blocks(try_on(PAPER, [much]), figures="f")["tuned"]
    assert "draws" not in {name for columns in columns_of_models([much]).values() for name in columns}


def test_the_page_has_blocks_that_are_known() -> None:
    known = block_names(PAPER)
    names = blocks_of(read_page(PAGE, known), page=PAGE)
    assert {"models", "claims", "reasons", "layers"} <= set(names)
