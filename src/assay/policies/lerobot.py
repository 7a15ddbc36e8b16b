"""LeRobot policies that run in this process: ``lerobot:PATH``, a folder written by ``save_pretrained``.

Observations are those of ``assay collect`` and ``lerobot-eval --env.type=assay``: the images ``image`` and
``image2``, rotated by 180 degrees and at the resolution of the training data, and the state of 8 numbers. LeRobot
is not an optional dependency (extra) of Assay, because it requires other versions of shared dependencies.
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
from assay.tasks.formats.lerobot import CAMERAS, FEATURE_NAMES, STATE, robot_state

CONFIG, WEIGHTS = "config.json", "model.safetensors"


class LerobotPolicy:
    """A LeRobot policy, whose weights are loaded when the first episode begins."""

    def __init__(
        self, path: str, device: str = "", orientation: str = Orientation.ROTATED, wait: int = 10
    ) -> None:
        """``device``: for example cuda; LeRobot's choice if empty. ``wait``: waiting steps at the start."""
        self._path = Path(path)
        self._device, self._orientation = device, parse_orientation(orientation)
        self.waiting = wait
        """Number of waiting steps at the start of an episode."""
        if not (self._path / CONFIG).is_file():
            raise PolicyError(f"{path} is not a LeRobot policy: it has no {CONFIG}")
        cameras = {feature: camera for camera in CAMERAS.values() for feature in FEATURE_NAMES[camera]}
        try:
            config = loads((self._path / CONFIG).read_text())
            inputs: dict[str, Any] = config["input_features"]
            self._images = {
                name: (cameras[name], int(feature["shape"][-1]))
                for name, feature in inputs.items()
                if name in cameras
            }
            unknown = [name for name in inputs if name not in (*cameras, STATE)]
        except (JSONDecodeError, KeyError, TypeError, IndexError) as error:
            raise PolicyError(
                f"{self._path / CONFIG} is not a valid policy configuration: {error!r:.80}"
            ) from None
        if unknown:
            raise PolicyError(
                f"{path} expects {', '.join(unknown)}; supported inputs: {', '.join((*cameras, STATE))}"
            )
        if find_spec("lerobot") is None:
            raise PolicyError("lerobot:PATH needs LeRobot: install it with pip install 'lerobot>=0.6.1'")
        weights = self._path / WEIGHTS
        self.metadata = {
            "type": str(config.get("type")),
            "weights": digest_of_file(weights)[:12] if weights.is_file() else "",
        }
        """Metadata that identifies the policy in a run."""
        self._policy: Any = None

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Begin an episode, and seed PyTorch's random numbers with the episode's seed."""
        import torch

        if self._policy is None:
            self._load()
        self._policy.reset()
        self._prompt = instruction.text
        torch.manual_seed(int(stream("lerobot", spec.task, spec.seed).integers(2**31)))

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next actions, shape (k, 7): the part of the predicted chunk that is executed open-loop."""
        remaining = self.waiting - observation.step
        if remaining > 0:
            return np.tile(STILL, (remaining, 1))
        return self._predict(observation, self._chunk_length())

    def foresee(self, observation: Observation) -> tuple[np.ndarray, int]:
        """Return all predicted actions, shape (k, 7), and the number of them that are executed."""
        return self._predict(observation, None), self._chunk_length()

    def _chunk_length(self) -> int:
        return int(getattr(self._policy.config, "n_action_steps", 1))

    def _predict(self, observation: Observation, limit: int | None) -> np.ndarray:
        """Predict at most ``limit`` actions for an observation, shape (k, 7)."""
        import torch

        batch = self._preprocess(self._encode(observation))
        config = self._policy.config
        needs_every_observation = (  # it uses a history of observations, or averages chunks over time
            getattr(config, "n_obs_steps", 1) > 1
            or getattr(config, "temporal_ensemble_coeff", None) is not None
            or not hasattr(config, "n_action_steps")
        )
        with torch.inference_mode():
            if needs_every_observation:
                chunk = self._policy.select_action(batch)[:, None]
            else:
                chunk = self._policy.predict_action_chunk(batch)[:, :limit]
            actions = [self._postprocess(chunk[:, step]) for step in range(chunk.shape[1])]
        return np.concatenate([action.to("cpu").numpy() for action in actions])

    def _encode(self, observation: Observation) -> dict[str, Any]:
        """Encode an observation in the format of LeRobot's environments, with images (1, 3, h, w) from 0 to 1."""
        import torch

        inputs: dict[str, Any] = {}
        for name, (camera, size) in self._images.items():
            image = orient(observation.image(camera, size), self._orientation)
            inputs[name] = torch.from_numpy(image).permute(2, 0, 1)[None].contiguous().float() / 255
        return inputs | {STATE: torch.from_numpy(robot_state(observation))[None], "task": [self._prompt]}

    def _load(self) -> None:
        from lerobot.configs.policies import PreTrainedConfig
        from lerobot.policies import get_policy_class, make_pre_post_processors

        config = PreTrainedConfig.from_pretrained(self._path)
        if self._device:
            config.device = self._device
        self._policy = get_policy_class(config.type).from_pretrained(self._path, config=config).eval()
        self._preprocess, self._postprocess = make_pre_post_processors(
            config,
            pretrained_path=str(self._path),
            preprocessor_overrides={"device_processor": {"device": str(config.device)}},
        )
