"""The run: its folder, stopping and going on, methods that train, the command line."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import as_jsonl, sentences
from numpy.typing import NDArray
from refusals import raises

import limbeck as lb
from limbeck.cli import main
from limbeck.distillation import METHODS, DistilledVectors, Known, Method, MethodSettings, Rows, Trained
from limbeck.encoders import HuggingFaceEncoder
from limbeck.errors import InputError, Interrupted, LimbeckError, UsageError
from limbeck.runs.distill import DistillResult, DistillRun
from limbeck.runs.distilling.work import worsened
from limbeck.settings import option
from limbeck.stream import run_pass
from limbeck.stream.context import RunContext
from limbeck.tables import read_csv

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.jsonl"
    path.write_text(as_jsonl(sentences(120, documents=8)), encoding="utf-8")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main(["distill", *map(str, arguments)])
        return status, *capsys.readouterr()

    return call


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


ONE = ["README.md", "config.json", "model.safetensors", "modules.json", "run.json", "tokenizer.json", "words.parquet"]
#: beside the folders of several
MORE = [".limbeck", "report.html", "run.json"]


def test_one_method_and_layer_is_the_folder_itself(run: Run, model: Path, text: Path, tmp_path: Path):
    out = tmp_path / "v"
    status, said, _ = run("--model", model, "--corpus", text, "--min-count", 2, "--out", out)
    assert status == 0
    assert DistilledVectors.load(out).method == "best"
    shutil.rmtree(out)
    how = ("--model", model, "--corpus", text, "--min-count", 2, "--method", "average")
    status, said, _ = run(*how, "--out", out)
    assert status == 0
    assert "words × 16 dimensions, layer 2" in said
    assert files_of(out) == sorted([".limbeck", *ONE, "report.html"])
    told = json.loads((out / "run.json").read_text())
    assert told["teacher"]["fingerprint"] == lb.load_encoder(model).model_fingerprint
    assert told["counts"]["words"] == sum(lb.distill(str(model), text, min_count=1, method="average").counts)
    card = (out / "README.md").read_text()
    assert told["teacher"]["fingerprint"] in card
    assert "mean over all occurrences" in card
    made = DistilledVectors.load(out)
    direct = lb.distill(str(model), text, min_count=2, method="average")
    np.testing.assert_array_equal(made.matrix, direct.matrix)
    assert made.counts.tolist() == direct.counts.tolist()
    assert list(made.origins) == list(direct.origins)


def test_several_are_folders_in_it(run: Run, model: Path, text: Path, tmp_path: Path):
    out = tmp_path / "v"
    how = ("--model", model, "--corpus", text, "--method", "average,frame", "--layers", "1,2", "--min-count", 2)
    assert run(*how, "--out", out, "--quiet")[0] == 0
    names = ["average-1", "average-2", "frame-1", "frame-2"]
    assert files_of(out) == sorted([f"{name}/{file}" for name in names for file in ONE] + MORE)
    with raises(InputError, code="ambiguous"):
        lb.StaticVectors.load(out)
    assert main(["evaluate", str(out), "--tasks", "men", "--data", str(tmp_path)]) == 1
    status, said, _ = run(*how, "--out", out, "--existing", "resume")
    assert status == 0
    assert "complete already" in said
    status, _, complaint = run(*how, "--out", out, "--existing", "resume", "--quiet", "--over-contexts", "max")
    assert status == 1
    assert "another command, model, data or settings" in complaint
    assert run(*how, "--out", out, "--quiet")[0] == 1


def test_what_the_card_says_of_use_works(model: Path, text: Path, tmp_path: Path):
    for package in ("model2vec", "sentence_transformers", "gensim"):
        pytest.importorskip(package)
    made = lb.distill(str(model), text, min_count=2, out=tmp_path / "v", method="average")
    words = [word for word in made.words if word.isalpha()]
    want = made.vectors(words)
    card = (tmp_path / "v" / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    parts = code.replace("this-folder", str(tmp_path / "v")).split("\n\nfrom sentence_transformers")
    loaded: dict[str, Any] = {}
    exec(parts[0], loaded)
    np.testing.assert_array_equal(loaded["vectors"].vectors(words), want)
    np.testing.assert_allclose(loaded["model"].encode(words), want, atol=1e-6)
    exec("from sentence_transformers" + parts[1], loaded)
    np.testing.assert_allclose(loaded["model"].encode(words, show_progress_bar=False), want, atol=1e-6)
    np.testing.assert_allclose(loaded["keyed"][words], want, atol=1e-6)
    np.testing.assert_allclose([loaded["nlp"].vocab[word].vector for word in words], want, atol=1e-6)


def test_a_card_tells_teacher_text_method_and_licences(model: Path, text: Path, tmp_path: Path):
    copy = tmp_path / "teacher"
    shutil.copytree(model, copy)
    (copy / "README.md").write_text("---\nlicense: mit\n---\n")
    how: dict[str, Any] = {"method": ["regression", "sent2vec"], "min_count": 2, "words": ["the", "owl", "barrel"]}
    how["set"] = {"regression": {"pull": 2.5}, "sent2vec": {"dim": 4}}
    lb.distill(str(copy), text, out=tmp_path / "v", **how)
    taught, untaught = ((tmp_path / "v" / name / "README.md").read_text() for name in ("regression", "sent2vec"))
    for part in ("# teacher: regression", "pull 2.5", str(text), "3, of which the text has 2", "card says: mit."):
        assert part in taught
    assert "1 | from the word in the frame" in taught
    assert "text's licence nothing is known" in taught
    assert "# sent2vec" in untaught
    assert "| teacher |" not in untaught
    assert "licence of the text asks for" in untaught
    assert "teacher" not in untaught.partition("## Licence")[2]
    assert "1 word has no vector: barrel." in untaught  # a teacher's vector is none of its kind
    lb.distill(lb.StaticVectors(["the"], np.ones((1, 2))), "sample", out=tmp_path / "s", min_count=200)
    card = (tmp_path / "s" / "README.md").read_text()
    assert "teacher's licence nothing is known" in card
    assert "text's is CC0 1.0" in card
    assert "that occur 200 times or more" in card


def test_a_preset_of_x2static_says_all_that_is_not_given(model: Path, text: Path, tmp_path: Path, run: Run):
    how = ("--model", model, "--corpus", text, "--method", "x2static", "--preset")
    assert run(*how, "released", "--window", 12, "--set", "epochs=2", "--out", tmp_path / "r")[0] == 0
    told = DistilledVectors.load(tmp_path / "r").record
    assert told["text"]["lowercase"]
    assert (told["settings"]["min_count"], told["settings"]["max_words"]) == (10, 200_000)
    assert not told["settings"]["deduplicate"]
    assert told["counts"]["texts"] == 120
    assert (told["teacher"]["settings"]["window"], told["teacher"]["settings"]["keep_first"]) == (12, True)
    trained = told["training"]["settings"]
    assert (trained["context"], trained["reuse"], trained["clamp"], trained["epochs"]) == ("pieces", True, 20.0, 2)
    assert told["training"]["occurrences_seen"] == told["counts"]["words"]  # special tokens are none
    assert (tmp_path / "r" / "figures" / "losses.png").stat().st_size > 0
    assert run(*how, "paper", "--min-count", 3, "--out", tmp_path / "p")[0] == 0
    told = DistilledVectors.load(tmp_path / "p").record
    assert (told["settings"]["min_count"], told["settings"]["deduplicate"]) == (3, True)
    assert told["text"]["lowercase"]
    assert not told["teacher"]["settings"]["keep_first"]
    asked = DistillRun.of({"method": "x2static", "preset": "released", "text_unit": "paragraph"}).asked
    assert asked == {"text_unit": "paragraph", "preset_window": 500, "lowercase": True, "keep_first": True}
    assert DistillRun.of({"method": "x2static", "preset": "released", "window": 9}).asked["window"] == 9
    assert DistillRun.of({"method": "x2static", "preset": "corrected"}).asked == {}
    # the tiny teacher has fewer positions than the 200 of the preset
    status, said, _ = run(*how, "released", "--set", "epochs=1", "--out", tmp_path / "own")
    assert status == 0
    told = DistilledVectors.load(tmp_path / "own").record
    assert told["teacher"]["settings"]["window"] == tiny_models.POSITIONS
    assert f"note: the preset's window is 200 pieces, and the teacher reads {tiny_models.POSITIONS}" in said
    assert (
        f"The preset's window is 200 pieces, and the teacher reads {tiny_models.POSITIONS}"
        in (tmp_path / "own" / "README.md").read_text()
    )
    status, _, complaint = run(*how, "released", "--window", 200, "--out", tmp_path / "n")
    assert status == 2
    assert "ask for" in complaint
    status, _, complaint = run("--model", model, "--corpus", text, "--preset", "paper", "--out", tmp_path / "n")
    assert status == 2
    assert "--preset paper applies only to x2static" in complaint
    status, _, complaint = run(*how, "papper", "--out", tmp_path / "n")
    assert status == 2
    assert "did you mean 'paper'" in complaint


def test_the_layer_that_was_trained_on_is_named(model: Path, text: Path):
    how: dict[str, Any] = {"method": "x2static", "min_count": 2, "set": {"x2static": {"subsample": 0}}}
    alone = lb.distill(str(model), text, layers="1", **how)
    how["set"]["x2static"]["layer"] = "1"
    among = lb.distill(str(model), text, layers="1,2", **how)
    assert (alone.layer, among.layer) == ("1", "1")
    np.testing.assert_allclose(among.matrix, alone.matrix, atol=1e-6)


def test_the_seed_reaches_methods_that_train(model: Path, text: Path):
    how: dict[str, Any] = {"method": "x2static", "min_count": 2, "set": {"x2static": {"subsample": 0}}}
    one, same, other = (lb.distill(str(model), text, seed=seed, **how) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.matrix, same.matrix)
    assert np.abs(one.matrix - other.matrix).max() > 1e-3


class Stopping(HuggingFaceEncoder):
    """Is stopped from outside after some batches."""

    left = 10**9

    def forward(self, batch: Any) -> Any:
        if self.left < 1:
            raise KeyboardInterrupt
        self.left -= 1
        return super().forward(batch)


@pytest.mark.parametrize("after", [0, 5, 9, 10])  # of eight batches of the text and three of frames
def test_a_stopped_run_goes_on_to_the_same_vectors(
    text: Path, tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
):
    small = partial(RunContext, shard_units=40, save_every=-1.0)
    monkeypatch.setattr("limbeck.runs.execution.execute.RunContext", small)
    monkeypatch.setattr("limbeck.distillation.alone.CHUNK", 8)
    kind = tiny_models.tokenizer("wordpiece uncased")
    teacher = Stopping(tiny_models.model("bert"), kind, name="bert", layers="1,2")
    how: dict[str, Any] = {"method": ["average", "principal", "frame"], "min_count": 2, "max_contexts": 4}
    how |= {"add_words": ["barrel", "unbelievable"], "over_contexts": "mean"}
    want = lb.distill(teacher, text, **how)
    teacher.left = after
    with pytest.raises((KeyboardInterrupt, Interrupted)):
        lb.distill(teacher, text, out=tmp_path / "v", **how)
    assert not (tmp_path / "v").exists()
    teacher.left = 10**9
    with raises(LimbeckError, code="unfinished", parameter="existing"):
        lb.distill(teacher, text, out=tmp_path / "v", **how)
    with raises(InputError, code="other_run", parameter="existing"):
        lb.distill(teacher, text, out=tmp_path / "v", existing="resume", **(how | {"min_count": 3}))
    reads: list[int] = []
    monkeypatch.setattr(Stopping, "forward", _counting(reads))
    made = lb.distill(teacher, text, out=tmp_path / "v", existing="resume", **how)
    assert made.keys() == want.keys()
    for name, one in made.items():
        assert one.words == want[name].words
        np.testing.assert_array_equal(one.matrix, want[name].matrix)
        assert list(one.origins) == list(want[name].origins)
    if after > 8:
        assert len(reads) == 11 - after  # neither the text nor the frames that are done are read again
    elif after:
        assert len(reads) < 11
    assert not (tmp_path / ".v.unfinished").exists()


@pytest.mark.parametrize("method", ["average", "x2static"])
def test_a_run_stopped_after_its_pass_comes_to_the_same_vectors(
    text: Path, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
):
    """The state of a short pass or training is not saved at its end, since the vectors follow at once."""
    kind = tiny_models.tokenizer("wordpiece uncased")
    teacher = HuggingFaceEncoder(tiny_models.model("bert"), kind, name="bert", layers="2")
    want = lb.distill(teacher, text, method=method, min_count=2)
    with monkeypatch.context() as stopping:
        stopping.setattr("limbeck.runs.distilling.work.Distillation.finished", _stopped)
        with pytest.raises((KeyboardInterrupt, Interrupted)):
            lb.distill(teacher, text, method=method, min_count=2, out=tmp_path / "v")
    made = lb.distill(teacher, text, method=method, min_count=2, out=tmp_path / "v", existing="resume")
    assert made.words == want.words
    np.testing.assert_array_equal(made.matrix, want.matrix)


def _stopped(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def _counting(reads: list[int]) -> Callable[..., Any]:
    def forward(self: Any, batch: Any) -> Any:
        reads.append(len(batch))
        return HuggingFaceEncoder.forward(self, batch)

    return forward


@dataclass(frozen=True)
class Steps(MethodSettings):
    size: float = option(0.5, help="of a step")
    epochs: int = option(1, help="times through the text")


def train_towards_ones(
    source: Any,
    plan: Any,
    settings: Any,
    context: RunContext,
    *,
    start: NDArray[Any] | None,
) -> Trained:
    """A tiny trainer: each occurrence moves its word's vector a step towards ones, from the start that it is given."""
    matrix = np.zeros((len(plan.vocabulary), source.dim)) if start is None else start.copy()
    seen = np.zeros(len(matrix), dtype=int)

    class Mover:
        def update(self, batch: Any) -> None:
            for word in batch.words[batch.words >= 0].tolist():
                matrix[word] += settings.size * (1 - matrix[word])
                seen[word] += 1

        def end_shard(self, number: int) -> None:
            pass

    for _ in range(settings.epochs):
        run_pass(source, [], plan=plan, consumers=[Mover()], context=context.without_checkpoint())
    assert seen.tolist() == (settings.epochs * plan.vocabulary.counts).tolist()
    losses = [{"step": float(epoch), "loss": 1 / (epoch + 1)} for epoch in range(settings.epochs)]
    return Trained(matrix, losses, {"kept_in": str(context.checkpoint)})


