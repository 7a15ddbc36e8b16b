from __future__ import annotations

import numpy as np
import pytest

from assay.extensions.tabletop.prompts.perturbations import PermutedObjects, PromptParaphrase
from assay.extensions.tabletop.tasks import make
from assay.extensions.tabletop.tasks.task import Difficulty, Setting
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.simulation import TableSimulation, action
from assay.perturb import Senses

TASK = make(Setting("T1", 0, difficulty=Difficulty.DISTRACTING))
COUNT = len(TASK.scene.items)


@pytest.fixture(scope="module")
def seen(drawing: str) -> list[TableObservation]:
    """Five observations of a table on which nothing happens."""
    world = TableSimulation(TASK.scene)
    observations = [world.observe()]
    for _ in range(4):
        world.step(action((0.5, 0.0), (0.5, 0.0)))
        observations.append(world.observe())
    return observations


def orders(seen: list[TableObservation], *, seed: int = 0, task: str = TASK.id) -> list[list[int]]:
    senses = Senses((PromptParaphrase(), PermutedObjects()), task=task, seed=seed)
    return [senses.observe(each).objects("top").items.tolist() for each in seen]


def test_every_observation_has_an_order_of_its_own(seen: list[TableObservation]) -> None:
    found = orders(seen)
    assert all(sorted(order) == list(range(COUNT)) for order in found)
    assert len({tuple(order) for order in found}) == len(found)


def test_an_order_hangs_on_seed_task_and_step_only(seen: list[TableObservation]) -> None:
    found = orders(seen)
    assert orders(seen[::-1]) == found[::-1]
    assert orders(seen, seed=1) != found != orders(seen, task="tabletop/T2/L1")


def test_both_views_have_the_same_order_and_the_pictures_stay(seen: list[TableObservation]) -> None:
    permuted = Senses((PermutedObjects(),), task=TASK.id, seed=0).observe(seen[0])
    top, front = permuted.objects("top"), permuted.objects("front")
    assert top.visible.all() and front.visible.all()
    assert top.items.tolist() == front.items.tolist() == list(permuted.order or ())
    own = seen[0].objects("top")
    assert own.items.tolist() == list(range(COUNT))
    assert np.array_equal(top.crops, own.crops[top.items]) and np.array_equal(top.boxes, own.boxes[top.items])
    assert np.array_equal(permuted.image("top"), seen[0].image("top"))


def test_without_the_perturbation_everything_passes(seen: list[TableObservation]) -> None:
    assert Senses((PromptParaphrase(),), task=TASK.id, seed=0).observe(seen[0]) is seen[0]
