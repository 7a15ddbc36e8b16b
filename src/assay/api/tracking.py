"""What a dashboard is told of a run: when it begins, each episode, and how it stands at the end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from assay.episodes import Episode, EpisodeSpec, Outcome
from assay.errors import AssayError, RunError, did_you_mean, one_line
from assay.measures.summary import Summary, summarise
from assay.runs.execute import Observer
from assay.runs.provenance import DECIDING, IDENTITY
from assay.runs.store import Store
from assay.runs.work import Work
from assay.support.console import say
from assay.support.extras import require
from assay.support.plugins import imported, provided
from assay.support.stats.intervals import wilson_interval


class SentEpisodes:
    """What one tracker was told of a run, in one of its projects."""

    def __init__(self, run: Path, tracker: str, project: str) -> None:
        self.path = run.with_name(f".{run.name}.{tracker}-{quote(project, safe='')}")
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self._known = set(lines)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, episode: tuple[str, str]) -> bool:
        """Whether it was told of an episode, (key, outcome)."""
        return " ".join(episode) in self._known

    def add(self, key: str, outcome: str) -> None:
        """It was told."""
        line = f"{key} {outcome}"
        self._known.add(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def forget(self) -> None:
        """It knows nothing."""
        self._known.clear()
        self.path.unlink(missing_ok=True)


PROJECT = "assay"
"""What dashboards call the project, where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class About:
    """Which run it is."""

    id: str
    """The same for the same file and the same policy, experiment and assets: a resumed run goes on under it."""
    name: str
    project: str
    config: Mapping[str, Any]
    """Where the run comes from: experiment, policy, assets, versions, settings."""
    folder: Path
    """Where a tracker may write, if it writes files: beside the run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One episode, and success of its condition up to it."""

    number: int
    """How many were told before it."""
    condition: str
    task: str
    seed: int
    outcome: str
    steps: int
    seconds: float
    instruction: str
    rate: float | None
    """Of the condition so far; None as long as all of its episodes broke."""
    low: float | None
    """Lower end of Wilson's 95 % interval, as if episodes were independent; the summary at the end allows for it."""
    high: float | None
    episodes: int
    """Of the condition so far, errors left out."""

    def scalars(self) -> dict[str, float]:
        """Its numbers, by name."""
        found: dict[str, float] = {
            "episode/success": float(self.outcome == Outcome.SUCCESS),
            "episode/error": float(self.outcome == Outcome.ERROR),
            "episode/steps": float(self.steps),
            "episode/seconds": self.seconds,
        }
        for name, value in (("rate", self.rate), ("low", self.low), ("high", self.high)):
            if value is not None:
                found[f"{name}/{self.condition}"] = value
        return found | {f"episodes/{self.condition}": float(self.episodes)}

    def texts(self) -> dict[str, str | int]:
        """What tells it apart, by name."""
        return {
            "condition": self.condition,
            "task": self.task,
            "seed": self.seed,
            "outcome": self.outcome,
            "instruction": self.instruction,
        }


class Tracker(Protocol):
    """Somebody's dashboard."""

    def start(self, about: About) -> int:
        """Begin, or go on with, a run; returns how many of its episodes are there already."""

    def episode(self, row: Row) -> None:
        """One more episode."""

    def finish(self, summary: Summary) -> None:
        """No more episodes for now: say how it stands, and let go."""


def about(store: Store, project: str = PROJECT) -> About:
    """Which run a store holds."""
    meta = store.meta
    deciding = {name: meta.get(name) for name in (*DECIDING, IDENTITY)}
    text = json.dumps([deciding, meta.get("shard"), store.path.stem], sort_keys=True, default=str)
    kept = {name: value for name, value in meta.items() if name not in ("refused", "world")}
    return About(
        id=hashlib.sha256(text.encode()).hexdigest()[:16],
        name=str(meta.get("label") or store.path.stem),
        project=project,
        config=kept,
        folder=store.path.parent,
    )


