from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay import __version__

Run = Callable[..., Any]


def test_version_is_printed(executable: Run):
    said = executable("--version")
    assert (said.status, said.out, said.err) == (0, f"assay {__version__}\n", "")


def test_every_command_has_help(assay: Run):
    listed = assay("--help")
    for command in ("tasks", "assets", "parity", "doctor", "demo", "assets add", "tasks show"):
        said = assay(*command.split(), "--help")
        assert said.status == 0 and "Usage" in said.out
        assert f" {command.split()[0]} " in listed.out


@pytest.mark.parametrize(
    "line", ["", "nosuch", "--nosuch", "parity", "assets", "assets add", "doctor x", "demo --size"]
)
def test_wrong_command_line_ends_with_status_2_and_no_traceback(assay: Run, line: str):
    said = assay(*line.split())
    assert said.status == 2 and "Traceback" not in said.out + said.err


def test_names_in_errors_are_shown_literally_on_one_line(assay: Run):
    markup = ("[/red]", "[red]x[/]", "a\\[/b]", "a\\\\[bold]", "[link=x]", "[", "]", "%s {0}", "käse")
    for name in (*markup, "a  b", "a\nb\r\nc", "x" * 300):
        said = assay("assets", "add", f"/nowhere/{name}")
        assert said.status == 2
        assert said.err == f"error: /nowhere/{' '.join(name.split())} is not a folder\n"


def test_closed_pipe_ends_the_command_quietly():
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
