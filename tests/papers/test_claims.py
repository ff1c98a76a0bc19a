"""Every claim of Ethayarajh 2019 on made runs: where it must hold, where it must not, where nobody can tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from made_runs import MadeRun, graded_words, plain_words, split_words

from limbeck.cli.summaries.reproduce import held
from limbeck.papers import published
from limbeck.papers.estimates import Verdict
from limbeck.papers.ethayarajh2019 import MINIATURES, PAPER
from limbeck.papers.findings import Claim, Finding, Judgement, Rule, judge, judge_all
from limbeck.papers.subjects import Subject, read_subjects

HELD, NOT_HELD, CLOSE, UNSHOWN = Verdict.HELD, Verdict.NOT_HELD, Verdict.CLOSE, Verdict.UNSHOWN
CLAIMS = {claim.id: claim for claim in PAPER.claims}
BERT, GPT2, ELMO = MadeRun("BERT"), MadeRun("GPT-2"), MadeRun("ELMo", layers=3)


@dataclass(frozen=True)
class Case:
    """Made runs and what a claim must be on them."""

    verdict: Verdict
    runs: tuple[MadeRun, ...]
    senses: Mapping[str, int] | None = None


def curve(run: MadeRun, measure: str, *values: float, error: float = 0.01) -> MadeRun:
    return run.but(curves={measure: values}, error=error)


def cases(run: MadeRun, measure: str, **by_verdict: Sequence[float]) -> list[Case]:
    """A curve for each verdict."""
    return [Case(Verdict[name], (curve(run, measure, *values),)) for name, values in by_verdict.items()]


def own(measure: str, values: Sequence[float], chance: Sequence[float] | None = None) -> MadeRun:
    """The paper's BERT, by name and shape."""
    run = MadeRun("BERT", layers=13, name="bert-base-cased", dim=768)
    return run.but(curves={measure: values}, chance={measure: chance or [0.0] * 13})


PAIRS, SIMILAR = published.RANDOM_PAIRS["BERT"], published.MEAN_SELF_SIMILARITY["BERT"]
SIMILARITY = "self_similarity"
BY_CONTEXTS, BY_SENSES, BY_BOTH = (graded_words(by) for by in ("contexts", "senses", "both"))
FOUR_LOWEST = plain_words() | {"river": (0.1, 10), "lamp": (0.1, 10)}  # of the five lowest three are stop words


def figure_cases(measure: str, values: Sequence[float], chance: Sequence[float] | None = None) -> list[Case]:
    return [
        Case(HELD, (own(measure, [value + 0.03 for value in values], chance),)),
        Case(NOT_HELD, (own(measure, [value + 0.08 for value in values], chance),)),
        Case(UNSHOWN, (own(measure, values, chance).but(name="bert-base-uncased"),)),
        Case(UNSHOWN, (own(measure, values, chance).but(dim=8),)),
        Case(UNSHOWN, (own(measure, values, chance).but(layers=7),)),
    ]


def moving(run: MadeRun, similarity: Sequence[float], pairs: Sequence[float], *, adjusted: bool) -> MadeRun:
    """Self-similarity and anisotropy by layer; `adjusted`: the baseline is the anisotropy, as in a run."""
    chance = {SIMILARITY: pairs} if adjusted else {}
    return run.but(curves={SIMILARITY: similarity, "anisotropy": pairs}, chance=chance)


def two(measure: str, values: Sequence[float], other: str, others: Sequence[float]) -> MadeRun:
    return BERT.but(curves={measure: values, other: others}, error=0.004)