def blend(parts: Mapping[str, Rows], known: Known, settings: Any, **how: Any) -> Rows:
    share = (known.counts / (known.counts + 5))[:, None]
    matrix = (1 - share) * parts["average"].matrix + share * parts["moved"].matrix
    return Rows(matrix, parts["average"].found & parts["moved"].found)


@pytest.fixture
def trained_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = Method("moved towards ones", train=train_towards_ones, settings=Steps)
    monkeypatch.setitem(METHODS, "moved", moved)
    monkeypatch.setitem(METHODS, "blend", Method("a blend", parts=("average", "moved"), compose=blend))


@pytest.mark.usefixtures("trained_methods")
def test_a_method_that_trains(run: Run, model: Path, text: Path, tmp_path: Path):
    out = tmp_path / "v"
    how = ("--model", model, "--corpus", text, "--min-count", 2, "--quiet", "--out", out)
    named = ("--method", "moved", "--set", "size=0.25", "--set", "epochs=2", "--start", "average")
    assert run(*how, *named)[0] == 0
    made = DistilledVectors.load(out)
    average = lb.distill(str(model), text, min_count=2, method="average")
    for word, count in zip(average.words, average.counts.tolist(), strict=True):
        want = 1 - (1 - average[word].astype(float)) * 0.75 ** (2 * count)
        np.testing.assert_allclose(made[word], want, rtol=1e-5, atol=1e-6)
    assert read_csv(out / "losses.csv") == {"step": ["0.0", "1.0"], "loss": ["1.0", "0.5"]}
    assert made.record["training"]["kept_in"].endswith("state/moved")
    anew = lb.distill(str(model), text, min_count=2, method="moved")
    for word, count in zip(anew.words, anew.counts.tolist(), strict=True):
        np.testing.assert_allclose(anew[word], 1 - 0.5**count, rtol=1e-5)


