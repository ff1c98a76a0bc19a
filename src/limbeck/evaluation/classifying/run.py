"""A classifier trained on an encoder's vectors, as they are and repaired, from equal starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError, choose
from limbeck.evaluation.classifying.result import Classified
from limbeck.evaluation.classifying.scores import score
from limbeck.evaluation.classifying.task import ClassifySet, ClassifyTask
from limbeck.evaluation.settings import DEFAULTS, EvaluationSettings, Features
from limbeck.seeds import generator_for

if TYPE_CHECKING:  # torch loads when something is classified, not before
    from limbeck.encoders import EncoderLike
    from limbeck.evaluation.classifying.features import EncodedExamples
    from limbeck.repairs import Repair

STARTS = 5
EPOCHS = 10
HELD_OUT = 0.1  #: of the training set, to choose the epoch on
#: Adam's, by features: the published one was for 49,152 features
LEARNING_RATES: dict[Features, float] = {"mean": 1e-3, "flattened": 3e-5}
ENOUGH = 1_000_000  #: rows, of which clusters of any published number have plenty


def published_repairs(encoder: EncoderLike, *, rows: int = ENOUGH) -> dict[str, Repair | None]:
    """The three settings of Rajaee & Pilehvar (2021): nothing, the global and the cluster-based removal.

    Clusters and components are those the paper found on STS-B's development set for the model that an encoder is most
    like: 27 clusters with 12 components, 15 globally (BERT), 27 with 12, 25 globally (RoBERTa), 10 with 30, 30
    globally (GPT-2); fewer in a small space or of few rows, see `limbeck.repairs.published`.
    """
    from limbeck.encoders import as_encoder
    from limbeck.repairs import AllButTheTop, ClusterRemoval
    from limbeck.repairs.published import family_of, published_numbers

    whole, clusters, each = published_numbers(family_of(as_encoder(encoder)), dim=encoder.dim, rows=rows)
    return {"baseline": None, "global": AllButTheTop(whole), "cluster": ClusterRemoval(clusters, each)}


def classify(
    task: ClassifyTask | ClassifySet,
    encoder: EncoderLike,
    repairs: Mapping[str, Repair | None] | None = None,
    settings: EvaluationSettings = DEFAULTS,
    *,
    layer: str | int | None = None,
    progress: bool = False,
) -> Classified:
    """Scores of a small classifier on a task, with an encoder's vectors as they are and after each repair.

    repairs   name -> repair, or None for the vectors as they are; the first is what others are compared with;
              `published_repairs` unless said. One that is fitted is applied as it is; others are fitted on the tokens
              of the examples trained on, or with `transductive`, as published, on those of the reported examples too
    settings  `starts`, `epochs`, `max_train` (held-out examples counted), `scale`, `split`; `hidden`, `features` and
              `length`; one `learning_rate`, 1e-3 for mean features and 3e-5 for flattened ones (as published) unless
              said; `draws` and `seed`
    layer     name of the layer; the last unless said

    The vectors are computed once. Every setting has the same examples, starts and order of examples. A start's seed
    gives it its first weights and its order of examples, alike for all settings.
    """
    from limbeck.encoders import as_encoder
    from limbeck.evaluation.classifying.features import encode_examples
    from limbeck.evaluation.classifying.mlp import MlpSettings, train
    from limbeck.stream.progress import Progress

    encoder = as_encoder(encoder)
    seed, scale = settings.seed, settings.scale
    features, seeds = settings.features or "mean", tuple(range(settings.starts or STARTS))
    rates = settings.learning_rate or (LEARNING_RATES[features],)
    if len(rates) > 1:
        raise UsageError(
            "--learning-rate must be one number for a network on one vector a text: give one.",
            code="ambiguous",
            parameter="learning_rate",
        )
    first = f"first-{settings.length}"
    network = MlpSettings(settings.hidden, settings.epochs or EPOCHS, rates[0])
    known = encoder.layers[-1] if layer is None else choose(str(layer), encoder.layers, what="layer")
    if repairs is not None and not repairs:
        raise UsageError(
            "repairs must name at least one setting, got none: give {'baseline': None}.",
            code="required",
            parameter="repairs",
        )

    data = task.read(settings.split, seed=seed) if isinstance(task, ClassifyTask) else task
    if data.dev is not None:  # the epoch is chosen on a part of all that is not reported
        data = replace(data, train=data.train + data.dev, dev=None)
    chosen = drawn(len(data.train), settings.max_train, seed)
    examples = data.train[chosen] + data.test
    trained, held = _divide(data, chosen, seed)
    reported = np.arange(len(chosen), len(examples))
    found = encode_examples(
        examples, encoder, kind=data.kind, features=features, layer=known, length=settings.length, progress=progress
    )

    fitted_on = np.ones(len(found.rows), dtype=bool) if settings.transductive else np.isin(found.examples, trained)
    chosen_repairs = published_repairs(encoder, rows=int(fitted_on.sum())) if repairs is None else dict(repairs)
    watched = np.concatenate([held, reported])
    runs = []
    total = len(chosen_repairs) * network.epochs
    with Progress(f"{data.name}: training", total=total, unit="epochs", show=progress) as shown:
        for repair in chosen_repairs.values():
            inputs = found.make(_repaired(found, repair, fitted_on))
            if scale == "rms":
                inputs = _scaled(inputs, trained, found.rows.device)
            runs.append(
                train(
                    inputs,
                    examples.labels,
                    width=found.width,
                    classes=len(data.classes),
                    rows=trained,
                    watched=watched,
                    seeds=seeds,
                    settings=network,
                    device=found.rows.device,
                    on_epoch=shown.advance,
                )
            )
    predictions = np.stack([run.predictions for run in runs])
    most = np.bincount(examples.labels[trained]).argmax()
    gold = examples.labels[reported]
    return Classified(
        task=data.name,
        encoder=encoder.name,
        metric=data.metric,
        reported=data.reported,
        settings=tuple(chosen_repairs),
        seeds=seeds,
        trained=len(trained),
        held=len(held),
        available=len(data.train),
        majority=float(score(np.full(len(gold), most), gold, metric=data.metric)),
        dropped=found.dropped,
        notes=(*data.notes, *part_told(len(chosen), len(data.train))),
        used={
            "features": features, "layer": known,
            "units": "words" if data.kind == "word" else encoder.units if features == "mean" else first,
            "fit": "transductive" if settings.transductive else "training", "scale": scale, "hidden": network.hidden,
            "batch": network.batch, "learning_rate": network.learning_rate, "epochs": network.epochs, "seed": seed,
            **{name: name_of_repair(repair) for name, repair in chosen_repairs.items()},
        },
        gold=gold,
        predictions=predictions[..., len(held) :],
        held_out=score(predictions[..., : len(held)], examples.labels[held], metric=data.metric),
        losses=np.stack([run.losses for run in runs]),
        draws=settings.draws,
        seed=seed,
    )  # fmt: skip


def drawn(available: int, most: int | None, seed: int) -> NDArray[np.int64]:
    """The training examples that are used, in their order."""
    if most is not None and most < 4:
        raise UsageError(f"max_train must be at least 4, got {most}.", code="out_of_range", parameter="max_train")
    if most is None or most >= available:
        return np.arange(available)
    return np.sort(generator_for(seed, "classify", "max_train").choice(available, most, replace=False))


def _divide(data: ClassifySet, chosen: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of the examples used are trained on, and which are held out to choose the epoch on."""
    count = max(1, round(HELD_OUT * len(chosen)))
    order = generator_for(seed, "classify", "held out").permutation(len(chosen))
    trained, held = np.sort(order[count:]), np.sort(order[:count])
    classes = np.unique(data.train.labels[chosen[trained]])
    if len(classes) < 2:
        raise InputError(
            f"{data.name}: examples of at least two classes are needed to learn from, got {len(trained)} of "
            f"{len(classes)}: give more.",
            code="too_few",
        )
    return trained, held


