"""The scripts in examples/ run as they are."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.sim.world import LiberoWorld

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "arguments", "written", "said", "outcome"),
    [
        ("diagnose_a_policy", ("1",), "out/diagnosis/index.html", "corruption/xxx", False),
        ("compare_policies", ("2",), "out/comparison/oracle.assay", "oracle - idle: +100 points", True),
        ("step_by_hand", (), "out/agentview.png", "instruction: put the bowl away", True),
        ("figure_for_a_paper", ("1",), "out/figure/success.pdf", "success.pdf", False),
    ],
)
def test_it_runs(
    name: str,
    arguments: tuple[str, ...],
    written: str,
    said: str,
    outcome: bool,
    tmp_path: Path,
    drawing: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    script = str(EXAMPLES / f"{name}.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    if not outcome:  # nothing hangs on how episodes end: two steps of each are enough
        monkeypatch.setattr(LiberoWorld, "horizon", lambda self, spec: 2)
    runpy.run_path(script, run_name="__main__")
    assert said in capsys.readouterr().out and (tmp_path / written).is_file()


def test_a_perturbation_of_a_script_is_known_to_its_workers(tmp_path: Path):
    """In a process of its own, as a user runs it: what it defines is in ``__main__``."""
    command = [sys.executable, str(EXAMPLES / "own_perturbation.py"), "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (
        "'please please turn on the stove'" in done.stdout and (tmp_path / "out/politeness.assay").is_file()
    )


def test_the_example_world_runs_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    run = assay.run(
        "python:world:shifted", "python:world:Follower", seeds=2, out=tmp_path / "number.assay", workers=0
    )
    assert run.frame()["outcome"].to_list() == ["success"] * 8
    assert run.report(tmp_path / "report").is_file()


def test_every_example_is_listed():
    listed = (EXAMPLES / "README.md").read_text()
    assert all(f"`{path.name}`" in listed for path in EXAMPLES.glob("*.py"))
