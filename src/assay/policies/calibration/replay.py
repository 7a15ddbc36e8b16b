"""A policy that is nothing but memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from assay.episodes import EpisodeSpec, rollout
from assay.policies.control import control
from assay.policies.oracle.policy import Oracle
from assay.policies.simple import STILL
from assay.sim import Observation, Simulation
from assay.sim.world import SceneEnv
from assay.tasks import Instruction

Look = Mapping[str, np.ndarray]
"""Where the things of a scene are: name -> position (3,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A control episode as it went."""

    instruction: str
    look: Look
    """At its start."""
    actions: np.ndarray
    """(steps, 7)"""


@dataclass
class Replay:
    """Flaw: plays back a control episode, open-loop, whatever has changed.

    It remembers the oracle's episode of the unperturbed task, solved or not, under its exact instruction and
    the scene's initial look. Where no memory has both, it plays the one whose look is nearest, so it never
    notices a moved object or new words.
    """

    tasks: tuple[str, ...] = ()
    """Further tasks whose controls it remembers, besides the episode's own."""
    seeds: tuple[int, ...] = ()
    """Further seeds of them that it remembers, besides the episode's own."""

    def attach(self, env: SceneEnv) -> None:
        """Take the simulation, to look at it once."""
        self._simulation, self._states = env.simulation, env.states

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Recall an episode."""
        usual, look = spec.control(), _look(self._simulation)
        memories = [
            recall(replace(usual, task=task, seed=seed, start=None, latency=0), self._states)
            for task in dict.fromkeys((spec.task, *self.tasks))
            for seed in dict.fromkeys((spec.world_seed, *self.seeds))
        ]

        def unlike(memory: Memory) -> tuple[float, bool]:
            return _gap(memory.look, look), memory.instruction != instruction.text

        self._actions = iter(min(memories, key=unlike).actions)

    def act(self, observation: Observation) -> np.ndarray:
        """The next remembered action; after the last, wait."""
        return next(self._actions, STILL)[None]


@lru_cache(maxsize=256)
def recall(spec: EpisodeSpec, states: Path | None = None) -> Memory:
    """The oracle's control episode of a spec."""
    usual = control(spec, states)
    usual.reset(spec)
    look = _look(usual.simulation)
    done = rollout(usual, Oracle(), spec)
    return Memory(usual.task.instruction.text, look, done.trajectory.actions)


def _look(simulation: Simulation) -> Look:
    return {name: simulation.pose(name)[0] for name in simulation.compiled.entities}


def _gap(one: Look, other: Look) -> float:
    """How far things have moved between two looks, metres in all; a thing that only one has counts as 1."""
    shared = one.keys() & other.keys()
    return float(sum(np.linalg.norm(one[name] - other[name]) for name in shared)) + len(
        one.keys() ^ other.keys()
    )
