"""Alternative goals in a scene: known goals that fit it, and goals derived from the task's goal.

    known     the goal and instruction of another task in the catalogue, if the scene has all entities of that goal
    derived   the task's goal with another object, another location or another part of the same furniture; or
              turning off a device that is on
    new       derived goals that no task in the catalogue has in the same scene, not even as an intermediate
              state: neither goal nor instruction is in the training data

No alternative goal holds at the start, includes the task's goal or is part of it: reaching one of the two does not
imply reaching the other. An oracle must show whether a robot can reach a derived goal; known goals are reachable
in their original scene.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, permutations

from assay import tasks
from assay.errors import PerturbationError
from assay.tasks import Atom, Entity, Goal, Instruction, Predicate, Region, Scene, Task
from assay.tasks.checks import flaws
from assay.tasks.language.lexicon import mentions, names_of
from assay.tasks.language.phrases import is_located, pronoun
from assay.tasks.language.steps import Step, read_steps

_PARTS = (("top", "middle", "bottom"), ("left", "right"), ("front", "back"))
_RECEPTACLES = frozenset({"plate", "basket", "desk_caddy", "wooden_tray", "bowl_drainer"})
"""Categories of receptacles, which the robot does not carry."""
_NOT_LIFTED = _RECEPTACLES | {"glazed_rim_porcelain_ramekin"}
"""Categories of objects that no new goal moves, because a gripper can hardly grasp them near other objects."""
_TIGHT = ("_middle_region", "_bottom_region", "_heating_region")
"""Suffixes of names of regions (lower drawers, oven) too narrow for a gripper that holds an unfamiliar object."""
_BESIDE = re.compile(r"(?P<what>\w+)_(?P<side>left|right|front)_region")
_OPERATED = (Predicate.OPEN, Predicate.CLOSE, Predicate.TURN_ON, Predicate.TURN_OFF)


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative goal and its instruction."""

    text: str
    """Instruction that requests the goal."""
    goal: Goal
    known_from: str | None = None
    """Id of the catalogue task with this goal; None for a derived goal."""

    @property
    def atoms(self) -> tuple[str, ...]:
        """Atoms of the goal as text, as stored in the perturbations that request the goal."""
        return tuple(str(atom) for atom in self.goal.atoms)

    @property
    def labels(self) -> dict[str, str | None]:
        """Labels of the episodes in which this goal is requested."""
        return {"asked_goal": str(self.goal), "asked_from": self.known_from}


def alternatives(task: Task) -> tuple[Alternative, ...]:
    """Return the alternative goals in a task's scene, known goals first, without duplicates."""
    suite = task.id.split("/")[0]
    trained = sorted(tasks.trained_with(suite), key=lambda other: other.id.split("/")[0] != suite)
    known = (
        Alternative(other.instruction.text, other.goal, known_from=other.id)
        for other in trained
        if other.id != task.id and (other.scene == task.scene or _is_meaningful_in(other, task.scene))
    )
    candidates = (*known, *_derived_goals(task))
    return _distinct(candidate for candidate in candidates if _is_another(candidate.goal, task))


def _distinct(candidates: Iterable[Alternative]) -> tuple[Alternative, ...]:
    """Return the first alternative for each goal."""
    goals: dict[frozenset[Atom], Alternative] = {}
    for candidate in candidates:
        goals.setdefault(frozenset(candidate.goal.atoms), candidate)
    return tuple(goals.values())


def new_goals(task: Task) -> tuple[Alternative, ...]:
    """Return goals in a task's scene that no training task has, without duplicates.

    These are goals derived from the task's goal. If none exist, they are derived from the other known goals in the
    scene, and failing that, they put two objects at one location.
    """
    others = (
        replace(task, goal=alternative.goal, instruction=Instruction(alternative.text))
        for alternative in alternatives(task)
        if alternative.known_from is not None
    )
    sources = (
        _similar_goals(task),
        (alternative for other in others for alternative in _similar_goals(other)),
        _goals_with_two_objects(task),
    )
    categories = task.scene.categories

    def is_beyond(atom: Atom) -> bool:
        """Whether an atom involves what the oracle fails at: an oven, a lower drawer or a plate to be lifted."""
        is_tight = atom.predicate in (Predicate.OPEN, Predicate.IN) and atom.arguments[-1].endswith(_TIGHT)
        return is_tight or (atom.predicate.arity == 2 and categories.get(atom.arguments[0]) in _NOT_LIFTED)

    for source in sources:
        goals = _distinct(
            other
            for other in source
            if _is_another(other.goal, task, longer=True)
            and not any(map(is_beyond, other.goal.atoms))
            and not _is_trained(other, task)
        )
        if goals:
            return goals
    return ()


