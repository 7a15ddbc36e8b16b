from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from assay.episodes import EpisodeSpec
from assay.runs.schedulers.plan import MAX_BATCH, STARTS_PER_BLOCK, Scheduler
from assay.runs.store import PlannedEpisode


class Specs:
    """Stands for the store of a plan."""

    def specs(self, numbers: list[int]) -> list[EpisodeSpec]:
        return [EpisodeSpec("libero_goal/0", number) for number in numbers]


def schedule(plan: Iterable[PlannedEpisode], *, workers: int = 1, in_order: bool = False) -> Scheduler:
    scheduler = Scheduler(Specs(), plan, in_order=in_order)
    scheduler.workers = workers
    return scheduler


def take(scheduler: Scheduler, latest: str | None = None) -> list[int]:
    return [number for number, _ in scheduler.take(latest)]


def entries(scenes: int, seeds: int, tasks: int = 1) -> list[PlannedEpisode]:
    """A plan as experiments make it: task by task, scene by scene, seed by seed."""
    plan = [(task, scene, seed) for task in range(tasks) for scene in range(scenes) for seed in range(seeds)]
    return [
        PlannedEpisode(number, f"key{number}", f"{task}/{scene}", f"condition{scene}", f"task{task}", seed)
        for number, (task, scene, seed) in enumerate(plan)
    ]


@given(
    scenes=st.integers(1, 5),
    seeds=st.integers(1, 12),
    tasks=st.integers(1, 3),
    workers=st.integers(1, 4),
    lost=st.lists(st.booleans(), max_size=60),
)
def test_every_episode_is_handed_out_once_whatever_is_given_back(
    scenes: int, seeds: int, tasks: int, workers: int, lost: list[bool]
):
    plan = entries(scenes, seeds, tasks)
    for in_order in (False, True):
        scheduler = schedule(plan, workers=workers, in_order=in_order)
        done: Counter[int] = Counter()
        losses = iter(lost)
        while batch := take(scheduler):
            assert len({plan[number].scene for number in batch}) == 1 and len(batch) <= MAX_BATCH
            if next(losses, False):
                done[batch[0]] += 1
                scheduler.give_back(batch[1:])
            else:
                done.update(batch)
        assert done == Counter(range(len(plan))) and scheduler.left == 0


def test_interrupted_plan_has_all_conditions_of_all_but_the_last_block_of_starts():
    plan = entries(scenes=6, seeds=4 * STARTS_PER_BLOCK)
    scheduler = schedule(plan, workers=2)
    done: list[PlannedEpisode] = []
    while len(done) < len(plan) // 2:
        done += [plan[number] for number in take(scheduler)]
    starts = Counter(entry.seed for entry in done)
    assert sum(count == 6 for count in starts.values()) >= len(starts) - STARTS_PER_BLOCK


def test_worker_keeps_its_scene_and_others_take_another():
    plan = entries(scenes=2, seeds=STARTS_PER_BLOCK)
    scheduler = schedule(plan)
    first, second = take(scheduler), take(scheduler)
    assert {plan[number].scene for number in first} != {plan[number].scene for number in second}
    assert {plan[number].scene for number in take(scheduler, "0/1")} == {"0/1"}


def test_ordered_plan_keeps_its_order_without_dropped_conditions():
    scheduler = schedule(reversed(entries(scenes=3, seeds=4)), workers=2, in_order=True)
    scheduler.drop("condition1")
    order = []
    while batch := take(scheduler):
        order += batch
    assert order == [11, 10, 9, 8, 3, 2, 1, 0]
