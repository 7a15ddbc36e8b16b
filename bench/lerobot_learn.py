"""`assay learn` learns from what LeRobot itself recorded: videos as it encodes them, and pictures in tables."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from assay.extensions.learn.visuomotor.frames import read
from assay.support.images import Orientation
from assay.support.streams import stream
from bench.figure import Figure
from bench.lerobot_open import NotMeasuredError, environment, last_line

SIZE, STEPS, EPISODES = 64, 16, 4
TOLD = ("open the drawer", "stack the bowls")
SMOOTH = 6.0
"""How far decoded pictures may be from those recorded, in the mean of the worst, of 255."""


def measure() -> list[Figure]:
    figures: list[Figure] = []
    for kind in ("video", "image"):
        what = f"a dataset that LeRobot recorded ({kind}): frames that assay learn reads otherwise"
        try:
            figures += _compared(environment(), kind, what)
        except NotMeasuredError as error:
            figures.append(Figure(what, None, "frames", 0, note=str(error)))
    return figures


def _compared(python: Path, kind: str, what: str) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="assay-lerobot-") as scratch:
        place, given = Path(scratch), _recorded()
        np.savez(place / "given.npz", **given)
        private = {"HF_HOME": f"{scratch}/hf", "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": f"{scratch}/cache"}
        script = Path(__file__).with_name("lerobot_write.py")
        written = _done(private, python, "-P", script, place / "set", place / "given.npz", kind)
        frames = read(place / "set", SIZE, Orientation.UPRIGHT)
        told = np.array(frames.instructions)[frames.episodes]
        same = (
            np.all(frames.states == given["state"], axis=1)
            & np.all(frames.actions == given["action"], axis=1)
            & (told == given["task"])
        )
        off = [
            np.abs(frames.images[camera].astype(float) - given[key]).mean(axis=(1, 2, 3)).max()
            for camera, key in (("agentview", "agentview"), ("robot0_eye_in_hand", "wrist"))
        ]
        yield Figure(what, int((~same).sum()), "frames", 0, note=f"lerobot {written}; {len(frames)} frames")
        yield Figure("... mean difference of its pictures (worst picture)", float(max(off)), "of 255", SMOOTH)
        learn = ("-m", "assay", "learn", place / "set", "--steps", "2", "--out", place / "net.safetensors")
        yield Figure(
            "... steps trained by assay learn",
            2 if _done(private, sys.executable, *learn) else 0,
            "",
            2,
            False,
        )


def _done(private: dict[str, str], *command: str | Path) -> str:
    """The last line that a command prints."""
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | private, check=False, timeout=600
    )
    if done.returncode:
        raise NotMeasuredError(last_line(done.stderr))
    return last_line(done.stdout)


def _recorded() -> dict[str, np.ndarray]:
    """A square that wanders over each camera's picture, with states and actions that tell frames apart."""
    rng, count = stream("bench", "lerobot"), EPISODES * STEPS
    pictures = np.full((2, count, SIZE, SIZE, 3), 60, np.uint8)
    for camera, frame in np.ndindex(2, count):
        column = 2 * (frame % STEPS) + 8 * camera
        pictures[camera, frame, 20:36, column : column + 16] = (220, 120, 40)
    return {
        "agentview": pictures[0],
        "wrist": pictures[1],
        "state": rng.normal(size=(count, 8)).astype(np.float32),
        "action": rng.uniform(-1, 1, size=(count, 7)).astype(np.float32),
        "episode": np.repeat(np.arange(EPISODES), STEPS),
        "task": np.repeat(np.resize(TOLD, EPISODES), STEPS),
    }
