"""Confirmation of long runs, and progress bars on the terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from assay.episodes import Episode, EpisodeSpec
from assay.errors import RunError
from assay.runs.display import CertifyingDisplay, RunDisplay
from assay.runs.estimates import duration, earlier_runs
from assay.runs.plan import RunPlan
from assay.runs.store import Store
from assay.support.console import say
from assay.support.trust import PYTHON

LONG_RUN_S = 30 * 60.0
"""Estimated duration, in seconds, above which a run needs confirmation."""


class ConfirmingDisplay(RunDisplay):
    """Display that shows the progress of a run and, before a long run, asks for confirmation.

    Without a terminal, a long run requires ``yes``.
    """

    def __init__(self, *, yes: bool = False) -> None:
        super().__init__()
        self._yes = yes

    def approve(self, plan: RunPlan) -> bool:
        """Return whether to start the run; its duration is estimated from earlier episodes of the policy, if any."""
        options = plan.options
        workers = options.worker_count
        if plan.policy.startswith(PYTHON) and workers > 1 and options.ray is None:
            note = f"note: {workers} workers load {workers} copies of the policy; --workers 1 loads only one"
            say(note, aside=True)
        if self._yes or options.ray is not None:
            return True
        pace = earlier_runs(plan.policy, plan.pack, {plan.path.parent, Path("runs")}, options.steps).pace
        if pace is None or (seconds := len(plan.specs) * pace.seconds / workers) <= LONG_RUN_S:
            return True
        size = f"about {duration(seconds)}: {len(plan.specs):,} episodes ({pace.source})"
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise RunError(
                f"this run takes {size}; pass --yes to start it, or use assay plan to find a smaller run"
            )
        self.__exit__()  # no episode is running: Ctrl-C stops the question at once
        try:
            return typer.confirm(f"This takes {size}. Start?", err=True)
        finally:
            self.__enter__()

    def note(self, text: str) -> None:
        """Print a remark about the run."""
        say(text, aside=True)


class CountingDisplay(ConfirmingDisplay):
    """Display with one progress bar, for runs that may end before all planned episodes are executed."""

    def began(self, store: Store, waiting: int) -> None:
        """Start the progress bar."""
        CertifyingDisplay.began(self, store, waiting)
        self._start_bar("episodes (at most)", waiting)

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """Advance the progress bar."""
        assert self._bar is not None
        self._bar.advance(self._task, 0 if spec is None else 1)
