"""Gupta & Jaggi 2021, "Obtaining Better Static Word Embeddings Using Contextual Embedding Models": all of it."""

from __future__ import annotations

from functools import partial

from limbeck.encoders.miniatures import MINIATURES
from limbeck.papers import published_static as published
from limbeck.papers import static_blocks
from limbeck.papers.findings import Block, Claim, Paper, Published, Rule
from limbeck.papers.static_class_rules import (
    classifies_a_little_better,
    classifies_better,
    fine_tuned_better,
    frozen_better,
    impossible_f1,
    same_classification,
    stands_over_runs,
)
from limbeck.papers.static_curve_rules import (
    ahead_or_growing,
    better_context,
    drawn_curve,
    saturates,
)
from limbeck.papers.static_figures import CAPTIONS, FIGURES
from limbeck.papers.static_published import is_own_parent, printed_parents
from limbeck.papers.static_rules import (
    a_little_better,
    beats,
    beats_files,
    beats_trained,
    gains_most_on,
    in_grid,
    low_layers_best,
    same_scores,
    same_settings,
)
from limbeck.papers.static_subjects import (
    AVERAGE,
    BEST,
    CBOW,
    CHOSEN,
    PARAGRAPH,
    READ_IN_PARAGRAPH,
    SENT2VEC,
    SENTENCE,
    SKIPGRAM,
)

# thresholds, fixed with the paper's numbers in view and before anything was distilled here
LITTLE = 0.03  #: what "slightly better" may be at most: the paper's own differences are 0.001 to 0.013
SATURATED = 0.01  #: a gain from the last growth of the text, or a lead, that counts as none
LOWER_HALF = 0.5
ENOUGH_PAIRS = 200  #: of words, for a difference between contexts to be told from chance
PRINTED = 0.03  #: how near to a printed number is meeting it: another text and another seed move it by so much

#: what the paper's claims are about: parents, not files of vectors
PARENTS = ("BERT", "RoBERTa", "GPT-2", "ELMo")
Numbers = tuple[Published, ...]


def _claim(
    name: str,
    text: str,
    rule: Rule | None,
    *,
    where: str,
    figure: str = "similarity",
    numbers: Numbers = (published.SIMILARITY,),
    pending: str = "",
    about: tuple[str, ...] = PARENTS,
) -> Claim:
    return Claim(name, "claim", text, where, rule, about, figure, numbers, pending)


SETTINGS = (
    Claim("T1", "table", "settings of X2Static", "Table 1", same_settings(), PARENTS, "", (published.SETTINGS,)),
    Claim(
        "T2", "table", "grid of the baselines", "Table 2", in_grid(), PARENTS, "", (published.BASELINE_GRID,)
    ),
)  # fmt: skip

_word = partial(_claim, where="§4.2, Table 3")
WORD_SIMILARITY = (
    Claim(
        "T3", "table", "word similarity on five sets: existing vectors, baselines, ASE, X2Static", "Tables 3 and 6",
        same_scores(PRINTED), (), "similarity", (published.SIMILARITY, published.BEST_LAYERS),
    ),
    _word("T3.ase", "X2Static (paragraph) beats ASE at its best layer", beats(PARAGRAPH, BEST)),
    _word("T3.ase/sentence", "X2Static (sentence) beats ASE at its best layer", beats(SENTENCE, BEST)),
    _word(
        "T3.ase/chosen",
        "X2Static (paragraph) beats ASE at a layer that was chosen on other sets",
        beats(PARAGRAPH, CHOSEN),
        where="not in the paper, which chooses on the sets themselves",
    ),
    _word("T3.baselines", "X2Static (paragraph) beats the baselines of the same text", beats_trained(PARAGRAPH)),
    _word(
        "T3.baselines/sentence", "X2Static (sentence) beats the baselines of the same text", beats_trained(SENTENCE)
    ),
    _word("T3.existing", "X2Static (paragraph) beats existing vectors", beats_files(PARAGRAPH)),
    _word(
        "T3.paragraph",
        "X2Static is slightly better with paragraphs than with sentences",
        a_little_better(PARAGRAPH, SENTENCE, LITTLE),
        where="§4.3",
    ),
    _word(
        "T3.verbs",
        "X2Static gains most on SimLex-999 and SimVerb-3500",
        gains_most_on(PARAGRAPH, ("simlex-999", "simverb-3500")),
    ),
    _word(
        "T3.layers",
        "ASE's best layers are low ones",
        low_layers_best(LOWER_HALF),
        where="Tables 3 and 6",
        figure="layers",
        numbers=(published.BEST_LAYERS,),
    ),
)  # fmt: skip

