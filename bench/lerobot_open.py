"""LeRobot itself opens what `assay collect` writes, and reads the numbers and pictures that we meant.

LeRobot is large, so it gets an environment of its own in the user's cache, made once. Name an interpreter in
ASSAY_LEROBOT_PYTHON to make it from that one: LeRobot's newest versions need Python 3.12.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from assay import tasks
from assay.errors import RenderingError
from assay.extensions.learn.demonstrations import collect, dataset
from assay.sim import Simulation, compile_scene, load_pack
from assay.support.images import Orientation, orient
from assay.tasks.formats.lerobot_features import ACTION, CAMERAS, STATE, robot_state
from assay.tasks.formats.lerobot_writer import RecordedEpisode
from bench.figure import Figure

LEROBOT_PYTHON = "ASSAY_LEROBOT_PYTHON"
TASKS = ("libero_goal/7", "libero_goal/8")
EPISODES = 2
SIZE = 256
MOST_FRAMES = 200
"""Small, so that the dataset has several files."""


class NotMeasuredError(Exception):
    """Says why."""


def measure() -> list[Figure]:
    numbers = "LeRobot: frames that are missing, or whose numbers or task are not ours"
    pictures = "LeRobot: mean difference of its pictures from what was drawn (worst picture)"
    try:
        found = _compare(environment())
    except (NotMeasuredError, RenderingError) as error:
        return [
            Figure(numbers, None, "frames", 0, note=str(error)),
            Figure(pictures, None, "of 255", 6, note=str(error)),
        ]
    note = f"lerobot {found['version']}; {found['compared']} frames compared of {found['frames']}"
    return [
        Figure(numbers, found["different"], "frames", 0, note=found.get("error", note)),
        Figure(pictures, found["picture_error"], "of 255", 6, note=f"h264, {SIZE} x {SIZE}"),
    ]


def _compare(python: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="assay-lerobot-") as scratch:
        place = Path(scratch)
        collect(place / "collected", [tasks.load(name) for name in TASKS], EPISODES, size=SIZE)
        there = dataset.read(place / "collected")
        dataset.write(place / "set", there, max_frames=MOST_FRAMES)
        frames, expected = 0, []
        for episode in there.episodes:
            expected += list(_expected(episode, frames))
            frames += len(episode.frames)
        np.savez(place / "expected.npz", **{key: [each[key] for each in expected] for key in expected[0]})
        script = Path(__file__).with_name("lerobot_read.py")
        private = {"HF_HOME": f"{scratch}/hf", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
        result = subprocess.run(
            [python, "-P", script, place / "set", place / "expected.npz", str(frames)],
            capture_output=True,
            text=True,
            env=os.environ | private,
            check=False,
            timeout=600,
        )
    if result.returncode:
        error = f"LeRobot cannot read it: {last_line(result.stderr)}"
        return {
            "version": "?",
            "compared": 0,
            "frames": 0,
            "different": frames,
            "picture_error": None,
            "error": error,
        }
    found: dict[str, Any] = json.loads(result.stdout.strip().splitlines()[-1])
    return found


def _expected(episode: RecordedEpisode, start: int) -> Iterator[dict[str, object]]:
    """What the first, middle and last frame hold, simulated and drawn anew from the actions."""
    task = tasks.load(episode.task)
    world = Simulation(compile_scene(task.scene, load_pack("primitives")))
    observation = world.reset(world.sample(episode.seed))
    actions = episode.frames[ACTION].to_numpy()
    for number, action in enumerate(actions):
        if number in (0, len(actions) // 2, len(actions) - 1):
            yield {
                "index": start + number,
                "task": task.instruction.text,
                ACTION: action,
                STATE: robot_state(observation),
                **{
                    key: orient(observation.image(camera, SIZE), Orientation.ROTATED)
                    for key, camera in CAMERAS.items()
                },
            }
        observation = world.step(action)
    world.close()


def environment() -> Path:
    """The interpreter of an environment with LeRobot, which is made if there is none."""
    base = os.environ.get(LEROBOT_PYTHON, sys.executable)
    version = _run(base, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = cache / "assay" / f"lerobot-python{version}"
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        _run(base, "-m", "venv", "--clear", place)
        _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "lerobot[dataset]")
        (place / "ready").touch()
    return python


def _run(*command: str | Path) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=3600).stdout
    except subprocess.CalledProcessError as error:
        raise NotMeasuredError(f"no environment for LeRobot: {last_line(error.stderr)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMeasuredError(f"no environment for LeRobot: {error}") from error


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1][:200]
