from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

from assay.episodes.spec import CONTROL
from assay.measures.failure.near_far import failures
from assay.measures.measure import RunData
from assay.measures.memory import paths
from assay.measures.memory.memorisation import MEMORISATION, Calls, Memorisation, memorisation
from assay.measures.memory.paths import Paths, StoredPaths
from assay.measures.result import MeasureError

PLACES = {"libero_goal/1": (0.3, 0.1, 0.1), "libero_goal/4": (-0.1, 0.3, 0.1)}
OTHER = {"On plate_1 flat_stove_1_cook_region": ()}
SEEDS = range(6)


def path_to(place, seed: int, *, way: int = 0, spread: float = 0.01, steps: int = 100) -> np.ndarray:
    """Return a path to a place and back, by one of two ways, with noise that depends on the seed."""
    time = np.linspace(0, np.pi, steps + 1)[:, None]
    jitter = np.random.default_rng(seed).normal(scale=spread, size=3)
    return np.sin(time) * (np.array(place) + jitter) + way * 0.15 * np.sin(2 * time) * np.array([0, 0, 1])


def usual(task: str, seed: int, condition: str = "") -> np.ndarray:
    """Return the path of a control, which a memorising policy repeats under every condition."""
    return path_to(PLACES[task], seed)


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
    return memorisation(store.frame(), Paths.of(store.trajectories()))


def test_replaying_policy_scores_one(run, made):
    found = measured(run(episodes(made, control=usual, changed=usual)))
    assert found.overall.index == 1.0 and found.overall.count == 48 and found.overall.starts == 12
    assert {each.group: each.index for each in found.axes} == {"words": 1.0, "world": 1.0}
    assert all(each.interval.low > 0.7 for each in found.axes)
    assert found.unjudged == {} and found.by_label == 12, "no positions are recorded of the displacements"


def test_paths_read_in_blocks_give_the_same_results_and_are_never_all_in_memory(run, made, monkeypatch):
    store = run(episodes(made, control=usual, changed=usual))
    whole, counts = Paths.of(store.trajectories()), []

    def read(ids):
        counts.append(None if ids is None else len(ids))
        return store.trajectories(ids)

    monkeypatch.setattr(paths, "BLOCK", 5)
    stored = StoredPaths(read)
    for judge in (memorisation, failures):
        assert judge(store.frame(), stored).as_json() == judge(store.frame(), whole).as_json()
    most = paths.BLOCK * 2 + paths.MOST_CONTROLS  # with their controls, and those of the task
    assert counts[0] is None and len(counts) > 4 and max(counts[1:]) <= most < len(whole.ids)


def test_policy_that_memorised_tasks_but_not_seeds_scores_high(run, made):
    """Its paths are drawn from those of its controls, by either of two ways."""

    def control(task: str, seed: int) -> np.ndarray:
        return path_to(PLACES[task], seed, way=seed % 2)

    def habit(task: str, seed: int, condition: str) -> np.ndarray:
        return path_to(PLACES[task], 1000 + seed + len(condition), way=(seed + 1) % 2, spread=0.006)

    found = measured(run(episodes(made, control=control, changed=habit)))
    assert found.overall.index > 0.9
    assert max(found.spread.values()) < 0.05, "two ways are not one wide way"


def test_reacting_policy_scores_zero(run, made):
    """The policy waits if the instruction is nonsense, and goes to the new positions of objects."""

    def notice(task: str, seed: int, condition: str) -> np.ndarray:
        if condition in ("nonsense", "removed"):
            return still()
        x, y, z = PLACES[task]
        return path_to((x + 0.2, y, z) if condition == "moved" else (y, -x, z), seed)

    found = measured(run(episodes(made, control=usual, changed=notice)))
    assert found.overall.index == 0.0 and found.overall.count == 48
    assert found.overall.interval.low == 0.0 and 0.0 < found.overall.interval.high < 0.3


def test_idle_and_erratic_policies_are_not_judged(run, made):
    def idle(task: str, seed: int, condition: str = "") -> np.ndarray:
        return still()

    def erratic(task: str, seed: int, condition: str = "") -> np.ndarray:
        rng = np.random.default_rng([seed, len(task), len(condition)])
        return np.cumsum(rng.normal(scale=0.05, size=(101, 3)), axis=0)

    for path, succeeds, words in (
        (idle, False, "only be measured for a task with two successful controls"),
        (idle, True, "standing still"),
        (erratic, True, "cannot be told from standing still"),
    ):
        with pytest.raises(MeasureError, match=words):
            measured(run(episodes(made, control=path, changed=path, succeeds=succeeds)))


