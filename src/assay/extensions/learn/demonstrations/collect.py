"""Run the oracle and record its successful episodes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from assay.episodes import EpisodeSpec, Outcome, rollout
from assay.errors import DemonstrationError, PerturbationError, PlacementError, StateError
from assay.extensions.learn.demonstrations.dataset import (
    PLAIN,
    DemonstrationFolder,
    Demonstrations,
    FailedAttempt,
    Recipe,
    open_folder,
)
from assay.policies.oracle.policy import Oracle
from assay.sim import Observation, Simulation, compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import PACKS
from assay.sim.world import SceneEnv
from assay.support.images import Orientation
from assay.support.streams import stream
from assay.tasks import Instruction, Task
from assay.tasks.formats.lerobot import ACTION, STATE, VECTORS, robot_state
from assay.tasks.formats.lerobot_writer import RecordedEpisode, record_images

IMAGE_SIZES = range(16, 2049, 2)
"""Valid heights and widths of images, in pixels; the video format requires even numbers."""
NOISE_CORRELATION = 0.8
"""Correlation of the disturbance between consecutive steps: a push lasts about five steps."""
NOISE_SCALE = np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])
"""Relative strength of the disturbance for each action component: translation, then rotation."""


@dataclass(frozen=True, slots=True)
class Collected:
    """Summary of a folder of demonstrations."""

    episodes: int
    frames: int
    left_out: int
    """Number of attempts in which the oracle failed."""
    short: Mapping[str, int]
    """Task -> number of recorded episodes, for tasks with fewer episodes than requested."""


class Demonstrator(Oracle):
    """The oracle with disturbed actions; the undisturbed actions are recorded."""

    def __init__(self, noise: float) -> None:
        self._noise = noise

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Start an episode."""
        super().reset(instruction, spec)
        self.undisturbed: list[np.ndarray] = []
        """The oracle's actions before the disturbance was added, each (7,)."""
        self._push = np.zeros(6)
        self._rng = stream("demonstrations", "noise", spec.task, spec.seed)

    def act(self, observation: Observation) -> np.ndarray:
        """Return the oracle's action plus the disturbance, (1, 7)."""
        action = super().act(observation)
        self.undisturbed.append(action[0])
        if not self._noise:
            return action
        fresh = self._noise * NOISE_SCALE * self._rng.normal(size=6)
        self._push = NOISE_CORRELATION * self._push + math.sqrt(1.0 - NOISE_CORRELATION**2) * fresh
        disturbed = np.clip(action, -1.0, 1.0)
        disturbed[0, :6] += self._push
        return np.asarray(disturbed)


def max_attempts(episodes: int) -> int:
    """Return the maximum number of seeds to try in order to record ``episodes`` episodes of a task."""
    return 2 * episodes + 10


def collect(
    out: Path,
    chosen: Sequence[Task],
    episodes: int,
    *,
    seeds: Sequence[int] | None = None,
    size: int = 256,
    pack: str = "primitives",
    recipe: Recipe = PLAIN,
    orientation: Orientation = Orientation.ROTATED,
    on_episode: Callable[[str], None] = lambda task: None,
) -> Collected:
    """Extend a folder to ``episodes`` successful episodes of each task, trying ``seeds`` (default: 0, 1, 2, ...).

    Episodes already in the folder are not repeated. ``orientation`` defaults to that of the images sent to policy
    servers. ``on_episode`` is called with the task of each episode in the folder.
    """
    if size not in IMAGE_SIZES:
        raise DemonstrationError(
            f"--size {size}: expected an even number from {IMAGE_SIZES[0]} to {IMAGE_SIZES[-1]}"
        )
    assets = PACKS.load(pack)()
    seeds = range(max_attempts(episodes)) if seeds is None else seeds
    short = {}
    kind = Demonstrations(pack, size, recipe=recipe, orientation=orientation)
    with open_folder(out, kind) as folder:
        for task in chosen:
            count = 0
            for _ in islice(_demonstrate(folder, task, assets, seeds), episodes):
                count += 1
                on_episode(task.id)
            if count < episodes:
                short[task.id] = count
        folder.finish()
        demonstrations = folder.demonstrations
    frames = sum(len(episode.frames) for episode in demonstrations.episodes)
    return Collected(len(demonstrations.episodes), frames, len(demonstrations.left_out), short)


def _demonstrate(
    folder: DemonstrationFolder, task: Task, assets: AssetPack, seeds: Sequence[int]
) -> Iterator[int]:
    """Yield the seeds with which the oracle solves a task: first those in the folder, then new ones as needed."""
    wanted = folder.demonstrations
    simulation: Simulation | None = None
    try:
        for seed in seeds:
            stored = folder.demonstrations
            attempts: tuple[RecordedEpisode | FailedAttempt, ...] = (*stored.episodes, *stored.left_out)
            if not any((attempt.task, attempt.seed) == (task.id, seed) for attempt in attempts):
                spec = wanted.recipe.spec(task.id, seed, wanted.pack, seeds[0])
                try:
                    varied = wanted.recipe.task(task, spec)
                except PerturbationError as error:
                    folder.add(FailedAttempt(task.id, seed, Outcome.ERROR, 0, str(error)))
                    continue
                if simulation is None or simulation.compiled.scene != varied.scene:
                    if simulation is not None:
                        simulation.close()
                    simulation = Simulation(compile_scene(varied.scene, assets))
                folder.add(_attempt(simulation, varied, spec, wanted, folder.scratch))
            if seed in folder.demonstrations.seeds(task.id):
                yield seed
    finally:
        if simulation is not None:
            simulation.close()


def _attempt(
    simulation: Simulation, task: Task, spec: EpisodeSpec, wanted: Demonstrations, scratch: Path
) -> RecordedEpisode | FailedAttempt:
    """Run the oracle for one episode and write its videos to ``scratch``.

    Images are rendered only after success, so failed attempts cost no rendering.
    """
    observations: deque[Observation] = deque()
    oracle = Demonstrator(wanted.recipe.noise)
    try:
        env = SceneEnv(simulation, task, simulation.sample(spec.world_seed))
        result = rollout(env, oracle, spec, watch=observations.append)
    except (PlacementError, StateError) as error:
        return FailedAttempt(task.id, spec.seed, Outcome.ERROR, simulation.steps, str(error))
    if result.outcome is not Outcome.SUCCESS:
        return FailedAttempt(task.id, spec.seed, result.outcome, result.steps, result.error)
    del observations[-1]  # the result of the last action: no action belongs to it
    vectors = {
        ACTION: np.clip(oracle.undisturbed, -1.0, 1.0),
        STATE: np.array([robot_state(observation) for observation in observations]),
    }
    # An observation caches its images, so each is released once it is encoded.
    released = (observations.popleft() for _ in range(len(observations)))
    clips, stats = record_images(released, wanted.size, wanted.orientation, scratch)
    return RecordedEpisode(
        task=task.id,
        seed=spec.seed,
        instruction=task.instruction.text,
        frames=pl.DataFrame(vectors, schema=VECTORS),
        clips=clips,
        image_stats=stats,
    )
