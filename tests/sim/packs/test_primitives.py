"""The built-in pack: complete for the built-in tasks, and with LIBERO's frames, masses, joints and surfaces."""

from __future__ import annotations

import copy
import gzip
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.errors import AssetError
from assay.sim.categories import GLOWING, OPENING, SWITCHING, VARIANTS, resting_pose
from assay.sim.compile import CompiledScene, bounding_box, compile_scene
from assay.sim.layout import HOME, LAYOUTS
from assay.sim.packs.pack import SHAPES, AssetPack
from assay.sim.simulation import Simulation
from assay.sim.states import stored_state
from assay.tasks.formats import libero_pro
from assay.tasks.formats.init_files import read_states
from assay.tasks.scene import Arena, Scene

PACK = AssetPack()
OBJECTS = sorted(PACK.categories - PACK.fixtures)
PLACEMENT_SITES = {"bottom_site", "top_site", "horizontal_radius_site"}
Compile = Callable[[str], CompiledScene]


def compile_alone(root: Element) -> mujoco.MjModel:
    for tag in ("compiler", "size", "option"):
        for section in root.findall(tag):
            root.remove(section)
    SubElement(root, "compiler", {"angle": "radian", "inertiagrouprange": "0 0"})
    options = {"timestep": "0.002", "impratio": "20", "cone": "elliptic", "density": "1.2"}
    SubElement(root, "option", options | {"viscosity": "0.00002"})
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def strip_drawn(root: Element) -> Element:
    """Remove meshes, textures and everything else that does not collide."""
    for asset in root.findall("asset"):
        root.remove(asset)
    for parent in list(root.iter()):
        for child in list(parent):
            child.attrib.pop("material", None)
            is_drawn = child.get("group") == "1" or child.get("class") in {"microwave", "slidecabinet"}
            if child.tag == "region" or child.get("mesh") or (child.tag == "geom" and is_drawn):
                parent.remove(child)
    return root


def libero_counterpart(shared: Path, category: str) -> mujoco.MjModel | None:
    assets = shared / "libero" / "assets"
    files = [
        *assets.glob(f"articulated_objects/{category}.xml"),
        *assets.glob(f"*_objects/{category}/{category}.xml"),
    ]
    return compile_alone(strip_drawn(ElementTree.parse(files[0]).getroot())) if files else None


def solid_bounds(model: mujoco.MjModel) -> np.ndarray:
    """Lower and upper corner of the colliding geoms in the object's frame, metres, (2, 3)."""
    model.body("object").pos[:], model.body("object").quat[:] = 0.0, (1.0, 0.0, 0.0, 0.0)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return np.array(bounding_box(model, data, np.flatnonzero(model.geom_group == 0)))


def names(model: mujoco.MjModel, kind: str) -> list[str]:
    count = {"joint": model.njnt, "body": model.nbody, "site": model.nsite, "actuator": model.nu}[kind]
    return [getattr(model, kind)(index).name for index in range(count)]


def movable_body(category: str, name: str) -> Element:
    """An object's colliding parts on a free joint."""
    body = strip_drawn(PACK.entity(category)).find("worldbody/body/body")
    assert body is not None
    for site in body.findall("site"):
        body.remove(site)
    body.set("name", name)
    SubElement(body, "freejoint")
    return body


def test_every_category_and_arena_of_the_tasks_and_releases_is_offered(shared: Path):
    for task in tasks.resolve("all"):
        assert {entity.category for entity in task.scene.entities} <= PACK.categories
        PACK.arena(task.scene.arena, "")
    replacements = {row.new for row in libero_pro.exchanges(shared / "libero_pro", libero_pro.CATEGORIES)}
    assert len(replacements) > 20 and replacements <= PACK.categories
    files = sorted((shared / "libero_x").rglob("*.bddl"))
    libero_x = {entity.category for file in files for entity in tasks.load(str(file)).scene.entities}
    assert len(libero_x) > 40 and libero_x <= PACK.categories
    assert set(SHAPES) <= PACK.categories


def test_entities_have_the_layout_that_the_composer_expects():
    for category in sorted(PACK.categories):
        root = PACK.entity(category)
        frame = root.find("./worldbody/body")
        assert root.tag == "mujoco" and frame is not None
        assert frame.find("body[@name='object']") is not None
        assert root.find(".//freejoint") is None and root.find(".//joint[@type='free']") is None
        assert {site.get("name") for site in frame.findall("site")} == PLACEMENT_SITES
        model = compile_alone(root)
        solid = model.geom_group == 0
        assert solid.any() and not solid.all() and set(model.geom_group) == {0, 1}
        assert not model.geom_contype[~solid].any() and not model.geom_conaffinity[~solid].any()


