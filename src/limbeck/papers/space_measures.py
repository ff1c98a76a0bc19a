"""The parts of a model's space that the claims of Rajaee & Pilehvar (2021) need, each measured by limbeck's own parts.

Nothing is defined here: isotropy is `limbeck.measures`, scores are `limbeck.evaluation`, what directions hold is
`limbeck.analysis`. This module says which of them are asked, of which vectors, with which settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.analysis import (
    AnalysisSettings,
    StructureSettings,
    TenseSettings,
    clusters_of,
    frequency_of,
    structure_of,
    tense_of,
)
from limbeck.analysis.reading import Read, read
from limbeck.analysis.result import columns_of
from limbeck.analysis.spaces import PUBLISHED, Method, family_of, published_methods
from limbeck.corpus import Corpus, Sentence
from limbeck.corpus.segment import splitter_for
from limbeck.encoders.protocol import DEFAULT_BATCH_TOKENS, Encoder
from limbeck.evaluation.classifying.suite import scores as classify_scores
from limbeck.evaluation.classifying.suite import tables as classify_tables
from limbeck.evaluation.classifying.task import ClassifySet, ClassifyTask
from limbeck.evaluation.correlations import correlation
from limbeck.evaluation.enhanced import Enhanced, enhancement
from limbeck.evaluation.evaluation import compare
from limbeck.evaluation.score import Score
from limbeck.evaluation.settings import EvaluationSettings, TuningSettings
from limbeck.evaluation.sweeping import different_texts
from limbeck.evaluation.targets import ModelTarget
from limbeck.evaluation.tuning import tune
from limbeck.measures.isotropy import log10_isotropy_of
from limbeck.measures.kmeans import nearest
from limbeck.measures.local import centered_by_cluster, local_isotropy, mean_cosine_of
from limbeck.papers.estimates import CannotShow
from limbeck.papers.parts import Part, Row
from limbeck.papers.space_data import Data, pair_keys, sizes_of, some_pairs
from limbeck.papers.space_subjects import NEW, part_of_analysis
from limbeck.papers.space_wanted import Wanted
from limbeck.repairs import ClusterRemoval
from limbeck.runs.execution.sources import open_corpus, open_encoder
from limbeck.runs.repairing.local import CLUSTERS
from limbeck.seeds import generator_for
from limbeck.stream import TextSource

EQUAL_LENGTH = math.sqrt(768)  #: what layer normalisation makes of vectors as wide as the paper's
PICTURE_CLUSTERS = 9  #: of Figure 2; the paper does not say how many, and in Table 1 these do best for GPT-2
PICTURE = 1500  #: points of it
LEAST_PAIRS = 10  #: new ones of a set, whose correlation says something
REMOVED = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
COMPARED = (("global", "baseline"), ("cluster", "baseline"), ("cluster", "global"))


class Measuring:
    """One model, what was read of it so far, and its parts."""

    def __init__(self, model: str, name: str, wanted: Wanted) -> None:
        self.model, self.name, self.wanted = model, name, wanted
        self.methods: tuple[Method, ...] = ()  # of the tuning, once there is one
        self._open = ExitStack()

    def close(self) -> None:
        self._open.close()

    # models and texts

    def _encoder(self, **options: Any) -> Encoder:
        return open_encoder(self.model, **{**self.wanted.encoder, **options})

    @cached_property
    def every_layer(self) -> Encoder:
        return self._encoder(units="pieces")

    @cached_property
    def last_layer(self) -> Encoder:
        return self._encoder(units="pieces", layers="-1")

    @property
    def target(self) -> ModelTarget:
        wanted = self.wanted
        return ModelTarget(self.last_layer, name=self.name, language=wanted.language, lowercase=wanted.lowercase)

    @cached_property
    def other_text(self) -> Corpus:
        """A text that has nothing to do with the tasks."""
        return self._open.enter_context(open_corpus(list(self.wanted.corpus), **self.wanted.text))

    @cached_property
    def text(self) -> Corpus:
        """What layers are measured on: the user's text; else the development set, as in the paper; else the sample."""
        development = self.wanted.data.development
        if self.wanted.own_text or development is None:
            return self.other_text
        return Corpus.from_sentences(self._sentences(different_texts(development.read())[0]))

    def _sentences(self, texts: Sequence[str]) -> list[Sentence]:
        """Texts as models of pieces see them, or in words for models that know words alone."""
        made = []
        for number, text in enumerate(texts):
            text = text.lower() if self.wanted.lowercase else text
            if self.last_layer.units == "pieces":
                made.append(Sentence(tuple(text.split()), document=number))
            else:
                words, glued = splitter_for(self.wanted.language).words(text)
                made.append(Sentence(words, document=number, glued=glued))
        return [sentence for sentence in made if sentence.words]

    @property
    def text_name(self) -> str:
        wanted = self.wanted
        named = ", ".join(path.replace("\\", "/").rsplit("/", 1)[-1] for path in wanted.corpus)
        return named if wanted.own_text or wanted.data.development is None else "sentences of STS-B's development set"

    def source(self, corpus: Corpus, encoder: Encoder | None = None) -> TextSource:
        encoder = encoder or self.last_layer
        return TextSource(corpus, encoder)

    @cached_property
    def read(self) -> Read:
        """The text at every layer."""
        source = self.source(self.text, self.every_layer)
        return read(source, points=self.wanted.caps.points, progress=self.wanted.progress)

    @cached_property
    def last(self) -> torch.Tensor:
        """(n, d) the last layer's occurrences."""
        return torch.from_numpy(np.ascontiguousarray(self.read.sample(len(self.every_layer.layers) - 1)[0]))

    # repairs

    def repairs(self) -> tuple[Method, ...]:
        """The global and the cluster-based method: tuned, else the paper's numbers made to fit the space."""
        if self.methods:
            return self.methods
        return published_methods(family_of(self.last_layer), dim=self.last_layer.dim, rows=self.wanted.caps.sample)

    @cached_property
    def fitted(self) -> dict[str, Any]:
        """The same, fitted on the other text."""
        source = self.source(self.other_text)
        x = read(source, points=self.wanted.caps.sample, progress=self.wanted.progress).sample(0)[0]
        made = {name: method.make(seed=self.wanted.seed) for name, method in self._named().items()}
        return {name: repair.fit(x) for name, repair in made.items()}

    def _named(self) -> dict[str, Method]:
        return dict(zip(("global", "cluster"), self.repairs(), strict=True))

    def settings(self) -> AnalysisSettings:
        return AnalysisSettings(
            method=self.repairs(),
            points=self.wanted.caps.sample,
            transductive=self.wanted.published,
            seed=self.wanted.seed,
        )

    # parts

    def tuning(self) -> Part:
        """Clusters and components on the development set (Appendix B.2)."""
        caps = self.wanted.caps
        pairs = some_pairs(self._need("development").read(), caps.pairs, self.wanted.seed)
        tried = TuningSettings(clusters=caps.clusters, components=caps.components, seeds=caps.seeds)
        found = tune(pairs, self.target, tried)
        best = {"global": list(found.best(clustered=False)), "cluster": list(found.best(clustered=True))}
        return Part({"tuning": found.table()}, {"best": best, "task": found.task, "baseline": found.baseline})

    def layers(self) -> Part:
        """Figure 1 and Table 5."""
        rows: list[Row] = []
        for place, layer in enumerate(self.every_layer.layers):
            x = torch.from_numpy(np.ascontiguousarray(self.read.sample(place)[0]))
            norms = torch.linalg.vector_norm(x.to(torch.float64), dim=1)
            (both, one), note = log10_isotropy_of(x)
            size = float(norms.square().mean().sqrt())
            scaled = log10_isotropy_of(x.to(torch.float64) * (EQUAL_LENGTH / (size or 1.0)))[0]
            rows.append({
                "layer": layer, "log10_isotropy_one_sign": one, "log10_isotropy": both,
                "equal_length_one_sign": scaled[1], "equal_length": scaled[0], "mean_cosine": mean_cosine_of(x)[0],
                "mean_norm": float(norms.mean()), "n": len(x), "note": note,
            })  # fmt: skip
        seen = self.read.points.seen
        return Part({"layers": columns_of(rows)}, {"text": self.text_name, "n": len(self.last), "of": seen})

    def local(self) -> Part:
        """Table 1 and Figure 2."""
        x, seeds = self.last, self.wanted.caps.seeds
        rows: list[Row] = []
        for k in CLUSTERS:
            if k:
                found = local_isotropy(x, clusters=k, seeds=seeds, seed=self.wanted.seed)
                values = (found.one_sign, found.value, found.mean_cosine, found.spread)
            else:
                both, one = log10_isotropy_of(x)[0]
                values = (one, both, mean_cosine_of(x)[0], 0.0)
            names = ("log10_isotropy_one_sign", "log10_isotropy", "mean_cosine", "spread")
            rows.append({"clusters": k, **dict(zip(names, values, strict=True)), "seeds": seeds, "n": len(x)})
        near = centered_by_cluster(x, PICTURE_CLUSTERS, seed=self.wanted.seed)
        picture = [
            {"space": name, "first": a, "second": b}
            for name, some in (("as it is", x), ("clusters on the origin", near))
            for a, b in _plane(some)
        ]
        about = {"text": self.text_name, "picture_clusters": PICTURE_CLUSTERS}
        return Part({"local": columns_of(rows), "picture": columns_of(picture)}, about)

    def removal(self) -> Part:
        """Isotropy by number of removed components, of the whole space and of each cluster."""
        x = self.last[: self.wanted.caps.sample]
        clusters = PUBLISHED[family_of(self.last_layer)][1]
        counts = [count for count in REMOVED if count < x.shape[1]]
        rows: list[Row] = []
        for method, k in (("global", 1), ("cluster", clusters)):
            seeds = range(self.wanted.caps.seeds if k > 1 else 1)
            found = np.array([removed(x, k, counts, seed=self.wanted.seed + seed) for seed in seeds])  # (seeds, c, 2)
            spread = found[:, :, 1].std(0, ddof=1) if len(seeds) > 1 else np.zeros(len(counts))
            for at, count in enumerate(counts):
                rows.append({
                    "method": method, "clusters": k, "components": count,
                    "log10_isotropy_one_sign": float(found[:, at, 1].mean()),
                    "log10_isotropy": float(found[:, at, 0].mean()), "spread": float(spread[at]), "seeds": len(seeds),
                })  # fmt: skip
        return Part({"removal": columns_of(rows)}, {"text": self.text_name, "n": len(x)})

    def sts(self) -> Part:
        """Tables 2 and 6, fitted on each set as published, and on another text."""
        self._need("sts")
        repairs: dict[str, Any] = {"baseline": None}
        repairs |= {name: method.make(seed=self.wanted.seed) for name, method in self._named().items()}
        repairs |= {f"{name}/text": repair for name, repair in self.fitted.items()}
        caps, tables = self.wanted.caps, {name: list[Row]() for name in ("sts", "compared", *NEW)}
        met, left_out = self._tuned_on(), dict[str, int]()
        for task in self.wanted.data.sts.values():
            pairs = some_pairs(task.read(), caps.pairs, self.wanted.seed)
            found = {one.setting: one for one in enhancement([pairs], self.target, repairs=repairs, seeds=caps.seeds)}
            tables["sts"] += [_sts_row(one) for one in found.values()]
            tables["compared"] += self._compared({name: one.scores[0] for name, one in found.items()})
            keys = pair_keys(pairs)
            new = np.array([key not in met for key in keys])
            met.update(keys)
            left_out[pairs.name] = int((~new).sum())
            if new.sum() < LEAST_PAIRS:
                continue
            scores = {name: [_only(score, new) for score in one.scores] for name, one in found.items()}
            tables[NEW[0]] += [_new_row(name, some) for name, some in scores.items()]
            tables[NEW[1]] += self._compared({name: some[0] for name, some in scores.items()})
        methods = {name: str(method) for name, method in self._named().items()}
        return Part(
            {name: columns_of(rows) for name, rows in tables.items()},
            {
                "methods": methods,
                "other_text": ", ".join(self.wanted.corpus),
                "pairs": caps.pairs,
                "left_out": left_out,
            },
        )

    def _tuned_on(self) -> set[frozenset[str]]:
        """Pairs that clusters and components were chosen on."""
        development = self.wanted.data.development
        if development is None:
            return set()
        return set(pair_keys(some_pairs(development.read(), self.wanted.caps.pairs, self.wanted.seed)))

    def _compared(self, scores: Mapping[str, Score]) -> list[Row]:
        """How much higher each setting's score is than another's, by how it was fitted."""
        rows: list[Row] = []
        for fit, suffix in (("task", ""), ("text", "/text")):
            for setting, other in COMPARED:
                one, two = scores[setting + suffix], scores[other if other == "baseline" else other + suffix]
                told = compare(one, two, seed=self.wanted.seed)
                rows.append({
                    "fit": fit, "task": one.task, "setting": setting, "other": other,
                    "difference": told.difference, "low": told.low, "high": told.high, "p": told.p,
                })  # fmt: skip
        return rows

    def classify(self) -> Part:
        """Table 3 and Figure 4."""
        self._need("classify")
        caps = self.wanted.caps
        training: dict[str, Any] = {"max_train": caps.train, "starts": caps.starts, "epochs": caps.epochs}
        if self.wanted.published:
            training |= {"features": "flattened", "transductive": True}
        settings = EvaluationSettings(seed=self.wanted.seed, **training)
        repairs: dict[str, Any] = {"": None}
        repairs |= {name: method.make(seed=self.wanted.seed) for name, method in self._named().items()}
        scores, compared = [], []
        for task in self.wanted.data.classify.values():
            fewer: Any = Fewer(task, caps.reported, self.wanted.seed)
            found = classify_scores(fewer, self.target, repairs, settings, progress=self.wanted.progress)
            scores += found
            result = found[0].result
            for setting, other in COMPARED:
                told = result.compare(setting, other)
                compared.append({
                    "task": result.task, "setting": setting, "other": other, "difference": told.difference,
                    "low": told.low, "high": told.high, "p": told.p,
                })  # fmt: skip
        made = classify_tables(scores)
        return Part(
            {"classify": made["classify.csv"], "epochs": made["epochs.csv"], "compared": columns_of(compared)},
            {"methods": {name: str(method) for name, method in self._named().items()}, **training},
        )

    def structure(self) -> Part:
        """Figure 3."""
        treebank = Corpus(list(self._need("treebank")), format="conllu")
        found = structure_of(
            self.last_layer,
            treebank,
            settings=self.settings(),
            groups=StructureSettings(groups=self.wanted.caps.groups),
            batch_tokens=DEFAULT_BATCH_TOKENS,
            progress=self.wanted.progress,
        )
        kept = {name: columns for name, columns in part_of_analysis(found).tables.items() if name != "sentences"}
        return Part(kept, part_of_analysis(found).about)

    def tense(self) -> Part:
        """Table 4: SemCor's verbs; without it, verbs whose tense the text labels."""
        data = self.wanted.data
        verbs = TenseSettings(max_occurrences=self.wanted.caps.occurrences)
        options: dict[str, Any] = {"settings": self.settings(), "wanted": verbs}
        options |= {"batch_tokens": DEFAULT_BATCH_TOKENS, "progress": self.wanted.progress}
        words = self._encoder(units="words", layers="-1")
        if data.semcor and data.treebank:
            treebank = Corpus(list(data.treebank), format="conllu")
            with Corpus([data.semcor], format="semcor", lowercase=self.wanted.lowercase) as corpus:
                return part_of_analysis(tense_of(words, corpus, treebank=treebank, **options))
        return part_of_analysis(tense_of(words, self.other_text, **options))

    def frequency(self) -> Part:
        """Figure 5."""
        counted = None
        if self.wanted.count_in:
            corpus = self._open.enter_context(open_corpus(list(self.wanted.count_in), **self._counted_text()))
            counted = self.source(corpus)
        found = frequency_of(
            self.source(self.text), count_in=counted, settings=self.settings(), progress=self.wanted.progress
        )
        return part_of_analysis(found)

    def clusters(self) -> Part:
        """What clusters contain, and their directions (§3, §5.1)."""
        found = clusters_of(self.source(self.text), settings=self.settings(), progress=self.wanted.progress)
        return part_of_analysis(found)

    def _counted_text(self) -> dict[str, Any]:
        return {"lowercase": True} if self.wanted.lowercase else {}

    def _need(self, kind: str) -> Any:
        """Some of the data, or the reason why it is not there."""
        found = getattr(self.wanted.data, kind)
        if not found:
            raise CannotShow(self.wanted.data.missing[kind])
        return found


