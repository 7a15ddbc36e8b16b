"""What to install is said in one line, and it is what pyproject.toml offers."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from assay.errors import RunError
from assay.support.extras import DISTRIBUTION, EXTRAS, optional_import, require

ROOT = Path(__file__).parents[2]
with (ROOT / "pyproject.toml").open("rb") as file:
    PROJECT = tomllib.load(file)["project"]


def test_names_are_those_of_the_project():
    assert PROJECT["name"] == DISTRIBUTION
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"]) - {"all", "dev"}


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    require("eqa", "it needs it")
    monkeypatch.setitem(sys.modules, "ray", None)
    line = r"^it needs ray\. Install with: pip install 'assay-robotics\[ray\]'$"
    with pytest.raises(RunError, match=line):
        require("ray", "it needs ray", RunError)
    with pytest.raises(RunError, match=line), optional_import("ray", "it needs ray", RunError):
        import ray
    with pytest.raises(ModuleNotFoundError), optional_import("eqa", "it needs it"):
        import ray  # noqa: F401


LIGHT = """
import sys

for module in {modules!r}:
    sys.modules[module] = None
sys.argv = ["assay", *{words!r}]
from assay.cli.app import main
main()
"""
"""A command in a process without the packages of the extras."""


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        ("--help", 0, ""),
        ("policies list", 0, ""),
        ("experiments list", 0, ""),
        ("run libero --policy idle --tasks libero_goal/7 --seeds 1 --steps 2", 0, ""),
        ("ui .", 2, "[ui]"),
        ("run para --policy idle --tasks libero_goal/7 --seeds 1", 2, "[words]"),
    ],
)
def test_commands_work_or_name_the_extra_they_need(words: str, status: int, line: str, tmp_path: Path):
    modules = [module for names in EXTRAS.values() for module in names]
    script = LIGHT.format(modules=modules, words=words.split())
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == status and done.stderr.count("Traceback") == 0, done.stderr
    assert line in done.stderr


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_pages_install_nothing_under_another_name(page: Path):
    text = page.read_text(encoding="utf-8")
    assert "pip install assay\n" not in text and "pip install assay " not in text and "'assay[" not in text
