"""The server of `limbeck serve`: this machine only, reading only, nothing from outside in its page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from limbeck import __version__
from limbeck.errors import LimbeckError
from limbeck.reporting.serving.words import TITLES, WordTable
from limbeck.vectors.damaged import NONSENSE

LOOPBACK = "127.0.0.1"
#: the page may run its own script and style, and ask this server; nothing else
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'"
)
FILES = {"/": "page.html", "/page.css": "page.css", "/page.js": "page.js"}
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def serve(folder: str | Path, *, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
    """Serve a run folder on this machine until Ctrl-C.

    port   0 takes any that is free
    ready  is told the address when the server listens
    """
    table = WordTable(folder)
    try:
        server = make_server(table, port=port)
    except OSError as error:
        told = error.strerror or str(error)
        raise LimbeckError(
            f"Port {port} must be free; {told}: choose another --port, 0 for any.", code="busy", parameter="port"
        ) from error
    with server:
        if ready is not None:
            ready(f"http://{LOOPBACK}:{server.server_address[1]}/")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return


class Server(ThreadingHTTPServer):
    """A server that tells nothing of a browser that went away before it had its answer."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if not isinstance(error, OSError):
            print(f"limbeck: a request failed ({type(error).__name__}: {error}).", file=sys.stderr)


def make_server(table: WordTable, *, port: int = 0) -> ThreadingHTTPServer:
    """A server that listens on the loopback interface alone."""
    handler = type("OwnHandler", (Handler,), {"table": table, "lock": Lock()})
    return Server((LOOPBACK, port), handler)


class Handler(BaseHTTPRequestHandler):
    """Answers GET. A request that names another host is refused: a page elsewhere could otherwise ask through a name
    that it has pointed here."""

    table: ClassVar[WordTable]
    lock: ClassVar[Lock]
    server_version = f"limbeck/{__version__}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        port = self.connection.getsockname()[1]
        if self.headers.get("Host") not in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
            self._answer(403, "text/plain", b"This server answers to 127.0.0.1 and localhost only.\n")
            return
        try:
            asked = urlsplit(self.path)
        except ValueError:
            self._answer(400, "text/plain", b"The address is none.\n")
            return
        query = {name: values[-1] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
        if asked.path in FILES:
            name = FILES[asked.path]
            body = (files("limbeck.reporting.serving") / "template" / name).read_bytes()
            self._answer(200, KINDS[Path(name).suffix], body)
        elif asked.path in ANSWERS:
            self._ask(ANSWERS[asked.path], query)
        else:
            self._answer(404, "text/plain", b"There is nothing here.\n")

    def _ask(self, answer: Callable[[WordTable, dict[str, str]], Any], query: dict[str, str]) -> None:
        try:
            with self.lock:  # the file is read by one at a time
                found = answer(self.table, query)
        except (LimbeckError, *NONSENSE) as error:
            told = {"error": str(error) if isinstance(error, LimbeckError) else "The question is not understood."}
            self._answer(400, "application/json", json.dumps(told).encode())
            return
        if isinstance(found, str):
            self._answer(200, "image/svg+xml", found.encode())
        else:
            self._answer(200, "application/json", json.dumps(found, ensure_ascii=False).encode())

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads a line for each request."""


def _run(table: WordTable, query: dict[str, str]) -> Any:
    return {
        "name": table.name,
        "folder": table.folder.name,
        "layers": table.layers,
        "columns": table.columns,
        "titles": TITLES,
        "words": len(table),
        "counts": table.counts,
    }


def _words(table: WordTable, query: dict[str, str]) -> Any:
    return table.page(
        layer=query["layer"],
        sort=query.get("sort", "n"),
        descending=query.get("order", "down") == "down",
        search=query.get("search", ""),
        offset=int(query.get("offset", "0")),
        limit=int(query.get("limit", "50")),
    )


ANSWERS: dict[str, Callable[[WordTable, dict[str, str]], Any]] = {
    "/api/run": _run,
    "/api/words": _words,
    "/api/word": lambda table, query: table.word(query["word"]),
    "/api/word.svg": lambda table, query: table.picture(query["word"]),
}
