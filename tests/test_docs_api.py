"""The examples of docs/api.md run as they are, in their order."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import assay
from assay.api import RecordedEpisode
from assay.episodes.perturbation import kinds
from assay.errors import AssayError
from assay.perturb.words.distance.pride import scorer
from assay.runs.options import RunOptionsDict
from assay.sim.world import LiberoWorld

DOCUMENT = Path(__file__).parents[1] / "docs" / "api.md"


def test_every_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    try:
        scorer()
    except AssayError as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        import_module(kinds.__module__), "_KINDS", dict(kinds())
    )  # what the examples register, no other test knows
    usual = LiberoWorld.horizon  # a success takes 70 steps
    monkeypatch.setattr(LiberoWorld, "horizon", lambda self, spec: min(usual(self, spec), 100))
    overview, *examples = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    names: dict[str, object] = {"__name__": "documented"}
    exec("import assay", names)
    called = _called(overview)
    assert {"run", "report", "replay"} <= called.keys()
    offered = vars(assay.api) | vars(assay.Run) | {"replay": RecordedEpisode.replay}
    for name, keywords in called.items():  # it plans far more than a test can play
        made = assay.run if name == "run" else offered[name]
        parameters = {*inspect.signature(made).parameters, *RunOptionsDict.__annotations__}
        assert keywords <= parameters, name
    for example in examples:
        exec(compile(example, str(DOCUMENT), "exec"), names)
    said = capsys.readouterr().out
    assert "['success', 'success']" in said and "please turn on the stove" in said
    assert "did you mean" in said or "libero_goal" in said


def _called(code: str) -> dict[str, set[str]]:
    """The functions and methods that a text calls, and the parameters it names."""
    calls = [each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Call)]
    found: dict[str, set[str]] = {}
    for each in calls:
        if isinstance(each.func, ast.Attribute):
            found.setdefault(each.func.attr, set()).update(str(keyword.arg) for keyword in each.keywords)
    return found
