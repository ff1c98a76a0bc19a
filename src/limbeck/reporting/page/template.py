"""The page's own files, put together: one HTML file that runs no code but its own and asks for nothing.

Nothing from a run is ever part of the markup: data are JSON and base64 in elements that no browser executes, and the
scripts only ever set text. Hashes in the policy keep any other script from running, should one get in all the same.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from limbeck.reporting.page.packing import Pack, plain

#: in the order in which one needs the other
SCRIPTS = (
    "data.js", "dom.js", "colours.js", "axes.js", "lines.js", "dots.js", "heat.js", "scatter.js", "figure.js",
    "table.js", "tables.js", "parts.js", "words.js", "results.js", "main.js",
)  # fmt: skip


def fill(title: str, data: Mapping[str, Any], packs: Mapping[str, Pack]) -> str:
    """The whole page. `packs` are the long columns, by section."""
    script = "\n".join(["'use strict';", *(_own(name) for name in SCRIPTS)])
    style = _own("page.css")
    blobs = "\n".join(
        f'<script type="application/octet-stream" id="pack-{html.escape(name)}">{pack.base64()}</script>'
        for name, pack in packs.items()
        if len(pack)
    )
    parts = {
        "title": html.escape(title),
        "policy": html.escape(_policy(script, style)),
        "style": style,
        "data": safe_json(data),
        "packs": blobs,
        "script": script,
    }
    # in one go: what is put in is not searched again
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _own("page.html"))


def safe_json(data: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element: no character of it can end that element, open a comment or a line."""
    text = json.dumps(plain(data), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(script: str, style: str) -> str:
    """No request whatever, no script or style but these two; pictures only of what the page itself has drawn."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _own(name: str) -> str:
    return (files("limbeck.reporting.page") / "template" / name).read_text(encoding="utf-8").strip("\n")
