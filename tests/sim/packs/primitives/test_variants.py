"""Categories that are another one in another colour or size."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from assay.formats import libero_pro
from assay.sim.categories import GLOWING, OPENING, SWITCHING, resting_pose
from assay.sim.packs.primitives import PrimitivesPack, fixtures, objects
from assay.sim.packs.primitives.variants import build_variant
from assay.sim.variants import VARIANTS, CategoryVariant

PACK = PrimitivesPack()
BASES = {**objects.BUILDERS, **fixtures.BUILDERS}


def shapes(root: Element, group: str) -> list[dict[str, str]]:
    """Every geom of a group, but for its colour."""
    found = [dict(geom.attrib) for geom in root.iter("geom") if geom.get("group") == group]
    return [{key: value for key, value in each.items() if key != "rgba"} for each in found]


def colours(root: Element) -> np.ndarray:
    drawn = [geom.get("rgba", "") for geom in root.iter("geom") if geom.get("group") == "1"]
    return np.array([[float(word) for word in each.split()] for each in drawn])


@pytest.mark.parametrize("category", sorted(VARIANTS))
def test_a_variant_is_its_base_in_another_colour(category: str):
    variant = VARIANTS[category]
    made, base = PACK.entity(category).root, PACK.entity(variant.base).root
    assert variant.base in BASES and variant.size == 1.0
    assert shapes(made, "0") == shapes(base, "0") and shapes(made, "1") == shapes(base, "1")
    assert not np.allclose(colours(made), colours(base))
    brightest = colours(made)[np.argmax(colours(base)[:, :3] @ [0.2126, 0.7152, 0.0722])]
    assert brightest[:3] == pytest.approx(variant.colour)


@pytest.mark.parametrize("category", sorted(VARIANTS))
def test_a_variant_does_what_its_base_does(category: str):
    base = VARIANTS[category].base
    for table in (OPENING, SWITCHING, GLOWING):
        assert table.get(category) == table.get(base)
    assert resting_pose(category) == resting_pose(base)


def test_a_variant_may_be_larger():
    made = build_variant("large_plate", CategoryVariant("plate", size=1.5), BASES)
    for group in ("0", "1"):
        for large, usual in zip(shapes(made, group), shapes(BASES["plate"](), group), strict=True):
            for name in {"size", "pos"} & set(usual):
                ratio = np.array(large[name].split(), float) - 1.5 * np.array(usual[name].split(), float)
                assert np.abs(ratio).max() < 1e-9
    assert np.array_equal(colours(made), colours(BASES["plate"]()))


def test_every_object_that_libero_pro_puts_in_anothers_place_is_offered(shared: Path):
    new = {each.new for each in libero_pro.categories(shared / "libero_pro")}
    assert len(new) > 20 and new <= PACK.categories
