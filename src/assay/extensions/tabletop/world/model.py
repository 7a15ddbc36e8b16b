"""Build the MuJoCo model of a tabletop scene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.extensions.tabletop.world.scene import ConvexPiece, TableItem, TableScene, Tool
from assay.extensions.tabletop.world.textures import SIDE, SPAN, texture
from assay.sim.bare_mujoco import mujoco

TIMESTEP = {Tool.SUCTION: 0.005, Tool.SPATULA: 0.0025}
"""Simulation time step by tool, in seconds; pushed objects slip less with a finer step."""
VIEWS = ("front", "top")
"""The two cameras, in the order of the policy's observations."""
EXTENT = {"top": 0.510, "front": 0.509}
"""Height of the area covered by each camera's image, in metres; the width is twice as large."""
BLADE = np.array([0.0025, 0.025, 0.055])
"""Half sizes of the spatula's blade, in metres; it pushes along its x axis."""

TABLE_GROUP, SOLID_GROUP, FLAT_GROUP, HIDDEN_GROUP = 0, 1, 2, 3
_TABLE_CONTACT, _OBJECT_CONTACT, _BLADE_CONTACT = 1, 2, 4
"""Bits of the collision masks: contacts with the table, between objects, and with the blade."""
_MASS = {"small block": 0.02}
_FRICTION = {"small block": 0.5}
_CONTAINER_FRICTION = 0.3
_MIN_COSINE = 0.8
"""Minimum cosine of the angle between a face's normal and those vertex normals to which the face contributes."""
_NEGLIGIBLE = 1e-12
"""Length, in square metres, below which a sum of area-weighted face normals is treated as zero."""
_RIGID_REF, _RIGID_IMP = (0.01, 1.0), (0.98, 0.999, 0.001, 0.5, 2.0)
"""Solver parameters of the tool's grip, as stiff as the time step allows."""


@dataclass(frozen=True, slots=True, eq=False)
class TableModel:
    """A compiled scene, and the indices of its items in the model."""

    model: mujoco.MjModel
    bodies: np.ndarray
    """Body id of each item, (items,)."""
    velocities: np.ndarray
    """Indices of the linear velocities of all items that are not fixed, (3 * movable items,)."""
    welds: np.ndarray
    """Id of the equality constraint that welds each item to the tool; -1 for fixed items, (items,)."""
    owner: np.ndarray
    """Index of the item that each geom belongs to; -1 for none, (ngeom,)."""


