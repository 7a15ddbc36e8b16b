from __future__ import annotations

import numpy as np

from assay.extensions.learn.visuomotor.settings import PROPRIOCEPTION_WIDTH, proprioception


def test_proprioception_is_continuous_at_half_a_turn():
    before, after = np.zeros((2, 8))
    before[3:6], after[3:6] = (np.pi - 0.001, 0.0, 0.0), (-np.pi + 0.001, 0.0, 0.0)
    taken = proprioception(np.stack([before, after]))
    assert taken.shape == (2, PROPRIOCEPTION_WIDTH) and np.abs(taken[0] - taken[1]).max() < 0.01
