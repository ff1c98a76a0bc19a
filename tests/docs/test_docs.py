"""The pages say what is so: their Python runs, their commands parse, their links lead somewhere."""

from __future__ import annotations

import doctest
import importlib.util
import re
import runpy
import shlex
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from limbeck.cli.program import build_parser, command_named, command_names, parser_for

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FENCE = re.compile(r"^```(\w+)?[ \t]*(\S*)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def load_generate() -> Any:
    """docs/generate.py, which is no part of the package."""
    sys.path.insert(0, str(ROOT))  # its neighbours are docs.commands and so on
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


generate = load_generate()


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file name behind it if there is one, its text and its first line's number."""

    language: str
    file: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(match[1] or "", match[2], match[3], text.count("\n", 0, match.start(3)) + 1)
        for match in FENCE.finditer(text)
    ]


def commands(page: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and arguments of each limbeck command in the shell blocks of a page."""
    for block in blocks(page):
        if block.language in ("sh", "bash", "shell", "console"):
            for number, line in enumerate(block.text.replace("\\\n", " ").splitlines(), block.line):
                words = shlex.split(line, comments=True)
                if "limbeck" in words:
                    end = words.index(">") if ">" in words else None
                    yield number, words[words.index("limbeck") + 1 : end]


def run_block(block: Block, page: Path, names: dict[str, Any]) -> None:
    """Run a block of Python; what stands behind >>> must print what stands below it."""
    if ">>>" not in block.text:
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line - 1)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags)
    failed = runner.run(test, out=report.append, clear_globs=False).failed
    names.update(test.globs)
    assert not failed, "".join(report)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(b.language == "python" for b in blocks(p))], ids=lambda p: p.name
)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one namespace a page; blocks that name a file (```text corpus.txt) are put there first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # what a page defines can be pickled
    names = vars(module)
    found = blocks(page)
    for block in found:
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    for block in found:
        if block.language == "python":
            run_block(block, page, names)


def test_a_page_that_is_wrong_is_found(tmp_path: Path) -> None:
    """The twin: both kinds of block fail where they should."""
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n\n```python\nraise ValueError('so')\n```\n", encoding="utf-8")
    shown, raised = blocks(page)
    with pytest.raises(AssertionError, match="Expected"):
        run_block(shown, page, {})
    with pytest.raises(ValueError, match="so"):
        run_block(raised, page, {})


@pytest.mark.parametrize("page", [p for p in PAGES if list(commands(p))], ids=lambda p: p.name)
def test_commands_parse(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line, arguments in commands(page):
        try:
            command = command_named(arguments[0]) if arguments else None
            if command is None or "--help" in arguments:
                build_parser().parse_args(arguments)
            else:
                parser_for(command).read(arguments[1:])
        except SystemExit as stop:  # argparse's way to say that something is wrong, or that help was asked for
            if stop.code:
                pytest.fail(f"{page.name}:{line}: {capsys.readouterr().err}")


def test_options_exist() -> None:
    """Every --option that a page names in running text is one of a command's."""
    parser = build_parser()
    known = {"--version", "--help", "--check", "--editable", "--constraint"}
    for action in parser._actions:
        for command in (getattr(action, "choices", None) or {}).values():
            known.update(option for own in command._actions for option in own.option_strings)
    for page in PAGES:
        for option in re.findall(r"`(--[a-z][a-z-]+)", page.read_text(encoding="utf-8")):
            assert option in known, f"{page.name}: {option}"


def test_all_options_are_told() -> None:
    """Each command has a section of the reference, with every option that its parser takes and what `--help` says."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    sections = [section.partition("\n") for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]]
    told = {name: text for name, _, text in sections}
    everywhere = told.pop("In every command")
    assert list(told) == command_names()
    for name, text in told.items():
        command = command_named(name)
        assert command is not None
        for option in (option for action in parser_for(command)._actions for option in action.option_strings):
            assert option in ("-h", "--help") or f"`{option}`" in text + everywhere, f"{name}: {option}"


def test_the_reference_says_what_a_value_may_be() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for row in (
        "| `--min-contexts` | whole number, at least 1 | `5` | minimum number of distinct contexts per word |",
        "| `--existing` | `fail`, `resume`, `replace` | `fail` | if DIR exists: fail (default), resume",
        "| `--no-figures` (Python: `figures=False`) |  |  | do not draw figures |",
        "| `--out` | path | required | folder to write; it must be new |",
    ):
        assert row in page


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(path), f"{page.name}: {link}"


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_pages_of_docs_can_be_reached() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, page.name


def test_first_commands_stand_at_the_top() -> None:
    top = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:30]
    for command in ("make demo", "make test"):
        assert any(line.startswith(command) for line in top)


def test_references_to_fidelity_can_be_followed() -> None:
    """Docstrings name sections of docs/fidelity.md, and each is there."""
    page = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    for source in (ROOT / "src").rglob("*.py"):
        for section in re.findall(r"fidelity\.md §([\w.]*\w)", source.read_text(encoding="utf-8")):
            assert f"§{section} " in page or f"§{section}**" in page, f"{source.name}: §{section}"


def test_generated_pages_are_fresh() -> None:
    assert generate.main(["--check"]) == 0, "run python -m docs.generate"


@pytest.mark.parametrize(
    ("name", "true", "stale"), [("measures", "[−1, 1]", "[0, 1]"), ("commands", "| `--seed` |", "| `--sed` |")]
)
def test_a_generated_page_that_is_stale_is_found(
    name: str,
    true: str,
    stale: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = generate if name == "measures" else generate.commands
    old = tmp_path / f"{name}.md"
    old.write_text(module.page().replace(true, stale), encoding="utf-8")
    monkeypatch.setattr(module, "PAGE", old)
    assert generate.main(["--check"]) == 1
    assert f"{name}.md is not what the code says: run python -m docs.generate" in capsys.readouterr().err


def test_measures_page_has_every_measure_with_its_facts() -> None:
    """What a run gives is on the page, and no docstring lacks formula, range, or where it is undefined."""
    import numpy as np

    import limbeck as lb

    def made(texts: Any) -> list[Any]:
        return [np.random.default_rng(text.identity % 2**32).normal(size=(len(text.words), 4)) for text in texts]

    run = lb.measure(made, [[a, b, "c"] for a in "abcdef" for b in "abcd"], min_contexts=2)
    assert list(run.measures) == generate.names()
    for entry in generate.ENTRIES:
        assert generate.formula_of(entry), entry.name
        assert generate.found(generate.RANGE, entry.docs), entry.name
        assert generate.found(generate.NOT_A_NUMBER, entry.docs), entry.name


def test_state_arrays_are_told() -> None:
    """docs/files.md names every array of every accumulator that a run's state holds, and no other."""
    import limbeck as lb

    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    told: dict[str, set[str]] = {}
    kinds: list[str] = []
    for first, second in re.findall(r"^\| (`[^|]*`)? ?\| (`[^|]+`) \| [^|]*\| [^|]*\|$", page, re.MULTILINE):
        kinds = re.findall(r"`(\w+)`", first) or kinds
        for kind in kinds:
            told.setdefault(kind, set()).update(re.findall(r"`(\w+)`", second))
    special = {
        "words": {"words": 3},
        "word_pools": {"words": 3},
        "word_contexts": {"words": 3},
        "occurrences": {"capacity": 2, "chosen": [0]},
    }
    special |= {name: {"capacity": 2} for name in ("points", "sentence_points")}
    for name, kind in lb.accumulators.REGISTERED.items():
        if name == "partition":  # a second pass is not resumed
            continue
        empty: Any = kind
        assert told[name] == set(empty(layers=1, dim=2, **special.get(name, {})).state()), name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sys, "argv", [str(example)])  # not pytest's own
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
