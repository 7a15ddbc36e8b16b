"""Heads of a visuomotor network: how far their actions are from the demonstrator's, how large, and how they act.

    python -m bench.heads out/networks/few-starts --steps 400
    python -m bench.heads out/networks/few-starts --steps 1000 --act 3     # and from three starts of each task

Trains each head on demonstrations without images, which is quick, and shows what it gives on episodes held out, as
Markdown; with ``--act``, also how many episodes it does when it acts. Needs torch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.episodes import EpisodeSpec, Outcome, rollout
from assay.extensions.learn.visuomotor.frames import FrameArrays, read
from assay.extensions.learn.visuomotor.network import BINS, BinsHead, Network
from assay.extensions.learn.visuomotor.policy import EXECUTED, VisuomotorPolicy
from assay.extensions.learn.visuomotor.settings import Head, Input, NetworkSettings
from assay.extensions.learn.visuomotor.training import TrainingExamples, train_to_file
from assay.policies.control import control
from assay.support.training import Schedule
from bench.networks import SEEN_STARTS, STEPS, TASKS, said

FAST = 0.9
"""From where on an action counts as full speed."""
STILL = 0.05
"""Up to where the hand counts as standing still."""
LAST = 60
"""Steps at the end of an episode that failed."""


def _likeliest(shares: Tensor, middles: Tensor) -> Tensor:
    return middles[shares.argmax(dim=-1)]


def _mean(shares: Tensor, middles: Tensor) -> Tensor:
    return shares @ middles


def _drawn(shares: Tensor, middles: Tensor) -> Tensor:
    return middles[torch.multinomial(shares.flatten(0, -2), 1).view(shares.shape[:-1])]


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a head gives actions."""

    name: str
    head: Head
    taken: Callable[[Tensor, Tensor], Tensor] | None = None
    """From the shares of bins (..., bins) and their middles (bins,): what is taken, in place of the median."""
    executed: int = EXECUTED
    noise: float = 0.0

    def of(self, head: Any) -> None:
        """Have a head give its actions in this way."""
        if not isinstance(head, BinsHead) or self.taken is None:
            return
        middles, taken = ((torch.arange(BINS) + 0.5) / BINS * 2 - 1) * head.reach, self.taken
        head.actions = lambda features, _: taken(head._logits(features).softmax(dim=-1), middles)  # type: ignore[method-assign]


WAYS = (
    Way("regression", Head.REGRESSION),
    Way("regression, 4 actions of each chunk", Head.REGRESSION, executed=4),
    Way("bins, the median", Head.BINS),
    Way("bins, the median, all 16 actions", Head.BINS, executed=16),
    Way("bins, the mean", Head.BINS, _mean),
    Way("bins, drawn", Head.BINS, _drawn),
    Way("bins, the likeliest", Head.BINS, _likeliest),
    Way("flow, drawn", Head.FLOW, noise=1.0),
    Way("flow, `noise=0`", Head.FLOW),
)


def rows(frames: FrameArrays, steps: int, acting: int) -> Iterator[str]:
    """The table."""
    columns = ["off the demonstrator's translation", "as large", "at full speed"]
    columns += ["succeeds", "stands still"] if acting else []
    yield f"| given | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}"
    speeds = np.abs(frames.actions[:, :3])
    yield f"| the demonstrator | | 1 | {100 * (speeds > FAST).mean():.0f} % |{' | |' * bool(acting)}"
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        for head in Head:
            file = Path(folder) / f"{head}.safetensors"
            settings = NetworkSettings(head=head, without=(Input.IMAGES,))
            train_to_file(frames, file, settings, Schedule(steps=steps, rate=1e-3))
            examples = TrainingExamples(frames, [[text] for text in frames.instructions], settings)
            for way in WAYS:
                if way.head is head:
                    policy = VisuomotorPolicy(str(file), execute=way.executed, noise=way.noise)
                    way.of(policy._network.head)
                    torch.manual_seed(0)
                    acted = f" {' | '.join(_acted(policy, acting))} |" if acting else ""
                    yield f"| {way.name} | {' | '.join(_given(policy._network, examples, way.noise))} |{acted}"


def _given(network: Network, examples: TrainingExamples, noise: float) -> tuple[str, str, str]:
    """How far what is given on frames held out is from the demonstrator's, how large, how often at full speed."""
    wanted, counts = examples.chunks(examples.held_out)
    there = counts > 0
    with torch.inference_mode():
        actions = network(examples.inputs(examples.held_out), noise * torch.randn_like(wanted))
    mine, right = (each[..., :3].clamp(-1, 1)[there] for each in (actions, wanted))
    return (
        f"{float((mine - right).abs().mean()):.3f}",
        f"{float(mine.abs().mean() / right.abs().mean()):.2f}",
        f"{100 * float((mine.abs() > FAST).float().mean()):.0f} %",
    )


def _acted(policy: VisuomotorPolicy, starts: int) -> tuple[str, str]:
    """Of how many episodes it does how many, and the share of the last steps of the others in which it stands still."""
    first, hits, still = int(SEEN_STARTS.partition("-")[0]), 0, []
    specs = [
        EpisodeSpec(task, seed, steps=STEPS)
        for task in TASKS.split(",")
        for seed in range(first, first + starts)
    ]
    for spec in specs:
        episode = rollout(control(spec), policy, spec)
        hits += (success := episode.outcome is Outcome.SUCCESS)
        if not success:
            last: Sequence[np.ndarray] = episode.trajectory.actions[-LAST:, :3]
            still.append(float((np.abs(last).max(axis=1) < STILL).mean()))
    return said(hits, len(specs)), f"{100 * np.mean(still):.0f} %" if still else ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.heads", description=__doc__.split("\n\n")[0])
    parser.add_argument("demonstrations", type=Path, help="a folder of `assay collect`")
    parser.add_argument("--steps", type=int, default=400, help="batches of 64")
    parser.add_argument(
        "--act", type=int, default=0, metavar="STARTS", help="so many of each task; 0: not at all"
    )
    chosen = parser.parse_args()
    for row in rows(read(chosen.demonstrations, 64), chosen.steps, chosen.act):
        print(row, flush=True)


if __name__ == "__main__":
    main()
