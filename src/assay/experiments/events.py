"""Changes during an episode: does a policy notice them, follow a new instruction, stop, and otherwise continue?"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from assay.episodes import At, Label, Perturbation, Trigger, horizon
from assay.episodes.events import grasped, lifted, near, placing, share, subgoal
from assay.episodes.spec import EpisodeSpec
from assay.experiments.base import Experiment, Variant
from assay.perturb.events import Cancel, Knock, Shut
from assay.perturb.senses.images import FrozenCamera
from assay.perturb.senses.robot import ActionDelay
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.words.rewordings.goals import Alternative, alternatives
from assay.perturb.world.layout import Distractors
from assay.perturb.world.position import Displace, MoveFixture
from assay.perturb.world.staging import MoveCamera, Relight
from assay.sim.categories import OPENING
from assay.sim.render import CAMERAS
from assay.tasks import Atom, Predicate, Task
from assay.tasks.language.lexicon import names_of

TIME_FACTOR = 1.5
"""Time limit as a multiple of the task's default horizon, to allow recovery after an event."""
APPROACHING, ABOUT_TO_GRASP = near(0.2), near(0.1)
"""Triggers: the end effector approaches the object; the end effector is about to grasp the object."""
HELD = lifted(0.04)


def events(distance: float = 0.1, delay: int = 2) -> Experiment:
    """Changes of the instruction, the world or the senses during the episode.

    ``distance``: displacement of objects, in metres; ``delay``: action delay after the event, in control steps.
    """

    def variants(task: Task) -> Iterator[Variant]:
        steps = _time(task)
        for name, trigger, change in _events(task, distance, delay):
            labels: dict[str, Label] = {"event": name, "trigger": str(trigger.moment)}
            yield Variant(f"events/{name}", (At(trigger, change),), labels, steps=steps)

    return Experiment(
        name="events",
        about="During the episode, objects move, requests change or are withdrawn, or a camera freezes.",
        variants=variants,
        tasks="libero_goal",
        certified=True,
        control=lambda task: Variant(steps=_time(task)),
    )


def _time(task: Task) -> int:
    """Return the time limit of a task's episodes in control steps; the control has the same limit, so that the
    limit itself cannot cause a drop.
    """
    return round(TIME_FACTOR * horizon(EpisodeSpec(task.id, 0)))


def _events(task: Task, distance: float, delay: int) -> Iterator[tuple[str, Trigger, Perturbation]]:
    """Yield the possible events in a task, each with its name, trigger and perturbation."""
    placed = [atom for atom in task.goal.atoms if atom.predicate.arity > 1]
    # Carried to a place, rather than pushed across the table.
    workspace = task.scene.arena.workspace
    carried = [atom for atom in placed if task.scene.owner(atom.arguments[1]) != workspace]
    objects = {entity.name for entity in task.scene.objects}
    if placed:
        yield "moved", ABOUT_TO_GRASP, Displace(distance)
    if carried:
        place = task.scene.owner(carried[0].arguments[1])
        change = Displace(distance, place) if place in objects else MoveFixture(distance, place)
        yield "receptacle", placing(0.2), change
        yield "knocked", HELD, Knock(distance)
    # A fixture that must be opened, without the goal stating it.
    if any(
        atom.predicate in (Predicate.IN, Predicate.EXACT_IN)
        and task.scene.categories.get(task.scene.owner(atom.arguments[1])) in OPENING
        and Atom(Predicate.OPEN, atom.arguments[1:]) not in (*task.scene.initial, *task.goal.atoms)
        for atom in placed
    ):
        yield "shut", subgoal(1), Shut()
    others = alternatives(task)
    if others:
        candidates = [other for other in others if other.known_from is not None] or others
        other = candidates[zlib.crc32(task.id.encode()) % len(candidates)]
        yield "changed", APPROACHING, OtherTask(other.text, other.atoms)
    corrected = next((other for other in others if _phrase_for_other_object(task, other)), None)
    if corrected is not None:
        yield (
            "corrected",
            ABOUT_TO_GRASP,
            OtherTask(f"no, {_phrase_for_other_object(task, corrected)}", corrected.atoms),
        )
    yield "cancelled", ABOUT_TO_GRASP, Cancel()
    if carried:
        yield "cancelled-held", HELD, Cancel("stop, leave it")
    yield "distractor", APPROACHING, Distractors(1)
    yield "light", share(0.3), Relight(0.4, tilt=(0.6, 0.0))
    yield "camera", share(0.3), MoveCamera(shift=(0.0, 0.1, 0.05))
    yield "frozen", share(0.3), FrozenCamera(cameras=(CAMERAS[0],))
    yield "delayed", grasped(2) if carried else share(0.3), ActionDelay(delay)


def _phrase_for_other_object(task: Task, other: Alternative) -> str:
    """Return "the other one" or the name of the other task's object; empty if more than the object differs."""
    if len(task.goal.atoms) != 1 or len(other.goal.atoms) != 1:
        return ""
    (own,), (requested,) = task.goal.atoms, other.goal.atoms
    things = task.scene.categories
    if (
        (own.predicate, *own.arguments[1:]) != (requested.predicate, *requested.arguments[1:])
        or own == requested
        or not things.keys() >= {own.arguments[0], requested.arguments[0]}
    ):
        return ""
    mine, theirs = things[own.arguments[0]], things[requested.arguments[0]]
    alike = sum(category == mine for category in things.values())
    return "the other one" if mine == theirs and alike == 2 else f"the {names_of(theirs)[0]}"
