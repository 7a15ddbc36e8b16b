"""The instruction of another task, in the same scene."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.episodes import Change, Effect, perturbation
from assay.errors import PerturbationError
from assay.extensions.tabletop.goals import Goal, Put, PutGoal
from assay.extensions.tabletop.originals import original
from assay.extensions.tabletop.perturb.base import TablePerturbation
from assay.extensions.tabletop.perturb.grammar import read
from assay.extensions.tabletop.tasks import TableTask

_ANGLES = range(30, 151, 30)


@perturbation
@dataclass(frozen=True, slots=True)
class OtherInstruction(TablePerturbation):
    """On the table: asks for what another kind of task asks for; the task's own goal still counts.

    T1 is told to turn its piece (T3), T13 to sweep as T12, T14 to gather by profile as T15, T15 by texture as
    T14. T12 could be told to sweep as T13, but in its scene doing the one does the other. In about one
    scene of T14 in a hundred the profile happens to pick out the same things as the texture.
    """

    kind = "words/prompt_other"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False
    only: ClassVar[tuple[str, ...]] = ("T1", "T13", "T14", "T15")

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task with another's instruction. Raises PerturbationError where none fits."""
        kind = task.setting.task
        if not self.concerns(kind):
            raise PerturbationError(
                f"{self.kind}: {task.id}: no other task's instruction fits; valid: {', '.join(self.only)}"
            )
        said = read(task)
        asked: Goal | None
        if kind == "T1":
            angle = int(rng.choice(list(_ANGLES)))
            text, asked = original("T3", angle=str(angle)), _turned(task, angle)
        elif kind == "T13":
            # Its line stands before the rectangle: one cannot get in there and stop short of the line.
            text, asked = original("T12", count=said["count"][0]), None
        else:
            text, asked = (
                original("T15" if kind == "T14" else "T14"),
                _gathered(task, by_texture=kind == "T15"),
            )
        return replace(task, prompt=task.prompt.saying(text), asked=asked)


def _turned(task: TableTask, angle: int) -> Goal:
    """The piece of a T1 where it is, turned clockwise by degrees."""
    assert isinstance(task.goal, PutGoal)
    piece = task.scene.item("dragged_obj")
    put = Put(piece.name, piece.x, piece.y, piece.yaw - math.radians(angle), turned=True)
    return PutGoal(((put,),), task.goal.bystanders)


def _gathered(task: TableTask, *, by_texture: bool) -> Goal | None:
    """Everything of the container's texture or profile in it; None if there is no such thing."""
    assert isinstance(task.goal, PutGoal)
    base, within = task.scene.item("base_obj"), task.goal.stages[0][0].within
    pieces = [item for item in task.scene.items if not item.fixed]
    wanted = {
        item.name
        for item in pieces
        if (item.texture == base.texture if by_texture else item.solid.profile == base.solid.profile != "")
    }
    if not wanted:
        return None
    puts = tuple(Put(item.name, base.x, base.y, base.yaw, within) for item in pieces if item.name in wanted)
    return PutGoal((puts,), tuple(item.name for item in pieces if item.name not in wanted))