def _similar_goals(task: Task) -> Iterator[Alternative]:
    """Yield goals derived from a task's goal, including goals for objects that only their location identifies."""
    for alternative in (*_derived_goals(task), *_goals_without_located_object(task)):
        if len(alternative.goal.atoms) <= len(task.goal.atoms):
            yield alternative


def _goals_without_located_object(task: Task) -> Iterator[Alternative]:
    """Yield other goals for a single object that the instruction identifies by its location.

    Goals with another object, unique in its category, come first; they are followed by goals with a stove or the
    top of a piece of furniture as the new location.
    """
    steps, carried = _steps(task.instruction.text), _placed_objects(task.goal)
    if len(steps) != 1 or len(carried) != 1 or not is_located(steps[0].thing):
        return
    step, name = steps[0], carried[0]
    for other in task.scene.objects:
        usable = other.name not in task.goal_entities and other.category not in _NOT_LIFTED
        if usable and _is_unique(task.scene, other) and not _is_occupied(other.name, task.scene):
            text = task.instruction.text.replace(step.thing, f"the {names_of(other.category)[0]}", 1)
            yield Alternative(text, _map_arguments(task.goal, {name: other.name}))
    fixtures = {fixture.name: names_of(fixture.category)[0] for fixture in task.scene.fixtures}
    relations = {"cook_region": "on", "top_side": "on top of"}
    for region in task.scene.regions:
        is_free = not _is_occupied(region.full_name, task.scene)
        if region.target in fixtures and region.name in relations and is_free:
            place = f"{relations[region.name]} the {fixtures[region.target]}"
            goal = Goal((Atom(Predicate.ON, (name, region.full_name)),))
            yield Alternative(f"pick up {step.thing} and place it {place}", goal)


def _goals_with_two_objects(task: Task) -> Iterator[Alternative]:
    """Yield goals that put two objects that are not in the task's goal into the container of that goal."""
    if len(task.goal.atoms) != 1 or task.goal.atoms[0].predicate is not Predicate.IN:
        return
    own, place = task.goal.atoms[0].arguments
    container = task.scene.owner(place)
    free = [
        obj
        for obj in task.scene.objects
        if obj.name not in (own, container)
        and obj.category not in _NOT_LIFTED
        and _is_unique(task.scene, obj)
    ]
    for one, other in combinations(free, 2):
        categories = (one.category, other.category, task.scene.categories[container])
        first, second, last = (names_of(category)[0] for category in categories)
        goal = Goal(tuple(Atom(Predicate.IN, (entity.name, place)) for entity in (one, other)))
        yield Alternative(f"put both the {first} and the {second} in the {last}", goal)


def _is_occupied(place: str, scene: Scene) -> bool:
    """Whether an object is at a location at the start."""
    return any(atom.predicate.arity == 2 and atom.arguments[1] == place for atom in scene.initial)


def _is_trained(alternative: Alternative, task: Task) -> bool:
    """Whether a catalogue task has the instruction, or a goal for the same objects that includes this goal.

    A goal with one atom counts only if it is in the task's suite or scene, because the motion differs
    elsewhere.
    """
    suite, wanted = task.id.split("/")[0], set(alternative.goal.atoms)
    owners = {task.scene.owner(name) for atom in wanted for name in atom.arguments}
    here = task.scene.categories
    for other in tasks.trained_with(suite):
        if other.instruction.text.lower() == alternative.text.lower():
            return True
        there = other.scene.categories
        counts = len(wanted) > 1 or other.scene == task.scene or other.id.split("/")[0] == suite
        same = counts and all(here.get(name) == there.get(name) for name in owners)
        # A drawer is open when an object is put inside.
        inside = (atom.arguments[1] for atom in other.goal.atoms if atom.predicate is Predicate.IN)
        if same and wanted <= {*other.goal.atoms, *(Atom(Predicate.OPEN, (place,)) for place in inside)}:
            return True
    return False


