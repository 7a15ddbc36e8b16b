"""What a task on the table is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.errors import TaskError
from assay.extensions.tabletop.draw import Draw
from assay.extensions.tabletop.goals import Goal
from assay.extensions.tabletop.pools import Difficulty, Level, parsed
from assay.extensions.tabletop.prompt import Prompt
from assay.extensions.tabletop.scene import TableScene

MOST_ACTIONS = 10
"""How many actions there are where mistakes are allowed; twice the fewest, where that is more."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything that determines an episode's task."""

    task: str
    """``T1`` to ``T17``."""
    seed: int
    level: Level = Level.L1
    difficulty: Difficulty = Difficulty.DEFAULT

    def __post_init__(self) -> None:
        """Take names for levels and difficulties. Raises TaskError that says what is valid."""
        object.__setattr__(self, "level", parsed(Level, self.level))
        object.__setattr__(self, "difficulty", parsed(Difficulty, self.difficulty))
        if not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise TaskError(f"a seed is a whole number from 0 on, not {self.seed!r}")

    @property
    def id(self) -> str:
        """A stable name: ``T1/L1/default/0``."""
        return f"{self.task}/{self.level}/{self.difficulty}/{self.seed}"


@dataclass(frozen=True, slots=True)
class TableTask:
    """A scene, a prompt and a goal."""

    setting: Setting
    scene: TableScene
    prompt: Prompt
    goal: Goal
    """What counts."""
    asked: Goal | None
    """What the prompt asks for: the goal, another one, or None where nothing can be done by it."""

    @property
    def id(self) -> str:
        """The stable name of its kind and level: ``tabletop/T1/L1``."""
        return f"tabletop/{self.setting.task}/{self.setting.level}"

    @property
    def instruction(self) -> Prompt:
        """What the policy is told."""
        return self.prompt

    @property
    def best(self) -> int:
        """The fewest actions it takes: all there are where mistakes are not allowed."""
        return self.goal.best

    @property
    def most(self) -> int:
        """The actions there are where mistakes are allowed."""
        return max(MOST_ACTIONS, 2 * self.best)


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the seventeen."""

    id: str
    name: str
    make: Callable[[Draw], tuple[TableScene, Prompt, Goal]]
    levels: tuple[Level, ...]
