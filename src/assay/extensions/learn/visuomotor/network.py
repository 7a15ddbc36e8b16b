"""A language-conditioned visuomotor network. Requires torch.

Two images, proprioception and an instruction are encoded as features. Each camera has a small convolutional network;
the instruction modulates its last layer (FiLM), and a spatial softmax reduces the image to the position and strength
of each feature. One of three heads turns the features into a chunk of normalised actions.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from assay.extensions.learn.visuomotor import inputs
from assay.extensions.learn.visuomotor.inputs import Head, Input, NetworkSettings
from assay.perturb.words.distance import encoder

ACTION_SIZE = 7
BINS = 256
BIN_RANGE = 6.0
"""Range of the bins, in standard deviations of the actions; it is wide because rotations are rare but fast."""
TOKEN_WIDTH = 64
"""Width of the bins head's token for each action in a chunk."""
FLOW_STEPS = 10
"""Number of integration steps from noise to actions."""
FLOW_DRAWS = 4
"""Number of noise and time samples per training frame; they are cheap compared with encoding the images."""


class RegressionHead(nn.Module):
    """Predicts a chunk of actions with an L1 loss (ACT, OpenVLA-OFT)."""

    def __init__(self, width: int, chunk: int) -> None:
        super().__init__()
        self.out = nn.Linear(width, chunk * ACTION_SIZE)
        self.chunk = chunk

    def loss(self, features: Tensor, wanted: Tensor, counts: Tensor, noise: Tensor, times: Tensor) -> Tensor:
        """Return the mean absolute error over the actions within the episode."""
        return _mean((self.actions(features, noise) - wanted).abs().mean(dim=-1), counts)

    def actions(self, features: Tensor, noise: Tensor) -> Tensor:
        """Return normalised actions, (n, chunk, 7)."""
        return self.out(features).view(-1, self.chunk, ACTION_SIZE)


class BinsHead(nn.Module):
    """Predicts each action component as one of 256 bins with cross-entropy (OpenVLA); returns the median.

    The mode would be full speed far too often: between a tenth and a fifth of all demonstrated steps are clipped
    to full speed and share one bin, while other speeds spread over many bins.
    """

    def __init__(self, width: int, chunk: int) -> None:
        super().__init__()
        self.tokens = nn.Sequential(nn.Linear(width, chunk * TOKEN_WIDTH), nn.GELU())
        self.out = nn.Linear(TOKEN_WIDTH, ACTION_SIZE * BINS)
        self.register_buffer("reach", torch.tensor(BIN_RANGE))
        self.chunk = chunk

    def loss(self, features: Tensor, wanted: Tensor, counts: Tensor, noise: Tensor, times: Tensor) -> Tensor:
        """Return the mean cross-entropy over the actions within the episode."""
        bins = ((wanted / self.reach + 1) / 2 * BINS).long().clamp(0, BINS - 1)
        logits = self._logits(features)
        errors = nn.functional.cross_entropy(logits.flatten(0, 2), bins.flatten(), reduction="none")
        return _mean(errors.view_as(wanted).mean(dim=-1), counts)

    def actions(self, features: Tensor, noise: Tensor) -> Tensor:
        """Return normalised actions, (n, chunk, 7)."""
        below = self._logits(features).softmax(dim=-1).cumsum(dim=-1) < 0.5
        median = below.sum(dim=-1).clamp(max=BINS - 1)
        return ((median + 0.5) / BINS * 2 - 1) * self.reach

    def _logits(self, features: Tensor) -> Tensor:
        tokens = self.tokens(features).view(-1, self.chunk, TOKEN_WIDTH)
        return self.out(tokens).view(-1, self.chunk, ACTION_SIZE, BINS)


class FlowHead(nn.Module):
    """Generates a chunk by integrating a velocity field from noise in ten steps (flow matching, pi0)."""

    def __init__(self, width: int, chunk: int) -> None:
        super().__init__()
        self.chunk = chunk
        self.velocity = nn.Sequential(
            nn.Linear(chunk * ACTION_SIZE + width + 2, 2 * width), nn.GELU(),
            nn.Linear(2 * width, 2 * width), nn.GELU(), nn.Linear(2 * width, chunk * ACTION_SIZE),
        )  # fmt: skip

    def loss(self, features: Tensor, wanted: Tensor, counts: Tensor, noise: Tensor, times: Tensor) -> Tensor:
        """Return the mean squared error of the velocity at times between noise (0) and actions (1).

        Each frame is used once per sample of noise and time.
        """
        draws = len(times) // len(features)
        features, counts = features.repeat(draws, 1), counts.repeat(draws, 1)
        wanted, at = wanted.repeat(draws, 1, 1), times[:, None, None]
        velocity = self._velocity(features, (1 - at) * noise + at * wanted, times)
        return _mean((velocity - (wanted - noise)).square().mean(dim=-1), counts)

    def actions(self, features: Tensor, noise: Tensor) -> Tensor:
        """Return normalised actions, (n, chunk, 7)."""
        actions = noise
        for step in range(FLOW_STEPS):
            times = torch.full((len(noise),), step / FLOW_STEPS)
            actions = actions + self._velocity(features, actions, times) / FLOW_STEPS
        return actions

    def _velocity(self, features: Tensor, actions: Tensor, times: Tensor) -> Tensor:
        clock = torch.stack([times, times.square()], dim=1)
        inputs = torch.cat([actions.flatten(1), features, clock], dim=1)
        return self.velocity(inputs).view(-1, self.chunk, ACTION_SIZE)


HEADS: dict[Head, type[RegressionHead] | type[BinsHead] | type[FlowHead]] = {
    Head.REGRESSION: RegressionHead,
    Head.BINS: BinsHead,
    Head.FLOW: FlowHead,
}


