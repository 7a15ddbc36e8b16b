"""One attempt of the oracle, and a recording of it if it succeeds."""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl

from assay.episodes import Outcome, rollout
from assay.episodes.spec import EpisodeSpec
from assay.errors import PlacementError, StateError
from assay.extensions.learn.demonstrations.demonstration import Demonstrations, Episode, LeftOut
from assay.extensions.learn.demonstrations.demonstrator import Demonstrator
from assay.extensions.learn.demonstrations.features import (
    ACTION,
    CAMERAS,
    FPS,
    KEYFRAMES,
    STATE,
    VECTORS,
    state,
)
from assay.extensions.learn.demonstrations.stats import PictureStats
from assay.policies.remote.pictures import turned
from assay.sim import Observation, Simulation
from assay.sim.world import SceneEnv
from assay.support.video import Clip, VideoWriter
from assay.tasks import Task


def attempt(
    world: Simulation, task: Task, spec: EpisodeSpec, wanted: Demonstrations, scratch: Path
) -> Episode | LeftOut:
    """Let the oracle try, disturbed and shown as ``wanted`` says; videos go into ``scratch``.

    Pictures are drawn afterwards: an attempt that fails costs none.
    """
    seen: deque[Observation] = deque()
    oracle = Demonstrator(wanted.recipe.noise)
    try:
        env = SceneEnv(world, task, world.sample(spec.world_seed))
        result = rollout(env, oracle, spec, watch=seen.append)
    except (PlacementError, StateError) as error:
        return LeftOut(task.id, spec.seed, Outcome.ERROR, world.steps, str(error))
    if result.outcome is not Outcome.SUCCESS:
        return LeftOut(task.id, spec.seed, result.outcome, result.steps, result.error)
    del seen[-1]  # what the last action led to: no action belongs to it
    vectors = {
        ACTION: np.clip(oracle.wanted, -1.0, 1.0),
        STATE: np.array([state(each) for each in seen]),
    }
    clips = {key: Clip(scratch / f"{camera}.mp4", 0, len(seen)) for key, camera in CAMERAS.items()}
    statistics = {key: PictureStats() for key in CAMERAS}
    with ExitStack() as files:
        videos = {
            key: files.enter_context(VideoWriter(clip.path, fps=FPS, keyframes=KEYFRAMES))
            for key, clip in clips.items()
        }
        while seen:
            observation = seen.popleft()  # an observation keeps its pictures; let it go
            for key, camera in CAMERAS.items():
                picture = turned(observation.image(camera, wanted.size), wanted.orientation)
                videos[key].add(picture)
                statistics[key].add(picture)
    return Episode(
        task=task.id,
        seed=spec.seed,
        instruction=task.instruction.text,
        frames=pl.DataFrame(vectors, schema=VECTORS),
        clips=clips,
        pictures={key: each.result() for key, each in statistics.items()},
    )
