"""From what a user names (model and text, or kept vectors) to a source of occurrences."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from limbeck.corpus import Corpus, Sentence
from limbeck.corpus.sample import SAMPLE
from limbeck.corpus.settings import CorpusSettings
from limbeck.encoders import TableEncoder, load_encoder
from limbeck.encoders.huggingface import choose_device
from limbeck.encoders.loading import LOADABLE, kind_of, loaded_encoder
from limbeck.encoders.miniatures import is_miniature
from limbeck.encoders.preparer import UNITS
from limbeck.encoders.protocol import Encoder, EncoderLike, as_encoder
from limbeck.errors import Advice, InputError, UsageError, choose
from limbeck.remote import Place, as_url, brought
from limbeck.settings import options_of
from limbeck.stream import Source, TextSource, VectorSource
from limbeck.stream.run import choose_unit
from limbeck.stream.sources import NO_WORDS
from limbeck.vectors import OccurrenceVectors, StaticVectors
from limbeck.vectors.folders import refuse_several
from limbeck.vectors.plain import IN_MEMORY, in_memory, is_array
from limbeck.vectors.spacy_folders import is_spacy

#: options of a corpus; all others are the encoder's. To read characters is asked for as units
CORPUS_OPTIONS = (*(one.name for one in options_of(CorpusSettings)), "characters")
CORPORA = (
    "a corpus is a path or several, a Corpus, or a list: of texts (strings), of sentences (lists of words) or of rows "
    '({"text": ...} or {"tokens": [...]})'
)


def open_source(
    model: Any = None,
    corpus: Any = None,
    *,
    vectors: Any = None,
    text_unit: str = "sentence",
    batch_tokens: int | None = None,
    units: str | None = None,
    preset_units: str = "words",
    repair: Any = None,
    first_document: int = 0,
    **options: Any,
) -> Source:
    """A source: `vectors` alone, or `model` and `corpus` with their options.

    `units` are asked for, and a model that knows words alone refuses others; where none are, `preset_units` are
    those of a model that has a choice. `repair` is applied inside the pass: a file of `limbeck.repairs.save`, a folder
    of `limbeck repair`, or what was fitted, one repair for every layer or {layer: repair}. `first_document` is the
    number of the corpus' first document, where it is a later part of a text.
    """
    if units == "characters":
        units, options["characters"] = "words", True
    if repair is not None:
        own: dict[str, Any] = {"text_unit": text_unit, "batch_tokens": batch_tokens}
        own |= {"units": units, "preset_units": preset_units, "first_document": first_document}
        return repaired(open_source(model, corpus, vectors=vectors, **own, **options), repair)
    if corpus is None and vectors is None and is_array(model):
        model, vectors = None, model
    if vectors is not None:
        if model is not None or corpus is not None:
            raise UsageError(
                "--vectors stand in the place of --model and --corpus: give one or the other.",
                code="exclusive",
                parameter="vectors",
            )
        device = options.pop("device", "auto")
        refuse_options(options | ({"first_document": first_document} if first_document else {}), "kept vectors")
        where = "cpu" if device == "auto" else str(choose_device(device))
        if isinstance(vectors, os.PathLike):  # a result of `encode`, too
            vectors = Path(vectors)
        if isinstance(vectors, str | Path):
            return VectorSource(OccurrenceVectors.load(vectors), str(vectors), where)
        kept = in_memory(vectors) if is_array(vectors) else vectors
        if not isinstance(kept, OccurrenceVectors):
            raise UsageError(
                f"vectors are a file or folder of kept ones, or an array; got {kind_of(vectors)}.",
                code="wrong_type",
                parameter="vectors",
            )
        return VectorSource(kept, IN_MEMORY, where)
    if model is None or corpus is None:
        raise UsageError(
            "a model and a corpus are needed (--model, --corpus), or kept vectors (--vectors).",
            code="required",
            parameter="model",
        )
    corpus_options = {name: options.pop(name) for name in CORPUS_OPTIONS if name in options}
    text = open_corpus(corpus, **corpus_options)
    if first_document:
        from limbeck.runs.execution.parts import LaterDocuments

        text = LaterDocuments(text, first_document)
    encoder = open_encoder(model, units=units or preset_units, batch_tokens=batch_tokens, **options)
    if units is not None and encoder.units != units:
        raise UsageError(
            f"units are {encoder.units} for {encoder.name}, which has no {units}: leave --units out.",
            code="no_effect",
            parameter="units",
        )
    return TextSource(text, encoder, choose_unit(text_unit), batch_tokens)


def need_words(source: Source) -> Source:
    """The source, if its rows have words."""
    if source.wordless:
        raise InputError(NO_WORDS.format(source.path or source.name), code="no_words", parameter="words")
    return source


def repaired(source: Source, repair: Any) -> Source:
    """The source with its vectors repaired; a path is read."""
    from limbeck.repairs import RepairedSource, load_repairs  # scikit-learn is an extra

    if isinstance(repair, str | Path):
        known = source.describe().get("model_fingerprint")
        repair = load_repairs(repair, model=source.name, model_fingerprint=known)
    return RepairedSource(source, repair)


def open_corpus(corpus: Any, **options: Any) -> Corpus:
    """A Corpus from a path or "sample", several paths, or what is in memory: texts, sentences or rows.

    Warns of a text that is in another language than it is divided by.
    """
    if isinstance(corpus, Corpus):
        refuse_options(options, "a Corpus that is open already")
        found = corpus
    elif not isinstance(corpus, str | Path):
        found = corpus_in_memory(corpus, **options)
    elif isinstance(corpus, str) and any(map(str.isspace, corpus)) and not names_something(corpus):
        raise InputError(
            f"{' '.join(corpus.split())[:60]}: there is no such file or folder: check the path; a text itself is "
            "given in a list, [text].",
            code="not_found",
            parameter="corpus",
        )
    else:
        found = Corpus(corpus, **options)
    if found.language_warning:
        warnings.warn(Advice(found.language_warning), stacklevel=2)
    return found


def open_encoder(model: Any, *, units: str = "words", batch_tokens: int | None = None, **options: Any) -> Encoder:
    """An Encoder from a name, a folder, a model that is loaded already, static vectors or a function.

    Units are a model's to choose: static vectors and functions know words alone, an Encoder has been told.
    """
    choose(units, UNITS, what="units")
    if isinstance(model, str | Path) and not str(model):
        raise UsageError("a model's name or folder is needed, got none.", code="required", parameter="model")
    if isinstance(model, str | Path) and not is_static(model):
        return load_encoder(model, units=units, batch_tokens=batch_tokens, **options)
    if isinstance(model, str | Path | StaticVectors):
        device = options.pop("device", "auto")
        refuse_options(options, "static vectors")
        if isinstance(model, StaticVectors):
            return TableEncoder(model, device=device)
        return TableEncoder(StaticVectors.load(model), name=Path(model).name, device=device)
    if isinstance(model, EncoderLike):
        refuse_options(options, "an encoder of your own")
        return as_encoder(model)
    if (loaded := loaded_encoder(model, units=units, batch_tokens=batch_tokens, **options)) is not None:
        return loaded
    if not callable(model) or hasattr(model, "named_modules"):  # a module of torch reads tensors, no texts
        raise UsageError(f"{LOADABLE}; got {kind_of(model)}.", code="wrong_type", parameter="model")
    refuse_options(options, "an encoder of your own")
    return as_encoder(model)


def refuse_options(options: dict[str, Any], what: str) -> None:
    """Say which options would have had no effect."""
    if options:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise UsageError(
            f"{named} cannot be chosen for {what}: omit it.", code="no_effect", parameter=next(iter(options))
        )


def is_static(model: str | Path) -> bool:
    """Whether a file of static vectors or a folder of them (model2vec, spaCy) is named, rather than a model."""
    if is_miniature(model):
        return False
    with brought(model) as path:
        return _is_static(path)


def _is_static(path: Path) -> bool:
    if path.is_file():
        return path.suffix != ".gguf"
    if is_spacy(path):
        return True
    if path.is_dir():
        refuse_several(path)
    config = path / "config.json"
    return path.is_dir() and config.is_file() and '"model2vec"' in config.read_text(encoding="utf-8", errors="replace")


# what is in memory


def corpus_in_memory(corpus: Any, **options: Any) -> Corpus:
    """A Corpus of what is no single path: several paths, texts, sentences or rows."""
    if isinstance(corpus, bytes | Mapping) or not isinstance(corpus, Iterable):
        raise UsageError(f"{CORPORA}; got {type(corpus).__name__}.", code="wrong_type", parameter="corpus")
    if hasattr(corpus, "iterrows"):
        raise UsageError(
            f'{CORPORA}; got a table: give the column of texts, such as table["text"].',
            code="wrong_type",
            parameter="corpus",
        )
    items = list(corpus)
    if items and all(isinstance(one, str | Path) for one in items):
        if not any(_is_text(one) for one in items):
            return Corpus(items, **options)
        if there := [one for one in items if isinstance(one, Path) or names_something(one)]:
            raise UsageError(
                f"a list of strings must be all texts or all paths; {str(there[0])!r} is a path, and "
                f"{next(one for one in items if _is_text(one))[:40]!r} is none: give one kind.",
                code="wrong_type",
                parameter="corpus",
            )
        return _made(Corpus.from_texts, items, options, "texts in memory")
    if items and all(isinstance(one, str | Mapping) for one in items):
        return _made(Corpus.from_texts, items, options, "rows in memory")
    if wrong := [one for one in items if not isinstance(one, Sentence) and not _is_words(one)]:
        raise UsageError(
            f"{CORPORA}; got {' '.join(repr(wrong[0]).split())[:60]} in it.", code="wrong_type", parameter="corpus"
        )
    return _made(Corpus.from_sentences, items, options, "sentences in memory")


def _is_text(one: str | Path) -> bool:
    """Whether a string is running text: it has a blank, or nothing in it, and names no file."""
    plain = isinstance(one, str) and not isinstance(one, Place)
    return plain and (not str(one) or any(map(str.isspace, str(one)))) and not names_something(one)


def names_something(path: str | Path) -> bool:
    """Whether something is read by this name."""
    if path in ("-", SAMPLE) or (not any(map(str.isspace, str(path))) and as_url(path) is not None):
        return True
    try:
        return os.path.exists(path) and bool(str(path))
    except ValueError:  # a NUL
        return False


def _is_words(one: Any) -> bool:
    if isinstance(one, str | bytes | Path | Mapping) or not isinstance(one, Iterable):
        return False
    return isinstance(one, Sequence) and all(isinstance(word, str) for word in one)


def _made(make: Callable[..., Corpus], items: list[Any], options: dict[str, Any], what: str) -> Corpus:
    """A Corpus of items; options that `make` does not take are refused."""
    taken = signature(make).parameters
    refuse_options({name: value for name, value in options.items() if name not in taken}, what)
    return make(items, **options)
