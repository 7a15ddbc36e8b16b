"""A policy that runs a trained visuomotor network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.extensions.learn.visuomotor.inputs import CAMERAS, Input, downscale, embed, proprioception
from assay.sim import Observation
from assay.support.streams import stream
from assay.support.training import require_torch
from assay.tasks import Instruction
from assay.tasks.formats.lerobot import robot_state

EXECUTED = 8
"""Default number of actions executed from each chunk."""


class VisuomotorPolicy:
    """Maps two cameras, proprioception and the instruction to action chunks with a network from `assay learn`.

    ``noise`` scales the initial noise of a flow head: 1 samples actions as in training, 0 is deterministic.
    """

    def __init__(self, checkpoint: str = "", execute: int = EXECUTED, noise: float = 1.0) -> None:
        if not checkpoint:
            raise PolicyError("the policy 'learned' needs a checkpoint: --policy 'learned?checkpoint=FILE'")
        require_torch()
        import torch

        from assay.extensions.learn.visuomotor.training import load_network

        torch.set_num_threads(1)
        self._network, self.description = load_network(Path(checkpoint))
        settings = self.description.settings
        if not 1 <= execute <= settings.chunk:
            raise PolicyError(
                f"execute={execute}: expected an integer from 1 to {settings.chunk}, the length of a chunk"
            )
        if not 0.0 <= noise <= 1.0:
            raise PolicyError(f"noise={noise:g}: expected a number from 0 to 1")
        self._execute, self._noise = execute, noise
        self._blind = Input.IMAGES in settings.without
        self.metadata: Mapping[str, object] = self.description.model_dump(mode="json")
        """The training record of the network."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Start an episode."""
        self._words = embed(instruction.text)
        self._rng = stream("learned", spec.task, spec.seed)

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next actions, (execute, 7)."""
        return self.foresee(observation)[0][: self._execute]

    def foresee(self, observation: Observation) -> tuple[np.ndarray, int]:
        """Return all actions of the next chunk, (chunk, 7), and the number of them to execute."""
        import torch

        from assay.extensions.learn.visuomotor.network import NetworkInput

        settings = self.description.settings
        cameras = () if self._blind else CAMERAS
        images = (
            downscale(observation.image(camera, self.description.size), settings.pixels) for camera in cameras
        )
        noise = (self._noise * self._rng.normal(size=(1, settings.chunk, 7))).astype(np.float32)
        inputs = NetworkInput(
            tuple(torch.from_numpy(image[None].copy()) for image in images),
            torch.from_numpy(proprioception(robot_state(observation)[None])),
            torch.from_numpy(self._words[None]),
        )
        with torch.inference_mode():
            chunk = self._network(inputs, torch.from_numpy(noise))[0].numpy()
        return np.asarray(chunk), self._execute
