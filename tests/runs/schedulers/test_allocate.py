from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from assay import tasks
from assay.episodes import CONTROL, EpisodeSpec, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.errors import RunError
from assay.experiments import Experiment, Variant
from assay.measures.success.drops import drops
from assay.measures.success.rates import rates
from assay.perturb import Say
from assay.runs.options import RunOptions
from assay.runs.plan import RunPlan
from assay.runs.schedulers.allocate import AllocatingScheduler, Allocation
from assay.runs.store import Store
from assay.support.streams import stream

NAMES = ("broken", "fine", "other")
WORDS = Experiment("words", "Wordings.", lambda task: (Variant(name, (Say(name),)) for name in NAMES))
CHOSEN = tasks.resolve("libero_goal")[:5]
FLOOR = CHOSEN[0].id
"""Task in which nothing ever succeeds."""


def planned(seeds: int = 12) -> list[EpisodeSpec]:
    return list(WORDS.plan(CHOSEN, range(seeds), steps=6))


def outcome(spec: EpisodeSpec) -> Outcome:
    able = spec.task != FLOOR and (spec.condition != "broken")
    return Outcome.SUCCESS if able and stream(spec.key).random() < 0.9 else Outcome.FAILURE


def play(store: Store, workers: int = 1, most: int = 10**6, order: int = 0) -> int:
    """Execute at most ``most`` episodes, several at a time, which finish in a random order."""
    scheduler = AllocatingScheduler(store, store.todo(), store.todo())
    scheduler.workers = workers
    rng, running, count = np.random.default_rng(order), list[tuple[int, EpisodeSpec]](), 0
    while count < most:
        while len(running) < workers and (batch := scheduler.take(None)):
            running += batch
        if not running:
            break
        number, spec = running.pop(int(rng.integers(len(running))))
        scheduler.record(number, Episode(outcome(spec), 1, no_trajectory()))
        count += 1
    return count


def summary(store: Store) -> tuple[list[str], dict[str, dict[str, object]]]:
    return sorted(store.frame()["key"]), store.stopped


@pytest.fixture(scope="module")
def allocated() -> Iterable[Store]:
    with Store.scratch() as store:
        store.plan(planned())
        play(store)
        yield store


def test_decided_conditions_and_hopeless_tasks_get_no_more_episodes(allocated: Store):
    counts = Counter(allocated.frame().select("condition", "task").iter_rows())
    assert {name: rule["rule"] for name, rule in allocated.stopped.items()} == {
        "broken": "allocate: loss",
        "fine": "allocate: no loss found",
        "other": "allocate: no loss found",
    }
    assert counts["broken", CHOSEN[1].id] < 12 and counts[CONTROL, FLOOR] == 2 == counts["fine", FLOOR]
    assert len(allocated.frame()) < 0.75 * len(planned())


def test_every_perturbed_episode_has_its_control(allocated: Store):
    starts = {
        condition: set(rows.select("task", "seed").iter_rows())
        for (condition,), rows in allocated.frame().group_by("condition")
    }
    assert all(own <= starts[CONTROL] for own in starts.values())


def test_workers_and_interruptions_do_not_change_the_episodes(allocated: Store):
    with Store.scratch() as store:
        store.plan(planned())
        for attempt in range(6):
            play(store, workers=5, most=23, order=attempt)
        play(store, workers=3)
        assert summary(store) == summary(allocated)
        assert play(store) == 0


def test_more_seeds_continue_the_open_conditions(allocated: Store):
    with Store.scratch() as store:
        store.plan(planned(2))
        play(store)
        assert set(store.stopped) == {"broken"}
        store.plan(planned())
        play(store)
        assert {rule["rule"] for rule in store.stopped.values()} == {
            "allocate: loss",
            "allocate: no loss found",
        }


def test_report_uses_the_sequential_p_value_and_weights_tasks_equally(allocated: Store):
    frame, stopped = allocated.frame(), allocated.stopped
    by_name = {drop.group["condition"]: drop for drop in drops(frame, stopped=stopped)}
    assert by_name["broken"].p_holm < 0.05 < by_name["fine"].p_holm
    assert by_name["broken"].p > drops(frame, stopped=())[0].p, "the exact test ignores the choice of starts"
    (control,) = (rate for rate in rates(frame, stopped=stopped) if rate.group["condition"] == CONTROL)
    succeeded = [
        (rows["outcome"] == "success").mean() for _, rows in frame.filter(condition=CONTROL).group_by("task")
    ]
    assert control.rate == pytest.approx(np.mean(succeeded))
    assert control.rate < control.successes / control.count, "the hopeless task has fewer episodes"


def test_cell_that_loses_stays_open_beside_a_decided_condition():
    cells = {(name, task): 30 for name in (CONTROL, "a") for task in "pqrstuvwxy"}
    allocation = Allocation(cells)
    for _ in range(30):
        results = {(CONTROL, task): ([True], True) for _, task in allocation.open_cells()}
        results |= {("a", task): ([task != "p"], True) for _, task in allocation.open_cells()}
        allocation.complete(results)
        if allocation.open_cells() == {("a", "p")}:
            break
    assert allocation.open_cells() == {("a", "p")}
    while allocation.open_cells():
        allocation.complete({(CONTROL, "p"): ([True], True), ("a", "p"): ([False], True)})
    assert allocation.verdicts == {"a": "loss"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"until": "decided=0.5"}, "--until"), ({"conditions": "control"}, "no perturbed condition")],
)
def test_allocation_needs_something_to_allocate(options: dict[str, str], reason: str):
    with pytest.raises(RunError, match=f"--allocate.*{reason}"):
        RunPlan.make(WORDS, RunOptions.of(tasks=FLOOR, seeds=2, allocate=True, **options))
