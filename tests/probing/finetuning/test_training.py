"""Training: the same weights as a loop written by hand, on any division of the work, stopped or not."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import made_tasks
import numpy as np
import pytest
import torch
from refusals import raises
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support

from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.probing.finetuning import training
from limbeck.probing.finetuning.data import tagged
from limbeck.probing.finetuning.fitting import finetune_model
from limbeck.probing.finetuning.pieces import Places
from limbeck.probing.finetuning.scores import majority, score_part
from limbeck.probing.finetuning.settings import FinetuneSettings
from limbeck.seeds import generator_for

QUICK = FinetuneSettings(steps=3, batch=4, learning_rate=1e-2, evaluate_every=3, attention_texts=0)


def weights(found) -> dict[str, torch.Tensor]:
    return found.network.state_dict()


def no_dropout(parts):
    for module in parts.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = 0.0
    parts.model.config.attention_probs_dropout_prob = parts.model.config.hidden_dropout_prob = 0.0
    return parts


def tiny(family: str = "bert"):
    return no_dropout(made_tasks.parts(family))


@pytest.mark.parametrize("kind", ["words", "texts", "pairs"])
def test_three_steps_by_hand(kind):
    """transformers' tokenizer, cross-entropy and Adam as anybody would write them, from the same start."""
    data = {
        "words": lambda: made_tasks.tagging(10),
        "texts": lambda: made_tasks.classes(10),
        "pairs": lambda: made_tasks.classes(10, pair=True),
    }[kind]()
    parts = tiny()
    model = copy.deepcopy(parts.model)
    found = finetune_model(parts, data, settings=QUICK, device="cpu")

    start = finetune_model(tiny(), data, settings=FinetuneSettings(steps=1, learning_rate=1e-30, attention_texts=0))
    head = torch.nn.Linear(16, len(data.classes))
    head.load_state_dict({name: value.clone() for name, value in start.network.head.state_dict().items()})
    labels = data.parts["train"].examples.labels if kind != "words" else np.concatenate(data.parts["train"].tags)
    shares = [(sum(labels == number) + 1) / (len(labels) + len(data.classes)) for number in range(len(data.classes))]
    np.testing.assert_allclose(head.bias.detach(), np.log(shares), rtol=1e-5)
    assert float(head.weight.detach().std()) == pytest.approx(0.02, rel=0.4)
    model.train()
    everything = [*model.parameters(), *head.parameters()]
    adam = torch.optim.Adam(everything, lr=1e-2, betas=(0.9, 0.999), eps=1e-8)
    train = data.parts["train"]
    losses = []
    for step in range(3):
        order = generator_for(0, "finetune", "order", 0).permutation(10)[4 * step : 4 * step + 4]
        vectors, labels = [], []
        for row in order:
            if kind == "words":
                words = train.sentences[row].words
                given = parts.tokenizer(list(words), is_split_into_words=True, return_tensors="pt")
                states = model(**given).last_hidden_state[0]
                owners = given.word_ids(0)
                for word in range(len(words)):
                    vectors.append(states[max(at for at, owner in enumerate(owners) if owner == word)])
                    labels.append(int(train.tags[row][word]))
            else:
                given = parts.tokenizer(*(side[row] for side in train.examples.texts), return_tensors="pt")
                behind = (given["input_ids"] == parts.tokenizer.sep_token_id).cumsum(1)
                second = (behind - (given["input_ids"] == parts.tokenizer.sep_token_id).long()).clamp(max=1)
                given["token_type_ids"] = second  # 1 behind the first [SEP], as BERT has it
                vectors.append(model(**given).last_hidden_state[0, 0])
                labels.append(int(train.examples.labels[row]))
        loss = torch.nn.functional.cross_entropy(head(torch.stack(vectors)), torch.tensor(labels))
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(float(loss.detach()))
    assert found.best_step == 3
    np.testing.assert_allclose(found.curves.steps["loss"], losses, rtol=1e-4)
    by_hand = {f"model.{name}": value for name, value in model.state_dict().items()}
    by_hand |= {f"head.{name}": value for name, value in head.state_dict().items()}
    moved = 0.0
    for name, value in weights(found).items():
        if name.endswith("key.bias"):  # softmax does not see it: its gradient is rounding, which Adam makes large
            continue
        off = (value - by_hand[name]).abs()
        assert float(off.median()) < 1e-6, name
        assert float((off > 1e-3).float().mean()) < 0.02, name
        moved = max(moved, float((value - weights(start)[name]).abs().max()))
    assert moved > 0.02  # three steps of 0.01


