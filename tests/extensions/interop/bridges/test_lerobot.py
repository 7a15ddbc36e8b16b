"""What the plugin for LeRobot plays, under a loop that resets and steps as LeRobot's does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import assay
from assay.policies.simple import STILL
from assay.support.images import Orientation, orient

pytest.importorskip("gymnasium", reason="Gymnasium is not here: pip install 'assay-robotics[gym]'")

from assay.extensions.interop.bridges.lerobot import NEW_ROLLOUT, PlannedEnvironment, suites

ASKED = {"seeds": "3", "steps": 4, "certified": False, "conditions": "level3"}
BEGIN = {NEW_ROLLOUT: True}


def test_conditions_are_suites_and_tasks_keep_their_numbers(tmp_path: Path):
    found = suites("x/libero_goal/7,libero_goal/3", **ASKED)
    assert {name: list(tasks) for name, tasks in found.items()} == {"control": [7, 3], "x/level3": [7, 3]}
    assert [spec.seed for spec in found["x/level3"][7].specs] == [0, 1, 2]
    plain = suites("libero_goal/3", seeds="2")
    assert list(plain) == ["control"] and [spec.seed for spec in plain["control"][3].specs] == [0, 1]


def test_a_rollout_plays_the_next_start_and_records_it_once(drawing: str, tmp_path: Path):
    run = tmp_path / "lerobot.assay"
    planned = suites("x/libero_goal/7", **ASKED, out=str(run), policy="mine")["x/level3"][7]
    env = PlannedEnvironment(planned, index=0, of=2, out=str(run), size=32, wait=3)
    assert env._max_episode_steps == 4 and env.task_description == "turn on the stove"
    for seed, episode in ((1000, 0), (1002, 2)):
        observation, info = env.reset(seed=seed, options=BEGIN)
        assert observation in env.observation_space and not info["is_success"]
        for step in range(4):
            seen, _, terminated, truncated, info = env.step(STILL)
            assert not terminated and truncated == (step == 3)
        again, _ = env.reset()  # Gymnasium's own, not LeRobot's
        assert np.array_equal(again["agent_pos"], seen["agent_pos"])
        assert env.step(STILL)[2:4] == (False, True)
        played = env._player.play
        assert played.spec == planned.specs[episode] and played.steps == 7
        upright = played.observation.image("agentview", 32)
        assert np.array_equal(seen["pixels"]["image"], orient(upright, Orientation.ROTATED))
    with pytest.warns(UserWarning, match="has only 3 episodes, so they are repeated; increase --env.seeds"):
        env.reset(seed=1004, options=BEGIN)
    env.close()
    recorded = assay.load_run(run)
    assert recorded.meta["policy"] == "mine" and recorded.meta["experiment"] == "x"
    frame = recorded.frame()
    assert frame["seed"].to_list() == [0, 2] and frame["steps"].to_list() == [7, 7]
    assert set(frame["outcome"].cast(str)) == {"failure"}
