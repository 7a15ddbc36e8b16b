"""Experiment trackers: report the start of a run, every episode and the final summary to a dashboard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from assay.episodes import Episode, EpisodeSpec, Outcome
from assay.errors import AssayError, RunError, did_you_mean, one_line
from assay.measures.summary import Summary, summarise
from assay.runs.execute import Observer
from assay.runs.provenance import DECIDING, IDENTITY
from assay.runs.store import Store
from assay.support.console import say
from assay.support.extras import require
from assay.support.plugins import import_object, registered_addresses
from assay.support.stats.intervals import wilson_interval

T = TypeVar("T")
PROJECT = "assay"
"""Default name of the project."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """Identity of a run in a tracker."""

    id: str
    """Identifier, determined by the file, policy, experiment and assets, so that a resumed run keeps it."""
    name: str
    project: str
    config: Mapping[str, Any]
    """Provenance of the run: experiment, policy, assets, versions, settings."""
    folder: Path
    """The run's folder, for trackers that write files."""


@dataclass(frozen=True, slots=True)
class TrackedEpisode:
    """An episode, and the success rate of its condition so far."""

    number: int
    """Number of episodes sent before this one."""
    condition: str
    task: str
    seed: int
    outcome: str
    steps: int
    seconds: float
    instruction: str
    rate: float | None
    """Success rate of the condition so far; None while all of its episodes are errors."""
    low: float | None
    """Lower bound of the 95 % Wilson interval, which, unlike the final summary, ignores clustering."""
    high: float | None
    episodes: int
    """Number of episodes of the condition so far, excluding errors."""

    def scalars(self) -> dict[str, float]:
        """Return the numeric values by name."""
        rates = {"rate": self.rate, "low": self.low, "high": self.high}
        return {
            "episode/success": float(self.outcome == Outcome.SUCCESS),
            "episode/error": float(self.outcome == Outcome.ERROR),
            "episode/steps": float(self.steps),
            "episode/seconds": self.seconds,
            **{f"{name}/{self.condition}": value for name, value in rates.items() if value is not None},
            f"episodes/{self.condition}": float(self.episodes),
        }

    def texts(self) -> dict[str, str | int]:
        """Return the identifying values by name."""
        return {name: getattr(self, name) for name in ("condition", "task", "seed", "outcome", "instruction")}


class Tracker(Protocol):
    """An experiment tracker."""

    def start(self, run: TrackedRun) -> int:
        """Start or resume a run and return the number of episodes already sent."""

    def episode(self, episode: TrackedEpisode) -> None:
        """Log an episode."""

    def finish(self, summary: Summary) -> None:
        """Log the summary and close the tracker."""


def identify(store: Store, project: str = PROJECT) -> TrackedRun:
    """Return the identity of a run for a tracker."""
    meta = store.meta
    deciding = {name: meta.get(name) for name in (*DECIDING, IDENTITY)}
    text = json.dumps([deciding, meta.get("shard"), store.path.stem], sort_keys=True, default=str)
    return TrackedRun(
        id=hashlib.sha256(text.encode()).hexdigest()[:16],
        name=str(meta.get("label") or store.path.stem),
        project=project,
        config={name: value for name, value in meta.items() if name not in ("refused", "world")},
        folder=store.path.parent,
    )


_COLUMNS = ("condition", "task", "seed", "outcome", "steps", "seconds", "instruction")


