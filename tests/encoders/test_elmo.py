"""ELMo as an encoder: the laws, words among sentences, long texts, folders, and the whole way to the measures."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from published_bilm import options, random_arrays, write
from refusals import raises
from tiny_models import odd_texts, story, text

from limbeck.cli import main
from limbeck.corpus.units import Sentence, Text
from limbeck.encoders import ElmoEncoder, Prepared, batches, load_encoder
from limbeck.encoders.bilm import BiLM
from limbeck.encoders.elmo import distinct_rows
from limbeck.encoders.loading import check_model
from limbeck.encoders.spelling import spell
from limbeck.errors import InputError, UsageError
from limbeck.testing import check_encoder

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tagging" / "elmo"


def model(seed: int = 0, **settings: Any) -> BiLM:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = BiLM(options(**settings))
        for parameter in made.parameters():
            torch.nn.init.normal_(parameter, std=0.7)
    return made


def encoder(bilm: BiLM | None = None, **settings: Any) -> ElmoEncoder:
    return ElmoEncoder(bilm or model(), name="tiny", device="cpu", **settings)


def vectors(encoder: ElmoEncoder, texts: list[Text]) -> torch.Tensor:
    return encoder.forward(encoder.prepare(texts))


def directly(words: list[str], **settings: Any) -> torch.Tensor:
    """What the model gives for words, boundaries among them: (layers, words, dim)."""
    made = model(**settings).eval()
    with torch.no_grad():
        return made(torch.from_numpy(spell(words, longest=12)).long()[None])[:, 0]


# --- the laws ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("clip", [None, 0.3])
def test_laws(dtype: str, clip: float | None) -> None:
    check_encoder(encoder(model(clip=clip), dtype=dtype))
    check_encoder(encoder(model(clip=clip), dtype=dtype), [*story(), *odd_texts()])


@pytest.mark.parametrize("settings", [{"window": 40}, {"context": 1}, {"layers": "-1"}, {"batch_tokens": 1}])
def test_laws_with_settings(settings: dict[str, Any]) -> None:
    check_encoder(encoder(**settings))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("clip", [None, 0.3])
def test_laws_on_the_gpu(dtype: str, clip: float | None) -> None:
    there = ElmoEncoder(model(clip=clip), name="there", device="cuda", dtype=dtype)
    check_encoder(there)
    if dtype == "float32":
        torch.testing.assert_close(
            vectors(there, list(story())).cpu(), vectors(encoder(model(clip=clip)), list(story())), atol=1e-4, rtol=1e-4
        )


def test_the_answer_is_the_models() -> None:
    found = vectors(encoder(), [text("the bank was steep"), text("a bank")])
    torch.testing.assert_close(found[:, :4], directly("<S> the bank was steep </S>".split())[:, 1:-1])
    torch.testing.assert_close(found[:, 4:], directly("<S> a bank </S>".split())[:, 1:-1])


def test_each_sentence_of_a_text_has_its_boundaries() -> None:
    two = Text((Sentence(("a", "bank"), index=0), Sentence(("it", "pays"), index=1)))
    prepared = encoder().prepare([two])
    assert list(prepared.strings) == ["a", "bank", "it", "pays"]
    assert prepared.positions.tolist() == [0, 1, 0, 1]
    found = vectors(encoder(), [two])
    wanted = directly("<S> a bank </S> <S> it pays </S>".split())
    torch.testing.assert_close(found, wanted[:, [1, 2, 5, 6]])


def test_a_boundary_written_in_the_text_is_a_word() -> None:
    found = vectors(encoder(), [text("a <S>")])
    assert (found[0, 1] - directly(["<S>"])[0, 0]).abs().max() > 0.1


def test_layers() -> None:
    every = vectors(encoder(), list(story()))
    assert encoder().layers == ("0", "1", "2")
    assert encoder(layers="-1").layers == ("2",)
    torch.testing.assert_close(vectors(encoder(layers="-1"), list(story())), every[2:])
    torch.testing.assert_close(vectors(encoder(layers="0,2"), list(story())), every[[0, 2]])
    lowest = encoder(layers=0)
    torch.testing.assert_close(vectors(lowest, list(story())), every[:1])
    torch.testing.assert_close(every[0, :, :5], every[0, :, 5:])  # twice the same
    assert lowest.dim == 10
    with raises(UsageError, code="unsupported", parameter="layers"):
        encoder(layers="table")
    with raises(UsageError, code="out_of_range", parameter="layers"):
        encoder(layers="3")


def test_words_are_units_whatever_their_length() -> None:
    odd = [text(["", "w" * 100, "é" * 30, "ordinary", "\u200b"])]
    prepared = encoder().prepare(odd)
    assert len(prepared) == 5
    assert prepared.dropped == {}
    assert bool(torch.isfinite(vectors(encoder(), odd)).all())


def test_lower_case_is_told_by_the_options_or_the_user() -> None:
    high, low = [text("The BANK")], [text("the bank")]
    wanted = vectors(encoder(), low)
    assert (vectors(encoder(), high) - wanted).abs().max() > 0.1
    for lowering in (encoder(model(lowercase=True)), encoder(lowercase=True)):
        torch.testing.assert_close(vectors(lowering, high), wanted)
        assert list(lowering.prepare(high).strings) == ["The", "BANK"]  # who they are is the corpus's to say
        assert lowering.describe()["lowercase"] is True
    as_written = encoder(model(lowercase=True), lowercase=False)
    torch.testing.assert_close(vectors(as_written, high), vectors(encoder(), high))


# --- windows, contexts, targets ---------------------------------------------------------------


def test_a_long_text_is_read_through_windows() -> None:
    words = [f"w{number}" for number in range(60)]
    found = encoder(window=80)
    prepared = found.prepare([text(words)])
    assert len(prepared) == 60
    assert np.diff(prepared.window_starts).max() <= 80
    assert len(prepared.window_starts) > 3
    # A word in the middle sees its window, boundaries on both sides, and nothing else.
    unit = 30
    window = prepared.unit_window[unit]
    inside = [w for w, own in zip(words, starts_in(prepared, int(window), words), strict=True) if own]
    at = inside.index(words[unit])
    wanted = directly(["<S>", *inside, "</S>"])[:, 1 + at]
    torch.testing.assert_close(found.forward(prepared)[:, unit], wanted)


def starts_in(prepared: Prepared, window: int, words: list[str]) -> list[bool]:
    """Which words a window spells."""
    low, high = prepared.window_starts[window : window + 2]
    spelt = bytes((prepared.pieces[low:high] - 1).clip(0, 255).astype(np.uint8))
    return [b"\xff" + word.encode() + b"\xff" in spelt for word in words]


def test_a_narrow_context() -> None:
    found = vectors(encoder(context=1), [text("a b c d")])
    torch.testing.assert_close(found[:, 2], directly("<S> b c d </S>".split())[:, 2])
    torch.testing.assert_close(found[:, 0], directly("<S> a b </S>".split())[:, 1])


def test_targets() -> None:
    chosen = encoder(targets=["bank"])
    prepared = chosen.prepare([text("the bank by the bank")])
    assert list(prepared.strings) == ["bank", "bank"]
    assert chosen.selective
    torch.testing.assert_close(chosen.forward(prepared), vectors(encoder(), [text("the bank by the bank")])[:, [1, 4]])


def test_small_batches_give_the_same() -> None:
    texts = [*story(), *odd_texts()]
    whole = encoder()
    prepared = whole.prepare(texts)
    wanted = {
        (sentence, position): vector
        for sentence, position, vector in zip(
            prepared.sentences.tolist(), prepared.positions.tolist(), whole.forward(prepared).unbind(1), strict=True
        )
    }
    seen = 0
    for batch in batches(prepared, batch_tokens=60):
        found = encoder(batch_tokens=60).forward(batch)
        for row, key in enumerate(zip(batch.sentences.tolist(), batch.positions.tolist(), strict=True)):
            torch.testing.assert_close(found[:, row], wanted[key], atol=1e-5, rtol=1e-5)  # as processors round
            seen += 1
    assert seen == len(prepared)


def test_words_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([[3, 1], [1, 3], [3, 1], [2, 2]], dtype=np.int16)

    def told_apart() -> None:
        first, inverse = distinct_rows(rows)
        assert len(first) == 3
        np.testing.assert_array_equal(rows[first][inverse], rows)

    told_apart()

    class Flat:
        def integers(self, *_: int) -> np.ndarray:
            return np.ones(2, dtype=np.int64)  # all rows have the same sum

    monkeypatch.setattr(np.random, "default_rng", lambda _: Flat())
    told_apart()


# --- identity ---------------------------------------------------------------------------------


def test_the_fingerprint_knows_what_changes_vectors() -> None:
    others = [
        encoder(model(seed=1)),
        encoder(model(clip=0.3)),
        encoder(model(skip=False)),
        encoder(lowercase=True),
        encoder(layers="1"),
        encoder(window=99),
        encoder(context=2),
        encoder(targets=["a"]),
        encoder(dtype="float64"),
        encoder(carry_state=True),
    ]
    prints = [one.fingerprint for one in (encoder(), *others)]
    assert len(set(prints)) == len(prints)
    assert encoder().fingerprint == encoder(batch_tokens=7).fingerprint == prints[0]


def test_the_preparer_travels_light() -> None:
    big = encoder(model(cells=400, projection=100))
    sent = pickle.dumps(big.prepare)
    assert len(sent) < 2_000
    again, here = pickle.loads(sent)(list(story())), big.prepare(list(story()))
    np.testing.assert_array_equal(again.pieces, here.pieces)
    alone = f"import pickle, sys; pickle.loads({sent!r})([]); print('torch' in sys.modules)"  # as in a worker
    assert subprocess.run([sys.executable, "-c", alone], capture_output=True, text=True).stdout.strip() == "False"


# --- state ------------------------------------------------------------------------------------


def test_state_is_carried_when_asked_for() -> None:
    carrying = encoder(carry_state=True)
    texts = [[text("a b c"), text("d")], [text("e"), text("f g h")]]
    first, second = (vectors(carrying, batch) for batch in texts)
    torch.testing.assert_close(first, vectors(encoder(), texts[0]))
    assert (second - vectors(encoder(), texts[1])).abs().max() > 1e-3
    again = encoder(carry_state=True)
    vectors(again, texts[0])
    torch.testing.assert_close(vectors(again, texts[1]), second)


@pytest.mark.data
@pytest.mark.parametrize("name", ["", "bilm-tf"])
def test_published_states(name: str) -> None:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"needs {folder}, which is not there")
    h5py = pytest.importorskip("h5py")
    found = load_encoder(folder, device="cpu", layers="-1", carry_state=True)
    lists = json.loads(next(folder.glob("*sentences.json")).read_text())
    wanted = [h5py.File(folder / f"lm_embeddings_{k}.hdf5") for k in range(3)]
    for turn in range(10):
        got = vectors(found, [text(lines[turn].split()) for lines in lists])[0]
        both = np.concatenate([np.concatenate([*file[str(turn)][...]], axis=-1) for file in wanted])
        np.testing.assert_allclose(got, both, atol=1e-5)


# --- folders and the command line -------------------------------------------------------------


def test_folders_are_known_by_their_options(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    told = options(clip=0.3)
    published = write(tmp_path / "published", told, random_arrays(told))
    there = load_encoder(published, device="cpu", units="pieces", batch_tokens=None)  # as a preset may ask
    assert isinstance(there, ElmoEncoder)
    assert there.name == "published"
    assert there.units == "words"
    BiLM.from_folder(published).save(tmp_path / "ours", dtype="float32")
    ours = load_encoder(tmp_path / "ours", name="mine", device="cpu", layers="1-2")
    assert (ours.name, ours.layers) == ("mine", ("1", "2"))
    torch.testing.assert_close(vectors(ours, list(story())), vectors(there, list(story()))[1:])
    check_model(published)
    check_model(tmp_path / "ours")


@pytest.mark.parametrize("settings", [{"pooling": "first"}, {"keep_first": True}, {"stack": "decoder"}])
def test_settings_of_other_models_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    model().save(tmp_path)
    with raises(UsageError, code="no_effect", parameter=next(iter(settings))):
        load_encoder(tmp_path, device="cpu", **settings)


def test_a_folder_without_weights(tmp_path: Path) -> None:
    (tmp_path / "options.json").write_text(json.dumps(options()))
    for act in (load_encoder, check_model):
        with raises(InputError, code="incomplete"):
            act(tmp_path)


def test_from_the_command_line_to_the_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model(lowercase=True).save(tmp_path / "tiny-elmo")
    lines = [" ".join(text.words) for text in story() if text.words] * 8
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    order = ["measure", "--model", str(tmp_path / "tiny-elmo"), "--corpus", str(tmp_path / "text.txt")]
    order += ["--format", "words", "--min-contexts", "2", "--device", "cpu", "--quiet", "--layers", "0,2"]
    assert main([*order, "--out", str(tmp_path / "run")]) == 0
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["source"]["encoder_settings"]["model_type"] == "elmo"
    rows = [line.split(",") for line in (tmp_path / "run" / "layers.csv").read_text().splitlines()]
    layer, measure, value = (rows[0].index(name) for name in ("layer", "measure", "value"))
    likeness = {row[layer]: float(row[value]) for row in rows[1:] if row[measure] == "self_similarity"}
    assert likeness["0"] == pytest.approx(1)  # a word's own vector knows no context
    assert likeness["2"] < 0.999
    (tmp_path / "tiny-elmo" / "model.safetensors").write_bytes(b"nothing")
    capsys.readouterr()
    assert main([*order, "--out", str(tmp_path / "other")]) == 1
    assert capsys.readouterr().err.strip().count("\n") == 0
