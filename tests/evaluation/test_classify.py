"""Classifiers on frozen vectors: what can be learnt is, equal starts are equal, and nothing peeks."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from refusals import raises
from sklearn.pipeline import make_pipeline

from limbeck import evaluation, tables
from limbeck.analysis.spaces import family_of, published_methods
from limbeck.encoders import FunctionEncoder, load_encoder
from limbeck.errors import InputError, UsageError
from limbeck.evaluation import EvaluationSettings
from limbeck.evaluation.classifying import (
    Classified,
    ClassifySet,
    Examples,
    classify,
    classify_table,
    epoch_table,
    mlp,
    published_repairs,
)
from limbeck.repairs import AllButTheTop, Center, ClusterRemoval
from limbeck.seeds import generator_for

VOCABULARY = [f"w{number}" for number in range(60)]
TABLE = dict(zip(VOCABULARY, np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32), strict=True))
NOTHING = np.zeros(8, dtype=np.float32)
ENCODER = FunctionEncoder(
    lambda texts: [np.stack([TABLE.get(w, NOTHING) for w in t.words]) for t in texts], name="made"
)


def made_set(n=240, *, chance=False, seed=0, **changes):
    """Texts of five words; the class says on which side of a plane their mean lies, or a coin does."""
    rng = np.random.default_rng(seed)

    def examples(count):
        words = rng.choice(VOCABULARY, size=(count, 5))
        means = np.array([[TABLE[w] for w in row] for row in words]).mean(1)
        labels = rng.integers(2, size=count) if chance else (means[:, 0] - means[:, 3] > 0).astype(int)
        return Examples(([" ".join(row) for row in words],), labels)

    fields = {"name": "made", "kind": "single", "classes": ("no", "yes")}
    return ClassifySet(**{**fields, "train": examples(n), "test": examples(200), **changes})


def run(data=None, *, repairs=None, layer=None, **options):
    settings = {"starts": 2, "epochs": 4, "draws": 100, "learning_rate": 0.02, **options}
    repairs = repairs or {"baseline": None}
    return classify(data or made_set(), ENCODER, repairs, EvaluationSettings(**settings), layer=layer)


# --- learning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["mean", "flattened"])
def test_what_can_be_learnt_is(features):
    length = {"length": 5} if features == "flattened" else {}
    repairs = {"as": None, "centred": Center()}
    result = run(made_set(400), features=features, epochs=6, repairs=repairs, **length)
    for setting in ("as", "centred"):
        summary = result.summary(setting)
        assert summary.value > 0.85
        assert summary.low < summary.value < summary.high
        assert result.losses[result.settings.index(setting), :, -1].max() < result.losses[0, :, 0].min()


def test_what_cannot_be_learnt_is_not():
    result = run(made_set(300, chance=True), starts=4, draws=400)
    summary = result.summary("baseline")
    assert summary.low < 0.5 < summary.high
    assert abs(summary.value - 0.5) < 0.1


def test_pairs_more_than_two_classes_and_matthews():
    rng = np.random.default_rng(3)
    words = rng.choice(VOCABULARY, size=(500, 2))
    sides = np.array([[TABLE[w][0] > 0 for w in row] for row in words])
    labels = sides.sum(1)  # how many of the two texts are on the one side: 0, 1 or 2
    examples = Examples((words[:, 0].tolist(), words[:, 1].tolist()), labels)
    data = ClassifySet(
        "three", "pair", ("0", "1", "2"), examples[np.arange(400)], examples[np.arange(400, 500)], metric="matthews"
    )
    result = run(data, epochs=8)
    assert result.summary("baseline").value > 0.8
    assert result.majority == 0  # one class for all, by Matthews


def test_the_network_is_that_of_torch():
    """One start against torch's own layers and plain Adam, from the same weights in the same order."""
    rng = np.random.default_rng(4)
    x = torch.from_numpy(rng.normal(size=(70, 6)).astype(np.float32))
    labels = rng.integers(3, size=70)
    rows, watched = np.arange(0, 50), np.arange(50, 70)
    settings = mlp.MlpSettings(hidden=7, epochs=3, batch=16, learning_rate=0.01)
    found = mlp.train(
        lambda numbers: x[numbers], labels, width=6, classes=3, rows=rows, watched=watched, seeds=[5, 11],
        settings=settings, device=torch.device("cpu"),
    )  # fmt: skip
    for place, seed in enumerate((5, 11)):
        net = torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
        first = mlp.start([seed], width=6, hidden=7, classes=3, device=torch.device("cpu"))
        with torch.no_grad():
            for layer, weight in ((net[0], first[0]), (net[2], first[2])):
                layer.weight.copy_(weight[0].T)
                layer.bias.zero_()
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        for epoch in range(3):
            order = generator_for(seed, "classify", "order", epoch).permutation(rows)
            losses = []
            for begin in range(0, 50, 16):
                batch = order[begin : begin + 16]
                loss = torch.nn.functional.cross_entropy(net(x[batch]), torch.from_numpy(labels[batch]))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses += [float(loss.detach())] * len(batch)
            assert found.losses[place, epoch] == pytest.approx(np.mean(losses), abs=1e-5)
            predicted = net(x[watched]).argmax(1).numpy()
            assert found.predictions[place, epoch].tolist() == predicted.tolist()


