from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from assay.measures import MeasureError, Paths, memorisation
from assay.measures.memory.memorisation import Calls, Memorisation, memorisation_table

PLACES = {"libero_goal/1": (0.3, 0.1, 0.1), "libero_goal/4": (-0.1, 0.3, 0.1)}
OTHER = {"On plate_1 flat_stove_1_cook_region": ()}
SEEDS = range(6)


def path_to(place, seed: int, *, way: int = 0, spread: float = 0.01, steps: int = 100) -> np.ndarray:
    """To a place and back, by one of two ways, a little different for every seed."""
    time = np.linspace(0, np.pi, steps + 1)[:, None]
    jitter = np.random.default_rng(seed).normal(scale=spread, size=3)
    return np.sin(time) * (np.array(place) + jitter) + way * 0.15 * np.sin(2 * time) * np.array([0, 0, 1])


def still(steps: int = 100) -> np.ndarray:
    return np.zeros((steps + 1, 3))


def episodes(made, *, control: Callable, changed: Callable, succeeds: bool = True):
    """Controls, and four changes that call for another path: hands(task, seed) say where the hand goes."""
    for task in PLACES:
        for seed in SEEDS:
            yield made(succeeds, task=task, seed=seed, hand=control(task, seed))
            for condition, axis, more in (
                ("nonsense", "words", {"plausible": False}),
                ("removed", "world", {"plausible": False}),
                ("moved", "world", {"plausible": True, "distance": 0.2}),
                ("other", "words", {"plausible": True}),
            ):
                hand = np.concatenate([changed(task, seed, condition), np.zeros((150, 3))])
                truth = OTHER if condition == "other" else None
                labels = {"axis": axis, **more}
                yield made(
                    False, task=task, seed=seed, hand=hand, condition=condition, labels=labels, truth=truth
                )


def measured(store) -> Memorisation:
    return memorisation(store.frame(), Paths.read(store))


def test_replaying_policy_scores_one(run, made):
    def memory(task: str, seed: int, condition: str = "") -> np.ndarray:
        return path_to(PLACES[task], seed)

    found = measured(run(episodes(made, control=memory, changed=memory)))
    assert found.overall.index == 1.0 and found.overall.count == 48 and found.overall.starts == 12
    assert {each.group: each.index for each in found.axes} == {"words": 1.0, "world": 1.0}
    assert all(each.interval.low > 0.7 for each in found.axes)
    assert found.unjudged == {}


def test_policy_that_memorised_tasks_but_not_seeds_scores_high(run, made):
    """Its path is a draw from what it does in controls, by either of two ways."""

    def control(task: str, seed: int) -> np.ndarray:
        return path_to(PLACES[task], seed, way=seed % 2)

    def habit(task: str, seed: int, condition: str) -> np.ndarray:
        return path_to(PLACES[task], 1000 + seed + len(condition), way=(seed + 1) % 2, spread=0.006)

    found = measured(run(episodes(made, control=control, changed=habit)))
    assert found.overall.index > 0.9
    assert max(found.spread.values()) < 0.05, "two ways are not one wide way"


def test_reacting_policy_scores_zero(run, made):
    """It waits where words mean nothing, and goes where things are now."""

    def control(task: str, seed: int) -> np.ndarray:
        return path_to(PLACES[task], seed)

    def notice(task: str, seed: int, condition: str) -> np.ndarray:
        if condition in ("nonsense", "removed"):
            return still()
        x, y, z = PLACES[task]
        return path_to((x + 0.2, y, z) if condition == "moved" else (y, -x, z), seed)

    found = measured(run(episodes(made, control=control, changed=notice)))
    assert found.overall.index == 0.0 and found.overall.count == 48
    assert found.overall.interval.low == 0.0 and 0.0 < found.overall.interval.high < 0.3


