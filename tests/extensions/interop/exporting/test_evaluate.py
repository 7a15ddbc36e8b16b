from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import assay
from assay.errors import RunError
from assay.runs.driver import Ending
from assay.runs.estimates import EpisodePace
from assay.runs.execute import execute
from assay.runs.schedulers import budget as module


class Still:
    """A policy that does nothing."""

    def reset(self, instruction, spec) -> None:
        pass

    def act(self, observation) -> np.ndarray:
        return np.zeros((4, 7), np.float32)


GIVEN = {"tasks": "libero_goal/7,libero_goal/0", "conditions": "semantic", "steps": 1, "certified": False}


def test_with_seeds_an_evaluation_plays_the_episodes_of_a_run(tmp_path: Path):
    given = GIVEN | {"tasks": "libero_goal/7"}
    found = assay.evaluate(Still(), "pro", budget=None, seeds=2, **given)
    assert found.seeds == 2 and found.tasks == ("libero_goal/7",) and found.left_out == ()
    assert found.rates["control"].episodes == 2 and found.drop.pairs == 2 and found.drop.change == 0.0
    metrics = found.metrics("eval/")
    assert metrics["eval/rate/control"] == 0.0 and metrics["eval/high/control"] == found.rates["control"].high
    whole = assay.run("pro", Still(), seeds=2, **given)
    assert found.run.frame()["key"].to_list() == whole.frame()["key"].to_list()
    assert "1 task, 2 seeds" in str(found) and "drop" in str(found)


def test_a_budget_limits_seeds_and_tasks_and_reports_the_rest(monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]

    def take_three_seconds_per_episode(*given) -> Ending:
        ending = execute(*given)
        clock[0] += 3.0 * ending.done
        return ending

    monkeypatch.setattr(module, "execute", take_three_seconds_per_episode)
    monkeypatch.setattr(module, "time_episodes", lambda work, policy, count: EpisodePace(3.0, "said"))
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    found = assay.evaluate(Still(), "pro", budget="30s", **GIVEN)
    assert (found.seeds, found.left_out) == (2, ("48 of 50 seeds",))
    fewer = assay.evaluate(Still(), "pro", budget="8s", **GIVEN)
    assert (fewer.seeds, fewer.tasks) == (1, ("libero_goal/7",))
    assert fewer.left_out == ("1 of 2 tasks: libero_goal/0", "49 of 50 seeds")
    with pytest.raises(
        RunError, match=r"budget 5s: one seed of one task of pro takes about 6 s \(2 episodes\)"
    ):
        assay.evaluate(Still(), "pro", budget="5s", **GIVEN)


def test_an_evaluation_never_resumes_a_file(tmp_path: Path):
    (tmp_path / "run.assay").touch()
    with pytest.raises(RunError, match="every evaluation needs a new file"):
        assay.evaluate(Still(), "pro", out=tmp_path / "run.assay", **GIVEN)
    with pytest.raises(RunError, match="budget 'soon': expected a time such as"):
        assay.evaluate(Still(), "pro", budget="soon", **GIVEN)
