from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.errors import PlacementError
from assay.sim import placement
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.layout import LAYOUTS
from assay.sim.packs.pack import AssetPack
from assay.sim.placement import central_fixtures, sample
from assay.sim.simulation import Simulation
from assay.tasks import Arena, Atom, Entity, Predicate, Rectangle, Region, Scene, bddl
from assay.tasks.formats.init_files import read_states

Compiled = Callable[[str], CompiledScene]
SimulationOf = Callable[[CompiledScene], Simulation]

HERE = (Rectangle(0.0, 0.0, 0.02, 0.02),)


def on(*names: str) -> Atom:
    return Atom(Predicate.ON, names)


def kitchen(objects: dict[str, str], regions: dict[str, Rectangle], *initial: Atom) -> Scene:
    """Objects on a kitchen table without fixtures."""
    return Scene(
        Arena.KITCHEN,
        (),
        tuple(Entity(name, category) for name, category in objects.items()),
        tuple(Region(name, "kitchen_table", (box,)) for name, box in regions.items()),
        initial,
    )


def places(compiled: CompiledScene, vector: np.ndarray) -> dict[str, np.ndarray]:
    """Position and quaternion of every object in a state."""
    found = {}
    for name, entity in compiled.entities.items():
        if entity.movable:
            first = 1 + int(compiled.model.jnt_qposadr[entity.joints[-1]])
            found[name] = vector[first : first + 7]
    return found


# -- the built-in tasks


def test_a_fixture_gives_way_where_another_leaves_it_no_room(
    primitives: AssetPack, monkeypatch: pytest.MonkeyPatch
):
    cabinet, microwave = Entity("white_cabinet_1", "white_cabinet"), Entity("microwave_1", "microwave")
    regions = (
        Region("cabinet_region", "kitchen_table", (Rectangle(0.0, 0.10, 0.0, 0.10),)),
        Region("microwave_region", "kitchen_table", (Rectangle(0.0, -0.35, 0.0, 0.10),)),
    )
    initial = tuple(
        Atom(Predicate.ON, (each.name, f"kitchen_table_{region.name}"))
        for each, region in zip((cabinet, microwave), regions, strict=True)
    )
    scene = Scene(Arena.KITCHEN, (cabinet, microwave), (), regions, initial)
    compiled = compile_scene(scene, primitives)
    for seed in range(3):
        _, fixtures = sample(compiled, seed)
        assert fixtures[0][1] - fixtures[1][1] > 0.2, "they stand beside each other"
    monkeypatch.setattr(placement, "ATTEMPTS", 2)
    crowded = replace(scene, regions=(regions[0], replace(regions[1], rectangles=regions[0].rectangles)))
    with pytest.raises(PlacementError, match="interpenetrate"):
        sample(compile_scene(crowded, primitives), 0)


def test_published_tasks_of_libero_x_settle(shared: Path, primitives: AssetPack):
    files = sorted((shared / "libero_x/bddl").rglob("*.bddl"))
    assert len(files) == 32
    for file in files:
        task = bddl.read(file)
        placed = {atom.arguments[0] for atom in task.scene.initial if len(atom.arguments) == 2}
        unplaced = [each.name for each in task.scene.objects if each.name not in placed]
        compiled = compile_scene(task.scene, primitives)
        if unplaced:  # three files forget an object
            with pytest.raises(PlacementError, match=unplaced[0]):
                sample(compiled, 0)
        else:
            assert np.isfinite(sample(compiled, 0)[0]).all()


@pytest.mark.parametrize("task_id", ["libero_goal/0", "libero_object/0"])
def test_sampled_places_spread_as_the_stored_ones_do(task_id: str, shared: Path, compiled: Compiled):
    scene, task = compiled(task_id), tasks.load(task_id)
    folder = shared / "libero/bddl" / task_id.split("/")[0]
    file = next(each for each in folder.glob("*.bddl") if bddl.read(each).goal == task.goal)
    stored = read_states(shared / "libero/init" / folder.name / f"{file.stem}.pruned_init")
    theirs = [places(scene, vector) for vector in stored]
    ours = [places(scene, sample(scene, seed)[0]) for seed in range(40)]
    for entity in task.scene.objects:
        for axis in (0, 1):
            one = np.array([each[entity.name][axis] for each in theirs])
            other = np.array([each[entity.name][axis] for each in ours])
            assert abs(one.min() - other.min()) < 4e-3 and abs(one.max() - other.max()) < 4e-3, entity.name
            assert abs(one.mean() - other.mean()) < 6e-3, entity.name