def test_first_weights_are_glorots():
    hidden, bias, output, _ = mlp.start(range(3), width=40, hidden=30, classes=2, device=torch.device("cpu"))
    assert (hidden.shape, output.shape) == ((3, 40, 30), (3, 30, 2))
    assert (bias == 0).all()
    assert float(hidden.detach().abs().max()) == pytest.approx(np.sqrt(6 / 70), rel=0.01)
    assert float(hidden.detach().mean()) == pytest.approx(0, abs=0.01)
    assert not torch.equal(hidden[0], hidden[1])


# --- equal starts -------------------------------------------------------------------------------


def test_settings_start_alike():
    """Equal features give equal runs, wherever they stand: no setting goes on from another's weights."""
    result = run(repairs={"one": None, "two": None})
    assert np.array_equal(result.predictions[0], result.predictions[1])
    assert np.array_equal(result.losses[0], result.losses[1])
    same = result.compare("two")
    assert (same.difference, same.low, same.high) == (0, 0, 0)  # the same examples and starts in every draw
    turned = run(repairs={"centred": Center(), "one": None})
    assert np.array_equal(turned.losses[1], result.losses[0])
    assert not np.array_equal(turned.losses[0], result.losses[0])


def test_starts_differ_and_each_is_its_own():
    several = run(starts=3)
    assert len({losses.tobytes() for losses in several.losses[0]}) == 3
    fewer = run(starts=2)
    np.testing.assert_allclose(fewer.losses[0], several.losses[0, :2], rtol=1e-4)
    assert (fewer.predictions[0] == several.predictions[0, :2]).mean() > 0.99


def test_equal_seeds_give_equal_results():
    one, other = run(max_train=100), run(max_train=100)
    assert np.array_equal(one.losses, other.losses)
    assert one.table_rows() == other.table_rows()
    assert not np.array_equal(one.losses, run(max_train=100, seed=1).losses)


# --- nothing peeks ------------------------------------------------------------------------------


def watch_training(monkeypatch):
    """What each training run was given."""
    seen = []
    real = mlp.train

    def spy(inputs, labels, **options):
        seen.append({"labels": labels.copy(), **options})
        return real(inputs, labels, **options)

    monkeypatch.setattr(mlp, "train", spy)
    return seen


def test_nobody_is_trained_on_what_is_held_out_or_reported(monkeypatch):
    seen = watch_training(monkeypatch)
    data = made_set(240)
    result = run(data, repairs={"a": None, "b": Center()})
    assert (result.trained, result.held, result.available) == (216, 24, 240)
    for given in seen:
        rows, watched = set(given["rows"].tolist()), given["watched"].tolist()
        held, reported = set(watched[:24]), watched[24:]
        assert rows | held == set(range(240))
        assert not rows & held
        assert reported == list(range(240, 440))
        assert np.array_equal(given["rows"], seen[0]["rows"])