def _repaired(found: EncodedExamples, repair: Any, fitted_on: NDArray[np.bool_]) -> Any:
    """The tokens' vectors after a repair; one that is not fitted is, a copy of it, on some of them."""
    import torch

    from limbeck.evaluation import rows

    if repair is not None and not rows.is_fitted(repair):
        some = torch.from_numpy(np.flatnonzero(fitted_on)).to(found.rows.device)
        repair = rows.fitted_on(repair, found.rows[some])
    return rows.repaired(found.rows, repair)


def _scaled(inputs: Any, trained: NDArray[np.int64], device: Any) -> Any:
    """The same features divided by their root mean square over the examples trained on."""
    import torch

    parts = torch.from_numpy(trained).to(device).split(256)
    squares = torch.stack([inputs(part).double().square().mean(1).sum() for part in parts]).sum() / len(trained)
    size = float(squares.sqrt()) or 1.0
    return lambda numbers: inputs(numbers) / size


def part_told(used: int, available: int) -> list[str]:
    return [f"{used} of {available} training examples, drawn at random"] if used < available else []


def name_of_repair(repair: Any) -> str:
    """A repair with its whole numbers: AllButTheTop(15)."""
    if repair is None:
        return "none"
    from limbeck.repairs.repair import chain_of

    names = []
    for _, step in chain_of(repair):
        known = step.get_params(deep=False)  # whose order is the alphabet's
        given = ",".join(str(value) for name, value in vars(step).items() if name in known and isinstance(value, int))
        names.append(f"{type(step).__name__}({given})")
    return "+".join(names)
