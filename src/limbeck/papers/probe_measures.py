"""How each part of a probed model is made: probes on its layers, with little context, and after fine-tuning."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from limbeck.encoders.loading import Parts, load_parts
from limbeck.encoders.protocol import Encoder
from limbeck.papers.estimates import CannotShow
from limbeck.papers.parts import Part, Row, keep_part, kept_part
from limbeck.papers.probe_listings import LISTED, examples, failures, nearest
from limbeck.papers.probe_scores import quarter_rows, scored_rows
from limbeck.papers.probe_subjects import AVERAGE, NEW, SAME, accuracy_of
from limbeck.papers.probe_wanted import Wanted, rate_of, spread_layers
from limbeck.places import REPRODUCTION, mark, remove_folder
from limbeck.probing import result
from limbeck.probing.features import Features, extract
from limbeck.probing.finetuning.data import TaskData
from limbeck.probing.finetuning.fitting import finetune_model
from limbeck.probing.finetuning.settings import FinetuneSettings
from limbeck.probing.names import AROUND, CONTEXT, WHOLE
from limbeck.probing.result import Outcome
from limbeck.probing.settings import ProbeSettings
from limbeck.runs.execution.execute import complete
from limbeck.runs.execution.folders import RunFolder, holds_run
from limbeck.runs.finetune import FinetuneRun
from limbeck.runs.probe import open_at_every_layer
from limbeck.runs.probing.work import Probing
from limbeck.seeds import hash_text
from limbeck.state import write_text
from limbeck.stream.context import RunContext
from limbeck.tables import columns_of, read_csv
from limbeck.vectors import StaticVectors
from limbeck.vectors.occurrences import fingerprint_file

AMBIGUOUS = ("suit", "bank", "spring", "light", "state", "part", "order", "time")  #: the first that a table has
VECTORS, TUNED_VECTORS = "vectors.npy", "vectors-tuned.npy"  #: where vectors lie that do not fit memory


class Measuring:
    """A model, and what is asked of it.

    folder  where its parts, fine-tuned models and kept probes lie
    """

    def __init__(self, model: str, name: str, wanted: Wanted, folder: Path) -> None:
        self.model, self.name, self.wanted, self.folder = model, name, wanted, folder

    @cached_property
    def encoder(self) -> Encoder:
        return open_at_every_layer(self.model, **self.wanted.encoder)

    @cached_property
    def static(self) -> StaticVectors | None:
        return None if self.wanted.static is None else StaticVectors.load(Path(self.wanted.static).expanduser())

    @cached_property
    def whole(self) -> Features:
        """The vectors of all occurrences in whole sentences, at every layer."""
        return self.read(self.encoder, VECTORS)

    def read(self, encoder: Encoder, file: str) -> Features:
        self.folder.mkdir(parents=True, exist_ok=True)
        return extract(
            encoder,
            self.wanted.words.labelled,
            file=self.folder / file,
            progress=self.wanted.progress,
        )

    def close(self) -> None:
        """What was read and did not fit memory is no longer needed."""
        for file in (VECTORS, TUNED_VECTORS):
            (self.folder / file).unlink(missing_ok=True)

    @property
    def pretrained(self) -> Path:
        """The folder in which the probes of the model as it is are kept."""
        return self.folder / "pretrained"

    def parts_of(self) -> Parts:
        """The model as it is, to be trained."""
        options = self.wanted.encoder
        return load_parts(
            self.model,
            revision=options.get("revision"),
            trust_remote_code=bool(options.get("trust_remote_code")),
        )

    # probing

    def work(
        self,
        encoder: Encoder,
        *,
        compare: tuple[str, ...] = (),
        control: tuple[str, ...] = (),
        sizes: tuple[int, ...] = (),
        seeds: tuple[int, ...] = (0,),
        probes_of: Path | None = None,
        keep: bool = False,
        whole: Features | None = None,
    ) -> Probing:
        words, caps = self.wanted.words, self.wanted.caps
        asked: dict[str, Any] = {"compare": compare, "control": control, "context_size": sizes, "seeds": seeds}
        if probes_of is None:
            asked |= {"hidden": caps.hidden, "epochs": caps.epochs, "batch": caps.rows}
        settings = ProbeSettings(probes=probes_of, keep_probes=keep, **asked)
        static = self.static if compare else None
        return Probing(encoder, words.labelled, words.sides, settings, words.described, static, whole)

    def run(self, name: str, work: Probing, *, kept: Path | None = None) -> dict[str, list[Outcome]]:
        """Everything that was asked for, resumable: space and context -> outcomes, without their kind of probe."""
        with self.state(name, work) as state:
            work.run(state=state, kept=kept, progress=self.wanted.progress)
        return {f"{space}\t{context}": own for (space, _, context), own in work.outcomes.items()}

    def state(self, name: str, work: Probing) -> _State:
        return _State(self.folder / f"state-{name}", json.loads(json.dumps(work.identity, default=str)))

    def layers(self) -> Part:
        """Every layer with whole sentences, and what stands beside."""
        work = self.work(self.encoder, compare=("average", "bag", "random"), control=("majority",), keep=True,
                         whole=self.whole)  # fmt: skip
        found = self.run("layers", work, kept=self.pretrained / "probes")
        contextual = found[f"{CONTEXT}\t{WHOLE}"]
        around = found.get(f"{AROUND}\t{WHOLE}")
        rows = {
            "scores": [row for own in found.values() for row in scored_rows(own)],
            "data": result.data_rows(work.labelled, work.sides),
            "classes": result.class_rows(contextual, work.labelled.classes),
            "pieces": [row for row in result.piece_rows(contextual, self.whole) if row["units"]]
            if self.whole.pieces.any()
            else [],
            "confidence": quarter_rows(contextual, around) if around else [],
            "failures": failures(work, self.whole.pieces, contextual[0], around),
            "examples": examples(work),
        }
        about = {"sides": work.facts_of_sides(), "notes": work.facts()["notes"], "text": self.wanted.words.name}
        return Part({name: columns_of(some) for name, some in rows.items() if some}, about)

    def starts(self) -> Part:
        """Averages over contexts in the upper half of the layers, from several starts (the paper's five)."""
        blocks = [layer for layer in self.encoder.layers if layer not in ("table", "0")]
        upper = blocks[len(blocks) // 2 :]
        encoder = open_at_every_layer(self.model, layers=",".join(upper), **self.wanted.encoder)
        seeds = tuple(range(1, self.wanted.caps.starts + 1))
        work = self.work(encoder, compare=("average",), seeds=seeds, whole=self.whole)
        with self.state("starts", work) as state:
            work.begin(state=state, progress=self.wanted.progress)
            for space in work.spaces(work.extracted(None)):
                if space.name == AVERAGE:
                    work.probe_space(space, WHOLE)
        return Part({"scores": columns_of([row for own in work.outcomes.values() for row in scored_rows(own)])})

    def contexts(self) -> Part:
        """Some layers with few words to each side."""
        chosen = spread_layers(self.encoder.layers, self.wanted.caps.layers)
        encoder = open_at_every_layer(self.model, layers=chosen, **self.wanted.encoder)
        work = self.work(encoder, compare=("bag",), sizes=self.wanted.caps.sizes, whole=self.whole)
        found = self.run("contexts", work)
        whole = {context: found[f"{CONTEXT}\t{context}"][0] for context in [*map(str, work.sizes), WHOLE]}
        steps = list(whole.values())
        flips = [row for less, more in pairwise(steps) for row in result.flip_rows(less, more)]
        turned = [
            row for less, more in pairwise(steps) for row in result.flip_examples(less, more, work.labelled)[:LISTED]
        ]
        cut = [own for own in found.values() if own[0].space != AROUND]  # of whole sentences alone
        rows = {
            "scores": [row for own in cut for row in scored_rows(own)],
            "flips": flips,
            "flip_examples": turned,
        }
        return Part({name: columns_of(some) for name, some in rows.items() if some})

    # fine-tuning

    def settings(self, task: TaskData, *, window: int | None = None) -> FinetuneSettings:
        caps = self.wanted.caps
        limit = None if caps.train is None else max(caps.train, 2)
        steps = caps.steps
        return FinetuneSettings(
            steps=steps,
            batch=caps.batch,
            learning_rate=rate_of(caps, self.encoder.dim),
            evaluate_every=None if steps is None else max(1, steps // 4),
            attention_window=window,
            max_train=limit,
            max_dev=caps.dev,
            attention_texts=caps.attention if window is None else 0,
            seed=self.wanted.seed,
        )

    def tuned_folder(self, task: str) -> Path:
        return self.folder / "tuned" / task

    def tuned(self, name: str) -> Part:
        """A model fine-tuned on a task, kept as a model of its own; its scores and what became of attention."""
        task, target = self.wanted.tasks[name], self.tuned_folder(name)
        device = str(self.wanted.encoder.get("device", "auto"))
        asked = {"model": self.parts_of(), "task": task, "device": device, "figures": False}
        with RunFolder(target, existing="replace" if holds_run(target) else "resume") as folder:
            run = FinetuneRun.of({**asked, **vars(self.settings(task))})
            run.open()
            complete(run, folder, RunContext(progress=self.wanted.progress))
        told = json.loads((target / "run.json").read_text(encoding="utf-8"))
        own = task.limited(most=None, most_dev=self.wanted.caps.dev, seed=self.wanted.seed)
        rows = [score_row(told["scores"]["dev"], task.metric, count_places(own), told["majority"]["dev"])]
        attention = {
            column: cells if column == "layer" else [float(cell) for cell in cells]
            for column, cells in read_csv(target / "attention.csv").items()
        }
        about = {"settings": told["settings"], "best_step": told["best_step"], "examples": told["examples"],
                 "files": told["files"], "notes": told["notes"]}  # fmt: skip
        return Part({"scores": columns_of(rows), "attention": attention}, about)

    def probed(self, name: str) -> Part:
        """The fine-tuned model, asked by the probes of the model before (a), and by new ones (b)."""
        target = self.tuned_folder(name)
        if not holds_run(target):
            raise CannotShow(f"there is no model that was fine-tuned on {name}")
        encoder = open_at_every_layer(
            str(target), layers=",".join(self.encoder.layers), **self.wanted.encoder
        )  # fmt: skip
        rows = []
        whole = self.read(encoder, TUNED_VECTORS)
        for setup, probes_of in ((SAME, self.pretrained), (NEW, None)):
            work = self.work(encoder, probes_of=probes_of, whole=whole)
            found = self.run(f"{name}-{setup.split(' ')[0]}", work)
            rows += [row | {"space": setup} for row in scored_rows(found[f"{CONTEXT}\t{WHOLE}"])]
        return Part({"scores": columns_of(rows)})

    def windows(self) -> Part:
        """Parts of speech learnt with attention to few words on either side; every number is kept as it is found."""
        task = self.wanted.tasks["pos"]
        rows: list[Row] = []
        for window in self.wanted.caps.windows:
            place = self.folder / f"window-{window}.json"
            asked = {name: told for name, told in self.asked("windows").items() if name != "own"} | {"window": window}
            found = kept_part(place, asked)
            if found is None:
                made = finetune_model(
                    self.parts_of(),
                    task,
                    settings=self.settings(task, window=window),
                    device=str(self.wanted.encoder.get("device", "auto")),
                    progress=self.wanted.progress,
                )
                row = score_row(made.scores["dev"].values, task.metric, count_places(made.data), made.majority["dev"])
                found = Part({"scores": columns_of([{"window": str(window), **row}])})
                keep_part(place, found, asked)
            rows += found.rows("scores")
        return Part({"scores": columns_of(rows)})

    # neighbours

    def neighbors(self) -> Part:
        """Table 1: what lies nearest to an ambiguous word in the table, and in a file of static vectors."""
        parts = self.parts_of()
        table = parts.model.get_input_embeddings().weight.detach().float().cpu().numpy()
        tokenizer = parts.tokenizer
        for word in AMBIGUOUS:
            pieces = tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
            if len(pieces) == 1:
                break
        else:
            raise CannotShow(f"the table has none of {', '.join(AMBIGUOUS)} as one piece")
        names = tokenizer.convert_ids_to_tokens(range(len(table)))
        rows = [
            {"space": "table", "word": word, **row}
            for row in nearest(table, names, int(pieces[0]))
        ]  # fmt: skip
        if self.static is not None and word in self.static.words:
            at = list(self.static.words).index(word)
            rows += [
                {"space": "static", "word": word, **row} for row in nearest(self.static.matrix, self.static.words, at)
            ]
        return Part({"scores": columns_of(rows)})

    # what was asked for

    def make(self, part: str) -> Part:
        kind, _, task = part.partition("-")
        made: Part = getattr(self, kind)(*([task] if task else []))
        return made

    def asked(self, part: str) -> dict[str, Any]:
        """Everything that decides a part's numbers: one that was kept for the same is not made again."""
        wanted, caps = self.wanted, self.wanted.caps
        kind, _, task = part.partition("-")
        told: dict[str, Any] = {"model": self.encoder.fingerprint, "encoder": dict(wanted.encoder), "seed": wanted.seed}
        if kind in ("layers", "starts", "contexts", "probed"):
            told |= {"words": self.words_fingerprint, "probes": [caps.hidden, caps.epochs, caps.rows]}
        if kind in ("layers", "contexts", "neighbors"):
            told["static"] = None if wanted.static is None else fingerprint_file(Path(wanted.static).expanduser())
        if kind in ("tuned", "probed", "windows"):
            data = wanted.tasks.get(task or "pos")
            told["task"] = None if data is None else described(data, asdict(self.settings(data)))
        own = {"starts": caps.starts, "contexts": [list(caps.sizes), caps.layers], "windows": list(caps.windows)}
        return told | ({"own": own[kind]} if kind in own else {})

    @cached_property
    def words_fingerprint(self) -> str:
        return self.work(self.encoder).data_fingerprint


class _State:
    """A folder for what a stopped probing has done; emptied if that was of something else, removed at the end."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder, self.identity = folder, identity

    def __enter__(self) -> Path:
        named = self.folder / "identity.json"
        if named.is_file() and json.loads(named.read_text(encoding="utf-8")) != self.identity:
            remove_folder(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        mark(self.folder, REPRODUCTION)
        write_text(named, json.dumps(self.identity))
        return self.folder

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            remove_folder(self.folder)


def described(task: TaskData, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A task and how it is learnt, as far as numbers depend on it."""
    if task.level == "word":
        texts = [" ".join(one.words) for part in task.parts.values() for one in part.sentences]
    else:
        texts = [text for part in task.parts.values() for text in part.texts(len(part))]
    return {"name": task.name, "text": f"{hash_text(chr(30).join(texts)):016x}", "settings": dict(settings)}


def score_row(values: Mapping[str, float], metric: str, places: int, majority: float) -> Row:
    """A development score; an accuracy with its interval, as if all places erred apart."""
    value = values[metric]
    told = {"places": places, "accuracy": values["accuracy"], "majority": majority}
    half = accuracy_of(told).error if metric == "accuracy" else math.nan
    return {"metric": metric, "value": value, "low": value - half, "high": value + half, **told}


def count_places(task: TaskData) -> int:
    """Words with a tag, or texts, of the development part."""
    part = task.parts["dev"]
    return len(part) if task.level != "word" else int(sum((tags >= 0).sum() for tags in part.tags))
