"""The page in a real browser: it opens from disk, every control works, nothing is asked for, nothing is executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.reporting.page import report
from limbeck.tables import write_csv, write_parquet

pytestmark = pytest.mark.browser

LAYERS = ["0", "1", "2", "3"]
HOSTILE = "<img src=x onerror=\"document.title='taken'\">"
WORDS = [
    HOSTILE,
    "</script><script>document.title='taken'</script>",
    "bank",
    "river",
    *(f"word{i}" for i in range(3000)),
]
WAITED = 15_000  # milliseconds for what a fast machine does at once


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a run of every kind: two of measure, and a probing before and after fine-tuning."""
    folder = tmp_path_factory.mktemp("page")
    runs = [
        _measured(folder / "a", "first", 0),
        _measured(folder / "b", HOSTILE, 1),
        _paper(folder / "paper"),
        _evaluation(folder / "scored"),
        _probing(folder / "before", "before"),
        _probing(folder / "after", "after"),
        _finetuning(folder / "tuned"),
        _repair(folder / "<script>document.title='taken'<"),
        _analysis(folder / "analysed"),
        _comparison(folder / "compared"),
        _distillation(folder / "distilled"),
    ]
    return report(*runs, out=folder / "<b>page & 'more'.html", title="<i>title</i>")


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Any]:
    """The page, open and ready; afterwards, nothing may have gone wrong and nothing been asked for."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True, color_scheme="light")
    context.set_default_timeout(WAITED)
    opened, wrong, asked = context.new_page(), [], []
    opened.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(path.as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached")
    yield opened
    assert wrong == []
    outside = [url for url in asked if not url.startswith(("data:", "blob:", "file:"))]
    assert outside == []
    assert [url for url in asked if url.startswith("file:")] == [path.as_uri()]
    assert opened.title().startswith("<i>title</i>")
    context.close()


def test_all_sections_are_there_and_input_is_text(page: Any) -> None:
    assert page.eval_on_selector_all("main section", "all => all.map(one => one.id)") == [
        "overview", "findings", "layers", "frequency", "spectrum", "space", "words", "scores", "probes", "analyses",
        "training",
    ]  # fmt: skip
    assert page.inner_text("h1") == "<i>title</i>"
    assert page.locator("img, iframe, h1 i").count() == 0
    assert page.inner_text("#overview .card:nth-child(2) h3").strip() == HOSTILE
    assert page.locator("figure svg[aria-label], figure canvas[aria-label]").count() == page.locator("figure").count()


def test_controls_of_the_layers_change_the_drawings(page: Any) -> None:
    figure = page.locator('[data-figure="self_similarity"]')
    keys = figure.locator(".legend span")
    assert keys.all_inner_texts() == ["first", HOSTILE]
    named = figure.locator(".drawing svg")
    assert "mean cosine, adjusted by layer: first from 0.100" in named.get_attribute("aria-label")
    assert "mean cosine, adjusted" in named.text_content()
    assert (
        "adjusted" not in page.locator('[data-figure="anisotropy"] .drawing svg').text_content()
    )  # it has no baseline
    page.get_by_label("all three").check()
    assert keys.count() == 6
    assert keys.nth(1).inner_text() == "first, raw"
    page.get_by_label("raw and baseline").check()
    assert keys.count() == 4
    assert "adjusted" not in named.text_content()
    page.get_by_label("depth (first to last)").check()
    assert "depth" in figure.locator("svg").first.text_content()
    before = figure.locator(".drawing svg").inner_html()
    page.locator("#layers").get_by_label("logarithmic").check()
    assert figure.locator(".drawing svg").inner_html() != before
    page.locator("#layers details.more summary").click()
    page.wait_for_selector('[data-figure="isoscore"] svg')
    figure.locator("details summary").click()
    figure.locator("tbody tr").first.wait_for()
    cells = figure.locator("tbody tr").first.locator("td").all_inner_texts()
    assert cells[:5] == ["first", "0", "0.500", "0.400", "0.100"]


def test_a_run_can_be_hidden_everywhere(page: Any) -> None:
    keys = page.locator('[data-figure="self_similarity"] .legend span')
    page.locator("#word").fill("river")
    page.locator("#word").press("Enter")
    box = page.locator('.runs input[data-run="first"]')
    box.uncheck()
    assert keys.all_inner_texts() == [HOSTILE]
    assert page.locator('#space figure[data-figure^="space-"]:visible').count() == 1
    words = page.locator("#words")
    assert "occurrences: first: " not in words.inner_text()
    assert f"occurrences: {HOSTILE}: " in words.inner_text()
    assert "Nearest words, first" not in words.inner_text()
    assert f"Nearest words, {HOSTILE}" in words.inner_text()
    assert words.get_by_label("Run").locator("option:checked").inner_text() == HOSTILE
    page.locator('.runs input[data-run="first"]').check()
    assert keys.count() == 2
    assert "occurrences: first: " in words.inner_text()
    assert "Nearest words, first" in words.inner_text()
    page.get_by_role("button", name="Hide all runs").click()
    assert page.locator(".runs input:checked").count() == 0
    assert page.locator("#space figure:visible").count() == 0
    sections = page.locator("main section").evaluate_all(
        "all => all.filter(one => !one.innerText.includes('hidden')).map(one => one.id)"
    )
    assert sections == []  # none is a bare heading
    assert not words.get_by_label("Run").is_visible()
    page.get_by_role("button", name="Show all").click()
    assert keys.count() == 2


def test_theme_by_preference_and_by_button(browser: Any, page: Any, path: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Switch to dark colours").click()
    dark = page.evaluate(paper)
    assert dark != light
    assert page.locator('[data-figure="anisotropy"] svg rect').first.get_attribute("fill") == "#14171b"
    context = browser.new_context(color_scheme="dark", viewport={"width": 360, "height": 700})
    phone = context.new_page()
    phone.goto(path.as_uri())
    phone.wait_for_selector("html[data-ready]", state="attached", timeout=WAITED)
    assert phone.evaluate(paper) == dark
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360  # nothing sticks out on a phone
    phone.evaluate("document.getElementById('probes').scrollIntoView({ behavior: 'instant' })")
    here = phone.wait_for_selector('nav a[href="#probes"][aria-current="true"]', timeout=WAITED)
    assert 0 <= here.bounding_box()["x"] <= 360 - here.bounding_box()["width"]  # where one is, is seen
    context.close()


def test_files_can_be_kept(page: Any, path: Path) -> None:
    figure = page.locator('[data-figure="self_similarity"]')
    kept = {}
    for form in ("CSV", "SVG", "PNG"):
        with page.expect_download() as waiting:
            figure.get_by_role("button", name=f"as {form}").click()
        file = waiting.value.path()
        assert waiting.value.suggested_filename == f"self_similarity.{form.lower()}"
        kept[form] = file.read_bytes()
    lines = kept["CSV"].decode().splitlines()
    assert lines[0] == "run,layer,value,baseline,adjusted,low,high"
    assert lines[1].split(",")[:5] == ["first", "0", "0.5", "0.4", "0.1"]
    assert len(lines) == 1 + 2 * len(LAYERS)
    assert kept["SVG"].startswith(b"<svg")
    assert b"<img" not in kept["SVG"]
    assert kept["PNG"].startswith(b"\x89PNG")
    with page.expect_download() as waiting:
        page.locator('[data-figure="space-first"]').get_by_role("button", name="as PNG").click()
    assert waiting.value.path().read_bytes().startswith(b"\x89PNG")
    # what its colours mean goes along, in whole numbers
    ends = ("5", "204 occurrences")
    for name, texts in {"space-first": ends, "attention-tuned": (".70", "1.00")}.items():
        with page.expect_download() as waiting:
            page.locator(f'[data-figure="{name}"]').get_by_role("button", name="as SVG").click()
        drawing = waiting.value.path().read_text(encoding="utf-8")
        assert all(f">{text}</text>" in drawing for text in texts), name
    assert "5  204 occurrences" in page.locator("#space").text_content()
    with page.expect_download() as waiting:
        page.locator('[data-figure^="space-<img"]').get_by_role("button", name="as CSV").click()
    assert waiting.value.suggested_filename == "space-img-src-x-onerror-document.title-taken.csv"


def test_charts_are_read_by_arrow_keys(page: Any) -> None:
    drawing = page.locator('[data-figure="anisotropy"] .drawing')
    drawing.locator("svg").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert drawing.locator(".hint").inner_text().startswith("layer 1")
    assert page.inner_text("#said").startswith("layer 1: first")
    page.keyboard.press("End")
    assert drawing.locator(".hint").inner_text().startswith("layer 3")
    page.keyboard.press("Escape")
    assert not drawing.locator(".hint").is_visible()
    heat = page.locator('[data-figure="probes-classes-before"] .drawing')
    heat.locator("svg").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert heat.locator(".hint").inner_text().split("\n")[0] == "0.350"
    points = page.locator('[data-figure="space-first"] .drawing')
    points.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    assert "a sentence" in points.locator(".hint").inner_text()
    dots = page.locator('[data-figure="scores-scored: spearman"] .drawing')
    dots.locator("svg").first.focus()
    page.keyboard.press("End")
    assert "b: 0.600" in dots.locator(".hint").inner_text()
    assert "**" in dots.locator(".hint").inner_text()


def test_a_pointer_shows_the_word_and_its_sentence(page: Any) -> None:
    canvas = page.locator('[data-figure="space-first"] canvas')
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    hint = page.locator('[data-figure="space-first"] .hint')
    for step in range(40):  # the points lie on a diagonal
        page.mouse.move(box["x"] + box["width"] / 2 + step, box["y"] + box["height"] / 2 - step)
        if hint.is_visible():
            break
    assert "a sentence" in hint.inner_text()
    page.locator("#space input[type=search]").fill("bank")
    page.locator("#space input[type=range]").focus()
    page.keyboard.press("ArrowLeft")
    assert page.inner_text('[data-figure="space-first"] h3') == "first, layer 2"


def test_the_word_explorer(page: Any) -> None:
    body = page.locator("#words .body")
    first = page.locator("#words .row").first
    drawn = page.locator("#words .row").count()
    assert drawn < 60  # of three thousand
    page.get_by_role("button", name="Most frequent").click()
    assert first.locator("div").first.inner_text() == WORDS[-1]
    page.get_by_role("button", name="Least contextual").click()
    assert first.locator("div").first.inner_text() == WORDS[0]
    body.evaluate("one => { one.scrollTop = one.scrollHeight; }")
    page.wait_for_selector('#words .row[aria-rowindex="3004"]')
    assert page.locator("#words .row").count() < 60
    page.locator("#word").fill("riv")
    assert page.locator("#words .row").count() == 1
    page.locator("#word").press("Enter")
    assert page.locator("#words h3").first.inner_text() == "“river”"
    page.wait_for_selector('[data-figure="self-similarity-river"] .legend span')
    assert page.locator('[data-figure="self-similarity-river"] .legend span').all_inner_texts() == ["first", HOSTILE]
    page.wait_for_selector('[data-figure="occurrences-river-first"] canvas')
    page.get_by_role("button", name="bank 0.750").first.click()
    assert page.locator("#words h3").first.inner_text() == "“bank”"
    page.locator("#word").fill("")
    body.focus()
    for key in ("Home", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert page.locator('#words .row[aria-selected="true"]').get_attribute("aria-rowindex") == "3"
    page.locator("#words").get_by_role("columnheader", name="word").click()
    assert page.locator("#words").get_by_role("columnheader", name="word").get_attribute("aria-sort") == "ascending"
    page.locator("#words").get_by_label("Run").select_option("1")
    assert "3,004 words" in page.inner_text("#words")
    page.locator("#words").get_by_label("Layer").first.select_option("2")
    page.locator("#words").get_by_label("least occurrences").fill("2000")
    assert "3,004 words" not in page.inner_text("#words")


def test_controls_of_the_other_sections(page: Any) -> None:
    claims = page.locator("#findings .claims > li")
    assert claims.count() == 3
    described = claims.nth(2).inner_text()  # a figure to be looked at: the reason alone
    assert "the paper prints no numbers to judge it by, so it is only drawn" in described
    assert not re.search("cannot be shown|rule and numbers", described)
    page.locator("#findings select").select_option("not held")
    assert claims.count() == 1
    assert "✗ not held" in claims.first.inner_text()
    page.locator("#frequency select").select_option("mev")
    assert "maximum explainable variance" in page.locator("#frequency svg").first.text_content()
    page.locator("#spectrum select").select_option("1")
    assert page.locator('[data-figure="dimensions-first"] h3').inner_text() == "first, layer 1"
    page.locator("#probes select").first.select_option("before")
    assert page.inner_text('[data-figure="probes-classes-after"] h3') == "after less before"
    cells = page.locator('[data-figure="probes-classes-after"] svg').first.text_content()
    assert "+.10" in cells
    with page.expect_download() as waiting:
        page.locator("#findings button", has_text="CSV").click()
    assert "it is so" in waiting.value.path().read_text(encoding="utf-8")


#: what a reader would do with every control, done inside the page; downloads are only counted
WALK = """async () => {
  const seen = {}, kept = [], pause = () => new Promise(go => setTimeout(go));
  HTMLAnchorElement.prototype.click = function () { kept.push(this.download); };
  window.print = () => { seen.print = true; };
  const count = kind => { seen[kind] = (seen[kind] ?? 0) + 1; };
  const all = what => [...document.querySelectorAll(what)].filter(one => one.checkVisibility());
  const change = (control, value) => {
    control.value = value;
    for (const name of ['input', 'change']) control.dispatchEvent(new Event(name, { bubbles: true }));
  };
  for (let round = 0; round < 3; round++) {  // what is folded may hold something folded
    for (const fold of all('details:not([open])')) { fold.open = true; count('fold'); }
    await pause(); await pause();
  }
  await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);
  for (const select of all('select'))
    for (const { value } of [...select.options]) { change(select, value); count('choice'); await pause(); }
  for (const radio of all('input[type=radio]')) { radio.click(); count('radio'); await pause(); }
  for (const field of all('input[type=search], input[type=number], input[type=range]'))
    for (const value of field.type === 'search' ? ['w', 'nothing like it', ''] : [field.max || 9, 0]) {
      change(field, value); count(field.type); await pause();
    }
  const boxes = async () => {
    for (let i = 0; i < all('input[type=checkbox]').length; i++) {
      all('input[type=checkbox]')[i].click(); count('checkbox'); await pause();  // each is made anew
    }
    await new Promise(requestAnimationFrame);
  };
  await boxes();
  const figures = all('figure').map(one => one.dataset.figure), said = all('.nothing').map(one => one.textContent);
  await boxes();
  const names = all('figure').map(one => one.dataset.figure);
  for (const button of all('button')) if (button.isConnected) { button.click(); count('button'); await pause(); }
  for (let wait = 0; wait < 100 && kept.filter(name => name.endsWith('.png')).length < names.length; wait++)
    await new Promise(go => setTimeout(go, 50));
  return { seen, kept, names, figures, said, text: document.body.innerText };
}"""


def test_every_control_works(page: Any) -> None:
    found = page.evaluate(WALK)
    seen = found["seen"]
    least = {"fold": 20, "choice": 15, "radio": 8, "search": 6, "number": 2, "range": 2, "checkbox": 8, "button": 60}
    assert all(seen[kind] >= count for kind, count in least.items()), seen
    assert seen["print"]
    # with all runs hidden a figure is gone, or says why it is empty, and where all are gone a sentence says so
    assert len(found["figures"]) < len(found["said"]), found["figures"]
    assert all("hidden" in sentence for sentence in found["said"])
    # with all runs shown again, everything on the page can be taken away
    kept = [name.rsplit(".", 1) for name in found["kept"]]
    assert len(found["names"]) > 25
    forms = {form: [name for name, own in kept if own == form] for form in ("csv", "svg", "png")}
    for name in found["names"]:
        safe = re.sub(r"[^\w.]+", "-", name).rstrip("-")
        assert safe in forms["svg"], name
        assert safe in forms["png"], name
        assert safe in forms["csv"], name
    assert not re.search(r"\bNaN\b|\bundefined\b|\[object|Infinity", found["text"])


def test_a_chart_without_numbers_says_why(browser: Any, tmp_path: Path) -> None:
    """Words in one context each, of which nothing can be said: sentences in the place of empty boxes."""
    run = _measured(tmp_path / "empty", "empty", 0)
    names = ("layer", "measure", "value", "baseline", "adjusted", "n", "low", "high", "note")
    rows = [(layer, "self_similarity", None, 0.4, None, 0, None, None, "no word has 5 contexts") for layer in LAYERS]
    rows += [(layer, "anisotropy", None, None, None, 0, None, None, "") for layer in LAYERS]
    write_csv(run / "layers.csv", dict(zip(names, zip(*rows, strict=True), strict=True)))
    few = {"word": [word for word in ("tea", "milk") for _ in LAYERS], "layer": LAYERS * 2}
    nothing = np.full(8, np.nan)
    columns = {"n": [1] * 8, "contexts": [1] * 8, "self_similarity": nothing, "mev": nothing, "mev_baseline": nothing}
    write_parquet(run / "words.parquet", few | columns)
    for name in ("neighbors.parquet", "clouds.parquet"):
        (run / name).unlink()
    opened = browser.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(report(run, out=tmp_path / "page.html").as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached", timeout=WAITED)
    similarity = opened.locator('[data-figure="self_similarity"]')
    assert similarity.locator(".nothing").inner_text() == "Nothing to show: no word has 5 contexts."
    assert similarity.locator("svg, button:visible").count() == 0
    assert "it is undefined at every layer" in opened.inner_text('[data-figure="anisotropy"]')
    assert "Of 0 words" not in opened.inner_text("#words")
    assert opened.locator("#words .row").first.inner_text().split("\n") == ["tea", "1", "–", "–", "–"]
    assert opened.locator("#words figure .nothing").count() == 1
    assert not re.search(r"\bNaN\b|undefined\b(?! at)|Infinity", opened.inner_text("body"))
    assert wrong == []
    opened.close()


def test_an_axis_of_logarithms_says_where_it_cannot_be(browser: Any, tmp_path: Path) -> None:
    run = _measured(tmp_path / "run", "run", 0, words=False)
    rows = (
        (run / "layers.csv")
        .read_text(encoding="utf-8")
        .replace("0,self_similarity,0.5,0.4,0.1", "0,self_similarity,0.3,0.4,-0.1")
    )
    (run / "layers.csv").write_text(rows, encoding="utf-8")
    opened = browser.new_page()
    opened.goto(report(run, out=tmp_path / "page.html").as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached", timeout=WAITED)
    opened.locator("#layers").get_by_label("logarithmic").check()
    assert "Not all positive: linear." in opened.inner_text('[data-figure="self_similarity"]')
    assert "Not all positive" not in opened.inner_text('[data-figure="anisotropy"]')
    opened.close()


def test_figures_of_a_row_begin_at_one_height(browser: Any, tmp_path: Path) -> None:
    """Though the title of one of them is many lines long."""
    runs = [_measured(tmp_path / f"run{i}", "a long name " * 20 * i + "run", 0, words=False) for i in range(2)]
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.goto(report(*runs, out=tmp_path / "page.html").as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached", timeout=WAITED)
    tops = opened.locator("#frequency .drawing").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert len(tops) == 2
    assert tops[0] == tops[1]
    opened.close()


def test_many_runs_are_folded_in_the_word_explorer(browser: Any, tmp_path: Path) -> None:
    runs = [_measured(tmp_path / f"run{i}", f"run {i}", 0) for i in range(8)]
    opened = browser.new_page()
    opened.goto(report(*runs, out=tmp_path / "page.html").as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached", timeout=WAITED)
    opened.locator("#word").fill("river")
    opened.locator("#word").press("Enter")
    near, clouds = opened.get_by_text("Nearest words, run"), opened.locator('#words [data-figure^="occurrences-"]')
    assert near.filter(visible=True).count() == clouds.filter(visible=True).count() == 6
    for fold in opened.locator("#words details.more summary").all():
        fold.click()
    assert near.filter(visible=True).count() == clouds.filter(visible=True).count() == 8
    opened.wait_for_selector('[data-figure$="-run 7"] canvas')
    opened.close()


def test_many_curves_have_a_key_that_brings_each_out(browser: Any, tmp_path: Path) -> None:
    runs = [_measured(tmp_path / f"run{i}", f"run {i}", 0, words=False) for i in range(20)]
    opened = browser.new_page()
    opened.goto(report(*runs, out=tmp_path / "page.html").as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached", timeout=WAITED)
    figure = opened.locator('[data-figure="self_similarity"]')
    assert figure.locator(".legend button:visible").count() == 0  # folded, since twenty keys are longer than the figure
    figure.locator(".legend summary").click()
    keys = figure.locator(".legend button")
    assert keys.all_inner_texts() == [f"run {i}" for i in range(20)]

    def faded() -> list[bool]:
        all_of = "all => all.map(one => +(one.getAttribute('opacity') ?? 1) < 0.5)"
        return list(figure.locator("[data-series]").evaluate_all(all_of))

    assert not any(faded())
    keys.nth(4).hover()
    assert [place for place, one in enumerate(faded()) if not one] == [4]
    keys.nth(7).focus()
    opened.keyboard.press("Enter")
    opened.mouse.move(0, 0)
    assert [place for place, one in enumerate(faded()) if not one] == [7]
    assert keys.nth(7).get_attribute("aria-pressed") == "true"
    opened.keyboard.press("Enter")
    opened.keyboard.press("Tab")
    opened.keyboard.press("Escape")
    box = figure.locator(".drawing svg").bounding_box()
    opened.mouse.move(box["x"] + 70, box["y"] + 20)
    assert "and 6 more" in figure.locator(".hint").inner_text()
    opened.close()


def test_level_lines_of_a_probe_look_different(page: Any) -> None:
    """In context, three bags of words and the majority class: no two of a run are drawn alike."""
    for run in range(2):
        lines = page.locator('[data-figure="probes-context"] .drawing [data-series] > path[fill="none"]')
        dashes = lines.evaluate_all("all => all.map(one => one.getAttribute('stroke-dasharray'))")
        assert len(dashes) == 10
        assert len(set(dashes[5 * run : 5 * run + 5])) == 5


def test_claims_of_one_name_are_told_apart_by_their_rules(page: Any) -> None:
    rules = page.locator("#analyses .claims .rule").all_inner_texts()
    assert rules == ["R² with global removed", "R² with clusters removed"]
    said = page.locator("#analyses .sentences").inner_text()
    assert "second is higher than first" in said
    assert page.locator('[data-figure^="difference-compared-"]').count() == 1
    assert "*" in page.locator('[data-figure^="difference-compared-"] svg').text_content()


def test_tables_of_a_run_can_be_read_and_kept(page: Any) -> None:
    fold = page.locator('#findings [data-table="spaces/sts"]')
    assert fold.locator("summary").inner_text() == "spaces/sts: 2 rows"
    fold.locator("summary").click()
    fold.locator("tbody tr").first.wait_for()
    assert fold.locator("tbody tr").first.locator("td").all_inner_texts() == [HOSTILE, "0.250"]
    with page.expect_download() as waiting:
        fold.get_by_role("button", name="CSV").click()
    assert waiting.value.path().read_text(encoding="utf-8").splitlines()[2] == "b,0.5"
    cells = page.locator('[data-figure^="tuning-scored"] svg').first.text_content()
    assert "global" in cells
    assert ".71" in cells
    page.locator("#scores").get_by_label("Show").select_option("loss")
    assert "loss" in page.locator('[data-figure="epochs-scored-rte"] svg').first.text_content()
    assert page.locator('[data-figure="local-repaired"] .legend span').all_inner_texts() == ["layer 0", "layer 6"]


def test_a_printed_page_has_its_figures_on_white(page: Any) -> None:
    page.get_by_role("button", name="Switch to dark colours").click()
    page.evaluate("addEventListener('beforeprint', () => { window.printed = document.documentElement.dataset.theme; })")
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 4
    assert page.evaluate("window.printed") == "light"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator("button:visible, select:visible, input:visible").count() == 0
    assert page.locator('[data-figure="self_similarity"] .drawing svg').is_visible()
    assert page.locator("#space .stripes").first.is_visible()  # what the colours of the points mean


def test_the_keyboard_reaches_everything(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    seen = []
    for _ in range(20):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.tagName"))
        assert page.evaluate(outline) != "none"
    assert {"BUTTON", "A", "INPUT"} <= set(seen)
    # whatever can be clicked or read can be reached, and is called something
    unreachable = """all => all.filter(one => one.checkVisibility() && one.tabIndex < 0).map(one => one.outerHTML)"""
    everything = "button, a, select, input, summary, .wide, .drawing > svg[role=img], .drawing > canvas"
    assert page.locator(everything).evaluate_all(unreachable) == []
    nameless = """all => all.filter(one => one.checkVisibility() && !(one.getAttribute('aria-label') || one.innerText
      || one.labels?.[0]?.innerText || '').trim()).map(one => one.outerHTML)"""
    assert page.locator(everything).evaluate_all(nameless) == []


# --- runs made of numbers -------------------------------------------------------------------------------------------


def _started(path: Path, **told: Any) -> Path:
    path.mkdir()
    (path / "run.json").write_text(json.dumps(told))
    return path


def _measured(path: Path, name: str, seed: int, *, words: bool = True) -> Path:
    _started(path, command="measure", name=name, dim=8, layers=LAYERS)
    names = ("layer", "measure", "value", "baseline", "adjusted", "n", "low", "high", "note")
    rows = []
    for i, layer in enumerate(LAYERS):
        rows.append((layer, "self_similarity", 0.5 + 0.1 * i, 0.4, 0.1 + 0.1 * i, 5, 0.4, 0.9, ""))
        rows.append((layer, "anisotropy", 0.2 + 0.1 * i + seed, None, None, 5, 0.1, 0.9 + seed, ""))
        rows.append((layer, "isoscore", 0.3, None, None, 5, None, None, ""))
    write_csv(path / "layers.csv", dict(zip(names, zip(*rows, strict=True), strict=True)))
    bands = [(layer, 5 * 2**b, 10 * 2**b, 9, 0.5, 0.6) for layer in LAYERS for b in range(3)]
    names = ("layer", "from", "below", "words", "self_similarity", "mev")
    write_csv(path / "frequency.csv", dict(zip(names, zip(*bands, strict=True), strict=True)))
    by_layer = {"layer": [layer for layer in LAYERS for _ in range(8)]}
    places = np.tile(np.arange(8), 4)
    write_parquet(path / "spectra.parquet", by_layer | {"index": places, "centered": 2.0 ** -places.astype(float)})
    write_parquet(path / "dimensions.parquet", by_layer | {"dimension": places, "share": 1.0 / (1 + places)})
    if not words:
        return path
    count = len(WORDS)
    by_word = {"word": [word for word in WORDS for _ in LAYERS], "layer": LAYERS * count}
    similarity = np.repeat(np.linspace(0.9, 0.1, count), 4)
    n = np.repeat(np.arange(count) + 5, 4)
    mev = np.full(count * 4, 0.7)
    columns = {"n": n, "contexts": n, "self_similarity": similarity, "mev": mev, "mev_baseline": mev}
    write_parquet(path / "words.parquet", by_word | columns)
    some = 200 * 4
    few = {name: column[:some] for name, column in by_word.items()} | {"sentence": ["a sentence of bank"] * some}
    line = np.repeat(np.arange(200.0), 4)
    write_parquet(path / "sample.parquet", few | {"x": line, "y": line})
    near = [WORDS[2] if word != WORDS[2] else WORDS[3] for word in few["word"]]
    told = {"word": few["word"], "layer": few["layer"], "rank": [1] * some, "neighbor": near}
    write_parquet(path / "neighbors.parquet", told | {"cosine": [0.75] * some})
    write_parquet(path / "clouds.parquet", few | {"occurrence": [0] * some, "x": line, "y": -line})
    return path


def _paper(path: Path) -> Path:
    path.mkdir()
    judged = {"models": {"first": {"verdict": "held", "why": HOSTILE}}, "published_by_the_same_rule": {}}
    claims = [
        {"id": "F1", "claim": "it is so", "where": "§1", "rule": "a > b", "verdict": "held", "why": "3 > 2", **judged},
        {"id": "F2", "claim": HOSTILE, "where": "§2", "rule": None, "verdict": "not held", "why": "", **judged},
        {
            "id": "F3",
            "kind": "figure",
            "claim": "curves",
            "rule": "the paper printed the figure in numbers",
            "verdict": "cannot be shown",
        },
    ]
    claims[2]["why"] = "the paper prints no numbers to judge it by, so it is only drawn"
    told = {"paper": {"id": "p1999", "title": "A paper", "citation": "A. Author"}, "findings": claims}
    (path / "findings.json").write_text(json.dumps(told))
    (path / "spaces").mkdir()
    write_csv(path / "spaces" / "sts.csv", {"target": [HOSTILE, "b"], "value": [0.25, 0.5]})
    return path


def _evaluation(path: Path) -> Path:
    _started(path, command="evaluate", settings={}, tasks=[{"name": "t"}], targets=[{"name": "a"}, {"name": "b"}])
    same = {"task": ["t", "t"], "subset": ["", ""], "metric": ["spearman"] * 2, "aggregation": ["pooled"] * 2}
    numbers = {"value": [0.4, 0.6], "low": [0.3, 0.5], "high": [0.5, 0.7], "n": [9, 9]}
    write_csv(path / "scores.csv", {"target": ["a", "b"], **same, **numbers})
    compared = {"difference": [0.2], "low": [0.1], "high": [0.3], "p": [0.002], "p_holm": [0.004]}
    write_csv(path / "comparisons.csv", {"task": ["t"], "target": ["b"], "other": ["a"], **compared})
    grid = [("global", 1, 1, 0.66), ("global", 1, 2, 0.67), ("cluster", 5, 1, 0.70), ("cluster", 5, 2, 0.71)]
    tuned = dict(zip(("method", "clusters", "components", "value"), zip(*grid, strict=True), strict=True))
    same_for_all = {"target": ["a"] * 4, "layer": ["3"] * 4, "task": ["dev"] * 4, "metric": ["spearman"] * 4}
    write_csv(path / "tuning.csv", same_for_all | tuned | {"baseline": [0.6] * 4})
    epochs = {"target": ["a"] * 4, "task": ["rte"] * 4, "metric": ["accuracy"] * 4, "setting": ["baseline"] * 4}
    scored = {"seed": [0, 0, 1, 1], "epoch": [1, 2, 1, 2], "loss": [0.9, 0.7, 0.8, 0.6], "held_out": [None] * 4}
    write_csv(path / "epochs.csv", epochs | scored | {"score": [0.5, 0.6, 0.5, 0.7]})
    return path


def _probing(path: Path, name: str) -> Path:
    _started(path, command="probe", model=name)
    more = 0.1 if name == "after" else 0.0
    same = {"level": ["context"] * 4, "probe": ["mlp"] * 4, "context": ["all"] * 4}
    scored = {"layer": LAYERS, "side": ["test"] * 4, "f1": [0.2, 0.3, 0.4, 0.5], "low": [0.1] * 4, "high": [0.6] * 4}
    levels = ["P-model", "P-static", "P-random", "majority"]
    level: dict[str, list[Any]] = {"level": ["context"] * 4, "probe": ["mlp"] * 4, "context": ["all"] * 4}
    level |= {
        "layer": [""] * 4,
        "side": ["test"] * 4,
        "f1": [0.1, 0.11, 0.12, 0.13],
        "low": [None] * 4,
        "high": [None] * 4,
    }
    rows = {"space": ["context"] * 4 + levels} | {key: [*value, *level[key]] for key, value in (same | scored).items()}
    write_csv(path / "scores.csv", rows)
    classes = {"layer": ["0", "1"] * 2, "class": ["food", "food", "body", "body"]}
    f1 = {"f1": [0.2 + more, 0.25 + more, 0.3 + more, 0.35 + more]}
    write_csv(path / "classes.csv", {"space": ["context"] * 4} | same | classes | f1)
    write_csv(path / "data.csv", {"side": ["train"], "class": [HOSTILE], "words": [4]})
    return path


def _repair(path: Path) -> Path:
    """Of a hostile folder, which is its name where no other is told."""
    _started(path, command="repair", name="repaired")
    numbers = {"layer": ["0", "0", "6", "6"], "clusters": [0, 5] * 2, "log10_isotropy": [-4.0, -1.0, -5.0, -2.0]}
    write_csv(path / "local.csv", numbers | {"log10_isotropy_one_sign": [None] * 4, "mean_cosine": [0.3, 0.1] * 2})
    return path


def _analysis(path: Path) -> Path:
    same = {"verdict": "held", "text": "bias shrinks", "model": "first", "layer": "3", "value": 0.3, "why": HOSTILE}
    rules = ("R² with global removed", "R² with clusters removed")
    _started(path, command="analyze", claims=[{**same, "rule": rule} for rule in rules])
    write_csv(path / "frequency.csv", {"layer": ["0"], "r2": [0.3]})
    return path


def _comparison(path: Path) -> Path:
    _started(path, command="compare", runs=["first", "second"])
    rows = [
        ("anisotropy", "value", "0", "0", 0.2, 0.1, 0.3, True),
        ("anisotropy", "value", "1", "1", None, None, None, None),
    ]
    names = ("measure", "part", "layer_a", "layer_b", "difference", "low", "high", "real")
    write_csv(path / "compare.csv", dict(zip(names, zip(*rows, strict=True), strict=True)))
    told = {"sentences": ["anisotropy: second is higher than first at 1 of 2 layers.", HOSTILE]}
    (path / "compare.json").write_text(json.dumps(told))
    return path


def _distillation(path: Path) -> Path:
    score = {"task": "men", "metric": "spearman", "value": 0.5, "low": 0.4, "high": 0.6, "n": 9, "coverage": 1.0}
    _started(path, command="distill", method="x2static", scores=[score])
    write_csv(path / "losses.csv", {"progress": [0.5, 1.0], "loss": [7.0, 6.0]})
    return path


def _finetuning(path: Path) -> Path:
    _started(path, command="finetune", name="tuned")
    write_csv(path / "steps.csv", {"step": [1, 2, 3], "epoch": [1, 1, 1], "loss": [0.9, 0.8, 0.7]})
    write_csv(path / "dev.csv", {"step": [1, 3], "accuracy": [0.5, 0.6]})
    heads = {"layer": ["1", "1", "2", "2"], "head": ["1", "2"] * 2, "similarity": [1.0, 0.9, 0.8, 0.7]}
    write_csv(path / "attention.csv", heads)
    return path
