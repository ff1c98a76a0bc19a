"""Numbers in the prose of pages that are partly generated, against the tables that stand on the same page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"<!-- begin generated: (\S+) -->(.*?)<!-- end generated: \S+ -->", re.DOTALL)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")
NUMBER = re.compile(r"(?<![\w.§])(?:10\^[−-])?\d[\d,]*\.\d+(?![\w.]*\d)")
#: page -> numbers in its prose that its tables do not have, with what they are
ELSEWHERE = {
    "rajaee2021.md": {
        "0.4": "chance, 0.42 % in structure.csv",
        "2.7": "a difference of two numbers of Table 3",
        "0.9": "a difference of two numbers of Table 3",
        "3.3": "differences of two numbers of Table 5, below",
        "17.7": "the same",
        "34.6": "the same",
        "0.44": "the loss, rounded",
        "0.122": "of all-MiniLM-L6-v2, which has no table here",
        "0.118": "the same",
        "0.01": "the same",
        "0.06": "the same",
    },
    "bis2021.md": {
        "0.61": "printed in the text of the paper",
        "0.11": "of all-MiniLM-L6-v2, which has no table here",
        "1.07": "the same",
        "0.91": "the same",
        "0.02": "the same",
        "0.78": "the same",
        "0.677": "the same",
        "0.667": "the same",
        "0.663": "the same",
        "0.82": "the same",
    },
    "architecture.md": {
        "0.98": "shipped with the paper's code",
        "0.286": "shipped with the paper's code",
        "0.351": "shipped with the paper's code",
        "0.62": "of an earlier training",
        "0.30": "of an earlier training",
    },
}


def prose(page: str) -> list[str]:
    """The paragraphs that people wrote, without tables and code."""
    text = FENCE.sub("", BLOCK.sub("", (DOCS / page).read_text(encoding="utf-8")))
    return [part for part in text.split("\n\n") if part.strip() and not part.lstrip().startswith(("|", "#"))]


def tables(page: str, block: str) -> list[list[str]]:
    """Rows of cells of all tables of a generated block."""
    [text] = [text for name, text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")) if name == block]
    lines = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def paragraph(page: str, words: str) -> str:
    [found] = [part for part in prose(page) if words in part]
    return found


def number(cell: str) -> float:
    """A cell's number without its interval or unit; of a power of ten its exponent."""
    return float(re.split(r"[ \u00a0]", cell)[0].removeprefix("10^").replace("−", "-"))


