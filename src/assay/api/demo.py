"""Demo: run policies with planted flaws through small versions of five experiments, and report the flaws found."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from assay.api.running import run
from assay.episodes import CONTROL, LIBERO, WORLDS, EpisodeSpec
from assay.errors import RunError
from assay.experiments import Experiment, load_experiment
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Finding
from assay.measures.sentences import Diagnosis
from assay.measures.success.rates import SUCCESS_RATE, Rate
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import between
from assay.report.page import PAGE, build
from assay.report.rendering import render
from assay.report.run_report import RunReport
from assay.runs.certificates import CertificateCache
from assay.runs.execute import Observer, make_certificates
from assay.runs.executor import WorkerConfig
from assay.runs.options import RunOptions
from assay.support import processes

PLANTED = {
    "oracle": "none",
    "replay": "replays the actions of the control episode",
    "clumsy": "closes the gripper too late in every second episode",
    "nearest": "takes the object nearest to the target's usual position",
    "keyword": "knows objects only by the names in the training instructions",
    "blind": "ignores the instruction",
    "colour": "takes the object that has the target's usual colour",
}
"""Planted flaw of each policy. Slow policies are first, so that all workers finish at about the same time."""


@dataclass(frozen=True, slots=True)
class DemoExperiment:
    """A small version of an experiment."""

    experiment: str
    tasks: str
    seeds: tuple[int, ...] = (0,)
    conditions: tuple[str, ...] = ()
    """Names of the conditions to run; all conditions if empty."""
    in_turn: bool = False
    """Whether each perturbed condition runs with only one seed; the seeds are assigned in rotation."""
    steps: int | None = 140
    """Maximum number of control steps; None for the default horizons of the tasks."""

    @property
    def name(self) -> str:
        """Name of the experiment, without its parameters."""
        return self.experiment.partition("?")[0]

    def design(self) -> Experiment:
        """Return the reduced experiment."""
        places: dict[str, int] = {CONTROL: 0}

        def keep(spec: EpisodeSpec) -> bool:
            place = places.setdefault(spec.condition, len(places))
            turn = spec.condition == CONTROL or self.seeds[place % len(self.seeds)] == spec.seed
            wanted = not self.conditions or spec.condition in self.conditions
            return (turn or not self.in_turn) and wanted and whole.keep(spec)

        whole = load_experiment(self.experiment)
        return replace(whole, tasks=self.tasks, seeds=self.seeds, limit=None, keep=keep)

    def plan(self, pack: str) -> Iterator[EpisodeSpec]:
        """Plan the episodes of the reduced experiment."""
        design = self.design()
        return design.plan(design.choose(), design.seeds, pack=pack, steps=self.steps)


BOTH = "libero_object/0,libero_object/3"
"""Two short tasks with movable objects.

