"""Biš et al. 2021, "Too Much in Common": tables, figures and equations, tried on any embedding table."""

from __future__ import annotations

from functools import partial

from limbeck.encoders.miniatures import MINIATURES
from limbeck.papers import published_tables as published
from limbeck.papers import table_blocks
from limbeck.papers.findings import Block, Claim, Paper, Published, Rule, drawn
from limbeck.papers.table_figures import CAPTIONS, FIGURES
from limbeck.papers.table_rules import (
    centering_restores,
    components_add,
    constant_is_one_over_n,
    early_shift,
    falls_with,
    few_cover,
    gradient_sums_to_zero,
    isotropy_is_higher,
    isotropy_is_the_shift,
    needs_trainings,
    no_narrow_cone,
    projections_differ_by_a_constant,
    rises_with_rarity,
    same_bins,
    same_geometry,
    shorter_when_centered,
    spectrum_flattens,
    sphere_gap,
    top_is_mean,
)
from limbeck.papers.table_score_rules import (
    better,
    gains_are_larger,
    gap_closes,
    same_by_inner_product,
    same_scores,
)
from limbeck.papers.table_similarity import COSINE
from limbeck.papers.table_sources import WORD_VECTORS

#: I(W) that the authors call nearly perfect: below their 0.87 (RoBERTa-base), above their exception, 0.64
NEARLY_PERFECT = 0.85
NEAR_SHIFT = 0.10  #: of ‖μ‖, how near −ln I(W) counts as equal: 0.07 and 0.12 are printed with two digits
MEAN_DIRECTION = 0.9  #: a cosine at which two directions are the same for the most part
CONE = 0.5  #: a mean cosine at which one may speak of a narrow cone: 60°
FEW_FOR_30, FEW_FOR_50, MANY_MORE = (
    0.01,
    0.05,
    10.0,
)  #: of the kinds of token that occur; and the rest takes so many more
CLOSED = 0.9  #: of the gap; the paper calls 98 % closed and 74 % not
PRINTED = 0.02  #: how near to a printed number of two digits is meeting it
RISE, EARLY = 0.10, 0.10  #: of the shift in training, and how early that is

#: kinds of table that the paper's claims are about: a biLM's words have no softmax over them, and stand beside
TABLES = ("BERT", "GPT-2", WORD_VECTORS)
Numbers = tuple[Published, ...]


def _claim(
    name: str,
    text: str,
    rule: Rule | None,
    *,
    where: str,
    about: tuple[str, ...] = TABLES,
    figure: str = "",
    numbers: Numbers = (),
    pending: str = "",
) -> Claim:
    return Claim(name, "claim", text, where, rule, about, figure, numbers, pending)


def _figure(name: str, text: str, figure: str, rule: Rule | None = None, numbers: Numbers = ()) -> Claim:
    return Claim(name, "figure", text, f"Figure {name[1:]}", rule or drawn(), (), figure, numbers)


FIGURES_1_TO_4 = (
    _figure("F1", "rows projected before and after centring, and spectra", "projections"),
    _claim(
        "F1.spectrum",
        "centring flattens the spectrum",
        spectrum_flattens(),
        where="§4.1, Figure 1",
        figure="projections",
    ),
    _claim(
        "F2.sphere",
        "singular values of a sphere part as it moves away, so they show no cone",
        sphere_gap(),
        where="§4.1, Figure 2",
        figure="sphere",
    ),
    _figure("F3", "cosine of unused rows with bins of rows", "rare", same_bins(PRINTED), (published.UNUSED,)),
    _claim(
        "F3.rises",
        "unused rows are nearer to rare tokens than to frequent ones (rows by id)",
        rises_with_rarity("id"),
        where="§4.2",
        figure="rare",
        numbers=(published.UNUSED,),
    ),
    _claim(
        "F3.rises/measured",
        "unused rows are nearer to rare tokens than to frequent ones (frequency measured)",
        rises_with_rarity("measured"),
        where="§4.2",
        figure="rare",
        numbers=(published.UNUSED,),
    ),
    _figure("F4", "frequencies of tokens and words", "frequencies"),
    _claim(
        "F4.few",
        "few tokens make up 30 and 50 % of a text, 98 % takes many",
        few_cover((FEW_FOR_30, FEW_FOR_50), MANY_MORE),
        where="§2.2",
        about=(),
        figure="frequencies",
        numbers=(published.COVERAGE,),
    ),
)

