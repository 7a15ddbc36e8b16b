"""Statistics: coverage of intervals and false-positive rates of tests, in simulated runs.

Every value is a proportion of repeated experiments with known truth. Levels may be below 5 %, as exact tests are
conservative.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import expit

from assay.extensions.eqa.scoring.accuracy import mean_error
from assay.measures.attribution import _design, _within_tasks
from assay.measures.success.rates import rates
from assay.runs.schedulers.until import Pairs, parse_until
from assay.support.stats.intervals import (
    Interval,
    Z,
    difference_of,
    effective_count,
    mean_over_tasks,
    share_interval,
    widen_to_p,
    wilson_interval,
)
from assay.support.stats.resampling import labels_behind, table_correlation
from assay.support.stats.significance import paired_p
from bench.figure import Figure

TASKS = 10
SURE = 0.05


def measure() -> list[Figure]:
    """Measure coverage and level of reported quantities."""
    return [
        *_edges(),
        *_tasks(),
        *_drops(),
        *_differences(),
        *_effects(),
        *_stopping(),
        *_dealt(),
        *_data_sets(),
    ]


def _coverage(what: str, share: float, least: float = 93.0) -> Figure:
    return Figure(f"coverage: {what}", 100 * share, "%", least, at_most=False, note="95 % wanted")


def _level(what: str, share: float, most: float = 7.0) -> Figure:
    return Figure(f"p < 5 % without a true effect: {what}", 100 * share, "%", most)


def _holds(found: Interval | None, truth: float) -> bool:
    assert found is not None
    return found.low - 1e-12 <= truth <= found.high + 1e-12


def _edges() -> list[Figure]:
    """Fifty starts with rates of 95, 97 and 99 %, with ten and 43 paraphrases per start."""
    rng, runs, starts, found = np.random.default_rng(1), 1000, 50, []
    for wordings in (10, 43):
        for alike in (1.0, 0.5):
            for rate in (0.95, 0.97, 0.99):
                chance = (rng.random((runs, starts)) < rate) * 1.0
                if alike < 1:
                    chance = rng.beta(
                        rate * (1 - alike) / alike, (1 - rate) * (1 - alike) / alike, (runs, starts)
                    )
                hits, tried = rng.binomial(wordings, chance).astype(float), np.full(starts, float(wordings))
                held = [_holds(share_interval(each, tried, starts * wordings), rate) for each in hits]
                what = f"a rate of {rate:.0%}, 50 starts x {wordings} wordings, correlation {alike:g}"
                # 50 flips at 99 %: two failures exclude it, and come in 9 %
                found.append(_coverage(what, float(np.mean(held)), 89.0 if rate == 0.99 else 92.0))
    return found


def _tasks() -> list[Figure]:
    """Tasks as fixed and as sampled, with different success rates."""
    rng, runs, found = np.random.default_rng(2), 400, []
    usual = float(expit(1.5 * rng.normal(size=400_000)).mean())
    for seeds in (5, 20, 50):
        hits = rng.binomial(seeds, expit(1.5 * rng.normal(size=(runs, TASKS)))).astype(float)
        tried = np.full(TASKS, float(seeds))
        held = [_holds(share_interval(task_hits, tried, TASKS * seeds), usual) for task_hits in hits]
        found.append(
            _coverage(f"rate over tasks in general, ten tasks x {seeds} seeds", float(np.mean(held)))
        )
    for what, chances in {
        "equal tasks, 50 %": np.full(TASKS, 0.5),
        "tasks from 5 to 95 %": np.linspace(0.05, 0.95, TASKS),
        "five tasks at 3 %, five at 97 %": np.repeat([0.03, 0.97], TASKS // 2),
    }.items():
        success = rng.random((runs, TASKS, 50)) < chances[:, None]
        made = rates(_frame(success), ("run",))
        share = float(np.mean([_holds(each.interval, float(chances.mean())) for each in made]))
        width = float(np.mean([each.interval.high - each.interval.low for each in made if each.interval]))
        found.append(_coverage(f"a rate of these tasks, 50 seeds, {what} (width {width:.3f})", share, 92.0))
    return found


def _frame(success: np.ndarray) -> pl.DataFrame:
    """Return outcomes (runs, tasks, seeds) as a run's frame."""
    run, task, seed = (index.ravel() for index in np.indices(success.shape))
    outcome = np.where(success.ravel(), "success", "failure")
    return pl.DataFrame(
        {"run": run, "task": task, "seed": seed, "start": seed, "condition": "c", "outcome": outcome}
    )


