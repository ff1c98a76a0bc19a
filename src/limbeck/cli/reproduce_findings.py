"""limbeck reproduce: findings as files, and as a table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.cli.output import console as make_console

if TYPE_CHECKING:
    from limbeck.papers.findings import Finding
    from limbeck.papers.results import Reproduction
    from limbeck.tables import Columns


def write(found: Reproduction, out: Path, *, page: Path | None, files: Mapping[str, Columns]) -> None:
    """findings.json, findings.md, figures/ and the files with numbers; and a page's generated blocks with its figures.

    Of a file that has no columns this time an older one is removed.
    """
    from limbeck.papers.markdown import blocks, findings_page
    from limbeck.papers.pages import blocks_of, read_page, write_page
    from limbeck.papers.results import draw_figures, write_json
    from limbeck.reporting.page import write_page as write_report
    from limbeck.state import write_text
    from limbeck.tables import write_csv

    draw_figures(found, out / "figures")
    for name, columns in files.items():
        (out / name).unlink(missing_ok=True)
        if columns:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_csv(out / name, columns)
    write_text(out / "findings.md", findings_page(found))
    write_json(found, out / "findings.json")
    write_report(out)
    if page is not None:
        prefix = f"{found.paper.id}-"
        made = blocks(found, figures="figures", prefix=prefix)
        wanted = {name for name in found.paper.figures if f"figure-{name}" in blocks_of(read_page(page, made))}
        draw_figures(found, page.parent / "figures", only=wanted, prefix=prefix, forms=["svg"])
        write_page(page, made)


def print_findings(found: Reproduction, out: Path) -> None:
    """A line a claim: is it held, by whom not, and which figure shows it."""
    from rich.table import Table

    from limbeck.papers.findings import why_undrawn

    console = make_console()
    table = Table(title=f"{found.paper.title} ({found.paper.citation})", title_justify="left")
    for title in ("", "claim", "held?", "figure"):
        table.add_column(title)
    for one in found.findings:
        lacking = why_undrawn(found.paper, one.claim.figure, found.subjects)
        told, figure = (f"{one.verdict}: {lacking}", "") if lacking else (held(one), one.claim.figure)
        table.add_row(one.claim.id.split(".")[0], one.claim.text, told, figure)
    console.print(table, markup=False)
    counts: dict[str, int] = {}
    for one in found.findings:
        counts[one.verdict] = counts.get(one.verdict, 0) + 1
    lines = [", ".join(f"{verdict}: {count}" for verdict, count in counts.items())]
    lines += [found.note] if found.note else []
    if found.paper.source == "spaces":
        from limbeck.papers.space_blocks import missing_parts

        lines += [f"not measured: {reason}" for reason in missing_parts(found.subjects)]
    for line in [*lines, f"{out}: report.html, findings.md, findings.json, figures/ and {found.paper.source}/"]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


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
