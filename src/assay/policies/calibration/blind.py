"""A policy that does not listen."""

from __future__ import annotations

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import Flawed, renamed
from assay.tasks import Entity, Goal, Instruction
from assay.tasks.scene import Finish


class Blind(Flawed):
    """Flaw: ignores the words. Does what is usually done in the scene, wherever its things are now.

    What is usual is the goal of the unperturbed task. Where a thing of it has changed, it takes another that looks as
    that one did, if there is one. It sees the world as the oracle does.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """The usual one, with things that look as usual."""
        usual = tasks.load(spec.task)
        here = self._task.scene.objects
        looking = {look(each): each.name for each in reversed(here)}
        changed = (obj for obj in usual.scene.objects if obj not in here)
        return renamed(usual.goal, {each.name: looking.get(look(each), each.name) for each in changed})


def look(thing: Entity) -> tuple[str, Finish, float]:
    """Whatever a thing is known by, besides its name."""
    return thing.category, thing.finish, thing.size