def test_rendered_meshes_match_the_colliding_boxes():
    for category in OBJECTS:
        model = compile_alone(PACK.entity(category))
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        vertices = []
        for geom in np.flatnonzero(model.geom_group == 1):
            mesh = model.geom_dataid[geom]
            start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
            points = model.mesh_vert[start : start + count]
            vertices.append(data.geom_xpos[geom] + points @ data.geom_xmat[geom].reshape(3, 3).T)
        points = np.concatenate(vertices)
        low, high = solid_bounds(model)
        assert np.abs(points.min(axis=0) - low).max() < 0.005, category
        assert np.abs(points.max(axis=0) - high).max() < 0.0055, category


def test_unknown_categories_and_styles_are_refused():
    message = "'primitives' has no category 'wooden_cabnet': did you mean 'wooden_cabinet'"
    with pytest.raises(AssetError, match=message):
        PACK.entity("wooden_cabnet")
    with pytest.raises(AssetError, match="'kitchen' in only one style, not as 'blue'"):
        PACK.arena(Arena.KITCHEN, "blue")


def test_a_plugin_folder_needs_only_its_own_objects(tmp_path: Path):
    file = tmp_path / "objects" / "tea_tin.xml"
    file.parent.mkdir()
    file.write_text(PACK.files["alphabet_soup"].read_text())
    pack = AssetPack("tea", tmp_path)
    assert pack.categories == {"tea_tin"} and not pack.fixtures
    compile_alone(pack.entity("tea_tin"))
    assert pack.part("robot/arm.xml").get("model") == PACK.part("robot/arm.xml").get("model")
    before = pack.digest()
    file.write_text("<mujoco>")
    with pytest.raises(AssetError, match=r"tea_tin\.xml is not well-formed XML"):
        pack.entity("tea_tin")
    file.write_text("<mujoco/>")
    assert AssetPack("tea", tmp_path).digest() != before


def test_variants_keep_the_shape_and_behaviour_of_their_base():
    def colours(root: Element) -> np.ndarray:
        rows = [geom.get("rgba", "") for geom in root.iter("geom") if geom.get("group") == "1"]
        return np.array([[float(word) for word in row.split()] for row in rows])

    for category, variant in VARIANTS.items():
        file = PACK.files.get(variant.base) or PACK.folder / "templates" / f"{variant.base}.xml"
        root, base = PACK.entity(category), ElementTree.parse(file).getroot()
        ours, theirs = solid_bounds(compile_alone(root)), solid_bounds(compile_alone(base))
        np.testing.assert_allclose(np.ptp(ours, axis=0), variant.size * np.ptp(theirs, axis=0), atol=1e-6)
        if variant.colour is not None:
            luminance = colours(base)[:, :3] @ [0.2126, 0.7152, 0.0722]
            assert colours(root)[luminance.argmax()][:3] == pytest.approx(variant.colour)
            if variant.dark is not None:
                assert colours(root)[luminance.argmin()][:3] == pytest.approx(variant.dark)
        for table in (OPENING, SWITCHING, GLOWING):
            assert table.get(category) == table.get(variant.base)
        if not category.startswith("desk_caddy"):
            assert resting_pose(category) == resting_pose(variant.base)


def test_libero_x_categories_have_the_size_of_the_release():
    sizes_mm = {
        "akita_green_bowl_interference_light_green_small": (85.7, 85.6, 40.4),
        "akita_blue_bowl_interference_dark_blue_large": (128.7, 128.4, 60.7),
        "white_bowl_interference_off_white_large": (97.5, 97.3, 41.4),
        "large_akita_black_bowl": (130.1, 129.9, 61.4),
        "small_porcelain_mug": (74.8, 57.8, 63.6),
        "navy_speckle_book": (28.7, 110.4, 134.4),
    }
    for category, size in sizes_mm.items():
        low, high = solid_bounds(compile_alone(PACK.entity(category)))
        assert 1000 * (high - low) == pytest.approx(size, abs=4.0), category


