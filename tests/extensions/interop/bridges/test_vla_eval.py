"""What vla-eval's harness calls, in the order in which it does; skipped where vla-eval is not installed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

import assay

pytest.importorskip("vla_eval", reason="vla-eval is not here: pip install vla-eval")

from assay.extensions.interop.bridges.vla_eval import AssayBenchmark

ASKED = {"experiment": "libero", "tasks": "libero_goal/7", "seeds": 1, "steps": 12}


def test_an_absolute_action_is_a_pose_to_go_to(drawing: str, tmp_path: Path):
    run = tmp_path / "run.assay"
    harness = AssayBenchmark(**ASKED, out=str(run), send_state=True, absolute_action=True, num_steps_wait=2)
    (task,) = harness.get_tasks()
    asyncio.run(harness.start_episode({**task, "episode_idx": 0}))
    seen = harness._player.play.observation
    goal = seen.eef_position + [0.0, 0.0, 0.03]
    pose = harness.make_obs(seen, task)["controller_states"][3:6]
    action = {"actions": np.concatenate([goal, pose, [-1.0]])}
    for _ in range(12):
        result = harness.step(action)
    assert np.linalg.norm(result.obs.eef_position - goal) < 0.01
    held = harness.get_hold_action(action)["actions"]
    assert np.allclose(held[:3], result.obs.eef_position, atol=1e-6) and held[6] == -1.0
    harness.get_step_result(result)
    asyncio.run(harness.start_episode({**task, "episode_idx": 0}))  # again, and broken off
    harness.step(action)
    harness.cleanup()
    frame = assay.load_run(run).frame()
    assert frame["outcome"].cast(str).to_list() == ["failure"] and frame["steps"].to_list() == [14]
