"""limbeck completion: a script that lets a shell complete limbeck's commands, options and names.

The script asks limbeck itself for what fits (`limbeck completion SHELL -- WORD ...`, the last word being typed), so
that it is never behind the version that is installed, and the three shells offer the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from limbeck.cli.program import (
    BEHIND,
    REST,
    TerminalCommand,
    TerminalSettings,
    all_commands,
    command_named,
    options_for,
)
from limbeck.settings import Option, Settings, option

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


@dataclass(frozen=True)
class Slot:
    """An option or an argument: what it is for, how many words it takes, and what these can be.

    names    what lists the names to choose from; it may take time
    between  what stands between several of them in one word, if there may be several
    files    whether a file or folder will do as well
    """

    about: str
    takes: Literal["none", "one", "many"]
    names: Callable[[], Sequence[str]] = tuple
    between: str = ""
    files: bool = False


@dataclass(frozen=True)
class CompletionSettings(Settings, group="completion"):
    """For which shell."""

    shell: Literal["bash", "zsh", "fish"] = option(
        positional=True, required=True, common=True, metavar="SHELL", help="bash, zsh or fish"
    )
    words: tuple[str, ...] = option((), flag="--", help="what is typed so far, in which the last word is completed")


@dataclass(kw_only=True)
class CompletionCommand(TerminalCommand):
    """Print a script that lets a shell complete limbeck's commands, options and names."""

    command: ClassVar[str] = "completion"
    summary: ClassVar[str] = "print a script for completion in bash, zsh or fish"
    details: ClassVar[str] = """\
bash   eval "$(limbeck completion bash)"                         in ~/.bashrc
zsh    limbeck completion zsh > ~/.zfunc/_limbeck                with fpath+=(~/.zfunc) before compinit in ~/.zshrc
fish   limbeck completion fish > ~/.config/fish/completions/limbeck.fish
"""
    examples: ClassVar[str] = """\
limbeck completion bash
limbeck completion fish > ~/.config/fish/completions/limbeck.fish
"""

    completion: CompletionSettings

    def perform(self, terminal: TerminalSettings) -> int:
        shell, words = self.completion.shell, self.completion.words
        if not words:
            print(SCRIPTS[shell], end="")
            return 0
        broken = shell == "bash"
        words = tuple(joined(words)) if broken else words
        offer = offered(words)
        print("files" if offer.files else "names")
        for name, about in offer.names.items():
            print(unbroken(name, words[-1]) if broken else name, *([about] if about else []), sep="\t")
        return 0


def offered(words: Sequence[str]) -> Offer:
    """What the last word can become behind the others, all of them behind `limbeck`."""
    *before, word = words
    if not before:
        return Offer(starting({**summaries(), "--help": "every command", "--version": "the version"}, word))
    command, *before = before
    options, arguments = slots_of(command, before)
    pending: Slot | None = None  # the option that takes the next word
    number = 0
    for place, one in enumerate(before):
        if one.startswith("--"):
            pending = None if "=" in one or one not in options or options[one].takes == "none" else options[one]
        elif pending is not None:
            pending = pending if pending.takes == "many" else None
        elif command == "plan":  # what follows is another command
            return offered(words[place + 1 :])
        else:
            number += 1
    flag, equals, value = word.partition("=")
    if equals and flag in options:
        offer = chosen(options[flag], value)
        return Offer({f"{flag}={name}": about for name, about in offer.names.items()}, offer.files)
    if word.startswith("-"):
        return Offer(starting({name: slot.about for name, slot in options.items()}, word))
    if pending is None:  # an argument; the last may take all that follow
        if not arguments or (number >= len(arguments) and arguments[-1].takes != "many"):
            return Offer()
        pending = arguments[min(number, len(arguments) - 1)]
    return chosen(pending, word)


def summaries() -> dict[str, str]:
    """Every command, with what it is for."""
    return {name: one_line(command.summary) for name, command in all_commands().items()}


def slots_of(command: str, typed: Sequence[str] = ()) -> tuple[dict[str, Slot], list[Slot]]:
    """A command's options by how they are spelled, and its arguments; none where there is no such command."""
    found = command_named(command)
    if found is None:
        return {}, []
    kinds = found.kinds()
    listed = options_for(next((kinds[word] for word in typed if word in kinds), found))
    arguments = [one for one in listed if one.positional or one.flag == BEHIND]
    options = {one.flag: slot_of(one) for one in listed if one not in arguments and one.flag != REST}
    options["--help"] = Slot("show this help and exit", "none")
    return options, [slot_of(one) for one in arguments]


def slot_of(one: Option) -> Slot:
    many = one.paths or (one.several and not one.separator and not one.repeat)
    takes: Literal["none", "one", "many"] = "none" if one.type is bool else "many" if many else "one"
    return Slot(one_line(one.help), takes, lambda: one.names, one.between or one.separator, one.files)


def chosen(slot: Slot, word: str) -> Offer:
    """Names that the word begins; of several in one word, those that its last part begins."""
    between = slot.between
    head, mark, last = word.rpartition(between) if between else ("", "", word)
    had = head.split(between) if between else []
    left = {f"{head}{mark}{name}": "" for name in slot.names() if name not in had and name.startswith(last)}
    return Offer(left, slot.files)


def starting(names: dict[str, str], word: str) -> dict[str, str]:
    return {name: about for name, about in names.items() if name.startswith(word)}


def joined(words: Sequence[str]) -> list[str]:
    """Words as they were typed: bash breaks them at = and :

    >>> joined(["repair", "--method", "cluster", ":", "random_state", "=", "1", "--out", "=", ""])
    ['repair', '--method', 'cluster:random_state=1', '--out=']
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