def asked_for(part: str, measuring: Measuring) -> dict[str, Any]:
    """Everything that decides a part's numbers: one that was kept for the same is not measured again."""
    wanted, caps = measuring.wanted, measuring.wanted.caps
    data, files = wanted.data, _files_of(wanted.data)
    methods = [str(method) for method in measuring.repairs()]
    on_text = [list(wanted.corpus), wanted.own_text, files["development"]]
    own: dict[str, list[Any]] = {
        "tuning": [files["development"], caps.pairs, caps.seeds, caps.clusters, caps.components],
        "layers": [on_text, caps.points],
        "local": [on_text, caps.points, caps.seeds],
        "removal": [on_text, caps.points, caps.sample, caps.seeds],
        "sts": [files["sts"], files["development"], caps.pairs, caps.seeds, caps.sample, list(wanted.corpus), methods],
        "classify": [
            files["classify"], caps.train, caps.reported, caps.starts, caps.epochs, methods, wanted.preset,
        ],
        "structure": [sizes_of(data.treebank), caps.groups, methods, wanted.preset],
        "tense": [
            sizes_of([data.semcor] if data.semcor else []), sizes_of(data.treebank), list(wanted.corpus),
            caps.occurrences, caps.sample, methods, wanted.preset,
        ],
        "frequency": [on_text, list(wanted.count_in), caps.sample, methods],
        "clusters": [on_text, caps.sample, methods],
    }  # fmt: skip
    return {
        "model": measuring.last_layer.fingerprint,
        "text": dict(wanted.text),
        "encoder": dict(wanted.encoder),
        "seed": wanted.seed,
        "part": own[part],
    }


