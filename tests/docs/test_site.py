"""The documentation as a site: built without a network, every link leads somewhere, nothing is asked of elsewhere."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("mkdocstrings")
ROOT = Path(__file__).resolve().parents[2]


def load_building() -> Any:
    spec = importlib.util.spec_from_file_location("docs_building", ROOT / "docs" / "building.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


building = load_building()


class Links(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loaded.append(str(given["src"]))
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(str(given.get("href")))


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """As `make docs` does it."""
    (options,) = re.findall(r"/mkdocs (build .*?) \$\(ARGS\)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "mkdocs", *options.split(), "--site-dir", str(site)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=quiet)


@pytest.mark.parametrize("link", ["other.md", "other.md#there", "nowhere.md", "other.md#nowhere"])
def test_a_broken_link_fails(link: str, tmp_path: Path) -> None:
    """The twin: a small site with our rules for links, one of which may lead nowhere."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    rules = text[text.index("\nvalidation:") : text.index("\nnav:")]
    (tmp_path / "mkdocs.yml").write_text(f"site_name: small\nplugins: []\n{rules}", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Here\n\n[a link]({link})\n", encoding="utf-8")
    (tmp_path / "docs" / "other.md").write_text("# Other\n\n## There\n", encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert (done.returncode == 0) == ("nowhere" not in link), done.stderr


def test_the_site_is_whole_and_asks_nobody(tmp_path: Path) -> None:
    """`make docs` refuses a broken link; this goes through the pages that came of it, anchors and all."""
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in (tmp_path / "site").rglob("*.html")}
    assert len(pages) > 40
    assert "how-to-cite" in pages[tmp_path / "site" / "index.html"].anchors  # the README is what is opened first
    for page, found in pages.items():
        for link in found.loaded:
            assert not urlsplit(link).netloc, f"{page.name} loads {link}"
        for link in [*found.links, *found.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or page.name == "404.html":
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), f"{page.name}: {link}"
            if parts.fragment and target in pages and not parts.fragment.startswith("__"):
                assert unquote(parts.fragment) in pages[target].anchors, f"{page.name}: {link}"
    for name, places in {page: building.public_names(page) for page in building.REFERENCE.values()}.items():
        page = tmp_path / "site" / "api" / f"{name.rpartition('.')[2]}.html"
        assert set(places.values()) <= pages[page].anchors, name  # the docstrings of all of them came out


def test_links_are_taken_along() -> None:
    text = "[a](docs/measure.md#units) [b](LICENSE) ![c](docs/figures/x.png) [d](https://x.org) `[e](f.md)`\n"
    assert building.relinked(text, "README.md", "readme.md").startswith(
        "[a](measure.md#units) b ![c](figures/x.png) [d](https://x.org)"
    )
    assert building.relinked("[a](../CONTRIBUTING.md#x)", "docs/own.md", "own.md") == "[a](contributing.md#x)"
    assert building.relinked("[a](../README.md)", "recipes/README.md", "recipes.md") == "[a](index.md)"
    assert building.relinked("[a](index.md#laws)", "docs/own.md", "own.md") == "[a](how-it-works.md#laws)"
    code = "```sh\n[a](b.md)\n```\n"
    assert building.relinked(code, "README.md", "readme.md") == code


def test_docstrings_become_lists_and_code() -> None:
    made = building.listed("What it is.\n\na, b  two things,\n      told\nc     one\n\n>>> 1 + 1\n2")
    assert made == "What it is.\n\n- `a, b`: two things, told\n- `c`: one\n\n\n\n```python\n>>> 1 + 1\n2\n```"
    formula = "The mean.\n\n    (a − b) / n"
    assert building.listed(formula) == formula
    assert building.listed("How.\n\nmade = f(1)\ng(made)") == "How.\n\n```python\nmade = f(1)\ng(made)\n```"
    assert building.listed("words") == "words"


def test_everything_in_the_navigation_is_there() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    made = {*building.OUTSIDE.values(), "examples.md"}
    for page in re.findall(r": ([\w-]+\.md)$", text[text.index("\nnav:") :], re.MULTILINE):
        assert page in made or (ROOT / "docs" / page).exists(), page
    assert "fonts.google" not in text
    assert "font: false" in text


def test_the_reference_has_every_public_name() -> None:
    """What `limbeck` and its packages name as theirs stands on a page, under that name, and says what it is."""
    import limbeck as lb

    pages = set(building.REFERENCE.values())
    for name in lb.__all__:
        one = getattr(lb, name)
        if inspect.ismodule(one):
            assert one.__name__ in pages, name
    for package in pages:
        found = building.public_names(package)
        page = building.reference_page(package)
        module = importlib.import_module(package)
        assert module.__doc__, package
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isclass(one) or inspect.isfunction(one):
                assert inspect.getdoc(one), f"{package}.{name}"
                where, _, own = found[name].rpartition(".")
                assert getattr(importlib.import_module(where), own) is one
                assert f"heading: {package}.{name}\n" in page
