"""A first look: a few tasks, the arm reaching for what they are about, and pictures of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from assay import tasks
from assay.report.sheet import Row, save_sheet
from assay.sim.compile import compile_scene
from assay.sim.controller import SCALE
from assay.sim.observation import Observation
from assay.sim.packs.registry import load_pack
from assay.sim.simulation import Simulation

TASKS = (
    "libero_goal/0",
    "libero_spatial/0",
    "libero_object/0",
    "libero_10/0",
    "libero_10/3",
    "libero_10/5",
    "libero_10/9",
)
"""One scene of each kind."""

STEPS = 60
ABOVE = np.array([0.0, 0.0, 0.12])
"""Where the hand goes, seen from what the task is about, metres."""
SIZE = 256
LABEL_COLOURS = np.array(
    [(235, 235, 235), (90, 90, 95)]
    + [(hue * 37 % 200 + 40, hue * 91 % 200 + 40, hue * 53 % 200 + 40) for hue in range(1, 40)],
    dtype=np.uint8,
)


def contact_sheet(path: Path, pack: str, on_task: Callable[[str], None] = lambda name: None) -> Path:
    """Reach for the first thing each task is about; draw start, end, the hand's view and the labels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    assets = load_pack(pack)
    rows = []
    for name in TASKS:
        on_task(name)
        task = tasks.load(name)
        world = Simulation(compile_scene(task.scene, assets))
        start = world.reset(world.sample(seed=0))
        first = start.image("agentview", SIZE)
        end = reach(world, _thing_of_interest(task, world) + ABOVE)
        labels = LABEL_COLOURS[start.segmentation("agentview", SIZE) % len(LABEL_COLOURS)]
        pictures = (first, end.image("agentview", SIZE), end.image("robot0_eye_in_hand", SIZE), labels)
        rows.append(Row(f"{task.id}   {task.instruction}", pictures))
        world.close()
    columns = ("start", f"after {STEPS} steps", "from the hand", "labels at the start")
    return save_sheet(path, f"Assay: built-in tasks on the {pack} pack", columns, rows)


def reach(world: Simulation, target: np.ndarray) -> Observation:
    """Steer the hand towards a point (3,) in the world with an open gripper; returns the last observation."""
    action = np.zeros(7)
    action[6] = -1.0
    observation = world.step(action)
    for _ in range(STEPS - 1):
        action[:3] = np.clip((target - observation.eef_position) / SCALE[:3], -1.0, 1.0)
        observation = world.step(action)
    return observation


def _thing_of_interest(task: tasks.Task, world: Simulation) -> np.ndarray:
    """Where the first thing that the goal names is, (3,)."""
    return world.pose(task.goal.atoms[0].arguments[0])[0]