def build(scene: TableScene) -> TableModel:
    """Compile a scene."""
    spec = mujoco.MjSpec()
    option = spec.option
    option.timestep = TIMESTEP[scene.tool]
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_MULTICCD)
    option.iterations, option.ls_iterations = 20, 10
    if scene.tool is Tool.SPATULA:  # with the cheaper pyramidal cone, pushed objects drift sideways
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.stat.extent, spec.stat.center = 1.0, (0.5, 0.0, 0.0)
    spec.memory = 8 << 20
    head = spec.visual.headlight
    head.ambient, head.diffuse, head.specular = (0.55,) * 3, (0.45,) * 3, (0.0,) * 3
    spec.visual.map.znear, spec.visual.map.zfar = 0.1, 4.0
    spec.visual.quality.shadowsize, spec.visual.quality.offsamples = 0, 0
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 256, 128
    world = spec.worldbody
    slope = 0.5**0.5
    cameras = {
        "top": ((0.5, 0.0, 1.5), (0, 1, 0, -1, 0, 0)),
        "front": ((0.41 + 1.5 * slope, 0.0, 1.5 * slope), (0, 1, 0, -slope, 0, slope)),
    }
    for name, (position, axes) in cameras.items():
        right, up = np.array(axes[:3], float), np.array(axes[3:], float)
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.column_stack([right, up, np.cross(right, up)]).ravel())
        world.add_camera(name=name, pos=position, quat=quaternion, fovy=EXTENT[name]).orthographic = 1
    world.add_geom(
        name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(5, 5, 1), group=HIDDEN_GROUP,
        contype=_TABLE_CONTACT, conaffinity=0,
    )  # fmt: skip
    covers = [("ground", (0.5, 0.0, -0.006), (3.0, 3.0, 0.001), (1.0, 1.0, 1.0, 1.0))]
    if scene.table:
        covers.append(("patch", (0.5, 0.0, -0.003), (0.25, 0.5, 0.0025), (0.2, 0.2, 0.2, 1.0)))
    for name, centre, half, rgba in covers:
        world.add_geom(
            name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=centre, size=half, rgba=rgba, group=FLAT_GROUP,
            contype=0, conaffinity=0,
        )  # fmt: skip
    world.add_body(name="tool", mocap=True, pos=(0.5, 0.0, 0.32))
    for index, item in enumerate(scene.items):
        _add_item(spec, index, item)
    if scene.tool is Tool.SPATULA:
        # A separate body follows the tool, so that its velocity acts on pushed objects.
        blade = world.add_body(name="blade", pos=(0.5, 0.0, 0.32), gravcomp=1.0)
        blade.add_freejoint()
        blade.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=BLADE, mass=2.0, group=HIDDEN_GROUP,
            contype=_BLADE_CONTACT, conaffinity=0, friction=(0.3, 0.005, 0.0001), priority=1,
        )  # fmt: skip
        _add_weld(spec, "blade", "blade", active=True)
    model = spec.compile()
    if scene.tool is Tool.SPATULA:
        model.equality("blade").data[:] = (0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    bodies = np.array([model.body(f"item{i}").id for i in range(len(scene.items))], dtype=int)
    joints = model.body_jntadr[bodies]
    first_dofs = model.jnt_dofadr[joints[joints >= 0]]
    owner = np.full(model.ngeom, -1)
    for index, body in enumerate(bodies):
        owner[model.geom_bodyid == body] = index
    return TableModel(
        model=model,
        bodies=bodies,
        velocities=(first_dofs[:, None] + np.arange(3)).ravel(),
        welds=np.array(
            [-1 if item.fixed else model.equality(f"weld{i}").id for i, item in enumerate(scene.items)]
        ),
        owner=owner,
    )


def _add_weld(spec: Any, name: str, body: str, *, active: bool) -> None:
    """Add an equality constraint that ties a body to the tool."""
    spec.add_equality(
        name=name, type=mujoco.mjtEq.mjEQ_WELD, objtype=mujoco.mjtObj.mjOBJ_BODY,
        name1="tool", name2=body, active=active, solref=_RIGID_REF, solimp=_RIGID_IMP,
    )  # fmt: skip


def _add_item(spec: Any, index: int, item: TableItem) -> None:
    solid = item.solid
    half_turn = item.yaw / 2
    body = spec.worldbody.add_body(
        name=f"item{index}",
        pos=(item.x, item.y, item.z),
        quat=(np.cos(half_turn), 0, 0, np.sin(half_turn)),
    )
    if all(material.name != item.texture for material in spec.materials):
        picture = spec.add_texture(
            name=item.texture, type=mujoco.mjtTexture.mjTEXTURE_2D, width=SIDE, height=SIDE, nchannel=3
        )
        picture.data = texture(item.texture).tobytes()
        material = spec.add_material(name=item.texture, specular=0.0, shininess=0.0)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = item.texture
    friction = _CONTAINER_FRICTION if solid.container else _FRICTION.get(item.shape, 1.0)
    collides = 0 if solid.flat else _OBJECT_CONTACT
    # Scaled items are lit like items of the default size; otherwise taller ones would look darker.
    unscaled = replace(item, size=(1.0, 1.0, 1.0)).solid
    for number, (piece, lit) in enumerate(zip(solid.pieces, unscaled.pieces, strict=True)):
        mesh = _mesh(spec, f"item{index}.{number}", piece, lit)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh, material=item.texture,
            mass=1.0 if item.fixed else 0.0, contype=collides, conaffinity=collides,
            friction=(friction, 0.005, 0.0001),
            group=FLAT_GROUP if solid.flat else SOLID_GROUP,
        )  # fmt: skip
    if item.fixed:
        return
    # A single box collides with the table and the blade: fewer contacts than with all pieces.
    width, depth = solid.half_size
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, pos=(0, 0, solid.height / 2), size=(width, depth, solid.height / 2),
        mass=_MASS.get(item.shape, 0.1), group=HIDDEN_GROUP, contype=0, conaffinity=_TABLE_CONTACT | _BLADE_CONTACT,
        friction=(friction, 0.005, 0.0001),
    )  # fmt: skip
    body.add_freejoint()
    _add_weld(spec, f"weld{index}", f"item{index}", active=False)


def _mesh(spec: Any, name: str, piece: ConvexPiece, lit: ConvexPiece) -> str:
    """Add a convex piece's closed mesh with the vertex normals of ``lit`` and a texture projected from above."""
    count = len(piece.bottom)
    faces: list[tuple[int, int, int]] = []
    for i in range(1, count - 1):
        faces += [(0, i + 1, i), (count, count + i, count + i + 1)]
    for i in range(count):
        j = (i + 1) % count
        faces += [(i, j, count + j), (i, count + j, count + i)]
    points = _points(piece)
    flat = np.ravel(faces)
    mesh = spec.add_mesh(name=name)
    mesh.uservert = points.ravel()
    mesh.userface = flat
    mesh.usertexcoord = (points[:, :2] / SPAN + 0.5).ravel()
    mesh.userfacetexcoord = flat
    mesh.usernormal = _normals(_points(lit), np.array(faces)).ravel()
    return name


def _points(piece: ConvexPiece) -> np.ndarray:
    """Return the vertices of a piece, lower ones first, (n, 3)."""
    ends = ((piece.bottom, piece.low), (piece.top, piece.high))
    return np.vstack([np.column_stack([outline, np.full(len(outline), z)]) for outline, z in ends])


def _normals(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return the vertex normals (n, 3) of a surface with points (n, 3) and faces (m, 3).

    A normal is the area-weighted mean of those of the adjacent faces, without faces at a large angle to it. It points
    up if no face remains.
    """
    a, b, c = (points[faces[:, i]] for i in range(3))
    across = np.cross(b - a, c - a)
    sums = np.zeros_like(points)
    np.add.at(sums, faces.ravel(), np.repeat(across, 3, axis=0))
    mean = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    ahead = across / np.linalg.norm(across, axis=1, keepdims=True)
    away = np.einsum("mi,mki->mk", ahead, mean[faces]) < _MIN_COSINE
    np.subtract.at(sums, faces[away], np.repeat(across[:, None], 3, axis=1)[away])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.where(lengths > _NEGLIGIBLE, sums / np.maximum(lengths, _NEGLIGIBLE), (0.0, 0.0, 1.0))
