"""Encoders from a miniature's name, a folder, a GGUF file or a name on the Hugging Face hub; never from a pickle."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from dataclasses import dataclass
from inspect import signature
from logging import ERROR, getLogger
from pathlib import Path
from typing import Any

from limbeck.encoders.bilm_files import check_folder, is_bilm_folder
from limbeck.encoders.elmo import ElmoEncoder
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.encoders.miniatures import is_miniature, miniature_folder, refuse_misspelt
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.extras import need
from limbeck.remote import refuse_password
from limbeck.vectors import model_files

LOADABLE = (
    "a model is a name or folder, a model of transformers with its tokenizer (model, tokenizer), a SentenceTransformer "
    "of one, an Encoder, StaticVectors, or a function of texts"
)
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_TOKENIZERS = (
    "tokenizer.json", "vocab.txt", "vocab.json", "*.model", "tokenizer_config.json", "tekken.json", "*.tiktoken",
)  # fmt: skip


def load_encoder(
    source: Any,
    *,
    name: str | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    layers: str | int | Sequence[str | int] | None = None,
    units: str | None = None,
    pooling: str | None = None,
    window: int | None = None,
    context: int | None = None,
    targets: str | Collection[str] | None = None,
    keep_first: bool = False,
    special: bool = False,
    stack: str = "encoder",
    lowercase: bool | None = None,
    carry_state: bool = False,
    device: Any = None,
    dtype: Any = None,
    batch_tokens: int | None = None,
) -> HuggingFaceEncoder | ElmoEncoder:
    """Load model and tokenizer, as an encoder with settings: see `HuggingFaceEncoder`, whose defaults stand for None.

    `source` may also be (model, tokenizer), a model of transformers that knows where its tokenizer lies, or what holds
    both, such as a SentenceTransformer.

    A miniature's name ("mini-bert") means the one that comes with limbeck; "./mini-bert", or a Path, is a folder.
    A folder with options.json and no config.json is a biLM, see `ElmoEncoder`: `lowercase` and `carry_state` are about
    biLMs alone, `units`, `pooling`, `keep_first`, `special` and `stack` about models of transformers.

    A folder is read without the network. Weights come from safetensors, from torch's weights-only
    files, or from GGUF, which are data and run no code; a model that brings its own code needs
    `trust_remote_code`.
    """
    settings = dict(locals())  # all keywords above, none of them listed again
    for other in ("source", "name", "revision", "trust_remote_code"):
        del settings[other]
    settings |= {key: str(settings[key] or "").removeprefix("torch.") or None for key in ("device", "dtype")}
    folder, _ = _find(source) if isinstance(source, str | Path) else (None, None)
    if folder is not None and is_bilm_folder(folder):  # which knows words alone: a preset that asks for pieces is met
        model_files.check_links(folder)
        settings |= {"units": None, "stack": None if stack == "encoder" else stack}
        own = _own(settings, ElmoEncoder, "a biLM, which reads whole words in one stack")
        return ElmoEncoder.from_folder(folder, name=name, **own)
    own = _own(settings, HuggingFaceEncoder, "a model of transformers")
    if isinstance(source, str | Path):
        parts = load_parts(source, revision=revision, trust_remote_code=trust_remote_code, stack=stack)
        return HuggingFaceEncoder(parts.model, parts.tokenizer, name=name or parts.name, **own)
    loaded = loaded_encoder(source, name=name, revision=revision, trust_remote_code=trust_remote_code, **own)
    if loaded is None:
        raise UsageError(
            f"a model is a name, a folder or (model, tokenizer) of transformers; got {kind_of(source)}.",
            code="wrong_type",
            parameter="model",
        )
    return loaded


def _own(settings: Mapping[str, Any], kind: type, what: str) -> dict[str, Any]:
    """The settings that are given; those that an encoder of this kind does not have are refused."""
    given = {name: value for name, value in settings.items() if value is not None and value is not False}
    if idle := [name for name in given if name not in signature(kind).parameters]:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
        raise UsageError(
            f"{flags} cannot be chosen for {what}: leave it out.",
            code="no_effect",
            parameter=idle[0],
        )
    return given


def loaded_encoder(model: Any, **options: Any) -> HuggingFaceEncoder | None:
    """An encoder of a model of transformers that is loaded already; None where this is something else.

    It is a pair of model and tokenizer, a model whose tokenizer lies where it was loaded from, or anything that holds
    both (a pipeline, a SentenceTransformer). The model is moved to device and precision in place.
    """
    inside, tokenizer = parts_of(model)
    if inside is None:
        return None
    name = options.pop("name", None) or getattr(inside, "name_or_path", "") or type(inside).__name__
    for idle in ("revision", "trust_remote_code"):
        if options.pop(idle, None):
            raise UsageError(
                f"{idle} cannot be chosen for a model that is loaded already: leave it out.",
                code="no_effect",
                parameter=idle,
            )
    if tokenizer is None:
        tokenizer = tokenizer_of(inside)
    return HuggingFaceEncoder(inside, tokenizer, name=Path(name).name, **options)


def parts_of(model: Any) -> tuple[Any, Any]:
    """A model of transformers and its tokenizer, None for what is not there."""
    if isinstance(model, tuple | list):
        if len(model) == 2 and _is_transformer(model[0]) and callable(model[1]):
            return model[0], model[1]
        return None, None
    if _is_transformer(model):
        return model, None
    for name in ("auto_model", "model"):  # of sentence-transformers, of a pipeline
        parts = [model] + ([model[0]] if hasattr(model, "encode") and hasattr(model, "__getitem__") else [])
        for part in parts:
            if _is_transformer(inside := getattr(part, name, None)):
                return inside, getattr(model, "tokenizer", None)
    return None, None


def kind_of(thing: Any) -> str:
    """Whose class it is, for a message."""
    module = type(thing).__module__.split(".")[0]
    return type(thing).__name__ if module == "builtins" else f"{module}'s {type(thing).__name__}"


def _is_transformer(model: Any) -> bool:
    from transformers import PreTrainedModel

    return isinstance(model, PreTrainedModel)


@dataclass(frozen=True)
class Parts:
    """A model of transformers and its tokenizer, as loaded, and what they are called."""

    model: Any
    tokenizer: Any
    name: str


def load_parts(
    source: str | Path, *, revision: str | None = None, trust_remote_code: bool = False, stack: str = "encoder"
) -> Parts:
    """What `load_encoder` makes an encoder of, for those who train or look inside."""
    folder, gguf = _find(source)
    if folder is not None and is_bilm_folder(folder):
        raise UsageError(
            f"{source} is a biLM; a model of transformers is needed here: give another one.",
            code="unsupported",
            parameter="model",
        )
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    if folder is not None:
        options["local_files_only"] = True
    elif revision is not None:
        options["revision"] = revision
    if gguf is not None:
        need("gguf", purpose="Reading a GGUF file")
        need("accelerate", purpose="Reading a GGUF file")
        options["gguf_file"] = gguf
    elif folder is not None:
        _check(folder)
    where = str(folder or source)
    # A GGUF file's progress bar listens to nobody, so there standard error is held back.
    with quiet(bars=folder is None and sys.stderr.isatty()), redirect_stderr(io.StringIO()) if gguf else nullcontext():
        if gguf is None and (files := folder or _fetched(str(source), revision)) is not None:
            model_files.check_sizes(files, trust_remote_code=trust_remote_code)
        tokenizer = _load("tokenizer", where, options)
        model = _load("model", where, options, stack=stack)
    name = str(source) if folder is None else (Path(gguf).stem if gguf else folder.absolute().name)
    return Parts(model, tokenizer, name)


def check_model(source: str | Path) -> None:
    """Say what a local model lacks, without loading it."""
    folder, gguf = _find(source)
    if folder is not None and is_bilm_folder(folder):
        model_files.check_links(folder)
        check_folder(folder)
    elif folder is not None and gguf is None:
        _check(folder)


def _find(source: str | Path) -> tuple[Path | None, str | None]:
    """The folder and the GGUF file in it that a source names; (None, None) for a name on the hub."""
    if isinstance(source, str) and is_miniature(source):
        return miniature_folder(source), None
    refuse_misspelt(source)
    source = str(source)
    refuse_password(source)
    path = Path(source).expanduser()
    if path.is_file():
        if path.suffix == ".gguf":
            return path.parent, path.name
        raise InputError(
            f"A model must be a folder, a .gguf file or a hub name; got the file {source}.",
            code="other_kind",
            parameter="model",
        )
    if path.is_dir():
        files = sorted(path.glob("*.gguf"))
        if not files or (path / "config.json").exists():
            return path, None
        if len(files) > 1:
            raise InputError(
                f"{source} must hold one GGUF file; it holds {len(files)}: name one of them.",
                code="ambiguous",
                parameter="model",
            )
        return path, files[0].name
    if source.startswith((".", "/", "~")) or source.count("/") > 1 or source.endswith((".gguf", "/")):
        raise InputError(
            f"A model must be a folder, a .gguf file or a hub name; there is nothing at {source}.",
            code="not_found",
            parameter="model",
        )
    return None, None


def _check(folder: Path) -> None:
    """Say in one line what a folder lacks, before transformers says it in twenty."""
    if not (folder / "config.json").is_file():
        raise InputError(
            f"{folder} must hold a model's config.json; it has none: save it with save_pretrained.",
            code="incomplete",
            parameter="model",
        )
    if not any(next(folder.glob(pattern), None) for pattern in _WEIGHTS):
        raise InputError(
            f"{folder} must hold weights (model.safetensors or pytorch_model.bin); it has none: "
            "save the model with save_pretrained.",
            code="incomplete",
            parameter="model",
        )
    if not any(next(folder.glob(pattern), None) for pattern in _TOKENIZERS):
        raise InputError(
            f"{folder} must hold a tokenizer (tokenizer.json, vocab.txt or a SentencePiece model); it has none: "
            "save the tokenizer there too, with save_pretrained.",
            code="incomplete",
            parameter="model",
        )
    model_files.check_folder(folder)


def _fetched(name: str, revision: str | None) -> Path | None:
    """Where the hub's library keeps the files of a model by name, fetched and checked; None where it has none.

    They are what transformers fetches a moment later, and what goes wrong is told there.
    """
    from transformers.utils.hub import cached_file

    def fetch(file: str) -> Path | None:
        found = cached_file(name, file, revision=revision, _raise_exceptions_for_missing_entries=False)
        return None if found is None else Path(found)

    with suppress(OSError, ValueError):
        config = fetch("config.json")
        if config is None:
            return None
        fetch("tokenizer_config.json")
        if fetch(model_files.SAFE) is None and (index := fetch(f"{model_files.SAFE}.index.json")) is not None:
            for file in {place.name for place in model_files.weight_places(index.parent).values()}:
                fetch(file)
        model_files.check_folder(config.parent)
        return config.parent
    return None


def _load(part: str, where: str, options: dict[str, Any], *, stack: str = "") -> Any:
    from transformers import AutoModel, AutoTokenizer

    try:
        if part == "tokenizer":
            return AutoTokenizer.from_pretrained(where, **options)
        model, found = AutoModel.from_pretrained(where, output_loading_info=True, weights_only=True, **options)
    except LimbeckError:
        raise
    except Exception as error:
        # transformers raises almost anything here, and its messages run over many lines.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0].rstrip(".:") if lines else type(error).__name__
        remedy = "check the files" if options.get("local_files_only") else "check the name and the network"
        raise InputError(
            f"The {part} of {where} could not be loaded ({reason}): {remedy}.", code="damaged", parameter="model"
        ) from error
    # Weights that are missing are made up at random, in a warning's silence. A pooler is not used here, but it is
    # in the fingerprint, which must be the same at every loading.
    missing = [key for key in found["missing_keys"] if "pooler" not in key]
    model_files.check_layers(Path(where), model, found["unexpected_keys"], fewer=False)
    weights = model.state_dict()
    for key in set(found["missing_keys"]) - set(missing):
        weights[key].zero_()
    if stack == "encoder":
        missing = [key for key in missing if not key.startswith("decoder.")]
    if missing:
        raise InputError(
            f"The weights of {where} must fill the whole model; {len(missing)} are missing ({sorted(missing)[0]} is "
            "one): give the model's complete weights.",
            code="incomplete",
            parameter="model",
        )
    return model


def tokenizer_of(model: Any) -> Any:
    """The tokenizer that lies where a loaded model of transformers came from."""
    where = str(getattr(model, "name_or_path", ""))
    try:
        if not where:
            raise InputError("it does not say where it came from", code="not_found")
        with quiet(bars=False):
            return _load("tokenizer", where, {"local_files_only": True})
    except InputError as error:
        raise UsageError(
            f"{type(model).__name__} is a model without its tokenizer, and none is found where it came from "
            f"({where or 'it does not say'}): give both, (model, tokenizer).",
            code="incomplete",
            parameter="model",
        ) from error


@contextmanager
def quiet(*, bars: bool) -> Iterator[None]:
    """Keep the libraries' reports off the user's terminal, and their bars unless something is downloaded."""
    from transformers.utils import logging

    level, shown = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    hub = getLogger("huggingface_hub")  # tells every one of its tries to reach the network
    hub_level = hub.level
    hub.setLevel(ERROR)
    if not bars:
        logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        hub.setLevel(hub_level)
        if shown:
            logging.enable_progress_bar()
