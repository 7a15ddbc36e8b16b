from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.errors import PlacementError
from assay.extensions.generate.kit import EVEN, LIBERO_X
from assay.extensions.generate.layout import Cast, draw, draw_room
from assay.sim.packs.pack import AssetPack
from assay.support.streams import stream


@pytest.fixture(scope="session")
def casts() -> list[Cast]:
    """A good many scenes, as they are drawn, before anything is certified."""
    categories = AssetPack().categories
    found = []
    for number in range(80):
        composition = LIBERO_X if number % 4 == 0 else EVEN
        try:
            room, furniture = draw_room(stream(2, "room", number), categories, composition)
            found.append(draw(stream(0, "test", number), room, furniture, categories, composition))
        except PlacementError:
            continue
    assert len(found) > 30
    return found


@pytest.fixture(scope="session")
def some(casts: list[Cast]) -> Callable[[str], Cast]:
    """The first scene with a piece of furniture."""
    return lambda noun: next(cast for cast in casts if noun in {thing.noun for thing in cast.things})