def test_outline_mass_and_sites_of_objects_are_liberos(shared: Path):
    compared = 0
    for category in sorted(set(OBJECTS) & PACK.files.keys()):
        theirs = libero_counterpart(shared, category)
        if theirs is None:
            continue
        compared += 1
        ours = compile_alone(strip_drawn(PACK.entity(category)))
        assert np.abs(solid_bounds(ours) - solid_bounds(theirs)).max() < 0.0025, category
        our_body, their_body = ours.body("object"), theirs.body("object")
        mass, their_mass = ours.body_subtreemass[our_body.id], theirs.body_subtreemass[their_body.id]
        assert mass == pytest.approx(their_mass, rel=0.1), category
        if category != "new_salad_dressing":  # LIBERO's file declares a misplaced inertia
            assert np.linalg.norm(our_body.ipos - their_body.ipos) < 0.006, category
        assert set(names(ours, "site")) == set(names(theirs, "site")), category
        for name in names(theirs, "site"):
            mine, other = ours.site(name), theirs.site(name)
            assert mine.pos == pytest.approx(other.pos, abs=1e-4)
            assert mine.size == pytest.approx(other.size, abs=1e-4)
            assert abs(mine.quat @ other.quat) == pytest.approx(1.0, abs=1e-4)
    assert compared > 25


def test_joints_bodies_and_regions_of_fixtures_are_liberos(shared: Path):
    compared = 0
    for category in sorted(PACK.fixtures & PACK.files.keys()):
        theirs = libero_counterpart(shared, category)
        if theirs is None:
            continue
        compared += 1
        ours = compile_alone(PACK.entity(category))
        assert names(ours, "joint") == names(theirs, "joint")
        assert set(names(theirs, "body")) <= set(names(ours, "body"))
        assert set(names(theirs, "site")) == set(names(ours, "site"))
        joint_fields = ("type", "axis", "pos", "range", "limited", "qposadr")
        dof_fields = ("damping", "armature", "frictionloss", "M0")
        for field in (*(f"jnt_{name}" for name in joint_fields), *(f"dof_{name}" for name in dof_fields)):
            np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), atol=1e-6, err_msg=field)
        here, there = mujoco.MjData(ours), mujoco.MjData(theirs)
        for share in (0.0, 0.8):
            here.qpos[:] = there.qpos[:] = share * np.sum(theirs.jnt_range, axis=1)
            mujoco.mj_forward(ours, here)
            mujoco.mj_forward(theirs, there)
            for name in names(theirs, "site"):
                mine, other = here.site(name), there.site(name)
                np.testing.assert_allclose(mine.xpos, other.xpos, atol=2e-6, err_msg=name)
                if name not in PLACEMENT_SITES:
                    np.testing.assert_allclose(mine.xmat, other.xmat, atol=2e-5)
                    np.testing.assert_allclose(ours.site(name).size, theirs.site(name).size, atol=1e-6)
    assert compared >= 8


def test_fixtures_stay_put_and_their_parts_move_freely():
    for category in sorted(PACK.fixtures):
        model = compile_alone(PACK.entity(category))
        data = mujoco.MjData(model)
        for joint in range(model.njnt):
            for position in np.linspace(*model.jnt_range[joint], 25):
                data.qpos[:] = 0.0
                data.qpos[joint] = position
                mujoco.mj_forward(model, data)
                assert not data.ncon, f"{category}: {model.joint(joint).name} at {position:.3f}"
        data.qpos[:] = half_open = 0.5 * np.sum(model.jnt_range, axis=1)
        data.qvel[:] = 0.0
        mujoco.mj_step(model, data, 300)
        np.testing.assert_allclose(data.qpos, half_open, atol=1e-5, err_msg=category)


@pytest.mark.parametrize("category", ["wooden_cabinet", "white_cabinet"])
@pytest.mark.parametrize("level", ["top", "middle", "bottom"])
def test_a_drawer_keeps_a_ball_that_is_dropped_into_it_while_it_closes(category: str, level: str):
    root = PACK.entity(category)
    ball = SubElement(root.find("worldbody"), "body", {"name": "ball"})  # type: ignore[arg-type]
    SubElement(ball, "freejoint", {"name": "ball"})
    SubElement(ball, "geom", {"size": "0.015", "mass": "0.03", "group": "0"})
    model = compile_alone(root)
    data = mujoco.MjData(model)
    drawer = data.joint(f"{level}_level")
    drawer.qpos[0] = -0.15
    mujoco.mj_forward(model, data)
    data.joint("ball").qpos[:3] = data.site(f"{level}_region").xpos + (0.0, -0.05, 0.05)
    mujoco.mj_step(model, data, 500)
    for push in (0.0, 15.0):
        drawer.qfrc_applied[0] = push
        mujoco.mj_step(model, data, 1000)
        region = data.site(f"{level}_region")
        offset = region.xmat.reshape(3, 3).T @ (data.body("ball").xpos - region.xpos)
        assert (np.abs(offset) < model.site(f"{level}_region").size).all()
    assert drawer.qpos[0] == pytest.approx(0.01, abs=0.002), "it is closed"


