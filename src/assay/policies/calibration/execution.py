"""Policies with a flaw in acting: pure memory, and missed grasps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from assay.episodes import EpisodeSpec, rollout
from assay.errors import PolicyError
from assay.policies.calibration.perception import GlancePolicy
from assay.policies.control import control
from assay.policies.oracle.motion import CLOSED, OPEN
from assay.policies.oracle.policy import Oracle
from assay.policies.simple import STILL
from assay.sim import Observation, Simulation
from assay.sim.world import SceneEnv
from assay.support.streams import stream
from assay.tasks import Instruction

GRASP_DELAY_STEPS = 15
"""Delay of the fingers in a missed grasp, control steps: the gripper has left the object by then."""
GOLDEN_RATIO = (np.sqrt(5.0) - 1.0) / 2.0
"""Its multiples are spread evenly modulo 1, so that few seeds already show the share of misses."""

Positions = Mapping[str, np.ndarray]
"""Entity name -> position (3,), metres."""


@dataclass(frozen=True, slots=True, eq=False)
class MemorisedEpisode:
    """The oracle's episode of a control."""

    instruction: str
    positions: Positions
    """At the start."""
    actions: np.ndarray
    """(steps, 7)"""


@dataclass
class ReplayPolicy:
    """Flaw: plays back a control episode, open-loop, in any scene.

    It memorises the oracle's episode of the unperturbed task, solved or not, with its instruction and the initial
    positions. It plays the memory whose positions are nearest, and among equals the one with the same instruction; so
    it never reacts to a moved object or new words.
    """

    tasks: tuple[str, ...] = ()
    """Further tasks whose controls it memorises."""
    seeds: tuple[int, ...] = ()
    """Further seeds that it memorises."""

    def attach(self, env: SceneEnv) -> None:
        """Take the simulation, for the initial positions."""
        self._simulation, self._states = env.simulation, env.states

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Choose a memory."""
        trained, positions = spec.control(), _positions(self._simulation)
        memories = [
            memorise(replace(trained, task=task, seed=seed, start=None, latency=0), self._states)
            for task in dict.fromkeys((spec.task, *self.tasks))
            for seed in dict.fromkeys((spec.world_seed, *self.seeds))
        ]

        def mismatch(memory: MemorisedEpisode) -> tuple[float, bool]:
            return _distance(memory.positions, positions), memory.instruction != instruction.text

        self._actions = iter(min(memories, key=mismatch).actions)

    def act(self, observation: Observation) -> np.ndarray:
        """The next memorised action, (1, 7); after the last, wait."""
        return next(self._actions, STILL)[None]


@lru_cache(maxsize=256)
def memorise(spec: EpisodeSpec, states: Path | None = None) -> MemorisedEpisode:
    """The oracle's control episode of a spec."""
    env = control(spec, states)
    env.reset(spec)
    positions = _positions(env.simulation)
    done = rollout(env, Oracle(), spec)
    return MemorisedEpisode(env.task.instruction.text, positions, done.trajectory.actions)


def _positions(simulation: Simulation) -> Positions:
    return {name: simulation.pose(name)[0] for name in simulation.compiled.entities}


def _distance(first: Positions, second: Positions) -> float:
    """The sum of all displacements, metres; an entity that only one of them has counts as 1."""
    shared = first.keys() & second.keys()
    return float(sum(np.linalg.norm(first[name] - second[name]) for name in shared)) + len(
        first.keys() ^ second.keys()
    )


@dataclass
class ClumsyPolicy(GlancePolicy):
    """Flaw: closes its gripper too late in a share of episodes, and continues with nothing in it.

    It simulates an episode as the oracle would play it and executes the actions open-loop. Task, condition and seed
    determine whether it misses. Motions without a grasp, such as pushing a drawer, do not miss.
    """

    miss: float = 0.5
    """The share of episodes with missed grasps."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.miss <= 1.0:
            raise PolicyError(f"miss={self.miss:g}: valid: 0 to 1 (the share of episodes)")

    def simulate(self, plan: Callable[[], None]) -> Iterable[np.ndarray]:
        """The simulated actions (7,), with delayed grasps if this episode misses."""
        actions = list(super().simulate(plan))
        phase = stream("clumsy", self._spec.task, self._spec.condition).random()
        misses = (phase + GOLDEN_RATIO * self._spec.seed) % 1.0 < self.miss
        return _delay_grasps(np.array(actions)) if actions and misses else actions


def _delay_grasps(actions: np.ndarray) -> np.ndarray:
    """Actions (steps, 7) with every closing of the gripper delayed."""
    delayed = actions.copy()
    for start in np.flatnonzero(np.diff(actions[:, 6], prepend=OPEN) == CLOSED - OPEN):
        delayed[start : start + GRASP_DELAY_STEPS, 6] = OPEN
    return delayed
