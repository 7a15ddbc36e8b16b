"""Before hours of work are begun: say what it is, and ask."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from rich.progress import Progress

from assay.cli.plan import print_forecast
from assay.episodes import Episode, EpisodeSpec
from assay.errors import RunError
from assay.measures.forecast import FEW, Forecast, forecast
from assay.runs.display import RunDisplay
from assay.runs.execute import workers_of
from assay.runs.planning import duration
from assay.runs.store import Store
from assay.runs.work import Work
from assay.support.console import progress_bar, say
from assay.support.plugins import PYTHON

LONG = 30 * 60.0
"""Seconds of work above which a run is not begun unasked."""


class AskingDisplay(RunDisplay):
    """Shows how a run goes, and asks before it begins long work.

    Without a terminal nobody can be asked: then long work needs ``yes``, and is refused in one line without it.
    """

    def __init__(self, *, yes: bool = False, dry: bool = False) -> None:
        """``dry``: say what would be done, and do nothing."""
        super().__init__()
        self._yes, self._dry = yes, dry
        self.declined = False
        """Whether nothing was begun."""

    def approve(self, work: Work, path: Path, policy: str) -> bool:
        """Whether to begin."""
        copies = workers_of(work.options)
        if policy.startswith(PYTHON) and copies > 1 and work.options.ray is None:
            said = f"note: {copies} workers, each with its own copy of the policy; --workers 1 loads one"
            say(said, aside=True)
        if self._dry:
            print_forecast(work, self._forecast(work, path, policy, few=0), policy)
            self.declined = True
        elif not self._yes and work.options.ray is None:
            self.declined = not self._agreed(work, path, policy)
        return not self.declined

    def _forecast(self, work: Work, path: Path, policy: str, *, few: int) -> Forecast:
        folders = {path.parent, Path("runs")}
        return forecast(work, policy, path=path, folders=folders, sample=1, few=few)

    def _agreed(self, work: Work, path: Path, policy: str) -> bool:
        found = self._forecast(work, path, policy, few=FEW)
        if found.seconds is None or found.seconds <= LONG:
            return True
        left, made = found.episodes - found.done, found.certificates.missing
        assert found.pace is not None
        certificates = f" and {made:,} certificates" if made else ""
        what = f"{found.pace.word} {duration(found.seconds)}: {left:,} episodes{certificates} ({found.pace.source})"
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise RunError(
                f"this takes {what}; --yes begins it, and assay plan tells what a smaller one can find"
            )
        with self.interruptible():
            return typer.confirm(f"This takes {what}. Begin?", err=True)


class DuelDisplay(AskingDisplay):
    """One bar for the episodes of both."""

    _episodes: Progress | None = None

    def began(self, store: Store, waiting: int) -> None:
        """Begin the bar."""
        self._close(None, None, None)
        self.certifying_only = False
        self._bar = self._episodes = progress_bar()
        self._bar.start()
        self._task = self._bar.add_task("episodes, at most", total=waiting)

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """Go on by one."""
        assert self._episodes is not None
        self._episodes.advance(self._task, 0 if spec is None else 1)
