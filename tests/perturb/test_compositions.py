"""Any composition of perturbations is refused in a line, or leaves a world in which everything stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from enum import Enum
from functools import partial
from inspect import isclass
from typing import Any, get_args, get_type_hints

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from assay import tasks
from assay.episodes import At, Effect, MidEpisodeChange, Senses
from assay.errors import PerturbationError, PlacementError
from assay.perturb import Perturbation, apply_perturbations
from assay.perturb.catalogue import listed
from assay.perturb.words.rewordings.designs import Counterfactual, OtherTask
from assay.perturb.words.rewordings.goals import alternatives
from assay.perturb.world.ground import UPON
from assay.perturb.world.kinds import SMALL, unseen
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.packs.pack import SHAPES
from assay.sim.render import CAMERAS
from assay.tasks import Scene, Task

DEEPEST = 0.002
"""Metres."""
WORKSPACE = "the workspace"
CATEGORIES = sorted({*SMALL, *SHAPES, *unseen()})
MADE = [
    made
    for made in listed().values()
    if made.world != "tabletop"  # those of the other world
    and not issubclass(made, At | MidEpisodeChange)  # what happens during an episode only
    # what changes the scene, twice as often
    for _ in range(1 if made.effects.isdisjoint({Effect.LOOKS, Effect.PHYSICS}) else 2)
]


@st.composite
def compositions(draw: Any) -> tuple[Task, list[Callable[[], Perturbation]]]:
    """A task and up to four perturbations yet to be made: some of their values are refused at once."""
    task = tasks.load(draw(st.sampled_from(tasks.all_ids())))
    chosen = draw(st.lists(st.sampled_from(MADE), min_size=1, max_size=4))
    return task, [draw(orders(made, task)) for made in chosen]


def orders(made: type[Perturbation], task: Task) -> st.SearchStrategy[Callable[[], Perturbation]]:
    """A perturbation with fields from all of their ranges."""
    if made in (OtherTask, Counterfactual):
        goals = [(each.text, tuple(map(str, each.goal.atoms))) for each in alternatives(task)]
        own = (task.instruction.text, tuple(map(str, task.goal.atoms)))
        return st.sampled_from([own, *goals]).map(lambda given: partial(made, *given))
    hints = get_type_hints(made)
    values = {each.name: values_of(each, hints[each.name], task) for each in fields(made)}  # type: ignore[arg-type]
    return st.fixed_dictionaries(values).map(lambda given: partial(made, **given))


def values_of(field: Field[Any], hint: Any, task: Task) -> st.SearchStrategy[Any]:
    """What a field may hold: by its range, its choices, or its name."""
    one = _values_of(field, hint, task)
    return one if field.default is MISSING else st.just(field.default) | one


def _values_of(field: Field[Any], hint: Any, task: Task) -> st.SearchStrategy[Any]:
    parts = [hint, *get_args(hint)]
    if "valid" in field.metadata:
        low, high = field.metadata["valid"]
        number = st.integers(low, high) if isinstance(low, int) else st.floats(low, high)
        shape = next((part for part in parts if getattr(part, "__origin__", None) is tuple), None)
        return number if shape is None else st.tuples(*(number for _ in get_args(shape)))
    for part in parts:
        if isclass(part) and issubclass(part, Enum):
            return st.sampled_from(part)
    if bool in parts:
        return st.booleans()
    if field.name in ("thing", "first", "second", "fixture"):
        return st.sampled_from([each.name for each in task.scene.entities])
    return {
        "text": st.sampled_from([task.instruction.text, "switch on the range", "?"]),
        "category": st.sampled_from(CATEGORIES),
        "categories": st.lists(st.sampled_from(CATEGORIES), max_size=3).map(tuple),
        "camera": st.sampled_from(CAMERAS),
        "cameras": st.lists(st.sampled_from(CAMERAS), max_size=2, unique=True).map(tuple),
    }[field.name]


def supports(scene: Scene) -> dict[str, str]:
    """What each thing is put on or in at the start."""
    placed = {atom.arguments[0]: atom.arguments[1] for atom in scene.initial if atom.predicate in UPON}
    below = {name: scene.owner(place) for name, place in placed.items()}
    return {name: WORKSPACE if each == scene.arena.workspace else each for name, each in below.items()}


def touched(world: Simulation) -> dict[str, set[str]]:
    """Who touches whom."""
    owners = {geom: name for name, entity in world.compiled.entities.items() for geom in entity.geoms}
    found: dict[str, set[str]] = {}
    for one, other in world.data.contact.geom.tolist():
        names = owners.get(one, WORKSPACE), owners.get(other, WORKSPACE)
        found.setdefault(names[0], set()).add(names[1])
        found.setdefault(names[1], set()).add(names[0])
    return found


# 40 examples by default, 400 with HYPOTHESIS_PROFILE=search.
@settings(
    max_examples=settings.default.max_examples * 2 // 5,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(composition=compositions(), seed=st.integers(0, 1000))
def test_any_composition_is_rejected_or_leaves_all_standing_with_the_goal_unreached(
    composition: tuple[Task, list[Callable[[], Perturbation]]], seed: int
):
    control, wanted = composition
    try:
        chosen = [make() for make in wanted]
        task = apply_perturbations(control, chosen, seed=seed)
        world = Simulation(compile_scene(task.scene, load_pack("primitives")))
        first = world.reset(world.sample(seed))
    except (PerturbationError, PlacementError) as error:
        event(f"refused: {str(error)[:40]}")
        assert str(error)
        return
    event("settled")
    Senses(chosen, task=task.id, seed=seed).observe(first)
    assert not world.is_satisfied(task.goal)
    deepest = min((contact.dist for contact in world.data.contact), default=0.0)
    assert deepest > -DEEPEST, f"interpenetration of {-1000 * deepest:.1f} mm"
    before, now, found = supports(control.scene), supports(task.scene), touched(world)
    for entity in task.scene.objects:
        support = now[entity.name]
        assert support == before.get(entity.name, WORKSPACE), f"{entity.name} was put elsewhere"
        assert support in found.get(entity.name, ()), f"{entity.name} is off {support}"
