"""Ethayarajh 2019, "How Contextual are Contextualized Word Representations?": figures, table and claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from limbeck.encoders.miniatures import MINIATURES
from limbeck.papers import published
from limbeck.papers.component_blocks import table_1
from limbeck.papers.component_rules import (
    averages_do_as_well,
    beats_files_on_most,
    first_layer_best,
    lower_better,
    same_table,
    worst_of_all,
)
from limbeck.papers.component_vectors import with_printed
from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every
from limbeck.papers.findings import Block, Claim, Finding, Judgement, Paper, Published, Rule
from limbeck.papers.layer_blocks import beside, models, words
from limbeck.papers.layer_figures import CAPTIONS, FIGURES, TABLES
from limbeck.papers.rules import (
    all_layers_but_one_above,
    every_layer_above,
    every_layer_below,
    falls,
    input_at_least,
    input_highest,
    input_lowest,
    input_within,
    last_below,
    last_below_penultimate,
    lowest_of_all,
    middle_around,
    most_layers_below,
    move_together,
    only_first_is_below,
    rises,
    stays_above_but_falls,
)
from limbeck.papers.subjects import Subject
from limbeck.papers.word_rules import (
    contexts_rather_than_senses,
    lowest_are_stop_words,
    many_words_below_baseline,
    stop_words_lowest,
)

#: a mean cosine that counts as none: about half way between the 0.008 that the paper calls isotropic and the 0.105
#: that it does not
ISOTROPIC = 0.05
NEAR = 0.05  #: how near, of cosines and shares, counts as equal
ALMOST_ALL = 0.8  #: of the layers
ABOVE_OTHERS = 0.20  #: intra-sentence similarity that the paper names for ELMo and BERT
AMONG_LOWEST = 0.75  #: of the pairs of a stop word and another word
MANY = 0.25  #: of the words
ABOUT_30_PERCENT = 0.30
STATIC = 0.999  #: self-similarity of vectors that know no context, rounding left room
AS_WELL = 0.01  #: what the mean of nine scores may be lower and count as equal

BERT, GPT2, ELMO = ("BERT",), ("GPT-2",), ("ELMo",)
#: measure -> how ids and texts tell its definition
DEFINITIONS = {
    "mev_truncated_svd": ("released", "released code"),
    "mev": ("eq3", "Eq. 3"),
    "mev_centered": ("centered", "centred"),
}
BASELINES = {
    "intra_sentence_similarity": ("", ""),
    "intra_sentence_similarity_matched": ("/matched", " (matched baseline)"),
}
Numbers = tuple[Published, ...]


def same_curve(measure: str, column: str) -> Rule:
    """A figure's row: our curve beside the paper's, where the model is the paper's."""

    def judge(subject: Subject, _: Sequence[Subject]) -> Judgement:
        curve = subject.curve(measure, column)
        shown = {called: tuple(subject.curve(measure, called).values.tolist()) for called in ("value", "adjusted")}
        if not published.is_own_model(subject):
            return Judgement(Verdict.UNSHOWN, "not a model of the paper's", curve=shown)
        own = next(one for one in published.shipped_subjects() if one.family == subject.family)
        try:
            theirs = own.curve(measure, column)
        except CannotShow:
            return Judgement(Verdict.UNSHOWN, "the paper gives no numbers by layer", curve=shown)
        apart = Estimate(sum(abs(a.value - b.value) for a, b in zip(curve, theirs, strict=True)) / len(curve))
        why = f"{apart.value:.3f} apart on average over layers"
        return Judgement(apart.below(NEAR), why, {"mean difference by layer": apart}, curve=shown)

    text = (
        f"the model is one of the paper's and its curve less than {NEAR:g} from the published one, averaged over layers"
    )
    return Rule(text, judge)


def _figure(row: str, text: str, measure: str, column: str, figure: str, numbers: Numbers) -> Claim:
    return Claim(row, "figure", text, f"Figure {row[1:]}", same_curve(measure, column), (), figure, numbers)


def _claim(
    name: str,
    text: str,
    rule: Rule,
    *,
    figure: str,
    where: str,
    about: tuple[str, ...] = (),
    numbers: Numbers = (),
) -> Claim:
    return Claim(name, "claim", text, where, rule, about, figure, numbers)


SHIPPED = (published.ANISOTROPY,)
_figure_1_claim = partial(_claim, figure="anisotropy", where="§4.1", numbers=SHIPPED)
ANISOTROPY = (
    _figure("F1", "anisotropy by layer", "anisotropy", "value", "anisotropy", SHIPPED),
    _figure_1_claim(
        "F1.anisotropic",
        "all layers but the input are anisotropic",
        every_layer_above("anisotropy", "value", ISOTROPIC),
    ),
    _figure_1_claim("F1.higher", "higher layers are more anisotropic", rises("anisotropy", "value")),
    _figure_1_claim(
        "F1.penultimate",
        "BERT's last layer is less anisotropic than the one before it",
        last_below_penultimate("anisotropy"),
        about=BERT,
    ),
    _figure_1_claim(
        "F1.input",
        "the input layer is less anisotropic than almost all others",
        input_lowest("anisotropy", ALMOST_ALL),
    ),
    _figure_1_claim(
        "F1.elmo-input", "ELMo's input layer is isotropic", input_within("anisotropy", ISOTROPIC), about=ELMO
    ),
)

