"""limbeck completion: the scripts hold what the parser holds, and a real bash completes by them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from limbeck.cli import build_parser, main
from limbeck.cli.completion import ARGUMENTS, SCRIPTS, VALUES, commands_of
from limbeck.encoders.miniatures import MINIATURES


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "limbeck.bash"
    path.write_text(SCRIPTS["bash"](commands_of(build_parser())), encoding="utf-8")
    return path


def completed(script: Path, *words: str, folder: Path) -> list[str]:
    """What bash offers for the last of these words."""
    line = " ".join(f"'{word}'" for word in words)
    code = (
        f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _limbeck; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], check=True, capture_output=True, text=True, cwd=folder)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes(script: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").touch()
    assert completed(script, "limbeck", "meas", folder=tmp_path) == ["measure"]
    assert completed(script, "limbeck", "measure", "--min", folder=tmp_path) == ["--min-contexts"]
    assert set(MINIATURES) < set(completed(script, "limbeck", "measure", "--model", "", folder=tmp_path))
    # behind the first of several models
    assert "mini-gpt2" in completed(script, "limbeck", "measure", "--model", "mini-bert", "mini-g", folder=tmp_path)
    assert completed(script, "limbeck", "measure", "--existing", "re", folder=tmp_path) == ["resume", "replace"]
    assert completed(script, "limbeck", "measure", "--corpus", "te", folder=tmp_path) == ["text.txt"]
    assert completed(script, "limbeck", "reproduce", "raj", folder=tmp_path) == ["rajaee2021"]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_command_and_option_is_there(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    for name, command in commands_of(build_parser()).items():
        assert name in said
        assert "--json" in command.options
        for option in command.options:
            assert (f"-l {option[2:]} " if shell == "fish" else option) in said


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_it(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    path = tmp_path / "script"
    path.write_text(SCRIPTS[shell](commands_of(build_parser())), encoding="utf-8")
    subprocess.run([shell, "-n", str(path)], check=True)


def test_values_belong_to_options_and_arguments_to_commands() -> None:
    commands = commands_of(build_parser())
    everything = {option for command in commands.values() for option in command.options}
    assert set(VALUES) <= everything
    assert set(ARGUMENTS) <= set(commands)


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fsh"]) == 2
    assert "did you mean 'fish'" in capsys.readouterr().err
