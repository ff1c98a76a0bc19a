"""limbeck completion: each command's own names are offered, it takes just those, and real shells show them."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refused

from limbeck.cli import main
from limbeck.cli.commands.completion import SCRIPTS, offered, slots_of
from limbeck.cli.program import build_parser, command_named, options_for
from limbeck.encoders.miniatures import MINIATURES
from limbeck.papers import PAPERS

(SEVERAL,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
COMMANDS: dict[str, argparse.ArgumentParser] = SEVERAL.choices


def names(*words: str) -> list[str]:
    return list(offered(words).names)


def files(*words: str) -> bool:
    return offered(words).files


# what is offered


def test_commands_and_options() -> None:
    assert names("meas") == ["measure"]
    assert set(COMMANDS) < set(names(""))
    assert names("measure", "--min") == ["--min-contexts"]
    assert names("no-such", "--") == []
    for name, command in COMMANDS.items():
        shown = {
            next(option for option in action.option_strings if option.startswith("--"))  # others are other spellings
            for action in command._actions
            if action.help != argparse.SUPPRESS and action.option_strings
        }
        assert set(names(name, "--")) == shown
        assert not files(name, "--")


def test_one_option_means_another_thing_in_another_command() -> None:
    assert names("measure", "--preset", "") == ["corrected", "paper", "released"]
    assert names("evaluate", "x", "--preset", "") == ["web"]
    assert names("probe", "--preset", "") == ["quick", "paper"]
    assert names("analyze", "--metric", "") == ["euclidean", "cosine"]
    assert names("evaluate", "--metric", "") == ["spearman", "pearson"]
    assert names("repair", "--method", "c") == ["center", "cluster"]
    assert names("distill", "--method", "c") == ["contexts", "cbow", "cbow-ngrams"]
    assert names("evaluate", "--existing", "") == ["fail", "replace"]
    assert "wordsim" in names("evaluate", "--tasks", "")
    assert names("reproduce", "--tasks", "") == ["pos", "sst-2", "mrpc", "ner"]
    assert "wic" not in names("finetune", "--task", "")


def test_where_a_word_stands() -> None:
    assert names("measure", "--model", "mini-bert", "") == list(MINIATURES)  # which takes several
    assert names("encode", "--model", "mini-bert", "") == []  # which takes one
    assert names("evaluate", "--quiet", "mini-b") == ["mini-bert"]  # behind an option that takes nothing
    assert names("evaluate", "--data", "folder", "mini-b") == ["mini-bert"]  # and behind one that has had its word
    assert names("analyze", "") == ["structure", "tense", "frequency", "clusters"]
    assert names("analyze", "tense", "") == []  # it takes one
    assert names("reproduce", "") == list(PAPERS)
    assert names("measure", "--model=mini-b") == ["--model=mini-bert"]
    assert names("measure", "--model=mini-bert", "--existing", "re") == ["resume", "replace"]
    assert names("reproduce", "bis2021", "--ear") == ["--early"]
    assert names("reproduce", "--quick", "bis2021", "--qu") == ["--quiet"]  # an option of other papers
    assert names("plan", "meas") == ["measure"]
    assert names("plan", "--to", "week.toml", "measure", "--model", "mini-b") == ["mini-bert"]


def test_several_names_in_one_word() -> None:
    assert names("evaluate", "--tasks", "sts,simlex") == ["sts,simlex-999"]
    assert "sts,sts" not in names("evaluate", "--tasks", "sts,st")
    assert names("repair", "--method", "center+wh") == ["center+whiten"]
    assert names("distill", "--method", "average,pr") == ["average,principal"]


def test_files_only_where_one_will_do() -> None:
    assert files("measure", "--corpus", "")
    assert files("measure", "--out", "")
    assert files("run", "")
    assert files("compare", "a", "")
    assert names("compare", "--existing", "") == ["fail", "replace"]
    assert files("distill", "--repair", "")
    assert not files("compare", "a", "b", "")
    assert not files("measure", "--existing", "")
    assert not files("measure", "--seed", "")
    assert not files("measure", "--revision", "")
    assert not files("doctor", "")


# and it is true


def test_an_option_with_named_choices_has_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Where help says which of several is the default, completion knows them all, and none that help does not name."""
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        told = capsys.readouterr().out
        found = command_named(command)
        assert found is not None
        for one in options_for(found):
            if "(default)" in one.help and one.type is str:
                assert one.names, f"{command} {one.flag}: {one.help}"
            if one.files or callable(one.suggestions):  # of models and tasks help names a few
                continue
            for name in one.names:
                listed = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", told)
                assert listed or name in ("auto", "all"), f"{command} {one.flag} {name}"


