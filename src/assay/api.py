"""What a researcher scripts: run experiments, open and read runs, compare them, step a task by hand.

    import assay

    run = assay.run("pro", policy="python:mine:Policy", tasks="libero_goal", seeds=range(10))
    for finding in run.diagnose():
        print(finding)

`assay run` and the demo go through this.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from assay.episodes import (
    Env,
    Episode,
    EpisodeSpec,
    Initial,
    Outcome,
    Perturbation,
    Policy,
    Trajectory,
    WhileWaiting,
    task_of,
    world_of,
)
from assay.errors import AssayError, ExperimentError, RunError, StateError, TaskError
from assay.experiments import Experiment
from assay.files import scratch_folder
from assay.plugins import PluginWarning, load_plugins
from assay.runs.display import RunDisplay
from assay.runs.driver import Ending
from assay.runs.execute import Observer, Options, Videos, default_path, execute
from assay.runs.replay import replay, write_video
from assay.runs.seeds import as_seeds
from assay.runs.store import Store

if TYPE_CHECKING:
    from assay.exchange.summary import Cost, Share, Summary
    from assay.measures.findings import Finding
    from assay.measures.profile import Profile
    from assay.measures.shortcuts import Shortcuts, States
    from assay.report.comparison import Compared
    from assay.runs.audit import Probe
    from assay.runs.duel import Duel
    from assay.searches.run import Searched
    from assay.stats.judgement import Judgement

Seeds = int | str | Iterable[int]
"""How many, from 0 on; or which, as numbers or as the command line names them (``7-11``)."""


def run(
    experiment: str | Experiment,
    policy: str | Policy,
    *,
    tasks: str | Iterable[str] | None = None,
    seeds: Seeds | None = None,
    conditions: str | Iterable[str] | None = None,
    out: str | Path | None = None,
    assets: str | None = None,
    states: str | Path | None = None,
    hold_start: int | None = None,
    steps: int | None = None,
    replan: int | None = None,
    latency: int | Literal["measured"] = 0,
    while_waiting: WhileWaiting | None = None,
    retries: int = 1,
    until: str | None = None,
    video: Videos | None = None,
    workers: int | None = None,
    ray: str | None = None,
    certified: bool | None = None,
    retry_errors: bool = False,
    timeout: float = 1800.0,
    shard: str | None = None,
    label: str | None = None,
    progress: bool | None = None,
    observer: Observer | None = None,
) -> Run:
    """Run an experiment with a policy; the same call again goes on where it stopped.

    ``experiment`` is a name with fields (``"para?per_cell=2"``), ``"python:module:object"`` or an `Experiment`;
    ``conditions`` picks some of its conditions (``"position,displace=*"``), the control stays. With
    ``hold_start`` every episode starts from that initial state, and seeds are the policy's alone.
    ``policy`` is an address (``"oracle"``, ``"python:mine:Policy"``, ``"openpi://host:port"``), or an object
    with ``reset`` and ``act``, which acts in this process, one episode after the other. The other parameters
    are the options of ``assay run``. Without ``out`` the run is in ``runs/``; that of an object, which no later
    call could know again, in a temporary file that lives as long as the returned `Run`.

    ``label`` is what reports, comparisons and figures call the policy. Where a policy's source or checkpoint has
    changed since, ``out`` is refused: one file holds the episodes of one policy.

    ``progress`` shows how far it is, and lets the first Ctrl-C finish running episodes; by default on a terminal.
    An ``observer`` of your own is told instead.
    """
    scratch = None
    if out is not None:
        path = Path(out)
    elif isinstance(policy, str):
        path = default_path(experiment if isinstance(experiment, str) else experiment.name, policy, shard)
    else:
        scratch = scratch_folder()
        path = Path(scratch.name) / "run.assay"
    options = replace(
        _chosen(tasks, seeds, conditions, assets, states),
        hold_start=hold_start,
        steps=steps,
        replan=replan,
        latency=latency,
        while_waiting=while_waiting,
        retries=retries,
        until=until,
        video=video,
        workers=workers,
        ray=ray,
        certified=certified,
        retry_errors=retry_errors,
        timeout=timeout,
        shard=shard,
    )
    shown = sys.stderr.isatty() if progress is None else progress
    if observer is None and shown:
        with RunDisplay() as display:
            ending = execute(experiment, policy, path, options, display, label)
    else:
        ending = execute(experiment, policy, path, options, observer, label)
    return Run(path, ending=ending, _scratch=scratch)


def evaluate(
    policy: str | Policy,
    experiment: str | Experiment = "pro",
    *,
    budget: str | float | None = "2min",
    tasks: str | Iterable[str] | None = None,
    seeds: Seeds | None = None,
    conditions: str | Iterable[str] | None = None,
    out: str | Path | None = None,
    assets: str | None = None,
    steps: int | None = None,
    replan: int | None = None,
    latency: int = 0,
    while_waiting: WhileWaiting | None = None,
    workers: int | None = None,
    certified: bool | None = None,
    observer: Observer | None = None,
) -> Evaluated:
    """A short evaluation inside a training loop: success for each condition with intervals, and the drop.

    ``budget`` ("2min", "90s", seconds) decides how many of the seeds are played, and if need be of how few tasks;
    what is left out is in the result. Given ``seeds`` and no budget (``budget=None``) nothing hangs on time. The same
    policy gives the same episodes for the same tasks and seeds. ``out`` keeps the run; without it, the run lives as
    long as the result does.
    """
    from assay.exchange.evaluate import fit

    scratch = None
    if out is None:
        scratch = scratch_folder()
        out = Path(scratch.name) / "run.assay"
    options = replace(
        _chosen(tasks, seeds, conditions, assets),
        steps=steps,
        replan=replan,
        latency=latency,
        while_waiting=while_waiting,
        workers=workers if isinstance(policy, str) else 0,
        certified=certified,
    )
    found = fit(experiment, policy, Path(out), options, budget, observer)
    return Evaluated(
        rates=found.summary.rates,
        drop=found.summary.drop,
        tasks=found.tasks,
        seeds=found.seeds,
        left_out=found.left_out,
        seconds=found.seconds,
        summary=found.summary,
        run=Run(found.path, _scratch=scratch),
    )


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

    paths = [each.path if isinstance(each, Run) else Path(each) for each in runs]
    if len(set(paths)) < max(2, len(paths)):
        raise RunError("compare: needs two runs or more, each once")
    return compare_runs(named(paths), margin=margin)


def duel(
    first: str | Policy,
    second: str | Policy,
    experiment: str | Experiment,
    *,
    tasks: str | Iterable[str] | None = None,
    seeds: Seeds | None = None,
    conditions: str | Iterable[str] | None = None,
    margin: float = 0.05,
    each: bool = False,
    per_start: int | None = 1,
    measure: str = "success",
    out: str | Path | None = None,
    labels: tuple[str | None, str | None] = (None, None),
    workers: int | None = None,
    assets: str | None = None,
    states: str | Path | None = None,
    steps: int | None = None,
    replan: int | None = None,
    latency: int = 0,
    while_waiting: WhileWaiting | None = None,
    certified: bool | None = None,
    retry_errors: bool = False,
    timeout: float = 1800.0,
    observer: Observer | None = None,
) -> Duel | None:
    """Play two policies on the same episodes until it is known whether the second is better, equivalent or worse.

    ``out`` is a folder for ``A.assay`` and ``B.assay``; the same call goes on where it stopped. ``each``: every
    condition is to be decided, too. ``per_start``: episodes that are dealt of each task and seed; None for all.
    ``measure``: what is compared, "success" or "progress", how far episodes come. The
    other parameters are the options of ``assay duel``. None where the observer did not approve of so much work.
    """
    from assay.runs.duel import default_folder
    from assay.runs.duel import duel as played

    if out is None:
        if not (isinstance(first, str) and isinstance(second, str)):
            raise RunError("duel: a policy that is an object needs out, a folder")
        out = default_folder(first, second)
    options = replace(
        _chosen(tasks, seeds, conditions, assets, states),
        steps=steps,
        replan=replan,
        latency=latency,
        while_waiting=while_waiting,
        workers=workers,
        certified=certified,
        retry_errors=retry_errors,
        timeout=timeout,
    )
    return played(
        experiment,
        (first, second),
        Path(out),
        options,
        margin=margin,
        each=each,
        per_start=per_start,
        measure=measure,
        labels=labels,
        observer=observer,
    )


def gate(
    run: Run | str | Path, baseline: Run | str | Path, *, margin: float = 0.05, each: bool = False
) -> Judgement:
    """Whether a run may replace a baseline: better, equivalent, or not worse by more than ``margin``, or worse.

    ``each``: every condition is asked for, too. Raises MeasureError where no episode is shared.
    """
    from assay.measures.gate import gate as judged
    from assay.report.comparison import outcomes
    from assay.report.run_report import named

    paths = [one.path if isinstance(one, Run) else Path(one) for one in (baseline, run)]
    if paths[0].resolve() == paths[1].resolve():
        raise RunError("gate: the run is its own baseline; needs two runs")
    return judged({name: outcomes(path) for name, path in named(paths).items()}, margin=margin, each=each)


def search(
    policy: str | Policy,
    axes: str | Iterable[str] = "distance",
    *,
    tasks: str | Iterable[str] | None = None,
    budget: int | None = None,
    combine: int = 0,
    level: float = 0.5,
    confidence: float = 0.95,
    seeds: Seeds | None = None,
    guided: bool = True,
    out: str | Path | None = None,
    label: str | None = None,
    workers: int | None = None,
    assets: str | None = None,
    states: str | Path | None = None,
    steps: int | None = None,
    replan: int | None = None,
    certified: bool | None = None,
    retry_errors: bool = False,
    timeout: float = 1800.0,
    observer: Observer | None = None,
) -> Searched | None:
    """Find the smallest change along each axis at which a policy loses success, task by task, with an interval.

    ``budget``: the most episodes, controls among them; 30 for each task and axis by default. ``combine``: the most
    besides, for small changes that break the policy together. ``level``: of the starts that succeed unchanged, the
    share that must be kept; ``confidence``: of each interval. ``guided=False`` plays at random, for comparison. The
    same call goes on where it stopped. The other parameters are those of `run`. None where the observer did not
    approve of so much work.
    """
    from assay.searches.run import search as searched

    if out is None:
        if not isinstance(policy, str):
            raise RunError("search: a policy that is an object needs out, a file")
        out = default_path("search", policy)
    options = replace(
        _chosen(tasks, seeds, None, assets, states),
        steps=steps,
        replan=replan,
        workers=workers,
        certified=certified,
        retry_errors=retry_errors,
        timeout=timeout,
    )
    named = _selection(axes, ExperimentError, "axes", "'distance,delay'") or ""
    return searched(
        policy,
        [name for each in named.split(",") if (name := each.strip())],
        Path(out),
        options,
        budget=budget,
        combine=combine,
        level=level,
        confidence=confidence,
        guided=guided,
        label=label,
        observer=observer,
    )


def audit(
    experiment: str | Experiment,
    *,
    tasks: str | Iterable[str] | None = None,
    seeds: Seeds | None = None,
    conditions: str | Iterable[str] | None = None,
    learned: Iterable[str | Path] = (),
    policies: Iterable[str] = (),
    least: float = 0.5,
    out: str | Path | None = None,
    workers: int | None = None,
    assets: str | None = None,
    states: str | Path | None = None,
    steps: int | None = None,
    certified: bool | None = None,
    timeout: float = 1800.0,
    observer: Observer | None = None,
    told: Callable[[Probe], None] = lambda probe: None,
) -> Audit | None:
    """How much of an experiment is solved without words, without sight, or by memory alone, beside the oracle.

    ``learned`` are networks of ``assay learn --without ...``, ``policies`` further addresses. A condition is solved
    where more than the share ``least`` of its episodes succeed, beyond doubt. ``out`` is a folder for the runs; the
    same call goes on where it stopped. ``told`` is called before each policy plays. None where the observer did not
    approve.
    """
    from assay.measures.shortcuts import check_least, shortcuts
    from assay.runs.audit import default_folder, play, probes_of

    check_least(least)
    probes = probes_of(experiment, [Path(each) for each in learned], policies)
    name = experiment if isinstance(experiment, str) else experiment.name
    options = _audited(tasks, seeds, conditions, assets, states, steps, workers, certified, timeout)
    played = play(experiment, probes, Path(out or default_folder(name)), options, observer, told)
    if played is None:
        return None
    runs = {probe: Run(path) for probe, path in played.runs.items()}
    found = shortcuts({probe: run.frame() for probe, run in runs.items()}, least)
    return Audit(found, {probe.name: run for probe, run in runs.items()}, played.left)


def audit_states(
    policy: str | Policy,
    *,
    states: str | Path | None,
    tasks: str | Iterable[str] | None = None,
    seeds: Seeds | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    assets: str | None = None,
    steps: int | None = None,
    timeout: float = 1800.0,
    observer: Observer | None = None,
) -> States | None:
    """Whether a policy succeeds more often from LIBERO's stored initial states than from newly sampled ones.

    ``states`` is LIBERO's folder of stored states; ``seeds`` are places in its files, and as many seeds. ``out`` is a
    folder for ``stored.assay`` and ``sampled.assay``. None where the observer did not approve.
    """
    from assay.measures.shortcuts import states as compared
    from assay.runs.audit import SAMPLED, STORED, default_folder, play_states

    if out is None:
        if not isinstance(policy, str):
            raise RunError("audit_states: a policy that is an object needs out, a folder")
        out = default_folder(f"states-{policy}")
    options = _audited(tasks, seeds, None, assets, states, steps, workers, None, timeout)
    runs = play_states(policy, Path(out), options, observer)
    if runs is None:
        return None
    return compared(Run(runs[STORED]).frame(), Run(runs[SAMPLED]).frame())


def load_task(task: str, *, seed: int = 0, perturbations: Sequence[Perturbation] = ()) -> Any:
    """The task of an id such as ``libero_goal/3``, or of a task file; with perturbations, as they change it.

    ``seed`` draws what is drawn. Raises TaskError that says what is valid.
    """
    return task_of(_spec(task, seed, perturbations))


def make_env(
    task: str,
    *,
    perturbations: Sequence[Perturbation] = (),
    assets: str | None = None,
    states: str | Path | None = None,
) -> TaskEnv:
    """An environment of one task, to be stepped by hand; a context manager."""
    world = world_of(task)
    pack = assets or world.packs[0]
    world.pack_source(pack)
    load_task(task, perturbations=perturbations)  # what cannot be is missed now
    return TaskEnv(
        world.open(None if states is None else Path(states)),
        task,
        tuple(perturbations),
        pack,
        "sampled" if states is None else "stored",
    )


class TaskEnv:
    """One task that can be reset and stepped."""

    def __init__(
        self, env: Env, task: str, perturbations: tuple[Perturbation, ...], pack: str, initial: Initial
    ) -> None:
        self._env, self._id, self._perturbations = env, task, perturbations
        self._pack, self._initial = pack, initial
        self._spec: EpisodeSpec | None = None

    def reset(self, seed: int = 0) -> Any:
        """Begin an episode; returns the first observation."""
        self._spec = EpisodeSpec(
            self._id, seed, self._pack, perturbations=self._perturbations, initial=self._initial
        )
        return self._env.reset(self._spec)

    def step(self, action: np.ndarray | Sequence[float]) -> Any:
        """Carry out one action, (action size,); returns the observation after it."""
        if self._spec is None:
            raise StateError("the environment has no state yet: call reset first")
        return self._env.step(np.asarray(action))

    @property
    def task(self) -> Any:
        """The task as it is now, with ``id``, ``instruction`` and more."""
        return (
            self._env.task
            if self._spec is not None
            else load_task(self._id, perturbations=self._perturbations)
        )

    @property
    def succeeded(self) -> bool:
        """Whether the goal is reached now."""
        return self._spec is not None and self._env.succeeded()

    @property
    def simulation(self) -> Any:
        """The simulation behind it: poses, predicates, MuJoCo's model and data."""
        return self._env.simulation

    def frame(self, observation: Any) -> np.ndarray:
        """An observation as people look at it, for videos: uint8, (height, width, 3)."""
        return self._env.frame(observation)

    def close(self) -> None:
        """Give back what it holds."""
        self._env.close()

    def __enter__(self) -> TaskEnv:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What a short evaluation found."""

    rates: Mapping[str, Share]
    """Success with its interval, by condition; ``control`` has nothing changed."""
    drop: Cost | None
    """What all changes cost together, in pairs with the controls; None where nothing was changed."""
    tasks: tuple[str, ...]
    seeds: int
    """Seeds 0 to this number less one, if the experiment's begin with 0."""
    left_out: tuple[str, ...]
    """What of the experiment there was no time for, a sentence each."""
    seconds: float
    """How long it took, of the clock."""
    summary: Summary
    run: Run
    """All of it: to be reported, diagnosed, kept."""

    def metrics(self, prefix: str = "assay/") -> dict[str, float]:
        """Flat numbers for a logger: ``assay/rate/control``, ``assay/low/control``, ``assay/drop``, ..."""
        return self.summary.metrics(prefix)

    def __str__(self) -> str:
        lines = [str(self.summary), f"{len(self.tasks)} tasks, {self.seeds} seeds, {self.seconds:.0f} s"]
        return "\n".join([*lines, *(f"left out: {each}" for each in self.left_out)])


