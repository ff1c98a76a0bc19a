"""The settings of a distilling run: taken from what was given, checked before a model is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from limbeck.distillation.fallback import METHOD_OF
from limbeck.distillation.finishing import check_repair
from limbeck.distillation.methods import METHODS, NOTHING, in_order, own_settings, start_of
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.x2static.settings import preset_named
from limbeck.errors import UsageError

X2STATIC = "x2static"  #: the method that has presets
OPTIONS = {"special_input": "--no-special-input", "templates": "--frame"}  #: settings whose option is not their name


def settings_of(methods: str | Sequence[str], options: Mapping[str, Any]) -> tuple[DistillSettings, dict[str, Any]]:
    """The settings among the options, and the other options."""
    names = [name.strip() for name in (methods.split(",") if isinstance(methods, str) else methods)]
    options = with_preset(names, options)
    known = {one.name for one in fields(DistillSettings)} - {"methods"}
    given = {name: value for name, value in options.items() if name in known}
    if isinstance(given.get("templates"), str):
        given["templates"] = (given["templates"],)
    elif "templates" in given:
        given["templates"] = tuple(given["templates"])
    settings = DistillSettings(methods=tuple(dict.fromkeys(names)), **given)
    check(settings)
    refuse_unheeded(given, settings)
    return settings, {name: value for name, value in options.items() if name not in known}


def with_preset(methods: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with all that a preset of X2Static says of training, words, text and teacher; what is given wins."""
    found = dict(options)
    name = found.pop("preset", None)
    if name is None:
        return found
    preset = preset_named(name)
    if X2STATIC not in methods:
        raise UsageError(
            f"--preset {name} is of {X2STATIC}, which is not asked for: add it to --method, or leave it out."
        )
    train = dict(found.get("train", {}))
    train[X2STATIC] = {"preset": name, **train.get(X2STATIC, {})}
    sentence, longer = preset.window
    said = {
        "min_count": preset.min_count,
        "max_words": preset.max_words,
        "deduplicate": preset.deduplicate,
        "lowercase": preset.lowercase or None,
        "keep_first": preset.keep_first or None,
    }
    if "window" not in found:
        said["preset_window"] = sentence if found.get("text_unit", "sentence") == "sentence" else longer
    return {key: value for key, value in said.items() if value is not None} | found | {"train": train}


def check(settings: DistillSettings) -> None:
    """Refuse what cannot be done, before a model is loaded for it."""
    for name in in_order(settings):
        own_settings(name, settings)
    for name in settings.train.keys() - set(in_order(settings)):
        raise UsageError(f"--set is for methods that are asked for; got {name}: add it to --method, or leave it out.")
    if settings.start is not None:
        able = [name for name in in_order(settings) if METHODS[name].train and METHODS[name].start != NOTHING]
        if not able:
            raise UsageError(
                "--start is for methods that train and can begin from given vectors, and none is asked for: leave it "
                "out."
            )
        if settings.start != NOTHING and all(start_of(name, settings) != settings.start for name in able):
            raise UsageError(
                f"--start {settings.start} is for others that train, and none is asked for that can begin from it: "
                "choose another, or leave it out."
            )
    check_repair(settings.repair)


def refuse_unheeded(given: Mapping[str, Any], settings: DistillSettings) -> None:
    """Refuse settings that were given and that nothing would heed."""
    if "sif" in given and settings.weighting != "sif":
        raise UsageError("--sif is for --weighting sif, which is not asked for: add it, or leave --sif out.")
    reading = set(in_order(settings))
    if any(METHODS[name].alone is None and not METHODS[name].untaught for name in settings.methods):
        reading.add(METHOD_OF.get(settings.unseen, ""))  # for words that the text lacks
    for name in dict.fromkeys(name for method in METHODS.values() for name in method.heeds):
        heeding = [method for method in METHODS if name in METHODS[method].heeds]
        default = getattr(DistillSettings, name)
        usual = isinstance(default, bool) and given.get(name) == default  # a switch that is off
        if given.get(name) is not None and not usual and reading.isdisjoint(heeding):
            option = OPTIONS.get(name, "--" + name.replace("_", "-"))
            raise UsageError(
                f"{option} is of {', '.join(heeding)}, and nothing that is asked for has to do with that: leave it out."
            )
