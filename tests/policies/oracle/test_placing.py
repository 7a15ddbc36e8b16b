from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest

from assay import tasks
from assay.policies.oracle.motion import Motion
from assay.policies.oracle.placement_spots import find_spots
from assay.policies.oracle.placing import RIM_HEIGHT_M, PlacementSpot
from assay.policies.oracle.scene_state import SceneState
from assay.policies.oracle.skills import pick_and_place
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.compile import EntityIndex, RegionIndex
from assay.tasks import Atom, Predicate

BOOK, BACK = "black_book_1", "desk_caddy_1_back_contain_region"


@cache
def study() -> Simulation:
    return Simulation(compile_scene(tasks.load("libero_10/5").scene, load_pack("primitives")))


def begun() -> tuple[SceneState, EntityIndex, RegionIndex]:
    """A book and the compartment that it goes into, from the first sampled state."""
    world = study()
    world.reset(world.sample(0))
    scene = SceneState(world)
    book, compartment = scene.entities[BOOK], scene.regions[BACK]
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
    best = find_spots(scene, book, compartment, Predicate.IN)[0]
    assert best.tight
    narrow = scene.data.site_xmat[compartment.site].reshape(3, 3)[:, int(np.argmin(compartment.half))]
    beside = replace(best, position=best.position + aside * narrow)
    inside = Atom(Predicate.EXACT_IN, (BOOK, BACK))
    assert any(
        scene.world.holds(inside)
        for _ in played(scene, pick_and_place(scene, book, lambda: [beside], []), 180)
    )


def test_an_object_that_cannot_be_placed_is_put_back():
    scene, book, _ = begun()
    origin, frame = scene.pose(book)
    away = PlacementSpot(origin + (0.9, 0.0, 0.0), tight=True)
    motion = pick_and_place(scene, book, lambda: [away], [])
    lifted = False
    for _ in played(scene, motion, 300):
        lifted |= bool(scene.pose(book)[0][2] > origin[2] + RIM_HEIGHT_M)
        if lifted and not scene.fingers.count(book) and scene.is_resting(book):
            break
    here, now = scene.pose(book)
    assert lifted and now[:, 2] @ frame[:, 2] > 0.99
    assert np.linalg.norm(here[:2] - origin[:2]) < 0.05