CASES: dict[str, list[Case]] = {
    "F1": figure_cases("anisotropy", PAIRS),
    "F1.anisotropic": cases(
        BERT, "anisotropy", HELD=[0.01, 0.2, 0.3, 0.1, 0.2], NOT_HELD=[0.2, 0.2, 0.01, 0.3, 0.3],
        CLOSE=[0.2, 0.2, 0.055, 0.3, 0.3],
    ) + cases(BERT, "anisotropy", NOT_HELD=[0.2, 0.01, 0.2, 0.3, 0.3]),
    "F1.higher": cases(
        BERT, "anisotropy", HELD=[0.1, 0.2, 0.1, 0.3, 0.5], NOT_HELD=[0.5, 0.3, 0.1, 0.2, 0.1],
        CLOSE=[0.3, 0.3, 0.9, 0.3, 0.31],
    ),
    "F1.penultimate": cases(
        BERT, "anisotropy", HELD=[0.1, 0.2, 0.3, 0.5, 0.4], NOT_HELD=[0.5, 0.4, 0.3, 0.4, 0.5],
        CLOSE=[0.1, 0.2, 0.3, 0.41, 0.4],
    ),
    "F1.input": cases(
        BERT, "anisotropy", HELD=[0.1, 0.2, 0.3, 0.4, 0.5], NOT_HELD=[0.35, 0.2, 0.3, 0.4, 0.5],
        CLOSE=[0.1, 0.2, 0.3, 0.4, 0.105],
    ),
    "F1.elmo-input": [
        *cases(ELMO, "anisotropy", HELD=[0.01, 0.2, 0.2], NOT_HELD=[0.2, 0.01, 0.01], CLOSE=[0.045, 0.2, 0.2]),
        Case(NOT_HELD, (curve(ELMO, "anisotropy", -0.2, 0.1, 0.1),)),
    ],
    "F2": figure_cases(SIMILARITY, SIMILAR, PAIRS),
    "F2.falls": [
        *cases(
            BERT, SIMILARITY, HELD=[0.9, 0.7, 0.8, 0.4, 0.3], NOT_HELD=[0.3, 0.4, 0.5, 0.7, 0.9],
            CLOSE=[0.505, 0.504, 0.503, 0.502, 0.501],
        ),
        Case(NOT_HELD, (curve(BERT, SIMILARITY, 0.5, 0.51, 0.1, 0.6, 0.2),)),  # one low layer is no fall
        Case(NOT_HELD, (curve(ELMO, SIMILARITY, 0.9, 0.5, 0.4), curve(BERT, SIMILARITY, 0.3, 0.4, 0.5, 0.6, 0.7))),
    ],
    "F2.gpt2-lowest": [
        Case(HELD, (curve(GPT2, SIMILARITY, 0.9, 0.2, 0.2, 0.2, 0.2), curve(ELMO, SIMILARITY, 0.1, 0.4, 0.4))),
        Case(NOT_HELD, (curve(GPT2, SIMILARITY, 0.1, 0.5, 0.5, 0.5, 0.5), curve(ELMO, SIMILARITY, 0.9, 0.4, 0.4))),
        Case(CLOSE, (curve(GPT2, SIMILARITY, *[0.395] * 5), curve(ELMO, SIMILARITY, *[0.4] * 3))),
        Case(UNSHOWN, (curve(GPT2, SIMILARITY, *[0.2] * 5),)),
    ],
    "F2.gpt2-last": cases(
        GPT2, SIMILARITY, HELD=[0.9, 0.9, 0.9, 0.9, 0.02], NOT_HELD=[0.01, 0.01, 0.01, 0.01, 0.3],
        CLOSE=[0.9, 0.9, 0.9, 0.9, 0.045],
    ),
    "F2.static": [
        Case(HELD, (curve(ELMO, SIMILARITY, 1.0, 0.5, 0.5, error=0.0),)),
        Case(NOT_HELD, (curve(ELMO, SIMILARITY, 0.97, 1.0, 1.0, error=0.0),)),
    ],
    "C1.stop-words": [
        Case(HELD, (BERT.but(words=split_words(0.3, 0.6)),)),
        Case(NOT_HELD, (BERT.but(words=split_words(0.6, 0.3)),)),
        Case(UNSHOWN, (BERT.but(words={"the": (0.5, 10), "river": (0.5, 10)}),)),
    ],
    "C1.five-lowest": [
        Case(HELD, (BERT.but(words=split_words(0.3, 0.6)),)),
        Case(NOT_HELD, (BERT.but(words=split_words(0.6, 0.3)),)),
        Case(CLOSE, (BERT.but(words=FOUR_LOWEST),)),
        # neither punctuation nor words with too few occurrences count
        Case(HELD, (BERT.but(words=split_words(0.3, 0.6) | {",": (0.0, 10), ".": (0.0, 10)}),)),
        Case(HELD, (BERT.but(words=split_words(0.3, 0.6) | {"owls": (0.0, 4), "oaks": (0.0, 4)}),)),
    ],
    "C1.variety": [
        Case(HELD, (BERT.but(words=BY_CONTEXTS[0]),), BY_CONTEXTS[1]),
        Case(NOT_HELD, (BERT.but(words=BY_SENSES[0]),), BY_SENSES[1]),
        Case(CLOSE, (BERT.but(words=BY_BOTH[0]),), BY_BOTH[1]),
        Case(UNSHOWN, (BERT.but(words=BY_CONTEXTS[0]),)),
        Case(UNSHOWN, (BERT.but(words=BY_CONTEXTS[0]),), dict.fromkeys(BY_CONTEXTS[0], 2)),
    ],
    "F3": [Case(UNSHOWN, (own("intra_sentence_similarity", [0.5] * 13),))],
    "F3.with-anisotropy": [
        Case(HELD, (moving(BERT, [0.5] * 5, [0.1, 0.2, 0.3, 0.4, 0.45], adjusted=True),)),
        Case(NOT_HELD, (moving(BERT, [0.2, 0.4, 0.6, 0.8, 1.0], [0.1, 0.2, 0.3, 0.4, 0.5], adjusted=True),)),
        Case(UNSHOWN, (moving(ELMO, [0.5] * 3, [0.1, 0.2, 0.3], adjusted=True),)),
    ],
    "F3.with-anisotropy/raw": [
        Case(HELD, (moving(BERT, [0.9, 0.8, 0.7, 0.6, 0.5], [0.1, 0.2, 0.3, 0.4, 0.45], adjusted=True),)),
        Case(NOT_HELD, (moving(BERT, [0.5, 0.52, 0.54, 0.56, 0.58], [0.1, 0.2, 0.3, 0.4, 0.45], adjusted=True),)),
        Case(UNSHOWN, (moving(BERT, [0.5] * 5, [0.1, 0.2, 0.3, 0.4, 0.45], adjusted=True),)),
    ],
    "F4": [Case(UNSHOWN, (own("mev_truncated_svd", [0.5] * 13),))],
    "F4.which": [
        Case(HELD, (two("mev_truncated_svd", [0.9, *[0.02] * 4], "mev", [0.1, *[0.5] * 4]),)),
        Case(NOT_HELD, (two("mev_truncated_svd", [0.0, *[0.3] * 4], "mev", [0.1, *[0.5] * 4]),)),
        Case(NOT_HELD, (two("mev_truncated_svd", [0.0, *[0.02] * 4], "mev", [0.9, *[0.03] * 4]),)),
        Case(CLOSE, (two("mev_truncated_svd", [0.0, *[0.02] * 4], "mev", [0.9, *[0.048] * 4]),)),
    ],
    "F4.gpt2-raw": cases(
        GPT2, "mev_truncated_svd", HELD=[0.9, 0.9, 0.31, 0.3, 0.9], NOT_HELD=[0.3, 0.3, 0.1, 0.1, 0.3],
        CLOSE=[0.9, 0.9, 0.345, 0.345, 0.9],
    ) + cases(GPT2, "mev_truncated_svd", NOT_HELD=[0.3, 0.3, 0.8, 0.8, 0.3]),
}  # fmt: skip

