"""The scripts in examples/ run as they are."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "arguments", "written", "said"),
    [
        ("diagnose_a_policy", ("1",), "out/diagnosis/index.html", "corruption/xxx"),
        ("compare_policies", ("2",), "out/comparison/oracle.assay", "oracle - idle: +100 points"),
        ("step_by_hand", (), "out/agentview.png", "the policy would be told: put the bowl away"),
        ("figure_for_a_paper", ("1",), "out/figure/success.pdf", "success.pdf"),
    ],
)
def test_it_runs(
    name: str,
    arguments: tuple[str, ...],
    written: str,
    said: str,
    tmp_path: Path,
    drawing: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    script = str(EXAMPLES / f"{name}.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    runpy.run_path(script, run_name="__main__")
    assert said in capsys.readouterr().out and (tmp_path / written).is_file()


def test_the_one_that_registers_a_perturbation_runs_in_a_process_of_its_own(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "own_perturbation.py"), "1"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "'please please turn on the stove'" in done.stdout
    assert (tmp_path / "out/politeness.assay").is_file()


def test_there_are_five_and_all_are_listed():
    scripts = sorted(path.name for path in EXAMPLES.glob("*.py"))
    listed = (EXAMPLES / "README.md").read_text()
    assert len(scripts) == 5 and all(f"`{name}`" in listed for name in scripts)
