"""Rajaee & Pilehvar 2021, "A Cluster-based Approach for Improving Isotropy": all tables, figures and claims."""

from __future__ import annotations

from functools import partial

from limbeck.papers import published_spaces as published
from limbeck.papers import space_blocks as blocks
from limbeck.papers.findings import Block, Claim, Paper, Published, Rule, drawn
from limbeck.papers.space_figures import CAPTIONS, FIGURES
from limbeck.papers.space_rules import (
    clusters_restore,
    clusters_stay_far,
    cosine_misses,
    every_layer_below,
    falls_to_the_end,
    fewer_components,
    input_most_isotropic,
    last_highest,
    of_claims,
    printed_layers,
    printed_local,
    printed_tense,
    same_as_printed,
    structure_falls,
    tense_dominates,
    tenses_apart,
    tenses_nearer,
    verbs_more_isotropic,
)
from limbeck.papers.space_score_rules import (
    classify_gains,
    loss_falls_faster,
    more_components,
    printed_isotropy,
    printed_scores,
    printed_settings,
    sooner,
    sts_gains,
    sts_isotropy_rises,
)

MINIATURES = ("mini-bert", "mini-gpt2")
#: I(W) that the authors call extremely anisotropic: above all of their contextual layers (at most 8.8e-5), and below
#: their input layers (at least 4.6e-4)
EXTREME = 1e-4
ALMOST = 0.25  #: I(W) that they call almost isotropic: 0.262, BERT with 20 clusters
FAR = 0.01  #: I(W) that is far from isotropic: BERT's when it is centred
NEAR_ZERO = 0.05  #: a mean cosine as good as none
MOST_CLUSTERS = 20  #: of Table 1
#: how near to a printed number is meeting it: powers of ten of I(W), points of scores, distances, numbers of components
NEAR_POWER, NEAR_POINTS, NEAR_DISTANCE, NEAR_SETTING = 1.0, 2.0, 0.5, 3.0

WITHOUT_SENSES = "not in the paper; needs no senses"
READS_BOTH_SIDES = ("BERT", "RoBERTa")
Numbers = tuple[Published, ...]


def _claim(
    name: str,
    text: str,
    rule: Rule,
    *,
    where: str,
    about: tuple[str, ...] = (),
    figure: str = "",
    numbers: Numbers = (),
) -> Claim:
    return Claim(name, "claim", text, where, rule, about, figure, numbers)


def _table(name: str, text: str, rule: Rule, figure: str, numbers: Numbers) -> Claim:
    return Claim(name, "table", text, f"Table {name[1:]}", rule, (), figure, numbers)


def _figure(name: str, text: str, figure: str, rule: Rule, numbers: Numbers = ()) -> Claim:
    return Claim(name, "figure", text, f"Figure {name[1:]}", rule, (), figure, numbers)


_layers = partial(_claim, where="§2.1, Figure 1", figure="layers", numbers=(published.LAYERS,))
ISOTROPY = (
    _figure(
        "F1",
        "log₁₀ I(W) by layer",
        "layers",
        same_as_printed("log₁₀ I(W) of each layer", NEAR_POWER, printed_layers),
        (published.LAYERS,),
    ),
    _table(
        "T5",
        "I(W) by layer",
        same_as_printed("log₁₀ I(W) of each layer", NEAR_POWER, printed_layers),
        "layers",
        (published.LAYERS,),
    ),
    _layers(
        "F1.anisotropic", "all layers but the input are extremely anisotropic", every_layer_below(EXTREME)
    ),
    _layers(
        "F1.anisotropic/equal-length",
        "all layers but the input are extremely anisotropic, at equal length",
        every_layer_below(
            EXTREME, "equal_length_one_sign", "I(W) of vectors whose root mean square length was made √768"
        ),
        where="not in the paper",
    ),
    _layers("F1.falls", "GPT-2's isotropy falls with height", falls_to_the_end(), about=("GPT-2",)),
    _layers(
        "F1.semi-convex", "RoBERTa's has a semi-convex form, highest in the last layer", last_highest(),
        about=("RoBERTa",),
    ),
    _layers(
        "F1.input", "GPT-2's input layer is more isotropic than those of the others",
        input_most_isotropic("GPT-2", READS_BOTH_SIDES),
    ),
)  # fmt: skip

