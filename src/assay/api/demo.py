"""The demo: policies with planted flaws, small versions of four experiments, and whether the flaws are found."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.api import run
from assay.episodes import CONTROL, LIBERO, WORLDS, Episode, EpisodeSpec
from assay.errors import RunError
from assay.experiments import Experiment, load_experiment
from assay.measures.diagnosis import diagnose
from assay.measures.findings import Finding
from assay.measures.sentences import Diagnosis
from assay.measures.success.rates import SUCCESS_RATE, Rate
from assay.measures.views.heat_map import policies_map
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import between
from assay.report.page import PAGE, build
from assay.report.rendering import render
from assay.report.run_report import RunReport
from assay.runs.certificates import Cache, cache_file
from assay.runs.execute import Observer, make_certificates
from assay.runs.options import RunOptions
from assay.runs.worker import WorkerConfig
from assay.support import processes

PLANTED: Mapping[str, str] = MappingProxyType(
    {
        "oracle": "none",
        "replay": "plays back the control, whatever has changed",
        "blind": "ignores the instruction",
        "keyword": "knows things by their trained names only",
        "clumsy": "closes its gripper too late, every other time",
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
    """The most control steps; None for the tasks' usual horizons."""

    @property
    def name(self) -> str:
        """The experiment's, without its fields."""
        return self.experiment.partition("?")[0]

    def design(self) -> Experiment:
        """The experiment, cut down."""
        places: dict[str, int] = {CONTROL: 0}

        def kept(spec: EpisodeSpec) -> bool:
            place = places.setdefault(spec.condition, len(places))
            turn = spec.condition == CONTROL or self.seeds[place % len(self.seeds)] == spec.seed
            wanted = not self.conditions or spec.condition in self.conditions
            return (turn or not self.in_turn) and wanted and whole.keep(spec)

        whole = load_experiment(self.experiment)
        return replace(whole, tasks=self.tasks, seeds=self.seeds, limit=None, keep=kept)

    def plan(self, pack: str) -> Iterator[EpisodeSpec]:
        """Its episodes."""
        design = self.design()
        return design.plan(design.choose(), design.seeds, pack=pack, steps=self.steps)


BOTH = "libero_object/0,libero_object/3"
"""Two short tasks about things that can be moved; their starts differ little, so a few paths tell a lot.

Elsewhere, the oracle needs longer to reach moved things.
"""
SEEDS = (0, 1, 2, 3, 4)
"""Ten starts: an exact test can come to 2 ** -10, and about fifteen things are tested together."""
PARTS = (
    Part("libero", BOTH, tuple(range(12)), steps=130),
    Part("para?per_cell=1", "libero_goal/6", SEEDS, in_turn=True, steps=115),
    Part(
        "pro",
        BOTH,
        SEEDS,
        conditions=("control", "pro/displace=0.2", "pro/object=colour", "pro/words=xxx"),
        steps=130,
    ),
    Part("corruption", BOTH, SEEDS[:3], conditions=("control", "corruption/counterfactual"), steps=130),
    Part(
        "x",
        "libero_object/0,libero_object/1",
        conditions=(
            *("control", "x/level1", "x/level2", "x/level3", "x/level4/unseen", "x/level4/confounding"),
            *(f"x/level5/{each}" for each in ("unseen/synonym", "unseen/passive", "confounding/verbose")),
        ),
        steps=145,
    ),
)