@pytest.mark.usefixtures("trained_methods")
def test_a_method_made_of_others(model: Path, text: Path):
    made = lb.distill(str(model), text, min_count=2, method=["blend"], layers="1,2", add_words=["barrel"])
    assert list(made) == ["blend"]
    assert made["blend"].layer == "2"
    parts = lb.distill(str(model), text, min_count=2, method=["average", "moved"], layers="1,2")
    for word, count in zip(parts["moved"].words, parts["moved"].counts.tolist(), strict=True):
        share = count / (count + 5)
        want = (1 - share) * parts["average-2"][word] + share * parts["moved"][word]
        np.testing.assert_allclose(made["blend"][word], want, rtol=1e-5, atol=1e-6)
    assert made["blend"].from_elsewhere == {"frame": 1}


@pytest.mark.usefixtures("trained_methods")
def test_wrong_settings_of_a_method_that_trains(run: Run, model: Path, text: Path, tmp_path: Path):
    how = ("--model", model, "--corpus", text, "--out", tmp_path / "v", "--quiet")
    for given, told in (
        (("--method", "moved", "--set", "seize=1"), "must be one of size, epochs; got 'seize', did you mean"),
        (("--method", "average", "--start", "frame"), "--start frame is for methods that train"),
        (("--method", "moved", "--set", "size"), "--set must be NAME=VALUE"),
        (("--method", "moved", "--set", "epochs=two"), "--set moved.epochs must be a whole number, got 'two'"),
        (("--method", "moved", "--set", "epochs=1.5"), "--set moved.epochs must be a whole number, got 1.5"),
        (("--method", "moved", "--set", "size=True"), "--set moved.size must be a number, got True"),
        (("--method", "x2static", "--set", "distinct=0"), "--set x2static.distinct must be True or False, got 0"),
        (("--method", "average", "--set", "size=1"), "--set size=1 must be for methods with settings"),
        (("--method", "moved,x2static", "--set", "epochs=1"), "must be for one of moved, x2static (METHOD.NAME=VALUE)"),
        (("--method", "moved", "--start", "blend"), "cannot be made before itself"),
    ):
        status, _, complaint = run(*how, *given)
        assert status == 2
        assert told in complaint


