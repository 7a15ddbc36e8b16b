from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import cos, radians, sin
from pathlib import Path

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.errors import TaskError
from assay.sim.categories import OPENING
from assay.sim.compile import CompiledScene, bounding_box, compile_scene
from assay.sim.packs.registry import load_pack
from assay.sim.simulation import Simulation
from assay.sim.states import InitialState
from assay.tasks import Atom, Entity, Goal, Predicate
from assay.tasks.checks import parse_atom as parsed

Compiled = Callable[[str], CompiledScene]
SimulationOf = Callable[[CompiledScene], Simulation]


@pytest.fixture
def start(compiled: Compiled, world_of: SimulationOf) -> Callable[[str], Simulation]:
    """A world at the start of a task's episode."""

    def made(task_id: str) -> Simulation:
        world = world_of(compiled(task_id))
        world.reset(world.sample(0))
        return world

    return made


@pytest.fixture
def table(start: Callable[[str], Simulation]) -> Simulation:
    """A table with bowl, cheese, bottle, plate, cabinet, stove and rack."""
    return start("libero_goal/5")


def holds(world: Simulation, text: str) -> bool:
    return world.holds(parsed(text.split()))


def where(world: Simulation, name: str) -> np.ndarray:
    """Position of an entity or a region, (3,)."""
    if name in world.compiled.entities:
        return np.array(world.data.xpos[world.compiled.entities[name].body])
    return np.array(world.data.site_xpos[world.compiled.regions[name].site])


def put(world: Simulation, name: str, position: np.ndarray, quaternion: np.ndarray | None = None) -> None:
    """Put an object somewhere, turned as it was unless told."""
    model, data = world.model, world.data
    first = model.jnt_qposadr[world.compiled.entities[name].joints[-1]]
    data.qpos[first : first + 3] = position
    if quaternion is not None:
        data.qpos[first + 3 : first + 7] = quaternion
    mujoco.mj_forward(model, data)


def drop(world: Simulation, name: str, position: np.ndarray) -> None:
    """Put an object somewhere and let it fall and rest."""
    put(world, name, position)
    for _ in range(30):
        world.step(np.zeros(7))
    mujoco.mj_forward(world.model, world.data)


def turn(world: Simulation, joint: str, value: float) -> None:
    """Set a drawer, door or knob."""
    world.data.joint(joint).qpos[0] = value
    mujoco.mj_forward(world.model, world.data)


def tilted(degrees: float) -> np.ndarray:
    """A quaternion about the x axis."""
    half = radians(degrees) / 2
    return np.array([cos(half), sin(half), 0.0, 0.0])


# -- against LIBERO


@pytest.mark.parametrize("name", ["libero_10_02", "libero_goal_03", "libero_object_00", "libero_spatial_04"])
def test_every_atom_is_as_true_as_libero_found_it(
    name: str, reference: Path, compiled_libero: Compiled, world_of: SimulationOf
):
    record = np.load(reference / "predicates" / f"{name}_predicates.npz")
    scene = compiled_libero(f"{record['suite']}/{record['task']}")
    world = world_of(scene)
    roots = record["root_bodies"].tolist()
    rows = [roots.index(f"{fixture.name}_main") for fixture in scene.scene.fixtures]
    fixtures = np.hstack([record["root_pos"], record["root_quat_wxyz"]])[rows].reshape(-1, 7)
    atoms = [parsed(str(each).split()) for each in record["atoms"]]
    wrong: set[str] = set()
    for vector, truth in list(zip(record["states"], record["truth"], strict=True))[::3]:
        world.reset(InitialState(vector, fixtures))
        wrong |= {
            str(each) for each, value in zip(atoms, truth, strict=True) if world.holds(each) != bool(value)
        }
    assert wrong == set()
    assert 0 < record["truth"].sum() < record["truth"].size


# -- On