@pytest.mark.parametrize("replays", [True, False])
def test_arm_that_is_blocked_while_it_replays_actions_is_memory(run, made, replays: bool):
    """Displaced objects stop the arm halfway, so that its path is not the control's; its actions tell."""
    rows = []
    for task, seed in product(PLACES, SEEDS):
        hand = path_to(PLACES[task], seed)
        rows.append(made(True, task=task, seed=seed, hand=hand, actions=np.diff(hand, axis=0)))
        stuck = np.concatenate([hand[:40], np.repeat(hand[39:40], 111, axis=0)])
        meant = hand if replays else path_to(np.array(PLACES[task]) + [0.0, 0.2, 0.0], seed)
        actions = np.concatenate([np.diff(meant, axis=0), np.zeros((50, 3))])
        changed = {"condition": "moved", "labels": {"axis": "world", "distance": 0.2}}
        rows.append(made(False, task=task, seed=seed, hand=stuck, actions=actions, **changed))
    store = run(rows)
    found = MEMORISATION.measure(RunData(store))
    assert measured(store).overall.index == 0.0, "by its path alone"
    assert (found.overall.index, found.by_actions) == ((1.0, 12) if replays else (0.0, 0))


def test_p_is_not_below_what_the_number_of_starts_permits(run, made):
    found = measured(run(moved(made, lambda seed, number: True, seeds=3))).overall
    assert found.count == 42 and found.p == pytest.approx(found.chance**6)


def test_small_displacements_and_failed_controls_are_not_judged(run, made):
    hand, labels = usual("libero_goal/1", 0), {"axis": "world", "distance": 0.05}
    rows = [*episodes(made, control=usual, changed=usual)]
    for task, seed in product(PLACES, SEEDS):
        rows.append(
            made(False, task=task, seed=seed, hand=usual(task, seed), condition="near", labels=labels)
        )
    rows += [made(False, seed=77, hand=hand), made(None, seed=78)]
    nonsense = {"condition": "nonsense", "labels": {"plausible": False}}
    rows += [made(False, seed=seed, hand=hand, **nonsense) for seed in (77, 78)]
    found = measured(run(rows))
    assert found.unjudged == {
        "the control failed": 1,
        "moved too little, for how much controls differ": 12,
    }, "without a control there is no pair"
    assert found.overall.count == 48


def exchanged(made, by: float, starts: float = 0.0):
    """Objects that exchanged places, as runs record them; paths are the control's."""
    labels = {"axis": "words+world", "plausible": True}
    for (task, (x, y, z)), seed in product(PLACES.items(), SEEDS):
        hand = path_to((x, y, z), seed)
        usual = {"bowl_1": (x, y, z), "plate_1": (0, 0, z)}
        yield made(True, task=task, seed=seed, hand=hand, stands=usual)
        now = {"bowl_1": (x + by, y, z), "plate_1": (0, 0, z), "stove_1": (9, 9, 9)}
        changed = {"condition": "position", "labels": labels, "stands": now}
        yield made(False, task=task, seed=seed, hand=hand + starts, **changed)


def test_displaced_objects_are_judged(run, made):
    """No label says so: the positions do; and what tells is the world, whatever was said besides."""
    found = measured(run(exchanged(made, 0.2)))
    (axis,) = found.axes
    assert (axis.group, axis.alike, axis.count) == ("world", 12, 12) and found.by_label == 0