class Counts:
    """Success for each condition as episodes come in."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self.number = 0

    def row(
        self, condition: str, task: str, seed: int, outcome: str, steps: int, seconds: float, said: str
    ) -> Row:
        """The row of the next episode."""
        hits, count = self._seen.get(condition, (0, 0))
        if outcome != Outcome.ERROR:
            hits, count = hits + (outcome == Outcome.SUCCESS), count + 1
        self._seen[condition] = hits, count
        interval = wilson_interval(hits / count, count) if count else None
        self.number += 1
        return Row(
            number=self.number - 1,
            condition=condition,
            task=task,
            seed=seed,
            outcome=str(outcome),
            steps=steps,
            seconds=seconds,
            instruction=said,
            rate=hits / count if count else None,
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
            episodes=count,
        )


class Teller:
    """Tells a tracker of the episodes of a run, each of them once, in whatever order they come."""

    def __init__(self, tracker: Tracker, store: Store, project: str = PROJECT) -> None:
        """Begin, or go on, and tell what was recorded and not told."""
        self.tracker = tracker
        self._counts = Counts()
        self._told = SentEpisodes(store.path, type(tracker).__name__.lower(), project)
        known = tracker.start(about(store, project))
        columns = ("condition", "task", "seed", "outcome", "steps", "seconds", "instruction")
        rows = store.frame().select("key", *columns).rows()
        if not known:
            self._told.forget()
        elif not self._told.path.exists():
            say(
                f"warning: {self._told.path} is missing: the first {known} episodes count as told", aside=True
            )
            for key, *values in rows[:known]:
                self._told.add(key, values[3])
        missed = []
        for key, *values in rows:
            if (key, values[3]) in self._told:
                self._counts.row(*values)
            else:
                missed.append((key, *values))
        self._counts.number = max(known, len(self._told))
        for each in missed:
            self.tell(*each)
        self.new = len(missed)
        """How many it was told that were recorded before."""

    def tell(
        self,
        key: str,
        condition: str,
        task: str,
        seed: int,
        outcome: str,
        steps: int,
        seconds: float,
        said: str,
    ) -> None:
        """Tell of one episode, unless that is known; one that ended in an error and was played again is told again."""
        if (key, outcome) not in self._told:
            self.tracker.episode(self._counts.row(condition, task, seed, outcome, steps, seconds, said))
            self._told.add(key, outcome)


def export(store: Store, tracker: Tracker, project: str = PROJECT) -> int:
    """Tell a tracker of a run that is there; what it was told already is not told again. Returns how many were new."""
    new = Teller(tracker, store, project).new
    tracker.finish(summarise(store))
    return new


class Tracked(Observer):
    """Tells a tracker of a run while it goes on, and another observer too. What breaks in a tracker breaks no run."""

    def __init__(self, inner: Observer, make: Callable[[], Tracker], project: str = PROJECT) -> None:
        self._inner, self._project = inner, project
        self._tracker: Tracker | None = make()
        self._teller: Teller | None = None
        self._path: Path | None = None

    def approve(self, work: Work, path: Path, policy: str) -> bool:
        """As the other says."""
        return self._inner.approve(work, path, policy)

    def certifying(self, wanted: int) -> None:
        """For the other."""
        self._inner.certifying(wanted)

    def certified(self) -> None:
        """For the other."""
        self._inner.certified()

    def began(self, store: Store, waiting: int) -> None:
        """Begin, or go on: what was recorded before, and the tracker knows nothing of, comes first."""
        self._inner.began(store, waiting)
        self._path = store.path

        def begin(tracker: Tracker) -> None:
            self._teller = Teller(tracker, store, self._project)

        self._tell(begin)

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        """Tell of an episode."""
        self._inner.episode(spec, episode)
        if spec is None or episode is None:
            return
        values = (
            spec.key,
            spec.condition,
            spec.task,
            spec.seed,
            episode.outcome,
            episode.steps,
            episode.seconds,
            episode.instruction,
        )

        def tell(_: Tracker) -> None:
            if self._teller is not None:
                self._teller.tell(*values)

        self._tell(tell)

    def stopping(self) -> bool:
        """As the other says."""
        return self._inner.stopping()

    def close(self) -> None:
        """Tell how the run stands, and let go of the tracker."""
        if self._path is None or self._tracker is None:
            return
        with Store.reading(self._path) as store:
            summary = summarise(store)
        self._tell(lambda tracker: tracker.finish(summary))
        self._tracker = None

    def _tell(self, what: Callable[[Tracker], None]) -> None:
        """Tell the tracker something; one that breaks is told no more, and somebody is told why."""
        if self._tracker is None:
            return
        try:
            what(self._tracker)
        except AssayError:
            raise
        except Exception as error:
            self._tracker = None
            reason = one_line(error)
            say(
                f"warning: tracking ended: {reason}; the run goes on (assay export --to tells the rest)",
                aside=True,
            )


def load_tracker(name: str) -> Callable[[], Tracker]:
    """Load the tracker of a name. Raises RunError if there is none, or its package is not installed."""
    trackers = provided("tracker")
    if name not in trackers:
        raise RunError(f"there is no tracker '{name}': {did_you_mean(name, trackers)}")
    require(name, f"tracking with {name} needs the package {name}", RunError)
    tracker: Callable[[], Tracker] = imported(trackers[name])
    return tracker
