"""Presets: one name for every choice in which paper, published code and sense disagree (docs/fidelity.md §0.1)."""

from __future__ import annotations

from dataclasses import dataclass

from limbeck.errors import choose


@dataclass(frozen=True)
class Preset:
    """What a run counts, drops and samples.

    units               "words", or "pieces" as the tokeniser cuts them
    deduplicate         equal texts count once
    by_occurrences      a word needs --min-contexts occurrences instead of different texts
    drop_punctuation    words of punctuation alone are not followed
    across_contexts     a word's pairs are taken across contexts only
    anisotropy_sample   0: exact over all pairs; else so many sentences, one word each, as many random pairs
    sentence_sample     0: all sentences; else so many, chosen by hash
    word_sample         0: all followed words enter the mean; else so many, chosen by hash
    mev_baseline_size   0: chance at each word's own number of occurrences; else at this one
    """

    units: str = "words"
    deduplicate: bool = True
    by_occurrences: bool = False
    drop_punctuation: bool = False
    across_contexts: bool = True
    anisotropy_sample: int = 0
    sentence_sample: int = 0
    word_sample: int = 0
    mev_baseline_size: int = 0


PRESETS = {
    # what each quantity should be
    "corrected": Preset(),
    # what the text of Ethayarajh 2019 says: 1,000 words, 500 sentences, chance from 1,000 occurrences
    "paper": Preset(sentence_sample=500, word_sample=1000, mev_baseline_size=1000),
    # what its published code did (docs/fidelity.md §1.7-14); its misaligned GPT-2 indices are not copied
    "released": Preset(
        units="pieces",
        deduplicate=False,
        by_occurrences=True,
        drop_punctuation=True,
        across_contexts=False,
        anisotropy_sample=1000,
        sentence_sample=1000,
        mev_baseline_size=1000,
    ),
}


def preset_named(name: str) -> Preset:
    return PRESETS[choose(name, PRESETS, what="preset")]