def test_dry_run_says_words_time_memory_and_disk(run: Run, model: Path, text: Path, tmp_path: Path):
    status, said, _ = run(
        "--model", model, "--corpus", text, "--out", tmp_path / "v", "--dry-run", "--min-count", 1, "--quiet"
    )
    assert status == 0
    for part in ("20 tracked", "of memory", "of disk", "words a second"):
        assert part in said
    assert "get a vector" not in said  # all that are followed
    assert list(tmp_path.iterdir()) == []


def test_dry_run_refuses_what_the_run_would(run: Run, model: Path, text: Path, tmp_path: Path):
    how = ("--model", model, "--corpus", text, "--out", tmp_path / "v", "--dry-run", "--quiet")
    status, _, complaint = run(*how, "--tasks", "wordsims", "--data", tmp_path)
    assert (status, "did you mean 'wordsim'" in complaint) == (2, True)
    status, _, complaint = run(*how, "--tasks", "wordsim")
    assert (status, "--tasks need --data" in complaint) == (2, True)


def test_words_without_a_text_are_read_in_the_frame(run: Run, model: Path, tmp_path: Path):
    words = tmp_path / "words.txt"
    words.write_text("river\nbarrel\n", encoding="utf-8")
    status, said, err = run("--model", model, "--words", words, "--out", tmp_path / "v")
    assert (status, err) == (0, "without --corpus words are read in a template: --method frame\n")
    assert "2 words × 16 dimensions" in said
    want = lb.distill(str(model), words=["river", "barrel"])
    np.testing.assert_array_equal(DistilledVectors.load(tmp_path / "v").matrix, want.matrix)
    assert lb.distill(str(model), words=["river"]).method == "frame"
    assert (
        "--method frame" not in run("--model", model, "--words", words, "--method", "word", "--out", tmp_path / "w")[2]
    )
    status, _, complaint = run("--model", model, "--out", tmp_path / "n")
    assert (status, "--corpus is needed: best makes vectors of a text" in complaint) == (2, True)