_table_1 = partial(_claim, where="§5.3, Table 1", figure="shift", numbers=(published.ISOTROPY,))
TABLE_1 = (
    Claim(
        "T1", "table", "isotropy, norms and mean of the table", "Table 1", same_geometry(PRINTED), (), "shift",
        (published.ISOTROPY,),
    ),
    _table_1("T1.centering", "centring alone nearly restores isotropy", centering_restores(NEARLY_PERFECT, "one")),
    _table_1(
        "T1.centering/both-signs",
        "centring alone nearly restores isotropy, both signs",
        centering_restores(NEARLY_PERFECT, "both"),
    ),
    _table_1("T1.components", "removing components restores more of it", components_add()),
    _table_1(
        "T1.shift", "I(W) is nearly exp(−‖μ‖)", isotropy_is_the_shift(NEAR_SHIFT), where="docs/fidelity.md §5.3"
    ),
    _table_1(
        "T1.norm",
        "the longer the rows, the less isotropic the table, over models",
        falls_with(lambda table: table.shape("raw").mean_norm, "the mean norm"),
        where="Appendix C",
        numbers=(published.ISOTROPY, published.NORM_CORRELATION),
    ),
    _table_1(
        "T1.ratio",
        "the larger ‖μ‖ over the mean norm, the less isotropic the table, over models",
        falls_with(lambda table: table.shape("raw").shift, "‖μ‖ over the mean norm"),
        where="Appendix C",
    ),
    _table_1(
        "T1.direction",
        "the first eigenvector of WᵀW is the mean's direction",
        top_is_mean(MEAN_DIRECTION),
        where="§5.3",
        figure="projections",
        numbers=(published.DIRECTION,),
    ),
    _table_1(
        "T1.cone",
        "rows are shifted, and in no narrow cone",
        no_narrow_cone(CONE),
        where="abstract, §5.3",
        figure="projections",
        numbers=(published.PAIR_COSINE,),
    ),
)  # fmt: skip

_table_2 = partial(_claim, where="§5.3, Table 2", figure="similarity", numbers=(published.MEAN_SCORES,))
TABLES_2_AND_3 = (
    Claim(
        "T2", "table", "word similarity by cosine and inner product, means over five sets", "Table 2",
        same_scores(PRINTED, by_set=False), (), "similarity", (published.MEAN_SCORES,),
    ),
    Claim(
        "T3", "table", "word similarity by cosine and inner product, set by set", "Table 3",
        same_scores(PRINTED, by_set=True), (), "similarity", (published.SET_SCORES,),
    ),
    _table_2("T2.centering", "centring improves word similarity", better("centered", "raw")),
    _table_2("T2.scaled", "scaled centring improves it more than centring", better("scaled", "centered")),
    _table_2("T2.components", "removing components improves it", better("components", "raw")),
    _table_2("T2.inner", "gains are larger for the inner product", gains_are_larger()),
    _table_2("T2.gap", "centring closes the gap between inner product and cosine", gap_closes(CLOSED)),
)  # fmt: skip

EQUATIONS = (
    _claim(
        "E11.constant",
        "Eq. 11 and the original projection differ by one vector for all rows",
        projections_differ_by_a_constant(),
        where="docs/fidelity.md §5.5",
        about=(),
    ),
    _claim(
        "E11.isotropy",
        "Eq. 11 leaves the table more isotropic than the original projection",
        isotropy_is_higher("components", "components_uncentered"),
        where="§5.1",
    ),
    _claim(
        "E11.similarity",
        "Eq. 11 does better than the original projection on word similarity, by cosine",
        better("components", "components_uncentered", scorings=(COSINE,)),
        where="not in the paper",
        figure="similarity",
    ),
    _claim(
        "E11.inner",
        "by inner product the two do the same",
        same_by_inner_product("components", "components_uncentered"),
        where="not in the paper",
        about=(),
        figure="similarity",
    ),
    _figure("F5", "densities of norms", "norms"),
    _claim(
        "F5.larger",
        "models of larger corpora and longer training have longer rows",
        None,
        where="Appendix C",
        figure="norms",
        pending="needs models that differ in nothing else; for the course of one training see Q.training",
    ),
    _figure("F6", "norms before and after centring", "norms"),
    _claim("F6.shorter", "centring shortens the rows", shorter_when_centered(), where="Appendix C", figure="norms"),
    _claim(
        "A.constant",
        "cosine regularisation is the squared mean direction less 1/N, not less N",
        constant_is_one_over_n(),
        about=(),
        where="Appendix A, Eq. 12–14",
    ),
    _claim(
        "E5.gradient",
        "one prediction moves all rows but the target's in one direction, and the mean not at all (of any matrix)",
        gradient_sums_to_zero(),
        about=(),
        where="§3.3, Eq. 5–6",
    ),
    _claim(
        "E5.enemies",
        "the common enemies make the rows drift in one direction",
        needs_trainings(),
        where="§1, §3.3, §4.1",
    ),
)
QUESTION = Claim(
    "Q.training",
    "question",
    "a table becomes anisotropic early in training",
    "§4.1, left open",
    early_shift(RISE, EARLY),
    TABLES,
    "training",
)

PAPER = Paper(
    id="bis2021",
    title="Too Much in Common: Shifting of Embeddings in Transformer Language Models and its Implications",
    citation="Daniel Biš, Maksim Podkorytov and Xiuwen Liu, NAACL-HLT 2021, pages 5117–5130",
    models=MINIATURES,
    claims=(*FIGURES_1_TO_4, *TABLE_1, *TABLES_2_AND_3, *EQUATIONS, QUESTION),
    figures=FIGURES,
    captions=CAPTIONS,
    blocks={
        "models": Block("Tables and text", table_blocks.models),
        "deviations": Block("What was done otherwise than in the paper", table_blocks.deviations),
        "table-1": Block("Table 1", table_blocks.table_1),
        "table-2": Block("Table 2", table_blocks.table_2),
        "table-3": Block("Table 3", table_blocks.table_3),
    },
    tables={
        "rare": table_blocks.bins,
        "frequencies": table_blocks.frequencies,
        "training": table_blocks.training,
    },
    numbers=published.printed_tables(),
    is_own=published.is_own_model,
)
