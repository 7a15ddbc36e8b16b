"""What every perturbation of the world has in common: JSON, draws, refusals in one line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.world import (
    Confound,
    Displace,
    MoveCamera,
    Obstacle,
    Orbit,
    Remove,
    Repaint,
    Replace,
    Resize,
    Room,
)
from assay.tasks import Arena

from .example import changed


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Replace("ketchap"), "did you mean 'ketchup'?"),
        (lambda: MoveCamera("agentveiw"), "did you mean 'agentview'?"),
        (lambda: changed(Room(Arena.FLOOR), Orbit(elevation=-0.6)), "valid: 6 to 80"),
        (lambda: changed(Remove(), task=tasks.load("libero_goal/0")), "is a fixture"),
        (lambda: changed(Confound(), task=tasks.load("libero_goal/0")), "is a fixture"),
        (lambda: changed(Replace("plate"), task=tasks.load("libero_goal/0")), "does not work as"),
        (lambda: changed(Room(Arena.TABLE)), "in the table already"),
        (lambda: Room("garage"), "arena is 'garage': valid: coffee_table, floor,"),  # type: ignore[arg-type]
        (lambda: Replace(among="shapes"), "did you mean 'shape'?"),  # type: ignore[arg-type]
        (lambda: Repaint(None), "surface is None"),  # type: ignore[arg-type]
        (lambda: changed(Displace(0.1, "bowl_9")), "there is no 'bowl_9'"),
        (lambda: changed(Resize(1.1, "flat_stove_1")), "is a fixture"),
        (lambda: changed(Obstacle(), task=tasks.load("libero_goal/0")), "this task carries nothing"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(make: Callable[[], object], words: str):
    with pytest.raises(PerturbationError) as caught:
        make()
    assert words in str(caught.value)
