"""LIBERO's poses of things relative to the hand, in the single precision that robosuite computes them in."""

from __future__ import annotations

import numpy as np

from assay.sim.controller import single_precision_matrix


def quaternion_of(matrix: np.ndarray) -> np.ndarray:
    """The quaternion (x, y, z, w), w >= 0, of a rotation matrix (3, 3): the main eigenvector of a 4 x 4 matrix."""
    m = matrix.astype(np.float32)
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0.0, 0.0, 0.0],
            [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0.0, 0.0],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0.0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
        ],
        dtype=np.float32,
    )
    values, vectors = np.linalg.eigh(k / np.float32(3.0))
    q = np.asarray(vectors[:, np.argmax(values)])
    return -q if q[3] < 0.0 else q


def pose_of(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """The homogeneous matrix (4, 4), float32, of a position and a quaternion (x, y, z, w)."""
    pose = np.eye(4, dtype=np.float32)
    pose[:3, :3] = single_precision_matrix(quaternion[[3, 0, 1, 2]])
    pose[:3, 3] = position
    return pose


def inverse(pose: np.ndarray) -> np.ndarray:
    """The inverse of a pose (4, 4)."""
    found = np.eye(4)
    found[:3, :3] = pose[:3, :3].T
    found[:3, 3] = -found[:3, :3] @ pose[:3, 3]
    return found