def _drops() -> list[Figure]:
    """A change that helps some tasks and hurts others, or one paraphrase per task: no effect for tasks in general."""
    rng, runs, found = np.random.default_rng(3), 400, []
    for seeds in (5, 20, 50):
        easy, helps = rng.normal(size=(2, runs, TASKS, 1))
        size = (runs, TASKS, seeds)
        before = rng.random(size) < expit(easy + helps / 2)
        after = rng.random(size) < expit(easy - helps / 2)
        apart = (after * 1.0 - before).sum(axis=2)
        tried, seen = np.full(TASKS, float(seeds)), apart.sum(axis=1) / TASKS / seeds
        given = [Interval(float(each), float(each), "") for each in seen]
        told = [mean_over_tasks(each, tried, own) for each, own in zip(apart, given, strict=True)]
        p = np.array([each[1] for each in told if each])
        held = np.mean([_holds(each[0], 0.0) for each in told if each])
        fixed = np.mean(
            [
                paired_p(one.ravel() * 1.0, np.ones(one.size), other.ravel() * 1.0, np.ones(one.size)) < SURE
                for one, other in zip(before, after, strict=True)
            ]
        )
        note = f"(with the tasks as fixed: {100 * fixed:.0f} %)"
        found.append(
            _level(f"a drop over tasks, {seeds} seeds, tasks differ {note}", float((p < SURE).mean()))
        )
        found.append(_coverage(f"a drop over tasks, {seeds} seeds, tasks differ", float(held), 92.0))
    return found


def _differences() -> list[Figure]:
    """Differences from the control with 50 starts of unequal tasks: Newcombe alone, and extended to 0 as on pages."""
    rng, runs, starts, found = np.random.default_rng(9), 400, 50, []
    for each in (1, 7):
        count = np.full(starts, float(each))
        for lost in (0.0, 0.4):
            able = np.repeat(expit(1.5 * rng.normal(size=(runs, TASKS))), starts // TASKS, axis=1)
            before, after = (rng.random(able.shape) < able) * 1.0, rng.binomial(each, (1 - lost) * able) * 1.0
            held, width, small = np.zeros((2, runs)), np.zeros((2, runs)), 0
            for run, (usual, now) in enumerate(zip(before, after, strict=True)):
                known = float(starts), effective_count(now, count, starts * each)
                alone = difference_of((usual * each, now), (count, count), known).interval
                p = paired_p(usual, np.ones(starts), now, count)
                small += p < SURE
                for way, interval in enumerate((alone, widen_to_p(alone, p))):
                    held[way, run] = _holds(interval, -lost * float(able[run].mean()))
                    width[way, run] = interval.high - interval.low
            what = f"a difference from the control that is {'not ' if lost else ''}0, {each} per start"
            for way, name in enumerate(
                ("Newcombe alone", "extended to 0 if the exact test does not exclude it")
            ):
                note = f"{what}: {name} (width {width[way].mean():.3f})"
                found.append(_coverage(note, float(held[way].mean()), 92.0))
            if not lost:
                found.append(_level(f"a difference from the control, {each} per start", small / runs, 5.0))
    return found


def _effects() -> list[Figure]:
    """Two factors that are additive within every task, some of which are never solved: no interaction."""
    rng, runs = np.random.default_rng(5), 300
    on = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], float)
    design, _, _ = _design(on, np.ones(4, bool), ("a", "b"))
    found = []
    for hopeless in (0, 2, 5):
        for seeds in (5, 20):
            odds = np.where(np.arange(TASKS) < hopeless, -9.0, 2.5)[:, None] - 1.5 * on.sum(axis=1)
            tasks = np.repeat(np.arange(TASKS), seeds)
            small, main = [], []
            for _ in range(runs):
                hits = (rng.random((len(tasks), 4)) < expit(odds[tasks])) * 1.0
                terms, errors = _within_tasks(design, hits, np.ones_like(hits), tasks)
                small.append(abs(terms[2] / errors[2]) > Z)
                main.append(terms[0])
            effect = f"(main effect {np.mean(main):.2f} of -1.5)"
            what = f"an interaction, {hopeless} of ten tasks never solved, {seeds} seeds {effect}"
            found.append(_level(what, float(np.mean(small)), 9.0))
    return found


