"""One self-contained page of any number of runs: it opens by double click, needs no network and no server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from limbeck import __version__
from limbeck.errors import LimbeckError
from limbeck.places import check_file
from limbeck.reporting.page.folders import Folder, find_folders, tells_command
from limbeck.reporting.page.packing import Pack
from limbeck.reporting.page.sections import SECTIONS, names_in
from limbeck.reporting.page.template import fill
from limbeck.reporting.settings import ReportSettings
from limbeck.settings import build
from limbeck.state import write_text
from limbeck.vectors.damaged import told_as_damage

NAME = "report.html"
MOST_BYTES = 25_000_000


def report(*runs: str | Path, **keywords: Any) -> Path:
    """Write one page with all the runs side by side, and return its path.

    runs      folders that any command has written, or folders that hold such folders
    out       the page to write ("report.html")
    title     its heading (default: the names of the runs)
    existing  where `out` is there already: "fail", or "replace" it

    The keywords are the options of `limbeck report`.
    """
    settings = build({"page": ReportSettings}, {"runs": runs, **keywords}, verb="report")["page"]
    return write_report(cast(ReportSettings, settings))


def write_report(settings: ReportSettings) -> Path:
    """See `report`."""
    path = settings.out
    if path.is_dir():
        raise LimbeckError(
            f"{path}: a page is a file, this is a folder: --out {path / NAME}.", code="in_the_way", parameter="out"
        )
    check_file(path)
    with told_as_damage(", ".join(map(str, settings.runs)), "runs", "make the run again"):
        folders = find_folders(settings.runs)
    if settings.existing == "fail" and path.exists():
        told = f"{path}: it is there already: --existing=replace, or another --out."
        raise LimbeckError(told, code="exists", parameter="existing")
    page = page_of(folders, title=settings.title)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, page)
    except OSError as error:
        raise LimbeckError(
            f"{path}: a page must be writable; {error.strerror}: choose another --out.",
            code="not_writable",
            parameter="out",
        ) from error
    return path


def write_page(folder: Path) -> Path | None:
    """Write the page of one run into its own folder; None for kept vectors and for what no command has written."""
    if not tells_command(folder):
        return None
    folders = find_folders([folder])
    write_text(folder / NAME, page_of(folders))
    return folder / NAME


def page_of(folders: Sequence[Folder], *, title: str | None = None) -> str:
    """The page as text. Where it would be too long, fewer words are shown of each run."""
    for share in (1.0, 0.5, 0.25, 0.1, 0.0):
        page = _page_of(folders, title or titled(folders), share=share)
        size = len(page.encode())
        if size <= MOST_BYTES:
            return page
    raise LimbeckError(
        f"A page must be at most {MOST_BYTES / 1e6:.0f} MB, {len(folders)} runs make {size / 1e6:.0f} MB: give fewer.",
        code="too_large",
    )


def titled(folders: Sequence[Folder]) -> str:
    """The names of the runs, the first few of many."""
    names = list(dict.fromkeys(folder.name for folder in folders))
    return " · ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _page_of(folders: Sequence[Folder], title: str, *, share: float) -> str:
    packs: dict[str, Pack] = {}
    sections = []
    shown = ", ".join(str(folder.path) for folder in folders)
    for name, section in SECTIONS.items():
        pack = Pack()
        with told_as_damage(shown, f"runs, for the page's part {name}", "make the run again"):
            data = section(folders, pack, share)
        if data is not None:
            packs[name] = pack
            sections.append({"id": name, **data})
    data = {"title": title, "limbeck": __version__, "names": names_in(folders), "sections": sections}
    return fill(f"{title} · limbeck", data, packs)
