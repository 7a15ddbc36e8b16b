"""Where episodes are performed: keeps the policy and the latest worlds, one process's worth."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Protocol

from assay.errors import AssayError
from assay.experiments.spec import EpisodeSpec
from assay.policies.base import Policy
from assay.policies.control import initial_state
from assay.policies.registry import load_policy
from assay.policies.rollout import Outcome, Rollout, rollout
from assay.policies.table import load_table_policy
from assay.runs.episode import Episode, Path, nothing_happened
from assay.runs.film import Film
from assay.runs.table import TableTroupe
from assay.runs.trace import Trace
from assay.sim import Observation, Simulation, compile_scene, load_pack
from assay.tasks import Scene, Task

WORLDS = 2
"""How many compiled worlds are kept; each that has drawn a picture holds about 100 MB."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What every worker of a run is told."""

    policy: str
    """The policy's address."""
    retries: int = 0
    """How often an episode that broke is tried again, with the same seed."""
    videos: FilePath | None = None
    """The folder for videos; None for no videos."""
    film_successes: bool = False
    """Whether successes are filmed too."""
    on_table: bool = False
    """Whether the episodes are those of `assay.tabletop`, which has policies of its own."""


class Troupe(Protocol):
    """A policy and the worlds it acts in."""

    def attempt(self, spec: EpisodeSpec, alive: Callable[[], None]) -> Episode:
        """Perform one episode. Raises what breaks outside the policy."""
        ...

    def close(self) -> None:
        """Give back what the worlds hold."""
        ...


class Stage:
    """Performs episodes, one after the other."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._policy: object
        self._troupe: Troupe
        if orders.on_table:
            self._policy = policy = load_table_policy(orders.policy)
            self._troupe = TableTroupe(policy)
        else:
            self._policy = actor = load_policy(orders.policy)
            self._troupe = RobotTroupe(actor, orders)

    def perform(self, spec: EpisodeSpec, alive: Callable[[], None] = lambda: None) -> Episode:
        """Perform one episode; what breaks is told in it, not raised. ``alive`` is called at every step."""
        start = time.perf_counter()
        episode, attempts = self._attempt(spec, alive), 1
        while episode.outcome is Outcome.ERROR and attempts <= self._orders.retries:
            episode, attempts = self._attempt(spec, alive), attempts + 1
        return replace(episode, attempts=attempts, seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Give back what the worlds and the policy hold."""
        self._troupe.close()
        close = getattr(self._policy, "close", None)
        if callable(close):
            close()

    def _attempt(self, spec: EpisodeSpec, alive: Callable[[], None]) -> Episode:
        try:
            return self._troupe.attempt(spec, alive)
        except Exception as error:  # the scene or the simulator; whatever the policy does is in the rollout
            reason = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
            return Episode(Outcome.ERROR, 0, nothing_happened(), error=" ".join(reason.split())[:300])


class RobotTroupe:
    """A policy that moves the arm, and the latest worlds."""

    def __init__(self, policy: Policy, orders: Orders) -> None:
        self._policy, self._orders = policy, orders
        self._worlds: OrderedDict[tuple[Scene, str], Simulation] = OrderedDict()

    def close(self) -> None:
        """Give back what the worlds hold."""
        for world in self._worlds.values():
            world.close()
        self._worlds.clear()

    def attempt(self, spec: EpisodeSpec, alive: Callable[[], None]) -> Episode:
        """Perform one episode. Raises what breaks outside the policy."""
        task = spec.realised()
        world = self._world(task, spec.pack)
        state = initial_state(world, spec)
        world.reset(state)
        drawn = world.renderer.count
        trace = Trace(world, task.goal)
        film = Film(task, spec)

        def watch(observation: Observation) -> None:
            alive()
            trace(observation)
            if self._orders.videos is not None:
                film(observation)

        done = rollout(world, task, self._policy, state, spec, watch=watch)
        drawn = world.renderer.count - drawn
        unfilmed = self._developed(film, done)
        return Episode(
            outcome=done.outcome,
            steps=done.steps,
            path=Path(trace.hand, trace.gripper, done.actions),
            instruction=task.instruction.text,
            decisions=done.decisions,
            pictures=drawn,
            touched=trace.touched,
            moved=trace.moved,
            truth=trace.truth,
            error="; ".join(each for each in (done.error or done.note, unfilmed) if each),
            passing=done.passing,
        )

    def _developed(self, film: Film, done: Rollout) -> str:
        """Write an episode's film, if it is wanted; returns why not, if that did not work."""
        folder = self._orders.videos
        if folder is None or (done.outcome is Outcome.SUCCESS and not self._orders.film_successes):
            return ""
        try:
            film.develop(folder, done)
        except Exception as error:  # a film is no reason to lose an episode
            return f"not filmed: {' '.join(str(error).split())[:200]}"
        return ""

    def _world(self, task: Task, pack: str) -> Simulation:
        """The world of a task's scene; the latest few are kept."""
        key = (task.scene, pack)
        if key not in self._worlds:
            while len(self._worlds) >= WORLDS:
                self._worlds.popitem(last=False)[1].close()
            self._worlds[key] = Simulation(compile_scene(task.scene, load_pack(pack)))
        self._worlds.move_to_end(key)
        return self._worlds[key]
