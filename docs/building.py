"""What the site has beside the pages of docs/: the reference, the examples, pages from elsewhere in the repository.

MkDocs calls the `on_...` functions while it builds (`make docs`); mkdocstrings calls `AlignedNames`. Nothing here is
needed to read the pages as they are.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
#: pages of the repository that the site has elsewhere -> where
OUTSIDE = {
    "README.md": "index.md",  # what is opened first
    "docs/index.md": "how-it-works.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "recipes/README.md": "recipes.md",
    "benchmarks/README.md": "benchmarks.md",
    "src/limbeck/data/README.md": "data.md",
    "src/limbeck/data/miniatures/mini-bert/README.md": "mini-bert.md",
    "src/limbeck/data/miniatures/mini-gpt2/README.md": "mini-gpt2.md",
    "src/limbeck/data/miniatures/mini-elmo/README.md": "mini-elmo.md",
}
#: the reference: packages, and a module, whose public names have a page together
PACKAGES = (
    "limbeck", "limbeck.corpus", "limbeck.encoders", "limbeck.vectors", "limbeck.measures", "limbeck.accumulators",
    "limbeck.stream", "limbeck.repairs", "limbeck.evaluation", "limbeck.distillation", "limbeck.probing",
    "limbeck.analysis", "limbeck.reporting", "limbeck.testing", "limbeck.shown",
)  # fmt: skip
REFERENCE = {f"api/{name.rpartition('.')[2]}.md": name for name in PACKAGES}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)")
ELSEWHERE = re.compile(r'<script src="https?://[^"]*"></script>')
NAMED = re.compile(r"^```(\w+)[ \t]+([\w./-]+)[ \t]*$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Put the reference into the navigation, and pages that nobody has given a place there at its end."""
    text = str(config.nav)
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    more: list[Any] = [name for name in pages if f"'{name}'" not in text]
    config.nav.append({"Reference": [{name: page} for page, name in REFERENCE.items()]})
    config.nav.append({"More": [*more, *(page for page in OUTSIDE.values() if f"'{page}'" not in text)]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages that are made or taken from elsewhere."""
    made = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in OUTSIDE.items()}
    made |= {page: reference_page(name) for page, name in REFERENCE.items()}
    made["examples.md"] = examples_page()
    files.remove(files.src_uris["index.md"])  # it has another name there
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as the site has them, and the names of files above their text."""
    here = {page: source for source, page in OUTSIDE.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return NAMED.sub(r'```\1 title="\2"', relinked(markdown, here, page.file.src_uri))


def on_post_page(output: str, page: Any, config: Any) -> str:
    """No request leaves a page: the theme would load a part of its search from elsewhere where it is read from disk."""
    return ELSEWHERE.sub("", output)


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    return ELSEWHERE.sub("", output_content)


def relinked(markdown: str, source: str, target: str) -> str:
    """The links of a repository's page at `source`, for the site's page at `target`.

    A link to a file that the site does not have, a script or a licence, stays as its text.
    """

    def replaced(match: re.Match[str]) -> str:
        text, link = match[1], match[2]
        path, mark, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return match[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if there in OUTSIDE:
            there = OUTSIDE[there]
        elif there == "examples":
            there = "examples.md"
        elif there.startswith("docs/"):
            there = there.removeprefix("docs/")
        elif not there.startswith("api/"):
            return text.strip("[]") if text.startswith("[") else ""
        return f"{text}({posixpath.relpath(there, posixpath.dirname(target) or '.')}{mark}{anchor})"

    parts, at = [], 0
    for block in FENCED.finditer(markdown):  # what stands in a block of code is no link
        parts += [LINK.sub(replaced, markdown[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, LINK.sub(replaced, markdown[at:])])


def reference_page(package: str) -> str:
    """What a package says of itself, and its public names, each by the name that users know."""
    parts = [f"# {package}", listed(inspect.getdoc(importlib.import_module(package)) or "")]
    for name, place in public_names(package).items():
        parts.append(f"::: {place}\n    options:\n      heading: {package}.{name}\n      toc_label: {name}")
    return "\n\n".join(parts) + "\n"


def public_names(package: str) -> dict[str, str]:
    """Functions and classes that a package names as its own -> where they stand; packages have pages of their own."""
    module = importlib.import_module(package)
    found = {name: getattr(module, name) for name in module.__all__}
    return {
        name: f"{one.__module__}.{one.__qualname__}"
        for name, one in found.items()
        if (inspect.isclass(one) or inspect.isfunction(one)) and one.__module__.startswith("limbeck.")
    }


def examples_page() -> str:
    """Every script of examples/ with what it says of itself."""
    parts = ["# Examples", "Scripts that run in seconds, on models and text that come with limbeck."]
    for path in sorted((ROOT / "examples").glob("*.py")):
        code = path.read_text(encoding="utf-8")
        about = (ast.get_docstring(ast.parse(code)) or "").split("\n\n")[0]
        parts += [f"## {path.name}", about, f"```python\n{code}```"]
    return "\n\n".join(parts) + "\n"


class AlignedNames(griffe.Extension):
    """Docstrings name their arguments in two columns; a page has them as a list."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)


ROW = re.compile(r"^(?P<names>[\w*]+(?:, [\w*]+)*) {2,}(?P<text>\S.*)$")


def listed(text: str) -> str:
    """Paragraphs of two columns as lists, and what can be run as code."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.split("\n")
        if ">>> " in paragraph:
            before, mark, example = paragraph.partition(">>> ")
            paragraphs += [before.rstrip(), f"```python\n{mark}{example}\n```"]
            continue
        if is_code(paragraph):
            paragraphs.append(f"```python\n{paragraph}\n```")
            continue
        if not ROW.match(lines[0]):
            paragraphs.append(paragraph)
            continue
        items: list[str] = []
        for line in lines:
            if match := ROW.match(line):
                items.append(f"- `{match['names']}`: {match['text']}")
            elif items:
                items[-1] += f" {line.strip()}"
        paragraphs.append("\n".join(items))
    return "\n\n".join(paragraphs)


def is_code(paragraph: str) -> bool:
    """Whether it is Python that does something, as a line that shows how a package is used."""
    try:
        lines = ast.parse(paragraph).body
    except SyntaxError:
        return False
    return any(isinstance(line, ast.Assign) or isinstance(getattr(line, "value", None), ast.Call) for line in lines)
