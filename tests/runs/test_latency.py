from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.episodes import Change, EpisodeSpec
from assay.errors import AssayError, ExperimentError, RunError, SpecError
from assay.policies.simple import STILL
from assay.runs.estimates import LATENCY as META
from assay.runs.execute import TIMED_REQUESTS
from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.replay import replay

FEW: dict[str, Any] = {"tasks": "libero_goal/7", "seeds": 1, "steps": 6, "workers": 0}


class Slow:
    """Takes its time; a client of a server says so in ``inference_ms``."""

    def __init__(self, says: float | None = None, sleeps: float = 0.0) -> None:
        self.says, self.sleeps = says, sleeps
        self.inference_ms: list[float] = []

    def reset(self, instruction: object, spec: EpisodeSpec) -> None:
        self.inference_ms = []

    def act(self, observation: object) -> np.ndarray:
        time.sleep(self.sleeps)
        if self.says is not None:
            self.inference_ms.append(self.says)
        return np.tile(STILL, (2, 1))


def test_measured_latency_is_the_servers_own_and_is_kept_for_the_run(tmp_path: Path):
    out = tmp_path / "slow.assay"
    run = assay.run("libero", Slow(says=120.0), out=out, latency="measured", **FEW)
    assert run.meta[META] == {"steps": 3, "median_ms": 120.0, "ms": [120.0] * TIMED_REQUESTS, "by": "server"}
    assert {each.spec.latency for each in run.episodes.values()} == {3}
    quicker = Slow(says=1.0)
    again = assay.run("libero", quicker, out=out, latency="measured", **{**FEW, "seeds": 2})
    assert {each.spec.latency for each in again.episodes.values()} == {3} and len(again.episodes) == 2
    assert assay.run("libero", quicker, out=out, latency=3, **FEW).ending.done == 0  # type: ignore[union-attr]
    with pytest.raises(RunError, match="latency=3, not latency=1"):
        assay.run("libero", quicker, out=out, latency=1, **FEW)


def test_latency_is_measured_by_the_clock_and_rounded_to_steps(tmp_path: Path):
    run = assay.run("libero", Slow(sleeps=0.06), out=tmp_path / "slow.assay", latency="measured", **FEW)
    assert run.meta[META]["by"] == "clock" and run.meta[META]["steps"] >= 2
    options = {"latency": "measured", "while_waiting": "hold", **FEW}
    run = assay.run("libero", Slow(says=4.0), out=tmp_path / "quick.assay", **options)
    assert run.meta[META]["steps"] == 0 and {each.spec.latency for each in run.episodes.values()} == {0}


def test_late_episode_is_replayed_to_the_bit(tmp_path: Path):
    run = assay.run("libero", "oracle", out=tmp_path / "o.assay", latency=2, while_waiting="hold", **FEW)
    (episode,) = run.episodes.values()
    with assay.make_env(episode.spec.task) as env:
        again = replay(env._env, episode.spec, episode.trajectory.actions)
    assert np.array_equal(again.trajectory.end_effector, episode.trajectory.end_effector)


def test_experiment_has_a_condition_for_each_latency_and_a_control_without():
    options = RunOptions(tasks="libero_goal/7", seeds=(0,), while_waiting="hold")
    specs = RunPlan.make("latency?steps=2,6", options).specs
    assert [(spec.condition, spec.latency, spec.while_waiting) for spec in specs] == [
        ("control", 0, "play"),
        ("latency/steps=2", 2, "hold"),
        ("latency/steps=6", 6, "hold"),
    ]
    assert specs[1].control() == specs[2].control() == specs[0], "the control decides at once"
    slow = RunPlan.make("corruption", RunOptions(tasks="libero_goal/7", seeds=(0,), latency=2)).specs
    assert slow[1].control() == slow[0] and slow[0].latency == 2, (
        "what is true of a whole run is true of its controls"
    )
    assert specs[1].labels == {"axis": "senses", "change": Change.LATENCY, "plausible": True, "latency": 2}


@pytest.mark.parametrize(
    ("experiment", "options", "error", "words"),
    [
        ("latency", {"latency": 2}, ExperimentError, "already set latencies"),
        ("latency?steps=0", {}, ExperimentError, "distinct numbers from 1"),
        ("latency?steps=2,2", {}, ExperimentError, "distinct numbers from 1"),
        ("libero", {"while_waiting": "hold"}, RunError, "--while-waiting requires a --latency above 0"),
        ("libero", {"latency": "measured"}, RunError, "the latency is measured when a run starts"),
        pytest.param(
            *("tabletop", {"latency": 2, "tasks": None}, SpecError, "the world 'tabletop'"),
            marks=pytest.mark.extensions("tabletop"),
        ),
    ],
)
def test_invalid_latencies_are_refused(
    experiment: str, options: dict[str, Any], error: type[AssayError], words: str
):
    with pytest.raises(error, match=words):
        RunPlan.make(experiment, RunOptions(**{"tasks": "libero_goal/7", "seeds": (0,), **options}))
