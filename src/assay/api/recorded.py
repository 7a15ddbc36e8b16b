"""Recorded runs: load them, read their episodes, report and compare them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.episodes import Episode, EpisodeSpec, Outcome, Trajectory, world_of
from assay.errors import FileError, RunError
from assay.runs.driver import Ending
from assay.runs.replay import EpisodeVideo, replay
from assay.runs.store import Store
from assay.support.console import number_of, output, say
from assay.support.plugins import PluginWarning, load_plugins

if TYPE_CHECKING:
    from assay.measures.compare import Comparison
    from assay.measures.findings import Finding
    from assay.measures.measure import Profile


def load_run(path: str | Path) -> Run:
    """Load a recorded run. Raises RunError if the file is not a run."""
    with Store.reading(Path(path)):
        return Run(Path(path))


def compare(*runs: Run | str | Path, margin: float = 0.05) -> Comparison:
    """Compare runs pairwise on the episodes that all of them share.

    ``margin`` is the smallest relevant difference in success rate. Raises MeasureError if the runs share no episode.
    """
    from assay.report.comparison import compare_runs
    from assay.report.run_report import name_runs

    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    if len(set(paths)) < max(2, len(paths)):
        raise RunError("compare: expected at least two different runs")
    return compare_runs(name_runs(paths), margin=margin)


@dataclass(frozen=True, eq=False)
class Run:
    """All episodes of one policy on one experiment, stored in one file."""

    path: Path
    ending: Ending | None = None
    """Result of the call that executed the run; None for a loaded run."""
    _scratch: Any = None

    @property
    def meta(self) -> dict[str, Any]:
        """Provenance of the run: experiment, policy, assets, versions, settings."""
        with Store.reading(self.path) as store:
            return store.meta

    def frame(self) -> pl.DataFrame:
        """Return a table with one row per episode: key, condition, task, seed, outcome, steps, labels, ..."""
        with self._reading() as store:
            return store.frame()

    def profile(self) -> Profile:
        """Return the results of all measures that apply to the run, with intervals."""
        from assay.measures.measure import profile

        with self._reading() as store:
            return profile(store)

    def diagnose(self) -> tuple[Finding, ...]:
        """Return the flaws found in the policy, most certain first."""
        from assay.measures.diagnosis import diagnose

        return diagnose(self.profile())

    def summary(self) -> str:
        """Return the first sentences of the report, one per line: findings (or why there are none) and key numbers."""
        from assay.report.run_report import RunReport
        from assay.report.summary import describe_results

        report = RunReport.read(self.path, self.path.stem)
        return "\n".join(
            [*report.conclusions.found, *([] if report.only_errors else describe_results(report.profile)[0])]
        )

    def show(self) -> RunStatus:
        """Print success rates by condition, errors with tracebacks, clipped actions and refused episodes."""
        from assay.runs import display
        from assay.runs.certificates import count_reasons, recall

        with Store.reading(self.path) as store:
            meta, counts, reasons, refused = store.meta, store.counts(), store.reasons(), recall(store)
            refused_by_condition = Counter(refusal.condition for refusal in refused)
            output.print(display.condition_table(counts, set(store.stopped), refused_by_condition))
            display.print_reasons(reasons)
            display.print_tracebacks(store.tracebacks().values())
            display.print_clipping(store.clipping())
            display.print_refused(count_reasons(refused))
            waiting = len(store.todo(retry="nothing"))
        if meta.get("settings", {}).get("certificates", "") is None:
            say("uncertified: the oracle has not solved these scenes, so some of them may be unsolvable")
        if latency := meta.get("latency"):
            say(
                f"latency: {number_of(latency['steps'], 'control step')}, from a median of "
                f"{latency['median_ms']:g} ms over {len(latency['ms'])} decisions, measured by the {latency['by']}"
            )
        return RunStatus(int(counts["done"].sum()), sum(reasons.values()), waiting)

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
        """Write the report, with its figures and tables, to a folder and return the path of its page.

        ``beside``: further runs to include. ``labels``: names of the runs, one for each. With ``paper``
        ("libero-para"), the report contains the tables and figures of that paper instead, numbered as in the
        paper; ``published`` adds the numbers published by its authors. ``near_far``: the rule that defines near
        failures, which is "ours", "paper" (LIBERO-Para's rule, always used on its own page), or settings that
        modify "ours", such as "floor=0.01&least_successes=5&with_controls=true". With ``figures`` ("pdf" or
        "svg"), figures and tables for a paper are written to the subfolder ``paper``; ``width``, ``font``,
        ``font_size`` and ``names`` have the same meaning as in ``assay report``.
        """
        from assay.measures.failure.near_far import near_far_rule
        from assay.measures.views.printing import Print
        from assay.report.comparison import compare_suites
        from assay.report.for_papers import write_for_papers
        from assay.report.page import build
        from assay.report.papers import build_paper
        from assay.report.run_report import RunReport, name_runs

        paths = [self.path, *(run.path if isinstance(run, Run) else Path(run) for run in beside)]
        runs = name_runs(paths, labels)
        if paper is not None:
            return build_paper(paper, runs, published=published).write(Path(folder))
        if published:
            raise RunError("published=True requires paper=NAME")
        rule = near_far_rule(near_far)
        chosen = None if names is None else Path(names)
        how = None if figures is None else Print.of(figures, width, font, font_size, chosen)
        reports = [RunReport.read(path, name, near_far=rule) for name, path in runs.items()]
        built = build(reports, compare_suites(runs, reports))
        try:
            if how is not None:
                write_for_papers(built, runs, Path(folder), how)
            return built.write(Path(folder))
        except OSError as error:
            raise FileError(f"{folder} cannot be written: {error.strerror or error}") from None

    @cached_property
    def episodes(self) -> Episodes:
        """Recorded episodes, accessible by key or by the beginning of a key."""
        return Episodes(self)

    def _reading(self) -> Store:
        store = Store.reading(self.path)
        for line in load_plugins(store.meta.get("plugins", ())):
            warnings.warn(line, PluginWarning, stacklevel=3)
        return store


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Episode counts of a run."""

    done: int
    errors: int
    waiting: int
    """Number of planned episodes that were not executed."""

    @property
    def has_only_errors(self) -> bool:
        """Whether episodes were executed, and all of them ended in an error."""
        return 0 < self.done <= self.errors


class Episodes(Mapping[str, "RecordedEpisode"]):
    """The recorded episodes of a run, in plan order."""

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
        matches = [name for name in self._numbers if name.startswith(key)] if key else []
        if len(matches) != 1:
            raise KeyError(
                f"{self._run.path}: expected one recorded episode with a key that begins with '{key}', "
                f"got {len(matches)}"
            )
        return RecordedEpisode(self._run, matches[0], self._numbers[matches[0]])


@dataclass(frozen=True, slots=True, eq=False)
class RecordedEpisode:
    """One episode of a run."""

    run: Run
    key: str
    number: int

    @property
    def row(self) -> dict[str, Any]:
        """Row of the episode in the run's frame."""
        return self.run.frame().row(by_predicate=pl.col("key") == self.key, named=True)

    @property
    def spec(self) -> EpisodeSpec:
        """Spec of the episode."""
        with self.run._reading() as store:
            return store.specs([self.number])[0]

    @property
    def trajectory(self) -> Trajectory:
        """End-effector path and actions. Raises RunError if they cannot be read."""
        with self.run._reading() as store:
            for _, trajectory in store.trajectories([self.number]):
                return trajectory
        raise RunError(f"{self.run.path}: the trajectory of {self.key} cannot be read")

    def replay(self, video: str | Path | None = None) -> Episode:
        """Execute the recorded actions again; ``video`` is the path of an mp4 file to write."""
        spec, row, actions = self.spec, self.row, self.trajectory.actions
        error = str(row["error"]) if row["outcome"] == Outcome.ERROR else ""
        with self.run._reading() as store:
            env = world_of(spec.task).open(store.states)
        try:
            if video is None:
                return replay(env, spec, actions, error=error)
            frames = EpisodeVideo(env, spec)  # one for every step
            episode = replay(env, spec, actions, error=error, watch=frames)
            Path(video).parent.mkdir(parents=True, exist_ok=True)
            frames.write(Path(video), episode)
            return episode
        finally:
            env.close()