def _files_of(data: Data) -> dict[str, list[Any]]:
    def files(tasks: Sequence[Any]) -> list[Any]:
        return sizes_of([file.path for task in tasks for file in task.files])

    return {
        "development": files([data.development] if data.development is not None else []),
        "sts": files(list(data.sts.values())),
        "classify": files(list(data.classify.values())),
    }


def removed(x: torch.Tensor, clusters: int, counts: Sequence[int], *, seed: int) -> NDArray[np.float64]:
    """log₁₀ I(W), (counts, 2): both signs and one, of x (n, d) without the first so many components of each cluster.

    Components are nested, so one fit serves all numbers of them.
    """
    fitted = ClusterRemoval(clusters, max(counts), random_state=seed).fit(x)
    labels = nearest(x, torch.from_numpy(fitted.centers_))
    left = x.to(torch.float64) - torch.from_numpy(fitted.means_)[labels]
    directions = torch.from_numpy(fitted.components_)  # (clusters, most, d), orthonormal
    members = [(labels == cluster).nonzero().squeeze(1) for cluster in range(len(directions))]
    found, gone = [], 0
    for count in counts:
        for here, own in zip(members, directions, strict=True):
            along = own[gone:count]
            left[here] -= left[here] @ along.T @ along
        gone = max(gone, count)
        found.append(log10_isotropy_of(left)[0])
    return np.array(found)