def test_index_by_axis_separates_words_from_world(run, made):
    def control(task: str, seed: int, condition: str = "") -> np.ndarray:
        x, y, z = PLACES[task]
        return still() if condition == "removed" else path_to((x + 0.2 * (condition == "moved"), y, z), seed)

    found = measured(run(episodes(made, control=control, changed=control)))
    assert {each.group: each.index for each in found.axes} == {"words": 1.0, "world": 0.0}
    assert {each.group: each.index for each in found.conditions}["other"] == 1.0


def test_idle_policy_is_not_judged(run, made):
    def idle(task: str, seed: int, condition: str = "") -> np.ndarray:
        return still()

    for succeeds, words in ((False, "needs a task with two successful controls"), (True, "standing still")):
        store = run(episodes(made, control=idle, changed=idle, succeeds=succeeds))
        with pytest.raises(MeasureError, match=words):
            measured(store)


def test_erratic_policy_is_not_judged(run, made):
    def erratic(task: str, seed: int, condition: str = "") -> np.ndarray:
        rng = np.random.default_rng([seed, len(task), len(condition)])
        return np.cumsum(rng.normal(scale=0.05, size=(101, 3)), axis=0)

    with pytest.raises(MeasureError, match="cannot be told from standing still"):
        measured(run(episodes(made, control=erratic, changed=erratic)))


def test_small_displacements_and_failed_controls_are_not_judged(run, made):
    def path(task: str, seed: int, condition: str = "") -> np.ndarray:
        return path_to(PLACES[task], seed)

    small = [
        made(
            False,
            task=task,
            seed=seed,
            hand=path(task, seed),
            condition="near",
            labels={"axis": "world", "distance": 0.05},
        )
        for task in PLACES
        for seed in SEEDS
    ]
    failed = [made(False, seed=77, hand=path("libero_goal/1", 0)), made(None, seed=78)]
    lost = [
        made(
            False, seed=seed, hand=path("libero_goal/1", 0), condition="nonsense", labels={"plausible": False}
        )
        for seed in (77, 78)
    ]
    found = measured(run([*episodes(made, control=path, changed=path), *small, *failed, *lost]))
    assert found.unjudged == {
        "the control failed": 1,
        "moved too little, for how much controls differ": 12,
    }, "without a control there is no pair"
    assert found.overall.count == 48


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plausible": True}, "no episode with a control has a change that calls for another trajectory"),
        ({"plausible": False}, "needs a task with two successful controls"),
    ],
)
def test_index_needs_a_change_and_two_controls(run, made, change: dict, words: str):
    store = run([made(True, hand=still()), made(True, condition="c", labels=change, hand=still())])
    with pytest.raises(MeasureError, match=words):
        measured(store)


def exchanged(made, by: float, starts: float = 0.0):
    """Things that exchanged places, as runs record them; paths are the control's."""
    for task in PLACES:
        for seed in SEEDS:
            x, y, z = PLACES[task]
            hand = path_to(PLACES[task], seed)
            yield made(
                True, task=task, seed=seed, hand=hand, stands={"bowl_1": (x, y, z), "plate_1": (0, 0, z)}
            )
            stands = {"bowl_1": (x + by, y, z), "plate_1": (0, 0, z), "stove_1": (9, 9, 9)}
            labels = {"axis": "words+world", "plausible": True}
            yield made(
                False,
                task=task,
                seed=seed,
                hand=hand + starts,
                condition="position",
                labels=labels,
                stands=stands,
            )


def test_displaced_objects_are_judged(run, made):
    """No label says so: the positions do; and what tells is the world, whatever was said besides."""
    found = measured(run(exchanged(made, 0.2)))
    (axis,) = found.axes
    assert (axis.group, axis.alike, axis.count) == ("world", 12, 12) and found.by_label == 0


def test_displacements_known_from_labels_are_counted(run, made):
    def path(task: str, seed: int, condition: str = "") -> np.ndarray:
        return path_to(PLACES[task], seed)

    found = measured(run(episodes(made, control=path, changed=path)))
    assert found.by_label == 12, "the condition moved; the others are judged by their words"
    assert "known from a label in 12 of the 48 episodes" in memorisation_table(found, None).note


