"""Scripts of the set-up."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", ["gl", "chromium"])
def test_an_absent_system_package_is_named_where_it_cannot_be_installed(package: str, tmp_path: Path):
    """With a path that has neither apt nor a browser, and a Python that cannot draw."""
    (tmp_path / "python").write_text('#!/bin/sh\ncase "$2" in *PACKAGES*) echo libegl1;; *) exit 1;; esac\n')
    (tmp_path / "id").write_text("#!/bin/sh\necho 0\n")
    for program in tmp_path.iterdir():
        program.chmod(0o755)
    command = ["/bin/sh", str(ROOT / "scripts" / "ensure-system.sh"), str(tmp_path), package]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith({"gl": "libegl1", "chromium": "chromium"}[package])


def test_the_python_that_is_chosen_can_make_an_environment():
    command = ["make", "--no-print-directory", "-f", "-", "show"]
    script = f"include {ROOT / 'Makefile'}\nshow:\n\t@echo $(PYTHON)\n"
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True, cwd=ROOT)
    subprocess.run([done.stdout.strip(), "-c", "import ensurepip, venv"], check=True)


def test_shell_scripts_are_valid():
    for script in [*(ROOT / "scripts").glob("*.sh"), ROOT / ".ci" / "run"]:
        subprocess.run(["bash", "-n", str(script)], check=True)
