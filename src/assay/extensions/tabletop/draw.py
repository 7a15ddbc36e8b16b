"""Draws the things of an episode and finds room for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.errors import PlacementError
from assay.extensions.tabletop.pools import Difficulty, Level, Pools, pools
from assay.extensions.tabletop.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, Item
from assay.extensions.tabletop.shapes import solid

_TRIES = 200
_GAP = 0.01
"""Between any two things at the start, metres."""


class Draw:
    """The random choices of one episode, and the scene that grows from them."""

    def __init__(self, rng: np.random.Generator, level: Level, difficulty: Difficulty) -> None:
        self.rng = rng
        self.level = level
        self.pools: Pools = pools(level)
        self.distracting, self.extreme = difficulty.distracting, difficulty.extreme
        self.items: list[Item] = []

    def one(self, options: Sequence[str], *, but: Sequence[str] = ()) -> str:
        """One of the options, except some."""
        left = [option for option in options if option not in but]
        if not left:
            raise PlacementError("nothing is left to draw from")
        return left[int(self.rng.integers(len(left)))]

    def some(self, options: Sequence[str], count: int, *, but: Sequence[str] = ()) -> list[str]:
        """Several different ones of the options, except some."""
        left = [option for option in options if option not in but]
        return [left[i] for i in self.rng.choice(len(left), count, replace=False)]

    def chance(self, share: float = 0.5) -> bool:
        """True with that probability."""
        return bool(self.rng.random() < share)

    def base(self, *, but: Sequence[str] = ()) -> str:
        """The shape of a container; of a piece that serves as one where things are extreme."""
        return self.one(self.pools.pieces if self.extreme else self.pools.containers, but=but)

    def put(self, item: Item) -> Item:
        """Add an item where it says it is."""
        self.items.append(item)
        return item

    def place(
        self, name: str, shape: str, texture: str, *, fixed: bool = False, yaw: float | None = None,
        size: tuple[float, float, float] = (1.0, 1.0, 1.0), clear: float = 0.0, keep_off: Sequence[Item] = (),
    ) -> Item:  # fmt: skip
        """Add an item at a random free pose, at least ``clear`` metres from the origin of any other."""
        turn = float(self.rng.uniform(0, 2 * np.pi)) if yaw is None else yaw
        item = Item(name, shape, texture, 0.5, 0.0, turn, size=size, fixed=fixed)
        return self.put(self.spot(item, [*self.items, *keep_off], clear=clear))

    def spot(self, item: Item, others: Sequence[Item], *, clear: float = 0.0) -> Item:
        """The item at a random place away from others. Raises PlacementError if there is none."""
        radius = solid(item.shape, item.size).radius
        places = np.array([(each.x, each.y) for each in others]).reshape(-1, 2)
        gaps = np.array([max(each.radius + radius + _GAP, clear) for each in others])
        for _ in range(_TRIES):
            x = float(self.rng.uniform(X_LOW + radius, X_HIGH - radius))
            y = float(self.rng.uniform(Y_LOW + radius, Y_HIGH - radius))
            if (np.hypot(places[:, 0] - x, places[:, 1] - y) > gaps).all():
                return replace(item, x=x, y=y)
        raise PlacementError(f"there is no room on the table for a {item.words}")

    def others(
        self, count: int, shapes: Sequence[str], looks: Sequence[str], *, but: Sequence[Item] = (),
        clear: float = 0.12, keep_off: Sequence[Item] = (), name: str = "distractor",
    ) -> list[Item]:  # fmt: skip
        """Add distractors whose words differ from those of some items."""
        made: list[Item] = []
        taken = {item.words for item in but}
        while len(made) < count:
            shape, look = self.one(shapes), self.one(looks)
            if f"{look} {shape}" in taken:
                continue
            made.append(self.place(f"{name}_{len(made) + 1}", shape, look, clear=clear, keep_off=keep_off,
                                   fixed=solid(shape).container))  # fmt: skip
        return made
