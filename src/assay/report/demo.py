"""The demo: policies with planted flaws, small versions of four experiments, and whether the flaws are found."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay import tasks
from assay.experiments import EpisodeSpec, load_experiment
from assay.experiments.spec import CONTROL
from assay.measures.diagnosis import Finding, diagnose
from assay.measures.rates import Rate
from assay.measures.result import Missing
from assay.report.figures.demo import success_figure
from assay.report.page import PAGE, build
from assay.report.rendering import rendered
from assay.report.run_report import RunReport
from assay.report.summary import Diagnosis
from assay.report.table import Column, Table
from assay.report.wording import between
from assay.runs.certificates import (
    Cache,
    Refusal,
    Service,
    cache_file,
    certify,
    counted,
    engine_digest,
    missing,
)
from assay.runs.certificates.certify import DEMONSTRATOR
from assay.runs.certificates.serve import META
from assay.runs.local import LocalProcesses
from assay.runs.provenance import describe, provenance
from assay.runs.stage import Orders, Stage
from assay.runs.store import Store

PLANTED: Mapping[str, str] = MappingProxyType(
    {
        "oracle": "none",
        "replay": "plays back the control, whatever has changed",
        "blind": "ignores the words",
        "keyword": "knows things by their trained names only",
        "clumsy": "closes its hand too late, every other time",
        "nearest": "takes what stands where the thing used to stand",
        "colour": "takes what has the colour that the thing used to have",
    }
)
"""Policy -> its flaw, as it was planted."""
TICK = 0.3
"""Seconds between looks at the progress."""


@dataclass(frozen=True, slots=True)
class Part:
    """A small version of an experiment."""

    experiment: str
    tasks: str
    seeds: tuple[int, ...] = (0,)
    conditions: tuple[str, ...] = ()
    """What is kept of it; all, if empty."""
    in_turn: bool = False
    """Whether each change has one of the seeds, in turn, rather than all of them."""
    steps: int | None = 140
    """The most control steps; None for what the field gives."""

    @property
    def name(self) -> str:
        """The experiment's, without its fields."""
        return self.experiment.partition("?")[0]

    def plan(self, pack: str) -> Iterator[EpisodeSpec]:
        """Its episodes."""
        design, places = load_experiment(self.experiment), {CONTROL: 0}
        for spec in design.plan(tasks.resolve(self.tasks), self.seeds, pack=pack, steps=self.steps):
            place = places.setdefault(spec.condition, len(places))
            turn = spec.condition == CONTROL or self.seeds[place % len(self.seeds)] == spec.seed
            if (turn or not self.in_turn) and (not self.conditions or spec.condition in self.conditions):
                yield spec


BOTH = "libero_object/0,libero_object/3"
"""Two short tasks about things that can be moved; their starts differ little, so a few paths tell a lot.

Elsewhere, the oracle needs longer to reach moved things.
"""
SEEDS = (0, 1, 2, 3, 4)
"""Ten starts: an exact test can come to 2 ** -10, and about fifteen things are tested together."""
PARTS = (
    Part("libero", BOTH, tuple(range(12)), steps=110),
    Part("para?per_cell=1", "libero_goal/6", SEEDS, in_turn=True, steps=100),
    Part(
        "pro",
        BOTH,
        SEEDS,
        conditions=("control", "pro/displace=0.2", "pro/object=colour", "pro/words=xxx"),
        steps=115,
    ),
    Part("x", "libero_object/0,libero_object/1", steps=130),
)


@dataclass(frozen=True, slots=True)
class Patient:
    """A policy, examined."""

    policy: str
    planted: str
    rates: Mapping[str, Rate | Missing]
    """Suite -> success: of what is perturbed, if something is."""
    findings: tuple[Finding, ...]

    @property
    def diagnosis(self) -> Diagnosis:
        """What is said about it."""
        return Diagnosis.of(self.findings)


