"""Compile a Scene into a MuJoCo model, with an index of its entities and regions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from assay.errors import AssetError, TaskError, did_you_mean
from assay.sim.appearance import paint
from assay.sim.categories import MECHANISMS, Mechanism
from assay.sim.compose import compose
from assay.sim.layout import HOME, ArenaLayout, layout_of
from assay.sim.packs.pack import AssetPack
from assay.sim.texture_coordinates import parse_numbers
from assay.tasks.scene import Entity, Predicate, Scene


@dataclass(frozen=True, slots=True)
class EntityIndex:
    """Ids of an entity's body, joints and geoms in the compiled model."""

    name: str
    category: str
    movable: bool
    body: int
    """Id of the entity's root body."""
    joints: tuple[int, ...]
    """Ids of all joints of the entity; the free joint of a movable entity comes last."""
    inner_joints: tuple[int, ...]
    """Ids of the joints of the entity's drawers, doors and knobs."""
    geoms: frozenset[int]
    """Ids of the entity's collision geoms."""
    bottom: float
    """Height (z) of the lowest point of the entity in its resting pose, in metres, in the entity's frame."""
    radius: float
    """Radius of the footprint of the entity in its resting pose, in metres."""


@dataclass(frozen=True, slots=True)
class RegionIndex:
    """Ids of a region's site and joints in the compiled model."""

    name: str
    site: int
    half: tuple[float, float, float]
    """Half-lengths of the region's box in the site's frame, in metres."""
    parent: str | None
    """The entity that the region belongs to; None for a region of the workspace."""
    inner_joints: tuple[int, ...]
    """Ids of the joints of the region's body, such as the slide joint of a drawer."""


@dataclass(frozen=True, slots=True)
class CompiledScene:
    """A scene compiled into one MuJoCo model."""

    scene: Scene
    pack: str
    """Name of the asset pack with which the scene was compiled."""
    exact: bool
    """Whether a simulation step makes exactly the solver calls that LIBERO makes."""
    model: mujoco.MjModel
    """The compiled model. It is never modified: simulations and renderers use copies."""
    entities: Mapping[str, EntityIndex]
    regions: Mapping[str, RegionIndex]
    layout: ArenaLayout
    """Poses of the workspace, the robot and the cameras."""
    home: tuple[float, ...]
    """The arm's initial joint angles, in radians, which are also the controller's null-space target."""
    fixture_bodies: tuple[int, ...]
    """Ids of the fixtures' root bodies, in the scene's order."""
    fixture_poses: np.ndarray
    """Default poses of the fixtures in the asset files, (fixtures, 7)."""
    state_size: int
    """Length of a state vector: time, qpos and qvel."""

    def mechanism(
        self, predicate: Predicate, name: str
    ) -> tuple[EntityIndex, tuple[int, ...], Mechanism] | None:
        """Return the entity, joint ids and mechanism to which a predicate such as Open applies.

        ``name`` is that of an entity or a region. Returns None if the entity's category has no such mechanism.
        """
        region = self.regions.get(name)
        entity = self.entities.get(name if region is None else region.parent or "")
        mechanism = None if entity is None else MECHANISMS[predicate][0].get(entity.category)
        if entity is None or mechanism is None:
            return None
        return entity, entity.inner_joints if region is None else region.inner_joints, mechanism


def compile_scene(scene: Scene, pack: AssetPack) -> CompiledScene:
    """Compile a scene from the assets in a pack. Raises AssetError or TaskError."""
    document = compose(scene, pack)
    files = [str(asset.get("file")) for asset in document.iterfind("./asset/*[@file]")]
    missing = sorted({file for file in files if not Path(file).is_file()})
    if missing:
        raise AssetError(f"the {pack.name} pack lacks files that the scene needs: {', '.join(missing)}")
    try:
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(document, encoding="unicode"))
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise AssetError(f"the assets of the {pack.name} pack do not compile: {reason}") from None
    paint(model, document)
    entities = {entity.name: _entity_index(model, pack, entity) for entity in scene.entities}
    regions = {}
    for region in scene.regions:
        site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, region.full_name)
        if site >= 0:
            parent = region.target if region.target in entities else None
            body = int(model.site_bodyid[site])
            first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
            joints = tuple(
                joint
                for joint in range(first, first + count if parent is not None else first)
                if model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE
            )
            x, y, z = map(float, model.site_size[site])
            regions[region.full_name] = RegionIndex(region.full_name, site, (x, y, z), parent, joints)
        elif region.target in entities:
            prefix = f"{region.target}_"
            sites = [model.site(i).name for i in range(model.nsite)]
            offered = [name for name in sites if name.startswith(prefix) and "default_site" not in name]
            raise TaskError(
                f"the {pack.name} pack's {entities[region.target].category} has no region "
                f"'{region.name}' (full name '{region.full_name}'): {did_you_mean(region.full_name, offered)}"
            )
    bodies = tuple(entities[fixture.name].body for fixture in scene.fixtures)
    return CompiledScene(
        scene=scene,
        pack=pack.name,
        exact=pack.exact,
        model=model,
        entities=entities,
        regions=regions,
        layout=layout_of(scene),
        home=tuple(angle + offset for angle, offset in zip(HOME, scene.staging.robot.joints, strict=True)),
        fixture_bodies=bodies,
        fixture_poses=np.hstack([model.body_pos[list(bodies)], model.body_quat[list(bodies)]]),
        state_size=1 + int(model.nq) + int(model.nv),
    )


