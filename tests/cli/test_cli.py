"""The command line from outside: what it prints, where it writes, how it ends."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import as_jsonl, sentences

import limbeck
from limbeck.cli import main
from limbeck.cli.process import warnings_in_a_line
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.state import load
from limbeck.stream.context import RunContext
from limbeck.tables import read_csv

MADE = sentences(200, documents=12)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.jsonl"
    path.write_text(as_jsonl(MADE), encoding="utf-8")
    return path


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest, and has tests of its own."""
    monkeypatch.setattr("limbeck.reporting.draw", lambda folders, out: out.mkdir(parents=True))


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.runs.execution.execute.RunContext", partial(RunContext, shard_units=60))


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Status, standard output and standard error of a command."""

    def run(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # argparse
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def left(folder: Path) -> list[str]:
    """What is in a folder, but for limbeck's mark."""
    return sorted(path.name for path in folder.iterdir() if path.name != ".limbeck")


# without a model


def test_help_names_every_option_with_its_default(run: Run) -> None:
    status, out, err = run("measure", "--help")
    assert (status, err) == (0, "")
    for option in """--model --revision --layers --pooling --units --window --context --targets --keep-first --stack
        --device --dtype --trust-remote-code --corpus --format --paragraphs --columns --cells --encoding --language
        --lowercase --text-unit --vectors --out --existing --dry-run --seed --batch-tokens --workers --quiet --preset
        --min-contexts --max-words --mev-words --max-contexts --points --two-pass --no-text --debug""".split():
        assert option in out
    assert run("--version")[:2] == (0, f"limbeck {limbeck.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "COMMAND"),
        (["measur"], "did you mean measure?"),
        (["measure", "--out", "x"], "--model and --corpus are needed, or --vectors"),
        (["encode", "--out", "x", "--model", "m"], "--model and --corpus are needed."),
        (["measure", "--model", "m", "--corpus", "c"], "--out"),
        (["measure", "--model", "m", "--corpus", "c", "--vectors", "v", "--out", "x"], "give one or the other"),
        (["measure", "--vectors", "v", "--layers", "1", "--lowercase", "--out", "x"], "--layers, --lowercase"),
        (["measure", "--vectors", "v", "--preset", "realeased", "--out", "x"], "did you mean 'released'"),
        (["measure", "--vectors", "v", "--existing", "resum", "--out", "x"], "did you mean 'resume'"),
        (["measure", "--vectors", "v", "--points", "0", "--out", "x"], "must be at least 1"),
        (["measure", "--vectors", "v", "--points", "many", "--out", "x"], "must be a whole number"),
        (["measure", "--vectors", "v", "--mev-words", "-1", "--out", "x"], "must be at least 0"),
        (["measure", "--model", "m", "m", "--corpus", "c", "--out", "x"], "each model must be given once"),
    ],
)  # fmt: skip
def test_wrong_usage_ends_with_2(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert told in err
    assert left(tmp_path) == []


# a whole run


@pytest.mark.usefixtures("no_figures")
def test_measure(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "ein Lauf ö"  # odd names are names
    status, said, err = run("measure", "--model", model, "--corpus", text, "--min-contexts", 3, "--out", out)
    assert status == 0
    assert "most contextual words:" in said
    assert str(out) in said.replace("\n", "")
    assert "left out: words in duplicate texts" in said
    assert "167 texts of 12 documents" in err
    assert "of memory beside the model" in err
    assert left(tmp_path) == [out.name]
    assert left(out) == [
        "clouds.parquet", "dimensions.parquet", "figures", "frequency.csv", "layers.csv", "neighbors.parquet",
        "report.html", "run.json", "sample.parquet", "spectra.parquet", "state", "words.parquet",
    ]  # fmt: skip
    assert json.loads((out / "run.json").read_text())["name"] == "tiny"
    before = (out / "layers.csv").read_bytes()

    status, said, err = run("measure", "--model", model, "--corpus", text, "--min-contexts", 3, "--out", out)
    assert (status, said) == (1, "")
    assert "already holds a run: --existing replace" in err
    again = ["measure", "--model", model, "--corpus", text, "--out", out, "--existing", "resume"]
    assert run(*again, "--min-contexts", 3)[:2] == (0, f"{out}: complete already.\n")
    status, _, err = run(*again, "--min-contexts", 4)
    assert status == 1
    assert "min_contexts was 3 and is 4 now" in err
    status, _, err = run(*again, "--min-contexts", 3, "--pooling", "max")
    assert status == 1
    assert "model is another" in err
    assert (out / "layers.csv").read_bytes() == before
    again[-1] = "replace"
    assert run(*again, "--min-contexts", 3, "--pooling", "max", "--quiet")[::2] == (0, "")
    assert (out / "layers.csv").read_bytes() != before
    assert left(tmp_path) == [out.name]


def test_several_models_have_a_folder_each_and_figures_together(
    run: Run, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from limbeck.reporting import FIGURES

    shown = ("anisotropy", "self_similarity")  # of all figures the quickest to draw
    for name in set(FIGURES) - set(shown):
        monkeypatch.delitem(FIGURES, name)
    twin = tiny_models.save_bert(tmp_path / "other" / "tiny")
    static = tmp_path / "static.txt"
    static.write_text("the 1 2\nriver 0.5 1\nrose 1 -1\nand 3 1\na 0 1\n")
    out = tmp_path / "runs"
    arguments = ["--corpus", text, "--min-contexts", 3, "--points", 200, "--mev-words", 5, "--out", out]
    status, said, err = run("measure", "--model", model, twin, static, *arguments)
    assert status == 0, err
    names = sorted(set(left(out)) - {"figures", "report.html", "static.txt"})
    assert len(names) == 2  # equal names, told apart by their folders
    assert all(name.endswith("-tiny") for name in names)
    for folder in (out, *(out / name for name in names)):
        for figure in shown:
            assert (folder / "figures" / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (folder / "figures" / f"{figure}.svg").read_text()
    assert f"figures with all models: {out / 'figures'}" in said
    together = (out / "figures" / "self_similarity.svg").read_text()
    assert "static.txt" in together
    # one that is there already is told before the others are begun
    status, _, err = run("measure", "--model", model, twin, *arguments)
    assert status == 1
    assert "already holds a run" in err


@pytest.mark.usefixtures("no_figures")
def test_encode_then_measure(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    kept, one, two = tmp_path / "kept", tmp_path / "one", tmp_path / "two"
    status, said, _ = run("encode", "--model", model, "--corpus", text, "--keep", "float32", "--out", kept)
    assert status == 0
    assert f"use with --vectors {kept}" in said
    options = ["--min-contexts", 3, "--quiet", "--out"]
    assert run("measure", "--vectors", kept, *options, one)[::2] == (0, "")
    assert run("measure", "--model", model, "--corpus", text, *options, two)[::2] == (0, "")
    a, b = read_csv(one / "layers.csv"), read_csv(two / "layers.csv")
    assert a["measure"] == b["measure"]
    assert a["n"] == b["n"]
    for name, x, y in zip(a["measure"], a["value"], b["value"], strict=True):
        if name != "effective_rank":
            assert float(x) == pytest.approx(float(y), rel=1e-5)
    assert run("encode", "--model", model, "--corpus", text, "--out", kept, "--existing", "resume")[0] == 1
    assert left(tmp_path) == ["kept", "one", "two"]


@pytest.mark.usefixtures("no_figures")
def test_standard_input_is_a_corpus(
    run: Run, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    options = ["--model", model, "--format", "jsonl", "--min-contexts", 3, "--quiet", "--out"]
    with open(text) as piped:
        monkeypatch.setattr(sys, "stdin", piped)
        assert run("measure", "--corpus", "-", *options, tmp_path / "piped")[0] == 0
    assert run("measure", "--corpus", text, *options, tmp_path / "file")[0] == 0
    a, b = ((tmp_path / name / "layers.csv").read_bytes() for name in ("piped", "file"))
    assert a == b
    with open(os.devnull) as piped:
        monkeypatch.setattr(sys, "stdin", piped)
        status, _, err = run("measure", "--corpus", "-", *options, tmp_path / "empty")
    assert (status, err) == (1, "limbeck: standard input: must hold text, got an empty file: give another.\n")


GERMAN = "Er wusste nicht, ob sie schon bei ihm war oder noch nicht, und das war es, was er auch ihr sagte.\n"
GERMAN += "Wir haben alle nicht gewusst, ob es das Haus noch gibt, und doch waren sie bei uns.\n"


def test_a_text_in_another_language_is_told_in_one_line_and_kept(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(GERMAN * 3, encoding="utf-8")
    (tmp_path / "a.vec").write_text("wir 1 0\nsie 0 1\nwar 1 1\n", encoding="utf-8")
    command = "encode --model a.vec --corpus text.txt --out kept --workers 2 --quiet --json --lowercase"
    # in a process of its own: pytest keeps warnings to itself
    run = [sys.executable, "-m", "limbeck", *command.split()]
    ended = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    [line] = ended.stderr.splitlines()  # once, whoever reads the text
    assert line.startswith("limbeck: warning: ")
    told = line.removeprefix("limbeck: warning: ")
    assert "--language de" in told
    assert json.loads(ended.stdout)["warnings"] == [told]
    record = json.loads((tmp_path / "kept" / "vectors.json").read_text(encoding="utf-8"))
    assert told in json.dumps(record)


def test_own_warnings_are_told_once_and_others_as_ever() -> None:
    usual = warnings.formatwarning
    with warnings_in_a_line():
        assert warnings.formatwarning("a\nb", UserWarning, limbeck.__file__, 1) == "limbeck: warning: a b\n"
        assert warnings.formatwarning("a b", UserWarning, limbeck.__file__, 9) == ""
        assert warnings.formatwarning("a", UserWarning, "elsewhere.py", 1) == usual("a", UserWarning, "elsewhere.py", 1)
    assert warnings.formatwarning is usual


def test_a_dry_run_leaves_nothing(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, said, _ = run("measure", "--model", model, "--corpus", text, "--out", out, "--dry-run", "--min-contexts", 3)
    assert status == 0
    assert re.search(r"words in 167 texts of 12 documents", said)
    assert re.search(r"about [\dhms]+ at [\d,]+ words a second", said)
    assert "of memory beside the model" in said
    status, said, _ = run("encode", "--model", model, "--corpus", text, "--out", out, "--dry-run")
    assert status == 0
    words = sum(len(s.words) for s in MADE)
    assert f"{words * 3 * 16 * 2 / 1e3:.0f} kB of disk" in said
    assert left(tmp_path) == []


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(
    "options",
    [
        ["--min-contexts", 1, "--points", 1, "--mev-words", 0, "--max-contexts", 1, "--batch-tokens", 1],
        ["--context", 0, "--layers", "-1"],
        ["--units", "pieces", "--text-unit", "paragraph"],
        ["--units", "characters", "--layers", "table", "--lowercase"],
        ["--targets", "river,lamp", "--context", 2, "--seed", 7],
        ["--preset", "released"],
        ["--preset", "paper", "--two-pass", "--no-text", "--window", 8],
    ],
)
def test_odd_options_together(run: Run, model: Path, text: Path, tmp_path: Path, options: list[Any]) -> None:
    given = ["--model", model, "--corpus", text, "--min-contexts", 3, "--quiet", "--out", tmp_path / "run"]
    status, _, err = run("measure", *given, *options)
    assert (status, err) == (0, "")


# bad input: one line, its name in it, nothing left


def damaged(folder: Path) -> dict[str, tuple[list[str], str]]:
    """Options, and what must be told."""
    made: dict[str, bytes] = {
        "empty.txt": b"",
        "blank.txt": b"\n \n",
        "broken.jsonl": b'{"words": ["a", "b"]}\n{"words": ["a"\n',
        "latin.txt": b"a b\nc \xe9 d\n",
        "cut.txt.gz": gzip.compress(np.random.default_rng(0).bytes(400_000).hex().encode())[:200_000],
        "few.txt": b"one two three\nfour five six\n",
    }
    for name, content in made.items():
        (folder / name).write_bytes(content)
    (folder / "hollow").mkdir()
    missing = str(folder / "nowhere.txt")
    return {
        "missing": ([missing], f"{missing}: there is no such file"),
        "glob": ([str(folder / "*.nope")], "no file matches this pattern"),
        "empty": ([str(folder / "empty.txt")], "empty.txt: must hold text, got an empty file"),
        "blank": ([str(folder / "blank.txt")], "blank.txt: must hold text"),
        "folder": ([str(folder / "hollow")], "hollow: the folder must hold files"),
        "json": ([str(folder / "broken.jsonl")], "broken.jsonl:2: must be a JSON object"),
        "utf-8": ([str(folder / "latin.txt"), "--format", "words"], "latin.txt:2: must be utf-8 text, got the byte"),
        "gzip": ([str(folder / "cut.txt.gz"), "--format", "words"], "cut.txt.gz: the compressed file is cut off"),
        "few": ([str(folder / "few.txt"), "--format", "words"], "at least one word must occur in 5 different texts"),
        "columns": ([str(folder / "few.txt"), "--format", "tsv", "--columns", "2"], "few.txt:1: the row must have"),
        "targets": ([str(folder / "few.txt"), "--format", "words", "--targets", "zzz", "--min-contexts", "1"],
                    "it has none: check --corpus, --format, --targets"),
        "layer": ([str(folder / "few.txt"), "--layers", "99"], "0 to 2; got 99"),
    }  # fmt: skip


KINDS = ["missing", "glob", "empty", "blank", "folder", "json", "utf-8", "gzip", "few", "columns", "targets", "layer"]


@pytest.mark.parametrize("command", ["measure", "encode"])
@pytest.mark.parametrize("kind", KINDS)
def test_bad_text(run: Run, model: Path, tmp_path: Path, kind: str, command: str) -> None:
    if command == "encode" and kind in ("few", "targets"):
        pytest.skip("encoding keeps whatever there is")
    options, told = damaged(tmp_path)[kind]
    before = left(tmp_path)
    if command == "encode":
        options = [option for option in options if option not in ("--min-contexts", "1")]
    status, out, err = run(command, "--model", model, "--corpus", *options, "--out", tmp_path / "run", "--quiet")
    assert status == (2 if kind == "layer" else 1)
    assert out == ""
    assert told in err
    assert err.count("\n") == 1
    assert err.startswith("limbeck: ")
    assert left(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("a b")
    path.chmod(0)
    status, _, err = run("measure", "--model", model, "--corpus", path, "--out", tmp_path / "run")
    assert status == 1
    assert "secret.txt: cannot be opened (Permission denied)" in err


@pytest.mark.parametrize(
    ("without", "told"),
    [
        ("config.json", "must hold a model's config.json"),
        ("model.safetensors", "must hold weights"),
        ("tokenizer*", "must hold a tokenizer"),
    ],
)
def test_a_model_folder_that_lacks_something(
    run: Run, model: Path, text: Path, tmp_path: Path, without: str, told: str
) -> None:
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    for path in folder.glob(without):
        path.unlink()
    status, out, err = run("measure", "--model", folder, "--corpus", text, "--out", tmp_path / "run")
    assert (status, out) == (1, "")
    assert told in err
    assert err.count("\n") == 1
    assert left(tmp_path) == ["model"]


def test_a_name_on_the_hub_without_a_network(
    run: Run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    status, out, err = run("measure", "--model", "nobody/has-this", "--corpus", text, "--out", tmp_path / "run")
    assert (status, out) == (1, "")
    assert "nobody/has-this could not be loaded" in err
    assert err.count("\n") == 1
    assert left(tmp_path) == []


@pytest.fixture
def spoilt(model: Path, tmp_path: Path) -> Callable[[float], Path]:
    """The model with one number in the last layer's weights changed."""

    def spoil(value: float) -> Path:
        import shutil

        from safetensors.torch import load_file, save_file

        folder = tmp_path / "spoilt"
        shutil.copytree(model, folder)
        weights = load_file(folder / "model.safetensors")
        name = next(name for name in weights if name.endswith("layer.1.output.LayerNorm.weight"))
        weights[name][3] = value
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        return folder

    return spoil


@pytest.mark.parametrize(("value", "options"), [(float("nan"), []), (1e6, ["--dtype", "float16"])])
def test_numbers_that_are_none_are_named_by_layer_and_word(
    run: Run, spoilt: Callable[[float], Path], text: Path, tmp_path: Path, value: float, options: list[str]
) -> None:
    if options and not os.environ.get("ATEN_CPU_CAPABILITY", "avx512").startswith("avx512"):
        pytest.skip("torch has no half precision on processors of which ATEN_CPU_CAPABILITY hides a part")
    folder = spoilt(value)
    given = ["--corpus", text, "--quiet", "--out", tmp_path / "run", "--layers", "1-2", *options]
    status, out, err = run("measure", "--model", folder, *given)
    assert (status, out) == (1, "")
    assert re.search(r"the word '\S+' has a NaN or infinite vector in layer 2 \(", err)
    assert "What is done is kept: --existing resume goes on with it" in err
    assert err.count("\n") == 1
    assert left(tmp_path) == [".run.unfinished", "spoilt"]


def test_vectors_that_are_not_whole(run: Run, tmp_path: Path) -> None:
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "text").write_text("no vectors")
    for name, told in {
        "unfinished": "was not finished",
        "nowhere": "No such file",
        "text": "npz, npy, Parquet or HDF5 is needed",
    }.items():
        status, _, err = run("measure", "--vectors", tmp_path / name, "--out", tmp_path / "run")
        assert status == 1
        assert told in err
        assert err.count("\n") == 1
    assert left(tmp_path) == ["text", "unfinished"]


@pytest.mark.usefixtures("no_figures")
def test_words_that_static_vectors_lack(run: Run, text: Path, tmp_path: Path) -> None:
    static = tmp_path / "static.txt"
    static.write_text("nobody 1 2\nsays 2 1\nthis 1 1\n")
    given = ["--corpus", text, "--out", tmp_path / "run", "--quiet"]
    status, _, err = run("measure", "--model", static, *given)
    assert status == 1
    assert "not in the table of vectors" in err
    status, _, err = run("measure", "--model", static, *given, "--layers", "0", "--existing", "replace")
    assert (status, err) == (2, "limbeck: --layers cannot be chosen for static vectors: omit it.\n")
    assert left(tmp_path) == ["static.txt"]


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize("said", ["river\n", "the river rose in the house\n", "😀 😀\n😀\n", "a\r\nb a\r\n"])
def test_hardly_any_text(run: Run, model: Path, tmp_path: Path, said: str) -> None:
    (tmp_path / "text.txt").write_bytes(said.encode())
    given = ["--corpus", tmp_path / "text.txt", "--format", "words", "--min-contexts", 1, "--quiet"]
    assert run("measure", "--model", model, *given, "--out", tmp_path / "run")[::2] == (0, "")
    table = read_csv(tmp_path / "run" / "layers.csv")
    assert "nan" not in "".join(table["value"])  # what has no value is an empty cell


@pytest.mark.usefixtures("no_figures")
def test_vectors_of_one_dimension(run: Run, text: Path, tmp_path: Path) -> None:
    static = tmp_path / "static.txt"
    static.write_text("the 1\nriver -2\nrose 0.5\n")
    assert run("measure", "--model", static, "--corpus", text, "--out", tmp_path / "run", "--quiet")[::2] == (0, "")


def test_outputs_that_cannot_be(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out, told in {
        tmp_path / "file": "no run of limbeck",
        tmp_path / "file" / "below": "must be writable",
        Path("."): "a folder of its own",
        Path("/"): "a folder of its own",
    }.items():
        for existing in ("fail", "resume", "replace"):
            given = ["--model", model, "--corpus", text, "--out", out, "--existing", existing]
            status, _, err = run("measure", *given)
            assert status == 1
            assert told in err
            assert err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"
    assert left(tmp_path) == ["file"]


def test_a_full_disk(
    run: Run, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_figures: None
) -> None:
    import errno

    import limbeck.tables

    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    given = ["--model", model, "--corpus", text, "--min-contexts", 3, "--out", tmp_path / "run", "--quiet"]
    monkeypatch.setattr(limbeck.tables.csv, "writer", full)
    status, out, err = run("measure", *given)
    assert (status, out) == (1, "")
    assert re.fullmatch(r"limbeck: .*layers\.csv: could not be written \(No space left on device\): .*\n", err)
    assert left(tmp_path) == [".run.unfinished"]
    assert left(tmp_path / ".run.unfinished") == ["state"]
    monkeypatch.undo()
    monkeypatch.setattr("limbeck.reporting.draw", lambda folders, out: out.mkdir(parents=True))
    assert run("measure", *given, "--existing", "resume")[0] == 0
    assert left(tmp_path) == ["run"]


def test_debug_shows_the_traceback(tmp_path: Path, run: Run) -> None:
    from limbeck.errors import InputError

    with pytest.raises(InputError):
        main(["measure", "--vectors", str(tmp_path / "none"), "--out", str(tmp_path / "run"), "--debug"])


def test_an_error_of_a_library_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def gone(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("CUDA error: out of memory\nand much more\n" * 30)

    monkeypatch.setattr("limbeck.runs.execution.sources.open_source", gone)
    status, _, err = run("measure", "--vectors", "v", "--out", tmp_path / "run")
    assert status == 1
    assert err.startswith("limbeck: out of memory: lower --batch-tokens")
    assert err.count("\n") == 1
    assert left(tmp_path) == []


# killed and resumed, in processes of their own

RUNNER = """
import sys, time
from functools import partial

import limbeck.reporting, limbeck.runs.execution.execute as execute
from limbeck.cli import main
from limbeck.encoders.huggingface import HuggingFaceEncoder

limbeck.reporting.draw = lambda folders, out: out.mkdir(parents=True)
execute.RunContext = partial(execute.RunContext, shard_units=60, save_every=-1.0)
forward = HuggingFaceEncoder.forward

def slow(self, batch):
    time.sleep(0.1)
    return forward(self, batch)

HuggingFaceEncoder.forward = slow
if __name__ == "__main__":
    sys.exit(main())
"""


def hear_interrupts() -> None:
    """A shell lets what it starts in the background ignore Ctrl-C, and so do all its children; nohup SIGHUP."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def members(group: int) -> list[int]:
    """The processes of a group that are alive, where there is /proc to find them."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, own, *_ = file.read_text().rpartition(")")[2].split()
            found += [int(file.parent.name)] if int(own) == group and state != "Z" else []
    return found


@pytest.mark.usefixtures("no_figures", "small_shards")
@pytest.mark.parametrize(
    ("stop", "command", "workers"),
    [
        (signal.SIGKILL, "measure", 0),
        (signal.SIGINT, "measure", 0),
        (signal.SIGTERM, "encode", 0),
        (signal.SIGHUP, "measure", 1),
    ],
)
def test_a_stopped_command_goes_on(
    run: Run, model: Path, text: Path, tmp_path: Path, stop: signal.Signals, command: str, workers: int
) -> None:
    script = tmp_path / "runner.py"
    script.write_text(RUNNER)
    own = ["--min-contexts", "3"] if command == "measure" else ["--keep", "float32"]
    given = [command, "--model", str(model), "--corpus", str(text), *own, "--quiet", "--out"]
    out = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, script, *given, out, "--workers", str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
        start_new_session=True,
    ) as process:
        parts = tmp_path / ".run.unfinished" / "state" / "parts"
        deadline = time.monotonic() + 60
        while not any(parts.glob("*.npz")) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, stop)  # as terminals and batch systems do; workers leave it to the command
        said, err = process.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while (left_behind := members(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left_behind == []
    assert said == ""
    if stop != signal.SIGKILL:
        assert process.returncode == 130
        kept = tmp_path / ".run.unfinished"
        assert err == (
            f"limbeck: stopped; what is done is kept in {kept}; to go on: the same command with --existing resume.\n"
        )
    assert left(tmp_path) == [".run.unfinished", "runner.py"]

    status, _, err = run(*given, out)
    assert status == 1
    assert "--existing resume goes on" in err
    status, _, err = run(*given, out, "--existing", "resume", "--pooling", "last")
    assert status == 1
    assert "model is another" in err
    assert run(*given, out, "--existing", "resume")[0] == 0
    assert run(*given, tmp_path / "undisturbed")[0] == 0
    assert left(tmp_path) == ["run", "runner.py", "undisturbed"]
    if command == "measure":
        ((one, _), (two, _)) = (
            load(file) for folder in (out, tmp_path / "undisturbed") for file in (folder / "state" / "parts").iterdir()
        )
        assert one.keys() == two.keys()
        for name, array in one.items():
            if array.dtype.kind == "f":
                np.testing.assert_allclose(array, two[name], rtol=1e-10, atol=1e-10 * np.abs(array).max(initial=0))
            else:
                np.testing.assert_array_equal(array, two[name])
        first, second = (read_csv(folder / "layers.csv") for folder in (out, tmp_path / "undisturbed"))
        for column, cells in first.items():
            for a, b in zip(cells, second[column], strict=True):
                assert a == b or float(a) == pytest.approx(float(b), rel=1e-10)  # where arrays lie moves a last digit
    else:
        assert left(out) == left(tmp_path / "undisturbed")
        one, two = (json.loads((folder / "vectors.json").read_text()) for folder in (out, tmp_path / "undisturbed"))
        assert one["shards"] == two["shards"]  # by their hashes


@pytest.mark.parametrize("command", ["measure", "encode"])
def test_a_stop_that_python_drops_stops(
    run: Run, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A signal that comes while an object is collected, where exceptions go nowhere."""

    class Falling:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    batches: list[object] = []
    forward = HuggingFaceEncoder.forward

    def slow(self: Any, batch: Any) -> Any:
        batches.append(batch)
        if len(batches) == 2:
            Falling()
        time.sleep(0.2)
        return forward(self, batch)

    monkeypatch.setattr(HuggingFaceEncoder, "forward", slow)
    status, _, err = run(command, "--model", model, "--corpus", text, "--batch-tokens", 16, "--out", tmp_path / "run")
    assert status == 130
    assert "Exception ignored" not in err
    assert len(batches) == 2
    assert "run" not in left(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_printed(text: Path, tmp_path: Path) -> None:
    static = tmp_path / "static.txt"
    static.write_text("the 1 3\nriver -2 1\nrose 0.5 1\n")
    script = tmp_path / "runner.py"
    script.write_text(RUNNER)
    arguments = ["measure", "--model", static, "--corpus", text, "--out", tmp_path / "run"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, script, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert (tmp_path / "run" / "layers.csv").exists()  # the run itself is whole
