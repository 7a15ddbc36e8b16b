"""Reports on flawless policies of many shapes: how many claim a flaw, and how many recommend more seeds.

    python -m bench.shapes                 # 1,000 reports: 18 shapes with 2, 3, 5, 10 and 20 seeds in turn
    python -m bench.shapes --reports 100

The plans are those of real experiments; outcomes, trajectories and errors are sampled here, and independently of
`bench.synthetic`: a policy's luck differs from episode to episode, from start to start, or between the changes of a
start. No shape loses success under any change after which success is expected.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, product

import numpy as np
import polars as pl
import scipy
from rich.console import Console
from rich.progress import track
from rich.table import Table

from assay.measures.findings import Finding
from assay.measures.sentences import Diagnosis
from assay.support.streams import stream
from bench.diagnosis import examined, named
from bench.figure import Figure, exact_interval
from bench.synthetic import GOALS, Held, Plan, asked_tasks, plan_of, planned

SINGLE = "pro/object,pro/position,pro/semantic,pro/environment"
DESIGNS = {
    "whole": "pro",
    "nine": f"pro {SINGLE},pro/object=first,pro/task=known,pro/task=two,pro/task,pro/words=xxx",
}
"""All 43 conditions of `pro`, and nine of them."""
SEEDS = (2, 3, 5, 10, 20)
REPORTS = 1000
MOST_ALARMS, MOST_EXPLORATORY, MOST_ADVICE = 0.05, 0.05, 0.10
STEPS = 48
"""Control steps of a success."""
LONGEST = 72
"""Control steps of a failure."""

Rates = Callable[[np.random.Generator], np.ndarray]
"""Function that draws the success rate of each task."""


def spread(rate: float, deviation: float) -> Rates:
    """Return rates whose log-odds are normally distributed around those of ``rate``."""
    return lambda random: scipy.special.expit(
        scipy.special.logit(rate) + deviation * random.normal(size=len(GOALS))
    )


def fixed(*rates: float) -> Rates:
    """Return given rates in random order, repeated for all tasks."""
    return lambda random: random.permutation(np.resize(rates, len(GOALS)))


@dataclass(frozen=True, slots=True)
class Shape:
    """A flawless policy."""

    name: str
    rates: Rates
    start_deviation: float = 0.0
    """Standard deviation of the log-odds of starts, shared by all conditions of a start."""
    heavy_tails: bool = False
    """Whether starts follow Student's t distribution with two degrees of freedom instead of the normal one."""
    decided_by_start: bool = False
    """Whether all episodes of a start have the same outcome."""
    concentration: float = 0.0
    """Sum of the beta distribution's parameters for episodes with the same start and axis; 0: no such correlation."""
    drift: float = 0.0
    """Standard deviation of a random walk of the log-odds over seeds."""
    errors: float = 0.0
    """Fraction of episodes that end in an error."""
    errors_of_failures: float = 0.0
    """Fraction of failures that end in an error."""
    new_goals: float = 1.0
    """Success on new goals relative to the task's usual success."""
    nonsense_as_usual: float = 0.0
    """Fraction of nonsense instructions after which the policy performs the usual task."""
    noise: float = 0.008
    """Standard deviation of the trajectories' noise, metres."""
    ways: int = 1
    """Number of ways to approach an object."""
    lateness: int = 0
    """Maximum delay of the trajectory, steps."""


SHAPES = (
    Shape("all tasks at 50 %", fixed(0.5)),
    Shape("all tasks at 80 %", fixed(0.8)),
    Shape("tasks differ, about 50 %", spread(0.5, 1.5)),
    Shape("tasks and starts differ, about 60 %", spread(0.6, 1.5), start_deviation=1.5),
    Shape("starts decide, about 60 %", spread(0.6, 1.0), decided_by_start=True),
    Shape("a few starts are hopeless", fixed(0.75), start_deviation=2.0, heavy_tails=True),
    Shape("hardly ever succeeds", fixed(0.08)),
    Shape("hardly ever fails", fixed(0.97)),
    Shape("one task always fails", fixed(0.0, *[0.8] * 9)),
    Shape("half at 3 %, half at 97 %", fixed(0.03, 0.97)),
    Shape("luck shared within an axis", spread(0.6, 1.0), concentration=1.5),
    Shape("luck shared within an axis, strongly", fixed(0.5), concentration=0.4),
    Shape("drifts from seed to seed", fixed(0.6), drift=0.5),
    Shape("30 % errors", spread(0.6, 1.0), errors=0.3),
    Shape("half of the failures are errors", spread(0.6, 1.0), errors_of_failures=0.5),
    Shape("new goals are harder", spread(0.7, 1.0), new_goals=0.7),
    Shape("usual task after nonsense", spread(0.7, 1.0), nonsense_as_usual=0.5),
    Shape("noisy, two approaches, late", spread(0.6, 1.0), noise=0.02, ways=2, lateness=10),
)


