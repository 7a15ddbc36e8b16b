"""VIMA-Bench's conventions at our table; VIMA-Bench itself is not needed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from bench.prompt_reader.policy import PromptReader

from assay.errors import ActionError, PolicyError, TaskError
from assay.extensions.tabletop.policies.vima import (
    VimaPolicy,
    from_vima_action,
    from_vima_prompt,
    make_vima_table,
    play_in_vima,
    to_vima_action,
)
from assay.extensions.tabletop.prompts.perturbations import PromptParaphrase
from assay.extensions.tabletop.tasks import make as make_task
from assay.extensions.tabletop.tasks.task import Setting
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.simulation import action


class SecondIntoFirst:
    """Written for VIMA-Bench: carries the second object of the segmentation into the first."""

    def reset(self, prompt: str, prompt_assets: dict[str, Any], meta_info: dict[str, Any]) -> None:
        assert set(re.findall(r"\{(\w+)\}", prompt)) == set(prompt_assets)
        self.ids = list(meta_info["obj_id_to_info"])
        self.low = meta_info["action_bounds"]["low"]

    def act(self, obs: dict[str, Any]) -> dict[str, np.ndarray]:
        def place(number: int) -> np.ndarray:
            rows, columns = np.nonzero(obs["segm"]["top"] == self.ids[number])
            height, width = obs["segm"]["top"].shape
            middle = np.array([(rows.mean() + 0.5) / height - 0.5, (columns.mean() + 0.5) / width - 0.5])
            return np.array([0.5, 0.0]) + middle * (0.51, 1.02)

        positions = {f"pose{end}_position": place(1 - end) for end in (0, 1)}
        return positions | dict.fromkeys(("pose0_rotation", "pose1_rotation"), np.array([0.0, 0.0, 0.0, 1.0]))


def test_a_policy_for_vima_plays_our_table_as_its_environment(drawing: str):
    env = make_vima_table("instruction_following/visual_manipulation", seed=4, modalities=["rgb", "segm"])
    obs = env.reset()
    assert obs["rgb"]["top"].shape == (3, 128, 256) and obs["segm"]["front"].shape == (128, 256)
    prompt, assets = env.get_prompt_and_assets()
    assert prompt == "Put the {dragged_obj} into the {base_obj}."
    assert assets is not None and assets["base_obj"]["placeholder_type"] == "object"
    assert assets["base_obj"]["segm"]["obj_info"]["obj_id"] == 1
    policy = SecondIntoFirst()
    policy.reset(prompt, assets, env.meta_info)
    given = policy.act(obs)
    assert env.action_space["pose0_position"].contains(given["pose0_position"].astype(np.float32))
    _, reward, done, info = env.step(given)
    assert done and info["success"] and not info["failure"] and reward == 0
    env.global_seed = 5
    env.reset()
    assert env.meta_info["seed"] == 5


def test_the_same_policy_plays_in_a_run(drawing: str):
    policy = VimaPolicy(f"{__name__}:SecondIntoFirst")
    assert play(make_task(Setting("T1", 4)), policy, most=1).success
    with pytest.raises(PolicyError, match="vima\\?policy=module:Class"):
        VimaPolicy()
    with pytest.raises(PolicyError, match="there is no module 'nowhere'"):
        VimaPolicy("nowhere:Policy")


def test_a_policy_of_assay_plays_an_environment_of_vima(drawing: str):
    """Images come as arrays, objects by numbers, and actions go as two poses."""
    played = play_in_vima(make_vima_table("T4", perturbations=(PromptParaphrase(),)), PromptReader(), seed=2)
    assert played.success and played.steps == 3
    env = make_vima_table("rearrange")
    env.reset()
    prompt = from_vima_prompt(*env.get_prompt_and_assets())  # type: ignore[arg-type]
    parts = [part if isinstance(part, str) else part.kind for part in prompt.segments]
    assert parts == ["Rearrange to this", "scene", "."]


def test_actions_survive_a_round_trip_and_invalid_ones_are_refused():
    ours = action((0.4, -0.2), (0.6, 0.3), 1.0)
    assert np.allclose(from_vima_action(to_vima_action(ours)), ours, atol=1e-6)
    assert np.allclose(to_vima_action(ours)["pose1_rotation"], [0, 0, np.sin(0.5), np.cos(0.5)])
    with pytest.raises(ActionError, match="an action with numeric pose0_position and pose0_rotation"):
        from_vima_action({})
    with pytest.raises(ActionError, match=r"pose0: expected .* got 1 and 4"):
        from_vima_action({"pose0_position": [0.5], "pose0_rotation": [0, 0, 0, 1]})


def test_invalid_arguments_of_make_are_refused():
    with pytest.raises(TaskError, match="did you mean 'rotate'"):
        make_vima_table("rotat")
    for given, words in (
        ({"level": "L9"}, "unknown level 'L9'"),
        ({"levl": "L2"}, "unknown keyword 'levl': did you mean 'level'?"),
        ({"difficulty": "hard"}, "unknown difficulty 'hard'"),
        ({"seed": -1}, "expected an integer >= 0"),
    ):
        with pytest.raises(TaskError, match=re.escape(words)):
            make_vima_table("rotate", **given)


def test_each_reset_draws_a_scene_and_a_seed_draws_the_same_ones_again(drawing: str):
    def scenes(env: Any) -> list[bytes]:
        return [env.reset()["segm"]["top"].tobytes() for _ in range(3)]

    env = make_vima_table("rotate", seed=3)
    found = scenes(env)
    assert len(set(found)) == 3 and scenes(env)[0] not in found
    last = env.reset()["segm"]["top"].tobytes()
    assert scenes(make_vima_table("rotate", seed=env.meta_info["seed"]))[0] == last
    env.global_seed = 3
    assert scenes(env) == scenes(make_vima_table("rotate", seed=3)) == found