def test_the_arm_touches_itself_only_when_it_is_folded():
    model = compile_scene(Scene(Arena.TABLE, (), (), (), ()), PACK).model
    data, grip = mujoco.MjData(model), model.site("gripper0_grip_site").id
    fingers = ("gripper0_leftfinger", "gripper0_rightfinger", "gripper0_finger_joint")

    def touching(angles: np.ndarray) -> set[str]:
        data.qpos[:7], data.qpos[7:9] = angles, (0.04, -0.04)
        mujoco.mj_fwdPosition(model, data)
        bodies = model.geom_bodyid[data.contact.geom[: data.ncon]]
        pairs = [[model.body(body).name for body in pair] for pair in bodies]
        robot = [pair for pair in pairs if all(name.startswith(("robot0_", "gripper0_")) for name in pair)]
        return {name for pair in robot for name in pair if not name.startswith(fingers)}

    rng, poses = np.random.default_rng(1), 0
    low, high = model.jnt_range[:7].T
    base = np.array(LAYOUTS[Arena.TABLE].robot)
    for _ in range(1500):
        angles = np.clip(HOME + rng.uniform(-1, 1, 7) * (1.0, 0.8, 0.8, 0.7, 0.8, 0.8, 1.5), low, high)
        touched = touching(angles)
        x, y, z = data.site_xpos[grip] - base
        if 0.3 < x < 0.8 and abs(y) < 0.45 and 0.9 < z < 1.4 and data.site_xmat[grip, 8] < -0.7:
            poses += 1
            assert not touched, angles.tolist()
    assert poses > 50, "enough poses in the workspace"
    assert touching(np.array([0.0, -0.5, 0.0, -3.0, 0.0, 0.5, 0.0]))


def test_objects_come_to_rest_where_they_are_dropped():
    for category in OBJECTS:
        root = Element("mujoco")
        world = SubElement(root, "worldbody")
        SubElement(world, "geom", {"type": "box", "size": "1 1 0.1", "pos": "0 0 -0.1"})
        world.append(movable_body(category, "dropped"))
        model = compile_alone(root)
        data = mujoco.MjData(model)
        data.qpos[3:] = resting_pose(category).tilt
        mujoco.mj_kinematics(model, data)
        low, _ = bounding_box(model, data, np.flatnonzero(model.geom_bodyid > 0))
        data.qpos[2] += 0.02 - low[2]
        mujoco.mj_kinematics(model, data)
        place, frame = data.xpos[1].copy(), data.xmat[1].reshape(3, 3).copy()
        mujoco.mj_step(model, data, 400)
        assert np.linalg.norm(data.xpos[1] - place + (0.0, 0.0, 0.02)) < 0.005, category
        assert (data.xmat[1].reshape(3, 3) @ frame.T)[2, 2] > np.cos(np.radians(3.0)), category


