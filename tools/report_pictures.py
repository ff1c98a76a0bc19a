"""Take the pictures of docs/report.md anew, after the page's looks have changed:

limbeck demo --out runs/demo
limbeck repair --model mini-bert --corpus sample --method all-but-the-top --layers 0,6,12 --out runs/repair
limbeck evaluate mini-bert --layers 0,6,12 --tasks wordsim --data DATA --out runs/wordsim
limbeck probe --model mini-bert --data sample --min-words 5 --context-size 0,2,4 --out runs/probe
limbeck reproduce bis2021 --lowercase --data DATA --early recipes/results --out runs/bis2021
limbeck report runs/demo --out demo.html
limbeck report runs/repair runs/wordsim runs/probe runs/bis2021 --title "Repairing mini-bert" --out mixed.html
python tools/report_pictures.py demo.html mixed.html --browser /usr/bin/chromium

Look at every picture afterwards.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
MOST_BYTES = 120_000  #: of a picture of many colours
ON_A_PHONE = ("layers", "words", "scores", "findings")


def opened(browser: Browser, path: Path, width: int, height: int, **look: Any) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, **look)
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    return page


def go_to(page: Page, section: str) -> None:
    page.evaluate("name => document.getElementById(name).scrollIntoView({behavior: 'instant'})", section)
    page.wait_for_timeout(500)


def taken(page: Page) -> Image.Image:
    page.wait_for_timeout(300)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def picture_layers(browser: Browser, path: Path) -> Image.Image:
    """A figure with the values under the mouse."""
    page = opened(browser, path, 1180, 800, color_scheme="light")
    go_to(page, "layers")
    box = page.locator('[data-figure="self_similarity"] .drawing svg').bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    return taken(page)


def picture_words(browser: Browser, path: Path) -> Image.Image:
    """A word that was chosen, and one of its occurrences."""
    page = opened(browser, path, 1280, 1200, color_scheme="light")
    page.locator("#words .row", has_text="do").first.click()
    page.mouse.move(5, 5)
    page.wait_for_timeout(500)
    page.locator("#words canvas").first.focus()
    go_to(page, "words")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    return taken(page)


def picture_dark(browser: Browser, path: Path) -> Image.Image:
    """The space before and after a repair, with a word marked."""
    page = opened(browser, path, 1600, 1000, color_scheme="dark")
    page.locator("#space input[type=search]").fill("the")
    page.evaluate("document.activeElement.blur()")
    go_to(page, "space")
    return taken(page)


def picture_phone(browser: Browser, path: Path) -> Image.Image:
    """Some sections on a phone, side by side."""
    page = opened(browser, path, 390, 844, color_scheme="light", device_scale_factor=1.25)
    parts = []
    for section in ON_A_PHONE:
        go_to(page, section)
        parts.append(taken(page))
    gap = 24
    width = sum(part.width + gap for part in parts) - gap
    whole = Image.new("RGB", (width, parts[0].height), "#c8ccd2")
    for place, part in enumerate(parts):
        whole.paste(part, (place * (part.width + gap), 0))
    return whole


def save_plain(picture: Image.Image, path: Path) -> None:
    """Of few colours: PNG with a palette."""
    few = picture.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def save_rich(picture: Image.Image, path: Path) -> None:
    """Of many colours: WebP, as good as fits."""
    picture = picture.resize((1400, round(picture.height * 1400 / picture.width)), Image.Resampling.LANCZOS)
    for quality in (90, 84, 78, 70, 60):
        picture.save(path, quality=quality, method=6)
        if path.stat().st_size <= MOST_BYTES:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path, help="the page of several models")
    parser.add_argument("mixed", type=Path, help="the page of a repair, an evaluation, a probing and findings")
    parser.add_argument("--browser", help="a Chromium; default playwright's own")
    parser.add_argument("--out", type=Path, default=FIGURES, help="folder (default: docs/figures)")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.browser, args=["--no-sandbox"])
        save_plain(picture_layers(browser, options.demo), options.out / "report-layers.png")
        save_plain(picture_words(browser, options.demo), options.out / "report-words.png")
        save_rich(picture_dark(browser, options.mixed), options.out / "report-dark.webp")
        save_rich(picture_phone(browser, options.mixed), options.out / "report-phone.webp")
        browser.close()


if __name__ == "__main__":
    main()
