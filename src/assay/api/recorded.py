"""Runs that were made: open them, read their episodes, report and compare them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.episodes import Episode, EpisodeSpec, Outcome, Trajectory, world_of
from assay.errors import FileError, RunError
from assay.runs.driver import Ending
from assay.runs.replay import replay, write_video
from assay.runs.store import Store
from assay.support.plugins import PluginWarning, load_plugins

if TYPE_CHECKING:
    from assay.measures.findings import Finding
    from assay.measures.profile import Profile
    from assay.report.comparison import Compared


def open(path: str | Path) -> Run:
    """A run that was made before. Raises RunError where there is none."""
    with Store.reading(Path(path)):
        return Run(Path(path))


def compare(*runs: Run | str | Path, margin: float = 0.05) -> Compared:
    """Compare runs on the episodes that all of them did, pair by pair; differences within ``margin`` do not matter.

    Raises MeasureError where none match.
    """
    from assay.report.comparison import compare_runs
    from assay.report.run_report import named

    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    if len(set(paths)) < max(2, len(paths)):
        raise RunError("compare: needs two runs or more, each once")
    return compare_runs(named(paths), margin=margin)


@dataclass(frozen=True, eq=False)
class Run:
    """All episodes of one policy on one experiment, in one file."""

    path: Path
    ending: Ending | None = None
    """How the call that made it ended; None for a run that was opened."""
    _scratch: Any = None

    @property
    def meta(self) -> dict[str, Any]:
        """Where it comes from: experiment, policy, assets, versions, settings."""
        with Store.reading(self.path) as store:
            return store.meta

    def frame(self) -> pl.DataFrame:
        """The recorded episodes, one row each: key, condition, task, seed, outcome, steps, labels, ..."""
        with self._reading() as store:
            return store.frame()

    def profile(self) -> Profile:
        """Every measure that the run allows, with intervals."""
        from assay.measures.profile import profile

        with self._reading() as store:
            return profile(store)

    def diagnose(self) -> tuple[Finding, ...]:
        """What is wrong with the policy, the surest first."""
        from assay.measures.diagnosis import diagnose

        return diagnose(self.profile())

    def summary(self) -> str:
        """What the report says first, a sentence a line: what was found, or why nothing was, and what was measured."""
        from assay.report.run_report import RunReport
        from assay.report.summary import sentences

        found = RunReport.read(self.path, self.path.stem)
        return "\n".join([*found.told.found, *([] if found.only_errors else sentences(found.profile))])

    def report(
        self,
        folder: str | Path,
        *beside: Run | str | Path,
        paper: str | None = None,
        published: bool = False,
        near_far: str = "ours",
        labels: Sequence[str] = (),
        figures: str | None = None,
        width: str = "column",
        font: str | None = None,
        font_size: float = 8.0,
        names: str | Path | None = None,
    ) -> Path:
        """Write the report, with its figures and tables, into a folder; returns the page.

        ``beside`` are other runs that are in it, too. With ``paper`` ("libero-para") it has the tables and figures
        of that paper instead, each under the paper's own number; ``published``: its authors' numbers beside.
        ``near_far`` says which failures are near: "ours", "paper" (LIBERO-Para's rule, which its page always has), or
        "floor=0.01&least_successes=5&with_controls=true".
        ``labels`` name the runs, one for each. With ``figures`` ("pdf" or "svg") the folder ``paper`` in it has figures
        and tables for a paper: ``width``, ``font``, ``font_size`` and ``names`` are the options of ``assay report``.
        """
        from assay.measures.failure.near_far import near_far_rule
        from assay.measures.views.printing import Print
        from assay.report.comparison import compare_suites
        from assay.report.for_papers import write_for_papers
        from assay.report.page import build
        from assay.report.papers import write_paper
        from assay.report.run_report import RunReport, named

        paths = [self.path, *(each.path if isinstance(each, Run) else Path(each) for each in beside)]
        runs = named(paths, labels)
        if paper is not None:
            return write_paper(paper, runs, Path(folder), published=published)
        if published:
            raise RunError("published=True is for paper=NAME")
        rule = near_far_rule(near_far)
        chosen = None if names is None else Path(names)
        how = None if figures is None else Print.of(figures, width, font, font_size, chosen)
        found = [RunReport.read(path, name, near_far=rule) for name, path in runs.items()]
        built = build(found, compare_suites(runs, found))
        try:
            if how is not None:
                write_for_papers(built, runs, Path(folder), how)
            return built.write(Path(folder))
        except OSError as error:
            raise FileError(f"{folder} cannot be written: {error.strerror or error}") from None

    @cached_property
    def episodes(self) -> Episodes:
        """The recorded episodes by key; the beginning of a key will do."""
        return Episodes(self)

    def _reading(self) -> Store:
        store = Store.reading(self.path)
        for line in load_plugins(store.meta.get("plugins", ())):
            warnings.warn(line, PluginWarning, stacklevel=3)
        return store


class Episodes(Mapping[str, "RecordedEpisode"]):
    """The recorded episodes of a run, in the plan's order."""

    def __init__(self, run: Run) -> None:
        self._run = run
        with run._reading() as store:
            frame = store.frame()
        self._numbers: dict[str, int] = dict(zip(frame["key"].to_list(), frame["id"].to_list(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, key: str) -> RecordedEpisode:
        found = [number for number in self._numbers if number.startswith(key)] if key else []
        if len(found) != 1:
            many = "no" if not found else "more than one"
            raise KeyError(f"{many} recorded episode of {self._run.path} has a key that begins with '{key}'")
        return RecordedEpisode(self._run, found[0], self._numbers[found[0]])


@dataclass(frozen=True, slots=True, eq=False)
class RecordedEpisode:
    """One episode of a run."""

    run: Run
    key: str
    number: int

    @property
    def row(self) -> dict[str, Any]:
        """What the frame has of it."""
        return self.run.frame().row(by_predicate=pl.col("key") == self.key, named=True)

    @property
    def spec(self) -> EpisodeSpec:
        """What determines it."""
        with self.run._reading() as store:
            return store.specs([self.number])[0]

    @property
    def trajectory(self) -> Trajectory:
        """Where the end effector went, and the actions. Raises RunError where it was not recorded."""
        with self.run._reading() as store:
            for _, trajectory in store.trajectories([self.number]):
                return trajectory
        raise RunError(f"{self.run.path}: the trajectory of {self.key} cannot be read")

    def replay(self, video: str | Path | None = None) -> Episode:
        """Play the recorded actions again; with ``video``, into an mp4 file, too."""
        spec, row, actions = self.spec, self.row, self.trajectory.actions
        error = str(row["error"]) if row["outcome"] == Outcome.ERROR else ""
        with self.run._reading() as store:
            env = world_of(spec.task).open(store.states)
        try:
            if video is None:
                return replay(env, spec, actions, error=error)
            return write_video(env, spec, actions, Path(video), error=error)
        finally:
            env.close()
