"""Zhao et al. 2020, "Quantifying the Contextualization of Word Representations with Semantic Class Probing": all of it.

What a row needs and is not there, a task's files or static vectors, is told as not run, with the remedy.
"""

from __future__ import annotations

from functools import partial

from limbeck.encoders.miniatures import MINIATURES
from limbeck.papers import probe_blocks, probe_figures
from limbeck.papers import published_probes as published
from limbeck.papers.findings import Block, Claim, Paper, Published, Rule, drawn
from limbeck.papers.probe_context_rules import (
    alike_alone,
    few_words_suffice,
    higher_gain_more,
    large_hurt_bag,
    local_enough,
    more_is_better,
    none_is_worse,
    windows_beside,
)
from limbeck.papers.probe_rules import (
    above_bags,
    above_random,
    above_table,
    average_best,
    best_layer,
    dull_contexts_worse,
    largest_step_low,
    levels_off,
    like_static,
    listed,
    lowest_like_bag,
    many_pieces_worse,
    random_bag_below,
    rises,
    same_data,
    same_neighbors,
    same_scores,
    starts_agree,
    upper_better,
)
from limbeck.papers.probe_subjects import AVERAGE
from limbeck.papers.probe_tuning_rules import (
    a_little_better,
    attention_changes_more,
    attention_top_changes,
    near_pretrained,
    new_probes_recover,
    pos_loses_most,
    same_settings,
    same_tuned,
    top_changes_most,
    words_disturb_more,
)
from limbeck.probing.names import CONTEXT

# thresholds, fixed with the paper's numbers in view and before any claim was judged here
PRINTED = 0.03  #: how near to a printed number is meeting it: other contexts are drawn, and a split of one's own
MONOTONE = 0.9  #: rank correlation with height from which one may speak of a rise with every layer; the paper's is 1
LITTLE = 0.01  #: what the top two layers may add: 0.003 in the paper; and what attention to few words may lose: 0.002
LOW = 1 / 3  #: of the layers, the lowest
TOP = 1 / 3  #: of the layers, the highest: the paper's best are its tenth and eleventh of twelve
SPREAD = 0.01  #: deviation over starts: 0.001 in the paper, on some fifty times as many words
ALIKE = 0.05  #: how far layers may lie apart that "perform similarly": with whole sentences they are 0.19 apart
NEAR = 0.05  #: how near to each other two spaces, or one before and after, count as similar: the paper's table and
#: static vectors are 0.028 and 0.026 apart
SLIGHT = 0.03  #: what a slight improvement may be at most
FEW = 4  #: words to each side that are local: "2 and 4"
LARGE = (16, 32)  #: words to each side that are many for a bag
MUCH = 0.02  #: what parts of speech lose without any other word: 0.091 in the paper

#: what §4.3 and §4.4 are about: models that read both sides
BERT = ("BERT",)
Numbers = tuple[Published, ...]


def _claim(
    name: str,
    text: str,
    rule: Rule,
    *,
    where: str,
    figure: str = "",
    numbers: Numbers = (),
    about: tuple[str, ...] = (),
) -> Claim:
    return Claim(name, "claim", text, where, rule, about, figure, numbers)


DATA = (
    Claim(
        "T1", "table", "neighbours of an ambiguous word in the table and in static vectors", "Table 1",
        same_neighbors(), (), "", (published.NEIGHBORS,),
    ),
    Claim(
        "T2", "table", "words, combinations and contexts by side and class", "Tables 2 and 8", same_data(), (), "",
        (published.DATA,),
    ),
    Claim(
        "T9", "table", "contexts of words that have several classes", "Table 9",
        listed("layers", "examples", "contexts of words with several classes"),
    ),
)  # fmt: skip

_type = partial(_claim, where="§4.2.2, Table 5", figure="layers", numbers=(published.TYPES,))
TYPE_LEVEL = (
    Claim(
        "F3", "figure", "one vector a word: averages over contexts by layer, and other vectors", "Figure 3, Table 5",
        same_scores(AVERAGE, PRINTED), (), "layers", (published.TYPES,),
    ),
    _type("F3.average", "the average over contexts is the best vector of a word", average_best()),
    _type(
        "F3.best", "it is best at one of the top layers (text: the eleventh; test table: the tenth)", best_layer(TOP)
    ),
    _type("F3.top", "averages of the top layers outperform those of lower layers", upper_better(AVERAGE)),
    _type("F3.lowest", "the average of the lowest layer outperforms the table", above_table()),
    _type("F3.static", "the table is similar to static vectors", like_static(NEAR)),
    _type("F3.random", "all vectors of words encode something: they are above random ones", above_random()),
    _type(
        "F3.starts",
        "starts of the probes make little difference (upper layers)",
        starts_agree(SPREAD),
        numbers=(published.SPREAD,),
    ),
)  # fmt: skip

_context = partial(_claim, where="§4.2.2, Table 6", figure="layers", numbers=(published.CONTEXTS,))
CONTEXT_LEVEL = (
    Claim(
        "F4", "figure", "one vector an occurrence: layers, and bags of words", "Figure 4, Table 6",
        same_scores(CONTEXT, PRINTED), (), "layers", (published.CONTEXTS,),
    ),
    _context("F4.rises", "it rises monotonically with height", rises(MONOTONE)),
    _context("F4.levels-off", "and levels off: the top two layers add little", levels_off(LITTLE)),
    _context("F4.step", "the largest step is between the lowest layers", largest_step_low(LOW)),
    _context("F4.bag", "the lowest layer is at or below the bag of words", lowest_like_bag()),
    _context("F4.above", "from the third layer on it is above P-static and P-model", above_bags(3)),
    _context("F4.random", "P-random is worse than P-static and P-model", random_bag_below()),
)  # fmt: skip

