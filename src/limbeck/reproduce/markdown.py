"""A reproduction as text: the blocks of a page, and findings.md, which has all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from limbeck.reproduce.estimates import Verdict, minus
from limbeck.reproduce.findings import Finding, Judgement, Paper
from limbeck.reproduce.results import Reproduction
from limbeck.reproduce.rules import called

MARKS = {Verdict.HELD: "held", Verdict.NOT_HELD: "**not held**", Verdict.CLOSE: "too close", Verdict.UNSHOWN: "–"}


def block_names(paper: Paper) -> list[str]:
    """Names of the blocks that a page about this paper may have."""
    return ["models", "claims", "questions", "reasons", "words", *(f"figure-{name}" for name in paper.figures)]


def blocks(found: Reproduction, *, figures: str, prefix: str = "", form: str = "svg") -> dict[str, str]:
    """Every block; figures lie at `figures`/`prefix`NAME.`form`, as seen from the page."""
    made: dict[str, Callable[[Reproduction], str]] = {
        "models": models,
        "claims": claims,
        "questions": questions,
        "reasons": reasons,
        "words": words,
    }
    text = {name: make(found) for name, make in made.items()}
    for name, caption in found.paper.captions.items():
        parts = [f"![{caption}]({figures}/{prefix}{name}.{form})"]
        parts += [by_layer(found, measure, column) for measure, column in found.paper.tables.get(name, ())]
        text[f"figure-{name}"] = "\n\n".join(parts)
    return text


def findings_page(found: Reproduction) -> str:
    """findings.md: everything, on a page of its own."""
    parts = blocks(found, figures="figures", form="png")
    titles = {
        "models": "Models and text",
        "claims": "Claims",
        "questions": "Open question",
        "reasons": "Rules and reasons",
    }
    lines = [f"# {found.paper.title}", f"{found.paper.citation}, tried again."]
    for name, title in titles.items():
        lines += [f"## {title}", parts[name]]
    lines += ["## Words", parts["words"], "## Figures"]
    lines += [parts[f"figure-{name}"] for name in found.paper.figures]
    return "\n\n".join(lines) + "\n"


def models(found: Reproduction) -> str:
    """What was measured, on what, and how to do it again."""
    rows = [
        [one.name, one.family or "none of the three", str(len(one.layers) - one.has_input), str(one.account["dim"])]
        for one in found.subjects
    ]
    lines = [table(["model", "kind", "layers above the input", "dimensions"], rows)]
    counts = found.subjects[0].account.get("counts", {})
    corpus = (found.subjects[0].account.get("source") or {}).get("corpus") or {}
    named = ", ".join(f"`{Path(path).name}`" for path in corpus.get("paths", [])) or "kept vectors"
    told = f"Text: {named}, {counts.get('words', 0):,} words in {counts.get('texts', 0):,} different texts; "
    told += f"{counts.get('followed_words', 0):,} words followed. Preset: `{', '.join(found.presets)}`."
    lines.append(told)
    if found.note:
        lines.append(found.note)
    if found.command:
        lines.append(f"```sh\n{found.command}\n```")
    return "\n\n".join(lines)


def claims(found: Reproduction) -> str:
    """A row a claim: what each model says, what the paper's own numbers say by the same rule, and both together."""
    names = [one.name for one in found.subjects]
    rows = []
    for one in found.findings:
        if one.claim.kind == "question":
            continue
        cells = [_cell(one.models.get(name)) for name in names]
        rows.append([f"`{one.claim.id}`", one.claim.text, *cells, _published(one), _overall(one)])
    head = ["", "claim", *names, "published numbers, same rule", "verdict"]
    return table(head, rows) + "\n\nAn empty cell: the claim is not about this model. –: cannot be shown."


def questions(found: Reproduction) -> str:
    return "\n\n".join(
        f"**{_overall(one).capitalize()}**: {one.claim.text}. {_sentence(one.why)}"
        for one in found.findings
        if one.claim.kind == "question"
    )


def reasons(found: Reproduction) -> str:
    """Every claim with its rule, its verdict and the numbers behind it."""
    lines = []
    for one in found.findings:
        rule = f" Held if {one.claim.rule.text}." if one.claim.rule else ""
        lines.append(
            f"- `{one.claim.id}` ({one.claim.where}): {one.claim.text}.{rule} {_sentence(one.verdict, one.why)}"
        )
    return "\n".join(lines)


def words(found: Reproduction) -> str:
    """What the claims about words found, number by number."""
    parts = []
    for one in found.findings:
        numbers = {name: judged.numbers for name, judged in one.models.items() if judged.numbers}
        if one.claim.figure != "words" or not numbers:
            continue
        quantities = list(dict.fromkeys(quantity for some in numbers.values() for quantity in some))
        rows = [
            [name, *(str(some[quantity]) if quantity in some else "" for quantity in quantities)]
            for name, some in numbers.items()
        ]
        parts.append(f"{one.claim.text[0].upper()}{one.claim.text[1:]}:")
        parts.append(table(["model", *quantities], rows))
        parts += [f"Lowest in {name}: {', '.join(told.words)}." for name, told in one.models.items() if told.words]
    return "\n\n".join(parts) or "No model here has words to tell of."


def by_layer(found: Reproduction, measure: str, column: str) -> str:
    """A measure as a table: a row a model, a column a layer."""
    longest = max(len(one.layers) for one in found.subjects)
    rows = []
    for one in found.subjects:
        values = [_value(value) for value in one.curve(measure, column).values]
        rows.append([one.name, *values, *[""] * (longest - len(values))])
    name = called(measure, column)
    return f"{name[0].upper()}{name[1:]}, by layer from the input:\n\n" + table(["", *map(str, range(longest))], rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _cell(judged: Judgement | None) -> str:
    return MARKS[judged.verdict] if judged else ""


def _published(one: Finding) -> str:
    """The paper's own numbers by the same rule, by model."""
    found = {name.removeprefix("published "): judged.verdict for name, judged in one.published.items()}
    if len(set(found.values())) == 1:
        return f"{MARKS[next(iter(found.values()))]} ({', '.join(found)})"
    return ", ".join(f"{name} {MARKS[verdict]}" for name, verdict in found.items())


def _overall(one: Finding) -> str:
    return "cannot be shown" if one.verdict is Verdict.UNSHOWN else str(one.verdict)


def _sentence(*parts: object) -> str:
    text = ": ".join(str(part) for part in parts if str(part))
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _value(value: float) -> str:
    if not math.isfinite(value):
        return ""
    return minus(f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}")