def put_fixtures(model: mujoco.MjModel, compiled: CompiledScene, poses: np.ndarray) -> None:
    """Write the fixtures' poses, (fixtures, 7), into a copy of the compiled model."""
    bodies = list(compiled.fixture_bodies)
    model.body_pos[bodies], model.body_quat[bodies] = poses[:, :3], poses[:, 3:]


def live_fixtures(model: mujoco.MjModel, compiled: CompiledScene) -> np.ndarray:
    """Return the current poses of the fixtures in a copy of the compiled model, (fixtures, 7)."""
    bodies = list(compiled.fixture_bodies)
    return np.hstack([model.body_pos[bodies], model.body_quat[bodies]])


def _entity_index(model: mujoco.MjModel, pack: AssetPack, entity: Entity) -> EntityIndex:
    """Look up an entity's body, joints and geoms. Raises AssetError if the site that defines its size is missing."""
    root = model.body(f"{entity.name}_main").id
    bodies = {root}
    for body in range(root + 1, model.nbody):  # parents come before their children
        if int(model.body_parentid[body]) in bodies:
            bodies.add(body)
    joints = [j for j in range(model.njnt) if int(model.jnt_bodyid[j]) in bodies]
    free = tuple(j for j in joints if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE)
    inner = tuple(j for j in joints if j not in free)
    document = pack.entity(entity.category)
    sites = {site.get("name"): site for site in document.iterfind("./worldbody/body/site")}
    for name in ("bottom_site", "horizontal_radius_site"):
        if name not in sites:
            raise AssetError(f"the {pack.name} pack's {entity.category} has no site '{name}'")
    return EntityIndex(
        name=entity.name,
        category=entity.category,
        movable=bool(free),
        body=root,
        joints=inner + free,
        inner_joints=inner,
        geoms=frozenset(
            g for g in range(model.ngeom) if int(model.geom_bodyid[g]) in bodies and model.geom_group[g] == 0
        ),
        bottom=float(parse_numbers(sites["bottom_site"].get("pos", "0 0 0"))[2]) * entity.size,
        radius=float(parse_numbers(sites["horizontal_radius_site"].get("pos", "0 0 0"))[0]) * entity.size,
    )


def bounding_box(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: Iterable[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the axis-aligned bounding box of geoms in the world: lower and upper corners, each (3,)."""
    low, high = geom_boxes(model, data, geoms).bounds
    return low.min(axis=0), high.max(axis=0)


@dataclass(frozen=True, slots=True)
class Boxes:
    """Oriented boxes in the world, in metres."""

    centre: np.ndarray
    """Centres of the boxes, (n, 3)."""
    axes: np.ndarray
    """Axes of each box as columns, (n, 3, 3)."""
    half: np.ndarray
    """Half-lengths along the axes, (n, 3)."""

    def transform(self, position: np.ndarray, rotation: np.ndarray) -> Boxes:
        """Return the boxes rotated about the origin by ``rotation`` (3, 3) and then translated by ``position`` (3,)."""
        return Boxes(self.centre @ rotation.T + position, rotation @ self.axes, self.half)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corners of the axis-aligned bounding box of each box, each (n, 3)."""
        reach = np.einsum("nij,nj->ni", np.abs(self.axes), self.half)
        return self.centre - reach, self.centre + reach


def geom_boxes(model: mujoco.MjModel, data: mujoco.MjData, geoms: Iterable[int]) -> Boxes:
    """Return the oriented bounding boxes of geoms in their current poses."""
    ids = np.fromiter(geoms, dtype=np.intp)
    rotation = data.geom_xmat[ids].reshape(-1, 3, 3)
    centre = data.geom_xpos[ids] + np.einsum("nij,nj->ni", rotation, model.geom_aabb[ids, :3])
    return Boxes(centre, rotation, model.geom_aabb[ids, 3:])
