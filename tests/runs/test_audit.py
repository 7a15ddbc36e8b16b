from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.episodes import WORLDS, EpisodeSpec, Outcome, rollout, world_of
from assay.errors import AssayError, RunError
from assay.perturb.world.position import Displace
from assay.policies.calibration.perception import UnseeingPolicy
from assay.runs.audit import SIGHT, Probe, default_folder, play, probes_of
from assay.runs.work import Options

FEW: dict[str, Any] = {"tasks": "libero_goal/7", "seeds": 1, "steps": 2, "workers": 0}


def test_every_world_has_its_own_policies_that_lack_something():
    assert [probe.name for probe in probes_of("pro")] == ["oracle", "blind", "unseeing", "replay"]
    assert [probe.name for probe in probes_of("tabletop")] == ["oracle", "promptblind"]
    assert probes_of("pro", policies=["clumsy?miss=0.3"])[-1].name == "clumsy-miss=0.3"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"policies": ["blind"]}, "blind: each policy should be given once"),
        ({"learned": [Path("nothing.safetensors")]}, "nothing.safetensors"),
    ],
)
def test_what_cannot_audit_is_refused_in_one_line(given: dict[str, Any], words: str):
    with pytest.raises(AssayError, match=words) as caught:
        probes_of("pro", **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("auditors", "words"),
    [
        ((), "no policies without an input are known"),
        ((("blind", "ears"),), "auditors lack 'ears'; valid: words"),
    ],
)
def test_a_world_without_auditors_or_with_odd_ones_is_one_line(
    monkeypatch: pytest.MonkeyPatch, auditors: tuple[tuple[str, str], ...], words: str
):
    traits = WORLDS["libero"].traits
    monkeypatch.setattr(type(WORLDS["libero"]), "traits", replace(traits, auditors=auditors))
    with pytest.raises(RunError, match=words):
        probes_of("pro")


def test_an_audit_makes_one_run_for_each_policy_and_goes_on(tmp_path: Path):
    asked: list[str] = []
    found = assay.audit("libero", out=tmp_path, told=lambda probe: asked.append(probe.name), **FEW)
    assert found is not None and asked == list(found.runs) == ["oracle", "blind", "unseeing", "replay"]
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.assay" for name in asked}
    assert [row.condition for row in found.shortcuts.rows] == ["control"] and found.left == 0
    again = play(
        "libero",
        [Probe("oracle", "oracle")],
        tmp_path,
        Options(tasks="libero_goal/7", seeds=(0,), steps=2, workers=0),
    )
    assert again is not None and again.left == 0 and "undecided in the only condition" in str(found)


def test_states_need_a_folder_and_an_object_needs_out(tmp_path: Path):
    with pytest.raises(RunError, match="needs --states"):
        assay.audit_states("idle", states=None, **FEW)
    with pytest.raises(RunError, match="needs out"):
        assay.audit_states(UnseeingPolicy(), states=tmp_path, **FEW)
    with pytest.raises(AssayError):
        assay.audit_states("idle", states=tmp_path, out=tmp_path / "x", **FEW)
    assert not (tmp_path / "x").exists()


def test_a_folder_is_named_after_what_is_audited():
    assert default_folder("para?per_cell=2") == Path("runs/audit-para-per_cell=2")


def test_a_policy_that_sees_nothing_does_the_same_wherever_things_stand():
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