_local = partial(_claim, where="§2.1, Table 1", figure="local", numbers=(published.LOCAL,))
LOCAL = (
    _table(
        "T1", "isotropy when each of k clusters is put on the origin",
        same_as_printed("log₁₀ I(W) of each number of clusters", NEAR_POWER, printed_local), "local",
        (published.LOCAL,),
    ),
    _local(
        "T1.restores", "seen from near, the space is almost isotropic (BERT, RoBERTa)",
        clusters_restore(MOST_CLUSTERS, ALMOST), about=READS_BOTH_SIDES,
    ),
    _local("T1.far", "GPT-2 stays far from isotropic", clusters_stay_far(FAR), about=("GPT-2",)),
    _figure("F2", "the space before and after clusters were put on the origin", "space", drawn("local")),
    _claim(
        "F2.cosine", "the mean cosine can be near 0 while I(W) is tiny", cosine_misses(NEAR_ZERO, FAR),
        where="§2.1, Figure 2", figure="local",
    ),
)  # fmt: skip

_sts = partial(_claim, figure="sts", numbers=(published.STS,))
SENTENCES = (
    Claim(
        "S", "table", "clusters and components that do best on the development set", "Appendix B.2",
        same_as_printed("each of the numbers that do best", NEAR_SETTING, printed_settings), (), "tuning",
        (published.SETTINGS,),
    ),
    _claim(
        "S.more", "GPT-2 needs more components removed", more_components("GPT-2", READS_BOTH_SIDES),
        where="Appendix A, B.2", figure="tuning", numbers=(published.SETTINGS,),
    ),
    _table(
        "T2", "sentence similarity: baseline, global, cluster-based",
        same_as_printed("Spearman × 100", NEAR_POINTS, printed_scores("sts", "task")), "sts", (published.STS,),
    ),
    *(
        _sts(f"T2.{name}{suffix}", f"{text}{told}", sts_gains(setting, other, fit), where=where)
        for fit, suffix, told, where in (
            ("task", "", "", "§4.1, Table 2"),
            ("text", "/inductive", ", fitted on another text", "not in the paper"),
        )
        for name, setting, other, text in (
            ("global", "global", "baseline", "removing global directions helps sentence similarity"),
            ("cluster", "cluster", "baseline", "removing the directions of clusters helps it"),
            ("more", "cluster", "global", "removing those of clusters helps it more than global ones"),
        )
    ),
    _claim(
        "T2.fewer", "clusters need fewer removed components than the whole space for the same isotropy",
        fewer_components(), where="§3", figure="tuning", numbers=(published.STS_ISOTROPY, published.SETTINGS),
    ),
    _table(
        "T6", "isotropy on each set: baseline, global, cluster-based",
        same_as_printed("log₁₀ I(W)", NEAR_POWER, printed_isotropy), "sts", (published.STS_ISOTROPY,),
    ),
    *(
        _claim(
            f"T6.rises{suffix}", f"both raise isotropy on every set, clusters more{told}", sts_isotropy_rises(fit),
            where=where, figure="sts", numbers=(published.STS_ISOTROPY,),
        )
        for fit, suffix, told, where in (
            ("task", "", "", "Appendix C, Table 6"),
            ("text", "/inductive", ", fitted on another text", "not in the paper"),
        )
    ),
)  # fmt: skip

_classify = partial(_claim, where="§4.1, Table 3", figure="epochs", numbers=(published.CLASSIFY,))
CLASSIFICATION = (
    _table(
        "T3", "classification: baseline, global, cluster-based",
        same_as_printed("score × 100", NEAR_POINTS, printed_scores("classify")), "epochs", (published.CLASSIFY,),
    ),
    _classify("T3.global", "removing global directions helps classification", classify_gains("global", "baseline")),
    _classify("T3.cluster", "removing those of clusters helps it, too", classify_gains("cluster", "baseline")),
    _classify("T3.more", "those of clusters help it more than global ones", classify_gains("cluster", "global")),
    _figure("F4", "score by epoch", "epochs", drawn("classify")),
    _claim(
        "F4.sooner", "training converges faster: the baseline's best score is reached sooner", sooner("cluster"),
        where="§5.2, Figure 4", figure="epochs",
    ),
    _claim(
        "F4.loss", "training converges faster: the loss is lower all along", loss_falls_faster("cluster"),
        where="§5.2", figure="epochs",
    ),
)  # fmt: skip

