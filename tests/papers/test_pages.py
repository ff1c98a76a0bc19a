"""Pages: what people wrote stays, what is generated is written anew, and marks that are wrong are refused."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from made_runs import MadeRun, split_words
from refusals import raises

from limbeck.errors import InputError
from limbeck.papers import paper_named
from limbeck.papers.markdown import block_names, blocks, findings_page
from limbeck.papers.pages import MARK, blocks_of, fill, read_page, write_page
from limbeck.papers.results import Reproduction, evaluate

PAPER = paper_named("ethayarajh2019")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
PROSE = """# Über Größe \u2014 a title

<!-- begin generated: claims -->
old numbers
<!-- end generated: claims -->
Prose that mentions <!-- begin generated: claims --> in a line, and ends.\t

<!-- a comment of one's own -->
<!-- begin generated: models -->
<!-- end generated: models -->
last words without a newline"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    root = tmp_path_factory.mktemp("runs")
    made = [
        MadeRun("BERT", {"anisotropy": [0.1, 0.2, 0.3]}, layers=3, name="one | two", words=split_words(0.3, 0.6)),
        MadeRun("GPT-2", {"mev_centered": [float("nan"), 0.2, 0.3]}, layers=3, name="other"),
    ]
    return evaluate(PAPER, [run.write(root) for run in made], command="limbeck reproduce ethayarajh2019 --out x")


def outside(text: str) -> str:
    """What stands outside the blocks."""
    return re.sub(r"(?ms)^(<!-- begin generated: (\S+) -->)$.*?^(<!-- end generated: \2 -->)$", r"\1\3", text)


def test_a_page_keeps_its_place_and_its_mode(found: Reproduction, tmp_path: Path) -> None:
    page, link = tmp_path / "page.md", tmp_path / "elsewhere" / "link.md"
    page.write_text(PROSE, encoding="utf-8")
    link.parent.mkdir()
    link.symlink_to(Path("..") / "page.md")
    for mode in (0o600, 0o664, 0o440):
        page.chmod(0o600)
        page.write_text(PROSE, encoding="utf-8")
        page.chmod(mode)
        write_page(link, blocks(found, figures="figures"))
        assert link.is_symlink()
        assert "old numbers" not in page.read_text(encoding="utf-8")
        assert stat.S_IMODE(page.stat().st_mode) == mode
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["elsewhere", "link.md", "page.md"]


def test_prose_stays_and_numbers_change(found: Reproduction, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PROSE, encoding="utf-8")
    write_page(page, blocks(found, figures="figures"))
    text = page.read_text(encoding="utf-8")
    assert outside(text) == outside(PROSE)
    assert "old numbers" not in text
    assert "| `F1.higher` | higher layers are more anisotropic | held |" in text
    assert "limbeck reproduce ethayarajh2019 --out x" in text
    write_page(page, blocks(found, figures="figures"))
    assert page.read_text(encoding="utf-8") == text  # again, and nothing changes
    edited = text.replace("last words", "other last words").replace("higher layers", "HIGHER LAYERS")
    page.write_text(edited, encoding="utf-8")
    write_page(page, blocks(found, figures="figures"))
    assert page.read_text(encoding="utf-8") == text.replace("last words", "other last words")


def test_a_filler_that_overwrites_prose_is_found() -> None:
    """The twin of the check above."""
    assert outside(PROSE.replace("last words", "lost words")) != outside(PROSE)
    assert outside(fill(PROSE, {"claims": "a", "models": "b"})) == outside(PROSE)


@pytest.mark.parametrize(
    ("text", "code", "datum"),
    [
        ("prose", "incomplete", "page.md: "),
        ("<!-- begin generated: claims -->\n", "malformed", "page.md: "),
        ("<!-- end generated: claims -->\n", "malformed", "page.md:1: "),
        ("<!-- begin generated: claims -->\n<!-- begin generated: models -->\n", "malformed", "page.md:2: "),
        ("<!-- begin generated: claims -->\n<!-- end generated: claims -->\n" * 2, "malformed", "page.md:3: "),
        ("<!-- begin generated: claim -->\n<!-- end generated: claim -->\n", "unknown_choice", "'claims'"),
    ],
)
def test_wrong_marks_are_refused(tmp_path: Path, text: str, code: str, datum: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with raises(InputError, code=code, parameter=None, says=datum):
        read_page(page, block_names(PAPER))
    assert page.read_text(encoding="utf-8") == text


def test_a_page_that_is_not_there(tmp_path: Path) -> None:
    with raises(InputError, code="not_found", parameter="page"):
        read_page(tmp_path / "none.md", block_names(PAPER))


def test_the_page_in_docs_has_known_blocks() -> None:
    text = read_page(PAGE, block_names(PAPER))
    there = blocks_of(text)
    assert set(block_names(PAPER)) - set(there) == {"figure-mev_raw"}  # the headline's figure has its numbers
    for link in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (PAGE.parent / link).is_file()


def test_every_block_is_written(found: Reproduction) -> None:
    made = blocks(found, figures="figures", prefix="p-")
    assert list(made) == block_names(PAPER)
    for name, text in made.items():
        assert text.strip(), name
        assert "nan" not in text, name
        assert not MARK.search(text)
    assert "![Anisotropy by layer and by relative depth](figures/p-anisotropy.svg)" in made["figure-anisotropy"]
    assert "| one \\| two | 0.10 | 0.20 | 0.30 |" in made["figure-anisotropy"]
    assert "| other |  | 0.20 | 0.30 |" in made["figure-mev_headline"]  # undefined is empty
    assert "what is tested is the claim, not the published number" in made["models"]
    assert "Lowest in one | two: the, of, and, to, a." in made["words"]


def test_findings_page_has_it_all(found: Reproduction) -> None:
    text = findings_page(found)
    for finding in found.findings:
        assert f"`{finding.claim.id}`" in text
        if finding.claim.rule:
            assert finding.claim.rule.text in text
    for name in PAPER.figures:
        assert f"(figures/{name}.png)" in text


def test_ends_of_lines_stay_as_they_are(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_bytes(b"one\r\n<!-- begin generated: a -->\r\nold\r\n<!-- end generated: a -->\r\ntwo\r\n")
    write_page(page, {"a": "first\nsecond"})
    written = page.read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n")
    assert b"-->\r\n\r\nfirst\r\nsecond\r\n\r\n<!-- end" in written
    write_page(page, {"a": "first\nsecond"})
    assert page.read_bytes() == written