def test_the_epoch_is_not_chosen_on_what_is_reported():
    """Turn all reported labels round: whoever had chosen by them would now choose another epoch."""
    data = made_set(120, chance=True)
    result = run(data, epochs=8, starts=5)
    turned = run(replace(data, test=Examples(data.test.texts, 1 - data.test.labels)), epochs=8, starts=5)
    assert np.array_equal(turned.chosen, result.chosen)
    np.testing.assert_allclose(turned.chosen_scores, 1 - result.chosen_scores)
    best = result.scores.argmax(-1)
    assert not np.array_equal(best, result.chosen)  # else this would show nothing
    assert result.summary("baseline").value < result.scores.max(-1).mean()


def by_hand(**changes):
    """One setting, two starts, three epochs, four reported examples."""
    predictions = np.array([[[[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]], [[1, 0, 0, 1], [0, 1, 0, 0], [0, 1, 1, 0]]]])
    fields = {
        "task": "t", "encoder": "e", "metric": "accuracy", "reported": "dev", "settings": ("baseline",),
        "seeds": (0, 1), "trained": 9, "held": 1, "available": 20, "majority": 0.5, "dropped": {}, "notes": (),
        "used": {}, "gold": np.array([0, 1, 1, 0]), "predictions": predictions.astype(np.int16),
        "held_out": np.array([[[0.1, 0.4, 0.9], [0.7, 0.7, 0.2]]]), "losses": np.zeros((1, 2, 3)), "draws": 50,
    }  # fmt: skip
    return Classified(**{**fields, **changes})


def test_scores_by_hand():
    """Start 0 did best on held-out examples after epoch 3, start 1 after 1 and 2 alike: the first of these counts."""
    result = by_hand()
    np.testing.assert_allclose(result.scores, [[[0.5, 1.0, 0.75], [0.0, 0.75, 1.0]]])
    assert result.chosen.tolist() == [[2, 0]]
    assert result.chosen_scores.tolist() == [[0.75, 0.0]]
    summary = result.summary("baseline")
    assert summary.value == 0.375
    assert summary.spread == pytest.approx(np.std([0.75, 0.0], ddof=1))
    np.testing.assert_allclose(result.curve("baseline"), [0.25, 0.875, 0.875])
    assert result.epochs_to_first("baseline") == 2
    with raises(UsageError, code="unknown_choice", parameter="setting"):
        result.summary("other")


def test_sooner_and_never():
    one = by_hand()
    both = by_hand(
        settings=("baseline", "other", "worse"),
        predictions=np.concatenate(
            [one.predictions, one.predictions[:, :, ::-1], one.predictions[:, :, :1].repeat(3, 2)]
        ),
        held_out=one.held_out.repeat(3, 0),
        losses=one.losses.repeat(3, 0),
    )
    assert [both.epochs_to_first(name) for name in both.settings] == [2, 1, None]


# --- repairs ------------------------------------------------------------------------------------


class Spy(Center):
    """Keeps the rows it is fitted on."""

    seen: ClassVar[list[np.ndarray]] = []

    def fit(self, X, y=None, sample_weight=None):
        Spy.seen.append(np.asarray(X))
        return super().fit(X)


@pytest.mark.parametrize("transductive", [False, True])
def test_repairs_are_fitted_on_the_examples_trained_on(transductive, monkeypatch):
    Spy.seen.clear()
    seen = watch_training(monkeypatch)
    data = made_set(100)
    given = Spy()
    run(data, repairs={"baseline": None, "spied": given}, transductive=transductive)
    rows = seen[0]["rows"]
    texts = [*data.train.texts[0], *data.test.texts[0]]
    chosen = range(len(texts)) if transductive else rows.tolist()
    expected = np.array([TABLE[word] for number in chosen for word in texts[number].split()])
    np.testing.assert_array_equal(Spy.seen[0], expected)
    assert not hasattr(given, "mean_")  # the one that was given stays unfitted


