"""What the site has beside the pages of docs/: the reference, the examples, pages from elsewhere in the repository.

MkDocs calls the `on_...` functions while it builds (`make docs`); mkdocstrings calls `AlignedNames`. Nothing here is
needed to read the pages as they are.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
#: pages of the repository outside docs/ -> where the site has them
OUTSIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "recipes/README.md": "recipes.md",
    "benchmarks/README.md": "benchmarks.md",
    "src/limbeck/data/README.md": "data.md",
    "src/limbeck/data/miniatures/mini-bert/README.md": "mini-bert.md",
    "src/limbeck/data/miniatures/mini-gpt2/README.md": "mini-gpt2.md",
    "src/limbeck/data/miniatures/mini-elmo/README.md": "mini-elmo.md",
}
#: the reference: page -> its title and modules
REFERENCE = {
    "api/limbeck.md": ("limbeck", ["limbeck.run.measure.measure", "limbeck.run.encode.encode", "limbeck.run.settings",
                                   "limbeck.run.results.Measured", "limbeck.report.differences"]),
    "api/corpus.md": ("limbeck.corpus", ["limbeck.corpus.corpus", "limbeck.corpus.units"]),
    "api/encoders.md": ("limbeck.encoders", ["limbeck.encoders.protocol", "limbeck.encoders.loading.load_encoder",
                                             "limbeck.encoders.function"]),
    "api/vectors.md": ("limbeck.vectors", ["limbeck.vectors.static", "limbeck.vectors.occurrences"]),
    "api/measures.md": ("limbeck.measures", ["limbeck.measures.result", "limbeck.measures.contextuality",
                                             "limbeck.measures.mev", "limbeck.measures.isotropy",
                                             "limbeck.measures.spectrum", "limbeck.measures.norms"]),
    "api/accumulators.md": ("limbeck.accumulators", ["limbeck.accumulators.protocol"]),
    "api/repair.md": ("limbeck.repair", ["limbeck.repair.center", "limbeck.repair.components", "limbeck.repair.whiten",
                                         "limbeck.repair.clusters"]),
    "api/evaluate.md": ("limbeck.evaluate", ["limbeck.evaluate.evaluation", "limbeck.evaluate.significance",
                                             "limbeck.evaluate.paired", "limbeck.evaluate.word_suite"]),
    "api/distill.md": ("limbeck.distill", ["limbeck.distill.distilled", "limbeck.distill.settings"]),
    "api/probe.md": ("limbeck.probe", ["limbeck.probe.result.Probed", "limbeck.probe.settings"]),
    "api/testing.md": ("limbeck.testing", ["limbeck.testing.encoders", "limbeck.testing.accumulators",
                                           "limbeck.testing.repairs"]),
    "api/notebooks.md": ("Results as tables", ["limbeck.shown"]),
}  # fmt: skip
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)")
ELSEWHERE = re.compile(r'<script src="https?://[^"]*"></script>')
NAMED = re.compile(r"^```(\w+)[ \t]+([\w./-]+)[ \t]*$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Put the reference into the navigation, and pages that nobody has given a place there at its end."""
    text = str(config.nav)
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    more: list[Any] = [name for name in pages if f"'{name}'" not in text]
    config.nav.append({"Reference": [{title: page} for page, (title, _) in REFERENCE.items()]})
    config.nav.append({"More": [*more, *(page for page in OUTSIDE.values() if f"'{page}'" not in text)]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages that are made or taken from elsewhere."""
    made = {page: (ROOT / source).read_text(encoding="utf-8") for source, page in OUTSIDE.items()}
    made |= {page: reference_page(title, modules) for page, (title, modules) in REFERENCE.items()}
    made["examples.md"] = examples_page()
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


def reference_page(title: str, modules: list[str]) -> str:
    return "\n\n".join([f"# {title}", *(f"::: {module}" for module in modules)]) + "\n"


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