for kind, measure in (("", "intra_sentence_similarity"), ("/matched", "intra_sentence_similarity_matched")):
    CASES |= {
        f"F3.elmo-rises{kind}": cases(
            ELMO, measure, HELD=[0.1, 0.9, 0.3], NOT_HELD=[0.3, 0.1, 0.1], CLOSE=[0.3, 0.1, 0.305]
        ),
        f"F3.bert-falls{kind}": cases(
            BERT, measure, HELD=[0.5, 0.4, 0.3, 0.2, 0.25], NOT_HELD=[0.1, 0.2, 0.3, 0.4, 0.5],
            CLOSE=[0.5, 0.4, 0.3, 0.2, 0.005],
        ) + cases(BERT, measure, NOT_HELD=[0.5, 0.4, 0.3, 0.2, -0.2]),
        f"F3.gpt2-baseline{kind}": cases(
            GPT2, measure, HELD=[0.3, 0.01, -0.1, 0.02, 0.3], NOT_HELD=[0.0, 0.3, 0.3, 0.0, 0.0],
            CLOSE=[0.3, 0.01, 0.01, 0.045, 0.3],
        ),
        f"F3.gpt2-input{kind}": cases(
            GPT2, measure, HELD=[0.5, 0.1, 0.2, 0.3, 0.4], NOT_HELD=[0.1, 0.1, 0.2, 0.1, 0.1],
            CLOSE=[0.405, 0.1, 0.2, 0.3, 0.4],
        ),
        f"F3.above{kind}": cases(
            BERT, measure, HELD=[0.3, 0.3, 0.1, 0.3, 0.3], NOT_HELD=[0.3, 0.3, 0.1, 0.1, 0.3],
            CLOSE=[0.3, 0.3, 0.1, 0.205, 0.3],
        ) + cases(ELMO, measure, HELD=[0.1, 0.3, 0.3]),
    }  # fmt: skip