@dataclass(frozen=True)
class Fewer:
    """A classification task with at most so many reported examples, drawn by seed."""

    task: ClassifyTask
    most: int
    seed: int

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def kind(self) -> str:
        return self.task.kind

    def read(self, split: str | None = None, *, seed: int = 0) -> ClassifySet:
        found = self.task.read(split, seed=seed)
        count = len(found.test)
        if count <= self.most:
            return found
        chosen = np.sort(generator_for(self.seed, "reported", found.name).choice(count, self.most, replace=False))
        return replace(found, test=found.test[chosen])


def _plane(x: torch.Tensor) -> list[tuple[float, float]]:
    """Places of the first rows on the first two singular vectors about the origin; the first points to the mean."""
    wide = x.to(torch.float64)
    directions = torch.linalg.eigh(wide.T @ wide)[1].flip(1)[:, :2]
    directions = directions * torch.where(wide.mean(0) @ directions < 0, -1.0, 1.0)
    return [(float(a), float(b)) for a, b in (wide[:PICTURE] @ directions).tolist()]


def _sts_row(one: Enhanced) -> Row:
    names = ("task", "value", "sd", "low", "high", "n", "coverage", "log10_isotropy_one_sign", "log10_isotropy",
             "rows", "runs")  # fmt: skip
    return {**_setting(one.setting), **{name: getattr(one, name) for name in names}}


