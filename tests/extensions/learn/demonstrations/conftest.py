from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.support.streams import stream
from assay.support.video import FPS, Clip, VideoWriter
from assay.tasks.formats.lerobot_features import ACTION, CAMERAS, KEYFRAME_INTERVAL, STATE, VECTORS
from assay.tasks.formats.lerobot_writer import ImageStats, RecordedEpisode

SIZE = 32

Made = Callable[..., RecordedEpisode]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes episodes up: random numbers, and plain pictures that get brighter by the frame."""

    def episode(task: str, seed: int, steps: int, instruction: str | None = None) -> RecordedEpisode:
        draw = stream(seed, task)
        clips, pictures = {}, {}
        for key in CAMERAS:
            path = tmp_path / f"made/{task.replace('/', '_')}_{seed}_{key}.mp4"
            statistics = ImageStats()
            with VideoWriter(path, fps=FPS, keyframes=KEYFRAME_INTERVAL) as video:
                for step in range(steps):
                    picture = np.full((SIZE, SIZE, 3), 40 + 30 * seed + 5 * step, dtype=np.uint8)
                    video.add(picture)
                    statistics.add(picture)
            clips[key], pictures[key] = Clip(path, 0, steps), statistics.result()
        vectors = {ACTION: draw.uniform(-1, 1, (steps, 7)), STATE: draw.normal(size=(steps, 8))}
        frames = pl.DataFrame(
            {key: value.astype(np.float32) for key, value in vectors.items()}, schema=VECTORS
        )
        return RecordedEpisode(task, seed, instruction or f"do {task}", frames, clips, pictures)

    return episode
