"""Heads of a visuomotor network in open loop: how far their actions are from the demonstrator's, and how large.

    python -m bench.heads out/networks/few-starts --steps 400

Trains each head on demonstrations without images, which is quick, and shows what it gives on episodes held out, as
Markdown. Needs torch.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from assay.policies.learned.schedule import Schedule
from assay.policies.learned.visuomotor.choices import Head, Input
from assay.policies.learned.visuomotor.frames import Frames, read
from assay.policies.learned.visuomotor.heads import BINS, Bins
from assay.policies.learned.visuomotor.network import Network
from assay.policies.learned.visuomotor.settings import Settings
from assay.policies.learned.visuomotor.training import Examples, train

FAST = 0.9
"""From where on an action counts as full speed."""


def given(network: Network, examples: Examples, wanted: Tensor) -> Iterator[tuple[str, Tensor]]:
    """What a head gives on the frames held out, in each way that it may, (n, chunk, 7) each."""
    seen, still = examples.seen(examples.held_out), torch.zeros_like(wanted)
    head = network.head
    if isinstance(head, Bins):
        likeliest = head._logits(network.features(seen)).argmax(dim=-1)
        actions = ((likeliest + 0.5) / BINS * 2 - 1) * head.reach
        yield "bins, the likeliest", actions * network.action_scale + network.action_mean
        yield "bins, the median", network(seen, still)
    elif network.settings.head is Head.FLOW:
        yield "flow, drawn", network(seen, torch.randn_like(wanted))
        yield "flow, `noise=0`", network(seen, still)
    else:
        yield "regression", network(seen, still)


def rows(frames: Frames, steps: int) -> Iterator[str]:
    """The table."""
    yield "| given | off the demonstrator's translation | as large | at full speed |\n| --- | ---: | ---: | ---: |"
    torch.set_num_threads(1)
    for head in Head:
        settings = Settings(head=head, without=(Input.IMAGES,))
        examples = Examples(frames, [[text] for text in frames.instructions], settings)
        with TemporaryDirectory() as folder:
            network, _ = train(
                examples, Schedule(steps=steps), seed=0, notes=Path(folder) / "notes", identity=""
            )
        wanted, counts = examples.chunks(examples.held_out)
        there, right = counts > 0, wanted[..., :3][counts > 0]
        if head is Head.REGRESSION:
            yield f"| the demonstrator | | 1 | {100 * (right.abs() > FAST).float().mean():.0f} % |"
        torch.manual_seed(0)
        with torch.inference_mode():
            for name, actions in given(network, examples, wanted):
                mine = actions[..., :3].clamp(-1, 1)[there]
                size = float(mine.abs().mean() / right.abs().mean())
                fast = 100 * float((mine.abs() > FAST).float().mean())
                yield f"| {name} | {float((mine - right).abs().mean()):.3f} | {size:.2f} | {fast:.0f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.heads", description=__doc__.split("\n\n")[0])
    parser.add_argument("demonstrations", type=Path, help="a folder of `assay collect`")
    parser.add_argument("--steps", type=int, default=400, help="batches of 64")
    chosen = parser.parse_args()
    for row in rows(read(chosen.demonstrations, 64), chosen.steps):
        print(row, flush=True)


if __name__ == "__main__":
    main()
