"""The procedures by themselves: what succeeds is known beforehand, and nothing is simulated."""

from __future__ import annotations

import math

import numpy as np
from assay.api.searches.asking import UNCHANGED, Answer, Certify, Item, Play, Setting, settle
from assay.api.searches.combination import Combination
from assay.api.searches.threshold import BARREN, FLOOR, REFUSED, Threshold

from assay.support.stats.betting import evidence
from assay.support.streams import stream


def beyond(rung: int):
    """A policy that fails from a rung on."""
    return lambda item: all(each < rung for _, each in item[1])


def test_the_threshold_is_found_within_the_budget_and_the_interval_holds_it():
    found = Threshold("distance", 16, 40)
    episodes = settle(found.search(range(1000)), beyond(7))
    assert found.evidence.interval == (7, 7) and found.ended == "settled"
    assert episodes == found.episodes <= 40 and found.starts == found.succeeded


def test_a_policy_that_never_fails_takes_fewer_episodes_than_the_budget():
    found = Threshold("distance", 16, 30)
    assert settle(found.search(range(1000)), lambda item: True) == 20
    assert found.evidence.interval == (16, 16) and found.ended == "settled"


def test_intervals_hold_in_most_of_many_searches_of_a_policy_with_lapses():
    held = 0
    for repeat in range(40):

        def plays(item: Item, repeat: int = repeat) -> bool:
            seed, setting = item
            right = all(rung < repeat % 9 for _, rung in setting)
            return right != (stream("lapse", repeat, seed, repr(setting)).random() < 0.15)

        found = Threshold("distance", 8, 30)
        settle(found.search(range(1000)), plays)
        low, high = found.evidence.interval or (-1, -1)
        held += low <= repeat % 9 <= high
    assert held >= 37


def test_it_is_given_up_at_the_floor_and_where_the_budget_or_the_seeds_end():
    floor = Threshold("distance", 8, 100)
    assert settle(floor.search(range(1000)), lambda item: False) == FLOOR
    assert floor.ended == "controls" and floor.evidence.interval == (0, 8)
    few = Threshold("distance", 8, 12)
    assert settle(few.search(range(1000)), beyond(4)) <= 12 and few.ended == "budget"
    short = Threshold("distance", 8, 100)
    settle(short.search(range(2)), beyond(4))
    assert short.ended == "starts"


def test_it_is_given_up_where_no_start_can_be_solved():
    barren = Threshold("distance", 8, 100)
    procedure, certificates = barren.search(range(1000)), 0
    asked = next(procedure)
    while not barren.ended:
        assert isinstance(asked, Certify)
        certificates += len(asked.items)
        try:
            asked = procedure.send(frozenset())
        except StopIteration:
            break
    assert barren.ended == "refused" and barren.episodes == 0 and certificates <= 3 * BARREN


def test_a_broken_episode_and_a_failed_control_count_for_nothing():
    found = Threshold("distance", 4, 60)
    settle(found.search(range(1000)), lambda item: None if item[1] != UNCHANGED else item[0] % 2 == 0)
    assert found.evidence.interval == (0, 4) and found.succeeded < found.starts


def test_controls_that_broke_are_no_failed_controls():
    def breaks_at_first(item: Item) -> bool | None:
        return None if item[0] < 2 * FLOOR else True

    found = Threshold("distance", 8, 100)
    settle(found.search(range(1000)), breaks_at_first)
    assert found.ended == "settled" and found.starts == found.succeeded
    combined = Combination({"distance": 3, "delay": 3}, 60, stream("test"))
    settle(combined.search(range(1000)), breaks_at_first)
    assert combined.ended == "settled" and combined.proposals
    broken = Threshold("distance", 8, 40)
    assert settle(broken.search(range(1000)), lambda item: None) == broken.episodes <= 40
    assert broken.ended == "budget" and not broken.starts


def test_rungs_that_cannot_be_solved_are_given_up_and_told():
    found = Threshold("distance", 4, 60)
    procedure, refused = found.search(range(1000)), 0
    answer: Answer | None = None
    try:
        while True:
            asked = next(procedure) if answer is None else procedure.send(answer)
            if isinstance(asked, Certify):
                solvable = frozenset(item for item in asked.items if item[1][0][1] < 3)
                refused += len(asked.items) - len(solvable)
                answer = solvable
            else:
                answer = dict.fromkeys(asked.items, True)
    except StopIteration:
        pass
    assert found.given_up == [3] and refused == REFUSED
    assert found.evidence.interval == (3, 4) and found.ended == "settled"


def together(item: Item) -> bool:
    """Fails where distance and delay are both large."""
    places = dict(item[1])
    return places.get("distance", 0) + places.get("delay", 0) < 8


def test_changes_that_break_it_together_are_confirmed_on_other_starts_than_they_were_found_on():
    found = Combination({"distance": 6, "delay": 6, "light": 4}, 90, stream("test"))
    explored: set[int] = set()
    confirmed: set[int] = set()
    procedure = found.search(range(1000))
    answer: Answer | None = None
    try:
        while True:
            asked = next(procedure) if answer is None else procedure.send(answer)
            if isinstance(asked, Play):
                seeds = {seed for seed, setting in asked.items if setting != UNCHANGED}
                (confirmed if asked.fresh else explored).update(seeds)
                answer = {item: together(item) for item in asked.items}
            else:
                answer = frozenset(asked.items)
    except StopIteration:
        pass
    assert explored and confirmed and not explored & confirmed
    kept = [case for case in found.cases if case.confirmed]
    assert kept and all(case.failures == case.starts and not together((0, case.setting)) for case in kept)
    assert all(len(case.setting) > 1 for case in found.cases) and found.episodes <= 90


def test_where_nothing_fails_together_nothing_is_confirmed():
    found = Combination({"distance": 3, "delay": 3}, 60, stream("test"))
    settle(found.search(range(1000)), lambda item: True)
    assert not found.cases and found.proposals


def test_the_more_failures_are_tested_the_surer_each_must_be():
    found = Combination({"distance": 4, "delay": 4, "light": 4}, 120, stream("test"))
    procedure, tested = found.search(range(1000)), dict[Setting, int]()
    answer: Answer | None = None
    try:
        while True:
            asked = next(procedure) if answer is None else procedure.send(answer)
            if isinstance(asked, Certify):
                answer = frozenset(asked.items)
            elif asked.fresh:  # the first five are no failures after all, the others always fail
                answer = {item: tested.setdefault(item[1], len(tested)) < 5 for item in asked.items}
            else:
                answer = {item: item[1] == UNCHANGED for item in asked.items}
    except StopIteration:
        pass
    confirmed = {place: case for place, case in enumerate(found.cases, 1) if case.confirmed}
    assert min(confirmed) == 6
    assert all(
        evidence(np.ones(case.failures)) >= math.log(place * (place + 1) / found.alpha)
        for place, case in confirmed.items()
    )


def test_the_first_proposal_is_the_largest_change_however_many_there_are():
    rungs = {"distance": 16, "delay": 16, "light": 13, "camera": 18, "noise": 10}
    found, asked = Combination(rungs, 30, stream("test")), list[Item]()
    settle(found.search(range(1000)), lambda item: asked.append(item) or True)  # type: ignore[func-returns-value]
    assert next(setting for _, setting in asked if setting) == tuple(
        (axis, rungs[axis] - 1) for axis in rungs
    )
