"""Servers of policies that were trained by a convention that only they know: see ``python -m bench probe``."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pytest
from bench.trained import Frame, Trained, frames, served

from assay.errors import PolicyError
from assay.policies.probe.examination import ProbePlan, examine
from assay.policies.probe.server import DemonstratedStep, demonstrated_steps
from assay.policies.remote.convention import Gripper, Rotation, Sign
from assay.policies.remote.openpi import CONVENTION
from assay.support.images import Orientation

TASKS = ("libero_goal/7",)
PLAN = ProbePlan(TASKS, (0, 1), "primitives", moments=18, episodes=0)


@pytest.fixture(scope="module")
def trained_on(drawing: str) -> list[Frame]:
    return frames(TASKS, (100, 101), every=4)


@pytest.fixture(scope="module")
def shown(drawing: str) -> list[DemonstratedStep]:
    return demonstrated_steps(PLAN.tasks, PLAN.seeds, PLAN.pack, PLAN.moments)


def options(address: str) -> dict[str, str]:
    return dict(parse_qsl(address.partition("?")[2]))


def test_orientation_and_gripper_are_found_and_explicit_options_kept(
    trained_on: list[Frame], shown: list[DemonstratedStep]
):
    secret = replace(CONVENTION, orientation=Orientation.RAW, gripper=Gripper.UNIT, closes=Sign.MINUS)
    with served(Trained(secret, trained_on)) as address:
        found = examine(f"{address}?layout=hand&timeout=20", PLAN, steps=shown)
    assert options(found.address) == {
        "layout": "hand",
        "timeout": "20",
        "orientation": "raw",
        "gripper": "unit",
        "closes": "-1",
    }
    verdicts = {each.field: each.verdict for each in found.verdicts}
    assert verdicts["image orientation"] in ("sure", "likely") and verdicts["gripper"] in ("sure", "likely")
    assert found.understood and found.agreement > found.agreement_as_given


def test_the_rotation_representation_is_found(trained_on: list[Frame], shown: list[DemonstratedStep]):
    secret = replace(CONVENTION, rotation=Rotation.WXYZ)
    with served(Trained(secret, trained_on)) as address:
        found = examine(f"{address}?orientation=rotated&size=224&closes=1", PLAN, steps=shown)
    assert options(found.address)["rotation"] == "wxyz"
    assert [each.field for each in found.verdicts] == ["state"], "nothing else was open"


def test_the_only_accepted_image_size_is_found(trained_on: list[Frame], shown: list[DemonstratedStep]):
    class Picky(Trained):
        def infer(self, request):
            if request["observation/image"].shape[0] != 256:
                raise ValueError("256 pixels, please")
            return super().infer(request)

    with served(Picky(replace(CONVENTION, size=256), trained_on)) as address:
        found = examine(f"{address}?layout=hand&orientation=rotated&closes=1", PLAN, steps=shown[:6])
    assert options(found.address)["size"] == "256"
    (size,) = found.verdicts
    assert size.rival is None and "256 pixels, please" in next(iter(size.refused.values()))


def test_a_server_with_unrelated_actions_is_not_understood(
    trained_on: list[Frame], shown: list[DemonstratedStep]
):
    class Silly(Trained):
        def infer(self, request):
            return np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0], (5, 1))

    with served(Silly(CONVENTION, trained_on)) as address:
        found = examine(f"{address}?layout=hand&size=224", PLAN, steps=shown[:6])
    assert not found.understood and found.agreement == 0.5
    assert {each.verdict for each in found.verdicts if each.field == "image orientation"} == {"indifferent"}


def test_an_address_that_is_not_a_server_is_rejected():
    with pytest.raises(PolicyError, match="is not a policy server"):
        examine("oracle", PLAN)
