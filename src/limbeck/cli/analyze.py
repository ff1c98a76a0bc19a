"""limbeck analyze: what directions of a space hold, before and after repair."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import add_corpus_options, add_model_options, count, positive, source_options
from limbeck.cli.running import opened
from limbeck.errors import InputError, LimbeckError, UsageError, choose
from limbeck.runs.repairing.naming import REPAIR_NAMES

if TYPE_CHECKING:
    from limbeck.analysis import Analysis, Settings
    from limbeck.corpus import Corpus, Sentence
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.stream.workers import Workers

#: analysis -> what gets a vector unless --units says otherwise: pieces where the paper's code had them
UNITS = {"structure": "pieces", "tense": "words", "frequency": "pieces", "clusters": "pieces"}
#: options that belong to some analyses only -> those, and what stands where the option is not given
OWN: dict[str, tuple[tuple[str, ...], Any]] = {
    "data": (("structure", "tense"), None),
    "tokens": (("structure",), None),
    "groups": (("structure",), 200),
    "group_size": (("structure",), 6),
    "min_occurrences": (("tense",), 10),
    "max_occurrences": (("tense",), 20),
    "count_in": (("frequency",), None),
    "clusters": (("clusters",), None),
    "vectors": (("frequency", "clusters"), None),
    "corpus": (("tense", "frequency", "clusters"), None),
}

EPILOG = f"""\
analyses, after Rajaee & Pilehvar (2021):
  structure  do . , the and of lie near their like in sentences of the same structure? --data: a treebank (CoNLL-U),
             or pairs of sentences (.tsv)
  tense      is a verb nearer to other meanings in its own tense than to its meaning in another? --corpus: SemCor,
             with a treebank as --data; or words that are labelled with a tense, as in the sample corpus
  frequency  how much of the space is word frequency?
  clusters   what do the clusters of the space hold, and do they share their dominant directions?

Each is shown before repair (baseline), after removal of the dominant directions of the whole space (global) and of each
cluster (cluster), with the paper's numbers of components and clusters for the kind of model, made smaller where a space
has few dimensions; --method and --repair name others. The last layer is looked at unless --layers names others.

{REPAIR_NAMES}
DIR then holds tables (CSV), claims.csv (held, not held, too close to call, cannot be shown), figures/ and run.json.

