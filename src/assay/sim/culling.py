"""Frustum culling: find geoms that a camera cannot see, so that they need not be rendered.

Software GL processes the vertices of all meshes, visible or not. A geom is omitted if its bounding box is completely
outside one of the planes that bound the view and, for every mirror, outside one of the planes that bound the reflected
view: a pyramid from the camera's mirror image through the mirror's edges. No pixel changes.
"""

from __future__ import annotations

import mujoco
import numpy as np

from assay.sim.compile import geom_boxes

SLACK = 1e-3
"""Minimum distance between a culled box and the view, in metres; round-off errors are a thousand times smaller."""
_MIRROR_TYPES = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_BOX)
"""Types of geoms that can reflect in MuJoCo."""


def invisible_geoms(model: mujoco.MjModel, data: mujoco.MjData, camera: int, aspect: float) -> np.ndarray:
    """Return the mask of the geoms that are certainly not visible, (ngeom,); ``aspect`` is image width / height.

    The mask is all False with shadows, which geoms outside the view can cast, and for orthographic or sensor-based
    cameras.
    """
    nothing = np.zeros(model.ngeom, dtype=bool)
    shadows = model.light_castshadow.any() and model.vis.quality.shadowsize > 0
    if shadows or model.cam_orthographic[camera] or model.cam_sensorsize[camera].any():
        return nothing
    bounded = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE  # planes are infinite
    centre, rotation, half = geom_boxes(model, data, slice(None))
    axes = rotation * half[:, None]  # half axes as columns, (ngeom, 3, 3)
    outside = bounded & _outside(_view_planes(model, data, camera, aspect), centre, axes)
    can_mirror = np.flatnonzero(np.isin(model.geom_type, _MIRROR_TYPES) & (model.geom_group != 0))
    materials = model.geom_matid[can_mirror]
    mirrors = can_mirror[(materials >= 0) & (model.mat_reflectance[materials] > 0)]
    for mirror in mirrors[~outside[mirrors]]:
        if not bounded[mirror]:
            return nothing  # an infinite mirror can show anything
        planes = _reflected_planes(model, data, camera, mirror)
        if planes is not None:
            outside &= _outside(planes, centre, axes)
    return np.asarray(outside)


def _view_planes(model: mujoco.MjModel, data: mujoco.MjData, camera: int, aspect: float) -> np.ndarray:
    """Return the planes that bound a camera's view, (5, 4): normals pointing inwards, and offsets."""
    right, up, back = data.cam_xmat[camera].reshape(3, 3).T
    high = float(np.tan(np.deg2rad(model.cam_fovy[camera]) / 2))
    wide = high * aspect
    normals = np.array(
        [-back, -back * wide - right, -back * wide + right, -back * high - up, -back * high + up]
    )
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.column_stack([normals, -normals @ data.cam_xpos[camera]])


def _reflected_planes(
    model: mujoco.MjModel, data: mujoco.MjData, camera: int, mirror: int
) -> np.ndarray | None:
    """Return the planes that bound the view in a mirror, (5, 4); None if the camera is behind the mirror."""
    x, y, normal = data.geom_xmat[mirror].reshape(3, 3).T
    width, depth, height = model.geom_size[mirror]
    middle = data.geom_xpos[mirror] + height * normal
    eye = data.cam_xpos[camera]
    distance = float((eye - middle) @ normal)
    if distance <= 0:
        return None
    image = eye - 2 * distance * normal
    corners = [
        middle + i * width * x + j * depth * y - image for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1))
    ]
    normals = [np.cross(corners[i], corners[(i + 1) % 4]) for i in range(4)]
    inward = [side * np.sign(side @ (middle - image)) / np.linalg.norm(side) for side in normals]
    sides = [np.append(side, -side @ image) for side in inward]
    return np.array([*sides, np.append(normal, -normal @ middle)])


def _outside(planes: np.ndarray, centre: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Return for each box, (n, 3) and (n, 3, 3), whether it is completely outside one of the planes."""
    distance = centre @ planes[:, :3].T + planes[:, 3]  # (boxes, planes)
    reach = np.abs(np.einsum("pi,nij->npj", planes[:, :3], axes)).sum(axis=-1)
    return np.asarray((distance + reach < -SLACK).any(axis=1))
