from __future__ import annotations

import numpy as np
import pytest

from assay.episodes import EpisodeSpec, Outcome
from assay.errors import PolicyError
from assay.perturb import Perturbation
from assay.perturb.senses import ActionDelay
from assay.perturb.world import Displace
from assay.policies.registry import load_policy
from assay.runs.worker import EpisodeRunner, WorkerConfig

FAR = Displace(0.1)


def begins(policy: str, *changes: Perturbation) -> bool:
    """Whether it moves at the beginning of a task that is about a bowl, and does not wait."""
    runner = EpisodeRunner(WorkerConfig(policy))
    try:
        done = runner.run(EpisodeSpec("libero_goal/1", 0, perturbations=changes, steps=12))
    finally:
        runner.close()
    assert done.outcome is not Outcome.ERROR, done.error
    return bool(np.abs(done.trajectory.actions[:, :6]).max() > 0)


def test_within_acts_below_its_tolerance_and_waits_above_it():
    for policy, changes, acts in (
        ("within?reach=0.11", (FAR,), True),
        ("within?reach=0.09", (FAR,), False),
        ("within?reach=0.21&delay=4", (FAR, ActionDelay(2)), True),
        ("within?reach=0.19&delay=4", (FAR, ActionDelay(2)), False),
        ("within?delay=4", (ActionDelay(3),), True),
        ("within?delay=4", (ActionDelay(5),), False),
        ("within?lapse=1", (), False),
    ):
        assert begins(policy, *changes) == acts, policy


def test_a_reach_of_zero_is_rejected():
    with pytest.raises(PolicyError, match="reach and delay above 0"):
        load_policy("within?reach=0")
