from __future__ import annotations

import numpy as np
import pytest

from assay.episodes import Outcome
from assay.episodes.episode import Episode, Trajectory
from assay.runs.store import Store


@pytest.fixture
def episode():
    """Makes an episode of some steps."""

    def made(outcome: Outcome = Outcome.SUCCESS, steps: int = 4, **more: object) -> Episode:
        rng = np.random.default_rng(steps)
        path = Trajectory(
            *(
                rng.normal(size=shape).astype(np.float32)
                for shape in ((steps + 1, 3), (steps + 1,), (steps, 7))
            )
        )
        return Episode(outcome, steps, path, **more)  # type: ignore[arg-type]

    return made


@pytest.fixture
def facts():
    """Everything in a run that must not depend on how it was executed: by key."""

    def of(store: Store) -> dict[str, tuple[object, ...]]:
        frame = store.frame()
        columns = ["outcome", "steps", "decisions", "touched", "moved", "truth", "error"]
        paths = dict(store.trajectories())
        return {
            row["key"]: (
                *(row[name] for name in columns),
                *(
                    array.tobytes()
                    for array in (
                        paths[row["id"]].end_effector,
                        paths[row["id"]].gripper,
                        paths[row["id"]].actions,
                    )
                ),
            )
            for row in frame.iter_rows(named=True)
        }

    return of
