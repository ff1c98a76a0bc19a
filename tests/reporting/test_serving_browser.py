"""The pages of `limbeck serve` in a real browser: rows open by pointer and keyboard, wide tables scroll."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from limbeck.reporting.serving import WordTable
from limbeck.reporting.serving.server import make_server
from limbeck.tables import write_parquet

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=\"document.title='taken'\">"
WORDS = ["bank", EVIL, *(f"word{i}" for i in range(98))]
LAYERS = ["0", "1"]
WAITED = 15_000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of a run in which the first word has no MEV."""
    folder = tmp_path_factory.mktemp("served") / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"command": "measure", "name": EVIL, "layers": LAYERS}))
    count = 2 * len(WORDS)
    mev = np.linspace(0.2, 0.9, count)
    mev[:2] = np.nan
    n = np.repeat(np.arange(200, 100, -1), 2)
    named = {"word": [word for word in WORDS for _ in LAYERS], "layer": LAYERS * len(WORDS), "n": n, "contexts": n}
    measured = {"self_similarity": np.linspace(0.9, 0.1, count), "mev": mev, "mev_centered": mev}
    write_parquet(folder / "words.parquet", named | measured | {"mev_truncated_svd": mev})
    write_parquet(folder / "sample.parquet", {"word": ["bank", EVIL], "sentence": ["a bank", EVIL]})
    server = make_server(WordTable(folder))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(WAITED)
    opened, wrong, asked = context.new_page(), [], []
    opened.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(address)
    opened.wait_for_selector("#body tr")
    yield opened
    assert wrong == []
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert opened.title() == EVIL
    context.close()


def opened_word(page: Any, word: str) -> None:
    page.wait_for_function("word => document.getElementById('word').textContent === word", arg=word)


def test_a_row_opens_wherever_it_is_clicked(page: Any) -> None:
    page.locator("#body tr").first.locator("td").nth(3).click()
    opened_word(page, "bank")
    assert page.locator('#body tr[aria-selected="true"]').all_inner_texts()[0].startswith("bank")
    assert page.inner_text("#counts") == "200 occurrences, 200 contexts"
    # MEV is undefined at every layer: no column, and no line in the figure
    assert page.locator("#one-head th").all_inner_texts() == ["layer", "Self-similarity"]
    assert page.locator("#one-body tr").first.locator("td").all_inner_texts() == ["0", "0.900"]
    page.locator("#body tr").nth(1).locator("td").nth(2).click()
    opened_word(page, EVIL)
    assert page.locator("#one-head th").count() == 5
    assert page.locator("#sentences li").all_inner_texts() == [EVIL]
    assert page.locator("main img").count() == 1  # the figure


def test_rows_open_by_keyboard(page: Any) -> None:
    page.locator("#body button").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == EVIL
    page.keyboard.press("Enter")
    opened_word(page, EVIL)
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.textContent") == WORDS[49]
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.textContent") == "bank"


def test_a_wide_table_scrolls_and_keeps_the_word_in_sight(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    table = page.locator(".wide").first
    assert table.evaluate("one => one.scrollWidth > one.clientWidth")
    assert table.evaluate("one => one.tabIndex") == 0  # arrow keys can scroll it
    last = page.locator("#body tr").first.locator("td").last
    table.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
    assert last.bounding_box()["x"] + last.bounding_box()["width"] <= 360
    assert page.locator("#body button").first.bounding_box()["x"] >= 0


def test_search_layers_and_pages(page: Any) -> None:
    page.locator("#on").click()
    page.wait_for_function("() => document.getElementById('where').textContent.startsWith('51 to 100')")
    page.locator("#search").fill("bank")
    page.wait_for_function("() => document.querySelectorAll('#body tr').length === 1")
    page.locator("#layer").select_option("0")
    page.locator("#search").fill("nothing like it")
    page.wait_for_function("() => document.getElementById('where').textContent === 'no such word'")
    page.locator("#search").fill("")
    page.get_by_role("button", name="MEV", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#body button')?.textContent === 'word97'")
    assert page.locator("#head th", has_text="MEV").first.get_attribute("aria-sort") == "descending"
    assert page.evaluate("document.activeElement.textContent") == "MEV ▾"  # who sorts by keyboard stays there
    assert page.locator("#head th").last.inner_text() == "MEV, as released"
