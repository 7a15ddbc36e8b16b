"""Policies with a flaw in acting: open-loop replay from memory, and missed grasps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.calibration.flawed import OpenLoopPolicy
from assay.policies.calibration.perception import GlancePolicy
from assay.policies.control import MemorisedEpisode, memorise
from assay.policies.oracle.motion import CLOSED, OPEN
from assay.sim.world import SceneEnv
from assay.support.streams import stream
from assay.tasks import Instruction

GRASP_DELAY_STEPS = 15
"""Delay, in control steps, of closing the fingers in a missed grasp; the gripper has left the object by then."""
GOLDEN_RATIO = (np.sqrt(5.0) - 1.0) / 2.0
"""Reciprocal of the golden ratio; its multiples modulo 1 are evenly spread, so a few seeds show the miss rate."""


@dataclass
class ReplayPolicy(OpenLoopPolicy):
    """Flaw: replays a control episode open-loop in any scene.

    It memorises the oracle's episode in the unperturbed task, solved or not, with its instruction and initial
    positions. It replays the memorised episode with the closest initial positions; between equally close episodes,
    the instruction decides. It never reacts to moved objects or new instructions.
    """

    tasks: tuple[str, ...] = ()
    """Additional tasks whose control episodes are memorised."""
    seeds: tuple[int, ...] = ()
    """Additional seeds whose control episodes are memorised."""

    def attach(self, env: SceneEnv) -> None:
        """Store the simulation from which the initial positions are read."""
        self._simulation, self._states = env.simulation, env.states

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Choose the memorised episode to replay."""
        trained, here = spec.control(), self._simulation
        positions = {name: here.pose(name)[0] for name in here.compiled.entities}
        memories = [
            memorise(replace(trained, task=task, seed=seed, start=None, latency=0), self._states)
            for task in dict.fromkeys((spec.task, *self.tasks))
            for seed in dict.fromkeys((spec.world_seed, *self.seeds))
        ]

        def mismatch(memory: MemorisedEpisode) -> tuple[float, bool]:
            """Return (total displacement in metres, plus 1 per unmatched entity; whether instructions differ)."""
            shared = memory.positions.keys() & positions.keys()
            moved = sum(np.linalg.norm(memory.positions[name] - positions[name]) for name in shared)
            unmatched = len(memory.positions.keys() ^ positions.keys())
            return float(moved) + unmatched, memory.instruction != instruction.text

        self._actions = iter(min(memories, key=mismatch).actions)


@dataclass
class ClumsyPolicy(GlancePolicy):
    """Flaw: closes its gripper too late in some episodes, and continues with an empty gripper.

    It simulates the oracle's episode and executes the resulting actions open-loop. The task, condition and seed
    determine whether it misses. Motions without a grasp, such as pushing a drawer, are not affected.
    """

    miss: float = 0.5
    """Fraction of episodes with missed grasps."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.miss <= 1.0:
            raise PolicyError(f"miss={self.miss:g}: expected a fraction from 0 to 1")

    def simulate(self, plan: Callable[[], None]) -> Iterable[np.ndarray]:
        """Return the simulated actions (7,), with delayed grasps if the policy misses in this episode."""
        actions = list(super().simulate(plan))
        phase = stream("clumsy", self._spec.task, self._spec.condition).random()
        misses = (phase + GOLDEN_RATIO * self._spec.seed) % 1.0 < self.miss
        if not actions or not misses:
            return actions
        delayed = np.array(actions)
        for start in np.flatnonzero(np.diff(delayed[:, 6], prepend=OPEN) == CLOSED - OPEN):
            delayed[start : start + GRASP_DELAY_STEPS, 6] = OPEN
        return delayed