def test_a_fitted_repair_is_applied_as_it_is():
    far = Center().fit(np.full((2, 8), 7.0))
    chain = make_pipeline(Center(), AllButTheTop(1))
    result = run(repairs={"baseline": None, "far": far, "chain": chain}, epochs=1)
    assert result.losses[1].min() > result.losses[0].max()  # seven from everything is a hard beginning
    assert result.used["chain"] == "Center()+AllButTheTop(1)"
    assert far.mean_.tolist() == [7.0] * 8


def test_a_repair_changes_what_is_learnt_from():
    """A projection that takes away what tells the classes apart leaves nothing to learn."""
    data = made_set(300)
    direction = np.zeros(8)
    direction[[0, 3]] = [1, -1]

    class Blind(Center):
        def transform(self, X):
            x = np.asarray(X) - np.outer(np.asarray(X) @ direction, direction) / 2
            return torch.from_numpy(x.astype(np.float32))

    result = run(data, repairs={"baseline": None, "blind": Blind()}, epochs=5, draws=400)
    against = result.compare("blind")
    assert result.summary("baseline").value > 0.85
    assert result.summary("blind").low < 0.62
    assert against.difference < -0.2
    assert against.high < 0
    assert against.p < 0.02
    # the interval of a difference on the same examples: the mean of both, resampled by hand
    at = [np.take_along_axis(result.predictions[s], result.chosen[s][:, None, None], 1)[:, 0] for s in (0, 1)]
    right = [(predicted == result.gold) for predicted in at]
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(1000):
        rows, starts = rng.integers(200, size=200), rng.integers(2, size=2)
        drawn.append(right[1][starts][:, rows].mean() - right[0][starts][:, rows].mean())
    np.testing.assert_allclose([against.low, against.high], np.quantile(drawn, [0.025, 0.975]), atol=0.02)


def test_two_results_are_compared_on_one_task():
    data = made_set()
    one, other = run(data), run(data, repairs={"centred": Center()})
    both = run(data, repairs={"baseline": None, "centred": Center()})
    assert other.compare("centred", "baseline", than=one) == both.compare("centred")
    for changed in (run(made_set(seed=1)), run(data, starts=1), run(replace(data, name="x"))):
        with raises(UsageError, code="not_comparable"):
            one.compare("baseline", than=changed)


def test_published_settings():
    """As many as the paper has for the model that it is most like; at most an eighth of the dimensions."""

    class Like:
        name, fingerprint, layers, dim, units = "like", "like", ("0",), 768, "words"
        prepare = None
        causal, model_type = False, "bert"

        def forward(self, batch): ...

        def describe(self):
            return {"causal": self.causal, "model_type": self.model_type}

    assert {name: repr(one) for name, one in published_repairs(Like()).items()} == {
        "baseline": "None",
        "global": repr(AllButTheTop(15)),
        "cluster": repr(ClusterRemoval(27, 12)),
    }
    Like.causal = True
    assert repr(published_repairs(Like())["cluster"]) == repr(ClusterRemoval(10, 30))
    Like.dim = 128
    assert repr(published_repairs(Like())["global"]) == repr(AllButTheTop(16))
    assert repr(published_repairs(Like(), rows=400)["cluster"]) == repr(ClusterRemoval(6, 16))
    Like.dim, Like.causal, Like.model_type = 768, False, "xlm-roberta"
    assert repr(published_repairs(Like())["global"]) == repr(AllButTheTop(25))
    assert repr(published_repairs(Like())["cluster"]) == repr(ClusterRemoval(27, 12))


@pytest.mark.parametrize("name", ["mini-bert", "mini-gpt2"])
def test_published_settings_are_those_of_analyze(name):
    encoder = load_encoder(name, layers="-1", device="cpu")
    whole, clusters = published_methods(family_of(encoder), dim=encoder.dim, rows=500)
    found = published_repairs(encoder, rows=500)
    assert (repr(found["global"]), repr(found["cluster"])) == (repr(whole.make()), repr(clusters.make()))


