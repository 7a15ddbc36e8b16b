"""Policies defined in a user's module: identity, exceptions, clipped actions."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import assay as api
from assay.errors import RunError
from assay.runs.store import Store

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("no_assets")

MODULE = """
import numpy as np

class Still:
    def reset(self, instruction, spec): ...
    def act(self, observation): return np.zeros((1, 7))

class Large(Still):
    def act(self, observation): return np.full((1, 7), 3.0)

class Raises(Still):
    def act(self, observation): return self.deeper()
    def deeper(self): return {}["image"]

class Unmade(Still):
    def __init__(self): self.weights = open("none.pt")
"""
TASK = ("--tasks", "libero_goal/7", "--seeds", "1", "--steps", "2")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    file = tmp_path / "my_own_policy.py"
    file.write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield file
    sys.modules.pop("my_own_policy", None)


def test_place_of_a_policys_exception_is_shown_and_stored(assay: Run, module: Path, tmp_path: Path):
    policy, out = "python:my_own_policy:Raises", tmp_path / "a.assay"
    said = assay("try", "--policy", policy, *TASK)
    assert said.status == 1 and "0/0" in said.out, "errors do not count in the rate"
    line = MODULE.splitlines().index('    def deeper(self): return {}["image"]') + 1
    assert f'my_own_policy.py", line {line}, in deeper' in said.err
    assert "rollout.py" not in said.err, "Assay's own frames are left out"
    api.run("libero", policy, tasks="libero_goal/7", seeds=1, steps=1, workers=0, out=out)
    with Store.reading(out) as store:
        ((reason, traceback),) = store.tracebacks().items()
    assert reason == "Raises, step 0: KeyError: 'image'" and "in deeper" in traceback
    assert "in deeper" in assay("runs", "show", out).err


def test_policy_class_that_fails_to_construct_leaves_no_file(assay: Run, module: Path):
    said = assay("run", "libero", "--policy", "python:my_own_policy:Unmade", *TASK, "--workers", "1")
    assert said.status == 2 and "Unmade() failed: FileNotFoundError" in said.err.splitlines()[-1]
    assert "my_own_policy.py" in said.err and not list(Path().glob("runs/*.assay"))
    said = assay("run", "libero", "--policy", "python:my_own_policy:Stil", *TASK)
    assert said.status == 2 and said.err.count("\n") == 1 and not list(Path().glob("runs/*.assay"))


def test_clipped_actions_are_counted_stored_and_reported(assay: Run, module: Path, tmp_path: Path):
    said = assay("try", "--policy", "python:my_own_policy:Large", *TASK)
    assert "100 % of the actions (2 of 2, in 1 of 1 episodes) were outside [-1, 1]" in said.err
    out = tmp_path / "a.assay"
    run = api.run(
        "libero", "python:my_own_policy:Large", tasks="libero_goal/7", seeds=1, steps=2, workers=0, out=out
    )
    assert run.frame()["clipped"].to_list() == [2]
    shown = json.loads(assay("runs", "show", out, "--json", "-").out)
    assert shown["clipping"] == {"episodes": 1, "affected": 1, "cut": 2, "actions": 2}
    assert "normalised actions?" in " ".join(json.loads(assay("report", out, "--json", "-").out)["problems"])


def test_edited_policy_is_not_mixed_into_the_same_file(assay: Run, module: Path, tmp_path: Path):
    out = tmp_path / "a.assay"

    def run() -> Any:
        return api.run(
            "libero", "python:my_own_policy:Still", tasks="libero_goal/7", seeds=1, steps=1, workers=0, out=out,
            label="ours",
        )  # fmt: skip

    run()
    assert run().ending.done == 0, "the same goes on"
    module.write_text(MODULE.replace("zeros", "ones"))
    with pytest.raises(RunError) as refused:
        run()
    said = str(refused.value)
    assert "policy file my_own_policy.py has been edited" in said
    assert f"--out {tmp_path / 'a-2.assay'}" in said and "\n" not in said
    with Store.reading(out) as store:
        assert store.meta["label"] == "ours" and store.done == 1


def test_policy_fixed_after_a_run_with_only_errors_is_resumed_in_the_same_file(
    assay: Run, module: Path, tmp_path: Path
):
    out = tmp_path / "a.assay"
    settings: dict[str, Any] = {"tasks": "libero_goal/7", "seeds": 1, "steps": 1, "workers": 0, "out": out}
    api.run("libero", "python:my_own_policy:Raises", **settings)
    module.write_text(MODULE.replace('return {}["image"]', "return np.zeros((1, 7))"))
    importlib.reload(sys.modules["my_own_policy"])
    command = "run libero --policy python:my_own_policy:Raises --tasks libero_goal/7 --seeds 1 --steps 1"
    said = assay(*command.split(), "--workers", "0", "--out", out)
    assert "every episode ended in an error (1 of them in an earlier command)" in said.err
    assert said.status == 1 and "--retry-errors" in said.err
    run = api.run("libero", "python:my_own_policy:Raises", **settings, retry_errors=True)
    assert run.frame()["outcome"].to_list() == ["failure"]
    module.write_text(MODULE)
    with pytest.raises(RunError, match="has been edited"):
        api.run("libero", "python:my_own_policy:Raises", **settings)


def test_try_keeps_finished_episodes_on_ctrl_c(assay: Run, module: Path):
    module.write_text(
        MODULE
        + "\nclass Stops(Still):\n    def reset(self, instruction, spec):\n"
        + "        if spec.seed: raise KeyboardInterrupt\n"
    )
    said = assay("try", "--policy", "python:my_own_policy:Stops", *TASK[:2], "--seeds", "0-4", "--steps", "1")
    assert said.status == 130 and "0/1" in said.out and "interrupted after 1 of 5 episodes" in said.err


def test_debug_shows_the_whole_traceback(assay: Run):
    said = assay("--debug", "try", "--policy", "orcale")
    assert said.status == 2 and "Traceback" in said.err and "registry.py" in said.err
    assert assay("try", "--policy", "orcale").err.count("\n") == 1, "asked once, not for ever"
