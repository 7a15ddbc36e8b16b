"""The primitives as an asset pack: complete for the built-in tasks, the same in every process."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree
from xml.etree.ElementTree import SubElement

import mujoco
import pytest

from assay.errors import AssetError
from assay.sim.packs.base import AssetPack
from assay.sim.packs.primitives import PrimitivesPack, fixtures, objects
from assay.sim.variants import VARIANTS
from assay.tasks import catalogue
from assay.tasks.scene import Arena

PACK = PrimitivesPack()


def test_pack_offers_objects_and_fixtures_and_no_category_twice() -> None:
    pack: AssetPack = PACK
    assert pack.name == "primitives"
    assert pack.exact is False
    families = (set(objects.BUILDERS), set(fixtures.BUILDERS), set(VARIANTS))
    assert pack.categories == set().union(*families)
    assert len(pack.categories) == sum(map(len, families))


def test_every_category_and_room_of_the_catalogue_is_offered() -> None:
    for id in catalogue.all_ids():
        scene = catalogue.load(id).scene
        assert {entity.category for entity in scene.entities} <= PACK.categories
        PACK.arena(scene.arena, "")


@pytest.mark.parametrize("category", sorted(PACK.categories))
def test_entity_has_the_layout_composers_rely_on(category: str) -> None:
    root = PACK.entity(category).root
    frame = root.find("./worldbody/body")
    assert root.tag == "mujoco" and frame is not None
    assert frame.find("body[@name='object']") is not None
    assert root.find(".//freejoint") is None and root.find(".//joint[@type='free']") is None
    sites = {site.get("name") for site in frame.findall("site")}
    assert sites == {"bottom_site", "top_site", "horizontal_radius_site"}
    for geom in root.iter("geom"):
        assert geom.get("group") in {"0", "1"}
        if geom.get("group") == "1":
            assert geom.get("contype") == geom.get("conaffinity") == "0"
    SubElement(root, "compiler", {"angle": "radian", "inertiagrouprange": "0 0"})
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    assert (model.geom_group == 0).any() and (model.geom_group == 1).any()


def test_parts_are_fresh_copies() -> None:
    first = PACK.entity("wooden_cabinet").root
    first.clear()
    assert PACK.entity("wooden_cabinet").root.find("worldbody") is not None
    for part in (PACK.robot, PACK.gripper, PACK.mount):
        assert part().root is not part().root
    assert PACK.arena(Arena.FLOOR, "").root is not PACK.arena(Arena.FLOOR, "").root


def test_digest_is_the_same_in_another_process() -> None:
    code = "from assay.sim.packs.primitives import PrimitivesPack; print(PrimitivesPack().digest())"
    command = [sys.executable, "-c", code]
    other = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert other.stdout.strip() == PACK.digest()
    assert len(PACK.digest()) == 64


def test_unknown_category_names_the_nearest_one() -> None:
    expected = "the asset pack 'primitives' has no category 'wooden_cabnet': did you mean 'wooden_cabinet'?"
    with pytest.raises(AssetError) as raised:
        PACK.entity("wooden_cabnet")
    assert str(raised.value) == expected


def test_unknown_style_is_refused() -> None:
    with pytest.raises(AssetError, match="one style only"):
        PACK.arena(Arena.TABLE, "warm")