def test_passes_change_nothing_but_rounding():
    data = made_tasks.tagging(12)
    whole = finetune_model(tiny(), data, settings=QUICK)
    cut = finetune_model(tiny(), data, settings=QUICK, batch_tokens=7)
    np.testing.assert_allclose(cut.curves.steps["loss"], whole.curves.steps["loss"], rtol=1e-5)


def test_equal_seeds_give_equal_weights_and_others_do_not():
    data = made_tasks.tagging(12)
    torch.manual_seed(1)
    first = weights(finetune_model(made_tasks.parts(), data, settings=QUICK))  # with dropout
    torch.manual_seed(2)
    drawn = torch.rand(1)
    torch.manual_seed(2)
    again = weights(finetune_model(made_tasks.parts(), data, settings=QUICK))
    assert torch.equal(torch.rand(1), drawn)  # the caller's chance is left alone
    assert all(torch.equal(first[name], again[name]) for name in first)
    other = weights(finetune_model(made_tasks.parts(), data, settings=replace(QUICK, seed=1)))
    assert not torch.equal(first["head.weight"], other["head.weight"])


@pytest.mark.parametrize(
    ("family", "make"),
    [
        ("bert", lambda: made_tasks.tagging(60)),
        ("bert", lambda: made_tasks.classes(60, pair=True)),
        ("gpt2", lambda: made_tasks.tagging(60)),
        ("gpt2", lambda: made_tasks.classes(60)),
    ],
)
def test_what_can_be_learnt_is_learnt(family, make):
    data = make()
    settings = FinetuneSettings(epochs=20, batch=12, learning_rate=5e-3, evaluate_every=5, attention_texts=2)
    found = finetune_model(tiny(family), data, settings=settings)
    assert found.scores["dev"].values["accuracy"] >= 0.9
    assert found.scores["test"].values["accuracy"] > found.majority["test"]
    assert found.used["causal"] == (family == "gpt2")
    assert found.parent != found.fingerprint
    assert found.attention.pooled.min() < 0.999  # it has been trained, and the parent it is compared with has not
    dev = found.curves.dev
    best = int(np.argmax(dev["accuracy"]))  # the first of equals
    assert dev["step"][best] == found.best_step
    assert found.scores["dev"].values["accuracy"] == dev["accuracy"][best]  # these are the weights it has


def test_entities_are_learnt_and_the_best_step_is_that_of_their_f1():
    """Entities of one and of two words, told by the words themselves."""

    def some(count: int, seed: int):
        draws = np.random.default_rng(seed)
        made = []
        for index in range(count):
            noun, verb = draws.choice(made_tasks.NOUNS), draws.choice(made_tasks.VERBS)
            made.append(made_tasks.sentence(f"the {noun} {noun} {verb} .", "O B-x I-x O O", index))
            made.append(made_tasks.sentence(f"{verb} the .", "B-y O O", index))
        return made

    data = tagged("ner", {"train": some(30, 0), "dev": some(6, 1), "test": some(6, 2)}, metric="f1")
    settings = FinetuneSettings(steps=120, batch=12, learning_rate=5e-3, evaluate_every=10, attention_texts=0)
    found = finetune_model(tiny(), data, settings=settings)
    dev = found.curves.dev
    assert dev["step"][int(np.argmax(dev["f1"]))] == found.best_step
    assert found.scores["dev"].values["f1"] == max(dev["f1"]) > 0.9
    assert found.scores["test"].classes["class"] == ["x", "y"]
    assert found.used["metric"] == "f1"


class Stopped(Exception):
    pass


def test_stopped_and_gone_on_with_is_as_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = made_tasks.tagging(12)
    settings = FinetuneSettings(steps=6, batch=4, learning_rate=1e-2, evaluate_every=1, attention_texts=0)
    whole = finetune_model(made_tasks.parts(), data, settings=settings)
    steps = training._step

    def stop_at_fifth(*given):
        if given[-1] == 5:
            raise Stopped
        return steps(*given)

    monkeypatch.setattr(training, "_step", stop_at_fifth)
    with pytest.raises(Stopped):
        finetune_model(made_tasks.parts(), data, settings=settings, state=tmp_path / "state", checkpoint_seconds=0)
    done = []
    monkeypatch.setattr(training, "_step", lambda *given: done.append(given[-1]) or steps(*given))
    resumed = finetune_model(made_tasks.parts(), data, settings=settings, state=tmp_path / "state")
    assert done == [5, 6]
    assert all(torch.equal(weights(whole)[name], weights(resumed)[name]) for name in weights(whole))
    assert resumed.curves == whole.curves
    assert resumed.best_step == whole.best_step
    other = replace(settings, learning_rate=1e-3)
    with raises(InputError, code="other_run", parameter="existing"):
        finetune_model(made_tasks.parts(), data, settings=other, state=tmp_path / "state")