for short, definition in (("released", "mev_truncated_svd"), ("eq3", "mev"), ("centered", "mev_centered")):
    below = cases(
        BERT, definition, HELD=[0.9, 0.01, 0.02, -0.3, 0.01], NOT_HELD=[0.0, 0.01, 0.2, 0.01, 0.01],
        CLOSE=[0.9, 0.01, 0.045, 0.01, 0.01],
    )  # fmt: skip
    CASES |= {
        f"F4.below-5-percent/{short}": [
            *below,
            # a high raw value is low when chance is as high
            Case(HELD, (curve(BERT, definition, *[0.6] * 5).but(chance={definition: [0.6] * 5}),)),
        ],
        f"F4.raw-below-5-percent/{short}": [
            *below,
            Case(NOT_HELD, (curve(BERT, definition, *[0.6] * 5).but(chance={definition: [0.6] * 5}),)),
        ],
        f"F4.below-baseline/{short}": [
            Case(HELD, (BERT.but(below={definition: 0.6}),)),
            Case(NOT_HELD, (BERT.but(below={definition: 0.02}),)),
            Case(CLOSE, (BERT.but(below={definition: 0.27}),)),
        ],
    }


Judge = Callable[[Claim], None]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], list[Subject]]:
    """A case's runs, written and read once for all the tests that ask for it."""
    known: dict[int, tuple[Case, list[Subject]]] = {}  # the case too, lest its number be given to another

    def read(case: Case) -> list[Subject]:
        if id(case) not in known:
            root = tmp_path_factory.mktemp("runs")
            known[id(case)] = case, read_subjects([run.write(root) for run in case.runs], senses=case.senses)
        return known[id(case)][1]

    return read


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.papers.statistics.REPLICATES", 200)


def check(claim: Claim, read: Callable[[Case], list[Subject]]) -> None:
    """A claim's rule says on each made run what it must."""
    for number, case in enumerate(CASES[claim.id]):
        found = judge(claim, read(case), PAPER.numbers)
        assert found.verdict is case.verdict, f"{claim.id}, case {number}: {found.verdict}, {found.why}"
        assert found.why
        assert "nan" not in found.why


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str, runs: Callable[[Case], list[Subject]]) -> None:
    check(CLAIMS[name], runs)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("F3", "F4")])
@pytest.mark.parametrize("broken", [HELD, NOT_HELD])
def test_a_broken_rule_is_found(name: str, broken: Verdict, runs: Callable[[Case], list[Subject]]) -> None:
    """The twin: a rule that always says the same cannot pass."""
    claim = CLAIMS[name]
    assert claim.rule is not None
    always = replace(claim, rule=Rule(claim.rule.text, lambda subject, beside: Judgement(broken, "so")))
    with pytest.raises(AssertionError, match="case"):
        check(always, runs)


@pytest.mark.parametrize("name", [name for name, some in CASES.items() if any(case.verdict is CLOSE for case in some)])
def test_a_rule_without_intervals_is_found(name: str, runs: Callable[[Case], list[Subject]]) -> None:
    """The twin: what is too close to call must not be decided."""
    claim = CLAIMS[name]
    assert claim.rule is not None
    ask = claim.rule.judge
    assert ask is not None

    def boldly(subject: Subject, beside: Sequence[Subject]) -> Judgement:
        found = ask(subject, beside)
        return replace(found, verdict=HELD if found.verdict is CLOSE else found.verdict)

    with pytest.raises(AssertionError, match=r"case \d+: held"):
        check(replace(claim, rule=Rule(claim.rule.text, boldly)), runs)


def test_every_claim_is_tried_both_ways() -> None:
    decided = {claim.id for claim in PAPER.claims if claim.rule is not None and not claim.id.startswith("T1")}
    assert decided == set(CASES)  # Table 1's have tests of their own
    for name, some in CASES.items():
        if name not in ("F3", "F4"):  # figures of which the paper gives no numbers by layer
            assert {HELD, NOT_HELD} <= {case.verdict for case in some}, name