def test_on_a_object_means_touching_its_middle_from_above(table: Simulation):
    plate = where(table, "plate_1")
    drop(table, "cream_cheese_1", plate + (0.0, 0.0, 0.05))
    assert holds(table, "On cream_cheese_1 plate_1")
    assert not holds(table, "On plate_1 cream_cheese_1")
    resting = where(table, "cream_cheese_1")
    put(table, "cream_cheese_1", resting + (0.0, 0.0, 0.05))
    assert not holds(table, "On cream_cheese_1 plate_1"), "it touches nothing"
    for offset, near in ((0.029, True), (0.031, False)):
        centre = where(table, "plate_1")
        put(table, "cream_cheese_1", np.array([centre[0] + offset, centre[1], resting[2] - 0.002]))
        assert holds(table, "InContact cream_cheese_1 plate_1")
        assert holds(table, "On cream_cheese_1 plate_1") is near


def test_on_a_region_of_the_table_means_over_its_rectangle_and_not_too_high(table: Simulation):
    region = table.compiled.regions["main_table_stove_front_region"]
    centre = where(table, region.name)
    x, y, z = region.half
    text = "On plate_1 main_table_stove_front_region"
    above = np.array([0, 0, z + 0.001])
    for offset, inside in (
        ((x - 0.001, 0, 0), True),
        ((x + 0.001, 0, 0), False),
        ((0, -y + 0.001, 0), True),
        ((0, -y - 0.001, 0), False),
        ((0, 0, 0.098), True),
        ((0, 0, 0.1), False),
        ((0, 0, -0.005), True),
        ((0, 0, -0.007), False),
    ):
        put(table, "plate_1", centre + above + offset)
        assert holds(table, text) is inside, offset


def test_on_a_region_of_a_fixture_means_touching_it_too(table: Simulation):
    top = where(table, "wooden_cabinet_1_top_side")
    put(table, "akita_black_bowl_1", top + (0, 0, 0.05))
    assert not holds(table, "On akita_black_bowl_1 wooden_cabinet_1_top_side")
    drop(table, "akita_black_bowl_1", top + (0, 0, 0.05))
    assert holds(table, "On akita_black_bowl_1 wooden_cabinet_1_top_side")
    assert not holds(table, "On akita_black_bowl_1 flat_stove_1_cook_region")


# -- In


def test_in_a_region_means_that_the_origin_is_in_its_box_or_a_centimetre_below(table: Simulation):
    region = table.compiled.regions["wooden_cabinet_1_top_region"]
    centre = where(table, region.name)
    # The cabinet is turned by half a turn, so the box is axis-aligned: take its extent from the drawer.
    rotation = table.data.site_xmat[region.site].reshape(3, 3)
    x, y, z = np.abs(rotation) @ region.half
    text = "In cream_cheese_1 wooden_cabinet_1_top_region"
    for offset, inside in (
        ((0, 0, 0), True),
        ((x - 0.001, 0, 0), True),
        ((x + 0.001, 0, 0), False),
        ((0, -y + 0.001, 0), True),
        ((0, -y - 0.001, 0), False),
        ((0, 0, z - 0.001), True),
        ((0, 0, z + 0.001), False),
        ((0, 0, -z - 0.009), True),
        ((0, 0, -z - 0.011), False),
    ):
        put(table, "cream_cheese_1", centre + offset)
        assert holds(table, text) is inside, offset


def test_in_a_object_means_touching_it_within_its_box(table: Simulation):
    bowl = where(table, "akita_black_bowl_1")
    put(table, "cream_cheese_1", bowl + (0, 0, 0.3))
    assert not holds(table, "In cream_cheese_1 akita_black_bowl_1")
    drop(table, "cream_cheese_1", bowl + (0, 0, 0.08))
    assert holds(table, "In cream_cheese_1 akita_black_bowl_1")
    assert not holds(table, "In cream_cheese_1 plate_1")


# -- Open, Close, TurnOn, TurnOff

