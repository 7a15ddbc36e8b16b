from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb import Perturbation, apply_perturbations
from assay.perturb.world.exchange import ExchangePlaces
from assay.perturb.world.ground import Ground, Spot
from assay.perturb.world.layout import Distractors, Obstacle
from assay.perturb.world.position import Displace, Jitter, Swap
from assay.sim.visibility import newly_hidden
from assay.tasks import Atom, Goal, Predicate, Scene


def test_the_way_of_a_drawer_is_kept_clear_if_the_goal_needs_it():
    task = tasks.load("libero_goal/1")
    cabinet = Ground(task.scene).spots["wooden_cabinet_1"]
    before = Spot(cabinet.x, cabinet.y + cabinet.half_y + 0.05, 0.02, 0.02)
    opening = Goal((Atom(Predicate.OPEN, ("wooden_cabinet_1_top_region",)),))
    everybody = [entity.name for entity in task.scene.objects]
    assert Ground(task.scene, task.goal).free(before, without=everybody)
    assert not Ground(task.scene, opening).free(before, without=everybody)


def test_a_drawer_that_is_open_at_the_start_is_in_the_way_whatever_the_goal():
    task = tasks.load("libero_goal/1")
    opened = Atom(Predicate.OPEN, ("wooden_cabinet_1_top_region",))
    scene = replace(task.scene, initial=(*task.scene.initial, opened))
    assert "wooden_cabinet_1" in Ground(scene).doorways and not Ground(task.scene).doorways


def test_what_is_added_is_put_where_a_camera_sees_it(monkeypatch: pytest.MonkeyPatch):
    """Behind the cabinet there is room, and nobody would know; where all is in view, draws are what they were."""
    task = tasks.load("libero_spatial/0")

    def drawn() -> list[Scene]:
        return [apply_perturbations(task, Distractors(3), seed=seed).scene for seed in range(12)]

    asked = drawn()
    assert not any(newly_hidden(task.scene, scene) for scene in asked)
    monkeypatch.setattr("assay.perturb.world.ground.newly_hidden", lambda before, after: [])
    unasked = drawn()
    hidden = [bool(newly_hidden(task.scene, scene)) for scene in unasked]
    assert 0 < sum(hidden) < len(hidden)
    assert [one == other for one, other in zip(asked, unasked, strict=True)] == [not each for each in hidden]


@pytest.mark.parametrize("change", [Displace(0.15), Swap(), Jitter(0.05), ExchangePlaces(), Obstacle()])
def test_what_is_moved_stays_in_view_and_hides_nothing(change: Perturbation):
    for name in ("libero_spatial/5", "libero_10/0"):
        task = tasks.load(name)
        for seed in range(3):
            with suppress(PerturbationError):
                assert not newly_hidden(task.scene, apply_perturbations(task, change, seed=seed).scene)


def test_a_place_that_no_camera_sees_is_rejected_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("assay.perturb.world.ground.newly_hidden", lambda before, after: ["butter_1"])
    with pytest.raises(PerturbationError, match="no room in view for"):
        apply_perturbations(tasks.load("libero_spatial/0"), Distractors(1), seed=0)
