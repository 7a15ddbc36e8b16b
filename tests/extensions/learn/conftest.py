from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.extensions.learn.demonstrations import dataset
from assay.extensions.learn.demonstrations.dataset import Demonstrations
from assay.support.images import Orientation
from assay.support.streams import stream
from assay.support.video import FPS, Clip, VideoWriter
from assay.tasks.formats.lerobot import ACTION, CAMERAS, KEYFRAME_INTERVAL, STATE, VECTORS
from assay.tasks.formats.lerobot_writer import ImageStats, RecordedEpisode

SIZE, STEPS = 32, 12
DOWN = (np.pi, 0.0, 0.0)
"""Axis-angle rotation of a gripper that points down."""
TASKS = {"libero_goal/7": "turn on the stove", "libero_goal/8": "put the bowl on the plate"}
Made = Callable[..., RecordedEpisode]


def record_episode(
    folder: Path,
    start: tuple[str, int],
    instruction: str,
    images: Sequence[np.ndarray],
    actions: np.ndarray,
    states: np.ndarray,
) -> RecordedEpisode:
    """Write the same video for each camera; ``start`` is a task and a seed."""
    task, seed = start
    clips, statistics = {}, {}
    for key in CAMERAS:
        path, counted = folder / f"{task.replace('/', '_')}_{seed}_{key}.mp4", ImageStats()
        with VideoWriter(path, fps=FPS, keyframes=KEYFRAME_INTERVAL) as video:
            for image in images:
                video.add(image)
                counted.add(image)
        clips[key], statistics[key] = Clip(path, 0, len(images)), counted.result()
    vectors = {ACTION: actions.astype(np.float32), STATE: states.astype(np.float32)}
    frames = pl.DataFrame(vectors, schema=VECTORS)
    return RecordedEpisode(task, seed, instruction, frames, clips, statistics)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes episodes of random numbers and plain images that get brighter frame by frame."""

    def episode(task: str, seed: int, steps: int, instruction: str | None = None) -> RecordedEpisode:
        draw = stream(seed, task)
        images = [np.full((SIZE, SIZE, 3), 40 + 30 * seed + 5 * step, np.uint8) for step in range(steps)]
        actions, states = draw.uniform(-1, 1, (steps, 7)), draw.normal(size=(steps, 8))
        return record_episode(
            tmp_path / "made", (task, seed), instruction or f"do {task}", images, actions, states
        )

    return episode


def picture(place: float, step: int) -> np.ndarray:
    """A bright square on the left (0) or right (1) of a dark image, with a mark in its upper left corner."""
    image = np.full((SIZE, SIZE, 3), 30 + step, dtype=np.uint8)
    column = round(place * (SIZE - 8))
    image[12:20, column : column + 8] = 230
    image[:4, :4] = (255, 0, 0)
    return image


def _episode(folder: Path, task: str, seed: int) -> RecordedEpisode:
    """Actions depend on the words (x), the image (y) and the state (z)."""
    rng = stream("visuomotor test", task, seed)
    place, height = rng.uniform(), rng.uniform(-1.0, 1.0)
    action = (0.5 if task.endswith("7") else -0.5, place - 0.5, 0.5 * height, 0.0, 0.0, 0.0)
    gripper = np.where(np.arange(STEPS) < STEPS // 2, -1.0, 1.0)
    actions = np.column_stack([np.tile(action, (STEPS, 1)), gripper])
    fingers = np.column_stack([0.04 - 0.003 * np.arange(STEPS), -0.04 + 0.003 * np.arange(STEPS)])
    states = np.column_stack([np.tile((0.0, 0.0, height, *DOWN), (STEPS, 1)), fingers])
    images = [picture(place, step) for step in range(STEPS)]
    return record_episode(folder, (task, seed), TASKS[task], images, actions, states)


@pytest.fixture(scope="session")
def demonstrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set whose actions depend on words, images and state, each on one axis."""
    folder = tmp_path_factory.mktemp("visuomotor")
    episodes = tuple(_episode(folder, task, seed) for task in TASKS for seed in range(12))
    demonstrations = Demonstrations("primitives", SIZE, episodes, orientation=Orientation.UPRIGHT)
    dataset.write(folder / "set", demonstrations)
    return folder / "set"
