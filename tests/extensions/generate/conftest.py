from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.errors import PlacementError
from assay.extensions.generate.kit import load_composition
from assay.extensions.generate.layout import SceneDraft, draw, draw_room
from assay.sim.packs.pack import AssetPack
from assay.support.streams import stream


@pytest.fixture(scope="session")
def casts() -> list[SceneDraft]:
    """A good many scenes, as they are drawn, before anything is certified."""
    categories = AssetPack().categories
    found = []
    for number in range(80):
        composition = load_composition("even" if number % 4 else "libero-x")
        try:
            room, furniture = draw_room(stream(2, "room", number), categories, composition)
            found.append(draw(stream(0, "test", number), room, furniture, categories, composition))
        except PlacementError:
            continue
    assert len(found) > 30
    return found


@pytest.fixture(scope="session")
def some(casts: list[SceneDraft]) -> Callable[[str], SceneDraft]:
    """The first scene with a piece of furniture."""
    return lambda noun: next(draft for draft in casts if noun in {obj.noun for obj in draft.objects})