def _stopping() -> list[Figure]:
    """Conditions that stop as soon as they are decided, in a shared order of starts; 10 tasks x 50 seeds."""
    rng, runs, starts = np.random.default_rng(6), 60, 500
    until = parse_until("decided=0.8")

    def ends(wins: np.ndarray) -> int:
        total = np.cumsum(wins)
        return next(
            (count for count in range(1, starts + 1) if until.is_met(int(total[count - 1]), count)), starts
        )

    pairs, sure, used = [], [], []
    for _ in range(runs):
        before, after = rng.random(starts) < 0.9, rng.random(starts) < 0.6
        stop = ends(before), ends(after)
        shared = min(stop)
        ones = np.ones(shared)
        sure.append(paired_p(before[:shared] * 1.0, ones, after[:shared] * 1.0, ones) < SURE)
        pairs.append(shared)
        used.append(sum(stop))
    never = rng.random((400, 200)) < 0.8, rng.random((400, 200)) < 0.8
    level = np.mean([Pairs.of(other * 1.0 - one, 200).p <= SURE for one, other in zip(*never, strict=True)])
    fall = rng.random((200, 100)) < 0.9, rng.random((200, 100)) < 0.7
    need = [_decided(other * 1.0 - one) for one, other in zip(*fall, strict=True)]
    return [
        Figure("pairs of early-stopped conditions, decided=0.8, 90 against 60 %",
               float(np.median(pairs)), "pairs", 20, False,
               note=f"of {np.mean(used):.0f} episodes"),
        Figure("drop from 90 to 60 % found in them", 100 * float(np.mean(sure)), "%", 80.0, at_most=False),
        _level("control against condition, tested after every start", float(level), 5.0),
        Figure("starts until 90 and 70 % differ significantly, of 100 planned", float(np.median(need)), "starts", 80.0),
    ]  # fmt: skip


def _decided(differences: np.ndarray) -> int:
    """Return the number of starts after which the p value of a difference reaches 5 %."""
    pairs = Pairs(len(differences))
    for place, each in enumerate(differences, start=1):
        pairs.see(float(each))
        if pairs.p <= SURE:
            return place
    return len(differences)


def _dealt() -> list[Figure]:
    """Labels assigned at random to forty tasks, a tenth of them never solved; success and distance vary by row only."""
    rng, runs = np.random.default_rng(7), 400
    hits = np.where(np.arange(40) < 4, 0.0, 10.0)
    kinds = [labels_behind(hits, np.full(40, 10.0), rng.permutation(40) < 5) < SURE for _ in range(runs)]
    small = []
    for _ in range(100):
        x, y = (rng.normal(size=(4, 1)) + 0.2 * rng.normal(size=(4, 11)) for _ in range(2))
        small.append(table_correlation(x, y)[1] < SURE)
    return [
        _level("a kind of task with a lower success rate", float(np.mean(kinds))),
        _level("success and distance, which vary by row", float(np.mean(small)), 9.0),
    ]


def _data_sets() -> list[Figure]:
    """The mean of two data sets with equal weight, one of them small; five questions per episode."""
    rng, found = np.random.default_rng(8), []
    for few in (3, 5, 40):
        which = np.repeat([0, 1], [100, few])
        cells, held = np.eye(2)[which], []
        for _ in range(600):
            chance = np.clip(np.array([0.7, 0.5])[which] + 0.15 * rng.normal(size=len(which)), 0, 1)
            hit, tried = rng.binomial(5, chance)[:, None] * cells, 5 * cells
            share = float((hit.sum(axis=0) / tried.sum(axis=0)).mean())
            error = mean_error(hit, tried, which, np.full(2, 0.5))
            assert error is not None
            held.append(_holds(wilson_interval(share, share * (1 - share) * (Z / error) ** 2), 0.6))
        found.append(_coverage(f"a mean of data sets of 100 and {few} episodes", float(np.mean(held)), 91.0))
    return found


if __name__ == "__main__":
    for each in measure():
        print(f"{each.what}: {each.measured}")
