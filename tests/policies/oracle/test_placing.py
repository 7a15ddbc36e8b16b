from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest

from assay import tasks
from assay.policies.oracle.grasps import FLAT, Piece, of_piece
from assay.policies.oracle.motion import DOWN, Motion, tilting
from assay.policies.oracle.placing import HUNG, Spot
from assay.policies.oracle.room import APART, _apart
from assay.policies.oracle.sight import Sight
from assay.policies.oracle.skills import FAILED, Failures, put
from assay.policies.oracle.spots import spots
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.compile import EntityIndex, RegionIndex
from assay.tasks import Atom, Predicate

BOOK, BACK = "black_book_1", "desk_caddy_1_back_contain_region"
UP = np.array([0.0, 0.0, 1.0])


@cache
def study() -> Simulation:
    return Simulation(compile_scene(tasks.load("libero_10/5").scene, load_pack("primitives")))


def begun() -> tuple[Sight, EntityIndex, RegionIndex]:
    """A book and the compartment that it goes into, from the first sampled state."""
    world = study()
    world.reset(world.sample(0))
    sight = Sight(world)
    book, compartment = sight.entity(BOOK), sight.region(BACK)
    assert book is not None and compartment is not None
    return sight, book, compartment


def played(sight: Sight, motion: Motion, steps: int) -> Iterator[None]:
    """Every step of a motion, up to so many."""
    for action in islice(motion, steps):
        sight.world.step(action)
        yield


@pytest.mark.parametrize("aside", [-0.022, 0.022], ids=["on one rim", "on the other"])
def test_a_thing_that_comes_down_on_a_rim_is_shifted_off_it_before_it_is_let_go(aside: float):
    sight, book, compartment = begun()
    best = spots(sight, book, compartment, inside=True)[0]
    assert best.tight
    narrow = sight.data.site_xmat[compartment.site].reshape(3, 3)[:, int(np.argmin(compartment.half))]
    beside = replace(best, position=best.position + aside * narrow)
    inside = Atom(Predicate.EXACT_IN, (BOOK, BACK))
    assert any(
        sight.holds(inside) for _ in played(sight, put(sight, book, lambda: [beside], Failures()), 180)
    )


def test_a_thing_that_does_not_get_to_its_place_is_put_back_as_it_stood():
    sight, book, _ = begun()
    origin, frame = sight.pose(book)
    away = Spot(origin + (0.9, 0.0, 0.0), tight=True)
    motion = put(sight, book, lambda: [away], Failures())
    lifted = False
    for _ in played(sight, motion, 300):
        lifted |= bool(sight.pose(book)[0][2] > origin[2] + HUNG)
        if lifted and not sight.touched(book) and sight.rests(book):
            break
    here, now = sight.pose(book)
    assert lifted and now[:, 2] @ frame[:, 2] > 0.99
    assert np.linalg.norm(here[:2] - origin[:2]) < 0.05


def test_a_grasp_that_failed_costs_more_the_next_time_and_others_do_not():
    sight, book, _ = begun()
    first, *rest = (grasp for piece in [_piece(0.0)] for grasp in of_piece(sight, piece, piece.middle))
    failures = Failures()
    assert failures.cost(sight, book, first) == 0
    for times in (1, 2):
        failures.add(sight, book, first)
        assert failures.cost(sight, book, first) == pytest.approx(times * FAILED)
    turned = replace(first, rotation=np.diag([1.0, -1.0, -1.0]) @ first.rotation)
    moved = replace(first, position=first.position + (0.0, 0.0, 0.03))
    assert rest and failures.cost(sight, book, turned) == failures.cost(sight, book, moved) == 0


def _piece(lean: float) -> Piece:
    """A book of which one cover looks up by an angle, radians."""
    rotation = tilting(UP, np.array([np.sin(lean), 0.0, np.cos(lean)]))
    return Piece(np.array([0.0, 0.0, 1.0]), rotation, np.array([0.014, 0.055, 0.067]), False)


@pytest.mark.parametrize("degrees", [0, 15, 30, 45])
def test_the_hand_leans_with_what_leans(degrees: int):
    sight, _, _ = begun()
    lean = np.radians(degrees)
    piece = _piece(lean)
    grasps = list(of_piece(sight, piece, piece.middle))
    assert grasps
    leans = np.sin(lean) >= FLAT
    for grasp in grasps:
        assert grasp.rotation[:, 2] @ DOWN == pytest.approx(np.cos(lean) if leans else 1.0)
        if leans:
            assert abs(grasp.rotation[:, 0] @ piece.rotation[:, 0]) == pytest.approx(1.0)


def test_what_lies_flat_and_is_wide_cannot_be_held():
    sight, _, _ = begun()
    assert not list(of_piece(sight, _piece(np.pi / 2), np.zeros(3)))


def test_places_that_are_offered_are_not_all_the_same():
    grid = np.stack(np.meshgrid(*[np.linspace(-0.7, 0.7, 13)] * 2), axis=-1).reshape(-1, 2)
    costs = np.linalg.norm(grid - (0.1, 0.2), axis=1)
    kept = grid[_apart(grid, costs)]
    np.testing.assert_allclose(kept[0], grid[np.argmin(costs)])
    gaps = np.abs(kept[:, None] - kept).max(axis=2)[~np.eye(len(kept), dtype=bool)]
    assert len(kept) == 8 and gaps.min() > APART