SHIPPED_BOTH = (published.SELF_SIMILARITY, published.ANISOTROPY)
_figure_2_claim = partial(_claim, figure="self_similarity", where="§4.2", numbers=SHIPPED_BOTH)
SELF_SIMILARITY = (
    _figure("F2", "self-similarity by layer", "self_similarity", "adjusted", "self_similarity", SHIPPED_BOTH),
    _figure_2_claim(
        "F2.falls", "the higher the layer, the lower the self-similarity", falls("self_similarity", "adjusted")
    ),
    _figure_2_claim(
        "F2.gpt2-lowest",
        "GPT-2's vectors are the most context-specific",
        lowest_of_all("self_similarity", "adjusted"),
        about=GPT2,
    ),
    _figure_2_claim(
        "F2.gpt2-last",
        "GPT-2's last layer is almost maximally context-specific",
        last_below("self_similarity", "adjusted", NEAR),
        about=GPT2,
    ),
    _figure_2_claim(
        "F2.static",
        "self-similarity is 1 in ELMo's static input layer",
        input_at_least("self_similarity", "value", STATIC),
        about=ELMO,
    ),
)

_word_claim = partial(_claim, figure="words", where="§4.2")
WORDS = (
    _word_claim(
        "C1.stop-words",
        "stop words are among the words of lowest self-similarity",
        stop_words_lowest(AMONG_LOWEST),
    ),
    _word_claim(
        "C1.five-lowest",
        "the five words of lowest self-similarity are stop words",
        lowest_are_stop_words(4, 3),
        numbers=(published.LOWEST_WORDS,),
    ),
    _word_claim(
        "C1.variety",
        "variety of contexts, not number of senses, drives self-similarity",
        contexts_rather_than_senses(),
    ),
)

_figure_3_claim = partial(_claim, figure="intra_sentence_similarity", where="§4.2", numbers=published.INTRA_SENTENCE)


def _intra_sentence(measure: str) -> tuple[Claim, ...]:
    """The claims on intra-sentence similarity, by one of the two baselines."""
    short, beside = BASELINES[measure]
    return (
        _figure_3_claim(
            f"F3.elmo-rises{short}",
            f"ELMo's intra-sentence similarity rises with height{beside}",
            rises(measure, "adjusted"),
            about=ELMO,
        ),
        _figure_3_claim(
            f"F3.bert-falls{short}",
            f"BERT's falls with height but stays above the baseline{beside}",
            stays_above_but_falls(measure, "adjusted"),
            about=BERT,
        ),
        _figure_3_claim(
            f"F3.gpt2-baseline{short}",
            f"GPT-2's is no higher than the baseline in most layers{beside}",
            most_layers_below(measure, "adjusted", NEAR),
            about=GPT2,
        ),
        _figure_3_claim(
            f"F3.gpt2-input{short}",
            f"GPT-2's is highest in the input layer{beside}",
            input_highest(measure, "adjusted"),
            about=GPT2,
        ),
        _figure_3_claim(
            f"F3.above{short}",
            f"ELMo's and BERT's are above {ABOVE_OTHERS:.2f} in all layers but one{beside}",
            all_layers_but_one_above(measure, "adjusted", ABOVE_OTHERS),
            about=(*BERT, *ELMO),
        ),
    )


INTRA_SENTENCE = (
    _figure(
        "F3",
        "intra-sentence similarity by layer",
        "intra_sentence_similarity",
        "adjusted",
        "intra_sentence_similarity",
        published.INTRA_SENTENCE,
    ),
    *(claim for measure in BASELINES for claim in _intra_sentence(measure)),
    _figure_2_claim(
        "F3.with-anisotropy",
        "context-specificity comes with anisotropy",
        move_together("self_similarity", "adjusted", "anisotropy"),
        where="§4.2, §6",
    ),
    # adjusted self-similarity holds the anisotropy with a minus: some of the correlation above is made by that
    _figure_2_claim(
        "F3.with-anisotropy/raw",
        "context-specificity comes with anisotropy, self-similarity not adjusted",
        move_together("self_similarity", "value", "anisotropy"),
        where="§4.2, §6",
    ),
)

