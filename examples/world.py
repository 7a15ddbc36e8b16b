"""A world in forty lines: a policy moves a number to a target. Check and run it from this folder:

assay check python:world:WORLD
assay run python:world:shifted --policy python:world:Follower --seeds 3
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.plugin import (
    Effect,
    Env,
    Experiment,
    Instruction,
    Perturbation,
    Traits,
    Variant,
    World,
    perturbation,
)


@dataclass(frozen=True)
class NumberTask:
    id: str
    instruction: Instruction
    start: float = 0.0


class NumberEnv(Env):
    def reset(self, spec):
        self.task = self.world.task(spec)  # with its perturbations applied
        self.number = self.task.start
        return self.number

    def step(self, action):
        self.number += float(np.clip(action[0], -1, 1))
        return self.number

    def succeeded(self):
        return abs(self.number - float(self.task.id.split("/")[1])) < 0.5


class NumberWorld(World):
    traits = Traits("number", continuous=False)
    action_size = 1
    max_steps = 10

    def tasks(self):
        return [NumberTask(f"number/{goal}", Instruction(f"go to {goal}")) for goal in (3, 5)]

    def open(self, states=None):
        return NumberEnv(self)


WORLD = NumberWorld()


@perturbation
class Shift(Perturbation):
    """Starts from another value."""

    kind = "world/number-shift"
    effects = frozenset({Effect.PHYSICS})
    world = "number"
    by: float = -2.0

    def apply(self, task, rng):
        return replace(task, start=task.start + self.by)


def shifted():
    """Does the policy use its observation?"""
    return Experiment(
        "shifted", "Another start.", lambda task: [Variant("shifted", (Shift(),))], world="python:world:WORLD"
    )


class Follower:
    """Reads the target from the instruction and the position from the observation."""

    def reset(self, instruction, spec):
        self.goal = float(instruction.text.split()[-1])

    def act(self, observation):
        return [[self.goal - observation]]