def _setting(name: str) -> Row:
    setting, _, fit = name.partition("/")
    return {"fit": "" if setting == "baseline" else fit or "task", "setting": setting}


def _only(score: Score, chosen: NDArray[np.bool_]) -> Score:
    """A score's pairs, some of them. Its value and intervals are still those of all: `correlation` goes by pairs."""
    keep = chosen[score.rows]
    return replace(
        score, rows=score.rows[keep], similarity=score.similarity[keep], gold=score.gold[keep],
        subset_of=score.subset_of[keep],
    )  # fmt: skip


def _new_row(setting: str, scores: Sequence[Score]) -> Row:
    """The mean over clusterings on some of a task's pairs."""
    values = [correlation(one.similarity, one.gold, metric=one.metric) for one in scores]
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    told = {"task": scores[0].task, "value": float(np.mean(values)), "sd": sd, "n": len(scores[0].rows)}
    return {**_setting(setting), **told, "runs": len(scores)}


Measure = Callable[[Measuring], Part]
MEASURES: dict[str, Measure] = {
    "tuning": Measuring.tuning,
    "layers": Measuring.layers,
    "local": Measuring.local,
    "removal": Measuring.removal,
    "frequency": Measuring.frequency,
    "clusters": Measuring.clusters,
    "tense": Measuring.tense,
    "structure": Measuring.structure,
    "sts": Measuring.sts,
    "classify": Measuring.classify,
}