def _is_meaningful_in(other: Task, scene: Scene) -> bool:
    """Whether the instruction of a task from another scene has the same meaning in the given scene."""
    here, there = scene.categories, other.scene.categories
    for atom in other.goal.atoms:
        for name in (other.scene.owner(argument) for argument in atom.arguments):
            # A table region has no category, so it cannot be located in another scene.
            if name not in there or here.get(name) != there[name]:
                return False
            if list(here.values()).count(there[name]) != 1:
                return False
            # A fixture that faces away from the robot may be out of its reach.
            if atom.predicate in _OPERATED and _facing(scene, name) != _facing(other.scene, name):
                return False
    return not any(is_located(step.thing) for step in _steps(other.instruction.text))


def _facing(scene: Scene, fixture: str) -> tuple[float, float]:
    """Return the bounds of a fixture's yaw, in radians."""
    region = scene.region(_spot(scene, fixture))
    return (region.yaw if region is not None else None) or (0.0, 0.0)


def _derived_goals(task: Task) -> Iterator[Alternative]:
    """Yield goals that differ from the task's goal in one respect."""
    objects = {entity.name: entity for entity in task.scene.objects}
    carried = _placed_objects(task.goal)
    # Another object of the scene.
    for name in (name for name in dict.fromkeys(carried) if name in objects):
        for other in objects.values():
            if other.name in task.goal_entities or other.category in _RECEPTACLES:
                continue
            text = _instruction_for_other(task, objects[name], other)
            if text is not None:
                yield Alternative(text, _map_arguments(task.goal, {name: other.name}))
    # Two objects exchanged.
    places = {atom.arguments[1] for atom in task.goal.atoms if atom.predicate.arity == 2}
    if len(carried) == len(places) == 2 and all(name in objects for name in carried):
        first, second = (_name_in_instruction(task, objects[name]) for name in carried)
        if first is not None and second is not None and first != second:
            text = _with_names(task, {first: second, second: first})
            swapped = dict(zip(carried, reversed(carried), strict=True))
            yield Alternative(text, _map_arguments(task.goal, swapped))
    # A carried object on top of furniture or beside another object.
    for name in (name for name in dict.fromkeys(carried) if name in objects):
        mention = _name_in_instruction(task, objects[name])
        if mention is None or not _is_unique(task.scene, objects[name]):
            continue
        for region in task.scene.regions:
            relation = _relation(region, task.scene)
            if relation is not None and region.target != name:
                goal = Goal((Atom(Predicate.ON, (name, region.full_name)),))
                yield Alternative(f"put the {mention} {relation}", goal)
    # Another drawer, compartment or side.
    names = {
        name for atom in task.goal.atoms for name in atom.arguments if task.scene.region(name) is not None
    }
    for name in sorted(names):
        for part, other_part in (pair for parts in _PARTS for pair in permutations(parts, 2)):
            if name.split("_").count(part) != 1:
                continue
            changed = re.sub(rf"(?<![a-z_]){part}(?=_)|(?<=_){part}(?=_)", other_part, name)
            text, count = re.subn(rf"\b{part}\b", other_part, task.instruction.text)
            if task.scene.region(changed) is not None and count == 1:
                yield Alternative(text, _map_arguments(task.goal, {name: changed}))
    # A device that is on at the start, turned off.
    for atom in task.scene.initial:
        if atom.predicate is Predicate.TURN_ON:
            device = names_of(task.scene.categories[atom.arguments[0]])[0]
            yield Alternative(f"turn off the {device}", Goal((Atom(Predicate.TURN_OFF, atom.arguments),)))


def _relation(region: Region, scene: Scene) -> str | None:
    """Return the location in a region's name, such as ``to the left of the plate``; None if it contains none."""
    for entity in scene.entities:
        thing = f"the {names_of(entity.category)[0]}"
        if region.target == entity.name and region.name == "top_side":
            return f"on top of {thing}"
        beside = _BESIDE.fullmatch(region.name) if region.target == scene.arena.workspace else None
        if (
            beside is not None
            and _is_unique(scene, entity)
            and f"_{entity.category}".endswith(f"_{beside['what']}")
        ):
            return f"to the {beside['side']} of {thing}"
    return None


