"""What one step of any training does. Needs torch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn


def descend(network: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor, rate: float) -> float:
    """One step down a loss at a learning rate; returns the loss before it."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


def size(network: nn.Module) -> int:
    """How many parameters there are."""
    return int(np.sum([parameter.numel() for parameter in network.parameters()]))
