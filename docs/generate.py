"""Writes docs/measures.md from the docstrings of limbeck.measures and of the presets, and docs/commands.md.

python -m docs.generate            write the pages
python -m docs.generate --check    only say whether they are what would be written, by the exit status
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from docs import commands
from limbeck import measures
from limbeck.measures import Result, contextuality, isotropy, norms, spectrum
from limbeck.runs.measuring.presets import PRESETS, Preset

PAGE = Path(__file__).with_name("measures.md")

HEAD = """\
# Measures

This page is made from the docstrings of `limbeck.measures` by `python -m docs.generate`; do not edit it. What the \
numbers mean, and which to trust when, is told in [the guide](measure.md). What the papers' code did differently is \
told in [fidelity.md](fidelity.md).

û is a vector divided by its norm, n a number of occurrences, c a context, C the covariance, d the number of \
dimensions, σ singular values, λ eigenvalues. Every function takes `x` of shape (n, d) or (layers, n, d), numpy or \
torch. Every result has `.value`, `.n`, `.baseline`, `.adjusted`, `.low`, `.high` and `.note`.
"""

PRESET_HEAD = """\
## Presets

`--preset` chooses what a run counts, drops and samples where paper, released code and sense disagree \
([fidelity.md §0.1](fidelity.md)). Formulas are not part of it.
"""

MORE_HEAD = """\
## Measures of a run alone

These stand in `layers.csv` too. They have no function for arrays.
"""


@dataclass(frozen=True)
class Entry:
    """A measure that arrays have: its function, and the functions whose docstrings tell the rest."""

    function: Callable[..., Result]
    more: tuple[Callable[..., Any], ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def docs(self) -> list[str]:
        return [doc_of(function) for function in (self.function, *self.more)]


#: in the order of layers.csv
ENTRIES = (
    Entry(measures.anisotropy, (contextuality.anisotropy_of,)),
    Entry(measures.self_similarity, (contextuality.self_similarity_of,)),
    Entry(measures.intra_sentence_similarity, (contextuality.intra_sentence_similarity_of,)),
    Entry(
        measures.intra_sentence_similarity_matched,
        (contextuality.intra_sentence_similarity_of, contextuality.matched_baseline_of),
    ),
    Entry(measures.mev),
    Entry(measures.mev_centered),
    Entry(measures.mev_truncated_svd),
    Entry(measures.log10_isotropy),
    Entry(measures.log10_isotropy_one_sign, (isotropy.log10_isotropy,)),
    Entry(measures.isoscore, (isotropy.isoscore_of,)),
    Entry(measures.effective_rank, (spectrum.effective_rank_of,)),
    Entry(measures.participation_ratio, (spectrum.participation_ratio_of,)),
    Entry(measures.mean_norm, (norms.mean_norm_of,)),
)
#: measures without a function for arrays, and whose docstring tells of them
MORE: dict[tuple[str, ...], Callable[..., Any]] = {
    (
        "norm_spread",
        "least_norm",
        "greatest_norm",
        "norm_of_mean",
        "norm_of_mean_over_mean_norm",
    ): norms.norms_of,
    ("largest_dimension_share", "three_largest_dimension_shares"): contextuality.dimension_shares_of,
}


def names() -> list[str]:
    """Every measure that the page tells of."""
    return [entry.name for entry in ENTRIES] + [name for some in MORE for name in some]


def doc_of(function: Callable[..., Any]) -> str:
    """A docstring without its doctest."""
    text = inspect.getdoc(function) or ""
    return re.split(r"\n\s*>>>", text)[0].strip()


def summary_of(entry: Entry) -> str:
    """What the measure is: its docstring's first sentence."""
    line = entry.docs[0].split("\n\n")[0].replace("\n", " ")
    line = re.split(r"; see `", line)[0]
    line = re.sub(r", in \[[^\]]*\]", "", line)
    return CITATION.sub("", line).strip().rstrip(".") + "."


CITATION = re.compile(r"\s*\(([A-Z][^()]*(?:19|20)\d\d[^()]*)\)")
RANGE = re.compile(r"\bin (\[[^\]]+\])|\b(at (?:most|least) 0)\b", re.IGNORECASE)
NOT_A_NUMBER = re.compile(r"\bNaN ((?:where|for) .*?)\.(?:\s|$)", re.DOTALL)


def formula_of(entry: Entry) -> str:
    """The formula in the docstring that does the work, less range and citation; "" where there is none."""
    place = 1 if entry.name == "intra_sentence_similarity_matched" else -1
    line = CITATION.sub("", entry.docs[place].split("\n")[0])
    line = re.split(r", in \[|, at least|; exact|; see|\. ", line)[0].rstrip(". ")
    if entry.name == "log10_isotropy_one_sign":
        return line.split(", over")[0]  # the docstring goes on with both signs
    what, _, formula = line.rpartition(", ")
    return formula if what in summary_of(entry) and "/" in formula else line