def _instruction_for_other(task: Task, thing: Entity, other: Entity) -> str | None:
    """Return the instruction with an object replaced by another; None if no phrase for the latter is known."""
    text = task.instruction.text
    mention = _name_in_instruction(task, thing)
    if mention is None:
        return None
    if thing.category != other.category:
        unique = _is_unique(task.scene, other)
        located = any(is_located(step.thing) and mentions(step.thing, mention) for step in _steps(text))
        return _with_names(task, {mention: names_of(other.category)[0]}) if unique and not located else None
    steps = [step for step in _steps(text) if mentions(step.thing, mention)]
    where = _where_phrases(task.id.split("/")[0]).get((other.category, _spot(task.scene, other.name)))
    if len(steps) != 1 or where is None or pronoun(steps[0].thing) != "it":
        return None
    return text.replace(steps[0].thing, where, 1)


@cache
def _where_phrases(suite: str) -> dict[tuple[str, str], str]:
    """(category, initial location) -> phrase in the tasks trained with a suite: ``the black bowl on the stove``."""
    phrases: dict[tuple[str, str], str] = {}
    for task in tasks.trained_with(suite):
        objects = {entity.name: entity for entity in task.scene.objects}
        steps = [step for step in read_steps(task.instruction.text) if is_located(step.thing)]
        if len(steps) == 1 and task.goal.atoms[0].arguments[0] in objects:
            entity = objects[task.goal.atoms[0].arguments[0]]
            phrases.setdefault((entity.category, _spot(task.scene, entity.name)), steps[0].thing)
    return phrases


def _spot(scene: Scene, name: str) -> str:
    """Return the name of the region or object on or in which an object starts; empty if there is none."""
    placing = (atom for atom in scene.initial if atom.predicate.arity == 2 and atom.arguments[0] == name)
    return next((atom.arguments[1] for atom in placing), "")


def _is_unique(scene: Scene, entity: Entity) -> bool:
    """Whether an object is the only one of its category."""
    return sum(other.category == entity.category for other in scene.entities) == 1


def _with_names(task: Task, names: dict[str, str]) -> str:
    """Return the instruction with names replaced, except where a name is part of a longer one."""
    forms = {form for entity in task.scene.entities for form in names_of(entity.category)}
    pattern = "|".join(sorted(map(re.escape, forms), key=len, reverse=True))
    return re.sub(rf"\b(?:{pattern})\b", lambda name: names.get(name[0], name[0]), task.instruction.text)


def _steps(text: str) -> tuple[Step, ...]:
    """Return the steps of an instruction; empty if it cannot be parsed."""
    try:
        return read_steps(text)
    except PerturbationError:
        return ()


def _placed_objects(goal: Goal) -> list[str]:
    return [atom.arguments[0] for atom in goal.atoms if atom.predicate.arity == 2]


def _name_in_instruction(task: Task, entity: Entity) -> str | None:
    """Return the longest of an object's names that occurs in the instruction; None if none does."""
    forms = sorted(names_of(entity.category), key=len, reverse=True)
    return next((form for form in forms if mentions(task.instruction.text, form)), None)


def _map_arguments(goal: Goal, names: dict[str, str]) -> Goal:
    return Goal(
        tuple(
            Atom(atom.predicate, tuple(names.get(name, name) for name in atom.arguments))
            for atom in goal.atoms
        )
    )


def _is_another(goal: Goal, task: Task, *, longer: bool = False) -> bool:
    """Whether a goal is valid, does not hold at the start, and neither contains the task's goal nor is part of it.

    With ``longer``, the goal may have more atoms than the task's goal and thus take more time to reach.
    """
    wanted, own = set(goal.atoms), set(task.goal.atoms)
    if wanted <= own or own <= wanted or next(flaws(task.scene, goal, ()), None) is not None:
        return False
    if len(wanted) > len(own) and not longer:  # the time is that of the task's own goal
        return False
    opposites = {Predicate.CLOSE: Predicate.OPEN, Predicate.TURN_OFF: Predicate.TURN_ON}
    return not any(
        Atom(opposites[atom.predicate], atom.arguments) not in task.scene.initial
        if atom.predicate in opposites
        else atom in task.scene.initial
        for atom in goal.atoms
    )
