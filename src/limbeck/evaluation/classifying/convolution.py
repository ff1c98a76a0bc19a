"""A convolutional network on a file of word vectors, as Gupta & Jaggi (2021, §4.3) classify sentences.

Learning rate and number of epochs are chosen on dev, then the network is trained anew on train and dev together with
these, and predicts what is reported. Every run (a start: first weights, order, dropout) chooses for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError
from limbeck.evaluation.classifying.result import Classified
from limbeck.evaluation.classifying.run import drawn, name_of_repair, part_told
from limbeck.evaluation.classifying.scores import score
from limbeck.evaluation.classifying.task import SHARES, ClassifySet, ClassifyTask
from limbeck.evaluation.settings import DEFAULTS, EvaluationSettings
from limbeck.seeds import generator_for

if TYPE_CHECKING:  # torch loads when something is classified, not before
    import torch

    from limbeck.evaluation.classifying.looked_up import LookedUp
    from limbeck.evaluation.classifying.mlp import Trained
    from limbeck.evaluation.targets import TableTarget
    from limbeck.repairs import Repair
    from limbeck.vectors.static import StaticVectors

Ints = NDArray[np.int64]
Run = tuple[float, Any, Any, Any]  # learning rate, predictions (epochs, n), scores on dev and losses (epochs,)
RUNS = 6  #: as in the paper's Table 5
EPOCHS = 16
LEARNING_RATES = (1e-4, 3e-4, 1e-3)


def convolve(
    task: ClassifyTask | ClassifySet,
    target: TableTarget | StaticVectors,
    repairs: Mapping[str, Repair | None] | None = None,
    settings: EvaluationSettings = DEFAULTS,
    *,
    progress: bool = False,
) -> Classified:
    """Scores of a small convolutional network on a task of single texts, with word vectors as they are and repaired.

    target    StaticVectors, or a target that says how words are told apart, looked up, and replaced if unknown
    repairs   name -> repair, or None for the vectors as they are, which is all unless said. One that is not fitted is
              fitted on the whole table
    settings  `starts` (6), runs that are alike for all targets of one dimension; `epochs` (16), of which each number
              from half of them on is tried, and each `learning_rate` (1e-4, 3e-4, 1e-3); `embeddings` (the paper does
              not say which it had); `max_train`, of train and dev together; `scale`, `split`, `device`, `draws`, `seed`
    """
    from limbeck.encoders.huggingface import choose_device
    from limbeck.evaluation.classifying.cnn import CnnSettings, train
    from limbeck.evaluation.classifying.looked_up import look_up
    from limbeck.evaluation.targets import as_target
    from limbeck.stream.progress import Progress

    seed, scale, epochs = settings.seed, settings.scale, settings.epochs or EPOCHS
    seeds, rates = tuple(range(settings.starts or RUNS)), settings.learning_rate or LEARNING_RATES
    table: Any = as_target(target)
    if not hasattr(table, "look_up"):
        raise UsageError(
            f"A table of word vectors is needed, got {type(target).__name__}: classify reads encoders.",
            code="wrong_type",
            parameter="target",
        )

    data = task.read(settings.split, seed=seed) if isinstance(task, ClassifyTask) else task
    if data.kind != "single":
        raise UsageError(
            f"A convolution reads single texts, {data.name} has {data.kind}s: use classify.", code="unsupported"
        )
    learnt, trained, held = _parts(data, settings.max_train, seed)
    examples = learnt + data.test
    reported = np.arange(len(learnt), len(examples))
    found = look_up(examples.texts[0], table)
    if not found.found:
        raise InputError(
            f"{table.name} has no vector for any word of {data.name}: give vectors of its language.", code="no_vectors"
        )
    network = CnnSettings(epochs, tuned=settings.embeddings == "tuned")
    chosen_repairs = {"baseline": None} if repairs is None else dict(repairs)
    first = max(1, epochs // 2) - 1  # of the epochs that are tried
    runs: list[list[Run]] = []
    total = len(chosen_repairs) * len(seeds) * epochs * 2
    with Progress(f"{data.name}: training", total=total, unit="epochs", show=progress) as shown:

        def trained_on(matrix: torch.Tensor, rows: Ints, watched: Ints, own: int, tried: Sequence[float]) -> Trained:
            return train(
                matrix,
                found.texts,
                examples.labels,
                classes=len(data.classes),
                rows=rows,
                watched=watched,
                seed=own,
                rates=tried,
                settings=network,
                on_epoch=shown.advance,
            )

        for repair in chosen_repairs.values():
            matrix = _matrix(found, table, repair, scale).to(choose_device(settings.device or "auto"))
            runs.append([])
            for own in seeds:
                tried = trained_on(matrix, trained, held, own, rates)
                on_dev = score(tried.predictions, examples.labels[held], metric=data.metric)  # (rates, epochs)
                best = int(on_dev[:, first:].max(1).argmax())  # the lowest rate of equal ones
                again = trained_on(matrix, np.arange(len(learnt)), reported, own, [rates[best]])
                runs[-1].append((rates[best], again.predictions[0], on_dev[best], again.losses[0]))
    # (settings, starts) and then (…, epochs, n), (…, epochs), (…, epochs)
    chosen, predictions, on_devs, losses = (
        np.array([[run[part] for run in some] for some in runs]) for part in range(4)
    )
    gold = examples.labels[reported]
    most = np.bincount(learnt.labels).argmax()
    return Classified(
        task=data.name,
        encoder=table.name,
        metric=data.metric,
        reported=data.reported,
        settings=tuple(chosen_repairs),
        seeds=seeds,
        trained=len(learnt),
        held=len(held),
        available=len(data.train) + len(data.dev or ()),
        majority=float(score(np.full(len(gold), most), gold, metric=data.metric)),
        dropped=found.dropped,
        notes=(*data.notes, *part_told(len(learnt), len(data.train) + len(data.dev or ()))),
        used={
            "classifier": "cnn", "embeddings": settings.embeddings, "filters": network.filters,
            "width": network.width, "dropout": network.dropout, "batch": network.batch,
            "learning_rates": "|".join(f"{rate:g}" for rate in rates),
            "epochs": f"{first + 1}-{epochs}", "scale": scale, "oov": table.oov, "case": table.case,
            "words": found.words, "words_found": found.found,
            "different_words": found.different, "different_found": found.known, "seed": seed,
            **{name: name_of_repair(repair) for name, repair in chosen_repairs.items()},
        },
        gold=gold,
        predictions=predictions,
        held_out=on_devs,
        losses=losses,
        draws=settings.draws,
        seed=seed,
        from_epoch=first,
        learning_rates=chosen,
        covered=found.found / max(found.words, 1),
    )  # fmt: skip


def _parts(data: ClassifySet, most: int | None, seed: int) -> tuple[Any, Ints, Ints]:
    """Examples of train and dev together, those of them that are trained on when settings are chosen, and the others.

    A task that has no dev gets one by chance: of its training examples the share that dev has where nothing is given.
    """
    learnt = data.train if data.dev is None else data.train + data.dev
    is_dev = np.arange(len(learnt)) >= len(data.train)
    if data.dev is None:
        count = max(1, round(SHARES[1] / (SHARES[0] + SHARES[1]) * len(learnt)))
        is_dev[generator_for(seed, "classify", "dev").permutation(len(learnt))[:count]] = True
    chosen = drawn(len(learnt), most, seed)
    learnt, is_dev = learnt[chosen], is_dev[chosen]
    trained, held = np.flatnonzero(~is_dev), np.flatnonzero(is_dev)
    classes = np.unique(learnt.labels[trained])
    if len(classes) < 2 or not len(held):
        raise InputError(
            f"{data.name}: examples of at least two classes are needed to learn from, and some to choose settings on, "
            f"got {len(trained)} of {len(classes)} and {len(held)}: give more.",
            code="too_few",
        )
    return learnt, trained, held


def _matrix(found: LookedUp, table: TableTarget, repair: Any, scale: str) -> torch.Tensor:
    """Vectors of the words after a repair, of one size if that is wished."""
    import torch

    from limbeck.evaluation.rows import fitted_on, is_fitted

    if repair is not None and not is_fitted(repair):
        repair = fitted_on(repair, torch.from_numpy(table.vectors.matrix.copy()))
    matrix = found.repaired(repair)
    if scale == "rms":
        each = matrix[torch.from_numpy(found.texts.ids)].double().square().mean()
        matrix = matrix / (float(each.sqrt()) or 1.0)
    return matrix
