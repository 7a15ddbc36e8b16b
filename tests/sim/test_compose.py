from __future__ import annotations

import gzip
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.sim.compose import compose
from assay.sim.layout import LAYOUTS, REGION_HALF_HEIGHT
from assay.sim.packs.libero import LiberoPack
from assay.sim.packs.pack import AssetPack
from assay.tasks import Arena

REFERENCES = [
    *(f"libero_10_0{i}" for i in range(5)),
    "libero_goal_00",
    *(f"libero_object_0{i}" for i in range(5)),
    *(f"libero_spatial_0{i}" for i in range(5)),
]


def physics(document: Element) -> mujoco.MjModel:
    """The model of a document without what is only drawn: the same bodies, joints, masses and contacts."""
    for parent in list(document.iter()):
        for child in list(parent):
            drawn = child.tag == "geom" and child.get("group") == "1"
            solid = child.get("contype", "1") != "0" or child.get("conaffinity", "1") != "0"
            if drawn and not solid:
                parent.remove(child)
    used = {geom.get("mesh") for geom in document.iter("geom")}
    for asset in document.iterfind("asset"):
        for child in list(asset):
            if child.tag in ("texture", "material") or (
                child.tag == "mesh" and child.get("name") not in used
            ):
                asset.remove(child)
    for element in document.iter():
        element.attrib.pop("material", None)
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(document, encoding="unicode"))


def joints(model: mujoco.MjModel) -> list[tuple[str, int]]:
    """Name and type of every joint in the order of the state."""
    return [(model.joint(i).name, int(model.jnt_type[i])) for i in range(model.njnt)]


@pytest.mark.parametrize("task_id", tasks.all_ids())
def test_every_task_has_the_joints_regions_and_cameras_of_libero(
    task_id: str, libero: LiberoPack, primitives: AssetPack
):
    scene = tasks.load(task_id).scene
    theirs, ours = (physics(compose(scene, pack)) for pack in (libero, primitives))
    assert joints(ours) == joints(theirs)
    assert (ours.nq, ours.nv, ours.nu) == (theirs.nq, theirs.nv, theirs.nu)
    for region in scene.regions:
        # libero_goal has regions of a bowl drainer that is not there.
        if region.target in {scene.arena.workspace, *(entity.name for entity in scene.entities)}:
            assert theirs.site(region.full_name).type == ours.site(region.full_name).type
    for name in ("agentview", "robot0_eye_in_hand"):
        one, other = theirs.camera(name), ours.camera(name)
        assert np.allclose(one.pos, other.pos) and np.allclose(one.fovy, other.fovy), name
        assert np.allclose(one.quat, other.quat), name


@pytest.mark.parametrize("name", REFERENCES)
def test_a_composed_model_is_the_one_that_libero_composed(name: str, reference: Path, libero: LiberoPack):
    suite, _, index = name.rpartition("_")
    text = gzip.decompress((reference / "composed" / f"{name}.xml.gz").read_bytes()).decode()
    text = text.replace("LIBERO_ASSETS/", f"{libero.libero}/").replace(
        "ROBOSUITE_ASSETS/", f"{libero.robosuite}/"
    )
    theirs = ElementTree.fromstring(text)
    for compiler in theirs.iterfind("compiler"):
        compiler.attrib.pop("meshdir", None)
    theirs.set("model", "scene")
    theirs_model = physics(theirs)
    ours_model = physics(compose(tasks.load(f"{suite}/{int(index)}").scene, libero))
    fields = [each for each in dir(theirs_model) if not each.startswith("_")]
    arrays = [each for each in fields if isinstance(getattr(theirs_model, each), np.ndarray)]
    assert len(arrays) > 200
    differing = [
        each
        for each in arrays
        if not np.array_equal(getattr(theirs_model, each), getattr(ours_model, each), equal_nan=True)
    ]
    assert differing == []
    assert theirs_model.names == ours_model.names
    for part in ("opt", "stat"):
        one, other = getattr(theirs_model, part), getattr(ours_model, part)
        for each in dir(one):
            if not each.startswith("_") and not callable(getattr(one, each)):
                assert np.array_equal(getattr(one, each), getattr(other, each)), (part, each)
    assert theirs_model.vis.map.znear == ours_model.vis.map.znear


@pytest.mark.parametrize("arena", Arena)
def test_a_region_of_the_workspace_is_where_its_rectangle_says(arena: Arena, primitives: AssetPack):
    rectangle = tasks.Rectangle(0.02, -0.11, 0.08, 0.05)
    region = tasks.Region("spot", arena.workspace, (rectangle,))
    model = physics(compose(tasks.Scene(arena, (), (), (region,), ()), primitives))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    site = model.site(region.full_name)
    assert np.allclose(site.size, (0.03, 0.08, REGION_HALF_HEIGHT))
    x, y, z = data.site_xpos[site.id]
    surface = LAYOUTS[arena].offset
    assert (x - surface[0], y - surface[1]) == pytest.approx((0.05, -0.03))
    # Objects' origins are compared with this height: it must be near the surface that things stand on.
    # (LIBERO has the regions of its coffee table on the floor below it.)
    assert abs(z - (0.0 if arena is Arena.COFFEE_TABLE else surface[2])) < 0.06
