from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.support.streams import stream
from assay.tasks.formats.lerobot_writer import RecordedEpisode

from ..conftest import record_episode

SIZE = 32
Made = Callable[..., RecordedEpisode]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes episodes up: random numbers, and plain images that get brighter by the frame."""

    def episode(task: str, seed: int, steps: int, instruction: str | None = None) -> RecordedEpisode:
        draw = stream(seed, task)
        images = [np.full((SIZE, SIZE, 3), 40 + 30 * seed + 5 * step, np.uint8) for step in range(steps)]
        actions, states = draw.uniform(-1, 1, (steps, 7)), draw.normal(size=(steps, 8))
        return record_episode(
            tmp_path / "made", (task, seed), instruction or f"do {task}", images, actions, states
        )

    return episode