def run_demo(
    folder: Path,
    pack: str = "primitives",
    *,
    policies: Sequence[str] = tuple(PLANTED),
    parts: Sequence[Part] = PARTS,
    workers: int = 2,
    watch: Callable[[int, int], None] = lambda done, planned: None,
    sheet: Path | None = None,
) -> tuple[Path, list[Patient]]:
    """Run policies through small experiments, report on each, and compare them on one page.

    Earlier results in the folder are replaced. ``watch`` is told how many episodes are done and planned;
    ``sheet`` is a contact sheet for the page.
    """
    plans, refused = _certified({part: list(part.plan(pack)) for part in parts}, workers)
    planned = len(policies) * sum(map(len, plans.values()))
    for place in ("runs", *policies):
        shutil.rmtree(folder / place, ignore_errors=True)
    spawning = multiprocessing.get_context("spawn")  # GL does not survive a fork
    done = spawning.Value("i", 0)
    with ProcessPoolExecutor(workers, spawning, initializer=_count, initargs=(done,)) as pool:
        jobs = [pool.submit(partial(_examine, policy, pack, plans, refused, folder)) for policy in policies]
        while wait(jobs, TICK).not_done:
            watch(done.value, planned)
            for job in jobs:
                if job.done():
                    job.result()
        watch(done.value, planned)
    patients = [job.result() for job in jobs]
    page = folder / PAGE
    figure = success_figure(
        {each.policy: {name: _known(rate) for name, rate in each.rates.items()} for each in patients}
    )
    (folder / f"{figure.name}.svg").write_text(figure.file, encoding="utf-8")
    written = rendered(
        "demo.html.jinja",
        patients=patients,
        table=_table(patients, parts),
        figure=figure,
        refused=counted(each for found in refused.values() for each in found),
        sheet=sheet and sheet.name,
    )
    page.write_text(written, encoding="utf-8")
    return page, patients


def _certified(
    plans: Mapping[Part, list[EpisodeSpec]], workers: int
) -> tuple[dict[Part, list[EpisodeSpec]], dict[Part, list[Refusal]]]:
    """Of experiments that change the world, only what the demonstrator has solved; and what was left out."""
    served, refused = dict(plans), {}
    changing = {part: specs for part, specs in plans.items() if load_experiment(part.experiment).certified}
    with Cache(cache_file()) as cache:
        wanted = missing((spec for specs in changing.values() for spec in specs), cache)
        if wanted:
            certify(wanted, cache, LocalProcesses(Orders(DEMONSTRATOR), workers))
        for part, specs in changing.items():
            service = Service(cache)
            served[part] = list(service.serve(specs))
            refused[part] = service.refused
    return served, refused


_done: Any = None
"""How many episodes all processes have done."""


def _count(done: Any) -> None:
    global _done
    _done = done


def _examine(
    policy: str,
    pack: str,
    plans: Mapping[Part, Sequence[EpisodeSpec]],
    refused: Mapping[Part, Sequence[Refusal]],
    folder: Path,
) -> Patient:
    """Run a policy through the experiments and write its report; in a process of its own."""
    stage = Stage(Orders(policy))
    reports = {}
    for part, specs in plans.items():
        path = folder / "runs" / f"{policy}-{part.name}.assay"
        with Store.writing(path) as run:
            settings: dict[str, object] = {"steps": part.steps, "conditions": list(part.conditions) or None}
            if part in refused:
                settings["certificates"] = engine_digest(pack)
            describe(run, provenance(part.experiment, policy, pack, settings=settings))
            run.describe(**{META: refused.get(part, [])})
            run.plan(specs)
            for waiting in sorted(run.todo(), key=lambda each: each.scene):
                (spec,) = run.specs([waiting.number])
                run.append(waiting.number, stage.perform(spec))
                with _done.get_lock():
                    _done.value += 1
        reports[part.name] = RunReport.read(path)
    stage.close()
    build(list(reports.values())).write(folder / policy)
    rates = {name: each.profile.success_rate for name, each in reports.items()}
    findings = diagnose(*(each.profile for each in reports.values()))
    return Patient(policy, PLANTED.get(policy, "unknown"), rates, findings)


def _table(patients: Sequence[Patient], parts: Sequence[Part]) -> Table:
    """Success of every policy on every experiment."""
    names = [part.name for part in parts]
    return Table(
        "demo",
        "Success",
        (Column("policy"), *(Column(name) for name in names)),
        tuple((each.policy, *(_shown(each.rates[name]) for name in names)) for each in patients),
        "Successes where a good policy should succeed, with 95 % intervals in percent: libero as it is, the "
        "others where something was changed.",
    )


def _known(rate: Rate | Missing) -> Rate | None:
    return None if isinstance(rate, Missing) else rate


def _shown(rate: Rate | Missing) -> str | None:
    if isinstance(rate, Missing):
        return None
    return f"{rate.successes} of {rate.count} ({between(rate.interval, 100, 0)})"
