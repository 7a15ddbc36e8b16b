"""T4 and T5: make the table look like a picture, and perhaps put everything back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.extensions.tabletop.draw import Draw
from assay.extensions.tabletop.goals import Put, PutGoal
from assay.extensions.tabletop.originals import original
from assay.extensions.tabletop.prompt import Prompt, view
from assay.extensions.tabletop.scene import Item, TableScene
from assay.extensions.tabletop.tasks.placing import Made, names

PIECES = 3


def _arranged(draw: Draw) -> tuple[list[Item], list[Item], list[Item]]:
    """Pieces at their start, the same at their goal, and distractors."""
    kinds: set[str] = set()
    starts: list[Item] = []
    goals: list[Item] = []
    while len(starts) < PIECES:
        shape, look = draw.one(draw.pools.pieces), draw.one(draw.pools.any_look)
        if f"{look} {shape}" in kinds:
            continue
        kinds.add(f"{look} {shape}")
        start = draw.place(f"dragged_obj_{len(starts) + 1}", shape, look, clear=0.12, keep_off=goals)
        turned = replace(start, yaw=float(draw.rng.uniform(0, 2 * np.pi)))
        starts.append(start)
        goals.append(draw.spot(turned, [*draw.items, *goals], clear=0.12))
    others = []
    for number in range(3 if draw.distracting else 2):
        shape = draw.one(draw.pools.pieces)
        look = draw.one([each for each in draw.pools.any_look if f"{each} {shape}" not in kinds])
        other = Item(f"distractor_{number + 1}", shape, look, 0.5, 0.0, float(draw.rng.uniform(0, 2 * np.pi)))
        if number == 0 and draw.extreme:
            blocked = goals[int(draw.rng.integers(PIECES))]
            others.append(draw.put(other.at(blocked.x, blocked.y)))
        else:
            others.append(draw.put(draw.spot(other, [*draw.items, *goals], clear=0.125)))
    return starts, goals, others


def _there(items: list[Item]) -> tuple[Put, ...]:
    return tuple(Put(item.name, item.x, item.y, item.yaw) for item in items)


def t4(draw: Draw) -> Made:
    """Make the table look like a picture."""
    _, goals, others = _arranged(draw)
    prompt = Prompt(original("T4"), (("scene", view(*goals)),))
    goal = PutGoal((_there(goals),), names(others), blockers=int(draw.extreme))
    return TableScene(tuple(draw.items)), prompt, goal


def t5(draw: Draw) -> Made:
    """Make the table look like a picture, then put everything back."""
    starts, goals, others = _arranged(draw)
    goal = PutGoal((_there(goals), _there(starts)), names(others), blockers=int(draw.extreme))
    return TableScene(tuple(draw.items)), Prompt(original("T5"), (("scene", view(*goals)),)), goal
