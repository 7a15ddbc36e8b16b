from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.extensions.learn.demonstrations.demonstration import Episode
from assay.extensions.learn.demonstrations.features import ACTION, CAMERAS, FPS, KEYFRAMES, STATE, VECTORS
from assay.extensions.learn.demonstrations.stats import PictureStats
from assay.support.streams import stream
from assay.support.video import Clip, VideoWriter

SIZE = 32

Made = Callable[..., Episode]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes episodes up: random numbers, and plain pictures that get brighter by the frame."""

    def episode(task: str, seed: int, steps: int, instruction: str | None = None) -> Episode:
        draw = stream(seed, task)
        clips, pictures = {}, {}
        for key in CAMERAS:
            path = tmp_path / f"made/{task.replace('/', '_')}_{seed}_{key}.mp4"
            statistics = PictureStats()
            with VideoWriter(path, fps=FPS, keyframes=KEYFRAMES) as video:
                for step in range(steps):
                    picture = np.full((SIZE, SIZE, 3), 40 + 30 * seed + 5 * step, dtype=np.uint8)
                    video.add(picture)
                    statistics.add(picture)
            clips[key], pictures[key] = Clip(path, 0, steps), statistics.result()
        vectors = {ACTION: draw.uniform(-1, 1, (steps, 7)), STATE: draw.normal(size=(steps, 8))}
        frames = pl.DataFrame(
            {key: value.astype(np.float32) for key, value in vectors.items()}, schema=VECTORS
        )
        return Episode(task, seed, instruction or f"do {task}", frames, clips, pictures)

    return episode
