"""From two images, proprioception and words to features. Needs torch.

Each camera has a small convolution of its own. Words set the gain of its last layer (FiLM), and what remains of
an image is where each of its features is (spatial softmax) and how strong: few numbers, and places among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from assay.extensions.learn.visuomotor import proprioception
from assay.extensions.learn.visuomotor.choices import Input
from assay.extensions.learn.visuomotor.frames import CAMERAS
from assay.extensions.learn.visuomotor.heads import ACTION, HEADS
from assay.extensions.learn.visuomotor.settings import Settings
from assay.perturb.words.distance import encoder

CHANNELS = (16, 32, 32)
SAID = 64
"""Width of what is made of words, and of the robot's state."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What a network takes in, of several frames."""

    images: tuple[Tensor, ...]
    """Of each camera: uint8, (n, pixels, pixels, 3); none for a network without images."""
    states: Tensor
    """(n, 11)."""
    words: Tensor
    """(n, 384)."""


class Eye(nn.Module):
    """An image to where its features are, and how strong."""

    def __init__(self) -> None:
        super().__init__()
        first, second, third = CHANNELS
        self.coarse = nn.Sequential(
            nn.Conv2d(3, first, 5, 2, 2), nn.ReLU(), nn.Conv2d(first, second, 3, 2, 1), nn.ReLU()
        )
        self.fine = nn.Conv2d(second, third, 3, 1, 1)
        self.film = nn.Linear(SAID, 2 * third)
        self.sharpness = nn.Parameter(torch.ones(third))
        nn.init.zeros_(self.film.weight)
        nn.init.zeros_(self.film.bias)

    def forward(self, image: Tensor, said: Tensor) -> Tensor:
        """(n, 3 * CHANNELS[-1])."""
        pixels = image.permute(0, 3, 1, 2).float() / 127.5 - 1
        gain, shift = self.film(said)[:, :, None, None].chunk(2, dim=1)
        heat = torch.relu(self.fine(self.coarse(pixels)) * (1 + gain) + shift)
        share = (heat * self.sharpness[:, None, None]).flatten(2).softmax(dim=-1).view_as(heat)
        steps = torch.linspace(-1, 1, heat.shape[-1])
        rows, columns = share.sum(dim=3) @ steps, share.sum(dim=2) @ steps
        return torch.cat([rows, columns, heat.mean(dim=(2, 3))], dim=1)


class Block(nn.Module):
    """A layer whose result is added to what it is given."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, given: Tensor) -> Tensor:
        """(n, width)."""
        return given + self.layers(given)


class Network(nn.Module):
    """From what is seen to chunks of actions."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        eyes = () if Input.IMAGES in settings.without else CAMERAS
        self.eyes = nn.ModuleList(Eye() for _ in eyes)
        self.said = nn.Sequential(nn.Linear(encoder.WIDTH, SAID), nn.GELU(), nn.Linear(SAID, SAID))
        self.felt = nn.Sequential(nn.Linear(proprioception.WIDTH, SAID), nn.GELU())
        self.joined = nn.Linear(2 * SAID + 3 * CHANNELS[-1] * len(eyes), settings.width)
        self.trunk = nn.Sequential(Block(settings.width), Block(settings.width), nn.LayerNorm(settings.width))
        self.head = HEADS[settings.head](settings.width, settings.chunk)
        for name, size in (("state", proprioception.WIDTH), ("action", ACTION)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_scale", torch.ones(size))

    def normalise(self, states: Tensor, actions: Tensor) -> None:
        """Take mean and spread from all states (n, 11) and actions (n, 7) that are learnt from."""
        for name, values, least in (("state", states, 0.01), ("action", actions, 0.1)):
            getattr(self, f"{name}_mean").copy_(values.mean(dim=0))
            getattr(self, f"{name}_scale").copy_(values.std(dim=0).clamp(min=least))

    def features(self, seen: Seen) -> Tensor:
        """(n, width)."""
        words = torch.zeros_like(seen.words) if Input.WORDS in self.settings.without else seen.words
        said = self.said(20 * words)  # a vector of length one has entries of about 0.05
        states = (seen.states - self.state_mean) / self.state_scale
        felt = self.felt(torch.zeros_like(states) if Input.STATE in self.settings.without else states)
        looks = [eye(image, said) for eye, image in zip(self.eyes, seen.images, strict=True)]
        return self.trunk(self.joined(torch.cat([said, felt, *looks], dim=1)))

    def loss(self, seen: Seen, actions: Tensor, counts: Tensor, noise: Tensor, times: Tensor) -> Tensor:
        """Of chunks (n, chunk, 7), of which those count (n, chunk) that are no padding.

        ``noise`` (m, chunk, 7) and ``times`` (m,) are random numbers for heads that need some, m a multiple of n.
        """
        wanted = (actions - self.action_mean) / self.action_scale
        return self.head.loss(self.features(seen), wanted, counts, noise, times)

    def forward(self, seen: Seen, noise: Tensor) -> Tensor:
        """Chunks of actions, (n, chunk, 7), in [-1, 1]; the gripper is -1 or 1."""
        actions = self.head.actions(self.features(seen), noise) * self.action_scale + self.action_mean
        gripper = torch.where(actions[..., 6:] > 0, 1.0, -1.0)
        return torch.cat([actions[..., :6].clamp(-1, 1), gripper], dim=-1)
