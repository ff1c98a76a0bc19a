"""What stands beside the package uses its public names, as anybody's code would."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    str(path.relative_to(ROOT)): path
    for folder in ("benchmarks", "docs", "examples", "recipes", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
}

#: what still reaches below the public names, by file; this list may only become shorter
EXCEPTIONS = {
    "benchmarks/distill.py": (
        "limbeck.cli.process.prepare_process limbeck.runs.distilling.compute.distill_subject "
        "limbeck.runs.distilling.subject.Subject limbeck.runs.distilling.work.EVERYTHING"
    ),
    "benchmarks/elmo.py": "limbeck.encoders.bilm.reverse",
    "benchmarks/exactness.py": (
        "limbeck.encoded.Encoded limbeck.runs.measure.MeasureSettings limbeck.runs.measuring.results.Measured "
        "limbeck.runs.measuring.results.compute limbeck.runs.measuring.sums.accumulators_for "
        "limbeck.seeds.generator_for"
    ),
    "benchmarks/faults.py": (
        "limbeck.encoders.function.TextPreparer limbeck.seeds.hash_text limbeck.stream.local limbeck.stream.run.running"
    ),
    "benchmarks/fuzz.py": (
        "limbeck.encoders.bilm_files.write_folder limbeck.errors.LimbeckError limbeck.state.load "
        "limbeck.state.save limbeck.vectors.precision.Tensor limbeck.vectors.precision.write_tensors "
        "limbeck.vectors.word_counts.read_counts"
    ),
    "benchmarks/memory.py": (
        "limbeck.runs.execution.execute.write limbeck.runs.execution.sources.open_source "
        "limbeck.runs.measure.MeasureSettings limbeck.runs.measuring.compute.measure_source"
    ),
    "benchmarks/overhead.py": (
        "._padded limbeck.cli.process.prepare_process limbeck.encoders.huggingface.ATTENTION "
        "limbeck.runs.measure.MeasureSettings limbeck.runs.measuring.sums.accumulators_for "
        "limbeck.stream.tasks.Ready"
    ),
    "benchmarks/page.py": (
        "limbeck.reporting.read.MEASURES limbeck.runs.measuring.explorer.CLOUDS "
        "limbeck.runs.measuring.explorer.NEIGHBORS limbeck.runs.measuring.explorer.OCCURRENCES "
        "limbeck.tables.write_csv limbeck.tables.write_parquet"
    ),
    "benchmarks/probe.py": "limbeck.seeds.generator_for",
    "benchmarks/published_way.py": "limbeck.measures.contextuality.self_similarity_of",
    "benchmarks/scale.py": (
        "limbeck.cli.process.prepare_process limbeck.runs.measure.MeasureSettings "
        "limbeck.runs.measuring.sums.accumulators_for limbeck.stream.checkpoint.Checkpoint "
        "limbeck.stream.checkpoint.Part limbeck.stream.checkpoint.arrays_of limbeck.stream.ray.RayWorkers "
        "limbeck.stream.ray.put limbeck.stream.ray.ray limbeck.stream.tree.Node limbeck.stream.tree.Tree"
    ),
    "benchmarks/text_preparation.py": (
        "limbeck.corpus.documents.RawDocument limbeck.corpus.segment limbeck.corpus.units.texts_of "
        "limbeck.encoders.alignment.Aligner limbeck.encoders.preparer.PiecePreparer "
        "limbeck.stream.tasks.Ready limbeck.stream.workers.Pool"
    ),
    "benchmarks/x2static.py": (
        "limbeck.cli.process.prepare_process limbeck.distillation.x2static.sampling.keep_probabilities"
    ),
    "docs/commands.py": (
        "limbeck.cli.program.ARGUMENTS limbeck.cli.program.BEHIND limbeck.cli.program.COMMON "
        "limbeck.cli.program.REST limbeck.cli.program.TerminalSettings limbeck.cli.program.command_named "
        "limbeck.cli.program.command_names limbeck.cli.program.heading_of "
        "limbeck.runs.execution.command.Command limbeck.settings.Option limbeck.settings.options_of"
    ),
    "docs/generate.py": (
        "limbeck.measures.contextuality limbeck.measures.isotropy limbeck.measures.norms "
        "limbeck.measures.spectrum limbeck.runs.measuring.presets.PRESETS "
        "limbeck.runs.measuring.presets.Preset"
    ),
    "docs/stub.py": (
        "limbeck._PUBLIC limbeck.cli.program.command_named limbeck.runs.execution.command.Command "
        "limbeck.runs.execution.result limbeck.settings.Option"
    ),
}


def public(module: str, name: str) -> bool:
    """Whether a name is one of those that a package lists; a module below a package lists none for others."""
    loaded = importlib.import_module(module)
    return hasattr(loaded, "__path__") and name in getattr(loaded, "__all__", ())


def internal_names(text: str) -> Iterator[str]:
    """The names of limbeck in a program that are not public; `._name` for an attribute that something else keeps."""
    tree = ast.parse(text)
    roots = {"limbeck"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {one.asname for one in node.names if one.name == "limbeck" and one.asname}
            yield from (one.name for one in node.names if one.name.startswith("limbeck."))
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "limbeck":
            names = [one.name for one in node.names]
            yield from (f"{node.module}.{name}" for name in names if not public(str(node.module), name))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        holder = ast.unparse(node.value)
        if holder in roots and not node.attr.startswith("__") and not public("limbeck", node.attr):
            yield f"limbeck.{node.attr}"
        elif node.attr.startswith("_") and not node.attr.startswith("__") and holder not in {"self", "cls", "os"}:
            yield f".{node.attr}"


@pytest.mark.parametrize("file", FILES)
def test_only_public_names_are_used_outside_the_package(file: str) -> None:
    found = set(internal_names(FILES[file].read_text(encoding="utf-8")))
    assert sorted(found) == sorted(EXCEPTIONS.get(file, "").split())


def test_every_exception_is_of_a_file() -> None:
    assert set(EXCEPTIONS) <= set(FILES)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("from limbeck.corpus import Corpus, segment", {"limbeck.corpus.segment"}),
        ("from limbeck.corpus.units import Text", {"limbeck.corpus.units.Text"}),
        ("from limbeck import measures, tables", {"limbeck.tables"}),
        ("import limbeck.seeds", {"limbeck.seeds"}),
        ("import limbeck as lb\nlb.measure('m', 't')\nlb.cli.main()", {"limbeck.cli"}),
        ("encoder._model.eval()\nself._model.eval()\nmade.__dict__", {"._model"}),
        ("import limbeck\nlimbeck.__version__\nlimbeck.probing.train", set()),
    ],
)
def test_a_name_that_is_not_public_is_found(program: str, found: set[str]) -> None:
    assert set(internal_names(program)) == found