def _mean(errors: Tensor, counts: Tensor) -> Tensor:
    """Return the mean of the errors (n, chunk) over the actions for which ``counts`` (n, chunk) is 1, not 0."""
    return (errors * counts).sum() / counts.sum()


CHANNELS = (16, 32, 32)
EMBEDDING_WIDTH = 64
"""Width of the embeddings of the instruction and of the robot's state."""


@dataclass(frozen=True, slots=True, eq=False)
class NetworkInput:
    """A batch of network inputs."""

    images: tuple[Tensor, ...]
    """Images of each camera: uint8, (n, pixels, pixels, 3); empty for a network without images."""
    states: Tensor
    """Proprioception, (n, 11)."""
    words: Tensor
    """Instruction embeddings, (n, 384)."""


class ImageEncoder(nn.Module):
    """Reduces an image to the positions and strengths of features."""

    def __init__(self) -> None:
        super().__init__()
        first, second, third = CHANNELS
        self.coarse = nn.Sequential(
            nn.Conv2d(3, first, 5, 2, 2), nn.ReLU(), nn.Conv2d(first, second, 3, 2, 1), nn.ReLU()
        )
        self.fine = nn.Conv2d(second, third, 3, 1, 1)
        self.film = nn.Linear(EMBEDDING_WIDTH, 2 * third)
        self.sharpness = nn.Parameter(torch.ones(third))
        nn.init.zeros_(self.film.weight)
        nn.init.zeros_(self.film.bias)

    def forward(self, image: Tensor, language: Tensor) -> Tensor:
        """Return image features, (n, 3 * CHANNELS[-1])."""
        pixels = image.permute(0, 3, 1, 2).float() / 127.5 - 1
        gain, shift = self.film(language)[:, :, None, None].chunk(2, dim=1)
        heat = torch.relu(self.fine(self.coarse(pixels)) * (1 + gain) + shift)
        share = (heat * self.sharpness[:, None, None]).flatten(2).softmax(dim=-1).view_as(heat)
        steps = torch.linspace(-1, 1, heat.shape[-1])
        rows, columns = share.sum(dim=3) @ steps, share.sum(dim=2) @ steps
        return torch.cat([rows, columns, heat.mean(dim=(2, 3))], dim=1)


class ResidualBlock(nn.Module):
    """A feed-forward layer with a residual connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, features: Tensor) -> Tensor:
        """Return features, (n, width)."""
        return features + self.layers(features)


class Network(nn.Module):
    """Network that maps images, proprioception and an instruction to chunks of actions."""

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        self.settings = settings
        cameras = () if Input.IMAGES in settings.without else inputs.CAMERAS
        self.eyes = nn.ModuleList(ImageEncoder() for _ in cameras)
        width = EMBEDDING_WIDTH
        self.said = nn.Sequential(nn.Linear(encoder.WIDTH, width), nn.GELU(), nn.Linear(width, width))
        self.felt = nn.Sequential(nn.Linear(inputs.PROPRIOCEPTION_WIDTH, width), nn.GELU())
        self.joined = nn.Linear(2 * width + 3 * CHANNELS[-1] * len(cameras), settings.width)
        self.trunk = nn.Sequential(
            ResidualBlock(settings.width), ResidualBlock(settings.width), nn.LayerNorm(settings.width)
        )
        self.head = HEADS[settings.head](settings.width, settings.chunk)
        for name, size in (("state", inputs.PROPRIOCEPTION_WIDTH), ("action", ACTION_SIZE)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_scale", torch.ones(size))

    def normalise(self, states: Tensor, actions: Tensor) -> None:
        """Set the normalisation constants from all training states (n, 11) and actions (n, 7)."""
        for name, values, least in (("state", states, 0.01), ("action", actions, 0.1)):
            getattr(self, f"{name}_mean").copy_(values.mean(dim=0))
            getattr(self, f"{name}_scale").copy_(values.std(dim=0).clamp(min=least))

    def features(self, inputs: NetworkInput) -> Tensor:
        """Return the features of a batch of inputs, (n, width)."""
        words = torch.zeros_like(inputs.words) if Input.WORDS in self.settings.without else inputs.words
        language = self.said(20 * words)  # a unit vector has entries of about 0.05
        states = (inputs.states - self.state_mean) / self.state_scale
        body = self.felt(torch.zeros_like(states) if Input.STATE in self.settings.without else states)
        views = [eye(image, language) for eye, image in zip(self.eyes, inputs.images, strict=True)]
        return self.trunk(self.joined(torch.cat([language, body, *views], dim=1)))

    def loss(
        self, inputs: NetworkInput, actions: Tensor, counts: Tensor, noise: Tensor, times: Tensor
    ) -> Tensor:
        """Return the loss on chunks (n, chunk, 7); ``counts`` (n, chunk) is 0 for padding.

        ``noise`` (m, chunk, 7) and ``times`` (m,) are random numbers for heads that need them; m is a multiple of n.
        """
        wanted = (actions - self.action_mean) / self.action_scale
        return self.head.loss(self.features(inputs), wanted, counts, noise, times)

    def forward(self, inputs: NetworkInput, noise: Tensor) -> Tensor:
        """Return action chunks, (n, chunk, 7), in [-1, 1]; the gripper component is -1 or 1."""
        actions = self.head.actions(self.features(inputs), noise) * self.action_scale + self.action_mean
        gripper = torch.where(actions[..., 6:] > 0, 1.0, -1.0)
        return torch.cat([actions[..., :6].clamp(-1, 1), gripper], dim=-1)