MODEL = ["--model", "mini-bert", "--corpus", "sample", "--out", "new"]
#: a command that is whole but for one option -> options whose names it checks before it does anything
ASKED: dict[tuple[str, ...], str] = {
    ("measure", *MODEL): "--units --pooling --stack --dtype --format --paragraphs --cells --text-unit --existing "
    "--engine --preset",
    ("encode", *MODEL): "--keep --existing",
    ("repair", *MODEL, "--method", "center"): "--method --weights --preset",
    ("distill", *MODEL): "--method --over-contexts --preset --start --unseen --case --repair --weighting --keep",
    ("distill", *MODEL, "--data", "."): "--tasks",
    ("analyze", "frequency", *MODEL): "--method --metric --units --existing",
    ("evaluate", "x.txt", "--tasks", "sts", "--data", "."): "--tasks --units --oov --case --weighting --missing "
    "--metric --aggregation --preset --analogy --classifier --embeddings --features --scale --split",
    ("probe", "--model", "mini-bert", "--data", "sample", "--out", "new"): "--words-by --probe --preset "
    "--compare --control --existing",
    ("finetune", "--model", "mini-bert", "--task", "pos", "--data", ".", "--out", "new"): "--task --column "
    "--word-piece --sentence-piece --existing",
    ("convert", "x.txt", "y.txt"): "--format --from --dtype --blanks --existing",
    ("reproduce", "ethayarajh2019", "--out", "new"): "--existing --preset",
    ("report", "new"): "--existing",
}
#: names that are taken and that nobody would type, and a name that means none of the others
UNTYPED, NOTHING = {"auto", "float64"}, {"none"}