def test_the_robot_has_liberos_kinematics_masses_and_actuators(compiled: Compile, reference: Path):
    text = gzip.decompress((reference / "composed" / "libero_goal_00.xml.gz").read_bytes())
    scene = ElementTree.fromstring(text)
    base, actuators = scene.find("./worldbody/body[@name='robot0_base']"), scene.find("actuator")
    assert base is not None and actuators is not None
    root = Element("mujoco")
    SubElement(root, "worldbody").append(copy.deepcopy(base))
    root.append(actuators)
    theirs, ours = compile_alone(strip_drawn(root)), compiled("libero_goal/0").model
    for kind in ("joint", "actuator"):
        assert names(ours, kind)[:9] == names(theirs, kind)
    for kind in ("body", "site"):
        assert set(names(theirs, kind)) <= set(names(ours, kind))
    joint_fields = ("jnt_type", "jnt_range", "jnt_axis", "jnt_pos", "jnt_limited")
    dof_fields = ("dof_damping", "dof_armature", "dof_frictionloss")
    actuator_fields = ("ctrlrange", "forcerange", "ctrllimited", "forcelimited", "gainprm", "biasprm", "gear")
    for field in (*joint_fields, *dof_fields, *(f"actuator_{name}" for name in actuator_fields)):
        mine, other = getattr(ours, field)[:9], getattr(theirs, field)[:9]
        np.testing.assert_allclose(mine, other, atol=1e-6, err_msg=field)
    for pad in ("gripper0_finger1_pad_collision", "gripper0_finger2_pad_collision"):
        for field in ("size", "friction", "solref", "contype", "conaffinity"):
            np.testing.assert_allclose(getattr(ours.geom(pad), field), getattr(theirs.geom(pad), field))
    rng = np.random.default_rng(0)
    for angles in (HOME, *(HOME + rng.uniform(-0.5, 0.5, size=(5, 7)))):
        states, masses = [], []
        for model in (ours, theirs):
            data = mujoco.MjData(model)
            data.qpos[:9] = *angles, 0.04, -0.04
            mujoco.mj_forward(model, data)
            mass = np.zeros((model.nv, model.nv))
            mujoco.mj_fullM(model, mass, data.qM)
            states.append(data)
            masses.append(mass[:9, :9])
        here, there = states
        np.testing.assert_allclose(*masses, atol=1e-6)
        np.testing.assert_allclose(here.qfrc_bias[:9], there.qfrc_bias, atol=1e-6)
        origin = here.body("robot0_base").xpos - there.body("robot0_base").xpos
        for kind, name in (("site", "gripper0_grip_site"), ("cam", "robot0_eye_in_hand")):
            mine, other = getattr(here, kind)(name), getattr(there, kind)(name)
            np.testing.assert_allclose(mine.xpos - origin, other.xpos, atol=1e-9)
            np.testing.assert_allclose(mine.xmat, other.xmat, atol=1e-9)


WORKSPACES = {
    Arena.TABLE: ("table", 0.9, "reference/composed/libero_goal_00.xml.gz"),
    Arena.KITCHEN: ("table", 0.9, "reference/composed/libero_10_02.xml.gz"),
    Arena.LIVING_ROOM: ("living_room_table", 0.43676, "reference/composed/libero_10_00.xml.gz"),
    Arena.STUDY: ("study_table", 0.88513, "assets/scenes/libero_study_base_style.xml"),
    Arena.FLOOR: ("floor", 0.0, "reference/composed/libero_object_00.xml.gz"),
    Arena.COFFEE_TABLE: ("coffee_table", 0.424, "assets/scenes/libero_coffee_table_base_style.xml"),
}
"""Body of the workspace, height of its surface in metres, and LIBERO's file."""


