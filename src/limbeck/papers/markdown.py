"""A reproduction as text: the blocks of a page, and findings.md, which has all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from limbeck.papers.estimates import Verdict
from limbeck.papers.findings import Finding, Judgement, Paper, why_undrawn
from limbeck.papers.results import Reproduction

#: blocks that the page of every paper may have, and their titles in findings.md
COMMON = {"claims": "Claims", "questions": "Open question", "reasons": "Rules and reasons"}
MOST_NAMES = 3  #: published models that a cell names; of more it has their number
MARKS = {Verdict.HELD: "held", Verdict.NOT_HELD: "**not held**", Verdict.CLOSE: "too close", Verdict.UNSHOWN: "–"}


def block_names(paper: Paper) -> list[str]:
    """Names of the blocks that a page about this paper may have."""
    own = [name for name in paper.blocks if name != "models"]
    return ["models", *COMMON, *own, *(f"figure-{name}" for name in paper.figures)]


def blocks(found: Reproduction, *, figures: str, prefix: str = "", form: str = "svg") -> dict[str, str]:
    """Every block; figures lie at `figures`/`prefix`NAME.`form`, as seen from the page."""
    common: dict[str, Callable[[Reproduction], str]] = {"claims": claims, "questions": questions, "reasons": reasons}
    own = {name: block.make for name, block in found.paper.blocks.items()}
    made = {"models": own.pop("models")} | common | own
    text = {name: make(found) for name, make in made.items()}
    for name, caption in found.paper.captions.items():
        why = why_undrawn(found.paper, name, found.subjects)
        parts = [f"Not drawn: {why}." if why else f"![{caption}]({figures}/{prefix}{name}.{form})"]
        if name in found.paper.tables:
            parts.append(found.paper.tables[name](found))
        text[f"figure-{name}"] = "\n\n".join(parts)
    return text


def findings_page(found: Reproduction, *, figures: bool = True) -> str:
    """findings.md: everything, on a page of its own; `figures` says whether they lie beside it."""
    parts = blocks(found, figures="figures", form="png")
    own = {name: block.title for name, block in found.paper.blocks.items()}
    titles = {"models": own.pop("models")} | COMMON | own
    lines = [f"# {found.paper.title}", f"{found.paper.citation}, tried again."]
    for name, title in titles.items():
        lines += [f"## {title}", parts[name]] if parts[name] else []
    if figures:
        lines += ["## Figures", *(parts[f"figure-{name}"] for name in found.paper.figures)]
    return "\n\n".join(lines) + "\n"


def how(found: Reproduction) -> list[str]:
    """Whose models these are, and the command that does it again."""
    lines = [found.note] if found.note else []
    return [*lines, f"```sh\n{found.command}\n```"] if found.command else lines


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
        f"**{_overall(one).capitalize()}**: {one.claim.text}. {f'{one.why}.' if one.models else _sentence(one.why)}"
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


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _cell(judged: Judgement | None) -> str:
    return MARKS[judged.verdict] if judged else ""


def _published(one: Finding) -> str:
    """The paper's own numbers by the same rule, by model."""
    found = {name.removeprefix("published "): judged.verdict for name, judged in one.published.items()}
    if len(found) > MOST_NAMES:
        counts = {verdict: list(found.values()).count(verdict) for verdict in Verdict}
        return ", ".join(f"{count} {MARKS[verdict]}" for verdict, count in counts.items() if count)
    if len(set(found.values())) == 1:
        return f"{MARKS[next(iter(found.values()))]} ({', '.join(found)})"
    return ", ".join(f"{name} {MARKS[verdict]}" for name, verdict in found.items())


def _overall(one: Finding) -> str:
    return "cannot be shown" if one.verdict is Verdict.UNSHOWN else str(one.verdict)


def _sentence(*parts: object) -> str:
    text = ": ".join(str(part) for part in parts if str(part))
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
