"""Play experiments: all of one, or as much of it as there is time for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.api.choices import Seeds, chosen
from assay.api.recorded import Run
from assay.episodes import Policy, WhileWaiting
from assay.experiments import Experiment
from assay.runs.display import RunDisplay
from assay.runs.execute import Observer, Videos, default_path, execute
from assay.support.console import number_of
from assay.support.files import scratch_folder

if TYPE_CHECKING:
    from assay.measures.summary import ConditionRate, Cost, Summary


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
        chosen(tasks, seeds, conditions, assets, states),
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
    from assay.api.budget import fit

    scratch = None
    if out is None:
        scratch = scratch_folder()
        out = Path(scratch.name) / "run.assay"
    options = replace(
        chosen(tasks, seeds, conditions, assets),
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


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What a short evaluation found."""

    rates: Mapping[str, ConditionRate]
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
        about = f"{number_of(len(self.tasks), 'task')}, {number_of(self.seeds, 'seed')}, {self.seconds:.0f} s"
        lines = [str(self.summary), about]
        return "\n".join([*lines, *(f"left out: {each}" for each in self.left_out)])
