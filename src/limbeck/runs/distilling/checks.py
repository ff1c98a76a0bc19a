"""What the settings of a distilling run must be, before a model is loaded for it."""

from __future__ import annotations

from limbeck.distillation.finishing import check_repair
from limbeck.distillation.methods import METHODS, NOTHING, X2STATIC, in_order, own_settings, start_of, with_methods
from limbeck.distillation.settings import METHOD_OF, DistillSettings
from limbeck.errors import UsageError


def settled(settings: DistillSettings, usual: str) -> DistillSettings:
    """The settings with methods, `usual` where none is named, if they go together."""
    found = with_methods(settings, usual)
    if settings.preset is not None and X2STATIC not in found.methods:
        raise UsageError(
            f"--preset {settings.preset} applies only to {X2STATIC}: add it to --method, or omit --preset.",
            code="no_effect",
            parameter="preset",
        )
    ordered = in_order(found)
    for name in ordered:
        own_settings(name, found)
    for name in found.set.keys() - set(ordered):
        raise UsageError(
            f"--set is for methods that are asked for; got {name}: add it to --method, or omit its settings.",
            code="no_effect",
            parameter="set",
        )
    check_start(found)
    check_repair(found.repair)
    refuse_unused(settings, found)
    return found


def check_start(settings: DistillSettings) -> None:
    """Refuse something to begin from where nothing could begin from it."""
    if settings.start is None:
        return
    able = [name for name in in_order(settings) if METHODS[name].train and METHODS[name].start != NOTHING]
    if not able or (settings.start != NOTHING and all(start_of(name, settings) != settings.start for name in able)):
        raise UsageError(
            f"--start {settings.start} is for methods that train and can begin from it, and none is asked for: choose "
            "another, or omit it.",
            code="no_effect",
            parameter="start",
        )


def refuse_unused(given: DistillSettings, settings: DistillSettings) -> None:
    """Refuse options that were given and that have no effect."""
    if "sif" in given.given() and settings.weighting != "sif":
        raise UsageError(
            "--sif applies only with --weighting=sif: add that, or omit --sif.", code="no_effect", parameter="sif"
        )
    reading = set(in_order(settings))
    if any(METHODS[name].alone is None and not METHODS[name].untaught for name in settings.methods):
        reading.add(METHOD_OF.get(settings.unseen, ""))  # for words that the text lacks
    for name in dict.fromkeys(name for method in METHODS.values() for name in method.heeds):
        heeding = [method for method in METHODS if name in METHODS[method].heeds]
        if name in given.given() and reading.isdisjoint(heeding):
            flag = "--no-special-input" if name == "special_input" else "--" + name.replace("_", "-")
            raise UsageError(
                f"{flag} applies only to {', '.join(heeding)}; none of them is asked for: omit it.",
                code="no_effect",
                parameter=name,
            )
