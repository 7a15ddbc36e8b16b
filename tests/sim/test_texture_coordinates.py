"""Patterns lie on every shape, and are nothing but looks."""

from __future__ import annotations

from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.perturb import apply_perturbations
from assay.perturb.world.objects import Recolour
from assay.sim.compile import compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import Simulation
from assay.sim.texture_coordinates import wrap
from assay.tasks import Entity
from assay.tasks.scene import Finish, Pattern

SHAPES = """
<mujoco><asset/><worldbody><body name="b">
  <geom name="box" type="box" size="0.03 0.04 0.05" {drawn}/>
  <geom name="cylinder" type="cylinder" size="0.04 0.06" pos="0.2 0 0" {drawn}/>
  <geom name="rod" type="capsule" size="0.02" fromto="0.4 0 0 0.4 0.1 0.1" {drawn}/>
  <geom name="ball" type="sphere" size="0.05" pos="0 0.3 0" {drawn}/>
  <geom name="egg" type="ellipsoid" size="0.03 0.04 0.05" pos="0.2 0.3 0" {drawn}/>
  <geom name="solid" type="box" size="0.03 0.04 0.05" group="1"/>
</body></worldbody></mujoco>
""".format(drawn='group="1" contype="0" conaffinity="0"')


def test_solids_become_meshes_of_their_size_and_place_and_what_collides_stays():
    root = ElementTree.fromstring(SHAPES)
    before = mujoco.MjModel.from_xml_string(SHAPES)
    geoms = list(root.iter("geom"))
    assert [each.get("name") for each in wrap(root, geoms)] == ["box", "cylinder", "rod", "ball", "egg"]
    after = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    boxes = []
    for model in (before, after):
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        half = np.abs(data.geom_xmat.reshape(-1, 3, 3)) @ model.geom_aabb[:, 3:, None]
        shift = data.geom_xmat.reshape(-1, 3, 3) @ model.geom_aabb[:, :3, None]
        boxes.append(np.hstack([data.geom_xpos + shift[..., 0], half[..., 0]]))
    np.testing.assert_allclose(boxes[1][[0, 1, 3, 4, 5]], boxes[0][[0, 1, 3, 4, 5]], atol=2e-3)
    np.testing.assert_allclose(boxes[1][2, :3], boxes[0][2, :3], atol=2e-3)
    assert after.geom("solid").type == mujoco.mjtGeom.mjGEOM_BOX
    assert all(after.mesh_texcoordadr >= 0) and after.nmesh == 5


def test_a_pattern_closes_around_what_is_round():
    """A whole number of tiles goes around a cylinder, and each side of it covers as much of the picture."""
    root = ElementTree.fromstring(SHAPES)
    wrap(root, list(root.iter("geom")))
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    mesh = int(model.geom_dataid[model.geom("cylinder").id])
    first, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    start = int(model.mesh_texcoordadr[mesh])
    u = model.mesh_texcoord[start + model.mesh_facetexcoord[first : first + count], 0]
    points = model.mesh_vert[int(model.mesh_vertadr[mesh]) + model.mesh_face[first : first + count]]
    side = np.ptp(points[..., 2], axis=1) > 0.1
    widths = np.ptp(u[side], axis=1)
    np.testing.assert_allclose(widths, widths[0], rtol=1e-3)
    around = widths[0] * side.sum() / 2
    assert around == pytest.approx(round(around), abs=1e-3) and around >= 2


def test_a_pattern_changes_nothing_that_moves(primitives: AssetPack):
    task, pattern = tasks.load("libero_goal/1"), Pattern.SPECKLES
    states = []
    for change in (
        (),
        (
            Recolour((0.9, 0.1, 0.1), pattern, "akita_black_bowl_1"),
            Recolour(thing="wine_rack_1", pattern=pattern),
        ),
    ):
        world = Simulation(compile_scene(apply_perturbations(task, change, seed=0).scene, primitives))
        world.reset(world.sample(3))
        for step in range(4):
            world.step(np.array([0.3, -0.2, -0.5, 0.0, 0.1 * step, 0.0, -1.0]))
        states.append(world.state().vector)
        world.close()
    assert np.array_equal(*states)


def test_textures_are_painted_in_two_colours(primitives: AssetPack):
    thing = Entity("cube_1", "cube", Finish((0.1, 0.1, 0.6), Pattern.CHECKER))
    from assay.sim.footprints import resting_model

    model, _ = resting_model(primitives, thing)
    index = model.texture("finish_pattern_checker").id
    picture = model.tex_data[int(model.tex_adr[index]) :].reshape(-1, 3)[: 128 * 128]
    colours, counts = np.unique(picture, axis=0, return_counts=True)
    assert len(colours) == 2 and counts[0] == counts[1]
