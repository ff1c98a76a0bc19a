"""The biLM against its equations, against the published expectations, and against itself run otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from published_bilm import expected, options, random_arrays, write
from refusals import raises
from torch import Tensor

from limbeck.encoders.bilm import BiLM, State
from limbeck.encoders.spelling import NO_WORD, spell
from limbeck.errors import InputError

h5py = pytest.importorskip("h5py")

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tagging" / "elmo"
SENTENCES = [
    "<S> The bank of the river was steep </S>".split(),
    "<S> A bank lends </S>".split(),
    "<S> Élan unbelievablylong </S>".split(),
    "<S> </S>".split(),
]


def characters(sentences: list[list[str]], longest: int = 12, room: int | None = None) -> tuple[Tensor, Tensor]:
    """Ids (texts, words, columns), padded on the right, and the texts' lengths."""
    ids = spell([word for sentence in sentences for word in sentence], longest=longest, room=room)
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    rows = torch.from_numpy(ids).long().split(lengths.tolist())
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=NO_WORD), lengths


def made(clip: float | None = None, *, seed: int = 0, **settings: Any) -> BiLM:
    """A random model; the same weights whatever is clipped."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BiLM(options(clip=clip, **settings)).eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.7)
    return model


def over(model: BiLM, sentences: list[list[str]]) -> list[Tensor]:
    """All layers of each sentence (layers + 1, words, d), from one batch."""
    found = model(*characters(sentences))
    return [found[:, row, : len(sentence)] for row, sentence in enumerate(sentences)]


# --- against the equations --------------------------------------------------------------------

SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "clipped": {"clip": 0.3},
    "barely clipped": {"clip": 1.5},
    "no skip": {"skip": False, "clip": 0.3},
    "tanh, no highway": {"activation": "tanh", "highways": 0},
    "three layers, two highways": {"layers": 3, "highways": 2, "clip": 1.0},
    "no projection of the state": {"projection": 7, "clip": 0.3},
    "no projection of the features": {"projection": 6},
}


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_published_weights_give_what_the_equations_say(shape: str, gradients: bool, tmp_path: Path) -> None:
    told = options(**SHAPES[shape])
    arrays = random_arrays(told)
    model = BiLM.from_folder(write(tmp_path, told, arrays)).double()
    with torch.set_grad_enabled(gradients):  # with gradients other code runs
        found = over(model, SENTENCES)
    for sentence, vectors in zip(SENTENCES, found, strict=True):
        np.testing.assert_allclose(vectors.detach(), expected(sentence, told, arrays), atol=1e-7)


def test_the_clips_of_these_tests_bite() -> None:
    """Else the test above would say nothing of clipping, and a cell's clip hides behind the projection's."""
    told = options()
    arrays = random_arrays(told)
    free = expected(SENTENCES[0], told, arrays)
    for clip in ("cell_clip", "proj_clip"):
        tight = {**told, "lstm": {**told["lstm"], clip: 0.3}}
        assert np.abs(expected(SENTENCES[0], tight, arrays) - free).max() > 0.1


# --- against the published expectations -------------------------------------------------------


def fixture(folder: Path, sentences: str) -> tuple[BiLM, list[list[list[str]]], Path]:
    if not folder.is_dir():
        pytest.skip(f"needs {folder}, which is not there")
    lists = [[line.split() for line in lines] for lines in json.loads((folder / sentences).read_text())]
    return BiLM.from_folder(folder), lists, folder


FIXTURES = [(SHARED, "sentences.json"), (SHARED / "bilm-tf", "lm_embeddings_sentences.json")]


@pytest.mark.data
@pytest.mark.parametrize(("folder", "sentences"), FIXTURES, ids=["allennlp", "bilm-tf"])
@torch.no_grad()
def test_published_states(folder: Path, sentences: str) -> None:
    """Batch i has sentence i of each of three lists, and goes on where batch i - 1 stopped."""
    model, lists, folder = fixture(folder, sentences)
    worst = {"carried": 0.0, "begun anew": 0.0}
    state: State | None = None
    wanted = [h5py.File(folder / f"lm_embeddings_{k}.hdf5") for k in range(len(lists))]
    for turn in range(len(lists[0])):
        batch, lengths = characters([["<S>", *lines[turn], "</S>"] for lines in lists], longest=50)
        vectors = model.embed(batch)
        carried = model.read(vectors, lengths, state=state, keep_state=True)
        state = carried.state
        for way, reading in (("carried", carried), ("begun anew", model.read(vectors, lengths))):
            for row, file in enumerate(wanted):
                inside = slice(1, int(lengths[row]) - 1)
                both = np.stack([side[-1][row, inside] for side in (reading.forward, reading.backward)])
                worst[way] = max(worst[way], float(np.abs(both - file[str(turn)][...]).max()))
    assert worst["carried"] < 1e-5
    assert worst["begun anew"] > 1e-2  # the state matters, so it was carried


@pytest.mark.data
@pytest.mark.parametrize("room", [None, 5])
@torch.no_grad()
def test_published_word_vectors(room: int | None) -> None:
    model, _, folder = fixture(*FIXTURES[0])
    words = (folder / "vocab_test.txt").read_text().split("\n")
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        wanted = file["embedding"][...]
    found = model.embed(torch.from_numpy(spell(words, room=room)).long())
    np.testing.assert_allclose(found, wanted, atol=1e-5)


# --- against itself, run otherwise ------------------------------------------------------------


@pytest.mark.parametrize("gradients", [False, True])
def test_steps_and_fused_agree_where_no_clip_bites(gradients: bool) -> None:
    with torch.set_grad_enabled(gradients):
        for free, clipped in zip(over(made(), SENTENCES), over(made(1e6), SENTENCES), strict=True):
            torch.testing.assert_close(free, clipped, atol=1e-6, rtol=1e-5)


def test_gradients_agree_where_no_clip_bites() -> None:
    models = made(), made(1e6)
    for model in models:
        batch, lengths = characters(SENTENCES)
        model(batch, lengths)[:, lengths[:, None] > torch.arange(batch.shape[1])].square().sum().backward()
    for (name, free), (_, clipped) in zip(*(model.named_parameters() for model in models), strict=True):
        assert free.grad is not None
        assert free.grad.abs().max() > 0
        torch.testing.assert_close(free.grad, clipped.grad, atol=1e-4, rtol=1e-4, msg=name)


@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("gradients", [False, True])
def test_a_batch_is_its_texts_one_at_a_time(clip: float | None, gradients: bool) -> None:
    model = made(clip)
    with torch.set_grad_enabled(gradients):
        for sentence, vectors in zip(SENTENCES, over(model, SENTENCES), strict=True):
            ids, _ = characters([sentence])
            torch.testing.assert_close(model(ids)[:, 0], vectors, atol=1e-6, rtol=1e-5)


def test_what_stands_beyond_the_end_is_not_read() -> None:
    model = made()
    ids, lengths = characters(SENTENCES)
    beyond = torch.arange(ids.shape[1]) >= lengths[:, None]
    other = torch.where(beyond[..., None], 77, ids)
    with torch.no_grad():
        torch.testing.assert_close(model(other, lengths)[:, ~beyond], model(ids, lengths)[:, ~beyond])


@torch.no_grad()
def test_few_words_of_room_are_enough() -> None:
    model = made()
    narrow, whole = (characters([["a", "an", "<S>"]], room=room)[0] for room in (3, None))
    assert narrow.shape[-1] < whole.shape[-1]
    torch.testing.assert_close(model.embed(narrow), model.embed(whole))


@torch.no_grad()
@pytest.mark.parametrize("clip", [None, 0.3])
def test_each_direction_has_read_what_it_says(clip: float | None) -> None:
    model = made(clip)
    ids, _ = characters([["<S>", "a", "b", "c", "</S>"]])
    other = ids.clone()
    other[0, 2] = characters([["x"]])[0][0, 0]
    (forward, backward, own), (forward_other, backward_other, own_other) = map(model.directions, (ids, other))
    assert len(forward) == len(backward) == 2
    assert [*own.shape] == [*forward[0].shape] == [1, 5, 5]
    for found, changed, places in (
        ([own], [own_other], {2}),
        (forward, forward_other, {2, 3, 4}),
        (backward, backward_other, {0, 1, 2}),
    ):
        for layer, layer_other in zip(found, changed, strict=True):
            assert {*torch.nonzero((layer != layer_other).any(-1)[0]).flatten().tolist()} == places


@torch.no_grad()
def test_layers_are_the_directions_side_by_side() -> None:
    model = made()
    ids, lengths = characters(SENTENCES)
    forward, backward, own = model.directions(ids, lengths)
    found = model(ids, lengths)
    torch.testing.assert_close(found[0], torch.cat([own, own], -1))
    torch.testing.assert_close(found[2], torch.cat([forward[1], backward[1]], -1))
    lower = model.read(own, lengths, layers=1)
    assert len(lower.forward) == 1
    torch.testing.assert_close(lower.backward[0], backward[0])


# --- state ------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("gradients", [False, True])
def test_going_on_is_reading_at_once(clip: float | None, gradients: bool) -> None:
    """Texts cut in two, each at its own place: from the left, the second half goes on where the first stopped."""
    model = made(clip)
    whole = [["<S>", *"abcde", "</S>"], ["<S>", *"fg", "</S>"]]
    with torch.set_grad_enabled(gradients):
        heads, head_lengths = characters([whole[0][:4], whole[1][:1]])
        tails, tail_lengths = characters([whole[0][4:], whole[1][1:]])
        first = model.read(model.embed(heads), head_lengths, keep_state=True)
        assert first.state is not None
        before = [*map(Tensor.clone, (*first.state.hidden, *first.state.cell))]
        second = model.read(model.embed(tails), tail_lengths, state=first.state)
        assert second.state is None
        at_once = model.read(model.embed(characters(whole)[0]), characters(whole)[1])
        for layer in range(2):
            torch.testing.assert_close(second.forward[layer][0, :3], at_once.forward[layer][0, 4:])
            torch.testing.assert_close(second.forward[layer][1, :3], at_once.forward[layer][1, 1:4])
        for kept, now in zip(before, (*first.state.hidden, *first.state.cell), strict=True):
            torch.testing.assert_close(kept, now, rtol=0, atol=0)  # whoever gave a state still has it


@pytest.mark.parametrize("clip", [None, 0.5])
def test_full_blocks_go_on_too(clip: float | None) -> None:
    model = made(clip)
    vectors = torch.randn(3, 8, 5, generator=torch.Generator().manual_seed(0))
    first = model.read(vectors[:, :5], keep_state=True)
    assert first.state is not None
    second = model.read(vectors[:, 5:], state=first.state.detach())
    torch.testing.assert_close(second.forward[1], model.read(vectors).forward[1][:, 5:])


@torch.no_grad()
@pytest.mark.parametrize("clip", [None, 0.5])
def test_batches_of_another_size(clip: float | None) -> None:
    """Rows that a state lacks begin at zero; rows beyond the batch stay as they are."""
    model = made(clip)
    vectors = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    of_three = model.read(vectors, keep_state=True).state
    of_one = model.read(vectors[:1], keep_state=True).state
    assert of_three is not None
    assert of_one is not None
    grown = model.read(vectors, state=of_one)
    torch.testing.assert_close(grown.backward[1][1:], model.read(vectors).backward[1][1:])
    torch.testing.assert_close(grown.backward[1][:1], model.read(vectors[:1], state=of_one).backward[1])
    after = model.read(vectors[:1], state=of_three, keep_state=True).state
    assert after is not None
    for new, old in zip((*after.hidden, *after.cell), (*of_three.hidden, *of_three.cell), strict=True):
        torch.testing.assert_close(new[:, 1:], old[:, 1:], rtol=0, atol=0)
        assert (new[:, 0] != old[:, 0]).any()


@torch.no_grad()
@pytest.mark.parametrize("clip", [None, 0.5])
def test_a_layer_leaves_the_state_it_is_given(clip: float | None) -> None:
    layer = made(clip).layers[0]
    hidden, cell = torch.ones(2, 3, 5), torch.ones(2, 3, 7)
    _, end = layer(torch.ones(2, 3, 4, 5), None, (hidden, cell), keep_end=True)
    assert (end[1] != 1).any()
    assert bool((hidden == 1).all())
    assert bool((cell == 1).all())


# --- training ---------------------------------------------------------------------------------


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("autocast", [False, True])
def test_it_learns(clip: float | None, autocast: bool) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BiLM(options(clip=clip, dropout=0.1)).train()
        softmax = torch.nn.Linear(5, 4)
        words = torch.arange(24).reshape(2, 12) % 4
        ids = torch.from_numpy(spell(list("abcd"), longest=12)).long()[words]
        optimizer = torch.optim.Adam([*model.parameters(), *softmax.parameters()], lr=0.03)
        losses = []
        for _ in range(30):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                forward, backward, _ = model.directions(ids)
                scores = [softmax(forward[-1][:, :-1]), softmax(backward[-1][:, 1:])]
            targets = [words[:, 1:], words[:, :-1]]
            loss = sum(
                torch.nn.functional.cross_entropy(score.float().flatten(0, 1), target.flatten())
                for score, target in zip(scores, targets, strict=True)
            )
            assert isinstance(loss, Tensor)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("clip", [None, 0.5])
def test_validation_under_autocast(clip: float | None) -> None:
    model = made(clip)
    ids, lengths = characters(SENTENCES)
    inside = lengths[:, None] > torch.arange(ids.shape[1])
    with torch.no_grad():
        exact = model(ids, lengths)[:, inside]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            near = model(ids, lengths)[:, inside].float()
    assert 0 < float((near - exact).norm() / exact.norm()) < 0.05


def test_dropout_is_for_training_alone() -> None:
    model = made(dropout=0.5)
    ids, lengths = characters(SENTENCES)
    torch.testing.assert_close(model(ids, lengths), model(ids, lengths))
    assert (model.train()(ids) != model(ids)).any()


# --- files ------------------------------------------------------------------------------------


def test_a_model_goes_to_a_folder_and_back(tmp_path: Path) -> None:
    model = made(0.3, lowercase=True)
    ids, lengths = characters(SENTENCES)
    with torch.no_grad():
        here = model(ids, lengths)
        for dtype, away in (("float32", 0.0), ("float16", 5e-3)):
            model.save(tmp_path / dtype, dtype=dtype)
            there = BiLM.from_folder(tmp_path / dtype)
            assert there.published_options == model.published_options
            assert {parameter.dtype for parameter in there.parameters()} == {torch.float32}
            assert float((there(ids, lengths) - here).abs().max()) <= away
    sizes = [(tmp_path / dtype / "model.safetensors").stat().st_size for dtype in ("float16", "float32")]
    assert sizes[0] < 0.75 * sizes[1]
    model.save(tmp_path / "float32")  # once more into the same folder
    assert (tmp_path / "float32" / "model.safetensors").stat().st_size == sizes[0]


def test_published_file_names(tmp_path: Path) -> None:
    told = options()
    folder = write(tmp_path, told, random_arrays(told), "elmo_2x7_5_6cnn_weights.hdf5")
    (folder / "options.json").rename(folder / "elmo_2x7_5_6cnn_options.json")
    assert BiLM.from_folder(folder).options.cells == 7


def changed(part: str, **values: Any) -> dict[str, Any]:
    told = options()
    return {**told, part: {**told[part], **values}}


@pytest.mark.parametrize(
    ("told", "code", "datum"),
    [
        ({}, "incomplete", "'char_cnn'"),
        ({**options(), "lstm": {}}, "incomplete", "'dim'"),
        ({**options(), "lstm": []}, "malformed", ""),
        (changed("char_cnn", activation="gelu"), "unknown_choice", "'gelu'"),
        (changed("char_cnn", n_characters=300), "out_of_range", "261"),
        (changed("char_cnn", filters=[[60, 4]]), "out_of_range", ""),
        (changed("lstm", projection_dim=9), "out_of_range", ""),
        (changed("lstm", n_layers=0), "out_of_range", ""),
        (changed("lstm", dim=8), "damaged", "32"),
        (changed("lstm", n_layers=3), "incomplete", ""),
        (changed("lstm", n_layers="two"), "malformed", ""),
    ],
)
def test_options_that_do_not_fit(told: dict[str, Any], code, datum: str, tmp_path: Path) -> None:
    folder = write(tmp_path, told, random_arrays(options()))
    with raises(InputError, code=code, says=datum) as raised:
        BiLM.from_folder(folder)
    assert "\n" not in str(raised.value)
    assert str(folder) in str(raised.value)


def test_folders_that_lack_something(tmp_path: Path) -> None:
    told = options()
    folder = write(tmp_path / "two", told, random_arrays(told))
    write(folder, told, random_arrays(told), "other_weights.hdf5")
    with raises(InputError, code="incomplete"):
        BiLM.from_folder(folder)
    (tmp_path / "none").mkdir()
    with raises(InputError, code="incomplete"):
        BiLM.from_folder(tmp_path / "none")
    for name in ("model.safetensors", "weights.hdf5"):
        broken = tmp_path / name
        broken.mkdir()
        (broken / "options.json").write_text(json.dumps(told))
        (broken / name).write_bytes(b"no weights")
        with raises(InputError, code="damaged"):
            BiLM.from_folder(broken)
    (broken / "options.json").write_text("{")
    with raises(InputError, code="malformed"):
        BiLM.from_folder(broken)
    arrays = random_arrays(told)
    del arrays["CNN/b_cnn_1"]
    with raises(InputError, code="incomplete"):
        BiLM.from_folder(write(tmp_path / "short", told, arrays))
    arrays["CNN/b_cnn_1"] = np.zeros(9)
    with raises(InputError, code="damaged"):
        BiLM.from_folder(write(tmp_path / "wide", told, arrays))
