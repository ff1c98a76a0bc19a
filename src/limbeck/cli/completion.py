"""limbeck completion: a script that lets a shell complete limbeck's commands, options and names."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from limbeck.cli.analyze import UNITS
from limbeck.encoders.miniatures import MINIATURES
from limbeck.errors import choose
from limbeck.reproduce import PAPERS

EPILOG = """\
bash   eval "$(limbeck completion bash)"                         in ~/.bashrc
zsh    limbeck completion zsh > ~/.zfunc/_limbeck                with fpath+=(~/.zfunc) before compinit in ~/.zshrc
fish   limbeck completion fish > ~/.config/fish/completions/limbeck.fish

examples:
  limbeck completion bash
  limbeck completion fish > ~/.config/fish/completions/limbeck.fish
"""
#: what an option, or a command's argument, can be followed by besides files
VALUES: dict[str, Sequence[str]] = {
    "--model": MINIATURES,
    "--corpus": ("sample",),
    "--data": ("sample",),
    "--existing": ("fail", "resume", "replace"),
    "--device": ("auto", "cpu", "cuda", "mps"),
    "--dtype": ("float32", "bfloat16", "float16"),
    "--units": ("words", "pieces", "characters"),
    "--pooling": ("mean", "first", "last", "sum", "max", "min"),
    "--text-unit": ("sentence", "paragraph", "document"),
    "--preset": ("corrected", "paper", "released"),
    "--format": ("auto", "words", "prose", "tsv", "jsonl", "parquet", "conllu", "semcor", "wikipse"),
    "--metric": ("spearman", "pearson", "euclidean", "cosine"),
}
ARGUMENTS: dict[str, Sequence[str]] = {
    "completion": ("bash", "zsh", "fish"),
    "analyze": tuple(UNITS),
    "reproduce": tuple(PAPERS),
    "evaluate": MINIATURES,
}


@dataclass(frozen=True)
class Command:
    """What there is to complete of a command: option -> what it is for."""

    about: str
    options: Mapping[str, str]


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "completion",
        help="print a script for completion in bash, zsh or fish",
        description="Print a script that lets a shell complete limbeck's commands, options and names.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.cli import build_parser

    choose(options.shell, SCRIPTS, what="SHELL")
    print(SCRIPTS[options.shell](commands_of(build_parser())), end="")
    return 0


def commands_of(parser: argparse.ArgumentParser) -> dict[str, Command]:
    """Every command of the parser with its options."""
    (several,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    about = {action.dest: action.help or "" for action in several._choices_actions}
    found = {}
    for name, own in several.choices.items():
        options = {
            option: _one_line(action.help)
            for action in own._actions
            if action.help != argparse.SUPPRESS
            for option in action.option_strings
            if option.startswith("--")
        }
        found[name] = Command(_one_line(about.get(name)), options)
    return found


def bash(commands: Mapping[str, Command]) -> str:
    cases = "\n".join(f'        {name}) words="{" ".join(one.options)}" ;;' for name, one in commands.items())
    values = "\n".join(f'        {name}) words="{" ".join(some)}" ;;' for name, some in VALUES.items())
    arguments = "\n".join(f'        {name}) words="{" ".join(some)}" ;;' for name, some in ARGUMENTS.items())
    return f"""\
# bash completion of limbeck
_limbeck() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" option="" words="" place
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=( $(compgen -W "{" ".join(commands)} --help --version" -- "$word") )
        return
    fi
    if [[ $word == -* ]]; then
        case "$command" in
{cases}
        esac
        COMPREPLY=( $(compgen -W "$words" -- "$word") )
        return
    fi
    for (( place = COMP_CWORD - 1; place > 1; place-- )); do  # an option may be followed by several words
        if [[ ${{COMP_WORDS[place]}} == --* ]]; then option="${{COMP_WORDS[place]}}"; break; fi
    done
    if [[ -n $option ]]; then
        case "$option" in
{values}
        esac
    else
        case "$command" in
{arguments}
        esac
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$word") $(compgen -f -- "$word") )
}}
complete -o filenames -F _limbeck limbeck
"""


def zsh(commands: Mapping[str, Command]) -> str:
    listed = "\n".join(f"        {_quoted(f'{name}:{one.about}')}" for name, one in commands.items())
    cases = "\n".join(
        f"        {name}) options=(\n"
        + "\n".join(f"            {_quoted(f'{option}:{about}')}" for option, about in one.options.items())
        + "\n        ) ;;"
        for name, one in commands.items()
    )
    values = "\n".join(f"        {name}) some=({' '.join(some)}) ;;" for name, some in VALUES.items())
    arguments = "\n".join(f"        {name}) some=({' '.join(some)}) ;;" for name, some in ARGUMENTS.items())
    return f"""\
#compdef limbeck
# zsh completion of limbeck
_limbeck() {{
    local -a commands options some
    local option="" place
    commands=(
{listed}
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    if [[ $words[CURRENT] == -* ]]; then
        case $words[2] in
{cases}
        esac
        _describe 'option' options
        return
    fi
    for (( place = CURRENT - 1; place > 2; place-- )); do
        if [[ $words[place] == --* ]]; then option=$words[place]; break; fi
    done
    if [[ -n $option ]]; then
        case $option in
{values}
        esac
    else
        case $words[2] in
{arguments}
        esac
    fi
    (( $#some )) && compadd -- $some
    _files
}}
if [[ $funcstack[1] == _limbeck ]]; then _limbeck "$@"; else compdef _limbeck limbeck; fi
"""


def fish(commands: Mapping[str, Command]) -> str:
    lines = ["# fish completion of limbeck"]
    lines += [
        f"complete -c limbeck -f -n __fish_use_subcommand -a {name} -d {_quoted(one.about)}"
        for name, one in commands.items()
    ]
    lines.append("complete -c limbeck -f -n __fish_use_subcommand -l version -d 'tell the version'")
    for name, one in commands.items():
        here = f"complete -c limbeck -n '__fish_seen_subcommand_from {name}'"
        for option, about in one.options.items():
            some = f" -a '{' '.join(VALUES[option])}'" if option in VALUES else ""
            lines.append(f"{here} -l {option.removeprefix('--')} -d {_quoted(about)}{some}")
        if name in ARGUMENTS:
            lines.append(f"{here} -a '{' '.join(ARGUMENTS[name])}'")
    return "\n".join(lines) + "\n"


SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}


def _one_line(text: str | None) -> str:
    """A help text as a shell shows it beside an option."""
    return " ".join((text or "").replace("%%", "%").replace(":", ",").split())[:80]


def _quoted(text: str) -> str:
    """In single quotes, of which none is inside.

    >>> _quoted("a model's name")
    "'a models name'"
    """
    return "'" + text.replace("'", "").replace("\\", "") + "'"
