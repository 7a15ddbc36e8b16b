"""From features to chunks of normalised actions, in the field's three ways. Needs torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from assay.extensions.learn.visuomotor.choices import Head

ACTION = 7
BINS = 256
RANGE = 6.0
"""Bins cover normalised actions from -RANGE to RANGE, in standard deviations: the hand turns seldom, and then fast."""
TOKEN = 64
"""Width of one action of a chunk, in the head of bins."""
INTEGRATION = 10
"""Steps from noise to actions."""
DRAWS = 4
"""Noises and times that a flow learns from for each frame: they cost little beside the images."""


class Regression(nn.Module):
    """The chunk itself, by the least absolute error (ACT, OpenVLA-OFT)."""

    def __init__(self, width: int, chunk: int) -> None:
        super().__init__()
        self.out = nn.Linear(width, chunk * ACTION)
        self.chunk = chunk

    def loss(self, features: Tensor, wanted: Tensor, counts: Tensor, noise: Tensor, times: Tensor) -> Tensor:
        """The mean error of what counts."""
        return _mean((self.actions(features, noise) - wanted).abs().mean(dim=-1), counts)

    def actions(self, features: Tensor, noise: Tensor) -> Tensor:
        """(n, chunk, 7)."""
        return self.out(features).view(-1, self.chunk, ACTION)


class Bins(nn.Module):
    """Each number as one of 256 bins, by cross-entropy (OpenVLA); the median is taken.

    Not the likeliest: demonstrations go at full speed, clipped, in a tenth or a fifth of their steps. All of these are
    in one bin, any other speed is spread over many, and the likeliest bin is full speed far too often.
    """

    def __init__(self, width: int, chunk: int) -> None:
        super().__init__()
        self.tokens = nn.Sequential(nn.Linear(width, chunk * TOKEN), nn.GELU())
        self.out = nn.Linear(TOKEN, ACTION * BINS)
        self.register_buffer("reach", torch.tensor(RANGE))
        self.chunk = chunk

    def loss(self, features: Tensor, wanted: Tensor, counts: Tensor, noise: Tensor, times: Tensor) -> Tensor:
        """The mean cross-entropy of what counts."""
        bins = ((wanted / self.reach + 1) / 2 * BINS).long().clamp(0, BINS - 1)
        logits = self._logits(features)
        each = nn.functional.cross_entropy(logits.flatten(0, 2), bins.flatten(), reduction="none")
        return _mean(each.view_as(wanted).mean(dim=-1), counts)

    def actions(self, features: Tensor, noise: Tensor) -> Tensor:
        """(n, chunk, 7)."""
        below = self._logits(features).softmax(dim=-1).cumsum(dim=-1) < 0.5
        median = below.sum(dim=-1).clamp(max=BINS - 1)
        return ((median + 0.5) / BINS * 2 - 1) * self.reach

    def _logits(self, features: Tensor) -> Tensor:
        tokens = self.tokens(features).view(-1, self.chunk, TOKEN)
        return self.out(tokens).view(-1, self.chunk, ACTION, BINS)


class Flow(nn.Module):
    """A chunk that flows from noise along a velocity (flow matching, pi0), in ten steps."""

    def __init__(self, width: int, chunk: int) -> None:
        super().__init__()
        self.chunk = chunk
        self.velocity = nn.Sequential(
            nn.Linear(chunk * ACTION + width + 2, 2 * width), nn.GELU(),
            nn.Linear(2 * width, 2 * width), nn.GELU(), nn.Linear(2 * width, chunk * ACTION),
        )  # fmt: skip

    def loss(self, features: Tensor, wanted: Tensor, counts: Tensor, noise: Tensor, times: Tensor) -> Tensor:
        """The mean squared error of the velocity at a time between noise (0) and actions (1).

        Of each frame as many times as there are noises and times for it.
        """
        draws = len(times) // len(features)
        features, counts = features.repeat(draws, 1), counts.repeat(draws, 1)
        wanted, at = wanted.repeat(draws, 1, 1), times[:, None, None]
        velocity = self._velocity(features, (1 - at) * noise + at * wanted, times)
        return _mean((velocity - (wanted - noise)).square().mean(dim=-1), counts)

    def actions(self, features: Tensor, noise: Tensor) -> Tensor:
        """(n, chunk, 7)."""
        actions = noise
        for step in range(INTEGRATION):
            times = torch.full((len(noise),), step / INTEGRATION)
            actions = actions + self._velocity(features, actions, times) / INTEGRATION
        return actions

    def _velocity(self, features: Tensor, actions: Tensor, times: Tensor) -> Tensor:
        clock = torch.stack([times, times.square()], dim=1)
        given = torch.cat([actions.flatten(1), features, clock], dim=1)
        return self.velocity(given).view(-1, self.chunk, ACTION)


HEADS: dict[Head, type[Regression] | type[Bins] | type[Flow]] = {
    Head.REGRESSION: Regression,
    Head.BINS: Bins,
    Head.FLOW: Flow,
}


def _mean(each: Tensor, counts: Tensor) -> Tensor:
    """The mean of errors (n, chunk) over those that count (n, chunk)."""
    return (each * counts).sum() / counts.sum()