JOINTS = {
    "wooden_cabinet": ("libero_goal/0", "wooden_cabinet_1_top_region", "wooden_cabinet_1_top_level"),
    "white_cabinet": ("libero_10/3", "white_cabinet_1_bottom_region", "white_cabinet_1_bottom_level"),
    "microwave": ("libero_10/9", "microwave_1", "microwave_1_microjoint"),
}


@pytest.mark.parametrize(
    ("category", "wide", "ajar", "shut"),
    [
        ("wooden_cabinet", (-0.16, -0.141), (-0.139, -0.05, -1e-6), (1e-6, 0.005)),
        ("white_cabinet", (-0.16, -0.141), (-0.139, -0.05, -1e-6), (1e-6, 0.005)),
        ("microwave", (-2.0, -1.31), (-1.29, -0.5, -0.006), (-0.004, 0.0)),
    ],
)
def test_between_open_and_closed_there_is_neither(
    category: str,
    wide: tuple[float, ...],
    ajar: tuple[float, ...],
    shut: tuple[float, ...],
    start: Callable[[str], Simulation],
):
    assert category in OPENING
    task_id, name, joint = JOINTS[category]
    world = start(task_id)
    for values, is_open, is_closed in ((wide, True, False), (ajar, False, False), (shut, False, True)):
        for value in values:
            turn(world, joint, value)
            assert holds(world, f"Open {name}") is is_open, value
            assert holds(world, f"Close {name}") is is_closed, value


def test_a_cabinet_is_open_if_any_drawer_is_and_closed_if_all_are(table: Simulation):
    for level in ("top", "middle", "bottom"):
        turn(table, f"wooden_cabinet_1_{level}_level", 0.004)
    assert holds(table, "Close wooden_cabinet_1") and not holds(table, "Open wooden_cabinet_1")
    turn(table, "wooden_cabinet_1_middle_level", -0.15)
    assert holds(table, "Open wooden_cabinet_1") and not holds(table, "Close wooden_cabinet_1")
    assert holds(table, "Open wooden_cabinet_1_middle_region")
    assert holds(table, "Close wooden_cabinet_1_top_region")
    assert not holds(table, "Open wooden_cabinet_1_top_region")


@pytest.mark.parametrize(
    ("angle", "on", "off"),
    [
        (-0.004, False, True),
        (0.0, False, False),
        (0.49, False, False),
        (0.5, True, False),
        (2.0, True, False),
    ],
)
def test_a_stove_is_on_from_half_a_radian(table: Simulation, angle: float, on: bool, off: bool):
    turn(table, "flat_stove_1_button", angle)
    assert holds(table, "TurnOn flat_stove_1") is on
    assert holds(table, "TurnOff flat_stove_1") is off


def test_what_cannot_open_is_always_closed_and_never_open(table: Simulation):
    for name in ("plate_1", "wine_rack_1", "main_table_plate_region"):
        assert holds(table, f"Close {name}") and not holds(table, f"Open {name}")
        assert holds(table, f"TurnOff {name}") and not holds(table, f"TurnOn {name}")


# -- Up, Stack, InContact


@pytest.mark.parametrize(("height", "up"), [(0.999, False), (1.0, True), (1.2, True)])
def test_up_means_a_metre_high(table: Simulation, height: float, up: bool):
    put(table, "plate_1", np.array([0.1, 0.1, height]))
    assert holds(table, "Up plate_1") is up


def test_stacked_means_touching_above_and_over(table: Simulation):
    drop(table, "cream_cheese_1", where(table, "plate_1") + (0.0, 0.0, 0.05))
    assert holds(table, "Stack cream_cheese_1 plate_1")
    assert not holds(table, "Stack plate_1 cream_cheese_1")
    resting = where(table, "cream_cheese_1")
    put(table, "cream_cheese_1", resting + (0, 0, 0.05))
    assert not holds(table, "Stack cream_cheese_1 plate_1"), "it touches nothing"
    plate = where(table, "plate_1")
    for offset in np.arange(0.05, 0.2, 0.005):  # over the rim, until only its edge touches
        put(table, "cream_cheese_1", np.array([plate[0] + offset, plate[1], resting[2] + 0.005]))
        if not holds(table, "Stack cream_cheese_1 plate_1"):
            break
    assert offset > 0.06
    assert holds(table, "InContact cream_cheese_1 plate_1"), "it still touches, but is not over the plate"


