"""Episodes of a run, performed again from its file: the same actions give the same rollout."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from assay.episodes.episode import Outcome, Trajectory
from assay.episodes.events import events_of
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError
from assay.extensions.eqa.episode import FOUND, Episode, Tally, fault_of
from assay.extensions.eqa.sources.simulated import RULES, SceneCache, Watcher
from assay.perturb import Senses
from assay.runs.store import Store
from assay.sim.world import LIBERO_WORLD, initial_state
from assay.tasks import Goal, Scene


class RunSource:
    """The successful episodes of a run, whatever policy did them."""

    rules = RULES
    threads = 1

    def __init__(self, path: Path, size: int = 256) -> None:
        self.compiled = SceneCache(size)
        self.name = path.stem
        with Store.reading(path) as store:
            frame = store.frame()
            numbers = frame["id"].to_list()
            specs = dict(zip(numbers, store.specs(numbers), strict=True))
            good = [
                number
                for number, out in zip(numbers, frame["outcome"], strict=True)
                if out == Outcome.SUCCESS
                and not events_of(specs[number].perturbations)  # one scene, one goal
            ]
            self._done = [(specs[number], path) for number, path in store.trajectories(good)]
        self._others = len(numbers) - len(good)
        self.total = len(good)
        self._goals: defaultdict[tuple[Scene, str], dict[str, Goal]] = defaultdict(dict)
        for spec, _ in self._done:
            task = LIBERO_WORLD.task(spec)
            self._goals[task.scene, spec.pack][task.instruction.text] = task.goal

    def episodes(self, tally: Tally) -> Iterator[Episode]:
        """See `Source`."""
        tally.add(FOUND, count=len(self._done) + self._others)
        tally.add("episode: not a success", count=self._others)
        for spec, path in sorted(self._done, key=lambda each: each[0].scene_key):
            try:
                episode = self._performed(spec, path)
            except AssayError as error:
                tally.add("episode: cannot be performed again", f"{spec.key}: {error}")
                continue
            fault = fault_of(episode.states)
            if fault or episode.instruction not in episode.achieved:
                tally.add(f"episode: {fault or 'another outcome when performed again'}", spec.key)
            else:
                yield episode

    def _performed(self, spec: EpisodeSpec, path: Trajectory) -> Episode:
        task = LIBERO_WORLD.task(spec)
        world, watcher = self.compiled.world(task.scene, spec.pack), Watcher()
        senses = Senses(spec.perturbations, task=spec.task, seed=spec.world_seed)
        beginning = initial_state(world, spec)
        watcher(world.reset(beginning))
        for action in path.actions:
            watcher(world.step(senses.act(action, world.steps)))
        place = task.scene, spec.pack
        laid_out = hashlib.sha256(np.round(beginning.vector, 4).tobytes()).hexdigest()[:12]
        scene = (
            f"scene {list(self._goals).index(place) + 1} {laid_out}"  # tasks may share one, and one beginning
        )
        told = task.instruction.text
        return watcher.episode(spec.key, told, scene, world, self.compiled, spec.pack, self._goals[place])