def test_one_word_is_a_word(run: Run, model: Path, text: Path, tmp_path: Path):
    words = tmp_path / "words.txt"
    words.write_text("barrel\n", encoding="utf-8")
    how = ("--model", model, "--corpus", text, "--words", words, "--method", "average", "--unseen", "alone")
    status, said, err = run(*how, "--out", tmp_path / "v")
    assert status == 0
    assert "1 word gets a vector" in err
    assert "1 word × 16 dimensions, layer 2, 1 of them from the word alone" in said
    status, _, complaint = run(*how, "--repair", "center", "--out", tmp_path / "w")
    assert (status, "--repair needs two words or more" in complaint) == (1, True)


@pytest.mark.parametrize(
    ("losses", "told"),
    [([8, 7, 9.5], False), ([8, 7, 9.7], True), ([8, 1e10], True), ([], False), ([5], False)],
)
def test_a_loss_that_rises_is_worth_a_note(losses: list[float], told: bool):
    """From a fifth more than it was in the beginning."""
    found = worsened("x2static", SimpleNamespace(losses=[{"loss": loss} for loss in losses]))
    assert bool(found) == told


def test_a_loss_that_rises_is_told(run: Run, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whether one of so small a text rises is chance, so the threshold is moved."""
    how = ("--model", model, "--corpus", text, "--min-count", 2, "--method", "x2static")
    how = (*how, "--set", "subsample=0", "--set", "batch_texts=8")
    monkeypatch.setattr("limbeck.runs.distilling.work.WORSE", 0.0)
    status, said, _ = run(*how, "--out", tmp_path / "v")
    assert status == 0
    assert re.search(r"^note: the loss of x2static began at .* lower --set x2static.learning_rate", said, re.MULTILINE)
    monkeypatch.setattr("limbeck.runs.distilling.work.WORSE", 1e9)
    assert "note:" not in run(*how, "--out", tmp_path / "w")[1]
    columns = read_csv(tmp_path / "w" / "losses.csv")
    assert columns["epoch"] == ["1"] * len(columns["epoch"])
    assert all(value.isdigit() for name in ("shard", "step", "targets") for value in columns[name])


def test_a_layer_can_be_named_by_its_number(run: Run, model: Path, text: Path, tmp_path: Path):
    how = ("--model", model, "--corpus", text, "--min-count", 2, "--method", "x2static", "--layers", "1,2")
    assert run(*how, "--set", "layer=1", "--out", tmp_path / "v")[0] == 0
    assert DistilledVectors.load(tmp_path / "v").layer == "1"


def test_words_that_are_read_beside_a_short_list_are_told(run: Run, model: Path, text: Path, tmp_path: Path):
    words = tmp_path / "words.txt"
    words.write_text("river\nbarrel\n", encoding="utf-8")  # of the text's 20 words the first
    given = ("--model", model, "--corpus", text, "--words", words, "--out", tmp_path / "v")
    status, said, err = run(*given)
    assert status == 0
    assert "2 words get a vector; the 19 most frequent others of the text are read too" in err
    assert "2 words × 16 dimensions" in said
    _, said, _ = run(*given, "--method", "average", "--dry-run", "--quiet")
    assert "\n2 words get a vector\n" in said  # none to compare with


def test_kept_vectors_on_the_command_line(run: Run, model: Path, text: Path, tmp_path: Path):
    lb.encode(str(model), text, out=tmp_path / "kept", layers="-1", keep="float32")
    assert run("--vectors", tmp_path / "kept", "--out", tmp_path / "v", "--min-count", 2, "--quiet")[0] == 0
    direct = lb.distill(str(model), text, min_count=2, method="average")
    np.testing.assert_allclose(lb.StaticVectors.load(tmp_path / "v").matrix, direct.matrix, rtol=1e-5)
    status, _, complaint = run("--vectors", tmp_path / "kept", "--model", model, "--out", tmp_path / "w")
    assert status == 2
    assert "--vectors replaces --model and --corpus" in complaint
    assert run("--out", tmp_path / "w")[0] == 2


def test_words_frames_and_scores(run: Run, model: Path, text: Path, tmp_path: Path):
    words = tmp_path / "words.txt"
    words.write_text("river\ncellar door\nbarrel\n", encoding="utf-8")
    pairs = tmp_path / "data" / "words" / "wordsim"
    pairs.mkdir(parents=True)
    out = tmp_path / "v"
    status, said, _ = run("--model", model, "--corpus", text, "--words", words, "--unseen", "pieces", "--out", out)
    assert status == 0
    assert "3 words × 16 dimensions" in said
    assert "2 of them from pieces" in said
    assert "2 | from the mean of the word's pieces" in (out / "README.md").read_text()
    shutil.rmtree(out)
    framed = ("--method", "frame", "--template", "this is a {}.", "--template", "the {}")
    status, said, _ = run("--model", model, "--words", words, *framed, "--out", out)
    assert status == 0
    assert "“this is a ….” and “the …”" in (out / "README.md").read_text()
    status, _, complaint = run("--model", model, "--corpus", text, "--tasks", "wordsim", "--out", tmp_path / "w")
    assert status == 2
    assert "--tasks need --data" in complaint


def test_a_finished_run_is_scored_anew_on_other_tasks(run: Run, model: Path, text: Path, tmp_path: Path):
    how = ("--model", model, "--corpus", text, "--min-count", 1, "--out", tmp_path / "v")
    assert run(*how)[0] == 0
    words = [word for word in DistilledVectors.load(tmp_path / "v").words if word.isalpha()]
    pairs = [(a, b) for row, a in enumerate(words) for b in words[row + 1 :]][:40]
    for file in ("EN-RG-65.txt", "EN-WS-353-ALL.txt"):
        lines = [f"{a}\t{b}\t{min(len(b), 8) / 2}\n" for a, b in pairs]
        (tmp_path / file).write_text("".join(lines), encoding="utf-8")
    before = (tmp_path / "v" / "model.safetensors").stat().st_mtime_ns
    for task in ("rg-65", "ws-353"):
        status, said, complaint = run(*how, "--existing", "resume", "--tasks", task, "--data", tmp_path)
        assert (status, complaint) == (0, "")
        assert "complete already" in said
        assert re.search(rf"^  {task}: -?0\.\d+", said, re.MULTILINE)
        assert [score["task"] for score in DistilledVectors.load(tmp_path / "v").record["scores"]] == [task]
        assert f"| {task} |" in (tmp_path / "v" / "README.md").read_text()
    assert (tmp_path / "v" / "model.safetensors").stat().st_mtime_ns == before
    # where none are asked for, those that were taken stay
    status, said, _ = run(*how, "--existing", "resume")
    assert "ws-353" in said


def test_help_names_every_method_and_its_settings(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["distill", "--help"])
    told = capsys.readouterr().out
    for name, method in METHODS.items():
        assert re.search(rf"^  {re.escape(name)} +{re.escape(method.summary)}$", told, re.MULTILINE), name
        if method.settings is not None:
            listed = re.search(rf"^  (.*, )?{re.escape(name)}(, .*)?\n((    .*\n)+)", told, re.MULTILINE)
            assert listed, name
            for setting, value in asdict(method.settings()).items():
                assert f"{setting}={value}" in listed[3].replace("\n    ", " "), (name, setting)
    whole_words = re.search(r"^  skipgram, cbow\n((    .*\n)+)", told, re.MULTILINE)
    assert whole_words
    assert "ngrams=" not in whole_words[1]  # they would not heed it


def test_the_verb_gives_what_loading_its_folder_gives(model: Path, text: Path, tmp_path: Path):
    how: dict[str, Any] = {"min_count": 2, "set": {"x2static": {"subsample": 0}}, "figures": False}
    made = lb.distill(str(model), text, method=["average", "x2static"], out=tmp_path / "v", **how)
    made.save(tmp_path / "saved")
    for folder in ("v", "saved"):
        again = DistillResult.load(tmp_path / folder)
        assert list(again) == list(made) == ["average", "x2static"]
        assert again.record == made.record
        assert again.columns() == made.columns()
        for name, one in made.items():
            assert_same(again[name], one)
    one = lb.distill(str(model), text, method="x2static", out=tmp_path / "one", **how)
    assert one.record["options"] == {"method": ["x2static"], "min_count": 2, "set": {"x2static": {"subsample": 0}}}
    assert one.losses
    assert_same(DistilledVectors.load(tmp_path / "one"), one)
    assert_same(DistillResult.load(tmp_path / "one")["x2static"], one)
    one.save(tmp_path / "by_itself")
    assert_same(DistilledVectors.load(tmp_path / "by_itself"), one)
    assert lb.StaticVectors.load(tmp_path / "one").words == one.words


def assert_same(one: DistilledVectors, other: DistilledVectors) -> None:
    assert one.words == other.words
    np.testing.assert_array_equal(one.matrix, other.matrix)
    assert one.counts.tolist() == other.counts.tolist()
    assert one.origins == other.origins
    assert one.total == other.total
    assert one.record == other.record
    assert one.losses == other.losses


def test_the_command_and_the_verb_write_the_same_files(run: Run, model: Path, text: Path, tmp_path: Path):
    how = ("--method", "average,x2static", "--set", "epochs=2", "--min-count", 2, "--unseen", "drop", "--no-figures")
    assert run("--model", model, "--corpus", text, *how, "--out", tmp_path / "c", "--quiet")[0] == 0
    lb.distill(
        str(model),
        [text],
        method=["average", "x2static"],
        set={"epochs": 2},
        min_count=2,
        unseen="drop",
        figures=False,
        out=tmp_path / "p",
    )
    files = files_of(tmp_path / "c")
    assert files == files_of(tmp_path / "p")
    for file in files:
        one, other = ((tmp_path / name / file).read_bytes() for name in "cp")
        if file.endswith("run.json"):
            one, other = (timeless(json.loads(content)) for content in (one, other))
        if not file.endswith((".html", ".md", ".limbeck")):
            assert one == other, file


def timeless(record: dict[str, Any]) -> Any:
    training = {name: value for name, value in record.get("training", {}).items() if name != "seconds"}
    return {name: value for name, value in record.items() if name not in ("seconds", "written")} | {
        "training": training
    }


def test_what_one_method_gives_and_what_several(model: Path, text: Path):
    """A string gives static vectors, a list a result, whatever is in it."""
    one = lb.distill(str(model), text, method="average", min_count=2)
    assert isinstance(one, lb.StaticVectors)
    several = lb.distill(str(model), text, method=["average"], min_count=2)
    assert isinstance(several, lb.DistillResult)
    np.testing.assert_array_equal(several["average"].matrix, one.matrix)
    assert several.to_pandas()["words"].tolist() == [len(one)]
    for how in ({"method": "average,frame"}, {"method": "average", "layers": "1,2"}):
        with pytest.raises(UsageError) as caught:
            lb.distill(str(model), text, **how)
        assert (caught.value.code, caught.value.parameter) == ("ambiguous", "method")


@pytest.mark.parametrize(
    "given",
    [{"x2static": {"epochs": 2}}, {"x2static.epochs": 2}, {"epochs": "2"}, ["epochs=2"], "x2static.epochs=2"],
)
def test_settings_of_a_method_can_be_written_in_several_ways(given: Any):
    run = DistillRun.of({"method": "x2static", "set": given})
    assert run.settled.set == {"x2static": {"epochs": 2}}


def test_errors_name_the_remedy(model: Path, text: Path):
    with pytest.raises(UsageError) as caught:
        lb.distill(str(model), words=["a"], method="word", text_unit="paragraph")
    assert (caught.value.code, caught.value.parameter) == ("no_effect", "text_unit")