examples:
  limbeck analyze frequency --model mini-bert mini-gpt2 --out runs/frequency
  limbeck analyze clusters --model mini-bert --corpus text.txt --clusters 10 --out runs/clusters
  limbeck analyze structure --model bert-base-uncased --data 'UD_English-EWT/*.conllu.xz' --out runs/structure
  limbeck analyze structure --model mini-bert --data syntax-pairs/*.pairs.tsv --out runs/pairs
  limbeck analyze tense --model bert-base-uncased --corpus semcor3.0.tar.xz --data en_ewt-ud-train.conllu.xz \\
      --out runs/tense
  limbeck analyze tense --model mini-bert --layers all --method cluster:clusters=10,components=8 center \\
      --out runs/layers
  limbeck analyze frequency --model mini-bert --method standardize+cluster:clusters=10,components=8 --out runs/chain
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "analyze",
        help="ask what the dominant directions of a space hold",
        description="Ask what the dominant directions of a space hold (structure, tense, frequency) and what its "
        "clusters contain, before and after repair.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", metavar="WHAT", help=f"one of {', '.join(UNITS)}")
    add_model_options(parser, several=True, layers="the last")
    add_corpus_options(parser)
    group = parser.add_argument_group("analysis")
    group.add_argument("--data", nargs="+", metavar="D", help="treebank (CoNLL-U), or pairs of sentences (.tsv)")
    group.add_argument(
        "--vectors", metavar="V", help="frequency, clusters: kept vectors in the place of model and text"
    )
    group.add_argument("--tokens", nargs="+", metavar="T", help="structure: the tokens (default: . , the of)")
    group.add_argument("--groups", type=positive, metavar="N", help="structure: groups for each token (200)")
    group.add_argument("--group-size", type=positive, metavar="N", help="structure: sentences of a group (6)")
    group.add_argument(
        "--min-occurrences", type=positive, metavar="N", help="tense: occurrences that a sense needs (10)"
    )
    group.add_argument(
        "--max-occurrences", type=positive, metavar="N", help="tense: kept of each verb, sense and tense (20)"
    )
    group.add_argument(
        "--count-in", nargs="+", metavar="C", help="frequency: a text in which units are counted (default: the corpus)"
    )
    group.add_argument(
        "--clusters", type=positive, metavar="K", help="clusters: how many (default: 27, of causal models 10)"
    )
    group.add_argument(
        "--neighbors", type=positive, default=5, metavar="N", help="structure, frequency: nearest neighbours (5)"
    )
    group.add_argument("--metric", default="euclidean", help="of distances: euclidean (default, the paper's) or cosine")
    repairs = parser.add_argument_group("repair")
    repairs.add_argument(
        "--method",
        nargs="+",
        action="extend",
        metavar="M",
        help="repairs to fit, METHOD[:NAME=VALUE,...][+METHOD...] (default: the paper's all-but-the-top and cluster)",
    )
    repairs.add_argument(
        "--repair", nargs="+", metavar="R", help="fitted repairs: files, or folders of runs of `limbeck repair`"
    )
    repairs.add_argument(
        "--transductive",
        action="store_true",
        help="fit them on the very vectors that are looked at (default: on all units of the text, or a sample of them)",
    )
    repairs.add_argument(
        "--points", type=positive, default=20_000, metavar="N", help="units of the text that are sampled (20000)"
    )
    repairs.add_argument("--seed", type=int, default=0, help="of every sample, group and interval (default: 0)")
    run_group = parser.add_argument_group("run")
    run_group.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write; it must be new")
    run_group.add_argument(
        "--existing", default="fail", metavar="HOW", help="where DIR is there already: fail (default), resume, replace"
    )
    run_group.add_argument("--batch-tokens", type=positive, metavar="N", help="padded pieces a batch")
    run_group.add_argument("--workers", type=count, metavar="N", help="processes that split and tokenise")
    return parser


def run(options: argparse.Namespace) -> int:
    """Analyse each model, write tables and figures, print what was found."""
    check(options)
    from limbeck.encoders.loading import check_model
    from limbeck.runs.execution.sources import is_static

    for model in options.model or []:
        if len(options.model) > 1 and not is_static(model):  # the last should not be refused when the first is done
            check_model(model)
    how = ("run", "out", "existing", "quiet", "json", "typed", "debug")
    asked = {name: value for name, value in vars(options).items() if name not in how and value not in (None, False)}
    with opened(options.out, options) as (folder, workers):
        if folder.complete:
            check_same(folder, asked)
            print(f"{options.out}: complete already.")
            return 0
        analyses = []
        for model in options.model or [None]:
            analyses.append(analyze(model, options, workers))
        save(analyses, folder, asked)
        folder.finish()
    from limbeck.cli.analyze_summary import print_analyses

    print_analyses(analyses, options.out)
    return 0


def check(options: argparse.Namespace) -> None:
    """Refuse what cannot go together before anything is loaded; fill in what was left out."""
    from limbeck.analysis.spaces import METRICS, Method
    from limbeck.corpus.sources import is_read_once
    from limbeck.runs.execution.folders import check_target

    choose(options.what, UNITS, what="WHAT")
    for name, (analyses, default) in OWN.items():
        if getattr(options, name) is None:
            setattr(options, name, default)
        elif options.what not in analyses:
            told = f"--{name.replace('_', '-')}"
            raise UsageError(f"{told} belongs to analyze {', '.join(analyses)}; got analyze {options.what}.")
    choose(options.metric, METRICS, what="--metric")
    for text in options.method or []:
        Method(text)
    if options.targets:
        raise UsageError("--targets cannot be chosen here: an analysis knows which words it looks at.")
    if options.vectors is not None and (options.model or options.corpus or options.count_in):
        raise UsageError("--vectors stand in the place of --model, --corpus and --count-in: give one or the other.")
    if options.vectors is None and not options.model:
        raise UsageError("--model is needed.")
    if any(map(is_read_once, options.corpus or ())) and len(options.model or []) > 1:
        raise UsageError("--corpus must be files, each model reads it anew; got a pipe: put it into a file.")
    if options.what == "structure" and not options.data:
        raise UsageError("analyze structure needs sentences: give a treebank (CoNLL-U) or pairs (.tsv) to --data.")
    if options.what == "structure" and options.group_size < 2:
        raise UsageError("--group-size must be at least 2: a sentence alone has no like.")
    if options.what == "tense" and options.units not in (None, "words"):
        raise UsageError("analyze tense looks at words, which are labelled: leave --units out.")
    check_target(options.out, existing=options.existing)


def analyze(model: str | None, options: argparse.Namespace, workers: Workers) -> Analysis:
    """One analysis of one model."""
    from limbeck.analysis import clusters_of, frequency_of, pairs_of, structure_of, tense_of
    from limbeck.runs.execution.sources import CORPUS_OPTIONS, need_words, open_corpus, open_encoder, open_source
    from limbeck.stream import TextSource
    from limbeck.stream.run import choose_unit

    common: dict[str, Any] = {"workers": workers, "progress": not options.quiet}
    if options.vectors is not None:
        where = {"device": options.device} if options.device else {}
        source = need_words(open_source(vectors=options.vectors, **where))
        told = source.describe()
        settings = settings_of(options, source.name, told.get("model_fingerprint"), told.get("kept_from"))
        if options.what == "frequency":
            return frequency_of(source, settings=settings, **common)
        return clusters_of(source, k=options.clusters, settings=settings, **common)

    given = encoder_options(model, options)
    text = {name: given.pop(name) for name in (*CORPUS_OPTIONS, "text_unit") if name in given}
    unit = choose_unit(str(text.pop("text_unit", "sentence")))
    pairs = options.what == "structure" and are_pairs(options.data)
    if pairs and options.units is None:
        given["units"] = "words"
    encoder = open_encoder(model, **given)
    about = encoder.describe() if hasattr(encoder, "describe") else None
    settings = settings_of(options, encoder.name, getattr(encoder, "model_fingerprint", None), about)
    budget: dict[str, Any] = {
        "batch_tokens": int(options.batch_tokens or getattr(encoder, "batch_tokens", None) or 8192)
    }
    if pairs:
        from limbeck.analysis.groups import read_pairs

        return pairs_of(encoder, read_pairs(files_of(options.data)), settings=settings, **budget, **common)
    if options.what == "structure":
        named: dict[str, Any] = {"tokens": tuple(options.tokens)} if options.tokens else {}
        return structure_of(
            encoder,
            treebank_of(options.data),
            settings=settings,
            groups=options.groups,
            size=options.group_size,
            **named,
            **budget,
            **common,
        )
    with open_corpus(options.corpus or [default_corpus()], **text) as corpus:
        if options.what == "tense":
            found = tense_of(
                encoder,
                corpus,
                treebank=treebank_of(options.data) if options.data else None,
                settings=settings,
                least=options.min_occurrences,
                most=options.max_occurrences,
                **budget,
                **common,
            )
            return noted(found, corpus)
        source = TextSource(corpus, encoder, unit, budget["batch_tokens"])
        if options.what == "clusters":
            return noted(clusters_of(source, k=options.clusters, settings=settings, **common), corpus)
        if not options.count_in:
            return noted(frequency_of(source, settings=settings, **common), corpus)
        with open_corpus(options.count_in, **text) as other:
            found = frequency_of(source, count_in=replace(source, corpus=other), settings=settings, **common)
        return noted(found, corpus, other)


def noted(found: Analysis, *texts: Corpus) -> Analysis:
    """The analysis with a note of each text that is not in the language it was read by."""
    warned = dict.fromkeys(filter(None, (text.language_warning for text in texts)))
    return replace(found, notes=(*found.notes, *warned))


def encoder_options(model: str | None, options: argparse.Namespace) -> dict[str, Any]:
    """What was asked of model and text; the last layer and the analysis's units where nothing was."""
    from limbeck.runs.execution.sources import is_static

    given = source_options(argparse.Namespace(**{**vars(options), "repair": None, "vectors": None}))
    given.setdefault("units", UNITS[options.what])
    if model is not None and not is_static(model):
        given.setdefault("layers", "-1")
    elif given["units"] == "pieces" and options.units is None:
        given["units"] = "words"
    return given


def settings_of(options: argparse.Namespace, model: str, fingerprint: object, about: Any) -> Settings:
    from limbeck.analysis import Method, Settings
    from limbeck.repairs import load_repairs

    repairs = {
        Path(path).name: load_repairs(path, model=model, model_fingerprint=fingerprint) for path in options.repair or []
    }
    if len(repairs) < len(options.repair or []):
        raise UsageError("Repairs must have names that differ; got two files or folders of one name: rename one.")
    for path in options.repair or []:
        note_other_units(path, about or {})
    return Settings(
        methods=tuple(map(Method, options.method or [])),
        repairs=repairs,
        points=options.points,
        transductive=options.transductive,
        metric=options.metric,
        neighbors=options.neighbors,
        seed=options.seed,
    )


def note_other_units(path: str, about: Mapping[str, Any]) -> None:
    """Say where a repair was fitted on words and pieces are looked at, or the other way round."""
    from limbeck.repairs.folders import units_of

    was, now = units_of(path).get("units"), about.get("encoder_settings", about).get("units")
    if None not in (was, now) and was != now:
        print(
            f"limbeck: note: {path} was fitted on {was}, and {now} are looked at: fit one with --units {now}",
            file=sys.stderr,
        )


def default_corpus() -> str:
    from limbeck.corpus.sample import sample_path

    return str(sample_path())


def files_of(paths: Sequence[str]) -> list[str]:
    """Files, with those in folders and globs."""
    import glob

    found: list[str] = []
    for path in paths:
        if Path(path).is_dir():
            found += sorted(str(file) for file in Path(path).iterdir() if file.is_file())
        else:
            found += sorted(glob.glob(path)) or [path]
    return found


def are_pairs(paths: Sequence[str]) -> bool:
    """Whether --data names pairs of sentences rather than a treebank."""
    kinds = {Path(path).suffix == ".tsv" for path in files_of(paths)}
    if len(kinds) > 1:
        raise UsageError("--data must be a treebank or pairs of sentences (.tsv); got both: name one of them.")
    return kinds == {True}


def treebank_of(paths: Sequence[str]) -> Corpus | Sequence[Sentence]:
    """The sentences of CoNLL-U files."""
    from limbeck.corpus import Corpus

    return Corpus(list(paths), format="conllu")


def check_same(folder: RunFolder, asked: Mapping[str, Any]) -> None:
    """Refuse to take a finished run for another."""
    path = folder.target / "run.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        before = told.get("asked")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the record of a run is needed, it cannot be read ({error}).") from error
    if before != json.loads(json.dumps(asked, default=str)):
        raise LimbeckError(
            f"{folder.target}: it holds a run with other settings: --existing=replace, or another --out."
        )


def save(analyses: Sequence[Analysis], folder: RunFolder, asked: Mapping[str, Any]) -> None:
    """Tables, figures and run.json."""
    from limbeck.analysis.result import joined
    from limbeck.reporting.analyses import draw_analyses
    from limbeck.runs.execution.record import versions
    from limbeck.state import write_text
    from limbeck.tables import write_csv

    for name, columns in joined(analyses).items():
        write_csv(folder.unfinished / f"{name}.csv", columns)
    draw_analyses(analyses, folder.unfinished / "figures")
    told = {
        "command": "analyze",
        "asked": asked,
        "models": [
            {
                "name": one.model,
                "units": one.units,
                "settings": one.settings,
                "dropped": one.dropped,
                "notes": one.notes,
            }
            for one in analyses
        ],
        "claims": [{**asdict(claim), "verdict": claim.verdict} for one in analyses for claim in one.claims],
        "versions": versions(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    write_text(folder.unfinished / "run.json", json.dumps(told, indent=2, default=str) + "\n")
