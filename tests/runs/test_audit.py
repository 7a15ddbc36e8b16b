from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.api.running import _probes
from assay.episodes import WORLDS, EpisodeSpec, Outcome, rollout, world_of
from assay.errors import RunError
from assay.experiments import load_experiment
from assay.measures.shortcuts import SIGHT
from assay.perturb.world.position import Displace
from assay.policies.calibration.perception import UnseeingPolicy

FEW: dict[str, Any] = {"tasks": "libero_goal/7", "seeds": 1, "steps": 2, "workers": 0}


@pytest.mark.extensions("tabletop")
def test_every_world_has_its_own_policies_that_lack_an_input():
    def names(experiment: str, *more: str) -> list[str]:
        return [probe.name for probe in _probes(load_experiment(experiment), more)]

    assert names("pro") == ["oracle", "blind", "unseeing", "replay"]
    assert names("tabletop") == ["oracle", "promptblind"]
    assert names("pro", "clumsy?miss=0.3")[-1] == "clumsy-miss=0.3"


def test_world_without_valid_auditors_is_refused(monkeypatch: pytest.MonkeyPatch):
    traits = WORLDS["libero"].traits
    for auditors, reason in (
        ((), "does not declare any policies that lack an input"),
        (
            (("blind", "ears"),),
            "an audit policy is declared to lack 'ears', which is no input; choose from words",
        ),
    ):
        monkeypatch.setattr(type(WORLDS["libero"]), "traits", replace(traits, auditors=auditors))
        with pytest.raises(RunError, match=reason):
            _probes(load_experiment("pro"), ())


def test_policy_that_sees_nothing_does_the_same_wherever_things_stand():
    env = world_of("libero_goal/7").open()
    try:
        done = [rollout(env, UnseeingPolicy(), EpisodeSpec("libero_goal/7", seed)) for seed in (0, 1)]
        moved = rollout(
            env, UnseeingPolicy(), EpisodeSpec("libero_goal/1", 0, perturbations=(Displace(0.2),), steps=40)
        )
        usual = rollout(env, UnseeingPolicy(), EpisodeSpec("libero_goal/1", 0, steps=40))
    finally:
        env.close()
    least = min(each.steps for each in done)
    assert np.array_equal(*(each.trajectory.actions[:least] for each in done))
    assert np.array_equal(moved.trajectory.actions, usual.trajectory.actions)
    assert done[0].outcome is Outcome.SUCCESS and SIGHT == "without sight"
