"""limbeck serve, over the loopback interface, on a port that is free."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from refusals import raises, refused

from limbeck.errors import UsageError
from limbeck.reporting.serving import WordTable
from limbeck.reporting.serving.server import make_server
from limbeck.tables import write_parquet

EVIL = "<script>alert(1)</script>"
WORDS = [EVIL, "bank", "Bankrupt", "seal", "ünder", *(f"w{i}" for i in range(95))]
LAYERS = ["0", "1", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 100 words at 3 layers, in row groups that cut words in two."""
    path = tmp_path_factory.mktemp("serve") / "run"
    path.mkdir()
    account = {"command": "measure", "name": EVIL, "layers": LAYERS, "counts": {"words": 9}}
    (path / "run.json").write_text(json.dumps(account), encoding="utf-8")
    import pyarrow
    from pyarrow import parquet

    values = np.random.default_rng(0).random((100, 3))
    values[3] = np.nan
    columns = {
        "word": [word for word in WORDS for _ in LAYERS],
        "layer": LAYERS * 100,
        "n": np.repeat(np.arange(1, 101), 3),
        "self_similarity": values.ravel(),
        "mev": values.ravel() / 2,
    }
    parquet.write_table(pyarrow.table(columns), path / "words.parquet", row_group_size=7)
    write_parquet(
        path / "sample.parquet", {"word": ["bank"] * 3 + [EVIL], "sentence": ["a bank", "a bank", "the bank", EVIL]}
    )
    return path


def read(folder: Path) -> tuple[np.ndarray, list[str]]:
    from pyarrow import parquet

    table = parquet.read_table(folder / "words.parquet").to_pydict()
    return np.array(table["self_similarity"]).reshape(100, 3), table["word"][::3]


def test_pages_are_what_sorting_everything_gives(folder: Path) -> None:
    values, words = read(folder)
    table = WordTable(folder)
    for place, layer in enumerate(LAYERS):
        for descending in (True, False):
            known = [row for row in range(100) if np.isfinite(values[row, place])]
            wanted = sorted(known, key=lambda row: -values[row, place] if descending else values[row, place])
            wanted += [row for row in range(100) if row not in known]
            got: list[str] = []
            while len(got) < 100:
                page = table.page(layer=layer, sort="self_similarity", descending=descending, offset=len(got), limit=33)
                assert page["total"] == 100
                got += [row["word"] for row in page["rows"]]
            assert got == [words[row] for row in wanted]


def test_search_and_words(folder: Path) -> None:
    values, _ = read(folder)
    table = WordTable(folder)
    found = table.page(layer="1", sort="word", descending=False, search="BANK")
    assert [row["word"] for row in found["rows"]] == ["bank", "Bankrupt"]
    assert found["rows"][0]["n"] == 2
    for row in (0, 2, 50, 99):
        one = table.word(WORDS[row])
        assert one["self_similarity"] == pytest.approx(values[row].tolist())
    assert table.word("seal")["mev"] == [None] * 3
    assert table.word("bank")["sentences"] == ["a bank", "the bank"]
    with raises(UsageError, code="not_found", says="'none'"):
        table.word("none")
    with raises(UsageError, code="unknown_choice", parameter="sort"):
        table.page(layer="1", sort="self_similarty")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[int]:
    made = make_server(WordTable(folder))
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield int(made.server_address[1])
    made.shutdown()
    made.server_close()
    thread.join()


def get(port: int, path: str, host: str | None = None, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={"Host": host} if host is not None else {})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def test_the_page_asks_nobody_else(server: int) -> None:
    status, headers, page = get(server, "/")
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    for path in ("/", "/page.js", "/page.css"):
        body = get(server, path)[2].decode()
        assert "http://" not in body.replace("http://www.w3.org", "")
        assert "https://" not in body
        assert "innerHTML" not in body
    assert b"<script src=" in page