def found(pattern: re.Pattern[str], docs: Sequence[str]) -> str:
    """The first match of the docstrings, on one line."""
    for doc in docs:
        if match := pattern.search(doc):
            return " ".join(next(group for group in match.groups() if group).split())
    return ""


def citation_of(docs: Sequence[str]) -> str:
    cited = dict.fromkeys(" ".join(match.split()) for doc in docs for match in CITATION.findall(doc))
    return "; ".join(cited)


def rest_of(entry: Entry) -> list[str]:
    """Paragraphs behind the first of every docstring, less what the table says already."""
    others = {other.function for other in ENTRIES}  # they have sections of their own
    docs = [doc_of(function) for function in (entry.function, *(f for f in entry.more if f not in others))]
    parts = [" ".join(part.split()) for doc in docs for part in doc.split("\n\n")[1:]]
    return [part for part in map(linked, parts) if part]


def linked(text: str) -> str:
    """Without the sentence on NaN, and with links."""
    text = NOT_A_NUMBER.sub("", text).strip()
    return re.sub(r"docs/(\w+\.md)( §[\w.]+\w)?", r"[\1\2](\1)", text)


def tried(entry: Entry) -> Result:
    """The measure on made vectors: whether it has a baseline and an interval is seen, not declared."""
    generator = np.random.default_rng(0)
    given = {
        "words": np.tile(np.arange(6), 20),
        "contexts": np.repeat(np.arange(30), 4),
        "sentences": np.repeat(np.arange(30), 4),
    }
    wanted = inspect.signature(entry.function).parameters
    return entry.function(generator.normal(size=(120, 5)), **{key: given[key] for key in given if key in wanted})


def signature_of(entry: Entry) -> str:
    shown = [
        name if parameter.default is inspect.Parameter.empty else f"{name}={parameter.default!r}"
        for name, parameter in inspect.signature(entry.function).parameters.items()
    ]
    return f"lb.measures.{entry.name}({', '.join([shown[0], '*', *shown[1:]] if shown[1:] else shown)})"


def overview() -> list[str]:
    rows = ["| measure | what it is | range | baseline | interval |", "|---|---|---|---|---|"]
    for entry in ENTRIES:
        result = tried(entry)
        has = ["yes" if there else "no" for there in (result.baseline is not None, result.low is not None)]
        range_ = found(RANGE, entry.docs)
        rows.append(f"| [`{entry.name}`](#{entry.name}) | {summary_of(entry)} | {range_} | {' | '.join(has)} |")
    return rows


def section(entry: Entry) -> list[str]:
    facts = {
        "formula": f"`{formula_of(entry)}`" if formula_of(entry) else "",
        "range": found(RANGE, entry.docs),
        "undefined": "NaN " + found(NOT_A_NUMBER, entry.docs),
        "citation": citation_of(entry.docs),
    }
    lines = [f"## {entry.name}", "", f"`{signature_of(entry)}`", "", summary_of(entry), ""]
    lines += ["| | |", "|---|---|", *(f"| {name} | {fact} |" for name, fact in facts.items() if fact.strip())]
    return lines + [line for part in rest_of(entry) for line in ("", part)]


def more_section(some: Sequence[str], function: Callable[..., Any]) -> list[str]:
    lines = ["### " + ", ".join(some)]
    return lines + [line for part in doc_of(function).split("\n\n") for line in ("", " ".join(part.split()))]


def preset_section() -> list[str]:
    told = dict(re.findall(r"^(\w+) {2,}(\S.*)$", inspect.getdoc(Preset) or "", re.MULTILINE))
    lines = ["| setting | " + " | ".join(f"`{name}`" for name in PRESETS) + " | what it means |"]
    lines.append("|---|" + "---|" * (len(PRESETS) + 1))
    for setting in fields(Preset):
        values = [shown(getattr(preset, setting.name)) for preset in PRESETS.values()]
        lines.append(f"| `{setting.name}` | {' | '.join(values)} | {told[setting.name]} |")
    return lines


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def page() -> str:
    """The whole page."""
    lines = [HEAD, *overview(), ""]
    for entry in ENTRIES:
        lines += [*section(entry), ""]
    lines.append(MORE_HEAD)
    for some, function in MORE.items():
        lines += [*more_section(some, function), ""]
    return "\n".join([*lines, PRESET_HEAD, *preset_section(), ""])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description="Write the generated pages of docs/.")
    parser.add_argument("--check", action="store_true", help="only say whether the pages are up to date")
    options = parser.parse_args(arguments)
    stale = 0
    for path, made in ((PAGE, page()), (commands.PAGE, commands.page())):
        if not options.check:
            path.write_text(made, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != made:
            print(f"{path.name} is not what the code says: run python -m docs.generate.", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
