from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest

from assay import tasks
from assay.policies.oracle.grasps import MAX_AXIS_SINE, GraspablePiece, grasps_of_piece
from assay.policies.oracle.motion import DOWN, Motion, shortest_rotation
from assay.policies.oracle.placement_spots import MIN_SPACING, _spread_out, region_spots
from assay.policies.oracle.placing import RIM_HEIGHT_M, PlacementSpot
from assay.policies.oracle.scene_state import SceneState
from assay.policies.oracle.skills import REPEAT_COST, FailedGrasps, pick_and_place
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.compile import EntityIndex, RegionIndex
from assay.tasks import Atom, Predicate

BOOK, BACK = "black_book_1", "desk_caddy_1_back_contain_region"
UP = np.array([0.0, 0.0, 1.0])


@cache
def study() -> Simulation:
    return Simulation(compile_scene(tasks.load("libero_10/5").scene, load_pack("primitives")))


def begun() -> tuple[SceneState, EntityIndex, RegionIndex]:
    """A book and the compartment that it goes into, from the first sampled state."""
    world = study()
    world.reset(world.sample(0))
    scene = SceneState(world)
    book, compartment = scene.entity(BOOK), scene.region(BACK)
    assert book is not None and compartment is not None
    return scene, book, compartment


def played(scene: SceneState, motion: Motion, steps: int) -> Iterator[None]:
    """Every step of a motion, up to so many."""
    for action in islice(motion, steps):
        scene.world.step(action)
        yield


@pytest.mark.parametrize("aside", [-0.022, 0.022], ids=["on one rim", "on the other"])
def test_an_object_on_a_rim_is_shifted_before_release(aside: float):
    scene, book, compartment = begun()
    best = region_spots(scene, book, compartment, inside=True)[0]
    assert best.tight
    narrow = scene.data.site_xmat[compartment.site].reshape(3, 3)[:, int(np.argmin(compartment.half))]
    beside = replace(best, position=best.position + aside * narrow)
    inside = Atom(Predicate.EXACT_IN, (BOOK, BACK))
    assert any(
        scene.holds(inside)
        for _ in played(scene, pick_and_place(scene, book, lambda: [beside], FailedGrasps()), 180)
    )


def test_an_object_that_cannot_be_placed_is_put_back():
    scene, book, _ = begun()
    origin, frame = scene.pose(book)
    away = PlacementSpot(origin + (0.9, 0.0, 0.0), tight=True)
    motion = pick_and_place(scene, book, lambda: [away], FailedGrasps())
    lifted = False
    for _ in played(scene, motion, 300):
        lifted |= bool(scene.pose(book)[0][2] > origin[2] + RIM_HEIGHT_M)
        if lifted and not scene.fingers_touching(book) and scene.is_resting(book):
            break
    here, now = scene.pose(book)
    assert lifted and now[:, 2] @ frame[:, 2] > 0.99
    assert np.linalg.norm(here[:2] - origin[:2]) < 0.05


def test_a_failed_grasp_costs_more_afterwards():
    scene, book, _ = begun()
    first, *rest = (grasp for piece in [_piece(0.0)] for grasp in grasps_of_piece(scene, piece, piece.middle))
    failures = FailedGrasps()
    assert failures.cost(scene, book, first) == 0
    for times in (1, 2):
        failures.add(scene, book, first)
        assert failures.cost(scene, book, first) == pytest.approx(times * REPEAT_COST)
    turned = replace(first, rotation=np.diag([1.0, -1.0, -1.0]) @ first.rotation)
    moved = replace(first, position=first.position + (0.0, 0.0, 0.03))
    assert rest and failures.cost(scene, book, turned) == failures.cost(scene, book, moved) == 0


def _piece(lean: float) -> GraspablePiece:
    """A book of which one cover looks up by an angle, radians."""
    rotation = shortest_rotation(UP, np.array([np.sin(lean), 0.0, np.cos(lean)]))
    return GraspablePiece(np.array([0.0, 0.0, 1.0]), rotation, np.array([0.014, 0.055, 0.067]), False)


@pytest.mark.parametrize("degrees", [0, 15, 30, 45])
def test_the_gripper_leans_with_leaning_pieces(degrees: int):
    scene, _, _ = begun()
    lean = np.radians(degrees)
    piece = _piece(lean)
    grasps = list(grasps_of_piece(scene, piece, piece.middle))
    assert grasps
    leans = np.sin(lean) >= MAX_AXIS_SINE
    for grasp in grasps:
        assert grasp.rotation[:, 2] @ DOWN == pytest.approx(np.cos(lean) if leans else 1.0)
        if leans:
            assert abs(grasp.rotation[:, 0] @ piece.rotation[:, 0]) == pytest.approx(1.0)


def test_flat_and_wide_objects_have_no_grasp():
    scene, _, _ = begun()
    assert not list(grasps_of_piece(scene, _piece(np.pi / 2), np.zeros(3)))


def test_spots_are_spread_out():
    grid = np.stack(np.meshgrid(*[np.linspace(-0.7, 0.7, 13)] * 2), axis=-1).reshape(-1, 2)
    costs = np.linalg.norm(grid - (0.1, 0.2), axis=1)
    kept = grid[_spread_out(grid, costs)]
    np.testing.assert_allclose(kept[0], grid[np.argmin(costs)])
    gaps = np.abs(kept[:, None] - kept).max(axis=2)[~np.eye(len(kept), dtype=bool)]
    assert len(kept) == 8 and gaps.min() > MIN_SPACING