FAILURES = (
    Claim(
        "Q", "table", "failures: words of many pieces, and contexts that tell little", "§4.2.3",
        listed("layers", "failures", "contexts that last layers get wrong"),
    ),
    _claim("Q.pieces", "words of many pieces are interpreted worse", many_pieces_worse(), where="§4.2.3",
           figure="failures"),
    _claim("Q.context", "contexts that tell little are interpreted worse", dull_contexts_worse(), where="§4.2.3",
           figure="failures"),
)  # fmt: skip

_size = partial(_claim, where="§4.3, Figure 5", figure="contexts", about=BERT)
SIZES = (
    Claim("F5", "figure", "words to each side that the model sees", "Figure 5", drawn("contexts"), BERT, "contexts"),
    _size("F5.local", "most of the gain comes with the nearest words", local_enough(FEW)),
    _size("F5.more", "more context is better for all layers", more_is_better()),
    _size("F5.alone", "without context all layers are alike", alike_alone(ALIKE)),
    _size("F5.bag", "16 and 32 words hurt P-model", large_hurt_bag(LARGE)),
    _size("F5.higher", "higher layers gain more from large contexts", higher_gain_more()),
)

_tuned = partial(_claim, where="§4.4.2, Figure 6", figure="tuned", numbers=(published.AFTER,), about=BERT)
TUNING = (
    Claim("T3", "table", "development scores of four tasks", "Table 3", same_tuned(PRINTED), BERT, "",
          (published.TUNED,)),
    Claim("T4", "table", "settings of fine-tuning", "Table 4", same_settings(), BERT, "", (published.SETTINGS,)),
    Claim(
        "F6", "figure", "layers after fine-tuning: (a) the same probes, (b) new ones", "Figure 6",
        drawn("probed-pos", printed="one point of a curve, which stands beside"), BERT, "tuned",
        (published.AFTER,),
    ),
    _tuned("F6.words", "tasks of words disturb more than tasks of sentences", words_disturb_more()),
    _tuned("F6.top", "top layers change most", top_changes_most()),
    _tuned("F6.recover", "new probes recover most", new_probes_recover()),
    _tuned(
        "F6.near", "with new probes SST2, NER and MRPC are near the pretrained model",
        near_pretrained(NEAR, ("sst-2", "ner", "mrpc")),
    ),
    _tuned("F6.pos", "POS loses most with new probes", pos_loses_most()),
    _tuned("F6.mrpc", "MRPC makes classes slightly better known", a_little_better("mrpc", SLIGHT)),
)  # fmt: skip

_heads = partial(_claim, where="§4.4.2, Figure 7", figure="attention", about=BERT)
ATTENTION = (
    Claim(
        "F7", "figure", "attention before and after, by layer and head", "Figure 7", drawn("tuned-pos"), BERT,
        "attention",
    ),
    _heads("F7.top", "attention of the top layers changes more", attention_top_changes(("pos", "mrpc"))),
    _heads("F7.pos", "POS changes the top layers more than MRPC", attention_changes_more("pos", "mrpc")),
)  # fmt: skip

_window = partial(_claim, where="Appendix C, Table 7", figure="windows", numbers=(published.WINDOWS,), about=BERT)
WINDOWS = (
    Claim("T7", "table", "POS with attention to k words on either side", "Table 7", windows_beside(), BERT,
          "windows", (published.WINDOWS,)),
    _window("T7.few", "a few words are enough for full accuracy", few_words_suffice(FEW, LITTLE)),
    _window("T7.none", "without other words accuracy is lower", none_is_worse(MUCH)),
)  # fmt: skip

PAPER = Paper(
    id="zhao2020",
    title="Quantifying the Contextualization of Word Representations with Semantic Class Probing",
    citation="Mengjie Zhao, Philipp Dufter, Yadollah Yaghoobzadeh and Hinrich Schütze, Findings of EMNLP 2020, pages "
    "1219–1234",
    models=MINIATURES,
    claims=(*DATA, *TYPE_LEVEL, *CONTEXT_LEVEL, *FAILURES, *SIZES, *TUNING, *ATTENTION, *WINDOWS),
    figures=probe_figures.FIGURES,
    captions=probe_figures.CAPTIONS,
    undrawn=probe_figures.UNDRAWN,
    blocks={
        "models": Block("Models and data", probe_blocks.models),
        "deviations": Block("What was done otherwise than in the paper", probe_blocks.deviations),
        "not-run": Block("What was not run", probe_blocks.not_run),
        "neighbors": Block("Table 1", probe_blocks.neighbors),
        "data": Block("Tables 2 and 8", probe_blocks.data),
        "examples": Block("Table 9", probe_blocks.examples),
        "layers": Block("Tables 5 and 6", probe_blocks.layers),
        "failures": Block("Failures", probe_blocks.failures),
        "failure-contexts": Block("Failures and turned decisions in context", probe_blocks.failure_contexts),
        "contexts": Block("Figure 5", probe_blocks.contexts),
        "tasks": Block("Tables 3 and 4", probe_blocks.tasks),
        "tuned": Block("Figure 6", probe_blocks.tuned),
        "windows": Block("Table 7", probe_blocks.windows),
    },
    numbers=(published.printed_model(),),
    is_own=published.is_own,
)
