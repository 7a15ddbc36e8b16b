"""Shared training code for torch networks: schedule, optimiser step, and checkpoint files.

Torch, which the extra ``learn`` installs, is imported on first use.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from assay.errors import PolicyError, one_line
from assay.support.extras import require
from assay.support.files import replacing

if TYPE_CHECKING:
    import torch
    from torch import nn

_WARM_UP_SHARE = 0.03
"""Fraction of the training during which the learning rate increases."""
_HEADER_KEY = "assay"
D = TypeVar("D", bound=BaseModel)
N = TypeVar("N", bound="nn.Module")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Length of the training, which ends at the first limit that is reached."""

    steps: int = 0
    """Maximum number of batches; 0 for no limit."""
    minutes: float = 0.0
    """Maximum duration, in minutes; 0 for no limit."""
    batch: int = 64
    rate: float = 1.5e-3

    def share(self, step: int, seconds: float) -> float:
        """Return the completed fraction of the training, 0 to 1."""
        by_steps = step / self.steps if self.steps else 0.0
        by_time = seconds / (60 * self.minutes) if self.minutes else 0.0
        return min(1.0, max(by_steps, by_time))

    def rate_at(self, share: float) -> float:
        """Return the learning rate at a fraction of the training: linear warm-up, then cosine decay."""
        if share < _WARM_UP_SHARE:
            return self.rate * max(share / _WARM_UP_SHARE, 0.02)
        return self.rate * (0.5 + 0.5 * math.cos(math.pi * (share - _WARM_UP_SHARE) / (1 - _WARM_UP_SHARE)))


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """Training progress as shown to the user."""

    step: int = 0
    share: float = 0.0
    loss: float = math.nan
    """Exponential moving average of the loss."""

    def advance(self, share: float, loss: float) -> TrainingProgress:
        """Return the progress after one more step."""
        average = loss if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * loss
        return TrainingProgress(self.step + 1, share, average)


def require_torch() -> None:
    """Raise PolicyError with the installation command if torch is missing."""
    require("learn", "learned policies need torch", PolicyError)


def descend(network: nn.Module, optimizer: torch.optim.Optimizer, loss: torch.Tensor, rate: float) -> float:
    """Take one optimiser step at a learning rate; return the loss before the step."""
    import torch

    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def count_parameters(network: nn.Module) -> int:
    """Return the number of parameters of a network."""
    return sum(parameter.numel() for parameter in network.parameters())


def save_checkpoint(path: Path, network: nn.Module, description: BaseModel) -> None:
    """Write a safetensors file with a description in its header; the file appears only once it is complete."""
    from safetensors.torch import save_model

    with replacing(path) as unfinished:
        save_model(network, str(unfinished), metadata={_HEADER_KEY: description.model_dump_json()})


def load_checkpoint(path: Path, kind: type[D], build: Callable[[D], N], command: str) -> tuple[N, D]:
    """Return the network in a checkpoint written by ``command``, built from its description. Raises PolicyError."""
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_model

    if not path.is_file():
        raise PolicyError(f"there is no checkpoint {path}; train one with '{command}'")
    try:
        with safe_open(str(path), "pt") as file:
            header = file.metadata() or {}
        description = kind.model_validate(json.loads(header[_HEADER_KEY]))
        network = build(description)
        load_model(network, str(path))
    except (SafetensorError, RuntimeError, OSError, KeyError, ValueError) as error:
        if isinstance(error, ValidationError):
            fields = {".".join(map(str, detail["loc"])) for detail in error.errors()}
            reason = f"missing or invalid fields in its header: {', '.join(sorted(fields))}"
        else:
            reason = "its header has no description" if isinstance(error, KeyError) else str(error)
        raise PolicyError(
            f"{path} is damaged, or is not a checkpoint written by {command}: {one_line(reason, 120)}"
        ) from None
    return network.eval(), description