def test_few_rows_have_few_clusters():
    """Without repairs that are asked for, the paper's are fitted on the tokens trained on, and sized by them."""
    result = classify(made_set(12), ENCODER, settings=EvaluationSettings(starts=1, epochs=1, draws=10))
    assert result.trained == 11, "of 55 words, in 8 dimensions: a component, and 55 // 4 clusters"
    assert result.used["global"] == "AllButTheTop(1)"
    assert result.used["cluster"].startswith("ClusterRemoval(13,1,")


def test_comparisons_of_more_draws():
    result = run(repairs={"baseline": None, "centred": Center()})
    few, many = result.compare("centred"), result.compare("centred", draws=3000)
    assert few == result.compare("centred", draws=result.draws)
    assert many.difference == few.difference
    assert many.p == pytest.approx(replace(result, draws=3000).compare("centred").p)
    assert (many.p * 3001) % 1 == pytest.approx(0, abs=1e-6), "a share of 3,000 draws and one"
    table = classify_table([replace(result, task=f"t{n}") for n in range(30)])
    wanted = replace(result, draws=30 * 50).compare("centred").p
    assert table["p"][1] == pytest.approx(wanted)


def test_scaled_features_have_one_size(monkeypatch):
    sizes = []
    real = mlp.train

    def spy(inputs, labels, **options):
        sizes.append(float(inputs(torch.from_numpy(options["rows"])).square().mean().sqrt()))
        return real(inputs, labels, **options)

    monkeypatch.setattr(mlp, "train", spy)
    run(repairs={"baseline": None, "centred": Center()}, scale="rms")
    assert sizes == pytest.approx([1, 1], abs=1e-5)
    run(repairs={"baseline": None})
    assert sizes[2] != pytest.approx(1, abs=0.1)


# --- what is told -------------------------------------------------------------------------------


def test_tables(tmp_path):
    result = run(repairs={"baseline": None, "centred": Center()}, max_train=100)
    assert "100 of 240 training examples, drawn at random" in result.notes
    assert (result.trained, result.held, result.available) == (90, 10, 240)
    table = classify_table([result, result])
    assert table["setting"] == ["baseline", "centred"] * 2
    assert table["p"][0] is None
    p = table["p"][1]
    assert table["p_holm"][1] == pytest.approx(min(1.0, 2 * p))
    epochs = epoch_table([result])
    assert len(epochs["score"]) == 2 * 2 * 4
    chosen = [row for row in result.epoch_rows() if row["chosen"]]
    assert len(chosen) == 4
    for setting in result.settings:
        mean = np.mean([row["score"] for row in chosen if row["setting"] == setting])
        assert result.summary(setting).value == pytest.approx(mean)
    for name, columns in (("classify", table), ("epochs", epochs)):
        tables.write_csv(tmp_path / f"{name}.csv", columns)
        assert list(tables.read_csv(tmp_path / f"{name}.csv")) == list(columns)
    assert classify_table([]) == epoch_table([]) == {}


def test_the_most_frequent_class_of_training():
    data = made_set(100)
    labels = np.array([0] * 70 + [1] * 30)
    data = replace(data, train=Examples(data.train.texts, labels))
    assert run(data).majority == (data.test.labels == 0).mean()


def test_it_is_part_of_the_package():
    assert evaluation.classify is classify
    assert evaluation.classify_tasks


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"features": "means"}, "unknown_choice"),
        ({"layer": 3}, "unknown_choice"),
        ({"starts": 0}, "out_of_range"),
        ({"epochs": 0}, "out_of_range"),
        ({"max_train": 3}, "out_of_range"),
        ({"scale": "unit"}, "unknown_choice"),
        ({"repairs": {"x": "center"}}, "wrong_type"),
    ],
)
def test_wrong_usage(options, code):
    with raises(UsageError, code=code, parameter=None):
        run(**options)


def test_one_class_is_nothing_to_learn():
    data = made_set(20)
    data = replace(data, train=Examples(data.train.texts, np.zeros(20)))
    with raises(InputError, code="too_few", says="got 18"):
        run(data)
    with raises(UsageError, code="required", parameter="repairs"):
        classify(made_set(), ENCODER, repairs={})