_size = partial(_claim, where="§4.2, Figure 1", figure="size", numbers=())
SIZE = (
    Claim("F1", "figure", "word similarity by size of the text", "Figure 1", drawn_curve(), PARENTS, "size"),
    _size("F1.saturates/simlex", "ASE saturates as the text grows, SimLex-999", saturates("simlex-999", SATURATED)),
    _size("F1.saturates/rw", "ASE saturates as the text grows, RW", saturates("rw", SATURATED)),
    _size(
        "F1.grows/simlex", "X2Static is ahead or grows faster, SimLex-999", ahead_or_growing("simlex-999", SATURATED)
    ),
    _size("F1.grows/rw", "X2Static is ahead or grows faster, RW", ahead_or_growing("rw", SATURATED)),
)

_class = partial(_claim, where="§4.3, Table 4", figure="classify", numbers=(published.CLASSIFICATION,))
CLASSIFICATION = (
    Claim(
        "T4", "table", "six classification tasks with a CNN on static vectors", "Table 4",
        same_classification(PRINTED), PARENTS, "classify", (published.CLASSIFICATION,),
    ),
    _class(
        "T4.ase", "X2Static (paragraph) classifies better than ASE", classifies_better(PARAGRAPH, (AVERAGE,))
    ),
    _class(
        "T4.baselines",
        "X2Static (paragraph) classifies better than the baselines",
        classifies_better(PARAGRAPH, (SKIPGRAM, CBOW, SENT2VEC), trained=True),
    ),
    _class(
        "T4.paragraph",
        "X2Static classifies slightly better with paragraphs than with sentences",
        classifies_a_little_better(PARAGRAPH, SENTENCE, LITTLE),
    ),
    _class(
        "T4.macro-f1",
        "the printed macro-F1 of TREC and SST-5 cannot go with the printed accuracy",
        impossible_f1(),
        where="docs/fidelity.md §4.28",
        figure="",
        about=(),
    ),
    _class(
        "T4.parents",
        "parents fine-tuned on a task classify better than static vectors made of them",
        fine_tuned_better(),
        figure="",
    ),
    _class(
        "T4.frozen",
        "a frozen sentence-transformer with a linear classifier classifies better than static vectors",
        frozen_better(PARAGRAPH),
        figure="",
    ),
    _class(
        "T5",
        "X2Static (paragraph) is ahead of ASE by more than runs differ",
        stands_over_runs(PARAGRAPH, AVERAGE),
        where="Table 5",
        figure="classify",
        numbers=(published.RUNS,),
    ),
)  # fmt: skip

_context = partial(_claim, figure="contexts", numbers=())
CONTEXTS = (
    _context(
        "E2.context",
        "a contextual context (eq. 3) is better than a static one (eq. 2, Sent2Vec)",
        better_context("words", SENT2VEC, ENOUGH_PAIRS),
        where="§3",
        numbers=(published.SIMILARITY,),
    ),
    _context(
        "E4.paragraph",
        "a sentence's words are a better context when the whole paragraph is read (eq. 4) than alone (eq. 3)",
        better_context(READ_IN_PARAGRAPH, "words", ENOUGH_PAIRS),
        where="§3",
    ),
    _context(
        "E3.without",
        "contexts without the target are better than with it",
        better_context("others", "words", ENOUGH_PAIRS),
        where="§3.1, an alternative",
    ),
    _context(
        "E3.masked",
        "contexts with the target masked are better still",
        better_context("masked", "others", ENOUGH_PAIRS),
        where="§3.1, not tried there",
    ),
)

PAPER = Paper(
    id="gupta2021",
    title="Obtaining Better Static Word Embeddings Using Contextual Embedding Models",
    citation="Prakhar Gupta and Martin Jaggi, ACL-IJCNLP 2021, pages 5241–5253",
    models=MINIATURES,
    claims=(*SETTINGS, *WORD_SIMILARITY, *SIZE, *CLASSIFICATION, *CONTEXTS),
    figures=FIGURES,
    captions=CAPTIONS,
    blocks={
        "models": Block("Parents and text", static_blocks.models),
        "deviations": Block("What was done otherwise than in the paper", static_blocks.deviations),
        "errors": Block("What cannot be right in the print", static_blocks.errors),
        "settings": Block("Tables 1 and 2", static_blocks.settings),
        "table-3": Block("Tables 3 and 6", static_blocks.table_3),
        "table-6": Block("Table 6: layers", static_blocks.table_6),
        "size": Block("Figure 1", static_blocks.size),
        "contexts": Block("Contexts", static_blocks.contexts),
        "table-4": Block("Table 4", static_blocks.table_4),
        "table-5": Block("Table 5", static_blocks.table_5),
    },
    numbers=printed_parents(),
    is_own=is_own_parent,
)
