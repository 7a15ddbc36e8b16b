"""The scripts in examples/ run as they are."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.sim.world import LiberoWorld

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def registry() -> Iterator[None]:
    """What a script registers, later tests do not see."""
    yield
    kinds = sys.modules["assay.episodes.perturbation"]._KINDS
    for kind in [kind for kind, made in kinds.items() if made.__module__ == "__main__"]:
        del kinds[kind]


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("name", "arguments", "written", "said", "outcome"),
    [
        ("diagnose_a_policy", ("1",), "out/diagnosis/index.html", "corruption/xxx", False),
        ("compare_policies", ("2",), "out/comparison/oracle.assay", "oracle - idle: +100 points", True),
        ("step_by_hand", (), "out/agentview.png", "the policy would be told: put the bowl away", True),
        ("figure_for_a_paper", ("1",), "out/figure/success.pdf", "success.pdf", False),
        ("own_perturbation", ("1",), "out/politeness.assay", "'please please turn on the stove'", False),
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


def test_there_are_five_and_all_are_listed():
    scripts = sorted(path.name for path in EXAMPLES.glob("*.py"))
    listed = (EXAMPLES / "README.md").read_text()
    assert len(scripts) == 5 and all(f"`{name}`" in listed for name in scripts)
