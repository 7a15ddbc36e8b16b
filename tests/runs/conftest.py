from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.episodes import Outcome
from assay.episodes.episode import Episode, Trajectory
from assay.errors import RunError
from assay.runs.store import Store


def made_episode(outcome: Outcome = Outcome.SUCCESS, steps: int = 4, **more: object) -> Episode:
    """An episode of some steps."""
    rng = np.random.default_rng(steps)
    shapes = ((steps + 1, 3), (steps + 1,), (steps, 7))
    path = Trajectory(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    return Episode(outcome, steps, path, **more)  # type: ignore[arg-type]


@pytest.fixture
def episode():
    """Makes an episode of some steps."""
    return made_episode


def done(path: Path) -> int:
    """How many episodes a run that may be under way has recorded so far."""
    try:
        with Store.reading(path) as store:
            return store.done
    except RunError:  # not yet a run
        return 0


@pytest.fixture
def facts():
    """Reads everything in a run that must not depend on how it was executed, by key."""

    def read(store: Store) -> dict[str, tuple[object, ...]]:
        columns = ["outcome", "steps", "decisions", "touched", "moved", "truth", "error"]
        paths = dict(store.trajectories())
        arrays = ("end_effector", "gripper", "actions")
        return {
            row["key"]: (
                *(row[name] for name in columns),
                *(getattr(paths[row["id"]], name).tobytes() for name in arrays),
            )
            for row in store.frame().iter_rows(named=True)
        }

    return read