@dataclass(frozen=True, eq=False)
class Audit:
    """What policies that lack something solve of an experiment."""

    shortcuts: Shortcuts
    """By condition and policy, with intervals; ``blind_spots(probe)`` names the conditions."""
    runs: Mapping[str, Run]
    """The policies' runs, by name."""
    left: int
    """Episodes that the same call would still play; 0 where it is over."""

    def __str__(self) -> str:
        from assay.report.audit import in_words

        return "\n".join(in_words(self.shortcuts))


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
        from assay.measures.nearness import near_far_rule
        from assay.report.comparison import compare_suites
        from assay.report.for_papers import write_for_papers
        from assay.report.page import build
        from assay.report.papers import write_paper
        from assay.report.printing import Print
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
        if how is not None:
            write_for_papers(built, runs, Path(folder), how)
        return built.write(Path(folder))

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
        found = [each for each in self._numbers if each.startswith(key)] if key else []
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


def _chosen(
    tasks: str | Iterable[str] | None,
    seeds: Seeds | None,
    conditions: str | Iterable[str] | None,
    assets: str | None,
    states: str | Path | None = None,
) -> Options:
    """What is played, of what all calls that play take; how it is played is added to it."""
    return Options(
        tasks=_selection(tasks, TaskError, "tasks", "'libero_goal/3'"),
        seeds=None if seeds is None else as_seeds(seeds),
        conditions=_selection(conditions, ExperimentError, "conditions", "'position,displace=*'"),
        assets=assets,
        states=None if states is None else Path(states),
    )


def _selection(
    given: str | Iterable[str] | None, error: type[AssayError], name: str, example: str
) -> str | None:
    """A selection as the command line has it; raises ``error`` for what is neither a text nor several."""
    if given is None or isinstance(given, str):
        return given
    try:
        return ",".join(given)
    except TypeError:
        raise error(
            f"{name}={given!r:.60}: valid: a selection such as {example}, or a list of names"
        ) from None


def _audited(
    tasks: str | Iterable[str] | None,
    seeds: Seeds | None,
    conditions: str | Iterable[str] | None,
    assets: str | None,
    states: str | Path | None,
    steps: int | None,
    workers: int | None,
    certified: bool | None,
    timeout: float,
) -> Options:
    """The options of the runs of an audit."""
    return replace(
        _chosen(tasks, seeds, conditions, assets, states),
        steps=steps,
        workers=workers,
        certified=certified,
        timeout=timeout,
    )


def _spec(task: str, seed: int, perturbations: Sequence[Perturbation]) -> EpisodeSpec:
    return EpisodeSpec(task, seed, perturbations=tuple(perturbations))
