"""Probing servers whose policies were trained with a hidden convention; see ``python -m bench probe``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pytest
from bench.trained import Frame, Trained, frames, served

from assay.extensions.probe.examination import (
    DemonstratedStep,
    ProbedServer,
    RequestRefusedError,
    demonstrate,
    examine,
    race,
)
from assay.policies.remote.convention import Gripper, Rotation, Sign
from assay.policies.remote.openpi import CONVENTION
from assay.support.images import Orientation
from assay.support.streams import stream

TASKS = ("libero_goal/7",)


@pytest.fixture(scope="module")
def trained_on(drawing: str) -> list[Frame]:
    return frames(TASKS, (100, 101), every=4)


@pytest.fixture(scope="module")
def shown(drawing: str) -> list[DemonstratedStep]:
    return demonstrate(TASKS, (0, 1), "primitives", 18)


def options(address: str) -> dict[str, str]:
    return dict(parse_qsl(address.partition("?")[2]))


def test_orientation_and_gripper_are_found_and_explicit_options_kept(
    trained_on: list[Frame], shown: list[DemonstratedStep]
):
    secret = replace(CONVENTION, orientation=Orientation.RAW, gripper=Gripper.UNIT, closes=Sign.MINUS)
    with served(Trained(secret, trained_on)) as address:
        found = examine(ProbedServer(f"{address}?layout=hand&timeout=20"), shown)
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
        found = examine(ProbedServer(f"{address}?orientation=rotated&size=224&closes=1"), shown)
    assert options(found.address)["rotation"] == "wxyz"
    assert [each.field for each in found.verdicts] == ["state"], "nothing else was open"


def test_the_only_accepted_image_size_is_found(trained_on: list[Frame], shown: list[DemonstratedStep]):
    class Picky(Trained):
        def infer(self, request):
            if request["observation/image"].shape[0] != 256:
                raise ValueError("256 pixels, please")
            return super().infer(request)

    with served(Picky(replace(CONVENTION, size=256), trained_on)) as address:
        found = examine(ProbedServer(f"{address}?layout=hand&orientation=rotated&closes=1"), shown[:6])
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
        found = examine(ProbedServer(f"{address}?layout=hand&size=224"), shown[:6])
    assert not found.understood and found.agreement == 0.5
    assert {each.verdict for each in found.verdicts if each.field == "image orientation"} == {"indifferent"}


def test_the_best_wins_and_poor_contenders_drop_out_early():
    asked: Counter[float] = Counter()
    rng = stream(0, "race")

    def score(quality: float, number: int) -> float:
        asked[quality] += 1
        return float(np.clip(quality + rng.normal(scale=0.2), 0.0, 1.0))

    entries = race([0.2, 0.9, 0.3, 0.8], range(200), score)
    assert entries[0].value == 0.9
    assert asked[0.2] < 30 and asked[0.3] < 30 < asked[0.8]


def test_the_default_wins_ties():
    entries = race(["usual", "other"], range(20), lambda what, number: 0.5)
    assert entries[0].value == "usual" and abs(entries[0].ahead_of(entries[1])) < 1e-9


def test_a_rejected_contender_is_eliminated_with_the_reason():
    def score(what: str, number: int) -> float:
        if what == "usual":
            raise RequestRefusedError("no such state")
        return 0.7

    best, other = race(["usual", "other"], range(3), score)
    assert (best.value, other.refused, other.scores) == ("other", "no such state", [])


def test_equal_contenders_are_rarely_eliminated():
    """Of two equal contenders, one may be eliminated in at most one of a hundred races; 60 races of 30 rounds."""
    dropped = 0
    for number in range(60):
        scores = iter(stream(number, "alike").random(200))
        entries = race(["a", "b"], range(30), lambda what, this, scores=scores: float(next(scores)))  # type: ignore[misc]
        dropped += any(entry.is_eliminated for entry in entries)
    assert dropped <= 4