def find_surface(model: mujoco.MjModel, x: float, y: float) -> tuple[float, int]:
    """Height and id of the topmost colliding geom at (x, y)."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    hits, groups = [], np.array([1, 0, 0, 0, 0, 0], np.uint8)
    start, down = np.array([x, y, 2.0]), np.array([0.0, 0.0, -1.0])
    for geom in np.flatnonzero(model.geom_contype):
        model.geom_group[:] = 5
        model.geom_group[geom] = 0
        distance = mujoco.mj_ray(model, data, start, down, groups, 1, -1, np.zeros(1, np.int32))
        if distance >= 0:
            hits.append((2.0 - distance, int(geom)))
    return max(hits)


def test_arenas_have_liberos_workspaces_and_no_colliding_furniture(shared: Path):
    looks = set()
    for arena, (body, height, file) in WORKSPACES.items():
        ours = compile_alone(PACK.arena(arena, ""))
        raw = (shared / "libero" / file).read_bytes()
        source = ElementTree.fromstring(gzip.decompress(raw) if file.endswith(".gz") else raw)
        root = Element("mujoco")
        parts = [part for part in source.iterfind("./worldbody/*") if part.get("name") in {body, "floor"}]
        SubElement(root, "worldbody").extend(parts)
        for parent in list(root.iter()):
            for element in parent.findall("geom"):
                element.attrib.pop("material", None)
                if element.get("type") == "mesh":
                    parent.remove(element)
        theirs = compile_alone(root)
        for solid in np.flatnonzero(ours.geom_contype | ours.geom_conaffinity):
            owner = ours.body(ours.geom_bodyid[solid]).name
            assert owner == body or ours.geom(solid).name == "floor", ours.geom(solid).name
        for x, y in ((0.0, 0.0), (-0.3, 0.25), (0.15, -0.3)):
            (z, geom), (their_z, their_geom) = find_surface(ours, x, y), find_surface(theirs, x, y)
            assert z == pytest.approx(height, abs=1e-6) and z == pytest.approx(their_z, abs=1e-4)
            assert ours.body(ours.geom_bodyid[geom]).name == body
            for field in ("friction", "solref", "solimp", "condim"):
                mine, other = getattr(ours, f"geom_{field}"), getattr(theirs, f"geom_{field}")
                np.testing.assert_allclose(mine[geom], other[their_geom], err_msg=field)
        cameras = {ours.cam(index).name for index in range(ours.ncam)}
        assert {"frontview", "birdview", "agentview", "sideview"} <= cameras
        # Shadows and mirrors would make software GL render the scene several times.
        assert not ours.light_castshadow.any() and not ours.mat_reflectance.any()
        looks.add((*ours.geom("wall_rear_visual").rgba.round(2), *ours.tex_data[ours.tex_adr[1] :][:9]))
    assert len(looks) == len(Arena)


def test_stacked_objects_rest_as_high_as_liberos():
    heights_mm = [
        ("akita_black_bowl", "glazed_rim_porcelain_ramekin", 31.6, 1.0),
        ("akita_black_bowl", "cookies", 7.8, 0.5),
        ("akita_black_bowl", "plate", 3.8, 0.5),
        ("akita_black_bowl", "akita_black_bowl", 16.2, 3.5),
        ("cream_cheese", "akita_black_bowl", 41.4, 3.0),
        ("porcelain_mug", "plate", 3.2, 2.0),
        ("white_yellow_mug", "plate", 6.4, 2.0),
        ("red_coffee_mug", "plate", 8.7, 1.0),
    ]
    for upper, lower, height, tolerance in heights_mm:
        root = Element("mujoco")
        world = SubElement(root, "worldbody")
        table = {"type": "box", "size": "2 2 0.1", "pos": "0 0 -0.1", "friction": "0.6 0.005 0.0001"}
        SubElement(world, "geom", table)
        world.extend([movable_body(lower, "lower"), movable_body(upper, "upper")])
        model = compile_alone(root)
        below, above = (
            np.flatnonzero(model.geom_bodyid == model.body(name).id) for name in ("lower", "upper")
        )
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        data.qpos[2] -= bounding_box(model, data, below)[0][2]
        mujoco.mj_kinematics(model, data)
        data.qpos[9] += (
            bounding_box(model, data, below)[1][2] - bounding_box(model, data, above)[0][2] + 0.002
        )
        mujoco.mj_step(model, data, 750)
        assert np.abs(data.qvel).max() < 0.05
        assert 1e3 * (data.qpos[9] - data.qpos[2]) == pytest.approx(height, abs=tolerance), (upper, lower)


def idle(simulation: Simulation, shared: Path, task: str, state: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the objects in a stored state and after 20 idle steps, (objects, 3) each."""
    scene = simulation.compiled
    suite, _ = task.split("/")
    file = (shared / "libero" / "init" / suite / str(tasks.entry(task).file)).with_suffix(".pruned_init")
    bodies = [entity.body for entity in scene.entities.values() if entity.movable]
    simulation.reset(stored_state(scene, read_states(file)[state], file))
    before = simulation.data.xpos[bodies].copy()
    for _ in range(20):
        simulation.step(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]))
    return before, simulation.data.xpos[bodies].copy()


def test_stored_states_with_overlapping_objects_come_apart_gently(compiled: Compile, shared: Path):
    overlapping = {
        "libero_spatial/0": (2, 18, 29),
        "libero_spatial/8": (4, 5, 46),
        "libero_10/1": (5, 22),
        "libero_10/6": (14, 42),
    }
    for task, states in overlapping.items():
        simulation = Simulation(compiled(task))
        for state in states:
            before, after = idle(simulation, shared, task, state)
            assert np.linalg.norm((after - before)[:, :2], axis=1).max() < 0.12
            assert np.abs((after - before)[:, 2]).max() < 0.10


def test_objects_of_a_stored_state_fall_to_where_liberos_do(
    compiled: Compile, compiled_libero: Compile, shared: Path
):
    for task in ("libero_spatial/0", "libero_object/4", "libero_goal/0", "libero_10/0"):
        _, ours = idle(Simulation(compiled(task)), shared, task, 0)
        _, theirs = idle(Simulation(compiled_libero(task)), shared, task, 0)
        assert np.linalg.norm(ours - theirs, axis=1).max() < 0.005, task