_tense = partial(_claim, where="§5.1, Table 4", figure="tense", numbers=(published.TENSE,))
LINGUISTICS = (
    _figure("F3", "same-structure neighbours of . , the of before and after", "structure", drawn("structure")),
    _claim(
        "F3.falls", "function words have fewer same-structure neighbours after repair", structure_falls("cluster"),
        where="§5.1, Figure 3", figure="structure",
    ),
    _claim(
        "F3.punctuation", "most clusters contain punctuation",
        of_claims("clusters", "F3.punctuation", "more than half of the clusters have at least 1 % punctuation"),
        where="§1, §5.1", figure="directions",
    ),
    _claim(
        "F3.directions", "clusters do not share dominant directions",
        of_claims(
            "clusters", "F3.directions",
            "the first components of two halves of a cluster are more alike than those of two clusters",
        ),
        where="§3", figure="directions",
    ),
    _table(
        "T4", "distances of verbs by tense and meaning, before and after",
        same_as_printed("each distance", NEAR_DISTANCE, printed_tense), "tense", (published.TENSE,),
    ),
    _tense("T4.before", "tense dominates sense before repair", tense_dominates("baseline")),
    _tense("T4.after", "tense does not dominate sense after repair", tense_dominates("cluster", no_more=True)),
    _tense("T4.isotropy", "verbs are more isotropic after repair", verbs_more_isotropic("cluster")),
    _tense("T4.apart", "a verb's tenses lie apart", tenses_apart(), where=WITHOUT_SENSES),
    _tense("T4.nearer", "a verb's tenses lie nearer after repair", tenses_nearer("cluster"), where=WITHOUT_SENSES),
    _figure("F5", "the space coloured by word frequency, before and after", "frequency", drawn("frequency")),
    *(
        _claim(
            f"F5.{space}", f"word frequency shows less in the first components ({space} repair)",
            of_claims(
                "frequency", f"F5.shrinks.{space}",
                f"R² of log frequency on the first two components is lower after the {space} repair; words resampled",
            ),
            where="Appendix D, Figure 5", figure="frequency",
        )
        for space in ("global", "cluster")
    ),
)  # fmt: skip

PAPER = Paper(
    id="rajaee2021",
    title="A Cluster-based Approach for Improving Isotropy in Contextual Embedding Space",
    citation="Sara Rajaee and Mohammad Taher Pilehvar, ACL-IJCNLP 2021 (short papers), pages 575–584",
    models=MINIATURES,
    claims=(*ISOTROPY, *LOCAL, *SENTENCES, *CLASSIFICATION, *LINGUISTICS),
    figures=FIGURES,
    captions=CAPTIONS,
    blocks={
        "models": Block("Models, text and data", blocks.models),
        "deviations": Block("What was done otherwise than in the paper", blocks.deviations),
        "table-1": Block("Table 1: clusters put on the origin", blocks.table_1),
        "table-2": Block("Table 2: sentence similarity", blocks.table_2),
        "table-3": Block("Table 3: classification", blocks.table_3),
        "table-4": Block("Table 4: tense and meaning of verbs", blocks.table_4),
        "table-5": Block("Table 5: isotropy by layer", blocks.table_5),
        "table-6": Block("Table 6: isotropy on each set", blocks.table_6),
        "settings": Block("Settings", blocks.settings),
    },
    tables={
        "structure": blocks.structure,
        "frequency": blocks.frequency,
        "directions": blocks.clusters,
        "tuning": blocks.removal,
    },
    numbers=published.printed_models(),
    is_own=published.is_own_model,
)