class Sender:
    """Sends the episodes of a run to a tracker, each exactly once, in any order.

    A hidden file next to the run file lists the key and outcome of each episode sent, one per line.
    """

    def __init__(self, tracker: Tracker, store: Store, project: str = PROJECT) -> None:
        """Start or resume the tracked run, and send recorded episodes that have not been sent."""
        self._tracker = tracker
        self._counts: dict[str, tuple[int, int]] = {}
        kind = type(tracker).__name__.lower()
        self._file = store.path.with_name(f".{store.path.name}.{kind}-{quote(project, safe='')}")
        present = tracker.start(identify(store, project))
        rows = store.frame().select("key", *_COLUMNS).rows(named=True)
        lines = [f"{row['key']} {row['outcome']}" for row in rows]
        if not present:
            self._file.unlink(missing_ok=True)
        elif not self._file.exists():
            say(
                f"warning: {self._file} is missing; assuming that the first {present} episodes were sent",
                aside=True,
            )
            self._file.write_text("".join(f"{line}\n" for line in lines[:present]), encoding="utf-8")
        self._sent = set(self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else ())
        missed = []
        for row, line in zip(rows, lines, strict=True):
            if line in self._sent:
                self._count(row["condition"], row["outcome"])
            else:
                missed.append(row)
        self._number = max(present, len(self._sent))
        for row in missed:
            self.send(**row)
        self.new = len(missed)
        """Number of previously recorded episodes that were sent at the start."""

    def send(self, key: str, condition: str, outcome: str, **values: Any) -> None:
        """Send an episode that has not been sent; an episode repeated after an error is sent again."""
        line = f"{key} {outcome}"
        if line in self._sent:
            return
        hits, count = self._count(condition, outcome)
        interval = wilson_interval(hits / count, count) if count else None
        self._tracker.episode(
            TrackedEpisode(
                number=self._number,
                condition=condition,
                outcome=str(outcome),
                rate=hits / count if count else None,
                low=None if interval is None else interval.low,
                high=None if interval is None else interval.high,
                episodes=count,
                **values,
            )
        )
        self._number += 1
        self._sent.add(line)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def _count(self, condition: str, outcome: str) -> tuple[int, int]:
        """Count an episode, and return the numbers of successes and episodes of its condition, excluding errors."""
        hits, count = self._counts.get(condition, (0, 0))
        if outcome != Outcome.ERROR:
            hits, count = hits + (outcome == Outcome.SUCCESS), count + 1
        self._counts[condition] = hits, count
        return hits, count


def export(store: Store, tracker: Tracker, project: str = PROJECT) -> int:
    """Send the unsent episodes of a recorded run to a tracker, and return their number."""
    new = Sender(tracker, store, project).new
    tracker.finish(summarise(store))
    return new


class Tracked(Observer):
    """Sends a run to a tracker during execution. Errors in the tracker do not stop the run."""

    def __init__(self, inner: Observer, make: Callable[[], Tracker], project: str = PROJECT) -> None:
        self.inner = inner
        self._project = project
        self._tracker: Tracker | None = make()
        self._sender: Sender | None = None
        self._path: Path | None = None

    def began(self, store: Store, waiting: int) -> None:
        """Start or resume the tracked run, sending previously recorded episodes first."""
        super().began(store, waiting)
        self._path = store.path
        self._sender = self._try(lambda tracker: Sender(tracker, store, self._project))

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """Send an episode."""
        super().episode(spec, episode)
        sender = self._sender
        if spec is None or episode is None or sender is None:
            return
        sources = {name: spec if hasattr(spec, name) else episode for name in _COLUMNS}
        values = {name: getattr(source, name) for name, source in sources.items()}
        self._try(lambda tracker: sender.send(spec.key, **values))

    def close(self) -> None:
        """Send the summary and close the tracker."""
        if self._path is None or self._tracker is None:
            return
        with Store.reading(self._path) as store:
            summary = summarise(store)
        self._try(lambda tracker: tracker.finish(summary))
        self._tracker = None

    def _try(self, call: Callable[[Tracker], T]) -> T | None:
        """Call the tracker; on the first failure, disable it and print a warning."""
        if self._tracker is None:
            return None
        try:
            return call(self._tracker)
        except AssayError:
            raise
        except Exception as error:
            self._tracker = None
            reason = one_line(error)
            say(
                f"warning: tracking stopped: {reason}; send the remaining episodes with assay export --to",
                aside=True,
            )
            return None


def load_tracker(name: str) -> Callable[[], Tracker]:
    """Load a tracker by name. Raises RunError if it is unknown or its package is not installed."""
    trackers = registered_addresses("tracker")
    if name not in trackers:
        raise RunError(f"unknown tracker '{name}': {did_you_mean(name, trackers)}")
    require(name, f"tracking with {name} needs the package {name}", RunError)
    tracker: Callable[[], Tracker] = import_object(trackers[name])
    return tracker
