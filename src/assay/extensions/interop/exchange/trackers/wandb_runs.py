"""Weights & Biases. ``WANDB_MODE=offline`` needs no account; ``wandb sync`` sends it later."""

from __future__ import annotations

import wandb

from assay.api.tracking import TrackedEpisode, TrackedRun
from assay.measures.summary import Summary


class Wandb:
    """A run of W&B: a step for each episode, a table of rates at the end."""

    def start(self, about: TrackedRun) -> int:
        """Begin a run, or go on with the one of the same id."""
        self._run = wandb.init(
            project=about.project,
            name=about.name,
            id=about.id,
            config=dict(about.config),
            resume="allow",
            dir=str(about.folder),
        )
        return int(self._run.step)

    def episode(self, row: TrackedEpisode) -> None:
        """Log one episode."""
        texts = {f"episode/{name}": value for name, value in row.texts().items()}
        self._run.log({**row.scalars(), **texts}, step=row.number)

    def finish(self, summary: Summary) -> None:
        """Say rates with intervals, and end."""
        table = wandb.Table(columns=["condition", "rate", "low", "high", "episodes", "errors"])
        for rate in summary.rates.values():
            table.add_data(rate.condition, rate.rate, rate.low, rate.high, rate.episodes, rate.errors)
        self._run.summary.update(summary.metrics("final/"))
        self._run.log({"conditions": table})
        self._run.finish()