# -- seeds


def test_a_further_object_does_not_move_the_others(primitives: AssetPack):
    scene = tasks.load("libero_goal/0").scene
    corner = Region("corner", "main_table", (Rectangle(0.25, 0.35, 0.3, 0.4),))
    more = replace(
        scene,
        objects=(*scene.objects, Entity("butter_1", "butter")),
        regions=(*scene.regions, corner),
        initial=(on("butter_1", "main_table_corner"), *scene.initial),
    )
    without, with_it = compile_scene(scene, primitives), compile_scene(more, primitives)
    for seed in range(3):
        (vector, fixtures), (larger, same) = sample(without, seed), sample(with_it, seed)
        assert np.array_equal(fixtures, same)
        moved = places(with_it, larger)
        for name, pose in places(without, vector).items():
            # They settle together, so what is below a tenth of a millimetre may differ.
            assert np.abs(moved[name] - pose).max() < 1e-4, name


# -- where things go


@pytest.mark.parametrize("task_id", ["libero_goal/0", "libero_10/2", "libero_10/3", "libero_10/9"])
def test_fixtures_stay_in_their_regions_and_within_their_yaw(task_id: str, compiled: Compiled):
    scene = compiled(task_id)
    offset = LAYOUTS[scene.scene.arena].offset
    regions = {
        atom.arguments[0]: scene.scene.region(atom.arguments[1])
        for atom in scene.scene.initial
        if atom.predicate is Predicate.ON
    }
    central = central_fixtures(scene)
    spread = []
    for seed in range(8):
        _, fixtures = sample(scene, seed)
        spread.append(fixtures)
        for fixture, pose, middle in zip(scene.scene.fixtures, fixtures, central, strict=True):
            region = regions[fixture.name]
            assert region is not None
            box = region.rectangles[0]
            centre = (box.x_min + box.x_max) / 2, (box.y_min + box.y_max) / 2, pose[2] - offset[2]
            assert middle[:3] - offset == pytest.approx(centre)
            assert box.x_min - 1e-9 <= pose[0] - offset[0] <= box.x_max + 1e-9
            assert box.y_min - 1e-9 <= pose[1] - offset[1] <= box.y_max + 1e-9
            low, high = region.yaw or (0.0, 0.0)
            yaw = 2 * np.arctan2(pose[6], pose[3])
            assert np.isclose(np.cos(yaw), np.cos(np.clip(yaw, low, high)), atol=1e-6)
            assert pose[4:6] == pytest.approx((0, 0)) and np.linalg.norm(pose[3:]) == pytest.approx(1)
    assert np.ptp(spread, axis=0)[:, :2].min() > 1e-3  # every fixture moves


@pytest.mark.parametrize(
    ("task_id", "text"),
    [
        ("libero_10/3", "Open white_cabinet_1_bottom_region"),
        ("libero_10/8", "TurnOn flat_stove_1"),
        ("libero_10/9", "Open microwave_1"),
        ("libero_spatial/4", "Open wooden_cabinet_1_top_region"),
        ("libero_spatial/4", "In akita_black_bowl_1 wooden_cabinet_1_top_region"),
        ("libero_spatial/4", "On akita_black_bowl_2 wooden_cabinet_1_top_side"),
        ("libero_spatial/3", "On akita_black_bowl_1 cookies_1"),
        ("libero_spatial/6", "On akita_black_bowl_2 flat_stove_1_cook_region"),
    ],
)
def test_relations_to_objects_hold_after_settling(
    task_id: str, text: str, compiled: Compiled, world_of: SimulationOf
):
    world = world_of(compiled(task_id))
    atom = next(each for each in tasks.load(task_id).scene.initial if str(each) == text)
    for seed in range(5):
        world.reset(world.sample(seed))
        assert world.holds(atom), f"seed {seed}"


