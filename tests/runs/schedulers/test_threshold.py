"""The search procedure by itself: which episodes succeed is known beforehand, and nothing is simulated."""

from __future__ import annotations

from collections.abc import Callable

from assay.runs.schedulers.search import (
    MAX_BARREN_STARTS,
    MAX_REFUSED,
    MIN_CONTROLS,
    Answer,
    Item,
    ThresholdSearch,
)
from assay.support.streams import stream


def settle(
    search: ThresholdSearch,
    succeeds: Callable[[Item], bool | None],
    solvable: Callable[[Item], bool] = lambda item: True,
    seeds: int = 1000,
) -> int:
    """Drive a search by rules; returns the number of episodes that it requested."""
    played: set[Item] = set()
    answer: Answer | None = None
    procedure = search.procedure(range(seeds))
    try:
        while True:
            request = next(procedure) if answer is None else procedure.send(answer)
            if request.certify:
                answer = frozenset(filter(solvable, request.items))
            else:
                played.update(request.items)
                answer = {item: succeeds(item) for item in request.items}
    except StopIteration:
        return len(played)


def fails_from(rung: int) -> Callable[[Item], bool]:
    return lambda item: item[1] is None or item[1] < rung


def test_threshold_is_found_within_the_budget():
    search = ThresholdSearch(16, 40)
    episodes = settle(search, fails_from(7))
    assert search.evidence.interval == (7, 7) and search.ended == "settled"
    assert episodes == search.episodes <= 40 and search.starts == search.succeeded


def test_policy_that_never_fails_takes_fewer_episodes_than_the_budget():
    search = ThresholdSearch(16, 30)
    assert settle(search, lambda item: True) == 20
    assert search.evidence.interval == (16, 16) and search.ended == "settled"


def test_intervals_contain_the_threshold_in_most_searches_of_a_policy_with_lapses():
    held = 0
    for repeat in range(40):

        def succeeds(item: Item, repeat: int = repeat) -> bool:
            lapses = stream("lapse", repeat, item[0], repr(item[1])).random() < 0.15
            return fails_from(repeat % 9)(item) != lapses

        search = ThresholdSearch(8, 30)
        settle(search, succeeds)
        low, high = search.evidence.interval or (-1, -1)
        held += low <= repeat % 9 <= high
    assert held >= 37


def test_search_ends_at_the_floor_and_when_budget_or_seeds_are_used_up():
    floor = ThresholdSearch(8, 100)
    assert settle(floor, lambda item: False) <= 3 * MIN_CONTROLS and floor.starts == MIN_CONTROLS
    assert floor.ended == "controls" and floor.evidence.interval == (0, 8)
    few = ThresholdSearch(8, 12)
    assert settle(few, fails_from(4)) <= 12 and few.ended == "budget"
    short = ThresholdSearch(8, 100)
    settle(short, fails_from(4), seeds=2)
    assert short.ended == "starts"


def test_search_ends_if_no_start_can_be_solved():
    barren, requests = ThresholdSearch(8, 100), list[Item]()
    settle(barren, lambda item: True, lambda item: bool(requests.append(item)))  # type: ignore[func-returns-value]
    assert barren.ended == "refused" and barren.episodes == 0 and len(requests) <= 3 * MAX_BARREN_STARTS


def test_rungs_that_cannot_be_solved_are_given_up():
    search, refused = ThresholdSearch(4, 60), list[Item]()

    def solvable(item: Item) -> bool:
        is_solvable = item[1] is None or item[1] < 3
        refused.extend([] if is_solvable else [item])
        return is_solvable

    settle(search, lambda item: True, solvable)
    assert search.given_up == [3] and len(refused) == MAX_REFUSED
    assert search.evidence.interval == (3, 4) and search.ended == "settled"


def test_errors_and_failed_controls_carry_no_information():
    search = ThresholdSearch(4, 60)
    settle(search, lambda item: None if item[1] is not None else item[0] % 2 == 0)
    assert search.evidence.interval == (0, 4) and search.succeeded < search.starts
    late = ThresholdSearch(8, 100)
    settle(late, lambda item: None if item[0] < 2 * MIN_CONTROLS else True)
    assert late.ended == "settled" and late.starts == late.succeeded
    broken = ThresholdSearch(8, 40)
    assert settle(broken, lambda item: None) == broken.episodes <= 40
    assert broken.ended == "budget" and not broken.starts