def sample(shape: Shape, plan: Plan, random: np.random.Generator) -> Held:
    """Sample a run of a policy."""
    episodes = len(plan.specs)
    task_number = {task: number for number, task in enumerate(GOALS)}
    seed = np.array([spec.seed for spec in plan.specs])
    own = np.array([task_number[spec.task] for spec in plan.specs])
    axis = np.unique([str(spec.labels.get("axis", "")) for spec in plan.specs], return_inverse=True)[1]
    seeds = int(seed.max()) + 1
    draw = (
        random.standard_t(2, (len(GOALS), seeds))
        if shape.heavy_tails
        else random.normal(size=(len(GOALS), seeds))
    )
    start = shape.start_deviation * draw + shape.drift * np.cumsum(random.normal(size=seeds))
    level = scipy.special.expit(scipy.special.logit(shape.rates(random))[:, None] + start)  # (tasks, seeds)
    luck = random.random((len(GOALS), seeds)) if shape.decided_by_start else None
    rate = level[own, seed]
    if shape.concentration:
        cells = np.unique(np.stack([own, seed, axis]), axis=1, return_inverse=True)[1].ravel()
        mean = np.clip(np.zeros(cells.max() + 1), 0, 1)
        mean[cells] = np.clip(rate, 1e-6, 1 - 1e-6)
        rate = random.beta(shape.concentration * mean, shape.concentration * (1 - mean))[cells]
    chance = random.random(episodes) if luck is None else luck[own, seed]
    success = chance < rate
    for row, spec in enumerate(plan.specs):
        requested = [task_number[task] for task in asked_tasks(spec)]
        if (
            requested
        ):  # another task, or two: performed as well as its own controls are, with independent luck
            success[row] = all(random.random() < level[task, spec.seed] for task in requested)
    harder = np.array(
        [
            spec.labels.get("asked_goal") is not None and spec.labels.get("asked_from") is None
            for spec in plan.specs
        ]
    )
    success &= ~harder | (random.random(episodes) < shape.new_goals)
    as_usual = plan.nonsense & (random.random(episodes) < shape.nonsense_as_usual)
    success &= plan.sensible | as_usual
    failed_with_error = ~success & (random.random(episodes) < shape.errors_of_failures)
    error = failed_with_error | (random.random(episodes) < shape.errors)
    paths, lengths = move(shape, plan, success, as_usual, seed, random)
    outcome = np.where(error, "error", np.where(success, "success", "failure"))
    frame = plan.frame.with_columns(
        outcome=pl.Series(outcome),
        steps=pl.Series(lengths - 1),
        decisions=pl.Series((lengths - 1) // 8),
        truth=pl.Series(plan.truth[np.arange(episodes), success.astype(int)]),
    )
    return Held(plan, frame, paths, lengths)


def move(
    shape: Shape,
    plan: Plan,
    success: np.ndarray,
    as_usual: np.ndarray,
    seed: np.ndarray,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return minimum-jerk trajectories of all episodes, (n, LONGEST + 1, 3) in metres, and their lengths."""
    episodes, places = len(plan.specs), len(plan.places)
    target = np.where(as_usual, plan.place[plan.usual], plan.place)
    ground = np.concatenate([random.uniform(-0.3, 0.3, (places, 2, 2)), np.zeros((places, 2, 1))], axis=2)
    ground[:, :, 2] = (0.02, 0.12)
    jitter = 0.012 * random.normal(size=(places, int(seed.max()) + 1, 3))
    angle = random.uniform(0, 2 * np.pi, episodes)
    moved = plan.far[:, None] * np.stack([np.cos(angle), np.sin(angle), np.zeros(episodes)], axis=1)
    thing = ground[target, 0] + jitter[target, seed] + moved
    goal = ground[target, 1] + jitter[target, seed]
    side = 0.08 * random.integers(0, shape.ways, episodes)
    home = np.array([0.0, 0.0, 0.35])
    time = np.linspace(0, 1, STEPS // 2 + 1)
    smooth = (10 * time**3 - 15 * time**4 + 6 * time**5)[None, :, None]
    bow = np.sin(np.pi * time)[None, :, None] * side[:, None, None] * np.array([0.0, 1.0, 0.3])
    reach = home + smooth * (thing - home)[:, None] + bow
    carry = thing[:, None] + smooth * (goal - thing)[:, None]
    path = np.concatenate([reach, carry[:, 1:], np.repeat(carry[:, -1:], LONGEST - STEPS, axis=1)], axis=1)
    # failures hover above the object, stray, or stop
    kind, turn = random.integers(0, 3, episodes), STEPS // 2
    stop = random.integers(8, STEPS, episodes)
    steps = np.arange(LONGEST + 1)
    hover = thing[:, None] + np.array([0.0, 0.0, 0.05])
    away = thing[:, None] + np.maximum(steps - turn, 0)[None, :, None] / turn * random.uniform(
        -0.3, 0.3, (episodes, 1, 3)
    )
    frozen = np.take_along_axis(path, np.minimum(steps, stop[:, None])[:, :, None], axis=1)
    late = steps[None, :, None] > turn
    for number, failed in enumerate((hover, away, frozen)):
        path = np.where((~success & (kind == number))[:, None, None] & (late | (number == 2)), failed, path)
    delay = random.integers(0, shape.lateness + 1, episodes)
    path = np.take_along_axis(path, np.maximum(steps - delay[:, None], 0)[:, :, None], axis=1)
    waves = random.normal(size=(episodes, 3, 4)) * shape.noise / 2
    phase = np.pi * np.arange(1, 5)[:, None] * steps / STEPS
    path = path + np.einsum("ncw,ws->nsc", waves, np.sin(phase))
    lengths = np.where(success, STEPS + 1 + delay, LONGEST + 1)
    return path.astype(np.float32), np.minimum(lengths, LONGEST + 1)


@dataclass(frozen=True, slots=True)
class Report:
    """What a report on a flawless policy says."""

    shape: str
    design: str
    seeds: int
    alarms: tuple[str, ...]
    """Flaws claimed."""
    has_exploratory: bool
    """Whether there is an exploratory finding."""
    recommends_seeds: bool


def reports(most: int) -> Iterator[Report]:
    """Yield reports of all shapes, designs and numbers of seeds in turn."""
    cells = list(product(SEEDS, DESIGNS, SHAPES))
    order = stream("shapes", "order").permutation(len(cells))  # the first reports cover all seeds and shapes
    for number in count():
        for seeds, design, shape in (cells[place] for place in order):
            if most <= 0:
                return
            most -= 1
            plan = plan_of(planned(DESIGNS[design], GOALS, seeds))
            random = stream("shapes", shape.name, design, str(seeds), str(number))
            findings: tuple[Finding, ...] = examined(sample(shape, plan, random))[1]
            advice = Diagnosis.of(findings).seeds
            has_exploratory = any(finding.exploratory for finding in findings)
            alarms = tuple(sorted(named(findings)))
            yield Report(shape.name, design, seeds, alarms, has_exploratory, advice is not None)


def summarise(collected: list[Report]) -> list[Figure]:
    """Return the fractions of reports with a false alarm and with a recommendation of more seeds."""
    figures = []
    for what, most, flags in (
        (
            "false alarms of reports on flawless policies",
            MOST_ALARMS,
            [bool(report.alarms) for report in collected],
        ),
        (
            "reports on flawless policies with an exploratory finding",
            MOST_EXPLORATORY,
            [report.has_exploratory for report in collected],
        ),
        (
            "reports on flawless policies that recommend more seeds",
            MOST_ADVICE,
            [report.recommends_seeds for report in collected],
        ),
    ):
        low, high = exact_interval(sum(flags), len(flags))
        note = f"{sum(flags)} of {len(flags)}; 95 % interval {100 * low:.1f} to {100 * high:.1f} %"
        figures.append(Figure(what, sum(flags) / len(flags), "of reports", most, note=note))
    return figures


def measure() -> list[Figure]:
    """Produce a few reports of each shape."""
    return summarise(list(reports(2 * len(SHAPES))))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.shapes", description=__doc__.split("\n")[0])
    parser.add_argument("--reports", type=int, default=REPORTS)
    options = parser.parse_args()
    collected = list(track(reports(options.reports), "Reports", options.reports))
    table = Table("group", "reports", "false alarms", "exploratory", "recommend seeds", "flaws claimed")
    groups = [("shape", shape.name, lambda report, name=shape.name: report.shape == name) for shape in SHAPES]
    groups += [
        ("seeds", f"{seeds} seeds", lambda report, seeds=seeds: report.seeds == seeds) for seeds in SEEDS
    ]
    groups += [
        ("design", f"{name} design", lambda report, name=name: report.design == name) for name in DESIGNS
    ]
    for _, name, belongs in groups:
        rows = [report for report in collected if belongs(report)]
        claims = Counter(flaw for report in rows for flaw in report.alarms)
        alarms, exploratory, advice = (
            sum(map(bool, flags))
            for flags in (
                [r.alarms for r in rows],
                [r.has_exploratory for r in rows],
                [r.recommends_seeds for r in rows],
            )
        )
        flaws = ", ".join(f"{flaw} {times}" for flaw, times in claims.most_common())
        table.add_row(name, str(len(rows)), str(alarms), str(exploratory), str(advice), flaws)
    console = Console()
    console.print(table)
    for figure in summarise(collected):
        console.print(f"{figure.what}: {figure.measured}, target {figure.target}: {figure.verdict}")


if __name__ == "__main__":
    main()