def test_a_tower_is_built_from_below_whatever_is_said_first(primitives: AssetPack):
    scene = kitchen(
        {"butter_1": "butter", "plate_1": "plate", "cream_cheese_1": "cream_cheese"},
        {"spot": Rectangle(0.0, 0.0, 0.05, 0.05)},
        on("butter_1", "cream_cheese_1"),
        on("cream_cheese_1", "plate_1"),
        on("plate_1", "kitchen_table_spot"),
    )
    compiled = compile_scene(scene, primitives)
    found = places(compiled, sample(compiled, 0)[0])
    assert found["plate_1"][2] < found["cream_cheese_1"][2] < found["butter_1"][2]
    assert np.linalg.norm(found["butter_1"][:2] - found["plate_1"][:2]) < 0.02


def test_one_of_several_rectangles_is_chosen(primitives: AssetPack):
    boxes = (Rectangle(-0.2, -0.2, -0.18, -0.18), Rectangle(0.18, 0.18, 0.2, 0.2))
    scene = replace(
        kitchen({"butter_1": "butter"}, {}, on("butter_1", "kitchen_table_spots")),
        regions=(Region("spots", "kitchen_table", boxes),),
    )
    compiled = compile_scene(scene, primitives)
    corners = {bool(places(compiled, sample(compiled, seed)[0])["butter_1"][0] > 0) for seed in range(8)}
    assert corners == {True, False}


# -- where they cannot go


def test_a_scene_without_room_is_refused(primitives: AssetPack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(placement, "ATTEMPTS", 2)
    names = ("butter_1", "butter_2")
    scene = kitchen(
        dict.fromkeys(names, "butter"), {"spot": HERE[0]}, *(on(n, "kitchen_table_spot") for n in names)
    )
    with pytest.raises(PlacementError, match="no room for butter_2") as caught:
        sample(compile_scene(scene, primitives), 3)
    assert "seed 3" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "initial",
    [
        (on("plate_1", "plate_2"), on("plate_2", "plate_1")),
        (on("plate_1", "plate_1"),),
        (on("plate_1", "plate_2"),),
    ],
)
def test_objects_that_rest_on_nothing_are_refused(primitives: AssetPack, initial: tuple[Atom, ...]):
    scene = kitchen({"plate_1": "plate", "plate_2": "plate"}, {"spot": HERE[0]}, *initial)
    with pytest.raises(PlacementError, match="the support has not been placed"):
        sample(compile_scene(scene, primitives), 0)


@pytest.mark.parametrize(
    ("box", "reason"),
    [
        (Rectangle(0.54, 0.0, 0.56, 0.02), "while it settles"),  # over the table's edge
        (Rectangle(1e6, 1e6, 1e6 + 1, 1e6 + 1), "kitchen_table_spot"),
        (Rectangle(2.0, 2.0, 2.1, 2.1), "table"),
    ],
)
def test_a_region_that_is_not_on_the_table_is_refused(primitives: AssetPack, box: Rectangle, reason: str):
    scene = kitchen({"plate_1": "plate"}, {"spot": box}, on("plate_1", "kitchen_table_spot"))
    with pytest.raises(PlacementError, match=reason):
        sample(compile_scene(scene, primitives), 0)


def test_a_fixture_that_nothing_places_does_not_depend_on_the_past(primitives: AssetPack):
    scene = tasks.load("libero_goal/0").scene
    initial = tuple(atom for atom in scene.initial if atom.arguments[0] != "wine_rack_1")
    world = Simulation(compile_scene(replace(scene, initial=initial), primitives))
    first, central = world.sample(0), central_fixtures(world.compiled)
    moved = first.fixtures.copy()
    moved[2, 0] += 0.3
    world.reset(replace(first, fixtures=moved))
    assert np.array_equal(world.sample(0).fixtures, first.fixtures)
    world.reset(replace(first, fixtures=moved))
    assert np.array_equal(central_fixtures(world.compiled), central)


def test_a_world_continues_as_if_it_had_not_been_sampled_from(
    compiled: Compiled, world_of: SimulationOf, monkeypatch: pytest.MonkeyPatch
):
    def model() -> list[bytes]:
        return [getattr(world.model, name).tobytes() for name in ("body_pos", "body_quat", "geom_group")]

    world = world_of(compiled("libero_goal/0"))
    world.reset(world.sample(1))
    before = model()
    assert np.array_equal(world.sample(0).vector, sample(world.compiled, 0)[0])
    assert model() == before
    monkeypatch.setattr(placement, "OBJECT_ATTEMPTS", 0)
    with pytest.raises(PlacementError):
        world.sample(0)
    assert model() == before
