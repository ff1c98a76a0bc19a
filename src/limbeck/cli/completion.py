"""limbeck completion: a script that lets a shell complete limbeck's commands, options and names.

The script asks limbeck itself for what fits (`limbeck completion SHELL -- WORD ...`, the last word being typed), so
that it is never behind the version that is installed, and the three shells offer the same.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limbeck.cli.choices import ARGUMENTS, Names, names_for
from limbeck.errors import UsageError, choose

EPILOG = """\
bash   eval "$(limbeck completion bash)"                         in ~/.bashrc
zsh    limbeck completion zsh > ~/.zfunc/_limbeck                with fpath+=(~/.zfunc) before compinit in ~/.zshrc
fish   limbeck completion fish > ~/.config/fish/completions/limbeck.fish

examples:
  limbeck completion bash
  limbeck completion fish > ~/.config/fish/completions/limbeck.fish
"""
#: metavariables that stand for a file or a folder
PATHS = ("C", "D", "DIR", "FILE", "M", "P", "R", "RUN", "V")

BASH = r"""# bash completion of limbeck
_limbeck() {
    local program="${COMP_WORDS[0]/#\~/$HOME}" word="${COMP_WORDS[COMP_CWORD]}" files="" name about
    COMPREPLY=()
    while IFS=$'\t' read -r name about; do
        if [[ -z $files ]]; then files=$name; else COMPREPLY+=("$name"); fi
    done < <("$program" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ $files != files ]]; then
        compopt +o default 2>/dev/null
    elif (( ${#COMPREPLY[@]} )); then
        compopt -o filenames 2>/dev/null
        while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "${word#=}")
    fi
}
complete -o default -F _limbeck limbeck
"""
ZSH = r"""#compdef limbeck
# zsh completion of limbeck
_limbeck() {
    local -a lines
    lines=("${(@f)$(${~words[1]} completion zsh -- "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
    local files=$lines[1]
    shift lines
    lines=("${(@)lines//:/\\:}")
    lines=("${(@)lines/$'\t'/:}")
    (( $#lines )) && _describe limbeck lines
    if [[ $files == files ]]; then
        compset -P '--*='
        _files
    fi
}
if [[ $funcstack[1] == _limbeck ]]; then _limbeck "$@"; else compdef _limbeck limbeck; fi
"""
FISH = r"""# fish completion of limbeck
function __limbeck
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    set -l lines ($program completion fish -- $words "$word" 2>/dev/null)
    set -l files $lines[1]
    set -e lines[1]
    printf '%s\n' $lines
    if test "$files" = files
        set -l option (string match -r '^--[^=]*=' -- "$word")
        for path in (__fish_complete_path (string replace -r '^--[^=]*=' '' -- "$word"))
            echo "$option$path"
        end
    end
end
complete -c limbeck -f -a '(__limbeck)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@dataclass
class Offer:
    """What fits in a word's place: names with what they are for, and whether a file does."""

    names: dict[str, str] = field(default_factory=dict)
    files: bool = False


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "completion",
        help="print a script for completion in bash, zsh or fish",
        description="Print a script that lets a shell complete limbeck's commands, options and names.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)  # how the script asks, behind --
    return parser


def run(options: argparse.Namespace) -> int:
    from limbeck.cli import build_parser

    choose(options.shell, SCRIPTS, what="SHELL")
    if not options.words:
        print(SCRIPTS[options.shell], end="")
        return 0
    if "--" not in options.typed:
        raise UsageError(f"SHELL is one of {', '.join(SCRIPTS)}; got {options.words[0]!r} behind it: leave that out.")
    broken = options.shell == "bash"
    words = joined(options.words) if broken else options.words
    offer = offered(build_parser(), words)
    print("files" if offer.files else "names")
    for name, about in offer.names.items():
        print(unbroken(name, words[-1]) if broken else name, *([about] if about else []), sep="\t")
    return 0


def offered(parser: argparse.ArgumentParser, words: Sequence[str]) -> Offer:
    """What the last word can become behind the others, all of them behind `limbeck`."""
    (several,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    *before, word = words
    if not before:
        about = {action.dest: one_line(action.help) for action in several._choices_actions}
        return Offer(starting({**about, "--help": "every command", "--version": "the version"}, word))
    command, *before = before
    if command not in several.choices:
        return Offer()
    actions = [action for action in several.choices[command]._actions if action.help != argparse.SUPPRESS]
    known = {option: action for action in actions for option in action.option_strings if option.startswith("--")}
    pending: argparse.Action | None = None  # the option that takes the next word
    arguments = 0
    for place, one in enumerate(before):
        if one.startswith("--"):
            pending = None if "=" in one or one not in known or known[one].nargs == 0 else known[one]
        elif pending is not None:
            pending = pending if pending.nargs in ("+", "*") else None
        elif command == "plan":  # what follows is another command
            return offered(parser, words[place + 1 :])
        else:
            arguments += 1
    option, equals, value = word.partition("=")
    if equals and option in known:
        offer = values_of(command, known[option], value)
        return Offer({f"{option}={name}": about for name, about in offer.names.items()}, offer.files)
    if word.startswith("-"):
        return Offer(starting({name: one_line(action.help) for name, action in known.items()}, word))
    if pending is not None:
        return values_of(command, pending, word)
    return argument_of(command, [action for action in actions if not action.option_strings], arguments, word)


def values_of(command: str, action: argparse.Action, word: str) -> Offer:
    """What an option can be followed by."""
    for option in action.option_strings:
        if names := names_for(command, option):
            return chosen(names, word)
    return Offer(files=action.type is Path or (action.type is None and action.metavar in PATHS))


def argument_of(command: str, positional: Sequence[argparse.Action], number: int, word: str) -> Offer:
    """What a command's argument can be, of which there are so many already."""
    many = any(action.nargs in ("+", "*") for action in positional)
    if not many and number >= len(positional):
        return Offer()
    return chosen(ARGUMENTS[command], word) if command in ARGUMENTS else Offer(files=True)


def chosen(names: Names, word: str) -> Offer:
    """Names that the word begins; of several in one word, those that its last part begins."""
    head, mark, last = word.rpartition(names.between) if names.between else ("", "", word)
    had = head.split(names.between) if names.between else []
    left = {f"{head}{mark}{name}": "" for name in names.all() if name not in had and name.startswith(last)}
    return Offer(left, names.files)


def starting(names: dict[str, str], word: str) -> dict[str, str]:
    return {name: about for name, about in names.items() if name.startswith(word)}


def joined(words: Sequence[str]) -> list[str]:
    """Words as they were typed: bash breaks them at = and :

    >>> joined(["repair", "--method", "cluster", ":", "seed", "=", "1", "--out", "=", ""])
    ['repair', '--method', 'cluster:seed=1', '--out=']
    """
    found: list[str] = []
    glued = False
    for word in words:
        mark = re.fullmatch("[=:]+", word) is not None
        if found and (mark or glued):
            found[-1] += word
        else:
            found.append(word)
        glued = mark
    return found


def unbroken(name: str, typed: str) -> str:
    """What is left of a name behind the last = or : that was typed, which is what bash replaces."""
    return name[max(typed.rfind("="), typed.rfind(":")) + 1 :]


def one_line(text: str | None) -> str:
    """A help text as a shell shows it beside an option."""
    return " ".join((text or "").replace("%%", "%").split())[:80]