def test_claims_tell_where_they_come_from() -> None:
    assert len(CLAIMS) == len(PAPER.claims)
    for claim in PAPER.claims:
        assert claim.where
        assert claim.text[0] != claim.text[0].upper() or claim.text.split("'")[0] in (
            "BERT",
            "GPT-2",
            "ELMo",
            "MEV by layer",
        )
        assert not claim.text.endswith(".")
        assert claim.figure in ("", *PAPER.figures)
        assert bool(claim.pending) == (claim.rule is None)


def test_table_1_is_listed() -> None:
    names = ["T1.lower", "T1.files", "T1.bert-best", "T1.gpt2-worst", "T1.means"]
    listed = [claim.id for claim in PAPER.claims if claim.id.startswith("T1")]
    assert listed == ["T1", *names, *(f"{name}/known" for name in names)]


# the paper's own numbers


def test_shipped_numbers_say_what_the_paper_says() -> None:
    """By every rule that they are enough for; but half of GPT-2's layers are less anisotropic than its input."""
    found = {claim.id: judge(claim, [], PAPER.numbers).published for claim in PAPER.claims}
    told = {name: {model: judged.verdict for model, judged in some.items()} for name, some in found.items() if some}
    everyone = {"published BERT": HELD, "published GPT-2": HELD, "published ELMo": HELD}
    assert told == {
        "F1.anisotropic": everyone,
        "F1.higher": everyone,
        "F1.penultimate": {"published BERT": HELD},
        "F1.input": everyone | {"published GPT-2": NOT_HELD},
        "F1.elmo-input": {"published ELMo": HELD},
        "F2.falls": everyone,
        "F2.gpt2-lowest": {"published GPT-2": HELD},
        "F2.gpt2-last": {"published GPT-2": HELD},
        "F2.static": {"published ELMo": HELD},
        "F3.with-anisotropy": {"published BERT": HELD, "published GPT-2": HELD},
        "F3.with-anisotropy/raw": {"published BERT": HELD, "published GPT-2": NOT_HELD},
        "T1.lower": everyone,
        "T1.files": {"published BERT": HELD, "published ELMo": HELD},
        "T1.bert-best": {"published BERT": HELD},
        "T1.gpt2-worst": {"published GPT-2": HELD},
    }


def test_published_numbers_have_their_shape() -> None:
    for table in (published.RANDOM_PAIRS, published.MEAN_SELF_SIMILARITY):
        assert {family: len(values) for family, values in table.items()} == {"BERT": 13, "GPT-2": 13, "ELMo": 3}
    assert published.RANDOM_PAIRS["GPT-2"][-1] == 0.978
    assert published.MEAN_SELF_SIMILARITY["ELMo"] == (1.0, 0.744, 0.642)
    assert all(len(row) == len(published.TABLE_1_SETS) for row in published.TABLE_1.values.values())


# several models, and the question


def miniatures(*, rising: bool) -> tuple[MadeRun, ...]:
    """Three models that differ by intra-sentence similarity as the paper says, or in which ELMo's falls."""
    curves = {
        "mini-bert": [0.6, 0.5, 0.4, 0.35, 0.3],
        "mini-gpt2": [0.2, 0.01, 0.0, 0.01, 0.02],
        "mini-elmo": [0.25, 0.3, 0.4] if rising else [0.4, 0.3, 0.25],
    }
    kinds = {"mini-bert": BERT, "mini-gpt2": GPT2, "mini-elmo": ELMO}
    return tuple(
        kinds[name].but(
            name=name,
            curves={"intra_sentence_similarity": values, "intra_sentence_similarity_matched": values},
            error=0.004,
        )
        for name, values in curves.items()
    )


def answers(case: Case, read: Callable[[Case], list[Subject]]) -> dict[str, Finding]:
    return {found.claim.id: found for found in judge_all(PAPER, read(case)) if found.claim.kind == "question"}


def test_the_question_is_answered_by_models_trained_alike(runs: Callable[[Case], list[Subject]]) -> None:
    assert set(MINIATURES) == {run.name for run in miniatures(rising=True)}
    yes = answers(Case(HELD, miniatures(rising=True)), runs)
    assert {name: found.verdict for name, found in yes.items()} == {
        "Q.architecture": HELD,
        "Q.architecture/matched": HELD,
    }
    no = answers(Case(NOT_HELD, miniatures(rising=False)), runs)["Q.architecture"]
    assert no.verdict is NOT_HELD
    assert "not held: F3.elmo-rises" in no.why


