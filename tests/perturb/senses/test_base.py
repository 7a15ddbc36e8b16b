from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.episodes.senses import Chance, Sense
from assay.errors import PerturbationError
from assay.perturb import apply_perturbations, from_json, to_json
from assay.perturb.senses import (
    ActionDelay,
    ActionNoise,
    BlankPictures,
    Brightness,
    Contrast,
    DroppedCamera,
    Fog,
    FrozenCamera,
    GaussianNoise,
    GlassBlur,
    MotionBlur,
    Patch,
    ProprioceptionNoise,
    ProprioceptionOffset,
    ZoomBlur,
    senses_at,
)

EVERY = [each for severity in (1, 5, 10) for each in senses_at(severity).values()]


@pytest.mark.parametrize("value", EVERY, ids=repr)
def test_it_survives_json(value: Sense):
    assert from_json(to_json(value)) == value
    spec = EpisodeSpec("libero_goal/0", 3, perturbations=(value,))
    assert EpisodeSpec.from_json(spec.to_json()) == spec


def test_cameras_survive_json_in_their_order():
    value = Fog(3, cameras=("robot0_eye_in_hand", "agentview"))
    assert from_json(to_json(value)) == value


def test_the_task_stays_as_it_is_and_shares_its_compiled_scene():
    task = tasks.load("libero_goal/0")
    assert apply_perturbations(task, EVERY, seed=3) is task
    plain = EpisodeSpec("libero_goal/0", 3)
    spec = EpisodeSpec("libero_goal/0", 3, perturbations=tuple(EVERY))
    assert spec.scene_key == plain.scene_key and spec.key != plain.key


RANGES = [
    (MotionBlur, "severity", 1, 10),
    (GaussianNoise, "severity", 1, 10),
    (ZoomBlur, "severity", 1, 10),
    (Fog, "severity", 1, 10),
    (GlassBlur, "severity", 1, 10),
    (Brightness, "factor", 0, 4),
    (Contrast, "factor", 0, 4),
    (Patch, "size", 0.01, 1),
    (BlankPictures, "grey", 0, 1),
    (ProprioceptionNoise, "position", 0, 0.5),
    (ProprioceptionOffset, "rotation", 0, math.pi),
    (ProprioceptionNoise, "joints", 0, math.pi),
    (ProprioceptionOffset, "gripper", 0, 0.04),
    (ActionNoise, "translation", 0, 1),
    (ActionNoise, "rotation", 0, 1),
    (ActionDelay, "steps", 1, 40),
]


@pytest.mark.parametrize(("sense", "name", "low", "high"), RANGES)
def test_a_value_out_of_its_range_is_refused_with_the_range(
    sense: type[Sense], name: str, low: float, high: float
):
    other = {"translation": 0.5} if sense is ActionNoise and name != "translation" else {}
    other |= {"position": 0.1} if issubclass(sense, ProprioceptionOffset) else {}
    for value in (high, low or high):
        assert getattr(sense(**other | {name: value}), name) == value
    for wrong in (low - 1, high + 1, 10**400, math.nan, math.inf, "much", None, [1]):
        with pytest.raises(PerturbationError) as caught:
            sense(**other | {name: wrong})
        said = str(caught.value)
        assert said.startswith(f"{sense.kind}: {name} is ") and "\n" not in said
        assert said.endswith(f"{low:g} to {high:g}")


@pytest.mark.parametrize("sense", [MotionBlur, GaussianNoise, ZoomBlur, Fog, GlassBlur, ActionDelay])
def test_what_is_counted_must_be_whole(sense: type[Sense]):
    with pytest.raises(PerturbationError, match="valid: whole numbers 1 to"):
        sense(2.5)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"kind": "senses/fgo", "severity": 1}, "did you mean 'senses/fog'?"),
        ({"kind": "senses/fog"}, "severity: field required"),
        ({"kind": "senses/fog", "severity": 11}, "severity is 11; valid: whole numbers 1 to 10"),
        ({"kind": "senses/fog", "severity": "thick"}, "severity"),
        ({"kind": "senses/fog", "severity": 3, "thickness": 1}, "has no field 'thickness'"),
        ({"kind": "senses/fog", "severity": 3, "cameras": ["agentvew"]}, "did you mean 'agentview'?"),
        ({"kind": "senses/fog", "severity": 3, "cameras": ["a\nb"]}, "there is no camera"),
        ({"kind": "senses/fog", "severity": 3, "cameras": "agentview"}, "valid tuple"),
        ({"kind": "senses/proprioception_noise"}, "above 0"),
        ({"kind": "senses/action_noise", "translation": 0}, "above 0"),
        ({"kind": "senses/patch", "size": 0.5, "x": -0.1}, "x is -0.1; valid: 0 to 1"),
    ],
)
def test_what_is_wrong_in_json_is_refused_in_one_line(value: dict[str, object], words: str):
    with pytest.raises(PerturbationError) as caught:
        from_json(value)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("sense", [DroppedCamera, FrozenCamera, BlankPictures])
def test_a_camera_that_does_not_exist_is_refused(sense: type[Sense]):
    with pytest.raises(PerturbationError, match="did you mean 'robot0_eye_in_hand'"):
        sense(cameras=("eye_in_hand",))  # type: ignore[call-arg]
    with pytest.raises(PerturbationError, match="a tuple of names"):
        sense(cameras="agentview")  # type: ignore[call-arg]


def test_every_number_has_a_range():
    for value in EVERY:
        for each in fields(value):
            assert each.name == "cameras" or "valid" in each.metadata, (value.kind, each.name)


def test_streams_of_a_step_depend_on_the_step_and_lasting_ones_do_not():
    def drawn(rng: np.random.Generator) -> float:
        return float(rng.random())

    one, two = Chance((7, "a"), 1), Chance((7, "a"), 2)
    assert drawn(one.now()) == drawn(one.now()) != drawn(two.now())
    assert drawn(one.lasting()) == drawn(two.lasting()) != drawn(Chance((7, "b"), 1).lasting())
    assert drawn(one.lasting()) != drawn(one.now())
