"""Categories that are another one in another colour or size."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.sim.categories import GLOWING, OPENING, SWITCHING, resting_pose
from assay.sim.compile import bounding_box
from assay.sim.packs.primitives import PrimitivesPack, fixtures, objects
from assay.sim.packs.primitives.variants import build_variant
from assay.sim.variants import VARIANTS, CategoryVariant
from assay.tasks.formats import libero_pro

PACK = PrimitivesPack()
BASES = {**objects.BUILDERS, **fixtures.BUILDERS, **objects.BLANKS}
COLOURED = sorted(category for category, each in VARIANTS.items() if each.colour is not None)


def shapes(root: Element, group: str) -> list[dict[str, str]]:
    """Every geom of a group, but for its colour."""
    found = [dict(geom.attrib) for geom in root.iter("geom") if geom.get("group") == group]
    return [{key: value for key, value in each.items() if key != "rgba"} for each in found]


def compiled(root: Element) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def bounds(root: Element) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest corner of what collides, metres."""
    model = compiled(root)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return bounding_box(model, data, np.flatnonzero(model.geom_group == 0).tolist())


def colours(root: Element) -> np.ndarray:
    drawn = [geom.get("rgba", "") for geom in root.iter("geom") if geom.get("group") == "1"]
    return np.array([[float(word) for word in each.split()] for each in drawn])


@pytest.mark.parametrize("category", COLOURED)
def test_a_variant_is_its_base_in_another_colour(category: str):
    variant = VARIANTS[category]
    made, base = PACK.entity(category).root, BASES[variant.base]()
    if variant.size == 1.0:
        assert shapes(made, "0") == shapes(base, "0") and shapes(made, "1") == shapes(base, "1")
    assert not np.allclose(colours(made), colours(base))
    brightness = colours(base)[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert colours(made)[np.argmax(brightness)][:3] == pytest.approx(variant.colour)
    if variant.dark is not None:
        assert colours(made)[np.argmin(brightness)][:3] == pytest.approx(variant.dark)


@pytest.mark.parametrize("category", sorted(VARIANTS.keys() - {"desk_caddy_back", "desk_caddy_right"}))
def test_a_variant_does_what_its_base_does(category: str):
    base = VARIANTS[category].base
    for table in (OPENING, SWITCHING, GLOWING):
        assert table.get(category) == table.get(base)
    assert resting_pose(category) == resting_pose(base)


@pytest.mark.parametrize(
    ("category", "size"),
    [
        ("akita_green_bowl_interference_light_green_small", (85.7, 85.6, 40.4)),
        ("akita_blue_bowl_interference_dark_blue_large", (128.7, 128.4, 60.7)),
        ("white_bowl_interference_off_white_large", (97.5, 97.3, 41.4)),
        ("large_akita_black_bowl", (130.1, 129.9, 61.4)),
        ("small_porcelain_mug", (74.8, 57.8, 63.6)),
        ("navy_speckle_book", (28.7, 110.4, 134.4)),
        ("yellow_book_interference_light_yellow", (28.7, 110.4, 134.4)),
    ],
)
def test_what_libero_x_adds_is_as_large_as_its_own(category: str, size: tuple[float, float, float]):
    low, high = bounds(PACK.entity(category).root)
    assert 1000 * (high - low) == pytest.approx(size, abs=4.0), "millimetres of the release's collision geoms"


@pytest.mark.parametrize(
    "category", ["teal_wavy_book", "white_speckle_book", "striped_book", "cyan_grid_book"]
)
def test_a_pattern_is_on_both_covers_and_stays_on_them(category: str):
    model = compiled(PACK.entity(category).root)
    low, high = bounds(PACK.entity(category).root)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    drawn = []
    for geom in np.flatnonzero(model.geom_group == 1):
        start = model.mesh_vertadr[model.geom_dataid[geom]]
        vertices = model.mesh_vert[start : start + model.mesh_vertnum[model.geom_dataid[geom]]]
        drawn.append(data.geom_xpos[geom] + vertices @ data.geom_xmat[geom].reshape(3, 3).T)
    points = np.concatenate(drawn)
    assert np.all(points >= low - 0.001) and np.all(points <= high + 0.001)
    for side in (points[:, 0] < low[0], points[:, 0] > high[0]):  # a decal lies just above its cover
        assert side.sum() >= 20


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


def test_every_object_of_libero_x_is_offered(shared: Path):
    files = sorted((shared / "libero_x").rglob("*.bddl"))
    wanted = {entity.category for file in files for entity in tasks.load(str(file)).scene.entities}
    assert len(wanted) > 40 and wanted <= PACK.categories