_figure_4_claim = partial(_claim, figure="mev_raw", where="§4.3", numbers=published.MEV)
MEV = (
    _figure("F4", "MEV by layer", "mev_truncated_svd", "adjusted", "mev", published.MEV),
    *(
        _figure_4_claim(
            f"F4.below-5-percent/{short}",
            f"a static vector explains less than 5 % of the variance, {name}",
            every_layer_below(definition, "adjusted", published.HEADLINE_MEV),
            figure="mev",
            where="abstract, §4.3",
        )
        for definition, (short, name) in DEFINITIONS.items()
    ),
    _figure_4_claim(
        "F4.which",
        "the 5 % belong to the released code's MEV, not to Eq. 3",
        only_first_is_below("mev_truncated_svd", "mev", "adjusted", published.HEADLINE_MEV),
        figure="mev_headline",
        where="docs/fidelity.md §1.1",
    ),
    *(
        _figure_4_claim(
            f"F4.raw-below-5-percent/{short}",
            f"raw MEV is below 5 % in ELMo and BERT, {name}",
            every_layer_below(definition, "value", published.HEADLINE_MEV),
            about=(*BERT, *ELMO),
        )
        for definition, (short, name) in DEFINITIONS.items()
    ),
    *(
        _figure_4_claim(
            f"F4.below-baseline/{short}",
            f"the raw MEV of many words is below the baseline, {name}",
            many_words_below_baseline(definition, MANY),
            numbers=(),
        )
        for definition, (short, name) in DEFINITIONS.items()
    ),
    _figure_4_claim(
        "F4.gpt2-raw",
        "raw MEV is about 30 % in GPT-2's layers 2 to 11, released code",
        middle_around("mev_truncated_svd", "value", ABOUT_30_PERCENT, NEAR),
        about=GPT2,
        numbers=published.GPT2_MEV,
    ),
)


_table_claim = partial(_claim, figure="", where="§4.3, Table 1", numbers=(published.TABLE_1,))


def _table_1(way: str) -> tuple[Claim, ...]:
    """The claims on static vectors, scored in one of the two ways of `component_vectors`."""
    short, beside = ("", "") if way == "web" else ("/known", " (scored on what the vectors know)")
    return (
        _table_claim(
            f"T1.lower{short}",
            f"vectors of principal components are better from lower layers than from upper ones{beside}",
            lower_better(way),
            about=(*BERT, *GPT2, *ELMO),
        ),
        _table_claim(
            f"T1.files{short}",
            f"those of BERT and ELMo outperform GloVe and fastText on most sets{beside}",
            beats_files_on_most(way),
            about=(*BERT, *ELMO),
        ),
        _table_claim(
            f"T1.bert-best{short}",
            f"those of BERT's first layer are the best{beside}",
            first_layer_best(way),
            about=BERT,
        ),
        _table_claim(f"T1.gpt2-worst{short}", f"those of GPT-2 are the worst{beside}", worst_of_all(way), about=GPT2),
        _table_claim(
            f"T1.means{short}",
            f"mean vectors do as well as principal components{beside}",
            averages_do_as_well(way, AS_WELL),
            where="not in the paper",
            about=(*BERT, *GPT2, *ELMO),
        ),
    )


TABLE_1 = (
    Claim(
        "T1", "table", "principal-component vectors on nine sets, beside GloVe and fastText", "Table 1",
        same_table(NEAR), (), "", (published.TABLE_1,),
    ),
    *_table_1("web"),
    *_table_1("known"),
)  # fmt: skip


def _question(measure: str) -> Callable[[Sequence[Finding], Sequence[Subject]], Finding]:
    """The open question: do the differences in intra-sentence similarity come from the architecture?"""
    short, beside = BASELINES[measure]
    telling = [claim.id for claim in _intra_sentence(measure)]
    claim = Claim(
        f"Q.architecture{short}",
        "question",
        f"of equal size and text, the three kinds differ as in the paper{beside}",
        "§4.2, left open",
        Rule(f"{', '.join(telling)} are held on models of one size, trained on one text"),
        figure="intra_sentence_similarity",
    )

    def answer(findings: Sequence[Finding], subjects: Sequence[Subject]) -> Finding:
        if sorted(one.name for one in subjects) != sorted(MINIATURES):
            why = f"needs {', '.join(MINIATURES)}, which were trained alike; others differ in size and text too"
            return Finding(claim, Verdict.UNSHOWN, why)
        found = {one.claim.id: one.verdict for one in findings if one.claim.id in telling}
        why = "; ".join(
            f"{verdict}: {', '.join(name for name in found if found[name] is verdict)}"
            for verdict in Verdict
            if verdict in found.values()
        )
        return Finding(claim, every(found.values()), why)

    return answer


PAPER = Paper(
    id="ethayarajh2019",
    title="How Contextual are Contextualized Word Representations? Comparing the Geometry of BERT, ELMo, and GPT-2 "
    "Embeddings",
    citation="Kawin Ethayarajh, EMNLP-IJCNLP 2019, pages 55–65",
    models=MINIATURES,
    claims=(*ANISOTROPY, *SELF_SIMILARITY, *WORDS, *INTRA_SENTENCE, *MEV, *TABLE_1),
    figures=FIGURES,
    captions=CAPTIONS,
    blocks={
        "models": Block("Models and text", models),
        "words": Block("Words", words),
        "table-1": Block("Table 1", table_1),
    },
    tables={name: beside(columns) for name, columns in TABLES.items()},
    numbers=with_printed(published.shipped_subjects()),
    is_own=published.is_own_model,
    last=tuple(_question(measure) for measure in BASELINES),
)
