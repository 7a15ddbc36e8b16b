"""Experiment trackers: Weights & Biases and Trackio. Each package is imported on first use."""

from __future__ import annotations

import importlib
from typing import Any

from assay.api.tracking import TrackedEpisode, TrackedRun
from assay.measures.summary import Summary


def _values(row: TrackedEpisode) -> dict[str, Any]:
    """Return the numbers and strings of an episode that are logged."""
    return {**row.scalars(), **{f"episode/{name}": value for name, value in row.texts().items()}}


class Wandb:
    """A W&B run with one step per episode, and a table of success rates at the end.

    ``WANDB_MODE=offline`` needs no account; ``wandb sync`` uploads the run later.
    """

    def __init__(self) -> None:
        self._wandb: Any = importlib.import_module("wandb")

    def start(self, about: TrackedRun) -> int:
        """Start a run, or resume the run with the same id, and return its next step."""
        self._run = self._wandb.init(
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
        self._run.log(_values(row), step=row.number)

    def finish(self, summary: Summary) -> None:
        """Log success rates with intervals and end the run."""
        table = self._wandb.Table(columns=["condition", "rate", "low", "high", "episodes", "errors"])
        for rate in summary.rates.values():
            table.add_data(rate.condition, rate.rate, rate.low, rate.high, rate.episodes, rate.errors)
        self._run.summary.update(summary.metrics("final/"))
        self._run.log({"conditions": table})
        self._run.finish()


class Trackio:
    """A run in Trackio, Hugging Face's local dashboard (``trackio show --project assay``)."""

    def __init__(self) -> None:
        self._trackio: Any = importlib.import_module("trackio")
        self._last_step: int | None = None

    def start(self, about: TrackedRun) -> int:
        """Start a run, or resume the run with the same name, and return its next step."""
        storage = importlib.import_module("trackio.sqlite_storage").SQLiteStorage
        name = f"{about.name}-{about.id[:8]}"
        last = storage.get_max_step_for_run(about.project, name)
        self._run = self._trackio.init(
            project=about.project,
            name=name,
            config={key: value for key, value in about.config.items() if not key.startswith("_")},
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return 0 if last is None else int(last) + 1

    def episode(self, row: TrackedEpisode) -> None:
        """Log one episode."""
        self._last_step = row.number
        self._run.log(_values(row), step=row.number)

    def finish(self, summary: Summary) -> None:
        """Log success rates with intervals at the step of the last episode and end the run."""
        if self._last_step is not None:
            self._run.log(summary.metrics("final/"), step=self._last_step)
        self._trackio.finish()
