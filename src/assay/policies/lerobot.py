"""LeRobot's policies in this process: ``lerobot:PATH``, a folder that its ``save_pretrained`` wrote.

It sees what ``assay collect`` records and ``lerobot-eval --env.type=assay`` shows: the images ``image`` and ``image2``,
``rotated``, in the size that the policy was trained on, and the state of 8 numbers. Needs LeRobot, which is no extra:
it has versions of its own of much that Assay needs, too.
"""

from __future__ import annotations

from importlib.util import find_spec
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.support.files import digest_of_file
from assay.support.images import Orientation, orient, parse_orientation
from assay.support.streams import stream
from assay.tasks import Instruction
from assay.tasks.formats.lerobot_features import CAMERAS, FEATURE_NAMES, STATE, robot_state

CONFIG, WEIGHTS = "config.json", "model.safetensors"


class LerobotPolicy:
    """A policy of LeRobot's. Its weights are loaded when the first episode begins."""

    def __init__(
        self, path: str, device: str = "", orientation: str = Orientation.ROTATED, wait: int = 10
    ) -> None:
        """``device``: cpu, cuda, ...; what LeRobot finds by default. ``wait``: steps before it is first asked."""
        self._path = Path(path)
        self._device, self._orientation, self._wait = device, parse_orientation(orientation), wait
        if not (self._path / CONFIG).is_file():
            raise PolicyError(f"{path} is no policy of LeRobot's: it has no {CONFIG}")
        try:
            config = loads((self._path / CONFIG).read_text())
            inputs: dict[str, Any] = config["input_features"]
            self._images = {
                name: (_camera(name), int(each["shape"][-1]))
                for name, each in inputs.items()
                if each["type"] == "VISUAL"
            }
            strange = [name for name in inputs if name not in (*self._images, STATE)]
        except (JSONDecodeError, KeyError, TypeError, IndexError) as error:
            raise PolicyError(f"{self._path / CONFIG} is not a policy's: {error!r:.80}") from None
        if strange:
            raise PolicyError(f"{path} asks for {', '.join(strange)}; there are two images and {STATE}")
        if find_spec("lerobot") is None:
            raise PolicyError("lerobot:PATH needs LeRobot. Install with: pip install 'lerobot>=0.6.1'")
        weights = self._path / WEIGHTS
        self.metadata = {
            "type": str(config.get("type")),
            "weights": digest_of_file(weights)[:12] if weights.is_file() else "",
        }
        """What it is, by which a run knows it again."""
        self._policy: Any = None

    @property
    def waiting(self) -> int:
        """Steps at the start of an episode in which it has no say."""
        return self._wait

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Begin an episode; what it draws hangs on the episode's seed."""
        import torch

        if self._policy is None:
            self._load()
        self._policy.reset()
        self._told = instruction.text
        torch.manual_seed(int(stream("lerobot", spec.task, spec.seed).integers(2**31)))

    def act(self, observation: Observation) -> np.ndarray:
        """The next action, or all of a chunk that it would give without another look, (k, 7)."""
        left = self._wait - observation.step
        if left > 0:
            return np.tile(STILL, (left, 1))
        return self._predicted(observation, self._executed())

    def foresee(self, observation: Observation) -> tuple[np.ndarray, int]:
        """All that it predicts, (k, 7), and how many of them it would do without another look."""
        return self._predicted(observation, None), self._executed()

    def _executed(self) -> int:
        return int(getattr(self._policy.config, "n_action_steps", 1))

    def _predicted(self, observation: Observation, most: int | None) -> np.ndarray:
        """Its actions for an observation, (k, 7): the first so many, or all."""
        import torch

        batch = self._before(self._seen(observation))
        with torch.inference_mode():
            if self._looks_at_every_step():
                chunk = self._policy.select_action(batch)[:, None]
            else:
                chunk = self._policy.predict_action_chunk(batch)[:, :most]
            actions = [self._after(chunk[:, step]) for step in range(chunk.shape[1])]
        return np.concatenate([action.to("cpu").numpy() for action in actions])

    def _looks_at_every_step(self) -> bool:
        """Whether it has to see every observation: it remembers some, or mixes the chunks of several."""
        config = self._policy.config
        return (
            getattr(config, "n_obs_steps", 1) > 1
            or getattr(config, "temporal_ensemble_coeff", None) is not None
            or not hasattr(config, "n_action_steps")
        )

    def _seen(self, observation: Observation) -> dict[str, Any]:
        """An observation as LeRobot's environments give it: images (1, 3, h, w) from 0 to 1."""
        import torch

        seen: dict[str, Any] = {}
        for name, (camera, size) in self._images.items():
            image = orient(observation.image(camera, size), self._orientation)
            seen[name] = torch.from_numpy(image).permute(2, 0, 1)[None].contiguous().float() / 255
        return seen | {STATE: torch.from_numpy(robot_state(observation))[None], "task": [self._told]}

    def _load(self) -> None:
        from lerobot.configs.policies import PreTrainedConfig
        from lerobot.policies import get_policy_class, make_pre_post_processors

        config = PreTrainedConfig.from_pretrained(self._path)
        if self._device:
            config.device = self._device
        self._policy = get_policy_class(config.type).from_pretrained(self._path, config=config).eval()
        self._before, self._after = make_pre_post_processors(
            config,
            pretrained_path=str(self._path),
            preprocessor_overrides={"device_processor": {"device": str(config.device)}},
        )


def _camera(name: str) -> str:
    """The camera that an image of a policy comes from. Raises PolicyError."""
    names = {feature: camera for camera in CAMERAS.values() for feature in FEATURE_NAMES[camera]}
    if name not in names:
        raise PolicyError(f"it expects the image {name}; valid: {', '.join(names)}")
    return names[name]