def test_answers(server: int) -> None:
    status, headers, body = get(server, "/api/run")
    assert (status, headers["Content-Type"]) == (200, "application/json; charset=utf-8")
    assert json.loads(body)["words"] == 100
    rows = json.loads(get(server, "/api/words?layer=2&sort=word&order=up&limit=5")[2])["rows"]
    assert rows[0]["word"] == EVIL  # as JSON, which the page puts in as text
    status, headers, body = get(server, f"/api/word.svg?word={quote(EVIL)}")
    assert headers["Content-Type"].startswith("image/svg+xml")
    assert b"<script" not in body
    assert b"polyline" in body


def test_a_picture_has_no_key_of_a_line_that_is_not_there(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = parquet.read_table(folder / "words.parquet").to_pydict()
    columns["mev"] = [
        float("nan") if word == "bank" else value for word, value in zip(columns["word"], columns["mev"], strict=True)
    ]
    own = folder.parent / "some"
    own.mkdir()
    (own / "run.json").write_bytes((folder / "run.json").read_bytes())
    parquet.write_table(pyarrow.table(columns), own / "words.parquet")
    table = WordTable(own)
    assert "MEV" not in table.picture("bank")
    assert "Self-similarity" in table.picture("bank")
    assert "MEV" in table.picture("w0")


@pytest.mark.parametrize(
    "path",
    [
        "/api/words?layer=9",
        "/api/words",
        "/api/words?layer=1&offset=x",
        "/api/words?layer=1&limit=100000",
        "/api/word?word=no",
    ],
)
def test_wrong_questions_are_told(server: int, path: str) -> None:
    status, _, body = get(server, path)
    assert status == 400
    assert json.loads(body)["error"]


def test_other_hosts_are_refused(server: int) -> None:
    assert get(server, "/", host=f"localhost:{server}")[0] == 200
    for host in ("evil.example", f"evil.example:{server}", "127.0.0.1", f"127.0.0.1:{server + 1}", ""):
        assert get(server, "/api/run", host=host)[0] == 403, host
    assert get(server, "/../run.json")[0] == 404
    assert get(server, "/api/run", method="POST")[0] == 501


def test_it_listens_on_this_machine_alone(server: int) -> None:
    import socket

    with socket.socket() as other:
        other.settimeout(0.5)
        if os.name == "posix":  # 127.0.0.2 is this machine too, but not where it listens
            with pytest.raises(OSError, match=r"refused|timed out|reach"):
                other.connect(("127.0.0.2", server))


def test_a_run_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"command": "evaluate"}), encoding="utf-8")
    assert refused("serve", tmp_path, "--port", "0", capsys=capsys) == (2, "other_kind", "")
    assert refused("serve", tmp_path / "nowhere", "--port", "0", capsys=capsys) == (1, "not_found", "")


def test_a_port_that_is_taken(folder: Path, server: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused("serve", folder, "--port", server, capsys=capsys) == (1, "busy", "port")


def test_ctrl_c_ends_it(folder: Path) -> None:
    command = [sys.executable, "-m", "limbeck", "serve", str(folder), "--port", "0"]
    given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += f"sys.argv = {['limbeck', *command[3:]]!r}; from limbeck.cli import main; sys.exit(main())"
    with subprocess.Popen([sys.executable, "-c", code], **given) as process:  # a shell may have it ignored
        assert process.stdout is not None
        line = process.stdout.readline()
        port = int(line.split("127.0.0.1:")[1].split("/")[0])
        assert get(port, "/api/run")[0] == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_an_address_that_is_none(server: int) -> None:
    """Asked by hand, since the library that asks would refuse it."""
    with socket.create_connection(("127.0.0.1", server), timeout=60) as connection:
        connection.sendall(f"GET http://[bad/ HTTP/1.1\r\nHost: 127.0.0.1:{server}\r\n\r\n".encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 400")
    assert get(server, "/")[0] == 200


def test_a_browser_that_went_away_is_no_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with make_server(WordTable(folder)) as made:
        for error, told in ((ConnectionResetError("gone"), ""), (KeyError("x"), "KeyError")):
            try:
                raise error
            except (OSError, KeyError):
                made.handle_error(None, None)
            shown = capsys.readouterr().err
            assert "Traceback" not in shown
            assert (told in shown) if told else not shown