def test_scores_are_those_of_scikit_learn():
    data = made_tasks.tagging(10)
    part = data.parts["dev"]
    gold = np.concatenate(part.tags)
    said = np.where(np.random.default_rng(0).random(len(gold)) < 0.3, (gold + 1) % 4, gold)
    example = np.repeat(np.arange(len(part)), [len(tags) for tags in part.tags])
    position = np.concatenate([np.arange(len(tags)) for tags in part.tags])
    zeros = np.zeros(len(gold), dtype=np.int64)
    found = score_part(data, part, Places(zeros, zeros, zeros, example, position, gold), said)
    assert found.values["accuracy"] == pytest.approx(accuracy_score(gold, said))
    assert found.values["macro_f1"] == pytest.approx(f1_score(gold, said, average="macro"))
    theirs = precision_recall_fscore_support(gold, said, labels=range(4))
    for name, values in zip(("precision", "recall", "f1", "n"), theirs, strict=True):
        np.testing.assert_allclose(found.classes[name], values)
    # a word without a place is wrong, not left out
    some = Places(*(column[1:] for column in (zeros, zeros, zeros, example, position, gold)))
    assert score_part(data, part, some, gold[1:]).values["accuracy"] == pytest.approx(1 - 1 / len(gold))
    most = np.bincount(np.concatenate(data.parts["train"].tags)).argmax()
    assert majority(data) == pytest.approx((gold == most).mean())


def test_entities_are_scored_whole_and_over_all_sentences():
    train = [made_tasks.sentence("a b c d", "B-x I-x O B-y")]
    dev = [made_tasks.sentence("a b c", "B-x I-x O"), made_tasks.sentence("d e", "B-y B-z")]
    data = tagged("ner", {"train": train, "dev": dev}, metric="f1")
    numbers = {name: number for number, name in enumerate((*data.classes, *data.unknown))}
    said = np.array([numbers[tag] for tag in ("B-x", "I-x", "B-y", "B-y", "O")])
    gold = np.concatenate(data.parts["dev"].tags)
    zeros = np.zeros(5, dtype=np.int64)
    places = Places(zeros, zeros, zeros, np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1]), gold)
    found = score_part(data, data.parts["dev"], places, said)
    # true: x(0,2), y, z; said: x(0,2), y(2,3), y: two right of three, both ways
    assert found.values["precision"] == pytest.approx(2 / 3)
    assert found.values["recall"] == pytest.approx(2 / 3)
    assert found.values["f1"] == pytest.approx(2 / 3)
    assert found.values["accuracy"] == pytest.approx(3 / 5)
    assert dict(zip(found.classes["class"], found.classes["f1"], strict=True)) == {
        "x": 1.0, "y": pytest.approx(2 / 3), "z": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"learning_rate": 0.0}, "out_of_range"),
        ({"learning_rate": 1.0}, "out_of_range"),
        ({"batch": 0}, "out_of_range"),
        ({"max_length": 3}, "out_of_range"),
        ({"max_train": 1}, "out_of_range"),
        ({"word_piece": "lsat"}, "unknown_choice"),
        ({"attention_window": 2}, "no_effect"),
    ],
)
def test_settings_that_cannot_be(settings, code):
    with pytest.raises(UsageError) as caught:
        finetune_model(made_tasks.parts(), made_tasks.classes(8), settings=FinetuneSettings(**settings))
    assert (caught.value.code, caught.value.parameter) == (code, *settings)


def test_models_that_cannot_be():
    with raises(UsageError, code="unsupported", parameter="model"):
        finetune_model(made_tasks.parts("t5"), made_tasks.classes(8))
    with raises(UsageError, code="unsupported", parameter="model"):
        finetune_model("mini-elmo", made_tasks.classes(8))


def test_a_loss_that_leaves_all_bounds_is_told(monkeypatch: pytest.MonkeyPatch):
    parts = tiny()
    with torch.no_grad():
        parts.model.encoder.layer[0].output.dense.weight[0, 0] = torch.nan
    with raises(LimbeckError, code="not_finite", parameter="learning_rate"):
        finetune_model(parts, made_tasks.classes(8), settings=QUICK)