@pytest.mark.parametrize(
    ("by", "starts", "why"),
    [
        (0.003, 0.0, "calls for another trajectory"),
        (0.05, 0.0, "moved too little"),
        (0.2, 0.03, "the end effector starts elsewhere"),
    ],
)
def test_small_displacements_and_other_robot_starts_are_not_judged(run, made, by, starts, why: str):
    with pytest.raises(MeasureError, match=why):
        measured(run(exchanged(made, by, starts)))


def timed(hand: np.ndarray, *, slower: float = 1.0, later: int = 0) -> np.ndarray:
    """The same way, in more time, or after so many steps of waiting."""
    times = np.linspace(0, len(hand) - 1, round(slower * (len(hand) - 1)) + 1)
    way = np.stack([np.interp(times, np.arange(len(hand)), axis) for axis in hand.T], axis=1)
    return np.concatenate([np.repeat(way[:1], later, axis=0), way])


@pytest.mark.parametrize(
    ("slower", "later"), [(1.15, 0), (1.3, 0), (1.0, 10), (1.0, 20), (1.15, 10), (1.3, 20), (0.8, 0)]
)
def test_slow_replay_is_repeated_and_reaction_is_not(run, made, slower: float, later: int):
    def control(task: str, seed: int) -> np.ndarray:
        return path_to(PLACES[task], seed)

    def repeats(task: str, seed: int, condition: str) -> np.ndarray:
        return timed(path_to(PLACES[task], seed), slower=slower, later=later)

    def follows(task: str, seed: int, condition: str) -> np.ndarray:
        x, y, z = PLACES[task]
        return timed(path_to((x - 0.15, y + 0.15, z), seed), slower=slower, later=later)

    memory, notice = (
        measured(run(episodes(made, control=control, changed=changed))) for changed in (repeats, follows)
    )
    assert memory.overall.index == 1.0 and notice.overall.index == 0.0


def moved(made, alike: Callable[[int, int], bool], *, seeds: int = 10, each: int = 7, success: bool = False):
    """Seven displacements of each start; ``alike(seed, number)`` says which of them are ignored."""
    for task, (x, y, z) in PLACES.items():
        for seed in range(seeds):
            yield made(True, task=task, seed=seed, hand=path_to((x, y, z), seed))
            for number in range(each):
                place = (x, y, z) if alike(seed, number) else (x + 0.2, y, z)
                yield made(
                    success,
                    task=task,
                    seed=seed,
                    condition=f"c{number}",
                    labels={"axis": "world", "distance": 0.2},
                    hand=np.concatenate([path_to(place, seed), np.zeros((50, 3))]),
                )


def test_repeating_a_fifth_is_found_for_any_number_of_changes(run, made):
    """Two of seven in most starts: in none of them most paths are the control's."""
    found = measured(run(moved(made, lambda seed, number: number < 2 and seed % 10 < 7))).overall
    assert found.index == pytest.approx(0.2) and found.interval.low > found.chance and found.p < 1e-4
    one_each = measured(run(moved(made, lambda seed, number: seed % 5 == 0, each=1))).overall
    assert one_each.index == pytest.approx(0.2) and one_each.p < 0.05


def test_single_start_is_one_observation(run, made):
    rows = [
        each
        for each in moved(made, lambda seed, number: True)
        if each.condition == "control" or each.seed == 0
    ]
    found = measured(run(each for each in rows if each.task == "libero_goal/1"))
    assert (found.overall.alike, found.overall.starts) == (7, 1) and found.overall.p == pytest.approx(0.05)


def test_reaching_the_changed_goal_is_not_repetition(run, made):
    found = measured(run(moved(made, lambda seed, number: True, success=True, seeds=4)))
    assert (found.overall.alike, found.overall.count, found.reached) == (0, 56, 56)