@pytest.mark.parametrize("page", ELSEWHERE)
def test_numbers_of_the_prose_are_in_the_tables_of_the_page(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    written = "\n".join([*(block for _, block in BLOCK.findall(text)), *re.findall(r"^\|.*$", text, re.MULTILINE)])
    known = [one.replace(",", "") for one in NUMBER.findall(written)]
    powers = {one for one in known if one.startswith("10^")}
    values = [float(one) for one in known if not one.startswith("10^")]
    told = {found: part for part in prose(page) for found in NUMBER.findall(CODE.sub("", part))}
    assert ELSEWHERE[page].keys() <= told.keys()
    missing = {}
    for one in told.keys() - ELSEWHERE[page].keys() - powers:
        near = 0.5 * 10.0 ** -len(one.rpartition(".")[2]) + 1e-9
        if one.startswith("10^") or not any(abs(value - float(one.replace(",", ""))) <= near for value in values):
            missing[one] = told[one][:80]
    assert not missing


def test_how_far_mini_gpt2_is_from_the_printed_gpt2() -> None:
    head, *rows = tables("rajaee2021.md", "table-5")
    ours, printed = head.index("mini-gpt2"), head.index("*GPT-2, printed*")
    apart = {row[0]: abs(number(row[ours]) - number(row[printed])) for row in rows[1:]}
    told = paragraph("rajaee2021.md", "follows the printed GPT-2")
    assert f"{max(apart[str(layer)] for layer in range(2, 7)):.1f}" in told
    assert f"{apart['9']:.1f}" in told
    assert f"{apart['10']:.1f}" in told
    assert min(apart[str(layer)] for layer in range(7, 12)) > max(apart[str(layer)] for layer in range(2, 7))


def test_what_clusters_take_from_the_structure_of_sentences() -> None:
    shares: dict[tuple[str, str], list[float]] = {}
    name = ""
    for cells in tables("rajaee2021.md", "figure-structure")[1:]:
        name = cells[0] or name
        shares[name, cells[1]] = [number(cell) for cell in cells[2:]]
    gone = [1 - after / before for before, after in
            zip(shares["mini-bert", "as it is"], shares["mini-bert", "cluster-based"], strict=True)]  # fmt: skip
    told = paragraph("rajaee2021.md", "sentences of the same structure, some")
    assert f"by {100 * min(gone):.0f} to {100 * max(gone):.0f} %" in told
    times = [share / 0.42 for (_, space), some in shares.items() if space == "as it is" for share in some]
    low, high = (int(one) for one in re.findall(r"some (\d+) to (\d+) times", told)[0])
    assert low == pytest.approx(min(times), rel=0.05)
    assert high == pytest.approx(max(times), rel=0.05)


def test_what_clusters_take_from_tense() -> None:
    by_name: dict[tuple[str, str], float] = {}
    name = ""
    head, *rows = tables("rajaee2021.md", "table-4")
    for cells in rows:
        name = cells[0] or name
        by_name[name, cells[1]] = number(cells[head.index("DT-SM − ST-DM")])
    told = paragraph("rajaee2021.md", "Before repair tense dominates sense")
    for model in ("mini-bert", "mini-gpt2"):
        before, after = by_name[model, "as it is"], by_name[model, "cluster-based"]
        assert f"{before:.1f}" in told
        assert 1 - after / before == pytest.approx(2 / 5, abs=0.05)
    assert by_name["mini-bert", "as it is"] > by_name["*BERT, printed*", "as it is"]
    assert by_name["mini-gpt2", "as it is"] < by_name["*GPT-2, printed*", "as it is"]


def test_what_one_vector_explains() -> None:
    """Eq. 3, of layers in which occurrences of a word differ."""
    rows = tables("architecture.md", "figure-mev_headline")
    heads = [place for place, cells in enumerate(rows) if cells[1] == "0"]
    raw, adjusted = ([number(cell) for cells in rows[place + 1 : place + 4] for cell in cells[1:] if cell]
                     for place in (heads[0], heads[3]))  # fmt: skip
    told = paragraph("architecture.md", "By Eq. 3 one vector explains")
    static = [value for value in raw if value < 1]
    assert f"{100 * min(static):.0f} to {100 * max(static):.0f} %" in told
    assert f"{100 * min(adjusted):.0f} to {100 * max(adjusted):.0f} points" in told


def test_what_most_of_the_gain_of_the_default_method_is_on() -> None:
    pairs = {"RG-65": 65, "WS-353": 353, "SimLex": 999, "SimVerb": 3500, "RW": 2034}
    rows = {}
    for line in (DOCS / "best.md").read_text(encoding="utf-8").splitlines():
        name, *cells = (cell.strip() for cell in line.replace("*", "").strip("|").split("|"))
        if name in ("MiniLM, average", "MiniLM, best", "MPNet, average", "MPNet, best") and len(cells) > 5:
            rows[name] = [float(cell) for cell in cells[:5]]
    told = paragraph("best.md", "Most of the gain over the average is on two small sets").split("\n- ")[0]
    assert f"{pairs['RG-65'] + pairs['WS-353']} of the {sum(pairs.values()):,} pairs" in told
    for teacher in ("MiniLM", "MPNet"):
        best, average = rows[f"{teacher}, best"], rows[f"{teacher}, average"]
        gains = [one - other for one, other in zip(best, average, strict=True)]
        assert f"{100 * sum(gains[:2]) / sum(gains):.0f} %" in told
        weighted = sum(gain * size for gain, size in zip(gains, pairs.values(), strict=True)) / sum(pairs.values())
        assert f"{weighted:.3f}" in told
