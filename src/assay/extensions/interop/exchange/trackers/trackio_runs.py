"""Trackio, Hugging Face's local dashboard: ``trackio show --project assay``."""

from __future__ import annotations

import trackio
from trackio.sqlite_storage import SQLiteStorage

from assay.api.tracking import TrackedEpisode, TrackedRun
from assay.measures.summary import Summary


class Trackio:
    """A run of trackio: a step for each episode, a table of rates at the end."""

    def start(self, about: TrackedRun) -> int:
        """Begin a run, or go on with the one of the same name."""
        name = f"{about.name}-{about.id[:8]}"
        last = SQLiteStorage.get_max_step_for_run(about.project, name)
        config = {key: value for key, value in about.config.items() if not key.startswith("_")}
        self._run = trackio.init(
            project=about.project,
            name=name,
            config=config,
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return 0 if last is None else int(last) + 1

    def episode(self, row: TrackedEpisode) -> None:
        """Log one episode."""
        texts = {f"episode/{name}": value for name, value in row.texts().items()}
        self._number = row.number
        self._run.log({**row.scalars(), **texts}, step=row.number)

    def finish(self, summary: Summary) -> None:
        """Say rates with intervals beside the last episode, and end."""
        if hasattr(self, "_number"):
            self._run.log(summary.metrics("final/"), step=self._number)
        trackio.finish()
