"""A class of one's own: which one it was, where it broke, what it did wrong."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import assay as api
from assay.episodes import EpisodeSpec
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


def test_try_says_where_a_class_broke_and_leaves_errors_out_of_the_rate(assay: Run, module: Path):
    said = assay("try", "--policy", "python:my_own_policy:Raises", *TASK)
    assert said.status == 1 and "0/0" in said.out
    line = MODULE.splitlines().index('    def deeper(self): return {}["image"]') + 1
    assert f'my_own_policy.py", line {line}, in deeper' in said.err
    assert "rollout.py" not in said.err, "Assay's own frames are nobody's business"


def test_a_class_that_cannot_be_made_is_a_place_and_one_line_and_leaves_no_file(assay: Run, module: Path):
    said = assay("run", "libero", "--policy", "python:my_own_policy:Unmade", *TASK, "--workers", "1")
    assert said.status == 2 and "Unmade() failed: FileNotFoundError" in said.err.splitlines()[-1]
    assert "my_own_policy.py" in said.err and not list(Path().glob("runs/*.assay"))
    said = assay("run", "libero", "--policy", "python:my_own_policy:Stil", *TASK)
    assert said.status == 2 and said.err.count("\n") == 1 and not list(Path().glob("runs/*.assay"))


def test_cut_actions_are_counted_stored_and_told(assay: Run, module: Path, tmp_path: Path):
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


def test_a_policy_that_was_edited_is_not_mixed_into_the_same_file(assay: Run, module: Path, tmp_path: Path):
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
    assert "another policy: the policy's my_own_policy.py has changed since" in said
    assert "choose another --out" in said and "\n" not in said
    with Store.reading(out) as store:
        assert store.meta["label"] == "ours" and store.done == 1


def test_the_place_where_it_broke_is_stored(assay: Run, module: Path, tmp_path: Path):
    out = tmp_path / "a.assay"
    api.run(
        "libero", "python:my_own_policy:Raises", tasks="libero_goal/7", seeds=1, steps=1, workers=0, out=out
    )
    with Store.reading(out) as store:
        ((reason, told),) = store.tracebacks().items()
    assert reason == "Raises, step 0: KeyError: 'image'" and "in deeper" in told
    assert "in deeper" in assay("runs", "show", out).err


def test_a_policy_that_was_mended_after_nothing_but_errors_goes_on_in_the_same_file(
    assay: Run, module: Path, tmp_path: Path
):
    out = tmp_path / "a.assay"
    settings: dict[str, Any] = {"tasks": "libero_goal/7", "seeds": 1, "steps": 1, "workers": 0, "out": out}
    api.run("libero", "python:my_own_policy:Raises", **settings)
    module.write_text(MODULE.replace('return {}["image"]', "return np.zeros((1, 7))"))
    importlib.reload(sys.modules["my_own_policy"])
    again = (
        "run",
        "libero",
        "--policy",
        "python:my_own_policy:Raises",
        *TASK[:2],
        "--seeds",
        "1",
        "--steps",
        "1",
    )
    said = assay(*again, "--workers", "0", "--out", out)
    assert "these errors are of an earlier command; --retry-errors" in said.out
    run = api.run("libero", "python:my_own_policy:Raises", **settings, retry_errors=True)
    assert run.frame()["outcome"].to_list() == ["failure"]
    module.write_text(MODULE)
    with pytest.raises(RunError, match="has changed since"):
        api.run("libero", "python:my_own_policy:Raises", **settings)


def test_ctrl_c_keeps_what_try_has_done(assay: Run, module: Path):
    module.write_text(
        MODULE
        + "\nclass Stops(Still):\n    def reset(self, instruction, spec):\n"
        + "        if spec.seed: raise KeyboardInterrupt\n"
    )
    said = assay("try", "--policy", "python:my_own_policy:Stops", *TASK[:2], "--seeds", "0-4", "--steps", "1")
    assert said.status == 130 and "0/1" in said.out and "interrupted after 1 of 5 episodes" in said.err


def test_all_of_a_traceback_is_there_for_the_asking(assay: Run):
    said = assay("--debug", "try", "--policy", "orcale")
    assert said.status == 2 and "Traceback" in said.err and "registry.py" in said.err
    assert assay("try", "--policy", "orcale").err.count("\n") == 1, "asked once, not for ever"


def test_episodes_of_an_earlier_plan_are_not_run(assay: Run, module: Path, tmp_path: Path):
    out = tmp_path / "a.assay"
    with Store.writing(out) as store:
        store.plan(EpisodeSpec("libero_goal/7", seed, steps=1) for seed in range(3))
    command = (
        "run",
        "libero",
        "--policy",
        "idle",
        "--tasks",
        "libero_goal/8",
        "--seeds",
        "1",
        "--steps",
        "1",
    )
    said = assay(*command, "--workers", "1", "--out", out)
    assert said.status == 0 and "1 episode recorded" in said.out
    with Store.reading(out) as store:
        assert (store.planned, store.done) == (4, 1)
