"""What a reproduction prints at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from limbeck.cli.output import say
from limbeck.papers import PAPERS
from limbeck.papers.findings import Finding, why_undrawn
from limbeck.papers.reproduce import ReproduceResult, ReproduceRun
from limbeck.papers.space_blocks import missing_parts


def show(result: ReproduceResult, run: ReproduceRun) -> None:
    """A line for each claim: is it held, by whom not, and which figure shows it."""
    found, out = result.reproduction, run.output.out
    assert found is not None
    source = PAPERS[found.paper.id]
    table = Table(title=result.title(), title_justify="left")
    for title in ("", "claim", "held?", "figure"):
        table.add_column(title)
    for one in found.findings:
        why = why_undrawn(found.paper, one.claim.figure, found.subjects)
        verdict, figure = (f"{one.verdict}: {why}", "") if why else (held(one), one.claim.figure)
        table.add_row(one.claim.id.split(".")[0], one.claim.text, verdict, figure)
    say(table)
    counts = Counter(one.verdict for one in found.findings)
    lines = [", ".join(f"{verdict}: {count}" for verdict, count in counts.items())]
    lines += [found.note] if found.note else []
    if source == "spaces":
        lines += [f"not measured: {reason}" for reason in missing_parts(found.subjects)]
    say(*lines, f"{out}: report.html, findings.md, findings.json, figures/ and {source}/")


def held(one: Finding) -> str:
    """The verdict; where models differ, those that it comes from; where all lack the same, what that is."""
    if not one.models and one.claim.kind != "question":
        return f"{one.verdict}: {one.why}"
    reasons = {judged.why.split("; ")[0] for judged in one.models.values()}
    if one.verdict == "cannot be shown" and len(reasons) == 1:
        return f"{one.verdict}: {reasons.pop()}"
    others: Sequence[str] = [name for name, judged in one.models.items() if judged.verdict is one.verdict]
    if 0 < len(others) < len(one.models):
        return f"{one.verdict} ({', '.join(others)})"
    return str(one.verdict)