Their initial states differ little, so a few trajectories are representative. In other tasks, the oracle takes
longer to reach moved objects.
"""
SEEDS = (0, 1, 2, 3, 4)
"""Seeds: with two tasks, ten initial states; an exact test can reach p = 2 ** -10, enough for 15 hypotheses."""
PARTS = (
    DemoExperiment("libero", BOTH, tuple(range(12)), steps=130),
    DemoExperiment("para?per_cell=1", "libero_goal/6", SEEDS, in_turn=True, steps=115),
    DemoExperiment(
        "pro",
        BOTH,
        SEEDS,
        conditions=(CONTROL, "pro/displace=0.2", "pro/object=colour", "pro/words=xxx"),
        steps=130,
    ),
    DemoExperiment(
        "corruption", BOTH, SEEDS[:2], conditions=(CONTROL, "corruption/counterfactual"), steps=130
    ),
    DemoExperiment(
        "x",
        "libero_object/0,libero_object/1",
        conditions=(CONTROL, "x/level1", "x/level3", "x/level4/unseen", "x/level5/unseen/synonym"),
        steps=145,
    ),
)


@dataclass(frozen=True, slots=True)
class ExaminedPolicy:
    """Results of one policy in the demo."""

    policy: str
    planted: str
    rates: Mapping[str, Rate | None]
    """Success rate by experiment: on the perturbed episodes, or on all episodes if none is perturbed."""
    findings: tuple[Finding, ...]
    refused: Mapping[str, Mapping[str, int]]
    """Number of refused episodes by experiment and reason."""

    @property
    def diagnosis(self) -> Diagnosis:
        """Findings about the policy, as sentences."""
        return Diagnosis.of(self.findings)


def run_demo(
    folder: Path,
    pack: str = "primitives",
    *,
    policies: Sequence[str] = tuple(PLANTED),
    parts: Sequence[DemoExperiment] = PARTS,
    workers: int = 2,
    watch: Callable[[ExaminedPolicy], None] = lambda examined: None,
    sheet: Path | None = None,
) -> tuple[Path, list[ExaminedPolicy]]:
    """Run policies through small experiments, report on each, and compare them on one page.

    Earlier results in the folder are replaced. ``watch`` is called for each policy once its report is written;
    ``sheet`` is a contact sheet for the page.
    """
    demonstrator = WORLDS[LIBERO].traits.demonstrator
    assert demonstrator is not None
    config, options = WorkerConfig(demonstrator), RunOptions(workers=workers)
    with CertificateCache() as cache:  # in advance, so that no policy waits for certificates
        for part in parts:
            if part.design().certified:
                make_certificates(part.plan(pack), cache, config, options, Observer())
    for place in ("runs", *policies):
        shutil.rmtree(folder / place, ignore_errors=True)
    with processes.pool(workers) as pool:
        jobs = [pool.submit(_examine, policy, pack, parts, folder) for policy in policies]
        try:
            for job in as_completed(jobs):
                watch(job.result())
        except BrokenProcessPool:
            raise RunError("a demo worker process died; run the same command again") from None
    examined = [job.result() for job in jobs]
    refused: Counter[str] = Counter()  # the same for every policy
    for reasons in examined[0].refused.values() if examined else ():
        refused.update(reasons)
    page = folder / PAGE
    table = _table(examined, parts)
    reasons, name = dict(refused.most_common()), sheet and sheet.name
    written = render("demo.html.jinja", examined=examined, table=table, refused=reasons, sheet=name)
    page.write_text(written, encoding="utf-8")
    return page, examined


def _examine(policy: str, pack: str, parts: Sequence[DemoExperiment], folder: Path) -> ExaminedPolicy:
    """Run a policy through the experiments and write its report; called in a separate process."""
    reports = {}
    for part in parts:
        path = folder / "runs" / f"{policy}-{part.name}.assay"
        with suppress(RunError):  # all episodes were refused: the file, if there is one, has the reasons
            run(part.design(), policy, out=path, assets=pack, steps=part.steps, workers=0, progress=False)
        reports[part.name] = RunReport.read(path)
    build(list(reports.values())).write(folder / policy)
    rates = {name: report.profile.get(SUCCESS_RATE) for name, report in reports.items()}
    findings = diagnose(*(report.profile for report in reports.values()))
    refused = {name: report.refused for name, report in reports.items()}
    return ExaminedPolicy(policy, PLANTED.get(policy, "unknown"), rates, findings, refused)


def _table(examined: Sequence[ExaminedPolicy], parts: Sequence[DemoExperiment]) -> Table:
    """Return a table of the success rate of every policy in every experiment."""

    def cell(rate: Rate | None) -> str | None:
        return f"{rate.successes} of {rate.count} ({between(rate.interval, 100, 0)})" if rate else None

    names = [part.name for part in parts]
    return Table(
        "demo",
        "Success",
        (Column("policy"), *(Column(name) for name in names)),
        tuple((result.policy, *(cell(result.rates[name]) for name in names)) for result in examined),
        "Successes in episodes in which success is expected, with 95 % intervals in percent. For libero, all episodes "
        "count; for the other experiments, only perturbed ones.",
    )
