"""The robot's state as a network takes it in."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

WIDTH = 11


def proprioception(states: np.ndarray) -> np.ndarray:
    """States (n, 8), orientation as axis times angle, as float32, (n, 11): orientation as two columns of its matrix.

    The hand points down, half a turn from the world's axes: there axis and angle jump, and the matrix does not.
    """
    columns = Rotation.from_rotvec(states[:, 3:6]).as_matrix()[:, :, :2].reshape(len(states), 6)
    return np.concatenate([states[:, :3], columns, states[:, 6:]], axis=1).astype(np.float32)
