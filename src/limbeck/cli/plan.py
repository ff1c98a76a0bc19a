"""limbeck plan: a command line put into a plan file instead of being run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from limbeck.cli.options import add_common_options
from limbeck.errors import UsageError, choose

EPILOG = """\
The first command writes the file, the others add to it; model and text must be the same for all. `limbeck run FILE`
then reads the text once for all of them.

examples:
  limbeck plan measure --model bert-base-cased --corpus text.txt --out runs/measured
  limbeck plan distill --model bert-base-cased --corpus text.txt --method average --out runs/vectors
  limbeck run plan.toml

  limbeck plan --to week.toml repair --model gpt2 --corpus text.txt --method whiten --out runs/repaired
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "plan",
        help="put a command into a plan file, for one pass with others",
        description="Put a command (measure, encode, repair, distill, probe) into a plan file instead of running it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--to", type=Path, default=Path("plan.toml"), metavar="FILE", help="the plan (plan.toml)")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="COMMAND ...", help="the command as it would be typed"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.cli.plan_file import CONSUMERS, PlanFile, lines_for
    from limbeck.places import check_file
    from limbeck.state import write_text

    if not options.words:
        raise UsageError(f"a command is needed, one of {', '.join(CONSUMERS)}, with its options.")
    command, *arguments = options.words
    choose(command, CONSUMERS, what="the command")
    check_file(options.to, option="--to")
    shared, own = divided(command, arguments)
    if options.to.exists():
        known = PlanFile.read(options.to)
        for key in dict.fromkeys([*known.shared, *shared]):
            if key not in ("out", "layers") and known.shared.get(key) != shared.get(key):
                there, here = told(known.shared.get(key)), told(shared.get(key))
                raise UsageError(
                    f"{options.to}: one pass has one model and one text; {key} is {there} there and {here} here: use "
                    "another plan (--to)."
                )
        text = known.text.rstrip("\n") + "\n"
    else:
        text = lines_for(shared)
    write_text(options.to, f"{text}\n[[{command}]]\n{lines_for(own)}")
    print(f"{options.to}: {command} into {own['out']}; limbeck run {options.to}")
    return 0


def told(value: Any) -> str:
    return "not given" if value is None else repr(value)


def divided(command: str, arguments: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that were given: those of model and text, and those of the command itself."""
    from limbeck.cli.plan_file import options_of, own_options, own_parser, shared_options

    parser = own_parser(command)
    add_common_options(parser)  # to be refused below, in one line
    parser.prog = f"limbeck plan {command}"
    for action in parser._actions:
        if action.dest != "help":
            action.default = argparse.SUPPRESS  # only what is given is written down
    parser._defaults.clear()
    given = vars(parser.parse_args(arguments))
    shared: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key, action in options_of(parser).items():
        if action.dest not in given:
            continue
        value = True if action.nargs == 0 else given[action.dest]
        if key == "data" and command == "probe":
            shared["corpus"] = value
        elif key == "model" and isinstance(value, list):
            if len(value) > 1:
                raise UsageError(f"a plan has one model; got {', '.join(value)}: make a plan for each.")
            shared[key] = value[0]
        elif key in shared_options() and key != "layers":
            shared[key] = value
        elif key in (*own_options(command), "out", "layers"):
            own[key] = value
        else:
            raise UsageError(f"--{key} has no place in a plan: give it to `limbeck run`, or run the command by itself.")
    for key in ("model", "corpus"):
        if key not in shared:
            raise UsageError(f"a plan needs a model and a text; --{key} is missing.")
    return shared, own
