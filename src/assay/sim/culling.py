"""Which geoms a camera cannot see: they are left out before a picture is drawn, and no pixel changes.

Software GL spends most of a picture's time on the vertices of meshes, whether they are in the picture or not. A geom is
left out if its box is wholly on the outer side of one of the planes that bound the view, and likewise of those that
bound what each mirror shows: a pyramid from the camera's image behind the mirror, through the mirror's edges.
"""

from __future__ import annotations

import mujoco
import numpy as np

SLACK = 1e-3
"""How far outside a box must be, metres: round-off is a thousand times less."""
_MIRRORS = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_BOX)
"""Types of geoms that MuJoCo lets reflect."""


class Culling:
    """Of one model; what may be changed in it later (poses, cameras, materials) is read anew for every picture."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._boxed = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE  # planes have no end
        self._can_mirror = np.flatnonzero(np.isin(model.geom_type, _MIRRORS) & (model.geom_group != 0))

    def unseen(self, data: mujoco.MjData, camera: int, aspect: float) -> np.ndarray:
        """Whether each geom is certainly not in a picture of a camera, (ngeom,); ``aspect`` is width by height.

        Nothing is where shadows fall, or where the camera is no usual one.
        """
        model = self._model
        shadows = model.light_castshadow.any() and model.vis.quality.shadowsize > 0
        if shadows or model.cam_orthographic[camera] or model.cam_sensorsize[camera].any():
            return np.zeros(model.ngeom, dtype=bool)
        rotation = data.geom_xmat.reshape(-1, 3, 3)
        centre = data.geom_xpos + np.einsum("nij,nj->ni", rotation, model.geom_aabb[:, :3])
        axes = rotation * model.geom_aabb[:, None, 3:]  # (ngeom, 3, 3): the box's half axes in columns
        planes = _view(data, camera, float(np.tan(np.deg2rad(model.cam_fovy[camera]) / 2)), aspect)
        outside = np.asarray(self._boxed & _outside(planes, centre, axes))
        materials = model.geom_matid[self._can_mirror]
        mirrors = self._can_mirror[(materials >= 0) & (model.mat_reflectance[materials] > 0)]
        for mirror in mirrors[~outside[mirrors]]:
            x, y, normal = rotation[mirror].T
            width, depth, height = model.geom_size[mirror]
            if not self._boxed[mirror]:
                return np.zeros(model.ngeom, dtype=bool)  # a mirror without an end
            middle = data.geom_xpos[mirror] + height * normal
            shown = _through(data.cam_xpos[camera], middle, normal, width * x, depth * y)
            if shown is not None:
                outside &= _outside(shown, centre, axes)
        return outside


def _view(data: mujoco.MjData, camera: int, high: float, aspect: float) -> np.ndarray:
    """The planes that bound what a camera sees, (5, 4): normals that point inwards, and offsets."""
    right, up, back = data.cam_xmat[camera].reshape(3, 3).T
    wide = high * aspect
    normals = np.array(
        [-back, -back * wide - right, -back * wide + right, -back * high - up, -back * high + up]
    )
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.column_stack([normals, -normals @ data.cam_xpos[camera]])


def _through(
    eye: np.ndarray, middle: np.ndarray, normal: np.ndarray, x: np.ndarray, y: np.ndarray
) -> np.ndarray | None:
    """The planes that bound what an eye sees in a mirror with these half axes, (5, 4); None from behind."""
    height = float((eye - middle) @ normal)
    if height <= 0:
        return None
    image = eye - 2 * height * normal
    corners = [middle + x + y - image, middle - x + y - image, middle - x - y - image, middle + x - y - image]
    normals = [np.cross(corners[i], corners[(i + 1) % 4]) for i in range(4)]
    inward = [each * np.sign(each @ (middle - image)) / np.linalg.norm(each) for each in normals]
    sides = [np.append(each, -each @ image) for each in inward]
    return np.array([*sides, np.append(normal, -normal @ middle)])


def _outside(planes: np.ndarray, centre: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Whether boxes (n, 3), (n, 3, 3) are wholly on the outer side of one of the planes."""
    distance = centre @ planes[:, :3].T + planes[:, 3]  # (boxes, planes)
    reach = np.abs(np.einsum("pi,nij->npj", planes[:, :3], axes)).sum(axis=-1)
    return np.asarray((distance + reach < -SLACK).any(axis=1))