def test_the_question_needs_all_three_miniatures(runs: Callable[[Case], list[Subject]]) -> None:
    others = tuple(run.but(name=f"other-{run.name}") for run in miniatures(rising=True))
    for case in (Case(UNSHOWN, miniatures(rising=True)[:2]), Case(UNSHOWN, others)):
        assert {found.verdict for found in answers(case, runs).values()} == {UNSHOWN}


def test_a_claim_about_a_kind_that_is_not_there(runs: Callable[[Case], list[Subject]]) -> None:
    found = judge(CLAIMS["F2.static"], runs(Case(UNSHOWN, (BERT, MadeRun("")))))
    assert (found.verdict, found.why, found.models) == (UNSHOWN, "no model of the kind of ELMo", {})


def test_reasons_name_the_models_that_differ(runs: Callable[[Case], list[Subject]]) -> None:
    pair = (
        curve(BERT, "anisotropy", 0.1, 0.2, 0.3, 0.4, 0.5),
        curve(GPT2, "anisotropy", 0.5, 0.4, 0.3, 0.2, 0.1),
        curve(ELMO, "anisotropy", 0.5, float("nan"), 0.6),
    )
    found = judge(CLAIMS["F1.higher"], runs(Case(NOT_HELD, pair)))
    assert found.verdict is NOT_HELD
    assert "bert held: 0.150" in found.why
    assert "gpt-2 not held: 0.450" in found.why
    assert "elmo cannot be shown: layer 1 has no value" in found.why


def test_a_reason_that_models_share_is_told_once(runs: Callable[[Case], list[Subject]]) -> None:
    unknown = float("nan")
    several = (
        *(curve(one, "anisotropy", 0.1, unknown, 0.3, 0.4, 0.5) for one in (BERT, GPT2)),
        curve(ELMO, "anisotropy", 0.5, unknown, 0.6),
    )
    found = judge(CLAIMS["F1.higher"], runs(Case(UNSHOWN, several)))
    assert found.why == "bert, gpt-2 and elmo: layer 1 has no value"
    assert held(found) == "cannot be shown: layer 1 has no value"


def test_what_anisotropy_adjusts_has_its_interval_too(tmp_path: Path) -> None:
    measures = (
        "anisotropy",
        "self_similarity",
        "intra_sentence_similarity",
        "intra_sentence_similarity_matched",
        "mev",
    )
    run = BERT.but(curves={measure: [0.5] * 5 for measure in measures}, error=0.03)
    [subject] = read_subjects([run.write(tmp_path)])
    widened = {measure: subject.curve(measure, "adjusted")[0].error for measure in measures[1:]}
    assert widened == pytest.approx(dict(zip(measures[1:], [0.03 * 2**0.5] * 2 + [0.03] * 2, strict=True)))
    assert subject.curve("self_similarity")[0].error == pytest.approx(0.03)


def test_static_vectors_take_part_in_no_claim_about_layers(tmp_path: Path) -> None:
    [subject] = read_subjects([MadeRun("", layers=1, first="table", words=split_words(0.3, 0.6)).write(tmp_path)])
    found = {one.claim.id: one for one in judge_all(PAPER, [subject])}
    assert subject.layers == ("table",)
    assert found["F1.higher"].why == "a trend needs two layers or more"
    assert found["F1.anisotropic"].why == "no layer above the input was measured"
    assert found["C1.stop-words"].verdict is HELD


def test_the_bare_table_is_no_layer_of_a_model(tmp_path: Path) -> None:
    run = curve(BERT, "anisotropy", 0.9, 0.1, 0.2, 0.3, 0.4).but(first="table")
    [subject] = read_subjects([run.write(tmp_path)])
    assert subject.layers == ("1", "2", "3", "4")
    assert judge(CLAIMS["F1.higher"], [subject]).verdict is HELD


def test_layers_without_the_input(tmp_path: Path) -> None:
    """With --layers 3,6 there is no input layer, and no claim about one."""
    folder = curve(BERT, "anisotropy", 0.2, 0.3, 0.4, 0.5, 0.6).write(tmp_path)
    text = (folder / "layers.csv").read_text()
    (folder / "layers.csv").write_text("\n".join(line for line in text.split("\n") if not line.startswith("0,")))
    [subject] = read_subjects([folder])
    assert subject.layers == ("1", "2", "3", "4")
    assert judge(CLAIMS["F1.anisotropic"], [subject]).verdict is HELD
    found = judge(CLAIMS["F1.input"], [subject])
    assert (found.verdict, found.why) == (UNSHOWN, "the input layer was not measured")