def test_contact_is_mutual(table: Simulation):
    for one, other in (("cream_cheese_1", "plate_1"), ("plate_1", "cream_cheese_1")):
        assert not holds(table, f"InContact {one} {other}")
    drop(table, "cream_cheese_1", where(table, "plate_1") + (0.0, 0.0, 0.05))
    for one, other in (("cream_cheese_1", "plate_1"), ("plate_1", "cream_cheese_1")):
        assert holds(table, f"InContact {one} {other}")


# -- LIBERO-X's


def test_exactly_in_means_resting_at_the_bottom(start: Callable[[str], Simulation]):
    world = start("libero_10/5")
    region = "desk_caddy_1_back_contain_region"
    floor = where(world, region)[2] - world.compiled.regions[region].half[2]
    low, _ = bounding_box(world.model, world.data, world.compiled.entities["black_book_1"].geoms)
    below_origin = where(world, "black_book_1")[2] - low[2]
    centre = where(world, region)
    for gap, exactly in ((0.0, True), (0.039, True), (0.041, False), (0.09, False)):
        put(world, "black_book_1", np.array([centre[0], centre[1], floor + below_origin + gap]))
        assert holds(world, f"In black_book_1 {region}"), gap
        assert holds(world, f"ExactIn black_book_1 {region}") is exactly, gap
    put(world, "black_book_1", np.array([centre[0] + 0.1, centre[1], floor + below_origin]))
    assert not holds(world, f"ExactIn black_book_1 {region}"), "it is at the bottom, but beside"


@pytest.fixture(params=[False, True], ids=["fixed caddy", "movable caddy"])
def study(request: pytest.FixtureRequest, world_of: SimulationOf) -> Simulation:
    """A book and a caddy."""
    scene = tasks.load("libero_10/5").scene
    if request.param:
        scene = replace(scene, fixtures=(), objects=(*scene.objects, Entity("desk_caddy_1", "desk_caddy")))
    world = world_of(compile_scene(scene, load_pack("primitives")))
    world.reset(world.sample(0))
    return world


def test_a_book_on_the_floor_of_the_back_compartment_is_there_for_libero_x_and_too_deep_for_libero(
    study: Simulation,
):
    """The region begins 1.1 cm above that floor: LIBERO allows for a centimetre, LIBERO-X for two."""
    world, movable = study, study.compiled.entities["desk_caddy_1"].movable
    region = "desk_caddy_1_back_contain_region"
    book = world.compiled.entities["black_book_1"]
    low, _ = bounding_box(world.model, world.data, book.geoms)
    floor = where(world, "desk_caddy_1")[2] + 0.0138
    origin = np.append(where(world, region)[:2], floor + where(world, "black_book_1")[2] - low[2])
    put(world, "black_book_1", origin)
    assert holds(world, f"In black_book_1 {region}") is movable
    assert holds(world, f"ExactIn black_book_1 {region}")


def test_a_compartment_holds_what_is_in_its_middle_however_a_movable_caddy_is_turned(study: Simulation):
    world, movable = study, study.compiled.entities["desk_caddy_1"].movable
    name, region = "desk_caddy_1", "desk_caddy_1_left_contain_region"
    seen = []
    for degrees in (0, 45, 90) if movable else (0,):
        half = radians(degrees) / 2
        if movable:
            put(world, name, where(world, name), np.array([cos(half), 0.0, 0.0, sin(half)]))
        put(world, "black_book_1", where(world, region))
        seen.append(holds(world, f"In black_book_1 {region}"))
        put(world, "black_book_1", where(world, region) + (0.12, 0.0, 0.0))
        assert not holds(world, f"In black_book_1 {region}")
    assert all(seen), "LIBERO's own box has no width at 45 degrees"


