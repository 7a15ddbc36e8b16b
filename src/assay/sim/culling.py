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
"""Minimum distance of a culled box from the view frustum, in metres; round-off errors are 1000 times smaller."""
_MIRRORS = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_BOX)
"""Types of geoms that MuJoCo can render as mirrors."""


class Culling:
    """Frustum culling for one model. Poses, cameras and materials may change, so they are read for every image."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._boxed = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE  # planes are infinite
        self._can_mirror = np.flatnonzero(np.isin(model.geom_type, _MIRRORS) & (model.geom_group != 0))

    def unseen(self, data: mujoco.MjData, camera: int, aspect: float) -> np.ndarray:
        """Return the mask (ngeom,) of geoms that are certainly not visible; ``aspect``: image width / height.

        The mask is all False if there are shadows, which geoms outside the view can cast, and for cameras that are
        orthographic or defined by a sensor size.
        """
        model = self._model
        shadows = model.light_castshadow.any() and model.vis.quality.shadowsize > 0
        if shadows or model.cam_orthographic[camera] or model.cam_sensorsize[camera].any():
            return np.zeros(model.ngeom, dtype=bool)
        centre, axes = self._boxes(data)
        planes = _view(data, camera, float(np.tan(np.deg2rad(model.cam_fovy[camera]) / 2)), aspect)
        outside = np.asarray(self._boxed & _outside(planes, centre, axes))
        materials = model.geom_matid[self._can_mirror]
        mirrors = self._can_mirror[(materials >= 0) & (model.mat_reflectance[materials] > 0)]
        for mirror in mirrors[~outside[mirrors]]:
            if not self._boxed[mirror]:
                return np.zeros(model.ngeom, dtype=bool)  # an infinite mirror can show anything
            planes_of_mirror = self._reflected_planes(data, camera, mirror)
            if planes_of_mirror is not None:
                outside &= _outside(planes_of_mirror, centre, axes)
        return outside

    def is_separate(self, data: mujoco.MjData, camera: int, moving: np.ndarray, clear: np.ndarray) -> bool:
        """Return whether no geom in the mask ``moving`` is visible through the transparent geoms ``clear`` (ids)."""
        if not len(clear):
            return True
        if not self._boxed[moving].all():
            return False
        centre, axes = self._boxes(data)
        low, high = _on_screen(data, camera, centre[moving], axes[moving])
        for near, far in zip(*_on_screen(data, camera, centre[clear], axes[clear]), strict=True):
            beside = (high < near)[:, :2].any(axis=1) | (low > far)[:, :2].any(axis=1)
            if not (beside | (high[:, 2] < near[2])).all():
                return False
        return True

    def _boxes(self, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """Return the centres, (ngeom, 3), and half axes, as columns, (ngeom, 3, 3), of the geoms' bounding boxes."""
        boxes = geom_boxes(self._model, data, range(self._model.ngeom))
        return boxes.centre, boxes.axes * boxes.half[:, None]

    def _reflected_planes(self, data: mujoco.MjData, camera: int, mirror: int) -> np.ndarray | None:
        """Return the planes that bound the view in a mirror, (5, 4); None if the camera is behind the mirror."""
        x, y, normal = data.geom_xmat[mirror].reshape(3, 3).T
        width, depth, height = self._model.geom_size[mirror]
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


def _view(data: mujoco.MjData, camera: int, high: float, aspect: float) -> np.ndarray:
    """Return the planes that bound a camera's view, (5, 4): normals pointing inwards, and offsets."""
    right, up, back = data.cam_xmat[camera].reshape(3, 3).T
    wide = high * aspect
    normals = np.array(
        [-back, -back * wide - right, -back * wide + right, -back * high - up, -back * high + up]
    )
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.column_stack([normals, -normals @ data.cam_xpos[camera]])


def _on_screen(
    data: mujoco.MjData, camera: int, centre: np.ndarray, axes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds (n, 3) on each box's screen x, screen y and distance; infinite if partly behind the camera."""
    corners = centre[:, None] + np.einsum("nij,cj->nci", axes, _CORNERS)
    seen = (corners - data.cam_xpos[camera]) @ data.cam_xmat[camera].reshape(3, 3)
    distance = -seen[..., 2:]
    places = np.concatenate([seen[..., :2] / np.maximum(distance, SLACK), distance], axis=2)
    low, high = places.min(axis=1) - SLACK, places.max(axis=1) + SLACK
    behind = (distance <= SLACK).any(axis=(1, 2))
    low[behind], high[behind] = -np.inf, np.inf
    return low, high


_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def _outside(planes: np.ndarray, centre: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Return whether each box, with centre (n, 3) and half axes (n, 3, 3), is completely outside one of the planes."""
    distance = centre @ planes[:, :3].T + planes[:, 3]  # (boxes, planes)
    reach = np.abs(np.einsum("pi,nij->npj", planes[:, :3], axes)).sum(axis=-1)
    return np.asarray((distance + reach < -SLACK).any(axis=1))