@pytest.mark.parametrize("command", ASKED, ids=lambda command: f"{command[0]}-{len(command)}")
def test_a_command_takes_just_what_is_offered(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong name is refused with a list of the right ones: the same list."""
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_text("tea 1 2\ncoffee 2 1\n", encoding="utf-8")
    for option in ASKED[command].split():
        assert main([*command, option, "no-such-name", "--quiet"]) == 2, option
        said = capsys.readouterr().err
        taken = re.search(r"must be one of (.*?)(?:; got 'no-such-name'|\.\n)", said)
        assert taken, f"{option}: {said}"
        accepted, told = set(taken[1].split(", ")), set(slots_of(command[0])[0][option].names())
        assert told - accepted <= NOTHING, option
        assert accepted - told <= UNTYPED, option
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_names_of_tasks_are_those_of_the_suites() -> None:
    from limbeck.evaluation.settings import task_names, tuning_names
    from limbeck.evaluation.suites import SUITES

    known = {suite.group: list(suite.names()) for suite in SUITES}
    assert sorted(task_names()) == sorted([*known, *(name for own in known.values() for name in own)])
    assert tuning_names() == known["sts"]


# real shells


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files to complete, with a `limbeck` in bin/ and the three scripts as it prints them."""
    here = tmp_path_factory.mktemp("completion")
    (here / "bin").mkdir()
    program = here / "bin" / "limbeck"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m limbeck "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    (here / "here").mkdir()
    (here / "here" / "text of mine.txt").touch()
    (here / "here" / "miniatures").mkdir()
    for shell in SCRIPTS:
        done = subprocess.run([program, "completion", shell], check=True, capture_output=True, text=True)
        (here / shell).write_text(done.stdout, encoding="utf-8")
    return here


def ran(shell: str, code: str, folder: Path) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder)}
    options = ["-f"] if shell == "zsh" else []
    command = [shell, *options, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder / "here", env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def in_bash(line: str, folder: Path) -> list[str]:
    """What bash offers, which breaks a line at = and :, too."""
    words = [word for part in line.split(" ") for word in re.split("([=:])", part)]
    words = [word for place, word in enumerate(words) if word or place == len(words) - 1]
    typed = " ".join(shlex.quote(word) for word in words)
    code = (
        f"source {folder / 'bash'}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _limbeck; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return [line for line in ran("bash", code, folder) if line]


def in_zsh(line: str, folder: Path) -> list[str]:
    """What the script hands to zsh's own functions, in whose place are some that print."""
    words = line.split(" ")
    typed = " ".join(shlex.quote(word) for word in words)
    code = (
        'compdef() { :; }; compset() { :; }; _files() { print FILES; }; _describe() { print -rl -- "${(@P)2}"; }; '
        f"source {folder / 'zsh'}; words=({typed}); CURRENT={len(words)}; PREFIX={shlex.quote(words[-1])}; _limbeck; :"
    )
    return ran("zsh", code, folder)


def in_fish(line: str, folder: Path) -> list[str]:
    return ran("fish", f"source {folder / 'fish'}; complete -C {shlex.quote(line)}", folder)


def test_bash_completes(folder: Path) -> None:
    assert in_bash("limbeck meas", folder) == ["measure"]
    assert in_bash("limbeck evaluate --met", folder) == ["--method", "--metric"]
    assert in_bash("limbeck measure --existing re", folder) == ["resume", "replace"]
    assert in_bash("limbeck measure --model mini", folder) == [*MINIATURES, "miniatures"]
    assert in_bash("limbeck measure --model=mini-b", folder) == ["mini-bert"]
    assert in_bash("limbeck evaluate --tasks sts,simlex", folder) == ["sts,simlex-999"]
    assert in_bash("limbeck repair --method cluster:random_state=1 --existing f", folder) == ["fail"]
    assert set(in_bash("limbeck measure --corpus ", folder)) == {"sample", "miniatures", "text of mine.txt"}


def test_zsh_completes(folder: Path) -> None:
    assert in_zsh("limbeck meas", folder) == ["measure:measure every layer of a model on a text"]
    assert in_zsh("limbeck measure --existing ", folder) == ["fail", "resume", "replace"]
    assert in_zsh("limbeck measure --model mini", folder) == [*MINIATURES, "FILES"]
    shown = in_zsh("limbeck evaluate --metr", folder)
    assert shown == ["--metric:spearman or pearson (default\\: the task's)"]


def test_fish_completes(folder: Path) -> None:
    assert in_fish("limbeck meas", folder) == ["measure\tmeasure every layer of a model on a text"]
    assert [line.partition("\t")[0] for line in in_fish("limbeck evaluate --met", folder)] == ["--method", "--metric"]
    assert in_fish("limbeck measure --existing ", folder) == ["fail", "replace", "resume"]
    assert sorted(in_fish("limbeck measure --model mini-", folder)) == sorted(MINIATURES)
    assert in_fish("limbeck measure --model=mini-b", folder) == ["--model=mini-bert"]
    assert [line.partition("\t")[0] for line in in_fish("limbeck run te", folder)] == ["text of mine.txt"]


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fsh"]) == 2
    assert "did you mean 'fish'" in capsys.readouterr().err


def test_options_of_completion_itself_are_not_completed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "bash", "--help"])
    assert capsys.readouterr().out.startswith("usage: limbeck completion")
    assert main(["completion", "bash", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lines"][0] == SCRIPTS["bash"].splitlines()[0]
    assert main(["completion", "bash", "--quiet"]) == 0
    assert capsys.readouterr().out == SCRIPTS["bash"]
    assert refused("completion", "bash", "zsh", capsys=capsys) == (2, "unknown_argument", "")
    assert main(["completion", "zsh", "--", "completion", "--js"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("--json\t")


def test_a_word_takes_no_torch() -> None:
    code = (
        "import sys\nfrom limbeck.cli import main\nmain(['completion', 'bash', '--', 'evaluate', '--tasks', ''])\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
