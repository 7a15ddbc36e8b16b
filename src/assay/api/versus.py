"""One policy against another: played until it is decided, or judged from two runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.api.choices import Seeds, chosen
from assay.api.recorded import Run
from assay.episodes import Policy, WhileWaiting
from assay.errors import RunError
from assay.experiments import Experiment
from assay.runs.execute import Observer

if TYPE_CHECKING:
    from assay.runs.duel import Duel
    from assay.support.stats.judgement import Judgement


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
        chosen(tasks, seeds, conditions, assets, states),
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
    from assay.report.comparison import read_outcomes
    from assay.report.run_report import name_runs

    paths = [one.path if isinstance(one, Run) else Path(one) for one in (baseline, run)]
    if paths[0].resolve() == paths[1].resolve():
        raise RunError("gate: the run is its own baseline; needs two runs")
    return judged(
        {name: read_outcomes(path) for name, path in name_runs(paths).items()}, margin=margin, each=each
    )