@pytest.mark.parametrize(
    ("angle", "upright", "on_its_side"),
    [
        (36, True, False),
        (-38, False, False),
        (72, False, False),
        (-73, False, True),
        (107, False, True),
        (108, False, False),
    ],
)
def test_posture_depends_on_the_angle_to_the_surface(
    table: Simulation, angle: float, upright: bool, on_its_side: bool
):
    surface = "main_table_stove_front_region"
    put(table, "wine_bottle_1", where(table, surface) + (0, 0, 0.03), tilted(angle))
    assert holds(table, f"On wine_bottle_1 {surface}")
    assert holds(table, f"UprightOn wine_bottle_1 {surface}") is upright
    assert holds(table, f"SideOn wine_bottle_1 {surface}") is on_its_side


def test_posture_on_a_region_of_a_fixture_is_seen_from_its_level_side(table: Simulation):
    # The site of the cabinet's top need not have its z axis up.
    top = where(table, "wooden_cabinet_1_top_side")
    drop(table, "akita_black_bowl_1", top + (0, 0, 0.05))
    assert holds(table, "UprightOn akita_black_bowl_1 wooden_cabinet_1_top_side")
    assert not holds(table, "SideOn akita_black_bowl_1 wooden_cabinet_1_top_side")


# -- goals and errors


def test_a_goal_holds_when_all_its_atoms_do(table: Simulation):
    both = Goal((parsed(["Up", "plate_1"]), parsed(["TurnOn", "flat_stove_1"])))
    assert not table.is_satisfied(both)
    put(table, "plate_1", np.array([0.1, 0.1, 1.1]))
    assert not table.is_satisfied(both)
    turn(table, "flat_stove_1_button", 1.0)
    assert table.is_satisfied(both)


def test_goals_that_can_never_hold_are_refused(table: Simulation):
    region = "main_table_plate_region"
    refused = {
        "Open plate_1": "does not apply to plate_1; in this scene, it applies to: wooden_cabinet_1",
        "Open flat_stove_1": "does not apply to flat_stove_1; in this scene, it applies to: wooden_cabinet_1",
        "Open wooden_cabinet_1_top_side": "does not apply to wooden_cabinet_1_top_side",
        "TurnOn wooden_cabinet_1": "in this scene, it applies to: flat_stove_1",
        f"TurnOff {region}": "in this scene, it applies to: flat_stove_1",
        "On plate_1 plate_1": "relates an entity to itself",
        "InContact plate_1 plate_1": "relates an entity to itself",
        "On plate_2 plate_1": "did you mean 'plate_1'",
        "In cream_cheese_1 wooden_cabinet_1_tpo_region": "did you mean 'wooden_cabinet_1_top_region'",
        f"On {region} plate_1": "needs an object or fixture",
        f"In {region} wooden_cabinet_1_top_region": "needs an object or fixture",
        f"Stack plate_1 {region}": "needs an object or fixture",
        f"InContact {region} plate_1": "needs an object or fixture",
        f"ExactIn {region} akita_black_bowl_1": "needs an object or fixture",
        f"UprightOn {region} plate_1": "needs an object or fixture",
    }
    for text, reason in refused.items():
        with pytest.raises(TaskError, match=reason) as caught:
            table.predicates.check(Goal((parsed(text.split()),)))
        assert "\n" not in str(caught.value)
    for atom in (
        Atom(Predicate.ON, ("plate_1",)),
        Atom(Predicate.UP, ("plate_1",) * 2),
        Atom(Predicate.OPEN, ()),
    ):
        with pytest.raises(TaskError, match=f"arguments; expected {atom.predicate.arity}"):
            table.holds(atom)
