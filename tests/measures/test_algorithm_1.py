"""Near and far failures of an imported log, against LIBERO-Para's algorithm 1 written down from the paper."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from assay.extensions.interop.importing.libero_para import import_libero_para
from assay.measures import MeasureError, Paths, failures
from assay.measures.failure.near_far import OURS, PAPER, QUANTILES, NearFar, NearFarFailures, NearFarRule
from assay.runs.store import Store
from assay.tasks.formats.libero_para import COLUMNS, official

K = 50
ORIGINALS = {
    0: "open the middle drawer of the cabinet",
    3: "put the bowl on the plate",
    9: "turn on the stove",
}
"""Number in the release -> instruction."""
HOMES = {0: "libero_goal/0", 3: "libero_goal/8", 9: "libero_goal/7"}
CELLS = [("none", "hint"), ("habitual", "none"), ("contextual", "need")]
SEEDS = (7, 8)
EACH = 30
"""Paraphrases of each task, ten in each cell."""


def resampled(path: np.ndarray) -> np.ndarray:
    """Lines 4 and 9: K points, linear in time."""
    times = np.linspace(0, len(path) - 1, K)
    return np.stack([np.interp(times, np.arange(len(path)), path[:, axis]) for axis in range(3)], axis=1)


def dtw(one: np.ndarray, other: np.ndarray) -> float:
    """Dynamic time warping with Euclidean cost, normalised by the length."""
    cost = np.linalg.norm(one[:, None] - other[None], axis=2)
    best = np.full((K + 1, K + 1), np.inf)
    best[0, 0] = 0.0
    for i in range(K):
        for j in range(K):
            best[i + 1, j + 1] = cost[i, j] + min(best[i, j], best[i + 1, j], best[i, j + 1])
    return float(best[K, K] / K)


def algorithm_1(episodes: list[dict]) -> dict[str, list[str]]:
    """Threshold -> what each episode of one task is: success, near or far."""
    paths = [np.array(each["proprio_states"])[:, :3] for each in episodes]
    won = [path for path, each in zip(paths, episodes, strict=True) if each["success"]]
    reference = np.mean([resampled(path) for path in won], axis=0)
    longest = max(map(len, won))
    off = [
        dtw(resampled(path[:longest]), reference) for path in paths
    ]  # no success is longer, so none is cut
    labels = {}
    for name, share in QUANTILES.items():
        tau = np.percentile(
            [d for d, each in zip(off, episodes, strict=True) if each["success"]], 100 * share
        )
        labels[name] = [
            "success" if each["success"] else "near" if d <= tau else "far"
            for d, each in zip(off, episodes, strict=True)
        ]
    return labels


def walked(task: int, kind: str, rng: np.random.Generator) -> list[list[float]]:
    """Rows of ``proprio_states``: out and back; failures stray a little or a lot, and go on for longer."""
    steps = int(rng.integers(60, 90)) if kind == "success" else 150
    time = np.linspace(0, 1, steps)[:, None] * (1.0 if kind == "success" else steps / 75)
    place = np.array([0.3, 0.05 * task, 0.2])
    stray = {"success": 0.012, "near": 0.012, "some": 0.024, "far": 0.15}[kind]
    hand = np.sin(np.pi * np.minimum(time, 1.0)) * (place + stray * rng.normal(size=3))
    rest = np.tile([3.1, 0.0, 0.0, 0.04, -0.04], (steps, 1))
    return np.concatenate([hand, rest], axis=1).tolist()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[dict], Store]]:
    """Episodes as the official scripts log them, and the run that was imported from them."""
    folder, rng = tmp_path_factory.mktemp("logs"), np.random.default_rng(3)
    rows, episodes = [], []
    for task, original in ORIGINALS.items():
        for number in range(EACH):
            types = CELLS[number % 3]
            text, names = f"{original}, {number}", official(*types)
            rows.append([*names, task, number, text, original, 0.8, 0.9])
            for seed in SEEDS:
                kind = ("success", "success", "near", "some", "far")[rng.integers(5)]
                states = walked(task, kind, rng)
                episodes.append(
                    {
                        "task": task,
                        "seed": seed,
                        "types": types,
                        "bddl_file": f"{names[0]}_{names[1]}_{names[2]}_eval{task}_ver{number}.bddl",
                        "paraphrase_type": names[0],
                        "categories": names[1].split("+"),
                        "subcategories": names[2].split("+"),
                        "variant_id": number,
                        "paraphrased_instruction": text,
                        "success": kind == "success",
                        "num_steps": len(states),
                        "actions": np.zeros((len(states), 7)).tolist(),
                        "proprio_states": states,
                        "action_chunk_boundaries": list(range(0, len(states), 10)),
                        "rewards": [0.0] * len(states),
                        "initial_state_idx": task,
                    }
                )
    for seed in SEEDS:
        (folder / "logs" / f"seed{seed}").mkdir(parents=True)
        for task in ORIGINALS:
            mine = [each for each in episodes if (each["task"], each["seed"]) == (task, seed)]
            file = folder / "logs" / f"seed{seed}" / f"eval{task}.json"
            file.write_text(json.dumps({"eval_id": task, "original_instruction": None, "episodes": mine}))
    # One control, which succeeds far from everything else: it must not widen the paper's threshold.
    control = {
        **episodes[0],
        "bddl_file": "turn_on_the_stove.bddl",
        "paraphrase_type": "unknown",
        "categories": [],
        "subcategories": [],
        "success": True,
        "num_steps": 150,
        "actions": np.zeros((150, 7)).tolist(),
        "proprio_states": [[-1.0, -1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 150,
    }
    file = folder / "logs" / "seed7" / "eval_unknown.json"
    file.write_text(json.dumps({"eval_id": -1, "episodes": [control]}))
    with (folder / "metadata.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *rows])
    done = import_libero_para(folder / "logs", folder / "metadata.csv", folder / "run.assay")
    assert (done.episodes, done.controls, done.paths) == (len(episodes) + 1, 1, len(episodes) + 1)
    with Store.reading(folder / "run.assay") as store:
        yield episodes, store


@pytest.fixture(scope="module")
def found(log: tuple[list[dict], Store]) -> NearFarFailures:
    _, store = log
    return failures(store.frame(), Paths.read(store), PAPER)


@pytest.fixture(scope="module")
def labelled(log: tuple[list[dict], Store]) -> dict[str, list[tuple[dict, str]]]:
    """Threshold -> every episode and what the paper calls it."""
    episodes, _ = log
    result: dict[str, list[tuple[dict, str]]] = {name: [] for name in QUANTILES}
    for task in ORIGINALS:
        mine = [each for each in episodes if each["task"] == task]
        for name, labels in algorithm_1(mine).items():
            result[name] += zip(mine, labels, strict=True)
    return result


def same(group: NearFar, episodes: list[tuple[dict, str]], threshold: str) -> None:
    """That a group has the same counts as labelled episodes have."""
    want = Counter(label for _, label in episodes)
    got = {"success": group.successes, "near": group.near[threshold], "far": group.far[threshold]}
    assert got == {label: want[label] for label in got}
    assert (group.episodes, group.unjudged) == (len(episodes), 0)


@pytest.mark.parametrize("threshold", QUANTILES)
def test_counts_match_the_papers_algorithm(found: NearFarFailures, labelled, threshold: str):
    every = labelled[threshold]
    same(found.overall, every, threshold)
    assert [each.group for each in found.by_task] == list(HOMES.values())
    for task, group in zip(HOMES, found.by_task, strict=True):
        same(group, [pair for pair in every if pair[0]["task"] == task], threshold)
    for axis, groups in enumerate((found.by_object, found.by_action)):
        assert {each.group for each in groups} == {types[axis] for types in CELLS}
        for group in groups:
            same(group, [pair for pair in every if pair[0]["types"][axis] == group.group], threshold)


def test_planted_log_has_all_kinds_of_episodes(found: NearFarFailures, labelled):
    """There are failures on both sides of every threshold, and each threshold moves some."""
    counts = [Counter(label for _, label in labelled[name])["near"] for name in QUANTILES]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) >= 3
    assert 0 < counts[0] < found.failures


def test_every_failure_is_classified_as_in_the_paper(found: NearFarFailures, labelled, log):
    _, store = log
    named = found.episodes.join(store.frame().select("id", "instruction"), on="id")
    got = {(row["instruction"], row["seed"]): row["near"] for row in named.iter_rows(named=True)}
    want = {"success": None, "near": True, "far": False}
    assert got == {
        (each["paraphrased_instruction"], each["seed"]): want[label] for each, label in labelled["max"]
    }


def test_shares_of_all_episodes_add_up(found: NearFarFailures):
    every = found.overall
    assert every.success_rate() + every.near_share() + every.far_share() == pytest.approx(1.0)
    assert every.far_of_failures() == pytest.approx(found.far_share)
    assert every.near_share("p90") < every.near_share() and every.far_share("p90") > every.far_share()


def test_stricter_thresholds_are_smaller_down_to_the_floor(log):
    _, store = log
    frame, paths = store.frame(), Paths.read(store)
    for task in failures(frame, paths, PAPER).tasks:
        assert len(set(task.thresholds.values())) == len(QUANTILES)
    wide = failures(frame, paths, NearFarRule(floor=1.0, least_successes=1, with_controls=False))
    assert {value for task in wide.tasks for value in task.thresholds.values()} == {1.0}
    assert wide.far["max"] == 0


def test_rule_decides_whether_controls_count(found: NearFarFailures, log):
    _, store = log
    ours = failures(store.frame(), Paths.read(store), OURS)
    assert (ours.rule, found.rule) == (OURS, PAPER)
    assert ours.overall.episodes == found.overall.episodes + 1
    (none,) = (each for each in ours.by_object if each.group == "none")
    (same_none,) = (each for each in found.by_object if each.group == "none")
    assert none.episodes == same_none.episodes + 1, "a control names things as the original does"
    stove = {each.task: each.thresholds["max"] for each in found.tasks}["libero_goal/7"]
    assert {each.task: each.thresholds["max"] for each in ours.tasks}["libero_goal/7"] > 2 * stove


def test_minimum_number_of_successes_depends_on_the_rule(log):
    _, store = log
    frame = store.frame().filter(pl.col("condition") != "control")
    won = frame.filter(pl.col("outcome") == "success").group_by("task", maintain_order=True).head(1)
    few = pl.concat([won, frame.filter(pl.col("outcome") == "failure")], how="diagonal_relaxed").sort("id")
    paths = Paths.read(store)
    paper = failures(few, paths, PAPER)
    assert paper.unjudged == paper.overall.unjudged == 0 and paper.near["max"] == 0, "only itself is as near"
    with pytest.raises(MeasureError, match="no task has 5 successes"):
        failures(few, paths)


def test_imported_log_has_no_count_of_idle_failures(found: NearFarFailures):
    assert found.idle is None and found.far["max"] > 0
