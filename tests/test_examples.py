"""The scripts in examples/ run as they are."""

from __future__ import annotations

import os
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
        ("own_perturbation", ("1",), "out/politeness.assay", "'please please turn on the stove'"),
        ("figure_for_a_paper", ("1",), "out/figure/success.pdf", "success.pdf"),
    ],
)
def test_it_runs(
    name: str, arguments: tuple[str, ...], written: str, said: str, tmp_path: Path, drawing: str
):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout and (tmp_path / written).is_file()


def test_there_are_five_and_all_are_listed():
    scripts = sorted(path.name for path in EXAMPLES.glob("*.py"))
    listed = (EXAMPLES / "README.md").read_text()
    assert len(scripts) == 5 and all(f"`{name}`" in listed for name in scripts)