def test_requests_that_include_the_control_task_are_not_judged(run, made):
    (atom,) = made(True).episode.truth
    rows = []
    for seed in SEEDS:
        hand = path_to(PLACES["libero_goal/1"], seed)
        rows.append(made(True, seed=seed, hand=hand))
        for condition, truth, labels in (
            ("two", {atom: (), "On plate_1 flat_stove_1_cook_region": ()}, {"plausible": True}),
            ("asked", None, {"plausible": False, "asked_goal": f"{atom} and Open drawer_1"}),
            ("other", OTHER, {"plausible": True}),
        ):
            labels = {"axis": "words", **labels}
            rows.append(made(False, seed=seed, hand=hand, condition=condition, truth=truth, labels=labels))
    found = measured(run(rows))
    assert [each.group for each in found.conditions] == ["other"]
    assert found.unjudged == {"the control's task is a part of what is asked for": 12}


def test_guessable_instructions_are_not_judged(run, made):
    rows = []
    for seed in SEEDS:
        hand = path_to(PLACES["libero_goal/1"], seed)
        rows.append(made(True, seed=seed, hand=hand))
        for condition, guessable in (("shuffle", {"guessable": True}), ("xxx", {})):
            labels = {"axis": "words", "plausible": False, **guessable}
            rows.append(made(False, seed=seed, hand=hand, condition=condition, labels=labels))
    found = measured(run(rows))
    assert [each.group for each in found.conditions] == ["xxx"]
    assert found.unjudged == {"the instruction can be guessed": len(SEEDS)}


def test_other_requests_are_separate_from_nonsense(run, made):
    """It does what it is asked for, and what is usual where it is asked for nothing."""

    def control(task: str, seed: int) -> np.ndarray:
        return path_to(PLACES[task], seed)

    def obeys(task: str, seed: int, condition: str) -> np.ndarray:
        x, y, z = PLACES[task]
        return path_to((x, y, z) if condition == "nonsense" else (y, -x, z), seed)

    found = measured(run(episodes(made, control=control, changed=obeys)))
    assert {each.group: each.index for each in found.axes}["words"] == 0.5
    assert {each.group: (each.index, each.count) for each in found.calls} == {
        Calls.NONSENSE: (1.0, 12),
        Calls.IMPOSSIBLE: (0.0, 12),
        Calls.MOVED: (0.0, 12),
        Calls.ASKED: (0.0, 12),
    }


def test_noise_of_the_policy_is_separate_from_layouts(run, made):
    """One start held, ten seeds of the policy: what it does there by itself is what counts as the same path."""
    frame = run(moved(made, lambda seed, number: True, each=1)).frame()
    store = run(moved(made, lambda seed, number: True, each=1))
    assert memorisation(frame, Paths.read(store)).noise == {}
    held = memorisation(frame.with_columns(start=pl.lit(0)), Paths.read(store))
    assert held.noise.keys() == PLACES.keys() and held.overall.starts == 2
    assert all(held.spread[task] == max(0.01, noise) for task, noise in held.noise.items())


def test_chance_is_estimated_from_other_tasks(run, made):
    """Two tasks whose paths hardly differ: that a path is the control's own says little."""
    near = {"libero_goal/1": (0.3, 0.1, 0.1), "libero_goal/4": (0.3, 0.105, 0.1)}
    rows = []
    for (task, place), truth in zip(
        near.items(), ({"On a b": ((9, 10),)}, {"On c d": ((9, 10),)}), strict=True
    ):
        for seed in SEEDS:
            hand = path_to(place, seed)
            rows.append(made(True, task=task, seed=seed, hand=hand, truth=truth))
            labels = {"axis": "world", "distance": 0.2}
            rows.append(
                made(False, task=task, seed=seed, hand=hand, truth=truth, condition="c", labels=labels)
            )
    found = measured(run(rows)).overall
    assert found.index == 1.0 and found.chance > 0.8 and found.p > 0.05
