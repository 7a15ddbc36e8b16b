"""Makes an ``eval_info.json`` with ``lerobot-eval`` itself: an untrained policy, an environment without a simulator."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import gymnasium
import numpy as np
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors
from lerobot.scripts.lerobot_eval import main as lerobot_eval

TASKS = (0, 7)
STATE = {"observation.state": (FeatureType.STATE, "agent_pos")}
STATE["observation.environment_state"] = (FeatureType.ENV, "environment_state")


class Coin(gymnasium.Env):
    """Whether an episode succeeds is drawn by its seed."""

    metadata = {"render_fps": 10, "render_modes": ["rgb_array"]}  # noqa: RUF012
    render_mode = "rgb_array"
    task_description = task = "turn on the stove"
    _max_episode_steps = 5

    def __init__(self, hard):
        box = gymnasium.spaces.Box(-9, 9, (8,), np.float64)
        self.observation_space = gymnasium.spaces.Dict({name: box for _, name in STATE.values()})
        self.action_space = gymnasium.spaces.Box(-1, 1, (7,), np.float32)
        self.hard = hard

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.step_number, self.wins = 0, self.np_random.random() > self.hard
        return self._seen(), {"is_success": False}

    def step(self, action):
        self.step_number += 1
        won = bool(self.wins and self.step_number == 3)
        return self._seen(), float(won), won, self.step_number >= 5, {"is_success": won}

    def render(self):
        return np.zeros((16, 16, 3), np.uint8)

    def _seen(self):
        return {name: np.full(8, self.step_number, float) for _, name in STATE.values()}


@EnvConfig.register_subclass("coin")
@dataclass
class CoinEnv(EnvConfig):
    """Two tasks of LIBERO-Goal, by number."""

    task: str | None = "libero_goal"
    fps: int = 10
    hard: float = 0.5
    features: dict = field(
        default_factory=lambda: {
            "action": PolicyFeature(FeatureType.ACTION, (7,)),
            **{name: PolicyFeature(kind, (8,)) for kind, name in STATE.values()},
        }
    )
    features_map: dict = field(
        default_factory=lambda: {"action": "action", **{name: key for key, (_, name) in STATE.items()}}
    )

    @property
    def gym_kwargs(self):
        return {}

    def create_envs(self, n_envs, use_async_envs=False):
        many = [lambda: Coin(self.hard)] * n_envs
        return {"libero_goal": {task: gymnasium.vector.SyncVectorEnv(many) for task in TASKS}}


def main(out: str) -> None:
    policy = str(Path(out) / "policy")
    config = ACTConfig(
        device="cpu",
        chunk_size=4,
        n_action_steps=4,
        dim_model=32,
        n_heads=2,
        dim_feedforward=32,
        n_encoder_layers=1,
        n_decoder_layers=1,
        use_vae=False,
        push_to_hub=False,
        input_features={key: PolicyFeature(kind, (8,)) for key, (kind, _) in STATE.items()},
        output_features={"action": PolicyFeature(FeatureType.ACTION, (7,))},
    )
    ACTPolicy(config).save_pretrained(policy)
    for each in make_pre_post_processors(config, dataset_stats={}):
        each.save_pretrained(policy)
    sys.argv = ["lerobot-eval", f"--policy.path={policy}", "--env.type=coin", f"--output_dir={out}/eval"]
    sys.argv += [
        "--eval.n_episodes=6",
        "--eval.batch_size=3",
        "--eval.use_async_envs=false",
        "--policy.device=cpu",
    ]
    lerobot_eval()


if __name__ == "__main__":
    main(sys.argv[1])
