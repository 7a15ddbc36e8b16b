from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from assay.support.video import FPS, Clip, VideoWriter
from assay.tasks.formats.lerobot_features import ACTION, CAMERAS, KEYFRAME_INTERVAL, STATE, VECTORS
from assay.tasks.formats.lerobot_writer import ImageStats, RecordedEpisode


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
        clip, counted = (
            Clip(folder / f"{task.replace('/', '_')}_{seed}_{key}.mp4", 0, len(images)),
            ImageStats(),
        )
        with VideoWriter(clip.path, fps=FPS, keyframes=KEYFRAME_INTERVAL) as video:
            for image in images:
                video.add(image)
                counted.add(image)
        clips[key], statistics[key] = clip, counted.result()
    vectors = {ACTION: actions.astype(np.float32), STATE: states.astype(np.float32)}
    frames = pl.DataFrame(vectors, schema=VECTORS)
    return RecordedEpisode(task, seed, instruction, frames, clips, statistics)
