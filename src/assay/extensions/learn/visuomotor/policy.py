"""A trained visuomotor network that acts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.extensions.learn.demonstrations.features import state
from assay.extensions.learn.visuomotor.choices import Input
from assay.extensions.learn.visuomotor.frames import CAMERAS, scaled
from assay.extensions.learn.visuomotor.instructions import embedded
from assay.extensions.learn.visuomotor.proprioception import proprioception
from assay.policies.learned import require_torch
from assay.sim import Observation
from assay.support.streams import stream
from assay.tasks import Instruction

EXECUTED = 8


class VisuomotorPolicy:
    """A network that `assay learn` made: two cameras, proprioception and the instruction to chunks of actions.

    ``noise`` scales what a flow begins with: 1 draws actions as in training, 0 gives the same ones each time.
    """

    def __init__(self, checkpoint: str = "", execute: int = EXECUTED, noise: float = 1.0) -> None:
        if not checkpoint:
            raise PolicyError("a learned policy needs its file: learned?checkpoint=FILE")
        require_torch()
        import torch

        from assay.extensions.learn.visuomotor.checkpoint import load

        torch.set_num_threads(1)
        self._network, self.description = load(Path(checkpoint))
        settings = self.description.settings
        if not 1 <= execute <= settings.chunk:
            raise PolicyError(f"execute={execute}: valid: 1 to {settings.chunk}, the actions of a chunk")
        if not 0.0 <= noise <= 1.0:
            raise PolicyError(f"noise={noise:g}: valid: 0 to 1, of what a flow begins with")
        self._execute, self._noise = execute, noise
        self._blind = Input.IMAGES in settings.without
        self.metadata: Mapping[str, object] = self.description.model_dump(mode="json")
        """How the network came about."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Begin an episode."""
        self._words = embedded(instruction.text)
        self._rng = stream("learned", spec.task, spec.seed)

    def act(self, observation: Observation) -> np.ndarray:
        """The next actions, (execute, 7)."""
        return self.foresee(observation)[0][: self._execute]

    def foresee(self, observation: Observation) -> tuple[np.ndarray, int]:
        """All actions of the next chunk, (chunk, 7), and how many of them are executed."""
        import torch

        from assay.extensions.learn.visuomotor.network import Seen

        settings = self.description.settings
        cameras = () if self._blind else CAMERAS
        images = (
            scaled(observation.image(camera, self.description.size), settings.pixels) for camera in cameras
        )
        noise = (self._noise * self._rng.normal(size=(1, settings.chunk, 7))).astype(np.float32)
        seen = Seen(
            tuple(torch.from_numpy(image[None].copy()) for image in images),
            torch.from_numpy(proprioception(state(observation)[None])),
            torch.from_numpy(self._words[None]),
        )
        with torch.inference_mode():
            chunk = self._network(seen, torch.from_numpy(noise))[0].numpy()
        return np.asarray(chunk), self._execute
