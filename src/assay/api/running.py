"""Execute experiments: complete runs, evaluations within a time budget, audits, duels and searches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from assay.api.recorded import Run
from assay.episodes import WORLDS, Policy
from assay.errors import ExperimentError, RunError
from assay.experiments import Experiment, load_experiment
from assay.runs.display import RunDisplay
from assay.runs.execute import Observer, default_path, execute, plain_name
from assay.runs.options import RunOptions, RunOptionsDict, join_names
from assay.runs.schedulers.budget import FittedRun, run_within
from assay.runs.schedulers.search import SearchEnding
from assay.runs.schedulers.search import search as start_search
from assay.runs.store import SUFFIX, Store
from assay.support.console import number_of
from assay.support.files import scratch_folder

if TYPE_CHECKING:
    from assay.measures.shortcuts import Probe, Shortcuts
    from assay.measures.success.drops import Drop
    from assay.measures.summary import ConditionRate, Summary
    from assay.measures.world.thresholds import Thresholds
    from assay.support.stats.judgement import Judgement


def run(
    experiment: str | Experiment,
    policy: str | Policy,
    *,
    out: str | Path | None = None,
    label: str | None = None,
    progress: bool | None = None,
    observer: Observer | None = None,
    options: RunOptions | None = None,
    **overrides: Unpack[RunOptionsDict],
) -> Run:
    """Run an experiment with a policy; the same call resumes the run.

    ``experiment`` is a name, optionally with parameters (``"para?per_cell=2"``), ``"python:module:object"`` or an
    `Experiment`. ``policy`` is an address (``"oracle"``, ``"python:mine:Policy"``, ``"openpi://host:port"``), or
    an object with ``reset`` and ``act``, which runs in this process. The other keyword arguments are the fields of
    `RunOptions`, which are the options of ``assay run``. Without ``out``, the run is stored in ``runs/``; the run
    of a policy object, which a later call could not recognise, is stored in a temporary file that exists as long
    as the returned `Run`.

    ``label`` is the policy's name in reports. If the policy's source or checkpoint has changed since the first
    call, another ``out`` is required, because a run file contains the episodes of only one policy. ``progress``
    shows a progress bar and lets running episodes finish on the first Ctrl-C; it is on by default in a terminal.
    An ``observer`` replaces it.
    """
    options = RunOptions.of(options, **overrides)
    scratch = None
    if out is not None:
        path = Path(out)
    elif isinstance(policy, str):
        name = experiment if isinstance(experiment, str) else experiment.name
        path = default_path(name, policy, options.shard)
    else:
        scratch = scratch_folder()
        path = Path(scratch.name) / f"run{SUFFIX}"
    if observer is None and (sys.stderr.isatty() if progress is None else progress):
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
    out: str | Path | None = None,
    observer: Observer | None = None,
    options: RunOptions | None = None,
    **overrides: Unpack[RunOptionsDict],
) -> Evaluated:
    """Evaluate a policy briefly inside a training loop: success rates by condition with intervals, and the drop.

    ``budget`` ("2min", "90s" or a number of seconds) limits the number of seeds and, if necessary, of tasks; the
    result lists what was left out. With ``seeds`` and ``budget=None``, the result does not depend on elapsed time.
    The same policy runs the same episodes for the same tasks and seeds. With ``out``, the run is stored in that
    file; otherwise it exists only as long as the result.
    """
    from assay.measures.summary import summarise

    options = RunOptions.of(options, **overrides)
    if not isinstance(policy, str):
        options = RunOptions.of(options, workers=0)
    scratch = None
    if out is None:
        scratch = scratch_folder()
        out = Path(scratch.name) / f"run{SUFFIX}"
    fitted = run_within(budget, experiment, policy, Path(out), options, observer)
    with Store.reading(fitted.path) as store:
        summary = summarise(store)
    return Evaluated(**asdict(fitted), summary=summary, run=Run(fitted.path, _scratch=scratch))


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluated(FittedRun):
    """Result of a short evaluation."""

    summary: Summary
    run: Run

    @property
    def rates(self) -> Mapping[str, ConditionRate]:
        """Success rate by condition, with its interval; ``control`` is the unperturbed condition."""
        return self.summary.rates

    @property
    def drop(self) -> Drop | None:
        """Loss in success rate over all perturbations, relative to controls; None if no episode is perturbed."""
        return self.summary.drop

    def metrics(self, prefix: str = "assay/") -> dict[str, float]:
        """Return numbers by name for a logger: ``assay/rate/control``, ``assay/low/control``, ``assay/drop``, ..."""
        return self.summary.metrics(prefix)

    def __str__(self) -> str:
        size = f"{number_of(len(self.tasks), 'task')}, {number_of(self.seeds, 'seed')}, {self.seconds:.0f} s"
        return "\n".join([str(self.summary), size, *(f"left out: {part}" for part in self.left_out)])


def gate(
    run: Run | str | Path, baseline: Run | str | Path, *, margin: float = 0.05, each: bool = False
) -> Judgement:
    """Decide whether a run may replace a baseline: it must not be worse by more than ``margin``.

    With ``each``, every condition must also pass separately. Raises MeasureError if the runs share no episode.
    """
    from assay.measures.gate import gate as judge
    from assay.report.comparison import read_outcomes
    from assay.report.run_report import name_runs

    paths = [side.path if isinstance(side, Run) else Path(side) for side in (baseline, run)]
    if paths[0].resolve() == paths[1].resolve():
        raise RunError("gate: expected two different runs, but the run and the baseline are the same")
    outcomes = {name: read_outcomes(path) for name, path in name_runs(paths).items()}
    return judge(outcomes, margin=margin, each=each)


def search(
    policy: str | Policy,
    axes: str | Iterable[str] = "distance",
    *,
    budget: int | None = None,
    level: float = 0.5,
    confidence: float = 0.95,
    out: str | Path | None = None,
    label: str | None = None,
    observer: Observer | None = None,
    options: RunOptions | None = None,
    **overrides: Unpack[RunOptionsDict],
) -> SearchResult:
    """Find the smallest change along each axis that makes a policy fail on each task, with an interval.

    ``budget``: maximum number of episodes, including controls; by default 90 per task and axis. ``level``:
    fraction of the controls' success rate below which success counts as lost.
    ``confidence``: confidence level of each interval. The same call resumes the search. The other keyword
    arguments are the fields of `RunOptions`. Raises DeclinedError if the observer declines to start.
    """
    from assay.measures.measure import RunData
    from assay.measures.world.thresholds import thresholds

    names = join_names(axes, ExperimentError, "axes", "'distance,delay'") or ""
    ending = start_search(
        policy,
        [stripped for name in names.split(",") if (stripped := name.strip())],
        None if out is None else Path(out),
        RunOptions.of(options, **overrides),
        budget=budget,
        level=level,
        confidence=confidence,
        label=label,
        observer=observer,
    )
    with Store.reading(ending.path) as store:
        measured = thresholds(RunData(store, with_paths=False))
    return SearchResult(**asdict(ending), thresholds=measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(SearchEnding):
    """Result of a search."""

    thresholds: Thresholds

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        from assay.support.stats.intervals import plain

        return {
            "run": str(self.path),
            "played": self.played,
            "refused": self.refused,
            "left": self.left,
            "notes": list(self.notes),
            "thresholds": plain(self.thresholds),
        }


def audit(
    experiment: str | Experiment,
    *,
    policies: Iterable[str] = (),
    least: float = 0.5,
    out: str | Path | None = None,
    observer: Observer | None = None,
    starting: Callable[[Probe], None] = lambda probe: None,
    options: RunOptions | None = None,
    **overrides: Unpack[RunOptionsDict],
) -> Audit:
    """Measure how much of an experiment can be solved without the instruction, without vision or from memory alone.

    Runs policies that lack an input, and any additional ``policies``, and stores the runs in the folder ``out``;
    the same call resumes the audit. A condition is solved if the whole 95 % interval of its success rate is above
    ``least``. ``starting`` is called before each run. The other keyword arguments are the fields of `RunOptions`.
    """
    from assay.measures.shortcuts import check_least, shortcuts

    check_least(least)
    design = load_experiment(experiment) if isinstance(experiment, str) else experiment
    probes = _probes(design, policies)
    name = experiment if isinstance(experiment, str) else experiment.name
    folder = Path(out) if out is not None else Path("runs") / f"audit-{plain_name(name)}"
    options, observer = RunOptions.of(options, **overrides), observer or Observer()
    runs: dict[Probe, Run] = {}
    left = 0
    for probe in probes:
        starting(probe)
        path = folder / f"{probe.name}{SUFFIX}"
        ending = execute(experiment, probe.policy, path, options, observer, probe.title)
        runs[probe] = Run(path, ending)
        left += ending.left
        if ending.reason:
            raise RunError(
                f"stopped: {ending.reason}; run the audit again to resume once the policy is reachable"
            )
        if observer.stopping():
            left += (len(probes) - len(runs)) * max(1, len(runs[probe].frame()))
            break
    solved = shortcuts({probe: run.frame() for probe, run in runs.items()}, least)
    return Audit(solved, {probe.name: run for probe, run in runs.items()}, left)


def _probes(design: Experiment, policies: Iterable[str]) -> list[Probe]:
    """Return the policies for an audit of an experiment: its world's, and ``policies``. Raises RunError."""
    from assay.measures.shortcuts import MEMORY, SIGHT, WORDS, Probe

    kinds = {"": None, "words": WORDS, "sight": SIGHT, "memory": MEMORY}
    auditors = WORLDS[design.world].traits.auditors
    if not auditors:
        raise RunError(f"audit: the world '{design.world}' does not declare any policies that lack an input")
    if odd := [lacks for _, lacks in auditors if lacks not in kinds]:
        valid = ", ".join(filter(None, kinds))
        raise RunError(
            f"audit: world '{design.world}': an audit policy is declared to lack '{odd[0]}', which is no input; "
            f"choose from {valid}, or ''"
        )
    probes = [Probe(name, name, kinds[lacks]) for name, lacks in auditors]
    probes += [Probe(plain_name(address), address, f"as {address}") for address in policies]
    names = [probe.name for probe in probes]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RunError(f"audit: {', '.join(twice)}: expected each policy only once")
    return probes


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of an audit: the conditions of an experiment that policies lacking an input can solve."""

    shortcuts: Shortcuts
    """Success by condition and policy, with intervals; ``conditions(probe, Solved.YES)`` lists the blind spots."""
    runs: Mapping[str, Run]
    """The policies' runs, by name."""
    left: int
    """Number of episodes that remain to be executed by repeating the call; 0 if the audit is complete."""

    def __str__(self) -> str:
        from assay.measures.shortcuts import describe_shortcuts

        return "\n".join(describe_shortcuts(self.shortcuts))