@dataclass(frozen=True, slots=True)
class Examined:
    """A policy that went through the experiments."""

    policy: str
    planted: str
    rates: Mapping[str, Rate | None]
    """Experiment -> success: of what is perturbed, if something is."""
    findings: tuple[Finding, ...]
    refused: Mapping[str, Mapping[str, int]]
    """Experiment -> why episodes were left out, and how many."""

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
) -> tuple[Path, list[Examined]]:
    """Run policies through small experiments, report on each, and compare them on one page.

    Earlier results in the folder are replaced. ``watch`` is told how many episodes are done and planned;
    ``sheet`` is a contact sheet for the page.
    """
    _certify(parts, pack, workers)
    planned = len(policies) * sum(1 for part in parts for _ in part.plan(pack))
    for place in ("runs", *policies):
        shutil.rmtree(folder / place, ignore_errors=True)
    done = processes.context().Value("i", 0)
    with processes.pool(workers, _count, done) as pool:
        jobs = [pool.submit(partial(_examine, policy, pack, parts, folder)) for policy in policies]
        try:
            while wait(jobs, TICK).not_done:
                watch(done.value, planned)
                for job in jobs:
                    if job.done():
                        job.result()
        except BrokenProcessPool:
            raise RunError("a worker of the demo died: the same command begins again") from None
        watch(done.value, planned)
    examined = [job.result() for job in jobs]
    page = folder / PAGE
    figure = policies_map({each.policy: each.rates for each in examined})
    (folder / f"{figure.name}.svg").write_text(figure.file, encoding="utf-8")
    written = render(
        "demo.html.jinja",
        examined=examined,
        table=_table(examined, parts),
        figure=figure,
        refused=_refused(examined[0]) if examined else {},
        sheet=sheet and sheet.name,
    )
    page.write_text(written, encoding="utf-8")
    return page, examined


def _certify(parts: Sequence[Part], pack: str, workers: int) -> None:
    """Let the demonstrator solve what the parts change in the world, so that no policy waits for it."""
    world = WORLDS[LIBERO]
    assert world.traits.demonstrator is not None
    with Cache(cache_file()) as cache:
        for part in parts:
            if part.design().certified:
                config = WorkerConfig(world.traits.demonstrator)
                make_certificates(part.plan(pack), cache, config, RunOptions(workers=workers), Observer())


_done: Any = None
"""How many episodes all processes have done."""


def _count(done: Any) -> None:
    global _done
    _done = done


class _Counter(Observer):
    """Counts episodes for all processes together."""

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None:
            with _done.get_lock():
                _done.value += 1


def _examine(policy: str, pack: str, parts: Sequence[Part], folder: Path) -> Examined:
    """Run a policy through the experiments and write its report; in a process of its own."""
    reports = {}
    for part in parts:
        path = folder / "runs" / f"{policy}-{part.name}.assay"
        with suppress(RunError):  # everything was refused: the file, if there is one, says so
            run(
                part.design(), policy, out=path, assets=pack, steps=part.steps, workers=0, observer=_Counter()
            )
        reports[part.name] = RunReport.read(path)
    build(list(reports.values())).write(folder / policy)
    rates = {name: each.profile.get(SUCCESS_RATE) for name, each in reports.items()}
    findings = diagnose(*(report.profile for report in reports.values()))
    refused = {name: each.refused for name, each in reports.items()}
    return Examined(policy, PLANTED.get(policy, "unknown"), rates, findings, refused)


def _table(examined: Sequence[Examined], parts: Sequence[Part]) -> Table:
    """Success of every policy on every experiment."""
    names = [part.name for part in parts]
    return Table(
        "demo",
        "Success",
        (Column("policy"), *(Column(name) for name in names)),
        tuple((each.policy, *(_shown(each.rates[name]) for name in names)) for each in examined),
        "Successes where success is expected, with 95 % intervals in percent: libero as it is, the "
        "others where something was changed.",
    )


def _refused(examined: Examined) -> dict[str, int]:
    """Why episodes were left out, and how many, of all experiments: the same for every policy."""
    total: Counter[str] = Counter()
    for reasons in examined.refused.values():
        total.update(reasons)
    return dict(total.most_common())


def _shown(rate: Rate | None) -> str | None:
    if rate is None:
        return None
    return f"{rate.successes} of {rate.count} ({between(rate.interval, 100, 0)})"
