from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay import __version__

Run = Callable[..., Any]

COMMANDS = ("tasks", "assets", "parity", "doctor", "demo")


def test_the_version_is_printed(executable: Run):
    said = executable("--version")
    assert (said.status, said.out, said.err) == (0, f"assay {__version__}\n", "")


def test_help_names_every_command(assay: Run):
    said = assay("--help")
    assert said.status == 0 and said.err == ""
    for command in COMMANDS:
        assert f" {command} " in said.out


@pytest.mark.parametrize(
    "command", [(), *((each,) for each in COMMANDS), ("assets", "add"), ("tasks", "show")]
)
def test_every_command_explains_itself(assay: Run, command: tuple[str, ...]):
    said = assay(*command, "--help")
    assert said.status == 0 and "Usage" in said.out


def test_no_command_shows_the_help(assay: Run):
    said = assay()
    assert said.status == 2 and "Usage" in said.out + said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("nosuch",),
        ("--nosuch",),
        ("parity",),
        ("assets",),
        ("assets", "add"),
        ("doctor", "x"),
        ("demo", "--size"),
    ],
)
def test_a_wrong_command_line_ends_with_status_2_and_no_traceback(assay: Run, arguments: tuple[str, ...]):
    said = assay(*arguments)
    assert said.status == 2
    assert "Traceback" not in said.out + said.err


def test_a_wrong_option_is_one_line_that_names_the_help(assay: Run):
    said = assay("tasks", "list", "--nosuch")
    assert said.status == 2 and said.out == ""
    assert said.err.startswith("error: No such option: --nosuch") and said.err.count("\n") == 1
    assert "tasks list --help'" in said.err


def test_an_error_a_person_can_act_on_is_one_line_and_status_2(assay: Run):
    said = assay("tasks", "show", "libero_gaol/3", "--no-picture")
    assert said.status == 2 and said.out == ""
    assert said.err.startswith("error: ") and said.err.count("\n") == 1
    assert "libero_goal" in said.err


@pytest.mark.parametrize(
    "name", ["[/red]", "[red]x[/]", "a\\[/b]", "a\\\\[bold]", "[link=x]", "[", "]", "%s {0}", "käse", "a  b"]
)
def test_names_with_signs_of_markup_are_shown_as_they_are(assay: Run, name: str):
    said = assay("assets", "add", f"/nowhere/{name}")
    assert said.status == 2
    assert said.err == f"error: /nowhere/{' '.join(name.split())} is not a folder\n"


def test_a_name_with_line_breaks_stays_one_line(assay: Run):
    said = assay("assets", "add", "/nowhere/a\nb\r\nc")
    assert said.status == 2 and said.err.count("\n") == 1


def test_a_long_error_is_not_broken_into_lines(assay: Run):
    said = assay("assets", "add", "/nowhere/" + "x" * 300)
    assert said.err.count("\n") == 1 and "x" * 300 in said.err


def test_a_reader_that_stops_ends_the_command_quietly():
    command = Path(sys.executable).with_name("assay")
    run = subprocess.run(
        ["sh", "-c", f"'{command}' tasks list --json - | head -1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip() == "[" and run.stderr == ""


def test_commands_start_without_the_simulator():
    # Help and versions must come at once; these take a second to import.
    script = (
        "import sys; sys.argv = ['assay', '--version']\n"
        "from assay.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'asyncio', 'mujoco', 'numba', 'numpy', 'pydantic', 'scipy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