@pytest.mark.parametrize(
    ("by", "starts", "why"),
    [
        (0.003, 0.0, "calls for a different trajectory"),
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


@pytest.mark.parametrize(("slower", "later"), [(1.3, 0), (1.0, 20), (1.15, 10), (1.3, 20), (0.8, 0)])
def test_slow_replay_is_repeated_and_reaction_is_not(run, made, slower: float, later: int):
    def repeats(task: str, seed: int, condition: str) -> np.ndarray:
        return timed(usual(task, seed), slower=slower, later=later)

    def follows(task: str, seed: int, condition: str) -> np.ndarray:
        x, y, z = PLACES[task]
        return timed(path_to((x - 0.15, y + 0.15, z), seed), slower=slower, later=later)

    for changed, index in ((repeats, 1.0), (follows, 0.0)):
        assert measured(run(episodes(made, control=usual, changed=changed))).overall.index == index


def moved(made, alike: Callable[[int, int], bool], *, seeds: int = 10, each: int = 7, success: bool = False):
    """Displacements of each start; ``alike(seed, number)`` says which of them are ignored."""
    labels = {"axis": "world", "distance": 0.2}
    for (task, (x, y, z)), seed in product(PLACES.items(), range(seeds)):
        yield made(True, task=task, seed=seed, hand=path_to((x, y, z), seed))
        for number in range(each):
            place = (x, y, z) if alike(seed, number) else (x + 0.2, y, z)
            hand = np.concatenate([path_to(place, seed), np.zeros((50, 3))])
            yield made(success, task=task, seed=seed, condition=f"c{number}", labels=labels, hand=hand)


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


def test_guessable_instructions_and_requests_that_include_the_control_task_are_not_judged(run, made):
    (atom,) = made(True).episode.truth
    requests = (
        ("two", {atom: (), "On plate_1 flat_stove_1_cook_region": ()}, {"plausible": True}),
        ("asked", None, {"plausible": False, "asked_goal": f"{atom} and Open drawer_1"}),
        ("shuffle", None, {"plausible": False, "guessable": True}),
        ("xxx", None, {"plausible": False}),
        ("other", OTHER, {"plausible": True}),
    )
    rows = []
    for seed in SEEDS:
        hand = path_to(PLACES["libero_goal/1"], seed)
        rows.append(made(True, seed=seed, hand=hand))
        for condition, truth, more in requests:
            labels = {"axis": "words", **more}
            rows.append(made(False, seed=seed, hand=hand, condition=condition, truth=truth, labels=labels))
    found = measured(run(rows))
    assert {each.group for each in found.conditions} == {"xxx", "other"}
    assert found.unjudged == {
        "the control's task is a part of what is asked for": 12,
        "the instruction can be guessed": len(SEEDS),
    }


def test_other_requests_are_separate_from_nonsense(run, made):
    """The policy follows requests, and performs the trained task under nonsense."""

    def obeys(task: str, seed: int, condition: str) -> np.ndarray:
        x, y, z = PLACES[task]
        return path_to((x, y, z) if condition == "nonsense" else (y, -x, z), seed)

    found = measured(run(episodes(made, control=usual, changed=obeys)))
    assert {each.group: each.index for each in found.axes} == {"words": 0.5, "world": 0.0}
    assert {each.group: (each.index, each.count) for each in found.calls} == {
        Calls.NONSENSE: (1.0, 12),
        Calls.IMPOSSIBLE: (0.0, 12),
        Calls.MOVED: (0.0, 12),
        Calls.ASKED: (0.0, 12),
    }


def test_noise_of_the_policy_is_separate_from_layouts(run, made):
    """One start held, ten seeds of the policy: what it does there by itself is what counts as the same path."""
    store = run(moved(made, lambda seed, number: True, each=1))
    assert measured(store).noise == {}
    held = memorisation(store.frame().with_columns(start=pl.lit(0)), Paths.of(store.trajectories()))
    assert held.noise.keys() == PLACES.keys() and held.overall.starts == 2
    assert all(held.spread[task] == max(0.01, noise) for task, noise in held.noise.items())


def test_repeated_controls_give_the_noise_of_the_policy(run, made):
    """Controls from different starts differ by their layout as well; only repetitions show the policy's own noise."""
    once = list(moved(made, lambda seed, number: True, each=1))
    again = [replace(episode, repeat=1) for episode in once if episode.condition == CONTROL]
    found, alone = measured(run([*once, *again])), measured(run(once))
    assert found.noise.keys() == PLACES.keys() and max(found.noise.values()) < 0.001 and alone.noise == {}
    assert set(found.spread.values()) == {0.01} and found.overall.count == alone.overall.count


def test_chance_is_estimated_from_other_tasks(run, made):
    """Two tasks whose paths hardly differ: that a path is the control's own says little."""
    rows = []
    for seed, (number, y, goal) in product(SEEDS, ((1, 0.1, "On a b"), (4, 0.105, "On c d"))):
        hand, task = path_to((0.3, y, 0.1), seed), f"libero_goal/{number}"
        same = {"task": task, "seed": seed, "hand": hand, "truth": {goal: ((9, 10),)}}
        rows.append(made(True, **same))
        rows.append(made(False, **same, condition="c", labels={"axis": "world", "distance": 0.2}))
    found = measured(run(rows)).overall
    assert found.index == 1.0 and found.chance > 0.8 and found.p > 0.05
